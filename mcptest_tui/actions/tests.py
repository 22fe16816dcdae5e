"""What can be done with tests: running, finding, folding, and reading what they came to."""

from __future__ import annotations

from mcptest_tui.actions import Action

_SCREEN: tuple[Action, ...] = (
    Action(
        "run.this", "Run", ("r", "ctrl+r"), "run", "Run the test, block or suite under the cursor, or what is marked."
    ),
    Action("run.all", "All", ("a",), "run_all", "Run every test that is shown."),
    Action("run.failed", "Failed", ("f",), "run_failed", "Run the failed tests, and only those."),
    Action("open.detail", "Open", ("enter",), "open_detail", "What the test came to.", where="tests.list"),
    Action(
        "list.filter", "Filter", ("slash", "ctrl+f"), "filter", "Show some of the tests: text, is:failed, tag:smoke."
    ),
    Action("fail.next", "Next failure", ("n",), "failure(1)", "To the next failing test."),
    Action("open.edit", "Edit", ("e",), "edit", "Open the editor at the test."),
    Action("review.open", "Review", ("u",), "review", "What is proposed for this test, or all that is."),
    Action(
        "run.stop", "Stop", ("x",), "stop", "Stop the run that is on; its servers are ended, and the next run begins."
    ),
    Action("run.stop.all", "Stop all", ("X",), "stop_all", "Stop the run that is on and all that wait.", show=False),
    Action("fail.previous", "Failure before", ("N",), "failure(-1)", "To the failing test before.", show=False),
    Action("list.failures", "Failures only", ("exclamation_mark",), "failures_only", "Only failed tests, and back."),
    Action("run.again", "Again", ("full_stop",), "run_again", "The last run again.", show=False),
    Action("run.bail", "Bail", ("b",), "bail", "Stop a run at its first failure, or not.", show=False),
    Action("list.order", "Order", ("o",), "order", "File order, slowest first, failed first.", show=False),
    Action("suites.again", "Look again", ("R",), "look_again", "Look for suites that are new.", show=False),
    Action("list.follow", "Follow", ("F",), "follow", "Go to each new failure as it comes, or not.", show=False),
    Action("tab.next", "Next tab", ("right_square_bracket",), "tab(1)", "The next tab of the detail.", show=False),
    Action("tab.previous", "Tab before", ("left_square_bracket",), "tab(-1)", "The tab before.", show=False),
    Action("diff.sides", "Side by side", ("d",), "sides", "The difference side by side, or one under the other."),
    Action("matrix.open", "Matrix", ("m",), "matrix", "Tests by models, where a suite has several models."),
    Action("copy.menu", "Copy", ("y",), "copy_menu", "Copy its command, name, text, request, response.", show=False),
    Action("copy.repro", "Copy command", ("c",), "copy_repro", "Copy the command that runs this test.", show=False),
    Action("open.server", "Server", ("s",), "server", "The server that this test calls.", show=False),
    Action("open.external", "Edit outside", ("E",), "edit_outside", "The test in $EDITOR.", show=False),
)
_LIST: tuple[Action, ...] = (
    Action(
        "list.mark", "Mark", ("space",), "mark", "Mark a test; r runs what is marked.", show=False, where="tests.list"
    ),
    Action(
        "list.range", "Mark range", ("v",), "range", "Mark from here to the cursor.", show=False, where="tests.list"
    ),
    Action(
        "list.close", "Fold", ("h", "left"), "fold(True)", "Close the group, or go to it.", False, where="tests.list"
    ),
    Action("list.open", "Unfold", ("l", "right"), "fold(False)", "Open the group.", show=False, where="tests.list"),
    Action("list.close.all", "Fold all", ("H",), "fold_all(True)", "Close all blocks.", show=False, where="tests.list"),
    Action(
        "list.open.all", "Unfold all", ("L",), "fold_all(False)", "Open everything.", show=False, where="tests.list"
    ),
)
_LINES: tuple[Action, ...] = tuple(
    Action(f"lines.{name}", title, keys, action, "", show=False, where="lines", palette=False)
    for name, title, keys, action in (
        ("down", "Down", ("j", "down"), "move(1)"),
        ("up", "Up", ("k", "up"), "move(-1)"),
        ("first", "First", ("g", "home"), "end(False)"),
        ("last", "Last", ("G", "end"), "end(True)"),
        ("half.down", "Half a page down", ("ctrl+d",), "page(0.5)"),
        ("half.up", "Half a page up", ("ctrl+u",), "page(-0.5)"),
        ("page.down", "Page down", ("pagedown",), "page(1.0)"),
        ("page.up", "Page up", ("pageup",), "page(-1.0)"),
    )
)
_JSON: tuple[Action, ...] = (
    Action("json.assert", "Assert", ("plus",), "add_assertion", "Add an assertion for this value.", where="json"),
    Action("json.value", "Copy value", ("y",), "copy_value", "Copy the value.", where="json"),
    Action("json.target", "Copy target", ("Y",), "copy_target", "Copy what an assertion calls it.", where="json"),
    Action("json.search", "Search", ("slash",), "search", "Search keys and values.", where="json"),
    Action("json.next", "Next hit", ("n",), "hit(1)", "The next hit of the search.", show=False, where="json"),
    Action("json.previous", "Hit before", ("N",), "hit(-1)", "The hit before.", show=False, where="json"),
    Action("json.close", "Fold", ("h", "left"), "fold(True)", "Close, or go out.", show=False, where="json"),
    Action("json.open", "Unfold", ("l", "right"), "fold(False)", "Open.", show=False, where="json"),
    Action("json.close.all", "Fold all", ("H",), "fold_all(True)", "Close everything.", show=False, where="json"),
    Action("json.open.all", "Unfold all", ("L",), "fold_all(False)", "Open everything.", show=False, where="json"),
    Action("json.peek", "Whole value", ("space",), "peek", "The whole value in a window.", where="json"),
    Action("json.choose", "Open", ("enter",), "choose", "Fold, load more, or show the value.", False, where="json"),
    Action("json.wrap", "Wrap", ("w",), "wrap", "Long texts over several rows, or one.", show=False, where="json"),
    Action("json.raw", "As text", ("t",), "raw", "As text, and back.", show=False, where="json"),
)
_DIFF: tuple[Action, ...] = (
    Action("diff.wrap", "Wrap", ("w",), "wrap", "Long rows over several, or cut.", where="diff"),
)
_GRAPH: tuple[Action, ...] = (
    Action("graph.open", "Look into", ("enter",), "choose", "The node's arguments, output and calls.", where="graph"),
)
_CONVERSATION: tuple[Action, ...] = (
    Action(
        "conversation.open",
        "Look into",
        ("enter",),
        "choose",
        "The call as a tree, the whole text, or fold the run.",
        where="conversation",
    ),
)
_MATRIX: tuple[Action, ...] = (
    Action("matrix.left", "Model before", ("h", "left"), "column(-1)", "", show=False, where="matrix", palette=False),
    Action("matrix.right", "Next model", ("l", "right"), "column(1)", "", show=False, where="matrix", palette=False),
    Action(
        "matrix.choose", "Go to the test", ("enter",), "choose", "The test of the cell.", where="matrix", palette=False
    ),
)
_TEXT: tuple[Action, ...] = (
    Action("text.wrap", "Wrap", ("w",), "wrap", "Long rows over several, or cut.", where="text"),
)
ACTIONS: tuple[Action, ...] = (*_SCREEN, *_LIST, *_JSON, *_DIFF, *_GRAPH, *_CONVERSATION, *_MATRIX, *_TEXT, *_LINES)
