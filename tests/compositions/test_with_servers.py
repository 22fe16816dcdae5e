"""Compositions over real servers: what is called, at once or after each other, and what comes of it when a server will not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.results import FailureKind, Verdict
from mcptest_engine.reporting.facts import failed_server, reasons
from mcptest_engine.reporting.registry import RenderOptions, render
from mcptest_engine.reporting.repro import repro_line
from mcptest_engine.servers.failures import duration
from tests.compositions.conftest import calls_in, nodes_of
from tests.processes import longer

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from mcptest_engine.core.run_record import RunRecord

    Command = Callable[..., subprocess.CompletedProcess[str]]
    Run = Callable[..., RunRecord]


def node(own_id: str, tool: str = "give", *needs: Any, **more: Any) -> dict[str, Any]:
    return {"id": own_id, "tool": tool, "needs": list(needs), **more}


def wants(target: str, value: Any) -> dict[str, Any]:
    return {"target": target, "matcher": {"exact": value}}


def test_three_servers_feed_each_other_in_one_composition(run: Run, log: Path) -> None:
    """A composition over three real servers."""
    composition = {
        "nodes": [
            node(
                "c",
                "give",
                "a",
                "b",
                server="three",
                args={"value": ["${a.structuredContent}", "${b.structuredContent.n}"]},
            ),
            node("b", "give", "a", server="two", args={"value": {"n": "${a.structuredContent.n}"}}),
            node("a", server="one", args={"value": {"n": 3}}),
        ],
        "output": "c",
        "expect": [wants("output.structuredContent.value", [{"n": 3}, 3]), wants("composition.order", ["a", "b", "c"])],
    }
    record = run(composition, servers=("one", "two", "three"))
    assert record.tests[0].verdict is Verdict.PASS, record.tests[0].message
    assert [call[1:] for call in calls_in(log) if call[0] == "start"] == [
        ("one", "give"),
        ("two", "give"),
        ("three", "give"),
    ]
    assert {server.name for server in record.servers} == {"one", "two", "three"}


def test_nodes_without_edges_between_them_run_at_once(run: Run) -> None:
    """Both are answered only when both are in hand."""
    record = run({"nodes": [node("a", "meet", args={"party": 2}), node("b", "meet", args={"party": 2})]})
    assert record.tests[0].verdict is Verdict.PASS, record.tests[0].message


def test_max_concurrency_is_really_parallel_and_results_come_in_the_order_of_the_elements(run: Run) -> None:
    """The server answers the last call first."""
    record = run(
        {
            "nodes": [
                node("list", mock={"result": [1, 2, 3, 4, 5, 6]}),
                node(
                    "each",
                    "meet",
                    "list",
                    for_each="${list}",
                    max_concurrency=3,
                    args={"party": 3, "value": "${item}"},
                    transform={"jq": ".result.structuredContent"},
                ),
            ]
        }
    )
    each = nodes_of(record)["each"]
    assert each["output"] == [{"value": item, "at_once": 3} for item in range(1, 7)]
    assert [call["item"] for call in each["calls"]] == [0, 1, 2, 3, 4, 5]


def test_a_fan_out_is_sequential_when_nothing_is_said(run: Run, log: Path) -> None:
    each = node("each", "give", "list", for_each="${list[*]}", args={"value": "${item}"})
    run({"nodes": [node("list", mock={"result": [1, 2]}), each]})
    assert [call[0] for call in calls_in(log)] == ["start", "end", "start", "end"]


def test_an_element_that_fails_ends_the_fan_out_with_its_index(run: Run, log: Path) -> None:
    """Compositions, Fan-out, Edge cases."""
    record = run(
        {
            "nodes": [
                node("list", mock={"result": [0, 0, 9, 0]}),
                node("each", "flaky", "list", for_each="${list}", args={"key": "k${item}", "fails": "${item}"}),
                node("after", "give", "each", args={"value": "${each}"}),
            ]
        }
    )
    nodes = nodes_of(record)
    assert nodes["each"]["status"] == "err"
    assert nodes["each"]["message"] == "item [2]: the tool reported an error: not yet"
    assert [call["status"] for call in nodes["each"]["calls"]] == ["ok", "ok", "err"]
    assert (nodes["after"]["status"], nodes["after"]["output"], nodes["after"]["duration_ms"]) == (
        "skipped",
        None,
        None,
    )
    assert nodes["after"]["message"] == "`each` failed"
    assert sum(call[0] == "start" for call in calls_in(log)) == 3


def test_calls_under_way_when_the_time_is_over_are_cancelled_at_the_server(run: Run, log: Path) -> None:
    """The server is there before the time begins to run."""
    suspended = [
        node("list", mock={"result": [1, 2, 3]}),
        node("each", "hang", "list", for_each="${list}", max_concurrency=2, args={"n": "${item}"}),
        node("alone", "hang"),
        node("after", "give", "alone"),
    ]
    for seconds in longer(0.1):
        log.unlink(missing_ok=True)
        limited = {"nodes": suspended, "budget": {"max_duration_ms": round(seconds * 1000)}}
        record = run({"nodes": [node("warm")]}, limited, workers=1)
        nodes = nodes_of(record, 1)
        if len(nodes["each"].get("calls", ())) == 2 and [call[0] for call in calls_in(log)].count("start") == 4:
            break  # else the time was over before all of them were under way
    assert [nodes[name]["status"] for name in ("each", "alone", "after")] == ["err", "err", "skipped"]
    assert nodes["alone"]["message"] == "ended: the budget was used up (max_duration_ms)"
    assert nodes["after"]["message"] == "not run: the budget was used up (max_duration_ms)"
    assert [call["message"] for call in nodes["each"]["calls"]] == ["ended before it was answered"] * 2
    failure = record.tests[1].failure
    assert failure is not None
    assert (failure.kind, failure.message) == (
        FailureKind.BUDGET,
        f"budget max_duration_ms: it took longer than {duration(seconds)}",
    )
    assert [call[0] for call in calls_in(log)].count("cancelled") == 3


def test_an_empty_source_is_an_ok_node_with_an_empty_array(run: Run, log: Path) -> None:
    record = run({"nodes": [node("list", mock={"result": []}), node("each", "give", "list", for_each="${list}")]})
    assert (nodes_of(record)["each"]["status"], nodes_of(record)["each"]["output"]) == ("ok", [])
    assert calls_in(log) == []


def test_a_source_that_is_no_array_fails_the_node_naming_the_parent_and_the_type(run: Run) -> None:
    record = run(
        {"nodes": [node("thing", mock={"result": {"a": 1}}), node("each", "give", "thing", for_each="${thing}")]}
    )
    assert nodes_of(record)["each"]["message"] == (
        "`for_each` needs an array, and `${thing}` (node `thing`) is an object"
    )
    assert record.tests[0].message == (
        "node `each` failed: `for_each` needs an array, and `${thing}` (node `thing`) is an object"
    )


def test_a_fan_out_over_a_fan_out_walks_its_results(run: Run) -> None:
    record = run(
        {
            "nodes": [
                node("list", mock={"result": [1, 2]}),
                node("one", "give", "list", for_each="${list}", args={"value": {"n": "${item}"}}),
                node("two", "give", "one", for_each="${one}", args={"value": {"m": "${item.structuredContent.n}"}}),
                node("all", "give", "two", args={"value": "${two[*].structuredContent.m}"}),
            ],
            "expect": [wants("output.structuredContent.value", [1, 2])],
        }
    )
    assert record.tests[0].verdict is Verdict.PASS, record.tests[0].message


def test_a_refusal_and_a_protocol_error_make_a_node_err_with_a_null_output(run: Run) -> None:
    record = run(
        {"nodes": [node("a", "refuse", args={"text": "not today"}), node("b", "reject"), node("c", "give", "a")]}
    )
    nodes = nodes_of(record)
    assert (nodes["a"]["status"], nodes["a"]["output"]) == ("err", None)
    assert nodes["a"]["message"] == "the tool reported an error: not today"
    assert nodes["b"]["status"] == "err"
    assert "rejected" in nodes["b"]["message"]
    assert record.tests[0].message == (
        "node `a` failed: the tool reported an error: not today; so did `b` (1 node skipped)"
    )


def test_of_many_nodes_that_failed_the_rest_is_counted_and_so_is_what_was_skipped_because_of_them(run: Run) -> None:
    failing = [node(name, "refuse") for name in ("a", "b", "c", "d", "e", "f")]
    more = [node("after", "give", "a"), node("unwanted", when="false"), node("below", "give", "unwanted")]
    record = run({"nodes": [*failing, *more]})
    assert str(record.tests[0].message).endswith("; so did `b`, `c`, `d` and 2 more (1 node skipped)")


def test_an_expected_failure_passes_when_only_the_assertions_are_to_hold(run: Run) -> None:
    """With `expect`, only the assertions and the budget gate."""
    expect = [wants("nodes.a.status", "err"), wants("nodes.b.status", "skipped"), wants("composition.ran", False)]
    record = run({"nodes": [node("a", "refuse"), node("b", "give", "a")], "expect": expect})
    assert record.tests[0].verdict is Verdict.PASS, record.tests[0].message


def test_an_optional_parent_that_failed_is_stood_in_for(run: Run) -> None:
    needs = [{"id": "a", "optional": True, "default": {"n": 7}}, {"id": "skips", "optional": True}]
    record = run(
        {
            "nodes": [
                node("a", "refuse"),
                node("skips", when="false"),
                node("b", "give", *needs, args={"value": {"n": "${a.n}", "none": "${skips}"}}),
            ],
            "expect": [wants("nodes.b.output.structuredContent", {"n": 7, "none": None})],
        }
    )
    assert record.tests[0].verdict is Verdict.PASS, record.tests[0].message


def test_a_loop_calls_until_its_condition_holds(run: Run, log: Path) -> None:
    until = ".output.structuredContent.count >= 3"
    record = run(
        {
            "nodes": [node("poll", "count", args={"key": "k"}, loop={"until": until, "max": 9, "delay_ms": 1})],
            "expect": [wants("output.structuredContent.count", 3), wants("nodes.poll.calls[-1].iteration", 3)],
        }
    )
    assert record.tests[0].verdict is Verdict.PASS, record.tests[0].message
    assert sum(call[0] == "start" for call in calls_in(log)) == 3


@pytest.mark.parametrize(
    ("source", "items"),
    [
        ("${list.of}", [{"in": [1, 2]}, {"in": [3]}]),
        ("${list.of[*]}", [{"in": [1, 2]}, {"in": [3]}]),
        ("${list.of[*].in}", [[1, 2], [3]]),
        ("${list.of[*].in[*]}", [1, 2, 3]),
        ("${list.of[0].in[*]}", [1, 2]),
    ],
)
def test_a_fan_out_goes_over_what_its_reference_is_elsewhere(run: Run, source: str, items: list[Any]) -> None:
    nodes = [
        node("list", mock={"result": {"of": [{"in": [1, 2]}, {"in": [3]}]}}),
        node("each", "give", "list", for_each=source, mock={"result": "${item}"}),
    ]
    assert nodes_of(run({"nodes": nodes}))["each"]["output"] == items


def test_the_trace_has_every_call_of_a_loop_and_a_fan_out_however_few_there_were(run: Run) -> None:
    nodes = nodes_of(
        run(
            {
                "nodes": [
                    node("list", mock={"result": {"none": [], "one": [7]}}),
                    node("none", "give", "list", for_each="${list.none}", args={"value": "${item}"}),
                    node("one", "give", "list", for_each="${list.one}", args={"value": "${item}"}),
                    node("poll", "count", args={"key": "k"}, loop={"until": "true", "max": 9}),
                    node("again", "flaky", args={"key": "a", "fails": 1}, retries=1),
                ]
            }
        )
    )
    calls = {
        name: [call.get("iteration", call.get("item")) for call in nodes[name]["calls"]] for name in list(nodes)[1:-1]
    }
    assert calls == {"none": [], "one": [0], "poll": [1]}
    assert [call["attempt"] for call in nodes["again"]["calls"]] == [1, 2]
    assert nodes["again"]["args"] == {"key": "a", "fails": 1}, "they are the same in every attempt"


def test_a_loop_that_never_ends_well_fails_its_node(run: Run) -> None:
    record = run({"nodes": [node("poll", "count", args={"key": "k"}, loop={"until": "false", "max": 2})]})
    assert record.tests[0].message == "node `poll` failed: `loop.until` did not hold within 2 calls"


def test_a_call_that_fails_is_tried_again_as_often_as_the_node_says(run: Run) -> None:
    nodes = [node("a", "flaky", args={"key": "a", "fails": 2}, retries=2)]
    record = run({"nodes": nodes}, {"nodes": [node("b", "flaky", args={"key": "b", "fails": 2}, retries=1)]})
    assert [test.verdict for test in record.tests] == [Verdict.PASS, Verdict.FAIL]
    assert [call["status"] for call in nodes_of(record)["a"]["calls"]] == ["err", "err", "ok"]


def test_a_server_that_dies_in_the_middle_fails_its_node_and_is_there_for_the_next(run: Run) -> None:
    record = run(
        {"nodes": [node("a"), node("b", "die", "a"), node("c", "give", "b"), node("d", "give", "a")]},
        {"nodes": [node("a"), node("b", "give", "a")]},
        workers=1,
    )
    nodes = nodes_of(record)
    assert (nodes["b"]["status"], nodes["c"]["status"]) == ("err", "skipped")
    assert "exit code 3" in nodes["b"]["message"] or "exited" in nodes["b"]["message"]
    assert record.tests[0].failure is not None
    assert record.tests[0].failure.kind is FailureKind.SERVER
    assert record.tests[1].verdict is Verdict.PASS, record.tests[1].message


def test_a_call_that_hangs_fails_by_the_time_of_its_node(run: Run, log: Path) -> None:
    record = run({"nodes": [node("a", "hang", timeout_ms=50), node("b", "give", "a")]})
    assert record.tests[0].failure is not None
    assert record.tests[0].failure.kind is FailureKind.TIMEOUT
    assert nodes_of(record)["b"]["status"] == "skipped"


def test_a_server_that_does_not_start_fails_the_nodes_that_need_it_only(run: Run) -> None:
    record = run(
        {
            "nodes": [node("a", server="shop"), node("b", server="gone"), node("c", "give", "a", server="shop")],
            "expect": [wants("nodes.c.status", "ok"), wants("nodes.b.status", "err")],
        },
        servers=("shop", "gone"),
        broken=("gone",),
    )
    assert record.tests[0].verdict is Verdict.PASS, record.tests[0].message


def test_the_last_words_of_the_server_that_failed_a_node_are_told(run: Run) -> None:
    """With assertions and without; the server is the node's, not the first one's."""
    nodes = [node("a", server="shop"), node("b", "give", "a", server="gone"), node("c", "give", "b", server="shop")]
    record = run(
        {"nodes": nodes},
        {"nodes": nodes, "expect": [wants("nodes.c.status", "ok")]},
        servers=("shop",),
        broken=("gone",),
    )
    for test in record.tests:
        assert test.failure is not None
        assert test.failure.stderr_tail == "giving up\n"
        assert failed_server(test) == "gone"
    shown = render("pretty", record, RenderOptions()).text
    assert "server gone" in shown
    assert "stderr of gone:" in shown


def test_a_tool_that_the_server_does_not_know_is_told_with_the_nearest_one(run: Run) -> None:
    nodes = [node("a"), node("b", "givee", "a")]
    record = run({"nodes": nodes}, {"nodes": nodes, "expect": [wants("nodes.b.status", "ok")]})
    for test in record.tests:
        assert test.failure is not None
        assert test.failure.hint is not None
        assert test.failure.hint.endswith("did you mean `give`?")


def test_what_to_do_about_a_node_that_failed_is_told_below_an_assertion_too(run: Run) -> None:
    record = run(
        {
            "nodes": [node("a", args={"value": 1}), node("b", "give", "a", args={"value": "${a.value}"})],
            "expect": [wants("nodes.b.status", "ok")],
        }
    )
    failure = record.tests[0].failure
    assert failure is not None
    assert failure.hint is not None
    assert "`${a.structuredContent.value}` is there" in failure.hint
    assert failure.message.startswith("node `b` failed: `${a.value}`: `a.value` does not exist")
    first, second = reasons(record.tests[0])
    assert (first.text.startswith("node `b` failed"), first.assertion) == (True, None)
    assert second.text == 'assertion 1 (`nodes.b.status`) failed: expected `"ok"`, got `"err"`'
    for name in ("pretty", "minimal", "junit", "tap", "md", "github", "sarif", "gitlab", "agent"):
        text = render(name, record, RenderOptions()).text
        cause, consequence = text.find("does not exist"), text.find("assertion 1")
        assert cause >= 0, name
        assert consequence < 0 or cause < consequence, f"{name} tells the consequence first"


def test_a_failure_that_an_assertion_expects_is_no_cause_of_another(run: Run) -> None:
    nodes = [node("a", "flaky", args={"key": "k", "fails": 9}), node("b")]
    expect = [wants("nodes.a.status", "err"), wants("nodes.b.status", "skipped")]
    (test,) = run({"nodes": nodes, "expect": expect}).tests
    assert test.message == 'assertion 2 (`nodes.b.status`) failed: expected `"skipped"`, got `"ok"`'
    assert [reason.text for reason in reasons(test)] == [test.message]


def test_a_failure_points_at_the_line_of_its_node_its_case_or_its_golden(mcptest: Command, tmp_path: Path) -> None:
    """In the record, and in every report that gives a line; the composition's own line stays the test's."""
    (tmp_path / "mcptest.yml").write_text(LINES, encoding="utf-8")
    done = mcptest("run", "mcptest.yml", "--reporter", "pretty", "--reporter", "json=run.json", cwd=tmp_path)
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert {test["line"] for test in record["tests"]} == {4}
    assert [test["failure"].get("line") for test in record["tests"]] == [6, 12, 15]
    assert [f"mcptest.yml:{line}" in done.stdout for line in (6, 12, 15)] == [True, True, True]
    for name, place in (("junit", 'line="15"'), ("tap", "line: 15"), ("github", "line=15"), ("gitlab", '"begin": 15')):
        told = mcptest("report", "run.json", "--format", name, cwd=tmp_path).stdout
        assert place in told, name


LINES = """\
servers:
  none: { command: ["true"] }
compositions:
  - name: c
    nodes:
      - id: a
        tool: t
        mock: { result: { n: "${var.n}" } }
        transform: { jq: '.result | if .n == 7 then error("boom") else . end' }
    cases:
      - { name: none, vars: { n: 7 } }
      - { name: one, vars: { n: 1 }, expect: [{ target: output.n, matcher: { exact: 2 } }] }
      - name: two
        vars: { n: 1 }
        golden: { n: 2 }
"""


def test_a_key_with_braces_is_written_in_quotes(run: Run) -> None:
    """In arguments, mixed text, `for_each`, mocks, and parts of a case's variable and of an element."""
    odd = {"x}y": [{"n}": 1}], "a{b": "text", 'q"}': 2}
    nodes = [
        node("a", mock={"result": [odd]}),
        node("b", "give", "a", args={"value": '${a[0]["x}y"]}'}),
        node("c", "give", "a", args={"value": 'is ${a[0]["a{b"]} and ${a[0]["q\\"}"]}, {} "quoted}"'}),
        node("d", "give", "a", for_each='${a[0]["x}y"]}', args={"value": '${item["n}"]}'}),
        node("e", mock={"result": '${var.row["k}"]}'}),
    ]
    record = run({"nodes": nodes, "cases": [{"name": "one", "vars": {"row": {"k}": True}}}]})
    assert record.tests[0].message is None
    found = nodes_of(record)
    assert found["b"]["args"] == {"value": [{"n}": 1}]}
    assert found["c"]["args"] == {"value": 'is text and 2, {} "quoted}"'}
    assert [call["args"] for call in found["d"]["calls"]] == [{"value": 1}]
    assert found["e"]["output"] is True


def test_caps_add_up_over_the_cases(run: Run) -> None:
    """Composition caps add up over all its cases."""
    cases = [{"name": name, "vars": {"tokens": 40}} for name in ("one", "two", "three")]
    nodes = [
        node("a", "spend", args={"tokens": "${var.tokens}", "cost_usd": 0.02, "model": "m"}),
        node("b", "give", "a", args={"value": "${a.structuredContent}"}),
    ]
    record = run({"nodes": nodes, "cases": cases, "budget": {"max_tokens": 79}}, workers=1)
    assert [test.verdict for test in record.tests] == [Verdict.PASS, Verdict.FAIL, Verdict.SKIP]
    assert [test.message for test in record.tests[1:]] == [
        "budget max_tokens: the calls of all cases took 80 tokens, over 79",
        "not run: the budget of all cases was used up before (max_tokens)",
    ]
    assert [nodes_of(record, 1)[name]["status"] for name in "ab"] == ["ok", "skipped"]
    assert (record.tests[0].cost_usd, record.tests[0].tokens) == (0.02, 40)
    assert record.tests[0].trace is not None
    assert record.tests[0].trace["models"] == [{"model": "m", "calls": 1, "tokens": 40, "cost_usd": 0.02}]


def test_a_cost_that_is_exactly_the_cap_is_within_it(run: Run) -> None:
    nodes = [node(name, "spend", args={"cost_usd": 0.1}) for name in "abc"]
    record = run({"nodes": nodes, "budget": {"max_cost_usd": 0.3}, "expect": [wants("cost.total", 0.3)]})
    assert record.tests[0].verdict is Verdict.PASS, record.tests[0].message


@pytest.mark.parametrize("workers", [1, 8])
def test_the_case_that_crosses_a_budget_of_all_fails_whatever_the_workers(run: Run, workers: int) -> None:
    """One failure with the total; those before it stay as they are, those after it are not run."""
    spends = node("a", "spend", args={"tokens": 1, "cost_usd": 0.01, "model": "m"})
    cases = [{"name": f"c{number}"} for number in range(1, 6)]
    record = run({"nodes": [spends], "cases": cases, "budget": {"max_cost_usd": 0.025}}, workers=workers)
    verdicts = [test.verdict for test in record.tests]
    assert verdicts == [Verdict.PASS, Verdict.PASS, Verdict.FAIL, Verdict.SKIP, Verdict.SKIP]
    assert record.tests[2].message == "budget max_cost_usd: the calls of all cases cost $0.03, over $0.025"
    assert record.warnings == ()
    repro = repro_line(record, record.tests[2], RenderOptions())
    assert repro == 'mcptest run --filter "c0"', "all cases are needed to spend as much"


@pytest.mark.parametrize("workers", [1, 8])
def test_a_budget_of_each_case_is_no_other_cases(run: Run, workers: int) -> None:
    """Neither what others cost nor the time that they take counts, nor what an earlier repeat cost."""
    spends = node("a", "spend", args={"tokens": "${var.tokens}", "cost_usd": 0.01, "model": "m"})
    cases = [{"name": name, "vars": {"tokens": tokens}} for name, tokens in (("big", 50), ("small", 5), ("fits", 10))]
    budget = {"scope": "case", "max_tokens": 10, "max_cost_usd": 0.01, "max_duration_ms": 60_000}
    record = run({"nodes": [spends], "cases": cases, "budget": budget}, workers=workers, repeat=2)
    assert [test.verdict for test in record.tests] == [Verdict.FAIL, Verdict.PASS, Verdict.PASS] * 2
    assert record.tests[0].message == "budget max_tokens: the calls took 50 tokens, over 10"


def test_a_case_that_is_out_of_time_leaves_the_others_theirs(run: Run) -> None:
    hangs = node("a", "hang")
    cases = [{"name": "first"}, {"name": "second"}]
    record = run({"nodes": [hangs], "cases": cases, "budget": {"scope": "case", "max_duration_ms": 100}}, workers=2)
    assert [test.message for test in record.tests] == ["budget max_duration_ms: it took longer than 100 ms"] * 2
    shared = run({"nodes": [hangs], "cases": cases, "budget": {"max_duration_ms": 100}}, workers=2)
    assert [test.verdict for test in shared.tests] == [Verdict.FAIL, Verdict.SKIP]


def test_a_budget_that_no_call_counts_towards_is_told(run: Run) -> None:
    """No attribution counts zero with a note."""
    record = run({"nodes": [node("a")], "budget": {"max_cost_usd": 1, "max_tokens": 1}})
    assert any("no call reported its cost" in warning for warning in record.warnings)


def test_one_call_over_its_own_cap_fails_its_node(run: Run) -> None:
    nodes = [
        node("a", "spend", args={"cost_usd": 0.2}, max_cost_per_call_usd=0.1),
        node("b", "spend", args={"tokens": 9}, max_tokens_per_call=8),
        node("c", "spend", args={"cost_usd": None}, max_cost_per_call_usd=0.1),
    ]
    record = run({"nodes": nodes})
    assert record.tests[0].failure is not None
    assert record.tests[0].failure.kind is FailureKind.BUDGET
    told = nodes_of(record)
    assert [told[name]["message"] for name in "abc"] == [
        "the call cost $0.2, over `max_cost_per_call_usd: 0.1`",
        "the call took 9 tokens, over `max_tokens_per_call: 8`",
        "the cost of the call is unknown, and may exceed `max_cost_per_call_usd: 0.1`",
    ]


def test_a_loop_over_its_own_cap_fails_its_node(run: Run, log: Path) -> None:
    """Compositions, Planned follow-up: bounded loops: a loop never quietly blows the budget. Each element has its own."""
    dollars = {"until": "false", "max": 9, "max_cost_usd": 0.5}
    tokens = {"until": ".iteration == 2", "max": 9, "max_tokens": 16}
    nodes = [
        node("a", "spend", args={"cost_usd": 0.2}, loop=dollars),
        node("list", mock={"result": [8, 9]}),
        node("b", "spend", "list", for_each="${list}", args={"tokens": "${item}"}, loop=tokens),
        node("c", "spend", args={"cost_usd": None}, loop=dollars),
    ]
    told = nodes_of(run({"nodes": nodes}))
    assert [told[name]["message"] for name in "abc"] == [
        "the calls of the loop cost $0.6, over `loop.max_cost_usd: 0.5`",
        "item [1]: the calls of the loop took 18 tokens, over `loop.max_tokens: 16`",
        "the cost of the calls of the loop is unknown, and may exceed `loop.max_cost_usd: 0.5`",
    ]
    assert [call[0] for call in calls_in(log)].count("start") == 3 + 4 + 1


def test_a_mocked_composition_calls_nothing(run: Run, log: Path) -> None:
    """Compositions, Determinism: a mock-only suite runs entirely offline."""
    nodes = [
        node("search", mock={"result": {"top_hit": {"name": "mcptest"}}}, transform={"jq": ".result.top_hit"}),
        node(
            "readme", "get", "search", args={"package": "${search.name}"}, mock={"result": {"body": "# ${search.name}"}}
        ),
    ]
    expect = [wants("output.body", "# mcptest"), wants("nodes.readme.args.package", "mcptest")]
    record = run({"nodes": nodes, "expect": expect})
    assert record.tests[0].verdict is Verdict.PASS, record.tests[0].message
    assert [node["duration_ms"] for node in nodes_of(record).values()] == [0, 0]
    assert not log.exists()
    assert record.servers == ()


def test_a_golden_is_one_more_assertion_beside_the_others(run: Run) -> None:
    cases = [{"name": "good", "golden": {"a": 1}}, {"name": "bad", "golden": {"a": 2}}]
    nodes = [node("x", mock={"result": {"a": 1}})]
    record = run({"nodes": nodes, "cases": cases, "expect": [wants("composition.ran", True)]})
    assert [test.name for test in record.tests] == ["c0 [good]", "c0 [bad]"]
    assert [test.verdict for test in record.tests] == [Verdict.PASS, Verdict.FAIL]
    names = [item.name for item in record.tests[1].assertions]
    assert names == [None, "golden.matched"]


def test_an_assembled_output_is_what_is_judged(run: Run) -> None:
    nodes = [node("stars", mock={"result": {"count": 3}}), node("latest", mock={"result": {"tag": "v1"}})]
    assemble = {"assemble": "{ stars: .nodes.stars.count, release: .nodes.latest.tag }"}
    wanted = [wants("output", {"stars": 3, "release": "v1"})]
    record = run(
        {"nodes": nodes, "output": assemble, "expect": wanted}, {"nodes": nodes, "output": {"assemble": ".nodes[]"}}
    )
    assert record.tests[0].verdict is Verdict.PASS, record.tests[0].message
    assert record.tests[1].message == "`output.assemble` must give one value, but gave 2"


def test_judged_metrics_are_deferred_and_never_a_pass(run: Run) -> None:
    record = run({"nodes": [node("x", mock={"result": 1})], "eval": {"mcp_use": {"threshold": 0.7}}})
    assert [test.verdict for test in record.tests] == [Verdict.PASS, Verdict.INCONCLUSIVE]
    assert record.exit_code == 0


def test_a_composition_that_changes_something_runs_alone_unless_it_says_otherwise(run: Run, log: Path) -> None:
    """As for a test of such a tool; the name is what it is judged by."""
    cases = [{"name": "one"}, {"name": "two"}]
    nodes = [node("make", "create_record"), node("wait", "give", args={"ms": 20})]
    run({"nodes": nodes, "cases": cases, "expect": [wants("nodes.make.status", "err")]})
    assert [call[0] for call in calls_in(log) if call[2] == "give"] == ["start", "end"] * 2
    log.unlink()
    meet = [node("made", "create_record", mock={"result": {}}), node("meet", "meet", args={"party": 2})]
    record = run({"nodes": meet, "cases": cases})
    assert [test.verdict for test in record.tests] == [Verdict.PASS, Verdict.PASS]
    meet[0].pop("mock")
    ran = [wants("nodes.meet.status", "ok")]
    record = run({"nodes": meet, "cases": cases, "serial": False, "expect": ran})
    assert [test.verdict for test in record.tests] == [Verdict.PASS, Verdict.PASS]


def test_a_server_that_died_is_there_again_for_the_next_try_of_a_node(run: Run, tmp_path: Path) -> None:
    record = run({"nodes": [node("a", "die", retries=1), node("b", "give", {"id": "a", "optional": True})]}, workers=1)
    nodes = nodes_of(record)
    assert [call["status"] for call in nodes["a"]["calls"]] == ["err", "err"]
    assert nodes["b"]["status"] == "ok"
    assert record.servers[0].restarts == 2


def test_a_focused_case_starts_no_server_of_the_others(run: Run, log: Path) -> None:
    cases = [{"name": "one", "only": True}, {"name": "two"}]
    record = run({"nodes": [node("a", mock={"result": 1})], "cases": cases}, {"nodes": [node("b")]})
    assert [test.name for test in record.tests] == ["c0 [one]"]
    assert record.servers == ()


@pytest.mark.parametrize(
    ("expect", "verdict", "kind"),
    [
        (wants("composition.budget_tripped", None), Verdict.FAIL, FailureKind.SERVER),
        (wants("nodes.b.status", "err"), Verdict.FAIL, FailureKind.SERVER),
        (wants("nodes.a.args", {}), Verdict.FAIL, FailureKind.SERVER),
        ({"target": "nodes.a.duration_ms", "matcher": {"lt": 60_000}}, Verdict.FAIL, FailureKind.SERVER),
        (wants("nodes.a.output", None), Verdict.FAIL, FailureKind.SERVER),
        (wants("nodes.a.server", "dead"), Verdict.FAIL, FailureKind.SERVER),
        (wants("nodes.a.status", "err"), Verdict.PASS, None),
        (wants("composition.ran", False), Verdict.PASS, None),
    ],
)
def test_a_dead_server_fails_the_test_unless_an_assertion_looks_at_it(
    run: Run, expect: dict[str, Any], verdict: Verdict, kind: FailureKind | None
) -> None:
    """Whatever holds of the rest; and it is the reason that is told, not what followed from it."""
    passing = {"target": "cost.total", "matcher": {"not": {"gt": 0.5}}}
    nodes = [node("a", server="dead"), node("b", server="shop", args={"value": {}})]
    record = run({"nodes": nodes, "expect": [passing, expect]}, broken=("dead",))
    (test,) = record.tests
    assert (test.verdict, test.failure and test.failure.kind) == (verdict, kind), test.message
    if kind is not None:
        assert (test.message or "").startswith('node `a` failed: server "dead" did not start')
        assert "assertion " not in render("pretty", record, RenderOptions()).stdout


def test_a_failed_call_that_no_assertion_looks_at_is_warned_of(run: Run) -> None:
    """A composition may do without a node; whoever reads a green one ought to know."""
    nodes = [node("a", "nothing"), node("b", args={"value": {}})]
    looked_at = {"nodes": nodes, "expect": [wants("nodes.b.status", "ok"), wants("nodes.a.status", "err")]}
    record = run({"nodes": nodes, "expect": [wants("nodes.b.status", "ok")]}, looked_at)
    assert {test.verdict for test in record.tests} == {Verdict.PASS}
    (warning,) = record.warnings
    assert warning.startswith("c0: node `a` failed, and no assertion checks it: the ")


def test_a_composition_in_which_no_call_succeeded_is_not_green(run: Run) -> None:
    nodes = [node("a", "nothing")]
    blind = [{"target": "output", "matcher": {"not": {"contains": "error"}}}]
    looked_at = {"nodes": nodes, "expect": [wants("nodes.a.status", "err")]}
    skipped = {"nodes": [node("a", "die", when="false")]}
    record = run({"nodes": nodes, "expect": blind}, looked_at, skipped)
    assert [test.verdict for test in record.tests] == [Verdict.FAIL, Verdict.PASS, Verdict.INCONCLUSIVE]
    assert (record.tests[0].message or "").startswith("node `a` failed: ")
    assert record.tests[2].message == "nothing was checked: every node was skipped"


def test_the_order_is_that_in_which_nodes_were_begun(run: Run) -> None:
    """A branch that waits is begun later, wherever it stands; `composition.order` says what happened."""
    slow, after_slow = node("slow", "meet", args={"party": 2}), node("after_slow", "give", "slow", args={"value": {}})
    quick, after_quick = node("quick", args={"value": {}}), node("after_quick", "meet", "quick", args={"party": 2})
    nodes = [slow, after_slow, quick, after_quick]
    record = run({"nodes": nodes, "expect": [wants("composition.ran", True)]})
    trace = record.tests[0].trace
    assert trace is not None
    assert trace["composition"]["order"] == ["slow", "quick", "after_quick", "after_slow"], record.tests[0].message
