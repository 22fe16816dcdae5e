"""What can be done with what agents did: reading it, going where it belongs, and running it again."""

from __future__ import annotations

from mcptest_tui.actions import Action

ACTIONS: tuple[Action, ...] = (
    Action("agents.open", "Open", "choose", "open", "What the run came to; a proposal in Review, a suite in Edit."),
    Action(
        "agents.repro",
        "Copy command",
        "copy the command",
        "copy_repro",
        "Copy the command that runs it again, or a test of it.",
    ),
    Action("agents.edit", "Edit", "edit", "edit", "The suite in the editor."),
    Action(
        "agents.tests", "In Tests", "go to the test", "in_tests", "The test that failed, or the suite, among the tests."
    ),
    Action("agents.review", "Review", "review", "review", "What is proposed for it, or all that is."),
    Action("agents.failures", "Failures only", "failures only", "failures", "Only runs that failed, and back."),
    Action("agents.older", "Older", "older", "older", "Look through older runs too.", show=False),
    Action("agents.again", "Reload", "reload", "look_again", "Read the workspace again.", show=False),
)
