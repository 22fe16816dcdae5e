"""Looks at a server under test: its lists, its description of itself, and the raw answer of one call."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from mcptest_engine.core.errors import ServerError
from mcptest_engine.front_door.gating import target_of
from mcptest_engine.front_door.paging import LARGEST_HEAD, LARGEST_PAGE, page, presentable, shortened, start_of, weight

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.front_door.door import Request
    from mcptest_engine.front_door.verbs import Answer
    from mcptest_engine.servers.session import Session
    from mcptest_engine.servers.spec import ServerSpec

_T = TypeVar("_T")

_ROOM_FOR_WARNINGS = 20_000
_LONGEST_NAME = 200
_AS_SENT = frozenset(("name", "uri", "uriTemplate"))
"""Members that go back to the server later, and must stay as it sent them."""


async def list_tools(request: Request) -> Answer:
    """{tools, warnings?, next_cursor?}; warnings are those of the tools on this page."""
    spec, _ = target_of(request.door, request.arguments)
    start = start_of(request.arguments.get("cursor"))
    tools = [tool for _, tool in await _list_entries(spec, tools="tools")]
    return await asyncio.to_thread(_page_of_tools, spec, tools, start)


def _page_of_tools(spec: ServerSpec, tools: list[dict[str, object]], start: int) -> dict[str, object]:
    room = LARGEST_PAGE
    while True:
        shown, following = page(tools, start, room=room, show=_redaction_for(spec))
        warned = warnings_of(tools[start : start + len(shown)])
        # Every warning of a page is in its answer: a server that causes many gets shorter pages, and hides none.
        if len(shown) == 1 or weight(warned) <= _ROOM_FOR_WARNINGS:
            return {"tools": shown, **warned, **({} if following is None else {"next_cursor": following})}
        room //= 2


def warnings_of(tools: Iterable[Mapping[str, object]]) -> JsonDict:
    """`warnings` about the descriptions, or nothing: a server without findings costs no token."""
    from mcptest_engine.safety.poisoning import description_warnings, warning_json

    found = [presentable(warning_json(finding)) for finding in description_warnings(tools)]
    found = [{**warning, "tool": warning["tool"][:_LONGEST_NAME]} for warning in found]
    return {"warnings": found} if found else {}


async def list_resources(request: Request) -> Answer:
    """{resources, resourceTemplates, next_cursor?}; templates follow the last resource."""
    return await _page_of_lists(request, resources="resources", resourceTemplates="resources/templates")


async def list_prompts(request: Request) -> Answer:
    """{prompts, next_cursor?} of the server."""
    return await _page_of_lists(request, prompts="prompts")


async def get_capabilities(request: Request) -> Answer:
    """{serverInfo, protocolVersion, capabilities, instructions}, as the handshake had them."""

    async def opening_of(session: Session) -> dict[str, object]:
        return {
            "serverInfo": session.server_info,
            "protocolVersion": session.protocol_version,
            "capabilities": session.capabilities,
            "instructions": session.instructions,
        }

    spec, _ = target_of(request.door, request.arguments)
    opening = await with_server(spec, opening_of)
    show, room = _redaction_for(spec), LARGEST_HEAD
    return {key: shortened(show(value), room) for key, value in opening.items()}


async def call_tool(request: Request) -> Answer:
    """{result | error, tool_class, duration_ms, fault?, warnings?}, shortened to fit: one call that the policy allows."""
    from mcptest_engine.judging.validity import find_fault
    from mcptest_engine.safety.execution_policy import ExecutionPolicy
    from mcptest_engine.servers.gate import Gate

    spec, _ = target_of(request.door, request.arguments)
    given = request.arguments
    name = given["tool"]
    policy = ExecutionPolicy(
        declared_only=True,
        allowed=frozenset(given.get("allow", ())),
        presumed=given.get("presumed", False),
        execute_destructive=given.get("execute_destructive", False),
        as_arguments=True,
    )

    async def call(session: Session) -> JsonDict:
        gate = Gate(policy)
        (listed, *_) = await gate.descriptors(session, name)
        exchange = await gate.call(session, name, given.get("args", {}), timeout_seconds=spec.timeout_seconds)
        answer, tool_class = exchange.answer, gate.last_class(session, name)
        declared = None if "error" in answer else listed.get("outputSchema")
        fault = find_fault(session, "tools/call", answer, declared, spec.redact_known)
        return {
            **raw_answer(answer, LARGEST_PAGE),
            "tool_class": "" if tool_class is None else tool_class.value,
            "duration_ms": round(exchange.duration_ms),
            **({} if fault is None else {"fault": spec.redact(fault)}),
            **warnings_of([listed]),
        }

    return await with_server(spec, call)


def raw_answer(answer: Mapping[str, object], room: int) -> JsonDict:
    """{result} or {error} as the server sent it, without what looks like a secret, as in a run record."""
    from mcptest_engine.core.redaction import Redactor

    sent = {key: part for key, part in answer.items() if key in ("result", "error")}
    return dict(shortened(Redactor().redact(presentable(sent)), room))


async def with_server(spec: ServerSpec, use: Callable[[Session], Awaitable[_T]]) -> _T:
    """Open a session, use it, close it; the result contains no secret that was sent to the server.

    Raises: ServerError, its message without secrets.
    """
    from mcptest_engine.servers.session import connect

    try:
        session = await connect(spec)
        try:
            shown: _T = spec.redact_known(await use(session))
            return shown
        finally:
            await session.close()
    except ServerError as error:
        error.message = spec.redact(error.message)
        error.hint = error.hint and spec.redact(error.hint)
        error.stderr_tail = spec.redact(error.stderr_tail)
        raise


async def _page_of_lists(request: Request, **members: str) -> JsonDict:
    """Build pages over several lists together, each under its name in the answer."""
    spec, _ = target_of(request.door, request.arguments)
    start = start_of(request.arguments.get("cursor"))
    entries = await _list_entries(spec, **members)
    taken, following = page([entry for _, entry in entries], start, show=_redaction_for(spec))
    answer: JsonDict = {member: [] for member in members}
    for (member, _), entry in zip(entries[start:], taken, strict=False):
        answer[member].append(entry)
    return {**answer, **({"next_cursor": following} if following is not None else {})}


async def _list_entries(spec: ServerSpec, **members: str) -> list[tuple[str, dict[str, object]]]:
    """(member, entry) of every list that the server declares."""
    from mcptest_engine.servers.catalog import LISTS, list_all

    async def read(session: Session) -> list[tuple[str, JsonDict]]:
        declared = session.capabilities or {}
        found = []
        for member, what in members.items():
            if LISTS[what] in declared:
                found += [(member, entry) for entry in await list_all(session, what)]
        return found

    return await with_server(spec, read)


def _redaction_for(spec: ServerSpec) -> Callable[[object], object]:
    """How to show what this server sent: unchanged, except for secrets that it was given."""

    def redacted(value: object) -> object:
        match value:
            case str():
                return spec.redact(value)
            case dict():
                return {key: part if key in _AS_SENT else redacted(part) for key, part in value.items()}
            case list():
                return [redacted(part) for part in value]
        return value

    return lambda value: redacted(presentable(value))
