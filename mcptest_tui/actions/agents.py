"""What can be done with what agents did: reading it, going where it belongs, and running it again."""

from __future__ import annotations

from mcptest_tui.actions import Action

ACTIONS: tuple[Action, ...] = (
    Action("agents.open", "Open", ("enter",), "open", "What the run came to; a proposal in Review, a suite in Edit."),
    Action(
        "agents.repro", "Copy command", ("c",), "copy_repro", "Copy the command that runs it again, or a test of it."
    ),
    Action("agents.edit", "Edit", ("e",), "edit", "The suite in the editor."),
    Action("agents.tests", "In Tests", ("t",), "in_tests", "The test that failed, or the suite, among the tests."),
    Action("agents.review", "Review", ("u",), "review", "What is proposed for it, or all that is."),
    Action("agents.failures", "Failures only", ("exclamation_mark",), "failures", "Only runs that failed, and back."),
    Action("agents.older", "Older", ("o",), "older", "Look through older runs too.", show=False),
    Action("agents.again", "Look again", ("R",), "look_again", "Read the workspace again.", show=False),
)
