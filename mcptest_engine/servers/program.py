"""A server that mcptest starts and talks to over HTTP: its process, its port, and the wait until it is ready.

One program serves all sessions of a run, so that a new session finds the same state. Its port must be free before it starts,
and the process that listens there afterwards must not be older than it: otherwise another server would be tested instead.
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from mcptest_engine.core.errors import ServerDidNotStart
from mcptest_engine.core.tasks import retrieve_exception
from mcptest_engine.core.text import quoted
from mcptest_engine.servers.certificates import cannot_start
from mcptest_engine.servers.child import Child
from mcptest_engine.servers.failures import Ending, duration, start_hint
from mcptest_engine.servers.listeners import ports_of_session, process_of, process_on_port
from mcptest_engine.servers.readiness import NO_TIME, PORTS, SHORT_TRY_SECONDS, tried
from mcptest_engine.servers.spec import Readiness
from mcptest_engine.servers.stdio import STDERR_KEPT_BYTES, OutputTail, read_available
from mcptest_engine.servers.urls import shown_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.servers.transport import Receiver

PORT_PLACE = "{port}"
"""The placeholder for the port of `url` in `command` and `env`."""
_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.25
_TRY_SECONDS = 2.0
_EXIT_WAIT_SECONDS = 0.5  # between a broken connection and the exit that explains it
_LOCAL = {"localhost": ("127.0.0.1", "::1"), "0.0.0.0": ("127.0.0.1",), "::": ("::1",)}  # noqa: S104
_FREE_PORT_HINT = (
    f"end it, or let mcptest choose a free port: port 0 in `url`, and `{PORT_PLACE}` in `command` or `env`"
)

_on_ports: dict[int, Program] = {}
"""The running programs of this process, by port."""


class Programs:
    """The programs of one run, each started for its first session. `close` must be awaited in every case."""

    def __init__(self) -> None:
        self._running: dict[str, Program] = {}
        self._retired: list[Program] = []

    def join(self, spec: ServerSpec, receiver: Receiver) -> Program:
        """Return the program of the server, restarted where it has ended. `receiver` is informed when it ends."""
        program = self._running.get(spec.name)
        if program is None or program.is_over:
            if program is not None:
                self._retired.append(program)
            program = self._running[spec.name] = Program(spec)
        program.users.append(receiver)
        return program

    async def end(self, name: str) -> None:
        """End the program of a server; the next session starts another."""
        program = self._running.pop(name, None)
        if program is not None:
            await program.stop()

    def retire(self, name: str) -> None:
        """Start another program for the next session of a server. This one ends with the run, or now if it uses the port."""
        program = self._running.pop(name, None)
        if program is not None:
            self._retired.append(program)
            if not program.has_free_port:
                program.begin_stop()

    async def close(self) -> None:
        """End all programs, and wait until they are gone."""
        programs = [*self._running.values(), *self._retired]
        self._running.clear()
        self._retired.clear()
        await asyncio.gather(*(program.stop() for program in programs))


class Program:
    """One started program. `url` is its address, with the chosen port."""

    def __init__(self, spec: ServerSpec) -> None:
        assert spec.url is not None
        self._spec = spec
        self.users: list[Receiver] = []
        self.url = spec.url
        try:
            self.has_free_port = urlsplit(spec.url).port == 0
        except ValueError:  # a variable of the environment may be in the URL
            raise cannot_start(spec, f'"{shown_url(spec.url)}" is not an http or https URL') from None
        self._child: Child | None = None
        self._output = OutputTail(STDERR_KEPT_BYTES, spec.redact)
        self._pipes: list[int] = []
        self._changed = asyncio.Event()
        self._starting: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._port = 0
        self._is_gone = False

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or could not be started."""
        failed = self._starting is not None and self._starting.done() and not self._is_ready
        return failed or self._stopping is not None or (self._child is not None and self._child.exited.done())

    @property
    def _is_ready(self) -> bool:
        start = self._starting
        return start is not None and start.done() and not start.cancelled() and start.exception() is None

    async def ready(self) -> None:
        """Wait until it is ready, once for all callers. Raises: ServerDidNotStart."""
        if self._starting is None:
            self._starting = asyncio.get_running_loop().create_task(self._start())
            self._starting.add_done_callback(retrieve_exception)
        await asyncio.shield(self._starting)

    def output_since(self, at: float) -> str:
        """The last 64 KiB that it wrote on stdout and stderr after the monotonic time `at`."""
        return self._output.text(since=at)

    async def delivered(self) -> None:
        """Wait a moment for an exit that explains a broken connection."""
        if self._child is not None:
            await asyncio.wait((self._child.exited,), timeout=_EXIT_WAIT_SECONDS)

    def begin_stop(self) -> asyncio.Task[None]:
        """Begin to end its process group."""
        if self._stopping is None:
            self._stopping = asyncio.ensure_future(self._stop())
        return self._stopping

    async def stop(self) -> None:
        """End its process group: SIGTERM, then SIGKILL after the grace. May be called again, also while it runs."""
        await asyncio.shield(self.begin_stop())

    async def _stop(self) -> None:
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await asyncio.wait((self._starting,))
        if self._child is None or self._is_gone:
            return
        how_far = await self._end_child(self._child)
        if how_far == "SIGKILL" and self.users:
            self.users[-1].remarks.add(f"still ran {self._spec.grace_seconds:g} s after SIGTERM, and was killed")

    # --- the start

    async def _start(self) -> None:
        self._port = await self._take_port()
        _on_ports[self._port] = self
        try:
            self._child = Child(_with_port(self._spec, self._port), self._exited, self._waiting)
        except BaseException:
            self._leave_port()
            raise
        loop = asyncio.get_running_loop()
        for pipe in (self._child.stdout, self._child.stderr):
            self._pipes.append(pipe)
            loop.add_reader(pipe, self._read, pipe)
        for user in self.users:
            user.started(self._child.pid)
        try:
            await self._wait_until_ready(self._child)
            self._check_listener(self._child)
        except ServerDidNotStart:
            await self._end_child(self._child)
            raise

    async def _take_port(self) -> int:
        """Take the port of `url`, which must be free, or a free one where it is 0. Raises: ServerDidNotStart."""
        parts = urlsplit(self._spec.url or "")
        host, port = parts.hostname or "", parts.port
        if port == 0:
            port = _free_port(host)
            self.url = urlunsplit(parts._replace(netloc=f"{_in_url(host)}:{port}"))
            return port
        port = port or PORTS.get(parts.scheme, 80)
        other = _on_ports.get(port)
        if other is not None and other.is_over:
            await other.stop()
            other = None
        if other is not None:
            raise self._failure(
                f'port {port} is used by the server "{other._spec.name}" of another session that mcptest has open',
                hint=_FREE_PORT_HINT,
            )
        if _is_taken(host, port):
            holder = process_on_port(port)
            taken_by = "another program" if holder is None else f"process {holder.pid} ({holder.name})"
            raise self._failure(f"port {port} is taken by {taken_by}", hint=_FREE_PORT_HINT)
        return port

    async def _wait_until_ready(self, child: Child) -> None:
        ready = self._spec.ready or Readiness(self._spec.connect_timeout_seconds)
        deadline, pause = monotonic() + ready.timeout_seconds, _FIRST_PAUSE_SECONDS
        reason = ""
        while (left := deadline - monotonic()) > 0:
            wrong = await self._look(ready, child, min(left, _TRY_SECONDS))
            if child.exited.done():
                ending = self._ending(child)
                raise self._failure(f"it {ending.clause} before it was ready", ending=ending)
            if wrong is None:
                return
            if left > SHORT_TRY_SECONDS or not reason:
                reason = wrong
            if not self._changed.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), max(0.0, min(pause, deadline - monotonic())))
            self._changed.clear()
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
        clause = f"it was not ready within {duration(ready.timeout_seconds)}: {reason or NO_TIME}"
        raise self._failure(clause, hint=self._hint_of_ports(child) or _longer_time_hint(ready))

    async def _look(self, ready: Readiness, child: Child, seconds: float) -> str | None:
        """Why it is not ready yet, as a phrase; None when it is, or has ended."""
        if ready.output is not None:
            output = self._output.text(since=0.0)
            return None if ready.output in output else f"it has not written {quoted(ready.output)}"
        parts = urlsplit(self.url)
        url = self.url
        if ready.path is not None:
            url = urlunsplit(parts._replace(path=ready.path, query=""))
        elif ready.port is not None:
            url = f"http://{_in_url(parts.hostname or '')}:{ready.port}"
        spec = replace(self._spec, url=url)
        condition = ready._replace(url=None if ready.path is None else url)
        asking = asyncio.ensure_future(tried(spec, condition, seconds))
        await asyncio.wait((asking, child.exited), return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            asking.cancel()
            await asyncio.wait((asking,))
            return None
        wrong = asking.result()
        return None if wrong is None else f"{wrong} at {shown_url(url)}"

    def _check_listener(self, child: Child) -> None:
        """Refuse a program when an older process listens on the port: that may have taken it meanwhile."""
        own, listener = process_of(child.pid), process_on_port(self._port)
        if (
            own is not None
            and listener is not None
            and listener.session != child.pid
            and listener.started < own.started
        ):
            clause = f"process {listener.pid} ({listener.name}) listens on port {self._port} in its place"
            raise self._failure(clause, hint=_FREE_PORT_HINT)

    def _hint_of_ports(self, child: Child) -> str | None:
        ports = [str(port) for port in ports_of_session(child.pid) if port != self._port]
        if not ports or self._port == 0:
            return None
        return f"it listens on port {' and '.join(ports)}, and `url` has port {self._port}"

    def _failure(self, clause: str, *, hint: str | None = None, ending: Ending | None = None) -> ServerDidNotStart:
        output = self._output.text(since=0.0)
        return ServerDidNotStart(
            f'server "{self._spec.name}" did not start: {clause}',
            server=self._spec.name,
            hint=hint or start_hint(self._spec, output),
            stderr_tail=output,
            exit_code=None if ending is None else ending.exit_code,
            signal=None if ending is None else ending.signal,
            clause=clause,
        )

    # --- the process

    def _ending(self, child: Child) -> Ending:
        return child.ending() or Ending(clause="ended")

    def _waiting(self) -> Iterable[tuple[str, float]]:
        return [one for user in self.users for one in user.waiting()]

    def _exited(self) -> None:
        for pipe in tuple(self._pipes):
            self._read(pipe)
        self._changed.set()
        if self._child is not None and self._stopping is None:
            for user in self.users:
                user.lost(self._ending(self._child))

    def _read(self, pipe: int) -> None:
        while (data := read_available(pipe)) is not None:
            if not data:
                self._close_pipe(pipe)
                return
            at = monotonic()
            self._output.add(at, data)
            self._changed.set()
            for user in self.users:
                user.wrote(at)

    def _close_pipe(self, pipe: int) -> None:
        if pipe in self._pipes:
            self._pipes.remove(pipe)
            asyncio.get_running_loop().remove_reader(pipe)
            os.close(pipe)
            if not self._pipes:
                for user in self.users:
                    user.wrote(monotonic(), ended=True)

    async def _end_child(self, child: Child) -> str:
        """End the process group and release its pipes and its port; return the last step that was necessary."""
        with suppress(OSError):
            os.close(child.stdin)
        try:
            return await child.stop(self._spec.grace_seconds, by_signal=True)
        finally:
            for pipe in tuple(self._pipes):
                self._read(pipe)
                self._close_pipe(pipe)
            self._leave_port()
            self._is_gone = True

    def _leave_port(self) -> None:
        if _on_ports.get(self._port) is self:
            del _on_ports[self._port]


def _with_port(spec: ServerSpec, port: int) -> ServerSpec:
    """Put the port into the spec's placeholders."""
    command = tuple(word.replace(PORT_PLACE, str(port)) for word in spec.command or ())
    return replace(
        spec, command=command, env={name: value.replace(PORT_PLACE, str(port)) for name, value in spec.env.items()}
    )


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _free_port(host: str) -> int:
    """A free port; the program opens it a moment later."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    while True:
        with socket.socket(family) as probe:
            probe.bind(("::1" if family is socket.AF_INET6 else "127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port not in _on_ports:
            return port


def _is_taken(host: str, port: int) -> bool:
    """Whether a process accepts connections there; only for addresses of this machine, which answer at once."""
    for address in _LOCAL.get(host, (host,)):
        if not (address.startswith("127.") or address == "::1"):
            continue
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
            probe.settimeout(_TRY_SECONDS)
            with suppress(OSError):
                probe.connect((address, port))
                return True
    return False


def _longer_time_hint(ready: Readiness) -> str:
    if ready.output is not None or ready.path is not None or ready.port is not None:
        return "check `ready`; `ready: { timeout: 2m }` waits longer"
    return "check that the program listens on the port of `url`; `ready: { timeout: 2m }` waits longer"
