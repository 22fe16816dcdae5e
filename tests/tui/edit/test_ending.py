"""The workbench ends while text is unsaved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.tui.edit.typing import opened, typed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.anyio


def _drafts(place: Path) -> list[Path]:
    return list((place / ".mcptest" / "cache" / "drafts").glob("*.draft.json"))


async def test_what_was_typed_last_is_put_aside_at_the_end_also_where_no_suite_is_open(
    place: Path, workbench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PAUSE_SECONDS", "DRAFT_SECONDS"):
        monkeypatch.setattr(f"mcptest_tui.screens.edit_drafts.{name}", 1_000.0)
    async with workbench() as pilot:
        await opened(pilot, place / "new.yml")
        await typed(pilot, "# mine")
        await pilot.app.leaving.end()
        assert len(_drafts(place)) == 1


async def test_a_screen_that_cannot_be_remembered_keeps_nobody_from_quitting(
    demo: Path, place: Path, workbench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with workbench(bugs=1) as pilot:
        screen = await opened(pilot, demo)
        await typed(pilot, "# mine\n")
        with monkeypatch.context() as broken:
            broken.setattr(screen, "remember_all", lambda: 1 / 0)
            await pilot.app.leaving._out(3)
        assert pilot.app.return_value == 3
        assert pilot.app.engine.pid is None
        assert len(_drafts(place)) == 1
