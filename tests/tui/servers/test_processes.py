"""Live processes: nothing that we started runs unseen, and each is ended or started again with a key or two."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import pytest

from mcptest_tui.screens.processes import ProcessList
from mcptest_tui.state.processes import OURS, Process
from tests.tui.pictures import assert_picture, rows_of, text_of
from tests.tui.servers.driving import at_servers, connected
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio
TOOLSHED = Path(__file__).resolve().parents[2] / "servers" / "toolshed.py"


def write_suite(place, *tools):
    """A suite that calls these tools one after the other, with all the time there is."""
    tests = [{"name": name, "tool": name, "serial": True, "timeout_ms": 600_000} for name in tools]
    path = place / "mcptest.yml"
    path.write_text(json.dumps({"servers": {"shed": {"command": [sys.executable, str(TOOLSHED)]}}, "tools": tests}))
    return path


def look_no_more(window):
    """Nobody brings the true processes in the place of a test's, nor those that are on their way."""

    async def look_at_nothing():
        pass

    window._look = look_at_nothing  # in the place of what the window's timer starts
    window.workers.cancel_group(window, "processes")


def roles_of(pilot):
    return [one.role for one in pilot.app.processes]


async def test_a_server_that_hangs_is_ended_with_two_keys_and_the_run_goes_on(workbench, place):
    """The window opens on what waits longest, and the failure says what was done."""
    write_suite(place, "hang", "say")
    async with workbench() as pilot:
        await pilot.press("a")
        await until(pilot, lambda: "run" in roles_of(pilot), what="the server")
        await pilot.press("ampersand")
        await until(pilot, lambda: "waits for tools/call hang " in text_of(pilot.app), what="what it waits for")
        await pilot.press("x")
        await until(pilot, lambda: not pilot.app.store.progress.busy, what="the end of the run")
        counts = pilot.app.store.counts
        assert (counts["pass"], counts["fail"]) == (1, 1)
        await pilot.press("escape")
        await until(pilot, lambda: "was ended by hand" in text_of(pilot.app), what="the reason")


async def test_the_start_of_a_server_that_hangs_is_named_whole_on_a_small_terminal(workbench, place):
    """Also after minutes, and the title stays longer than that."""
    async with workbench(size=(80, 24)) as pilot:
        await pilot.press("ampersand")
        await until(pilot, lambda: pilot.app.screen.list.process, what="the list")
        window = pilot.app.screen
        look_no_more(window)
        for seconds, told in ((12, "initialize 12 s"), (12 * 60, "initialize 12 min")):
            since = time.time() - seconds - 0.4
            one = window.list.process._replace(
                role="run", number=1, name="shed", suite="mcptest.yml", since=since, waits=(("initialize", since),)
            )
            window.show((one,))
            row = next(line for line in text_of(pilot.app).splitlines() if "in a run" in line)
            assert "shed, in a run of mcptest.yml " in row
            assert told in row


async def test_what_a_process_waits_for_is_named_first_by_its_tool_and_whole_at_the_bottom(workbench, place):
    """On the smallest terminal that has pid and memory there are twelve cells for it."""
    name = "wait_for_the_warehouse_in_the_north_that_never_answers_and_never_did_and_never_will"
    async with workbench(size=(80, 24)) as pilot:
        await pilot.press("ampersand")
        waits = (("tools/call wait_for", time.time() - 5.5), (f"tools/call {name}", time.time() - 3.5))
        await until(pilot, lambda: pilot.app.screen.list.process, what="the list")
        window = pilot.app.screen
        look_no_more(window)
        one = window.list.process._replace(role="hand", number=1, waits=waits)

        def lines() -> list[str]:
            window.show((one, one._replace(number=2, waits=waits[1:])))
            return [line for line in text_of(pilot.app).splitlines() if "connected in Servers" in line]

        await until(pilot, lambda: len(lines()) == 2, what="both")
        first, second = lines()
        assert re.search(r" wait_for \d+ s \+1 ", first)
        assert re.search(r" wait_\S*… \d+ s", second)

        def bottom() -> str:
            return "".join(line.strip("│ ") for line in text_of(pilot.app).splitlines()[-6:])

        assert "waits for tools/call wait_for" in bottom()
        await until(pilot, lambda: name in bottom().replace(" ", ""), what="all of it, with room for it")


async def test_a_spare_server_is_counted_listed_and_ended(workbench, place):
    """It was called "not started" while it ran."""
    write_suite(place, "say")
    async with workbench() as pilot:
        await pilot.press("a")
        await until(pilot, lambda: "spare" in roles_of(pilot), what="the spare server")
        await until(pilot, lambda: "1 live process" in text_of(pilot.app), what="the count")
        await at_servers(pilot, "shed")
        assert "spare server runs" in text_of(pilot.app)
        assert "not started" not in text_of(pilot.app)
        await pilot.press("ampersand")
        await until(pilot, lambda: "shed, spare server of mcptest.yml" in text_of(pilot.app), what="the window")
        await until(pilot, lambda: pilot.app.screen.list.process.memory, what="its memory")
        for title in ("guardian", "engine of the workbench", "the workbench itself"):
            assert title in text_of(pilot.app)
        await pilot.press("x")
        window = pilot.app.screen
        await until(pilot, lambda: "spare" not in roles_of(pilot), what="its end")
        assert window.list.cursor == 0
        await pilot.press("x")
        await until(
            pilot, lambda: "it ended, or ends with the workbench" in text_of(pilot.app), what="why x ends no row"
        )
        assert "x end" not in text_of(pilot.app)
        await pilot.press("escape")
        assert "not started" in text_of(pilot.app)
        assert "live process" not in text_of(pilot.app)


async def test_the_cursor_stays_at_the_place_of_a_server_that_was_ended(workbench, place):
    """The next server, else the one before; never ourselves while there is a server, which `x` would not end."""
    async with workbench(size=(80, 24)) as pilot:
        await pilot.press("ampersand")
        await until(pilot, lambda: pilot.app.screen.list.process, what="the list")
        window, asked = pilot.app.screen, []
        await until(pilot, lambda: window.list.is_measured, what="the engine's list")
        look_no_more(window)
        ours = tuple(one for one in window.list.processes if one.role in OURS)
        first, second, third = (ours[0]._replace(role="run", name=f"s{n}", number=1000 + n) for n in (1, 2, 3))
        window.show((first, second, third, *ours))
        window.list.move_to(1)
        window._request = lambda do, one: asked.append((do, one.name))
        await pilot.press("x")
        assert " ended" in next(row for row in text_of(pilot.app).splitlines() if "s2, in a run" in row)
        await pilot.press("x")
        assert asked == [("end_process", "s2")]
        window.show((second, third, *ours))
        assert window.list.process == second
        window.show((third, *ours))
        assert window.list.process == third
        window.show((first, *ours))
        assert window.list.process == first
        newer = first._replace(role="spare", number=2000)
        window.show((newer, first, *ours))
        assert window.list.process == first
        window.show((newer, *ours))
        assert window.list.process == ours[0]
        window.show(ours)
        assert window.list.cursor == 0
        window.show((third, *ours))
        window.list.move_to(0)
        await pilot.press("x")
        window.show(ours)
        assert window.list.process == third  # not what of ours is next, which `r` would start again
        assert not window.check_action("restart", ())
        window.show((first, *ours))
        assert window.list.processes == (first, *ours)
        jq = first._replace(role="jq", number=3000)
        window.show((first, second, jq, *ours))
        window.list.move_to(1)
        await pilot.press("x")
        window.show((first, jq, *ours))
        assert window.list.process == first


async def test_a_spare_server_is_ended_from_its_row(workbench, place, monkeypatch):
    """What is not connected but runs is ended by the key that ends a session, which is shown, and said when it is done."""
    write_suite(place, "say")
    async with workbench() as pilot:
        await pilot.press("a")
        await until(pilot, lambda: "spare" in roles_of(pilot), what="the spare server")
        screen = await at_servers(pilot, "shed")
        await until(pilot, lambda: "x end" in rows_of(pilot.app)[-1] and "x  ends it" in text_of(pilot.app))
        told: list[str] = []
        show = pilot.app.messages.show

        def note(message, *more):
            told.append(message)
            show(message, *more)

        monkeypatch.setattr(pilot.app.messages, "show", note)
        await pilot.press("x")
        await until(pilot, lambda: "spare" not in roles_of(pilot) and "shed has ended" in told, what="its end")
        await pilot.press("r")
        await until(pilot, lambda: screen.browser.server.connected)
        await pilot.press("escape", "x")
        await until(pilot, lambda: told.count("shed has ended") == 2)
        assert [text for text in told if "shed" in text] == ["ending shed …", "shed has ended"] * 2
        await pilot.press("colon")
        await until(pilot, lambda: pilot.app.screen is not screen)
        pilot.app.messages.show("a message")
        await until(pilot, lambda: "a message" in text_of(pilot.app))
        assert rows_of(pilot.app)[-1].strip() == ""  # those keys do nothing under the dialog


async def test_without_spare_servers_nothing_runs_after_a_run(workbench, place, tmp_path):
    """`spare_servers: false` in config.yml."""
    config = tmp_path / "xdg_config_home" / "mcptest" / "config.yml"
    config.parent.mkdir(parents=True)
    config.write_text("spare_servers: false\n")
    write_suite(place, "say")
    async with workbench() as pilot:
        await pilot.press("a")
        await until(pilot, lambda: pilot.app.store.counts["pass"] == 1 and not pilot.app.store.progress.busy)
        assert await pilot.app.engine.request("processes")
        assert set(roles_of(pilot)) <= {"guardian", "engine", "workbench"}


async def test_a_connected_server_is_restarted_and_ended_in_the_window(workbench, demo):
    """It is the session that ends: Servers knows it."""
    async with workbench() as pilot:
        screen = await connected(pilot, "demo")
        (before,) = (one for one in pilot.app.processes if one.role == "hand")
        await pilot.press("ampersand")
        await until(pilot, lambda: "demo, connected in Servers" in text_of(pilot.app))
        await pilot.press("r")
        await until(
            pilot, lambda: [one.number > before.number for one in pilot.app.processes if one.role == "hand"] == [True]
        )
        await until(
            pilot, lambda: pilot.app.screen.list.process.number > before.number, what="the cursor on the new one"
        )
        await pilot.press("x")
        await until(pilot, lambda: screen.browser.servers.named("demo").state == "off", what="the end of the session")
        await until(pilot, lambda: "hand" not in roles_of(pilot), what="the end of the process")


async def test_the_engine_is_started_again(workbench, demo):
    """What was known stays."""
    async with workbench() as pilot:
        await until(pilot, lambda: pilot.app.engine.pid)
        before = pilot.app.engine.pid
        await pilot.press("ampersand")
        await until(pilot, lambda: "engine of the workbench" in text_of(pilot.app))
        window = pilot.app.screen
        window.list.move_to([one.role for one in window.list.processes].index("engine"))
        await until(pilot, lambda: "r start again" in text_of(pilot.app), what="the keys that work here")
        assert "x end" not in text_of(pilot.app)
        await pilot.press("r")
        await until(pilot, lambda: pilot.app.engine.pid not in (None, before), what="another engine")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_the_window_of_live_processes(workbench, place, size):
    """As it looks."""
    write_suite(place, "say")
    async with workbench(size=size) as pilot:
        await pilot.press("a")
        await until(pilot, lambda: "spare" in roles_of(pilot) and not pilot.app.store.progress.busy)
        await pilot.press("ampersand")
        await until(pilot, lambda: pilot.app.screen.list.process.memory and "idle" in text_of(pilot.app))
        masks = (
            (r"Live processes +\d+ +[\d.]+ MB ─+", "Live processes ─"),
            (r" *\b\d{2,7} +[\d.]+ [KM]B", " PID SIZE"),
            (r"/\S+/python\S* \S+ *", "COMMAND "),
        )
        assert_picture(pilot.app, "processes", folder="servers", masks=masks)


def test_the_uptime_of_a_process_that_has_ended_stands_still():
    """It counted on for as long as its row was shown."""
    began = time.time() - 100
    shed = Process(1, "run", 7, "shed", "python shed.py", "mcptest.yml", "", began, ())
    listed = ProcessList()
    listed.processes = (shed,)
    assert "  1 min  idle" in "".join(text for text, _ in listed.pieces(0, 100))
    listed.ended[shed.key] = began + 5
    assert "  5 s  ended" in "".join(text for text, _ in listed.pieces(0, 100))
