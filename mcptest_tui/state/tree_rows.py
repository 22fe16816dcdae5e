"""The list of tests as rows: suites, their blocks, their tests, and what is wrong with a suite that does not load.

One flat list that is built in one pass and then only counted on: a result moves numbers, never rows. Groups are open or closed
by the person first, then by a failure in them, then by how many tests there are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from mcptest_tui.state.filters import Filter, parse_filter
from mcptest_tui.state.test_row import STATUSES, TestRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcptest_engine.running.documents import Diagnostic
    from mcptest_tui.state.store import Moved, Store

Order = Literal["file", "slowest", "failed"]
ORDERS: tuple[Order, ...] = ("file", "slowest", "failed")
ORDER_WORDS = {"file": "file order", "slowest": "slowest first", "failed": "failed first"}
OPEN_AT_ONCE = 300
PROBLEMS_SHOWN = 3
_ID, _STATUS, _WHERE = attrgetter("id"), attrgetter("status"), attrgetter("path", "block")
_RANK = {"fail": 0, "inconclusive": 1, "stopped": 2, "new": 3, "pass": 4, "skip": 5}
TO_SEE = ("fail", "inconclusive", "stopped")
"""Where the keys of the next failure stop: tests that ran, or were to run, and did not pass."""


@dataclass(slots=True, eq=False)
class Group:
    """A suite (depth 0) or one of its blocks (depth 1). `counts` are of the tests that are shown in it, by status."""

    id: str
    title: str
    depth: int
    path: str
    block: str = ""
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATUSES, 0))
    total: int = 0
    open: bool = True
    stale: float | None = None
    problems: int = 0


@dataclass(frozen=True, slots=True)
class Note:
    """A line about a problem of a suite, between the rows: its message, or its hint. Enter leads to its place."""

    id: str
    text: str
    is_hint: bool
    path: str
    file: str
    line: int
    column: int


Entry = Group | Note | TestRow


def group_id(path: str, block: str = "") -> str:
    """The id of a suite's row, or of a block's in it; no test has such an id."""
    return f"{path}\0{block}"


class TreeRows:
    """The rows of the list of tests; `entries` has all of them."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.filter: Filter = parse_filter("")
        self.order: Order = "file"
        self.folded: dict[str, bool] = {}
        self.shown = 0
        self.total = 0
        self.version = 0
        self._groups: dict[str, Group] = {}
        self._member: dict[TestRow, str] = {}
        """The tests that the filter lets through, each with the status by which it was counted last."""
        self._auto: set[str] = set()
        self._open_at_once = True
        self._filter_folds: dict[str, bool] = {}

    # Building

    def build(self, store: Store) -> None:
        """Build all rows anew from the tests of the store that match the filter."""
        self.version += 1
        rows = store.rows
        ordered = [rows[test] for test in store.order]
        chosen = self.filter.select(ordered)
        self.total, self.shown = len(ordered), len(chosen)
        self._member = dict(zip(chosen, map(_STATUS, chosen), strict=True))
        self._open_at_once = self.total <= OPEN_AT_ONCE or len(store.documents) <= 1
        self._groups = {}
        self.entries = self._grouped(store, chosen) if self.order == "file" else self._sorted(chosen)

    def position(self, name: str | None) -> int | None:
        """Return the index of the entry with this id, None without one."""
        return next((at for at, other in enumerate(map(_ID, self.entries)) if other == name), None)

    def grow(self, added: Iterable[TestRow]) -> bool:
        """Put rows at the end, where the store has put them; false when all has to be built anew."""
        added, entries, groups = tuple(added), self.entries, self._groups
        if not added:
            return True
        if self.order != "file" or not entries:
            return False
        for row in added:
            file, block = groups.get(group_id(row.path)), groups.get(group_id(row.path, row.block))
            if file is None or block is None:
                return False
            self.total += 1
            if not self.filter.matches(row):
                continue
            self.shown += 1
            self._count(row, file, block)
            if file.open and block.open:
                entries.append(row)
        return True

    def use_filter(self, text: str) -> None:
        """Apply another filter; groups folded under the previous one are open again."""
        self.filter = parse_filter(text)
        self._filter_folds = {}

    def update(self, moved: Iterable[Moved], finished: Iterable[str], store: Store) -> bool:
        """Update the groups' counts; return True when rows must be built anew."""
        due = False
        member, groups = self._member, self._groups
        path = block = None
        around: tuple[Group, ...] = ()
        for row, _, after in moved:
            if row in member:
                if row.path is not path or row.block is not block:
                    path, block = row.path, row.block
                    found = (groups.get(group_id(path)), groups.get(group_id(path, block)))
                    around = tuple(group for group in found if group is not None)
                before, now = member[row], row.status
                if before != now:  # else the rows were built since it moved
                    member[row] = now
                    for group in around:
                        group.counts[before] -= 1
                        group.counts[now] += 1
                if after == "fail" and self._open_by_itself(row):
                    due = True
            if self.filter.moving and not due and self.filter.matches(row) != (row in member):
                due = True
        if self.filter.moving and not due:
            rows = [store.rows[test] for test in finished if test in store.rows]
            due = any(self.filter.matches(row) != (row in member) for row in rows)
        return due

    def _grouped(self, store: Store, chosen: Sequence[TestRow]) -> list[Entry]:
        entries: list[Entry] = []
        file: Group | None = None
        waiting = dict.fromkeys(path for path in store.documents if not self.filter)
        for (path, _), part in groupby(chosen, key=_WHERE):
            if file is None or file.path != path:
                while waiting and path in waiting and (first := next(iter(waiting))) != path:
                    self._suite(first, store, entries)
                    del waiting[first]
                waiting.pop(path, None)
                file = self._suite(path, store, entries)
            rows = list(part)
            block = self._block(rows[0], file, entries)
            self._count_all(rows, file, block)
            if file.open and block.open:
                entries += rows
        for path in waiting:
            self._suite(path, store, entries)
        return entries

    def _count(self, row: TestRow, *groups: Group) -> None:
        self._member[row] = row.status
        for group in groups:
            group.counts[row.status] += 1
            group.total += 1

    def _count_all(self, rows: Sequence[TestRow], *groups: Group) -> None:
        """The same for many rows of a block, which a filter counts anew with every letter."""
        for status, number in Counter(map(_STATUS, rows)).items():
            for group in groups:
                group.counts[status] += number
                group.total += number

    def _suite(self, path: str, store: Store, entries: list[Entry]) -> Group:
        name = group_id(path)
        document = store.documents.get(path)
        group = Group(name, suite_title(path, store.documents), 0, path, open=self._is_open(name))
        group.stale = store.stale.get(path)
        self._groups[name] = group
        entries.append(group)
        if document is not None and not document.sound:
            errors = [item for item in document.diagnostics if item.severity == "error"] or list(document.diagnostics)
            group.problems = len(errors)
            for at, item in enumerate(errors[:PROBLEMS_SHOWN]):
                entries += _notes(path, at, item)
        return group

    def _block(self, row: TestRow, file: Group, entries: list[Entry]) -> Group:
        name = group_id(row.path, row.block)
        group = Group(name, row.block, 1, row.path, row.block, open=self._is_open(name))
        self._groups[name] = group
        if file.open:
            entries.append(group)
        return group

    def _sorted(self, chosen: Sequence[TestRow]) -> list[Entry]:
        if self.order == "slowest":
            return [*sorted(chosen, key=lambda row: -(row.own_ms if row.own_ms is not None else -1.0))]
        return [*sorted(chosen, key=lambda row: _RANK[row.standing])]

    # Folding

    def _is_open(self, name: str) -> bool:
        if self.filter:
            return self._filter_folds.get(name, True)
        if name in self.folded:
            return not self.folded[name]
        return self._open_at_once or name in self._auto

    def _open_by_itself(self, row: TestRow) -> bool:
        if self.filter or self.order != "file":
            return False
        opened = False
        for name in (group_id(row.path), group_id(row.path, row.block)):
            group = self._groups.get(name)
            if group is not None and name not in self._auto and not self.folded.get(name):
                self._auto.add(name)
                if not group.open:
                    opened = True
        return opened

    def fold(self, name: str, closed: bool | None = None) -> bool:
        """Close or open a group, or turn it round; false when that changes nothing."""
        group = self._groups.get(name)
        if group is None:
            return False
        closed = group.open if closed is None else closed
        if closed == (not group.open):
            return False
        if self.filter:
            self._filter_folds[name] = not closed
        else:
            self.folded[name] = closed
        return True

    def fold_all(self, closed: bool) -> None:
        """Every group; suites stay open when all is closed, so that their blocks are seen."""
        for name, group in self._groups.items():
            shut = closed and group.depth == 1
            if self.filter:
                self._filter_folds[name] = not shut
            else:
                self.folded[name] = shut

    def reveal(self, row: TestRow) -> bool:
        """Unfold the groups around a test; return True when that changed something."""
        return any([self.fold(group_id(row.path), False), self.fold(group_id(row.path, row.block), False)])

    def parent_of(self, entry: Entry) -> str | None:
        """Return the id of the group around an entry, None without one."""
        if isinstance(entry, TestRow):
            return group_id(entry.path, entry.block) if self.order == "file" else None
        return group_id(entry.path) if isinstance(entry, Note) or entry.depth else None

    # Asking

    def tests_of(self, name: str, store: Store) -> list[TestRow]:
        """The test of this id, or all that are shown in the group of this id, in file order, folded or not."""
        row = store.rows.get(name)
        if row is not None:
            return [row]
        path, _, block = name.partition("\0")
        return [
            row
            for test in store.order
            if (row := store.rows[test]).path == path and (not block or row.block == block) and row in self._member
        ]

    def shown_tests(self, store: Store) -> list[TestRow]:
        """Return every test that matches the filter, in file order."""
        return [row for test in store.order if (row := store.rows[test]) in self._member]

    def next_failure(self, after: str | None, step: int, store: Store) -> TestRow | None:
        """The next test that did not pass (with a negative step, the one before); from the other end when there is none."""
        rows: list[TestRow]
        if self.order == "file":
            rows = self.shown_tests(store)
        else:
            rows = [entry for entry in self.entries if isinstance(entry, TestRow)]
        failing = [at for at, row in enumerate(rows) if row.verdict in TO_SEE or row.status == "stopped"]
        if not failing:
            return None
        here = self._position(after, rows)
        ahead = [at for at in failing if (at > here if step > 0 else at < here)]
        return rows[(ahead or failing)[0 if step > 0 else -1]]

    def _position(self, name: str | None, rows: Sequence[TestRow]) -> float:
        """Where an entry stands among the tests; a group stands just before its first."""
        if name is None:
            return -1
        for at, row in enumerate(rows):
            if row.id == name:
                return at
            if name in (group_id(row.path), group_id(row.path, row.block)):
                return at - 0.5
        return -1

    def remember(self) -> dict[str, Any]:
        """Return what the session stores: the folded groups and the order."""
        return {"folded": {name: shut for name, shut in self.folded.items() if shut}, "order": self.order}

    def restore(self, memory: dict[str, Any]) -> None:
        """Apply what the session stored, which may have any shape."""
        folded = memory.get("folded")
        if isinstance(folded, dict):
            self.folded = {str(name): True for name, shut in folded.items() if shut is True}
        if memory.get("order") in ORDERS:
            self.order = memory["order"]


def suite_title(path: str, paths: Iterable[str]) -> str:
    """The file's name, with as many of its folders as tell it from the other suites."""
    others = [other for other in paths if other != path]
    parts = path.split("/")
    for taken in range(1, len(parts)):
        title = "/".join(parts[-taken:])
        if not any(other.endswith(f"/{title}") or other == title for other in others):
            return title
    return path


def _notes(path: str, at: int, item: Diagnostic) -> Iterator[Note]:
    """Return the rows of a message and of the hint below it."""
    yield Note(f"{path}\0\0{at}", item.message, False, path, item.file, item.line, item.column)
    if item.hint:
        yield Note(f"{path}\0\0{at} hint", item.hint, True, path, item.file, item.line, item.column)
