"""What suites are worth that a person generated and accepted without editing: mutation score, and planted bugs found.

`python -m tests.planted.generated_suites` makes them on the correct servers, with `mcptest init --yes --presumed` and
`mcptest review --accept-all`, and writes `generated.json`. It takes three minutes.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tests.planted.bugs_found import DOMAINS, HERE, bugs_of, failed_tests
from tests.planted.mutation_scores import score_suite

GENERATED = HERE / "generated.json"
INIT = ("init", "--yes", "--presumed", "--command")


def generate_suite(domain: str, folder: Path) -> Path:
    """Write a suite for the correct server of a domain, and accept what it saw."""
    server = f"{sys.executable} -S {HERE / 'servers' / f'{domain}.py'}"
    for arguments in ((*INIT, server), ("review", "--accept-all")):
        subprocess.run(
            [sys.executable, "-m", "mcptest_tui", *arguments],
            cwd=folder,
            env={name: value for name, value in os.environ.items() if name != "CI"},  # where nothing is accepted
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,  # a test of the new suite may fail
        )
    return folder / "mcptest.yml"


def measure(domain: str, folder: Path, *, bugs: bool = True) -> dict[str, Any]:
    """The figures of a generated suite; with `bugs` also which of the planted bugs it finds."""
    suite = generate_suite(domain, folder)
    score = score_suite(domain, suite, folder)
    lines = suite.read_text(encoding="utf-8").splitlines()
    tools = Counter(line.split(":", 1)[1].strip() for line in lines if line.startswith("    tool: "))
    tests = sum(line.startswith("  - name:") for line in lines)
    row = {"tests": tests, "tools": len(tools), "most_of_a_tool": max(tools.values()), "score": score}
    if bugs:
        row["bugs"] = asyncio.run(_find_bugs(domain, suite, folder))
    return row


async def _find_bugs(domain: str, suite: Path, folder: Path) -> dict[str, bool]:
    """Whether a test fails with a bug that passes without."""
    healthy = set(await failed_tests(domain, suite, None, folder))
    return {bug: bool(set(await failed_tests(domain, suite, bug, folder)) - healthy) for bug in sorted(bugs_of(domain))}


def summary(rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The figures of all domains together."""
    killed = sum(row["score"]["killed"] for row in rows.values())
    mutants = killed + sum(row["score"]["survived"] for row in rows.values())
    bugs = [found for row in rows.values() for found in row["bugs"].values()]
    return {
        "tests": sum(row["tests"] for row in rows.values()),
        "tools": sum(row["tools"] for row in rows.values()),
        "mutants": mutants,
        "score": round(killed / mutants, 4),
        "bugs": len(bugs),
        "bugs_found": sum(bugs),
    }


def main() -> None:
    """Measure every domain, write `generated.json` and print the figures."""
    rows: dict[str, dict[str, Any]] = {}
    for domain in DOMAINS:
        with tempfile.TemporaryDirectory() as folder:
            rows[domain] = measure(domain, Path(folder))
        found = rows[domain]["bugs"]
        print(
            domain, rows[domain]["tests"], rows[domain]["score"], f"{sum(found.values())} of {len(found)}", flush=True
        )
    GENERATED.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(summary(rows))


if __name__ == "__main__":
    main()
