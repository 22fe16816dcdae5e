"""The session ledger: what became of tests and tools over the runs of one suite, and whether the test or the server changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from mcptest.suites import load
from mcptest_engine.core.enums import Strength, Verdict
from mcptest_engine.core.ledger import Ledger, ToolStatus, TurnCause
from mcptest_engine.core.run_record import RunRecord, ServerRecord, SuiteInfo, Totals
from mcptest_engine.front_door.lineages import Lineages
from mcptest_engine.reporting.ledger import groups_of, ledger_lines
from mcptest_engine.running.ledger import LedgerExtension, ledger_of
from mcptest_engine.running.plan import make_plan
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.workspace.workspace import Workspace
from tests.running.test_test_changes import SUM, row, run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mcptest_engine.core.results import TestResult

EXACT, WEAK = [row(SUM, exact=4)], [row(SUM, type="number")]


def record(number: int, *tests: TestResult, program: str = "a", **more: Any) -> RunRecord:
    """Run `number` of these tests, by a server whose program has this digest; "" for one that is not known."""
    server = ServerRecord(
        name="calc",
        transport="stdio",
        tools=("add", "sub"),
        reached=("python", "calc.py"),
        program={"calc.py": program} if program else {},
    )
    fields: dict[str, Any] = {
        "run_id": f"01JCQQYV4S3H6KX7M8RN2T5X{number:02}",
        "mcptest_version": "1",
        "started_at": "2026-01-02T03:04:05Z",
        "duration_ms": 1.0,
        "verdict": Verdict.PASS,
        "suite": SuiteInfo(name="calc", path="m.yml", sha256="a" * 64),
        "source": {},
        "environment": {},
        "servers": (server,),
        "totals": Totals.of(tests),
    }
    return RunRecord(**{**fields, **more}, tests=tests)


def named(name: str, result: TestResult, **more: Any) -> TestResult:
    return replace(result, id=f"m.yml::tool::{name}", name=name, **more)


def told(ledger: Ledger) -> dict[str, list[str]]:
    return {group.key: [turn.test for turn in group.turns] for group in groups_of(ledger.turns)}


def test_a_test_that_was_weakened_to_pass_is_told_from_a_server_that_was_corrected() -> None:
    """Red became green because the test changed, or because the server did."""
    red = record(1, named("weak", run(EXACT)), named("fixed", run(EXACT)))
    now = record(2, named("weak", run(WEAK)), named("fixed", run(EXACT, total=4)), program="b")
    ledger = ledger_of([now, red])  # in whatever order they come
    assert told(ledger) == {"green-by-test": ["weak"], "by-server": ["fixed"]}
    weak, fixed = ledger.turns
    assert weak.changes[0].text == f'assertion weakened: `{SUM}`: exact: 4 → type: "number"'
    assert (weak.from_run, weak.to_run) == (red.run_id, now.run_id)
    assert fixed.server_changes == ("`calc.py` changed",)
    assert Ledger.from_json(ledger.to_json()) == ledger
    (line,) = ledger_lines(replace(now, ledger=ledger))
    assert line.startswith('"weak" passes because the test changed: assertion weakened')


def test_many_weakened_tests_are_told_in_few_lines() -> None:
    """An agent pays for every line."""
    names = [f"t{number}" for number in range(30)]
    runs = [record(at, *(named(name, run(rows)) for name in names)) for at, rows in ((1, EXACT), (2, WEAK))]
    lines = ledger_lines(replace(runs[1], ledger=ledger_of(runs)))
    assert len(lines) == 4
    assert lines[-1].startswith("27 more tests like these")


def test_a_change_that_did_not_make_it_green_is_no_reason() -> None:
    """The earlier version would pass on the new answer as well: the server was corrected, whatever else was changed."""
    ledger = ledger_of([record(1, run(EXACT)), record(2, run(WEAK, total=4), program="b")])
    assert told(ledger) == {"by-server": ["adds"]}
    assert ledger.turns[0].changes, "it is told all the same"


@pytest.mark.parametrize(("program", "cause"), [("a", TurnCause.NEITHER), ("", TurnCause.ANSWER)])
def test_a_test_that_passes_now_although_nothing_is_known_to_have_changed(program: str, cause: TurnCause) -> None:
    """The same program is a flaky test; a program that is not on this machine may have changed."""
    ledger = ledger_of([record(1, run(EXACT), program=program), record(2, run(EXACT, total=4), program=program)])
    assert [turn.cause for turn in ledger.turns] == [cause]


def test_a_test_that_only_demands_more_did_not_make_itself_green() -> None:
    """Not even where the answer is in a file of its own, so that the earlier version cannot be judged on it."""
    more = [*EXACT, row("result.content[0].text", exact="4")]
    aside = {"$file": "runs/x.json", "bytes": 2_000_000}
    runs = [record(1, run(EXACT)), record(2, replace(run(more, total=4), output=aside), program="b")]
    assert told(ledger_of(runs)) == {"by-server": ["adds"]}
    runs[1] = record(2, replace(run(WEAK), output=aside), program="b")
    assert told(ledger_of(runs)) == {"green-by-test": ["adds"]}


def test_a_server_that_was_replaced_is_told_with_both_commands() -> None:
    """A mock in the server's place makes every test pass."""
    mock = replace(record(2, run(EXACT, total=4)), servers=())
    (server,) = record(1).servers
    mock = replace(mock, servers=(replace(server, reached=("mcptest", "mock"), program={}),))
    (turn,) = ledger_of([record(1, run(EXACT)), mock]).turns
    assert (turn.cause, turn.needs_review) == (TurnCause.REPLACED, True)
    assert turn.server_changes == ("started as `mcptest mock`, before as `python calc.py`",)


def test_what_failed_and_was_skipped_or_removed_is_told_until_it_runs_again() -> None:
    """Nothing shows that it was corrected."""
    skip = named("skipped", run(EXACT), verdict=Verdict.SKIP, assertions=(), failure=None, definition={"skip": "x"})
    red = record(1, named("skipped", run(EXACT)), named("gone", run(EXACT)))
    ledger = ledger_of([red, record(2, skip)])
    assert told(ledger) == {"dropped": ["skipped", "gone"]}
    assert [tool.status for tool in ledger.tools] == [ToolStatus.SKIPPED, ToolStatus.UNTOUCHED]
    part = replace(record(2, skip), subset=(1, 2))
    assert told(ledger_of([red, part])) == {"dropped": ["skipped"]}, "what was not selected is not removed"
    back = record(3, named("skipped", run(EXACT)), named("gone", run(WEAK)))
    assert told(ledger_of([red, record(2, skip), back])) == {"green-by-test": ["gone"]}


def test_one_test_of_a_suite_that_comes_as_text_may_be_run_alone() -> None:
    """The others are not removed by that, unless one of them failed and was never seen to pass."""
    info = SuiteInfo(name="calc", path=".mcptest/inline/01JCQQYV4S3H6KX7M8RN2T5X01.yml", sha256="a" * 64)
    first = record(1, named("a", run(EXACT, total=4)), named("b", run(EXACT)), named("c", run(EXACT)), suite=info)
    alone = record(2, named("c", run(EXACT, total=4)), program="b", suite=info)
    ledger = ledger_of([first, alone])
    assert told(ledger) == {"dropped": ["b"], "by-server": ["c"]}
    assert [(tool.tool, tool.tests) for tool in ledger.tools] == [("add", 2), ("sub", 0)]


def test_a_weakened_test_under_another_name_is_the_same_test() -> None:
    """It asks the same of the same server, and the first is gone."""
    (turn,) = ledger_of([record(1, named("adds", run(EXACT))), record(2, named("adds up", run(WEAK)))]).turns
    assert (turn.test, turn.is_green_by_test) == ("adds up", True)


def test_steps_of_weakening_are_held_against_the_version_that_first_failed() -> None:
    """Weakened once, still red, weakened again: both changes are told."""
    two = [*EXACT, row("result.content[0].text", exact="4")]
    runs = [record(1, run(two)), record(2, run(EXACT)), record(3, run(WEAK))]
    (turn,) = ledger_of(runs).turns
    assert [change.kind.value for change in turn.changes] == ["assertion_weakened", "assertion_removed"]
    assert turn.from_run == runs[0].run_id


def test_a_test_that_is_weakened_while_it_passes_and_one_that_is_restored() -> None:
    """Who weakens a green test prepares the next failure; who restores it has nothing to explain."""
    green = record(1, run(EXACT, total=4))
    weakened = ledger_of([green, record(2, run(WEAK, total=4))])
    assert told(weakened) == {"weakened": ["adds"]}
    restored = ledger_of([green, record(2, run(WEAK, total=4)), record(3, run(EXACT, total=4))])
    assert told(restored) == {"restored": ["adds"]}
    assert ledger_lines(replace(record(3), ledger=restored)) == ()


def test_tools_have_the_strongest_demand_that_held() -> None:
    """Offered, called, never touched; a failing test proves nothing of its tool."""
    tests = (
        named("a", run(EXACT, total=4), strength=Strength.VALUE),
        named("b", run(WEAK), strength=Strength.SHAPE),
        named("c", run(EXACT), tool="mul", strength=Strength.VALUE),
    )
    add, sub, mul = ledger_of([record(1, *tests)]).tools
    assert (add.status, add.strength, add.tests, add.offered) == (ToolStatus.PASSED, "value", 2, True)
    assert (sub.status, sub.strength, sub.tests) == (ToolStatus.UNTOUCHED, None, 0)
    assert (mul.status, mul.strength, mul.offered) == (ToolStatus.FAILED, None, False)


def test_a_suite_that_comes_as_text_is_known_by_its_tests() -> None:
    """Twelve runs of one suite that is changed in between are one lineage, and two suites are two."""
    lineages = Lineages()

    def begin(run_id: str, *names: str, name: str = "", **known_by: str) -> tuple[str, tuple[str, ...]]:
        return lineages.begin(_suite(names, name or run_id), run_id, **known_by)

    assert begin("R1", "adds", "subtracts") == ("R1", ())
    assert begin("R2", "adds", "divides") == ("R1", ("R1",))
    assert begin("R3", "greets") == ("R3", ())
    assert begin("R4", "divides") == ("R1", ("R1", "R2"))
    assert begin("R5", "subtracts") == ("R1", ("R1", "R2", "R4")), "an earlier version had it"
    assert begin("R6", "divides", path="calc.yml") == ("R1", ("R1", "R2", "R4", "R5")), "it was written down"
    assert begin("R7", "other", path="calc.yml") == ("R1", ("R1", "R2", "R4", "R5", "R6"))
    assert begin("R8", "greets", path="other.yml") == ("R3", ("R3",))
    assert begin("R9", "x", path="third.yml") == ("third.yml", ())
    assert begin("RA", "one", name="named") == ("RA", ())
    assert begin("RC", "first", handle="s1") == ("RC", ())
    assert begin("RD", "all others", handle="s1") == ("RC", ("RC",)), "the text of its handle was changed"
    assert begin("RB", "two", name="named") == ("RA", ("RA",)), "the name of the suite and its servers are the same"


def _suite(names: tuple[str, ...], name: str) -> Any:
    class Suite:
        tests = tuple(_Entry(data={"name": test}) for test in names)
        servers: Mapping[str, object] = {"calc": {}}

    Suite.name = name  # type: ignore[attr-defined]
    return Suite


class _Entry:
    def __init__(self, data: dict[str, str]) -> None:
        from mcptest_engine.core.enums import TestKind

        self.kind, self.data = TestKind.TOOL, data


@pytest.mark.parametrize(("passed", "in_thread"), [(True, False), (False, True)])
def test_earlier_records_are_read_beside_the_start_of_the_servers_unless_their_head_says_enough(
    tmp_path: Path, passed: bool, in_thread: bool
) -> None:
    """Also in a process that knows the programs of the servers; and no more of them than a run can read meanwhile."""
    path = tmp_path / "m.yml"
    path.write_text(
        "servers: { calc: { url: 'http://127.0.0.1:9/' } }\ntools: [{ name: sum, tool: add, expect: { text: x } }]\n"
    )
    suite, workspace, settings = load(path), Workspace(tmp_path), RunSettings()
    plan = make_plan(suite, settings, relative=workspace.relative)
    verdict = Verdict.PASS if passed else Verdict.SKIP
    for number in range(3):
        earlier = replace(run(EXACT, 4), id=plan.cases[0].id, verdict=verdict)
        info = SuiteInfo(name="m", path="m.yml", sha256=suite.sha256)
        workspace.save_run(record(number, earlier, suite=info).to_json())
    extension = LedgerExtension(suite, settings, workspace, str, {(("http://127.0.0.1:9/",), ""): ((), {})})
    extension.before(plan)
    assert (extension._thread is not None) is in_thread
    extension.finish(record(3, run(EXACT, 4)))
    assert len(extension._earlier) == (1 if passed else 3)


def test_records_are_read_up_to_a_size_all_together(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    sizes = [workspace.save_run(record(number, run(EXACT, 4)).to_json()).stat().st_size for number in range(3)]
    for most_bytes, found in ((None, 3), (sum(sizes), 3), (sum(sizes) - 1, 2), (max(sizes), 1), (min(sizes) - 1, 0)):
        assert len(list(workspace.recent_runs("m.yml", most_bytes=most_bytes))) == found
