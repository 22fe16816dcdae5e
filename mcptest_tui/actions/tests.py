"""What can be done with tests: running, finding, folding, and reading results."""

from __future__ import annotations

from mcptest_tui.actions import Action

_SCREEN: tuple[Action, ...] = (
    Action(
        "run.this", "Run", "run", "running.this", "Run the test, block or suite under the cursor, or the marked ones."
    ),
    Action("run.all", "All", "run all", "running.all", "Run every test that is shown."),
    Action(
        "run.failed",
        "Failed",
        "run failed",
        "running.failed",
        "Run only the failed tests.",
        idle="no test has failed",
    ),
    Action(
        "open.detail",
        "Open",
        "choose",
        "open_detail",
        "Show the result of the test or suite; a folded row opens first.",
        where="tests.list",
    ),
    Action("list.filter", "Filter", "find", "listing.filter", "Show some of the tests: text, is:failed, tag:smoke."),
    Action(
        "fail.next",
        "Next failure",
        "next",
        "listing.failure(1)",
        "Go to the next test that failed, is inconclusive or was stopped.",
        idle="no test has failed",
    ),
    Action("open.edit", "Edit", "edit", "opening.edit", "Open the editor at the test."),
    Action("review.open", "Review", "review", "opening.review", "Review the proposals for this test, or all."),
    Action(
        "run.stop",
        "Stop run",
        "stop",
        "running.stop",
        "Stop the active run and end its servers; the next run starts.",
        idle="nothing is running",
    ),
    Action(
        "run.stop.all",
        "Stop all runs",
        "stop all",
        "running.stop_all",
        "Stop the active run and all waiting runs.",
        show=False,
        idle="nothing is running",
    ),
    Action(
        "fail.previous",
        "Previous failure",
        "previous",
        "listing.failure(-1)",
        "Go to the previous test that failed, is inconclusive or was stopped.",
        False,
        idle="no test has failed",
    ),
    Action(
        "list.failures",
        "Failures only",
        "failures only",
        "listing.failures_only",
        "Show only tests that did not pass, or all.",
    ),
    Action("run.again", "Again", "run the last again", "running.again", "Repeat the last run.", show=False),
    Action(
        "run.alike", "Run alike", "all alike", "running.alike", "Run the tests that failed for this cause.", show=False
    ),
    Action("run.bail", "Bail", "bail", "running.bail", "Stop runs at the first failure, or not.", show=False),
    Action("list.order", "Order", "order", "listing.order", "File order, slowest first, failed first.", show=False),
    Action("suites.again", "Rescan", "reload", "listing.look_again", "Look for new suites.", show=False),
    Action(
        "list.follow", "Follow", "follow", "listing.follow", "Move the cursor to each new failure, or not.", show=False
    ),
    Action(
        "tab.previous",
        "Previous tab",
        "previous tab",
        "detail_pane.tab(-1)",
        "The previous tab.",
        show=False,
        group="tabs",
    ),
    Action(
        "tab.next",
        "Next tab",
        "next tab",
        "detail_pane.tab(1)",
        "The next tab of the detail.",
        show=False,
        group="tabs",
    ),
    Action(
        "diff.sides",
        "Side by side",
        "other diff",
        "detail_pane.sides",
        "Show the difference side by side, or below each other.",
    ),
    Action(
        "matrix.open",
        "Matrix",
        "matrix",
        "opening.matrix",
        "Show tests by models, if the suite has several.",
        idle="this suite has no test with several models",
    ),
    Action(
        "copy.menu",
        "Copy",
        "copy",
        "copying.pick",
        "Copy the test's command, name, text, request or response.",
        show=False,
    ),
    Action(
        "copy.repro",
        "Copy command",
        "copy the command",
        "copying.command",
        "Copy the command that runs this test.",
        show=False,
    ),
    Action(
        "open.server", "Server", "go to the server", "opening.server", "The server that this test calls.", show=False
    ),
    Action("open.external", "Edit outside", "$EDITOR", "opening.external", "The test in $EDITOR.", show=False),
)
_LIST: tuple[Action, ...] = (
    Action(
        "list.mark",
        "Mark",
        "mark",
        "mark",
        "Mark a test; Run then runs the marked tests.",
        show=False,
        where="tests.list",
    ),
    Action(
        "list.range",
        "Mark range",
        "mark range",
        "range",
        "Mark from here to the cursor.",
        show=False,
        where="tests.list",
    ),
    Action(
        "list.close", "Fold", "left", "fold(True)", "Close the group, or go to its heading.", False, where="tests.list"
    ),
    Action("list.open", "Unfold", "right", "fold(False)", "Open the group.", show=False, where="tests.list"),
    Action(
        "list.close.all", "Fold all", "fold all", "fold_all(True)", "Close all blocks.", show=False, where="tests.list"
    ),
    Action(
        "list.open.all",
        "Unfold all",
        "unfold all",
        "fold_all(False)",
        "Open everything.",
        show=False,
        where="tests.list",
    ),
)
_FILTER: tuple[Action, ...] = (
    *(
        Action(name, title, "", action, does, where="filter", palette=False, text_keys=(key,), group=group)
        for name, title, key, action, does, group in (
            ("filter.complete", "Complete", "tab", "complete", "Accept the selected word.", ""),
            ("filter.word.next", "Next word", "down", "next_completion(1)", "Select the next word.", "words"),
            ("filter.word.previous", "Word before", "up", "next_completion(-1)", "Select the previous word.", "words"),
        )
    ),
)
_LINES: tuple[Action, ...] = tuple(
    Action(f"lines.{name}", meaning.capitalize(), meaning, action, "", show=False, where="lines", palette=False)
    for name, meaning, action in (
        ("down", "down", "move(1)"),
        ("up", "up", "move(-1)"),
        ("first", "first", "end(False)"),
        ("last", "last", "end(True)"),
        ("half.down", "half a page down", "page(0.5)"),
        ("half.up", "half a page up", "page(-0.5)"),
        ("page.down", "page down", "page(1.0)"),
        ("page.up", "page up", "page(-1.0)"),
    )
)
_JSON: tuple[Action, ...] = (
    Action("json.assert", "Assert", "add", "add_assertion", "Add an assertion for this value.", where="json"),
    Action("json.value", "Copy value", "copy", "copy_value", "Copy the value.", where="json"),
    Action(
        "json.target", "Copy target", "copy the path", "copy_target", "Copy the target for an assertion.", where="json"
    ),
    Action("json.search", "Search", "find", "search", "Search keys and values.", where="json"),
    Action("json.next", "Next hit", "next", "hit(1)", "The next hit of the search.", show=False, where="json"),
    Action("json.previous", "Previous hit", "previous", "hit(-1)", "The previous hit.", show=False, where="json"),
    Action(
        "json.close", "Fold", "left", "fold(True)", "Close the node, or go to its parent.", show=False, where="json"
    ),
    Action("json.open", "Unfold", "right", "fold(False)", "Open.", show=False, where="json"),
    Action("json.close.all", "Fold all", "fold all", "fold_all(True)", "Close everything.", show=False, where="json"),
    Action(
        "json.open.all", "Unfold all", "unfold all", "fold_all(False)", "Open everything.", show=False, where="json"
    ),
    Action("json.peek", "Whole value", "details", "peek", "The whole value in a window.", where="json"),
    Action("json.choose", "Open", "choose", "choose", "Fold, load more, or show the value.", False, where="json"),
    Action("json.wrap", "Wrap", "wrap", "wrap", "Wrap long texts, or not.", show=False, where="json"),
    Action("json.raw", "As text", "as text", "raw", "Show the value as text, and back.", show=False, where="json"),
)
_DIFF: tuple[Action, ...] = (
    Action("diff.wrap", "Wrap", "wrap", "wrap", "Wrap long rows, or cut them.", where="diff"),
    Action(
        "diff.unfold",
        "Unfold",
        "unfold all",
        "unfold",
        "Show all equal rows, or only those around a difference.",
        show=False,
        where="diff",
    ),
)
_GRAPH: tuple[Action, ...] = (
    Action("graph.open", "Look into", "choose", "choose", "The node's arguments, output and calls.", where="graph"),
)
_CONVERSATION: tuple[Action, ...] = (
    Action(
        "conversation.open",
        "Look into",
        "choose",
        "choose",
        "The call as a tree, the whole text, or fold the run.",
        where="conversation",
    ),
)
_MATRIX: tuple[Action, ...] = (
    Action("matrix.left", "Previous model", "left", "column(-1)", "", show=False, where="matrix", palette=False),
    Action("matrix.right", "Next model", "right", "column(1)", "", show=False, where="matrix", palette=False),
    Action(
        "matrix.choose",
        "Go to the test",
        "choose",
        "choose",
        "Go to the test of the cell.",
        where="matrix",
        palette=False,
    ),
)
_TEXT: tuple[Action, ...] = (Action("text.wrap", "Wrap", "wrap", "wrap", "Wrap long rows, or cut them.", where="text"),)
ACTIONS: tuple[Action, ...] = (
    *_SCREEN,
    *_LIST,
    *_FILTER,
    *_JSON,
    *_DIFF,
    *_GRAPH,
    *_CONVERSATION,
    *_MATRIX,
    *_TEXT,
    *_LINES,
)
