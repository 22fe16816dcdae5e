"""The client side of the official conformance suite, over mcptest's own session: every scenario, in every revision it is for.

What fails must stand in `expected-failures.yml`, with its reason, and what stands there must fail.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.programs import ROOT, needs_npm, search_path

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
HERE = Path(__file__).parent
SKILLS = ("no-prefetch", "verify-digest", "verify-size", "verify-frontmatter")
RUNS = {
    "2025-03-26": [["--suite", "all", "--spec-version", "2025-03-26"]],
    "2025-06-18": [["--suite", "all", "--spec-version", "2025-06-18"]],
    "2025-11-25": [["--requirements", "2025-11-25"]],
    "2026-07-28": [["--requirements", "2026-07-28"]],
    "skills": [["--scenario", f"sep-2640-client-{name}"] for name in SKILLS],  # in no revision, and in no suite
}
FEWEST = {"2025-03-26": 2, "2025-06-18": 5, "2025-11-25": 25, "2026-07-28": 39, "skills": 4}
PATIENCE_SECONDS = 240


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The command of our client, for the suite to put an URL behind."""
    needs_npm("conformance")
    with tempfile.TemporaryDirectory() as short:  # the path of a socket has a hundred characters
        command = [sys.executable, str(HERE / "client.py"), "--serve", f"{short}/s"]
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path_factory.mktemp("home"))}
        with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == b"ready\n"
                yield f"{sys.executable} -I -S {HERE / 'hand_over.py'} {short}/s"
            finally:
                process.kill()


def conformance(flags: list[str], client: str, folder: Path) -> None:
    """Run scenarios, all at once; what each came to lies in `folder` afterwards."""
    command = [needs_npm("conformance"), "client", "--command", client]
    patience = ["--timeout", str(PATIENCE_SECONDS * 1000), "--output-dir", str(folder / "results")]
    subprocess.run(
        [*command, *patience, *flags],
        cwd=folder,
        env={**os.environ, "PATH": search_path(), "HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,  # it counts what is not scored as well: the results are read
        timeout=2 * PATIENCE_SECONDS,
    )


def troubles(results: Path) -> dict[str, dict[str, str]]:
    """For each scenario that ran: the checks that failed or warned with what they said, and "client" when ours gave up."""
    found: dict[str, dict[str, str]] = {}
    for checks in results.rglob("checks.json"):
        scenario = re.sub(r"-\d{4}-\d\d-\d\dT[-\d]+Z$", "", checks.parent.relative_to(results).as_posix())
        said = (checks.parent / "stdout.txt").read_text()
        complained = (checks.parent / "stderr.txt").read_text()
        found[scenario] = {} if said.endswith("\nok\n") or said == "ok\n" else {"client": said + complained}
        for check in json.loads(checks.read_text()):
            if check["status"] in {"FAILURE", "WARNING"}:
                found[scenario][check["id"]] = check.get("errorMessage") or check["description"]
    return found


def expected_failures() -> set[str]:
    told: dict[str, Any] = yaml.safe_load((HERE / "expected-failures.yml").read_text(encoding="utf-8"))
    return set(told["client"])


@pytest.mark.parametrize("run", sorted(RUNS))
def test_our_client_conforms_but_for_the_failures_that_are_expected(client: str, tmp_path: Path, run: str) -> None:
    """A justified list, which is exact."""
    for flags in RUNS[run]:
        conformance(flags, client, tmp_path)
    found = troubles(tmp_path / "results")
    assert len(found) >= FEWEST[run], sorted(found)
    expected = expected_failures()
    surprising = {
        f"{scenario}:{check}": said
        for scenario, checks in found.items()
        for check, said in checks.items()
        if scenario not in expected and f"{scenario}:{check}" not in expected
    }
    assert not surprising, "\n" + "\n".join(f"{check}: {said}" for check, said in surprising.items())
    stale = {name for name in expected if (ran := name.partition(":")[0]) in found and not found[ran]}
    assert stale == set(), "these pass by now: take them out of expected-failures.yml"


def test_every_expected_failure_is_a_scenario_of_the_suite() -> None:
    """A name that no longer exists would never be missed."""
    done = subprocess.run(
        [needs_npm("conformance"), "list", "--client"],
        env={**os.environ, "PATH": search_path()},
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    known = set(re.findall(r"^\s+- (\S+)", done.stdout, re.MULTILINE))
    assert {name.partition(":")[0] for name in expected_failures()} <= known
