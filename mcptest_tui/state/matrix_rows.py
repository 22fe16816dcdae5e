"""Tests by models, of the suites that are open: rows are agent tests and evals, columns the models that they run with.

Several runs of a test with a model are one cell. Which model a test is for stands in its name where a suite has several.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.costs import sum_costs
from mcptest_engine.core.enums import TestKind
from mcptest_tui.state.score_rows import number
from mcptest_tui.state.spending import cost_of, usd

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest_tui.state.store import Store
    from mcptest_tui.state.test_row import TestRow

KINDS = tuple(kind.value for kind in TestKind if kind.may_ask_models)
NO_MODEL = "(any model)"
_WORST = ("running", "queued", "fail", "inconclusive", "deferred", "stopped", "pass", "skip", "new")
_TAGGED = re.compile(
    r"(?P<base>.*) \[(?P<model>[^][]+)\](?: #\d+)*(?:: [\w-]+| \([^()]*\))?(?: #\d+)*\Z",
    re.DOTALL,
)
_NUMBERS = re.compile(r"(?: #\d+)+\Z")


class Cell(NamedTuple):
    """The runs of one test with one model; there is at least one."""

    tests: tuple[TestRow, ...]

    @property
    def status(self) -> str:
        """The worst verdict of the runs, or what they are doing now."""
        found = {test.shown for test in self.tests}
        return next((status for status in _WORST if status in found), "new")

    @property
    def first(self) -> TestRow:
        """The first run with the cell's status."""
        return next(test for test in self.tests if test.shown == self.status)

    @property
    def runs(self) -> tuple[int, int]:
        """The number of runs that passed, and that of all runs."""
        trials = [
            trial.get("verdict")
            for test in self.tests
            for trial in (test.result or {}).get("trials") or ()
            if isinstance(trial, dict) and "verdict" in trial
        ]
        verdicts = trials or [test.verdict for test in self.tests]
        return verdicts.count("pass"), len(verdicts)

    @property
    def score(self) -> float | None:
        """The mean of the scores, None when no run has one."""
        found = [_score(test) for test in self.tests]
        scores = [score for score in found if score is not None]
        return math.fsum(scores) / len(scores) if scores else None

    @property
    def cost(self) -> tuple[float | None, bool]:
        """What all runs cost, None for a price that is not known; and whether any says."""
        return total_cost(self.tests)

    @property
    def remark(self) -> str:
        """Beside the mark: the share of runs or the score, and what it cost."""
        passed, of = self.runs
        cost, is_told = self.cost
        score = self.score
        ended = self.status not in ("new", "stopped", "queued", "running", "deferred")
        parts = [f"{passed}/{of}" if of > 1 and ended else number(score) if score is not None else ""]
        parts += [usd(cost)] if is_told else []
        return " ".join(filter(None, parts)) or (self.status if self.status in ("deferred", "running") else "")


class Row(NamedTuple):
    """A test, with a cell for each model that it runs with."""

    name: str
    cells: dict[str, Cell]


class Matrix(NamedTuple):
    """Tests by models: rows in declared order, models in order of appearance."""

    models: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()

    def tests_of(self, model: str) -> list[TestRow]:
        """Return all tests that run with a model."""
        return [test for row in self.rows if model in row.cells for test in row.cells[model].tests]

    def place_of(self, before: Matrix, row: int, column: int) -> tuple[int, int]:
        """The cell of the test and the model that were there in the matrix before; the same place where one is gone."""
        names = [one.name for one in self.rows]
        name = before.rows[row].name if row < len(before.rows) else ""
        model = before.models[column] if column < len(before.models) else ""
        row = names.index(name) if name in names else row
        column = self.models.index(model) if model in self.models else column
        return row, min(column, max(len(self.models) - 1, 0))

    def seen(self) -> list[tuple[str, str]]:
        """Return a value that differs whenever what is shown differs."""
        return [(cell.status, cell.remark) for row in self.rows for cell in row.cells.values()]


def matrix_of(store: Store, path: str) -> Matrix:
    """Return the matrix of the judged tests of the suite at `path`."""
    rows = [row for test in store.order if (row := store.rows[test]).path == path]
    named = _tags(rows, "agent") or _tags(rows, "eval")
    known = list(dict.fromkeys([*named, *store.models.get(path, ())]))  # in the suite's order
    found: dict[tuple[str, int, str], dict[str, list[TestRow]]] = {}
    models = dict.fromkeys(known)
    others = {(row.file, row.line) for row in rows if row.kind not in KINDS}
    for row in rows:
        if row.kind not in KINDS or (row.file, row.line) in others:
            continue  # what is judged of a composition has no model
        base, model = _parted(row, known)
        models.setdefault(model)
        found.setdefault((row.file, row.line, base), {}).setdefault(model, []).append(row)
    used = {model for cells in found.values() for model in cells}
    if models.pop(NO_MODEL, "") is None:
        models[NO_MODEL] = None  # the last column
    made = (
        Row(base, {model: Cell(tuple(tests)) for model, tests in cells.items()})
        for (_, _, base), cells in found.items()
    )
    return Matrix(tuple(model for model in models if model in used), tuple(made))


class Several:
    """Whether the suites that are open have several models; told again only when they have changed."""

    def __init__(self) -> None:
        self._known: tuple[tuple[object, ...], frozenset[str]] = ((), frozenset())

    def paths(self, store: Store) -> frozenset[str]:
        """Return the paths of suites whose tests run with several models."""
        state = (id(store), store.version, tuple((path, len(models)) for path, models in store.models.items()))
        if state != self._known[0]:
            found: dict[str, set[str]] = {path: set(models) for path, models in store.models.items()}
            for row in store.rows.values():
                if row.kind == "agent" or (row.kind == "eval" and " [" in row.name):
                    tag = _TAGGED.match(row.name)
                    if tag is not None:
                        found.setdefault(row.path, set()).add(tag["model"])
            several = (path for path, models in found.items() if len(models) > 1)
            self._known = (state, frozenset(path for path in several if len(matrix_of(store, path).models) > 1))
        return self._known[1]


def total_cost(tests: Iterable[TestRow]) -> tuple[float | None, bool]:
    """What tests cost, None where a price is not known; and whether any says."""
    told = [test.result for test in tests if test.result is not None and "tokens" in test.result]
    return (sum_costs(cost_of(result.get("cost_usd")) for result in told) if told else None), bool(told)


def _tags(rows: Sequence[TestRow], kind: str) -> list[str]:
    return [tag["model"] for row in rows if row.kind == kind and (tag := _TAGGED.match(row.name)) is not None]


def _parted(row: TestRow, known: Iterable[str]) -> tuple[str, str]:
    """The name without its model and the numbers of its runs; and the model."""
    for model in known:
        before, tag, after = row.name.rpartition(f" [{model}]")
        if tag:
            run, colon, metric = after.partition(": ")
            return f"{before}{_NUMBERS.sub('', run)}{colon}{_NUMBERS.sub('', metric)}", model
    ran_with = (row.result or {}).get("model")
    return _NUMBERS.sub("", row.name), ran_with if isinstance(ran_with, str) else NO_MODEL


def _score(test: TestRow) -> float | None:
    result = test.result or {}
    judgement = result.get("judgement")
    for told in (result.get("score"), judgement.get("score") if isinstance(judgement, dict) else None):
        if isinstance(told, int | float) and not isinstance(told, bool):
            return float(told)
    return None
