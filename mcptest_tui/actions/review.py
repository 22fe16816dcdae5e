"""What can be done with proposals: deciding one by one, or the rest at once, and writing what was decided."""

from __future__ import annotations

from mcptest_tui.actions import Action

_SCREEN: tuple[Action, ...] = (
    Action("review.accept", "Accept", ("a",), "accept", "Take the proposal, and go to the next undecided one."),
    Action("review.reject", "Reject", ("r",), "reject", "Leave the test as it is, and forget the proposal."),
    Action("review.skip", "Skip", ("s",), "skip", "Decide another time."),
    Action("review.edit", "Edit", ("e",), "edit", "Change the proposed text before accepting it."),
    Action(
        "review.write", "Write", ("ctrl+s",), "write", "Write what was decided; the tests that changed are run again."
    ),
    Action("review.whole", "Whole file", ("d",), "whole", "The whole file, as it is and as it would be."),
    Action("review.undo", "Undo", ("u",), "undo", "Take the last decision back."),
    Action("review.test", "Open test", ("enter",), "open", "The test in the editor."),
    Action("review.info", "Info", ("i",), "info", "All that is known about the proposal, and less again."),
    Action(
        "review.accept.rest", "Accept rest", ("A",), "rest('accept')", "Accept all that are left, after a question."
    ),
    Action("review.reject.rest", "Reject rest", ("R",), "rest('reject')", "Reject all that are left.", show=False),
    Action("review.skip.rest", "Skip rest", ("S",), "rest('skip')", "Skip all that are left.", show=False),
    Action(
        "review.alike", "Accept alike", ("L",), "alike", "Accept all that change the same in other tests.", show=False
    ),
    Action("review.unwrite", "Undo write", ("U",), "unwrite", "Take the last write back, where nobody wrote since."),
    Action("review.again", "Look again", (), "look_again", "Ask the engine what waits.", show=False),
)
_ITEM: tuple[Action, ...] = (
    Action(
        "review.next", "Next", ("j",), "screen.step(1)", "The next proposal, undecided.", False, where="review.item"
    ),
    Action("review.wrap", "Wrap", ("w",), "wrap", "Long rows over several, or cut.", False, where="review.item"),
    Action("review.previous", "Before", ("k",), "screen.step(-1)", "The proposal before.", False, where="review.item"),
)
_EDITOR: tuple[Action, ...] = (
    Action(
        "review.take", "Accept this", ("ctrl+s",), "take", "Accept the text as it stands here.", where="review.editor"
    ),
    Action("review.as_was", "As proposed", ("ctrl+r",), "restore", "The proposed text again.", where="review.editor"),
)
ACTIONS: tuple[Action, ...] = (*_SCREEN, *_ITEM, *_EDITOR)
