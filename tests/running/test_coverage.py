"""How much of a server the tests of a run exercise, and the floors of a suite's `coverage`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.coverage import Dimension, added_up
from mcptest_engine.core.errors import RecordError
from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.reporting.merge import merge_records
from mcptest_engine.reporting.record_schema import record_fault, record_schema
from mcptest_engine.reporting.registry import FORMATS, RenderOptions, render
from mcptest_engine.running import coverage_extension
from mcptest_engine.running.coverage import MOST_VALUES, ServerLists, coverage_of, lists_of_tests
from mcptest_engine.running.settings import Selection
from tests.conftest import SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Record = Callable[..., RunRecord]

NO_CATALOG = "run_options: { catalog: off }\n"
TESTS = """\
tools:
  - { name: "celsius", tool: weather, args: { unit: C } }
  - { name: "nowhere", tool: weather, args: { city: nowhere }, expect: [{ target: result.isError, matcher: { exact: true } }] }
  - { name: "days", tool: pick, args: { days: [1] } }
resources:
  - { name: "memo", uri: "memo://one" }
"""


def suite(coverage: str, *arguments: object, tests: str = TESTS, more: str = "") -> str:
    command = json.dumps([sys.executable, "-S", str(SERVERS / "offering.py"), *map(str, arguments)])
    return f"servers: {{ here: {{ command: {command}, timeout_ms: 20000 }} }}\n{coverage}\n{more}{tests}"


def percents(record: RunRecord) -> dict[str, float | None]:
    return {name: row["percent"] for name, row in record.to_json()["coverage"].items()}


def told(record: RunRecord) -> list[str]:
    return [text for text in record.warnings if text.startswith("coverage: ")]


@pytest.fixture(scope="module")
def missed(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """The record of a whole run that misses two floors and reaches another."""
    import asyncio
    import os

    from mcptest_engine.running.launch import launch
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadOptions, load_suite
    from mcptest_engine.workspace.workspace import Workspace

    place = tmp_path_factory.mktemp("missed")
    path = place / "mcptest.yml"
    path.write_text(suite("coverage: { tools: 100, prompts: 50, error_paths: 50 }"), encoding="utf-8")
    loaded = load_suite(path, LoadOptions(environ={}, workspace_root=place))
    settings = RunSettings(environ={"PATH": os.environ["PATH"]})
    return asyncio.run(launch(loaded, settings, workspace=Workspace(place), emit=lambda _event: None))


def test_a_run_below_a_floor_ends_with_6_and_names_what_is_missing(missed: RunRecord) -> None:
    assert (missed.exit_code, missed.verdict, missed.totals.failed) == (6, "fail", 0)
    assert told(missed) == [
        "coverage: tools 66.7 % (2 of 3), below the floor of 100 %; not covered: `rest`",
        "coverage: prompts 0 % (0 of 1), below the floor of 50 %; not covered: `greet`",
    ]


def test_the_record_holds_every_way_of_counting_with_its_floor(missed: RunRecord) -> None:
    told = missed.to_json()["coverage"]
    assert told == {
        "tools": {"covered": 2, "total": 3, "percent": 66.7, "floor": 100, "met": False, "missing": ["rest"]},
        "parameters": {"covered": 3, "total": 3, "percent": 100.0},
        "enum_values": {"covered": 2, "total": 3, "percent": 66.7, "missing": ['weather.unit = "F"']},
        "resources": {"covered": 1, "total": 2, "percent": 50.0, "missing": ["memo://{name}/text"]},
        "prompts": {"covered": 0, "total": 1, "percent": 0.0, "floor": 50, "met": False, "missing": ["greet"]},
        "error_paths": {
            "covered": 1, "total": 2, "percent": 50.0, "floor": 50, "met": True, "missing": ["pick"], "refused": ["weather"],
        },
        "strength": {
            "covered": 0, "total": 4, "percent": 0.0,
            "missing": ["celsius (valid)", "nowhere (valid)", "days (valid)", "memo (valid)"],
        },
    }  # fmt: skip


def test_the_record_is_as_its_schema_says_and_comes_back_whole(missed: RunRecord) -> None:
    data = json.loads(json.dumps(missed.to_json()))
    assert record_fault(data) is None
    assert RunRecord.from_json(data) == missed
    assert [key for key in record_schema()["properties"] if key in data] == list(data)
    assert record_fault({**data, "coverage": {"tolls": data["coverage"]["tools"]}}) is not None
    with pytest.raises(RecordError):
        RunRecord.from_json({**data, "coverage": {"tools": {}}})


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in {"json", "ndjson"}])
def test_every_report_tells_a_missed_floor(missed: RunRecord, name: str) -> None:
    text = render(name, missed, RenderOptions()).text
    assert "a quality gate was not met (exit code 6)" in text
    assert "below the floor of 100" in text
    assert "rest" in text


def test_an_agent_is_told_of_a_missed_floor_beside_a_failure(record_of: Record) -> None:
    """1 before 6."""
    failing = TESTS.replace("exact: true", "exact: false")
    record = record_of(suite("coverage: { tools: 100 }", tests=failing))
    assert record.exit_code == 1
    text = render("agent", record, RenderOptions()).text
    assert "NOTE coverage: tools 66.7 % (2 of 3), below the floor of 100 %; not covered: `rest`\n" in text


def test_floors_that_are_reached_are_not_spoken_of(record_of: Record) -> None:
    record = record_of(suite("coverage: { tools: 66.6, parameters: 100, resources: 50, prompts: 0 }"))
    assert (record.exit_code, record.warnings) == (0, ())


def test_an_empty_block_measures_and_demands_nothing(record_of: Record) -> None:
    record = record_of(suite("coverage: {}"))
    assert (record.exit_code, record.warnings) == (0, ())
    assert percents(record)["tools"] == 66.7


def test_without_the_block_no_list_is_asked_for(record_of: Record, tmp_path: Path) -> None:
    record = record_of(suite("", tmp_path / "log", more=NO_CATALOG))
    assert record.coverage == ()
    assert not (tmp_path / "log").exists()


def test_the_list_that_a_run_has_read_to_check_its_calls_tells_what_was_never_tested(record_of: Record) -> None:
    """Without the block; nothing else is asked for."""
    record = record_of(suite(""))
    assert record.exit_code == 0
    assert percents(record) == {"tools": 66.7, "parameters": 100, "enum_values": 66.7, "error_paths": 50, "strength": 0}
    assert record.coverage[0].missing == ("rest",)


def test_a_floor_of_strength_names_the_tests_that_check_no_value(record_of: Record) -> None:
    expect = 'expect: [{ target: "result.content[0].text", matcher: { exact: done } }]'
    strong = TESTS.replace("days: [1] } }", f"days: [1] }}, {expect} }}")
    record = record_of(suite("coverage: { strength: 50 }", tests=strong))
    failed = [test.message for test in record.tests if test.verdict == "fail"]
    assert (record.exit_code, failed) == (6, [])
    (line,) = told(record)
    assert line == (
        "coverage: strength 25 % (1 of 4), below the floor of 50 %; too weak: "
        "`celsius (valid)`, `nowhere (valid)`, `memo (valid)`"
    )


def test_with_the_block_the_lists_are_asked_for_once(record_of: Record, tmp_path: Path) -> None:
    assert record_of(suite("coverage: {}", tmp_path / "log")).coverage
    assert (tmp_path / "log").read_text() == "listed\n"


def test_a_run_whose_own_tests_list_the_tools_knows_its_coverage(record_of: Record, tmp_path: Path) -> None:
    """Of what was not listed nothing is said."""
    listing = "tools:\n  - { name: lists, tool: tools/list }\n  - { name: rests, tool: rest }\n"
    record = record_of(suite("", tmp_path / "log", tests=listing, more=NO_CATALOG))
    counted = {"tools": 33.3, "parameters": 0.0, "enum_values": 0.0, "error_paths": 0.0, "strength": 0.0}
    assert percents(record) == counted
    assert (tmp_path / "log").read_text() == "listed\n"


@pytest.mark.parametrize(
    "selection", [Selection(filter="celsius"), Selection(filter="memo"), Selection(tags=frozenset("x"))]
)
def test_a_part_of_the_tests_is_not_measured_by_the_floors(
    record_of: Record, tmp_path: Path, selection: Selection
) -> None:
    suite_text = suite("coverage: { tools: 100 }", tmp_path / "log", more=NO_CATALOG)
    record = record_of(suite_text, selection=selection)
    assert record.exit_code == (7 if selection.tags else 0)
    note = ["coverage: its floors are not checked, because 1 of 4 tests were selected"]
    assert told(record) == ([] if selection.tags else note)
    assert not (tmp_path / "log").exists()


def test_a_selection_that_takes_every_test_is_the_whole(record_of: Record) -> None:
    record = record_of(suite("coverage: { tools: 100 }"), selection=Selection(servers=frozenset({"here"})))
    assert record.exit_code == 6


def test_shards_leave_the_floors_to_their_report(record_of: Record, missed: RunRecord) -> None:
    text = suite("coverage: { tools: 100, prompts: 50, error_paths: 50 }")
    shards = [record_of(text, selection=Selection(shard=(index, 2))) for index in (1, 2)]
    assert all(shard.tests for shard in shards)
    assert [shard.exit_code for shard in shards] == [0, 0]
    assert [told(shard) for shard in shards] == [
        ["coverage: its floors are checked for all shards together, by `mcptest report --merge`"]
    ] * 2
    merged = merge_records(shards)
    assert merged.exit_code == 6
    assert merged.warnings == missed.warnings
    assert merged.to_json()["coverage"] == missed.to_json()["coverage"]
    assert merge_records([missed]).to_json() == missed.to_json()
    alone = merge_records(shards[:1])
    assert alone.exit_code == 6
    assert not any(row.judged for row in alone.coverage)
    assert told(alone) == ["coverage: its floors are not checked, because shards are missing"]


def test_one_shard_of_one_is_the_whole(record_of: Record, missed: RunRecord) -> None:
    text = suite("coverage: { tools: 100, prompts: 50, error_paths: 50 }")
    record = record_of(text, selection=Selection(shard=(1, 1)))
    assert (record.exit_code, record.warnings) == (6, missed.warnings)
    merged = merge_records([record])
    assert (merged.exit_code, merged.warnings) == (6, missed.warnings)


@pytest.mark.parametrize(("mode", "floor"), [("closed", "tools"), ("halved", "resources")])
def test_a_floor_on_what_a_server_does_not_list_is_not_reached(record_of: Record, mode: str, floor: str) -> None:
    record = record_of(suite(f"coverage: {{ {floor}: 10, prompts: 0 }}", "/dev/null", mode))
    assert record.exit_code == 6
    (line,) = [text for text in told(record) if floor in text]
    assert line.startswith(
        f'coverage: {floor} could not be counted, so the floor of 10 % is missed: server "here" answered'
    )
    assert "not today" in line
    assert record_fault(json.loads(json.dumps(record.to_json()))) is None


def test_a_server_that_never_lists_is_not_waited_for_for_ever(
    record_of: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage_extension, "LISTING_SECONDS", 0.2)
    text = suite("coverage: { tools: 10 }", "/dev/null", "silent").replace("timeout_ms: 20000", "timeout_ms: 1000")
    record = record_of(text)
    assert record.exit_code == 6
    assert told(record) == [
        (
            "coverage: tools could not be counted, so the floor of 10 % is missed: "
            'server "here" did not answer the list requests within 0.2 s'
        )
    ]


def test_a_server_that_no_test_asks_counts_too(record_of: Record) -> None:
    unused = f"    idle: {{ command: {json.dumps([sys.executable, '-S', str(SERVERS / 'offering.py')])} }}\n"
    text = (
        suite("coverage: { tools: 40 }")
        .replace("servers: { here: {", "servers:\n    here: {")
        .replace(" } }\n", f" }}\n{unused}", 1)
    )
    named = text.replace("{ name:", "{ server: here, name:")
    record = record_of(named)
    assert record.exit_code == 6
    (line,) = told(record)
    assert line.endswith("not covered: `here/rest`, `idle/weather`, `idle/pick`, `idle/rest`")


def test_a_run_that_its_hook_stopped_lists_nothing(record_of: Record, tmp_path: Path) -> None:
    record = record_of(suite("coverage: { tools: 100 }", tmp_path / "log", more="hooks: { beforeAll: 'false' }\n"))
    assert (record.exit_code, record.coverage) == (1, ())
    assert "coverage: its floors are not checked, because no test was started" in record.warnings
    assert not (tmp_path / "log").exists()


def test_a_floor_on_what_nobody_offers_is_told(record_of: Record) -> None:
    """It is reached, and guards nothing: perhaps a server has lost its list."""
    block = "coverage: { tools: 100, prompts: 0, parameters: 5 }"
    record = record_of(suite(block, "/dev/null", "bare", more=NO_CATALOG))
    assert record.exit_code == 0
    assert told(record) == ["coverage: the servers offer no tools, so the floor of 100 % has no effect"]


def test_names_of_a_server_are_told_on_one_line() -> None:
    row = Dimension(name="tools", total=1, missing=("a\n\x1b[2Jb" * 40,), floor=1.0, judged=True)
    assert row.summary.isprintable()
    assert len(row.summary) < 200


@pytest.mark.parametrize(("covered", "floor", "shown"), [(1, 50, 33.3), (2, 66.7, 66.6), (2, 66, 66.7), (3, 100, 100)])
def test_a_percentage_never_looks_like_a_floor_that_it_misses(covered: int, floor: float, shown: float) -> None:
    row = Dimension(name="tools", covered=covered, total=3, floor=floor, judged=True)
    assert row.shown_percent == shown
    assert row.is_short == (shown < floor)


def test_nearly_everything_is_not_told_as_everything() -> None:
    assert Dimension(name="tools", covered=9_999, total=10_000).shown_percent == 99.9


def test_of_nothing_all_is_covered() -> None:
    row = Dimension(name="tools", floor=100, judged=True)
    assert (row.percent, row.is_short) == (100.0, False)


def test_shards_that_were_offered_different_things_cannot_be_added_up() -> None:
    """What only one of them was offered would count as covered by it."""
    one, other = (
        Dimension(name="tools", total=total, missing=missing, floor=5) for total, missing in ((1, ()), (2, ("b",)))
    )
    (row,) = added_up([(one,), (other,)], judged=True)
    assert (row.unknown, row.is_short) == ("the shards had different lists", True)


def test_namesakes_in_a_list_are_counted_once() -> None:
    tools = [{"name": "a"}] * 9 + [{"name": "b"}]
    offered = ServerLists(tools=tools, resources=[{"uri": "u"}] * 2, prompts=[{"name": "p"}] * 2)
    rows = {row.name: (row.covered, row.total) for row in coverage_of({"s": offered}, [call({}, "a")])}
    assert (rows["tools"], rows["resources"], rows["prompts"]) == ((1, 2), (0, 1), (0, 1))


def test_what_one_shard_could_not_count_is_not_counted() -> None:
    known, unknown = Dimension(name="tools", total=1, floor=5), Dimension(name="tools", floor=5, unknown="gone")
    (row,) = added_up([(known,), (unknown,)], judged=True)
    assert (row.unknown, row.is_short) == ("gone", True)
    (row,) = added_up([(known,), ()], judged=True)
    assert (row.unknown, row.is_short) == ("a shard has no figures", True)


@pytest.mark.parametrize(
    "tool",
    [
        {},
        {"name": 5, "inputSchema": None},
        {"name": "t", "inputSchema": {"properties": []}},
        {"name": "t", "inputSchema": {"properties": {"p": None, "q": {"enum": "no"}, "r": {"items": []}}}},
        {"name": "t", "inputSchema": {"properties": {"p": {"enum": list(range(5 * MOST_VALUES))}}}},
    ],
)
def test_a_catalog_is_counted_whatever_is_in_it(tool: dict[str, object]) -> None:
    rows = coverage_of({"s": ServerLists(tools=[tool])}, [])
    assert [row.covered for row in rows] == [0] * 6
    assert rows[2].total <= MOST_VALUES


def test_an_enum_that_is_nested_without_end_is_passed_over() -> None:
    deep: object = 1
    for _ in range(5_000):
        deep = [deep]
    tool = {"name": "t", "inputSchema": {"properties": {"p": {"enum": [deep, "a"]}}}}
    assert coverage_of({"s": ServerLists(tools=[tool])}, [])[2].missing == ('t.p = "a"',)


def call(arguments: object, name: str = "t", **more: object) -> dict[str, object]:
    request = {"method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return {"server": "s", "verdict": "pass", "request": request, "output": {"result": {}}, **more}


def test_true_is_not_one_and_a_value_in_a_list_counts() -> None:
    tool = {"name": "t", "inputSchema": {"properties": {"p": {"enum": [1, True, "a", "b"]}}}}
    rows = coverage_of({"s": ServerLists(tools=[tool])}, [call({"p": True}), call({"p": ["a"]})])
    assert rows[2].missing == ("t.p = 1", 't.p = "b"')


def test_values_that_the_record_keeps_to_itself_are_not_missed() -> None:
    tool = {"name": "t", "inputSchema": {"properties": {"token": {"enum": ["a"]}}}}
    rows = coverage_of({"s": ServerLists(tools=[tool])}, [call({"token": "[REDACTED]"})])
    assert (rows[1].covered, rows[2].total) == (1, 0)


@pytest.mark.parametrize(
    "left_out",
    [
        {"verdict": "skip"},
        {"verdict": "fail"},
        {"verdict": "inconclusive"},
        {"output": None},
        {"output": {"result": {"isError": True}}},
        {"output": {"error": {}}},
        {"request": None},
        {"request": {"params": 1}},
    ],
)
def test_a_tool_that_never_succeeded_in_a_passing_test_is_not_covered(left_out: dict[str, Any]) -> None:
    rows = coverage_of({"s": ServerLists(tools=[{"name": "t"}])}, [call({}, **left_out)])
    assert rows[0].missing == ("t",)


def test_the_strength_of_tests_is_counted_but_for_those_that_were_skipped() -> None:
    tests = [
        {**call({}, verdict=verdict, strength=strength), "name": verdict}
        for verdict, strength in (("pass", "value"), ("fail", "value"), ("skip", "valid"), ("inconclusive", "shape"))
    ]
    row = coverage_of({}, tests)[-1]
    assert (row.name, row.covered, row.total, row.missing) == ("strength", 2, 3, ("inconclusive (shape)",))
    old = coverage_of({}, [*tests, call({})])
    assert "strength" not in [row.name for row in old]  # a record of before it was there


def test_the_weak_tests_of_shards_are_added_up() -> None:
    parts = [(Dimension(name="strength", covered=1, total=2, missing=(f"{name} (valid)",), floor=60),) for name in "ab"]
    (row,) = added_up(parts, judged=True)
    assert (row.covered, row.total, row.missing, row.is_short) == (2, 4, ("a (valid)", "b (valid)"), True)


@pytest.mark.parametrize(
    ("template", "uri", "fits"),
    [
        ("memo://{name}/text", "memo://one/text", True),
        ("memo://{name}/text", "memo:///text", False),
        ("memo://{name}/text", "memo://one/two/text", True),
        ("memo://{name}", "memo://", False),
        ("memo://one", "memo://one", True),
        ("memo://one", "memo://one/", False),
        ("memo://list{?page}", "memo://list", True),
        ("memo://list{?page}", "memo://list?page=1", True),
        ("memo://{a}{b}", "memo://x", False),
        ("memo://{a}-{b}-end", "memo://1-2-end", True),
        ("memo://{a}-{b}-end", "memo://1-end", False),
        ("{a}x", "x", False),
        ("a{b", "a{b", True),
        ("{a}" * 200 + "!", "a" * 5_000, False),
    ],
)
def test_a_template_is_read_by_every_uri_that_fits_it(template: str, uri: str, fits: bool) -> None:
    """The last one would take a regular expression for ever."""
    read = call({}, request={"method": "resources/read", "params": {"uri": uri}})
    rows = coverage_of({"s": ServerLists(templates=[{"uriTemplate": template}])}, [read])
    assert (rows[3].covered, rows[3].total) == (int(fits), 1)


def test_a_list_of_several_pages_is_no_catalog() -> None:
    page = {
        "request": {"method": "tools/list", "params": {"cursor": "2"}},
        "output": {"result": {"tools": [{"name": "b"}]}},
    }
    first = {"request": {"method": "tools/list"}, "output": {"result": {"tools": [{"name": "a"}], "nextCursor": "2"}}}
    assert lists_of_tests([{**page, "server": "s"}, {**first, "server": "s"}]) == {}
