"""Looking at servers: connecting, what they offer, and what happens when they hang, die, or mean harm."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys

import pytest

from mcptest_tui.screens.make import make_screen
from mcptest_tui.screens.scaffold import ScaffoldScreen
from mcptest_tui.widgets.modals import Ask, Question
from tests.tui.pictures import assert_picture, rows_of, text_of
from tests.tui.servers.driving import at_servers, connected, form_of, odd, sent, suite_of
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio
SIZES = [(80, 24), (120, 40)]
MASKS = ((r"/\S+/work(\S*) *", r"FOLDER\1 "),)


@pytest.fixture(autouse=True)
def _forked_engines() -> None:
    """Real processes: a test looks for a server by its command line."""


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_nothing_is_started_on_its_own(workbench, demo, size):
    """The list says so, and how to."""
    async with workbench(size=size) as pilot:
        screen = await at_servers(pilot, "demo")
        assert screen.server.state == "off"
        assert "not started" in text_of(pilot.app)
        assert_picture(pilot.app, "servers-first", folder="servers", masks=MASKS)


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_what_a_server_offers(workbench, demo, size):
    """Signatures at one side, the schema to read at the other; at narrow sizes one after the other."""
    async with workbench(size=size) as pilot:
        screen = await connected(pilot, "demo")
        screen.catalog_list.move_to(2)
        await until(pilot, lambda: "get_weather(city: str" in text_of(pilot.app))
        assert_picture(pilot.app, "servers-tools", folder="servers", masks=MASKS)
        if size[0] >= 100:
            assert 'default "celsius"' in text_of(pilot.app)


async def test_lists_are_changed_filtered_and_left(workbench, demo):
    """], /, and Escape back through everything."""
    async with workbench() as pilot:
        screen = await connected(pilot, "demo")
        await pilot.press("right_square_bracket")
        assert screen.catalog.kind == "resources"
        await pilot.press("left_square_bracket", "slash", *"record", "enter")
        assert [item.name for item in screen.catalog.shown][:1] == ["search_records"]
        assert screen.catalog_list.has_focus
        assert "4 of 12" in text_of(pilot.app)
        await pilot.press("escape")
        assert len(screen.catalog.shown) == 12
        await pilot.press("escape")
        assert screen.server_list.has_focus
        await pilot.press("escape")
        assert pilot.app.current_mode == "servers"


async def test_the_description_as_json_and_back(workbench, demo):
    """t."""
    async with workbench() as pilot:
        await connected(pilot, "demo")
        await pilot.press("t")
        await until(pilot, lambda: '"inputSchema": {' in text_of(pilot.app))
        await pilot.press("t")
        await until(pilot, lambda: "Arguments" in text_of(pilot.app))


async def test_disconnecting_and_restarting(workbench, demo):
    """d and R; the words follow."""
    async with workbench() as pilot:
        screen = await connected(pilot, "demo")
        await pilot.press("escape", "x")
        await until(pilot, lambda: screen.server.state == "off")
        assert "not connected; r connects" in text_of(pilot.app)
        await pilot.press("r")
        await until(pilot, lambda: screen.server.connected and screen.server.catalog)
        before = screen.server.since
        await pilot.press("r")
        await until(pilot, lambda: screen.server.since > before)
        await until(pilot, lambda: screen.server.connected and screen.server.catalog)


async def test_a_server_that_hangs_is_waited_for_and_given_up(workbench, place):
    """Keys work meanwhile; seconds are counted; d ends it."""
    suite_of(place, stuck={**odd("hang"), "connect_timeout_ms": 600_000}, other=odd("any"))
    async with workbench() as pilot:
        screen = await at_servers(pilot, "stuck")
        await pilot.press("r")
        await until(pilot, lambda: re.search(r"starting [1-9]\d* s", text_of(pilot.app)))
        stuck = screen.server
        await pilot.press("down", "r")
        await until(pilot, lambda: screen.servers.named("other").connected)
        assert stuck.state == "starting"
        await pilot.press("up", "x")
        await until(pilot, lambda: stuck.state == "off")


async def test_a_server_that_does_not_answer_in_time_says_so(workbench, place):
    """With what helps."""
    suite_of(place, stuck={**odd("hang"), "connect_timeout_ms": 300})
    async with workbench() as pilot:
        screen = await at_servers(pilot, "stuck")
        await pilot.press("r")
        await until(pilot, lambda: screen.server.state == "failed")
        assert "no answer in time" in text_of(pilot.app)
        before = screen.server.since
        await pilot.press("r")
        await until(pilot, lambda: screen.server.since > before)
        await until(pilot, lambda: screen.server.state == "failed")


async def test_a_server_that_dies_at_the_start_says_its_exit_code_and_last_words(workbench, place):
    """And the hint of the engine where it has one."""
    program = "import sys; print('no database', file=sys.stderr); sys.exit(4)"
    suite_of(place, dead={"command": [sys.executable, "-c", program]}, missing={"command": ["nowhere-to-be-found"]})
    async with workbench() as pilot:
        screen = await at_servers(pilot, "dead")
        await pilot.press("r")
        await until(pilot, lambda: screen.server.state == "failed")
        said = text_of(pilot.app)
        assert "exited 4" in said
        assert "no database" in said
        await pilot.press("down", "r")
        await until(pilot, lambda: screen.server.state == "failed")
        assert "no such command" in text_of(pilot.app)


async def test_a_server_that_dies_while_it_is_looked_at(workbench, place):
    """The call says so, the list says so, its detail says when and why, and one key starts it again."""
    suite_of(place, dies=odd("dies"))
    async with workbench() as pilot:
        screen = await connected(pilot, "dies")
        await form_of(pilot, screen, "echo")
        call = await sent(pilot, screen)
        assert "exited with code 7" in call.refused
        await until(pilot, lambda: screen.server.state == "failed")
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
        await until(pilot, lambda: screen.server.connected and "r reconnect" in text_of(pilot.app))


async def test_a_server_killed_from_outside_is_noticed(workbench, place):
    """Within moments, without a call."""
    suite_of(place, one=odd("any"))
    async with workbench() as pilot:
        screen = await connected(pilot, "one")
        pids = _children_named(str(pilot.app.engine.pid), "odd.py")
        assert pids
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        await until(pilot, lambda: screen.server.state == "failed")
        assert "SIGKILL" in text_of(pilot.app)


def _children_named(session: str, word: str) -> list[int]:
    """Processes below the engine whose command holds a word."""
    listed = subprocess.run(["ps", "-eww", "-o", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    parents = {}
    for line in listed.splitlines()[1:]:
        pid, parent, args = line.split(None, 2)
        parents[pid] = (parent, args)

    def below(pid):
        while pid in parents and pid != "0":
            if pid == session:
                return True
            pid = parents[pid][0]
        return False

    return [int(pid) for pid, (_, args) in parents.items() if word in args and below(pid) and pid != session]


async def test_hostile_words_are_shown_and_not_obeyed(workbench, place):
    """Escapes become visible, markup stays text, in every pane."""
    suite_of(place, odd=odd("odd"))
    async with workbench() as pilot:
        screen = await connected(pilot, "odd")
        for at in range(screen.catalog_list.count()):
            screen.catalog_list.move_to(at)
            await pilot.pause()
            said = "\n".join(rows_of(pilot.app))
            assert not any(char in said for char in "\x1b\x07\x9b\u202e")
        screen.catalog_list.move_to(0)
        await until(pilot, lambda: "[bold red]up[/]" in text_of(pilot.app))
        assert "␛[2J" in text_of(pilot.app)
        await pilot.press("enter")
        await until(pilot, lambda: screen.is_calling and screen.call_pane.form.has_focus_within)
        said = text_of(pilot.app)
        assert not any(char in said for char in "\x1b\x07\x9b\u202e")


async def test_the_evil_server_of_the_mock_is_browsed_and_called(workbench, place):
    """Every tool of it: the panes stay whole."""
    suite_of(place, evil={"command": ["mcptest", "mock", "--preset", "evil"]})
    async with workbench(size=(80, 24)) as pilot:
        screen = await connected(pilot, "evil")
        for at in range(len(screen.catalog.shown)):
            screen.catalog_list.focus()
            screen.catalog_list.move_to(at)
            await pilot.press("enter")
            await until(pilot, lambda: screen.is_calling and screen.call_pane.form.has_focus_within)
            await sent(pilot, screen)
            said = text_of(pilot.app)
            assert not any(ord(char) < 32 and char != "\n" for char in said), said
            assert "\x9b" not in said
            await pilot.press("escape")
            await until(pilot, lambda: screen.catalog_list.has_focus)


async def test_five_hundred_tools_are_there_at_once(workbench, place):
    """All of them, and filtered by a letter."""
    suite_of(place, wide=odd("wide"))
    async with workbench() as pilot:
        screen = await connected(pilot, "wide")
        assert screen.catalog_list.count() == 500
        await pilot.press("G")
        assert screen.catalog_list.item().name == "tool_499"
        await pilot.press("slash", *"tool_25", "enter")
        assert [item.name for item in screen.catalog.shown] == [f"tool_{at}" for at in range(250, 260)]


async def test_a_typed_command_is_connected_and_remembered(workbench, place):
    """+; what was typed stands in the list, without a question."""
    command = f"{sys.executable} -m mcptest_engine.mock --preset demo"
    async with workbench() as pilot:
        screen = await at_servers(pilot)
        await pilot.press("plus")
        await until(pilot, lambda: isinstance(pilot.app.screen, Ask))
        pilot.app.screen.query_one("Input").value = command
        await pilot.press("enter")
        await until(
            pilot, lambda: screen.server is not None and screen.server.connected and screen.catalog_list.has_focus
        )
        assert screen.remember()["recent"] == [command]
        assert screen.server.group == "recent"


FOUND = {"mcpServers": {"mock": {"command": sys.executable, "args": ["-m", "mcptest_engine.mock", "--preset", "demo"]}}}


async def test_a_found_server_is_asked_about_before_its_first_start(workbench, place):
    """Its command is shown; no is no; yes holds for this workbench."""
    (place / ".mcp.json").write_text(json.dumps(FOUND))
    async with workbench() as pilot:
        screen = await at_servers(pilot, "mock")
        await pilot.press("r")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        said = text_of(pilot.app)
        assert "mcptest_engine.mock" in said
        assert ".mcp.json" in said
        await pilot.press("n")
        assert screen.server.state == "off"
        await pilot.press("r")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("y")
        await until(pilot, lambda: screen.server.connected)
        await pilot.press("x")
        await until(pilot, lambda: screen.server.state == "off")
        await pilot.press("r")
        await until(pilot, lambda: screen.server.connected)


async def test_a_yes_to_what_has_changed_meanwhile_is_asked_for_again(workbench, place):
    """The question is about what it shows, not about what was found while it stood there."""
    settings = place / ".mcp.json"
    settings.write_text(json.dumps(FOUND))
    async with workbench() as pilot:
        screen = await at_servers(pilot, "mock")
        await pilot.press("r")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        first = pilot.app.screen
        settings.write_text(json.dumps({"mcpServers": {"mock": {**FOUND["mcpServers"]["mock"], "env": {"A": "1"}}}}))
        await screen.find()
        await pilot.press("y")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question) and pilot.app.screen is not first)
        assert screen.server.state == "off"
        assert "with the variables A" in text_of(pilot.app)


async def test_settings_that_cannot_be_read_are_told(workbench, place):
    """In the list, with line and column beside it."""
    (place / ".mcp.json").write_text('{"mcpServers": {')
    async with workbench() as pilot:
        await at_servers(pilot)
        await until(pilot, lambda: "Claude Code: .mcp.json cannot be read" in text_of(pilot.app))
        await until(pilot, lambda: "this `{` is never closed" in text_of(pilot.app))


async def test_a_suite_for_a_server_is_shown_before_it_is_written(workbench, place):
    """N."""
    (place / ".mcp.json").write_text(json.dumps(FOUND))
    async with workbench() as pilot:
        screen = await at_servers(pilot, "mock")
        screen.servers.agree(screen.server.consent)
        await pilot.press("r")
        await until(pilot, lambda: screen.server.connected and screen.server.catalog)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: isinstance(pilot.app.screen, ScaffoldScreen) and pilot.app.screen.state.after)
        await until(pilot, lambda: not pilot.app.screen.asking)
        assert not (place / "mcptest.yml").exists()
        await pilot.press("ctrl+s")
        await until(pilot, lambda: pilot.app.store.documents)
        document = next(iter(pilot.app.store.documents.values()))
        assert document.sound, document.diagnostics


async def test_coming_from_a_test_shows_its_server(workbench, demo):
    """`app.go` with suite and server; with a tool it goes on once the server is connected."""
    async with workbench() as pilot:
        pilot.app.go("servers", suite=str(demo), server="demo", tool="echo")
        await until(pilot, lambda: pilot.app.current_mode == "servers" and pilot.app.screen.server is not None)
        screen = pilot.app.screen
        assert screen.server.name == "demo"
        await pilot.press("r")
        await until(pilot, lambda: screen.is_calling and screen.call.form.title == "echo")


async def test_the_engines_end_disconnects_everything(workbench, demo):
    """Said, and connected again by hand."""
    async with workbench() as pilot:
        screen = await connected(pilot, "demo")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pilot.app.engine.pid, signal.SIGKILL)
        await until(pilot, lambda: screen.server.state == "off")
        await until(pilot, lambda: "r connect" in rows_of(pilot.app)[-1], what="the keys of a server that is off")
        assert "new suite" not in rows_of(pilot.app)[-1]
        await pilot.press("escape", "r")
        await until(pilot, lambda: screen.server.connected and screen.server.catalog)


async def test_any_size(workbench, demo):
    """Never a crash, and resized while the form is open."""
    async with workbench(size=(20, 5)) as pilot:
        screen = await connected(pilot, "demo")
        await form_of(pilot, screen, "get_weather")
        await pilot.press(*"Oslo")
        for size in ((20, 5), (40, 10), (60, 15), (200, 60)):
            await pilot.resize_terminal(*size)
            await sent(pilot, screen)
            await pilot.resize_terminal(80, 24)
            await pilot.resize_terminal(120, 40)
            await until(pilot, lambda: "Oslo" in text_of(pilot.app))


async def test_the_list_has_all_rows_of_a_small_terminal(workbench, place):
    """One pane has the height of all, also after it was one of two."""
    suite_of(place, **{f"server{at:02}": odd("any") for at in range(15)})
    async with workbench(size=(120, 30)) as pilot:
        screen = await at_servers(pilot)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: screen.server_list.size.height > 15)
        assert "server14" in text_of(pilot.app)


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_without_a_server_the_list_says_how_to_add_one(workbench, place, size):
    """Also where the pane beside it is not shown."""
    async with workbench(size=size) as pilot:
        screen = await at_servers(pilot)
        await until(pilot, lambda: "+ adds one by its command or URL" in text_of(pilot.app))
        await pilot.press("down", "enter", "r", "x", "r", "i", "escape")
        assert screen.server is None


async def test_the_description_can_be_read_on_a_small_terminal(workbench, demo):
    """i, for a server and for a tool; Enter goes on to the call, Escape back."""
    async with workbench(size=(80, 24)) as pilot:
        screen = await connected(pilot, "demo")
        await pilot.press("i")
        await until(pilot, lambda: "Say more" in text_of(pilot.app))
        await pilot.press("enter")
        await until(pilot, lambda: screen.is_calling and screen.call.form.title == "status")
        await pilot.press("escape")
        await until(pilot, lambda: screen.catalog_list.has_focus)
        await pilot.press("escape", "i")
        await until(pilot, lambda: "What it says of itself" in text_of(pilot.app))
        await pilot.press("escape")
        await until(pilot, lambda: screen.server_list.has_focus)


async def test_the_last_words_of_a_dead_server_can_be_read_on_a_small_terminal(workbench, place):
    """i."""
    program = "import sys; print('no database', file=sys.stderr); sys.exit(4)"
    suite_of(place, dead={"command": [sys.executable, "-c", program]})
    async with workbench(size=(80, 24)) as pilot:
        screen = await at_servers(pilot, "dead")
        await pilot.press("r")
        await until(pilot, lambda: screen.server.state == "failed")
        await pilot.press("i")
        await until(pilot, lambda: "no database" in text_of(pilot.app))


async def test_escape_gives_up_a_server_that_does_not_answer(workbench, place):
    """The key stands beside the words, and nothing of it runs afterwards."""
    silent = {"command": [sys.executable, "-c", "import sys; sys.stdin.read()"]}
    suite_of(place, one=silent)
    async with workbench() as pilot:
        screen = await at_servers(pilot, "one")
        await pilot.press("r")
        await until(pilot, lambda: any(one.role == "hand" for one in pilot.app.processes), what="the process")
        assert "esc cancels" in text_of(pilot.app)
        await pilot.press("escape")
        await until(pilot, lambda: screen.server.state == "off", what="the end of the wait")
        await until(pilot, lambda: all(one.role != "hand" for one in pilot.app.processes), what="its end")


async def test_while_the_screen_is_being_made_none_of_its_keys_applies(workbench, demo):
    """The footer asks as soon as a key comes."""
    async with workbench():
        assert make_screen("servers").check_action("ping", ()) is None
