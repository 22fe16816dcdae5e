"""What changed from one run to another, test by test. Values in, values out: the command, the viewer and the workbench show it.

Tests are matched by their ids. A test counts as slower or faster only when the ratio and the difference both say so, since
small times vary of themselves; what came out of the cache has no time of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.results import Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord

_SMALL = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """From when on a test is slower or faster: this many times, and by at least this much."""

    ratio: float = 1.5
    floor_ms: float = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One test in both runs; one side is None where it was in the other run alone."""

    before: TestResult | None
    after: TestResult | None

    @property
    def either(self) -> TestResult:
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def ratio(self) -> float | None:
        """How many times as long it took; None without both times."""
        if self.before is None or self.after is None or self.before.duration_ms <= 0:
            return None
        return self.after.duration_ms / self.before.duration_ms

    @property
    def score_change(self) -> float | None:
        if self.before is None or self.after is None or self.before.score is None or self.after.score is None:
            return None
        change = self.after.score - self.before.score
        return change if abs(change) > _SMALL else None

    def to_json(self) -> JsonDict:
        """{"id", "name", "before"?, "after"?}, each side with what a comparison is about."""
        out: JsonDict = {"id": self.either.id, "name": self.either.name}
        for side, test in (("before", self.before), ("after", self.after)):
            if test is not None:
                out[side] = _side(test)
        return out


def _side(test: TestResult) -> dict[str, object]:
    told: JsonDict = {"verdict": test.verdict.value, "duration_ms": test.duration_ms}
    told |= {"message": test.message} if test.message is not None else {}
    told |= {"flaky": True} if test.flaky else {}
    told |= {"score": test.score} if test.score is not None else {}
    return told | ({"cost_usd": test.cost_usd, "tokens": test.tokens} if test.tokens is not None else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """Two runs, and their tests by what became of them, in the order of the later run. A test may stand in several lists.

    `newly_failing` holds new tests that fail as well; `changed` every other change of a verdict.
    """

    before: RunRecord
    after: RunRecord
    newly_failing: tuple[Pair, ...]
    fixed: tuple[Pair, ...]
    still_failing: tuple[Pair, ...]
    changed: tuple[Pair, ...]
    new: tuple[Pair, ...]
    gone: tuple[Pair, ...]
    newly_flaky: tuple[Pair, ...]
    slower: tuple[Pair, ...]
    faster: tuple[Pair, ...]
    scores: tuple[Pair, ...]
    costs: tuple[Pair, ...]
    unchanged: int

    @property
    def notes(self) -> tuple[str, ...]:
        """Why the two may not be alike: another suite or text of it, a part of the tests, an end before the end."""
        one, other = self.before, self.after
        found = []
        if one.suite.path != other.suite.path:
            found.append("the runs are of different suites")
        elif one.suite.sha256 != other.suite.sha256:
            found.append("the suite's text has changed between the runs")
        found += [
            f"the {word} run was interrupted" for word, run in (("first", one), ("second", other)) if run.interrupted
        ]
        if one.flags != other.flags:
            found.append(f"the first run had {_flags(one)}, the second {_flags(other)}")  # such as another `--var`
        if one.shard != other.shard:
            found.append("the runs are of different shards")
        if one.mode != other.mode:
            found.append(f"the first run was {one.mode}, the second {other.mode}")
        return tuple(found)

    def to_json(self) -> JsonDict:
        names = "newly_failing fixed still_failing changed new gone newly_flaky slower faster scores costs"
        return {
            "before": _run_json(self.before),
            "after": _run_json(self.after),
            "notes": list(self.notes),
            **{name: [pair.to_json() for pair in getattr(self, name)] for name in names.split()},
            "unchanged": self.unchanged,
        }


def _flags(record: RunRecord) -> str:
    return one_line(f"`{' '.join(record.flags)}`", 200) if record.flags else "no flags"


def _run_json(record: RunRecord) -> dict[str, object]:
    out: JsonDict = {
        "run_id": record.run_id,
        "started_at": record.started_at,
        "suite": record.suite.path,
        "verdict": record.verdict.value,
        "duration_ms": record.duration_ms,
        "totals": record.totals.to_json(),
    }
    spent = record.spending
    return out if spent is None else {**out, "cost_usd": spent.cost_usd, "tokens": spent.tokens}


def compare_runs(before: RunRecord, after: RunRecord, thresholds: Thresholds | None = None) -> RunComparison:
    """What became of each test of `before` in `after`."""
    limits = thresholds or Thresholds()
    old = {test.id: test for test in before.tests}
    new = {test.id: test for test in after.tests}
    both = [Pair(before=old[test_id], after=test) for test_id, test in new.items() if test_id in old]
    added = _pairs(Pair(before=None, after=test) for test_id, test in new.items() if test_id not in old)
    gone = _pairs(Pair(before=test, after=None) for test_id, test in old.items() if test_id not in new)
    failing = {
        pair.either.id
        for pair in (*both, *added)
        if _is(pair.after, Verdict.FAIL) and not _is(pair.before, Verdict.FAIL)
    }
    order = {test_id: at for at, test_id in enumerate(new)}
    newly = sorted(
        (pair for pair in (*both, *added) if pair.either.id in failing), key=lambda pair: order[pair.either.id]
    )
    fixed = _pairs(pair for pair in both if _is(pair.before, Verdict.FAIL) and _is(pair.after, Verdict.PASS))
    still = _pairs(pair for pair in both if _is(pair.before, Verdict.FAIL) and _is(pair.after, Verdict.FAIL))
    moved = [pair for pair in both if pair.before and pair.after and pair.before.verdict is not pair.after.verdict]
    told = {pair.either.id for pair in (*newly, *fixed)}
    return RunComparison(
        before=before,
        after=after,
        newly_failing=tuple(newly),
        fixed=fixed,
        still_failing=still,
        changed=_pairs(pair for pair in moved if pair.either.id not in told),
        new=added,
        gone=gone,
        newly_flaky=_pairs(pair for pair in (*both, *added) if _is_newly_flaky(pair)),
        slower=_by_ratio((pair for pair in both if _is_slower(pair.before, pair.after, limits)), descending=True),
        faster=_by_ratio((pair for pair in both if _is_slower(pair.after, pair.before, limits)), descending=False),
        scores=_pairs(pair for pair in both if pair.score_change is not None),
        costs=_pairs(pair for pair in both if _cost_and_tokens(pair.before) != _cost_and_tokens(pair.after)),
        unchanged=len(both) - len(moved),
    )


def _pairs(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    return tuple(pairs)


def _is(test: TestResult | None, verdict: Verdict) -> bool:
    return test is not None and test.verdict is verdict


def _is_newly_flaky(pair: Pair) -> bool:
    return pair.after is not None and pair.after.flaky and not (pair.before is not None and pair.before.flaky)


def _is_slower(one: TestResult | None, other: TestResult | None, limits: Thresholds) -> bool:
    """Whether `other` took longer than `one`; both must have passed and have been asked for."""
    if one is None or other is None or one.cached or other.cached:
        return False
    if not (_is(one, Verdict.PASS) and _is(other, Verdict.PASS)):
        return False
    return (
        other.duration_ms - one.duration_ms >= limits.floor_ms and other.duration_ms >= one.duration_ms * limits.ratio
    )


def _by_ratio(pairs: Iterable[Pair], *, descending: bool) -> tuple[Pair, ...]:
    return tuple(
        sorted(pairs, key=lambda pair: pair.ratio if pair.ratio is not None else float("inf"), reverse=descending)
    )


def _cost_and_tokens(test: TestResult | None) -> tuple[float | None, int | None] | None:
    return None if test is None else (test.cost_usd, test.tokens)
