"""Lists, all pages of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcptest_engine.core.errors import ProtocolBroken, ServerError
from mcptest_engine.servers.catalog import list_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.servers.session import Session


@pytest.mark.parametrize("what", ["tools", "resources", "prompts", "resources/templates"])
@pytest.mark.parametrize("pages", [1, 5])
def test_every_page_is_read_in_order_and_as_sent(
    what: str, pages: int, script: Callable, with_session: Callable
) -> None:
    """MCP 2025-11-25, server/utilities/pagination."""

    async def use(session: Session) -> None:
        entries = await list_all(session, what)
        assert [entry["name"] for entry in entries] == [f"entry-{number}" for number in range(pages * 2)]
        assert entries[-1]["vendor"] == pages - 1

    with_session(script("paged", "good", pages), use)


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("loop", '"tools/list" gave the cursor "1" twice: its pages are a loop'),
        ("endless", '"tools/list" has more than 1000 pages'),
        ("broken", 'the result of "tools/list" has no list `tools`: it is an object'),
        ("mixed", 'in the result of "tools/list" `tools[1]` is a string, not an object'),
        ("cursor", '"tools/list" gave a `nextCursor` that is not a string: 7'),
    ],
)
def test_pages_that_do_not_end_or_are_no_pages_break_the_protocol(
    mode: str, message: str, script: Callable, with_session: Callable
) -> None:
    """A server that pages for ever is not believed."""

    async def use(session: Session) -> None:
        with pytest.raises(ProtocolBroken) as broken:
            await list_all(session, "tools")
        assert broken.value.message == f'server "paged" broke the protocol: {message}'

    with_session(script("paged", mode), use)


def test_a_list_that_is_answered_with_an_error_tells_the_error(script: Callable, with_session: Callable) -> None:
    """A server without prompts says so with -32601."""

    async def use(session: Session) -> None:
        with pytest.raises(ServerError) as refused:
            await list_all(session, "prompts")
        expected = 'server "echo" answered "prompts/list" with error -32601 "Method not found: prompts/list"'
        assert refused.value.message == expected

    with_session(script("echo"), use)


def test_an_empty_cursor_ends_the_list(script: Callable, with_session: Callable) -> None:
    """Many servers write one on their last page."""

    async def use(session: Session) -> None:
        assert [entry["name"] for entry in await list_all(session, "tools")] == ["entry-0", "entry-1"]

    with_session(script("paged", "empty"), use)
