"""The form for a call: a field for each argument of a schema, what was typed in it, what is wrong with it, and the request.

Fields hold text; an empty one is left out of the call, and `""` typed into a text field is an empty text. The surprising thing:
a form that is wrong can still be sent, since what a server does with wrong arguments is what one wants to know of it. What
cannot be read as what it should be goes out as the text that it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.lenient_json import LenientError, loads
from mcptest_engine.core.targets import render
from mcptest_engine.servers.signatures import arguments_of, prompt_arguments, resolved, template_variables
from mcptest_tui.state.fields import MOST_FIELDS, REST, WHOLE, Field, FieldMaker, as_text, fill, members_sent
from mcptest_tui.state.uri_templates import expand

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_tui.state.catalog import Item


@dataclass(slots=True, eq=False)
class Form:
    """One call that is being prepared; `title` names what is called."""

    method: str
    item: Item
    title: str
    schema: Any
    fields: list[Field] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    note: str = ""

    @property
    def whole(self) -> Field | None:
        """The one field for all arguments, where the schema has no members to make fields of."""
        return self.fields[0] if self.fields and self.fields[0].name == WHOLE else None

    def rows(self) -> Iterator[Field]:
        """Return all fields, each followed by those of its parts."""
        for one in self.fields:
            yield from one.rows()

    def named(self, key: str) -> Field | None:
        """The field of an argument, or of a part of one, by its key; a name is the key of an argument."""
        return next((one for one in self.fields if one.name == key), None) or next(
            (one for one in self.rows() if one.key == key), None
        )

    def params(self) -> dict[str, Any]:
        """Return the parameters of the request, even when they are invalid."""
        arguments = self.arguments()
        if self.method == "resources/read":
            uri = self.item.name
            return {"uri": expand(uri, arguments) if self.item.kind == "templates" else uri}
        if self.method == "prompts/get":
            return {"name": self.item.name, **({"arguments": arguments} if self.fields else {})}
        return {"name": self.item.name, "arguments": arguments}

    def arguments(self) -> dict[str, Any]:
        """What was typed, as values; what cannot be read is the text that it is."""
        return members_sent(self.fields)

    def fill(self, arguments: Mapping[str, object]) -> list[str]:
        """Put values into the fields; all others become empty. The names for which there is no field."""
        whole = self.whole
        if whole is None:
            for one in self.fields:
                if one.maker is not None:
                    one.maker.left = MOST_FIELDS
            return fill(self.fields, arguments, self.schema)
        whole.raw = as_text(dict(arguments), indent=2) if arguments else ""
        return []

    def check(self) -> dict[str, str]:
        """Return what is wrong with each field, by its key."""
        self.problems = {}
        for one in self.fields:
            self.problems.update(one.problems())
        return self.problems

    def check_whole(self) -> dict[str, str]:
        """Return the problems of `check`, then those of validation against the whole schema."""
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
            self.note = f"cannot check against the schema: {wrong.message}"
            return
        except (ValueError, RecursionError) as wrong:
            self.note = f"not checked: {wrong}"
            return
        for error in errors:
            where, left = self._place(error.instance_path)
            told = f"{render(left)}: {error.message}" if left else error.message
            self.problems.setdefault(where, told[:300])

    def _place(self, path: list[str | int]) -> tuple[str, list[str | int]]:
        """The key of the innermost field on a path, and what is left of the path there."""
        found, members, left = self.whole, self.fields, list(path)
        while left:
            inner = next((one for one in members if one.path[-1] == left[0]), None)
            if inner is None:
                break
            found, left = inner, left[1:]
            while found.kind == "union" and found.members:
                found = found.members[0]
            members = found.members
        return (found.key if found is not None else ""), left


def form_of(item: Item) -> Form:
    """Return the form for a tool, a resource, a template or a prompt."""
    maker = FieldMaker(item.data.get("inputSchema") if item.kind == "tools" else None)
    if item.kind == "prompts":
        schema: Any = None
        fields = [maker.field(one.name, one.schema, required=one.required) for one in prompt_arguments(item.data)]
        return Form("prompts/get", item, item.name, schema, fields)
    if item.kind in ("resources", "templates"):
        names = template_variables(item.name) if item.kind == "templates" else []
        fields = [maker.field(name, {"type": "string"}, required=True) for name in names]
        return Form("resources/read", item, item.name, None, fields)
    schema = item.data.get("inputSchema")
    return Form("tools/call", item, item.name, schema, _tool_fields(schema, maker))


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


def _tool_fields(schema: object, maker: FieldMaker) -> list[Field]:
    arguments = arguments_of(schema)
    whole = resolved(schema, schema)
    odd = not arguments and _is_odd(schema, whole)
    if odd:
        return [Field(WHOLE, "json", False, "object", {}, description="all arguments as one JSON object")]
    fields = [maker.field(one.name, one.schema, required=one.required) for one in arguments[:MOST_FIELDS]]
    extra = whole.get("additionalProperties")
    if len(arguments) > MOST_FIELDS or (extra is True or (isinstance(extra, dict) and extra)):
        left = len(arguments) - MOST_FIELDS
        about = f"{left} more arguments, as one JSON object" if left > 0 else "further arguments, as one JSON object"
        fields.append(Field(REST, "json", False, "object", {}, description=about))
    return fields


def _is_odd(schema: object, whole: Mapping[str, object]) -> bool:
    """Whether a schema without members may still take arguments."""
    if not isinstance(schema, dict):
        return schema is not None
    if any(key in whole for key in ("anyOf", "oneOf", "allOf", "$ref", "patternProperties", "if", "not")):
        return True
    if whole.get("properties") not in (None, {}) or whole.get("type", "object") != "object":
        return True
    return bool(whole.get("additionalProperties"))


def as_json(form: Form) -> Form:
    """The same call with one field for all arguments, or again with a field for each; what was typed is taken along.

    Raises: ValueError when the text is no JSON object, and so cannot be put into fields.
    """
    whole = form.whole
    if whole is None:
        for one in form.rows():
            if one.name == REST and not one.empty and not isinstance(one.sent(), dict):
                raise ValueError(f"{one.description}: must be a JSON object")
        turned = form_of(form.item)
        turned.fields = [Field(WHOLE, "json", False, "object", {}, description="all arguments as one JSON object")]
        turned.fill(form.arguments())
        return turned
    value = {} if whole.empty else whole.value()
    if not isinstance(value, dict):
        raise ValueError('must be a JSON object: {"name": value}')
    turned = form_of(form.item)
    turned.fill(value)
    return turned
