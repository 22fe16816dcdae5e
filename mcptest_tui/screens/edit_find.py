"""Find and replace in the file that is edited."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from textual.widgets.text_area import Selection

from mcptest_engine.core.words import counted
from mcptest_tui.screens.edit_base import EditBase
from mcptest_tui.state.finding import Hit, find_all, next_of, replacement
from mcptest_tui.widgets.find_bar import FindBar
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from mcptest_engine.suite.rename import Renaming
    from mcptest_tui.screens.edit_docs import OpenDoc


class EditFind(EditBase):
    """A mixin of the screen."""

    def action_find(self) -> None:
        """Open the bar with what is selected."""
        self._open_bar(replacing=False)

    def action_replace(self) -> None:
        """Open it with its second field."""
        self._open_bar(replacing=True)

    def _open_bar(self, *, replacing: bool) -> None:
        doc = self.current
        if doc is not None:
            self.query_one(FindBar).open(replacing=replacing and not doc.file.read_only, word=doc.area.selected_text)

    def on_find_bar_changed(self) -> None:
        """Another word: mark all of it, go to the nearest."""
        doc = self.current
        if doc is None:
            return
        hits = self._find(doc)
        start = min(doc.area.selection)
        at = next_of(hits, *start)
        if at is not None:
            self._go(doc, hits, at)

    def on_find_bar_stepped(self, event: FindBar.Stepped) -> None:
        """To the next, or the one before."""
        doc = self.current
        if doc is None:
            return
        hits = self._find(doc)
        start, end = sorted(doc.area.selection)
        at = next_of(hits, *(end if event.step > 0 else start), back=event.step < 0)
        if at is not None:
            self._go(doc, hits, at)

    def on_find_bar_replaced(self, event: FindBar.Replaced) -> None:
        """The hit that is selected, or all."""
        doc = self.current
        if doc is None or doc.file.read_only:
            return
        bar = self.query_one(FindBar)
        hits = self._find(doc)
        if not hits:
            return
        if event.everything:
            self._replace_all(doc, hits, bar)
            return
        start, end = sorted(doc.area.selection)
        at = next(
            (at for at, hit in enumerate(hits) if ((hit.row, hit.start), (hit.row, hit.end)) == (start, end)), None
        )
        if at is not None:
            by = self._by(doc, hits[at], bar)
            if by is None:
                return
            result = doc.area.replace(by, start, end, maintain_selection_offset=False)
            doc.area.move_cursor(result.end_location)
            hits = self._find(doc)
        following = next_of(hits, *max(doc.area.selection))
        if following is not None:
            self._go(doc, hits, following)

    def on_find_bar_left(self) -> None:
        """Back to the text."""
        if self.current is not None:
            self.current.area.mark(hits={})
            self.current.area.focus()

    # A name everywhere

    def action_rename(self) -> None:
        """Ask for another name of the server, node or variable under the cursor, or of the test, and give it everywhere."""
        from mcptest_engine.suite.rename import find_renaming, list_names, rename
        from mcptest_engine.suite.text_edits import EditRefused
        from mcptest_tui.widgets.modals import Ask

        doc = self.current
        if doc is None or doc.file.read_only:
            return
        area, text = doc.area, doc.text
        renaming = find_renaming(text, area.index_of(area.cursor_location))
        if renaming is None:
            self.workbench.say("there is no server, node, variable or test here")
            return
        others = self._files_naming(doc, renaming)
        if others:
            self.workbench.say(
                f"not renamed: {', '.join(others[:3])} {'names' if len(others) == 1 else 'name'} {renaming.name} too; "
                "change the name in all of the files by hand",
                "warning",
            )
            return
        kind, old, places = renaming.kind, renaming.name, counted(len(renaming.places), "place")
        taken = set(list_names(text, kind)) - {old} if kind in ("server", "test") else set()

        def check(typed: str) -> str | None:
            if not typed.strip() or typed.strip() in taken:
                return f"another {kind} has this name" if typed.strip() else "type a name"
            try:
                rename(text, renaming, typed.strip())
            except (EditRefused, ValueError) as wrong:
                return f"{wrong}{f'; {hint}' if (hint := getattr(wrong, 'hint', None)) else ''}"
            return None

        def answered(typed: str | None) -> None:
            if typed is None or typed.strip() == old:
                return
            if doc.text != text:
                self.workbench.say("not renamed: the text has changed meanwhile; rename it again", "warning")
                return
            area.become(rename(text, renaming, typed.strip()))
            if kind == "test":
                doc.renamings.add((old, typed.strip()))
            self.workbench.say(f"renamed {old} in {places}; one undo takes it back")

        hint = f"renames {places} of this file"
        if kind == "test":
            hint += "; its snapshots go along when it is saved"
        self.app.push_screen(Ask(f"Rename the {kind} {old}", hint, value=old, check=check), answered)

    def _files_naming(self, doc: OpenDoc, renaming: Renaming) -> list[str]:
        """The other files of the suites that this one is part of in which the name stands too, as they are on the disk."""
        from pathlib import Path

        import yaml

        from mcptest_engine.suite.rename import count_names

        suites = [*doc.owners(self.workbench.store.documents), *([doc.document] if doc.document is not None else [])]
        files = dict.fromkeys(file for suite in suites for file in suite.files if file.endswith((".yml", ".yaml")))
        files.pop(doc.file.path, None)
        found = []
        for file in files:
            opened = self.docs.get(file)
            try:
                if count_names(opened.text if opened is not None else Path(file).read_text("utf-8"), renaming):
                    found.append(self.workbench.workspace.relative(Path(file)))
            except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError):
                continue  # no test of it runs as it stands
        return found

    def action_format(self) -> None:
        """Tidy the text, where that leaves what it means and its comments as they are."""
        from mcptest_engine.suite.text_edits import EditRefused
        from mcptest_engine.suite.tidy import tidy

        doc = self.current
        if doc is None or doc.file.read_only:
            return
        try:
            text = tidy(doc.text)
        except EditRefused as refused:
            hint = f"; {refused.hint}" if refused.hint else ""
            self.workbench.say(f"not formatted: {refused.message}{hint}", "warning")
            return
        if text == doc.text:
            self.workbench.say("nothing to format")
            return
        doc.area.become(text)
        self.workbench.say("formatted; one undo takes it back")

    def rename_snapshots(self, doc: OpenDoc, before: str) -> int:
        """Give snapshots to the names that tests have now, since the text `before` was on the disk; return how many."""
        import os
        from pathlib import Path

        import yaml

        from mcptest_engine.core.errors import McptestError
        from mcptest_engine.suite.rename import find_renamed_tests, list_names
        from mcptest_engine.workspace.slug import slug
        from mcptest_engine.workspace.snapshots import rename_snapshots

        workspace, count = self.workbench.workspace, 0
        if not doc.renamings:
            return 0
        try:
            renamed, tests = find_renamed_tests(before, doc.file.saved, doc.renamings), list_names(before, "test")
        except (yaml.YAMLError, RecursionError):
            return 0  # a text with such a fault was saved: no test of it runs
        suites = [doc.file.path, *(one.path for one in doc.owners(self.workbench.store.documents))]
        for suite in suites if renamed else ():
            stem = os.path.splitext(workspace.relative(Path(suite)))[0]  # noqa: PTH122
            try:
                count += rename_snapshots(workspace.snapshots_dir / f"{slug(stem)}.yml", renamed, tests)
            except (OSError, McptestError) as wrong:
                names = ", ".join(renamed)
                self.workbench.tell(f"the snapshots keep the names of {names}: {wrong}", severity="warning")
        return count

    def _replace_all(self, doc: OpenDoc, hits: list[Hit], bar: FindBar) -> None:
        lines = list(doc.area.lines)
        for hit in reversed(hits):
            by = self._by(doc, hit, bar)
            if by is None:
                return
            lines[hit.row] = lines[hit.row][: hit.start] + by + lines[hit.row][hit.end :]
        doc.area.become(doc.area.document.newline.join(lines))
        bar.say(f"replaced {counted(len(hits), 'place')}")
        self.workbench.say(f"replaced {counted(len(hits), 'place')}; {key_of('edit.undo')} takes it back")

    def _by(self, doc: OpenDoc, hit: Hit, bar: FindBar) -> str | None:
        try:
            return replacement(doc.area.lines[hit.row], hit, bar.wanted, bar.by, as_pattern=bar.as_pattern)
        except (re.error, IndexError) as wrong:
            bar.say(f"not a replacement: {wrong}")
            return None

    def _find(self, doc: OpenDoc) -> list[Hit]:
        bar = self.query_one(FindBar)
        hits, wrong = find_all(doc.area.lines, bar.wanted, as_pattern=bar.as_pattern)
        marked: dict[int, list[tuple[int, int]]] = {}
        for hit in hits:
            marked.setdefault(hit.row, []).append((hit.start, hit.end))
        doc.area.mark(hits=marked)
        bar.say(wrong or (counted(len(hits), "place") if bar.wanted else ""))
        return hits

    def _go(self, doc: OpenDoc, hits: list[Hit], at: int) -> None:
        hit = hits[at]
        doc.area.selection = Selection((hit.row, hit.start), (hit.row, hit.end))
        doc.area.scroll_cursor_visible()
        self.query_one(FindBar).say(f"{at + 1} of {len(hits)}")
