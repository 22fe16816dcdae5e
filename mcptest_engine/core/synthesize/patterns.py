"""Texts that match a pattern: the shortest ones, and longer or other ones where they are asked for.

Look-arounds are not solved: what a positive one asks for is worked into the text (`(?=.*\\d)` gives it a digit), and the
caller keeps of what comes out only what the validator's own engine matches.
"""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING

from mcptest_engine.core.schemas import SchemaError, compile_schema
from mcptest_engine.core.synthesize.expressions import (
    Again,
    Chars,
    Edge,
    Either,
    Group,
    Look,
    Node,
    Repeat,
    Sequence,
    Unreadable,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema_rs import Validator

_STEPS = 20_000  # for one text
_SLACK = 8  # how many characters longer than asked for, to give look-aheads room
_FURTHER = 40  # more texts for patterns that forbid something
_FAR = 1 << 40


def fits_pattern(pattern: str, text: str) -> bool:
    """Whether the validator's engine finds the pattern in the text. A pattern that it cannot read fits everything."""
    try:
        validator = _compiled(pattern)
        return validator is None or validator.is_valid(text)
    except ValueError:
        return True


def pattern_texts(pattern: str, least: int, most: int, nth: int = 0) -> Iterator[str]:
    """Texts of `least` to `most` characters that probably match; each `nth` begins with another one."""
    tree = _parsed(pattern)
    if tree is None:
        return
    seeds = _look_around_characters(tree)
    begins, ends = _at_edge(tree, 0), _at_edge(tree, -1)
    for branch in range(4):
        for room in dict.fromkeys((0, len(seeds), len(seeds) + _SLACK)):
            writer = _Writer(
                nth=nth, branch=branch, extra=max(0, least - _shortest(tree)) + room, most=most, seeds=seeds
            )
            try:
                text = writer.write(tree)
            except _TooLongError:
                continue
            other = f"{writer.nth:x}" if writer.nth else ""
            if not ends:
                text = f"{text}{other}".ljust(least, "a")
            elif not begins:
                text = f"{other}{text}".rjust(least, "a")
            if len(text) <= most:
                yield text
    if _has_negative_look_around(tree):
        for further in range(nth + 1, nth + _FURTHER):
            writer = _Writer(nth=further, branch=0, extra=max(0, least - _shortest(tree)), most=most, seeds=seeds)
            with contextlib.suppress(_TooLongError):
                yield writer.write(tree)


class _TooLongError(Exception):
    pass


class _Writer:
    """Writes one text. `extra` characters go into repetitions, the first with room; `seeds` are used up in classes."""

    def __init__(self, *, nth: int, branch: int, extra: int, most: int, seeds: str) -> None:
        self.nth = nth
        self._branch = branch
        self._extra = extra
        self._most = most
        self._seeds = list(seeds)
        self._groups: dict[int | str, str] = {}
        self._steps = _STEPS

    def write(self, node: Node) -> str:
        self._steps -= 1
        if self._steps < 0:
            raise _TooLongError
        match node:
            case Chars():
                return self._char(node)
            case Sequence(parts):
                return "".join([self.write(part) for part in parts])
            case Either(branches):
                return self.write(branches[(self._branch + self._share(len(branches))) % len(branches)])
            case Repeat():
                return self._repeat(node)
            case Group(part, number, name):
                text = self.write(part)
                self._groups[number] = text
                if name is not None:
                    self._groups[name] = text
                return text
            case Again(group):
                return self._groups.get(group, "")
            case Look() | Edge():
                return ""

    def _share(self, size: int) -> int:
        """One digit of `nth`, taken off it: so each `nth` comes out as another text as long as there are others."""
        digit = self.nth % size
        self.nth //= size
        return digit

    def _char(self, node: Chars) -> str:
        for seed in self._seeds:
            if node.has(seed):
                self._seeds.remove(seed)
                return seed
        if not node.members:
            raise _TooLongError
        return node.members[self._share(len(node.members))]

    def _repeat(self, node: Repeat) -> str:
        count = node.least
        size = _shortest(node.part)
        spare = (_FAR if node.most is None else node.most) - count
        if spare > 0 and (self._extra > 0 or self.nth > 0) and size < _FAR:
            wanted = -(-self._extra // max(size, 1)) if self._extra > 0 else 1
            more = min(spare, wanted)
            self._extra -= more * max(size, 1)
            count += more
        if count * size > self._most:
            raise _TooLongError
        if size == 0 and count > 1:
            count = max(min(count, 8), 1)
        if isinstance(node.part, Chars) and not self._seeds and not self.nth and node.part.members:
            return node.part.members[0] * count
        return "".join([self.write(node.part) for _ in range(count)])


@functools.lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Validator | None:
    try:
        return compile_schema({"pattern": pattern})
    except SchemaError:
        return None


@functools.lru_cache(maxsize=256)
def _parsed(pattern: str) -> Node | None:
    try:
        return parse(pattern)
    except (Unreadable, RecursionError):
        return None


def _shortest(node: Node) -> int:
    """The length of the shortest text, as if look-arounds asked for nothing."""
    match node:
        case Chars():
            return 1
        case Sequence(parts):
            return min(sum(_shortest(part) for part in parts), _FAR)
        case Either(branches):
            return min(_shortest(branch) for branch in branches)
        case Repeat(part, least, _):
            return min(least * _shortest(part), _FAR) if least else 0
        case Group(part, _, _):
            return _shortest(part)
        case Again() | Look() | Edge():
            return 0


def _look_around_characters(node: Node) -> str:
    """The characters that the positive look-arounds of a pattern ask for, each in its shortest form."""
    match node:
        case Look(part, negated):
            if negated:
                return ""
            try:
                return _Writer(nth=0, branch=0, extra=0, most=200, seeds="").write(part)
            except _TooLongError:
                return ""
        case Sequence(parts) | Either(parts):
            return "".join(_look_around_characters(part) for part in parts)[:200]
        case Group(part, _, _) | Repeat(part, _, _):
            return _look_around_characters(part)
        case _:
            return ""


def _has_negative_look_around(node: Node) -> bool:
    """Whether there is a negative look-around in it."""
    match node:
        case Look(part, negated):
            return negated or _has_negative_look_around(part)
        case Sequence(parts) | Either(parts):
            return any(_has_negative_look_around(part) for part in parts)
        case Group(part, _, _) | Repeat(part, _, _):
            return _has_negative_look_around(part)
        case _:
            return False


def _at_edge(node: Node, at: int) -> bool:
    """Whether a text that matches can have nothing more before it (`at` 0) or behind it (-1)."""
    match node:
        case Edge(kind):
            return kind == ("^" if at == 0 else "$")
        case Sequence(parts):
            return bool(parts) and _at_edge(parts[at], at)
        case Either(branches):
            return any(_at_edge(branch, at) for branch in branches)
        case Group(part, _, _):
            return _at_edge(part, at)
        case _:
            return False
