"""The event streams of a session over HTTP, driven with an ordinary HTTP client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from tests.mock.test_eras import TALKER

if TYPE_CHECKING:
    from collections.abc import Callable


def events(lines: Any) -> Any:
    return (json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: "))


@pytest.fixture
def session(serve: Callable[..., Any]) -> Any:
    """An HTTP client in a session with the talker, and its URL."""
    url = serve(TALKER, "--http", "0").stderr_line().removeprefix("listening on ")
    accept = {"accept": "application/json, text/event-stream"}
    with httpx2.Client(timeout=60.0, headers=accept, base_url=url.removesuffix("/mcp")) as http:
        params = {"protocolVersion": "2025-11-25", "capabilities": {"sampling": {}}}
        hello = http.post("/mcp", json={"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        http.headers["mcp-session-id"] = hello.headers["mcp-session-id"]
        yield http


def call(tool: str, key: int = 1, meta: dict[str, Any] | None = None, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments, **({} if meta is None else {"_meta": meta})}
    return {"jsonrpc": "2.0", "id": key, "method": "tools/call", "params": params}


def test_what_belongs_to_no_request_goes_over_the_streams_of_the_session(session: Any) -> None:
    """MCP 2025-11-25, basic/transports#listening-for-messages-from-the-server; the call itself is then plain JSON."""
    with session.stream("GET", "/mcp") as stream:
        assert (stream.status_code, stream.headers["content-type"]) == (200, "text/event-stream")
        answer = session.post("/mcp", json=call("edit", name="one"))
        assert answer.headers["content-type"] == "application/json"
        heard = events(stream.iter_lines())
        methods = [next(heard)["method"], next(heard)["method"]]
    assert methods == ["notifications/tools/list_changed", "notifications/resources/list_changed"]


def test_a_session_has_one_stream_at_a_time_and_it_ends_with_the_session(session: Any) -> None:
    """A second one would leave open which of them a message takes."""
    with session.stream("GET", "/mcp") as stream:
        assert session.get("/mcp").status_code == 409
        assert session.delete("/mcp").status_code == 204
        assert list(stream.iter_lines()) == []


def test_a_stream_that_its_client_left_can_be_opened_again(session: Any) -> None:
    """A broken connection must not lock the session out."""
    with session.stream("GET", "/mcp") as stream:
        assert stream.status_code == 200
    again = 409
    while again == 409:  # until the server has seen that the first is gone
        with session.stream("GET", "/mcp") as stream:
            again = stream.status_code
    assert again == 200


def test_without_a_stream_of_its_own_a_session_hears_in_the_call(session: Any) -> None:
    """So that nothing is lost; the answer comes last."""
    answer = session.post("/mcp", json=call("edit", name="one"))
    assert answer.headers["content-type"] == "text/event-stream"
    *before, last = events(answer.text.splitlines())
    assert [message["method"].rpartition("/")[2] for message in before] == ["list_changed", "list_changed"]
    assert last["result"]["content"][0]["text"] == "edited"


def test_a_client_that_takes_no_events_gets_the_bare_answer(session: Any) -> None:
    """Progress and log messages are left out rather than the answer."""
    answer = session.post("/mcp", json=call("work", meta={"progressToken": 1}), headers={"accept": "application/json"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["result"]["content"][0]["text"] == "done"
    refused = session.post("/mcp", json=call("summarise", text="x"), headers={"accept": "application/json"})
    assert refused.status_code == 406


def test_an_error_of_the_client_is_told_by_the_tool(session: Any) -> None:
    """The question comes over the call's stream, its answer by a POST of its own, which is accepted without a body."""
    with session.stream("POST", "/mcp", json=call("summarise", text="tea")) as stream:
        heard = events(stream.iter_lines())
        question = next(heard)
        assert question["method"] == "sampling/createMessage"
        assert question["params"]["messages"][0]["content"]["text"] == "Summarise: tea"
        error = {"code": -1, "message": "no model"}
        accepted = session.post("/mcp", json={"jsonrpc": "2.0", "id": question["id"], "error": error})
        assert (accepted.status_code, accepted.content) == (202, b"")
        answer = next(heard)
    assert answer["result"]["isError"] is True
    assert answer["result"]["content"][0]["text"] == (
        "the client answered sampling/createMessage with error -1: no model"
    )


def test_a_cancelled_question_is_forgotten(session: Any) -> None:
    """MCP 2025-11-25, basic/utilities/cancellation: the stream ends without an answer; a late reply is passed over."""
    with session.stream("POST", "/mcp", json=call("summarise", text="tea")) as stream:
        heard = events(stream.iter_lines())
        question = next(heard)
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        assert session.post("/mcp", json=note).status_code == 202
        assert list(heard) == []
    late = session.post("/mcp", json={"jsonrpc": "2.0", "id": question["id"], "result": {}})
    assert late.status_code == 202
