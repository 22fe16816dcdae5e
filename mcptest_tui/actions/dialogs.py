"""The keys of dialogs, windows and lists that lie over a screen; `dialog` is what all of them have."""

from __future__ import annotations

from mcptest_tui.actions import Action


def _key(name: str, title: str, meaning: str, action: str, help: str, *, hidden: bool = False) -> Action:  # noqa: A002
    """A key of the dialog that the first part of its name says."""
    where = f"dialog.{name.partition('.')[0]}"
    return Action(name, title, meaning, action, help, show=not hidden, where=where, palette=False)


ACTIONS: tuple[Action, ...] = (
    Action("dialog.close", "Close", "back", "cancel", "Close without an answer.", where="dialog", palette=False),
    Action("dialog.help", "Help", "help", "app.help", "The keys of this window.", False, where="dialog", palette=False),
    Action("dialog.quit", "Quit", "quit", "app.quit", "Leave mcptest.", show=False, where="dialog", palette=False),
    _key("error.copy", "Copy report", "copy", "copy", "Copy the report."),
    _key("error.close", "Go on", "choose", "cancel", "Back to the workbench."),
    _key("value.copy", "Copy", "copy", "copy", "Copy the value."),
    _key("value.close", "Close", "choose", "cancel", "Close the window.", hidden=True),
    _key("difference.close", "Back", "choose", "cancel", "Back to the question.", hidden=True),
    _key("matrix.close", "Close", "matrix", "cancel", "Back to the tests.", hidden=True),
    _key("process.end", "End", "stop", "end", "End the process and its group."),
    _key("process.restart", "Start again", "run", "restart", "End it and have it started again."),
    _key("process.copy", "Copy pid", "copy", "copy", "Copy the pid, or a session's URL."),
    _key(
        "assertion.write", "Write", "save", "write", "Add the assertion with the matcher under the cursor.", hidden=True
    ),
    _key("preview.write", "Write", "save", "write", "Write the text."),
    _key("preview.take", "Write", "choose", "write", "Write the text.", hidden=True),
    _key("save.write", "Write", "save", "write", "Write the test."),
    _key("save.take", "Write", "choose", "write", "Write the test.", hidden=True),
    _key("assertions.mark", "In or out", "mark", "take", "Expect it, or not."),
    _key("suite.write", "Write", "save", "write", "Write the suite."),
    _key("suite.turn", "Text or list", "as text", "turn", "The text of the suite, or the list of what goes into it."),
    _key("ticks.mark", "In or out", "mark", "tick", "Into the suite, or not."),
    _key("ticks.all", "All or none", "mark all", "all", "All tools that are harmless, or none."),
    _key("ticks.run", "Its tests run", "run", "allow", "Let the tests of this tool run, or have them skipped."),
)
