"""Which cases a run takes, in which order, and what each of them is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcptest_engine.core.enums import ExpectedOutcome
from mcptest_engine.core.errors import UsageError
from mcptest_engine.running.plan import make_plan
from mcptest_engine.running.settings import RunSettings, Selection

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.running.cases import Plan
    from mcptest_engine.suite.load import LoadedSuite

    Load = Callable[..., LoadedSuite]

SUITE = """\
servers:
  one: { command: ["true"] }
  two: { command: ["true"], serial: true, timeout_ms: 700 }
tools:
  - { name: alpha, server: one, tool: get_alpha, tags: [quick, read] }
  - { name: alphabet, server: one, tool: get_alpha, tags: [slow], retries: 2 }
  - { name: beta (new), server: one, tool: createRecord, timeout_ms: 5 }
  - { name: gamma, server: one, tool: create_record, serial: false, skip: not ready }
  - { name: delta, server: two, tool: get_delta }
  - { name: alpha, server: one, tool: tools/list }
resources:
  - { name: reads a file, server: one, uri: "file:///a" }
prompts:
  - { name: greets, server: one, prompt: greet, args: { who: you } }
"""


def planned(suite: LoadedSuite, selection: Selection = Selection(), **options: object) -> Plan:  # noqa: B008
    return make_plan(suite, RunSettings(selection=selection, **options), relative=lambda path: path.name)  # type: ignore[arg-type]


def names(plan: Plan) -> list[str]:
    return [case.name for case in plan.cases]


def test_cases_stand_in_declared_order_with_what_goes_on_the_wire(suite_of: Load) -> None:
    """Reported in declared order; MCP 2025-11-25, server/tools, resources, prompts."""
    cases = planned(suite_of(SUITE)).cases
    assert [(case.method, case.params) for case in cases] == [
        ("tools/call", {"name": "get_alpha", "arguments": {}}),
        ("tools/call", {"name": "get_alpha", "arguments": {}}),
        ("tools/call", {"name": "createRecord", "arguments": {}}),
        ("tools/call", {"name": "create_record", "arguments": {}}),
        ("tools/call", {"name": "get_delta", "arguments": {}}),
        ("tools/list", None),
        ("resources/read", {"uri": "file:///a"}),
        ("prompts/get", {"name": "greet", "arguments": {"who": "you"}}),
    ]


def test_ids_are_path_kind_and_name_and_a_repeat_is_numbered(suite_of: Load) -> None:
    """Test ids."""
    ids = [case.id for case in planned(suite_of(SUITE)).cases]
    assert ids[0] == "mcptest.yml::tool::alpha"
    assert ids[5] == "mcptest.yml::tool::alpha #2"
    assert ids[6] == "mcptest.yml::resource::reads a file"


def test_mutating_tools_and_serial_servers_run_alone_unless_told_otherwise(suite_of: Load) -> None:
    """Serial are tests that say so, of a serial server, or of a tool whose name says that it changes things."""
    serial = {case.name: case.serial for case in planned(suite_of(SUITE)).cases}
    assert serial == {
        "alpha": False,
        "alphabet": False,
        "beta (new)": True,
        "gamma": False,
        "delta": True,
        "reads a file": False,
        "greets": False,
    }


def test_a_test_that_looks_at_notifications_is_serial(suite_of: Load) -> None:
    """A test that targets `notifications` is serial."""
    suite = suite_of(
        'servers: { s: { command: ["true"] } }\ntools:\n  - name: a\n    tool: look\n'
        "    expect:\n      - { target: notifications, matcher: { length: 0 } }\n"
    )
    assert planned(suite).cases[0].serial


def test_the_nearest_timeout_wins_and_retries_have_a_default(suite_of: Load) -> None:
    """A test's `timeout_ms` overrides the server's."""
    cases = {case.name: case for case in planned(suite_of(SUITE), retries=1).cases}
    assert cases["reads a file"].timeout_seconds == 30
    assert cases["delta"].timeout_seconds == 0.7
    assert cases["beta (new)"].timeout_seconds == 0.005
    assert (cases["alphabet"].retries, cases["greets"].retries) == (2, 1)


def test_a_filter_equal_to_a_whole_name_takes_just_that_test(suite_of: Load) -> None:
    """So every `repro` line is exact."""
    suite = suite_of(SUITE)
    assert names(planned(suite, Selection(filter="alphabet"))) == ["alphabet"]
    assert names(planned(suite, Selection(filter="alpha"))) == ["alpha", "alpha"]
    assert names(planned(suite, Selection(filter="alp"))) == ["alpha", "alphabet", "alpha"]
    assert names(planned(suite, Selection(filter="beta (new)"))) == ["beta (new)"]


def test_a_filter_may_be_a_regular_expression(suite_of: Load) -> None:
    """`re:` a regex."""
    assert names(planned(suite_of(SUITE), Selection(filter="re:^(delta|greets)$"))) == ["delta", "greets"]


def test_a_bad_expression_in_a_filter_is_a_usage_error(suite_of: Load) -> None:
    """Upstream facts 4.2: `re:(` is exit 2."""
    with pytest.raises(UsageError, match="not a regular expression"):
        planned(suite_of(SUITE), Selection(filter="re:("))


def test_tags_and_servers_narrow_together(suite_of: Load) -> None:
    """Issue: `--tag`, `--skip-tag`, `--server`."""
    suite = suite_of(SUITE)
    assert names(planned(suite, Selection(tags=frozenset({"quick", "slow"})))) == ["alpha", "alphabet"]
    chosen = Selection(tags=frozenset({"quick", "slow"}), skip_tags=frozenset({"read"}))
    assert names(planned(suite, chosen)) == ["alphabet"]
    assert names(planned(suite, Selection(servers=frozenset({"two"})))) == ["delta"]


def test_an_unknown_server_is_a_usage_error_with_the_nearest_name(suite_of: Load) -> None:
    """A misspelt `--server` must not pass green by selecting nothing."""
    with pytest.raises(UsageError) as refused:
        planned(suite_of(SUITE), Selection(servers=frozenset({"tow"})))
    assert refused.value.hint == "did you mean `two`?"


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_shards_hold_every_test_once(suite_of: Load, count: int) -> None:
    """Issue: `--shard i/n`; a test belongs to one shard, by its id alone."""
    suite = suite_of(SUITE)
    shards = [planned(suite, Selection(shard=(index, count))) for index in range(1, count + 1)]
    found = [case.id for shard in shards for case in shard.cases]
    assert sorted(found) == sorted(case.id for case in planned(suite).cases)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_dealt_shards_are_of_one_size(suite_of: Load, count: int) -> None:
    """A cluster's run lasts as long as its longest batch."""
    suite = suite_of(SUITE)
    shards = [planned(suite, Selection(shard=(index, count), dealt=True)).cases for index in range(1, count + 1)]
    assert max(map(len, shards)) - min(map(len, shards)) <= 1
    assert sorted(case.id for shard in shards for case in shard) == sorted(case.id for case in planned(suite).cases)


def test_focused_tests_run_alone_and_the_plan_says_so(suite_of: Load) -> None:
    """A run of a part must not look like a run of the whole."""
    suite = suite_of(SUITE.replace("tool: get_delta", "tool: get_delta, only: true"))
    plan = planned(suite)
    assert names(plan) == ["delta"]
    assert plan.warnings == ("only the 1 focused of 8 tests run (`only: true`)",)


def test_repeats_are_numbered_and_a_filter_finds_their_base(suite_of: Load) -> None:
    """Full names carry ` #run`; each repro line works."""
    suite = suite_of(SUITE)
    plan = planned(suite, Selection(filter="greets"), repeat=3)
    assert names(plan) == ["greets #1", "greets #2", "greets #3"]
    assert len({case.id for case in plan.cases}) == 3
    assert names(planned(suite, Selection(filter="greets #2"))) == ["greets"]


def test_options_of_the_suite_are_defaults(suite_of: Load) -> None:
    """`run_options.concurrency`; the command line wins."""
    suite = suite_of(SUITE + "run_options: { concurrency: 3, bail: 2, restart: false }\n")
    plan = planned(suite)
    assert (plan.workers, plan.bail, plan.restart) == (3, 2, False)
    assert planned(suite, workers=5, bail=1).workers == 5


NEW = """\
servers:
  one: { command: ["true"], timeout_ms: 900 }
  two: { command: ["true"] }
tools:
  - { name: plain, server: one, tool: look }
  - { name: faulted, server: one, tool: look, fault: { delay_ms: 250 } }
  - { name: not alone, server: one, tool: look, serial: false, verify: [{ tool: look }] }
  - name: verified
    server: one
    tool: look
    meta: { trace: a }
    client: { elicitation: decline }
    verify:
      - { name: elsewhere, server: two, tool: look, args: { a: 1 }, timeout_ms: 70 }
      - { uri: "file:///a", expect: [{ target: http.status, matcher: { exact: 401 } }] }
      - { prompt: greet, args: { who: you }, expect: { max_duration_ms: 5 } }
  - name: asks
    server: one
    tool: look
    serial: false
    expect: [{ target: "server_requests[0].method", matcher: { exact: roots/list } }]
  - name: asks later
    server: one
    tool: look
    serial: false
    verify: [{ tool: look, expect: [{ target: notifications, matcher: { length: 1 } }] }]
  - { name: level, server: one, tool: logging/setLevel, args: { level: debug }, serial: false, meta: { a: 1 } }
resources:
  - { name: reads, server: one, uri: "file:///a", meta: { b: 2 } }
"""


def test_a_test_says_what_befalls_it_and_what_is_verified_after(suite_of: Load) -> None:
    """What a step leaves out is as for its test."""
    cases = {case.name: case for case in planned(suite_of(NEW)).cases}
    assert cases["faulted"].request.fault == ("delay", 0.25, ExpectedOutcome.SUCCESS)
    case = cases["verified"]
    assert (case.request.client, case.params) == (
        {"elicitation": "decline"},
        {"name": "look", "arguments": {}, "_meta": {"trace": "a"}},
    )
    told = [(step.number, step.name, step.server, step.method, step.timeout_seconds) for step in case.request.verify]
    assert told == [
        (0, "elsewhere", "two", "tools/call", 0.07),
        (1, None, "one", "resources/read", 0.9),
        (2, None, "one", "prompts/get", 0.9),
    ]
    assert [step.params for step in case.request.verify] == [
        {"name": "look", "arguments": {"a": 1}},
        {"uri": "file:///a"},
        {"name": "greet", "arguments": {"who": "you"}},
    ]
    assert [step.uses_http for step in case.request.verify] == [False, True, False]
    assert case.request.verify[2].expect == {"assertions": [], "max_duration_ms": 5}


def test_what_a_request_carries_beside_its_parameters_goes_as_meta(suite_of: Load) -> None:
    """basic#meta: any request may have it; a method named as a tool is sent itself."""
    cases = {case.name: case for case in planned(suite_of(NEW)).cases}
    assert (cases["level"].method, cases["level"].params) == ("logging/setLevel", {"level": "debug", "_meta": {"a": 1}})
    assert cases["reads"].params == {"uri": "file:///a", "_meta": {"b": 2}}


def test_tests_that_look_at_what_others_may_do_run_alone(suite_of: Load) -> None:
    """With a fault or a `verify` unless it says otherwise; who watches what comes unasked always."""
    serial = {case.name: case.serial for case in planned(suite_of(NEW)).cases if case.serial}
    assert serial.keys() == {"faulted", "verified", "asks", "asks later"}


GROUPED = """\
servers: { s: { command: ["true"] } }
tools:
  - { name: stands alone, tool: look }
  - { name: opens, tool: open, group: account, tags: [slow] }
  - { name: reads, tool: look, group: account, tags: [quick] }
  - { name: also stands alone, tool: look }
  - { name: other, tool: look, group: other, serial: false }
compositions:
  - { name: closes, group: account, nodes: [{ id: a, tool: close }] }
  - name: other too
    group: other
    nodes: [{ id: a, tool: look }]
    eval: { mcp_use: { threshold: 0.5 } }
    cases: [{ name: c }]
"""


@pytest.mark.parametrize("selection", [Selection(filter="reads"), Selection(tags=frozenset({"quick"}))])
def test_selecting_one_test_of_a_group_selects_all_of_it_in_order(suite_of: Load, selection: Selection) -> None:
    """So a repro line, which names one test, runs what must run before it."""
    plan = planned(suite_of(GROUPED), selection)
    assert names(plan) == ["opens", "reads", "closes"]
    assert all(case.serial for case in plan.cases)


def test_what_is_left_out_by_its_tag_stays_out_of_its_group(suite_of: Load) -> None:
    selection = Selection(filter="reads", skip_tags=frozenset({"slow"}))
    assert names(planned(suite_of(GROUPED), selection)) == ["reads", "closes"]


def test_a_focused_test_brings_its_group(suite_of: Load) -> None:
    focused = GROUPED.replace("tags: [quick]", "only: true")
    assert names(planned(suite_of(focused))) == ["opens", "reads", "closes"]


def test_a_group_leaves_the_order_open_where_its_tests_say_so(suite_of: Load) -> None:
    serial = {case.name: case.serial for case in planned(suite_of(GROUPED)).cases}
    assert (serial["other"], serial["other too [c]"], serial["reads"]) == (False, True, True)


@pytest.mark.parametrize("dealt", [True, False])
@pytest.mark.parametrize("count", [2, 3, 7])
def test_a_group_is_never_split_over_shards(suite_of: Load, count: int, dealt: bool) -> None:
    """Neither are cases that share a budget: which of them crosses it must not depend on the shard."""
    shared = (
        GROUPED
        + """\
  - name: dear
    nodes: [{ id: a, tool: look }]
    cases: [{ name: one }, { name: two }, { name: three }, { name: four }]
    budget: { max_tokens: 5 }
"""
    )
    suite = suite_of(shared)
    shards = [names(planned(suite, Selection(shard=(part, count), dealt=dealt))) for part in range(1, count + 1)]
    assert sorted(name for shard in shards for name in shard) == sorted(names(planned(suite)))
    for shard in shards:
        for group in ({"opens", "reads", "closes"}, {"other", "other too [c]", "other too [c]: mcp_use"}):
            assert group.isdisjoint(shard) or group <= set(shard)
        assert len([name for name in shard if name.startswith("dear")]) in {0, 4}
