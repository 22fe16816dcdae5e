"""What can be done with messages: finding, reading, copying, and making the same call again."""

from __future__ import annotations

from mcptest_tui.actions import Action

ACTIONS: tuple[Action, ...] = (
    Action("traffic.open", "Open", ("enter",), "open", "The whole message.", where="traffic.list"),
    Action("traffic.filter", "Filter", ("slash", "ctrl+f"), "filter", "Show some: method:, server:, is:error, slow:>100."),
    Action("traffic.pause", "Pause", ("p",), "pause", "Let the rows stand still; everything is still recorded."),
    Action("traffic.again", "Again", ("r", "greater_than_sign"), "screen.again", "In the form.", where="traffic.list"),
    Action("traffic.pairs", "Pairs", ("f",), "pairs", "Requests folded with their responses, or every message."),
    Action("traffic.copy", "Copy", ("y",), "screen.copy", "Copy the whole message.", where="traffic.list"),
    Action("traffic.headers", "HTTP headers", ("v",), "screen.headers", "Status and headers.", False, where="traffic.list"),
    Action("traffic.save", "Save as test", ("s",), "screen.save", "Keep this call as a test of a suite.", where="traffic.list"),
    Action("traffic.errors", "Errors only", ("exclamation_mark",), "errors", "Only what failed, and back."),
    Action("traffic.next", "Next error", ("n",), "screen.error(1)", "To the next error.", False, where="traffic.list"),
    Action("traffic.previous", "Error before", ("N",), "screen.error(-1)", "To the error before.", False, where="traffic.list"),
    Action("traffic.other", "Other side", ("o",), "other", "From request to response, and back."),
    Action("traffic.clear", "Clear", ("C",), "clear", "Forget what was recorded until now.", show=False),
)  # fmt: skip
