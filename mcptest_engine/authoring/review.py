"""The review loop: all items that wait for a person, as one list, and the writing of decisions.

`look` reads, `decide` writes, `undo` undoes the last write. Nothing here asks a person: the command and the workbench do. An
accepted item is found again in the current file; if that has changed meanwhile, the item is refused, and waits.
"""

from __future__ import annotations

import difflib
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.authoring import review_memory as memory
from mcptest_engine.authoring.review_edits import AcceptedItem, edited
from mcptest_engine.authoring.review_items import Choice, FileChange, RefusedItem, Reviewed, ReviewItem, Undone
from mcptest_engine.authoring.review_sources import Sources, path_of, proposal_id
from mcptest_engine.authoring.review_texts import SuiteText, Unreadable
from mcptest_engine.core.errors import McptestError, UsageError
from mcptest_engine.core.values import dataclass
from mcptest_engine.workspace.files import read_named_file, remove_file
from mcptest_engine.workspace.proposals import drop_proposal, proposal_in, read_proposals, save_proposal
from mcptest_engine.workspace.snapshots import load_values, pending_path, read_snapshots, snapshot_bytes
from mcptest_engine.workspace.suite_file import write_suite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.workspace.workspace import Workspace

__all__ = [
    "Choice",
    "FileChange",
    "RefusedItem",
    "ReviewItem",
    "Reviewed",
    "Undone",
    "Waiting",
    "changed_lines",
    "decide",
    "look",
    "preview",
    "undo",
]

_TRIES = 3
_REMEMBERED = ("run", "mutate", "init")
"""Sources that would propose a rejected change again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """All items that wait. A stale item cannot be accepted, for the given reason, only rejected. `problems` are unreadable
    files.
    """

    items: tuple[ReviewItem, ...]
    stale: tuple[tuple[ReviewItem, str], ...] = ()
    problems: tuple[str, ...] = ()


def look(workspace: Workspace, suites: Sequence[Path] | None = None, *, only_snapshots: bool = False) -> Waiting:
    """All items that wait, in the order of suite paths; `suites` restricts it to those. Writes nothing."""
    sources = Sources(workspace, suites)
    sources.look(only_snapshots=only_snapshots)
    return Waiting(items=tuple(sources.items), stale=tuple(sources.stale), problems=tuple(sources.problems))


def decide(workspace: Workspace, decisions: Sequence[tuple[ReviewItem, Choice, str | None]]) -> Reviewed:
    """Carry decisions out: each file is read once and written once, completely. The third of each is the edited `after`, or
    None.

    An accepted item is refused and waits on if its place no longer exists, it would make the suite invalid, or its file cannot
    be written; the others are written. Raises: OSError when `.mcptest/` itself cannot be written.
    """
    deciding = _Deciding(workspace)
    for suite, wanted in _grouped(decisions).items():
        deciding.edit_suite(suite, wanted)
    deciding.edit_snapshots(decisions)
    deciding.reject([item for item, choice, _ in decisions if choice is Choice.REJECT and item.kind != "snapshot"])
    deciding.skipped = [item for item, choice, _ in decisions if choice is Choice.SKIP]
    reviewed = deciding.reviewed()
    if reviewed.written or reviewed.forgotten:
        memory.save_undo(workspace, reviewed)
    return reviewed


def preview(workspace: Workspace, item: ReviewItem, fragment: str) -> str | None:
    """What is wrong with `fragment` as the item's `after`; None when it could be accepted."""
    if item.kind == "snapshot":
        try:
            _snapshot_value(item, fragment)
        except McptestError as wrong:
            return wrong.message
        return None
    try:
        text = SuiteText.read(path_of(workspace, item.suite))
    except Unreadable as wrong:
        return wrong.message
    made = edited(text, [AcceptedItem(item, fragment)], root=workspace.root)
    return made.refused[0][1] if made.refused else None


def undo(workspace: Workspace, reviewed: Reviewed | None = None) -> Undone:
    """Undo the last write, or `reviewed`: every file byte for byte; its items wait again.

    All or nothing: if one file was changed since, nothing is written and `refused` says which. Raises: OSError, UsageError when
    there is nothing to undo.
    """
    last = memory.read_undo(workspace) if reviewed is None else reviewed
    if last is None or not (last.written or last.forgotten):
        raise UsageError("there is nothing to undo", hint="only the last write of a review can be undone")
    changed = [file for file in last.written if _bytes_of(Path(file.path)) != file.after]
    if changed:
        refused = tuple((_relative(workspace, file.path), "it has changed since then") for file in changed)
        return Undone(refused=refused)
    _put_back(last.written)
    memory.forget_rejected(workspace, [str(one["rejected"]) for one in last.forgotten if "rejected" in one])
    for one in last.forgotten:
        if (proposal := proposal_in(one.get("proposal"))) is not None:
            save_proposal(workspace, proposal)
    memory.drop_undo(workspace)
    return Undone(restored=tuple(_relative(workspace, file.path) for file in last.written))


def _put_back(files: Sequence[FileChange]) -> None:
    """Restore every file, or none of them. Raises: OSError."""
    done: list[FileChange] = []
    try:
        for file in files:
            _put(Path(file.path), file.before)
            done.append(file)
    except OSError:
        for file in done:
            with suppress(OSError):
                _put(Path(file.path), file.after)
        raise


def changed_lines(item: ReviewItem) -> Iterator[tuple[str, str]]:
    """`before` and `after` line by line: "-", "+" or " ", and the line."""
    before, after = item.before.split("\n") if item.before else [], item.after.split("\n") if item.after else []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for what, start, end, new, new_end in matcher.get_opcodes():
        if what == "equal":
            yield from ((" ", line) for line in before[start:end])
        else:
            yield from (("-", line) for line in before[start:end])
            yield from (("+", line) for line in after[new:new_end])


class _Deciding:
    """The state while decisions are carried out: what was written, and which items no longer wait."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._written: list[FileChange] = []
        self._accepted: list[ReviewItem] = []
        self._rejected: list[ReviewItem] = []
        self._refused: list[RefusedItem] = []
        self._forgotten: list[Mapping[str, object]] = []
        self.skipped: list[ReviewItem] = []

    def reviewed(self) -> Reviewed:
        return Reviewed(
            written=tuple(self._written),
            accepted=tuple(self._accepted),
            rejected=tuple(self._rejected),
            skipped=tuple(self.skipped),
            refused=tuple(self._refused),
            forgotten=tuple(self._forgotten),
        )

    def edit_suite(self, suite: str, wanted: Sequence[AcceptedItem]) -> None:
        """Write the accepted items of one suite."""
        items = [one.item for one in wanted]
        for _ in range(_TRIES):
            try:
                path = path_of(self._workspace, suite)
                text = SuiteText.read(path)
            except Unreadable as wrong:
                self._refuse(items, wrong.message)
                return
            made = edited(text, wanted, root=self._workspace.root)
            if _bytes_of(path) != text.data:
                continue  # an editor was faster: its text counts
            if made.accepted and not self._write({path: (text.data, made.text.data)}, made.accepted):
                self._refused += [RefusedItem(item=item, reason=reason) for item, reason in made.refused]
                return
            self._refused += [RefusedItem(item=item, reason=reason) for item, reason in made.refused]
            self._forget(made.accepted)
            return
        self._refuse(items, f"{suite} changes faster than it can be edited")

    def edit_snapshots(self, decisions: Sequence[tuple[ReviewItem, Choice, str | None]]) -> None:
        """Move accepted values into the accepted file, and remove them and the rejected ones from the pending one."""
        by_file: dict[str, list[tuple[ReviewItem, Choice, str | None]]] = {}
        for item, choice, fragment in decisions:
            if item.kind == "snapshot" and choice is not Choice.SKIP:
                by_file.setdefault(item.origin, []).append((item, choice, fragment))
        for origin, chosen in by_file.items():
            self._edit_snapshot_file(self._workspace.root / origin, chosen)

    def reject(self, items: Sequence[ReviewItem]) -> None:
        """Drop rejected proposals, and store rejected changes of failed tests. Raises: OSError."""
        memory.remember_rejected(self._workspace, [item.id for item in items if item.source in _REMEMBERED])
        self._forgotten += [{"rejected": item.id} for item in items if item.source in _REMEMBERED]
        self._forget(items)
        self._rejected += items

    def _edit_snapshot_file(self, path: Path, chosen: Sequence[tuple[ReviewItem, Choice, str | None]]) -> None:
        waiting = pending_path(path)
        try:
            if path.parent != self._workspace.snapshots_dir:
                raise UsageError("it is not a snapshot of this workspace")
            old_values, old_waiting = _bytes_of(path), _bytes_of(waiting)
            values, pending = read_snapshots(path), read_snapshots(waiting)
        except UsageError as wrong:
            self._refuse([item for item, _, _ in chosen], wrong.message)
            return
        accepted, rejected = [], []
        for item, choice, fragment in chosen:
            name = item.test_name
            there = [values[name]] if name in values else []
            if repr(there) != repr(item.was) or name not in pending or repr(pending[name]) != repr(item.value):
                self._refuse([item], "another run has changed this snapshot since; look at it again")
                continue
            if choice is Choice.ACCEPT:
                try:
                    values[name] = item.value if fragment is None else _snapshot_value(item, fragment)
                except McptestError as wrong:
                    self._refuse([item], wrong.message)
                    continue
                accepted.append(item)
            else:
                rejected.append(item)
            del pending[name]
        files = {waiting: (old_waiting, snapshot_bytes(waiting, pending))}
        if accepted:
            files = {path: (old_values, snapshot_bytes(path, values)), **files}
        if accepted or rejected:
            self._write(files, [*accepted, *rejected], rejected=rejected)

    def _write(
        self,
        files: Mapping[Path, tuple[bytes | None, bytes | None]],
        items: Sequence[ReviewItem],
        *,
        rejected: Sequence[ReviewItem] = (),
    ) -> bool:
        """Write the files of some items; if one fails, the files before it are restored and the items refused."""
        done: list[FileChange] = []
        for path, (before, after) in files.items():
            try:
                if before != after:
                    _put(path, after)
                    done.append(FileChange(path=os.path.realpath(path), before=before, after=after))
            except OSError as wrong:
                for file in done:
                    with suppress(OSError):
                        _put(Path(file.path), file.before)
                reason = (wrong.strerror or str(wrong)).lower()
                self._refuse(items, f"cannot write {_relative(self._workspace, str(path))}: {reason}")
                return False
        self._written += done
        self._accepted += [item for item in items if item not in rejected]
        self._rejected += rejected
        return True

    def _refuse(self, items: Iterable[ReviewItem], reason: str) -> None:
        self._refused += [RefusedItem(item=item, reason=reason) for item in items]

    def _forget(self, items: Iterable[ReviewItem]) -> None:
        """Remove the stored proposals of these items; undo can restore them. Raises: OSError."""
        ids = {item.id for item in items if item.source not in ("run", "snapshot")}
        for stored in read_proposals(self._workspace) if ids else ():
            if proposal_id(stored) in ids:
                self._forgotten.append({"proposal": asdict(stored)})
                drop_proposal(self._workspace, stored.id)


def _grouped(decisions: Iterable[tuple[ReviewItem, Choice, str | None]]) -> dict[str, list[AcceptedItem]]:
    """The accepted items of suites, by file."""
    found: dict[str, list[AcceptedItem]] = {}
    for item, choice, fragment in decisions:
        if choice is Choice.ACCEPT and item.kind != "snapshot":
            own = None if fragment is None or fragment == item.after else fragment
            found.setdefault(item.suite, []).append(AcceptedItem(item, own))
    return found


def _snapshot_value(item: ReviewItem, fragment: str) -> object:
    """The value that an edited snapshot holds. Raises: UsageError."""
    import yaml

    try:
        found = load_values(fragment)
    except (yaml.YAMLError, RecursionError) as wrong:
        problem = getattr(wrong, "problem", None) or "it is not YAML"
        raise UsageError(f"the edited text cannot be read: {problem}") from None
    if not isinstance(found, dict) or len(found) != 1 or str(next(iter(found))) != item.test_name:
        raise UsageError("the edited text must be the snapshot's name and its value, and nothing else")
    return next(iter(found.values()))


def _put(path: Path, data: bytes | None) -> None:
    """Write a file, or remove it where `data` is None. Raises: OSError."""
    if data is None:
        remove_file(path)
    else:
        write_suite(path, data)


def _bytes_of(path: Path) -> bytes | None:
    try:
        return read_named_file(path)
    except OSError:
        return None


def _relative(workspace: Workspace, path: str) -> str:
    return workspace.relative(Path(path))
