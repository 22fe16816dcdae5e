"""What could be typed at a cursor in a suite, and what the word under it means.

Keys, matchers and values come from the published schema, so that completion, `mcptest schema` and the docs say the same;
names of servers and variables from the text; tools, arguments and their values from a live catalog. Works on half a line of
a text that does not parse, in a few milliseconds, and never raises.

Lines and columns count from 1, in code points. What a server said of itself stands in the answers as it came.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.suite import schema_walk as walk
from mcptest_engine.suite.completion_sources import Catalog, CompletionSources
from mcptest_engine.suite.cursor import ITEM, Place, members, place_at, unquoted
from mcptest_engine.suite.yaml_text import in_flow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["Catalog", "Completions", "Help", "Item", "complete", "hover"]

_MOST = 200
_LIMITS = ("format", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "default")
_NO_ERROR = "not: { exact: true }"
"""Holds also where an answer leaves `isError` out, as `exact: false` does not."""
_TEMPLATE_AT = re.compile(r"\$\{([^{}]*)$")


class Item(NamedTuple):
    """One completion. `insert` takes the place of the typed word; `back` is how far the cursor then stands before its end.

    `stops` are the places that a Tab goes to from there, one after the other, each as far before the end.
    `kind` is "key", "value", "example", "server", "tool", "argument", "variable", "target" or "snippet"; `help` is one line.
    """

    label: str
    insert: str
    kind: str
    help: str = ""
    back: int = 0
    stops: tuple[int, ...] = ()


class Completions(NamedTuple):
    """The best first. `replace_span` is (line, column, end column) of the word that an item takes the place of."""

    items: tuple[Item, ...]
    replace_span: tuple[int, int, int]


class Help(NamedTuple):
    """What a word means: a title, what it takes, sentences, and examples as YAML."""

    title: str
    text: str
    takes: str = ""
    examples: tuple[str, ...] = ()


def complete(
    text: str | Sequence[str],
    line: int,
    column: int,
    catalog: Catalog | None = None,
    *,
    answered: Iterable[tuple[str, str]] = (),
    folder: Path | None = None,
) -> Completions:
    """What fits at the cursor and begins with (or holds) what is typed there. `catalog` is {server: {"tools": […], …}}.

    `answered` are the targets that the test's last answer has, each with its value (`targets_in`). In `folder`, that of the
    suite, lie the data files that `cases` name.
    """
    lines = _lines(text)
    place = place_at(lines, line - 1, column - 1)
    if place is None:
        return Completions((), (line, column, column))
    span = (line, place.start + 1, place.end + 1)
    offers = CompletionSources(lines, place, catalog or {}, answered, folder)
    template = _TEMPLATE_AT.search(place.typed)
    if template is not None:
        at = place.start + template.start(1)
        closed = lines[place.row][place.end : place.end + 1] == "}"
        found = [Item(name, name if closed else f"{name}}}", "variable", told) for name, told in offers.variables()]
        return Completions(_ranked(found, template[1]), (line, at + 1, max(place.end, at) + 1))
    found = list(_Proposals(lines, place, offers).items())
    return Completions(_ranked(found, place.typed), span)


def hover(text: str | Sequence[str], line: int, column: int, catalog: Catalog | None = None) -> Help | None:
    """What the word at the cursor means; on no word, the key that it stands under."""
    lines = _lines(text)
    if not 0 < line <= len(lines):
        return None
    row = lines[line - 1]
    content = len(row) - len(row.lstrip(" -"))
    end = max(column - 1, content if content < len(row) else 0, 0)
    while end < len(row) and (row[end].isalnum() or row[end] in "_-./$"):
        end += 1
    place = place_at(lines, line - 1, end)
    if place is None:
        return None
    offers = CompletionSources(lines, place, catalog or {})
    word = place.typed.strip()
    if place.mode != "value":
        key = unquoted(re.split(r":(?:\s|$)", word, maxsplit=1)[0]) if word else ""
        return _help_of_key((*place.path, key) if key else place.path, offers)
    return _help_of_value(place, word, offers) or _help_of_key(place.path, offers)


def _lines(text: str | Sequence[str]) -> Sequence[str]:
    if not isinstance(text, str):
        return text
    return re.split(r"\r\n|\r|\n", text) if "\r" in text else text.split("\n")


class _Proposals:
    """Everything that could stand at a place."""

    def __init__(self, lines: Sequence[str], place: Place, offers: CompletionSources) -> None:
        self._lines, self._place, self._offers = lines, place, offers
        self._schemas = walk.of_suite(place.path)

    def items(self) -> Iterable[Item]:
        place = self._place
        if place.mode == "open" and not place.after_dash and not place.typed:
            yield from self._dashes()
        if place.mode in ("key", "open") and not place.quote:
            yield from self._keys()
        if place.mode == "value" or (place.mode == "open" and place.after_dash):
            yield from self._values()

    # Keys

    def _keys(self) -> Iterable[Item]:
        place = self._place
        there = self._there()
        argument = self._offers.argument(place.path)
        if argument is not None:
            root, schema = argument
            parts = list(walk.alternatives(root, schema))
            needed = walk.required(parts)
            for name, told in walk.properties(parts).items():
                if name not in there:
                    said = _argument_help(root, told, name in needed)
                    begun, back = self._typed_prefix(root, told)
                    text = self._key_text(name, begun)
                    yield Item(name, text, "argument", said, back if text.endswith(begun) else 0)
            return
        if place.path and self._is_one_key() and there:
            return
        if self._offers.is_about_the_error_flag() and not there:
            yield Item(_NO_ERROR, _NO_ERROR, "snippet", "The tool did not report an error.")
        needed = walk.required(self._schemas)
        known = walk.properties(self._schemas)
        if place.mode == "open" and place.after_dash and {"target", "matcher"} <= set(known) and not there:
            yield _snippet()
        for name in sorted(known, key=lambda name: name not in needed):
            if name not in there:
                insert, back = self._opened(name, (*place.path, name))
                yield Item(name, insert, "key", _first_sentence(walk.description(known[name])), back)
        for name, told in self._offers.short_targets():
            if name not in there:
                yield Item(name, self._key_text(name, ": "), "target", told)
        if place.path == ("servers",) and not there:
            yield Item("name", "name: ", "example", "A short name for the server, which tests use.")

    def _typed_prefix(self, root: object, schema: object) -> tuple[str, int]:
        """What the value of an argument begins with by its type, and how far the cursor stands before the end of that."""
        kinds = {kind for part in walk.alternatives(root, schema) for kind in walk.types(part)}
        shapes = {"array": (": []", 1), "object": (": {  }", 2)}
        return shapes.get(next(iter(kinds)), (": ", 0)) if len(kinds) == 1 else (": ", 0)

    def _there(self) -> set[str]:
        holder = self._place.holder(len(self._place.path))
        if holder is None:
            return set()
        there = members(self._lines, holder)
        word = self._lines[self._place.row][self._place.start : self._place.end]
        return {key for key in there if key != word}

    def _is_one_key(self) -> bool:
        return any(schema.get("maxProperties") == 1 for schema in self._schemas)

    def _key_text(self, name: str, opened: str) -> str:
        behind = self._lines[self._place.row][self._place.end :]
        is_plain = re.fullmatch(r"\w[\w.-]*" if self._place.flow else r"\w[\w.\[\]*-]*", name)
        name = name if is_plain else json.dumps(name, ensure_ascii=False)
        return name if re.match(r"[ \t]*:", behind) else name + opened

    def _opened(self, name: str, path: tuple[str | int, ...]) -> tuple[str, int]:
        """The key with what its value begins with, and how far the cursor stands before the end of that."""
        shape, back = self._shape(path)
        text = self._key_text(name, shape)
        return (text, back) if text != name else (name, 0)

    def _shape(self, path: tuple[str | int, ...]) -> tuple[str, int]:
        schemas = walk.of_suite(path)
        kinds = {kind for schema in schemas for kind in walk.types(schema)}
        if not kinds or kinds & {"string", "integer", "number", "boolean"}:
            return ": ", 0
        inner = " " * (self._place.column + 2)
        if "array" in kinds:
            items = walk.of_suite((*path, ITEM))
            if any(walk.types(item) == ("object",) for item in items):
                return (": []", 1) if self._place.flow else (f":\n{inner}- ", 0)
            return ": []", 1
        free = not walk.properties(schemas) and any(schema.get("additionalProperties") is True for schema in schemas)
        if self._place.flow or free or any(schema.get("maxProperties") == 1 for schema in schemas):
            return ": {  }", 2
        return f":\n{inner}", 0

    # Values

    def _values(self) -> Iterable[Item]:
        place = self._place
        named = list(self._offers.names())
        yield from (Item(name, self._value_text(name), kind, told) for name, kind, told in named)
        closed = walk.values(self._schemas)
        for value, _ in closed:
            yield Item(str(_yaml(value)), self._value_text(value), "value", self._help())
        argument = self._offers.argument(place.path)
        if argument is not None:
            for value in _argument_values(*argument):
                told = walk.description(argument[1]).partition("\n")[0]
                yield Item(str(_yaml(value)), self._value_text(value), "value", told)
        if place.mode == "value" and not place.quote and not place.typed:
            yield from self._braces()
        if not closed and not named:
            for example in walk.examples(walk.suite_property(place.path)):
                if not isinstance(example, (dict, list)):
                    yield Item(str(_yaml(example)), self._value_text(example), "example", self._help())

    def _help(self) -> str:
        return _first_sentence(walk.description(walk.suite_property(self._place.path)))

    def _value_text(self, value: object) -> str:
        if not isinstance(value, str):
            return str(_yaml(value))
        if self._place.quote == '"':
            return json.dumps(value, ensure_ascii=False)[1:-1]
        if self._place.quote:
            return value.replace("'", "''")
        return in_flow(value, quoted=self._place.path[-1:] == ("target",))

    def _braces(self) -> Iterable[Item]:
        """A mapping on one line, where one with known keys may stand."""
        if any({"target", "matcher"} <= set(walk.properties([schema])) for schema in self._schemas):
            yield _snippet()
        for schema in self._schemas:
            if {"exact", "contains"} <= set(walk.properties([schema])):
                for name, told in walk.properties([schema]).items():
                    yield Item(name, f"{{ {name}:  }}", "key", _first_sentence(walk.description(told)), 2)

    def _dashes(self) -> Iterable[Item]:
        items = [item for item in walk.of_suite((*self._place.path, ITEM)) if walk.types(item) == ("object",)]
        if items and self._place.path and self._place.path[-1] != ITEM:
            needed = next((name for name in walk.properties(items) if name in walk.required(items)), "")
            if {"target", "matcher"} <= set(walk.properties(items)):
                snippet = _snippet()
                yield snippet._replace(label=f"- {snippet.label}", insert=f"- {snippet.insert}")
            elif needed:
                yield Item(f"- {needed}:", f"- {needed}: ", "snippet", _first_sentence(walk.description(items[0])))


def _snippet() -> Item:
    end = '", matcher: {  } }'
    label, help_text = "{ target, matcher }", "One assertion on one line; Tab goes from target to matcher."
    return Item(label, f'{{ target: "{end}', "snippet", help_text, len(end), (len("  } }") - 1, 0))


def _ranked(items: list[Item], typed: str) -> tuple[Item, ...]:
    """Those that begin with what is typed, then those that hold it, then those that hold its letters in order."""
    wanted = typed.strip().casefold().lstrip("\"'")
    unique = list({(item.label, item.kind in ("value", "example")): item for item in reversed(items)}.values())[::-1]
    if not wanted:
        return tuple(unique[:_MOST])
    scored = []
    for item in unique:
        label = item.label.casefold()
        if label.startswith(wanted):
            scored.append((0 if item.kind != "snippet" else 1, item))
        elif wanted in label:
            scored.append((2, item))
        elif len(wanted) > 1 and label[:1] == wanted[0] and _in_order(wanted, label):
            scored.append((3, item))
    scored.sort(key=lambda found: found[0])
    return tuple(item for _, item in scored[:_MOST])


def _in_order(wanted: str, label: str) -> bool:
    letters = iter(label)
    return all(letter in letters for letter in wanted)


# Help


def _help_of_key(path: tuple[str | int, ...], offers: CompletionSources) -> Help | None:
    while path and path[-1] == ITEM:
        path = path[:-1]
    if not path:
        return None
    argument = offers.argument(path)
    if argument is not None and len(path) > offers.arguments_depth(path):
        return _help_of_schema(str(path[-1]), *argument)
    told = walk.suite_property(path)
    if told is None:
        return None
    if len(path) == 2 and path[0] == "servers":
        return Help(str(path[1]), offers.server_address(str(path[1])) or walk.description(told), "server")
    return _help_of_schema(str(path[-1]), walk.suite_schema(), told)


def _help_of_schema(title: str, root: object, told: object) -> Help:
    text = walk.description(told)
    if isinstance(told, dict) and "$ref" in told and not text:
        text = walk.description(next(walk.alternatives(root, told), {}))
    takes = ", ".join([walk.values_shown(root, told), *(_limits(told) if root is not walk.suite_schema() else ())])
    return Help(title, text, takes, tuple(_example(title, example) for example in walk.examples(told)[:3]))


def _limits(schema: object) -> list[str]:
    """What else the schema of a tool's argument says of a value, in its own keywords."""
    if not isinstance(schema, dict):
        return []
    return [f"{key} {one_line(str(_yaml(schema[key])), 60)}" for key in _LIMITS if key in schema]


def _example(key: str, value: object) -> str:
    try:
        return f"{key}: {in_flow(value, quoted=key == 'target')}"
    except ValueError:
        return key


def _help_of_value(place: Place, word: str, offers: CompletionSources) -> Help | None:
    template = re.search(r"\$\{(?:var\.)?([\w.-]+)\}?$", place.typed)
    if template is not None:
        told = dict(offers.variables()).get(template[1])
        return Help(f"${{{template[1]}}}", told, "variable") if told is not None else None
    for name, kind, told in offers.names(full=True):
        if name == word:
            return Help(name, "\n".join(filter(None, (told, offers.signature(name) if kind == "tool" else ""))), kind)
    return None


def _argument_help(root: object, schema: object, needed: bool) -> str:
    shown = walk.values_shown(root, schema)
    text = walk.description(schema).strip().partition("\n")[0]
    return ". ".join(part for part in (f"{shown}{', required' if needed else ''}", text) if part)


def _argument_values(root: object, schema: object) -> list[Any]:
    parts = list(walk.alternatives(root, schema))
    closed = [value for value, _ in walk.values(parts)]
    return closed or [example for example in walk.examples(schema) if not isinstance(example, (dict, list))]


def _first_sentence(text: str) -> str:
    first = re.split(r"(?<=[.!?])\s", text.strip(), maxsplit=1)[0]
    return first.replace("\n", " ")


def _yaml(value: object) -> Any:
    return value if isinstance(value, str) else json.dumps(value)
