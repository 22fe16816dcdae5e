"""The protocol log: every message of runs and of calls by hand, read, filtered, and made again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading

import pytest

from mcptest_tui.screens.base import in_background
from mcptest_tui.screens.save_test import SaveTest
from tests.conftest import SERVERS
from tests.tui.pictures import assert_picture, text_of
from tests.tui.servers.driving import at_list, at_servers, connected, connected_anew, form_of, odd, sent, suite_of
from tests.tui.tests_screen.conftest import ran
from tests.tui.waiting import until, until_mode

pytestmark = pytest.mark.anyio
SIZES = [(80, 24), (120, 40)]


async def at_traffic(pilot, count=1):
    """Mode 5, with so many messages at least."""
    app = pilot.app
    await pilot.press("f5")
    await until(pilot, lambda: app.current_mode == "traffic" and len(app.screen.traffic.rows) >= count)
    return app.screen


async def emptied(pilot):
    """The log of every message, without those that were made until now."""
    screen = await at_traffic(pilot, 0)
    screen.listing.put_filter("")
    screen.listing.action_clear()
    screen.rows._follows = True
    return screen


async def after_a_call(pilot, tool="status", *keys):
    """One call by hand was made, and the log is looked at."""
    screen = await connected_anew(pilot, "demo")
    await form_of(pilot, screen, tool)
    await pilot.press(*keys)
    await sent(pilot, screen)
    traffic = await at_traffic(pilot)
    await until(pilot, lambda: any(row.method == "tools/call" and row.answer for row in traffic.traffic.shown))
    return traffic


async def an_empty_log_says_how_to_fill_it(pilot):
    """Two ways; and wherever the cursor stands in these lines, there is no error to go to."""
    await pilot.press("f5")
    await until(pilot, lambda: "No message yet." in text_of(pilot.app))
    for size in SIZES:
        await pilot.resize_terminal(*size)
        assert_picture(pilot.app, "traffic-empty", folder="servers")
    for key in ("enter", "r", "y", "s", "percent_sign"):
        pilot.app.messages.show("")
        await pilot.press(key)
        await until(pilot, lambda: "no message is shown" in text_of(pilot.app), what=key)
    await pilot.press("j", "j", "N")
    await until(pilot, lambda: "no error before this" in text_of(pilot.app))
    await pilot.press("n")
    await until(pilot, lambda: "no error further on" in text_of(pilot.app))


async def the_messages_of_a_call(pilot):
    """What was said before the log was opened is there too; Enter shows a message, o its other side."""
    screen = await after_a_call(pilot, "echo", *"hi")
    methods = [row.method for row in screen.traffic.shown]
    assert methods[:2] == ["initialize", "notifications/initialized"]
    await until(pilot, lambda: "open  r again  y copy" in text_of(pilot.app), what="the keys of a message")
    for size in SIZES:
        await pilot.resize_terminal(*size)
        await pilot.press("G")
        assert screen.rows.row().method == "tools/call"
        await pilot.press("enter")
        await until(pilot, lambda: screen.message.tree.nodes and "result" in screen.message.tree.nodes.value)
        await until(pilot, lambda: "shows the request" in text_of(pilot.app))
        assert '"hi"' in text_of(pilot.app)
        await pilot.press("escape", "percent_sign", "enter")
        await until(pilot, lambda: screen.message.tree.nodes and "params" in screen.message.tree.nodes.value)
        await pilot.press("escape", "percent_sign")
    await pilot.press("escape")
    assert pilot.app.current_mode == "traffic"


async def the_messages_of_a_run(pilot):
    """While it runs; the cursor follows the newest until it is moved."""
    screen = await emptied(pilot)
    pilot.app.runs.start(None)
    await until(pilot, lambda: any(row.method == "tools/call" for row in screen.traffic.rows))
    await until(pilot, lambda: not pilot.app.store.progress.busy)
    await until(pilot, lambda: len(screen.traffic.shown) > 15)
    await until(pilot, lambda: screen.rows.cursor == len(screen.traffic.shown) - 1)
    await pilot.press("g")
    first = screen.rows.row()
    before = len(screen.traffic.shown)
    pilot.app.runs.start(None)
    await until(pilot, lambda: len(screen.traffic.shown) > before)
    assert screen.rows.row() is first


async def filters(pilot):
    """By method, by error, by a word that is not known."""
    screen = await emptied(pilot)
    pilot.app.runs.start(None)
    await until(pilot, lambda: not pilot.app.store.progress.busy and len(screen.traffic.shown) > 15)
    await pilot.press("slash", *"method:tools/call", "enter")
    assert {row.method for row in screen.traffic.shown} == {"tools/call"}
    assert screen.rows.has_focus
    await pilot.press("exclamation_mark")
    assert screen.traffic.shown
    assert all(row.failed for row in screen.traffic.shown)
    await pilot.press("exclamation_mark", "escape")
    assert len(screen.traffic.shown) > 15
    await pilot.press("slash", *"is:eror")
    await until(pilot, lambda: "did you mean `error`?" in text_of(pilot.app))
    await pilot.press("escape")
    assert screen.traffic.filter.text == ""


async def pausing_keeps_recording(pilot):
    """p, and p again."""
    screen = await after_a_call(pilot)
    count = len(screen.traffic.shown)
    await pilot.press("F")
    pilot.app.runs.start(None)
    await until(pilot, lambda: screen.traffic.missed > 10)
    assert len(screen.traffic.shown) == count
    await until(pilot, lambda: "paused" in text_of(pilot.app))
    await pilot.press("F")
    assert len(screen.traffic.shown) > count


async def every_message_by_itself(pilot):
    """f unfolds; o goes from request to response."""
    screen = await after_a_call(pilot)
    await pilot.press("H", "g")
    assert screen.rows.row().kind == "request"
    await pilot.press("percent_sign")
    assert screen.rows.row().kind == "response"
    await pilot.press("percent_sign")
    assert screen.rows.row().kind == "request"
    await pilot.press("H")


async def one_key_makes_a_call_again(pilot):
    """With the same arguments, in the form; it took a second key, and a third for a server that was not connected."""
    await after_a_call(pilot, "get_weather", *"Oslo")
    await pilot.press("r")
    await until(pilot, lambda: pilot.app.current_mode == "servers" and pilot.app.screen.calls.is_shown)
    screen = pilot.app.screen
    await until(pilot, lambda: screen.calls.call.form.named("city").raw == "Oslo")
    await until(pilot, lambda: screen.calls.call.answer is not None and screen.calls.call.started is None)
    assert screen.calls.call.params == {"name": "get_weather", "arguments": {"city": "Oslo"}}
    await pilot.press("escape")
    await pilot.press("escape", "escape")
    await until(pilot, lambda: pilot.app.current_mode == "traffic")


async def one_key_makes_a_call_of_a_run_again_whose_server_is_connected_for_it(pilot):
    servers = await at_list(pilot, "demo")
    await pilot.press("x")
    await until(pilot, lambda: servers.browser.server.state == "off")
    await pilot.press("f1")
    await until_mode(pilot, "tests")
    await ran(pilot)
    screen = await at_traffic(pilot)
    await until(pilot, lambda: any(one.about == "status" for one in screen.traffic.shown))
    screen.rows.go_to(next(one for one in screen.traffic.shown if one.about == "status"))
    await pilot.press("r")
    await until(pilot, lambda: pilot.app.current_mode == "servers" and pilot.app.screen.calls.call is not None)
    await until(pilot, lambda: pilot.app.screen.calls.call.answer is not None)
    assert "status" in pilot.app.screen.calls.call.params["name"]


async def a_call_that_destroys_is_asked_about_before_it_is_made_again(pilot):
    screen = await connected_anew(pilot, "demo")
    call = {"method": "tools/call", "params": {"name": "delete_record", "arguments": {"id": 7}}, "send": True}
    screen.arrive(server="demo", call=call)
    await until(pilot, lambda: "Call delete_record?" in text_of(pilot.app))
    await pilot.press("n")
    assert screen.calls.call.started is None
    assert screen.calls.call.called is None


async def test_a_call_is_made_again_only_as_long_as_its_connecting_goes_on(workbench, place):
    """A connecting that was cancelled began anew with the next save, and the call was made whenever it was connected."""
    demo = {"command": ["mcptest", "mock", "--preset", "demo"]}
    suite_of(place, demo={"command": [sys.executable, "-c", "import time; time.sleep(600)"]})
    async with workbench() as pilot:
        screen = await at_servers(pilot, "demo")
        call = {"method": "tools/call", "params": {"name": "status", "arguments": {}}, "send": True}
        screen.connections.action_connect()
        screen.connections.action_disconnect()  # before the engine has heard of it
        await until(pilot, lambda: screen.browser.server.state == "off", what="the connecting that was not begun")
        screen.arrive(server="demo", call=call)
        assert screen.browser.server.state == "starting"
        await pilot.press("escape")
        await until(pilot, lambda: screen.browser.server.state == "off", what="the cancelled connecting")
        path = suite_of(place, demo=demo)
        await pilot.app.run_worker(pilot.app.suites.read([str(path)])).wait()
        assert "mock" in screen.browser.server.shown
        assert screen.browser.server.state == "off"
        await pilot.press("r")
        await until(pilot, lambda: screen.calls.call is not None and screen.calls.is_shown, what="the form")
        await until(pilot, lambda: screen.calls.pane.form.has_focus_within)
        assert not screen.calls.call.params, "it was not sent"


async def test_a_search_in_an_answer_and_its_message_finds_what_was_not_loaded_yet(workbench, place):
    """Of 20,000 items the last was not found, because only the first 200 were here; the log keeps less, and says so."""
    result = {"content": [], "structuredContent": {"list": list(range(20_000)), "last": True}}
    script = {"tools": [{"name": "list", "inputSchema": {"type": "object"}}], "answers": {"list": [{"result": result}]}}
    (place / "script.json").write_text(json.dumps(script))
    suite_of(place, demo={"command": [sys.executable, "-S", str(SERVERS / "scripted.py"), str(place / "script.json")]})
    async with workbench() as pilot:
        screen = await connected(pilot, "demo")
        await form_of(pilot, screen, "list")
        await sent(pilot, screen)
        tree = screen.calls.pane.result
        tree.focus()
        servers_found = asyncio.Event()
        in_background(screen, servers_found.wait, "servers.find")
        await pilot.press("slash", *"19999", "enter")
        await until(pilot, lambda: tree.target == "result.structuredContent.list[19999]", what="the last item")
        assert tree.value() == 19_999
        assert '"19999" 1 of 1' in tree.searching
        assert any(one.group == "servers.find" and one.is_running for one in screen.workers), "both searches go on"
        servers_found.set()
        traffic = await at_traffic(pilot)
        await until(pilot, lambda: any(one.about == "list" and one.answer for one in traffic.traffic.shown))
        traffic.rows.go_to(next(one for one in traffic.traffic.shown if one.about == "list"))
        await pilot.press("enter")
        await until(pilot, lambda: "only the first part of it" in text_of(pilot.app))
        tree = traffic.message.tree
        await pilot.press("slash", *"9876", "enter")
        await until(pilot, lambda: tree.target.endswith("list[9876]"), what="an item that is kept")


async def a_call_of_a_tool_that_is_not_listed_is_made_again(pilot):
    """Its arguments go into a field of their own, and the server says what it thinks of it."""
    screen = await connected_anew(pilot, "demo")
    screen.arrive(server="demo", call={"method": "tools/call", "params": {"name": "gone", "arguments": {"a": [1]}}})
    await until(pilot, lambda: screen.calls.is_shown and screen.calls.pane.form.has_focus_within)
    call = await sent(pilot, screen)
    assert call.params == {"name": "gone", "arguments": {"a": [1]}}
    assert call.answer["error"]["code"] == -32602


async def a_resource_of_a_template_is_read_again(pilot):
    """Its URI stands in no list."""
    screen = await connected_anew(pilot, "demo")
    screen.arrive(server="demo", call={"method": "resources/read", "params": {"uri": "demo://records/1"}})
    await until(pilot, lambda: screen.calls.is_shown and screen.calls.pane.form.has_focus_within)
    call = await sent(pilot, screen)
    assert call.params == {"uri": "demo://records/1"}


async def test_a_call_is_saved_from_the_log(workbench, demo):
    """Also one of a run."""
    async with workbench() as pilot:
        screen = await after_a_call(pilot, "get_weather", *"Oslo")
        await pilot.press("s")
        await until(pilot, lambda: isinstance(pilot.app.screen, SaveTest) and pilot.app.screen.written)
        targets = [one.target for one in pilot.app.screen.saving.proposals]
        assert "result.structuredContent.city" in targets
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "get_weather with city Oslo" in demo.read_text())
        assert pilot.app.screen is screen
        rows = pilot.app.store.rows
        await until(
            pilot, lambda: any(row.name.endswith("city Oslo") and row.verdict == "pass" for row in rows.values())
        )
        await until(pilot, lambda: not pilot.app.store.progress.busy)


async def what_is_no_call_cannot_be_made_again(pilot):
    """Said in the status bar."""
    await at_traffic(pilot)
    await pilot.press("g", "r")
    await until(pilot, lambda: "only a tools/call" in text_of(pilot.app))


async def stderr_and_last_words_are_in_the_log(pilot):
    """Beside the messages."""
    screen = await connected_anew(pilot, "dies")
    await form_of(pilot, screen, "echo")
    await sent(pilot, screen)
    traffic = await at_traffic(pilot)
    await until(pilot, lambda: any(row.kind == "stderr" and "last words" in row.text for row in traffic.traffic.rows))
    await pilot.press("slash", *"is:stderr", "enter")
    await until(pilot, lambda: "out of luck" in text_of(pilot.app))
    assert "tools/call" not in "\n".join(text_of(pilot.app).splitlines()[2:10])


async def test_a_call_whose_server_has_ended_waits_no_longer(workbench, place):
    """It said so for minutes."""
    shed = {"command": [sys.executable, str(SERVERS / "toolshed.py")]}
    test = {"name": "hangs", "tool": "hang", "timeout_ms": 600_000}
    (place / "mcptest.yml").write_text(json.dumps({"servers": {"shed": shed}, "tools": [test]}), encoding="utf-8")
    async with workbench(size=(80, 24)) as pilot:
        pilot.app.runs.start(None)
        screen = await at_traffic(pilot)
        await until(pilot, lambda: " waits " in text_of(pilot.app), what="the call")
        (row,) = (one for one in screen.traffic.rows if one.waits)
        os.kill(row.pid, signal.SIGKILL)
        await until(pilot, lambda: "no answer hang" in text_of(pilot.app), what="the end of the call")
        assert " waits " not in text_of(pilot.app)
        assert row.took > 0
        await pilot.press("enter")
        assert not pilot.app.problems.count


async def hostile_messages_are_shown_and_not_obeyed(pilot):
    """In rows and in bodies."""
    screen = await connected_anew(pilot, "evil")
    await form_of(pilot, screen, "ansi")
    await sent(pilot, screen)
    traffic = await at_traffic(pilot)
    await until(pilot, lambda: any(row.method == "tools/call" and row.answer for row in traffic.traffic.shown))
    await pilot.press("enter")
    await until(pilot, lambda: traffic.message.tree.nodes)
    for key in ("t", "escape"):
        said = text_of(pilot.app)
        assert not any(char in said for char in "\x1b\x07\x9b\u202e")
        await pilot.press(key)


async def test_after_the_engines_end_old_messages_keep_their_beginning(workbench, demo):
    """And new ones come."""
    async with workbench() as pilot:
        screen = await after_a_call(pilot)
        count = len(screen.traffic.rows)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pilot.app.engine.pid, signal.SIGKILL)
        await until(pilot, lambda: screen.traffic.rows[0].gone)
        pilot.app.clear_notifications()  # what is told of it lies over the message
        await pilot.press("enter")
        await until(pilot, lambda: "this is its beginning" in text_of(pilot.app))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.engine.pid is not None)
        pilot.app.runs.start(None)
        await until(pilot, lambda: len(screen.traffic.rows) > count + 5)


async def test_the_log_of_the_demo(workbench, demo):
    async with workbench() as pilot:
        for check in (
            an_empty_log_says_how_to_fill_it,
            the_messages_of_a_call,
            what_is_no_call_cannot_be_made_again,
            every_message_by_itself,
            one_key_makes_a_call_again,
            a_call_that_destroys_is_asked_about_before_it_is_made_again,
            a_call_of_a_tool_that_is_not_listed_is_made_again,
            a_resource_of_a_template_is_read_again,
            the_messages_of_a_run,
            filters,
            pausing_keeps_recording,
            one_key_makes_a_call_of_a_run_again_whose_server_is_connected_for_it,
        ):
            await check(pilot)
            if check is not the_messages_of_a_call:
                await emptied(pilot)


async def test_the_log_of_other_servers(workbench, place, url):
    where = url if url.endswith("/mcp") else f"{url}/mcp"
    suite_of(
        place,
        dies=odd("dies"),
        evil={"command": ["mcptest", "mock", "--preset", "evil"]},
        web={"url": where},
        nobody={"url": "http://127.0.0.1:9/mcp", "connect_timeout_ms": 2000},
    )
    async with workbench() as pilot:
        for check in (
            stderr_and_last_words_are_in_the_log,
            hostile_messages_are_shown_and_not_obeyed,
            a_server_over_http,
            a_url_that_nobody_answers,
        ):
            await check(pilot)
            await emptied(pilot)


@pytest.fixture
def url():
    """The demo server over HTTP on loopback, for as long as a test takes."""
    import subprocess
    import sys

    process = subprocess.Popen(
        [sys.executable, "-m", "mcptest_engine.mock", "--preset", "demo", "--http", "127.0.0.1:0"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    told = threading.Event()
    found = []

    def read(stream):
        for line in stream:
            if "http://" in line:
                found.append("http://" + line.split("http://")[1].split()[0].rstrip("/.,"))
                told.set()

    assert process.stderr is not None
    assert process.stdout is not None
    for stream in (process.stderr, process.stdout):
        threading.Thread(target=read, args=(stream,), daemon=True).start()
    assert told.wait(60)
    yield found[0]
    process.terminate()
    process.wait()
    process.stderr.close()
    process.stdout.close()


async def a_server_over_http(pilot):
    """Browsed and called; the status of HTTP stands beside the answer."""
    screen = await connected_anew(pilot, "web")
    await form_of(pilot, screen, "status")
    call = await sent(pilot, screen)
    assert call.answer is not None, call.refused
    await until(pilot, lambda: "HTTP 200" in text_of(pilot.app))
    traffic = await at_traffic(pilot)
    await until(pilot, lambda: any(row.method == "tools/call" and row.answer for row in traffic.traffic.rows))
    assert next(row for row in traffic.traffic.rows if row.method == "tools/call").answer.status == 200
    await until(pilot, lambda: traffic.rows.row().method == "tools/call")
    await pilot.press("i")
    await until(pilot, lambda: "content-type: application/json" in text_of(pilot.app))
    await pilot.press("escape")


async def a_url_that_nobody_answers(pilot):
    """In two words, with the hint."""
    screen = await at_list(pilot, "nobody")
    await pilot.press("r")
    await until(pilot, lambda: screen.browser.server.state == "failed")
    assert "connection refused" in text_of(pilot.app)
