"""Looking at servers: connecting, what they offer, and what happens when they hang, die, or mean harm."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
from typing import Any

import pytest

from mcptest_tui.screens.make import make_screen
from mcptest_tui.screens.scaffold import ScaffoldScreen
from mcptest_tui.widgets.modals import Question, TextPrompt
from tests.tui.pictures import assert_picture, rows_of, text_of
from tests.tui.servers.driving import at_list, at_servers, connected_anew, form_of, odd, sent, suite_of
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio
SIZES = [(80, 24), (120, 40)]
MASKS = ((r"/\S+/work(\S*) *", r"FOLDER\1 "),)


def started(pilot, name):
    """The processes of a server that was connected by hand."""
    return [one for one in pilot.app.processes if (one.role, one.name) == ("hand", name)]


async def nothing_is_started_on_its_own(pilot):
    """The list says so, and how to."""
    for size in SIZES:
        await pilot.resize_terminal(*size)
        screen = await at_list(pilot, "demo")
        assert screen.browser.server.state == "off"
        assert "not started" in text_of(pilot.app)
        assert_picture(pilot.app, "servers-first", folder="servers", masks=MASKS)


async def what_a_server_offers(pilot):
    """Signatures at one side, the schema to read at the other; at narrow sizes one after the other."""
    for size in SIZES:
        await pilot.resize_terminal(*size)
        screen = await connected_anew(pilot, "demo")
        screen.browser.catalog_list.move_to(2)
        await until(pilot, lambda: "get_weather(city: str" in text_of(pilot.app))
        assert_picture(pilot.app, "servers-tools", folder="servers", masks=MASKS)
        if size[0] >= 100:
            assert 'default "celsius"' in text_of(pilot.app)


async def lists_are_changed_filtered_and_left(pilot):
    """], /, and Escape back through everything."""
    screen = await connected_anew(pilot, "demo")
    await pilot.press("right_square_bracket")
    assert screen.browser.catalog.kind == "resources"
    await pilot.press("left_square_bracket", "slash", *"record", "enter")
    assert [item.name for item in screen.browser.catalog.shown][:1] == ["search_records"]
    assert screen.browser.catalog_list.has_focus
    assert "4 of 12" in text_of(pilot.app)
    await pilot.press("escape")
    assert len(screen.browser.catalog.shown) == 12
    await pilot.press("escape")
    assert screen.browser.server_list.has_focus
    await pilot.press("escape")
    assert pilot.app.current_mode == "servers"


async def the_description_as_json_and_back(pilot):
    """t."""
    await connected_anew(pilot, "demo")
    await pilot.press("t")
    await until(pilot, lambda: '"inputSchema": {' in text_of(pilot.app))
    await pilot.press("t")
    await until(pilot, lambda: "Arguments" in text_of(pilot.app))


async def disconnecting_and_restarting(pilot):
    """d and R; the words follow."""
    screen = await connected_anew(pilot, "demo")
    await pilot.press("escape", "x")
    await until(pilot, lambda: screen.browser.server.state == "off")
    await until(pilot, lambda: "not connected; r connects" in text_of(pilot.app))
    await pilot.press("r")
    await until(pilot, lambda: screen.browser.server.connected and screen.browser.server.catalog)
    before = screen.browser.server.since
    await pilot.press("r")
    await until(pilot, lambda: screen.browser.server.since > before)
    await until(pilot, lambda: screen.browser.server.connected and screen.browser.server.catalog)


async def a_server_that_hangs_is_waited_for_and_given_up(pilot):
    """Keys work meanwhile; seconds are counted; d ends it."""
    screen = await at_list(pilot, "stuck")
    await pilot.press("r")
    await until(pilot, lambda: re.search(r"starting [1-9]\d* s", text_of(pilot.app)))
    stuck = screen.browser.server
    await pilot.press("down", "r")
    await until(pilot, lambda: screen.browser.servers.named("other").connected)
    assert stuck.state == "starting"
    await pilot.press("up", "x")
    await until(pilot, lambda: stuck.state == "off")


async def a_server_that_does_not_answer_in_time_says_so(pilot):
    """With what helps."""
    screen = await at_list(pilot, "late")
    await pilot.press("r")
    await until(pilot, lambda: screen.browser.server.state == "failed")
    assert "no answer in time" in text_of(pilot.app)
    before = screen.browser.server.since
    await pilot.press("r")
    await until(pilot, lambda: screen.browser.server.since > before)
    await until(pilot, lambda: screen.browser.server.state == "failed")


async def a_server_that_dies_at_the_start_says_its_exit_code_and_last_words(pilot):
    """And the hint of the engine where it has one."""
    screen = await at_list(pilot, "dead")
    await pilot.press("r")
    await until(pilot, lambda: screen.browser.server.state == "failed")
    said = text_of(pilot.app)
    assert "exited 4" in said
    assert "no database" in said
    await pilot.press("down", "r")
    await until(pilot, lambda: screen.browser.server.state == "failed")
    assert "no such command" in text_of(pilot.app)


async def a_server_that_dies_while_it_is_looked_at(pilot):
    """The call says so, the list says so, its detail says when and why, and one key starts it again."""
    screen = await connected_anew(pilot, "dies")
    await form_of(pilot, screen, "echo")
    call = await sent(pilot, screen)
    assert "exited with code 7" in call.refused
    await until(pilot, lambda: screen.browser.server.state == "failed")
    said = text_of(pilot.app)
    assert "no answer" in said
    assert "exited 7" in said
    await until(pilot, lambda: "esc, then r, connects it again" in text_of(pilot.app))
    assert "out of luck" in text_of(pilot.app), "its stderr"
    await pilot.press("escape", "escape")
    await until(pilot, lambda: "last words" in text_of(pilot.app))
    said = text_of(pilot.app)
    assert re.search(r"ended at \d\d:\d\d:\d\d", said)
    assert "exited with code 7" in said
    assert "r  starts it again" in said
    assert "r start again" in said, "the footer"
    await pilot.press("r")
    await until(pilot, lambda: screen.browser.server.connected and "r reconnect" in text_of(pilot.app))


async def a_server_killed_from_outside_is_noticed(pilot):
    """Within moments, without a call."""
    screen = await connected_anew(pilot, "one")
    (process,) = started(pilot, "one")
    os.kill(process.pid, signal.SIGKILL)
    await until(pilot, lambda: screen.browser.server.state == "failed")
    assert "SIGKILL" in text_of(pilot.app)


async def hostile_words_are_shown_and_not_obeyed(pilot):
    """Escapes become visible, markup stays text, in every pane."""
    screen = await connected_anew(pilot, "odd")
    for at in range(screen.browser.catalog_list.count()):
        screen.browser.catalog_list.move_to(at)
        await pilot.pause()
        said = "\n".join(rows_of(pilot.app))
        assert not any(char in said for char in "\x1b\x07\x9b\u202e")
    screen.browser.catalog_list.move_to(0)
    await until(pilot, lambda: "[bold red]up[/]" in text_of(pilot.app))
    assert "␛[2J" in text_of(pilot.app)
    await pilot.press("enter")
    await until(pilot, lambda: screen.calls.is_shown and screen.calls.pane.form.has_focus_within)
    said = text_of(pilot.app)
    assert not any(char in said for char in "\x1b\x07\x9b\u202e")


async def the_evil_server_of_the_mock_is_browsed_and_called(pilot):
    """Every tool of it: the panes stay whole."""
    await pilot.resize_terminal(80, 24)
    screen = await connected_anew(pilot, "evil")
    for at in range(len(screen.browser.catalog.shown)):
        screen.browser.catalog_list.focus()
        screen.browser.catalog_list.move_to(at)
        await pilot.press("enter")
        await until(pilot, lambda: screen.calls.is_shown and screen.calls.pane.form.has_focus_within)
        await sent(pilot, screen)
        said = text_of(pilot.app)
        assert not any(ord(char) < 32 and char != "\n" for char in said), said
        assert "\x9b" not in said
        await pilot.press("escape")
        await until(pilot, lambda: screen.browser.catalog_list.has_focus)


async def five_hundred_tools_are_there_at_once(pilot):
    """All of them, and filtered by a letter."""
    screen = await connected_anew(pilot, "wide")
    assert screen.browser.catalog_list.count() == 500
    await pilot.press("G")
    assert screen.browser.catalog_list.item().name == "tool_499"
    await pilot.press("slash", *"tool_25", "enter")
    assert [item.name for item in screen.browser.catalog.shown] == [f"tool_{at}" for at in range(250, 260)]


async def a_typed_command_is_connected_and_remembered(pilot):
    """+; what was typed stands in the list, without a question."""
    command = f"{sys.executable} -m mcptest_engine.mock --preset demo"
    screen = pilot.app.screen
    await pilot.press("plus")
    await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
    pilot.app.screen.query_one("Input").value = command
    await pilot.press("enter")
    await until(
        pilot,
        lambda: (
            screen.browser.server is not None
            and screen.browser.server.connected
            and screen.browser.catalog_list.has_focus
        ),
    )
    assert screen.remember()["recent"] == [command]
    assert screen.browser.server.group == "recent"


FOUND = {"mcpServers": {"mock": {"command": sys.executable, "args": ["-m", "mcptest_engine.mock", "--preset", "demo"]}}}


async def a_found_server_is_asked_about_before_its_first_start(pilot, place):
    """Its command is shown; no is no; yes holds for this workbench."""
    (place / ".mcp.json").write_text(json.dumps(FOUND))
    await pilot.app.screen.connections.find()
    screen = await at_list(pilot, "mock")
    await pilot.press("r")
    await until(pilot, lambda: isinstance(pilot.app.screen, Question))
    said = text_of(pilot.app)
    assert "mcptest_engine.mock" in said
    assert ".mcp.json" in said
    await pilot.press("n")
    assert screen.browser.server.state == "off"
    await pilot.press("r")
    await until(pilot, lambda: isinstance(pilot.app.screen, Question))
    await pilot.press("y")
    await until(pilot, lambda: screen.browser.server.connected)
    await pilot.press("x")
    await until(pilot, lambda: screen.browser.server.state == "off")
    await pilot.press("r")
    await until(pilot, lambda: screen.browser.server.connected)


async def a_yes_to_what_has_changed_meanwhile_is_asked_for_again(pilot, place):
    """The question is about what it shows, not about what was found while it stood there."""
    settings = place / ".mcp.json"
    mock = FOUND["mcpServers"]["mock"]
    settings.write_text(json.dumps({"mcpServers": {"mock": {**mock, "env": {"B": "1"}}}}))
    await pilot.app.screen.connections.find()
    screen = await at_list(pilot, "mock")
    await pilot.press("r")
    await until(pilot, lambda: isinstance(pilot.app.screen, Question))
    first = pilot.app.screen
    settings.write_text(json.dumps({"mcpServers": {"mock": {**mock, "env": {"A": "1"}}}}))
    await screen.connections.find()
    await pilot.press("y")
    await until(pilot, lambda: isinstance(pilot.app.screen, Question) and pilot.app.screen is not first)
    assert screen.browser.server.state == "off"
    assert "with the variables A" in text_of(pilot.app)
    await pilot.press("n")


async def settings_that_cannot_be_read_are_told(pilot, place):
    """In the list, with line and column beside it."""
    (place / ".mcp.json").write_text('{"mcpServers": {')
    await pilot.app.screen.connections.find()
    await until(pilot, lambda: "Claude Code: .mcp.json cannot be read" in text_of(pilot.app))
    await until(pilot, lambda: "this `{` is never closed" in text_of(pilot.app))


async def a_suite_for_a_server_is_shown_before_it_is_written(pilot, place):
    """N."""
    screen = await at_list(pilot, "mock")
    await until(pilot, lambda: screen.browser.server.connected and screen.browser.server.catalog)
    await pilot.press("ctrl+n")
    await until(pilot, lambda: isinstance(pilot.app.screen, ScaffoldScreen) and pilot.app.screen.state.after)
    await until(pilot, lambda: not pilot.app.screen.is_updating)
    assert not (place / "mcptest.yml").exists()
    await pilot.press("ctrl+s")
    await until(pilot, lambda: pilot.app.store.documents)
    document = next(iter(pilot.app.store.documents.values()))
    assert document.sound, document.diagnostics


async def coming_from_a_test_shows_its_server(pilot):
    """`app.go` with suite and server; with a tool it goes on once the server is connected."""
    pilot.app.go("servers", suite=next(iter(pilot.app.store.documents)), server="demo", tool="echo")
    await until(pilot, lambda: pilot.app.current_mode == "servers" and pilot.app.screen.browser.server is not None)
    screen = pilot.app.screen
    assert screen.browser.server.name == "demo"
    await pilot.press("r")
    await until(pilot, lambda: screen.calls.is_shown and screen.calls.call.form.title == "echo")


async def the_engines_end_disconnects_everything(pilot):
    """Said, and connected again by hand."""
    screen = await connected_anew(pilot, "demo")
    with contextlib.suppress(ProcessLookupError):
        os.kill(pilot.app.engine.pid, signal.SIGKILL)
    await until(pilot, lambda: screen.browser.server.state == "off")
    await until(pilot, lambda: "r connect" in rows_of(pilot.app)[-1], what="the keys of a server that is off")
    assert "new suite" not in rows_of(pilot.app)[-1]
    await pilot.press("escape", "r")
    await until(pilot, lambda: screen.browser.server.connected and screen.browser.server.catalog)


async def any_size(pilot):
    """Never a crash, and resized while the form is open."""
    screen = await connected_anew(pilot, "demo")
    await form_of(pilot, screen, "get_weather")
    await pilot.press(*"Oslo")
    for size in ((20, 5), (40, 10), (60, 15), (200, 60)):
        await pilot.resize_terminal(*size)
        if size[0] >= 40:  # else it is too small for a key
            await sent(pilot, screen)
        await pilot.resize_terminal(80, 24)
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: "Oslo" in text_of(pilot.app))


async def the_list_has_all_rows_of_a_small_terminal(pilot):
    """One pane has the height of all, also after it was one of two."""
    await pilot.resize_terminal(120, 30)
    screen = await at_list(pilot, "stuck")
    await pilot.resize_terminal(80, 24)
    await until(pilot, lambda: screen.browser.server_list.size.height > 15)
    assert "server14" in text_of(pilot.app)


async def without_a_server_the_list_says_how_to_add_one(pilot):
    """Also where the pane beside it is not shown."""
    for size in SIZES:
        await pilot.resize_terminal(*size)
        screen = await at_servers(pilot)
        await until(pilot, lambda: "+ adds one by its command or URL" in text_of(pilot.app))
        await pilot.press("down", "enter", "r", "x", "r", "i", "escape")
        assert screen.browser.server is None


async def the_description_can_be_read_on_a_small_terminal(pilot):
    """i, for a server and for a tool; Enter goes on to the call, Escape back."""
    await pilot.resize_terminal(80, 24)
    screen = await connected_anew(pilot, "demo")
    await pilot.press("i")
    await until(pilot, lambda: "Say more" in text_of(pilot.app))
    await pilot.press("enter")
    await until(pilot, lambda: screen.calls.is_shown and screen.calls.call.form.title == "status")
    await pilot.press("escape")
    await until(pilot, lambda: screen.browser.catalog_list.has_focus)
    await pilot.press("escape", "i")
    await until(pilot, lambda: "Server info" in text_of(pilot.app))
    await pilot.press("escape")
    await until(pilot, lambda: screen.browser.server_list.has_focus)


async def the_last_words_of_a_dead_server_can_be_read_on_a_small_terminal(pilot):
    """i."""
    await pilot.resize_terminal(80, 24)
    screen = await at_list(pilot, "dead")
    assert screen.browser.server.state == "failed"
    await pilot.press("i")
    await until(pilot, lambda: "no database" in text_of(pilot.app))


async def escape_gives_up_a_server_that_does_not_answer(pilot):
    """The key stands beside the words, and nothing of it runs afterwards."""
    screen = await at_list(pilot, "silent")
    await pilot.press("r")
    await until(pilot, lambda: started(pilot, "silent"), what="the process")
    assert "esc cancels" in text_of(pilot.app)
    await pilot.press("escape")
    await until(pilot, lambda: screen.browser.server.state == "off", what="the end of the wait")
    await until(pilot, lambda: not started(pilot, "silent"), what="its end")


async def test_a_server_that_works(workbench, demo):
    """Begun on the smallest terminal; while the screen is being made none of its keys applies, and the footer asks for them."""
    async with workbench(size=(20, 5)) as pilot:
        being_made: Any = make_screen("servers")
        assert being_made.requests.check_action("ping", ()) is None
        await at_servers(pilot, "demo")
        for check in (
            nothing_is_started_on_its_own,
            coming_from_a_test_shows_its_server,
            what_a_server_offers,
            lists_are_changed_filtered_and_left,
            the_description_as_json_and_back,
            the_description_can_be_read_on_a_small_terminal,
            any_size,
            disconnecting_and_restarting,
            the_engines_end_disconnects_everything,
        ):
            await check(pilot)


async def test_servers_that_hang_die_or_mean_harm(workbench, place):
    suite_of(
        place,
        stuck={**odd("hang"), "connect_timeout_ms": 600_000},
        other=odd("any"),
        late={**odd("hang"), "connect_timeout_ms": 300},
        dead={"command": [sys.executable, "-c", "import sys; print('no database', file=sys.stderr); sys.exit(4)"]},
        missing={"command": ["nowhere-to-be-found"]},
        silent={"command": [sys.executable, "-c", "import sys; sys.stdin.read()"]},
        evil={"command": ["mcptest", "mock", "--preset", "evil"]},
        dies=odd("dies"),
        one=odd("any"),
        odd=odd("odd"),
        wide=odd("wide"),
        **{f"server{at}": odd("any") for at in range(11, 15)},
    )
    async with workbench() as pilot:
        await at_servers(pilot)
        for check in (
            the_list_has_all_rows_of_a_small_terminal,
            a_server_that_hangs_is_waited_for_and_given_up,
            a_server_that_does_not_answer_in_time_says_so,
            a_server_that_dies_at_the_start_says_its_exit_code_and_last_words,
            the_last_words_of_a_dead_server_can_be_read_on_a_small_terminal,
            escape_gives_up_a_server_that_does_not_answer,
            a_server_that_dies_while_it_is_looked_at,
            a_server_killed_from_outside_is_noticed,
            hostile_words_are_shown_and_not_obeyed,
            five_hundred_tools_are_there_at_once,
            the_evil_server_of_the_mock_is_browsed_and_called,
        ):
            await check(pilot)
            await pilot.resize_terminal(120, 40)


async def test_servers_that_are_found(workbench, place):
    async with workbench() as pilot:
        await at_servers(pilot)
        for check in (
            settings_that_cannot_be_read_are_told,
            a_yes_to_what_has_changed_meanwhile_is_asked_for_again,
            a_found_server_is_asked_about_before_its_first_start,
            a_suite_for_a_server_is_shown_before_it_is_written,
        ):
            await check(pilot, place)


async def test_without_a_server(workbench, place):
    async with workbench() as pilot:
        await at_servers(pilot)
        await without_a_server_the_list_says_how_to_add_one(pilot)
        await a_typed_command_is_connected_and_remembered(pilot)
