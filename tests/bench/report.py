"""The figures of the auditor's report: 10,000 tests written, the size, and in Chromium the first rows and a letter typed.

The record is made here, as a run leaves one behind: answers of some 500 characters, one test in 50 failed.
"""

from __future__ import annotations

import json
import shutil
import statistics
from typing import TYPE_CHECKING, Any

from tests.bench.processes import in_turns
from tests.bench.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.bench.run import Bench

TESTS = 10_000
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
LETTERS = ("m", "ma", "map", "maps", "maps 9", "maps 99", "x")
# Until the frame after the letter has been painted.
TYPED = """async letters => {
  const field = document.querySelector("input[type=search]"), took = [];
  for (const letter of letters) {
    const began = performance.now();
    field.value = letter;
    field.dispatchEvent(new Event("input", {bubbles: true}));
    await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
    took.push(performance.now() - began);
  }
  return took;
}"""


def auditor_report(bench: Bench) -> Iterator[Row]:
    (bench.directory / "big.json").write_text(json.dumps(record(TESTS)), encoding="utf-8")
    written = ("report", "big.json", "--format", "html", "--output", "big.html")
    (results,) = in_turns(3, lambda: bench.mcptest(*written))
    took = statistics.median(result.cpu_ms for result in results)
    note = "CPU time, reading the record included"
    yield Row(what="report --format html, 10,000 tests", measured=took, limit=3_000, note=note)
    size = (bench.directory / "big.html").stat().st_size / 1e6
    yield Row(what="  the file", measured=size, unit="MB", limit=15)
    yield from _in_a_browser(bench.directory / "big.html")


def _in_a_browser(file: Path) -> Iterator[Row]:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        yield Row(what="  in Chromium", measured=None, note=f"none of {', '.join(BROWSERS)} is installed")
        return
    from playwright.sync_api import sync_playwright

    opened, typed = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        for _ in range(5):
            page = browser.new_page()
            page.add_init_script(
                "new MutationObserver((_, watch) => { if (document.querySelector('tr.row a')) "
                "{ window.first = performance.now(); watch.disconnect(); } })"
                ".observe(document, {childList: true, subtree: true})"
            )
            page.goto(file.as_uri())
            page.wait_for_function("window.first !== undefined")
            opened.append(page.evaluate("window.first"))
            typed.append(max(page.evaluate(TYPED, LETTERS)))
            page.close()
        browser.close()
    yield Row(what="  first rows in Chromium", measured=statistics.median(opened), limit=1_500)
    yield Row(what="  a letter typed into the search", measured=statistics.median(typed), limit=100, note="the slowest")


def record(tests: int) -> dict[str, Any]:
    """A run record of so many tests."""
    rows = [_test(at) for at in range(tests)]
    failed = sum(row["verdict"] == "fail" for row in rows)
    totals = {"total": tests, "passed": tests - failed, "failed": failed, "inconclusive": 0, "skipped": 0, "cached": 0}
    server = {
        "name": "library",
        "transport": "stdio",
        "auth": "none",
        "server_info": None,
        "protocol_version": "2025-11-25",
    }
    return {
        "schema_version": "mcptest.run/v1",
        "run_id": "01JCQQYV4S3H6KX7M8RN2T5XZC",
        "mcptest_version": "0.1.0",
        "started_at": "2026-01-02T03:04:05.678Z",
        "duration_ms": tests * 3.2,
        "verdict": "fail",
        "exit_code": 1,
        "mode": "live",
        "profile": None,
        "interrupted": False,
        "suite": {"name": "bench", "path": "bench.yml", "sha256": "0" * 64},
        "source": {"repo": None, "branch": None, "commit": None, "dirty": None},
        "environment": {"os": "linux", "arch": "x86_64", "python": "3.11.7", "ci": False},
        "servers": [{**server, "restarts": 0, "stderr_tail": ""}],
        "totals": totals,
        "tests": rows,
    }


def _test(at: int) -> dict[str, Any]:
    failed = at % 50 == 7
    name = f"case {at}: a search for {('maps', 'books', 'letters', 'tides')[at % 4]} answers in full"
    message = "assertion 2 (`result.structuredContent.count`) failed: expected at least `4`, got `3`"
    count = {
        "index": 1,
        "target": "result.structuredContent.count",
        "matcher": {"gte": 4 if failed else 1},
        "weight": 1.0,
    }
    text = {
        "index": 0,
        "target": "result.content[0].text",
        "matcher": {"contains": "found"},
        "weight": 1.0,
        "passed": True,
    }
    items = [{"id": f"bk-{at}-{number}", "title": "The Sea Around Us", "year": 1951.0} for number in range(3)]
    said = f"3 found for maps {at}\n" + "a line of text that a server wrote " * 6
    return {
        "id": f"bench.yml::tool::{name}",
        "name": name,
        "kind": "tool",
        "server": "library",
        "tool": "search",
        "verdict": "fail" if failed else "pass",
        "duration_ms": 5 + at * 37 % 113 / 3,
        "started_offset_ms": at * 3.2,
        "cached": False,
        "file": "bench.yml",
        "line": 10 + at * 6,
        "tags": [("smoke", "slow", "nightly")[at % 3]],
        **({"message": message, "failure": {"kind": "assertion", "message": message}} if failed else {}),
        "assertions": [
            {**text, "actual": said},
            {**count, "passed": not failed, **({"message": message} if failed else {}), "actual": 3},
        ],
        "request": {"method": "tools/call", "params": {"name": "search", "arguments": {"query": f"maps {at}"}}},
        "output": {
            "result": {"content": [{"type": "text", "text": said}], "structuredContent": {"count": 3, "items": items}}
        },
    }


SECTIONS = (auditor_report,)
