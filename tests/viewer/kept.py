"""Saved runs in a workspace, and a viewer for them."""

from __future__ import annotations

import contextlib
import copy
import json
import signal
import subprocess
import sys
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx2

from mcptest_engine.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

RECORD = Path(__file__).parents[2] / "examples" / "auditor-view" / "run.json"
BEGAN = 1_767_322_800  # 2026-01-02T03:00:00Z
HOSTILE = "</td><script>owned=1</script><img src=x onerror=owned=1>\u202e"
FOUND = "a search finds both books"
MAPS = "old maps are found in the archive"
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class Viewed(NamedTuple):
    """A viewer that answers at `url`."""

    url: str
    root: Path
    process: subprocess.Popen[str]

    @property
    def ids(self) -> list[str]:
        """The ids of the saved runs, oldest first."""
        return [path.stem for path in reversed(Workspace(self.root).runs())]

    def get(self, path: str, **headers: str) -> httpx2.Response:
        with httpx2.Client(base_url=self.url) as client:
            return client.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})


def run_id(hour: int) -> str:
    """The id of a run that began so many hours after `BEGAN`."""
    number = (BEGAN + hour * 3600) * 1000 << 80 | hour
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


def put(
    root: Path,
    hour: int,
    *,
    suite: str = "library",
    path: str = "examples/auditor-view/mcptest.yml",
    verdicts: Mapping[str, str] | None = None,
    flaky: str = "",
    slower: float = 1.0,
    flags: Sequence[str] = (),
) -> str:
    """Save a run; `verdicts` are those of tests that differ from `RECORD`. Returns its id."""
    record = _record()
    began = datetime.fromtimestamp(BEGAN + hour * 3600, UTC)
    record |= {"run_id": run_id(hour), "started_at": began.strftime("%Y-%m-%dT%H:%M:%S.000Z")}
    record["suite"] |= {"name": suite, "path": path}
    if flags:
        tests = record.pop("tests")
        record |= {"flags": [*flags], "tests": tests}
    for test in record["tests"]:
        test["id"] = f"{path}::{test['id'].split('::', 1)[1]}"
        test["duration_ms"] *= slower
        verdict = (verdicts or {}).get(test["name"], test["verdict"])
        if verdict != test["verdict"]:
            test["verdict"] = verdict
            test.pop("failure", None)
            if verdict == "fail":
                test |= {"message": "it broke", "failure": {"kind": "assertion", "message": "it broke"}}
        if test["name"] == flaky:
            test["flaky"] = True
    found = [test["verdict"] for test in record["tests"]]
    words = {"passed": "pass", "failed": "fail", "inconclusive": "inconclusive", "skipped": "skip"}
    record["totals"] = {
        "total": len(found),
        **{name: found.count(verdict) for name, verdict in words.items()},
        "cached": 0,
    }
    record["verdict"] = "fail" if "fail" in found else "pass"
    Workspace(root).save_run(record)
    return str(record["run_id"])


@lru_cache(maxsize=1)
def _read() -> dict[str, Any]:
    return json.loads(RECORD.read_text(encoding="utf-8"))


def _record() -> dict[str, Any]:
    return copy.deepcopy(_read())


def filled(root: Path) -> Path:
    """Five runs of a suite, one of another with a hostile name, one that is damaged, and a side file."""
    (root / "mcptest.yaml").write_text("name: marks the workspace\n", encoding="utf-8")
    for hour in range(5):
        broken = {FOUND: "fail"} if hour == 2 else {MAPS: "pass"} if hour == 4 else {}
        put(root, hour, verdicts=broken, flaky=FOUND if hour == 1 else "", slower=1 + hour)
    put(root, 5, suite=HOSTILE, path="evil.yml")
    runs = Workspace(root).runs_dir
    (runs / f"{run_id(6)}.json").write_text('{"schema_version": "mcptest.run/v1", "run_id": "01', encoding="utf-8")
    aside = runs / run_id(4)
    aside.mkdir()
    (aside / "large.json").write_text('"<script>owned=1</script>"', encoding="utf-8")
    (aside / "link.json").symlink_to("/etc/hostname")
    return root


@contextlib.contextmanager
def viewing(root: Path, *arguments: str) -> Iterator[Viewed]:
    """`mcptest view --no-open` in a workspace; it must exit cleanly when it is interrupted."""
    command = [sys.executable, "-m", "mcptest_tui", "view", "--no-open", *arguments]
    process = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        assert line.startswith("http://127.0.0.1:"), process.communicate(timeout=60)[1]
        yield Viewed(line, root, process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
