"""`fresh:`: a process of its own for each test, or for each group of tests, over stdio and over HTTP."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.core.live import live
from mcptest_engine.core.results import Verdict
from tests.processes import free_port
from tests.running.test_http_programs import said

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.core.run_record import RunRecord

    RecordOf = Callable[..., RunRecord]

SERVERS = Path(__file__).parent.parent / "servers"


@pytest.fixture(params=["stdio", "free", "fixed"])
def server(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """The suite's `servers:` with one whose tool `count` counts its calls, reached in each of three ways."""
    words = {"stdio": ["stdio"], "free": ["{port}"], "fixed": ["{port}"]}[request.param]
    url = {"stdio": "", "free": ", url: 'http://127.0.0.1:0/'", "fixed": f", url: 'http://127.0.0.1:{free_port()}/'"}
    command = json.dumps([sys.executable, "-S", str(SERVERS / "http_program.py"), *words])
    return lambda more: f"servers:\n  web: {{ command: {command}{url[request.param]}{more} }}\n"


def rows(*settings: str) -> str:
    return "tools:\n" + "".join(f"  - {{ name: t{at}, tool: count{more} }}\n" for at, more in enumerate(settings))


def test_a_server_can_be_fresh_for_each_test(record_of: RecordOf, server: Callable[[str], str]) -> None:
    """A test can share the process of the others all the same, and each repeat and attempt gets its own."""
    shared = ", fresh: false"
    record = record_of(server(", fresh: true") + rows("", shared, "", shared), repeat=2)
    assert said(record)[::2] == ["1", "1", "1", "1"]
    assert sorted(said(record)[1::2]) in (
        ["1", "2", "3", "4"],
        ["1", "1", "1", "1"],
    )  # a fixed port is there for one process
    assert [one for one in live() if one.kind == "server"] == []
    assert {test.verdict for test in record.tests} == {Verdict.PASS}


def test_a_group_shares_a_fresh_process_in_its_order(record_of: RecordOf, server: Callable[[str], str]) -> None:
    """One test of the group says it for all, and a repeat of the group begins anew."""
    record = record_of(server("") + rows("", ", group: a, fresh: group", ", group: a", "", ", group: b"), repeat=2)
    assert said(record)[1:3] == ["1", "2"]
    assert said(record)[6:8] == ["1", "2"]
    assert [one for one in live() if one.kind == "server"] == []


def test_one_test_of_a_group_brings_the_others(record_of: RecordOf, server: Callable[[str], str]) -> None:
    from mcptest_engine.running.settings import Selection

    text = server(", fresh: group") + rows("", ", group: a", ", group: a", "")
    record = record_of(text, selection=Selection(filter="t2"))
    assert [test.name for test in record.tests] == ["t1", "t2"]
    assert said(record) == ["1", "2"]


def test_each_attempt_and_every_server_of_a_test_is_fresh(record_of: RecordOf, server: Callable[[str], str]) -> None:
    fails = ", fresh: true, retries: 2, expect: { text: { exact: '2' } }"
    step = ", fresh: true, verify: [{ tool: count, expect: { text: { exact: '2' } } }]"
    record = record_of(server("") + rows(fails, step))
    first, second = record.tests
    assert (first.verdict, len(first.attempts), second.verdict) == (Verdict.FAIL, 3, Verdict.PASS)


def test_a_composition_gets_fresh_processes_too(record_of: RecordOf, server: Callable[[str], str]) -> None:
    nodes = "nodes: [{ id: a, tool: count }, { id: b, tool: count, needs: [a] }]"
    text = server(", fresh: true") + f"compositions:\n  - {{ name: c, {nodes} }}\n  - {{ name: d, {nodes} }}\n"
    record = record_of(text)
    answers = [test.trace["nodes"]["b"]["output"] for test in record.tests if test.trace]
    assert ["2" in json.dumps(answer) for answer in answers] == [True, True]
