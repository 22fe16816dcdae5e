"""Servers started in advance: when a run has ended, those that it used are started again for the next one.

Each run has fresh servers, and waits for none. The surprising thing: a server that may have changed on disk since it was
started would give verdicts about the past, so one is used only if nothing around its files, or below the directory that it
works in, was touched since then; where that cannot be told, nothing is kept.
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
    """The pools kept warm, one for each of the few suites that ran last, each for so many `seconds` at most."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._kept: OrderedDict[Path, _Spare] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    def keep(self, suite: LoadedSuite, pool: Pool, names: tuple[str, ...], environ: Mapping[str, str]) -> bool:
        """Start these servers of the suite for its next run; false where it cannot be known whether they are still usable."""
        state = sources_state(suite, names)
        if state is None:
            return False
        pool.warm(names)
        expiry = asyncio.get_running_loop().call_later(self.seconds, self.end, pool.owner)
        self._kept[suite.path] = _Spare(suite, pool, names, state, environ, expiry)
        while len(self._kept) > MOST_SUITES:
            self._let_go(self._kept.popitem(last=False)[1])
        return True

    def take(self, suite: LoadedSuite, environ: Mapping[str, str]) -> Pool | None:
        """The servers kept for this suite, if they are what a run would start now."""
        kept = self._kept.pop(suite.path, None)
        if kept is None:
            return None
        before = kept.suite
        kept.expiry.cancel()
        same = (
            before.servers == suite.servers
            and before.env == suite.env
            and before.lookups == suite.lookups
            and before.secrets == suite.secrets
            and before.run_options == suite.run_options
            and kept.environ == environ
            and not suite.hooks.get("beforeAll")  # which comes before any server
        )
        if same and kept.pool.well and kept.state == sources_state(suite, kept.names):
            return kept.pool
        self._let_go(kept)
        return None

    def end(self, owner: Owner | None = None) -> list[_Spare]:
        """End the servers that belong to `owner`, or all; returns what there was of them."""
        ended = [kept for kept in self._kept.values() if owner is None or kept.pool.owner is owner]
        for kept in ended:
            del self._kept[kept.suite.path]
            self._let_go(kept)
        return ended

    async def close(self) -> None:
        """End all spare servers."""
        self.end()
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _let_go(self, kept: _Spare) -> None:
        kept.expiry.cancel()
        task = asyncio.ensure_future(kept.pool.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def sources_state(suite: LoadedSuite, names: Iterable[str]) -> frozenset[tuple[str, int, int]] | None:
    """What lies around the files of these servers: the folders of those that a command names, else the one it runs in.

    None where there is too much to look through. Servers with a URL are not ours to start.
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
    own = {str(file) for file in suite.files}  # what the suite says of its servers is compared by itself
    return None if state is None else frozenset(entry for entry in state if entry[0] not in own)
