"""The sessions that one test talks over: the run's shared ones, or for its own server one with its own `client`.

A check that is pinned to a revision talks over the session of its server that offers that revision.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.errors import CallTimeout, ServerDied, ServerError
from mcptest_engine.running.cases import Check

if TYPE_CHECKING:
    from mcptest_engine.running.cases import Case
    from mcptest_engine.running.pool import Pool
    from mcptest_engine.servers.session import Session


class Broken(NamedTuple):
    """A shared session over which a call got no answer: the server died, or the call timed out (`hung`).

    `name` is what the pool calls it by, `session` None where none was to be had, for what `why` says, and nothing was asked.
    """

    name: str
    session: Session | None
    hung: bool = False
    why: str = ""


class Sessions:
    """What a test's call and the steps of its `verify` are sent over. `close` must be awaited, whatever happened.

    A session of the test's own lasts for an attempt, since what its `client` answers may go on from one request to the next.
    Only the attempt after an answer that the test had dropped goes over the same one, as a client's would. `shared` are the
    sessions of the run that it has used, `broken` those over which calls of the last attempt got no answer.
    """

    def __init__(self, pool: Pool, case: Case) -> None:
        self._pool = pool
        self._case = case
        pin = case.body.pin if isinstance(case.body, Check) else None
        self._pinned = None if pin is None else pool.pinned(case.server, pin)
        self._client = case.request.client
        self.shared: dict[str, Session] = {}
        self.broken: list[Broken] = []
        self._own: dict[str, Session] = {}
        self._held: AsyncExitStack | None = None

    def is_own(self, server: str) -> bool:
        """Whether nobody but this test talks over the session with `server`."""
        return (self._client is not None and server == self._case.server) or self._case.fresh.get(server) == ""

    async def reach(self, server: str) -> Session:
        """The session to read a list over: as `get`, but that none is to be had is no failure of the test's own call."""
        return await (self._get_own(server) if self.is_own(server) else self._pool.session(self._key(server)))

    async def get(self, server: str) -> Session:
        """The session to ask `server` over. Raises: ServerError when it does not start, or died once too often."""
        if self.is_own(server):
            return await self._get_own(server)
        server = self._key(server)
        session = self._pool.ready(server)
        if session is None:
            try:
                session = await self._pool.session(server)
            except ServerError as error:
                self.broken.append(Broken(server, None, why=error.message))
                raise
        self.shared[server] = session
        return session

    def redact_registered(self, value: object) -> Any:
        """The value without the secrets that the run knows, for whoever else than a person is given it."""
        return self._pool.redactor.redact_registered(value)

    def failed(self, server: str, session: Session, error: ServerError) -> None:
        """A call over `session` failed: where the server died of it or fell silent, the others are told."""
        if self.is_own(server):
            return
        name = self._key(server)
        if isinstance(error, ServerDied):
            self._pool.lost(name, session, error, test=self._case.id)
            self.broken.append(Broken(name, session))
        elif isinstance(error, CallTimeout):
            self.broken.append(Broken(name, session, hung=True))
            if session.is_silent:
                self._pool.timed_out(name, session, error, test=self._case.id)

    async def renew(self, server: str, session: Session) -> None:
        """`session` was cut off on purpose: another one is opened in its place."""
        if self.is_own(server):
            await self.close()
        else:
            await self._pool.renew(self._key(server), session)

    async def close(self) -> None:
        """End the test's own sessions, if it has any; the next call begins another."""
        if self._held is None:
            return
        held, self._held, self._own = self._held, None, {}
        await held.aclose()

    def _key(self, server: str) -> str:
        """What the pool calls the session with the server."""
        if self._pinned is not None:
            return self._pinned
        key = self._case.fresh.get(server)
        return self._pool.session_of_group(server, key) if key else server

    async def _get_own(self, server: str) -> Session:
        own = self._own.get(server)
        if own is not None and own.alive:
            return own
        if own is not None:
            await self.close()
        if self._held is None:
            self._held = AsyncExitStack()
        client = self._client if server == self._case.server else None
        opening = self._pool.own_session(server, client, fresh=self._case.fresh.get(server) == "")
        own = self._own[server] = await self._held.enter_async_context(opening)
        return own
