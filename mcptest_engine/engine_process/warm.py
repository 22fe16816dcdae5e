"""Spare servers: when a run has ended, the servers that it used are started again for the next run.

So each run has fresh servers without waiting for them. A server whose files have changed since it was started would give
verdicts about old code. A spare server is therefore used only if nothing around its files, or below its working directory,
has changed; if there are too many files to check, no spare server is started.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcptest_engine.core.live import Owner
    from mcptest_engine.running.pool import Pool
    from mcptest_engine.suite.load import LoadedSuite

MOST_SUITES = 3


class _Spare(NamedTuple):
    suite: LoadedSuite
    pool: Pool
    names: tuple[str, ...]
    state: frozenset[tuple[str, int, int]]
    environ: Mapping[str, str]
    expiry: asyncio.TimerHandle


class Warm:
    """The pools of spare servers, one for each of the last `MOST_SUITES` suites, each for at most `seconds`."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._spares: OrderedDict[Path, _Spare] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    def keep(self, suite: LoadedSuite, pool: Pool, names: tuple[str, ...], environ: Mapping[str, str]) -> bool:
        """Start these servers of the suite for its next run; False if there are too many files to see whether they change."""
        state = sources_state(suite, names)
        if state is None:
            return False
        pool.warm(names)
        expiry = asyncio.get_running_loop().call_later(self.seconds, self.end, pool.owner)
        self._spares[suite.path] = _Spare(suite, pool, names, state, environ, expiry)
        while len(self._spares) > MOST_SUITES:
            self._close_spare(self._spares.popitem(last=False)[1])
        return True

    def take(self, suite: LoadedSuite, environ: Mapping[str, str]) -> Pool | None:
        """Return the spare servers of this suite if a run would start the same ones now; else end them and return None."""
        spare = self._spares.pop(suite.path, None)
        if spare is None:
            return None
        before = spare.suite
        spare.expiry.cancel()
        same = (
            before.servers == suite.servers
            and before.env == suite.env
            and before.lookups == suite.lookups
            and before.secrets == suite.secrets
            and before.run_options == suite.run_options
            and spare.environ == environ
            and not suite.hooks.get("beforeAll")  # it must run before any server starts
        )
        if same and spare.pool.well and spare.state == sources_state(suite, spare.names):
            return spare.pool
        self._close_spare(spare)
        return None

    def end(self, owner: Owner | None = None) -> list[_Spare]:
        """End the spare servers of `owner`, or all; return what was ended."""
        ended = [spare for spare in self._spares.values() if owner is None or spare.pool.owner is owner]
        for spare in ended:
            del self._spares[spare.suite.path]
            self._close_spare(spare)
        return ended

    async def close(self) -> None:
        """End all spare servers, and wait until they have ended."""
        self.end()
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _close_spare(self, spare: _Spare) -> None:
        spare.expiry.cancel()
        task = asyncio.ensure_future(spare.pool.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def sources_state(suite: LoadedSuite, names: Iterable[str]) -> frozenset[tuple[str, int, int]] | None:
    """(path, mtime in ns, size) of the files around these servers' own: beside and below the files and folders that a command
    names, or below the working directory when it names no files. None where there are too many.

    Servers without a command are left out: mcptest does not start them. So are the files of the suite: `take` compares suites.
    """
    from mcptest_engine.running.documents import server_item
    from mcptest_engine.running.watch import state_around

    found: set[Path] = set()
    for name in names:
        settings = suite.servers.get(name) or {}
        command, base = settings.get("command"), Path.cwd() / (settings.get("cwd") or ".")
        if not command:
            continue
        files = server_item(name, settings, start_dir=Path.cwd(), secrets=frozenset()).files
        found.update(map(Path, files))
        folders = {base / word for word in command[1:] if "\0" not in word and (base / word).is_dir()}
        if not files and command[0] != "mcptest":  # the mock that came with mcptest changes only with its manifest
            folders.add(base)
        found.update(folder.resolve() / "any" for folder in folders)
    state = state_around(found)
    own = {str(file) for file in suite.files}  # `take` compares the suites themselves
    return None if state is None else frozenset(entry for entry in state if entry[0] not in own)
