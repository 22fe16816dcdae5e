"""What a jq program reads from its own input, as far as its text alone says so for certain.

Only what is read from the program's own input counts: behind a `|`, in a function's argument, in interpolated text and in
programs with definitions or assignments of their own, the same words may mean something else, and are passed over.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|#[^\n]*|\.[A-Za-z_]\w*|[$@]?[A-Za-z_]\w*(?:::\w+)*|[=!<>]=|//(?!=)|\S')
_REBINDING = frozenset({"def", "reduce", "foreach", "label", "catch", "import", "include", "="})
_FIELD = re.compile(r"\.[A-Za-z_]\w*")
_KEYWORDS = frozenset({"if", "then", "elif", "else", "and", "or", "as", "try"})
"""The words behind which a term begins; behind any other word, a field looks into what that word gives."""


class InputPath(NamedTuple):
    """A path that a program reads from its input: `.parents.a.count` has the names ("parents", "a", "count")."""

    names: tuple[str, ...]
    start: int
    text: str
    has_fallback: bool
    """Whether the program does something else where the path leads to null."""


def input_paths(program: str) -> Iterator[InputPath]:
    """The paths that a program reads from its input for certain, in order, each with the names at its beginning."""
    tokens = [found for found in _TOKEN.finditer(program) if not found[0].startswith("#")]
    if any(token[0] in _REBINDING for token in tokens):
        return
    elsewhere = [False]  # whether `.` is something else than the input, at each depth of brackets
    for at, token in enumerate(tokens):
        text = token[0]
        before = tokens[at - 1] if at else None
        if text.startswith('"') and "\\(" in text:
            return  # what follows may be inside the text
        if text in {"(", "[", "{"}:
            is_argument = text == "(" and before is not None and _is_function(before[0])
            elsewhere.append(elsewhere[-1] or is_argument)
        elif text in {")", "]", "}"} and len(elsewhere) > 1:
            elsewhere.pop()
        elif text == "|":
            elsewhere[-1] = True
        elif text[0] == "." and not elsewhere[-1] and not (before is not None and _ends_term(before[0])):
            names, end = _names_from(tokens, at)
            if names:
                end = _end_of_term(tokens, end)
                after = tokens[end][0] if end < len(tokens) else ""
                is_condition = before is not None and before[0] in {"if", "elif", "try"}
                shown = program[token.start() : tokens[end - 1].end()]
                yield InputPath(names, token.start(), shown, is_condition or after in {"?", "//"})


def mentions(program: str, root: str) -> Iterator[str]:
    """The names right below `.root` of the program's input, in order: `.parents.a.count` names "a"."""
    for path in input_paths(program):
        if path.names[0] == root and len(path.names) > 1:
            yield path.names[1]


def _is_function(text: str) -> bool:
    return (text[0].isalpha() and text not in _KEYWORDS) or text[0] == "_"


def _ends_term(text: str) -> bool:
    """Whether a field that stands behind this token looks into it."""
    return text[-1] in "])}?.\"'" or text[0] in ".$@" or text[-1].isdigit() or _is_function(text)


def _names_from(tokens: Sequence[re.Match[str]], at: int) -> tuple[tuple[str, ...], int]:
    """The names that the path at this token begins with, and the number of the token behind the last of them."""
    names: list[str] = []
    while at < len(tokens):
        texts = [token[0] for token in tokens[at : at + 4]]
        dot = 1 if texts[0] == "." else 0
        key = texts[dot : dot + 3]
        if _FIELD.fullmatch(texts[0]):
            names.append(texts[0][1:])
            at += 1
        elif (dot or names) and len(key) == 3 and key[0] == "[" and key[2] == "]" and _is_plain(key[1]):
            names.append(key[1][1:-1])
            at += dot + 3
        elif dot and key and _is_plain(key[0]):
            names.append(key[0][1:-1])
            at += 2
        else:
            break
    return tuple(names), at


def _end_of_term(tokens: Sequence[re.Match[str]], at: int) -> int:
    """The number of the token behind the rest of a path: further fields, and what stands in brackets."""
    while at < len(tokens) and (tokens[at][0][0] == "." or tokens[at][0] == "["):
        depth = 0
        while at < len(tokens):
            depth += (tokens[at][0] == "[") - (tokens[at][0] == "]")
            at += 1
            if depth == 0:
                break
    return at


def _is_plain(text: str) -> bool:
    return len(text) > 1 and text[0] == '"' and "\\" not in text
