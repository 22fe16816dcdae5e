"""All findings of `mcptest security` on a catalog: the poisoning rules, SEC-007, SEC-009, SEC-010 and the schema lint.

A pure function of what a server listed; no tool is called. For SEC-007 only a name that the description declares as an argument
("Args:", ":param x:") counts, since a name in backticks is as often another tool's.
See docs/explanation/safety.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from mcptest_engine.core.values import dataclass
from mcptest_engine.safety.definition_texts import Text, argument_names, texts_of_entry, texts_of_tool, tool_name
from mcptest_engine.safety.findings import Finding, Level, finding
from mcptest_engine.safety.poisoning import Judge
from mcptest_engine.safety.schema_lint import lint_names, lint_tool
from mcptest_engine.safety.tool_classes import ToolClass, classify_name

if TYPE_CHECKING:
    from mcptest_engine.core.json_types import JsonMapping

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_SECTION = re.compile(
    r"^[ \t]*(?:#{1,4} ?|\*\*)?(?:Args|Arguments|Parameters|Params|Inputs?)(?:\*\*)?:?(?:\*\*)?[ \t]*$", re.IGNORECASE
)
_SECTION_ENTRY = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?[`*]{0,3}([A-Za-z_][A-Za-z0-9_.]{0,60})[`*]{0,3}[ \t]*"
    r"(?:\([^)\n]{0,80}\)|\[[^\]\n]{0,80}\])?[ \t]*[`*]{0,3}:"
)
_DECLARED = re.compile(
    r"(?:^|\s)[:@]param(?:eter)?(?:\s+\{?[\w\[\], |.]{1,40}\}?)??\s+([A-Za-z_]\w{0,60})\b(?:\s*:|\s)"
)

# "Parameters: query (string), limit (int)": only where each has a type, and "the `limit` parameter".
_LISTED = re.compile(
    r"\b(?:Args|Arguments|Parameters|Params|Inputs?):[ \t]*(?=[`'\"]?\w{1,60}[`'\"]? ?\()([^\n]{3,400})", re.IGNORECASE
)
_TYPED = re.compile(
    r"[`'\"]?\b([A-Za-z_]\w{0,60})[`'\"]? ?\((?:optional |required )?"
    r"(?:str|string|int|integer|number|float|bool|boolean|array|list|object|dict)\b[^)\n]{0,60}\)"
)
_SPOKEN_OF = re.compile(r"\b[Tt]he [`'\"]([A-Za-z_]\w{0,60})[`'\"] (?:parameter|argument)\b(?! of\b)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """What one server shows a model: its entries as it sent them, and its instructions."""

    tools: tuple[JsonMapping, ...] = ()
    prompts: tuple[JsonMapping, ...] = ()
    resources: tuple[JsonMapping, ...] = ()
    templates: tuple[Mapping[str, object], ...] = ()
    instructions: str | None = None

    @property
    def entries(self) -> int:
        """The number of entries; instructions do not count."""
        return len(self.tools) + len(self.prompts) + len(self.resources) + len(self.templates)


def inspect(surface: Surface) -> tuple[Finding, ...]:
    """All findings, the worst first, then in the server's order; a rule has one finding for each text of an entry."""
    judge = Judge(tool_name(tool) for tool in surface.tools)
    found: list[Finding] = []
    for tool in surface.tools:
        name = tool_name(tool)
        found += judge.findings(name, texts_of_tool(tool))
        found += _docstring_findings(name, tool)
        found += _annotation_findings(name, tool)
        found += lint_tool(tool)
    found += lint_names(surface.tools)
    for kind, entries in (
        ("prompt", surface.prompts),
        ("resource", surface.resources),
        ("resource template", surface.templates),
    ):
        for entry in entries:
            found += judge.findings(f"{kind} {tool_name(entry)}", texts_of_entry(entry))
    if surface.instructions:
        found += judge.findings("server instructions", [Text("instructions", surface.instructions)])
    return tuple(sorted(found, key=lambda one: Level(one.severity).rank))


def _docstring_findings(name: str, tool: Mapping[str, object]) -> Iterator[Finding]:
    """SEC-007: arguments that the description declares and the schema lacks."""
    description = tool.get("description")
    if not isinstance(description, str) or not isinstance(tool.get("inputSchema"), Mapping):
        return
    known = {_fold_name(argument) for argument in argument_names(tool["inputSchema"])}
    lacking = [argument for argument in _declared_arguments(description[:100_000]) if _fold_name(argument) not in known]
    if lacking:
        listed = ", ".join(f"`{argument}`" for argument in lacking[:3])
        more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
        found = finding("SEC-007", name, "description", subject="description", digest_of=", ".join(lacking))
        yield _with_detail(found, f"{listed}{more}")


def _declared_arguments(description: str) -> Iterator[str]:
    seen = set()
    in_section, indent = False, 0
    for line in description.splitlines():
        if _SECTION.match(line):
            in_section, indent = True, -1
            continue
        entry = _SECTION_ENTRY.match(line) if in_section else None
        depth = len(line) - len(line.lstrip())
        if entry and indent in (-1, depth):
            indent = depth
            names: Iterable[str] = (entry[1].split(".")[0],)
        else:
            in_section = in_section and (not line.strip() or depth > max(indent, 0))
            names = ()
        listed = [name for part in _LISTED.findall(line) for name in _TYPED.findall(part)]
        for found in (*names, *_DECLARED.findall(line), *listed, *_SPOKEN_OF.findall(line)):
            if found not in seen:
                seen.add(found)
                yield found


def _fold_name(argument: str) -> str:
    return argument.replace("_", "").replace("-", "").casefold()


def _annotation_findings(name: str, tool: Mapping[str, object]) -> Iterator[Finding]:
    """Findings of SEC-009 and SEC-010: annotations that contradict the tool."""
    annotations = tool.get("annotations")
    problems = []
    if annotations is not None and not isinstance(annotations, Mapping):
        problems.append(f"`annotations` is {_kind(annotations)}")
    hints = annotations if isinstance(annotations, Mapping) else {}
    problems += [
        f"`{hint}` is {_kind(hints[hint])}" for hint in _HINTS if not isinstance(hints.get(hint), (bool, type(None)))
    ]
    if hints.get("readOnlyHint") is True and hints.get("destructiveHint") is True:
        problems.append("`readOnlyHint` and `destructiveHint` are both true")
    if hints.get("title") is not None and not isinstance(hints["title"], str):
        problems.append(f"`title` is {_kind(hints['title'])}")
    if problems:
        found = finding("SEC-010", name, "annotations", subject="annotations")
        yield _with_detail(found, "; ".join(problems[:2]))
    is_declared = any(isinstance(hints.get(hint), bool) for hint in ("readOnlyHint", "destructiveHint"))
    if not is_declared and classify_name(name) is ToolClass.DESTRUCTIVE:
        yield finding("SEC-009", name, "name", subject="name")


def _with_detail(found: Finding, detail: str) -> Finding:
    """The finding with `detail` behind its summary and as its excerpt."""
    full = f"{found.summary} ({detail})"
    return replace(
        found, summary=full if len(full) <= 160 else full[:159] + "…", excerpt=detail[:60], full_excerpt=detail
    )


def _kind(value: object) -> str:
    names = {bool: "a boolean", str: "text", int: "a number", float: "a number", list: "an array", dict: "an object"}
    return names.get(type(value), "of an odd kind")
