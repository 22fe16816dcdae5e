"""Servers looked at by hand: connected, listed, called, lost and ended; and everything that is said with them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine_process.conftest import SERVERS, Refusal
from tests.engine_process.processes import Watched, processes_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.engine_process.conftest import Child, Clinging

DEMO = {"command": ["mcptest", "mock", "--preset", "demo"]}


def script(name: str, *arguments: str) -> dict[str, Any]:
    return {"command": [sys.executable, "-S", str(SERVERS / f"{name}.py"), *arguments]}


def test_a_server_is_connected_listed_called_and_ended(child: Child, place: Path) -> None:
    assert child.ask("connect", session="d", target=DEMO) == {}
    ready = child.event("server.state", session="d", state="ready")
    assert ready["server_info"]["name"] == "mcptest-demo"
    catalog = child.ask("catalog", session="d")
    assert len(catalog["tools"]) > 5
    assert catalog["prompts"]
    assert catalog["errors"] == {}
    assert catalog["tools"][0]["inputSchema"]["type"] == "object"
    called = child.ask("call", session="d", method="tools/call", params={"name": "echo", "arguments": {"text": "hi"}})
    assert called["answer"]["result"]["content"][0]["text"] == "hi"
    assert called["duration_ms"] > 0
    assert child.ask("value", id=called["id"], path=["result", "content", 0, "text"]) == "hi"
    servers = Watched([pid for pid in processes_in(place) if pid != child.process.pid])
    child.ask("disconnect", session="d")
    assert [told["state"] for told in child.events("server.state", session="d")] == ["starting", "ready", "closed"]
    child.end()
    servers.wait_until_gone()
    assert processes_in(place) == []


def test_a_server_of_a_suite_is_started_as_a_run_would(child: Child, place: Path) -> None:
    suite = {"servers": {"s": script("echo")}, "tools": [{"name": "t", "tool": "echo"}], "env": {"WORD": "w"}}
    (place / "mcptest.yml").write_text(json.dumps(suite), encoding="utf-8")
    child.ask("connect", session="s", target={"suite": "mcptest.yml", "server": "s"})
    called = child.ask("call", session="s", method="tools/call", params={"name": "environment"})
    assert called["answer"]["result"]["structuredContent"]["WORD"] == "w"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ({}, "name one"),
        ({"command": ["a"], "url": "ftp://x/"}, "begins with http"),
        ({"command": []}, "the command is empty"),
        ({"command": 'a "b'}, "cannot be split"),
        ({"url": "ftp://x/"}, "begins with http"),
        ({"url": "https://me:secret@x/"}, "must not contain a user name"),
        ({"suite": "nowhere.yml", "server": "s"}, "there is no such file"),
    ],
)
def test_a_target_that_names_no_server_is_refused(child: Child, target: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        child.ask("connect", session="s", target=target)


def test_a_server_that_does_not_start_is_told_with_its_stderr(child: Child) -> None:
    code = "import sys; print('no database', file=sys.stderr); sys.exit(3)"
    child.ask("connect", session="s", target={"command": [sys.executable, "-S", "-c", code]})
    failed = child.event("server.state", session="s", state="failed")
    assert "code 3" in failed["message"]
    assert "no database" in failed["stderr"]
    with pytest.raises(Refusal, match="code 3"):
        child.ask("catalog", session="s")


def test_a_server_that_dies_is_told_and_can_be_restarted(child: Child, tmp_path: Path) -> None:
    child.ask("connect", session="s", target=script("stubborn", "crash", str(tmp_path / "pids")))
    with pytest.raises(Refusal, match="exited with code 9") as refused:
        child.ask("call", session="s", method="tools/call", params={"name": "x"})
    assert refused.value.error["kind"] == "server"
    failed = child.event("server.state", session="s", state="failed")
    assert ("code 9" in failed["message"], failed["short"]) == (True, "exited 9")
    child.event("server.state", session="s", state="closed")
    with pytest.raises(Refusal, match="no longer connected"):
        child.ask("catalog", session="s")
    before = child.count
    child.ask("restart", session="s")
    child.event("server.state", session="s", state="ready", after=before)


def test_a_call_that_hangs_holds_up_no_other_and_can_be_given_up(child: Child) -> None:
    child.ask("connect", session="s", target=script("echo"))
    slow = child.begin("call", session="s", method="tools/call", params={"name": "slow", "arguments": {"ms": 60_000}})
    quick = child.ask("call", session="s", method="tools/call", params={"name": "echo", "arguments": {"text": "b"}})
    assert quick["answer"]["result"]["content"][0]["text"] == "b"
    child.ask("forget", number=slow)
    with pytest.raises(Refusal, match="given up"):
        child.answer(slow)
    seen = child.ask("call", session="s", method="tools/call", params={"name": "seen"})
    methods = [message.get("method") for message in seen["answer"]["result"]["structuredContent"]["messages"]]
    assert "notifications/cancelled" in methods


def test_a_call_that_takes_too_long_is_refused_in_words(child: Child) -> None:
    child.ask("connect", session="s", target=script("echo"))
    with pytest.raises(Refusal, match="within 50 ms") as refused:
        params = {"name": "slow", "arguments": {"ms": 60_000}}
        child.ask("call", session="s", method="tools/call", params=params, timeout_seconds=0.05)
    assert refused.value.error["kind"] == "timeout"


def test_a_server_that_hangs_at_start_can_be_left(child: Child, clinging: Clinging, place: Path) -> None:
    command = script("clinging", str(clinging.path), "silent")
    child.ask("connect", session="s", target=command)
    clinging.wait_for("started")
    waiting = child.begin("catalog", session="s")
    servers = Watched([pid for pid in processes_in(place) if pid != child.process.pid])
    child.ask("disconnect", session="s")
    servers.wait_until_gone()
    with pytest.raises(Refusal, match="disconnected before it was ready"):
        child.answer(waiting)


def test_a_server_that_is_left_in_the_same_moment_is_told_to_be_closed(child: Child) -> None:
    commands = [{"do": "connect", "session": "s", "target": script("echo")}, {"do": "disconnect", "session": "s"}]
    child.write(b"".join(json.dumps(command).encode() + b"\n" for command in commands))
    assert child.event("server.state", state="closed")["message"] == "disconnected before it was ready"


def test_what_a_server_does_not_offer_is_not_asked_for(child: Child) -> None:
    child.ask("connect", session="s", target=script("echo"))
    catalog = child.ask("catalog", session="s")
    assert catalog["resources"] == catalog["prompts"] == []
    seen = child.ask("call", session="s", method="tools/call", params={"name": "seen"})
    methods = [message.get("method") for message in seen["answer"]["result"]["structuredContent"]["messages"]]
    assert methods == ["initialize", "notifications/initialized", "tools/list", "tools/call"]


def test_a_list_that_fails_costs_no_other(child: Child, tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(
        f"import sys; sys.path.insert(0, {str(SERVERS)!r})\n"
        "import minimcp\n"
        "def handle(method, params, message):\n"
        "    if method == 'tools/list': return {'tools': [{'name': 'a'}]}\n"
        "    raise minimcp.RpcError(-32603, 'no prompts today')\n"
        "for m in minimcp.messages():\n"
        "    if m.get('method') == 'initialize':\n"
        "        minimcp.answer(m['id'], minimcp.initialized(m['params'], capabilities={'tools': {}, 'prompts': {}}))\n"
        "        break\n"
        "minimcp.serve(handle, lists=True)\n",
        encoding="utf-8",
    )
    child.ask("connect", session="s", target={"command": [sys.executable, "-S", str(server)]})
    catalog = child.ask("catalog", session="s")
    assert [tool["name"] for tool in catalog["tools"]] == ["a"]
    assert "no prompts today" in catalog["errors"]["prompts"]


def test_a_tool_whose_name_is_too_long_to_be_told_is_left_out(child: Child, tmp_path: Path) -> None:
    """The beginning of it is another name, and a call of that another call."""
    server = tmp_path / "server.py"
    server.write_text(
        f"import sys; sys.path.insert(0, {str(SERVERS)!r})\n"
        "import minimcp\n"
        "texts = {f'text{n}': 'x' * 20_000 for n in range(30)}\n"
        "tools = [{'name': 'n' * 30_000}, {**texts, 'name': 'm' * 200}, {'name': {'a': 1}}, {'name': 'short'}]\n"
        "minimcp.serve(lambda *_: {'tools': tools}, lists=True)\n",
        encoding="utf-8",
    )
    child.ask("connect", session="s", target={"command": [sys.executable, "-S", str(server)]})
    catalog = child.ask("catalog", session="s")
    assert [tool["name"] for tool in catalog["tools"]] == ["short"]
    assert catalog["errors"]["tools"] == "left out: 3 with a name that is too long, or no text"


def rows(child: Child) -> list[dict[str, Any]]:
    return [row for told in child.events("traffic") for row in told["rows"]]


def until_row(child: Child, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    told = child.until(lambda told: told.get("event") == "traffic" and any(map(wanted, told["rows"])))
    return next(row for row in told["rows"] if wanted(row))


def test_everything_said_is_told_while_somebody_looks(child: Child) -> None:
    """What was said before comes first, each message once, however often looking is turned on and off."""
    child.ask("connect", session="s", target={**script("echo"), "name": "echoing"})
    child.ask("call", session="s", method="tools/call", params={"name": "echo", "arguments": {"text": "one"}})
    assert not child.events("traffic")
    child.ask("traffic_on", on=True)
    response = until_row(child, lambda row: row["kind"] == "response" and row.get("method") == "tools/call")
    assert response["server"] == "echoing"
    assert response["ms"] > 0
    child.ask("traffic_on", on=False)
    child.ask("call", session="s", method="tools/call", params={"name": "fail"})
    child.ask("call", session="s", method="tools/call", params={"name": "stderr", "arguments": {"text": "on stderr"}})
    child.ask("call", session="s", method="tools/call", params={"name": "notify", "arguments": {"count": 1}})
    child.ask("traffic_on", on=True)
    assert until_row(child, lambda row: row["kind"] == "stderr")["text"] == "on stderr"
    until_row(child, lambda row: row["kind"] == "notification" and not row["sent"])
    told = rows(child)
    assert [row["n"] for row in told] == list(range(1, len(told) + 1))
    assert [row["method"] for row in told[:3]] == ["initialize", "initialize", "notifications/initialized"]
    failed = next(row for row in told if row.get("error"))
    assert json.loads(child.ask("traffic_body", n=failed["n"]))["result"]["isError"] is True


def test_a_message_that_is_not_kept_is_refused(child: Child) -> None:
    with pytest.raises(Refusal, match="no longer saved"):
        child.ask("traffic_body", n=1)


def test_rows_are_one_short_line_whatever_is_in_them(child: Child) -> None:
    text = "a\nb\x1b[2J" + "c" * 1_000
    child.ask("traffic_on", on=True)
    child.ask("connect", session="s", target=script("echo"))
    child.ask("call", session="s", method="tools/call", params={"name": "echo", "arguments": {"text": text}})
    until_row(child, lambda row: row["kind"] == "response" and row.get("method") == "tools/call")
    for row in rows(child):
        assert len(row["text"]) <= 400
        assert row["text"].isprintable()
