"""One server from Python: connect to it, call it, check its answers with the matchers of suites.

A call goes through the engine like a call of a suite: the answer is checked against the protocol and the tool's `outputSchema`,
the server is restarted when it has died, and secrets stay out of messages.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import shlex
import sys
import threading
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from reprlib import repr as clipped
from typing import TYPE_CHECKING, Any

from mcptest.suites import McptestWarning, WrongType
from mcptest_engine.core.errors import McptestError, ServerError, SuiteError, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from types import TracebackType
    from typing import Concatenate, ParamSpec, TypeVar

    from mcptest_engine.judging.snapshots import SnapshotStore
    from mcptest_engine.running.calling import Caller
    from mcptest_engine.running.pool import Pool
    from mcptest_engine.servers.calls import Exchange
    from mcptest_engine.servers.session import Session
    from mcptest_engine.suite.load import CheckedSuite

    P = ParamSpec("P")
    T = TypeVar("T")

_BLOCKS = {"resources/read": "resources", "prompts/get": "prompts"}
NAME = "server"
"""The server's name in messages."""


class CallFailed(McptestError, AssertionError):
    """A call that should have succeeded, but the tool reported an error. The message has the tool's text."""


class ExpectationFailed(McptestError, AssertionError):
    """An answer that is not as expected. The message says what differs and where."""


class ProtocolError(McptestError):
    """The server answered with a JSON-RPC error: `code`, `data`, and its message in `server_message`."""

    def __init__(self, message: str, *, error: Mapping[str, object]) -> None:
        super().__init__(message)
        self.code = error.get("code")
        self.server_message = error.get("message")
        self.data = error.get("data")


def _with_short_traceback(
    method: Callable[Concatenate[Server, P], Awaitable[T]],
) -> Callable[Concatenate[Server, P], Coroutine[Any, Any, T]]:
    """Let the errors of a method have tracebacks that end at the caller: the frames of the engine are no help."""

    @functools.wraps(method)
    async def call(server: Server, /, *args: P.args, **keywords: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return await method(server, *args, **keywords)
        except McptestError as wrong:
            if isinstance(wrong, ServerError) and wrong.stderr_tail:
                server._note_stderr(wrong)
            raise wrong.with_traceback(None) from None

    return call


class Result:
    """What a call returned.

    `raw` is the result as the server sent it, `text` its texts, joined by newlines, `structured` its `structuredContent` or
    None. `is_error`: the tool reported an error. `duration_ms` is the time until the answer's last byte. `notifications` are
    the server's notifications and requests meanwhile, as sent.
    """

    def __init__(self, envelope: Mapping[str, Any], server: Server) -> None:
        self._envelope, self._server = envelope, server
        self.raw: dict[str, Any] = envelope["result"]
        self.duration_ms: float = envelope["duration_ms"]
        self.notifications: list[dict[str, Any]] = envelope["notifications"]

    def __repr__(self) -> str:
        kind = "error" if self.is_error else "result"
        return f"<{kind} of {self._envelope['request']['params'].get('name', 'a request')}: {self.text[:80]!r}>"

    @property
    def text(self) -> str:
        """The texts of `content`, joined by newlines; "" where there are none."""
        blocks = self.raw.get("content")
        texts = (block.get("text") for block in blocks if isinstance(block, dict)) if isinstance(blocks, list) else ()
        return "\n".join(text for text in texts if isinstance(text, str))

    @property
    def structured(self) -> Any:
        """`structuredContent`, or None."""
        return self.raw.get("structuredContent")

    @property
    def json(self) -> Any:
        """`text` parsed as JSON. Raises: ExpectationFailed when it is none."""
        try:
            return json.loads(self.text)
        except ValueError as wrong:
            raise ExpectationFailed(f"the text of the result is not JSON: {wrong}") from None

    @property
    def is_error(self) -> bool:
        """Whether the tool reported an error (`isError: true`)."""
        return self.raw.get("isError") is True

    def expect(self, target: str, /, *, outcome: str = "success", **matcher: Any) -> Result:
        """Check one value of the answer with one matcher, as an assertion of a suite does, and return the result itself.

        `target` is a path such as `structured.total`, `json.total`, `text`, or `result.content[0].text`. The matcher is a
        keyword with the name that it has in suites, `_` for `-`: `exact=3`, `contains="ok"`, `between=[0, 1]`, `snapshot=True`.
        `outcome` is what the call must have ended in: "success", "error" or "any". Raises: ExpectationFailed (an
        AssertionError) when the matcher fails, CallFailed for another outcome, UsageError for an unknown matcher, or a value
        that it does not accept.
        """
        from mcptest_engine.suite.assertion_checks import always_holds
        from mcptest_engine.suite.short_assertions import long_target

        __tracebackhide__ = True
        _check_text("the target", target)
        self._check_outcome(outcome)
        written = {name.replace("_", "-"): value for name, value in matcher.items()}
        _check_matcher(written)
        if (warning := always_holds(*next(iter(written.items())))) is not None:
            warnings.warn(McptestWarning(f"`{target}`: {warning[0]}"), stacklevel=2)
        full = long_target(target, _BLOCKS.get(self._envelope["request"]["method"], "tools"))
        row = self._server._judge(full or target, written, self._envelope)
        if row is not None:
            raise ExpectationFailed(row)
        return self

    def _check_outcome(self, wanted: str) -> None:
        __tracebackhide__ = True
        if wanted not in ("success", "error", "any"):
            raise UsageError(f'unknown outcome "{wanted}"', hint='write "success", "error" or "any"')
        if wanted == "success" and self.is_error:
            raise CallFailed(f"the tool reported an error: {self.text}", hint='if you expect it, pass outcome="error"')
        if wanted == "error" and not self.is_error:
            raise CallFailed("the call succeeded, and an error was expected")


class Server:
    """A server whose methods are awaited. Made by `connect`, or by the fixture `mcp_server`; opened by the first call."""

    def __init__(
        self, pool: Pool, *, timeout_seconds: float, snapshots: SnapshotStore | None = None, test: str = ""
    ) -> None:
        self._pool, self._timeout_seconds = pool, timeout_seconds
        self._snapshots, self._test = snapshots, test
        self._caller: Caller | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False
        self._unsaid: list[str] | None = None

    @_with_short_traceback
    async def call(self, tool: str, arguments: Mapping[str, object] | None = None, /, **keywords: object) -> Result:
        """Call a tool; arguments are keywords, or a mapping where a name is no Python name.

        A tool that reports an error returns a result too: `is_error` says so, and `expect` fails.
        Raises: ProtocolError for a JSON-RPC error, InvalidResult for an answer that breaks the protocol or the tool's
        `outputSchema`, CallTimeout, ServerDied and ServerDidNotStart.
        """
        from mcptest_engine.running.sessions import Sessions

        _check_text("the name of a tool", tool)
        given = _as_sent({**_mapping("the arguments", arguments), **keywords})
        caller, session = await self._opened()
        request = _asked("tools/call", {"name": tool, "arguments": given}, self._timeout_seconds)
        before = len(session.server_messages.notifications)
        exchange, odd = await caller.call_tool(
            Sessions(self._pool, request), NAME, tool, given, timeout_seconds=self._timeout_seconds
        )
        self._warn(odd)
        return self._result(exchange, session.server_messages.notifications[before:], tool)

    @_with_short_traceback
    async def tools(self) -> list[dict[str, Any]]:
        """All tools of the server, as it lists them."""
        return await self._listed("tools")

    @_with_short_traceback
    async def resources(self) -> list[dict[str, Any]]:
        """All resources of the server, as it lists them."""
        return await self._listed("resources")

    @_with_short_traceback
    async def prompts(self) -> list[dict[str, Any]]:
        """All prompts of the server, as it lists them."""
        return await self._listed("prompts")

    @_with_short_traceback
    async def read(self, uri: str) -> Result:
        """Read a resource. `raw` has `contents`. Raises: as `call`."""
        _check_text("the URI of a resource", uri)
        return await self._asked("resources/read", {"uri": uri}, uri)

    @_with_short_traceback
    async def prompt(self, name: str, arguments: Mapping[str, str] | None = None, /, **keywords: str) -> Result:
        """Get a prompt. `raw` has `messages`. Raises: as `call`."""
        _check_text("the name of a prompt", name)
        given = {**_mapping("the arguments", arguments), **keywords}
        return await self._asked("prompts/get", {"name": name, "arguments": given}, name)

    @_with_short_traceback
    async def request(self, method: str, params: Mapping[str, object] | None = None) -> dict[str, Any]:
        """Send any request and return its result as sent, unchecked. Raises: ProtocolError, ServerError."""
        _check_text("the method of a request", method)
        given = None if params is None else _as_sent(_mapping("the parameters", params))
        _, session = await self._opened()
        exchange = await session.request(method, given, timeout_seconds=self._timeout_seconds)
        return self._sound(exchange, method)

    @_with_short_traceback
    async def info(self) -> dict[str, Any]:
        """What the server says about itself: "serverInfo", "protocolVersion", "capabilities", "instructions"."""
        _, session = await self._opened()
        return {
            "serverInfo": session.server_info,
            "protocolVersion": session.protocol_version,
            "capabilities": session.capabilities,
            "instructions": session.instructions,
        }

    async def aclose(self) -> None:
        """End the session and the server's process; no call is possible after that."""
        self._is_closed = True
        caller, self._caller = self._caller, None
        if caller is not None:
            await caller.catalogs.close()
        await self._pool.close()
        if self._snapshots is not None:
            self._snapshots.save()

    def close(self) -> None:
        """End the session like `aclose`, after the event loop has stopped; nothing when the session is closed already."""
        if self._caller is not None and self._loop is not None and not self._loop.is_closed():
            self._loop.run_until_complete(self.aclose())

    async def _opened(self) -> tuple[Caller, Session]:
        loop = asyncio.get_running_loop()
        if self._is_closed:
            raise UsageError("the connection is closed", hint="call the server inside the `async with` block")
        if self._caller is None:
            from mcptest_engine.running.calling import Caller

            self._loop = loop
            self._caller = Caller(snapshots=None, redact=self._pool.redactor.redact, clock=loop.time)
        elif loop is not self._loop:
            raise UsageError(
                "the server was opened in another event loop", hint="connect to it in the loop that calls it"
            )
        return self._caller, self._pool.ready(NAME) or await self._pool.session(NAME)

    async def _listed(self, what: str) -> list[dict[str, Any]]:
        from mcptest_engine.servers.catalog import list_all

        _, session = await self._opened()
        if what not in (session.capabilities or {}):
            return []
        return [dict(entry) for entry in await list_all(session, what, timeout_seconds=self._timeout_seconds)]

    async def _asked(self, method: str, params: dict[str, Any], name: str) -> Result:
        from mcptest_engine.judging.validity import find_invalidity

        _, session = await self._opened()
        before = len(session.server_messages.notifications)
        exchange = await session.request(method, _as_sent(params), timeout_seconds=self._timeout_seconds)
        result = self._result(exchange, session.server_messages.notifications[before:], name)
        validity = _validity_of(session)
        fault = None if validity is None else find_invalidity(method, result._envelope, validity, self._redact)
        if fault is not None:
            from mcptest_engine.core.errors import InvalidResult

            if validity is not None and validity.fails:
                raise InvalidResult(fault[0], server=NAME)
            self._warn(fault[0])
        return result

    def _sound(self, exchange: Exchange, name: str) -> dict[str, Any]:
        from mcptest_engine.core.clipping import describe_error

        error = exchange.answer.get("error")
        if error is not None:
            raise ProtocolError(f"{name}: the server answered {describe_error(error, self._redact)}", error=error)
        result: dict[str, Any] = exchange.answer["result"]
        return result

    def _result(self, exchange: Exchange, notifications: list[dict[str, Any]], name: str) -> Result:
        from mcptest_engine.running.calling import make_envelope

        self._sound(exchange, name)
        request = _asked(exchange.method, exchange.params, self._timeout_seconds)
        envelope = make_envelope(
            request, exchange.answer, number=1, duration_ms=exchange.duration_ms, http=exchange.http
        )
        envelope["notifications"] = list(notifications)
        return Result(envelope, self)

    def _note_stderr(self, wrong: ServerError) -> None:
        """Add the end of the server's stderr to tracebacks, once."""
        from mcptest_engine.reporting.facts import STDERR_LINES, last_lines

        lines = last_lines(self._pool.redactor.redact_text(wrong.stderr_tail), STDERR_LINES)
        note = "\n".join(["stderr of the server:", *(f"  │ {line}" for line in lines)])
        if note not in getattr(wrong, "__notes__", ()):
            wrong.add_note(note)

    def _redact(self, value: object) -> Any:
        return self._pool.redactor.redact(value)

    def _judge(self, target: str, matcher: Mapping[str, object], envelope: Mapping[str, object]) -> str | None:
        """Why one matcher fails, or None."""
        from mcptest_engine.core.targets import TargetSyntaxError
        from mcptest_engine.judging.assertions import judge_assertions
        from mcptest_engine.reporting.facts import diff_lines

        if "snapshot" in matcher and self._snapshots is None:
            raise UsageError("a snapshot needs a test", hint="use the fixture `mcp_server` of pytest")
        try:
            (row,) = judge_assertions(
                [{"target": target, "matcher": matcher}],
                envelope,
                snapshots=self._snapshots,
                test_name=self._test,
                redact=self._redact,
            )
        except TargetSyntaxError as wrong:
            raise UsageError(f"the target `{target}` cannot be read: {wrong}") from None
        except (AttributeError, TypeError, ValueError):
            _check_operand(matcher)
            raise
        if row.passed:
            return None
        reason = row.reason or "the expectation failed"
        return "\n".join([f"`{target}`: {reason}", *diff_lines(row)])

    def _warn(self, text: str | None) -> None:
        if text is None:
            return
        if self._unsaid is not None:
            self._unsaid.append(text)
        else:
            warnings.warn(McptestWarning(text), stacklevel=4)


class SyncServer:
    """A server whose methods are called without `await`: those of `Server`, for code without an event loop.

    Calls from several threads are made one after the other.
    """

    def __init__(self, server: Server) -> None:
        self._server, self._runner = server, asyncio.Runner()
        self._lock, self._is_closed = threading.Lock(), False
        self._unsaid: list[str] = []
        server._unsaid = self._unsaid

    def call(self, tool: str, arguments: Mapping[str, object] | None = None, /, **keywords: object) -> Result:
        """As `Server.call`."""
        __tracebackhide__ = True
        return self._run(self._server.call(tool, arguments, **keywords))

    def tools(self) -> list[dict[str, Any]]:
        """As `Server.tools`."""
        __tracebackhide__ = True
        return self._run(self._server.tools())

    def resources(self) -> list[dict[str, Any]]:
        """As `Server.resources`."""
        __tracebackhide__ = True
        return self._run(self._server.resources())

    def prompts(self) -> list[dict[str, Any]]:
        """As `Server.prompts`."""
        __tracebackhide__ = True
        return self._run(self._server.prompts())

    def read(self, uri: str) -> Result:
        """As `Server.read`."""
        __tracebackhide__ = True
        return self._run(self._server.read(uri))

    def prompt(self, name: str, arguments: Mapping[str, str] | None = None, /, **keywords: str) -> Result:
        """As `Server.prompt`."""
        __tracebackhide__ = True
        return self._run(self._server.prompt(name, arguments, **keywords))

    def request(self, method: str, params: Mapping[str, object] | None = None) -> dict[str, Any]:
        """As `Server.request`."""
        __tracebackhide__ = True
        return self._run(self._server.request(method, params))

    def info(self) -> dict[str, Any]:
        """As `Server.info`."""
        __tracebackhide__ = True
        return self._run(self._server.info())

    def close(self) -> None:
        """End the session and the server's process; no call is possible after that."""
        if self._is_closed:
            return
        _refuse_in_loop()
        self._is_closed = True  # set before its turn, so that waiting calls are refused
        try:
            self._run(self._server.aclose(), closes=True)
        finally:
            self._runner.close()

    def _run(self, work: Coroutine[object, object, T], *, closes: bool = False) -> T:
        __tracebackhide__ = True
        try:
            _refuse_in_loop()
            with self._lock:
                if self._is_closed and not closes:
                    raise UsageError("the connection is closed", hint="call the server inside the `with` block")
                return self._runner.run(work)
        except McptestError as wrong:
            work.close()  # the connection may not have been opened
            raise wrong.with_traceback(None) from None
        finally:
            unsaid = self._unsaid[:]
            self._unsaid.clear()  # before the warning, which may be an error
            for text in unsaid:
                warnings.warn(McptestWarning(text), stacklevel=3)


class Connection:
    """Returned by `connect`: `async with` gives a `Server`, `with` a `SyncServer`; both end with the block."""

    def __init__(self, make: Callable[[], Server]) -> None:
        self._make = make
        self._async: Server | None = None
        self._sync: SyncServer | None = None

    async def __aenter__(self) -> Server:
        self._check_closed()
        self._async = self._make()
        try:
            await self._async.info()
        except BaseException:
            await self.__aexit__()
            raise
        return self._async

    async def __aexit__(self, *raised: object) -> None:
        opened, self._async = self._async, None
        assert opened is not None
        await opened.aclose()

    def __enter__(self) -> SyncServer:
        self._check_closed()
        _refuse_in_loop()
        self._sync = SyncServer(self._make())
        try:
            self._sync.info()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self._sync

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        opened, self._sync = self._sync, None
        assert opened is not None
        opened.close()

    def _check_closed(self) -> None:
        if self._async is not None or self._sync is not None:
            raise UsageError("the connection is open already", hint="call `mcptest.connect` for each block")


def connect(
    target: object,
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    protocol: str | None = None,
    timeout_seconds: float = 30.0,
) -> Connection:
    """A connection to one server, opened by `with` or `async with`.

    `target` is a command ("python server.py", or a list of words), the path of a Python file (`Path`), a URL, the block of a
    server as a suite has it (a mapping), or a server of this process: a FastMCP, MCPServer or low-level Server object.
    `timeout_seconds` is the limit for each call. `protocol` is the revision to offer, "auto" to probe. Raises: UsageError for a
    target that is none of these, SuiteError for a block or an option that a suite would refuse.
    """
    return Connection(
        lambda: open_server(
            target, cwd=cwd, env=env, headers=headers, protocol=protocol, timeout_seconds=timeout_seconds
        )
    )


def open_server(
    target: object,
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    protocol: str | None = None,
    timeout_seconds: object = 30.0,
    snapshots: Path | None = None,
    update_snapshots: bool = False,
    test: str = "",
) -> Server:
    """A server that its first call opens. `snapshots` is the snapshot file of the test `test`. Raises: as `connect`."""
    from mcptest_engine.running.launch import open_pool
    from mcptest_engine.running.settings import RunSettings

    if not isinstance(timeout_seconds, int | float):
        raise WrongType(f"`timeout_seconds` is a number greater than 0, found {clipped(timeout_seconds)}")
    if not timeout_seconds > 0:
        raise UsageError(f"`timeout_seconds` is a number greater than 0, found {timeout_seconds!r}")
    words = {"cwd": None if cwd is None else os.fspath(cwd), "env": env, "headers": headers, "protocol": protocol}
    settings, is_object = _settings_of(target)
    given = {key: value for key, value in words.items() if value is not None}
    heard = None
    if is_object:
        from mcptest_engine.servers.in_process import connecting_in_process

        wrong = next((key for key in given if key != "protocol"), None)
        if wrong is not None:
            raise UsageError(f"`{wrong}` goes with a command or a URL, and the server is an object of this process")
        connecting = connecting_in_process(target)
        heard = lambda _redactor, _connect: connecting  # noqa: E731
    suite = _suite_of({**settings, **given})
    run_settings = RunSettings(update_snapshots=update_snapshots)
    pool = open_pool(suite, run_settings, heard=heard)
    store = None
    if snapshots is not None:
        from mcptest_engine.judging.snapshots import SnapshotStore

        store = SnapshotStore(
            snapshots,
            redact=pool.redactor.redact,
            update=update_snapshots,
            create=not run_settings.ci,
            keep_pending=not run_settings.ci,
        )
    return Server(pool, timeout_seconds=timeout_seconds, snapshots=store, test=test)


def _settings_of(target: object) -> tuple[dict[str, Any], bool]:
    """The server block for a target, and whether the target is a server object of this process."""
    if isinstance(target, str):
        if target.startswith(("http://", "https://")):
            return {"url": target}, False
        try:
            words = shlex.split(target)
        except ValueError as wrong:
            raise UsageError(f"the command `{target}` cannot be split: {wrong}") from None
        if not words:
            raise UsageError("the command is empty", hint='for example: "python server.py"')
        return {"command": words}, False
    if isinstance(target, os.PathLike):
        return {"command": [sys.executable, os.fspath(target)]}, False
    if isinstance(target, Mapping):
        return dict(target), False
    if isinstance(target, Sequence):
        odd = next((word for word in target if not isinstance(word, str | os.PathLike)), None)
        if odd is not None:
            raise WrongType(f"a command is a list of texts, found {clipped(odd)} in it")
        return {"command": [os.fspath(word) for word in target]}, False
    return {"command": [sys.executable]}, True  # never started: the object answers


def _suite_of(settings: Mapping[str, object]) -> Any:
    """Load a suite with this server and no test, checked like a file."""
    try:
        text = json.dumps({"servers": {NAME: settings}})
    except TypeError as wrong:
        raise UsageError(f"the server's block is not JSON: {wrong}") from None
    checked = _checked_text(text, "connect")
    if checked.suite is None:
        raise SuiteError(checked.errors)
    return checked.suite


def _checked_text(text: str, name: str) -> CheckedSuite:
    """Load a suite from text, checked like a file."""
    from mcptest_engine.suite.load import LoadOptions, check_text

    here = Path.cwd()
    options = LoadOptions(environ=dict(os.environ), workspace_root=here, allow_outside=True)
    return check_text(text, options, name=name, base_dir=here)


def _check_operand(matcher: Mapping[str, object]) -> None:
    """Raises: UsageError for a matcher that a suite would refuse."""
    __tracebackhide__ = True
    test = {"name": "t", "tool": "t", "expect": [{"target": "result", "matcher": _as_sent(matcher)}]}
    checked = _checked_text(json.dumps({"servers": {NAME: {"command": ["x"]}}, "tools": [test]}), "expect")
    for problem in checked.errors:
        raise UsageError(f"`{next(iter(matcher))}`: {problem.message}", hint=problem.hint) from None


def _refuse_in_loop() -> None:
    __tracebackhide__ = True
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError("an event loop runs in this thread already", hint="use `async with mcptest.connect(…)`")


def _check_text(what: str, value: object) -> None:
    __tracebackhide__ = True
    if not isinstance(value, str):
        raise WrongType(f"{what} is a text, found {clipped(value)}")


def _mapping(what: str, value: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The mapping, an empty one for None."""
    __tracebackhide__ = True
    if value is not None and not isinstance(value, Mapping):
        raise WrongType(f"{what} are a mapping, found {clipped(value)}", hint='such as `{"item": "tea"}`')
    return value or {}


def _as_sent(value: T) -> T:
    """The value as the server will read it. Raises: UsageError for a value that JSON does not have."""
    try:
        read: T = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as wrong:
        raise UsageError(f"this cannot be sent as JSON: {wrong}") from None
    except RecursionError:
        raise UsageError("this cannot be sent as JSON: it is nested too deeply") from None
    return read


def _asked(method: str, params: Mapping[str, object] | None, timeout_seconds: float) -> Any:
    from mcptest_engine.core.enums import TestKind
    from mcptest_engine.running.cases import ORDINARY, Case

    return Case(
        id=NAME,
        name=NAME,
        kind=TestKind.TOOL,
        body=ORDINARY,
        server=NAME,
        servers=(NAME,),
        method=method,
        params=params,
        expect={},
        timeout_seconds=timeout_seconds,
        file="",
        line=0,
    )


def _validity_of(session: Session) -> Any:
    from mcptest_engine.judging.validity import Validity

    if session.spec.validity == "off" or session.protocol_version is None:
        return None
    return Validity(session.protocol_version, fails=session.spec.validity == "fail")


def _check_matcher(written: Mapping[str, object]) -> None:
    __tracebackhide__ = True
    from mcptest_engine.judging.matchers import MATCHERS

    if len(written) != 1:
        found = ", ".join(f"`{name}`" for name in written) or "none"
        raise UsageError(f"one matcher is needed, found {found}", hint="for example: exact=3")
    (name,) = written
    if name not in MATCHERS:
        raise UsageError(f"unknown matcher `{name}`", hint=did_you_mean(name, MATCHERS))
