"""The commands of authoring, by name, beside those of the service that runs and browses.

What a command needs is imported when it first comes. Reading and writing files is done in a thread: a review of five hundred
proposals must not hold up the events of a run.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from mcptest_engine.running.worker.service import Service

if TYPE_CHECKING:
    from mcptest_engine.authoring.worker.reviewing import Reviewing
    from mcptest_engine.authoring.worker.sketching import Sketching


class AuthoringService(Service):
    """Carries out the commands of both."""

    @cached_property
    def reviewing(self) -> Reviewing:
        from mcptest_engine.authoring.worker.reviewing import Reviewing

        return Reviewing(self._surroundings)

    @cached_property
    def sketching(self) -> Sketching:
        from mcptest_engine.authoring.worker.sketching import Sketching

        return Sketching(self._surroundings, self.browsing)

    # --- what waits for a person

    async def do_review_list(self, suites: list[str] | None = None) -> dict[str, Any]:
        return await self.reviewing.listed(suites)

    async def do_review_check(self, id: str, text: str) -> dict[str, Any]:  # noqa: A002 - the protocol's words
        return await self.reviewing.check(id, text)

    async def do_review_whole(self, id: str, text: str | None = None) -> dict[str, Any]:  # noqa: A002
        return await self.reviewing.whole(id, text)

    async def do_review_decide(self, decisions: list[dict[str, Any]]) -> dict[str, Any]:
        return await self.reviewing.decide(decisions)

    async def do_review_undo(self) -> dict[str, Any]:
        return await self.reviewing.undo()

    # --- from a server to tests

    async def do_scaffold(
        self, session: str, into: str | None = None, options: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        return await self.sketching.scaffold(session, into, options or {})

    async def do_propose(
        self,
        session: str,
        tool: str,
        arguments: dict[str, Any] | None = None,
        suite: str | None = None,
        server: str | None = None,
        confirmed: bool = False,
    ) -> dict[str, Any]:
        return await self.sketching.propose(session, tool, arguments or {}, suite, server, confirmed=confirmed)
