"""The keys of dialogs, windows and lists that lie over a screen; `dialog` is what all of them have."""

from __future__ import annotations

from mcptest_tui.actions import Action


def _key(
    name: str,
    title: str,
    meaning: str,
    action: str,
    help: str,  # noqa: A002
    *,
    hidden: bool = False,
    idle: str = "",
) -> Action:
    """A key of the dialog that the first part of its name says."""
    where = f"dialog.{name.partition('.')[0]}"
    return Action(name, title, meaning, action, help, show=not hidden, where=where, palette=False, idle=idle)


def _line_key(name: str, title: str, key: str, action: str, help: str, *, hidden: bool = False) -> Action:  # noqa: A002
    """A key of a line to type in; no letter, since that is typed."""
    where = name.partition(".")[0]
    return Action(name, title, "", action, help, not hidden, where=where, palette=False, text_keys=(key,))


_LINES = (
    _line_key("line.take", "Take", "enter", "submit", "Accept the input.", hidden=True),
    _line_key("prompt.older", "Earlier", "up", "recall(1)", "The previous input."),
    _line_key("prompt.newer", "Later", "down", "recall(-1)", "The next input.", hidden=True),
    *(
        _line_key(f"picker.{name}", title, key, f"move({steps})", does, hidden=True)
        for name, title, key, steps, does in (
            ("down", "Down", "down", 1, "One row down."),
            ("up", "Up", "up", -1, "One row up."),
            ("page.down", "Page down", "pagedown", 10, "Ten rows down."),
            ("page.up", "Page up", "pageup", -10, "Ten rows up."),
        )
    ),
)
ACTIONS: tuple[Action, ...] = (
    *_LINES,
    Action("dialog.close", "Close", "back", "cancel", "Close without an answer.", where="dialog", palette=False),
    Action(
        "dialog.help",
        "Help",
        "help",
        "app.windows.help",
        "The keys of this window.",
        False,
        where="dialog",
        palette=False,
    ),
    Action("dialog.next", "Next", "next pane", "next_field", "Focus the next field.", where="dialog", palette=False),
    Action(
        "dialog.previous",
        "Previous",
        "previous pane",
        "previous_field",
        "Focus the previous field.",
        False,
        where="dialog",
        palette=False,
    ),
    Action(
        "dialog.quit",
        "Quit",
        "",
        "app.quit",
        "Leave mcptest.",
        False,
        where="dialog",
        palette=False,
        text_keys=("ctrl+q",),
    ),
    _key("about.copy", "Copy", "copy", "copy", "Copy everything, for an issue."),
    Action(
        "ask.complete",
        "Complete",
        "",
        "complete",
        "Accept the suggestion.",
        where="dialog.ask",
        palette=False,
        text_keys=("tab",),
        priority=True,
    ),
    _key("error.copy", "Copy report", "copy", "copy", "Copy the report."),
    _key("error.close", "Go on", "choose", "cancel", "Back to the workbench."),
    _key("value.copy", "Copy", "copy", "copy", "Copy the value."),
    _key("value.close", "Close", "choose", "cancel", "Close the window.", hidden=True),
    _key("difference.close", "Back", "choose", "cancel", "Back to the question.", hidden=True),
    _key("matrix.close", "Close", "matrix", "cancel", "Back to the tests.", hidden=True),
    _key(
        "process.end",
        "End",
        "stop",
        "end",
        "End the process and its group.",
        idle="it ended, or ends with the workbench",
    ),
    _key(
        "process.restart",
        "Start again",
        "run",
        "restart",
        "End the process and start it again.",
        idle="nothing starts this again",
    ),
    _key("process.copy", "Copy pid", "copy", "copy", "Copy the pid, or a session's URL."),
    _key(
        "assertion.write", "Write", "save", "write", "Add the assertion with the matcher under the cursor.", hidden=True
    ),
    _key("save.write", "Write", "save", "write", "Write the test."),
    _key("save.take", "Write", "choose", "write", "Write the test.", hidden=True),
    _key("assertions.mark", "In or out", "mark", "take", "Include this assertion, or not."),
    _key("suite.write", "Write", "save", "write", "Write the suite."),
    *(
        Action(
            name,
            "Other side",
            meaning,
            "turn_focus",
            "From the list to the text, and back.",
            shown,
            True,
            "dialog.suite",
            False,
        )
        for name, meaning, shown in (("suite.side", "next pane", True), ("suite.side.back", "previous pane", False))
    ),
    _key("suite.turn", "Text or list", "as text", "turn", "Show the text of the suite, or the list of its parts."),
    _key("ticks.mark", "In or out", "mark", "tick", "Include it in the suite, or not."),
    _key("ticks.all", "All or none", "mark all", "all", "Select all harmless tools, or none."),
    _key("ticks.run", "Its tests run", "run", "allow", "Run the tests of this tool, or skip them."),
)
