"""From a server to a suite, for an agent: scaffolds, which call nothing, and the proposal, which calls one tool."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import PolicyDenied
from mcptest_engine.front_door.gating import target_of
from mcptest_engine.front_door.introspection import with_server
from mcptest_engine.front_door.paging import start_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcptest_engine.authoring.targets import Target
    from mcptest_engine.front_door.door import Request
    from mcptest_engine.front_door.verbs import Answer
    from mcptest_engine.servers.catalog import Catalog
    from mcptest_engine.servers.session import Session


async def scaffold_suite(request: Request) -> Answer:
    """{suite, tools, resources_scaffolded, prompts_scaffolded, notes, next_cursor?, warnings?}."""
    from mcptest_engine.authoring.scaffold import ScaffoldOptions
    from mcptest_engine.authoring.scaffold import scaffold_suite as scaffold

    catalog, target = await _catalog(request)
    told = request.arguments
    options = ScaffoldOptions(
        tools=tuple(told["tools"]) if "tools" in told else None,
        include_edge=told.get("include_edge", True),
        include_violation=told.get("include_violation", True),
        probe=told.get("probe", False),
        all=told.get("all", False),
        cursor=start_of(told.get("cursor")),
    )
    made = scaffold(catalog, target, options)
    named = {tool.name for tool in made.tools}
    answer: dict[str, Any] = {
        "suite": made.suite,
        "tools": [{"name": tool.name, "tests_generated": tool.tests_generated} for tool in made.tools],
        "resources_scaffolded": made.resources_scaffolded,
        "prompts_scaffolded": made.prompts_scaffolded,
        "notes": list(made.notes),
    }
    if made.next_cursor is not None:
        answer["next_cursor"] = made.next_cursor
    return {**answer, **_warnings(tool for tool in catalog.tools if tool.get("name") in named)}


async def scaffold_conformance(request: Request) -> Answer:
    """{suite, checks_scaffolded, notes}."""
    from mcptest_engine.authoring.conformance import scaffold_conformance as scaffold

    return _listed(scaffold(*await _catalog(request)))


async def scaffold_redteam(request: Request) -> Answer:
    """{suite, tools_covered, notes}."""
    from mcptest_engine.authoring.redteam import scaffold_redteam as scaffold

    return _listed(scaffold(*await _catalog(request)))


async def scaffold_eval(request: Request) -> Answer:
    """{suite, tools_covered, notes}."""
    from mcptest_engine.authoring.evals import scaffold_eval as scaffold

    return _listed(scaffold(*await _catalog(request)))


async def propose_assertions(request: Request) -> Answer:
    """{test, excluded_volatile, calls_made, notes, warnings?}."""
    from mcptest_engine.authoring.guarded import GuardedCalls
    from mcptest_engine.authoring.propose import propose
    from mcptest_engine.safety.execution import ExecutionPolicy
    from mcptest_engine.servers.catalog import list_all

    spec, target = target_of(request.door, request.arguments)
    told = request.arguments
    policy = ExecutionPolicy(execute_destructive=told.get("execute_destructive", False))

    async def observe(session: Session) -> dict[str, Any]:
        tools = await list_all(session, "tools")
        made = await propose(
            GuardedCalls(session, tools, policy),
            told["tool"],
            told.get("args", {}),
            server_key=target.key,
            single_call=told.get("single_call", False),
            timeout_seconds=spec.timeout_seconds,
        )
        return {
            "test": made.test,
            "excluded_volatile": list(made.excluded_volatile),
            "calls_made": made.calls_made,
            "notes": list(made.notes),
            **_warnings(tool for tool in tools if tool.get("name") == told["tool"]),
        }

    try:
        answer: dict[str, Any] = await with_server(spec, observe)
    except PolicyDenied as denied:
        if denied.hint is not None:  # it speaks of the command line's flags
            denied.hint = denied.hint.replace("give --execute-destructive", "set `execute_destructive` to true")
        raise
    return answer


async def _catalog(request: Request) -> tuple[Catalog, Target]:
    from mcptest_engine.servers.catalog import read_catalog

    spec, target = target_of(request.door, request.arguments)
    return await with_server(spec, read_catalog), target


def _warnings(tools: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """`warnings`, or nothing: a clean server costs no token."""
    from mcptest_engine.safety.poisoning import description_warnings, warning_json

    found = [warning_json(finding) for finding in description_warnings(tools)]
    return {"warnings": found} if found else {}


def _listed(made: Any) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(made).items()}
