"""A server's catalog in the words of a generated suite: its tools by name, its prompts' arguments, the server itself.

Every text of the server is put on one line, and a description that may be aimed at a model is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.authoring.suite_text import first_line
from mcptest_engine.core.redaction import MASK
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import listed
from mcptest_engine.safety.tool_classes import ToolClass, classify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.safety.poisoning import Finding
    from mcptest_engine.servers.catalog import Catalog

OTHER_REQUESTS = frozenset(
    (
        "tools/call",
        "resources/read",
        "prompts/get",
        "initialize",
        "subscriptions/listen",
        "sampling/createMessage",
        "elicitation/create",
        "roots/list",
    )
)
"""Names that `validate` would take for misspelt requests when a tool has one of them."""


CLEAN_UP = (
    "Data cleanup is your responsibility: mcptest never removes what a test has made. "
    "Run this against a disposable or staging target, not against production."
)
"""The header of every generated suite that may call tools which change something."""


def nameable_tools(tools: Iterable[Mapping[str, object]], notes: list[str]) -> dict[str, Mapping[str, object]]:
    """The tools that a test can name, by name; `notes` say why others cannot.

    Of several with one name the most dangerous counts: nobody knows which of them a call reaches.
    """
    from mcptest_engine.suite.checks import METHODS_AS_TOOLS

    found: dict[str, JsonMapping] = {}
    for number, tool in enumerate(tools, 1):
        name = tool.get("name")
        if not isinstance(name, str) or not name:
            notes.append(f"tool {number} of the list has no name, so nothing can call it")
        elif name in found:
            is_worse = classify(tool).severity > classify(found[name]).severity
            found[name] = tool if is_worse else found[name]
            covered = "more dangerous" if is_worse else "first"
            notes.append(f"the server lists `{one_line(name, 80)}` twice; the {covered} one is covered")
        elif name in METHODS_AS_TOOLS or name in OTHER_REQUESTS:
            notes.append(f"the tool `{name}` is left out: in a suite, this name means the request of the protocol")
        else:
            found[name] = tool
    return found


def suspected(tools: Sequence[Mapping[str, object]]) -> tuple[Finding, ...]:
    """The findings about the descriptions of these tools."""
    from mcptest_engine.safety.poisoning import description_warnings

    return tuple(description_warnings(tools))


def about(tool: Mapping[str, object], finding: Finding | None, *, named: str | None = None) -> str:
    """The comment above a tool's tests; a suspicious description is named instead of copied."""
    name = one_line(named or str(tool.get("name")), 60)
    if finding is not None:
        return f"{name}: its description is not copied, because it looks suspicious ({finding.rule} {finding.name})"
    described = first_line(tool.get("description") or tool.get("title"), 100)
    return f"{name}: {described}" if described else name


def held_back(tool: Mapping[str, object]) -> str:
    """A tool's class and its reason, for a test that is not run before a person has checked it."""
    tool_class = classify(tool)
    if tool_class is ToolClass.READ_ONLY_PRESUMED:
        return "presumed read-only by its name, but not declared"
    by_hints = classify({"annotations": tool.get("annotations")}) is tool_class
    return f"{tool_class.described} by its {'annotations' if by_hints else 'name'}"


def prompt_arguments(prompt: Mapping[str, object]) -> dict[str, str]:
    """A text for each required argument of a prompt."""
    from mcptest_engine.core.synthesize import arguments_for

    listed = prompt.get("arguments")
    needed = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    names = [item["name"] for item in needed if isinstance(item.get("name"), str) and item.get("required") is True]
    if not names:
        return {}
    properties = {name: {"type": "string"} for name in names}
    made = arguments_for({"inputSchema": {"type": "object", "properties": properties, "required": names}}).value
    return {name: text if isinstance(text := made.get(name), str) and text else "sample" for name in names}


def source_of(catalog: Catalog) -> str:
    """Describe the server in a sentence."""
    info = catalog.server_info
    name = " ".join(one_line(str(info[key]), 60) for key in ("name", "version") if info.get(key))
    revision = f" (MCP {one_line(catalog.protocol_version, 20)})" if catalog.protocol_version else ""
    return f"For {name or 'a server without a name'}{revision}."


def tools_listed(names: Sequence[str], most: int = 12) -> str:
    """Names as a list in prose."""
    return listed(names, most, lambda name: f"`{one_line(name, 60)}`")


def holds_mask(value: object) -> bool:
    """Whether a secret was removed from a value, or from a part of it."""
    if isinstance(value, str):
        return MASK in value
    parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(holds_mask, parts))


def masked(value: object, redact: Callable[[str], str]) -> Any:
    """A copy with every text redacted, except keys."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: masked(item, redact) for key, item in value.items()}
    return [masked(item, redact) for item in value] if isinstance(value, list) else value


def unused_name(name: str, taken: set[str] | frozenset[str]) -> str:
    """The name, with a number when another test has it."""
    number, found = 2, name
    while found in taken:
        found, number = f"{name} ({number})", number + 1
    return found
