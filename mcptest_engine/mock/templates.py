"""`${args.path}` inside canned answers: compiled once when the manifest is read, expanded for every call.

The surprising thing is what an absent argument does: a string that is one whole template leaves its object member or
array element out, and inside other text it is empty. So an optional argument needs no second answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from mcptest_engine.core.targets import Absent, Spread, TargetSyntaxError, parse_target, resolve

Path = tuple[str | int, ...]
Complain = Callable[[Path, str], None]
Arguments = Mapping[str, Any]
Template = Callable[[Arguments], Any]
"""Gives the answer for a call's arguments, or ABSENT for a whole template whose argument is not there."""

ABSENT = object()

_PART = re.compile(r"\$\$\{|\$\{([^}]*)\}")


def compile_template(value: Any, complain: Complain, path: Path = (), *, as_text: bool = False) -> Template:
    """The JSON `value` as a function of the arguments of a call.

    `complain` is told the path inside `value`, and what is wrong, of each template that cannot be read. `$${` is a
    literal `${`. A string that is one whole template keeps the JSON type of its argument; in mixed text anything but
    a string is spelt as JSON, and so it is everywhere with `as_text`, where only text will do. Keys of objects are
    never expanded.
    """
    match value:
        case str():
            return _compile_text(value, complain, path, as_text=as_text)
        case dict():
            members = {
                key: compile_template(inner, complain, (*path, key), as_text=as_text) for key, inner in value.items()
            }
            expanded = _object(members)
            return constant(expanded({})) if _all_constant(members.values()) else expanded
        case list():
            elements = [
                compile_template(inner, complain, (*path, index), as_text=as_text) for index, inner in enumerate(value)
            ]
            expanded = _array(elements)
            return constant(expanded({})) if _all_constant(elements) else expanded
        case _:
            return constant(value)


def constant(value: Any) -> Template:
    """The same `value` for all arguments."""

    def unchanging(_arguments: Arguments) -> Any:
        return value

    return unchanging


def is_constant(template: Template) -> bool:
    """Whether the answer is the same for all arguments."""
    return getattr(template, "__name__", "") == "unchanging"


def _compile_text(text: str, complain: Complain, path: Path, *, as_text: bool) -> Template:
    if "${" not in text:
        return constant(text)
    pieces: list[str | Template] = []
    at = 0
    for found in _PART.finditer(text):
        pieces.append(text[at : found.start()])
        expression = found.group(1)
        pieces.append("${" if expression is None else _reference(expression, complain, path))
        at = found.end()
    pieces.append(text[at:])
    kept = [piece for piece in pieces if piece != ""]
    if len(kept) == 1 and not isinstance(kept[0], str) and not as_text:
        return kept[0]
    if all(isinstance(piece, str) for piece in kept):
        return constant("".join(str(piece) for piece in kept))
    return _mixed(kept)


def _reference(expression: str, complain: Complain, path: Path) -> Template:
    if not re.match(r"args(?![A-Za-z0-9_])", expression):
        complain(path, f'unknown template "${{{expression}}}"; only `${{args.NAME}}` is known in an answer')
        return constant("")
    try:
        target = parse_target(expression)
    except TargetSyntaxError as wrong:
        complain(path, f'the template "${{{expression}}}" cannot be read: {wrong}')
        return constant("")

    def reference(arguments: Arguments) -> Any:
        value = resolve(target, {"args": arguments})
        if isinstance(value, Spread):
            return [entry for entry in value if not isinstance(entry, Absent)]
        return ABSENT if isinstance(value, Absent) else value

    return reference


def _object(members: Mapping[str, Template]) -> Template:
    def expanded(arguments: Arguments) -> Any:
        values = ((key, member(arguments)) for key, member in members.items())
        return {key: value for key, value in values if value is not ABSENT}

    return expanded


def _array(elements: list[Template]) -> Template:
    def expanded(arguments: Arguments) -> Any:
        values = (element(arguments) for element in elements)
        return [value for value in values if value is not ABSENT]

    return expanded


def _mixed(pieces: list[str | Template]) -> Template:
    def expanded(arguments: Arguments) -> Any:
        return "".join(piece if isinstance(piece, str) else _spell(piece(arguments)) for piece in pieces)

    return expanded


def _spell(value: Any) -> str:
    if value is ABSENT:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _all_constant(templates: Any) -> bool:
    return all(is_constant(template) for template in templates)
