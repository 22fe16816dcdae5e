"""What runs because of us: told of, measured, ended and started again, by whoever looks at the list."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine_process.conftest import Refusal, echoes, run, wait_for_spare
from tests.engine_process.processes import Watched, processes_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.engine_process.conftest import Child, Clinging

    SuiteOn = Callable[..., Path]


def of_role(rows: list[dict[str, Any]], role: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["role"] == role]


def until_listed(child: Child, role: str, *, after: int = 0) -> dict[str, Any]:
    """The row of the first event after `after` that lists a process of this role."""
    told = child.until(lambda told: told.get("event") == "processes" and bool(of_role(told["rows"], role)), after=after)
    return of_role(told["rows"], role)[-1]


def until_not_listed(child: Child, number: int, *, after: int) -> None:
    child.until(
        lambda told: told.get("event") == "processes" and all(row["number"] != number for row in told["rows"]),
        after=after,
    )


def test_a_spare_server_is_listed_with_its_memory_until_it_is_ended(
    start: Callable[..., Child], suite_on: SuiteOn, place: Path
) -> None:
    child = start(fresh=True)  # one whose parent is who started it
    path = suite_on("echo", tests=echoes(1))
    run(child)
    wait_for_spare(child)
    rows = child.ask("processes")
    (spare,) = of_role(rows, "spare")
    assert (spare["name"], spare["suite"], spare["waits"]) == ("s", str(path), [])
    assert spare["pid"] in processes_in(place)
    assert spare["memory"] > 1_000_000
    assert {row["role"]: row["pid"] for row in rows if row["number"] == 0} == {
        "workbench": os.getpid(),
        "engine": child.process.pid,
    }
    assert len(of_role(rows, "guardian")) == 1
    server, before = Watched([spare["pid"]]), child.count
    child.ask("end_process", number=spare["number"])
    server.wait_until_gone()
    until_not_listed(child, spare["number"], after=before)
    assert of_role(child.ask("processes"), "spare") == []
    assert run(child, "again")["record"]["totals"]["passed"] == 1


def test_a_spare_server_is_started_again(child: Child, suite_on: SuiteOn) -> None:
    suite_on("echo", tests=echoes(1))
    run(child)
    spare = until_listed(child, "spare")
    before = child.count
    child.ask("restart_process", number=spare["number"])
    child.event("server.state", state="ready", after=before)
    until_not_listed(child, spare["number"], after=before)
    (other,) = of_role(child.ask("processes"), "spare")
    assert other["pid"] != spare["pid"]


def test_without_spare_servers_none_outlives_its_run(child: Child, suite_on: SuiteOn, place: Path) -> None:
    suite_on("echo", tests=echoes(1))
    child.ask("spare_servers", seconds=0)
    run(child)
    assert of_role(child.ask("processes"), "spare") == []
    assert child.event("server.state", state="closed")["server"] == "s"


def test_spare_servers_end_when_they_are_switched_off(child: Child, suite_on: SuiteOn) -> None:
    suite_on("echo", tests=echoes(1))
    run(child)
    spare, before = until_listed(child, "spare"), child.count
    child.ask("spare_servers", seconds=0)
    until_not_listed(child, spare["number"], after=before)


def test_a_spare_server_that_no_run_uses_ends_by_itself(child: Child, suite_on: SuiteOn) -> None:
    suite_on("echo", tests=echoes(1))
    child.ask("spare_servers", seconds=0.2)
    run(child)
    Watched([until_listed(child, "spare")["pid"]]).wait_until_gone()


def test_a_server_that_hangs_is_ended_and_the_run_goes_on(child: Child, suite_on: SuiteOn) -> None:
    hangs = {"name": "hangs", "tool": "hang", "serial": True, "timeout_ms": 600_000}
    suite_on("toolshed", tests=[hangs, {"name": "says", "tool": "say", "serial": True}])
    child.ask("run", run="r", path="mcptest.yml")
    child.event("case.started", run="r")
    row: dict[str, Any] = {"waits": []}
    while not any(what == "tools/call hang" for what, _ in row["waits"]):
        row = next(iter(of_role(child.ask("processes"), "run")), row)
    child.ask("end_process", number=row["number"])
    record = child.event("run.finished", run="r")["record"]
    assert (record["totals"]["passed"], record["totals"]["failed"]) == (1, 1)
    failure = child.event("case.finished", run="r")["result"]["failure"]
    assert failure["message"].startswith('server "s" was ended by hand while "tools/call hang" had waited')


def test_a_call_whose_server_was_ended_by_hand_is_not_made_again_and_those_beside_it_are(
    child: Child, suite_on: SuiteOn
) -> None:
    """`freeze` stops every answer of its server: made again alone it would wait for ten minutes once more."""
    looks = [{"name": f"t{number}", "tool": "look", "args": {"who": "w"}} for number in range(8)]
    suite_on("parallel", tests=[{"name": "hangs", "tool": "freeze", "timeout_ms": 600_000}, *looks])
    child.ask("run", run="r", path="mcptest.yml")
    row: dict[str, Any] = {"waits": []}
    while len(row["waits"]) < 2:
        row = next(iter(of_role(child.ask("processes"), "run")), row)
    child.ask("end_process", number=row["number"])
    record = child.event("run.finished", run="r")["record"]
    assert (record["totals"]["passed"], record["totals"]["failed"]) == (8, 1)
    results = [told["result"] for told in child.events("case.finished")]
    (failed,) = (result for result in results if result["verdict"] == "fail")
    assert failed["name"] == "hangs"
    assert 'was ended by hand while "tools/call freeze" had waited' in failed["failure"]["message"]
    assert failed["failure"].get("cause") is None


def test_a_call_that_timed_out_beside_one_whose_server_is_then_ended_by_hand_was_in_its_way(
    child: Child, suite_on: SuiteOn
) -> None:
    """It is made again alone, and never beside the call that hangs, which would wait for ten minutes once more."""
    late = {"name": "late", "tool": "look", "args": {"who": "w"}, "timeout_ms": 500}
    suite_on("parallel", tests=[{"name": "hangs", "tool": "freeze", "timeout_ms": 600_000}, late])
    child.ask("run", run="r", path="mcptest.yml")
    was_asked, waits = False, {"tools/call look"}
    while not was_asked or "tools/call look" in waits:
        for row in of_role(child.ask("processes"), "run"):
            waits = {what for what, _ in row["waits"]}
            was_asked = was_asked or "tools/call look" in waits
    child.ask("end_process", number=row["number"])
    record = child.event("run.finished", run="r")["record"]
    assert (record["totals"]["passed"], record["totals"]["failed"]) == (1, 1)
    calls = {effect["tool"]: effect["count"] for effect in record["effects"]["calls"]}
    assert calls == {"freeze": 1, "look": 2}


def test_a_server_that_ignores_signals_is_ended_too(child: Child, clinging: Clinging) -> None:
    child.ask("run", run="r", path="mcptest.yml")
    clinging.wait_for("called")
    row = until_listed(child, "run")
    server = Watched([row["pid"]])
    child.ask("end_process", number=row["number"])
    server.wait_until_gone()
    assert child.event("run.finished", run="r")["record"]["totals"]["failed"] == 1


def test_a_hook_is_listed_while_it_runs(child: Child, suite_on: SuiteOn) -> None:
    path = suite_on("echo", tests=echoes(1))
    path.write_text(path.read_text(encoding="utf-8").rstrip("}") + ', "hooks": {"beforeAll": ["sleep 600"]}}')
    child.ask("run", run="r", path="mcptest.yml")
    hook = until_listed(child, "hook")
    assert hook["name"] == "beforeAll"
    child.ask("end_process", number=hook["number"])
    assert child.event("run.finished", run="r")["record"]["hooks"][0]["passed"] is False


def test_what_has_ended_cannot_be_ended_again(child: Child) -> None:
    with pytest.raises(Refusal, match="has ended already"):
        child.ask("end_process", number=99)


def traffic_rows(child: Child, wanted: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """All rows that were told up to the first that is wanted."""
    child.ask("traffic_on", on=True, since=0)
    child.until(lambda told: told.get("event") == "traffic" and any(map(wanted, told["rows"])))
    return [row for told in child.events("traffic") for row in told["rows"]]


def test_a_message_names_its_process_and_the_test_that_asked(child: Child, suite_on: SuiteOn) -> None:
    suite_on("echo", tests=echoes(2))
    run(child)
    spare = until_listed(child, "spare")
    wait_for_spare(child)
    rows = traffic_rows(child, lambda row: row["pid"] == spare["pid"] and row["kind"] == "notification")
    calls = [row for row in rows if row["kind"] == "request" and row["method"] == "tools/call"]
    assert [(row["test"], row["about"]) for row in calls] == [(f"mcptest.yml::tool::t{n}", "echo") for n in (0, 1)]
    assert calls[0]["text"] == '{"text":"a"}'
    assert not any("test" in row for row in rows if row.get("method") in ("initialize", "tools/list"))
    assert {row["pid"] for row in rows if row.get("spare")} == {spare["pid"]}
    assert len({row["pid"] for row in rows}) == 2


def test_a_line_on_stderr_has_the_time_at_which_it_came(child: Child, suite_on: SuiteOn) -> None:
    """Also where nobody looked then, and between the messages where it belongs."""
    err = {"tool": "stderr", "serial": True}
    suite_on("echo", tests=[{"name": name, **err, "args": {"text": f"line {name}"}} for name in ("one", "two")])
    run(child)
    rows = traffic_rows(child, lambda row: row.get("text") == "line two")
    answers = [row for row in rows if row["kind"] == "response" and row["method"] == "tools/call"]
    first, second = (row for row in rows if row["kind"] == "stderr" and row["text"].startswith("line "))
    assert first["n"] < answers[1]["n"]
    assert first["at"] <= answers[1]["at"]
    assert [first["text"], second["text"]] == ["line one", "line two"]
