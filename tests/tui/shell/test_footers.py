"""What the footer names first: what is of use in the state that the screen is in; dialogs name the keys that work in them."""

from __future__ import annotations

import sys

import pytest

from mcptest_tui.screens.about import About
from mcptest_tui.screens.picker import Picker
from mcptest_tui.widgets.modals import Question, TextPrompt
from tests.tui.edit.typing import opened
from tests.tui.pictures import rows_of, text_of
from tests.tui.servers.driving import suite_of
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio

HANGING = (
    "import json, sys, time\n"
    "for line in sys.stdin:\n"
    "    told = json.loads(line)\n"
    "    if told.get('method') == 'initialize':\n"
    "        result = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}},\n"
    "                  'serverInfo': {'name': 'slow', 'version': '1'}}\n"
    "        print(json.dumps({'jsonrpc': '2.0', 'id': told['id'], 'result': result}), flush=True)\n"
)
"""A server that answers `initialize`, and nothing after it."""


def footer(pilot):
    """The last row."""
    return rows_of(pilot.app)[-1].strip()


def frame(pilot):
    """The lower edge of the dialog that is shown."""
    return str(pilot.app.screen.query(".dialog").first().border_subtitle)


async def test_while_something_runs_the_footer_begins_with_the_key_that_stops_it(workbench, place):
    (place / "server.py").write_text(HANGING)
    (place / "mcptest.yml").write_text(
        f"name: s\nservers: {{slow: {{command: [{sys.executable}, server.py]}}}}\n"
        "tools: [{name: it waits, tool: wait, server: slow}]\n"
    )
    async with workbench(size=(80, 24)) as pilot:
        app = pilot.app
        await until(pilot, lambda: app.store.rows)
        assert "x stop" not in footer(pilot)
        await pilot.press("a")
        await until(pilot, lambda: footer(pilot).startswith("x stop"), what="x first")
        await pilot.press("x")
        await until(pilot, lambda: not app.store.progress.busy and "x stop" not in footer(pilot), what="the end")


async def test_the_detail_names_the_keys_of_its_tabs_and_a_failed_test_that_of_its_proposal(workbench, demo):
    demo.write_text(demo.read_text().replace("value: 66", "value: 99"))
    async with workbench(size=(120, 40)) as pilot:
        app = pilot.app
        await until(pilot, lambda: app.store.rows)
        assert not any(key in footer(pilot) for key in ("f failed", "n next failure", "[ ] tabs"))
        await pilot.press("a")
        await until(pilot, lambda: app.store.counts["fail"] and not app.store.progress.busy, what="the run")
        await until(pilot, lambda: app.reviews.state.items, what="the proposals")
        await pilot.press("n")
        await until(pilot, lambda: footer(pilot).startswith("v review"), what="v first")
        await pilot.press("enter")
        await until(pilot, lambda: footer(pilot).startswith("v review  [ ] tabs"), what="the tabs")


async def test_the_editor_names_how_to_leave_it_while_letters_are_typed(workbench, demo):
    async with workbench(size=(80, 24)) as pilot:
        await opened(pilot)
        await until(pilot, lambda: "f1-f6 modes" in footer(pilot), what="the modes")
        assert footer(pilot).startswith("^s save")
        assert "f9 fix" not in footer(pilot)
        assert "f8" not in footer(pilot)
        assert " f1 Tests  f2 Edit  f3 Servers " in rows_of(pilot.app)[0]


async def test_the_settings_say_all_of_what_a_row_is_for_on_a_small_terminal(workbench, demo):
    async with workbench(size=(80, 24)) as pilot:
        await pilot.press("comma", "down", "down")
        await until(pilot, lambda: all(word in text_of(pilot.app) for word in ("bell, title", "starts.")))


async def test_the_first_screen_names_the_way_out(workbench):
    async with workbench(size=(80, 24)) as pilot:
        await until(pilot, lambda: "No suite in this folder" in text_of(pilot.app))
        assert "^q quit" in footer(pilot)


async def test_lines_to_type_in_name_their_keys(workbench, demo):
    """The filter and the find bar: the same table as everywhere, so that a keymap changes them too."""
    async with workbench(size=(120, 40)) as pilot:
        await until(pilot, lambda: pilot.app.store.rows)
        await pilot.press("slash")
        await until(
            pilot,
            lambda: footer(pilot).startswith("⏎ to the list  esc clear  tab complete  ↓ ↑ words"),
            what="the filter's",
        )
        await pilot.press("escape")
        await opened(pilot)
        await pilot.press("ctrl+f")
        await until(pilot, lambda: footer(pilot).startswith("⏎ next"), what="the find bar's")
        assert footer(pilot).startswith("⏎ next  esc close  f7 replace all  ↓ ↑ hits  alt+r pattern")


async def test_a_keymap_changes_the_keys_of_lines_and_windows(workbench, demo, tmp_path):
    keymap = tmp_path / "xdg_config_home" / "mcptest" / "keymap.yml"
    keymap.parent.mkdir(parents=True)
    keymap.write_text("find.pattern: alt+p\nabout.copy: c\n")
    async with workbench(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("ctrl+f")
        await until(pilot, lambda: "alt+p pattern" in footer(pilot), what="the other key")
        await pilot.press("escape")
        pilot.app.windows.action_about()
        await until(pilot, lambda: isinstance(pilot.app.screen, About) and "c copy" in frame(pilot), what="the window")
        await pilot.press("y")
        await until(pilot, lambda: "types 'y'" not in text_of(pilot.app) and "y  " in text_of(pilot.app))
        await pilot.press("c")
        await until(pilot, lambda: not isinstance(pilot.app.screen, About), what="the copy")


async def test_dialogs_name_each_key_that_works_in_them_and_no_other(workbench, demo):
    async with workbench(size=(80, 24)) as pilot:
        app = pilot.app
        await until(pilot, lambda: app.store.rows)
        app.push_screen(Question("Sure?", [], [("y", "yes"), ("n", "no")]))
        await until(pilot, lambda: isinstance(app.screen, Question) and frame(pilot) == "⏎ choose   esc close")
        app.pop_screen()
        app.push_screen(TextPrompt("A name"))
        await until(pilot, lambda: isinstance(app.screen, TextPrompt) and frame(pilot) == "⏎ take   esc close")
        app.pop_screen()
        app.push_screen(TextPrompt("A name", suggest=lambda typed: typed, entered=["before"]))
        await until(pilot, lambda: frame(pilot) == "⏎ take   tab complete   ↑ earlier   esc close")
        app.pop_screen()
        app.push_screen(Picker("List", lambda typed: ((), typed)))
        await until(pilot, lambda: isinstance(app.screen, Picker) and frame(pilot) == "⏎ take   esc close")


async def test_up_recalls_what_was_entered_before_in_prompts_for_commands_and_for_paths(workbench, place, demo):
    """And what was being typed is there again after Down."""
    (place / "other.yml").write_text(demo.read_text())
    async with workbench(size=(120, 40), paths=["mcptest.yml"]) as pilot:
        app = pilot.app
        for name in ("other.yml", "mcptest.yml"):
            await pilot.press("f1", "ctrl+o")
            await until(pilot, lambda: isinstance(app.screen, TextPrompt), what="the prompt")
            app.screen.query_one("Prompt").value = name
            await pilot.press("enter")
            await until(pilot, lambda: app.current_mode == "edit", what="the file")
        await pilot.press("f1", "ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, TextPrompt), what="the prompt again")
        line = app.screen.query_one("Prompt")
        line.value = "long/" * 18
        line.cursor_position = len(line.value)
        await pilot.resize_terminal(60, 20)
        await until(pilot, lambda: line.cursor_screen_offset.x <= line.content_region.right)
        await pilot.resize_terminal(120, 40)
        line.value = ""
        await pilot.press("o", "up")
        assert line.value == "mcptest.yml"
        await pilot.press("up", "up")
        assert line.value == "other.yml"
        await pilot.press("down", "down")
        assert line.value == "o"


async def test_escape_gives_up_what_a_server_is_asked(workbench, place):
    """Connecting, listing: the server stays as it was, and is asked again by the key that is named."""
    (place / "server.py").write_text(HANGING)
    suite_of(place, slow={"command": [sys.executable, "server.py"]})
    async with workbench(size=(120, 40)) as pilot:
        app = pilot.app
        await pilot.press("f3")
        await until(
            pilot, lambda: app.current_mode == "servers" and app.screen.browser.servers.searched, what="the servers"
        )
        screen = app.screen
        assert screen.browser.server_list.select(screen.browser.servers.named("slow").key)
        await pilot.press("r")
        await until(
            pilot, lambda: screen.browser.server.connected and "listing tools" in text_of(app), what="the listing"
        )
        await until(pilot, lambda: footer(pilot).startswith("esc cancel"), what="the key")
        await pilot.press("escape")
        await until(pilot, lambda: "not listed; R asks again" in text_of(app), what="the end of the wait")
        assert screen.browser.server.connected
        assert not footer(pilot).startswith("esc cancel")
