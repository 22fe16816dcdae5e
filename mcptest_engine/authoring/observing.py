"""Compares two answers of the same call: leaves that are equal, that differ, and that must not be asserted.

A leaf is a scalar below `result.content` or `result.structuredContent`. All work is bounded: of an answer of 50 MB only the
upper levels are read. Text that looks secret is never written down, and a value that may be equal only because both calls were
within one second is not treated as stable.
"""

from __future__ import annotations

import json
import math
from collections import deque
from dataclasses import field
from typing import TYPE_CHECKING, Any

from mcptest_engine.authoring.stability import is_likely_to_change
from mcptest_engine.core.redaction import Redactor
from mcptest_engine.core.secret_names import is_secret_name
from mcptest_engine.core.targets import render
from mcptest_engine.core.values import dataclass
from mcptest_engine.suite.yaml_text import Unwritable, scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from datetime import date

Path = tuple[str | int, ...]

MOST_VALUES = 50_000
DEEPEST = 40
LONGEST_TARGET = 300
LONGEST_EXACT = 1_000
"""A longer text is not written down as an exact value."""
SHORT = 80
_MEDIA_MEMBERS = frozenset(("data", "blob"))
_LARGEST_INT = 10**300


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A scalar that both answers have at the same place."""

    path: Path
    value: Any

    @property
    def target(self) -> str:
        """The path of the scalar, as a suite writes it."""
        return render(self.path)


@dataclass(slots=True, kw_only=True)
class Compared:
    """The result of a comparison.

    `stable` are the leaves for an exact assertion, best first; of all others only the paths are stored. `volatile` differ,
    `changing` are equal but look like a time or a random id, `lengths` are arrays of different length.
    """

    stable: list[Leaf] = field(default_factory=list)
    volatile: list[str] = field(default_factory=list)
    changing: list[str] = field(default_factory=list)
    lengths: list[str] = field(default_factory=list)
    secret: list[str] = field(default_factory=list)
    media: list[str] = field(default_factory=list)
    long: list[str] = field(default_factory=list)
    unwritable: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)


class Secrets:
    """Finds what must not be written down: by the patterns of `core/redaction`, and by the secrets of the server's spec."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._known, self._patterns = redact, Redactor()

    def redact(self, text: str) -> str:
        """The text with each secret replaced by a mask."""
        return self._patterns.redact_text(self._known(text))

    def holds(self, text: str) -> bool:
        """Whether `text` contains a secret."""
        return self.redact(text) != text

    def under(self, name: str, value: object) -> bool:
        """Whether `value`, a scalar, is secret because of the name of its member."""
        return is_secret_name(name) and value is not None and not isinstance(value, bool) and value != ""

    def without(self, value: object, name: str = "") -> object:
        """A copy of arguments without secrets, or the same object when there is none."""
        cleaned = self._patterns.redact({name: value} if name else value)
        cleaned = cleaned[name] if name and isinstance(cleaned, dict) and name in cleaned else cleaned
        return _mapped(cleaned, self.redact)


def compare(
    first: object,
    second: object,
    *,
    secrets: Secrets,
    today: date | None,
    above: Path = ("result",),
    asked: Collection[str] = (),
) -> Compared:
    """Compare `first` and `second`, two results of one call.

    `asked` are the scalars of the arguments, as from `scalars`: a value that was asked for is expected to return.
    """
    found = Compared()
    places: dict[str, list[tuple[object, ...]]] = {"volatile": [], "changing": [], "lengths": []}
    leaves: list[Leaf] = []
    for path, one, other, media in _pairs(first, second, above, found):
        kind = _kind_of(path, one, other, media, secrets, today, asked)
        target = _path_text(path, secrets)
        if kind == "stable":
            leaves.append(Leaf(path=path, value=one))
        elif kind in places:
            places[kind].append((_order(path), target))
        else:
            getattr(found, kind).append(target)
    leaves.sort(key=_rank)
    found.stable = leaves
    for kind, targets in places.items():
        setattr(found, kind, list(dict.fromkeys(target for _, target in sorted(targets))))
    return found


def _pairs(first: object, second: object, above: Path, found: Compared) -> Iterator[tuple[Path, Any, Any, bool]]:
    """Pairs of leaves, breadth first, so that the upper ones are always read; `_MISSING` where one answer lacks it."""
    waiting: deque[tuple[Path, Any, Any, bool]] = deque([(above, first, second, False)])
    seen = 0
    while waiting:
        path, one, other, media = waiting.popleft()
        seen += 1
        alike = (isinstance(one, dict) and isinstance(other, dict)) or (
            isinstance(one, list) and isinstance(other, list)
        )
        if not alike or (isinstance(one, list) and len(one) != len(other)):
            yield path, one, other, media
            continue
        if len(path) > DEEPEST or seen + len(waiting) + len(one) + len(other) > MOST_VALUES:
            if _equal(one, other):
                found.unseen.append(render(path)[:LONGEST_TARGET])
            else:
                yield path, one, other, media
        elif isinstance(one, list):
            waiting.extend(((*path, at), a, b, False) for at, (a, b) in enumerate(zip(one, other, strict=True)))
        else:
            names = [name for name in {**one, **other} if isinstance(name, str)]
            is_media = "mimeType" in one
            waiting.extend(
                ((*path, name), one.get(name, _MISSING), other.get(name, _MISSING), is_media and name in _MEDIA_MEMBERS)
                for name in sorted(names)
            )


class _Missing:
    """Marks a member that only the other answer has."""


_MISSING = _Missing()


def _kind_of(
    path: Path, one: object, other: object, media: bool, secrets: Secrets, today: date | None, asked: Collection[str]
) -> str:
    """The list of `Compared` for a pair."""
    if isinstance(one, list) and isinstance(other, list) and len(one) != len(other):
        return "lengths"
    if not _equal(one, other):
        return "volatile"
    if media and isinstance(one, str):
        return "media"
    name = next((part for part in reversed(path) if isinstance(part, str)), "")
    if secrets.under(name, one) or (isinstance(one, str) and secrets.holds(one)) or secrets.holds(render(path)):
        return "secret"
    if isinstance(one, str) and len(one) > LONGEST_EXACT:
        return "long"
    if not is_writable(one) or len(render(path)) > LONGEST_TARGET or not is_writable(render(path)):
        return "unwritable"
    inside = tuple(part for part in path if isinstance(part, str) and part is not name)
    return "changing" if _doubtful(one, name, today, asked, inside) else "stable"


def scalars(value: object) -> frozenset[str]:
    """The texts and numbers in arguments, in a form for comparing."""
    found: set[str] = set()
    waiting = [value]
    while waiting and len(found) < MOST_VALUES:
        here = waiting.pop()
        if isinstance(here, (dict, list)):
            waiting.extend(here.values() if isinstance(here, dict) else here)
        else:
            found.add(repr(here))
    return frozenset(found)


def _doubtful(
    value: object, name: str, today: date | None, asked: Collection[str], inside: tuple[str, ...] = ()
) -> bool:
    """Whether a value may change, by its name and form; not for flags, null, and values that were asked for."""
    if value is None or isinstance(value, bool):
        return False
    if is_likely_to_change(value, "" if repr(value) in asked else name, seen_twice=True, today=today, inside=inside):
        return True
    return isinstance(value, str) and any(
        _doubtful(one, key, today, asked, within) for key, one, within in _members(value)
    )


def _members(text: str) -> Iterator[tuple[str, object, tuple[str, ...]]]:
    """The named scalars of a text that is JSON, with the names around each: many servers answer so."""
    if not text.lstrip().startswith(("{", "[")) or len(text) > LONGEST_EXACT:
        return
    try:
        waiting: list[tuple[str, Any, tuple[str, ...]]] = [("", json.loads(text), ())]
    except (ValueError, RecursionError):
        return
    while waiting:
        name, here, inside = waiting.pop()
        if isinstance(here, dict):
            waiting.extend((key, one, (*inside, name)[-6:]) for key, one in here.items())
        elif isinstance(here, list):
            waiting.extend((name, one, inside) for one in here)
        elif not isinstance(here, str) or not here.lstrip().startswith(("{", "[")):
            yield name, here, inside


def is_writable(value: object) -> bool:
    """Whether a suite can hold this scalar."""
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST_INT:
        return False
    try:
        scalar(value)
    except Unwritable:
        return False
    return True


def _equal(one: object, other: object) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    try:
        return bool(one == other)
    except RecursionError:
        return False


def _rank(leaf: Leaf) -> tuple[object, ...]:
    """The order of leaves: short scalars at upper levels first, then by path."""
    text = leaf.value if isinstance(leaf.value, str) else ""
    is_long = len(text) > SHORT or "\n" in text
    return is_long, len(leaf.path), _order(leaf.path)


def _order(path: Path) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, part, "") if isinstance(part, int) else (1, 0, part) for part in path)


def _path_text(path: Path, secrets: Secrets) -> str:
    """A path as it is shown; a very long one is cut."""
    target = secrets.redact(render(path))
    return target if len(target) <= LONGEST_TARGET else target[:LONGEST_TARGET] + "…"


def _mapped(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    return [_mapped(item, change) for item in value] if isinstance(value, list) else value
