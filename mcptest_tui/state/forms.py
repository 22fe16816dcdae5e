"""The form for a call: a field for each argument of a schema, what was typed in it, what is wrong with it, and the request.

Fields hold text; an empty one is left out of the call, and `""` typed into a text field is an empty text. The surprising thing:
a form that is wrong can still be sent, since what a server does with wrong arguments is what one wants to know of it. What
cannot be read as what it should be goes out as the text that it is.
"""

from __future__ import annotations

import json
import math
import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.core.lenient_json import LenientError, loads
from mcptest_engine.core.sanitise import one_line, sanitise
from mcptest_engine.servers.signatures import (
    arguments_of,
    prompt_arguments,
    resolved,
    template_variables,
    type_of,
)
from mcptest_tui.state.schema_rows import facts_of
from mcptest_tui.state.uri_templates import expand

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcptest_tui.state.catalog import Item

MOST_FIELDS = 60
WHOLE = "(arguments)"
REST = "(others)"
_EMPTY_TEXT = '""'
_KINDS = {"string": "text", "integer": "integer", "number": "number", "boolean": "choice", "null": "json"}

_FORMATS = {"date": "2026-01-31", "time": "09:30:00Z", "date-time": "2026-01-31T09:30:00Z", "email": "a@example.org"}


@dataclass(slots=True, eq=False)
class Field:
    """One argument. `kind` is "text", "integer", "number", "choice" (of `options`, which are JSON texts), or "json"."""

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
    _first: str = ""

    @property
    def placeholder(self) -> str:
        """What stands in the empty field: the type, and what is taken when nothing is typed."""
        if "default" in self.schema:
            return f"{self.type} = {_json(self.schema['default'])[:60]}"
        return f"{self.type}, required" if self.required else self.type

    @property
    def help(self) -> str:
        """One line about it."""
        if self.name in (WHOLE, REST):
            return self.description
        wanted = () if not self.required or "required" in self.facts else ("required",)
        told = ", ".join((self.type, *wanted, *self.facts))
        about = self.description.strip().split("\n")[0]
        return f"{self.name}: {told}{'.  ' if about else ''}{about}"

    def put(self, value: Any) -> None:
        """A value as text. What this kind of field could not give back becomes JSON; what no line could show, escapes."""
        self.kind = self._first or self.kind
        self._first = self.kind
        if self.kind == "text" and isinstance(value, str):
            self.raw = value or _EMPTY_TEXT
            if one_line(value) == value and self.value() == value:
                return
        self.raw = _json(value, indent=None)
        if sanitise(self.raw) != self.raw:
            self.raw = json.dumps(value)
        if self.kind == "text" or (self.kind in ("integer", "number") and not self._is(value)):
            self.kind = "json"

    def clear(self) -> None:
        """Nothing typed, and the kind that it had at first."""
        self.kind, self.raw = self._first or self.kind, ""

    def _is(self, value: Any) -> bool:
        """Whether the field, as it stands, gives this value."""
        try:
            there = self.value()
        except ValueError:
            return False
        return there == value and type(there) is type(value)

    @property
    def empty(self) -> bool:
        """Whether it is left out; blanks are a text."""
        return not self.raw if self.kind == "text" else not self.raw.strip()

    def value(self) -> Any:
        """What is sent for what was typed. Raises: ValueError with what is wrong with it."""
        raw = self.raw
        if self.kind == "text":
            return "" if raw == _EMPTY_TEXT else None if self.nullable and raw == "null" else raw
        text = raw.strip()
        if self.nullable and text == "null":
            return None
        if self.kind == "integer":
            return _integer(text)
        if self.kind == "number":
            return _number(text)
        try:
            return loads(text)
        except LenientError as wrong:
            raise ValueError(_json_problem(wrong, text, self)) from None


@dataclass(slots=True, eq=False)
class Form:
    """One call in the making. `title` is what is called, `verb` what sending does: "call", "read", "get"."""

    method: str
    item: Item
    title: str
    verb: str
    schema: Any
    fields: list[Field] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    note: str = ""

    @property
    def whole(self) -> Field | None:
        """The one field for all arguments, where the schema has no members to make fields of."""
        return self.fields[0] if self.fields and self.fields[0].name == WHOLE else None

    def named(self, name: str) -> Field | None:
        """The field of an argument."""
        return next((one for one in self.fields if one.name == name), None)

    def params(self) -> dict[str, Any]:
        """The parameters of the request, whatever is wrong with them."""
        arguments = self.arguments()
        if self.method == "resources/read":
            uri = self.item.name
            return {"uri": expand(uri, arguments) if self.item.kind == "templates" else uri}
        if self.method == "prompts/get":
            return {"name": self.item.name, **({"arguments": arguments} if self.fields else {})}
        return {"name": self.item.name, "arguments": arguments}

    def arguments(self) -> dict[str, Any]:
        """What was typed, as values; what cannot be read is the text that it is."""
        found: dict[str, Any] = {}
        for one in self.fields:
            if one.empty:
                continue
            try:
                value = one.value()
            except ValueError:
                value = one.raw
            if one.name in (WHOLE, REST):
                found.update(value if isinstance(value, dict) else {})
            else:
                found[one.name] = value
        return found

    def fill(self, arguments: Mapping[str, Any]) -> list[str]:
        """Put values into the fields; all others become empty. The names for which there is no field."""
        for one in self.fields:
            one.clear()
        whole = self.whole
        if whole is not None:
            whole.raw = _json(dict(arguments), indent=2) if arguments else ""
            return []
        unknown = {}
        for name, value in arguments.items():
            place = self.named(name)
            if place is None or name in (WHOLE, REST):
                unknown[name] = value
            else:
                place.put(value)
        rest = self.named(REST)
        if unknown and rest is None:
            rest = Field(REST, "json", False, "object", {}, description="arguments that the schema does not name")
            self.fields.append(rest)
        if rest is not None:
            rest.raw = _json(unknown, indent=None) if unknown else ""
        return list(unknown)

    def check(self) -> dict[str, str]:
        """What is wrong, by field, in our own words."""
        self.problems = {}
        for one in self.fields:
            problem = _problem(one, self)
            if problem:
                self.problems[one.name] = problem
        return self.problems

    def check_whole(self) -> dict[str, str]:
        """`check`, and then the whole schema, for what only a validator sees."""
        self.check()
        if self.method == "tools/call" and isinstance(self.schema, dict) and not self.problems:
            self._validate()
        return self.problems

    def _validate(self) -> None:
        from mcptest_engine.core.schemas import SchemaError, compile_schema

        self.note = ""
        try:
            validator = compile_schema(self.schema)
            errors = list(validator.iter_errors(self.arguments()))[:20]
        except SchemaError as wrong:
            self.note = f"the schema cannot be checked against: {wrong.message}"
            return
        except (ValueError, RecursionError) as wrong:
            self.note = f"not checked: {wrong}"
            return
        for error in errors:
            path = [str(part) for part in error.instance_path]
            where = self.named(path[0]) if path else None
            inner = ".".join(path[1:])
            told = f"{inner}: {error.message}" if inner else error.message
            name = where.name if where is not None else self.whole.name if self.whole is not None else ""
            self.problems.setdefault(name, told[:300])


def form_of(item: Item) -> Form:
    """The form for a tool, a resource, a template or a prompt."""
    if item.kind == "prompts":
        schema: Any = None
        fields = [_field(one.name, one.schema, one.schema, one.required) for one in prompt_arguments(item.data)]
        return Form("prompts/get", item, item.name, "get", schema, fields)
    if item.kind in ("resources", "templates"):
        names = template_variables(item.name) if item.kind == "templates" else []
        fields = [_field(name, {"type": "string"}, None, True) for name in names]
        return Form("resources/read", item, item.name, "read", None, fields)
    schema = item.data.get("inputSchema")
    return Form("tools/call", item, item.name, "call", schema, _tool_fields(schema))


def pasted(text: str) -> dict[str, Any] | None:
    """The arguments in a text that was pasted: an object, a request with `arguments`, or None. Never raises."""
    stripped = text.strip()
    if not stripped.startswith("{"):
        return None
    try:
        value = loads(stripped)
    except LenientError:
        return None
    if not isinstance(value, dict):
        return None
    params = value.get("params")
    if isinstance(params, dict) and isinstance(params.get("arguments"), dict):
        return dict(params["arguments"])
    if isinstance(value.get("arguments"), dict) and ("name" in value or len(value) == 1):
        return dict(value["arguments"])
    return value


def completion_of(form: Form, wanted: Field) -> dict[str, Any] | None:
    """The parameters of a `completion/complete` for a field; None where the protocol has none.

    Source: MCP 2025-11-25, server/utilities/completion.
    """
    if form.method == "prompts/get":
        about = {"type": "ref/prompt", "name": form.item.name}
    elif form.item.kind == "templates":
        about = {"type": "ref/resource", "uri": form.item.name}
    else:
        return None
    others = {one.name: str(value) for one in form.fields if one is not wanted and (value := one.raw)}
    asked: dict[str, Any] = {"ref": about, "argument": {"name": wanted.name, "value": wanted.raw}}
    return {**asked, "context": {"arguments": others}} if others else asked


def completion_values(result: object) -> tuple[list[str], bool]:
    """What a server proposes, each once, and whether there is more. Takes anything."""
    told = result.get("completion") if isinstance(result, dict) else None
    listed = told.get("values") if isinstance(told, dict) else None
    values = [value for value in listed if isinstance(value, str)] if isinstance(listed, list) else []
    return list(dict.fromkeys(values)), isinstance(told, dict) and told.get("hasMore") is True


def _tool_fields(schema: object) -> list[Field]:
    arguments = arguments_of(schema)
    whole = resolved(schema, schema)
    odd = not arguments and _is_odd(schema, whole)
    if odd:
        return [Field(WHOLE, "json", False, "object", {}, description="all arguments as one JSON object")]
    fields = [_field(one.name, one.schema, schema, one.required) for one in arguments[:MOST_FIELDS]]
    extra = whole.get("additionalProperties")
    if len(arguments) > MOST_FIELDS or (extra is True or (isinstance(extra, dict) and extra)):
        left = len(arguments) - MOST_FIELDS
        about = f"{left} more arguments, as one JSON object" if left > 0 else "further arguments, as one JSON object"
        fields.append(Field(REST, "json", False, "object", {}, description=about))
    return fields


def _is_odd(schema: object, whole: Mapping[str, Any]) -> bool:
    """Whether a schema without members may still take arguments."""
    if not isinstance(schema, dict):
        return schema is not None
    if any(key in whole for key in ("anyOf", "oneOf", "allOf", "$ref", "patternProperties", "if", "not")):
        return True
    if whole.get("properties") not in (None, {}) or whole.get("type", "object") != "object":
        return True
    return bool(whole.get("additionalProperties"))


def _field(name: str, schema: object, root: object, required: bool) -> Field:
    whole = resolved(schema, root)
    kind, options, nullable = _kind(whole, root)
    description = whole.get("description")
    return Field(
        name,
        kind,
        required,
        type_of(schema, root),
        whole,
        tuple(facts_of(schema, root)),
        description if isinstance(description, str) else "",
        options,
        nullable,
    )


def _kind(whole: Mapping[str, Any], root: object, depth: int = 0) -> tuple[str, tuple[str, ...], bool]:
    """(kind, options, whether null is a value)."""
    values = [whole["const"]] if "const" in whole else whole.get("enum")
    if isinstance(values, list) and values and not any(isinstance(value, (dict, list)) for value in values):
        return "choice", tuple(dict.fromkeys(_json(value) for value in values)), False
    kinds = whole.get("type")
    if isinstance(kinds, list):
        rest = [kind for kind in kinds if kind != "null"]
        if len(rest) != 1:
            return "json", (), False
        kind, options, _ = _kind({**whole, "type": rest[0]}, root, depth)
        return kind, options, len(rest) < len(kinds)
    for key in ("anyOf", "oneOf"):
        branches = whole.get(key)
        if isinstance(branches, list) and "type" not in whole and depth < 4:
            rest = [resolved(branch, root) for branch in branches]
            inner = [branch for branch in rest if branch.get("type") != "null"]
            if len(inner) == 1:
                kind, options, _ = _kind(inner[0], root, depth + 1)
                return kind, options, len(inner) < len(rest)
            return "json", (), False
    if kinds == "boolean":
        return "choice", ("true", "false"), False
    return (_KINDS.get(kinds, "json") if isinstance(kinds, str) else "json"), (), False


def _problem(one: Field, form: Form) -> str:
    """What is wrong with a field in one clause; "" when nothing is."""
    if one.empty:
        if not one.required:
            return ""
        return 'required; "" is an empty text' if one.kind == "text" else "required"
    try:
        value = one.value()
    except ValueError as wrong:
        return str(wrong)
    if one.name in (WHOLE, REST):
        return _problem_of_object(one, value, form)
    if value is None and one.nullable:
        return ""
    if one.kind == "choice":
        return _problem_of_choice(one, value)
    if one.kind in ("integer", "number"):
        return _problem_of_number(one.schema, value)
    if one.kind == "text":
        return _problem_of_length(one.schema, value) or _problem_of_format(one.schema, value)
    return _problem_of_type(one, value)


def _problem_of_object(one: Field, value: object, form: Form) -> str:
    if not isinstance(value, dict):
        return 'a JSON object is wanted: {"name": value}'
    if one.name == REST and isinstance(form.schema, dict) and form.schema.get("additionalProperties") is False:
        known = [field.name for field in form.fields if field.name != REST]
        for name in value:
            hint = did_you_mean(name, known)
            return f"`{name}` is not one of the arguments" + (f"; {hint}" if hint else "")
    return ""


def _problem_of_choice(one: Field, value: object) -> str:
    text = _json(value)
    if text in one.options:
        return ""
    plain = {_plain(option): option for option in one.options}
    hint = did_you_mean(_plain(text), plain)
    told = ", ".join(one.options[:8]) + (", …" if len(one.options) > 8 else "")
    return f"not one of {told}" + (f"; {hint}" if hint else "")


def _problem_of_number(schema: Mapping[str, Any], value: float) -> str:
    limits: list[tuple[str, str, Callable[[float, float], bool]]] = [
        ("minimum", "at least", operator.ge),
        ("maximum", "at most", operator.le),
        ("exclusiveMinimum", "more than", operator.gt),
        ("exclusiveMaximum", "less than", operator.lt),
    ]
    for key, words, holds in limits:
        limit = schema.get(key)
        if isinstance(limit, (int, float)) and not isinstance(limit, bool) and not holds(value, limit):
            return f"has to be {words} {_json(limit)}"
    return ""


def _problem_of_length(schema: Mapping[str, Any], value: str) -> str:
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int) and len(value) < least:
        return f"has {len(value)} characters, at least {least} are wanted"
    if isinstance(most, int) and len(value) > most:
        return f"has {len(value)} characters, at most {most} are wanted"
    return ""


def _problem_of_format(schema: Mapping[str, Any], value: str) -> str:
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
        return f"a list is wanted: [{_json(value)[:40]}]"
    if wanted == "object" and not isinstance(value, dict):
        return 'an object is wanted: {"name": value}'
    return ""


def _json_problem(wrong: LenientError, text: str, one: Field) -> str:
    wanted = one.schema.get("type")
    if wanted == "array" and not text.startswith("["):
        items: Sequence[str] = [part.strip() for part in text.split(",")][:4]
        return f"a list is wanted: {_json(items)[:60]}"
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


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _plain(option: str) -> str:
    """An option as a person would type it: a text without its quotes."""
    return option[1:-1] if option.startswith('"') else option


def as_json(form: Form) -> Form:
    """The same call with one field for all arguments, or again with a field for each; what was typed is taken along.

    Raises: ValueError when the text is no JSON object, and so cannot be put into fields.
    """
    whole = form.whole
    if whole is None:
        turned = form_of(form.item)
        turned.fields = [Field(WHOLE, "json", False, "object", {}, description="all arguments as one JSON object")]
        turned.fill(form.arguments())
        return turned
    value = {} if whole.empty else whole.value()
    if not isinstance(value, dict):
        raise ValueError('a JSON object is wanted: {"name": value}')
    turned = form_of(form.item)
    turned.fill(value)
    return turned
