"""Reads a YAML manifest strictly: every unknown key, wrong type and bad template is a problem with its place.

Written by hand and not with the suite's pydantic models: a mock starts once for every server of a suite, and importing pydantic
alone takes longer than the rest of its start. Keys may be in snake case or as in the MCP specification (`input_schema` or
`inputSchema`).
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Any, NoReturn

from mcptest_engine.core.errors import Problem, Span, SuiteError, did_you_mean
from mcptest_engine.core.text import pointer
from mcptest_engine.mock.fields import ON_THE_WIRE, SPELLINGS, Fields, kind_of
from mcptest_engine.mock.manifest import (
    DEFAULT_NAME,
    DEFAULT_VERSION,
    LOG_LEVELS,
    Case,
    LogLine,
    Manifest,
    Outcome,
    Prompt,
    Question,
    Resource,
    ResourceTemplate,
    Tool,
    default_result,
)
from mcptest_engine.mock.templates import ABSENT, compile_template, constant, is_constant

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Iterator

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.mock.templates import Arguments, Path, Template
    from mcptest_engine.suite.yaml import Tree

    Known = tuple[str, ...]

_SERVER_KEYS = (
    "name", "version", "instructions", "tools", "resources", "resource_templates", "prompts", "page_size",
)  # fmt: skip
_OUTCOME_KEYS = ("response", "responses", "error", "delay_ms")
_TALK_KEYS = ("progress", "log", "ask", "list_changed", "touches")
_TOOL_KEYS = (
    "name", "title", "description", "input_schema", "output_schema", "annotations", "when", *_OUTCOME_KEYS, *_TALK_KEYS,
)  # fmt: skip
_RESOURCE_KEYS = ("uri", "name", "title", "description", "mime_type", "text", "blob")
_TEMPLATE_KEYS = ("uri_template", "name", "title", "description", "mime_type", "text")
_PROMPT_KEYS = ("name", "title", "description", "arguments", "text", "messages")
_ASKED = {"sampling": "sampling/createMessage", "elicitation": "elicitation/create", "roots": "roots/list"}
_LISTS = ("tools", "resources", "prompts")


def load_manifest(path: pathlib.Path) -> Manifest:
    """Load the manifest at `path`: YAML, or a `.json` file with a `tools/list` answer (or a manifest).
    Raises: SuiteError with every problem, in file order.
    """
    if path.suffix.lower() == ".json":
        value = _read_json(path)
        if not (isinstance(value, dict) and "mock_server" in value):
            return _from_snapshot(value, file=str(path))
    from mcptest_engine.suite.yaml import EMPTY, read_file

    try:
        tree = read_file(path, file=str(path))
    except SuiteError as unreadable:
        if any(problem.message == EMPTY for problem in unreadable.problems):
            _refuse(str(path), EMPTY, hint="a manifest has exactly one key, `mock_server:`", span=Span(1, 1))
        raise
    return read_manifest(tree)


def read_manifest(tree: Tree) -> Manifest:
    """Read the manifest in `tree`. Raises: SuiteError with every problem, in file order."""
    reader = _Reader(tree)
    manifest = reader.manifest()
    if reader.problems:
        raise SuiteError(sorted(reader.problems, key=lambda problem: problem.span or Span(0, 0)))
    return manifest


class _Reader:
    """Collects problems instead of stopping at the first; what it returns with a problem is only a placeholder."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.problems: list[Problem] = []
        self._touched: list[tuple[Path, str]] = []

    def manifest(self) -> Manifest:
        if self._tree.has_non_finite:
            self.complain((), "the manifest contains NaN or infinity, which JSON does not have")
        top = self._fields(self._tree.value, (), ("mock_server",))
        if top is None:
            return Manifest()
        if "mock_server" not in top.members:
            if not self.problems:
                self.complain((), "`mock_server` is missing", hint="put everything under one `mock_server:` key")
            return Manifest()
        server = self._fields(top.members["mock_server"], ("mock_server",), _SERVER_KEYS)
        if server is None:
            return Manifest()
        manifest = Manifest(
            name=server.text("name") or DEFAULT_NAME,
            version=server.text("version") or DEFAULT_VERSION,
            instructions=server.text("instructions"),
            tools=self._each(server, "tools", self._tool),
            resources=self._each(server, "resources", self._resource),
            resource_templates=self._each(server, "resource_templates", self._resource_template),
            prompts=self._each(server, "prompts", self._prompt),
            page_size=server.whole_number("page_size", least=1),
        )
        self._check_touched(manifest)
        return manifest

    def _each(self, server: Fields, key: str, read: Callable[[Any, Path], Any]) -> tuple[Any, ...] | None:
        if key not in server.members:
            return None
        path = server.path_of(key)
        items = server.sequence(key)
        identity = {"resources": "uri", "resource_templates": "uri_template"}.get(key, "name")
        seen: set[Any] = set()
        for index, item in enumerate(items):
            name = _member(item, identity)
            if isinstance(name, str) and name in seen:
                self.complain((*path, index), f'duplicate {key.rstrip("s").replace("_", " ")} "{name}"')
            seen.add(name if isinstance(name, str) else None)
        return tuple(read(item, (*path, index)) for index, item in enumerate(items))

    def _tool(self, value: object, path: Path) -> Tool:
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
                descriptor[ON_THE_WIRE.get(key, key)] = given
        known = ("args", "asked") if "ask" in fields.members else ("args",)
        return Tool(
            name=name,
            descriptor=descriptor,
            outcome=self._outcome(fields, known) or Outcome(results=(constant(default_result(name)),)),
            cases=tuple(self._cases(fields, known)),
            delay_ms=fields.number("delay_ms") or 0.0,
            progress=fields.whole_number("progress", least=1) or 0,
            log=tuple(self._log_lines(fields)),
            ask=self._question(fields),
            list_changed=self._list_changed(fields),
            touches=self._touches(fields),
        )

    def _log_lines(self, fields: Fields) -> Iterator[LogLine]:
        for index, item in enumerate(fields.sequence("log")):
            line = self._fields(item, (*fields.path_of("log"), index), ("level", "data", "logger"))
            if line is None:
                continue
            level = line.text("level", required=True) or "info"
            if level not in LOG_LEVELS:
                hint = (
                    did_you_mean(level, LOG_LEVELS) or f"known levels: {', '.join(f'`{name}`' for name in LOG_LEVELS)}"
                )
                self.complain(line.path_of("level"), f'unknown log level "{level}"', hint=hint)
            if "data" not in line.members:
                self.complain(line.path, "`data` is missing: the content of the message")
            data = self._template(line.members.get("data"), line.path_of("data"))
            yield LogLine(level=level, data=data, logger=line.text("logger"))

    def _question(self, fields: Fields) -> Question | None:
        if "ask" not in fields.members:
            return None
        path = fields.path_of("ask")
        question = self._fields(fields.members["ask"], path, tuple(_ASKED))
        if question is None or (
            not question.members and fields.members["ask"]
        ):  # it contains only what was reported already
            return None
        if len(question.members) != 1:
            self.complain(path, "`ask` needs exactly one of `sampling`, `elicitation`, `roots`")
            return None
        ((capability, value),) = question.members.items()
        inside = question.path_of(capability)
        if isinstance(value, str) and capability != "roots":
            value = _short_question(capability, value)
        elif value is None and capability == "roots":
            value = {}
        elif not isinstance(value, dict):
            text = "" if capability == "roots" else "text or "
            self.complain(inside, f"`{capability}` must be {text}a mapping of parameters, found {kind_of(value)}")
        return Question(capability=capability, method=_ASKED[capability], params=self._template(value, inside))

    def _list_changed(self, fields: Fields) -> tuple[str, ...]:
        value = fields.members.get("list_changed", [])
        path = fields.path_of("list_changed")
        if isinstance(value, bool):
            return ("tools",) if value else ()
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list):
            self.complain(path, f"`{path[-1]}` must be true, a list's name or several, found {kind_of(value)}")
            return ()
        for name in names:
            if name not in _LISTS:
                hint = (
                    did_you_mean(name, _LISTS) if isinstance(name, str) else None
                ) or f"known lists: {', '.join(_LISTS)}"
                shown = f'"{name}"' if isinstance(name, str) else kind_of(name)
                self.complain(path, f"unknown list {shown}", hint=hint)
        return tuple(names)

    def _touches(self, fields: Fields) -> Template | None:
        uri = fields.text("touches")
        if uri is None:
            return None
        path = fields.path_of("touches")
        template = self._template(uri, path, as_text=True)
        if is_constant(template):
            self._touched.append((path, template({})))
        return template

    def _check_touched(self, manifest: Manifest) -> None:
        """Report `touches` of a resource without subscriptions: it must be a mistake."""
        uris = [resource.uri for resource in manifest.resources or ()]
        for path, uri in self._touched:
            by_template = any(family.pattern.fullmatch(uri) for family in manifest.resource_templates or ())
            if uri not in uris and not by_template:
                hint = did_you_mean(uri, uris) or "declare it under `resources:`"
                self.complain(path, f'there is no resource "{uri}"', hint=hint)

    def _cases(self, fields: Fields, known: Known) -> Iterator[Case]:
        for index, item in enumerate(fields.sequence("when")):
            path = (*fields.path_of("when"), index)
            case = self._fields(item, path, ("args", *_OUTCOME_KEYS))
            if case is None:
                continue
            if "args" not in case.members:
                self.complain(path, "`args` is missing: the arguments of this case")
            outcome = self._outcome(case, known)
            if outcome is None:
                self.complain(path, "a case needs one of `response`, `responses`, `error`")
            args, delay = case.mapping("args") or {}, case.number("delay_ms")
            yield Case(args=args, outcome=outcome or Outcome(), delay_ms=delay)

    def _outcome(self, fields: Fields, known: Known) -> Outcome | None:
        given = [key for key in ("response", "responses", "error") if key in fields.members]
        for extra in given[1:]:
            self.complain(fields.path_of(extra), f"give `{given[0]}` or `{extra}`, not both", key=True)
        if not given:
            return None
        if given[0] == "error":
            return Outcome(error=self._error(fields, known))
        if given[0] == "response":
            path = fields.path_of("response")
            return Outcome(results=(self._result(fields.members["response"], path, known),))
        path, items = fields.path_of("responses"), fields.sequence("responses")
        if fields.members["responses"] == []:
            self.complain(path, "`responses` needs at least one response")
        return Outcome(results=tuple(self._result(item, (*path, index), known) for index, item in enumerate(items)))

    def _result(self, value: object, path: Path, known: Known) -> Template:
        if not isinstance(value, dict):
            hint = "write the result as it is sent: `{content: [{type: text, text: …}]}`"
            self.complain(path, f"a response must be a mapping, found {kind_of(value)}", hint=hint)
        elif "structuredContent" in value and "content" not in value:
            value = {"content": [], **value}  # which the protocol requires, and which adds nothing
        return self._template(value, path, known=known)

    def _error(self, fields: Fields, known: Known) -> Template:
        path = fields.path_of("error")
        error = self._fields(fields.members["error"], path, ("code", "message", "data"))
        if error is None:
            return constant({})
        error.whole_number("code", required=True)
        error.text("message", required=True)
        message = self._template(error.members.get("message"), error.path_of("message"), as_text=True, known=known)
        data = self._template(error.members.get("data"), error.path_of("data"), known=known)

        def expanded(arguments: Arguments, asked: object = ABSENT) -> object:
            given = {"data": data(arguments, asked)} if "data" in error.members else {}
            return {"code": error.members["code"], "message": message(arguments, asked), **given}

        return expanded

    def _resource(self, value: object, path: Path) -> Resource:
        fields = self._fields(value, path, _RESOURCE_KEYS)
        if fields is None:
            return Resource(uri="", descriptor={}, contents={})
        uri = fields.text("uri", required=True) or ""
        name = fields.text("name") or uri.rstrip("/").rpartition("/")[2] or uri
        mime = fields.texts("mime_type")
        descriptor = {"uri": uri, "name": name, **fields.texts("title", "description"), **mime}
        if "text" in fields.members and "blob" in fields.members:
            self.complain(fields.path_of("blob"), "give `text` or `blob`, not both", key=True)
        blob = fields.text("blob")
        if blob is not None:
            self._check_base64(blob, fields.path_of("blob"))
        body = {"text": fields.text("text") or ""} if blob is None else {"blob": blob}
        return Resource(uri=uri, descriptor=descriptor, contents={"uri": uri, **mime, **body})

    def _resource_template(self, value: object, path: Path) -> ResourceTemplate:
        fields = self._fields(value, path, _TEMPLATE_KEYS)
        if fields is None:
            return ResourceTemplate(descriptor={}, pattern=re.compile(""), mime_type=None, text=constant(""))
        written = fields.text("uri_template", required=True) or ""
        described = fields.texts("title", "description", "mime_type")
        descriptor = {"uriTemplate": written, "name": fields.text("name") or written, **described}
        pattern = _uri_pattern(written)
        if pattern is None:
            hint = "only `{name}` (up to the next `/`) and `{+name}` (the rest) are understood, each name once"
            self.complain(fields.path_of("uri_template"), f'the URI template "{written}" cannot be read', hint=hint)
        text = self._template(fields.text("text") or "", fields.path_of("text"), as_text=True)
        return ResourceTemplate(
            descriptor=descriptor, pattern=pattern or re.compile(""), mime_type=fields.text("mime_type"), text=text
        )

    def _prompt(self, value: object, path: Path) -> Prompt:
        fields = self._fields(value, path, _PROMPT_KEYS)
        if fields is None:
            return Prompt(name="", descriptor={}, messages=constant([]))
        name = fields.text("name", required=True) or ""
        arguments = list(self._prompt_arguments(fields))
        described = fields.texts("title", "description")
        descriptor = {"name": name, **described, **({"arguments": arguments} if arguments else {})}
        required = tuple(argument["name"] for argument in arguments if argument.get("required"))
        return Prompt(name=name, descriptor=descriptor, messages=self._messages(fields), required=required)

    def _prompt_arguments(self, fields: Fields) -> Iterator[JsonDict]:
        for index, item in enumerate(fields.sequence("arguments")):
            path = (*fields.path_of("arguments"), index)
            argument = self._fields(item, path, ("name", "title", "description", "required"))
            if argument is None:
                continue
            named = {"name": argument.text("name", required=True) or ""}
            yield {**named, **argument.texts("title", "description"), **argument.booleans("required")}

    def _messages(self, fields: Fields) -> Template:
        if "text" in fields.members and "messages" in fields.members:
            self.complain(fields.path_of("messages"), "give `text` or `messages`, not both", key=True)
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
                self.complain(message.path_of("role"), f'a role is `user` or `assistant`, found "{role}"')
            if not isinstance(content, str | dict):
                problem = f"`content` must be text or a mapping, found {kind_of(content)}"
                self.complain(message.path_of("content") if "content" in message.members else path, problem)
            self._template(content, message.path_of("content"))
            found.append(_message(role or "user", content))
        return compile_template(found, _ignore, as_text=True)

    def _check_base64(self, blob: str, path: Path) -> None:
        try:
            base64.b64decode(blob, validate=True)
        except (binascii.Error, ValueError):
            self.complain(path, "`blob` is not base64")

    def _template(self, value: object, path: Path, *, as_text: bool = False, known: Known = ("args",)) -> Template:
        def complain(inner: Path, message: str) -> None:
            self.complain((*path, *inner), message)

        return compile_template(value, complain, as_text=as_text, known=known)

    def _fields(self, value: object, path: Path, known: tuple[str, ...]) -> Fields | None:
        """The members of a mapping by their canonical names, or None (and a problem) when it is no mapping."""
        if not isinstance(value, dict):
            what = f"`{path[-1]}`" if path and isinstance(path[-1], str) else "this" if path else "a manifest"
            self.complain(path, f"{what} must be a mapping, found {kind_of(value)}")
            return None
        fields = Fields(self, path)
        for key, member in value.items():
            canonical = SPELLINGS.get(key, key)
            if canonical not in known:
                self._unknown_key(key, path, known)
            elif canonical in fields.members:
                message = f"`{key}` and `{fields.written[canonical]}` are one key, given twice"
                self.complain((*path, key), message, key=True)
            else:
                fields.members[canonical], fields.written[canonical] = member, key
        return fields

    def _unknown_key(self, key: str, path: Path, known: tuple[str, ...]) -> None:
        names = [*known, *(ON_THE_WIRE[name] for name in known if name in ON_THE_WIRE)]
        hint: str | None = did_you_mean(key, names)
        if hint is None and path == () and key in _SERVER_KEYS:
            hint = "put it under `mock_server:`"
        hint = hint or f"known keys: {', '.join(f'`{name}`' for name in known)}"
        self.complain((*path, key), f"unknown key `{key}`", key=True, hint=hint)

    def complain(self, path: Path, message: str, *, key: bool = False, hint: str | None = None) -> None:
        """Add a problem with its place in the file."""
        span = self._tree.span(path, key=key, nearest=True)
        place = path[:-1] if key else path
        self.problems.append(
            Problem(message=message, pointer=pointer(place), file=self._tree.file, span=span, hint=hint)
        )


def _member(item: object, key: str) -> object:
    if not isinstance(item, dict):
        return None
    return item.get(key, item.get(ON_THE_WIRE.get(key, key)))


def _message(role: str, content: object) -> dict[str, object]:
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


def _ignore(_path: Path, _message: str) -> None:
    """Ignore a problem that was reported elsewhere with its place."""


def _short_question(capability: str, text: str) -> dict[str, object]:
    """The parameters of a question that is given as text alone."""
    if capability == "elicitation":
        return {"message": text, "requestedSchema": {"type": "object", "properties": {}}}
    return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "maxTokens": 1000}


def _read_json(path: pathlib.Path) -> object:
    from mcptest_engine.core.safe_json import JsonFault, load_json
    from mcptest_engine.workspace.files import read_named_file

    try:
        return load_json(read_named_file(path))
    except JsonFault as wrong:
        _refuse(str(path), wrong.reason, span=None if wrong.place is None else Span(*wrong.place))
    except OSError as wrong:
        reason = wrong.strerror or str(wrong)
        _refuse(str(path), f"the file cannot be read: {reason[:1].lower()}{reason[1:]}")


def _from_snapshot(value: object, *, file: str) -> Manifest:
    """Read the tools of `{"tools": […]}`, of a bare list, or of a whole JSON-RPC answer to `tools/list`."""
    pointer, listed = "", value
    for key in ("result", "tools"):
        if isinstance(listed, dict) and key in listed:
            pointer, listed = f"{pointer}/{key}", listed[key]
    if not isinstance(listed, list):
        hint = 'a snapshot is `{"tools": […]}`, as `mcptest tools --format json` prints it'
        _refuse(file, "no list of tools found", pointer=pointer, hint=hint)
    problems = []
    tools: dict[str, Tool] = {}
    for index, descriptor in enumerate(listed):
        name = descriptor.get("name") if isinstance(descriptor, dict) else None
        if not isinstance(name, str):
            message = (
                f"tool {index + 1} has no name"
                if isinstance(descriptor, dict)
                else f"tool {index + 1} is not an object"
            )
            problems.append(Problem(message=message, pointer=f"{pointer}/{index}", file=file))
        elif name in tools:
            message = f'duplicate tool "{name}"'
            problems.append(Problem(message=message, pointer=f"{pointer}/{index}/name", file=file))
        else:
            outcome = Outcome(results=(constant(default_result(name)),))
            tools[name] = Tool(name=name, descriptor=descriptor, outcome=outcome)
    if problems:
        raise SuiteError(problems)
    return Manifest(tools=tuple(tools.values()))


def _refuse(
    file: str, message: str, *, pointer: str = "", hint: str | None = None, span: Span | None = None
) -> NoReturn:
    raise SuiteError([Problem(message=message, pointer=pointer, file=file, span=span, hint=hint)]) from None
