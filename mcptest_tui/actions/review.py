"""What can be done with proposals: deciding one by one, or the rest at once, and writing what was decided."""

from __future__ import annotations

from dataclasses import replace

from mcptest_tui.actions import Action

_ITEMS: tuple[Action, ...] = (
    Action(
        "review.accept",
        "Accept",
        "accept",
        "deciding.accept",
        "Accept the proposal, and go to the next one.",
    ),
    Action(
        "review.reject",
        "Reject",
        "reject",
        "deciding.reject",
        "Reject the proposal; the test stays as it is.",
    ),
    Action("review.skip", "Skip", "skip", "deciding.skip", "Decide later."),
    Action(
        "review.edit",
        "Edit",
        "edit",
        "editing.edit",
        "Change the proposed text before accepting it.",
    ),
    Action(
        "review.write",
        "Write",
        "save",
        "writing.write",
        "Write the decisions; the changed tests run again.",
        idle="nothing was decided yet",
    ),
    Action(
        "review.whole",
        "Whole file",
        "other diff",
        "proposal.whole",
        "The whole file, as it is and as it would be.",
    ),
    Action("review.undo", "Undo", "undo", "deciding.undo", "Undo the last decision.", idle="nothing was decided yet"),
    Action("review.test", "Result", "choose", "proposal.open", "The result of the test, in Tests."),
    Action("review.source", "Open in Edit", "", "proposal.source", "The test in the editor.", show=False),
    Action(
        "review.info",
        "Info",
        "details",
        "proposal.info",
        "Show all details of the proposal, or fewer.",
    ),
    Action(
        "review.accept.rest",
        "Accept rest",
        "accept the rest",
        "deciding.rest('accept')",
        "Accept all remaining proposals; asks first.",
    ),
    Action(
        "review.reject.rest",
        "Reject rest",
        "reject the rest",
        "deciding.rest('reject')",
        "Reject all remaining proposals.",
        show=False,
    ),
    Action(
        "review.skip.rest",
        "Skip rest",
        "skip the rest",
        "deciding.rest('skip')",
        "Skip all remaining proposals.",
        show=False,
    ),
    Action(
        "review.alike",
        "Accept alike",
        "all alike",
        "deciding.alike",
        "Accept the same change in other tests.",
        show=False,
    ),
    Action(
        "review.unwrite",
        "Undo write",
        "undo the write",
        "writing.unwrite",
        "Undo the last write, if the files have not changed since.",
        idle="there is no write to undo",
    ),
    Action("review.again", "Reload", "", "look_again", "Read the proposals again.", show=False),
)
_ITEM: tuple[Action, ...] = (
    Action(
        "review.next", "Next", "down", "screen.step(1)", "The next proposal, undecided.", False, where="review.item"
    ),
    Action("review.wrap", "Wrap", "wrap", "wrap", "Wrap long rows, or cut them.", False, where="review.item"),
    Action(
        "review.previous", "Previous", "up", "screen.step(-1)", "The previous proposal.", False, where="review.item"
    ),
)
_EDITOR: tuple[Action, ...] = (
    Action("review.take", "Accept this", "save", "take", "Accept this text.", where="review.editor"),
    Action("review.as_was", "As proposed", "", "restore", "The proposed text again.", where="review.editor"),
)
_SCREEN = tuple(replace(one, idle=one.idle or "nothing is proposed") for one in _ITEMS)
ACTIONS: tuple[Action, ...] = (*_SCREEN, *_ITEM, *_EDITOR)
