"""Saving and closing files, and reacting when an open file was changed or deleted on the disk.

A question about a file that changed on both sides is asked at once only when nobody is typing; otherwise the next key
typed would answer it.
"""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.core.text import counted
from mcptest_tui.places import path_here
from mcptest_tui.screens.base import in_background
from mcptest_tui.screens.edit_files import FileController, OpenFiles
from mcptest_tui.state.editor_model import CannotSave, EditorFile, digest_of, look, open_file, reason
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_tui.screens.base import WorkScreen
    from mcptest_tui.screens.edit_checks import Diagnostics
    from mcptest_tui.screens.edit_docs import OpenDoc
    from mcptest_tui.screens.edit_drafts import Drafting, Questions
    from mcptest_tui.screens.edit_refactoring import Refactoring

TYPING_SECONDS = 1.5


class Saving(FileController):
    """Saves and closes files, and reads what others wrote; implements `Editor` for the rest of the workbench."""

    def __init__(
        self,
        screen: WorkScreen,
        files: OpenFiles,
        questions: Questions,
        drafting: Drafting,
        diagnostics: Diagnostics,
        refactoring: Refactoring,
    ) -> None:
        super().__init__(screen, files)
        self._questions, self._drafting = questions, drafting
        self._diagnostics, self._refactoring = diagnostics, refactoring

    # What the rest of the workbench asks of the editor

    def unsaved_names(self) -> list[str]:
        """Return the names of files whose text differs from the disk."""
        return [self.files.title_of(doc) for doc in self.files.unsaved]

    def unsaved_text(self, path: str) -> str | None:
        """Return the editor's text of a file if it differs from the disk, else None."""
        doc = self.files.docs.get(os.path.abspath(path))  # noqa: PTH100
        return doc.text if doc is not None and doc.is_dirty else None

    def change_text(self, path: str, text: str) -> None:
        """Replace the text of an open file by one edit, which can be undone."""
        self.files.docs[os.path.abspath(path)].area.become(text)  # noqa: PTH100

    def flush_drafts(self) -> None:
        """Write drafts of all unsaved text now."""
        self._drafting.flush()

    def open_paths(self) -> Iterable[str]:
        """Return the paths of the open files."""
        return self.files.docs

    # Saving

    def action_save(self) -> None:
        """Save the file that is shown, check it, and run what the watch mode selects."""
        doc = self.files.current
        if doc is not None:
            self.screen.run_worker(self._save_and_check(doc), group="edit.save", exit_on_error=False)

    async def _save_and_check(self, doc: OpenDoc) -> None:
        if await self.save(doc):
            doc.listed = True
            await self._diagnostics.check_now(doc)
            self._diagnostics.show_list(doc)
            self.screen.call_after_refresh(self.announce, doc)  # what it begins would hold up the drawing

    async def announce(self, doc: OpenDoc) -> None:
        """Have the app read the suites again and run what the watch mode selects."""
        path = doc.file.path
        documents = self.workbench.store.documents
        is_suite = doc.document is not None and bool(doc.document.tests or doc.document.servers)
        if path not in documents and not doc.owners(documents) and is_suite:
            await self.workbench.open_document(path)
        self.workbench.documents_changed([path])

    async def save_all(self) -> bool:
        """Save all unsaved files; stop, show the file and return False when one cannot be written."""
        for doc in self.files.unsaved:
            if doc.is_dirty and not await self.save(doc):
                self.files.show(doc)
                return False
        return True

    async def save(self, doc: OpenDoc, *, over: str = "") -> bool:
        """Write the file; return False when it was not written, for which a message or a question is shown.

        `over` is the digest of what others wrote and may be overwritten. Saves of a file run one after the other, so that an
        older text never overwrites a newer one.
        """
        async with doc.saving:
            return await self._save(doc, over)

    async def _save(self, doc: OpenDoc, over: str) -> bool:
        if doc.file.read_only:
            self.workbench.messages.notify(
                f"{doc.file.name} is read-only here: {doc.file.read_only}", severity="warning"
            )
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
            draft = await self._drafting.write_async(doc)
            hint = f"the text stays here, and is saved as a draft in {draft}" if draft else "the text stays here"
            self.workbench.messages.notify(f"not saved: {refused}", severity="error", hint=hint)
            return False
        doc.disputed = False
        moved = self._refactoring.rename_snapshots(doc, before)
        if not doc.is_dirty:
            self._drafting.saved(doc)
        self.files.refresh_tabs()
        self._diagnostics.refresh_line(doc)
        moved_too = f", and {counted(moved, 'snapshot')} of renamed tests" if moved else ""
        self.workbench.messages.show(f"saved {self.files.title_of(doc)}{moved_too}")
        return True

    # Running, and the person's own editor

    def action_run_test(self) -> None:
        """Save the file, because runs read the disk, and run the test under the cursor."""
        doc = self.files.current
        if doc is not None:
            self.screen.run_worker(self._run_test(doc), group="edit.save", exit_on_error=False)

    async def _run_test(self, doc: OpenDoc) -> None:
        await self._diagnostics.check_now(doc)
        test = doc.test_at_cursor(self.workbench.store.documents)
        was_dirty = doc.is_dirty
        if was_dirty and not await self.save(doc):
            return
        if test is None:
            self.workbench.messages.show("there is no test here", "warning")
        elif doc.document is not None and not doc.document.sound:
            doc.listed = True
            self._diagnostics.refresh_marks(doc)
            told = "saved, not run" if was_dirty else "not run"
            more = f"{key_of('edit.problem.next', typing=True)} goes through them"
            self.workbench.messages.show(f"{told}: the suite has problems; {more}", "warning")
        else:
            doc.asked.add(test)
            known = self.workbench.store.documents
            suites = [document.path for document in doc.owners(known)] if doc.is_fragment(known) else [doc.file.path]
            await self.workbench.suites.read(suites)
            if test in self.workbench.store.rows:
                self.workbench.runs.start(self.workbench.store.rows[test].path, [test])
        await self.announce(doc)

    def action_external(self) -> None:
        """Save the file, open it at the cursor's line in `$EDITOR`, and read it again."""
        doc = self.files.current
        if doc is not None:
            in_background(self.screen, partial(self._external, doc), "editor.external")

    async def _external(self, doc: OpenDoc) -> None:
        from mcptest_tui.outside import edit_outside

        # Shielded: a second ctrl+e gives this worker up, and a save that has begun must end before the next begins.
        if doc.is_dirty and not await asyncio.shield(self.save(doc)):
            return
        if not edit_outside(self.workbench, Path(doc.file.path), doc.area.cursor_location[0] + 1):
            self.workbench.messages.notify("no editor could be opened", severity="warning", hint="set VISUAL or EDITOR")
            return
        self.look_at_disk(doc)
        await self.announce(doc)

    # Closing

    def action_close(self) -> None:
        """Close the file that is shown; ask first if its text is unsaved."""
        doc = self.files.current
        if doc is None:
            return
        if not doc.is_dirty:
            self.close(doc)
            return
        self._questions.show(
            f"Close {doc.file.name} without saving?",
            ["Its text is saved as a draft, which is offered when you open the file again."],
            (("s", "save and close"), ("c", "close"), ("n", "stay")),
            {"s": lambda: self.save_and_close(doc), "c": lambda: self.close(doc, keep=True)},
        )

    def save_and_close(self, doc: OpenDoc) -> None:
        """Save a file, and close it if that succeeded."""

        async def go() -> None:
            if await self.save(doc):
                self.close(doc, keep=doc.is_dirty)  # typed while it was saved

        self.screen.run_worker(go(), group="edit.save", exit_on_error=False)

    def close(self, doc: OpenDoc, *, keep: bool = False) -> None:
        """Close a file; with `keep`, save its text as a draft first, and stay open if that fails."""
        if self.files.docs.get(doc.file.path) is not doc:
            return  # closed meanwhile
        if keep and not self._drafting.write(doc):
            self.workbench.messages.notify(
                f"{doc.file.name} stays open: its text cannot be saved as a draft", severity="error"
            )
            return
        self.files.remove(doc)

    # What others wrote

    def look_at_all(self) -> None:
        """Compare all open files with the disk."""
        for doc in list(self.files.docs.values()):
            self.look_at_disk(doc)

    def look_at_disk(self, doc: OpenDoc) -> None:
        """Read what others wrote if no text is lost by it; otherwise ask, or show a message."""
        if doc.deciding or doc.saving.locked():
            return
        now = look(doc.file.path)
        if now.digest == doc.file.disk.digest or (not now.exists and doc.file.is_new):
            return
        if not now.exists:
            doc.file.disk = now
            doc.file.gone = True
            self._drafting.write_soon()
            self.files.refresh_tabs()
            self.workbench.messages.notify(
                f"{doc.file.name} was deleted on the disk",
                severity="warning",
                hint=f"its text stays here; {key_of('edit.save')} writes the file again",
            )
            return
        there = read_there(doc.file.path)
        if there is None:
            return
        is_active = self.screen.is_active
        if there.saved == doc.text:
            doc.file.take(there)
            doc.disputed = False
            self.files.refresh_tabs()
        elif not doc.is_dirty:
            self._take(doc, there)
            self.workbench.messages.show(f"{doc.file.name} was changed elsewhere and has been read again")
        elif (
            doc is self.files.current
            and is_active
            and doc.idle_seconds > TYPING_SECONDS
            and now.digest != doc.postponed
        ):
            self._dispute(doc, there)
        elif not doc.disputed:
            doc.disputed = True
            self._diagnostics.refresh_line(doc)
            self.workbench.messages.notify(
                f"{doc.file.name} has changed on the disk as well",
                severity="warning",
                hint=f"{key_of('edit.save')} asks which to keep"
                if is_active
                else f"{key_of('app.mode.2', typing=True)} goes to its text; a save there asks which to keep",
            )

    def action_reload(self) -> None:
        """Read the file from the disk again, as an edit that can be undone."""
        doc = self.files.current
        there = read_there(doc.file.path) if doc is not None else None
        if doc is None or there is None:
            self.workbench.messages.show("the file is not on the disk", "warning")
        elif doc.is_dirty:
            self._dispute(doc, there)
        else:
            self._take(doc, there)

    def _take(self, doc: OpenDoc, there: EditorFile) -> None:
        doc.file.take(there)
        doc.area.become(there.saved)
        doc.area.read_only = bool(there.read_only)
        doc.disputed = False
        if doc.drafted and not doc.is_dirty:
            self._drafting.drop(doc)
        self.files.refresh_tabs()
        self._diagnostics.check_soon(doc)

    def _dispute(self, doc: OpenDoc, there: EditorFile) -> None:
        """Ask which text to keep after both sides changed; the other is saved as a draft."""
        doc.disputed = True

        def postpone() -> None:
            doc.postponed = there.disk.digest
            self._diagnostics.refresh_line(doc)

        self._questions.show(
            f"{doc.file.name} has changed on the disk, and here",
            ["The other text is saved in .mcptest/cache/drafts."],
            (
                ("m", "keep mine: overwrite theirs"),
                ("t", "take theirs"),
                ("d", "show the difference"),
                ("l", "later"),
            ),
            {
                "m": lambda: self._keep_mine(doc),
                "t": lambda: self._take_theirs(doc),
                "d": lambda: self._questions.show_difference(
                    doc.file.name, there.saved, doc.text, "on the disk", "here", lambda: self._dispute(doc, there)
                ),
                "": postpone,
            },
        )

    def _keep_mine(self, doc: OpenDoc) -> None:
        async def go() -> None:
            try:
                written = await self._write_over(doc)
            finally:
                doc.deciding = False
            if written:
                self.look_at_disk(doc)  # for what came meanwhile

        doc.deciding = True
        self.screen.run_worker(go(), group="edit.save", exit_on_error=False)

    async def _write_over(self, doc: OpenDoc) -> bool:
        try:
            over, kept = await asyncio.to_thread(self._put_theirs_aside, doc.file.path)
        except OSError as wrong:
            self.workbench.messages.notify(
                f"their text cannot be saved as a draft, so nothing was written: {reason(wrong)}",
                severity="error",
                hint=f"your text stays here; {key_of('edit.save')} asks again",
            )
            return False
        written = await self.save(doc, over=over)
        if written:
            await self.announce(doc)
            if kept is not None:
                self.workbench.messages.notify("their text is saved as a draft", hint=path_here(str(kept)))
        return written

    def _put_theirs_aside(self, path: str) -> tuple[str, Path | None]:
        """Store a copy of what others wrote; return its digest and the copy's path. Raises: OSError."""
        try:
            theirs = Path(path).read_bytes()  # it may have changed once more while the question stood there
        except FileNotFoundError:
            return "", None
        kept = self._drafting.drafts.keep(path, theirs, "theirs")
        if kept is None:
            raise OSError("no folder is writable")
        return digest_of(theirs), kept

    def _take_theirs(self, doc: OpenDoc) -> None:
        there = read_there(doc.file.path)
        kept = self._drafting.drafts.keep(doc.file.path, doc.text, "mine")
        if there is None or kept is None:
            self.workbench.messages.notify(
                "your text cannot be saved as a draft, so nothing was changed", severity="error"
            )
            return
        self._take(doc, there)
        self.workbench.messages.notify("your text is saved as a draft", hint=path_here(str(kept)))

        async def go() -> None:
            await self._diagnostics.check_now(doc)
            await self.announce(doc)

        self.screen.run_worker(go(), group="edit.save", exit_on_error=False)


def read_there(path: str) -> EditorFile | None:
    """Read a file from the disk; None when it is missing or cannot be read."""
    try:
        there = open_file(path)
    except OSError:
        return None
    return there if there.disk.exists else None
