"""The client's side: canned answers to what a server asks, what is declared, and what is asked for."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import CallTimeout
from mcptest_engine.servers.client_side import CANNED_MODEL, ClientSide
from mcptest_engine.servers.opening import declared_capabilities
from tests.processes import longer

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.servers.session import Session

FORM = {
    "type": "object",
    "properties": {"name": {"type": "string", "default": "Ada"}, "age": {"type": "integer"}},
}


async def called(session: Session, tool: str, **arguments: Any) -> Any:
    params = {"name": tool, "arguments": arguments}
    exchange = await session.request("tools/call", params, timeout_seconds=30)
    return json.loads(exchange.answer["result"]["content"][0]["text"])


def test_a_capability_is_declared_only_when_it_is_answered(script: Callable, with_session: Callable) -> None:
    """What `capabilities` says stands as it is written."""

    async def use(session: Session) -> None:
        assert await called(session, "declared") == {"roots": {"listChanged": True}, "sampling": {}}

    client = {"roots": [], "sampling": "hello", "capabilities": {"roots": {"listChanged": True}}}
    with_session(script("asking", client=client), use)


def test_nothing_is_declared_without_a_client(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        assert await called(session, "declared") == {}

    with_session(script("asking"), use)


def test_a_canned_answer_reaches_the_server_and_is_kept(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        request = {"messages": [], "maxTokens": 10}
        answer = await called(session, "ask", method="sampling/createMessage", params=request)
        assert answer["result"]["content"] == {"type": "text", "text": "forty-two"}
        assert session.server_messages.requests == [{"method": "sampling/createMessage", "params": request, **answer}]

    with_session(script("asking", client={"sampling": "forty-two"}), use)


def test_what_was_not_declared_is_refused_and_kept(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        answer = await called(session, "ask", method="elicitation/create", params={})
        assert answer["error"]["code"] == -32601
        assert session.server_messages.requests[-1]["error"] == answer["error"]

    with_session(script("asking", client={"sampling": "x"}), use)


def test_a_timeout_names_the_request_that_was_not_declared(script: Callable, with_session: Callable) -> None:
    async def use(seconds: float, session: Session) -> str | None:
        params = {"name": "ask_and_wait", "arguments": {"method": "sampling/createMessage"}}
        with pytest.raises(CallTimeout) as failed:
            await session.request("tools/call", params, timeout_seconds=seconds)
        return failed.value.hint

    for seconds in longer(0.1):
        hint = with_session(script("asking"), partial(use, seconds))
        if hint:  # else it had no time to ask for anything
            break
    assert hint == (
        "it asked for `sampling/createMessage`, which is not declared: declare and answer it under `client:`"
    )


def test_a_ping_is_answered_and_is_no_request_of_interest(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        assert await called(session, "ask", method="ping") == {"result": {}}
        assert session.server_messages.requests == []

    with_session(script("asking"), use)


def test_resources_are_subscribed_to_and_the_log_level_is_set(script: Callable, with_session: Callable) -> None:
    """What `client:` asks for is asked once, after the handshake."""

    async def use(session: Session) -> None:
        assert await called(session, "asked_for") == [
            ["logging/setLevel", {"level": "debug"}],
            ["resources/subscribe", {"uri": "memo://a"}],
        ]
        assert session.remarks.texts == []

    with_session(script("asking", "--logging", client={"log_level": "debug", "subscriptions": ["memo://a"]}), use)


def test_a_log_level_for_a_server_that_logs_nothing_is_a_remark(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        assert await called(session, "asked_for") == []
        assert "declares no `logging` capability" in session.remarks.texts[0]

    with_session(script("asking", client={"log_level": "debug"}), use)


def test_a_notification_after_the_answer_can_be_waited_for(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        await called(session, "later")
        while not session.server_messages.notifications:
            assert await session.next_message(30)
        assert session.server_messages.notifications[-1]["method"] == "notifications/tools/list_changed"
        assert not await session.next_message(0.01)

    with_session(script("asking"), use)


def test_a_list_that_the_server_says_has_changed_is_not_used_by_the_next_run(
    script: Callable, with_session: Callable
) -> None:
    async def use(session: Session) -> None:
        session.lists = {"tools": [], "prompts": []}
        for changed, left in (("prompts", {"tools"}), ("tools", set[str]())):
            count = len(session.server_messages.notifications)
            await called(session, "later", list=changed)
            while len(session.server_messages.notifications) == count:
                assert await session.next_message(30)
            assert session.lists.keys() == left

    with_session(script("asking"), use)


def test_waiting_for_a_notification_ends_with_the_session(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        import asyncio

        waiting = asyncio.ensure_future(session.next_message(60))
        await asyncio.sleep(0)
        await session.close()
        assert await waiting is False

    with_session(script("asking"), use)


@pytest.mark.parametrize(
    ("canned", "expected"),
    [
        ("text", {"content": {"type": "text", "text": "text"}, "model": CANNED_MODEL}),
        ({"content": "text", "model": "m"}, {"content": {"type": "text", "text": "text"}, "model": "m"}),
        ({"content": {"type": "image", "data": ""}, "stopReason": "x"}, {"content": {"type": "image", "data": ""}}),
    ],
)
def test_a_sampling_answer_is_completed(canned: Any, expected: dict[str, Any]) -> None:
    """MCP 2025-11-25, client/sampling: `role`, `content` and `model` are required."""
    result = ClientSide({"sampling": canned}).answer("sampling/createMessage", {})["result"]
    assert result["role"] == "assistant"
    assert expected.items() <= result.items()


@pytest.mark.parametrize(
    ("canned", "expected"),
    [
        ("accept", {"action": "accept", "content": {"name": "Ada"}}),
        ({"action": "accept", "content": {"age": 9}}, {"action": "accept", "content": {"name": "Ada", "age": 9}}),
        ({"action": "accept", "content": {"name": "Eve"}}, {"action": "accept", "content": {"name": "Eve"}}),
        ("decline", {"action": "decline"}),
        ("cancel", {"action": "cancel"}),
    ],
)
def test_an_elicitation_is_answered(canned: Any, expected: dict[str, Any]) -> None:
    """SEP-1034: defaults of the form fill what the suite does not say."""
    side = ClientSide({"elicitation": canned})
    assert side.answer("elicitation/create", {"message": "who?", "requestedSchema": FORM}) == {"result": expected}


def test_an_accepted_link_has_no_content() -> None:
    """MCP 2025-11-25, client/elicitation, URL mode."""
    side = ClientSide({"elicitation": "accept"})
    asked = {"mode": "url", "message": "go there", "url": "https://example.com", "elicitationId": "1"}
    assert side.answer("elicitation/create", asked) == {"result": {"action": "accept"}}


def test_a_list_of_answers_is_worked_through_and_the_last_repeats() -> None:
    side = ClientSide({"elicitation": ["decline", {"error": {"code": -1, "message": "no"}}]})
    answers = [side.answer("elicitation/create", {}) for _ in range(3)]
    assert answers == [{"result": {"action": "decline"}}, *[{"error": {"code": -1, "message": "no"}}] * 2]


def test_roots_may_be_texts() -> None:
    side = ClientSide({"roots": ["file:///a", {"uri": "file:///b", "name": "b"}]})
    expected = [{"uri": "file:///a"}, {"uri": "file:///b", "name": "b"}]
    assert side.answer("roots/list", None) == {"result": {"roots": expected}}


@pytest.mark.parametrize("schema", [None, 7, {"properties": []}, {"properties": {"a": 1}}])
def test_a_form_that_is_none_has_no_defaults(schema: Any) -> None:
    answer = ClientSide({"elicitation": "accept"}).answer("elicitation/create", {"requestedSchema": schema})
    assert answer == {"result": {"action": "accept", "content": {}}}


def test_what_stands_under_capabilities_wins() -> None:
    client = {"elicitation": "accept", "capabilities": {"elicitation": {"url": {}}, "experimental": {"x": {}}}}
    assert declared_capabilities(client) == {"elicitation": {"url": {}}, "experimental": {"x": {}}}
