"""Looking at a server under test: its lists and what it says of itself. Calls nothing but the lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import ServerError
from mcptest_engine.front_door.gating import target_of
from mcptest_engine.front_door.paging import page, start_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcptest_engine.front_door.door import Request
    from mcptest_engine.front_door.verbs import Answer
    from mcptest_engine.servers.session import Session
    from mcptest_engine.servers.spec import ServerSpec


async def list_tools(request: Request) -> Answer:
    """{tools, warnings?, next_cursor?}; warnings are those of the tools on this page."""
    answer = await _listed(request, tools="tools")
    from mcptest_engine.safety.poisoning import description_warnings, warning_json

    warnings = [warning_json(finding) for finding in description_warnings(answer["tools"])]
    return {**answer, **({"warnings": warnings} if warnings else {})}


async def list_resources(request: Request) -> Answer:
    """{resources, resourceTemplates, next_cursor?}; templates follow the last resource."""
    return await _listed(request, resources="resources", resourceTemplates="resources/templates")


async def list_prompts(request: Request) -> Answer:
    """{prompts, next_cursor?}."""
    return await _listed(request, prompts="prompts")


async def get_capabilities(request: Request) -> Answer:
    """{serverInfo, protocolVersion, capabilities, instructions}, as the handshake had them."""

    async def ask(session: Session) -> dict[str, Any]:
        return {
            "serverInfo": session.server_info,
            "protocolVersion": session.protocol_version,
            "capabilities": session.capabilities,
            "instructions": session.instructions,
        }

    spec, _ = target_of(request.door, request.arguments)
    answer: dict[str, Any] = await with_server(spec, ask)
    return answer


async def with_server(spec: ServerSpec, use: Callable[[Session], Awaitable[Any]]) -> Any:
    """Open a session, use it, close it. Raises: ServerError, its words without secrets."""
    from mcptest_engine.servers.session import connect

    try:
        session = await connect(spec)
        try:
            return await use(session)
        finally:
            await session.close()
    except ServerError as error:
        error.message = spec.redact(error.message)
        error.hint = error.hint and spec.redact(error.hint)
        error.stderr_tail = spec.redact(error.stderr_tail)
        raise


async def _listed(request: Request, **members: str) -> dict[str, Any]:
    """Lists by the names that they have in the answer, in pages over all of them together."""
    from mcptest_engine.servers.catalog import LISTS, list_all

    spec, _ = target_of(request.door, request.arguments)

    async def ask(session: Session) -> list[tuple[str, Any]]:
        declared = session.capabilities or {}
        found = []
        for member, what in members.items():
            if LISTS[what] in declared:
                found += [(member, entry) for entry in await list_all(session, what)]
        return found

    entries = await with_server(spec, ask)
    taken, following = page([entry for _, entry in entries], start_of(request.arguments.get("cursor")))
    start = start_of(request.arguments.get("cursor"))
    answer: dict[str, Any] = {member: [] for member in members}
    for (member, _), entry in zip(entries[start:], taken, strict=False):
        answer[member].append(entry)
    return {**answer, **({"next_cursor": following} if following is not None else {})}
