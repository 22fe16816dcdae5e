"""Lists what a server offers, all pages, one list at a time or as a `Catalog`.

Pages are followed only here: a suite's `tools/list` is one request and returns one page. Entries are returned as sent. A server
that pages without end is stopped with an error.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import field
from typing import TYPE_CHECKING

from mcptest_engine.core.clipping import describe_error, kind_of
from mcptest_engine.core.errors import ProtocolBroken, ServerError
from mcptest_engine.core.values import dataclass
from mcptest_engine.servers.memory import MAX_LIST_BYTES, MOST_PER_BYTE, parsed_bytes
from mcptest_engine.servers.wire import METHOD_NOT_FOUND, clip

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.servers.calls import OpenSession

MAX_PAGES = 1000

MEMBERS = {
    "tools": "tools",
    "resources": "resources",
    "prompts": "prompts",
    "resources/templates": "resourceTemplates",
}


LISTS = {"tools": "tools", "resources": "resources", "resources/templates": "resources", "prompts": "prompts"}
"""The lists, each with the capability that announces it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Everything that a server offers; entries as sent, in its order.

    `errors` says, by list ("tools", "resources/templates", …), why a declared list could not be read.
    """

    tools: tuple[JsonMapping, ...] = ()
    resources: tuple[JsonMapping, ...] = ()
    templates: tuple[Mapping[str, object], ...] = ()
    prompts: tuple[JsonMapping, ...] = ()
    capabilities: JsonMapping = field(default_factory=dict)
    server_info: JsonMapping = field(default_factory=dict)
    protocol_version: str | None = None
    instructions: str | None = None
    errors: Mapping[str, str] = field(default_factory=dict)


async def read_catalog(
    session: OpenSession,
    *,
    timeout_seconds: float | None = None,
    known: Mapping[str, Sequence[Mapping[str, object]]] | None = None,
) -> Catalog:
    """Read all lists that the server declares, at the same time, except those in `known`.

    Raises: ServerError when its tools cannot be listed.
    """
    known = known or {}
    offered = [what for what, capability in LISTS.items() if capability in (session.capabilities or {})]
    offered = [what for what in offered if what not in known]
    listed = [list_all(session, what, timeout_seconds=timeout_seconds) for what in offered]
    outcomes = dict(zip(offered, await asyncio.gather(*listed, return_exceptions=True), strict=True))
    errors: dict[str, str] = {}
    found: dict[str, tuple[JsonMapping, ...]] = {what: tuple(entries) for what, entries in known.items()}
    for what, outcome in outcomes.items():
        if not isinstance(outcome, BaseException):
            found[what] = tuple(outcome)
        elif isinstance(outcome, ServerError) and what != "tools":
            errors[what] = outcome.message
        else:
            raise outcome
    return Catalog(
        tools=found.get("tools", ()),
        resources=found.get("resources", ()),
        templates=found.get("resources/templates", ()),
        prompts=found.get("prompts", ()),
        capabilities=session.capabilities or {},
        server_info=session.server_info or {},
        protocol_version=session.protocol_version,
        instructions=session.instructions,
        errors=errors,
    )


async def list_all(session: OpenSession, what: str, *, timeout_seconds: float | None = None) -> list[JsonDict]:
    """Every entry of "tools", "resources", "prompts" or "resources/templates", in the server's order.

    `timeout_seconds` holds for each page; None means the spec's time. Raises: ServerError when the server answers with an
    error, ProtocolBroken for a page that is no list, a cursor that comes again, or more than 1,000 pages; and what a call
    raises. An empty `nextCursor` ends the list as a missing one does: many servers write one on their last page. A server that
    has no method `resources/templates/list` has no templates: no capability says whether it has.
    Source: MCP 2025-11-25, server/utilities/pagination.
    """
    method, member = f"{what}/list", MEMBERS[what]
    timeout = session.spec.timeout_seconds if timeout_seconds is None else timeout_seconds
    entries: list[JsonDict] = []
    sent, memory_bytes = 0, 0
    seen: set[str] = set()
    params = None
    for _ in range(MAX_PAGES):
        exchange = await session.request(method, params, timeout_seconds=timeout)
        if what == "resources/templates" and (exchange.answer.get("error") or {}).get("code") == METHOD_NOT_FOUND:
            return entries
        page, cursor = _page(session, method, member, exchange.answer)
        entries += page
        sent += exchange.size
        if sent * MOST_PER_BYTE > MAX_LIST_BYTES:
            memory_bytes += parsed_bytes(page if memory_bytes else entries)
            if memory_bytes > MAX_LIST_BYTES:
                limit = MAX_LIST_BYTES // (1024 * 1024)
                raise _broken(session, f'"{method}" lists too much: its pages take more than {limit} MiB of memory')
        if not cursor:
            return entries
        if cursor in seen:
            raise _broken(session, f'"{method}" gave the cursor {json.dumps(cursor)} twice: its pages are a loop')
        seen.add(cursor)
        params = {"cursor": cursor}
    raise _broken(session, f'"{method}" has more than {MAX_PAGES} pages')


def _page(session: OpenSession, method: str, member: str, answer: JsonDict) -> tuple[list[JsonDict], str | None]:
    if "error" in answer:
        name, clause = (
            session.spec.name,
            f'answered "{method}" with {describe_error(answer["error"], session.spec.redact)}',
        )
        raise ServerError(f'server "{name}" {clause}', server=name, stderr_tail=session.stderr_tail, clause=clause)
    page, cursor = answer["result"].get(member), answer["result"].get("nextCursor")
    if not isinstance(page, list):
        reason = f"it is {kind_of(page)}" if member in answer["result"] else "it is missing"
        raise _broken(session, f'the result of "{method}" has no list `{member}`: {reason}')
    for index, entry in enumerate(page):
        if not isinstance(entry, dict):
            raise _broken(
                session, f'in the result of "{method}" `{member}[{index}]` is {kind_of(entry)}, not an object'
            )
    if cursor is not None and not isinstance(cursor, str):
        shown = clip(json.dumps(cursor).encode(), 100, session.spec.redact)
        raise _broken(session, f'"{method}" gave a `nextCursor` that is not a string: {shown}')
    return page, cursor


def _broken(session: OpenSession, what: str) -> ProtocolBroken:
    name = session.spec.name
    clause = f"broke the protocol: {what}"
    return ProtocolBroken(f'server "{name}" {clause}', server=name, stderr_tail=session.stderr_tail, clause=clause)
