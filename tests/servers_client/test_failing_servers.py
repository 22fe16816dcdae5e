"""Servers that do not start, die, or break the protocol: each fails its calls at once, and says why."""

from __future__ import annotations

import asyncio
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import CallTimeout, ProtocolBroken, ServerDidNotStart, ServerDied, ServerError
from mcptest_engine.servers.session import connect
from mcptest_engine.servers.spec import ServerSpec
from tests.processes import longer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcptest_engine.servers.session import Session

LONG = 60


async def failure(session: Session, params: dict[str, Any] | None = None, *, limit: float = LONG) -> ServerError:
    with pytest.raises(ServerError) as failed:
        await session.request("tools/call", params, timeout_seconds=limit)
    return failed.value


def hinted_failure(with_session: Callable, spec: ServerSpec, params: dict[str, Any] | None = None) -> ServerError:
    """That of the first call, which gets something but no answer: the timeout tells what came, if there was time for it."""
    for limit in longer(0.2):
        failed: ServerError = with_session(spec, partial(failure, params=params, limit=limit))
        if failed.hint or not isinstance(failed, CallTimeout):
            break
    return failed


def start_failure(run: Callable, spec: ServerSpec) -> ServerDidNotStart:
    with pytest.raises(ServerDidNotStart) as failed:
        run(connect(spec))
    return failed.value


@pytest.mark.parametrize(
    ("command", "message", "hint"),
    [
        (["no-such-program"], 'the program "no-such-program" was not found on PATH', None),
        (["pyton3", "x.py"], 'the program "pyton3" was not found on PATH', "did you mean `python3`?"),
        (
            ["node server.js"],
            'the program "node server.js" was not found on PATH',
            'write the command as a list, one word each: ["node", "server.js"]',
        ),
        (["./no/such"], 'the program "./no/such" was not found', None),
        (["/"], '"/" is a directory, not a program', "name the program inside it"),
        (["a\0b"], "its command cannot be run: embedded null byte", None),
    ],
)
def test_a_program_that_cannot_be_run_is_told_at_once(
    command: list[str], message: str, hint: str | None, run: Callable
) -> None:
    """Design 2: a failure says why."""
    failed = start_failure(run, ServerSpec(name="s", command=tuple(command), env={"PATH": os.environ["PATH"]}))
    assert failed.message == f'server "s" did not start: {message}'
    assert failed.hint == hint


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        ("#!/bin/sh\n", 0o644, "is not executable"),
        ("print(1)\n", 0o755, "is not a program: it has no `#!` line"),
        ("#!/no/such/interpreter\n", 0o755, "names an interpreter in its `#!` line that was not found"),
    ],
)
def test_a_script_that_cannot_be_run_says_what_it_lacks(
    content: str, mode: int, message: str, run: Callable, tmp_path: Path
) -> None:
    """The usual three ways in which a script is no program."""
    script = tmp_path / "server"
    script.write_text(content)
    script.chmod(mode)
    failed = start_failure(run, ServerSpec(name="s", command=(str(script),)))
    assert failed.message == f'server "s" did not start: "{script}" {message}'


@pytest.mark.parametrize("command", [("./server.py",), (sys.executable, "-S", "server.py", "x" * 5000)])
def test_a_program_that_stands_beside_the_suite_is_hinted_at(
    command: tuple[str, ...], run: Callable, tmp_path: Path
) -> None:
    """Relative paths are relative to where mcptest was started."""
    (tmp_path / "server.py").touch()
    failed = start_failure(run, ServerSpec(name="s", command=command, config_dir=str(tmp_path)))
    assert (
        failed.hint
        == "paths are relative to where mcptest was started; beside the suite it is `${CONFIG_DIR}/server.py`"
    )


def test_a_cwd_that_is_no_directory_is_not_blamed_on_the_program(run: Callable) -> None:
    """Both are a FileNotFoundError."""
    failed = start_failure(run, ServerSpec(name="s", command=(sys.executable,), cwd="/no/such"))
    assert failed.message == 'server "s" did not start: its cwd "/no/such" is not an accessible directory'


def test_a_server_that_exits_at_start_tells_its_exit_code_and_stderr(script: Callable, run: Callable) -> None:
    """Design 2: exit code, last stderr lines, within seconds."""
    failed = start_failure(run, script("bad_start", "exit", 3, "no licence found"))
    assert failed.message == 'server "bad_start" did not start: it exited with code 3 before it answered "initialize"'
    assert (failed.exit_code, failed.signal, failed.stderr_tail) == (3, None, "no licence found\n")


def test_a_server_that_crashes_at_start_tells_its_signal(script: Callable, run: Callable) -> None:
    """`failure.message` names the exit code or signal."""
    failed = start_failure(run, script("bad_start", "signal", "SIGSEGV"))
    assert "it was ended by SIGSEGV before it answered" in failed.message
    assert (failed.exit_code, failed.signal) == (None, "SIGSEGV")


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("silent", 'it did not answer "initialize" within 500 ms'),
        ("close-stdout", 'it closed its stdout before it answered "initialize"'),
        ("half", 'it exited with code 0 before it answered "initialize"'),
        (
            "garbage",
            'it broke the protocol in its answer to "initialize": its `result` is an array, not an object: {"jsonrpc"',
        ),
    ],
)
def test_a_server_that_never_gets_going_fails_within_its_time(
    mode: str, message: str, script: Callable, run: Callable
) -> None:
    """Nothing waits for longer than `connect_timeout_ms`."""
    limit = 0.5 if mode == "silent" else LONG
    failed = start_failure(run, script("bad_start", mode, connect_timeout_seconds=limit, grace_seconds=0.1))
    assert failed.message.startswith(f'server "bad_start" did not start: {message}')


def test_a_variable_that_was_withheld_is_hinted_at(script: Callable, run: Callable) -> None:
    """The stderr names a variable that is set here but not passed."""
    failed = start_failure(run, script("bad_start", "needs", "WEATHER_KEY", withheld=frozenset({"WEATHER_KEY", "PWD"})))
    assert failed.hint == "`WEATHER_KEY` is set here but is not passed to the server: add it under `env:`"


def test_a_word_of_any_log_is_no_hint_at_a_variable(script: Callable, run: Callable) -> None:
    """`ERROR` may be set in somebody's environment."""
    failed = start_failure(run, script("bad_start", "exit", 1, "ERROR: out of cheese", withheld=frozenset({"ERROR"})))
    assert failed.hint is None


@pytest.mark.parametrize(
    ("mode", "clause", "exit_code", "signal"),
    [
        (["exit", 4], "exited with code 4", 4, None),
        (["exit", 0], "exited with code 0", 0, None),
        (["signal", "SIGKILL"], "was ended by SIGKILL", None, "SIGKILL"),
        (["close-stdout"], "closed its stdout", None, None),
        (["half"], "exited with code 0", 0, None),
    ],
)
def test_a_server_that_dies_in_a_call_ends_every_waiting_call(
    mode: list[object], clause: str, exit_code: int | None, signal: str | None, script: Callable, with_session: Callable
) -> None:
    """Libraries 11.5: exit code, last stderr lines and last message, which is none of the handshake's, for each call."""

    async def use(session: Session) -> None:
        failures = await asyncio.gather(*(failure(session) for _ in range(3)))
        for failed in failures:
            assert isinstance(failed, ServerDied)
            last = '; its last message: {"jsonrpc":"2.0","id":2,"resu' if mode == ["half"] else ""
            assert failed.message == f'server "bad_calls" {clause} while "tools/call" waited for its answer{last}'
            assert (failed.exit_code, failed.signal) == (exit_code, signal)
            assert failed.stderr_tail == ("giving up\n" if mode[0] == "exit" else "")
        assert not session.alive
        assert "is gone" in (await failure(session)).message

    with_session(script("bad_calls", *mode, grace_seconds=0.1), use)


def test_a_server_that_closes_its_stdin_fails_the_call_that_cannot_be_sent(
    script: Callable, with_session: Callable, until: Callable
) -> None:
    """It can get no request any more, so waiting would be for nothing."""

    async def use(session: Session) -> None:
        await until(lambda: "stdin is closed" in session.stderr_tail)
        failed = await failure(session)
        assert isinstance(failed, ServerDied)
        assert 'closed its stdin while "tools/call" waited' in failed.message

    with_session(script("bad_calls", "close-stdin", grace_seconds=0.1), use)


def test_a_server_that_stops_reading_holds_up_only_its_own_callers(script: Callable, with_session: Callable) -> None:
    """Writes respect backpressure: calls time out in their time, and what was not written is taken back."""

    async def use(session: Session) -> None:
        big = {"text": "x" * 1_000_000}
        failures = await asyncio.gather(*(failure(session, big, limit=0.2) for _ in range(5)))
        failures += [await failure(session, big, limit=0.01) for _ in range(20)]
        assert all(isinstance(failed, CallTimeout) for failed in failures)
        queued = session._transport._queue  # type: ignore[attr-defined]
        assert [call for _line, call in queued if call is not None] == []
        assert sum(len(line) for line, _call in queued) < 10_000

    with_session(script("bad_calls", "deaf", grace_seconds=0.1), use)


def test_a_server_that_asks_without_end_and_does_not_read_fills_no_memory(
    script: Callable, with_session: Callable
) -> None:
    """Our answers to it are bounded, and the call is answered all the same."""

    async def use(session: Session) -> None:
        exchange = await session.request("tools/call", None, timeout_seconds=LONG)
        assert exchange.answer["result"]["content"][0]["text"] == "asked"
        assert len(session._transport._queue) <= 256  # type: ignore[attr-defined]

    with_session(script("bad_calls", "asking", 20_000), use)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"jsonrpc":"2.0","id":$ID,"result":[]}', "its `result` is an array, not an object"),
        ('{"jsonrpc":"2.0","id":$ID,"result":{},"error":null}', "it has both `result` and `error`"),
        ('{"jsonrpc":"2.0","id":$ID}', "it has neither `result` nor `error`"),
        (
            '{"jsonrpc":"2.0","id":$ID,"error":{"code":"-1","message":"m"}}',
            'its `error.code` is "-1", a string, not an integer',
        ),
        (
            '{"jsonrpc":"2.0","id":$ID,"error":{"code":-1.5,"message":"m"}}',
            "its `error.code` is -1.5, a number, not an integer",
        ),
        ('{"jsonrpc":"1.0","id":$ID,"result":{}}', 'its `jsonrpc` is "1.0", not "2.0"'),
        ('{"id":$ID,"result":{}}', "it has no `jsonrpc` member"),
        ('{"jsonrpc":"2.0","id":"$ID","result":{}}', "its `id` is a string, where the request's was a number"),
        ('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}', "its `id` is null"),
        ('{"jsonrpc":"2.0","result":{}}', "it has no `id`"),
        ('{"jsonrpc":"2.0","id":$ID,"result":{"x":NaN}}', "it is not JSON: NaN is not a JSON value"),
        ('{"jsonrpc":"2.0","id":$ID,"result":{}', "it is not JSON: Expecting"),
        ('[{"jsonrpc":"2.0","id":$ID,"result":{}}]', "it is in an array of messages"),
    ],
)
def test_a_malformed_answer_fails_its_call_at_once_with_the_line(
    line: str, fault: str, script: Callable, with_session: Callable
) -> None:
    """Libraries 11.3: not by timeout. The session stays usable."""

    async def use(session: Session) -> None:
        failed = await failure(session, {"name": "line", "arguments": {"line": line}})
        assert isinstance(failed, ProtocolBroken)
        expected = f'server "bad_answers" broke the protocol in its answer to "tools/call": {fault}'
        assert failed.message.startswith(expected)
        assert failed.message.endswith(line.replace("$ID", "2"))
        good = await session.request("tools/call", {"name": "dribble"}, timeout_seconds=LONG)
        assert good.answer["result"]["content"][0]["text"] == "drop by drop"

    with_session(script("bad_answers"), use)


def test_an_answer_that_is_not_utf8_is_shown_with_replacements(script: Callable, with_session: Callable) -> None:
    """Libraries 11.2."""

    async def use(session: Session) -> None:
        raw = b'{"jsonrpc":"2.0","id":$ID,"result":{"x":"caf\xe9"}}'
        failed = await failure(session, {"name": "hex", "arguments": {"digits": raw.hex()}})
        assert "it is not UTF-8" in failed.message
        assert "caf\ufffd" in failed.message

    with_session(script("bad_answers"), use)


def test_an_answer_nested_too_deeply_fails_its_call(script: Callable, with_session: Callable) -> None:
    """It must not crash us, nor wait."""

    async def use(session: Session) -> None:
        failed = await failure(session, {"name": "deep", "arguments": {"depth": 200_000}})
        assert "it is nested too deeply to be read" in failed.message
        exchange = await session.request(
            "tools/call", {"name": "deep", "arguments": {"depth": 300}}, timeout_seconds=LONG
        )
        assert "deep" in exchange.answer["result"]

    with_session(script("bad_answers"), use)


def test_the_one_revision_with_batches_reads_them(script: Callable, with_session: Callable) -> None:
    """MCP 2025-03-26, basic#batching: receiving batches must be supported."""

    async def use(session: Session) -> None:
        line = '[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":$ID,"result":{"a":1}}]'
        params = {"name": "line", "arguments": {"line": line}}
        exchange = await session.request("tools/call", params, timeout_seconds=LONG)
        assert exchange.answer["result"] == {"a": 1}
        assert len(session.server_messages.notifications) == 1

    with_session(script("bad_answers", protocol="2025-03-26"), use)


def test_an_answer_to_no_call_is_noise_that_a_timeout_quotes(script: Callable, with_session: Callable) -> None:
    """An unknown id fails nothing by itself, but tells why the call waited."""

    line = '{"jsonrpc":"2.0","id":99,"result":{}}'
    failed = hinted_failure(with_session, script("bad_answers"), {"name": "line", "arguments": {"line": line}})
    assert isinstance(failed, CallTimeout)
    assert failed.hint == f"output in place of an answer: {line}"


def test_noise_on_stdout_fails_nothing(script: Callable, with_session: Callable) -> None:
    """Text, invalid UTF-8 and JSON logs are recorded, and the answer counts."""

    async def use(session: Session) -> None:
        exchange = await session.request("tools/call", None, timeout_seconds=LONG)
        assert exchange.answer["result"]["content"][0]["text"] == "answered"
        texts = [text for _at, text in session.remarks.noise]
        assert texts == [
            "starting up...",
            "\ufffd\ufffd\ufffd not text",
            '{"level":"info","id":2,"msg":"a log line"}',
            "42",
            '"text"',
            '{"method":"GET","path":"/"}',
        ]
        assert session.remarks.noise_count == 6

    with_session(script("noisy", "stdout"), use)


def test_a_flood_on_stderr_is_drained_and_its_end_kept(
    script: Callable, with_session: Callable, until: Callable
) -> None:
    """Libraries 11.4: a full pipe would block the server; memory stays bounded."""

    async def use(session: Session) -> None:
        await session.request("tools/call", None, timeout_seconds=LONG)
        await until(lambda: session.stderr_tail.endswith("the very last line\n"))
        assert len(session.stderr_tail) == 64 * 1024

    with_session(script("noisy", "stderr", 8), use)


def test_a_line_without_an_end_breaks_the_protocol_at_the_limit(script: Callable, with_session: Callable) -> None:
    """Libraries 11.2: the size limit is configurable, and memory bounded by it."""

    async def use(session: Session) -> None:
        failed = await failure(session)
        assert isinstance(failed, ProtocolBroken)
        assert "sent a message of more than 2 MiB" in failed.message

    with_session(script("noisy", "endless", max_message_bytes=2 << 20, grace_seconds=0.1), use)


def test_a_result_of_many_megabytes_is_read(script: Callable, with_session: Callable) -> None:
    """One line of 50 MB is accepted."""

    async def use(session: Session) -> None:
        params = {"name": "megabytes", "arguments": {"count": 50}}
        exchange = await session.request("tools/call", params, timeout_seconds=60)
        assert len(exchange.answer["result"]["content"][0]["text"]) == 50 << 20

    with_session(script("bad_answers"), use)


SECRET = "Zq8v-secret-value-0123456"


def hidden(text: str) -> str:
    return text.replace(SECRET, "[REDACTED]")


@pytest.mark.parametrize(
    "line", ['{"jsonrpc":"2.0","id":$ID,"result":"%s"}', '{"jsonrpc":"2.0","id":99,"result":"%s"}']
)
@pytest.mark.parametrize("before", [245, 255])
def test_what_a_failure_quotes_holds_no_half_of_a_secret(
    line: str, before: int, script: Callable, with_session: Callable
) -> None:
    """The spec's `redact` sees the server's words before they are clipped."""

    arguments = {"line": line % ("x" * before + SECRET)}
    failed = hinted_failure(
        with_session, script("bad_answers", redact=hidden), {"name": "line", "arguments": arguments}
    )
    told = f"{failed.message} {failed.hint}"
    assert "xxxx" in told
    assert "Zq8v" not in told


@pytest.mark.parametrize("before", [15, 25, 35])
def test_the_last_message_of_a_server_that_died_holds_no_half_of_a_secret(
    before: int, script: Callable, with_session: Callable
) -> None:
    """It is clipped to 160 characters."""

    async def use(session: Session) -> None:
        failed = await failure(session)
        assert "its last message: {" in failed.message
        assert "Zq8v" not in failed.message

    with_session(script("bad_calls", "log", "x" * (before + 40) + SECRET, redact=hidden), use)


def test_a_server_that_closes_its_stdin_in_a_call_fails_it_at_once(script: Callable, with_session: Callable) -> None:
    """What it has not read can never be answered, so nobody waits for the timeout."""

    async def use(session: Session) -> None:
        failed = await failure(session)
        assert isinstance(failed, ServerDied)
        assert failed.message == 'server "bad_calls" closed its stdin while "tools/call" waited for its answer'

    with_session(script("bad_calls", "close-stdin-in-call"), use)


def test_an_answer_without_its_newline_is_shown_when_the_call_times_out(
    script: Callable, with_session: Callable
) -> None:
    """MCP 2025-11-25, transports#stdio: messages are delimited by newlines."""

    failed = hinted_failure(with_session, script("bad_calls", "unfinished"))
    assert isinstance(failed, CallTimeout)
    line = '{"jsonrpc":"2.0","id":2,"result":{}}'
    assert failed.hint == f"an unfinished line is waiting: {line}; a message ends with a newline"


@pytest.mark.parametrize(
    ("name", "content", "command", "message", "hint"),
    [
        (
            "srv.py",
            b"",
            "srv.py",
            'the program "srv.py" was not found on PATH',
            'a file here is named by its path: ["./srv.py"], or by its interpreter: ["python3", "srv.py"]',
        ),
        (
            "srv",
            b"\x7fELF" + bytes(60),
            "./srv",
            '"./srv" is a program for another type of machine',
            "use one that is built for this machine",
        ),
        (
            "srv",
            b"print(1)",
            "./srv",
            '"./srv" is not a program: it has no `#!` line',
            "name its interpreter: [python3, ./srv]",
        ),
    ],
)
def test_a_file_that_does_not_run_says_what_it_is(
    name: str, content: bytes, command: str, message: str, hint: str, run: Callable, tmp_path: Path
) -> None:
    """Design 2: a failure says how to fix it."""
    (tmp_path / name).write_bytes(content)
    (tmp_path / name).chmod(0o755)
    spec = ServerSpec(name="s", command=(command,), cwd=str(tmp_path), env={"PATH": os.environ["PATH"]})
    failed = start_failure(run, spec)
    assert failed.message == f'server "s" did not start: {message}'
    assert failed.hint == hint
