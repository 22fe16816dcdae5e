"""Unsaved text that an earlier session left behind: said at the start, because its file may be one that nobody opens again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.words import counted
from mcptest_tui.places import path_here
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from mcptest_tui.base_app import BaseApp


def tell_left_behind(app: BaseApp) -> None:
    """Say so, unless the editor is on, which offers it by itself."""
    from mcptest_tui.state.drafts import Drafts

    if app.current_mode == "edit":
        return
    left = Drafts(app.workspace.root).left_behind(app.workspace.root)
    if left:
        name = path_here(left[0].path)
        others = f" and {counted(len(left) - 1, 'other file')}" if len(left) > 1 else ""
        hint = f"the editor ({key_of('app.mode.2', typing=True)}) offers it"
        app.tell(f"unsaved text of {name}{others} was put aside", hint=hint, severity="warning")
