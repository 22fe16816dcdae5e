"""Opening, closing, saving and running, here and in the person's own editor."""

from __future__ import annotations

import asyncio
import os
import time
from functools import partial
from pathlib import Path

from textual.containers import Container

from mcptest_engine.core.words import counted
from mcptest_tui.config import TEMPLATE as CONFIG_TEMPLATE
from mcptest_tui.config import config_file
from mcptest_tui.keymap import keymap_file, keymap_template
from mcptest_tui.places import path_here
from mcptest_tui.screens.edit_disk import EditDisk, read_there
from mcptest_tui.screens.edit_docs import OpenDoc
from mcptest_tui.state.editor_model import CannotSave, look, open_file, reason
from mcptest_tui.words import key_of

NEW_NAMES = ("mcptest.yml", "suite.yml")


class EditFiles(EditDisk):
    """A mixin of the screen."""

    # Opening

    def open_path(self, path: str, line: int | None = None, column: int | None = None, *, quiet: bool = False) -> None:
        """Edit a file, which need not exist, at a place from 1; one that is open is shown. `quiet` opens it behind others."""
        path = os.path.abspath(path)  # noqa: PTH100
        doc = self.docs.get(path)
        if doc is None:
            try:
                file = open_file(path)
            except OSError as wrong:
                self.workbench.tell(f"cannot open {path}: {reason(wrong)}", severity="error")
                return
            doc = self.docs[path] = OpenDoc(file)
            doc.area.display = False
            if file.is_new and path == str(keymap_file()):
                doc.area.load_text(keymap_template())
            elif file.is_new and path == str(config_file()):
                doc.area.load_text(CONFIG_TEMPLATE)
            self.query_one("#edit-texts", Container).mount(doc.area)
            if file.read_only:
                self.workbench.tell(
                    f"{file.name} is read-only here: {file.read_only}",
                    hint=f"{key_of('edit.external', typing=True)} opens it in $EDITOR",
                )
            doc.left_over = self.drafts.find(path) if not file.read_only else None
            self.workbench.suites.watch()
        if not quiet or self.current is None:
            self.show_doc(doc)
        if line is not None:
            self._place(doc, line, column or 1)
        self.call_after_refresh(self.offer_draft, doc)

    def _place(self, doc: OpenDoc, line: int, column: int) -> None:
        if doc.file.path in self.docs:
            doc.area.place(line - 1, column - 1)
            self.completing.moved()

    def action_next_file(self, step: int) -> None:
        """The next of the open files, around the end."""
        docs = list(self.docs.values())
        if self.current is not None and len(docs) > 1:
            self.show_doc(docs[(docs.index(self.current) + step) % len(docs)])

    def action_files(self) -> None:
        """Choose one of the open files, of the suites, or any other."""
        from mcptest_tui.screens.picker import Choice, Picker

        choices = [
            Choice(path, self.title_of(doc), "unsaved" if doc.is_dirty else "", path, "Open files")
            for path, doc in self.docs.items()
        ]
        known = {file: None for document in self.workbench.store.documents.values() for file in document.files}
        choices += [
            Choice(path, path_here(path), "", path, "Suites and their parts")
            for path in known
            if path not in self.docs and path.endswith((".yml", ".yaml")) and os.path.isfile(path)  # noqa: PTH113
        ]
        choices.append(Choice(":open", "Another file …", "", "By its path.", "More"))
        choices.append(Choice(":new", "A new file …", "", "An empty suite.", "More"))

        def answered(chosen: str | None) -> None:
            if chosen == ":open":
                self.app.call_next(self.app.run_action, "app.open_file")
            elif chosen == ":new":
                self.action_new_file()
            elif chosen is not None:
                self.open_path(chosen)

        def source(typed: str) -> tuple[list[Choice], str]:
            path = _path_of(typed)
            is_other = os.path.isfile(path) and not any(choice.title == typed for choice in choices)  # noqa: PTH113
            return (
                [Choice(str(path.absolute()), typed, "", "By its path.", "More")] if is_other else []
            ) + choices, typed

        start = self.current.file.path if self.current is not None else None
        self.app.push_screen(Picker("Files", source, start=start), answered)

    def action_new_file(self) -> None:
        """Ask for a name; nothing is written before the first save."""
        from mcptest_tui.widgets.modals import Ask

        free = next((name for name in NEW_NAMES if not Path(name).exists()), f"suite-{int(time.time())}.yml")

        def check(typed: str) -> str | None:
            if not typed.strip():
                return "a name such as weather.yml"
            path = _path_of(typed)
            if os.path.isdir(path):  # noqa: PTH112
                return "that is a folder"
            return None if path.suffix in (".yml", ".yaml") else "a suite's name ends in .yml or .yaml"

        def answered(typed: str | None) -> None:
            if typed is not None:
                self.open_path(str(_path_of(typed)))

        self.app.push_screen(
            Ask(
                "A new suite",
                "its path; one that exists is opened",
                value=free,
                check=check,
                entered=self.workbench.entered_paths,
            ),
            answered,
        )

    async def action_close_file(self) -> None:
        """Close what is shown; unsaved text is asked about, and kept as a draft in any case."""
        doc = self.current
        if doc is None:
            return
        if not doc.is_dirty:
            self._close(doc)
            return
        self._ask(
            f"Close {doc.file.name} without saving?",
            ["Its text is saved as a draft, which is offered when you open the file again."],
            (("s", "save and close"), ("c", "close"), ("n", "stay")),
            {"s": lambda: self._save_and_close(doc), "c": lambda: self._close(doc, keep=True)},
        )

    def _save_and_close(self, doc: OpenDoc) -> None:
        async def go() -> None:
            if await self.save(doc):
                self._close(doc, keep=doc.is_dirty)  # typed while it was saved

        self.run_worker(go(), group="edit.save", exit_on_error=False)

    def _close(self, doc: OpenDoc, *, keep: bool = False) -> None:
        if self.docs.get(doc.file.path) is not doc:
            return  # closed meanwhile
        if keep:
            self._write_draft(doc)
            if not doc.drafted:
                self.workbench.tell(
                    f"{doc.file.name} stays open: its text cannot be saved as a draft", severity="error"
                )
                return
        del self.docs[doc.file.path]
        doc.area.remove()
        if doc is self.current:
            self._show_another()
        self.refresh_tabs()
        self.workbench.refresh_status()

    def _show_another(self) -> None:
        self.current = None
        self.completing.close()
        if self.docs:
            self.show_doc(next(reversed(self.docs.values())))
        else:
            self.query_one("#edit-empty").display = True
            self.query_one("#edit-empty").focus()
            self.query_one("#problem-list").display = False
            self.explained("")

    # Saving

    def action_save(self) -> None:
        """Write what is shown, and run what that affects."""
        doc = self.current
        if doc is not None:
            self.run_worker(self._save_and_tell(doc), group="edit.save", exit_on_error=False)

    async def _save_and_tell(self, doc: OpenDoc) -> None:
        if await self.save(doc):
            doc.listed = True
            await self.check_now(doc)
            self.show_list(doc)
            self.call_after_refresh(self.tell_of_save, doc)  # what it begins would hold up the drawing

    async def tell_of_save(self, doc: OpenDoc) -> None:
        """The app reads the suites anew and runs what the watch mode says."""
        path = doc.file.path
        documents = self.workbench.store.documents
        is_suite = doc.document is not None and bool(doc.document.tests or doc.document.servers)
        if path not in documents and not doc.owners(documents) and is_suite:
            await self.workbench.open_document(path)
        self.workbench.documents_changed([path])

    async def save_all(self) -> bool:
        """Every file with text that the disk does not have, in turn; up to the first that could not be written."""
        for doc in list(self.docs.values()):
            if doc.is_dirty and not await self.save(doc):
                self.show_doc(doc)
                return False
        return True

    async def save(self, doc: OpenDoc, *, over: str = "") -> bool:
        """Write the file; False when it was not written, which was said or asked.

        `over` is the digest of what others wrote, for writing over it. One after the other: the text that was typed last must
        not be on the disk before an older one.
        """
        async with doc.saving:
            return await self._save(doc, over)

    async def _save(self, doc: OpenDoc, over: str) -> bool:
        if doc.file.read_only:
            self.workbench.tell(f"{doc.file.name} is read-only here: {doc.file.read_only}", severity="warning")
            return False
        text = doc.text
        now = await asyncio.to_thread(look, doc.file.path)
        if now.exists and now.digest not in (doc.file.disk.digest, over):
            there = await asyncio.to_thread(read_there, doc.file.path)
            if there is not None and there.saved != text:
                self._dispute(doc, there)
                return False
        before = doc.file.saved
        try:
            await asyncio.to_thread(doc.file.save, text)
        except CannotSave as refused:
            draft = await asyncio.to_thread(self.drafts.put, self._draft_of(doc))
            hint = f"the text stays here, and is saved as a draft in {draft}" if draft else "the text stays here"
            self.workbench.tell(f"not saved: {refused}", severity="error", hint=hint)
            return False
        doc.disputed = False
        moved = self.rename_snapshots(doc, before)
        if not doc.is_dirty:
            self._keep_left_over(doc)
            self._drop_draft(doc)
        self.refresh_tabs()
        self.refresh_problem_line(doc)
        moved_too = f", and {counted(moved, 'snapshot')} of renamed tests" if moved else ""
        self.workbench.say(f"saved {self.title_of(doc)}{moved_too}")
        return True

    def action_run_test(self) -> None:
        """The test under the cursor, saved first: what runs is what stands on the disk."""
        doc = self.current
        if doc is not None:
            self.run_worker(self._run_test(doc), group="edit.save", exit_on_error=False)

    async def _run_test(self, doc: OpenDoc) -> None:
        await self.check_now(doc)
        test = self.test_at_cursor(doc)
        was_dirty = doc.is_dirty
        if was_dirty and not await self.save(doc):
            return
        if test is None:
            self.workbench.say("there is no test here", "warning")
        elif doc.document is not None and not doc.document.sound:
            doc.listed = True
            self.refresh_marks(doc)
            told = "saved, not run" if was_dirty else "not run"
            more = f"{key_of('edit.problem.next', typing=True)} goes through them"
            self.workbench.say(f"{told}: the suite has problems; {more}", "warning")
        else:
            doc.asked.add(test)
            known = self.workbench.store.documents
            suites = [document.path for document in doc.owners(known)] if doc.is_fragment(known) else [doc.file.path]
            await self.workbench.suites.read(suites)
            if test in self.workbench.store.rows:
                self.workbench.run_tests(self.workbench.store.rows[test].path, [test])
        await self.tell_of_save(doc)

    # The person's own editor

    def action_external(self) -> None:
        """`$EDITOR` at the line, with everything saved first, and read again after."""
        doc = self.current
        if doc is not None:
            self.run_worker(partial(self._external, doc), group="editor.external", exclusive=True, exit_on_error=False)  # type: ignore[arg-type]

    async def _external(self, doc: OpenDoc) -> None:
        from mcptest_tui.outside import edit_outside

        # Shielded: a second ctrl+e gives this worker up, and a save that has begun must end before the next begins.
        if doc.is_dirty and not await asyncio.shield(self.save(doc)):
            return
        if not edit_outside(self.app, Path(doc.file.path), doc.area.cursor_location[0] + 1):
            self.workbench.tell("no editor could be opened", severity="warning", hint="set VISUAL or EDITOR")
            return
        self.look_at_disk(doc)
        await self.tell_of_save(doc)


def _path_of(typed: str) -> Path:
    """What a person typed as a path; it may be anything, and os.path's functions never raise."""
    return Path(os.path.expanduser(typed.strip()))  # noqa: PTH111
