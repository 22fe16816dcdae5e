"""`${args.path}` and `${asked.path}` in canned answers: compiled once when the manifest is read, expanded for every call.

A missing argument removes the object member or array element whose whole string is its template; inside other text it is
empty. So an optional argument needs no second answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from mcptest_engine.core.targets import Absent, Spread, TargetSyntaxError, parse_target, resolve

Path = tuple[str | int, ...]
Complain = Callable[[Path, str], None]
Arguments = Mapping[str, object]
Template = Callable[..., Any]
"""`template(arguments, asked)`: the answer for a call's arguments and for the client's answer, which may be left out.

ABSENT for a whole template whose argument is missing.
"""

ABSENT = object()

_PART = re.compile(r"\$\$\{|\$\{([^}]*)\}")


def compile_template(
    value: object, complain: Complain, path: Path = (), *, as_text: bool = False, known: tuple[str, ...] = ("args",)
) -> Template:
    """The JSON `value` as a function of the arguments of a call.

    `complain` receives the path inside `value` and the problem of each bad template. `$${` is a literal `${`. A string that is
    one whole template keeps the JSON type of its argument; in mixed text anything but a string is written as JSON, and with
    `as_text` so it is everywhere. Keys of objects are never expanded. `known` are the names that templates may use: "args", and
    "asked" where a client is asked.
    """
    match value:
        case str():
            return _compile_text(value, complain, path, as_text=as_text, known=known)
        case dict():
            members = {
                key: compile_template(inner, complain, (*path, key), as_text=as_text, known=known)
                for key, inner in value.items()
            }
            expanded = _object(members)
            return constant(expanded({})) if _all_constant(members.values()) else expanded
        case list():
            elements = [
                compile_template(inner, complain, (*path, index), as_text=as_text, known=known)
                for index, inner in enumerate(value)
            ]
            expanded = _array(elements)
            return constant(expanded({})) if _all_constant(elements) else expanded
        case _:
            return constant(value)


def constant(value: object) -> Template:
    """The same `value` for all arguments."""

    def unchanging(_arguments: Arguments, _asked: object = ABSENT) -> object:
        return value

    return unchanging


def is_constant(template: Template) -> bool:
    """Whether the answer is the same for all arguments."""
    return getattr(template, "__name__", "") == "unchanging"


def _compile_text(text: str, complain: Complain, path: Path, *, as_text: bool, known: tuple[str, ...]) -> Template:
    if "${" not in text:
        return constant(text)
    pieces: list[str | Template] = []
    at = 0
    for found in _PART.finditer(text):
        pieces.append(text[at : found.start()])
        expression = found.group(1)
        pieces.append("${" if expression is None else _reference(expression, complain, path, known))
        at = found.end()
    pieces.append(text[at:])
    nonempty = [piece for piece in pieces if piece != ""]
    if len(nonempty) == 1 and not isinstance(nonempty[0], str) and not as_text:
        return nonempty[0]
    if all(isinstance(piece, str) for piece in nonempty):
        return constant("".join(str(piece) for piece in nonempty))
    return _mixed(nonempty)


def _reference(expression: str, complain: Complain, path: Path, known: tuple[str, ...]) -> Template:
    root = re.match(r"args(?![A-Za-z0-9_])|asked(?![A-Za-z0-9_])", expression)
    if root is None or root.group() not in known:
        complain(path, _unknown(expression, root is not None, known))
        return constant("")
    try:
        target = parse_target(expression)
    except TargetSyntaxError as wrong:
        complain(path, f'the template "${{{expression}}}" cannot be read: {wrong}')
        return constant("")

    def reference(arguments: Arguments, asked: object = ABSENT) -> object:
        scope = {"args": arguments} if asked is ABSENT else {"args": arguments, "asked": asked}
        value = resolve(target, scope)
        if isinstance(value, Spread):
            return [entry for entry in value if not isinstance(entry, Absent)]
        return ABSENT if isinstance(value, Absent) else value

    return reference


def _unknown(expression: str, is_asked: bool, known: tuple[str, ...]) -> str:
    if is_asked:
        return f'the template "${{{expression}}}" means an answer of the client, but there is no request: add `ask:`'
    names = " and ".join(f"`${{{name}.NAME}}`" for name in known)
    return f'unknown template "${{{expression}}}"; only {names} {"is" if len(known) == 1 else "are"} known in an answer'


def _object(members: Mapping[str, Template]) -> Template:
    def expanded(arguments: Arguments, asked: object = ABSENT) -> object:
        values = ((key, member(arguments, asked)) for key, member in members.items())
        return {key: value for key, value in values if value is not ABSENT}

    return expanded


def _array(elements: list[Template]) -> Template:
    def expanded(arguments: Arguments, asked: object = ABSENT) -> object:
        values = (element(arguments, asked) for element in elements)
        return [value for value in values if value is not ABSENT]

    return expanded


def _mixed(pieces: list[str | Template]) -> Template:
    def expanded(arguments: Arguments, asked: object = ABSENT) -> object:
        return "".join(piece if isinstance(piece, str) else _spell(piece(arguments, asked)) for piece in pieces)

    return expanded


def _spell(value: object) -> str:
    if value is ABSENT:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _all_constant(templates: Any) -> bool:
    return all(is_constant(template) for template in templates)
