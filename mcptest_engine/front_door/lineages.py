"""Which runs of a session belong to the same suite, although an agent changes its text in between.

A suite of the workspace is identified by its path, one that was sent as text by its handle. A text with a new handle continues
the suite of this session with which it shares the most tests, by kind and name; of several, the one that ran last. Without a
shared test, it continues the suite with the same `name` and the same servers. Otherwise it is a new suite, identified by the id
of its first run. A file that runs for the first time in the session may continue a suite that was sent as text, because agents
save what they have tried.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from mcptest_engine.core.values import dataclass
from mcptest_engine.workspace.ulid import new_ulid

if TYPE_CHECKING:
    from mcptest_engine.suite.load import LoadedSuite

MOST_RUNS = 20


@dataclass(slots=True, kw_only=True)
class Lineage:
    """One suite of a session: all its tests so far, its last name and servers, and the ids of its newest runs."""

    id: str
    path: str | None = None
    handles: set[str] = field(default_factory=set)
    tests: frozenset[tuple[str, str]] = frozenset()
    name: str = ""
    servers: frozenset[str] = frozenset()
    runs: list[str] = field(default_factory=list)


class Lineages:
    """The suites of one session, in the order of their last runs. `session` is a ULID."""

    def __init__(self) -> None:
        self.session = new_ulid()
        self._known: list[Lineage] = []

    def begin(
        self, suite: LoadedSuite, run_id: str, *, path: str | None = None, handle: str | None = None
    ) -> tuple[str, tuple[str, ...]]:
        """The lineage of a run that begins, and the ids of its earlier runs. A suite has a path, or was sent as text."""
        tests = frozenset((entry.kind.value, str(entry.data["name"])) for entry in suite.tests)
        servers = frozenset(suite.servers)
        found = self._find(path, handle) or self._find_alike(tests, suite.name, servers, is_file=path is not None)
        if found is None:
            found = Lineage(id=path or run_id)
        else:
            self._known.remove(found)
        self._known.append(found)
        earlier = tuple(found.runs)
        found.tests |= tests
        found.name, found.servers = suite.name, servers
        found.path = path or found.path
        found.handles |= set() if handle is None else {handle}
        found.runs = [*found.runs, run_id][-MOST_RUNS:]
        return found.id, earlier

    def _find(self, path: str | None, handle: str | None) -> Lineage | None:
        """The suite with that path or handle."""
        known = self._known[::-1]
        if path is not None:
            return next((one for one in known if one.path == path), None)
        return next((one for one in known if handle in one.handles), None)

    def _find_alike(
        self, tests: frozenset[tuple[str, str]], name: str, servers: frozenset[str], *, is_file: bool
    ) -> Lineage | None:
        newest_first = [one for one in self._known[::-1] if not is_file or one.path is None]
        best = max(newest_first, key=lambda one: len(one.tests & tests), default=None)
        if best is not None and best.tests & tests:
            return best
        return next((one for one in newest_first if one.name == name and one.servers == servers), None)
