"""The engine process as the workbench sees it: sends commands, takes events, and starts a process that has ended again.

Everything happens on the loop that `start` was called on. Events are handed on synchronously as their lines come; the lines are
small, because the child cuts what is large before it writes. The surprising thing: there are no time limits. A request ends
with its answer or with the child.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import deque
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_engine.engine_process.protocol import Lines, encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.engine_process.workbench_events import Send

    OnState = Callable[[str, str], None]
    OnRequest = Callable[[str, dict[str, Any]], None]

MOST_LOSSES = 3
LOSSES_WITHIN_SECONDS = 60.0
FIRST_PAUSE_SECONDS = 0.1
QUIT_SECONDS = 0.85
"""How long the child may take to end its servers and itself before it is killed; it gives itself less."""
_TERMINATE_SECONDS = 0.1
_DRAIN_SECONDS = 0.5
_STDERR_KEPT = 4_000
_REMEMBERED = frozenset({"watch", "traffic_on", "spare_servers"})
"""Commands that set something which are sent to a new child again; of each the last one counts."""
_BOOTSTRAP = (
    "import sys; sys.path.insert(0, {root!r}); "
    "from mcptest_engine.engine_process.__main__ import main; sys.exit(main())"
)


class EngineError(Exception):
    """The engine refused a command, or is gone.

    `kind` is a word for programs: "suite", "server", "timeout", "gone", "usage", "protocol" or "bug". `more` are
    further members of the reply, such as `problems` and `stderr`.
    """

    def __init__(self, message: str, hint: str | None = None, *, kind: str = "gone", **more: Any) -> None:
        super().__init__(message)
        self.message, self.hint, self.kind, self.more = message, hint, kind, more


class EngineClient:
    """One engine child. `on_event` gets every event; `on_state` gets ("ready", ""), ("lost", why) and ("gone", why).

    A child that is lost is started once again by itself; after the third loss within a minute it is "gone" and stays so until
    `start` is called. Both are called on the loop, and must be quick.
    """

    def __init__(self, on_event: Send, on_state: OnState, on_request: OnRequest | None = None) -> None:
        self._on_event, self._on_state, self._on_request = on_event, on_state, on_request
        self._numbers = count(1)
        self._requests: dict[int, asyncio.Future[Any]] = {}
        self._remembered: dict[str, dict[str, Any]] = {}
        self._losses: deque[float] = deque(maxlen=MOST_LOSSES)
        self._cwd: str | None = None
        self._child: _Child | None = None
        self._up: asyncio.Event | None = None
        self._restarting: asyncio.Task[None] | None = None
        self._why_not = "the engine was not started"
        """Why no command can be sent; "" while the engine runs or is started again."""

    @property
    def pid(self) -> int | None:
        """The pid of the engine process, None while there is none."""
        return None if self._child is None else self._child.pid

    async def start(self, cwd: str) -> None:
        """Start the child; returns once it runs, and "ready" follows when it answers. Raises: EngineError."""
        self._cwd, self._up, self._why_not = cwd, asyncio.Event(), ""
        self._losses.clear()
        try:
            await self._spawn()
        except OSError as wrong:
            self._why_not = f"the engine cannot be started: {wrong.strerror or wrong}"
            raise EngineError(self._why_not) from None

    async def request(self, do: str, **arguments: object) -> Any:
        """Send a command and return the answer; wait for a new engine process while there is none.

        Raises: EngineError when it refuses, is lost before it has answered, or is gone for good. When the caller is cancelled,
        so is the command.
        """
        while self._child is None and not self._why_not:
            assert self._up is not None
            await self._up.wait()
        if self._child is None:
            raise EngineError(self._why_not)
        number = next(self._numbers)
        answer = self._requests[number] = asyncio.get_running_loop().create_future()
        self._remember(do, arguments)
        if self._on_request is not None:
            self._on_request(do, arguments)
        self._child.send({"ask": number, "do": do, **arguments})
        try:
            return await answer
        except asyncio.CancelledError:
            self.send("forget", number=number)
            raise
        finally:
            self._requests.pop(number, None)

    def send(self, do: str, **arguments: object) -> None:
        """Send a command without an answer; one that is refused comes back as the event `command.failed`.

        Without a child it is lost, except those that set something, which are sent to every new child.
        """
        self._remember(do, arguments)
        if self._child is not None:
            self._child.send({"do": do, **arguments})

    def restart(self) -> None:
        """End the child, with every server; it is started again as one that was lost."""
        if self._child is not None:
            self._child.terminate()

    async def close(self) -> None:
        """End the child and with it every server, within a second whatever they do. May be called again."""
        self._why_not = self._why_not or "the engine was closed"
        self._wake()
        if self._restarting is not None:
            self._restarting.cancel()
            await asyncio.wait((self._restarting,))
        child, self._child = self._child, None
        self._fail_requests(self._why_not)
        if child is not None:
            await child.end()

    def _remember(self, do: str, arguments: dict[str, Any]) -> None:
        if do in _REMEMBERED:
            self._remembered[do] = arguments

    async def _spawn(self) -> None:
        loop = asyncio.get_running_loop()
        child = _Child(self._line, self._on_child_end)
        await loop.subprocess_exec(
            lambda: child,
            *engine_argv(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self._cwd,
            start_new_session=True,  # no key of the terminal reaches it, and it can be killed as a group
        )
        if self._why_not:  # closed meanwhile
            await child.end()
            return
        self._child = child
        number = next(self._numbers)
        hello = self._requests[number] = loop.create_future()
        hello.add_done_callback(lambda done: self._answered(child, number, done))
        child.send({"ask": number, "do": "hello", "cwd": self._cwd})
        for do, arguments in self._remembered.items():
            child.send({"do": do, **arguments})
        assert self._up is not None
        self._up.set()

    def _answered(self, child: _Child, number: int, hello: asyncio.Future[object]) -> None:
        self._requests.pop(number, None)
        if not hello.cancelled() and hello.exception() is None and child is self._child:
            self._on_state("ready", "")

    def _line(self, line: bytes) -> None:
        try:
            message = json.loads(line.decode())  # of bytes it would look for the encoding each time
        except ValueError:
            return
        if "event" in message:
            self._on_event(message)
            return
        answer = self._requests.get(message.get("reply"))
        if answer is None or answer.done():
            return
        if "error" in message:
            error = message["error"]
            answer.set_exception(EngineError(error.pop("message"), error.pop("hint", None), **error))
        else:
            answer.set_result(message["ok"])

    def _on_child_end(self, child: _Child, why: str) -> None:
        if child is not self._child:
            return  # ended on purpose
        self._child = None
        assert self._up is not None
        self._up.clear()
        self._fail_requests(f"the engine stopped ({why})")
        now = asyncio.get_running_loop().time()
        self._losses.append(now)
        many = len(self._losses) == MOST_LOSSES and now - self._losses[0] < LOSSES_WITHIN_SECONDS
        if many:
            self._give_up(f"it stopped {MOST_LOSSES} times within a minute, at last with {why}")
            return
        self._on_state("lost", why)
        self._restarting = asyncio.ensure_future(self._restart())

    async def _restart(self) -> None:
        await asyncio.sleep(FIRST_PAUSE_SECONDS * 4 ** (len(self._losses) - 1))
        try:
            await self._spawn()
        except OSError as wrong:
            self._give_up(f"it cannot be started again: {wrong.strerror or wrong}")

    def _give_up(self, why: str) -> None:
        self._why_not = f"the engine is gone: {why}"
        self._wake()
        self._on_state("gone", why)

    def _wake(self) -> None:
        if self._up is not None:
            self._up.set()

    def _fail_requests(self, why: str) -> None:
        requests, self._requests = self._requests, {}
        for answer in requests.values():
            if not answer.done():
                answer.set_exception(EngineError(why))
                answer.exception()  # looked at: whoever asked may be gone


class _Child(asyncio.SubprocessProtocol):
    """The engine process: calls `on_line` for each line of output, and `on_end` once."""

    def __init__(self, on_line: Callable[[bytes], None], on_end: Callable[[_Child, str], None]) -> None:
        self._on_line, self._on_end = on_line, on_end
        self._loop = asyncio.get_running_loop()
        self._lines = Lines()
        self._stderr = b""
        self._stdin: asyncio.WriteTransport | None = None
        self._exited = asyncio.Event()
        self._stdout_open = True
        self._is_reported = False
        self.pid = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        self.pid = transport.get_pid()
        stdin = transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        self._stdin = stdin

    def send(self, command: dict[str, Any]) -> None:
        """Write one command; what cannot be written any more is of no use to a child that is going."""
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write(encode(command))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 1:
            self._stderr = (self._stderr + data)[-_STDERR_KEPT:]
            return
        for line in self._lines.feed(data):
            try:
                self._on_line(line)
            except Exception as wrong:  # noqa: BLE001 - a listener that fails must not cost the lines behind this one
                self._loop.call_exception_handler({"message": "an engine event was not taken", "exception": wrong})

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        if fd == 1:
            self._stdout_open = False
            if self._exited.is_set():
                self._report_end()

    def process_exited(self) -> None:
        self._exited.set()
        if self._stdout_open:  # what it said last is still on its way
            self._loop.call_later(_DRAIN_SECONDS, self._report_end)
        else:
            self._report_end()

    async def end(self) -> None:
        """Close its stdin, then ask, then force; what it started is in its hands, and in its guardian's when it is killed."""
        self._is_reported = True
        try:
            if self._stdin is not None:
                self._stdin.close()
            for wait, signum in ((QUIT_SECONDS, signal.SIGTERM), (_TERMINATE_SECONDS, signal.SIGKILL)):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._exited.wait(), wait)
                    return
                self._signal(signum)
            await self._exited.wait()
        finally:
            self._signal(signal.SIGKILL)
            self._transport.close()

    def terminate(self) -> None:
        """Ask the engine process to end."""
        self._signal(signal.SIGTERM)

    def _signal(self, signum: signal.Signals) -> None:
        if not self._exited.is_set():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signum)

    def _report_end(self) -> None:
        if self._is_reported:
            return
        self._is_reported = True
        self._transport.close()
        self._on_end(self, self._why())

    def _why(self) -> str:
        code = self._transport.get_returncode()
        if code is not None and code < 0:
            return f"signal {-code}"
        last = self._stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return f"exit code {code}" + (f": {last}" if last else "")


def engine_argv() -> tuple[str, ...]:
    """How the child is started: by the same interpreter, from the same files, and from no file of the working directory."""
    import mcptest_engine

    root = Path(mcptest_engine.__file__).resolve().parents[1]
    if root.name in ("site-packages", "dist-packages"):
        return (sys.executable, "-P", "-m", "mcptest_engine.engine_process")
    return (sys.executable, "-P", "-c", _BOOTSTRAP.format(root=str(root)))
