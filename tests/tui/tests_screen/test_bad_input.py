"""Whatever comes, the screen stays: suites that do not load, servers that die, hostile and huge answers, tiny terminals."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from mcptest_tui.problems import MOST
from tests.tui.pictures import assert_picture, drawn, text_of
from tests.tui.tests_screen.conftest import MIXED, on, ran
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio
SERVERS = Path(__file__).parents[2]


def segments(app):
    return [segment.text for strip in drawn(app) for segment in strip]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_a_suite_that_does_not_load_shows_its_first_problem_at_once(workbench, mixed, size):
    """With key and hint, on the start screen."""
    mixed.write_text(MIXED.replace("    tags: [smoke]\n    expect:", "    expct:", 1), encoding="utf-8")
    async with workbench(size=size) as pilot:
        text = text_of(pilot.app)
        assert "expct" in text
        assert "did you mean `expect`?" in text
        assert "the service is operational" in text
        assert_picture(pilot.app, "problem", folder="tests_screen")


async def test_a_suite_that_breaks_keeps_the_tests_of_its_last_good_load(workbench, mixed):
    async with workbench() as pilot:
        await ran(pilot, "a")
        mixed.write_text(MIXED.replace("tool: echo", "tol: echo"), encoding="utf-8")
        await until(pilot, lambda: "1 problem" in text_of(pilot.app))
        assert "✗ the service is broken" in text_of(pilot.app)
        assert "from " in text_of(pilot.app)
        mixed.write_text(MIXED, encoding="utf-8")
        await until(pilot, lambda: "1 problem" not in text_of(pilot.app))


async def test_enter_on_a_problem_opens_the_editor_there(workbench, mixed):
    mixed.write_text(MIXED.replace("tool: echo", "tol: echo"), encoding="utf-8")
    async with workbench() as pilot:
        await pilot.press("g", "j")
        await until(pilot, lambda: "this suite does not run" in text_of(pilot.app))
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.current_mode == "edit" and pilot.app.screen.current is not None)
        area = pilot.app.screen.current.area
        await until(pilot, lambda: "tol: echo" in area.lines[area.cursor_location[0]], what="the line of the problem")


async def test_a_server_that_does_not_start_is_told_with_its_last_words(workbench, mixed):
    broken = "import sys; print('no database', file=sys.stderr); sys.exit(3)"
    command = f'[{sys.executable}, "-c", "{broken}"]'
    mixed.write_text(MIXED.replace('["mcptest", "mock", "--preset", "demo"]', command), encoding="utf-8")
    async with workbench() as pilot:
        await ran(pilot, "a")
        await on(pilot, "echo")
        await until(pilot, lambda: "the server failed  (server)" in text_of(pilot.app))
        assert "no database" in text_of(pilot.app)


async def test_an_answer_full_of_escapes_and_markup_reaches_no_terminal(workbench, mixed):
    """ESC, C1, bidirectional controls, markup: data in every pane."""
    evil = '"[bold red]x[/] [link=x]y \\x1b]2;owned\\x07\\x1b[2J\\u202e \\x9b31m \\t end\\r\\nlast"'
    name = '"evil [red]name[/] [link=x]"'
    mixed.write_text(
        MIXED.replace("text: hello", f"text: {evil}").replace("name: echo gives back what was said", f"name: {name}"),
        encoding="utf-8",
    )
    async with workbench() as pilot:
        await ran(pilot, "a")
        await on(pilot, "evil")
        for _ in range(6):
            await pilot.press("right_square_bracket")
            await pilot.pause()
            for text in segments(pilot.app):
                assert not [character for character in text if ord(character) < 32 or 0x7F <= ord(character) < 0xA0]
                assert "\u202e" not in text
        await pilot.press("enter")
        pilot.app.screen.detail.use_tab("response")
        await until(pilot, lambda: pilot.app.screen.detail.json("response").nodes is not None)
        await pilot.press("G", "i")
        await until(pilot, lambda: "owned" in text_of(pilot.app))
        for text in segments(pilot.app):
            assert not [character for character in text if ord(character) < 32 or 0x7F <= ord(character) < 0xA0]


@pytest.mark.usefixtures("every_frame")
async def test_a_row_that_cannot_be_drawn_is_told_and_the_panel_can_be_closed(workbench, mixed, monkeypatch):
    """A bug of ours in one pane: what lies above it must still be drawn."""
    from mcptest_tui.widgets.json_tree import JsonTree
    from mcptest_tui.widgets.modals import ErrorPanel

    async with workbench(bugs=1) as pilot:
        await ran(pilot, "a")
        monkeypatch.setattr(JsonTree, "_node", lambda *_: 1 // 0)
        await on(pilot, "echo")
        pilot.app.screen.detail.use_tab("response")
        await until(pilot, lambda: isinstance(pilot.app.screen, ErrorPanel))
        await pilot.press("escape")
        await until(pilot, lambda: "cannot be drawn" in text_of(pilot.app))


async def test_a_screen_that_fails_again_and_again_ends_the_workbench_and_does_not_freeze_it(workbench):
    """The last of the errors ended the screen's loop and was held for one that was told: no key was taken any more."""
    with pytest.raises(ZeroDivisionError):
        async with workbench() as pilot:
            for _ in range(MOST + 1):
                pilot.app.work_screen.call_later(lambda: 1 // 0)
            await until(pilot, lambda: pilot.app._exit or not pilot.app.is_running, seconds=20)


async def test_a_huge_answer_is_shown_from_its_beginning(workbench, place):
    """Its length is said; the rest comes when it is asked for, up to a megabyte."""
    server = SERVERS / "bench" / "servers" / "blob.py"
    (place / "mcptest.yml").write_text(
        f"name: huge\nservers: {{ blob: {{ command: [{sys.executable}, {server}, '3'] }} }}\n"
        "tools: [{ name: huge, tool: any }]\n",
        encoding="utf-8",
    )
    async with workbench() as pilot:
        await ran(pilot, "a")
        await on(pilot, "huge")
        await pilot.press("enter")
        pilot.app.screen.detail.use_tab("response")
        await until(pilot, lambda: "3,000,000 characters" in text_of(pilot.app))
        await pilot.press("G", "i")
        await until(pilot, lambda: "y copy" in text_of(pilot.app), what="the window")
        assert "All work and no play" in text_of(pilot.app)


async def test_terminals_of_any_size_are_drawn(workbench, mixed):
    chance = random.Random(3)
    async with workbench() as pilot:
        await ran(pilot, "a")
        await on(pilot, "another")
        for number in range(30):
            await pilot.resize_terminal(chance.randint(1, 200), chance.randint(1, 60))
            await pilot.press(
                chance.choice(("j", "k", "G", "g", "d", "right_square_bracket", "tab", "enter", "escape"))
            )
            if number % 5 == 0:
                await pilot.press("slash", "t", "escape")
        await pilot.resize_terminal(20, 5)
        await pilot.resize_terminal(120, 40)
        assert pilot.app.problems.count == 0


async def test_an_engine_that_dies_keeps_the_results_and_comes_back(workbench, mixed):
    import os
    import signal

    async with workbench() as pilot:
        await ran(pilot, "a")
        os.kill(pilot.app.engine.pid, signal.SIGKILL)
        await until(pilot, lambda: "the engine stopped" in text_of(pilot.app))
        assert pilot.app.store.counts["fail"] == 2
        await ran(pilot, "f")
        assert pilot.app.store.counts["fail"] == 2
