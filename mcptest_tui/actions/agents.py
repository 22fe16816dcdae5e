"""What can be done with what agents did: reading it, going where it belongs, and running it again."""

from __future__ import annotations

from mcptest_tui.actions import Action

ACTIONS: tuple[Action, ...] = (
    Action(
        "agents.open",
        "Open",
        "choose",
        "row.open",
        "Open the run's result, the proposal in Review, or the suite in Edit.",
    ),
    Action(
        "agents.repro",
        "Copy command",
        "copy the command",
        "row.copy_repro",
        "Copy the command that repeats the run or the test.",
    ),
    Action("agents.edit", "Edit", "edit", "row.edit", "The suite in the editor."),
    Action(
        "agents.tests", "In Tests", "go to the test", "row.in_tests", "Go to the failed test or the suite, in Tests."
    ),
    Action("agents.review", "Review", "review", "row.review", "Review the proposals of the run, or all."),
    Action("agents.failures", "Failures only", "failures only", "failures", "Show only failed runs, or all."),
    Action("agents.older", "Older", "older", "older", "Show older runs too.", show=False),
    Action("agents.again", "Reload", "reload", "look_again", "Read the workspace again.", show=False),
)
