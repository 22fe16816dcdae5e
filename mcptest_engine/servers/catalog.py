"""What a server offers: its lists, all pages of them.

Paging is followed only here, on request: a suite's `tools/list` is one request and sees one page. Entries are handed on as
sent. The surprising thing: a server that pages for ever is cut off with an error rather than believed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.clipping import told_error
from mcptest_engine.core.errors import ProtocolBroken, ServerError
from mcptest_engine.servers.wire import clip

if TYPE_CHECKING:
    from mcptest_engine.servers.session import Session

MAX_PAGES = 1000

_MEMBERS = {
    "tools": "tools",
    "resources": "resources",
    "prompts": "prompts",
    "resources/templates": "resourceTemplates",
}


async def list_all(session: Session, what: str, *, timeout_seconds: float | None = None) -> list[dict[str, Any]]:
    """Every entry of "tools", "resources", "prompts" or "resources/templates", in the server's order.

    `timeout_seconds` holds for each page; None takes the spec's. Raises: ServerError when the server answers with an error,
    ProtocolBroken for a page that is no list, a cursor that comes again, or more than 1,000 pages; and what a call raises.
    An empty `nextCursor` ends the list as a missing one does: many servers write one on their last page.
    Source: MCP 2025-11-25, server/utilities/pagination.
    """
    method, member = f"{what}/list", _MEMBERS[what]
    timeout = session.spec.timeout_seconds if timeout_seconds is None else timeout_seconds
    entries: list[dict[str, Any]] = []
    seen: set[str] = set()
    params = None
    for _ in range(MAX_PAGES):
        exchange = await session.request(method, params, timeout_seconds=timeout)
        page, cursor = _page(session, method, member, exchange.answer)
        entries += page
        if not cursor:
            return entries
        if cursor in seen:
            raise _broken(session, f'"{method}" gave the cursor {json.dumps(cursor)} twice: its pages are a loop')
        seen.add(cursor)
        params = {"cursor": cursor}
    raise _broken(session, f'"{method}" has more than {MAX_PAGES} pages')


def _page(
    session: Session, method: str, member: str, answer: dict[str, Any]
) -> tuple[list[dict[str, Any]], str | None]:
    if "error" in answer:
        raise ServerError(
            f'server "{session.spec.name}" answered "{method}" with {told_error(answer["error"], session.spec.redact)}',
            server=session.spec.name,
            stderr_tail=session.stderr_tail,
        )
    page, cursor = answer["result"].get(member), answer["result"].get("nextCursor")
    if not isinstance(page, list) or not all(isinstance(entry, dict) for entry in page):
        raise _broken(session, f'the result of "{method}" holds no list of objects `{member}`')
    if cursor is not None and not isinstance(cursor, str):
        shown = clip(json.dumps(cursor).encode(), 100, session.spec.redact)
        raise _broken(session, f'"{method}" gave a `nextCursor` that is not a string: {shown}')
    return page, cursor


def _broken(session: Session, what: str) -> ProtocolBroken:
    name = session.spec.name
    return ProtocolBroken(f'server "{name}" broke the protocol: {what}', server=name, stderr_tail=session.stderr_tail)
