"""What a mock server offers, as values, and where they come from: a YAML manifest or a captured `tools/list` answer.

Descriptors are kept as the dictionaries that go over the wire, so a captured catalog is replayed with every field it
had, right or wrong. A primitive that is not declared is None, which is not the same as an empty list: only declared
ones are advertised.

Named tuples rather than frozen dataclasses here and in `server`: a dataclass takes most of a millisecond to define, and a
mock starts once for every server of every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from mcptest_engine.core.errors import Problem, Span, SuiteError

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping
    from pathlib import Path

    from mcptest_engine.mock.templates import Template

DEFAULT_NAME = "mcptest-mock"
DEFAULT_VERSION = "1.0.0"
LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""The levels of a log message, the least first. Source: MCP 2025-11-25, server/utilities/logging."""


class Outcome(NamedTuple):
    """What calls come to: `results` one after the other, the last repeating, or `error` ({code, message, data?})."""

    results: tuple[Template, ...] = ()
    error: Template | None = None


class Case(NamedTuple):
    """One entry of `when`: what comes of a call whose arguments cover `args`; `delay_ms` None leaves the tool's own."""

    args: Mapping[str, Any]
    outcome: Outcome
    delay_ms: float | None = None


class LogLine(NamedTuple):
    """One log message that a call sends: a level of RFC 5424 by its MCP name, and any JSON for `data`."""

    level: str
    data: Template
    logger: str | None = None


class Question(NamedTuple):
    """What a tool asks of the client: `capability` is "sampling", "elicitation" or "roots", `params` of its `method`."""

    capability: str
    method: str
    params: Template


class Tool(NamedTuple):
    """A tool; `descriptor` is its element of `tools/list`. The first of `cases` that fits decides, else `outcome`.

    What a call sends beside its answer: `progress` is how many progress notifications, `log` the log messages, `ask` what
    the client is asked first, `list_changed` the lists ("tools", "resources", "prompts") that count as changed, and
    `touches` the URI of the resource that counts as updated.
    """

    name: str
    descriptor: Mapping[str, Any]
    outcome: Outcome
    cases: tuple[Case, ...] = ()
    delay_ms: float = 0.0
    progress: int = 0
    log: tuple[LogLine, ...] = ()
    ask: Question | None = None
    list_changed: tuple[str, ...] = ()
    touches: Template | None = None


class Resource(NamedTuple):
    """A resource; `contents` is the one element that reading it gives."""

    uri: str
    descriptor: Mapping[str, Any]
    contents: Mapping[str, Any]


class ResourceTemplate(NamedTuple):
    """A family of resources; `pattern` matches a URI and names its variables, `text` is expanded with them."""

    descriptor: Mapping[str, Any]
    pattern: re.Pattern[str]
    mime_type: str | None
    text: Template


class Prompt(NamedTuple):
    """A prompt; `messages` gives the messages for its arguments, `required` names those that must be there."""

    name: str
    descriptor: Mapping[str, Any]
    messages: Template
    required: tuple[str, ...] = ()


class Manifest(NamedTuple):
    """All that a mock server offers; None for a primitive that it does not declare. `page_size` None: one page."""

    name: str = DEFAULT_NAME
    version: str = DEFAULT_VERSION
    instructions: str | None = None
    tools: tuple[Tool, ...] | None = None
    resources: tuple[Resource, ...] | None = None
    resource_templates: tuple[ResourceTemplate, ...] | None = None
    prompts: tuple[Prompt, ...] | None = None
    page_size: int | None = None


def load_manifest(path: Path) -> Manifest:
    """The manifest at `path`: YAML, or a `.json` file that holds a `tools/list` answer (or a manifest).

    Raises: SuiteError with every problem found, in file order.
    """
    if path.suffix.lower() == ".json":
        value = _read_json(path)
        if not (isinstance(value, dict) and "mock_server" in value):
            return _from_snapshot(value, file=str(path))
    from mcptest_engine.mock.reading import read_manifest
    from mcptest_engine.suite.yaml import EMPTY, read_file

    try:
        tree = read_file(path, file=str(path))
    except SuiteError as unreadable:
        if any(problem.message == EMPTY for problem in unreadable.problems):
            _refuse(str(path), EMPTY, hint="a manifest holds one `mock_server:` key", span=Span(1, 1))
        raise
    return read_manifest(tree)


def default_result(name: str) -> dict[str, Any]:
    """The result of a tool that declares none."""
    return {"content": [{"type": "text", "text": f"mock result of {name}"}]}


def _read_json(path: Path) -> Any:
    from mcptest_engine.core.safe_json import JsonFault, load_json
    from mcptest_engine.workspace.files import read_named_file

    try:
        return load_json(read_named_file(path))
    except JsonFault as wrong:
        _refuse(str(path), wrong.reason, span=None if wrong.place is None else Span(*wrong.place))
    except OSError as wrong:
        reason = wrong.strerror or str(wrong)
        _refuse(str(path), f"the file cannot be read: {reason[:1].lower()}{reason[1:]}")


def _from_snapshot(value: Any, *, file: str) -> Manifest:
    """The tools of `{"tools": […]}`, of a bare list, or of a whole JSON-RPC answer to `tools/list`."""
    from mcptest_engine.mock.templates import constant

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
            message = f"tool #{index} has no name" if isinstance(descriptor, dict) else f"tool #{index} is no object"
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
