"""A YAML manifest into a Manifest, strictly: every unknown key, wrong type and unreadable template, each at its place.

Done by hand and not by the suite's pydantic models, because a mock starts once for every server of a suite and
importing pydantic alone takes longer than all the rest of its start. Keys may be written in snake case or as the MCP
specification spells them (`input_schema` or `inputSchema`).
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import Problem, Span, SuiteError, did_you_mean
from mcptest_engine.core.pointers import pointer
from mcptest_engine.mock.manifest import (
    DEFAULT_NAME,
    DEFAULT_VERSION,
    Case,
    Manifest,
    Outcome,
    Prompt,
    Resource,
    ResourceTemplate,
    Tool,
    default_result,
)
from mcptest_engine.mock.templates import compile_template, constant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest_engine.mock.templates import Arguments, Path, Template
    from mcptest_engine.suite.yaml import Tree

_SPELLINGS = {
    "inputSchema": "input_schema",
    "outputSchema": "output_schema",
    "mimeType": "mime_type",
    "uriTemplate": "uri_template",
}
_ON_THE_WIRE = {ours: theirs for theirs, ours in _SPELLINGS.items()}

_SERVER_KEYS = (
    "name", "version", "instructions", "tools", "resources", "resource_templates", "prompts", "page_size",
)  # fmt: skip
_OUTCOME_KEYS = ("response", "responses", "error", "delay_ms")
_TOOL_KEYS = ("name", "title", "description", "input_schema", "output_schema", "annotations", "when", *_OUTCOME_KEYS)
_RESOURCE_KEYS = ("uri", "name", "title", "description", "mime_type", "text", "blob")
_TEMPLATE_KEYS = ("uri_template", "name", "title", "description", "mime_type", "text")
_PROMPT_KEYS = ("name", "title", "description", "arguments", "text", "messages")


def read_manifest(tree: Tree) -> Manifest:
    """The manifest that `tree` holds. Raises: SuiteError with every problem, in file order."""
    reader = _Reader(tree)
    manifest = reader.manifest()
    if reader.problems:
        raise SuiteError(sorted(reader.problems, key=lambda problem: problem.span or Span(0, 0)))
    return manifest


class _Reader:
    """Collects problems instead of stopping at the first; what it returns beside a problem is only a stand-in."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.problems: list[Problem] = []

    def manifest(self) -> Manifest:
        if self._tree.has_non_finite:
            self._complain((), "a NaN or an infinity stands in the manifest, and JSON has neither")
        top = self._fields(self._tree.value, (), ("mock_server",))
        if top is None:
            return Manifest()
        if "mock_server" not in top.members:
            if not self.problems:
                self._complain((), "`mock_server` is missing", hint="put everything under one `mock_server:` key")
            return Manifest()
        server = self._fields(top.members["mock_server"], ("mock_server",), _SERVER_KEYS)
        if server is None:
            return Manifest()
        return Manifest(
            name=server.text("name") or DEFAULT_NAME,
            version=server.text("version") or DEFAULT_VERSION,
            instructions=server.text("instructions"),
            tools=self._each(server, "tools", self._tool),
            resources=self._each(server, "resources", self._resource),
            resource_templates=self._each(server, "resource_templates", self._resource_template),
            prompts=self._each(server, "prompts", self._prompt),
            page_size=server.whole_number("page_size", least=1),
        )

    def _each(self, server: _Fields, key: str, read: Callable[[Any, Path], Any]) -> tuple[Any, ...] | None:
        if key not in server.members:
            return None
        path = server.path_of(key)
        items = server.sequence(key)
        identity = {"resources": "uri", "resource_templates": "uri_template"}.get(key, "name")
        seen: set[Any] = set()
        for index, item in enumerate(items):
            name = _member(item, identity)
            if isinstance(name, str) and name in seen:
                self._complain((*path, index), f'duplicate {key.rstrip("s").replace("_", " ")} "{name}"')
            seen.add(name if isinstance(name, str) else None)
        return tuple(read(item, (*path, index)) for index, item in enumerate(items))

    def _tool(self, value: Any, path: Path) -> Tool:
        fields = self._fields(value, path, _TOOL_KEYS)
        if fields is None:
            return Tool(name="", descriptor={}, outcome=Outcome())
        name = fields.text("name", required=True) or ""
        schema = fields.mapping("input_schema")
        descriptor = {
            "name": name,
            **fields.texts("title", "description"),
            "inputSchema": {"type": "object"} if schema is None else schema,
        }
        for key in ("output_schema", "annotations"):
            if (given := fields.mapping(key)) is not None:
                descriptor[_ON_THE_WIRE.get(key, key)] = given
        outcome = self._outcome(fields) or Outcome(results=(constant(default_result(name)),))
        cases = tuple(self._cases(fields))
        return Tool(
            name=name, descriptor=descriptor, outcome=outcome, cases=cases, delay_ms=fields.number("delay_ms") or 0.0
        )

    def _cases(self, fields: _Fields) -> Iterator[Case]:
        for index, item in enumerate(fields.sequence("when")):
            path = (*fields.path_of("when"), index)
            case = self._fields(item, path, ("args", *_OUTCOME_KEYS))
            if case is None:
                continue
            if "args" not in case.members:
                self._complain(path, "`args` is missing: the arguments that this case is for")
            outcome = self._outcome(case)
            if outcome is None:
                self._complain(path, "a case needs one of `response`, `responses`, `error`")
            args, delay = case.mapping("args") or {}, case.number("delay_ms")
            yield Case(args=args, outcome=outcome or Outcome(), delay_ms=delay)

    def _outcome(self, fields: _Fields) -> Outcome | None:
        given = [key for key in ("response", "responses", "error") if key in fields.members]
        for extra in given[1:]:
            self._complain(fields.path_of(extra), f"give `{given[0]}` or `{extra}`, not both", key=True)
        if not given:
            return None
        if given[0] == "error":
            return Outcome(error=self._error(fields))
        if given[0] == "response":
            path = fields.path_of("response")
            return Outcome(results=(self._result(fields.members["response"], path),))
        path, items = fields.path_of("responses"), fields.sequence("responses")
        if fields.members["responses"] == []:
            self._complain(path, "`responses` needs at least one response")
        return Outcome(results=tuple(self._result(item, (*path, index)) for index, item in enumerate(items)))

    def _result(self, value: Any, path: Path) -> Template:
        if not isinstance(value, dict):
            hint = "write the result as it goes over the wire: `{content: [{type: text, text: …}]}`"
            self._complain(path, f"a response must be a mapping, found {_kind(value)}", hint=hint)
        return self._template(value, path)

    def _error(self, fields: _Fields) -> Template:
        path = fields.path_of("error")
        error = self._fields(fields.members["error"], path, ("code", "message", "data"))
        if error is None:
            return constant({})
        error.whole_number("code", required=True)
        error.text("message", required=True)
        message = self._template(error.members.get("message"), error.path_of("message"), as_text=True)
        data = self._template(error.members.get("data"), error.path_of("data"))

        def expanded(arguments: Arguments) -> Any:
            given = {"data": data(arguments)} if "data" in error.members else {}
            return {"code": error.members["code"], "message": message(arguments), **given}

        return expanded

    def _resource(self, value: Any, path: Path) -> Resource:
        fields = self._fields(value, path, _RESOURCE_KEYS)
        if fields is None:
            return Resource(uri="", descriptor={}, contents={})
        uri = fields.text("uri", required=True) or ""
        name = fields.text("name") or uri.rstrip("/").rpartition("/")[2] or uri
        mime = fields.texts("mime_type")
        descriptor = {"uri": uri, "name": name, **fields.texts("title", "description"), **mime}
        if "text" in fields.members and "blob" in fields.members:
            self._complain(fields.path_of("blob"), "give `text` or `blob`, not both", key=True)
        blob = fields.text("blob")
        if blob is not None:
            self._check_base64(blob, fields.path_of("blob"))
        body = {"text": fields.text("text") or ""} if blob is None else {"blob": blob}
        return Resource(uri=uri, descriptor=descriptor, contents={"uri": uri, **mime, **body})

    def _resource_template(self, value: Any, path: Path) -> ResourceTemplate:
        fields = self._fields(value, path, _TEMPLATE_KEYS)
        if fields is None:
            return ResourceTemplate(descriptor={}, pattern=re.compile(""), mime_type=None, text=constant(""))
        written = fields.text("uri_template", required=True) or ""
        described = fields.texts("title", "description", "mime_type")
        descriptor = {"uriTemplate": written, "name": fields.text("name") or written, **described}
        pattern = _uri_pattern(written)
        if pattern is None:
            hint = "only `{name}` (up to the next `/`) and `{+name}` (the rest) are understood, each name once"
            self._complain(fields.path_of("uri_template"), f'the URI template "{written}" cannot be read', hint=hint)
        text = self._template(fields.text("text") or "", fields.path_of("text"), as_text=True)
        return ResourceTemplate(
            descriptor=descriptor, pattern=pattern or re.compile(""), mime_type=fields.text("mime_type"), text=text
        )

    def _prompt(self, value: Any, path: Path) -> Prompt:
        fields = self._fields(value, path, _PROMPT_KEYS)
        if fields is None:
            return Prompt(name="", descriptor={}, messages=constant([]))
        name = fields.text("name", required=True) or ""
        arguments = list(self._prompt_arguments(fields))
        described = fields.texts("title", "description")
        descriptor = {"name": name, **described, **({"arguments": arguments} if arguments else {})}
        required = tuple(argument["name"] for argument in arguments if argument.get("required"))
        return Prompt(name=name, descriptor=descriptor, messages=self._messages(fields), required=required)

    def _prompt_arguments(self, fields: _Fields) -> Iterator[dict[str, Any]]:
        for index, item in enumerate(fields.sequence("arguments")):
            path = (*fields.path_of("arguments"), index)
            argument = self._fields(item, path, ("name", "title", "description", "required"))
            if argument is None:
                continue
            named = {"name": argument.text("name", required=True) or ""}
            yield {**named, **argument.texts("title", "description"), **argument.booleans("required")}

    def _messages(self, fields: _Fields) -> Template:
        if "text" in fields.members and "messages" in fields.members:
            self._complain(fields.path_of("messages"), "give `text` or `messages`, not both", key=True)
        if "messages" not in fields.members:
            text = fields.text("text") or ""
            self._template(text, fields.path_of("text"))
            return compile_template([_message("user", text)], _ignore, as_text=True)
        found = []
        for index, item in enumerate(fields.sequence("messages")):
            path = (*fields.path_of("messages"), index)
            message = self._fields(item, path, ("role", "content"))
            if message is None:
                continue
            role, content = message.text("role", required=True), message.members.get("content")
            if role not in ("user", "assistant", None):
                self._complain(message.path_of("role"), f'a role is `user` or `assistant`, found "{role}"')
            if not isinstance(content, str | dict):
                problem = f"`content` must be text or a mapping, found {_kind(content)}"
                self._complain(message.path_of("content") if "content" in message.members else path, problem)
            self._template(content, message.path_of("content"))
            found.append(_message(role or "user", content))
        return compile_template(found, _ignore, as_text=True)

    def _check_base64(self, blob: str, path: Path) -> None:
        try:
            base64.b64decode(blob, validate=True)
        except (binascii.Error, ValueError):
            self._complain(path, "`blob` is not base64")

    def _template(self, value: Any, path: Path, *, as_text: bool = False) -> Template:
        return compile_template(value, lambda inner, message: self._complain((*path, *inner), message), as_text=as_text)

    def _fields(self, value: Any, path: Path, known: tuple[str, ...]) -> _Fields | None:
        """The members of a mapping by their canonical names, or None (and a problem) when it is no mapping."""
        if not isinstance(value, dict):
            what = f"`{path[-1]}`" if path and isinstance(path[-1], str) else "this" if path else "a manifest"
            self._complain(path, f"{what} must be a mapping, found {_kind(value)}")
            return None
        fields = _Fields(self, path)
        for key, member in value.items():
            canonical = _SPELLINGS.get(key, key)
            if canonical not in known:
                self._unknown_key(key, path, known)
            elif canonical in fields.members:
                message = f"`{key}` and `{fields.written[canonical]}` are one key, given twice"
                self._complain((*path, key), message, key=True)
            else:
                fields.members[canonical], fields.written[canonical] = member, key
        return fields

    def _unknown_key(self, key: str, path: Path, known: tuple[str, ...]) -> None:
        names = [*known, *(_ON_THE_WIRE[name] for name in known if name in _ON_THE_WIRE)]
        hint = did_you_mean(key, names)
        if hint is None and path == () and key in _SERVER_KEYS:
            hint = "put it under `mock_server:`"
        hint = hint or f"known keys: {', '.join(f'`{name}`' for name in known)}"
        self._complain((*path, key), f"unknown key `{key}`", key=True, hint=hint)

    def _complain(self, path: Path, message: str, *, key: bool = False, hint: str | None = None) -> None:
        span = self._tree.span(path, key=key, nearest=True)
        place = path[:-1] if key else path
        self.problems.append(
            Problem(message=message, pointer=pointer(place), file=self._tree.file, span=span, hint=hint)
        )

    complain = _complain


class _Fields:
    """The members of one mapping. Each reader gives None for an absent member, and complains of a wrong type."""

    def __init__(self, reader: _Reader, path: Path) -> None:
        self._reader = reader
        self._path = path
        self.members: dict[str, Any] = {}
        self.written: dict[str, str] = {}

    def path_of(self, key: str) -> Path:
        """Where `key` stands in the file, as it is spelt there."""
        return (*self._path, self.written.get(key, key))

    def text(self, key: str, *, required: bool = False) -> str | None:
        value = self._member(key, required=required)
        if value is None or isinstance(value, str):
            if required and value == "":
                self._reader.complain(self.path_of(key), f"`{key}` is empty")
            return value
        self._wrong(key, "text", value, hint="quote it" if isinstance(value, int | float) else None)
        return None

    def texts(self, *keys: str) -> dict[str, str]:
        """The given ones of `keys`, by their names on the wire."""
        found = ((_ON_THE_WIRE.get(key, key), self.text(key)) for key in keys)
        return {name: value for name, value in found if value is not None}

    def booleans(self, key: str) -> dict[str, bool]:
        value = self._member(key)
        if value is None or isinstance(value, bool):
            return {} if value is None else {key: value}
        self._wrong(key, "true or false", value)
        return {}

    def number(self, key: str) -> float | None:
        value = self._member(key)
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and value >= 0):
            return value
        self._wrong(key, "a number of at least 0", value)
        return None

    def whole_number(self, key: str, *, required: bool = False, least: int | None = None) -> int | None:
        value = self._member(key, required=required)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and (least is None or value >= least):
            return value
        self._wrong(key, "a whole number" if least is None else f"a whole number of at least {least}", value)
        return None

    def mapping(self, key: str) -> dict[str, Any] | None:
        value = self._member(key)
        if value is None or isinstance(value, dict):
            return value
        self._wrong(key, "a mapping", value)
        return None

    def sequence(self, key: str) -> list[Any]:
        value = self._member(key)
        if value is None or isinstance(value, list):
            return value or []
        self._wrong(key, "a list", value)
        return []

    def _member(self, key: str, *, required: bool = False) -> Any:
        if key in self.members:
            value = self.members[key]
            if value is None:
                self._wrong(key, "given or left out", value)
            return value
        if required:
            self._reader.complain(self._path, f"`{key}` is missing")
        return None

    def _wrong(self, key: str, wanted: str, value: Any, *, hint: str | None = None) -> None:
        path = self.path_of(key)
        self._reader.complain(path, f"`{path[-1]}` must be {wanted}, found {_kind(value)}", hint=hint)


def _member(item: Any, key: str) -> Any:
    if not isinstance(item, dict):
        return None
    return item.get(key, item.get(_ON_THE_WIRE.get(key, key)))


def _message(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": {"type": "text", "text": content} if isinstance(content, str) else content}


def _uri_pattern(template: str) -> re.Pattern[str] | None:
    parts = re.split(r"\{(\+?[A-Za-z_][A-Za-z0-9_]*)\}", template)
    literals, names = parts[::2], parts[1::2]
    bare = [name.lstrip("+") for name in names]
    if not names or len(set(bare)) < len(bare) or any("{" in literal or "}" in literal for literal in literals):
        return None
    groups = [f"(?P<{name.lstrip('+')}>{'.+' if name[0] == '+' else '[^/]+'})" for name in names]
    pieces = [re.escape(literals[0])]
    for group, literal in zip(groups, literals[1:], strict=True):
        pieces += [group, re.escape(literal)]
    return re.compile("".join(pieces), re.DOTALL)


def _kind(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return f"the boolean {str(value).lower()}"
        case int() | float():
            return f"the number {value}"
        case str():
            return f'the text "{value[:40]}"'
        case list():
            return "a list"
        case _:
            return "a mapping"


def _ignore(_path: Path, _message: str) -> None:
    """A complaint that was made elsewhere with its place."""
