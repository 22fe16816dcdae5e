"""The sessions that the suites of one command share, so that a server is started once for all of them.

Suites share a session if all settings of the server are the same in both, its name included. The surprising thing: a session
over which a call got no answer is not handed on, and neither is one that was opened in place of another; the next suite
starts the server anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable

    from mcptest_engine.servers.session import Session
    from mcptest_engine.servers.spec import ServerSpec

    Connect = Callable[[ServerSpec], Awaitable[Session]]


class _Server:
    """One server of one or more suites: `users` counts the runs that may still need it, `user` is the run that has it now."""

    def __init__(self, spec: ServerSpec, secrets: Collection[str]) -> None:
        self.key = replace(spec, config_dir=None)
        self.secrets = secrets
        self.users = 0
        self.user: SuiteServers | None = None
        self.session: Session | None = None
        self.used_by: str | None = None
        self._spec = spec
        self._found_secrets: dict[str, None] = {}

    def use_spec(self, spec: ServerSpec) -> ServerSpec:
        """The spec of a session whose secrets are redacted by the run that has it, whichever that is."""
        self._spec = spec
        for secret in self._found_secrets:
            spec.keep_secret(secret)
        return replace(spec, redact=self._redact, keep_secret=self._keep_secret)

    def _redact(self, text: str) -> str:
        return self._spec.redact(text)

    def _keep_secret(self, secret: str) -> None:
        self._found_secrets[secret] = None
        self._spec.keep_secret(secret)


class SharedServers:
    """The servers of all suites of a command. Each suite joins before the first one runs, and leaves when it has run."""

    def __init__(self) -> None:
        self._servers: list[_Server] = []

    def join(self, path: str, specs: Iterable[ServerSpec], secrets: Collection[str]) -> SuiteServers:
        """The servers that the suite at `path` can share. `secrets` are the suite's: they decide what is shown."""
        joined = {}
        for spec in specs:
            key = replace(spec, config_dir=None)
            server = next((one for one in self._servers if one.key == key and one.secrets == secrets), None)
            if server is None:
                server = _Server(spec, secrets)
                self._servers.append(server)
            server.users += 1
            joined[spec.name] = server
        return SuiteServers(path, joined)


class SuiteServers:
    """The servers that one suite can share, by name. Its pool takes them from here, and must `leave`, whatever happened."""

    def __init__(self, path: str, servers: dict[str, _Server]) -> None:
        self._path = path
        self._servers = servers

    async def take(self, spec: ServerSpec, connect: Connect) -> Session:
        """The session that an earlier suite left open, or a new one. Raises: ServerError."""
        server = self._servers.get(spec.name)
        if server is None or server.user is not None:  # this run has had it, or one beside this one has it
            return await connect(spec)
        server.user = self
        session, server.session = server.session, None
        spec = server.use_spec(spec)
        if session is not None and session.alive:
            session.start_over(spec, used_by=server.used_by)
        else:
            if session is not None:
                await session.close()
            session = await connect(spec)
        server.session = session
        return session

    def leave(self, sessions: Collection[Session]) -> tuple[set[Session], list[Session]]:
        """Which of the run's `sessions` stay open for another suite, and which others no suite needs any more."""
        kept: set[Session] = set()
        unneeded: list[Session] = []
        for server in self._servers.values():
            server.users -= 1
            session = server.session
            if server.user is self:
                server.user = None
                if session is None or session not in sessions:  # another one was opened in its place
                    server.session = None
                elif session.alive and session.is_intact and server.users:
                    session.remarks.report_noise(session.transport)
                    server.used_by = self._path
                    kept.add(session)
                else:
                    server.session = None
            elif server.user is None and session is not None and not server.users:
                server.session = None
                unneeded.append(session)
        self._servers = {}
        return kept, unneeded
