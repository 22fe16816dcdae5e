"""`mcptest coverage`, and a suite's floors where runs and reports end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import SUITE

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., subprocess.CompletedProcess[str]]

PASSING = SUITE.replace("contains: degraded", "contains: operational")
FLOORED = PASSING + "coverage: { tools: 50, prompts: 100 }\n"


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    """What is offered, in a file, so that no server has to be asked."""
    tools = [{"name": name} for name in ("get_status", "get_flaky", "get_slow", "get_token")]
    (tmp_path / "tools.json").write_text(json.dumps({"tools": tools, "prompts": [{"name": "greet"}]}))
    return "tools.json"


def test_a_missed_floor_ends_the_run_and_the_command_with_6(
    mcptest: Run, write: Callable[..., Path], catalog: str
) -> None:
    write(FLOORED)
    ran = mcptest("run", "--reporter", "minimal")
    assert ran.returncode == 6
    assert "warning: coverage: tools 25 % (1 of 4), below the floor of 50 %; not covered: `get_flaky`" in ran.stderr
    told = mcptest("coverage", "--tools-from", catalog)
    assert told.returncode == 6
    assert "  tools         25.0 %  1 of 4  below 50 %\n" in told.stdout
    lenient = mcptest("coverage", "--tools-from", catalog, "--threshold", "25", "--format", "json")
    assert lenient.returncode == 0
    answer = json.loads(lenient.stdout)
    assert answer["below_floor"] == []
    assert answer["coverage"]["tools"]["met"] is True


def test_the_suites_floors_are_not_held_against_a_part_of_its_tests(
    mcptest: Run, write: Callable[..., Path], catalog: str
) -> None:
    path = write(FLOORED)
    ran = mcptest("run", "--filter", "memo reads", "--reporter", "agent")
    assert ran.returncode == 0
    assert "\nNOTE coverage: its floors are not checked, because 1 of 4 tests were selected\n" in ran.stdout
    told = mcptest("coverage", "--tools-from", catalog)
    assert told.returncode == 0
    assert told.stderr == "note: that run has 1 of the suite's 4 tests; the floors of its `coverage` are not checked\n"
    assert mcptest("coverage", "--tools-from", catalog, "--threshold", "10").returncode == 6
    mcptest("run")
    path.write_text(FLOORED.replace("memo reads", "memo is another test"))
    assert "that run has 3 of the suite's 4 tests" in mcptest("coverage", "--tools-from", catalog).stderr
    lost = mcptest("coverage", "--tools-from", "nowhere.json")
    assert (lost.returncode, "`nowhere.json` cannot be read: No such file" in lost.stderr) == (2, True)


def test_shards_pass_and_their_report_ends_with_6(mcptest: Run, write: Callable[..., Path]) -> None:
    write(FLOORED)
    for index in ("1", "2"):
        assert mcptest("run", "--shard", f"{index}/2", "--reporter", f"json={index}.json").returncode == 0
    merged = mcptest("report", "--merge", "1.json", "2.json", "--format", "minimal")
    assert merged.returncode == 6
    assert merged.stderr.startswith("a quality gate was not met (exit code 6)\nwarning: coverage: tools 25 %")
    assert "--merge" not in merged.stderr
    assert mcptest("report", "1.json", "--format", "minimal").returncode == 0
    alone = mcptest("report", "--merge", "1.json", "--format", "minimal")
    assert (alone.returncode, "because shards are missing" in alone.stderr) == (6, True)


def test_a_replay_counts_by_the_lists_that_were_recorded(mcptest: Run, write: Callable[..., Path]) -> None:
    path = write(FLOORED)
    assert mcptest("run", "--record", "with").returncode == 6
    again = mcptest("run", "--replay", "with", "--reporter", "minimal")
    assert (again.returncode, "tools 25 % (1 of 4)" in again.stderr) == (6, True)
    path.write_text(PASSING)
    path.write_text(PASSING + "run_options: { catalog: off }\n")
    assert mcptest("run", "--record", "without").returncode == 0
    path.write_text(FLOORED)
    lost = mcptest("run", "--replay", "without", "--reporter", "minimal")
    assert lost.returncode == 6
    assert "coverage: tools could not be counted, so the floor of 50 % is missed" in lost.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--floor", "tolls=5"), "there is no `tolls`\n  did you mean `tools`?"),
        (("--floor", "tools"), "is not of the form KIND=PERCENT"),
        (("--floor", "tools=101"), "write a percentage from 0 to 100"),
        (("--floor", "tools=nan"), "write a percentage from 0 to 100"),
        (("--threshold", "-1"), "'--threshold'"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    mcptest: Run, write: Callable[..., Path], arguments: tuple[str, ...], said: str
) -> None:
    write(PASSING)
    refused = mcptest("coverage", *arguments)
    assert refused.returncode == 2
    assert said in refused.stderr


def test_without_a_run_it_says_how_to_make_one(mcptest: Run, write: Callable[..., Path]) -> None:
    write(FLOORED)
    refused = mcptest("coverage")
    assert refused.returncode == 2
    assert "run it first: mcptest run mcptest.yml" in refused.stderr
