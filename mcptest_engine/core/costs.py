"""What a run cost, and the results of its compositions by case: sums over its tests."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeGuard

from mcptest_engine.core.enums import TestKind, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.core.results import AssertionResult, TestResult, VerifyResult

REPEAT_MARK = " #run"
_MOST = 1e15
"""More dollars or tokens than anybody has; what is larger has digits that sums and reports could not hold."""


def sum_costs(costs: Iterable[float | None]) -> float | None:
    """Summed as the decimals that they were written as, so that three times 0.1 is 0.3; None when one is unknown."""
    from decimal import Decimal  # few runs cost anything

    amount = Decimal(0)
    for cost in costs:
        if cost is None:
            return None
        if cost:
            amount += Decimal(repr(cost))
    return float(amount)


def is_amount(value: object) -> TypeGuard[float]:
    """Whether a value can be what something cost, in dollars or in tokens."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST


def added_up(rows: Iterable[JsonMapping]) -> list[JsonDict]:
    """Rows of {"model", "calls", "tokens", "cost_usd"} with one for each model, the dearest first."""
    groups: dict[str | None, list[JsonMapping]] = {}
    for row in rows:
        groups.setdefault(row["model"], []).append(row)
    return dearest_first(
        {
            "model": model,
            "calls": sum(row["calls"] for row in group),
            "tokens": sum(row["tokens"] for row in group),
            "cost_usd": sum_costs(row["cost_usd"] for row in group),
        }
        for model, group in groups.items()
    )


def dearest_first(rows: Iterable[JsonDict]) -> list[JsonDict]:
    """Rows of models by what they cost; those whose price is unknown come first."""

    def key(row: JsonMapping) -> tuple[float, str]:
        return -(math.inf if row["cost_usd"] is None else row["cost_usd"]), row["model"] or ""

    return sorted(rows, key=key)


class HasModelCosts(Protocol):
    """What may tell of models: a test's result, or the outcome of an attempt."""

    @property
    def trace(self) -> JsonMapping | None: ...
    @property
    def judgement(self) -> JsonMapping | None: ...
    @property
    def assertions(self) -> tuple[AssertionResult, ...]: ...
    @property
    def verify(self) -> tuple[VerifyResult, ...]: ...


class Spending(NamedTuple):
    """What the calls of a run say that they cost, with the scorers that it asked.

    `models` are rows of {"model", "calls", "tokens", "cost_usd"}, `scorers` of {"scorer", "calls", "cost_usd"}.
    """

    cost_usd: float | None
    tokens: int
    models: tuple[JsonMapping, ...]
    scorers: tuple[JsonMapping, ...] = ()

    @property
    def scorers_usd(self) -> float:
        """What the scorers cost, in USD."""
        return sum_costs(row["cost_usd"] for row in self.scorers) or 0.0

    @property
    def models_usd(self) -> float | None:
        """What the models cost; None where the price of one is not known."""
        return sum_costs(row["cost_usd"] for row in self.models)

    def to_json(self) -> JsonDict:
        out = {"cost_usd": self.cost_usd, "tokens": self.tokens, "models": [dict(row) for row in self.models]}
        return {**out, "scorers": [dict(row) for row in self.scorers]} if self.scorers else out

    @classmethod
    def of(cls, tests: Iterable[TestResult]) -> Spending | None:
        """The sum over the tests that tell of any; None where none does."""
        tests = tuple(tests)
        told = [test for test in tests if test.tokens is not None]
        scorers = _scorers(tests)
        if not told and not scorers:
            return None
        models = added_up(row for test in told for row in model_rows_of(test) or ())
        return cls(
            cost_usd=sum_costs([*(test.cost_usd for test in told), *(row["cost_usd"] for row in scorers)]),
            tokens=sum(test.tokens or 0 for test in told),
            models=tuple(models),
            scorers=scorers,
        )


def model_rows_of(test: HasModelCosts) -> list[JsonMapping] | None:
    """The costs of models in a test: of its trace, its grading and its assertions. None where there are none."""
    assertions = [*test.assertions, *(item for step in test.verify for item in step.assertions)]
    judged = (row.judgement for item in assertions for row in item.leaves())
    told = [part for part in (test.trace, test.judgement, *judged) if part is not None and "models" in part]
    return [row for part in told for row in part["models"]] if told else None


def scorer_cost(test: TestResult) -> float | None:
    """What the scorer of a row cost in this run: 0 for a cached verdict, None where no scorer gave one."""
    if test.judgement is None or test.judgement.get("by") != "exec":
        return None
    return 0.0 if test.cached else test.judgement.get("cost_usd", 0.0)


def _scorers(tests: Iterable[TestResult]) -> tuple[JsonMapping, ...]:
    """A row for each scorer that was asked, in the order in which they are met."""
    costs: dict[str, list[float]] = {}
    for test in tests:
        cost = scorer_cost(test)
        if cost is not None and not test.cached:
            costs.setdefault(test.scorer or "", []).append(cost)
    return tuple(
        {"scorer": name, "calls": len(found), "cost_usd": sum_costs(found) or 0.0} for name, found in costs.items()
    )


GOLDEN = "golden.matched"
"""The name of the assertion that compares the output of a case with its `golden`."""


class CompositionSum(NamedTuple):
    """One composition and the results of its cases, in declared order; repeats of a case count like cases."""

    name: str
    tests: tuple[TestResult, ...]

    def count_of(self, verdict: Verdict) -> int:
        """How many of its cases have this verdict."""
        return sum(test.verdict is verdict for test in self.tests)

    @property
    def spending(self) -> Spending | None:
        """The tokens and the USD that its calls cost."""
        return Spending.of(self.tests)

    @property
    def duration_ms(self) -> float:
        """How long its cases took, added up."""
        return round(math.fsum(test.duration_ms for test in self.tests), 3)

    @property
    def budget_tripped(self) -> str | None:
        """The cap of its budget that was crossed, or None."""
        caps = ((test.trace or {}).get("composition", {}).get("budget_tripped") for test in self.tests)
        return next((cap for cap in caps if cap is not None), None)

    def to_json(self) -> JsonDict:
        first, spending, tripped = self.tests[0], self.spending, self.budget_tripped
        return {
            "name": self.name,
            "file": first.file,
            "line": first.line,
            "cases": len(self.tests),
            "passed": self.count_of(Verdict.PASS),
            "failed": self.count_of(Verdict.FAIL),
            "inconclusive": self.count_of(Verdict.INCONCLUSIVE),
            "skipped": self.count_of(Verdict.SKIP),
            "duration_ms": self.duration_ms,
            **({} if spending is None else {"cost_usd": spending.cost_usd, "tokens": spending.tokens}),
            **({} if tripped is None else {"budget_tripped": tripped}),
        }

    @classmethod
    def of(cls, tests: Sequence[TestResult]) -> tuple[CompositionSum, ...]:
        """Each composition among the tests, in declared order."""
        groups: dict[tuple[str, int, str], list[TestResult]] = {}
        for test in compositions_of(tests):
            groups.setdefault((test.file, test.line, composition_name(test)), []).append(test)
        return tuple(cls(name=name, tests=tuple(group)) for (_, _, name), group in groups.items())


def compositions_of(tests: Iterable[TestResult]) -> Iterator[TestResult]:
    """The tests that are compositions."""
    return (test for test in tests if test.kind is TestKind.COMPOSITION)


def composition_name(test: TestResult) -> str:
    """The name of a test's composition: its own, without the case and the number of a repeat."""
    return composition_base(test.name, test.id, test.case)


def base_id(test_id: str) -> str:
    """The id without the number that a repeat gave it."""
    base, mark, number = test_id.rpartition(REPEAT_MARK)
    return base if mark and number.isdigit() else test_id


def repeat_of(test_id: str) -> str:
    """The mark of a repeat after the first, such as "#2"; "" for the first one, which is what a run without repeats is."""
    number = test_id.removeprefix(base_id(test_id)).removeprefix(REPEAT_MARK)
    return "" if number in ("", "1") else f"#{number}"


def composition_base(name: str, test_id: str, case: str | None) -> str:
    """The name of a composition, from the name and id of a test of it."""
    if REPEAT_MARK in test_id:
        base, _, number = name.rpartition(" #")
        name = base if number.isdigit() else name
    return name if case is None else name.removesuffix(f" [{case}]")
