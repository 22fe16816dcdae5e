"""From a server to a suite, for an agent: scaffolds, which call nothing, and the proposal, which calls one tool."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.authoring.targets import kept_out
from mcptest_engine.core.errors import PolicyDenied
from mcptest_engine.front_door.gating import target_of
from mcptest_engine.front_door.introspection import warnings_of, with_server
from mcptest_engine.front_door.paging import LARGEST_ANSWER, presentable, start_of, weight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcptest_engine.authoring.agent_cases import AgentScaffold
    from mcptest_engine.authoring.paging import ScaffoldOptions
    from mcptest_engine.authoring.propose import Proposed
    from mcptest_engine.authoring.targets import Target
    from mcptest_engine.front_door.door import Request
    from mcptest_engine.front_door.verbs import Answer
    from mcptest_engine.servers.catalog import Catalog
    from mcptest_engine.servers.session import Session


_MOST_NOTES = 30
_LONGEST_NOTE = 400
_MOST_VOLATILE = 200
_ROOM = LARGEST_ANSWER * 9 // 10


async def scaffold_suite(request: Request) -> Answer:
    """{suite, tools, resources_scaffolded, prompts_scaffolded, notes, next_cursor?, warnings?}."""
    from mcptest_engine.authoring.scaffold import ScaffoldOptions
    from mcptest_engine.authoring.scaffold import scaffold_suite as scaffold
    from mcptest_engine.safety.execution import ExecutionPolicy

    learnt = await _learnt(request)
    told = request.arguments
    policy = ExecutionPolicy(
        declared_only=True,
        allowed=frozenset(told.get("allow", ())),
        presumed=told.get("presumed", False),
    )
    options = ScaffoldOptions(
        policy=policy,
        tools=tuple(told["tools"]) if "tools" in told else None,
        include_edge=told.get("include_edge", True),
        include_violation=told.get("include_violation", True),
        probe=told.get("probe", False),
        all=told.get("all", False),
        cursor=start_of(told.get("cursor")),
    )

    def make(options: ScaffoldOptions) -> tuple[dict[str, Any], int]:
        made = scaffold(learnt.catalog, learnt.target, options, redact=learnt.redact)
        named = {tool.name for tool in made.tools}
        held = [f"`{tool.name}` is held back: {tool.held_back}" for tool in made.tools if tool.held_back is not None]
        if held:
            held.append("to run the tests of these tools: set `allow` or `presumed`, or remove their `skip:`")
        guessed = [f"`{tool.name}` ({', '.join(tool.guessed)})" for tool in made.tools if tool.guessed]
        if guessed:
            held.append(f"made-up arguments, marked with `guess`; replace them with real ones: {', '.join(guessed)}")
        answer = {
            "suite": made.suite,
            "tools": [{"name": tool.name, "tests_generated": tool.tests_generated} for tool in made.tools],
            "resources_scaffolded": made.resources_scaffolded,
            "prompts_scaffolded": made.prompts_scaffolded,
            "notes": learnt.notes((*made.notes, *held)),
            **({} if made.next_cursor is None else {"next_cursor": made.next_cursor}),
            **warnings_of(tool for tool in learnt.catalog.tools if tool.get("name") in named),
        }
        return answer, len(made.tools)

    return await asyncio.to_thread(_with_room, make, options)


async def scaffold_conformance(request: Request) -> Answer:
    """{suite, checks_scaffolded, notes}."""
    from mcptest_engine.authoring.conformance import scaffold_conformance as scaffold

    learnt = await _learnt(request)
    made = scaffold(learnt.catalog, learnt.target)
    return {
        "suite": made.suite,
        "checks_scaffolded": made.checks_scaffolded,
        "notes": learnt.notes(made.notes),
    }


async def scaffold_redteam(request: Request) -> Answer:
    """{suite, tools_covered, notes, next_cursor?}."""
    from mcptest_engine.authoring.redteam import scaffold_redteam as scaffold

    return await _agent_cases(request, scaffold)


async def scaffold_eval(request: Request) -> Answer:
    """{suite, tools_covered, notes, next_cursor?}."""
    from mcptest_engine.authoring.evals import scaffold_eval as scaffold

    return await _agent_cases(request, scaffold)


async def _agent_cases(request: Request, scaffold: Callable[..., AgentScaffold]) -> Answer:
    from mcptest_engine.authoring.paging import ScaffoldOptions

    learnt = await _learnt(request)

    def make(options: ScaffoldOptions) -> tuple[dict[str, Any], int]:
        made = scaffold(learnt.catalog, learnt.target, options, redact=learnt.redact)
        more = {} if made.next_cursor is None else {"next_cursor": made.next_cursor}
        return {
            "suite": made.suite,
            "tools_covered": made.tools_covered,
            "notes": learnt.notes(made.notes),
            **more,
        }, (made.tools_covered)

    return await asyncio.to_thread(_with_room, make, ScaffoldOptions(cursor=start_of(request.arguments.get("cursor"))))


def _with_room(make: Callable[[ScaffoldOptions], tuple[dict[str, Any], int]], options: ScaffoldOptions) -> Answer:
    """What `make` gives for as many tools of the page as have room in an answer, `all` or not."""
    while True:
        answer, tools = make(options)
        answer["notes"] = [note[:_LONGEST_NOTE] for note in answer["notes"][:_MOST_NOTES]]
        size = weight(presentable(answer))
        if tools <= 1 or size <= LARGEST_ANSWER:
            return answer
        options = replace(options, all=False, page=max(min(tools - 1, tools * _ROOM // size), 1))


async def propose_assertions(request: Request) -> Answer:
    """{test, excluded_volatile, calls_made, notes, warnings?}."""
    from mcptest_engine.authoring.propose import propose
    from mcptest_engine.safety.execution import ExecutionPolicy
    from mcptest_engine.servers.gate import Gate

    spec, target = target_of(request.door, request.arguments)
    told = request.arguments
    policy = ExecutionPolicy(execute_destructive=told.get("execute_destructive", False))

    async def observe(session: Session) -> dict[str, Any]:
        gate = Gate(policy)
        warnings = warnings_of(await gate.descriptors(session, told["tool"]))
        made = await propose(
            session,
            told["tool"],
            told.get("args", {}),
            gate=gate,
            server_key=target.key,
            single_call=told.get("single_call", False),
            timeout_seconds=spec.timeout_seconds,
        )
        return {
            "test": made.test,
            "excluded_volatile": [path[:_LONGEST_NOTE] for path in made.excluded_volatile[:_MOST_VOLATILE]],
            "calls_made": made.calls_made,
            "notes": _proposal_notes(made),
            **warnings,
        }

    try:
        answer: dict[str, Any] = await with_server(spec, observe)
    except PolicyDenied as denied:
        if denied.hint is not None:  # it speaks of the command line's flags
            denied.hint = denied.hint.replace("give --execute-destructive", "set `execute_destructive` to true")
        raise
    return answer


def _proposal_notes(made: Proposed) -> list[str]:
    notes = [note[:_LONGEST_NOTE] for note in made.notes[:_MOST_NOTES]]
    more = len(made.excluded_volatile) - _MOST_VOLATILE
    return [*notes, f"{more:,} more volatile values are not listed"] if more > 0 else notes


class _Learnt(NamedTuple):
    """What a server offers, how a suite declares it, and what takes its secrets out of a text."""

    catalog: Catalog
    target: Target
    redact: Callable[[str], str]

    def notes(self, made: Iterable[str]) -> list[str]:
        """The notes of what was made, after those on the secrets that are not written down."""
        return [*kept_out(self.target.variables), *made]


async def _learnt(request: Request) -> _Learnt:
    from mcptest_engine.servers.catalog import read_catalog

    spec, target = target_of(request.door, request.arguments)
    return _Learnt(await with_server(spec, read_catalog), target, spec.redact)
