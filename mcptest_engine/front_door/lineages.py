"""Which runs of a session are of the same suite, although an agent sends its text anew each time.

A suite of the workspace is known by its path. A suite that came as text continues the suite of this session with which it
shares the most tests, told apart by kind and name; of several, the one that ran last. One that shares no test continues the
suite that has the same `name` and the same servers. Else it is a new suite, known by the id of its first run. A file that runs
for the first time in the session may continue a suite that came as text, because agents write down what they have tried.
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
    """One suite of a session: all tests that it has had, its last name and servers, and the ids of its newest runs."""

    id: str
    paths: set[str] = field(default_factory=set)
    tests: frozenset[tuple[str, str]] = frozenset()
    name: str = ""
    servers: frozenset[str] = frozenset()
    runs: list[str] = field(default_factory=list)


class Lineages:
    """The suites of one session, the one that ran last at the end. `session` is a ULID."""

    def __init__(self) -> None:
        self.session = new_ulid()
        self._known: list[Lineage] = []

    def begin(self, suite: LoadedSuite, run_id: str, path: str | None) -> tuple[str, tuple[str, ...]]:
        """The lineage of a run that begins, and the ids of its earlier runs. `path` is None for a suite that came as text."""
        tests = frozenset((entry.kind.value, str(entry.data["name"])) for entry in suite.tests)
        found = self._find(path, tests, suite.name, frozenset(suite.servers))
        if found is None:
            found = Lineage(id=path or run_id)
        else:
            self._known.remove(found)
        self._known.append(found)
        earlier = tuple(found.runs)
        found.tests |= tests
        found.name, found.servers = suite.name, frozenset(suite.servers)
        if path is not None:
            found.paths.add(path)
        found.runs = [*found.runs, run_id][-MOST_RUNS:]
        return found.id, earlier

    def _find(
        self, path: str | None, tests: frozenset[tuple[str, str]], name: str, servers: frozenset[str]
    ) -> Lineage | None:
        newest_first = self._known[::-1]
        if path is not None:
            own = next((one for one in newest_first if path in one.paths), None)
            if own is not None:
                return own
            newest_first = [one for one in newest_first if not one.paths]
        best = max(newest_first, key=lambda one: len(one.tests & tests), default=None)
        if best is not None and best.tests & tests:
            return best
        return next((one for one in newest_first if one.name == name and one.servers == servers), None)
