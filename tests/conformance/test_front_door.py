"""The server side of the official conformance suite, over the front door: every scenario of the two newest revisions.

What fails must stand under `server:` in `expected-failures.yml`, with its reason, and what stands there must fail.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.programs import needs_npm, search_path

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
HERE = Path(__file__).parent
FEWEST = {"2025-11-25": 30, "2026-07-28": 35}
"""Scenarios that ran, so that a suite that finds none is no pass."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The front door over HTTP, with writes enabled, in a workspace of its own."""
    folder = tmp_path_factory.mktemp("front-door")
    (folder / ".mcptest").mkdir()
    process = subprocess.Popen(
        [sys.executable, str(HERE / "front_door.py"), str(folder)], stdout=subprocess.PIPE, encoding="utf-8"
    )
    with process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def troubles(url: str, revision: str, folder: Path) -> dict[str, set[str]]:
    """For each scenario that ran: the checks that failed or warned."""
    subprocess.run(
        [
            needs_npm("conformance"),
            "server",
            "--url",
            url,
            "--suite",
            "all",
            "--spec-version",
            revision,
            "-o",
            str(folder),
        ],
        cwd=folder,
        env={**os.environ, "PATH": search_path(), "HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,  # it counts what is expected as well: the results are read
        timeout=240,
    )
    found: dict[str, set[str]] = {}
    for checks in folder.rglob("checks.json"):
        scenario = re.sub(r"^server-(.*)-\d{4}-\d\d-\d\dT[-\d]+Z$", r"\1", checks.parent.name)
        told = json.loads(checks.read_text())
        found[scenario] = {check["id"] for check in told if check["status"] in {"FAILURE", "WARNING"}}
    return found


def test_the_front_door_serves_as_the_specification_says(url: str, tmp_path: Path) -> None:
    expected = yaml.safe_load((HERE / "expected-failures.yml").read_text())["server"]
    failed: set[str] = set()
    for revision, fewest in FEWEST.items():
        folder = tmp_path / revision
        folder.mkdir()
        found = troubles(url, revision, folder)
        assert len(found) >= fewest
        for scenario, checks in found.items():
            failed |= {scenario if scenario in expected else f"{scenario}:{check}" for check in checks}
    assert failed == set(expected)
