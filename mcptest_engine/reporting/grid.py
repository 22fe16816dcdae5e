"""Tests by models: what `matrix` and `md` draw as a grid. Rows are agent tests and evals, columns the models they ran with.

Several runs of a test with a model are one cell. A run without several models has a single column.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.costs import sum_costs
from mcptest_engine.core.results import MetricRollup, TestKind, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord

NO_MODEL = "(no model)"
_NUMBER = re.compile(r" #\d+\Z")


class Cell(NamedTuple):
    """The runs of one test with one model; there is at least one."""

    tests: tuple[TestResult, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst that one of them came to; skipped only where all are."""
        found = {test.verdict for test in self.tests}
        order = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS, Verdict.SKIP)
        return next(verdict for verdict in order if verdict in found)

    @property
    def has_error(self) -> bool:
        """Whether one of them failed since a judge or a scorer gave no verdict."""
        return any(test.failure is not None and test.failure.scorer_error is not None for test in self.tests)

    @property
    def runs(self) -> tuple[int, int]:
        """How many runs passed, of how many."""
        verdicts = [trial["verdict"] for test in self.tests for trial in test.trials] or [
            test.verdict.value for test in self.tests
        ]
        return verdicts.count(Verdict.PASS.value), len(verdicts)

    @property
    def score(self) -> float | None:
        """The mean of the scores that there are."""
        scores = [test.score for test in self.tests if test.score is not None]
        return math.fsum(scores) / len(scores) if scores else None

    @property
    def tokens(self) -> int | None:
        """What all runs took; None where none says."""
        return total_tokens(self.tests)

    @property
    def cost_usd(self) -> float | None:
        """What all runs cost; None where a price is not known."""
        return total_cost(self.tests)

    @property
    def duration_ms(self) -> float:
        """How long a run took, on average."""
        return math.fsum(test.duration_ms for test in self.tests) / len(self.tests)


class Row(NamedTuple):
    """A test, and its cell for each model that it ran with."""

    name: str
    cells: dict[str, Cell]


class Grid(NamedTuple):
    """Rows in declared order; `models` in the order in which they are met."""

    models: tuple[str, ...]
    rows: tuple[Row, ...]

    def tests_of(self, model: str) -> tuple[TestResult, ...]:
        """Everything that ran with a model."""
        return tuple(test for row in self.rows if model in row.cells for test in row.cells[model].tests)

    def rollups_of(self, model: str) -> tuple[MetricRollup, ...]:
        """The mean of each metric over the tests that ran with a model."""
        return MetricRollup.of(self.tests_of(model))


def grid_of(record: RunRecord) -> Grid:
    """The agent tests and evals of a run as a grid; without rows where it has none."""
    judged = [test for test in record.tests if test.kind.may_ask_models]
    named = _named_models(judged)
    tested = {_unnumbered(test.name): test.model for test in judged if test.kind is TestKind.AGENT}
    found: dict[tuple[str, int, str], dict[str, list[TestResult]]] = {}
    models: dict[str, None] = {}
    for test in judged:
        model = _model_of(test, named, tested)
        models[model] = None
        row = found.setdefault((test.file, test.line, _base_name(test.name, model)), {})
        row.setdefault(model, []).append(test)
    rows = (
        Row(name, {model: Cell(tuple(tests)) for model, tests in cells.items()})
        for (_, _, name), cells in found.items()
    )
    return Grid(tuple(models), tuple(rows))


def total_tokens(tests: Iterable[TestResult]) -> int | None:
    """What tests took in tokens; None where none says."""
    told = [test.tokens for test in tests if test.tokens is not None]
    return sum(told) if told else None


def total_cost(tests: Sequence[TestResult]) -> float | None:
    """What tests cost; None where a price is not known, or none says."""
    told = [test.cost_usd for test in tests if test.tokens is not None]
    return sum_costs(told) if told else None


def _named_models(tests: Iterable[TestResult]) -> tuple[str, ...]:
    """The models that names of tests carry, the longest first."""
    found = {test.model for test in tests if test.model is not None and f" [{test.model}]" in test.name}
    return tuple(sorted(found, key=lambda model: (-len(model), model)))


def _model_of(test: TestResult, named: Iterable[str], tested: Mapping[str, str | None]) -> str:
    """The model that a test ran with. What is judged of an agent test belongs to the model that was tested.

    `named` are the models that names carry, `tested` those of agent tests by their names.
    """
    told = next((model for model in named if f" [{model}]" in test.name), None)
    if told is None and test.kind is TestKind.EVAL:
        told = tested.get(_unnumbered(_unnumbered(test.name).rpartition(": ")[0]))
    return told or test.model or NO_MODEL


def _base_name(name: str, model: str) -> str:
    """The name without its model and the numbers of runs and repeats: `a [m] #2: mcp_use` is `a: mcp_use`."""
    before, mark, after = name.rpartition(f" [{model}]")
    if mark:
        run, colon, metric = after.partition(": ")
        return f"{before}{_unnumbered(run)}{colon}{_unnumbered(metric)}"
    return _unnumbered(name)


def _unnumbered(text: str) -> str:
    while (found := _NUMBER.search(text)) is not None:
        text = text[: found.start()]
    return text
