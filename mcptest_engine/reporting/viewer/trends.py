"""What is reckoned over several runs: by suite, percentiles, and which tests are not steady. Values in, values out."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest_engine.reporting.viewer.run_index import PastTest, RunRow

    Histories = Sequence[tuple[RunRow, tuple[PastTest, ...]]]

DECIDED = frozenset({"pass", "fail"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TestTrend:
    """One test over runs of its suite. `results` go from the oldest to the newest run that has it.

    `flips` counts how often it went from pass to fail or back while the suite's text and the flags stayed the same.
    """

    id: str
    name: str
    results: tuple[tuple[RunRow, PastTest], ...]
    retried: int
    flips: int

    @property
    def last(self) -> PastTest:
        return self.results[-1][1]

    @property
    def is_flaky(self) -> bool:
        """It passed only after a failed attempt, or came back from a change of verdict that no edit of the suite explains."""
        return self.retried > 0 or self.flips > 1

    @property
    def passed(self) -> int:
        return sum(past.verdict == "pass" for _, past in self.results)


def by_suite(rows: Iterable[RunRow]) -> dict[str, list[RunRow]]:
    """The sound runs of each suite in the order given; the suites in the order in which they are met."""
    found: dict[str, list[RunRow]] = {}
    for row in rows:
        if not row.damaged:
            found.setdefault(row.key, []).append(row)
    return found


def percentile(values: Iterable[float], percent: float) -> float | None:
    """By nearest rank: the smallest of the values that so many percent of them do not exceed. None without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(int(rank), 1) - 1]


def times(tests: Iterable[PastTest]) -> list[float]:
    """How long the tests took that were asked for; a skipped or cached one has no time of its own."""
    return [test.duration_ms for test in tests if test.verdict != "skip" and not test.cached]


def test_trends(histories: Histories) -> list[TestTrend]:
    """Each test of these runs, which go from the oldest to the newest: in the order of the newest run, then what it lacks."""
    results: dict[str, list[tuple[RunRow, PastTest]]] = {}
    for row, tests in reversed(histories):
        for past in tests:
            results.setdefault(past.id, []).append((row, past))
    return [_trend(test_id, found[::-1]) for test_id, found in results.items()]


def _trend(test_id: str, results: Sequence[tuple[RunRow, PastTest]]) -> TestTrend:
    decided = [(row, past) for row, past in results if past.verdict in DECIDED]
    return TestTrend(
        id=test_id,
        name=results[-1][1].name,
        results=tuple(results),
        retried=sum(past.flaky for _, past in results),
        flips=sum(
            one.verdict != other.verdict and (before.sha256, before.flags) == (after.sha256, after.flags)
            for (before, one), (after, other) in pairwise(decided)
        ),
    )
