"""Templates that have a value only while a composition runs: `${id.field}`, `${item}`, and a case's `${var.X}`.

A text that is one template and nothing else takes the value with its JSON type; in mixed text a value is spelt as JSON
spells it. `$${` is a literal `${`. What follows a name is read as the path of a target is.
See docs/how-to/compositions.md.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.targets import Absent, Segment, Spread, Target, TargetSyntaxError, parse_target, resolve
from mcptest_engine.suite.templates import DATA_MATCHERS, as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest_engine.suite.yaml import Pointer

ID_PATTERN = r"[A-Za-z_][A-Za-z0-9_-]*"
VARIABLE_PATTERN = r"[^\W\d][\w-]*"
"""The name of a variable of a case: as an id, with the letters of every language."""
CASE_NAMES = "rename it: a variable of a case has letters, digits, `_` and `-`, and begins with a letter or `_`"
RESERVED = ("var", "item", "env")
_INSIDE = r"""((?:[^{}"]|"(?:[^"\\]|\\.)*")*|[^{}]*)"""
"""What stands between the braces. A key in double quotes may hold braces; a quote that is not closed means nothing."""
TEMPLATE = lazy_pattern(rf"\$\$\{{|\$\{{{_INSIDE}\}}|\$\{{")
WHOLE = lazy_pattern(rf"\$\{{{_INSIDE}\}}")
_NONE: frozenset[str] = frozenset()
_HEAD = lazy_pattern(ID_PATTERN)
_VARIABLE = lazy_pattern(VARIABLE_PATTERN)


class Reference(NamedTuple):
    """What stands between the braces: `space` is "node", "item", "var" or "env"; `name` the node's id or the variable's name.

    `path` is what follows, empty where nothing does. `text` is the whole as written.
    """

    text: str
    space: str
    name: str
    path: tuple[Segment, ...]


class ReferenceSyntaxError(ValueError):
    """A template that cannot be read."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Unresolved(Exception):
    """A template that has no value now; `hint` says what may be meant."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


@lru_cache(maxsize=32_768)
def parse_reference(expression: str) -> Reference:
    """Read what stands between the braces. Raises: ReferenceSyntaxError."""
    text = expression.strip()
    head = _HEAD.match(text)
    if head is None:
        raise ReferenceSyntaxError(f"`${{{expression}}}` names no node" if text else "an empty template")
    name, rest = head[0], text[head.end() :]
    if name in ("var", "env"):
        inner = _VARIABLE.match(rest, 1) if rest.startswith(".") else None
        if inner is None:
            raise ReferenceSyntaxError(f"`${{{expression}}}` names no variable")
        return Reference(text, name, inner[0], _path(rest[inner.end() :], text))
    return Reference(text, "item" if name == "item" else "node", "" if name == "item" else name, _path(rest, text))


def _path(rest: str, text: str) -> tuple[Segment, ...]:
    if not rest:
        return ()
    if rest[0] not in ".[":
        raise ReferenceSyntaxError(f"`${{{text}}}` cannot be read: expected `.` or `[`")
    try:
        return parse_target(rest).segments
    except TargetSyntaxError as wrong:
        raise ReferenceSyntaxError(f"`${{{text}}}` cannot be read: {wrong.message}") from None


def templates_in(
    value: object, path: Pointer = (), literal: frozenset[str] = _NONE
) -> Iterator[tuple[Pointer, str, int, str | None]]:
    """Every template in a value: the path of its text, the text, where in it the `${` stands, and what is between the braces.

    That is None where a `${` is not closed. What stands under a key in `literal` is left out, as `fill` leaves it. Depth is
    bounded by the reader of suites.
    """
    if isinstance(value, str):
        if "${" in value:
            for found in TEMPLATE.finditer(value):
                if found[0] != "$${":
                    yield path, value, found.start(), found[1]
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in literal:
                yield from templates_in(item, (*path, key), _NONE if key in DATA_MATCHERS else literal)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from templates_in(item, (*path, index), literal)


def holds_templates(value: object) -> bool:
    """Whether a value has anything to be replaced, an escape included."""
    if isinstance(value, str):
        return "${" in value
    if isinstance(value, dict):
        return any(holds_templates(item) for item in value.values())
    return isinstance(value, list) and any(holds_templates(item) for item in value)


def escaped(value: object) -> Any:
    """A value in which nothing will be taken for a template later."""
    if isinstance(value, str):
        return value.replace("${", "$${") if "${" in value else value
    if isinstance(value, dict):
        return {key: escaped(item) for key, item in value.items()}
    return [escaped(item) for item in value] if isinstance(value, list) else value


def fill(value: object, look_up: Callable[[Reference], Any], literal: frozenset[str] = frozenset()) -> Any:
    """The value with its templates replaced; `look_up` gives what a reference stands for, itself to leave it as it is.

    Under the keys in `literal` nothing is replaced, but for data that is compared with. Raises: Unresolved, as `look_up` does.
    """
    if isinstance(value, str):
        return _filled(value, look_up) if "${" in value else value
    if isinstance(value, dict):
        return {
            key: item if key in literal else fill(item, look_up, _NONE if key in DATA_MATCHERS else literal)
            for key, item in value.items()
        }
    return [fill(item, look_up, literal) for item in value] if isinstance(value, list) else value


def _filled(text: str, look_up: Callable[[Reference], Any]) -> Any:
    whole = WHOLE.fullmatch(text)
    if whole is not None:
        reference = parse_reference(whole[1])
        value = look_up(reference)
        return text if value is reference else value
    parts: list[str] = []
    end = 0
    for found in TEMPLATE.finditer(text):
        parts.append(text[end : found.start()])
        end = found.end()
        if found[1] is None:
            parts.append("${")
            continue
        reference = parse_reference(found[1])
        value = look_up(reference)
        parts.append(found[0] if value is reference else as_text(value))
    return "".join((*parts, text[end:]))


def part_of(reference: Reference, value: object) -> Any:
    """What the reference's path leads to in the value of its name. Raises: Unresolved, with what is there instead."""
    if not reference.path:
        return value
    segments = (reference.name or reference.space, *reference.path)
    found = resolve(Target(reference.text, segments), {segments[0]: value})
    if isinstance(found, Spread):
        found = found.first_absent[1]
    if not isinstance(found, Absent):
        return found
    raise Unresolved(f"`${{{reference.text}}}`: {found.reason}", _structured_hint(reference, value))


def _structured_hint(reference: Reference, value: object) -> str | None:
    """Where the same path does lead to something below `structuredContent`."""
    structured = value.get("structuredContent") if isinstance(value, dict) else None
    if structured is None or isinstance(resolve(Target("", ("it", *reference.path)), {"it": structured}), Absent):
        return None
    rest = reference.text.removeprefix(reference.name)
    return f"a node's output is the whole result: `${{{reference.name}.structuredContent{rest}}}` is there"
