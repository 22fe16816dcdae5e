"""What can be done with messages: finding, reading, copying, and making the same call again."""

from __future__ import annotations

from mcptest_tui.actions import Action

LIST = "traffic.list"
ACTIONS: tuple[Action, ...] = (
    Action("traffic.open", "Open", "choose", "open", "The whole message.", where=LIST),
    Action("traffic.filter", "Filter", "find", "filter", "Show some: method:, server:, is:error, slow:>100."),
    Action("traffic.pause", "Follow", "follow", "pause", "Go along with what comes, or stand still; all is recorded."),
    Action(
        "traffic.again",
        "Again",
        "run",
        "screen.again",
        "Make the call again, in the form; what destroys is asked about first.",
        where=LIST,
    ),
    Action("traffic.pairs", "Pairs", "fold all", "pairs", "Requests folded with their responses, or every message."),
    Action("traffic.copy", "Copy", "copy", "screen.copy", "Copy the whole message.", where=LIST),
    Action("traffic.headers", "HTTP headers", "details", "screen.headers", "Status and headers.", False, where=LIST),
    Action("traffic.save", "Save as test", "save as test", "screen.save", "Keep the call as a test.", where=LIST),
    Action("traffic.errors", "Errors only", "failures only", "errors", "Only what failed, and back."),
    Action("traffic.next", "Next error", "next", "screen.error(1)", "To the next error.", False, where=LIST),
    Action("traffic.previous", "Previous error", "previous", "screen.error(-1)", "One back.", False, where=LIST),
    Action("traffic.other", "Other side", "other side", "other", "From request to response, and back."),
    Action("traffic.clear", "Clear", "clear", "clear", "Forget what was recorded until now.", show=False),
)
