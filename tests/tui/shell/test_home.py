"""A folder without a suite: four ways to begin, and nothing written before it was shown."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from textual.widgets import Input

from mcptest_engine.core.environment import shipped
from mcptest_tui.actions import by_id
from mcptest_tui.screens.scaffold import ScaffoldScreen
from mcptest_tui.suites import Suites
from mcptest_tui.widgets.modals import Question, TextPrompt
from tests.tui.pictures import assert_picture, text_of
from tests.tui.shell.test_leaving import children_of
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio
FOLDER = (r"/\S+/work", "FOLDER")


async def at_home(pilot):
    """The first screen is there."""
    await until(pilot, lambda: pilot.app.current_mode == "home" and "No suite in this folder." in text_of(pilot.app))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_the_first_screen_of_an_empty_folder(workbench, place, size):
    """Four ways, each one line; and the folder stays empty."""
    async with workbench(size=size) as pilot:
        await at_home(pilot)
        await until(pilot, lambda: "none in the settings of coding agents" in text_of(pilot.app))
        text = text_of(pilot.app)
        assert all(f"{key:>2}  {way}" in text for key, way in zip(("D", "+", "3", "^o"), WAYS, strict=True))
        assert_picture(pilot.app, "home", folder="shell", masks=(FOLDER,))
    assert list(place.rglob("*")) == [place / ".mcptest"]


@pytest.mark.parametrize("name", ["mcptest.yml", "weather.yml"])
async def test_a_suite_that_is_written_elsewhere_meanwhile_is_opened(workbench, place, name):
    """At once under its usual name, else when the terminal is looked at again; the first screen said that there is none."""
    async with workbench(size=(80, 24)) as pilot:
        await at_home(pilot)
        pilot.app.app_focus = name == "mcptest.yml"
        (place / name).write_text("name: late\nservers: { s: { command: [x] } }\ntools: [{ name: t, tool: t }]\n")
        pilot.app.app_focus = True
        await until(pilot, lambda: pilot.app.current_mode == "tests" and name in text_of(pilot.app))


WAYS = ("Try the demo", "Make a suite from a server", "Servers found on this machine", "Open a file")


async def test_the_keys_of_the_first_screen_work_before_the_engine_has_looked_for_suites(workbench, place, monkeypatch):
    """What was pressed meanwhile was lost, and the words of a command were taken for keys."""
    begin, search = asyncio.Event(), Suites.search

    async def later(self):
        await begin.wait()
        await search(self)

    monkeypatch.setattr(Suites, "search", later)
    (place / "src").mkdir()
    (place / "src" / "server.py").touch()
    async with workbench(ready=False) as pilot:
        await at_home(pilot)
        await pilot.press("plus")
        await until(pilot, lambda: pilot.app.screen.query("Prompt"), what="the line for a command")
        await pilot.press(*"python")
        begin.set()
        await until(pilot, lambda: pilot.app.suites.searched)
        assert pilot.app.screen.query_one("Prompt").value == "python"
        (place / "src" / "x.yml").touch()
        assert not pilot.app.suites.has_none()


async def test_the_servers_of_agents_on_this_machine_are_counted(workbench, place):
    """Read from their settings; nothing is started."""
    servers = {"a": {"command": "x"}, "b": {"url": "http://localhost:1/mcp"}}
    (place / ".mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    async with workbench() as pilot:
        await at_home(pilot)
        await until(pilot, lambda: "2 from the settings of coding agents" in text_of(pilot.app))
        await pilot.press("3")
        await until(pilot, lambda: pilot.app.current_mode == "servers" and pilot.app.screen.browser.servers.searched)
        assert not pilot.app.processes


async def test_the_demo_is_written_here_once_asked_for_opened_and_run(workbench, place):
    """Its key, y, and the tests come in; the file that comes with mcptest is not the one that is opened."""
    async with workbench() as pilot:
        await at_home(pilot)
        await pilot.press("D")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("n")
        await at_home(pilot)
        assert not (place / "mcptest-demo.yml").exists()
        await pilot.press("D")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("y")
        await until(pilot, lambda: pilot.app.store.counts.get("pass", 0) > 5)
        await until(pilot, lambda: not pilot.app.store.progress.busy)
        assert pilot.app.current_mode == "tests"
        assert list(pilot.app.store.documents) == [str(place / "mcptest-demo.yml")]


async def test_a_suite_is_made_from_a_servers_command(workbench, place):
    """2: the tools are asked for, the text is shown, and only then written and opened."""
    command = f"{sys.executable} -m mcptest_engine.mock --preset demo"
    async with workbench() as pilot:
        await at_home(pilot)
        await pilot.press("plus")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
        pilot.app.screen.query_one(Input).value = command
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ScaffoldScreen) and pilot.app.screen.state.after)
        await until(pilot, lambda: not pilot.app.screen.is_updating and "delete_record" in text_of(pilot.app))
        assert not (place / "mcptest.yml").exists()
        await pilot.press("ctrl+s")
        await until(pilot, lambda: (place / "mcptest.yml").exists() and pilot.app.current_mode == "tests")
        await until(pilot, lambda: pilot.app.store.documents)
        document = next(iter(pilot.app.store.documents.values()))
        assert document.sound, document.diagnostics
        assert len(document.tests) > 3
        assert "a runs its tests" in text_of(pilot.app)
        await pilot.press("a")
        await until(pilot, lambda: pilot.app.store.counts.get("pass", 0) > 3 and not pilot.app.store.progress.busy)
        assert "a runs its tests" not in text_of(pilot.app)


async def test_a_server_that_does_not_answer_is_said(workbench, place):
    """With what helps; nothing is written."""
    async with workbench() as pilot:
        await at_home(pilot)
        await pilot.press("plus")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
        pilot.app.screen.query_one(Input).value = "/nowhere/server --x"
        await pilot.press("enter")
        await until(
            pilot, lambda: "/nowhere/server" in text_of(pilot.app) and "asking the server" not in text_of(pilot.app)
        )
        await at_home(pilot)
    assert not (place / "mcptest.yml").exists()


async def test_a_server_that_fails_to_start_shows_its_last_words_and_the_command_stays(workbench, place):
    """What it wrote on stderr; the next try begins with what was typed."""
    (place / "server.py").write_text("raise SystemExit('no database at port 5432')\n", encoding="utf-8")
    command = f"{sys.executable} server.py"
    async with workbench() as pilot:
        await at_home(pilot)
        await pilot.press("plus")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
        pilot.app.screen.query_one(Input).value = command
        await pilot.press("enter")
        await until(pilot, lambda: "no database at port 5432" in text_of(pilot.app))
        assert "+ tries again" in text_of(pilot.app)
        await until(pilot, lambda: "esc cancel" not in text_of(pilot.app), what="nothing to cancel")
        await pilot.press("plus")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
        assert pilot.app.screen.query_one(Input).value == command


async def test_escape_gives_up_a_server_that_does_not_answer(workbench, place):
    """And nothing of it is left."""
    (place / "server.py").write_text("import sys\nsys.stdin.read()\n", encoding="utf-8")
    async with workbench() as pilot:
        await at_home(pilot)
        await pilot.press("plus")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
        pilot.app.screen.query_one(Input).value = f"{sys.executable} server.py"
        await pilot.press("enter")
        await until(
            pilot, lambda: not isinstance(pilot.app.screen, TextPrompt) and "(esc cancels)" in text_of(pilot.app)
        )
        await pilot.press("escape")
        await until(pilot, lambda: "cancelled; nothing was written" in text_of(pilot.app))
        await until(pilot, lambda: not any("server.py" in told for told in commands_in(place)))
        await pilot.press("plus")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))


def commands_in(folder):
    """The command lines of the processes that work in `folder`."""
    found = []
    for pid in children_of(folder):
        with suppress(OSError):
            found.append(Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8"))
    return found


async def test_one_test_of_the_demo_is_wrong_and_mended_with_a_few_keys(workbench, place):
    """Its difference is shown, a proposal is accepted and written, and all is green."""
    async with workbench() as pilot:
        await at_home(pilot)
        await pilot.press("D")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("y")
        await until(pilot, lambda: pilot.app.store.counts["fail"] == 1 and not pilot.app.store.progress.busy)
        await until(pilot, lambda: pilot.app.reviews.badge)
        await pilot.press("n", *by_id()["review.open"][1].keys[:1])
        await until(pilot, lambda: pilot.app.current_mode == "review" and "+ temperature: 19" in text_of(pilot.app))
        await pilot.press("a")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("y")
        await until(pilot, lambda: pilot.app.store.counts["fail"] == 0 and pilot.app.store.counts["pass"] == 16)
        assert "temperature: 19" in (place / "mcptest-demo.yml").read_text(encoding="utf-8")


async def test_a_file_that_is_not_there_cannot_be_opened(workbench, place):
    """Said where it is typed."""
    async with workbench() as pilot:
        await at_home(pilot)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
        await pilot.press(*"nope.yml", "enter")
        await until(pilot, lambda: "there is no such file" in text_of(pilot.app))
        for impossible in ("x" * 300, "~nobody-of-this-name/x.yml", "a\0b"):
            pilot.app.screen.query_one(Input).value = "again"
            await pilot.press("enter")
            pilot.app.screen.query_one(Input).value = impossible
            await pilot.press("enter")
            await until(pilot, lambda: "there is no such file" in text_of(pilot.app))
        pilot.app.screen.query_one(Input).value = str(shipped("examples") / "demo" / "mcptest.yml")
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.current_mode == "edit" and pilot.app.store.documents)


async def test_a_suite_that_appears_ends_the_first_screen(workbench, place):
    """Opened from elsewhere."""
    async with workbench() as pilot:
        await at_home(pilot)
        path = place / "mcptest.yml"
        path.write_text("servers:\n  a: { command: [x] }\ntools: []\n", encoding="utf-8")
        await pilot.app.open_document(str(path))
        await until(pilot, lambda: pilot.app.current_mode == "tests")
