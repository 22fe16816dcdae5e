"""One argument of a call: the text that was typed, the value it stands for, and what is wrong with it.

An object has a field for each member, a list one for each item, and a value of several shapes those of the shape that was
chosen. What is nested too deep, refers to itself, or has no members to show is one field of JSON. An empty field is left out.
"""

from __future__ import annotations

import json
import math
import operator
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.core.lenient_json import LenientError, loads
from mcptest_engine.core.sanitise import one_line, sanitise
from mcptest_engine.core.targets import render
from mcptest_engine.core.text import counted
from mcptest_engine.servers.signatures import arguments_of, resolved, type_of
from mcptest_tui.state.schema_rows import facts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

MOST_FIELDS = 60
DEEPEST = 4
MOST_SHAPES = 8
WHOLE = "(arguments)"
REST = "(others)"
PARTS = frozenset({"object", "list", "union"})
_EMPTY_TEXT = '""'
_KINDS = {"string": "text", "integer": "integer", "number": "number", "boolean": "choice", "null": "json"}
_FORMATS = {"date": "2026-01-31", "time": "09:30:00Z", "date-time": "2026-01-31T09:30:00Z", "email": "a@example.org"}
_ITEM = re.compile(r'\s*("(?:[^"\\]|\\.)*"(?=\s*(?:,|$))|[^,]*)\s*(?:,|$)')


@dataclass(slots=True, eq=False)
class Field:
    """One argument, or a part of one.

    `kind` is "text", "integer", "number", "choice" (of `options`, which are JSON texts), "line" (a list as `a, b`), "json",
    "object" (of `members`), "list" (whose items are `members`), or "union": `raw` is the shape that was chosen, of
    `options`, and its field the only one of `members`. The `raw` of an object or list is what is sent while nothing is in it.
    """

    name: str
    kind: str
    required: bool
    type: str
    schema: Mapping[str, Any]
    facts: tuple[str, ...] = ()
    description: str = ""
    options: tuple[str, ...] = ()
    nullable: bool = False
    raw: str = ""
    parent: Field | None = None
    members: list[Field] = field(default_factory=list)
    maker: FieldMaker | None = None
    above: frozenset[str] = frozenset()
    _first: str = ""

    @property
    def path(self) -> tuple[str | int, ...]:
        """The path from the arguments to the field: names, and indexes of items."""
        if self.parent is None:
            return (self.name,)
        if self.parent.kind == "union":
            return self.parent.path
        return (*self.parent.path, self.parent.members.index(self) if self.parent.kind == "list" else self.name)

    @property
    def key(self) -> str:
        """Its path as targets are spelled; a value of a chosen shape has a mark behind it, an object has its union's row."""
        if self.name in (WHOLE, REST) and self.parent is None:
            return self.name
        is_shape = self.parent is not None and self.parent.kind == "union" and self.kind != "object"
        return render(self.path) + ("|" if is_shape else "")

    @property
    def depth(self) -> int:
        """The number of levels by which the field is indented."""
        if self.parent is None:
            return 0
        hidden = self.parent.kind == "object" and self.parent.parent is not None and self.parent.parent.kind == "union"
        return self.parent.depth + (0 if hidden else 1)

    @property
    def label(self) -> str:
        """The name of the field on the screen."""
        if self.parent is not None and self.parent.kind == "list":
            return f"[{self.parent.members.index(self)}]"
        return "value" if self.parent is not None and self.parent.kind == "union" else self.name

    def rows(self) -> Iterator[Field]:
        """It and what stands below it; the fields of a chosen object stand below its union."""
        if self.kind != "object" or self.parent is None or self.parent.kind != "union":
            yield self
        if self.kind in PARTS:
            for member in self.members:
                yield from member.rows()

    @property
    def list_around(self) -> Field | None:
        """The list that the field is, or the nearest that contains it."""
        found: Field | None = self
        while found is not None and found.kind != "list":
            found = found.parent
        return found

    @property
    def placeholder(self) -> str:
        """What stands in the empty field: the type, and what is taken when nothing is typed."""
        if "default" in self.schema:
            return f"{self.type} = {as_text(self.schema['default'])[:60]}"
        wanted = f"{self.type}, required" if self.required and not self._is_item else self.type
        return f"{wanted}: a, b" if self.kind == "line" else wanted

    @property
    def help(self) -> str:
        """One line that explains the field."""
        if self.name in (WHOLE, REST):
            return self.description
        wanted = () if not self.required or "required" in self.facts or self._is_item else ("required",)
        told = ", ".join((self.type, *wanted, *self.facts))
        about = self.description.strip().split("\n")[0]
        return f"{render(self.path) if self.parent is not None else self.name}: {told}{'.  ' if about else ''}{about}"

    # What is in it

    @property
    def _is_item(self) -> bool:
        return self.parent is not None and self.parent.kind in ("list", "union")

    @property
    def empty(self) -> bool:
        """Whether the field is left out of the call; blanks are a text."""
        if self.kind == "text":
            return not self.raw
        if self.kind == "union" or self.kind not in PARTS:
            return not self.raw.strip()
        if self.raw or self._is_item:
            return False
        if self.kind == "list":
            return not self.members
        return all(one.empty for one in self.members) and not (
            self.required and not any(one.required for one in self.members)
        )

    def value(self) -> Any:
        """What is sent for what was typed. Raises: ValueError with what is wrong with it."""
        raw = self.raw
        if self.kind in PARTS:
            return self.sent()
        if self.kind == "text":
            return "" if raw == _EMPTY_TEXT else None if self.nullable and raw == "null" else raw
        text = raw.strip()
        if self.nullable and text == "null":
            return None
        if self.kind == "integer":
            return _integer(text)
        if self.kind == "number":
            return _number(text)
        if self.kind == "line" and not text.startswith("["):
            return [self._item(part, at) for at, part in enumerate(_ITEM.findall(text)) if part]
        try:
            return loads(text)
        except LenientError as wrong:
            if self.kind == "json" and self._takes_text and text[:1] not in "{[\"'":
                return text
            raise ValueError(_json_problem(wrong, text, self)) from None

    def _item(self, part: str, at: int) -> Any:
        part, kind = part.rstrip(), self.schema["items"].get("type")
        try:
            if kind == "string":
                return json.loads(part) if part.startswith('"') and part.endswith('"') and len(part) > 1 else part
            return _integer(part) if kind == "integer" else _number(part)
        except ValueError as wrong:
            raise ValueError(f"item {at + 1}: {wrong}") from None

    @property
    def _takes_text(self) -> bool:
        """Whether one of several simple types is a text, which then needs no quotes."""
        kinds = self.type.split("|")
        return len(kinds) > 1 and "str" in kinds

    def sent(self) -> Any:
        """The value for the call; what cannot be read is the text that it is."""
        if self.kind == "union":
            return self.members[0].sent() if self.members else self.raw
        if self.kind in ("object", "list"):
            there = [one for one in self.members if not one.empty]
            if self.raw and not there:
                return loads(self.raw)
            return members_sent(there) if self.kind == "object" else [one.sent() for one in there]
        try:
            return self.value()
        except ValueError:
            return self.raw

    def put(self, value: object) -> None:
        """A value as text. What this kind of field could not give back becomes JSON; what no line could show, escapes."""
        self.clear()
        if self.kind in PARTS:
            if self._put_part(value):
                return
        elif self.kind == "text" and isinstance(value, str):
            self.raw = value or _EMPTY_TEXT
            if one_line(value) == value and self.value() == value:
                return
        elif self.kind == "line" and isinstance(value, list) and value:
            self.raw = ", ".join(map(_as_item, value))
            if one_line(self.raw) == self.raw and self._is(value):
                return
        self.raw = as_text(value)
        if sanitise(self.raw) != self.raw:
            self.raw = json.dumps(value)
        if self.kind in ("text", *PARTS) or (self.kind in ("integer", "number", "line") and not self._is(value)):
            self.kind = "json"

    def _put_part(self, value: object) -> bool:
        """Whether the rows of an object, list or union can show the value, and do."""
        if self.kind == "object" and isinstance(value, dict):
            fill(self.members, value, self.schema, self)
            self.raw = "{}" if not value else ""
        elif self.kind == "list" and isinstance(value, list) and len(value) <= MOST_FIELDS:
            for one in value:
                self._new_item(len(self.members)).put(one)
            self.raw = "[]" if not value else ""
        elif self.kind == "union":
            chosen = self.maker.shape_of(self, value) if self.maker is not None else None
            if chosen is None:
                return False
            self.choose(chosen)
            self.members[0].put(value)
        else:
            return False
        return _same(self.sent(), value)

    def clear(self) -> None:
        """Remove the value, and restore the first kind of the field."""
        self.kind = self._first = self._first or self.kind
        self.raw = ""
        if self.kind == "object" and self.maker is not None:
            self.members = self.members or self.maker.members(self)
            for one in self.members:
                one.clear()
        else:
            self.members = []

    def choose(self, shape: str) -> None:
        """Replace the members by the fields of a union's shape; "" for none."""
        self.raw, self.members = shape, []
        if shape and shape in self.options and self.maker is not None:
            self.members = [self.maker.shape(self, self.options.index(shape))]

    def add_item(self, at: int) -> Field:
        """Insert an item into the list at index `at`, and return it."""
        assert self.maker is not None
        self.maker.left = MOST_FIELDS
        self.raw = ""
        return self._new_item(at)

    def _new_item(self, at: int) -> Field:
        assert self.maker is not None
        item = self.maker.field("", self.schema.get("items"), required=True, parent=self)
        self.members.insert(at, item)
        return item

    def remove_item(self, item: Field) -> None:
        """One item less; without any, the list is empty and no longer left out."""
        self.members.remove(item)
        self.raw = "" if self.members else "[]"

    def turn(self) -> None:
        """What an object or a list is while nothing is in it: left out, empty, or null where that is a value."""
        states = ["", "{}" if self.kind == "object" else "[]", *(["null"] if self.nullable else [])]
        self.raw = states[(states.index(self.raw) + 1) % len(states)] if self.raw in states else ""

    def _is(self, value: object) -> bool:
        """Whether the current value of the field equals this one."""
        try:
            return _same(self.value(), value)
        except ValueError:
            return False

    # What is wrong with it

    def problems(self) -> dict[str, str]:
        """What is wrong with it and what it holds, by key, each in one clause."""
        problem = self._problem()
        found = {self.key: problem} if problem else {}
        if self.kind in PARTS and (self.required or not self.empty) and self.raw not in ("{}", "null"):
            for one in self.members:
                found.update(one.problems())
        return found

    def _problem(self) -> str:
        if self.kind in ("object", "list"):
            return self._problem_of_part()
        if self.empty:
            if not self.required:
                return ""
            return f"required; {_EMPTY_TEXT} is an empty text" if self.kind == "text" else "required"
        if self.kind == "union":
            return _problem_of_choice(self, self.raw) if not self.members else ""
        try:
            value = self.value()
        except ValueError as wrong:
            return str(wrong)
        if self.name == REST:
            return _problem_of_rest(self, value)
        if value is None and self.nullable:
            return ""
        if self.kind == "choice":
            return _problem_of_choice(self, as_text(value))
        if self.kind in ("integer", "number"):
            return _problem_of_number(self.schema, value)
        if self.kind == "text":
            return _problem_of_length(self.schema, value) or _problem_of_format(self.schema, value)
        return _problem_of_type(self, value)

    def _problem_of_part(self) -> str:
        if self.kind == "object":
            return ""  # what its members want is told there
        least, most, there = self.schema.get("minItems"), self.schema.get("maxItems"), len(self.members)
        if self.empty:
            return "required" if self.required else ""
        if isinstance(least, int) and there < least and self.raw != "null":
            return f"has {counted(there, 'item')}, at least {least} are needed"
        if isinstance(most, int) and there > most:
            return f"has {counted(there, 'item')}, at most {most} are allowed"
        return ""


class FieldMaker:
    """Makes fields of schemas; `root` is where references lead, `left` how many nested ones it still makes."""

    def __init__(self, root: object) -> None:
        self.root = root
        self.left = MOST_FIELDS

    def field(self, name: str, schema: object, *, required: bool, parent: Field | None = None) -> Field:
        """Return the field of a value, with the fields of its members."""
        whole = resolved(schema, self.root)
        kind, options, nullable, inner = self._kind(whole)
        description = whole.get("description")
        above = parent.above if parent is not None else frozenset({"#"})
        references = _references(schema, self.root) | (
            _references(inner, self.root) if inner is not whole else frozenset()
        )
        made = Field(
            name, kind, required, type_of(schema, self.root), resolved(inner, self.root) or whole,
            tuple(facts_of(schema, self.root)), description if isinstance(description, str) else "",
            options, nullable, parent=parent, maker=self, above=above | references,
        )  # fmt: skip
        if kind == "line":
            made.schema = {**made.schema, "items": resolved(made.schema["items"], self.root)}
        if kind in PARTS:
            items = resolved(made.schema.get("items"), self.root) if kind == "list" else {}
            if (
                references & above
                or made.depth >= DEEPEST
                or _references(made.schema.get("items"), self.root) & made.above
            ):
                made.kind, made.options = "json", ()
            elif kind == "list" and not items:
                made.kind = "json"
            elif kind == "object":
                made.members = self.members(made)
                if not made.members:
                    made.kind = "json"
        return made

    def members(self, one: Field) -> list[Field]:
        """Return the fields of an object's members, [] where there are too many."""
        arguments = arguments_of(one.schema)
        self.left -= len(arguments)
        if self.left < 0:
            return []
        return [self.field(arg.name, arg.schema, required=arg.required, parent=one) for arg in arguments]

    def shape(self, union: Field, at: int) -> Field:
        """Return the field of shape `at` of a union."""
        self.left = max(self.left, MOST_FIELDS // 2)
        made = self.field("", _shapes(union.schema, self.root)[at], required=True, parent=union)
        for one in made.members if made.kind == "object" else ():
            if one.required and "const" in one.schema:
                one.put(one.schema["const"])  # there is no other value
        return made

    def shape_of(self, union: Field, value: object) -> str | None:
        """Return the first shape of a union that the value matches."""
        from mcptest_engine.core.schemas import SchemaError, compile_schema

        root = self.root if isinstance(self.root, dict) else {}
        shared = {key: root[key] for key in ("$defs", "definitions") if key in root}
        for option, shape in zip(union.options, _shapes(union.schema, self.root), strict=True):
            try:
                if compile_schema({**shared, **shape}).is_valid(value):
                    return option
            except (SchemaError, ValueError, TypeError):
                continue
        return None

    def _kind(self, whole: Mapping[str, object], depth: int = 0) -> tuple[str, tuple[str, ...], bool, Any]:
        """(kind, options, whether null is a value, the schema of what is not null)."""
        values = [whole["const"]] if "const" in whole else whole.get("enum")
        if isinstance(values, list) and values and not any(isinstance(value, (dict, list)) for value in values):
            return "choice", tuple(dict.fromkeys(as_text(value) for value in values)), False, whole
        kinds = whole.get("type")
        if isinstance(kinds, list):
            rest = [kind for kind in kinds if kind != "null"]
            if len(rest) != 1:
                return "json", (), False, whole
            kind, options, _, inner = self._kind({**whole, "type": rest[0]}, depth)
            return kind, options, len(rest) < len(kinds), inner
        for key in ("anyOf", "oneOf"):
            branches = whole.get(key)
            if isinstance(branches, list) and "type" not in whole and depth < DEEPEST:
                rest = [one for one in branches if resolved(one, self.root).get("type") != "null"]
                if len(rest) != 1:
                    return self._union(whole, rest)
                kind, options, _, _ = self._kind(resolved(rest[0], self.root), depth + 1)
                about = {name: told for name, told in whole.items() if name not in (key, "type")}
                inner = rest[0] if kind in PARTS else {**about, **resolved(rest[0], self.root)}
                return kind, options, len(rest) < len(branches), inner
        if kinds == "boolean":
            return "choice", ("true", "false"), False, whole
        if kinds == "array" or (kinds is None and isinstance(whole.get("items"), dict)):
            return self._list_kind(whole), (), False, whole
        if isinstance(whole.get("properties"), dict) and kinds in ("object", None):
            return "object", (), False, whole
        return (_KINDS.get(kinds, "json") if isinstance(kinds, str) else "json"), (), False, whole

    def _list_kind(self, whole: Mapping[str, object]) -> str:
        if not isinstance(whole.get("items"), dict) or not whole["items"]:
            return "json"
        items = resolved(whole["items"], self.root)
        plain = items.get("type") in ("string", "integer", "number") and not {"enum", "const", "anyOf", "oneOf"} & set(
            items
        )
        return "line" if plain else "list"

    def _union(self, whole: Mapping[str, Any], shapes: list[Any]) -> tuple[str, tuple[str, ...], bool, Any]:
        """Shapes to choose from, where one of them has rows of its own."""
        rows = [self._kind(resolved(one, self.root), DEEPEST)[0] in PARTS for one in shapes]
        if not any(rows) or len(shapes) > MOST_SHAPES or not all(isinstance(one, dict) for one in shapes):
            return "json", (), False, whole
        names: list[str] = []
        for one in shapes:
            name = _shape_name(one, self.root)
            names.append(name if name not in names else f"{name} {len(names) + 1}")
        return "union", tuple(map(as_text, names)), False, whole


def fill(members: list[Field], values: Mapping[str, object], schema: object, parent: Field | None = None) -> list[str]:
    """Put values into fields; all others become empty. The names for which there is none: they have one together."""
    for one in members:
        one.clear()
    named = {one.name: one for one in members if one.name != REST}
    unknown = {name: value for name, value in values.items() if name not in named}
    for name, value in values.items():
        if name in named:
            named[name].put(value)
    rest = next((one for one in members if one.name == REST), None)
    if unknown and rest is None:
        about = f"{'arguments' if parent is None else 'members'} that the schema does not name"
        closed = {"additionalProperties": schema.get("additionalProperties") if isinstance(schema, dict) else True}
        rest = Field(REST, "json", False, "object", closed, (), about, tuple(named), parent=parent)
        members.append(rest)
    if rest is not None:
        rest.raw = as_text(unknown) if unknown else ""
    return list(unknown)


def members_sent(members: Iterable[Field]) -> dict[str, Any]:
    """Return the values of the fields that are not empty, by name."""
    found: dict[str, Any] = {}
    for one in members:
        if not one.empty:
            value = one.sent()
            found.update(
                {one.name: value} if one.name not in (WHOLE, REST) else value if isinstance(value, dict) else {}
            )
    return found


def as_text(value: object, indent: int | None = None) -> str:
    """Return the value as JSON on one line, without escaped letters."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _as_item(value: Any) -> str:
    """An item of a list on one line, in quotes where it needs them."""
    plain = isinstance(value, str) and value.strip() == value != "" and "," not in value and value[0] not in '"['
    return value if plain else as_text(value)


def _shapes(schema: Mapping[str, Any], root: object) -> list[Any]:
    branches = schema.get("anyOf") or schema.get("oneOf") or []
    return [one for one in branches if resolved(one, root).get("type") != "null"]


def _shape_name(shape: Mapping[str, object], root: object) -> str:
    """A shape by its title, by the one value of a member that tells it from others, by its reference, or by its type."""
    whole = resolved(shape, root)
    title = shape.get("title")
    if isinstance(title, str) and title:
        return title
    for about in (whole.get("properties") or {}).values() if isinstance(whole.get("properties"), dict) else ():
        if isinstance(about, dict) and isinstance(about.get("const"), str):
            return str(about["const"])
    return type_of(shape, root)


def _references(schema: object, root: object) -> frozenset[str]:
    """The references that a schema is, one after the other, and those of its `allOf`."""
    found: set[str] = set()
    left = [schema]
    for one in left:  # which grows meanwhile
        reference = one.get("$ref") if isinstance(one, dict) else None
        if isinstance(reference, str) and reference not in found:
            found.add(reference)
            left.append(resolved({"$ref": reference}, root))
        if isinstance(one, dict) and isinstance(one.get("allOf"), list):
            left += one["allOf"][:20]
    return frozenset(found)


def _same(one: object, other: object) -> bool:
    """Whether two values are the same JSON with the same types: 1, 1.0 and true differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and one == other


def _problem_of_rest(one: Field, value: object) -> str:
    if not isinstance(value, dict):
        return 'must be a JSON object: {"name": value}'
    for name in value if one.schema.get("additionalProperties") is False else ():
        hint = did_you_mean(name, one.options)
        return f"`{name}` is not one of the {'arguments' if one.parent is None else 'members'}" + (
            f"; {hint}" if hint else ""
        )
    return ""


def _problem_of_choice(one: Field, text: str) -> str:
    if text in one.options:
        return ""
    plain = {_plain(option): option for option in one.options}
    hint = did_you_mean(_plain(text), plain)
    told = ", ".join(one.options[:8]) + (", …" if len(one.options) > 8 else "")
    return f"not one of {told}" + (f"; {hint}" if hint else "")


def _problem_of_number(schema: Mapping[str, object], value: float) -> str:
    limits: list[tuple[str, str, Callable[[float, float], bool]]] = [
        ("minimum", "at least", operator.ge),
        ("maximum", "at most", operator.le),
        ("exclusiveMinimum", "more than", operator.gt),
        ("exclusiveMaximum", "less than", operator.lt),
    ]
    for key, words, holds in limits:
        limit = schema.get(key)
        if isinstance(limit, (int, float)) and not isinstance(limit, bool) and not holds(value, limit):
            return f"has to be {words} {as_text(limit)}"
    return ""


def _problem_of_length(schema: Mapping[str, object], value: str) -> str:
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int) and len(value) < least:
        return f"has {len(value)} characters, at least {least} are needed"
    if isinstance(most, int) and len(value) > most:
        return f"has {len(value)} characters, at most {most} are allowed"
    return ""


def _problem_of_format(schema: Mapping[str, object], value: str) -> str:
    wanted = schema.get("format")
    if not isinstance(wanted, str):
        return ""
    from mcptest_engine.core.schemas import SchemaError, compile_schema

    try:
        is_valid = compile_schema({"format": wanted}).is_valid(value)
    except (SchemaError, ValueError):
        return ""
    example = _FORMATS.get(wanted, "")
    return "" if is_valid else f"no {wanted}" + (f", such as {example}" if example else "")


def _problem_of_type(one: Field, value: object) -> str:
    wanted = one.schema.get("type")
    if wanted == "array" and not isinstance(value, list):
        return f"must be a list: [{as_text(value)[:40]}]"
    if wanted == "object" and not isinstance(value, dict):
        return 'must be an object: {"name": value}'
    return ""


def _json_problem(wrong: LenientError, text: str, one: Field) -> str:
    wanted = one.schema.get("type")
    if wanted == "array" and not text.startswith("["):
        items: Sequence[str] = [part.strip() for part in text.split(",")][:4]
        return f"must be a list: {as_text(items)[:60]}"
    where = f"line {wrong.line}, column {wrong.column}: " if "\n" in text else f"column {wrong.column}: "
    return f"{where}{wrong.message}"


def _integer(text: str) -> int:
    number = _read_number(text)
    if number is None or (isinstance(number, float) and not number.is_integer()):
        raise ValueError(f"`{text[:40]}` is not a whole number")
    return int(number)


def _number(text: str) -> int | float:
    number = _read_number(text)
    if number is None:
        hint = "; write a dot" if text.replace(",", ".", 1).replace(".", "", 1).isdecimal() and "," in text else ""
        raise ValueError(f"`{text[:40]}` is not a number{hint}")
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError(f"`{text[:40]}` is not a number that JSON has")
    return number


def _read_number(text: str) -> int | float | None:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return None


def _plain(option: str) -> str:
    """An option as a person would type it: a text without its quotes."""
    return option[1:-1] if option.startswith('"') else option
