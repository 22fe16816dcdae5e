"""What can be done with messages: finding, reading, copying, and making the same call again."""

from __future__ import annotations

from mcptest_tui.actions import Action

LIST = "traffic.list"
NONE = "no message is shown"
ACTIONS: tuple[Action, ...] = (
    Action("traffic.open", "Open", "choose", "open", "The whole message.", where=LIST, idle=NONE),
    Action("traffic.filter", "Filter", "find", "listing.filter", "Filter: method:, server:, is:error, slow:>100."),
    Action("traffic.pause", "Follow", "follow", "listing.pause", "Follow new messages, or stay; all are recorded."),
    Action(
        "traffic.again",
        "Again",
        "run",
        "screen.calls.again",
        "Open the call in the form again; asks first if the tool is destructive.",
        where=LIST,
        idle=NONE,
    ),
    Action(
        "traffic.pairs", "Pairs", "fold all", "listing.pairs", "Show requests and responses in one row, or separately."
    ),
    Action("traffic.copy", "Copy", "copy", "screen.calls.copy", "Copy the whole message.", where=LIST, idle=NONE),
    Action(
        "traffic.headers",
        "HTTP headers",
        "details",
        "screen.calls.headers",
        "Status and headers.",
        False,
        where=LIST,
        idle=NONE,
    ),
    Action(
        "traffic.save",
        "Save as test",
        "save as test",
        "screen.calls.save",
        "Save the call as a test.",
        where=LIST,
        idle=NONE,
    ),
    Action("traffic.errors", "Errors only", "failures only", "listing.errors", "Show only errors, or all."),
    Action("traffic.next", "Next error", "next", "screen.listing.error(1)", "Go to the next error.", False, where=LIST),
    Action(
        "traffic.previous", "Previous error", "previous", "screen.listing.error(-1)", "One back.", False, where=LIST
    ),
    Action(
        "traffic.other",
        "Other side",
        "other side",
        "message.other",
        "Go from the request to the response, or back.",
        idle=NONE,
    ),
    Action("traffic.clear", "Clear", "clear", "listing.clear", "Delete all recorded messages.", show=False),
)
