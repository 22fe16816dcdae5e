"""Compositions as they load: templates now and later, warnings that stop nothing, and large graphs. The rejections, each
beside its words, are in tests/suites/bad/{struct,load}-compositions*.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.results import TestKind
from mcptest_engine.running.kinds.composition.plan import composed
from mcptest_engine.running.kinds.composition.walk import Walk
from mcptest_engine.suite.graph import cycles, topological_order
from mcptest_engine.suite.load import LoadedSuite, LoadOptions, check_suite
from mcptest_engine.suite.references import (
    Reference,
    ReferenceSyntaxError,
    Unresolved,
    escaped,
    fill,
    parse_reference,
    part_of,
)
from tests.compositions.worlds import TurningWorld

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Load = Callable[..., LoadedSuite]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """A suite of one composition, given as data, with one server; it must load without an error."""

    def loading(composition: dict[str, Any], *, environ: dict[str, str] | None = None, **more: Any) -> LoadedSuite:
        path = tmp_path / "mcptest.yml"
        suite = {"servers": {"s": {"command": ["x"]}}, "compositions": [{"name": "c", **composition}], **more}
        path.write_text(json.dumps(suite), encoding="utf-8")
        checked = check_suite(path, LoadOptions(environ=environ or {}, workspace_root=tmp_path))
        assert checked.suite is not None, checked.problems
        return checked.suite

    return loading


def sent(suite: LoadedSuite) -> list[Any]:
    """What every row of the suite's composition calls its last node with."""
    (entry,) = suite.tests
    assert entry.kind is TestKind.COMPOSITION
    found = []
    for _, row in composed(entry.data, only_server=entry.server, timeouts={}, timeout_ms=1000):
        world = TurningWorld(lambda _tool, args: (0, {"result": dict(args)}))
        trace = asyncio.run(Walk(row, world).run())
        found.append(trace.nodes[trace.program.order[-1]].calls[-1].args)
    return found


def one_node(**args: Any) -> dict[str, Any]:
    return {"nodes": [{"id": "a", "tool": "t", "args": args}]}


def two_nodes(result: Any, **args: Any) -> dict[str, Any]:
    first = {"id": "a", "tool": "t", "mock": {"result": result}}
    return {"nodes": [first, {"id": "b", "needs": ["a"], "tool": "t", "args": args}]}


@pytest.mark.parametrize("value", [3, 2.5, True, None, "text", [1, {"b": 2}], {"a": {"b": [None]}}])
def test_a_text_that_is_one_template_takes_the_value_with_its_type(load: Load, value: Any) -> None:
    """Compositions, Data flow."""
    assert sent(load(two_nodes({"x": value}, v="${a.x}", w="${ a.x }"))) == [{"v": value, "w": value}]


def test_a_template_among_other_text_is_spelt_out(load: Load) -> None:
    args = {"v": "Bearer ${a.t}, ${a.n} and ${a.o}; ${a.none}"}
    told = 'Bearer abc, 3 and {"k": [true]}; null'
    assert sent(load(two_nodes({"t": "abc", "n": 3, "o": {"k": [True]}, "none": None}, **args))) == [{"v": told}]


def test_two_dollars_are_a_literal_one_wherever_they_stand(load: Load) -> None:
    args = {"v": "$${a}", "w": "x $${a.b} ${a.n} $$", "k": ["$${item}"]}
    assert sent(load(two_nodes({"n": 1}, **args))) == [{"v": "${a}", "w": "x ${a.b} 1 $$", "k": ["${item}"]}]


def test_a_value_is_never_read_for_templates_again(load: Load) -> None:
    """Whatever a server, a variable, the environment or a case says."""
    composition = two_nodes(
        {"n": "$${b.x} $$${y}"}, v="${a.n}", w="<${a.n}>", x="${env.X}", y="<${var.v}>", z="${var.c}"
    )
    cases = [{"name": "one", "vars": {"c": "$${var.v}"}}]
    suite = load({**composition, "cases": cases}, environ={"X": "${a.n}"}, variables={"v": "$${a} $$${z}"})
    assert sent(suite) == [
        {"v": "${b.x} $${y}", "w": "<${b.x} $${y}>", "x": "${a.n}", "y": "<${a} $${z}>", "z": "${var.v}"}
    ]


def test_mocks_are_filled_like_args(load: Load) -> None:
    composition = two_nodes({"n": [1]}, v="${a.n}")
    composition["nodes"][1]["mock"] = {"result": {"seen": "${a.n[0]}"}}
    composition["nodes"].append({"id": "z", "needs": ["b"], "tool": "t", "args": {"v": "${b.seen}"}})
    assert sent(load(composition)) == [{"v": 1}]


def test_the_environment_and_the_suites_variables_are_known_at_load(load: Load) -> None:
    suite = load(
        one_node(e="${env.HOME}", v="${var.n}", short="${n}", dir="${CONFIG_DIR}"),
        environ={"HOME": "/h"},
        variables={"n": 7},
    )
    (args,) = sent(suite)
    assert (args["e"], args["v"], args["short"]) == ("/h", 7, 7)
    assert args["dir"] == str(suite.path.parent)


def test_a_node_comes_before_a_variable_of_its_name_and_a_cases_variable_before_the_suites(load: Load) -> None:
    """In a composition `${X}` is a node id, then a variable."""
    composition = two_nodes({"x": 1}, node="${a}", suite="${var.a}", case="${var.q}")
    cases = [{"name": "one", "vars": {"q": "the case's"}}]
    suite = load({**composition, "cases": cases}, variables={"a": "the suite's", "q": "the suite's"})
    assert sent(suite) == [{"node": {"x": 1}, "suite": "the suite's", "case": "the case's"}]


def test_a_case_that_does_not_say_a_variable_has_the_suites(load: Load) -> None:
    """Compositions, Data: a variable of the case, or of the suite."""
    cases: list[dict[str, object]] = [
        {"name": "own", "vars": {"q": 1}},
        {"name": "none"},
        {"name": "null", "vars": {"q": None}},
    ]
    suite = load({**one_node(q="${var.q}", text="<${var.q}>"), "cases": cases}, variables={"q": "$${x}"})
    assert sent(suite) == [
        {"q": 1, "text": "<1>"},
        {"q": "${x}", "text": "<${x}>"},
        {"q": None, "text": "<null>"},
    ]


def test_a_part_of_the_suites_variable_is_taken_as_of_a_cases(load: Load) -> None:
    whole = {"a": [1, {"b": "$${x}"}]}
    assert sent(load(one_node(q="${var.o.a[1]}", t="<${var.o.a[0]} ${var.o.a[1].b}>"), variables={"o": whole})) == [
        {"q": {"b": "${x}"}, "t": "<1 ${x}>"}
    ]


def test_a_variable_outside_a_case_passes_through(load: Load) -> None:
    """Compositions, Cases: so a single-run composition stays as it is."""
    assert sent(load(one_node(q="${var.query}", t="a ${var.query.x} b"))) == [
        {"q": "${var.query}", "t": "a ${var.query.x} b"}
    ]


def test_each_case_binds_its_variables_and_their_fields(load: Load) -> None:
    cases = [{"name": name, "vars": {"o": {"k": [name]}, "n": number}} for number, name in enumerate("xy")]
    assert sent(load({**one_node(k="${var.o.k[0]}", n="${var.n}"), "cases": cases})) == [
        {"k": "x", "n": 0},
        {"k": "y", "n": 1},
    ]


def test_what_a_case_expects_may_name_its_variables(load: Load) -> None:
    expect = [
        {"target": "output", "matcher": {"exact": {"regex": "${var.n}", "lit": "$${x}"}}},
        {"target": "output", "matcher": {"regex": "${x$"}},
    ]
    (entry,) = load({**one_node(), "expect": expect, "cases": [{"name": "x", "vars": {"n": 3}}]}).tests
    ((data, row),) = composed(entry.data, only_server="s", timeouts={}, timeout_ms=1000)
    assert (data["name"], row.case) == ("c [x]", "x")
    assert [item["matcher"] for item in data["expect"]["assertions"]] == [
        {"exact": {"regex": 3, "lit": "${x}"}},
        {"regex": "${x$"},
    ]


def test_programs_are_left_as_they_stand(load: Load) -> None:
    node = {"id": "b", "needs": ["a"], "tool": "t", "when": '.parents.a.n == "${x}"', "transform": {"jq": '"${y}"'}}
    suite = load({"nodes": [{"id": "a", "tool": "t"}, node], "output": {"assemble": '"${z}"'}})
    data = suite.tests[0].data
    assert (data["nodes"][1]["when"], data["nodes"][1]["transform"]["jq"], data["output"]["assemble"]) == (
        '.parents.a.n == "${x}"',
        '"${y}"',
        '"${z}"',
    )


@pytest.mark.parametrize(
    ("expression", "read"),
    [
        ("search", ("node", "search", ())),
        ("search.top-hit[0]", ("node", "search", ("top-hit", 0))),
        ('a["odd key"].b', ("node", "a", ("odd key", "b"))),
        ("item", ("item", "", ())),
        ("item.name", ("item", "", ("name",))),
        ("var.q.x", ("var", "q", ("x",))),
        ("env.HOME", ("env", "HOME", ())),
        ("items", ("node", "items", ())),
        ("variable.x", ("node", "variable", ("x",))),
    ],
)
def test_a_reference_is_read_as_a_target_is(expression: str, read: tuple[Any, ...]) -> None:
    reference = parse_reference(expression)
    assert (reference.space, reference.name, reference.path) == read


@pytest.mark.parametrize("expression", ["", " ", "1a", "a b", "a.", "a..b", "a[", "var", "var.", "env", "a$b", "-a"])
def test_what_is_no_reference_is_refused(expression: str) -> None:
    with pytest.raises(ReferenceSyntaxError):
        parse_reference(expression)


def test_a_reference_that_leads_nowhere_says_what_is_there() -> None:
    """A node's output is the result as sent, and the hint says where the same path does lead."""
    result = {"content": [], "structuredContent": {"top": {"name": "x"}}}
    with pytest.raises(Unresolved) as wrong:
        part_of(parse_reference("search.top.name"), result)
    assert (
        wrong.value.message
        == "`${search.top.name}`: `search.top` does not exist; `search` has `content`, `structuredContent`"
    )
    assert wrong.value.hint == ("a node's output is the whole result: `${search.structuredContent.top.name}` is there")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("${}ab.", max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab${", max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_what_was_escaped_is_itself_again_when_filled(value: Any) -> None:
    """Nothing in a value is ever taken for a template."""

    def no_look_up(reference: Reference) -> Any:
        raise AssertionError(reference)

    assert fill(escaped(value), no_look_up) == value


@given(st.lists(st.lists(st.integers(0, 30), max_size=4, unique=True), max_size=30))
def test_an_order_has_every_node_after_its_parents_or_there_is_a_cycle(drawn: list[list[int]]) -> None:
    parents = [[parent for parent in of_one if parent < len(drawn)] for of_one in drawn]
    order = topological_order(parents)
    at = {node: place for place, node in enumerate(order)}
    assert all(at[parent] < at[node] for node in order for parent in parents[node])
    circles = list(cycles(parents))
    assert (not circles) == (len(order) == len(parents))
    for circle in circles:
        assert all(after in parents[node] for node, after in zip(circle, [*circle[1:], circle[0]], strict=True))
    broken = [node for circle in circles for node in circle]
    assert len(broken) == len(set(broken)), "each is told once"
    mended = [
        [] if node in broken else [one for one in of_one if one not in broken] for node, of_one in enumerate(parents)
    ]
    assert len(topological_order(mended)) == len(mended), "and there is no other"


def chain(count: int) -> list[dict[str, Any]]:
    """Each node gives on what the one before it gave."""
    nodes: list[dict[str, Any]] = [{"id": "n0", "tool": "t", "mock": {"result": {"n": 0}}}]
    for at in range(1, count):
        result = {"n": f"${{n{at - 1}.n}}"}
        nodes.append({"id": f"n{at}", "tool": "t", "needs": [f"n{at - 1}"], "mock": {"result": result}})
    return nodes


def test_a_chain_of_three_thousand_nodes_runs_to_its_end(load: Load) -> None:
    """No recursion: neither in the checks nor in the walk."""
    nodes = chain(3_000)
    suite = load({"nodes": list(reversed(nodes)), "output": "n2999"})
    ((_, row),) = composed(suite.tests[0].data, only_server="s", timeouts={}, timeout_ms=1000)
    trace = asyncio.run(Walk(row, TurningWorld(lambda _tool, _args: (0, {}))).run())
    assert trace.output == {"n": 0}
    assert len(trace.envelope()["composition"]["critical_path"]) == 3_000


def test_a_chain_of_three_thousand_nodes_is_skipped_at_once(load: Load) -> None:
    nodes = chain(3_000)
    nodes[0]["when"] = "false"
    suite = load({"nodes": nodes})
    ((_, row),) = composed(suite.tests[0].data, only_server="s", timeouts={}, timeout_ms=1000)
    trace = asyncio.run(Walk(row, TurningWorld(lambda _tool, _args: (0, {}))).run())
    assert {node.status for node in trace.nodes} == {"skipped"}
    assert trace.ran


def test_a_node_with_two_thousand_parents_sees_them_all(load: Load) -> None:
    nodes: list[dict[str, Any]] = [{"id": f"n{at}", "tool": "t", "mock": {"result": at}} for at in range(2_000)]
    ids = [node["id"] for node in nodes]
    nodes.append({"id": "all", "tool": "t", "needs": ids, "args": {"of": [f"${{{name}}}" for name in ids]}})
    assert sent(load({"nodes": nodes})) == [{"of": list(range(2_000))}]


def test_a_cycle_of_three_thousand_nodes_is_told_in_a_few_words(tmp_path: Path) -> None:
    nodes = chain(3_000)
    nodes[0]["needs"] = ["n2999"]
    path = tmp_path / "mcptest.yml"
    path.write_text(json.dumps({"servers": {"s": {"command": ["x"]}}, "compositions": [{"name": "c", "nodes": nodes}]}))
    checked = check_suite(path, LoadOptions(environ={}, workspace_root=tmp_path))
    (cycle,) = (problem for problem in checked.errors if "cycle" in problem.message)
    assert cycle.message.startswith("the nodes need each other in a cycle: `n0` → `n2999` → `n2998`")
    assert cycle.message.endswith("→ … → `n0`")
