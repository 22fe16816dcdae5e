"""Servers with a URL in the child: told and heard as those with a command are, and their tokens by nobody."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine_process.conftest import SERVERS, Refusal, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.engine_process.conftest import Child


@pytest.fixture
def url() -> Iterator[str]:
    """`tests/servers/http_echo.py`: its path chooses how it behaves."""
    argv = [sys.executable, "-S", str(SERVERS / "http_echo.py")]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    process.communicate()


def test_a_url_is_connected_called_and_heard(child: Child, url: str) -> None:
    child.ask("traffic_on", on=True)
    child.ask("connect", session="h", target={"url": f"{url}/sse", "name": "web"})
    assert child.event("server.state", session="h", state="ready")["transport"] == "http"
    called = child.ask("call", session="h", method="tools/call", params={"name": "x"})
    assert called["http"]["status"] == 200
    assert called["notifications"]
    told = child.until(
        lambda told: (
            told.get("event") == "traffic"
            and any(row["kind"] == "response" and row.get("method") == "tools/call" for row in told["rows"])
        )
    )
    assert {row["server"] for row in told["rows"]} == {"web"}


def test_the_id_of_a_session_is_not_told_where_a_server_repeats_it(child: Child, place: Path, url: str) -> None:
    """Whoever has it may speak in the session's name: in what a person calls, and in a run."""
    secret = "correct-horse-battery-staple"
    (place / "mcptest.yml").write_text(
        f"servers: {{ s: {{ url: '{url}/session/{secret}' }} }}\n"
        f"tools: [{{ name: t, tool: x, args: {{ a: {secret} }}, "
        "expect: [{ target: 'result.content[0].text', matcher: { exact: other } }] }]\n",
        encoding="utf-8",
    )
    child.ask("connect", session="h", target={"url": f"{url}/session/{secret}"})
    child.ask("connect", session="s", target={"suite": "mcptest.yml", "server": "s"})
    for session in "hs":
        params = {"name": "x", "arguments": {"a": secret}}
        answer = str(child.ask("call", session=session, method="tools/call", params=params)["answer"])
        assert "REDACTED" in answer
        assert secret not in answer
    run(child)
    (finished,) = child.events("case.finished")
    assert "REDACTED" in str(finished)
    assert secret not in str(finished)


def test_a_token_is_sent_and_never_told(start: Callable[..., Child], url: str) -> None:
    token = "correct-horse-battery-staple"
    child = start(MY_TOKEN=token)
    child.ask("traffic_on", on=True)
    child.ask("connect", session="h", target={"url": f"{url}/bearer/{token}", "bearer_token_env": "MY_TOKEN"})
    assert child.ask("call", session="h", method="tools/call", params={"name": "x"})["http"]["status"] == 200
    last = child.ask("traffic_on", on=True)["n"]
    child.until(lambda told: told.get("event") == "traffic" and told["rows"][-1]["n"] >= last)
    for number in range(1, last + 1):
        child.ask("traffic_body", n=number)
    assert not [line for line in child.raw if token.encode() in line]
    child.ask("connect", session="no", target={"url": f"{url}/bearer/{token}"})
    with pytest.raises(Refusal, match="401"):
        child.ask("catalog", session="no")


@pytest.mark.parametrize("behaviour", ["forbidden", "status/503", "drop", "html"])
def test_a_url_that_gives_no_answer_is_told_why(child: Child, url: str, behaviour: str) -> None:
    child.ask("connect", session="h", target={"url": f"{url}/{behaviour}"})
    with pytest.raises(Refusal) as refused:
        child.ask("call", session="h", method="tools/call", params={"name": "x"})
    assert refused.value.error["kind"] == "server"
    child.ask("disconnect", session="h")
    child.event("server.state", session="h", state="failed" if behaviour == "forbidden" else "closed")


def test_a_port_where_nobody_listens_is_told(child: Child) -> None:
    child.ask("connect", session="h", target={"url": "http://127.0.0.1:9/"})
    assert "refused" in child.event("server.state", session="h", state="failed")["message"]


def test_an_answer_is_told_with_its_http_status_and_headers(child: Child, url: str) -> None:
    child.ask("traffic_on", on=True)
    child.ask("connect", session="h", target={"url": f"{url}/json"})
    child.ask("call", session="h", method="tools/call", params={"name": "x"})
    row = _answer_to(child, "tools/call")
    assert row["status"] == 200
    assert "error" not in row
    assert child.ask("traffic_http", n=row["n"])["headers"]["content-type"].startswith("application/json")
    assert child.ask("traffic_http", n=row["n"] - 1) == {}, "a request came in no response"


def test_a_refusal_by_http_is_told_as_the_answer_to_its_request(child: Child, url: str) -> None:
    """There is no message in it; without it the request would seem to wait for ever."""
    child.ask("traffic_on", on=True)
    child.ask("connect", session="h", target={"url": f"{url}/status/418"})
    with pytest.raises(Refusal, match="418"):
        child.ask("call", session="h", method="tools/call", params={"name": "x"})
    row = _answer_to(child, "tools/call")
    assert (row["status"], row["error"]) == (418, True)
    assert row["text"].startswith("HTTP 418")
    assert row["ms"] > 0
    assert child.ask("traffic_http", n=row["n"])["status"] == 418


def _answer_to(child: Child, method: str) -> dict[str, Any]:
    def wanted(row: dict[str, Any]) -> bool:
        return row["kind"] == "response" and row.get("method") == method

    told = child.until(lambda told: told.get("event") == "traffic" and any(map(wanted, told["rows"])))
    return next(row for row in told["rows"] if wanted(row))


def test_a_session_over_http_is_listed_without_a_pid_and_ended(child: Child, url: str) -> None:
    child.ask("connect", session="h", target={"url": f"{url}/sse", "name": "web"})
    child.event("server.state", session="h", state="ready")
    (session,) = (row for row in child.ask("processes") if row["role"] == "hand")
    assert (session["pid"], session["name"], session["shown"]) == (None, "web", f"{url}/sse")
    child.ask("end_process", number=session["number"])
    child.event("server.state", session="h", state="closed")
    assert not any(row["role"] == "hand" for row in child.ask("processes"))
