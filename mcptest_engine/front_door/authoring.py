"""From a server to a suite, for an agent: scaffolds, which call no tool, and the proposal, which calls one."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.authoring.targets import variable_notes
from mcptest_engine.core.errors import UsageError
from mcptest_engine.front_door.gating import target_of
from mcptest_engine.front_door.handles import MOST_TEXT
from mcptest_engine.front_door.introspection import raw_answer, warnings_of, with_server
from mcptest_engine.front_door.paging import LARGEST_ANSWER, LARGEST_PAGE, presentable, start_of, weight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcptest_engine.authoring.agent_cases import AgentScaffold
    from mcptest_engine.authoring.paging import ScaffoldOptions
    from mcptest_engine.authoring.propose import Proposed
    from mcptest_engine.authoring.targets import Target
    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.front_door.door import Request
    from mcptest_engine.front_door.verbs import Answer
    from mcptest_engine.servers.calls import Exchange
    from mcptest_engine.servers.catalog import Catalog
    from mcptest_engine.servers.session import Session


_MOST_NOTES = 30
_LONGEST_NOTE = 400
_MOST_VOLATILE = 200
_SEEN = "the values are observed, not verified: compare each with what the tool should answer"
_ROOM = LARGEST_ANSWER * 9 // 10
_ROOM_FOR_HANDLE = 1_000


async def scaffold_suite(request: Request) -> Answer:
    """{suite?, handle, tools, resources_scaffolded, prompts_scaffolded, notes, next_cursor?, warnings?}."""
    from mcptest_engine.authoring.scaffold import ScaffoldOptions
    from mcptest_engine.authoring.scaffold import scaffold_suite as scaffold
    from mcptest_engine.safety.execution_policy import ExecutionPolicy

    learnt = await _learnt(request)
    arguments = request.arguments
    policy = ExecutionPolicy(
        declared_only=True,
        allowed=frozenset(arguments.get("allow", ())),
        presumed=arguments.get("presumed", False),
    )
    options = ScaffoldOptions(
        policy=policy,
        tools=tuple(arguments["tools"]) if "tools" in arguments else None,
        include_edge=arguments.get("include_edge", True),
        include_violation=arguments.get("include_violation", True),
        probe=arguments.get("probe", False),
        all=arguments.get("all", False),
        cursor=start_of(arguments.get("cursor")),
    )

    wants_text, texts = arguments.get("text", True), []

    def make(options: ScaffoldOptions) -> tuple[JsonDict, int]:
        made = scaffold(learnt.catalog, learnt.target, options, redact=learnt.redact)
        texts.append(made.suite)
        named = {tool.name for tool in made.tools}
        skipped = [f"`{tool.name}` is held back: {tool.held_back}" for tool in made.tools if tool.held_back is not None]
        if skipped:
            skipped.append("to run the tests of these tools: set `allow` or `presumed`, or remove their `skip:`")
        guessed = [f"`{tool.name}` ({', '.join(tool.guessed)})" for tool in made.tools if tool.guessed]
        if guessed:
            skipped.append(f"made-up arguments, marked with `guess`; replace them with real ones: {', '.join(guessed)}")
        answer = {
            **({"suite": made.suite} if wants_text else {}),
            "tools": [{"name": tool.name, "tests_generated": tool.tests_generated} for tool in made.tools],
            "resources_scaffolded": made.resources_scaffolded,
            "prompts_scaffolded": made.prompts_scaffolded,
            "notes": learnt.notes((*made.notes, *skipped)),
            **({} if made.next_cursor is None else {"next_cursor": made.next_cursor}),
            **warnings_of(tool for tool in learnt.catalog.tools if tool.get("name") in named),
        }
        return answer, len(made.tools) or made.resources_scaffolded + made.prompts_scaffolded

    answer = await asyncio.to_thread(_with_room, make, options)
    # Where the answer has no room for the whole suite, its handle holds it.
    text = texts[0] if options.all and len(texts[0]) <= MOST_TEXT else texts[-1]
    if wants_text:
        over = weight(presentable(answer)) - LARGEST_ANSWER + _ROOM_FOR_HANDLE
        answer["suite"] = _beginning(answer["suite"], over) if over > 0 else answer["suite"]
        if text != answer["suite"]:
            answer["notes"].insert(0, "`suite` is cut: the handle has the whole suite")
    return {**answer, "handle": request.door.handles.add(text)}


def _beginning(suite: str, over: int) -> str:
    """The first tests of a generated suite, shorter than all of them by about `over` bytes of an answer."""
    room, end = weight(suite) - over, 0
    for found in re.finditer(r"\n\n(?= )", suite):
        if weight(suite[: found.start()]) > room:
            break
        end = found.start()
    return suite[:end] + "\n" if end else suite


async def scaffold_conformance(request: Request) -> Answer:
    """{suite, checks_scaffolded, notes}, the suite with checks of the protocol."""
    from mcptest_engine.authoring.conformance import scaffold_conformance as scaffold

    learnt = await _learnt(request)
    made = scaffold(learnt.catalog, learnt.target)
    return {
        "suite": made.suite,
        "checks_scaffolded": made.checks_scaffolded,
        "notes": [*learnt.notes(made.notes), _handle_note(request, made.suite)],
    }


async def scaffold_redteam(request: Request) -> Answer:
    """{suite, tools_covered, notes, next_cursor?}, the suite with attacks on the tools."""
    from mcptest_engine.authoring.redteam import scaffold_redteam as scaffold

    return await _agent_cases(request, scaffold)


async def scaffold_eval(request: Request) -> Answer:
    """{suite, tools_covered, notes, next_cursor?}, the suite with evals of the tools."""
    from mcptest_engine.authoring.evals import scaffold_eval as scaffold

    return await _agent_cases(request, scaffold)


async def _agent_cases(request: Request, scaffold: Callable[..., AgentScaffold]) -> Answer:
    from mcptest_engine.authoring.paging import ScaffoldOptions

    learnt = await _learnt(request)

    def make(options: ScaffoldOptions) -> tuple[JsonDict, int]:
        made = scaffold(learnt.catalog, learnt.target, options, redact=learnt.redact)
        more = {} if made.next_cursor is None else {"next_cursor": made.next_cursor}
        return {
            "suite": made.suite,
            "tools_covered": made.tools_covered,
            "notes": learnt.notes(made.notes),
            **more,
        }, (made.tools_covered)

    options = ScaffoldOptions(cursor=start_of(request.arguments.get("cursor")))
    answer = await asyncio.to_thread(_with_room, make, options)
    answer["notes"].append(_handle_note(request, answer["suite"]))
    return answer


def _handle_note(request: Request, suite: str) -> str:
    return f"the handle of this suite is `{request.door.handles.add(suite)}`"


def _with_room(make: Callable[[ScaffoldOptions], tuple[JsonDict, int]], options: ScaffoldOptions) -> JsonDict:
    """Return what `make` builds for as many entries of the page as fit into an answer."""
    while True:
        answer, entries = make(options)
        answer["notes"] = [note[:_LONGEST_NOTE] for note in answer["notes"][:_MOST_NOTES]]
        size = weight(presentable(answer))
        if entries <= 1 or size <= LARGEST_ANSWER - _ROOM_FOR_HANDLE:
            return answer
        options = replace(options, all=False, page=max(min(entries - 1, entries * _ROOM // size), 1))


async def propose_assertions(request: Request) -> Answer:
    """{test, observed, excluded_volatile, calls_made, notes, suite?, warnings?}; `suite` is the handle it was added to."""
    from mcptest_engine.authoring.placing import added
    from mcptest_engine.authoring.propose import propose
    from mcptest_engine.safety.execution_policy import ExecutionPolicy
    from mcptest_engine.servers.gate import Gate
    from mcptest_engine.suite.text_edits import EditRefused

    spec, target = target_of(request.door, request.arguments)
    arguments = request.arguments
    handle = arguments.get("suite")
    before, key, is_new = "", target.key, False
    if handle is not None:  # a suite that cannot be extended is refused before anything is called
        before = request.door.handles.get(handle)
        key, is_new = await asyncio.to_thread(_server_in, before, target)
    policy = ExecutionPolicy(execute_destructive=arguments.get("execute_destructive", False), as_arguments=True)

    proposed: list[Proposed] = []

    async def observe(session: Session) -> JsonDict:
        gate = Gate(policy)
        warnings = warnings_of(await gate.descriptors(session, arguments["tool"]))
        made = await propose(
            session,
            arguments["tool"],
            arguments.get("args", {}),
            gate=gate,
            server_key=key,
            single_call=arguments.get("single_call", False),
            timeout_seconds=spec.timeout_seconds,
        )
        proposed.append(made)
        return {
            "test": made.test,
            "observed": _distinct_answers(made.observed),
            "excluded_volatile": [path[:_LONGEST_NOTE] for path in made.excluded_volatile[:_MOST_VOLATILE]],
            "calls_made": made.calls_made,
            "notes": [_SEEN, *_proposal_notes(made)],
            **warnings,
        }

    answer: JsonDict = await with_server(spec, observe)
    if handle is not None:
        try:
            placed = await asyncio.to_thread(added, before, proposed[0], target, with_server=is_new)
        except EditRefused as wrong:
            answer["notes"].append(f"the test is not added to `{handle}`: {wrong.message}")
        else:
            request.door.handles.put(handle, placed.text)
            answer |= {"test": placed.test, "suite": handle}
    return answer


def _server_in(text: str, target: Target) -> tuple[str, bool]:
    """The key of the server in a suite, and whether it is new there. Raises: UsageError for a text that cannot be parsed."""
    from mcptest_engine.authoring.placing import server_for
    from mcptest_engine.suite.text_edits import EditRefused

    try:
        return server_for(None, text, target)
    except EditRefused as wrong:
        raise UsageError(wrong.message, hint=wrong.hint or "correct it with edit_suite") from None


def _distinct_answers(observed: Sequence[Exchange]) -> list[dict[str, object]]:
    """The distinct ones of two answers."""
    answers = [raw_answer(one.answer, LARGEST_PAGE // 4) for one in observed]
    return answers[:1] if all(answer == answers[0] for answer in answers) else answers


def _proposal_notes(made: Proposed) -> list[str]:
    notes = [note[:_LONGEST_NOTE] for note in made.notes[:_MOST_NOTES]]
    more = len(made.excluded_volatile) - _MOST_VOLATILE
    return [*notes, f"{more:,} more volatile values are not listed"] if more > 0 else notes


class _Learnt(NamedTuple):
    """What a server offers, how a suite declares it, and how its secrets are redacted."""

    catalog: Catalog
    target: Target
    redact: Callable[[str], str]

    def notes(self, made: Iterable[str]) -> list[str]:
        """The notes on what was made, after those on secrets that are not written down."""
        return [*variable_notes(self.target.variables), *made]


async def _learnt(request: Request) -> _Learnt:
    from mcptest_engine.servers.catalog import read_catalog

    spec, target = target_of(request.door, request.arguments)
    return _Learnt(await with_server(spec, read_catalog), target, spec.redact)
