"""A starter suite out of what a server says of itself: `scaffold_suite`, and `scaffold_into` for a suite that is there already.

Pure: nothing here has a session, so no tool can be called. What is written may be run at once, and that is the surprising
part of the safety: a test of a tool that neither declares to be read-only nor was allowed carries a `skip:`, for a destructive
one beside its `# review before first run`, because a comment alone holds nobody back. A test of a destructive tool always has
it: one call may be allowed, and a suite is run again. Tests of tools that change something are tagged `mutating`, for
`--skip-tag`, those of destructive ones `destructive` too.
See docs/how-to/generate-a-suite.md and docs/explanation/safety.md.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from mcptest_engine.authoring.catalog_texts import (
    CLEAN_UP,
    about,
    held_back,
    holds_mask,
    masked,
    prompt_arguments,
    source_of,
    suspected,
    tools_listed,
    unused_name,
)
from mcptest_engine.authoring.paging import DEFAULT_OPTIONS, PAGE, ScaffoldOptions, chosen_tools, cursor_of
from mcptest_engine.authoring.suite_text import (
    Entry,
    TestText,
    plain,
    proved,
    wrapped,
    write_suite_text,
)
from mcptest_engine.authoring.targets import Target, untemplated
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted
from mcptest_engine.core.values import dataclass
from mcptest_engine.safety.execution_policy import REVIEW_FIRST, Decision, Purpose
from mcptest_engine.safety.tool_classes import ToolClass, classify

__all__ = [
    "DEFAULT_OPTIONS",
    "PAGE",
    "Scaffold",
    "ScaffoldOptions",
    "ScaffoldedTool",
    "cursor_of",
    "scaffold_into",
    "scaffold_suite",
    "with_guessed_places",
]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.core.synthesize import ArgumentCase, Synthesis
    from mcptest_engine.safety.poisoning import Finding
    from mcptest_engine.servers.catalog import Catalog

LONGEST_NAME = 120
_URL = re.compile(r"(?i)https?://")
_PATH = re.compile(r"/[^:]|[A-Za-z]:\\")
_PROGRAM = re.compile(r"\.(?:py|pyz|[cm]?[jt]s|jar|sh|rb|exe|dll)$|/s?bin/|/node_modules/")
_CHANGING = (ToolClass.MUTATING, ToolClass.DESTRUCTIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaffoldedTool:
    """A tool's tests in numbers.

    `held_back` says why they do not run before a person has checked them. `guessed` are the made-up arguments of a valid call.
    `single_call`: the command that writes the suite may run the first test once, though it is skipped in the file.
    """

    name: str
    tests_generated: int
    tool_class: ToolClass
    held_back: str | None = None
    guessed: tuple[str, ...] = ()
    single_call: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaffold:
    """A suite, its content in numbers, and notes.

    `next_cursor` is None unless tools are left for a next page. `warnings` are the findings about the descriptions of this
    page's tools.
    """

    suite: str
    tools: tuple[ScaffoldedTool, ...] = ()
    resources_scaffolded: int = 0
    prompts_scaffolded: int = 0
    notes: tuple[str, ...] = ()
    next_cursor: int | None = None
    warnings: tuple[Finding, ...] = ()


def scaffold_suite(
    catalog: Catalog,
    target: Target,
    options: ScaffoldOptions = DEFAULT_OPTIONS,
    *,
    redact: Callable[[str], str] | None = None,
) -> Scaffold:
    """A suite for a server, out of its catalog. It loads without a problem and without a warning.

    `redact` masks secrets; a test that would hold one is written with a `skip:` instead of the secret.
    Raises: UsageError for a cursor behind the last tool.
    """
    page = _page(catalog, target, options, redact)
    return page.scaffold(write_suite_text(_header(catalog, page), target, page.tests))


def scaffold_into(
    text: str,
    catalog: Catalog,
    target: Target,
    options: ScaffoldOptions = DEFAULT_OPTIONS,
    *,
    redact: Callable[[str], str] | None = None,
) -> tuple[str, Scaffold]:
    """The same tests at the ends of an existing suite's blocks, every other byte of it kept; the scaffold holds only the new.

    A server that the suite declares alike is used under its key, else it is added. A test that is there already, by its name,
    is not written again. Raises: EditRefused where the suite's text is in the way, UsageError as `scaffold_suite` does.
    """
    from mcptest_engine.authoring.suite_insert import Place

    place = Place.in_suite(text, target)
    page = _page(catalog, place.target, options, redact, existing=place.names)
    return place.with_tests(text, page.tests), page.scaffold(place.fragment(page.tests))


@dataclass(slots=True, kw_only=True)
class _Page:
    """The tests of one page of tools."""

    tests: list[TestText] = field(default_factory=list)
    tools: list[ScaffoldedTool] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    next_cursor: int | None = None
    warnings: tuple[Finding, ...] = ()

    def scaffold(self, suite: str) -> Scaffold:
        return Scaffold(
            suite=suite,
            tools=tuple(self.tools),
            resources_scaffolded=sum(one.entry.block == "resources" for one in self.tests),
            prompts_scaffolded=sum(one.entry.block == "prompts" for one in self.tests),
            notes=tuple(self.notes),
            next_cursor=self.next_cursor,
            warnings=self.warnings,
        )


def _page(
    catalog: Catalog,
    target: Target,
    options: ScaffoldOptions,
    redact: Callable[[str], str] | None,
    *,
    existing: frozenset[str] = frozenset(),
) -> _Page:
    page = _Page()
    others: dict[str, list[Entry]] = {}
    with_others = options.tools is None if options.include_others is None else options.include_others
    if with_others:
        others = {
            "resource": _resource_entries(catalog.resources, target.key, page.notes),
            "prompt": _prompt_entries(catalog.prompts, target.key, page.notes),
        }
    most = None if options.all else PAGE
    later = [] if most is None else [entry for entries in others.values() for entry in entries[most:]]
    chosen, after_tools, page.next_cursor = chosen_tools(catalog, options, page.notes, more=len(later))
    page.warnings = suspected(chosen)
    writer = _Writer(target, page, redact, {finding.tool: finding for finding in reversed(page.warnings)}, existing)
    for tool in chosen:
        writer.tool(tool, options)
    if options.cursor >= after_tools:
        at = options.cursor - after_tools
        writer.keep(later[at : at + options.page])
    if options.cursor == 0:
        for what, entries in others.items():
            writer.keep(entries[:most])
            if most is not None and len(entries) > most:
                covered = f"the first {most} of {counted(len(entries), what)} are covered"
                page.notes.append(f"{covered}; the pages after the tools cover the others, and `all` does")
    if options.cursor == 0 and with_others and catalog.templates:
        counted_ = counted(len(catalog.templates), "resource template")
        page.notes.append(f"the server has {counted_}, which no test reads: a URI has to be filled in first")
    page.notes += [f"`{what}/list` failed: {one_line(why, 200)}" for what, why in catalog.errors.items()]
    if not page.tests and not existing:
        writer.answers()
        offers = "the server offers nothing to test" if options.tools is None else "the server has none of these tools"
        page.notes.append(f"{offers}, so the suite only checks that it answers")
    return page


def _resource_entries(resources: Sequence[Mapping[str, object]], key: str, notes: list[str]) -> list[Entry]:
    """A test for each resource of the server `key`; `notes` say which resources have none, and why."""
    entries, seen = [], set()
    for number, resource in enumerate(resources, 1):
        uri = resource.get("uri")
        if not isinstance(uri, str) or not uri:
            notes.append(f"resource {number} of the list has no `uri`, so nothing can read it")
        elif uri not in seen:
            seen.add(uri)
            test = {"name": f"{one_line(uri, 100)}: can be read", "server": key, "uri": untemplated(uri)}
            entries.append(Entry(block="resources", test={**test, "expect": [_CONTENTS]}))
    return entries


def _prompt_entries(prompts: Sequence[Mapping[str, object]], key: str, notes: list[str]) -> list[Entry]:
    """A test for each prompt of the server `key`; `notes` say which prompts have none, and why."""
    entries, seen = [], set()
    for number, prompt in enumerate(prompts, 1):
        name = prompt.get("name")
        if not isinstance(name, str) or not name:
            notes.append(f"prompt {number} of the list has no name, so nothing can get it")
        elif name not in seen:
            seen.add(name)
            test: JsonDict = {"name": f"{one_line(name, 80)}: can be rendered", "server": key}
            test["prompt"] = untemplated(name)
            arguments = prompt_arguments(prompt)
            if arguments:
                test |= {"args": untemplated(arguments), "guess": _guess(tuple(arguments))}
            entries.append(Entry(block="prompts", test={**test, "expect": [_MESSAGES]}))
    return entries


class _Writer:
    """Makes the tests of one page for one server."""

    def __init__(
        self,
        target: Target,
        page: _Page,
        redact: Callable[[str], str] | None,
        findings: Mapping[str, Finding],
        existing: frozenset[str],
    ) -> None:
        self._key, self._page, self._redact, self._findings = target.key, page, redact, findings
        self._paths = paths_in(target.settings.get("command"))
        self._stateless = target.settings.get("protocol") == "2026-07-28"
        self._names = set(existing)
        self._existing = existing

    def tool(self, tool: JsonMapping, options: ScaffoldOptions) -> None:
        name = tool["name"]
        tool_class = classify(tool)
        decision = options.policy.decide_tool(name, tool_class, Purpose.GENERATE)
        is_held = decision is Decision.GENERATE_ONLY or tool_class is ToolClass.DESTRUCTIVE
        reason = held_back(tool) if is_held else None
        try:
            entries = list(self._tests(tool, options, tool_class))
        except RecursionError:
            self._page.notes.append(f"`{one_line(name, 80)}` is left out: its schemas are nested too deeply")
            entries = []
        if entries:
            first = entries[0]
            comment = about(tool, self._findings.get(name))
            comment = comment if self._redact is None else self._redact(comment)
            entries[0] = Entry(block=first.block, test=first.test, comments=(comment, *first.comments))
        single_call = bool(entries) and decision is Decision.EXECUTE_ONCE and "skip" not in entries[0].test
        entries = [_held(entry, tool_class, reason) for entry in entries]
        if decision is Decision.EXECUTE_ONCE and reason is None:
            entries[1:] = [
                _held(entry, tool_class, f"{tool_class.described}, and called once") for entry in entries[1:]
            ]
        written = self.keep(entries)
        unfilled = [one.entry.test["skip"] for one in written if "skip" in one.entry.test]
        is_whole = [one.entry.test.get("skip") for one in written] == [entry.test.get("skip") for entry in entries]
        reason = reason or (unfilled[0] if unfilled and len(unfilled) == len(written) else None)
        guess = entries[0].test.get("guess") if entries else None
        self._page.tools.append(
            ScaffoldedTool(
                name=name,
                tests_generated=len(written),
                tool_class=tool_class,
                held_back=reason,
                guessed=tuple(guess) if isinstance(guess, list) else (),
                single_call=single_call and is_whole and tool_class is ToolClass.DESTRUCTIVE,
            )
        )

    def _tests(self, tool: Mapping[str, object], options: ScaffoldOptions, tool_class: ToolClass) -> Iterator[Entry]:
        from mcptest_engine.core.synthesize import arguments_for
        from mcptest_engine.core.synthesize.cases import Cases, all_probes, first_edge, first_violation

        found = with_known_path(arguments_for(tool), self._paths)
        made = with_guessed_places(found, tool.get("inputSchema"))
        yield self._happy(tool, made, tool_class)
        schema = tool.get("inputSchema")
        cases = Cases({"type": "object"} if schema is None else schema, found)
        wanted: list[ArgumentCase | None] = [
            first_edge(cases) if options.include_edge else None,
            first_violation(cases) if options.include_violation else None,
            *(all_probes(cases) if options.probe else ()),
        ]
        for case in wanted:
            if case is not None and isinstance(case.arguments, dict):
                yield self._case(tool, case, made, tool_class)

    def _happy(self, tool: Mapping[str, object], made: Synthesis, tool_class: ToolClass) -> Entry:
        arguments = made.value if isinstance(made.value, dict) else {}
        expect = [self._conforming(tool) or _CONTENT]
        if made.problem is None:
            return self._test(tool, "valid arguments", arguments, tool_class, guessed=made.guessed, expect=expect)
        comment = f"No valid arguments were found: {one_line(made.problem, 160)}. Fill them in, and remove `skip:`."
        skip = "fill in the arguments first"
        return self._test(tool, "valid arguments", arguments, tool_class, comment, expect=expect, skip=skip)

    def _conforming(self, tool: Mapping[str, object]) -> dict[str, object] | None:
        """Check the answer's `structuredContent` against the declared `outputSchema`."""
        if "outputSchema" not in tool:
            return None
        schema, wrong = usable_schema(tool["outputSchema"])
        if wrong is not None:
            name = one_line(str(tool["name"]), 80)
            self._page.notes.append(f"`{name}`: its `outputSchema` is not tested: {wrong}")
            return None
        if schema in ({}, True):
            return None  # it accepts every value
        return {"target": "result.structuredContent", "matcher": {"schema": schema}}

    def _case(self, tool: Mapping[str, object], case: ArgumentCase, made: Synthesis, tool_class: ToolClass) -> Entry:
        if case.valid:
            return self._test(tool, case.name, case.arguments, tool_class, guessed=case.guessed, expect=[_CONTENT])
        good = made.value if isinstance(made.value, dict) else {}
        unlike = [name for name in {**good, **case.arguments} if not _is_same(name, good, case.arguments)]
        return self._test(tool, f"{case.name}, refused", case.arguments, tool_class, guessed=unlike, refused=True)

    def _test(
        self,
        tool: JsonMapping,
        what: str,
        arguments: JsonMapping,
        tool_class: ToolClass,
        *comments: str,
        guessed: Sequence[str] = (),
        refused: bool = False,
        expect: Sequence[Any] = (),
        skip: str | None = None,
    ) -> Entry:
        """One call. With `refused` it has to fail because of its `guessed` arguments."""
        name = tool["name"]
        test: JsonDict = {
            "name": f"{one_line(name, 80)}: {one_line(what, 80)}",
            "server": self._key,
            "tool": untemplated(name),
        }
        if arguments:
            test["args"] = untemplated(plain(arguments))
        if guessed or refused:
            test["guess"] = _guess(guessed)
        if refused or not guessed:
            test["outcome"] = "error" if refused else "success"
        if tool_class in _CHANGING:
            test |= {"tags": [str(one) for one in _CHANGING if one.severity <= tool_class.severity], "serial": True}
        if skip is not None:
            test["skip"] = skip
        if expect:
            test["expect"] = list(expect)
        return Entry(block="tools", test=test, comments=comments)

    def answers(self) -> None:
        """Add a test for a server without anything to test: that it answers."""
        request = "server/discover" if self._stateless else "ping"
        test = {"name": "the server answers", "server": self._key, "tool": request}
        self.keep([Entry(block="tools", test={**test, "expect": [{"target": "error", "matcher": {"exact": None}}]})])

    def keep(self, entries: Iterable[Entry]) -> tuple[TestText, ...]:
        """Add the tests that can be written and do not exist yet, under unique names; return them."""
        new = [self._masked(entry) for entry in entries if entry.test["name"] not in self._existing]
        written, left_out = proved(self._renamed(entry) for entry in new)
        self._page.tests += written
        for entry, why in left_out:
            self._page.notes.append(f"the test `{one_line(entry.test['name'], 100)}` is left out: {why}")
        return written

    def _renamed(self, entry: Entry) -> Entry:
        name = str(entry.test["name"])[:LONGEST_NAME]
        found = unused_name(name, self._names)
        self._names.add(found)
        return Entry(block=entry.block, test={**entry.test, "name": untemplated(found)}, comments=entry.comments)

    def _masked(self, entry: Entry) -> Entry:
        """The test without secrets; one that contained any gets a `skip:`."""
        if self._redact is None:
            return entry
        test = masked(entry.test, self._redact)
        if test == entry.test and not holds_mask(test):
            return entry
        reason = "a value that looks like a secret was removed: insert a variable"
        return Entry(block=entry.block, test=_skipped(test, reason), comments=entry.comments)


def _held(entry: Entry, tool_class: ToolClass, reason: str | None) -> Entry:
    """The test with a `skip:` for this reason; unchanged without a reason, or when it has one already."""
    if reason is None:
        return entry
    test, comments = dict(entry.test), entry.comments
    if tool_class is ToolClass.DESTRUCTIVE:
        comments = (*comments, f"{REVIEW_FIRST}: {reason}")
    if "skip" not in test or tool_class is ToolClass.DESTRUCTIVE:
        test = _skipped(test, f"{REVIEW_FIRST}: {reason}")
    return Entry(block=entry.block, test=test, comments=comments)


def _skipped(test: Mapping[str, object], reason: str) -> JsonDict:
    """The test with a `skip:`, before its `expect:` where it has one."""
    expect = {"expect": test["expect"]} if "expect" in test else {}
    return {**{key: value for key, value in test.items() if key != "expect"}, "skip": reason, **expect}


def _guess(places: Sequence[str]) -> list[str] | bool:
    """The guessed arguments in a suite's notation; `places` are as in `Synthesis`."""
    names = [
        place.split("/")[1].replace("~1", "/").replace("~0", "~") if place[:1] == "/" else place for place in places
    ]
    return [untemplated(name) for name in dict.fromkeys(names)] if names and all(names) else True


def _is_same(name: str, one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    return name in one and name in other and repr(one[name]) == repr(other[name])


def paths_in(command: object) -> tuple[str, ...]:
    """The folders and files with which a server is started: absolute paths among its arguments, except programs."""
    words = [str(word) for word in command[1:]] if isinstance(command, (list, tuple)) else []
    paths = [word.partition("=")[2] if word.startswith("-") and "=" in word else word for word in words]
    return tuple(word for word in paths if _PATH.match(word) and not _PROGRAM.search(word))


def with_known_path(made: Synthesis, paths: Sequence[str]) -> Synthesis:
    """Replace the current directory, a poor guess, by a path with which the server was started."""
    if not paths or not isinstance(made.value, dict):
        return made
    value = dict(made.value)
    for name in made.guessed:
        if value.get(name) == ".":
            value[name] = paths[-1]
        elif value.get(name) == ["."]:
            value[name] = [paths[-1]]
    return replace(made, value=value)


def with_guessed_places(made: Synthesis, schema: object) -> Synthesis:
    """Mark URLs as guessed even when the schema names them, also as a default: nobody knows whether they answer."""
    if made.problem is not None or not isinstance(made.value, dict):
        return made
    properties = schema.get("properties") if isinstance(schema, dict) else None
    members = properties.items() if isinstance(properties, dict) else ()
    values = {name: about.get("default") for name, about in members if isinstance(about, dict)} | made.value
    places = [name for name, value in values.items() if isinstance(value, str) and _URL.match(value)]
    return replace(made, guessed=tuple(dict.fromkeys((*made.guessed, *places))))


_CONTENT = {"target": "result.content", "matcher": {"type": "array"}}
_CONTENTS = {"target": "result.contents", "matcher": {"length": {"gte": 1}}}
_MESSAGES = {"target": "result.messages", "matcher": {"length": {"gte": 1}}}


def _header(catalog: Catalog, page: _Page) -> list[str]:
    lines = ["Generated by `mcptest generate suite`. Edit freely.", ""]
    lines += wrapped(f"{source_of(catalog)} Written from its lists alone: no tool was called.")
    if any("guess" in one.entry.test for one in page.tests):
        lines += wrapped(
            "Arguments named by `guess` are made up. Where the server refuses them, the test is inconclusive, and "
            "`mcptest review` asks for real ones."
        )
    skipped = [tool.name for tool in page.tools if tool.held_back is not None]
    changing = [tool.name for tool in page.tools if tool.held_back is None and tool.tool_class in _CHANGING]
    if changing or skipped:
        lines += ["", *_safety(changing, skipped)]
    return lines


def _safety(changing: Sequence[str], skipped: Sequence[str]) -> Iterator[str]:
    if changing:
        yield from wrapped(
            f"Called when the suite runs, although they may change something: {tools_listed(changing)}. "
            f"`mcptest run --skip-tag {ToolClass.MUTATING}` leaves them out."
        )
    if skipped:
        yield from wrapped(f"Held back until you have checked them and removed their `skip:`: {tools_listed(skipped)}.")
    yield from wrapped(CLEAN_UP)


_BARE = frozenset({"description", "title", "$comment", "examples"})
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_DATA = frozenset({"const", "enum", "default"})
DEEPEST_SCHEMA = 60  # levels; a suite has 100, some of which lead to the schema


def usable_schema(schema: object) -> tuple[JsonDict, str | None]:
    """An `outputSchema` without its prose and without keywords that check nothing, or why it cannot be used.

    It cannot when it is no schema, or refers to something outside.
    """
    from mcptest_engine.core.schema_keywords import ineffective_parts
    from mcptest_engine.core.schemas import SchemaError, compile_schema, nested_deeper_than

    if not isinstance(schema, dict):
        return {}, "it is not an object"
    if nested_deeper_than(schema, DEEPEST_SCHEMA):
        return {}, "it is nested too deeply"
    for candidate in (without_prose(schema), plain(schema)):
        try:
            compile_schema(candidate)
            for part in list(ineffective_parts(candidate)):
                holder: Any = candidate
                for step in part.path[:-1]:
                    holder = holder[step]
                del holder[part.path[-1]]
        except SchemaError as wrong:
            why = one_line(wrong.message, 160)
        else:
            return candidate, None
    return {}, why


def without_prose(schema: object) -> Any:
    """A copy of a JSON Schema without texts for people, which check nothing and may be aimed at a model."""
    if isinstance(schema, list):
        return [without_prose(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    bare = {}
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            bare[key] = {name: without_prose(inner) for name, inner in value.items()}
        elif key in _DATA:
            bare[key] = plain(value)
        elif key not in _BARE:
            bare[key] = without_prose(value)
    return bare
