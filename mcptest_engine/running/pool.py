"""The sessions of a run: one for each server, opened when first needed, given one more try when the server dies.

A server that cannot be started fails every test that needs it with the same error, after a single try. One that dies later
fails the tests in flight and is started once more for the rest.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import ServerDied, ServerError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from mcptest_engine.core.events import Emit
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.core.results import ServerRecord
    from mcptest_engine.servers.session import Session
    from mcptest_engine.servers.spec import ServerSpec

    Connect = Callable[[ServerSpec], Awaitable[Session]]

MAX_RESTARTS = 1


@dataclass(slots=True)
class _Entry:
    """One server: the session being opened or open, and what became of earlier ones."""

    opening: asyncio.Task[Session]
    session: Session | None = None
    restarts: int = 0
    lost: ServerDied | None = None


class Pool:
    """Opens, shares, restarts and closes sessions. `close` must be awaited, whatever happened."""

    def __init__(
        self,
        specs: Mapping[str, ServerSpec],
        connect: Connect,
        redactor: Callable[[], Redactor],
        *,
        restart: bool = True,
    ) -> None:
        self._specs = specs
        self._redactor = redactor
        self._connect = connect
        self.restart = restart
        self.emit: Emit = lambda _event: None
        self.remarks: dict[str, list[str]] = {}
        self._entries: dict[str, _Entry] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def redactor(self) -> Redactor:
        """What takes the run's secrets out of everything that is told."""
        return self._redactor()

    def warnings(self) -> tuple[str, ...]:
        """What was odd about the servers, in the order of the suite."""
        return tuple(remark for name in self._specs for remark in self.remarks.get(name, ()))

    @property
    def well(self) -> bool:
        """Whether every server that was opened, or is being opened, can still be used."""
        return all(
            entry.opening.exception() is None and entry.opening.result().alive
            for entry in self._entries.values()
            if entry.opening.done() and not entry.opening.cancelled()
        )

    def warm(self, names: Iterable[str]) -> None:
        """Begin to open the sessions of these servers, without waiting for any."""
        for name in names:
            if name not in self._entries:
                self._entries[name] = self._opened(name)

    def ready(self, name: str) -> Session | None:
        """The server's session if it is open and well: the way of nearly every test, without a turn of the loop."""
        entry = self._entries.get(name)
        return entry.session if entry is not None and entry.session is not None and entry.session.alive else None

    async def session(self, name: str) -> Session:
        """The server's session, opened now if need be.

        Raises ServerError when the server did not start, or died and has had its second chance.
        """
        while True:
            self.warm((name,))
            entry = self._entries[name]
            if entry.session is not None and not entry.session.alive:
                self._restart(name, entry)
            opening = entry.opening
            session = await asyncio.shield(opening)
            if opening is entry.opening:  # else it was found dead, and another is being opened in its place
                entry.session = session
                if session.alive:  # else it ended before anything was asked of it, and gets its second chance at once
                    return session

    def lost(self, name: str, session: Session, error: ServerDied) -> None:
        """Take note that a call ended with the death of `session`; told once for each death."""
        entry = self._entries[name]
        if entry.session is session and entry.lost is None:
            entry.lost = error
            self._failed(name, error, restarting=self.restart and entry.restarts < MAX_RESTARTS)

    async def close(self) -> None:
        """End every server of the run, all at once, and wait until each is reaped."""
        for entry in self._entries.values():
            if not entry.opening.done():
                entry.opening.cancel()
        sessions = []
        for entry in self._entries.values():
            (outcome,) = await asyncio.gather(entry.opening, return_exceptions=True)
            if not isinstance(outcome, BaseException):
                sessions.append(outcome)
        await asyncio.gather(*(session.close() for session in sessions), *self._closing, return_exceptions=True)

    def records(self) -> tuple[ServerRecord, ...]:
        """What the record says of each server that the run reached for, in the order of the suite."""
        return tuple(
            _record(self._specs[name], self._entries[name], self.redactor)
            for name in self._specs
            if name in self._entries
        )

    def _opened(self, name: str, restarts: int = 0) -> _Entry:
        task = asyncio.get_running_loop().create_task(self._open(name), name=f"server {name}")
        task.add_done_callback(_retrieve)
        return _Entry(opening=task, restarts=restarts)

    async def _open(self, name: str) -> Session:
        started = time.monotonic()
        connecting = asyncio.ensure_future(self._connect(self._specs[name]))
        try:
            await asyncio.sleep(0)  # the server is spawned before anything is imported
            from mcptest_engine.core.events import ServerReady, ServerStarting, Warned

            self.emit(ServerStarting(server=name))
            session = await connecting
        except ServerError as error:
            self._failed(name, error, restarting=False)
            raise
        except asyncio.CancelledError:
            await _abandon(connecting)
            raise
        redact = self.redactor.redact_text
        for remark in session.remarks:
            self.remarks.setdefault(name, []).append(redact(remark))
            self.emit(Warned(message=redact(remark)))
        self.emit(
            ServerReady(
                server=name,
                server_info=self.redactor.redact(session.server_info),
                protocol_version=_redacted(session.protocol_version, redact),
                duration_ms=(time.monotonic() - started) * 1000,
            )
        )
        return session

    def _failed(self, name: str, error: ServerError, *, restarting: bool) -> None:
        from mcptest_engine.core.events import ServerFailed
        from mcptest_engine.running.verdicts import failure_of

        failure, redact = failure_of(error), self.redactor.redact_text
        failure = replace(
            failure,
            message=redact(failure.message),
            hint=_redacted(failure.hint, redact),
            stderr_tail=_redacted(failure.stderr_tail, redact),
        )
        self.emit(ServerFailed(server=name, failure=failure, restarting=restarting))

    def _restart(self, name: str, entry: _Entry) -> None:
        dead = entry.session
        assert dead is not None
        error = entry.lost or _idle_death(name, dead)
        self.lost(name, dead, error)
        if not self.restart or entry.restarts >= MAX_RESTARTS:
            raise error if entry.restarts == 0 else _given_up(name, error)
        closing = asyncio.ensure_future(dead.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        fresh = self._opened(name, entry.restarts + 1)
        entry.opening, entry.session, entry.restarts, entry.lost = fresh.opening, None, fresh.restarts, None


def _retrieve(task: asyncio.Task[Session]) -> None:
    if not task.cancelled():
        task.exception()


def _idle_death(name: str, dead: Session) -> ServerDied:
    clause = dead.ending.clause if dead.ending is not None else "closed its connection"
    return ServerDied(
        f'server "{name}" {clause} while nothing was asked of it', server=name, stderr_tail=dead.stderr_tail
    )


def _given_up(name: str, error: ServerDied) -> ServerDied:
    told = f"{error.message.partition('; its last message')[0]}; it had been restarted once already"
    return ServerDied(told, server=name, stderr_tail=error.stderr_tail, exit_code=error.exit_code, signal=error.signal)


async def _abandon(connecting: asyncio.Task[Session]) -> None:
    """Nobody waits for the session any longer: end it, at whatever stage it is."""
    connecting.cancel()
    (outcome,) = await asyncio.gather(connecting, return_exceptions=True)
    if not isinstance(outcome, BaseException):
        await outcome.close()


def _redacted(text: str | None, redact: Callable[[str], str]) -> str | None:
    return None if text is None else redact(text)


def _record(spec: ServerSpec, entry: _Entry, redactor: Redactor) -> ServerRecord:
    from mcptest_engine.core.results import ServerRecord

    failed = entry.opening.exception() if entry.opening.done() and not entry.opening.cancelled() else None
    session = entry.session
    if session is None and entry.opening.done() and not entry.opening.cancelled() and failed is None:
        session = entry.opening.result()
    stderr = session.stderr_tail if session is not None else getattr(failed, "stderr_tail", "")
    return ServerRecord(
        name=spec.name,
        transport="stdio" if spec.command is not None else "http",
        auth=spec.auth,
        server_info=redactor.redact(session.server_info) if session is not None else None,
        protocol_version=_redacted(session.protocol_version, redactor.redact_text) if session is not None else None,
        restarts=entry.restarts,
        stderr_tail=redactor.redact_text(stderr),
    )
