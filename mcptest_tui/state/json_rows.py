"""A JSON value as rows of a tree: what is open, where the cursor's node leads, what a search finds.

Values come pruned from the engine: a long text is `{"$cut": length, "text": beginning}`, a long container ends in `$more`. Rows
are made for what is open only, so a value of ten thousand nodes costs what is seen of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from mcptest_engine.core.clipping import compact
from mcptest_engine.core.targets import render

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Path = tuple[str | int, ...]
OPEN_ROWS = 200
SHOWN_TEXT = 200
MOST_FOUND = 5_000


class JsonRow(NamedTuple):
    """One row: a container, a scalar, or "more" (entries that were left out, beginning at `start`).

    `length` is the number of entries of a container, and of a text its characters.
    """

    path: Path
    key: str | int | None
    depth: int
    kind: str
    value: Any
    length: int
    open: bool
    start: int = 0


class JsonRows:
    """The tree of one value. `root` is what the paths to its nodes begin with, such as ("result",)."""

    def __init__(self, value: Any, *, root: Path = ()) -> None:
        self.value = value
        self.root = root
        self.rows: list[JsonRow] = []
        self._open: set[Path] = set(_first_open(value)) | {()}
        self._build()

    def again(self, value: object) -> JsonRows:
        """The tree of a newer value of the same kind, with the same things open."""
        rows = JsonRows(value, root=self.root)
        rows._open |= self._open
        rows._build()
        return rows

    # Folding

    def fold(self, at: int, closed: bool | None = None) -> bool:
        """Close or open the container of a row, or turn it round; false when that changes nothing."""
        row = self.rows[at]
        if row.kind not in ("object", "array") or not row.length:
            return False
        closed = row.open if closed is None else closed
        if closed != row.open:
            return False
        (self._open.discard if closed else self._open.add)(row.path)
        self._build()
        return True

    def fold_all(self, closed: bool) -> None:
        """Fold all containers but the outermost, or unfold all."""
        self._open = {()} if closed else {path for path, value in self._walk() if _is_container(value)}
        self._build()

    def parent(self, at: int) -> int | None:
        """Return the row of the container that contains row `at`."""
        depth = self.rows[at].depth
        return next((place for place in range(at - 1, -1, -1) if self.rows[place].depth < depth), None)

    def place_of(self, path: Path) -> int | None:
        """Unfold all containers around a node, and return its row."""
        needed = {path[:length] for length in range(len(path))} - self._open
        if needed:
            self._open |= needed
            self._build()
        return next((at for at, row in enumerate(self.rows) if row.path == path and row.kind != "more"), None)

    # Growing

    def extend(self, path: Path, more: object) -> None:
        """Put the next entries of a container, as the engine gave them, in the place of its "more" row."""
        holder = value_at(self.value, path)
        if isinstance(holder, list) and isinstance(more, list):
            if holder and _is_more(holder[-1]):
                holder.pop()
            holder.extend(more)
        elif isinstance(holder, dict) and isinstance(more, dict):
            holder.pop("$more", None)
            holder.update(more)
        self._build()

    # Searching

    def find(self, text: str) -> list[Path]:
        """The nodes whose key or value holds `text`, in document order, folded or not."""
        wanted = text.casefold()
        found: list[Path] = []
        for path, value in self._walk():
            key = str(path[-1]).casefold() if path and isinstance(path[-1], str) else ""
            if wanted in key or (not _is_container(value) and wanted in scalar_text(value).casefold()):
                found.append(path)
                if len(found) >= MOST_FOUND:
                    break
        return found

    # What is under the cursor

    def target(self, at: int) -> str:
        """Return a row's assertion path, such as `result.content[0].text`."""
        return render((*self.root, *self.rows[at].path))

    def _build(self) -> None:
        rows: list[JsonRow] = []
        top = _row((), None, -1, self.value, open_=True)  # the outermost braces would be a row that says nothing
        stack: list[Iterator[JsonRow]] = [self._members(top) if top.open else iter([top._replace(depth=0)])]
        while stack:
            row = next(stack[-1], None)
            if row is None:
                stack.pop()
                continue
            rows.append(row)
            if row.open:
                stack.append(self._members(row))
        self.rows = rows

    def _members(self, row: JsonRow) -> Iterator[JsonRow]:
        for number, (key, value) in enumerate(_entries(row.value)):
            path = (*row.path, key)
            if key == "$more" and _is_number(value):
                yield JsonRow(row.path, None, row.depth + 1, "more", value, 0, False, number)
            elif isinstance(row.value, list) and _is_more(value) and number == len(row.value) - 1:
                yield JsonRow(row.path, None, row.depth + 1, "more", value["$more"], 0, False, number)
            else:
                yield _row(path, key, row.depth + 1, value, open_=path in self._open)

    def _walk(self) -> Iterator[tuple[Path, Any]]:
        stack: list[tuple[Path, Any]] = [((), self.value)]
        while stack:
            path, value = stack.pop()
            yield path, value
            if _is_container(value):
                members = _entries(value)
                inside = [((*path, key), item) for key, item in members if key != "$more" or not _is_number(item)]
                stack.extend(reversed(inside))


def scalar_text(value: object) -> str:
    """A scalar as one reads it; of a text that was cut its beginning."""
    if isinstance(value, dict):
        return str(value.get("text", value.get("$file", "")))
    if isinstance(value, str):
        return value
    return compact(value, 400)


def preview(value: object, limit: int = 120) -> str:
    """Return a folded container as text on one line."""
    return compact(value, limit)[: limit + 1]


def value_at(value: Any, path: Sequence[str | int]) -> Any:
    """Return the value at a path, None when there is none."""
    for key in path:
        try:
            value = value[key]
        except (LookupError, TypeError):
            return None
    return value


def whole(value: object) -> bool:
    """Whether nothing was left out of a value."""
    stack = [value]
    while stack:
        item = stack.pop()
        if is_cut(item) or (isinstance(item, dict) and _is_number(item.get("$more"))):
            return False
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return True


def readable(value: Any) -> Any:
    """A value with the texts that were cut as texts again, ending in "…"; for reading, not for comparing lengths."""
    if is_cut(value):
        return f"{value['text']}…"
    if isinstance(value, dict):
        return {key: readable(member) for key, member in value.items()}
    return [readable(item) for item in value] if isinstance(value, list) else value


def is_cut(value: object) -> bool:
    """Whether the value stands for a text that was too long."""
    return (
        isinstance(value, dict)
        and len(value) == 2
        and _is_number(value.get("$cut"))
        and isinstance(value.get("text"), str)
    )


def _is_file(value: object) -> bool:
    return (
        isinstance(value, dict)
        and len(value) == 2
        and isinstance(value.get("$file"), str)
        and _is_number(value.get("bytes"))
    )


def _is_more(value: object) -> bool:
    return isinstance(value, dict) and len(value) == 1 and _is_number(value.get("$more"))


def _is_number(value: object) -> TypeGuard[int]:
    """How many were left out is a count; a server may use the same key for anything."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_container(value: object) -> bool:
    return isinstance(value, list) or (isinstance(value, dict) and not is_cut(value) and not _is_file(value))


def _entries(value: Any) -> Iterator[tuple[Any, Any]]:
    return iter(value.items()) if isinstance(value, dict) else iter(enumerate(value))


def _row(path: Path, key: str | int | None, depth: int, value: Any, *, open_: bool) -> JsonRow:
    if is_cut(value):
        return JsonRow(path, key, depth, "string", value["text"], value["$cut"], False)
    if _is_file(value):
        return JsonRow(path, key, depth, "file", value, 0, False)
    if isinstance(value, dict):
        more = value.get("$more")
        length = len(value) - 1 + more if _is_number(more) else len(value)
        return JsonRow(path, key, depth, "object", value, length, open_ and bool(value))
    if isinstance(value, list):
        length = len(value) - 1 + value[-1]["$more"] if value and _is_more(value[-1]) else len(value)
        return JsonRow(path, key, depth, "array", value, length, open_ and bool(value))
    if isinstance(value, str):
        return JsonRow(path, key, depth, "string", value, len(value), False)
    kind = "boolean" if isinstance(value, bool) else "null" if value is None else "number"
    return JsonRow(path, key, depth, kind, value, 0, False)


def _first_open(value: object) -> Iterator[Path]:
    """What is open at first: level by level, as long as it all fits into a screen or five."""
    room = OPEN_ROWS
    level: list[tuple[Path, Any]] = [((), value)]
    while level:
        following: list[tuple[Path, Any]] = []
        for path, item in level:
            if not _is_container(item):
                continue
            room -= len(item)
            if room < 0 and path:
                return
            yield path
            following += [((*path, key), member) for key, member in _entries(item)]
        level = following


class Hits:
    """Where a value holds the text that is searched for: paths, in the order of the value."""

    def __init__(self) -> None:
        self.query = ""
        self.paths: list[Path] = []
        self._places: dict[Path, int] = {}

    def __contains__(self, path: Path) -> bool:
        return path in self._places

    def index(self, path: Path | None) -> int | None:
        """The number of the hit at a path, from 0; None where there is no hit."""
        return None if path is None else self._places.get(path)

    def take(self, paths: Sequence[Path]) -> None:
        """Replace the search hits by the nodes at `paths`."""
        self.paths, self._places = list(paths), {path: at for at, path in enumerate(paths)}

    def clear(self) -> None:
        """Remove the hits; the text that is searched for stays."""
        self.take(())

    def find_in(self, rows: JsonRows | None) -> None:
        """Search again, in another value or for another text."""
        self.take(rows.find(self.query) if rows is not None and self.query else ())

    def described(self, path: Path | None) -> str:
        """What is searched for, how much of it there is, and which hit is at `path`: `"rain" 2 of 7`; "" without a search."""
        if not self.query:
            return ""
        at = self.index(path)
        return f'"{self.query}" {f"{at + 1} of " if at is not None else ""}{len(self.paths)}'

    def next_to(self, path: Path, step: int) -> int:
        """The number of the next hit after `path`, or before it if `step` is -1; it wraps around. Needs at least one hit."""
        at = self.index(path)
        if at is not None:
            return (at + step) % len(self.paths)
        key = _order(path)
        ahead = [at for at, found in enumerate(self.paths) if (_order(found) > key) == (step > 0)]
        return (ahead[0] if step > 0 else ahead[-1]) if ahead else 0 if step > 0 else len(self.paths) - 1


def _order(path: Path) -> tuple[tuple[int, int | str], ...]:
    return tuple((0, part) if isinstance(part, int) else (1, part) for part in path)
