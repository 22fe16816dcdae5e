"""What can be done with proposals: deciding one by one, or the rest at once, and writing what was decided."""

from __future__ import annotations

from dataclasses import replace

from mcptest_tui.actions import Action

_ITEMS: tuple[Action, ...] = (
    Action(
        "review.accept",
        "Accept",
        "accept",
        "accept",
        "Take the proposal, and go to the next undecided one.",
    ),
    Action(
        "review.reject",
        "Reject",
        "reject",
        "reject",
        "Leave the test as it is, and forget the proposal.",
    ),
    Action("review.skip", "Skip", "skip", "skip", "Decide another time."),
    Action(
        "review.edit",
        "Edit",
        "edit",
        "edit",
        "Change the proposed text before accepting it.",
    ),
    Action(
        "review.write",
        "Write",
        "save",
        "write",
        "Write what was decided; the tests that changed are run again.",
        idle="nothing was decided yet",
    ),
    Action(
        "review.whole",
        "Whole file",
        "other diff",
        "whole",
        "The whole file, as it is and as it would be.",
    ),
    Action("review.undo", "Undo", "undo", "undo", "Take the last decision back.", idle="nothing was decided yet"),
    Action("review.test", "Open test", "choose", "open", "The test in the editor."),
    Action(
        "review.info",
        "Info",
        "details",
        "info",
        "All that is known about the proposal, and less again.",
    ),
    Action(
        "review.accept.rest",
        "Accept rest",
        "accept the rest",
        "rest('accept')",
        "Accept all that are left, after a question.",
    ),
    Action(
        "review.reject.rest",
        "Reject rest",
        "reject the rest",
        "rest('reject')",
        "Reject all that are left.",
        show=False,
    ),
    Action(
        "review.skip.rest",
        "Skip rest",
        "skip the rest",
        "rest('skip')",
        "Skip all that are left.",
        show=False,
    ),
    Action(
        "review.alike",
        "Accept alike",
        "accept alike",
        "alike",
        "Accept all that change the same in other tests.",
        show=False,
    ),
    Action(
        "review.unwrite",
        "Undo write",
        "undo the write",
        "unwrite",
        "Take the last write back, where nobody wrote since.",
        idle="nothing was written here that could be taken back",
    ),
    Action("review.again", "Reload", "", "look_again", "Ask the engine what waits.", show=False),
)
_ITEM: tuple[Action, ...] = (
    Action(
        "review.next", "Next", "down", "screen.step(1)", "The next proposal, undecided.", False, where="review.item"
    ),
    Action("review.wrap", "Wrap", "wrap", "wrap", "Long rows over several, or cut.", False, where="review.item"),
    Action("review.previous", "Previous", "up", "screen.step(-1)", "The proposal before.", False, where="review.item"),
)
_EDITOR: tuple[Action, ...] = (
    Action("review.take", "Accept this", "save", "take", "Accept the text as it stands here.", where="review.editor"),
    Action("review.as_was", "As proposed", "", "restore", "The proposed text again.", where="review.editor"),
)
_SCREEN = tuple(replace(one, idle=one.idle or "nothing is proposed") for one in _ITEMS)
ACTIONS: tuple[Action, ...] = (*_SCREEN, *_ITEM, *_EDITOR)
