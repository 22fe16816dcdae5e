"""What a mock server offers, from a YAML manifest or a captured `tools/list` answer.

Descriptors are the dictionaries that are sent, so a captured catalog is replayed with every field it had, right or wrong. A
primitive that is not declared is None, which differs from an empty list: only declared ones are advertised. Named tuples rather
than frozen dataclasses here and in `server`: a dataclass takes most of a millisecond to define, and a mock starts once for
every server of every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.mock.templates import Template

DEFAULT_NAME = "mcptest-mock"
DEFAULT_VERSION = "1.0.0"
LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""The levels of a log message, the lowest first. Source: MCP 2025-11-25, server/utilities/logging."""


class Outcome(NamedTuple):
    """The answers to calls: `results` one after the other, the last repeating, or `error` ({code, message, data?})."""

    results: tuple[Template, ...] = ()
    error: Template | None = None


class Case(NamedTuple):
    """One entry of `when`: the outcome of a call whose arguments include `args`; `delay_ms` None means the tool's own."""

    args: Mapping[str, object]
    outcome: Outcome
    delay_ms: float | None = None


class LogLine(NamedTuple):
    """A log message that a call sends: a level of RFC 5424 by its MCP name, and any JSON as `data`."""

    level: str
    data: Template
    logger: str | None = None


class Question(NamedTuple):
    """A tool's question to the client: `capability` is "sampling", "elicitation" or "roots", `params` those of its `method`."""

    capability: str
    method: str
    params: Template


class Tool(NamedTuple):
    """A tool; `descriptor` is its element of `tools/list`. The first matching entry of `cases` decides, else `outcome`.

    A call also sends these: `progress` is the number of progress notifications, `log` the log messages, `ask` the question to
    the client before the answer, `list_changed` the lists ("tools", "resources", "prompts") that are announced as changed, and
    `touches` the URI of a resource that is announced as updated.
    """

    name: str
    descriptor: JsonMapping
    outcome: Outcome
    cases: tuple[Case, ...] = ()
    delay_ms: float = 0.0
    progress: int = 0
    log: tuple[LogLine, ...] = ()
    ask: Question | None = None
    list_changed: tuple[str, ...] = ()
    touches: Template | None = None


class Resource(NamedTuple):
    """A resource; `contents` is the one element of the answer to a read."""

    uri: str
    descriptor: JsonMapping
    contents: Mapping[str, object]


class ResourceTemplate(NamedTuple):
    """A family of resources; `pattern` matches a URI and names its variables, `text` is expanded with them."""

    descriptor: JsonMapping
    pattern: re.Pattern[str]
    mime_type: str | None
    text: Template


class Prompt(NamedTuple):
    """A prompt; `messages` builds the messages for its arguments, `required` names the required ones."""

    name: str
    descriptor: JsonMapping
    messages: Template
    required: tuple[str, ...] = ()


class Manifest(NamedTuple):
    """Everything that a mock server offers; None for a primitive that it does not declare. `page_size` None: one page."""

    name: str = DEFAULT_NAME
    version: str = DEFAULT_VERSION
    instructions: str | None = None
    tools: tuple[Tool, ...] | None = None
    resources: tuple[Resource, ...] | None = None
    resource_templates: tuple[ResourceTemplate, ...] | None = None
    prompts: tuple[Prompt, ...] | None = None
    page_size: int | None = None


def default_result(name: str) -> dict[str, object]:
    """The result of a tool that declares no other."""
    return {"content": [{"type": "text", "text": f"mock result of {name}"}]}
