"""The editor: saving, running, completing, problems, finding, files; and the plain keys of any text ("editor")."""

from __future__ import annotations

from mcptest_tui.actions import Action


def _text_action(name: str, title: str, keys: tuple[str, ...], action: str) -> Action:
    """An action to move or delete in a text: it is in the help, but not in the footer or the palette."""
    return Action(f"editor.{name}", title, "", action, show=False, where="editor", palette=False, text_keys=keys)


ACTIONS: tuple[Action, ...] = (
    Action("edit.save", "Save", "save", "saving.save", "Save the file; in watch mode, the affected tests run."),
    Action("edit.run", "Run test", "run", "saving.run_test", "Save and run the test under the cursor."),
    Action(
        "edit.complete", "Complete", "complete", "assistance.complete", "Show the possible completions.", show=False
    ),
    Action("edit.problem.next", "Problem", "next problem", "diagnostics.go(1)", "Go to the next problem."),
    Action(
        "edit.fix",
        "Fix",
        "fix",
        "diagnostics.fix",
        "Apply the fix under the cursor.",
        idle="no automatic fix for this problem",
    ),
    Action(
        "edit.explain",
        "Explain",
        "details",
        "assistance.explain",
        "Explain the word under the cursor, and its problem.",
    ),
    Action("edit.find", "Find", "find", "finding.find", "Find in this file."),
    Action("edit.files", "Files", "open a file", "files.pick", "Go to an open file, or open one of the suites."),
    Action("edit.external", "$EDITOR", "$EDITOR", "saving.external", "Open the file in $EDITOR, at this line."),
    Action("edit.new", "New file", "new suite", "files.new", "A new, empty suite."),
    Action(
        "edit.problem.previous",
        "Previous problem",
        "previous problem",
        "diagnostics.go(-1)",
        "Go to the previous problem.",
        show=False,
    ),
    Action("edit.replace", "Replace", "replace", "finding.replace", "Find and replace in this file.", show=False),
    Action("edit.fix.all", "Fix all", "", "diagnostics.fix_all", "Apply every fix in this file.", show=False),
    Action("edit.problems", "Problems", "", "diagnostics.toggle", "Show or hide the list of problems.", show=False),
    Action("edit.file.next", "Next file", "next file", "files.next(1)", "The next open file.", show=False),
    Action(
        "edit.file.previous", "Previous file", "previous file", "files.next(-1)", "The previous open file.", show=False
    ),
    Action(
        "edit.close", "Close file", "", "saving.close", "Close this file; asks first if text is unsaved.", show=False
    ),
    Action(
        "edit.reload",
        "Reload",
        "",
        "saving.reload",
        "Read the file from disk again; undo restores your text.",
        show=False,
    ),
    Action("edit.line", "Go to line", "", "files.go_to_line", "By its number.", show=False),
    Action(
        "edit.test", "Show result", "", "diagnostics.show_test", "Show the test under the cursor in Tests.", show=False
    ),
    Action("edit.catalog", "Read tools", "", "catalogs.read", "List the tools of the servers again.", show=False),
    Action(
        "edit.rename",
        "Rename",
        "",
        "refactoring.rename",
        "Rename the server, node, variable or test under the cursor, everywhere in the file.",
        show=False,
    ),
    Action(
        "edit.format",
        "Format",
        "",
        "refactoring.format",
        "Tidy indentation, quotes, spaces and empty lines.",
        show=False,
    ),
    Action("edit.wrap", "Wrap lines", "wrap", "files.wrap", "Wrap long lines, or cut them at the edge.", show=False),
    Action("find.close", "Close", "back", "app.back", "Back to the text.", where="find", priority=True, palette=False),
    Action("find.replace", "Replace all", "replace", "replace_all", "Replace every hit.", where="find", palette=False),
    *(
        Action(f"find.{name}", title, "", action, does, where="find", palette=False, text_keys=(key,), group=group)
        for name, title, key, action, does, group in (
            ("next", "Next hit", "down", "step(1)", "Go to the next hit.", "hits"),
            ("previous", "Hit before", "up", "step(-1)", "Go to the previous hit.", "hits"),
            ("pattern", "Pattern", "alt+r", "pattern", "Find a regular expression, or plain text.", ""),
        )
    ),
    Action(
        "edit.there", "Go there", "choose", "choose", "Go to that place in the text.", where="edit.list", palette=False
    ),
    Action(
        "edit.undo",
        "Undo",
        "",
        "undo",
        "Undo the last edit.",
        text_keys=("ctrl+z", "super+z"),
        show=False,
        where="editor",
    ),
    Action(
        "edit.redo", "Redo", "", "redo", "Do it again.", text_keys=("ctrl+y", "super+y"), show=False, where="editor"
    ),
    Action(
        "edit.comment",
        "Comment",
        "",
        "comment",
        "Comment lines out, or uncomment them.",
        text_keys=("ctrl+underscore", "ctrl+slash"),
        show=False,
        where="editor",
    ),
    Action(
        "edit.copy",
        "Copy",
        "",
        "copy",
        "Copy the selection.",
        text_keys=("ctrl+c", "super+c"),
        show=False,
        where="editor",
    ),
    Action(
        "edit.cut",
        "Cut",
        "",
        "cut",
        "Cut the selection, or the line.",
        text_keys=("ctrl+x", "super+x"),
        show=False,
        where="editor",
    ),
    Action(
        "edit.paste",
        "Paste",
        "",
        "paste",
        "Insert the copied text.",
        text_keys=("ctrl+v",),
        show=False,
        where="editor",
    ),
    Action(
        "edit.select.all",
        "Select all",
        "",
        "select_all",
        "The whole text.",
        text_keys=("ctrl+a",),
        show=False,
        where="editor",
    ),
    _text_action("up", "Up", ("up",), "cursor_up"),
    _text_action("down", "Down", ("down",), "cursor_down"),
    _text_action("left", "Left", ("left",), "cursor_left"),
    _text_action("right", "Right", ("right",), "cursor_right"),
    _text_action("word.left", "Word left", ("ctrl+left",), "cursor_word_left"),
    _text_action("word.right", "Word right", ("ctrl+right",), "cursor_word_right"),
    _text_action("line.start", "Start of line", ("home",), "cursor_line_start"),
    _text_action("line.end", "End of line", ("end",), "cursor_line_end"),
    _text_action("page.up", "Page up", ("pageup",), "cursor_page_up"),
    _text_action("page.down", "Page down", ("pagedown",), "cursor_page_down"),
    _text_action("top", "Begin of the file", ("ctrl+home",), "cursor_end(False)"),
    _text_action("bottom", "End of the file", ("ctrl+end",), "cursor_end(True)"),
    _text_action("select.up", "Select up", ("shift+up",), "cursor_up(True)"),
    _text_action("select.down", "Select down", ("shift+down",), "cursor_down(True)"),
    _text_action("select.left", "Select left", ("shift+left",), "cursor_left(True)"),
    _text_action("select.right", "Select right", ("shift+right",), "cursor_right(True)"),
    _text_action("select.word.left", "Select word left", ("ctrl+shift+left",), "cursor_word_left(True)"),
    _text_action("select.word.right", "Select word right", ("ctrl+shift+right",), "cursor_word_right(True)"),
    _text_action("select.line.start", "Select to its start", ("shift+home",), "cursor_line_start(True)"),
    _text_action("select.line.end", "Select to its end", ("shift+end",), "cursor_line_end(True)"),
    _text_action("delete.left", "Delete left", ("backspace",), "delete_left"),
    _text_action("delete.right", "Delete right", ("delete", "ctrl+d"), "delete_right"),
    _text_action(
        "delete.word.left",
        "Delete word left",
        ("ctrl+w", "ctrl+backspace", "alt+backspace"),
        "delete_word_left",
    ),
    _text_action("delete.word.right", "Delete word right", ("alt+delete",), "delete_word_right"),
    _text_action("delete.line.start", "Delete to start of line", ("ctrl+u",), "delete_to_start_of_line"),
    _text_action("delete.line.end", "Delete to end of line", ("ctrl+k",), "delete_to_end_of_line_or_delete_line"),
    _text_action("delete.line", "Delete line", ("ctrl+shift+k",), "delete_line"),
)
