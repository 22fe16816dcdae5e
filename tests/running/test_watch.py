"""Waiting for a save: what counts is what a file comes to, however its writing is cut into pieces."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.running import watch
from mcptest_engine.running.watch import Watcher

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_file_that_is_emptied_and_then_written_is_one_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long whoever writes it is held up between the two."""
    monkeypatch.setattr(watch, "SETTLE_SECONDS", 0.001)
    monkeypatch.setattr(watch, "SETTLE_TIMES", 60_000)
    path = tmp_path / "mcptest.yml"
    path.write_text("old", encoding="utf-8")
    watcher, stop = Watcher({path}), asyncio.Event()

    async def saved() -> frozenset[Path]:
        path.write_text("", encoding="utf-8")
        change = asyncio.ensure_future(watcher.changed(stop))
        while watcher._seen[path] not in watch.HALF_SAVED:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0)
        assert not change.done()
        path.write_text("new", encoding="utf-8")
        return await change

    assert asyncio.run(saved()) == {path}
    assert watcher._look(sure=True) == set()


def test_pipes_and_devices_are_watched_without_being_read(tmp_path: Path) -> None:
    """A cloned folder may hold a `.env` that is a link to a device: its content has no end, and that of a pipe never comes."""
    (tmp_path / ".env").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    watcher = Watcher({tmp_path / ".env", tmp_path / "pipe"})
    (tmp_path / ".env").unlink()
    (tmp_path / ".env").write_text("A=1", encoding="utf-8")
    assert watcher._look(sure=True) == {tmp_path / ".env"}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread asks")
def test_a_save_wakes_whoever_waits_and_nothing_asks_for_it(tmp_path: Path) -> None:
    """Written, replaced or removed: a process that may idle all day neither looks nor has a thread that does."""
    path = tmp_path / "mcptest.yml"
    path.write_text("old", encoding="utf-8")
    watcher, threads = Watcher({path}, step_ms=1, look_ms=3_600_000), threading.active_count()

    async def saved(save: Callable[[], object]) -> frozenset[Path]:
        change = asyncio.ensure_future(watcher.changed(asyncio.Event()))
        await asyncio.sleep(0)
        save()
        assert threading.active_count() == threads
        return await change

    (tmp_path / "written").write_text("other", encoding="utf-8")
    for save in (lambda: path.write_text("new"), lambda: (tmp_path / "written").replace(path), path.unlink):
        assert asyncio.run(saved(save)) == {path}


def test_a_file_that_stays_away_is_a_change_after_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "SETTLE_SECONDS", 0.001)
    path = tmp_path / "mcptest.yml"
    path.write_text("old", encoding="utf-8")
    watcher = Watcher({path})
    path.unlink()
    assert asyncio.run(watcher.changed(asyncio.Event())) == {path}


def test_whoever_stops_waiting_does_not_wait_for_a_half_saved_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "SETTLE_SECONDS", 3600)
    path = tmp_path / "mcptest.yml"
    path.write_text("old", encoding="utf-8")
    watcher, stop = Watcher({path}), asyncio.Event()
    path.unlink()
    stop.set()
    assert asyncio.run(watcher.changed(stop)) == {path}
