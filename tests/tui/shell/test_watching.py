"""What a save does, in whatever editor: suites, themes, keys."""

from __future__ import annotations

import os
import shutil

import pytest

from mcptest_tui.keymap import keymap_file
from mcptest_tui.places import user_themes_dir
from mcptest_tui.screens.help_panel import rows_of
from tests.tui.pictures import text_of
from tests.tui.waiting import hold_threads, until

pytestmark = pytest.mark.anyio


def save(path, text):
    """As editors do: another file, renamed."""
    beside = path.with_suffix(".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


async def test_a_save_runs_the_test_that_was_changed_and_says_why(workbench, demo):
    """Affected is the first setting; a test that never ran counts."""
    async with workbench() as pilot:
        store = pilot.app.store
        first = store.rows[store.order[0]]
        text = demo.read_text(encoding="utf-8")
        save(demo, text.replace(f"name: {first.name}\n", f"name: {first.name} again\n", 1))
        await until(
            pilot, lambda: any(row.name.endswith(" again") and row.status == "pass" for row in store.rows.values())
        )
        await until(pilot, lambda: "saved mcptest.yml → 1 test" in text_of(pilot.app))
        assert sum(row.status != "new" for row in store.rows.values()) == 1


async def test_a_save_runs_nothing_when_watching_is_off(workbench, demo):
    """But the tests are read again."""
    async with workbench() as pilot:
        pilot.app.watch_mode = "off"
        store = pilot.app.store
        name = store.rows[store.order[0]].name
        save(demo, demo.read_text(encoding="utf-8").replace(name, f"{name} again", 1))
        await until(pilot, lambda: any(row.name.endswith(" again") for row in store.rows.values()))
        assert not pilot.app.store.progress.busy
        assert all(row.status == "new" for row in store.rows.values())


async def test_a_save_runs_all_when_told_to(workbench, demo):
    """Every test of the suite that was saved, but for those that act or spend."""
    async with workbench() as pilot:
        pilot.app.watch_mode = "all"
        save(demo, demo.read_text(encoding="utf-8") + "\n# changed\n")
        await until(
            pilot,
            lambda: all(
                row.waits or row.status not in ("new", "queued", "running") for row in pilot.app.store.rows.values()
            ),
        )
        assert sum(not row.waits for row in pilot.app.store.rows.values()) > 5


async def test_a_save_at_the_start_that_is_told_in_two_ways_runs_once(workbench, demo):
    """The watcher tells that it began, after the save, and of the save as well."""
    async with workbench() as pilot:
        app = pilot.app
        app.watch_mode = "all"
        started = []
        told = []
        app.runs.start_unasked = lambda _tests, said: started.append(said)
        text = demo.read_text(encoding="utf-8")
        for number in (1, 2):
            save(demo, f"{text}\n# {number}\n")
            if number == 1:
                app.bridge.take({"event": "files.watched", "paths": [str(demo)]})
                app.bridge.flush()
            await until(pilot, lambda: started, what="the run")
            told += started
            started.clear()
            if number == 1:
                await until(pilot, lambda: not app.suites._missed, what="the watcher's own word")
        assert len(told) == 2


async def test_a_suite_that_is_deleted_leaves_the_list(workbench, demo):
    """And it is said."""
    async with workbench() as pilot:
        demo.unlink()
        await until(pilot, lambda: not pilot.app.store.documents)
        await until(pilot, lambda: "mcptest.yml is gone" in text_of(pilot.app) and pilot.app.current_mode == "home")


async def test_the_folder_itself_may_be_deleted(workbench, demo, place):
    """The suite is gone, and the workbench stays; it can be quit."""
    async with workbench() as pilot:
        shutil.rmtree(place)
        await until(pilot, lambda: pilot.app.current_mode == "home" and str(place) in text_of(pilot.app))
        await pilot.press("3", "2", "1")


async def test_a_suite_elsewhere_is_worked_with_when_the_current_folder_is_deleted(workbench, demo, place, monkeypatch):
    folder = place / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    async with workbench(paths=[str(demo)]) as pilot:
        app = pilot.app
        await until(pilot, lambda: app.store.rows)
        folder.rmdir()
        await pilot.press("j", "j", "enter")
        await until(pilot, lambda: app.screen.has_class("-detail"), what="the detail")
        await pilot.press("escape", "e")
        await until(pilot, lambda: app.current_mode == "edit" and app.screen.current is not None, what="the editor")
        await pilot.press("f3", "f1")
        await until(pilot, lambda: app.current_mode == "tests")
        assert app.problems.last is None


async def test_a_suite_that_is_moved_away_and_put_back_keeps_its_results(workbench, demo, monkeypatch):
    """As editors save that keep a backup."""
    async with workbench() as pilot:
        store = pilot.app.store
        pilot.app.runs.start(None)
        await until(pilot, lambda: store.counts["pass"] > 5)
        read = pilot.app.suites._read_document
        away = iter([True])
        monkeypatch.setattr(pilot.app.suites, "_read_document", lambda path: None if next(away, False) else read(path))
        await pilot.app.run_worker(pilot.app.suites.read([str(demo)])).wait()
        assert next(away, None) is None
        assert store.counts["pass"] > 5


async def test_a_suite_that_was_deleted_is_read_again_when_it_comes_back(workbench, demo):
    """A branch is changed, and changed back."""
    text = demo.read_text(encoding="utf-8")
    async with workbench() as pilot:
        demo.unlink()
        await until(pilot, lambda: not pilot.app.store.documents)
        demo.write_text(text, encoding="utf-8")
        await until(pilot, lambda: pilot.app.store.documents and pilot.app.current_mode == "tests")


async def test_of_two_saves_the_later_one_is_shown_whatever_takes_longer_to_read(workbench, demo, monkeypatch):
    """The first is read while the second is made."""
    import threading

    async with workbench() as pilot:
        app, begun, held = pilot.app, threading.Event(), threading.Event()
        hold_threads(monkeypatch)
        app.watch_mode = "off"
        read = app.suites._read_document
        old = read(str(demo))

        def read_late(_):
            begun.set()
            held.wait(60)
            return old

        monkeypatch.setattr(app.suites, "_read_document", read_late)
        first = app.run_worker(app.suites.read([str(demo)]))
        await until(pilot, begun.is_set)
        monkeypatch.setattr(app.suites, "_read_document", read)
        demo.write_text(demo.read_text(encoding="utf-8").replace("name: ", "name: new ", 1), encoding="utf-8")
        second = app.run_worker(app.suites.read([str(demo)]))
        await pilot.pause()
        held.set()
        await first.wait()
        await second.wait()
        assert app.store.documents[str(demo)].digest != old.digest


async def test_a_log_that_a_server_writes_does_not_start_run_after_run(workbench, place, monkeypatch):
    """It is named by the server's command, so a change of it is one of the server's, and every run makes one."""
    import sys

    monkeypatch.setattr("mcptest_tui.runs.WRITTEN_WITHIN_SECONDS", 60.0)  # a busy machine is late with the news

    server = place / "server.py"
    mock = f"[{sys.executable!r}, '-m', 'mcptest_tui', 'mock', '--preset', 'demo']"
    server.write_text(
        f"import subprocess, sys\nopen(sys.argv[1], 'a').write('started\\n')\nsys.exit(subprocess.call({mock}))\n",
        encoding="utf-8",
    )
    (place / "server.log").write_text("", encoding="utf-8")
    (place / "mcptest.yml").write_text(
        f"servers: {{ s: {{ command: [{sys.executable}, server.py, server.log] }} }}\n"
        "tools:\n  - { name: a, tool: status }\n",
        encoding="utf-8",
    )
    async with workbench() as pilot:
        pilot.app.runs.start(None)
        await until(pilot, lambda: "server.log changes with every run" in text_of(pilot.app))
        await until(pilot, lambda: not pilot.app.store.progress.busy)


async def test_a_theme_is_painted_anew_at_every_save(workbench, demo):
    """A broken one is told with its place, and what was on stays on."""
    user_themes_dir().mkdir(parents=True)
    mine = user_themes_dir() / "mine.yml"
    mine.write_text('primary: "red"\n', encoding="utf-8")
    async with workbench() as pilot:
        app = pilot.app
        await until(pilot, lambda: "mine" in app.available_themes)
        app.theme = "mine"
        save(mine, 'primary: "blue"\n')
        await until(pilot, lambda: app.current_theme.primary == "blue")
        assert app.theme_variables["primary"].lower() != "red"
        save(mine, 'primary: "blu"\n')
        await until(pilot, lambda: "the theme is left out" in text_of(app))
        assert any(
            "mine.yml:1:10: " in told.message for told in app._notifications
        )  # which a toast breaks where it likes
        assert app.current_theme.primary == "blue"


async def test_keys_are_read_again_at_every_save(workbench, demo):
    """Without a restart."""
    keymap_file().parent.mkdir(parents=True)
    keymap_file().write_text("# none\n", encoding="utf-8")
    async with workbench() as pilot:
        save(keymap_file(), "app.mode.4: ctrl+b\n")
        await until(pilot, lambda: "ctrl+b" in {row.keys[0] for row in rows_of(pilot.app.screen).values()})
        await pilot.press("ctrl+b")
        await until(pilot, lambda: pilot.app.current_mode == "review")


async def test_the_engine_may_die_and_comes_back(workbench, demo):
    """Killed from outside: it is said, and the next run works."""
    import signal

    async with workbench() as pilot:
        app = pilot.app
        os.kill(app.engine.pid, signal.SIGKILL)
        await until(pilot, lambda: "the engine stopped (signal 9)" in text_of(app))
        await until(pilot, lambda: app.engine.pid is not None)
        app.runs.start(None)
        await until(pilot, lambda: app.store.counts["pass"] > 5)
