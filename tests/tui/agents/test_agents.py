"""What agents do, seen as it happens: a real front door at work in the workspace that the workbench is open on."""

from __future__ import annotations

import re

import pytest

from mcptest_engine.workspace.agent_files import save_inline
from mcptest_engine.workspace.ulid import new_ulid
from mcptest_engine.workspace.workspace import Workspace
from mcptest_tui.state.agents import AgentRow, AgentsView, news
from mcptest_tui.state.test_row import VERDICTS
from tests.front_door.conftest import SUITE
from tests.tui.agents.working import agent, asked, kept, watching
from tests.tui.pictures import assert_picture, rows_of, text_of
from tests.tui.review.reviewing import new_test, suite_in
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio
SIZES = [(80, 24), (120, 40)]
MASKS = (
    (r"\b01[0-9A-Z]{24}\b", "RUN" + "." * 23),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE CLOCK"),
    (r"\d\d:\d\d(:\d\d)?", "CLOCK"),
)


async def listed(pilot):
    """Mode 6."""
    await pilot.press("6")
    await until(pilot, lambda: pilot.app.current_mode == "agents")
    return pilot.app.screen


async def told(pilot, screen):
    """What a run came to is on the screen."""
    await until(pilot, lambda: screen.view.current is not None and screen.view.current.id in screen.detail.records)
    await pilot.pause()
    return text_of(pilot.app)


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_what_an_agent_does_is_seen_as_it_happens(workbench, place, size):
    """Elsewhere it is counted and said; then the list, what failed, the command that the agent was told, and the suite."""
    suite_in(place)
    async with workbench(size=size) as pilot:
        app = await watching(pilot)
        with agent(place, "--enable-writes") as door:
            answer = await asked(door, "run_tool_test", suite=SUITE)
            await until(pilot, lambda: "Agents •1" in rows_of(app)[0], what="the count")
            assert "claude-code: 1 of 2 failed; 6 shows it" in text_of(app)
            await asked(door, "record_cassette", name="taped")
            await until(pilot, lambda: "Agents •2" in rows_of(app)[0], what="two of them")
            await until(pilot, lambda: app.reviews.state.items, what="proposals from its run")
            screen = await listed(pilot)
            assert "•" not in rows_of(app)[0].partition("6 Agents")[2]
            await until(pilot, lambda: "taped" in text_of(app))
            await until(pilot, lambda: app.store.counts["fail"] == 2, what="its verdicts")
            assert "6 shows it" not in text_of(app)
            await pilot.press("j", "enter")
            text = await told(pilot, screen)
            assert "claude-code 2.1.0" in text
            assert answer["failures"][0]["repro"] in re.sub(r"\s+", " ", re.sub(r"[│▌▆▇█]", " ", text))
            assert_picture(app, "run", folder="agents", masks=MASKS)
            await pilot.press("escape", "g")
            await asked(door, "trigger_run")
            await until(pilot, lambda: len(screen.view.shown) == 3, what="a run while one looks on")
            assert screen.view.at == 0
            assert not app.agents.view.unseen
        await pilot.press("G", "e")
        await until(pilot, lambda: app.current_mode == "edit" and app.screen.current is not None)
        assert app.screen.current.area.text == SUITE


async def test_tests_of_an_open_suite_show_what_they_came_to_in_an_agents_run(workbench, place):
    """Its details are those of that run; of a suite that was changed since, nothing is taken."""
    suite = suite_in(place)
    async with workbench() as pilot:
        app = await watching(pilot)
        await until(pilot, lambda: app.store.rows, what="the tests")
        with agent(place, "--enable-writes") as door:
            ran = await asked(door, "trigger_run")
            verdicts = {row["name"]: row["verdict"] for row in ran["results"]}
            await until(pilot, lambda: all(row.status in VERDICTS for row in app.store.rows.values()), what="verdicts")
            assert {row.name: row.status for row in app.store.rows.values()} == verdicts
            assert {row.run_id for row in app.store.rows.values()} == {ran["run_id"]}
            suite.write_text(suite.read_text() + "\n# changed\n")
            answer = await app.engine.request("agents_verdicts", run_id=ran["run_id"])
            assert answer["results"] == []


async def test_without_an_agent_it_says_how_to_set_one_up(workbench, place):
    """And shows what comes, without a key."""
    async with workbench(size=(80, 24)) as pilot:
        await watching(pilot)
        await listed(pilot)
        assert_picture(pilot.app, "nothing", folder="agents")
        kept(place)
        await until(pilot, lambda: "2 passed" in text_of(pilot.app), what="the first run")


async def test_runs_of_a_person_are_no_agents_and_older_ones_are_not_news(workbench, place):
    """Neither counted nor told at the start."""
    kept(place, failed=1)
    kept(place, requested_by=None)
    async with workbench() as pilot:
        app = await watching(pilot)
        assert len(app.agents.view.rows) == 1
        assert not app.agents.badge
        kept(place, requested_by=None)
        kept(place)
        kept(place, failed=2)
        await until(pilot, lambda: app.agents.view.unseen == 2)
        assert "Agents •2" in rows_of(app)[0]


async def test_what_cannot_be_read_is_said_and_harms_nothing(workbench, place):
    """A record that is torn, foreign, or whose insides are not what its head promises; and a suite that never ran."""
    torn = kept(place)
    runs = place / ".mcptest" / "runs"
    path = runs / f"{torn}.json"
    (runs / f"{new_ulid()}.json").write_bytes(path.read_bytes()[:60])
    inside = kept(place, failed=1)
    path = runs / f"{inside}.json"
    path.write_text(path.read_text().replace('"tests":[]', '"tests":[{"verdict":"fail"},7]'))
    save_inline(Workspace(place), new_ulid(), "tools: [\x1b]2;gone\x07")
    async with workbench() as pilot:
        await watching(pilot)
        screen = await listed(pilot)
        assert [row.kind for row in screen.view.shown] == ["inline", "run", "unreadable", "run"]
        assert "has no result" in text_of(pilot.app)
        await pilot.press("j")
        assert "the run record is damaged" in await told(pilot, screen)
        await pilot.press("j", "enter")
        await until(pilot, lambda: "This file cannot be read" in text_of(pilot.app))
        await pilot.press("escape", "c")
        assert "copied" not in text_of(pilot.app).lower()
        path.unlink()
        await until(pilot, lambda: len(screen.view.shown) == 3)


async def test_an_agents_name_and_suite_are_data(workbench, place):
    """Control characters and markup are shown, never obeyed."""
    client = {"name": "[red]\x1b]0;owned\x07\u202eagent\nx", "version": "\x9b31m"}
    suite = {"name": "n", "path": "../[b]\x1b[2J.yml", "sha256": "0" * 64}
    run_id = kept(place, failed=1, requested_by={"via": "mcp-server", "client": client})
    path = place / ".mcptest" / "runs" / f"{run_id}.json"
    import json

    record = json.loads(path.read_bytes())
    path.write_text(json.dumps({**record, "suite": suite}))
    async with workbench() as pilot:
        await watching(pilot)
        screen = await listed(pilot)
        text = await told(pilot, screen)
        assert "[red]" in text
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)
        await pilot.press("e", "J", "v", "c")
        await until(pilot, lambda: pilot.app.current_mode == "review", what="nothing is opened outside")


async def test_a_proposal_leads_to_review_and_a_run_to_its_test(workbench, place):
    """Enter on the one, t on the other; ! leaves what failed."""
    suite_in(place)
    async with workbench() as pilot:
        app = await watching(pilot)
        with agent(place, "--enable-writes") as door:
            await asked(door, "trigger_run")
        new_test(place, 1)
        screen = await listed(pilot)
        await until(pilot, lambda: [row.kind for row in screen.view.shown] == ["proposal", "run"])
        for steps, at in ((1, 1), (-1, 0)):
            screen.listed.action_move(steps)
            screen.show_all()  # as when runs are read before the message of the move comes
            assert (screen.view.at, screen.listed.cursor) == (at, at)
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "review" and "added 1" in rows_of(app)[1], what="the proposal")
        await pilot.press("escape", "j")
        await until(pilot, lambda: app.current_mode == "agents")
        await told(pilot, screen)
        await pilot.press("J")
        await until(pilot, lambda: app.current_mode == "tests" and app.screen.test_list.test() is not None)
        assert app.screen.test_list.test().name == "echo"
        await pilot.press("escape")
        await until(pilot, lambda: app.current_mode == "agents")
        await pilot.press("exclamation_mark")
        assert [row.kind for row in screen.view.shown] == ["run"]
        assert "failures only" in text_of(app)
        await pilot.press("c")
        await until(pilot, lambda: "all of it" in text_of(app))
        await pilot.press("escape", "escape")
        assert [row.kind for row in screen.view.shown] == ["proposal", "run"]


async def test_only_the_newest_are_looked_through_until_more_are_asked_for(workbench, place, monkeypatch):
    """o goes further back, and what comes of that is no news."""
    monkeypatch.setattr("mcptest_tui.agents.NEWEST", 2)
    for _ in range(5):
        kept(place)
    async with workbench(size=(80, 24)) as pilot:
        app = await watching(pilot)
        screen = await listed(pilot)
        assert len(screen.view.shown) == 2
        assert "older runs are not included" in text_of(app)
        await pilot.press("G", "enter")
        await until(pilot, lambda: len(screen.view.shown) == 5)
        assert not app.agents.view.unseen
        await pilot.press("O")
        assert "there are no older ones" in text_of(app)


# The state alone


def row(name, kind="run", **more):
    totals = {"total": 2, "passed": 2, "failed": 0, "inconclusive": 0, "skipped": 0, **more.pop("totals", {})}
    return AgentRow(id=name, kind=kind, at=0.0, file="", verdict=more.pop("verdict", "pass"), totals=totals, **more)


@pytest.mark.parametrize(
    ("one", "outcome", "status"),
    [
        (row("a"), "2 passed", "pass"),
        (row("a", verdict="fail", totals={"failed": 1}), "1 of 2 failed", "fail"),
        (row("a", totals={"inconclusive": 1, "passed": 1}), "1 inconclusive", "inconclusive"),
        (row("a", verdict="fail", interrupted=True, totals={"passed": 1}), "cut short", "fail"),
        (row("a", verdict="fail", totals={"total": 0, "passed": 0}), "no tests", "fail"),
        (row("a", totals={"passed": 0, "skipped": 2}), "all skipped", "pass"),
        (row("a", verdict="weird"), "2 passed", "inconclusive"),
        (row("a", "inline"), "no result", "new"),
    ],
)
def test_a_row_says_what_it_came_to(one, outcome, status):
    """A run that could not judge a test is no clean pass."""
    assert (one.outcome, one.status) == (outcome, status)


def current_of(view):
    assert view.current is not None
    return view.current.id


def test_the_cursor_stays_on_its_row_but_at_the_top_on_the_newest():
    """Unless somebody is reading."""
    view = AgentsView()
    assert view.put([row("b"), row("a")], more=False) == []
    assert [one.id for one in view.put([row("c"), row("b"), row("a")], more=False)] == ["c"]
    assert current_of(view) == "c"
    view.go(1)
    view.put([row("d"), row("c"), row("b"), row("a")], more=False)
    assert current_of(view) == "b"
    view.go(0)
    view.is_read_on = True
    view.put([row("e"), row("d"), row("c")], more=False)
    assert current_of(view) == "d"
    view.put([], more=False)
    assert view.current is None


def test_several_runs_are_told_in_one_sentence():
    """The number, and how many failed."""
    assert news([row("a"), row("b")]) == "2 runs by agents: all passed"
    assert news([row("a", verdict="fail"), row("b")]) == "2 runs by agents: 1 failed"
    assert news([row("a")]) == "an agent: 2 passed"
