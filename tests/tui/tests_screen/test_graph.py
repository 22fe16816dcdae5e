"""A composition in the workbench: its graph before, during and after a run, and a look into its nodes."""

from __future__ import annotations

import re

import pytest

from tests.tui.pictures import assert_picture, text_of
from tests.tui.tests_screen.conftest import on, ran
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio
SUITE = """\
name: flows
servers:
  demo: { command: ["mcptest", "mock", "--preset", "demo"] }

compositions:
  - name: what is known of a record
    nodes:
      - { id: find, tool: search_records, args: { query: "${var.query}" }, mock: { result: { ids: [1, 2, 3] } } }
      - { id: each, needs: [find], for_each: "${find.ids}", tool: echo, args: { text: "record ${item}" },
          transform: { jq: ".result.content[0].text" } }
      - { id: report, needs: [find], tool: slow_report }
      - { id: fails, needs: [report], tool: always_fails, args: { code: "${report.isError}" } }
      - { id: after, needs: [fails, each], tool: status }
      - { id: never, needs: [find], when: ".parents.find.ids | length > 5", tool: status }
    output: each
    expect:
      - { target: "output[0]", matcher: { exact: record 1 } }
      - { target: nodes.fails.status, matcher: { exact: err } }
      - { target: nodes.after.status, matcher: { exact: skipped } }
    cases:
      - { name: common, vars: { query: a } }
      - { name: rare, vars: { query: b } }
"""
SLOW = """\
mock_server:
  name: slow
  tools:
    - { name: echo, response: { content: [{ type: text, text: said }] } }
    - { name: slow_report, delay_ms: 600000, response: { content: [{ type: text, text: late }] } }
"""
NO_BARS = ((r"(?m)[ ━]+(│?)$", r"\1"),)


@pytest.fixture
def flows(place):
    """A suite with one composition of two cases."""
    (place / "mcptest.yml").write_text(SUITE, encoding="utf-8")


async def opened(pilot, part):
    """The graph of a composition."""
    await on(pilot, part)
    screen = pilot.app.screen
    await pilot.press("enter")
    screen.detail.use_tab("graph")
    await until(pilot, lambda: screen.detail.graph.nodes)
    return screen


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_the_graph_before_and_after_a_run(workbench, flows, size):
    async with workbench(size=size) as pilot:
        screen = await opened(pilot, "[common]")
        assert [node.status for node in screen.detail.graph.nodes] == ["waiting"] * 6
        await ran(pilot, "r")
        graph = screen.detail.graph
        await until(pilot, lambda: graph.nodes[0].status == "ok")
        told = {node.id: node.status for node in graph.nodes}
        assert told == {
            "find": "ok", "each": "ok", "report": "ok", "fails": "err", "after": "skipped", "never": "skipped"
        }  # fmt: skip
        assert_picture(pilot.app, "graph", folder="tests_screen", masks=NO_BARS)


async def test_enter_looks_into_a_node_and_its_values_have_targets(workbench, flows):
    async with workbench() as pilot:
        screen = await opened(pilot, "[common]")
        await ran(pilot, "r")
        await until(pilot, lambda: screen.detail.graph.nodes[0].status == "ok")
        screen.detail.graph.focus()
        await pilot.press("j", "enter")
        await until(pilot, lambda: 'id: "each"' in text_of(pilot.app))
        assert screen.detail.tab == "request"
        tree = screen.detail.json("request")
        assert tree.target == "nodes.each.id"
        text = text_of(pilot.app)
        assert "calls: [ 3 items" in text
        assert 'text: "record 1"' in text
        await pilot.press("left_square_bracket", "left_square_bracket")
        assert screen.detail.tab == "graph"


async def test_the_cursor_stays_on_the_nodes_between_headings_and_legend(workbench, flows):
    async with workbench(size=(160, 30)) as pilot:
        screen = await opened(pilot, "[common]")
        await ran(pilot, "r")
        graph = screen.detail.graph
        await until(pilot, lambda: graph.nodes[0].status == "ok")
        graph.focus()
        await pilot.press("G", "j")
        assert graph.selected is graph.nodes[-1]
        await pilot.press("g", "k")
        assert graph.selected is graph.nodes[0]
        assert re.search(r"node +took +result +0( +[\d.]+ m?s){1,2} *│", text_of(pilot.app))
        assert "critical path: sets the total time" in text_of(pilot.app)


async def test_a_node_that_runs_is_seen_to_run(workbench, flows, place):
    """Its tool answers in ten minutes."""
    (place / "manifest.yml").write_text(SLOW, encoding="utf-8")
    suite = SUITE.replace('"--preset", "demo"', '"--tools-from", "manifest.yml"')
    (place / "mcptest.yml").write_text(suite, encoding="utf-8")
    async with workbench() as pilot:
        screen = await opened(pilot, "[common]")
        await pilot.press("r")
        await until(pilot, lambda: ("report", "running") in [(one.id, one.status) for one in screen.detail.graph.nodes])
        assert screen.detail.graph.nodes[0].status == "ok"
        await pilot.press("x")
        await until(pilot, lambda: not pilot.app.store.progress.busy)


async def test_the_tab_of_the_graph_is_there_for_compositions_only_and_comes_back(workbench, flows, place):
    suite = place / "mcptest.yml"
    suite.write_text(SUITE + "\ntools:\n  - { name: plain, tool: status }\n", encoding="utf-8")
    async with workbench() as pilot:
        screen = await opened(pilot, "[rare]")
        await on(pilot, "plain")
        assert screen.detail.tab == "result"
        assert "Graph" not in text_of(pilot.app)
        await on(pilot, "[common]")
        assert screen.detail.tab == "graph"


async def test_the_bars_of_a_graph_that_scrolls_end_before_the_scroll_bar(workbench, place):
    nodes = [
        f"      - {{ id: n{at}, needs: [{f'n{at - 1}' if at else ''}], tool: t, mock: {{ result: 1 }} }}"
        for at in range(60)
    ]
    head = SUITE.split("    nodes:")[0]
    (place / "mcptest.yml").write_text("\n".join([f"{head}    nodes:", *nodes, ""]), encoding="utf-8")
    async with workbench() as pilot:
        screen = await opened(pilot, "what is known")
        await ran(pilot, "r")
        await until(pilot, lambda: screen.detail.graph.nodes[-1].status == "ok")
        screen.detail.graph.focus()
        await pilot.press("G")
        await until(pilot, lambda: " n59 " in text_of(pilot.app))
        (row,) = (line for line in text_of(pilot.app).splitlines() if " n59 " in line)
        assert "━" in row.partition(" n59 ")[2]


async def test_another_text_of_the_suite_has_another_graph(workbench, flows, place):
    async with workbench() as pilot:
        screen = await opened(pilot, "[rare]")
        less = "\n".join(line for line in SUITE.splitlines() if "id: never" not in line) + "\n"
        (place / "mcptest.yml").write_text(less, encoding="utf-8")
        await until(pilot, lambda: len(screen.detail.graph.nodes) == 5)


async def test_a_wide_graph_is_drawn_and_why_a_node_failed_takes_the_room_of_its_bar(workbench, place):
    many = [f"n{at}" for at in range(11)]
    nodes = [
        "      - { id: src, tool: t, mock: { result: 1 } }",
        *(f'      - {{ id: {name}, needs: [src], tool: t, mock: {{ result: "${{src}}" }} }}' for name in many),
        f"      - {{ id: join, needs: [{', '.join(many)}], tool: t, transform: {{ jq: '\"it was not to be\" | error' }},",
        "          mock: { result: 1 } }",
    ]
    head = SUITE.split("    nodes:")[0]
    (place / "mcptest.yml").write_text("\n".join([f"{head}    nodes:", *nodes, ""]), encoding="utf-8")
    async with workbench(size=(140, 40)) as pilot:
        screen = await opened(pilot, "what is known")
        await ran(pilot, "r")
        await until(pilot, lambda: screen.detail.graph.nodes[-1].status == "err")
        await until(pilot, lambda: "`transform`: it was not to be" in text_of(pilot.app))
        (row,) = (line for line in text_of(pilot.app).splitlines() if " join " in line)
        assert "─┴" * 9 + "─┘" in row
