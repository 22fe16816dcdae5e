"""Review has no actions of its own until there is something to review."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcptest_tui.actions import Action

ACTIONS: tuple[Action, ...] = ()
