"""Whatever a server sends, only the message that is wrong fails, at once and with its line; the rest is read as ever."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.servers_client.http_scripts import ANSWER, HostileServer, call, event, scripted, stream, web

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from mcptest_engine.servers.session import Session

LONG = 60
GOOD = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}'
BESIDE = {
    "an id of 4,301 digits": '{"jsonrpc":"2.0","id":%s,"result":{}}' % ("9" * 4301),
    "the same as a text": '{"jsonrpc":"2.0","id":"%s","result":{}}' % ("9" * 4301),
    "an id of digits that are no number": '{"jsonrpc":"2.0","id":"\\u00b2\\u0663","result":{}}',
    "a ping whose id is half a character": '{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
    "a ping whose id is nested deeply": '{{"jsonrpc":"2.0","id":{}1{},"method":"ping"}}'.format("[" * 900, "]" * 900),
    "a method that is half a character": '{"jsonrpc":"2.0","id":1,"method":"\\ud800"}',
    "params of half a character": '{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"a":"\\udfff"}}',
    "a notification of half a character": '{"jsonrpc":"2.0","method":"\\ud800","params":{"\\ud800":"\\ud800"}}',
    "nesting without an end": "[" * 20_000,
    "an array that names a member twice and breaks off": '[{"a":1,"a":2}, broken',
}
"""Lines that are no answer to the call, and that something stumbles over."""


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


@pytest.fixture(scope="module")
def hostile() -> Iterator[HostileServer]:
    yield from scripted()


@pytest.fixture
def loop_errors() -> Callable[..., Any]:
    """`loop_errors(with_session, spec, use)`: what `use` gives, once the loop has been told of no exception."""

    def checked(with_session: Callable, spec: Any, use: Callable[..., Coroutine[Any, Any, Any]]) -> Any:
        unhandled: list[dict[str, Any]] = []

        async def watched(session: Session) -> Any:
            asyncio.get_running_loop().set_exception_handler(lambda _loop, context: unhandled.append(context))
            return await use(session)

        result = with_session(spec, watched)
        assert unhandled == []
        return result

    return checked


@pytest.mark.parametrize("line", BESIDE.values(), ids=BESIDE.keys())
def test_a_line_that_cannot_be_handled_loses_no_other(
    line: str, script: Callable, with_session: Callable, loop_errors: Callable
) -> None:
    """One chunk brings that line and the answer, and the answer counts."""

    async def use(session: Session) -> None:
        params = {"name": "lines", "arguments": {"lines": [line, GOOD]}}
        exchange = await session.request("tools/call", params, timeout_seconds=LONG)
        assert exchange.answer["result"] == {"content": []}

    loop_errors(with_session, script("bad_answers"), use)


@pytest.mark.parametrize("line", BESIDE.values(), ids=BESIDE.keys())
def test_an_event_that_cannot_be_handled_loses_no_other(
    line: str, hostile: HostileServer, with_session: Callable, loop_errors: Callable
) -> None:
    """The same over an event stream."""

    async def use(session: Session) -> None:
        exchange = await call(session)
        assert "content" in exchange.answer["result"]

    loop_errors(with_session, web(hostile.calling(*stream(event(line), event(ANSWER)))), use)


@pytest.mark.parametrize(
    "line", [*(line for line in BESIDE.values() if _is_json(line)), "[" * 900 + "]" * 900, '[{"jsonrpc":"2.0"}]', "7"]
)
def test_a_message_of_a_batch_that_cannot_be_handled_loses_no_other(
    line: str, script: Callable, with_session: Callable, loop_errors: Callable
) -> None:
    """MCP 2025-03-26, basic#batching."""

    async def use(session: Session) -> None:
        params = {"name": "line", "arguments": {"line": f"[{line},{GOOD}]"}}
        exchange = await session.request("tools/call", params, timeout_seconds=LONG)
        assert exchange.answer["result"] == {"content": []}

    loop_errors(with_session, script("bad_answers", protocol="2025-03-26"), use)


def test_a_batch_of_notifications_counts_once_as_what_it_takes(script: Callable, with_session: Callable) -> None:
    """Each once counted as the whole batch, so that of 4,000 only 20 were kept and the budget of the session was used up."""
    note = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}'

    async def use(session: Session) -> None:
        params = {"name": "line", "arguments": {"line": f"[{','.join([note] * 4_000)},{GOOD}]"}}
        await session.request("tools/call", params, timeout_seconds=LONG)
        assert len(session.server_messages.notifications) == 4_000
        assert session.remarks.texts == []

    with_session(script("bad_answers", protocol="2025-03-26"), use)


def test_what_is_no_longer_kept_of_what_comes_unasked_is_remarked_upon_once(
    script: Callable, with_session: Callable
) -> None:
    note = f'{{"jsonrpc":"2.0","method":"notifications/message","params":[{",".join(["{}"] * 200_000)}]}}'

    async def use(session: Session) -> None:
        params = {"name": "lines", "arguments": {"lines": [note, note, note, note, note, note, GOOD]}}
        await session.request("tools/call", params, timeout_seconds=LONG)
        assert 0 < len(session.server_messages.notifications) < 6
        assert len([remark for remark in session.remarks.texts if "64 MiB" in remark]) == 1

    with_session(script("bad_answers"), use)


def test_names_of_an_unreadable_line_are_not_blamed_on_the_next_message(
    script: Callable, with_session: Callable
) -> None:
    async def use(session: Session) -> None:
        params = {"name": "lines", "arguments": {"lines": ['[{"a":1,"a":2}, broken', GOOD]}}
        await session.request("tools/call", params, timeout_seconds=LONG)
        assert session.remarks.texts == []

    with_session(script("bad_answers"), use)


def test_a_ping_is_answered_whatever_its_id(hostile: HostileServer, with_session: Callable) -> None:
    """MCP 2025-11-25, basic/utilities/ping: the receiver must respond; an id of half a character is sent as an escape."""
    url = hostile.calling(*stream(event('{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}'), event(ANSWER)))

    async def use(session: Session) -> None:
        await call(session)

    with_session(web(url), use)
    replies = [json.loads(seen["body"]) for seen in hostile.seen(url) if "result" in seen["body"]]
    assert replies == [{"jsonrpc": "2.0", "id": "\ud800", "result": {}}]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ('{"jsonrpc":"2.0","id":99,"id":$ID,"result":{}}', ['"id"']),
        ('{"jsonrpc":"2.0","id":$ID,"result":{"a":1},"result":{"a":{"b":1,"b":1,"b":1}}}', ['"b", "result"']),
        ('{"jsonrpc":"2.0","id":$ID,"result":{"a":{"n":1},"b":{"n":1}}}', []),
    ],
)
def test_a_member_that_comes_twice_is_remarked_upon_once_for_each_tool(
    line: str, names: list[str], script: Callable, with_session: Callable
) -> None:
    """RFC 8259, 4: the last one counts here, and nothing says that it does elsewhere."""

    async def use(session: Session) -> None:
        for _ in range(3):
            await session.request("tools/call", {"name": "line", "arguments": {"line": line}}, timeout_seconds=LONG)
        start = 'server "bad_answers" sent an object with '
        told = [remark.removeprefix(start).partition(" twice")[0] for remark in session.remarks.texts]
        assert told == names
        assert all('in its answer to "tools/call" of "line"' in remark for remark in session.remarks.texts)
        await session.request("tools/call", {"name": "lines", "arguments": {"lines": [line]}}, timeout_seconds=LONG)
        of_another = [
            remark for remark in session.remarks.texts if 'in its answer to "tools/call" of "lines"' in remark
        ]
        assert len(of_another) == len(names)

    with_session(script("bad_answers"), use)


POOR = """
import asyncio, os, resource, sys
from mcptest_engine.core.errors import ServerError
from mcptest_engine.servers.session import connect
from mcptest_engine.servers.spec import ServerSpec

async def main():
    spec = ServerSpec(name="s", command=tuple(sys.argv[1:]), env={"PATH": os.environ["PATH"]})
    session = await connect(spec)
    await session.request("tools/call", {"name": "dribble"}, timeout_seconds=60)
    with open("/proc/self/statm") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (120 << 20), resource.RLIM_INFINITY))
    for count in (200, 70, 1):
        try:
            params = {"name": "megabytes", "arguments": {"count": count}}
            answer = (await session.request("tools/call", params, timeout_seconds=60)).answer
            print(count, "read", len(answer["result"]["content"][0]["text"]))
        except ServerError as failure:
            print(count, type(failure).__name__, failure.message[:150])
    await session.close()

asyncio.run(main())
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS") or sys.platform != "linux", reason="needs a limit of memory")
def test_a_message_that_takes_more_memory_than_there_is_fails_its_call_at_once(script: Callable) -> None:
    """No traceback, no wait for the timeout, and the next call is answered."""
    command = [sys.executable, "-c", POOR, *script("bad_answers").command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)
    assert done.stderr == ""
    large, between, small = done.stdout.splitlines()
    assert large == '200 ProtocolBroken server "s" sent a message that takes more memory than there is'
    assert between.startswith("70 ProtocolBroken server") and "takes more memory than there is" in between
    assert small == "1 read 1048576"
