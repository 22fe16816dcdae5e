"""A run's costs held against those of an earlier one, the baseline: more, beyond a tolerance, is a regression.

Pure. What is compared are the tests that ran, one by one by their ids, so that a run of a few is held against those few. A test
that the baseline does not know adds to the run's side alone. Where a price is unknown on either side, tokens are compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.costs import base_id, is_amount, sum_costs
from mcptest_engine.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord

SCHEMA_VERSION = "mcptest.costs/v1"
DEFAULT_TOLERANCE = 10.0


class Cost(NamedTuple):
    """What one run of a test cost; `cost_usd` is None when a price is unknown."""

    cost_usd: float | None
    tokens: float


class CostGate(NamedTuple):
    """The baseline by test id, where it came from, and by how many percent a run may cost more."""

    costs: Mapping[str, Cost]
    place: str
    tolerance_percent: float = DEFAULT_TOLERANCE


def baseline_of(record: RunRecord, known: Mapping[str, Cost] | None = None) -> dict[str, Any] | None:
    """A run as a baseline, as JSON; None when no test of it tells what it cost. Tests in `known` that did not run are kept."""
    costs = _costs(record.tests)
    if not costs:
        return None
    every = {**(known or {}), **costs}
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": record.run_id,
        "saved_at": record.started_at,
        "mcptest_version": record.mcptest_version,
        "suite": {"name": record.suite.name, "path": record.suite.path},
        "cost_usd": sum_costs(cost.cost_usd for cost in every.values()),
        "tokens": sum(cost.tokens for cost in every.values()),
        "tests": {test_id: cost._asdict() for test_id, cost in sorted(every.items())},
    }


def costs_in(data: object) -> dict[str, Cost]:
    """The costs of a baseline as JSON. Raises: ValueError for what is none."""
    if not isinstance(data, dict) or data.get("schema_version") != SCHEMA_VERSION:
        raise ValueError(f"its version is not {SCHEMA_VERSION}")
    tests = data.get("tests")
    if not isinstance(tests, dict):
        raise ValueError("it has no `tests`")
    return {str(test_id): _cost(test_id, row) for test_id, row in tests.items()}


def regression(record: RunRecord, gate: CostGate) -> tuple[str | None, bool]:
    """What is to be told of the run's costs in one line, if anything, and whether they are over the baseline's."""
    found = [(base_id(test.id), test) for test in record.tests if test.tokens is not None]
    if not found:
        return None, False
    known = [(gate.costs[test_id], test) for test_id, test in found if test_id in gate.costs]
    new = len({test_id for test_id, _ in found} - gate.costs.keys())
    spent = sum_costs(test.cost_usd for _, test in found)
    before = sum_costs(cost.cost_usd for cost, _ in known)
    if spent is not None and before is not None:
        over, words = _over(spent, before, gate), (f"cost ${_amount(spent)}", f"${_amount(before)}")
    else:
        tokens, tokens_before = sum(test.tokens or 0 for _, test in found), sum(cost.tokens for cost, _ in known)
        over, words = _over(tokens, tokens_before, gate), (f"took {tokens:,} tokens", f"{tokens_before:,.0f}")
    if over is None:
        return None, False
    more = f"; not in the baseline: {counted(new, 'test')}" if new else ""
    tolerance = f"{gate.tolerance_percent:g}%"
    return (
        f"cost regression: the run {words[0]}, {over} over the {words[1]} of {gate.place} ({tolerance} allowed){more}",
        True,
    )


def _over(now: float, before: float, gate: CostGate) -> str | None:
    """By how much it is too much, as text; None when it is not."""
    limit = before * (1 + gate.tolerance_percent / 100)
    if now <= limit * (1 + 1e-9):
        return None
    return f"{(now / before - 1) * 100:.3g}%" if before else "all of it"


def _costs(tests: Iterable[TestResult]) -> dict[str, Cost]:
    """What each test cost; of a test that was repeated, the mean."""
    rows: dict[str, list[TestResult]] = {}
    for test in tests:
        if test.tokens is not None:
            rows.setdefault(base_id(test.id), []).append(test)
    return {test_id: _mean(group) for test_id, group in rows.items()}


def _mean(group: list[TestResult]) -> Cost:
    cost = sum_costs(test.cost_usd for test in group)
    tokens = sum(test.tokens or 0 for test in group) / len(group)
    return Cost(
        None if cost is None else round(cost / len(group), 9), int(tokens) if tokens.is_integer() else round(tokens, 3)
    )


def _cost(test_id: str, row: object) -> Cost:
    cost, tokens = (row.get("cost_usd"), row.get("tokens")) if isinstance(row, dict) else (None, None)
    if not is_amount(tokens) or not (cost is None or is_amount(cost)):
        raise ValueError(f"its entry for `{test_id}` is not a cost")
    return Cost(cost, tokens)


def _amount(cost: float) -> str:
    return f"{cost:.6f}".rstrip("0").rstrip(".") or "0"
