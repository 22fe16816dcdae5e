"""Shared by the two kinds of `agents:` suites: one case for each tool, its prompt, and what a model must not know.

A tool's description is the server's text and is aimed at models: if it causes a warning, no word of it goes into a prompt.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mcptest_engine.authoring.catalog_texts import (
    CLEAN_UP,
    about,
    held_back,
    masked,
    source_of,
    suspected,
    tools_listed,
    unused_name,
)
from mcptest_engine.authoring.paging import DEFAULT_OPTIONS, chosen_tools
from mcptest_engine.authoring.suite_insert import Place
from mcptest_engine.authoring.suite_text import Entry, first_line, proved, wrapped, write_suite_text
from mcptest_engine.authoring.targets import untemplated
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.values import dataclass
from mcptest_engine.safety.execution_policy import REVIEW_FIRST, Decision, Purpose
from mcptest_engine.safety.tool_classes import ToolClass, classify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mcptest_engine.authoring.paging import ScaffoldOptions
    from mcptest_engine.authoring.targets import Target
    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.safety.execution_policy import ExecutionPolicy
    from mcptest_engine.safety.poisoning import Finding
    from mcptest_engine.servers.catalog import Catalog

MAX_TURNS = 6
_GLOB = re.compile(r"[*?\[]")
_PLAIN = re.compile(r"[\w./:@-]+(?: [\w./:@-]+)*")
_FIRST_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentScaffold:
    """A suite of agent cases and the number of tools that have one.

    `next_cursor` is None unless tools are left for a next page. For cases that were added to an existing suite, `suite` holds
    only them and `into` is the whole suite.
    """

    suite: str
    tools_covered: int
    notes: tuple[str, ...] = ()
    next_cursor: int | None = None
    into: str | None = None
    warnings: tuple[Finding, ...] = ()


def scaffold_agents(
    catalog: Catalog,
    target: Target,
    case_of: Callable[[JsonMapping, Finding | None], JsonDict],
    header: Sequence[str],
    *,
    template: Sequence[str] = (),
    redact: Callable[[str], str] | None = None,
    options: ScaffoldOptions = DEFAULT_OPTIONS,
    into: str | None = None,
) -> AgentScaffold:
    """Build the suite of `case_of(tool, finding about its description)` for every tool of a page, sorted by name.

    `case_of` gives a test without `server`, its texts unescaped; `template` are lines that follow the tests, as comments.
    `into` is the text of a suite that gets the cases that it has not. Raises: UsageError for a cursor behind the last tool,
    EditRefused where that suite's text is in the way.
    """
    notes: list[str] = []
    place = None if into is None else Place.in_suite(into, target)
    target, existing = (target, frozenset()) if place is None else (place.target, place.names)
    tools, _, next_cursor = chosen_tools(catalog, options, notes)
    warnings = suspected(tools)
    findings = {finding.tool: finding for finding in reversed(warnings)}
    entries, taken = [], set(existing)
    for tool in tools:
        try:
            case = case_of(tool, findings.get(tool["name"]))
        except RecursionError:
            notes.append(f"`{one_line(tool['name'], 80)}` is left out: its schema is nested too deeply")
            continue
        case = {"name": case.pop("name"), "tools": _lists(tool, options.policy), **case}
        case = masked(case, redact) if redact is not None else case
        if case["name"] in existing:
            continue
        case["name"] = unused_name(case["name"], taken)
        taken.add(case["name"])
        entries.append(_entry(tool, findings.get(tool["name"]), untemplated(case), target, redact))
    good, left_out = proved(entries)
    notes += [f"the case `{one_line(entry.test['name'], 100)}` is left out: {why}" for entry, why in left_out]
    covered = len(good)
    if place is not None and into is not None:
        after = place.with_tests(into, good)
        return AgentScaffold(
            suite=place.fragment(good),
            tools_covered=covered,
            into=after,
            notes=tuple(notes),
            next_cursor=next_cursor,
            warnings=warnings,
        )
    if not good:
        notes.append("the server lists no tool, so there is no task for an agent")
        good, _ = proved([Entry(block="agents", test=_no_tool(target))])
    source = wrapped(f"{source_of(catalog)} Each case needs a model: name it with `model:`.")
    lines = [*header[:2], *source, *header[2:], "", *_safety(tools, options.policy)]
    text = write_suite_text(lines, target, good)
    text += "".join(f"\n# {one_line(line)}".rstrip() for line in template) + ("\n" if template else "")
    return AgentScaffold(
        suite=text, tools_covered=covered, notes=tuple(notes), next_cursor=next_cursor, warnings=warnings
    )


def _entry(
    tool: Mapping[str, object],
    finding: Finding | None,
    case: JsonDict,
    target: Target,
    redact: Callable[[str], str] | None,
) -> Entry:
    comment = about(tool, finding)
    comments: tuple[str, ...] = (comment if redact is None else redact(comment),)
    test = {"name": case.pop("name"), "server": target.key}
    if classify(tool) is ToolClass.DESTRUCTIVE:
        reason = held_back(tool)
        comments = (*comments, f"{REVIEW_FIRST}: {reason}")
        test["skip"] = f"{REVIEW_FIRST}: {reason}"
    return Entry(block="agents", test={**test, **case}, comments=comments)


def _lists(tool: JsonMapping, policy: ExecutionPolicy) -> dict[str, list[str]]:
    """The tool lists of a case: its own tool is called where the policy of a generated suite allows that; otherwise a stub
    answers.
    """
    name = _GLOB.sub(r"[\g<0>]", tool["name"])
    return {"allow": [], "dry": [name]} if _is_dry(tool, policy) else {"allow": [name]}


def _is_dry(tool: JsonMapping, policy: ExecutionPolicy) -> bool:
    return policy.decide_tool(tool["name"], classify(tool), Purpose.GENERATE) is Decision.GENERATE_ONLY


def _safety(tools: Sequence[JsonMapping], policy: ExecutionPolicy) -> Iterator[str]:
    yield from wrapped(
        "A model decides what is called. Each case executes the tool under `allow`, and tools that declare "
        "`readOnlyHint: true`; calls of all others are refused."
    )
    if dry := [tool["name"] for tool in tools if _is_dry(tool, policy)]:
        yield from wrapped(
            f"Answered by a stub and not executed, because they do not declare `readOnlyHint: true`: {tools_listed(dry)}. "
            "To execute one, move it from `dry` to `allow`."
        )
    yield from wrapped(CLEAN_UP)


def _no_tool(target: Target) -> JsonDict:
    return {
        "name": "the agent does without tools",
        "server": target.key,
        "prompt": "Say hello.",
        "expect": [{"target": "tool_calls", "matcher": {"length": 0}}],
    }


def purpose(tool: Mapping[str, object], finding: Finding | None) -> str | None:
    """A tool's purpose: the first sentence of its description; None when that must not be repeated."""
    if finding is not None:
        return None
    first = first_line(tool.get("description") or tool.get("title"), 300)
    found = _FIRST_SENTENCE.match(first)
    return (found[1] if found else first).rstrip(".!?") or None


def arguments_text(arguments: Mapping[str, object]) -> str:
    """The arguments as a person would write them in a prompt: `city: London, limit: 1`."""
    return ", ".join(f"{one_line(name, 60)}: {_value_text(value)}" for name, value in arguments.items())


def _value_text(value: object) -> str:
    return value if isinstance(value, str) and _PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False)
