"""What others do to an open file: changed, changed on both sides, gone.

The surprising thing: a file that changed on both sides is asked about at once only when nobody is typing, because a question
that comes up under a typist's fingers is answered by the next letter.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_tui.places import path_here
from mcptest_tui.screens.edit_drafts import EditDrafts
from mcptest_tui.state.editor_model import EditorFile, digest_of, look, open_file, reason
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from mcptest_tui.screens.edit_docs import OpenDoc

TYPING_SECONDS = 1.5


class EditDisk(EditDrafts):
    """A mixin of the screen."""

    def look_at_all(self) -> None:
        """See whether any open file is different on the disk."""
        for doc in list(self.docs.values()):
            self.look_at_disk(doc)

    def look_at_disk(self, doc: OpenDoc) -> None:
        """Take what others wrote where nothing is lost by it; ask, or say so, where something is."""
        if doc.deciding or doc.saving.locked():
            return
        now = look(doc.file.path)
        if now.digest == doc.file.disk.digest or (not now.exists and doc.file.is_new):
            return
        if not now.exists:
            doc.file.disk = now
            doc.file.gone = True
            self.draft_soon()
            self.refresh_tabs()
            self.workbench.tell(
                f"{doc.file.name} was deleted on the disk",
                severity="warning",
                hint=f"its text stays here; {key_of('edit.save')} writes it anew",
            )
            return
        there = read_there(doc.file.path)
        if there is None:
            return
        if there.saved == doc.text:
            doc.file.take(there)
            doc.disputed = False
            self.refresh_tabs()
        elif not doc.is_dirty:
            self._take(doc, there)
            self.workbench.say(f"{doc.file.name} was changed elsewhere and has been read again")
        elif (
            doc is self.current and self.is_active and doc.idle_seconds > TYPING_SECONDS and now.digest != doc.postponed
        ):
            self._dispute(doc, there)
        elif not doc.disputed:
            doc.disputed = True
            self.refresh_problem_line(doc)
            self.workbench.tell(
                f"{doc.file.name} has changed on the disk as well",
                severity="warning",
                hint=f"{key_of('edit.save')} asks which to keep"
                if self.is_active
                else f"{key_of('app.mode.2', typing=True)} goes to its text; a save there asks which to keep",
            )

    def action_reload(self) -> None:
        """What the disk has, as an edit that can be undone."""
        doc = self.current
        there = read_there(doc.file.path) if doc is not None else None
        if doc is None or there is None:
            self.workbench.say("the file is not on the disk", "warning")
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
            self._drop_draft(doc)
        self.refresh_tabs()
        self.check_soon(doc)

    def _dispute(self, doc: OpenDoc, there: EditorFile) -> None:
        """Both sides have changed: a person decides, and what is not taken is put aside."""
        doc.disputed = True
        self._ask(
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
                "d": lambda: self._show_difference(
                    doc.file.name, there.saved, doc.text, "on the disk", "here", lambda: self._dispute(doc, there)
                ),
                "": lambda: self._postpone(doc, there),
            },
        )

    def _postpone(self, doc: OpenDoc, there: EditorFile) -> None:
        doc.postponed = there.disk.digest
        self.refresh_problem_line(doc)

    def _keep_mine(self, doc: OpenDoc) -> None:
        async def go() -> None:
            try:
                written = await self._write_over(doc)
            finally:
                doc.deciding = False
            if written:
                self.look_at_disk(doc)  # for what came meanwhile

        doc.deciding = True
        self.run_worker(go(), group="edit.save", exit_on_error=False)

    async def _write_over(self, doc: OpenDoc) -> bool:
        try:
            over, kept = await asyncio.to_thread(self._put_theirs_aside, doc.file.path)
        except OSError as wrong:
            self.workbench.tell(
                f"theirs cannot be saved as a draft, so nothing was written: {reason(wrong)}",
                severity="error",
                hint=f"your text stays here; {key_of('edit.save')} asks again",
            )
            return False
        written = await self.save(doc, over=over)
        if written:
            await self.tell_of_save(doc)
            self._say_kept("theirs", kept)
        return written

    def _put_theirs_aside(self, path: str) -> tuple[str, Path | None]:
        """The digest of what others wrote, byte for byte in the file beside it. Raises: OSError."""
        try:
            theirs = Path(path).read_bytes()  # it may have changed once more while the question stood there
        except FileNotFoundError:
            return "", None
        kept = self.drafts.keep(path, theirs, "theirs")
        if kept is None:
            raise OSError("no folder takes it")
        return digest_of(theirs), kept

    def _take_theirs(self, doc: OpenDoc) -> None:
        there = read_there(doc.file.path)
        kept = self.drafts.keep(doc.file.path, doc.text, "mine")
        if there is None or kept is None:
            self.workbench.tell("your text cannot be saved as a draft, so nothing was changed", severity="error")
            return
        self._take(doc, there)
        self._say_kept("mine", kept)

        async def go() -> None:
            await self.check_now(doc)
            await self.tell_of_save(doc)

        self.run_worker(go(), group="edit.save", exit_on_error=False)

    def _say_kept(self, whose: str, kept: Path | None) -> None:
        if kept is not None:
            self.workbench.tell(f"{whose} is kept", hint=path_here(str(kept)))


def read_there(path: str) -> EditorFile | None:
    """What the disk has, None when it cannot be read."""
    try:
        there = open_file(path)
    except OSError:
        return None
    return there if there.disk.exists else None
