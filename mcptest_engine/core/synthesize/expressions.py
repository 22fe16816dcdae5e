"""ECMA-262 regular expressions, read into a tree that texts can be made from.

Our own reader, because Python's is private, reads another dialect and warns about classes that are right in this one. It is
lenient: the validator compiles the pattern too and has the last word. What it does not know is `Unreadable`.
"""

from __future__ import annotations

import re
from dataclasses import field

from mcptest_engine.core.values import dataclass

_LONGEST = 10_000  # characters of a pattern
_DEEPEST = 60  # groups in groups
_NICE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ1234567890-_. "
_TRIED = _NICE + "".join(map(chr, range(33, 127))) + "éαж中ひ한א😀\n\t\r\x00\u00a0\u2028"

Ranges = tuple[tuple[int, int], ...]


class Unreadable(ValueError):
    """A pattern that is too long, too deep, or not of the dialect."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a class. `members` are the ones to use, the nicest first."""

    ranges: Ranges
    without: tuple[Chars, ...] = ()  # classes within the class that stand for all but theirs, as `[\\D_]` has
    negated: bool = False
    members: str = field(default="", compare=False)

    def has(self, char: str) -> bool:
        code = ord(char)
        found = any(low <= code <= high for low, high in self.ranges) or any(part.has(char) for part in self.without)
        return found is not self.negated


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Either:
    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    part: Node
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Group:
    part: Node
    number: int
    name: str | None


@dataclass(frozen=True, slots=True)
class Again:
    """What a group matched, once more."""

    group: int | str


@dataclass(frozen=True, slots=True)
class Look:
    """`(?=…)` and its kin: takes no room."""

    part: Node
    negated: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """`^`, `$`, `\\b`, `\\B`: takes no room."""

    kind: str


Node = Chars | Sequence | Either | Repeat | Group | Again | Look | Edge


def parse(pattern: str) -> Node:
    """The tree of a pattern. Raises: Unreadable."""
    if len(pattern) > _LONGEST:
        raise Unreadable("too long")
    reader = _Reader(pattern)
    node = reader.either(0)
    if reader.at < len(pattern):
        raise Unreadable("an unmatched `)`")
    return node


def _class(ranges: Ranges, without: tuple[Chars, ...] = (), *, negated: bool = False) -> Chars:
    bare = Chars(ranges, without, negated)
    ends = "".join(
        chr(code) for low, high in ranges for code in (low, min(low + 1, high), high) if not 0xD800 <= code <= 0xDFFF
    )
    members = "".join(dict.fromkeys(char for char in _TRIED + ends if bare.has(char)))
    return Chars(ranges, without, negated, members)


_DIGIT: Ranges = ((48, 57),)
_WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACE: Ranges = ((32, 32), (9, 13), (0xA0, 0xA0), (0x2028, 0x2029))
_ALL: Ranges = ((0, 0x10FFFF),)
_LINE_ENDS: Ranges = ((10, 10), (13, 13), (0x2028, 0x2029))
_SHORT = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_CONTROL = {"n": 10, "t": 9, "r": 13, "f": 12, "v": 11, "0": 0, "a": 7, "e": 27}
_LETTERS: Ranges = ((97, 122), (65, 90), (0xE0, 0xF6))
_PROPERTIES: dict[str, Ranges] = {
    "L": _LETTERS,
    "Letter": _LETTERS,
    "Alphabetic": _LETTERS,
    "Latin": ((97, 122), (65, 90)),
    "Lu": ((65, 90),),
    "Uppercase": ((65, 90),),
    "Uppercase_Letter": ((65, 90),),
    "Ll": ((97, 122),),
    "Lowercase": ((97, 122),),
    "Lowercase_Letter": ((97, 122),),
    "N": _DIGIT,
    "Nd": _DIGIT,
    "Number": _DIGIT,
    "digit": ((48, 57),),
    "P": ((33, 35), (37, 42), (44, 47)),
    "Punctuation": ((33, 35), (37, 42), (44, 47)),
    "S": ((36, 36), (43, 43), (60, 62)),
    "Z": ((32, 32),),
    "Zs": ((32, 32),),
    "Space": ((32, 32),),
    "ASCII": ((0, 127),),
    "Any": _ALL,
    "Greek": ((0x3B1, 0x3C9),),
    "Cyrillic": ((0x430, 0x44F),),
    "Han": ((0x4E00, 0x9FA5),),
    "Hiragana": ((0x3042, 0x3093),),
    "Arabic": ((0x627, 0x63A),),
    "Hebrew": ((0x5D0, 0x5EA),),
    "Emoji": ((0x1F600, 0x1F64F),),
    "Extended_Pictographic": ((0x1F600, 0x1F64F),),
    "Emoji_Presentation": ((0x1F600, 0x1F64F),),
    "M": ((0x300, 0x36F),),
    "Cc": ((0, 31),),
}
_BRACES = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
_OPENING = re.compile(
    r"\(\?(?:(P?<(?P<name>[A-Za-z_$][\w$]*)>)|(?P<look><?[=!])|(?P<flags>[a-zA-Z^-]*)(?P<end>[:)])|(?P<atomic>>))"
)


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self._groups = 0

    def either(self, depth: int) -> Node:
        if depth > _DEEPEST:
            raise Unreadable("nested too deeply")
        branches = [self._sequence(depth)]
        while self._peek() == "|":
            self.at += 1
            branches.append(self._sequence(depth))
        return branches[0] if len(branches) == 1 else Either(tuple(branches))

    def _peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _next(self) -> str:
        if self.at >= len(self.pattern):
            raise Unreadable("it ends in the middle")
        self.at += 1
        return self.pattern[self.at - 1]

    def _sequence(self, depth: int) -> Node:
        parts: list[Node] = []
        while self._peek() not in ("", "|", ")"):
            part = self._atom(depth)
            if part is not None:
                parts.append(self._repeated(part))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeated(self, part: Node) -> Node:
        while True:
            braces = _BRACES.match(self.pattern, self.at)
            sign = self._peek()
            if sign and sign in "*+?":
                self.at += 1
                least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
            elif braces:
                self.at = braces.end()
                least = int(braces[1])
                most = least if braces[2] is None else int(braces[3]) if braces[3] else None
            else:
                return part
            if self._peek() and self._peek() in "?+":  # lazy, possessive
                self.at += 1
            part = Repeat(part, least, most)

    def _atom(self, depth: int) -> Node | None:
        char = self._next()
        match char:
            case "(":
                return self._group(depth)
            case "[":
                return self._set()
            case ".":
                return _class(_LINE_ENDS, negated=True)
            case "^" | "$":
                return Edge(char)
            case "\\":
                return self._escape()
            case _:
                return _class(((ord(char), ord(char)),))

    def _group(self, depth: int) -> Node | None:
        opening = _OPENING.match(self.pattern, self.at - 1)
        if opening is None:
            if self._peek() == "?":
                raise Unreadable("an unknown kind of group")
            return self._numbered(depth, None)
        self.at = opening.end()
        if opening["look"]:
            return Look(self._closed(depth), "!" in opening["look"])
        if opening["name"]:
            return self._numbered(depth, opening["name"])
        if opening["end"] == ")":
            return None  # flags for the rest
        return self._closed(depth)

    def _numbered(self, depth: int, name: str | None) -> Node:
        self._groups += 1
        number = self._groups
        return Group(self._closed(depth), number, name)

    def _closed(self, depth: int) -> Node:
        node = self.either(depth + 1)
        if self._next() != ")":
            raise Unreadable("an unmatched `(`")
        return node

    def _escape(self) -> Node:
        char = self._peek()
        if char in ("b", "B", "A", "z", "Z", "G"):
            self.at += 1
            return Edge({"A": "^", "z": "$", "Z": "$"}.get(char, char))
        if char.isdigit() and char != "0":
            number = re.compile(r"\d{1,3}").match(self.pattern, self.at)
            assert number is not None
            self.at = number.end()
            return Again(int(number[0]))
        if char == "k" and self.pattern[self.at + 1 : self.at + 2] == "<":
            end = self.pattern.find(">", self.at)
            name, self.at = self.pattern[self.at + 2 : end], end + 1
            return Again(name)
        return self._escaped_class()

    def _escaped_class(self) -> Chars:
        char = self._next()
        if char.lower() in _SHORT and char.isascii():
            return _class(_SHORT[char.lower()], negated=char.isupper())
        if char in "pP" and self._peek() == "{":
            end = self.pattern.find("}", self.at)
            name = self.pattern[self.at + 1 : end].rpartition("=")[2]
            self.at = end + 1
            negated = (char == "P") is not name.startswith("^")
            return _class(_PROPERTIES.get(name.lstrip("^"), ((97, 122),)), negated=negated)
        code = self._code(char)
        return _class(((code, code),))

    def _code(self, char: str) -> int:
        """The character that an escape stands for."""
        rest = self.pattern[self.at :]
        found = None
        if char == "x":
            found = re.match(r"([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\}", rest)
        elif char == "u":
            pair = re.match(r"([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})", rest)
            if pair:
                self.at += pair.end()
                return 0x10000 + ((int(pair[1], 16) - 0xD800) << 10) + int(pair[2], 16) - 0xDC00
            found = re.match(r"([0-9A-Fa-f]{4})|\{([0-9A-Fa-f]{1,6})\}", rest)
        elif char == "c" and rest[:1].isalpha() and rest[:1].isascii():
            self.at += 1
            return ord(rest[0]) % 32
        if found:
            self.at += found.end()
            return min(int(found[1] or found[2], 16), 0x10FFFF)
        return _CONTROL.get(char, ord(char))

    def _set(self) -> Chars:
        negated = self._peek() == "^"
        self.at += negated
        ranges: list[tuple[int, int]] = []
        without: list[Chars] = []
        first = True
        # `[]` is an empty class here and a class that holds `]` elsewhere; the validator reads it as the latter
        while (char := self._next()) != "]" or (first and not negated and "]" in self.pattern[self.at :]):
            first = False
            low = self._member(char, ranges, without)
            if low is None or self._peek() != "-" or self.pattern[self.at + 1 : self.at + 2] in ("]", ""):
                if low is not None:
                    ranges.append((low, low))
                continue
            self.at += 1
            high = self._member(self._next(), ranges, without)
            if high is None:  # `[\w-\d]`: the dash is itself
                ranges += [(low, low), (45, 45)]
            elif high < low:
                raise Unreadable("a range that runs backwards")
            else:
                ranges.append((low, high))
        return _class(tuple(ranges), tuple(without), negated=negated)

    def _member(self, char: str, ranges: list[tuple[int, int]], without: list[Chars]) -> int | None:
        """One character of a class, or None when a whole class stood there, which is then added."""
        if char != "\\":
            return ord(char)
        if self._peek() == "b":
            self.at += 1
            return 8
        found = self._escaped_class()
        if found.negated:
            without.append(found)
        elif len(found.ranges) == 1 and found.ranges[0][0] == found.ranges[0][1]:
            return found.ranges[0][0]
        else:
            ranges += found.ranges
        return None
