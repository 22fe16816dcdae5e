"""The colours of one line of YAML, and what the line leaves open for the next: a text block, or a quote.

A line is looked at by itself, with the state that the lines above leave, so that only what is visible is ever coloured; results
are kept by line and state, because a suite repeats itself. No parser: half a line must be coloured too.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

NORMAL = 0
IN_DOUBLE = -1
IN_SINGLE = -2
"""Otherwise a state is 1 + the column of the key (or dash) whose text block goes on."""
_LONGEST = 2_000

Span = tuple[int, int, str]


class Painted(NamedTuple):
    """(start, end, name) of what has a colour, and the state after the line."""

    spans: tuple[Span, ...]
    after: int


_BLOCK_HEADER = re.compile(r"(?:^|[\s\-?:])[|>][-+0-9]{0,2}[ \t]*(?:#.*)?$")
_HEADER_AT = re.compile(r"[|>][-+0-9]{0,2}(?=[ \t]*(?:#.*)?$)")
_QUOTED_KEY = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')(?=\s*:(?:\s|$))"""
_PLAIN_KEY = r"""(?<![^\s{,\[?-])[^\s\-?#&*!|>@`"'\[\]{},:](?:[^:#,\[\]{}]|:(?=\S)|(?<=\S)\#)*?(?=\s*:(?:[\s,\]}]|$))"""
_BEGIN = r"(?<![^\s,\[{:(-])"
_TOKEN = re.compile(
    rf"""(?P<comment>(?:^|(?<=\s))\#.*)|(?P<key>{_QUOTED_KEY}|{_PLAIN_KEY})|(?P<double>{_BEGIN}")|(?P<single>{_BEGIN}')|(?P<template>\$\{{[^}}]*\}}?)"""
    r"""|(?P<anchor>(?<![^\s,\[{-])[&*!][^\s,\[\]{}]*)"""
    r"""|(?P<number>(?<![^\s,\[{:])[-+]?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?=[\s,\]}]|$))"""
    r"""|(?P<constant>(?<![^\s,\[{:])(?:true|false|True|False|TRUE|FALSE)(?=[\s,\]}]|$))"""
    r"""|(?P<null>(?<![^\s,\[{:])(?:null|Null|NULL|~)(?=[\s,\]}]|$))"""
    r"""|(?P<mark>[\[\]{},]|:(?=\s|$)|(?:(?<=^)|(?<=\s))-(?=\s|$))|(?P<plain>[^\s\[\]{},:"'#$]+|.)"""
)
_TEMPLATE = re.compile(r"\$\{[^}]*\}?")
_DOUBLE = re.compile(r'(?:[^"\\]|\\.)*("|$)')
_SINGLE = re.compile(r"(?:[^']|'')*('|$)")
_QUOTED_VALUE = re.compile(r"""(?:^[\s-]*|[,\[{]\s*|:\s+)(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')""")
"""A quoted text where no key can have begun before it."""
_UNSURE = re.compile("[\"'#$]")


@lru_cache(maxsize=8_192)
def paint(line: str, state: int) -> Painted:
    """Return the coloured spans of a line that begins in `state`, and the state after it."""
    line = line[:_LONGEST]
    if state > NORMAL:
        stripped = line.lstrip(" ")
        if not stripped or len(line) - len(stripped) >= state:
            return Painted(tuple(_text(line, 0, len(line))), state)
        state = NORMAL
    spans: list[Span] = []
    at = 0
    if state in (IN_DOUBLE, IN_SINGLE):
        end, state = _quote_end(line, 0, '"' if state == IN_DOUBLE else "'")
        spans += _text(line, 0, end)
        at = end
        if state != NORMAL:
            return Painted(tuple(spans), state)
    first_key = -1
    while at < len(line):
        found = _TOKEN.match(line, at)
        if found is None:
            at += 1
            continue
        kind = found.lastgroup
        start, at = found.span()
        if kind in ("double", "single"):
            at, state = _quote_end(line, at, found.group())
            spans += _text(line, start, at)
        elif kind == "key" and first_key < 0:
            first_key = start
            spans.append((start, at, "key"))
        elif kind == "plain" and _HEADER_AT.match(line, start):
            spans.append((start, start + 1, "mark"))
        elif kind not in (None, "plain"):
            spans.append((start, at, str(kind)))
        elif kind == "plain":
            spans += [(part.start(), part.end(), "template") for part in _TEMPLATE.finditer(line, start, at)]
    return Painted(tuple(spans), _block_state(line, first_key) if state == NORMAL else state)


def after(line: str, state: int) -> int:
    """The state that a line leaves; quicker than `paint` where nothing can be open."""
    if state == NORMAL and "|" not in line and ">" not in line:
        rest = _QUOTED_VALUE.sub("", line) if '"' in line or "'" in line else ""
        if not _UNSURE.search(rest):
            return NORMAL
    return paint(line, state).after


def _block_state(line: str, first_key: int) -> int:
    """Whether the line ends in the header of a text block, and how far its lines are indented at least."""
    if ("|" not in line and ">" not in line) or not _BLOCK_HEADER.search(line):
        return NORMAL
    content = len(line) - len(line.lstrip(" "))
    return 1 + (first_key if first_key >= 0 else line.rfind("- ", 0, len(line)) if "- " in line else content)


def _quote_end(line: str, start: int, quote: str) -> tuple[int, int]:
    """Where a quoted text that began before `start` ends on this line, and the state behind it."""
    found = (_DOUBLE if quote == '"' else _SINGLE).match(line, start)
    if found is None:  # a backslash at the end of the line
        return len(line), IN_DOUBLE
    return found.end(), NORMAL if found[1] else IN_DOUBLE if quote == '"' else IN_SINGLE


def _text(line: str, start: int, end: int) -> list[Span]:
    spans: list[Span] = [(start, end, "text")] if end > start else []
    return spans + [(part.start(), part.end(), "template") for part in _TEMPLATE.finditer(line, start, end)]


class LineStates:
    """The state at the begin of every line, kept true through edits by looking only as far as something is different."""

    def __init__(self, lines: list[str]) -> None:
        self._states = [NORMAL] * len(lines)
        self._scan(lines, 0, len(lines))

    def __getitem__(self, row: int) -> int:
        return self._states[row] if 0 <= row < len(self._states) else NORMAL

    def replaced(self, lines: list[str], top: int, removed: int, added: int) -> int:
        """`removed` lines from `top` on are `added` others now. The last line that may have another state than before."""
        self._states[top + 1 : top + removed] = [NORMAL] * (added - 1)
        return self._scan(lines, top, top + added)

    def _scan(self, lines: list[str], top: int, sure: int) -> int:
        """From line `top` on, at least up to `sure`, until a state is what it was; the last line before that."""
        states = self._states
        state = states[top] if top < len(states) else NORMAL
        for row in range(top, len(lines) - 1):
            state = after(lines[row], state)
            if row + 1 >= sure and states[row + 1] == state:
                return row
            states[row + 1] = state
        return len(lines) - 1
