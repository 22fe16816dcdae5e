"""Which nodes a jq program names under `.parents` or `.nodes`, as far as its text alone says so for certain.

Only what is read from the program's own input counts: behind a `|`, in a function's argument and in programs with definitions
of their own, the same words may mean something else, and are passed over.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|#[^\n]*|\.[A-Za-z_]\w*|[$@]?[A-Za-z_][\w:]*|\S')
_REBINDING = frozenset({"def", "reduce", "foreach", "label", "catch", "import", "include"})
_FIELD = re.compile(r"\.[A-Za-z_]\w*")


def mentions(program: str, root: str) -> Iterator[str]:
    """The names right below `.root` of the program's input, in order: `.parents.a.count` names "a"."""
    tokens = [found for found in _TOKEN.finditer(program) if not found[0].startswith("#")]
    if any(token[0] in _REBINDING for token in tokens):
        return
    elsewhere = [False]  # whether `.` is something else than the input, at each depth of brackets
    for at, token in enumerate(tokens):
        text = token[0]
        before = tokens[at - 1] if at else None
        touches = before is not None and before.end() == token.start()
        if text in {"(", "[", "{"}:
            is_argument = text == "(" and touches and before is not None and before[0][0].isalpha()
            elsewhere.append(elsewhere[-1] or is_argument)
        elif text in {")", "]", "}"} and len(elsewhere) > 1:
            elsewhere.pop()
        elif text == "|":
            elsewhere[-1] = True
        elif (
            text == f".{root}" and not elsewhere[-1] and not (touches and before is not None and _ends_path(before[0]))
        ):
            name = _below(tokens[at + 1 : at + 4])
            if name is not None:
                yield name


def _ends_path(text: str) -> bool:
    """Whether what stands right behind this token looks into it."""
    return text[-1] in "])}?.\"'" or _FIELD.fullmatch(text) is not None or text.startswith("$")


def _below(after: list[re.Match[str]]) -> str | None:
    texts = [token[0] for token in after]
    if texts and _FIELD.fullmatch(texts[0]):
        return texts[0][1:]
    key = texts[1] if len(texts) == 3 and texts[0] == "[" and texts[2] == "]" else None
    if key is None and len(texts) > 1 and texts[0] == ".":
        key = texts[1]
    if key is None or not key.startswith('"') or "\\" in key:
        return None
    return key[1:-1]
