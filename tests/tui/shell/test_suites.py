"""Suites that are named when the workbench starts."""

from __future__ import annotations

import pytest

from tests.tui.pictures import text_of
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio
TOO_LONG = "x" * 300
"""A name that the system refuses to look at, as it does with folders that are somebody else's."""


async def test_a_path_that_cannot_be_looked_at_is_told_and_the_others_are_opened(workbench, demo):
    async with workbench(paths=[TOO_LONG, str(demo)]) as pilot:
        await until(pilot, lambda: "cannot read" in text_of(pilot.app))
        assert list(pilot.app.store.documents) == [str(demo)]


async def test_a_suite_that_cannot_be_looked_at_says_why(workbench, place):
    path = str(place / TOO_LONG)
    async with workbench() as pilot:
        (document,) = await pilot.app.suites.read([path])
        assert not document.sound
        assert "name too long" in document.diagnostics[0].message.lower()
        locked = place / "locked"
        locked.mkdir()
        assert pilot.app.suites.without_unread([path, str(locked)]) == [path]
        await until(pilot, lambda: "cannot read the folder" in text_of(pilot.app))


async def test_a_run_that_is_asked_for_before_a_remembered_suite_is_read_is_of_the_text_that_stands_there(
    workbench, demo, place
):
    """Its rows were marked as run with an older text, because of the digests of the last session."""
    folder = place / "deep"
    folder.mkdir()
    demo.rename(folder / "demo.yml")
    async with workbench() as pilot:
        pilot.app.suites.cache.save(
            [
                document._replace(tests=tuple(one._replace(digest="older") for one in document.tests))
                for document in pilot.app.store.documents.values()
            ]
        )
        pilot.app.store.documents.clear()  # a session without a suite is not saved
    async with workbench(ready=False) as pilot:
        store = pilot.app.store
        assert store.rows, "what is remembered"
        pilot.app.runs.start(None)
        await until(pilot, lambda: store.rows and not pilot.app.store.progress.busy and store.counts["pass"])
        assert not [row.name for row in store.rows.values() if row.outdated]


async def test_the_suites_are_remembered_again_only_when_they_have_changed(workbench, demo, monkeypatch):
    """To encode many of them takes as long as several keys."""
    async with workbench() as pilot:
        app, saved = pilot.app, []
        monkeypatch.setattr(app.suites.cache, "save", lambda documents: saved.append([one.path for one in documents]))
        app.session.save()
        app.session.save()
        assert saved == [[str(demo)]]
        await app.suites.read([str(demo)])
        app.session.save()
        assert len(saved) == 2
