"""The ids of a suite's tests: `suite-path::kind::full name`, with `#2` and so on where two would be equal.

The plan of a run and whoever shows a suite that is not running number them alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.costs import repeat_of
from mcptest_engine.core.enums import TestKind
from mcptest_engine.suite.case_rows import name_of_case

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.suite.load import LoadedSuite

_MOST_RUNS = 1000


class DeclaredIds:
    """Gives out ids in declared order; `path` is the suite's as records tell it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: dict[str, int] = {}
        self._taken: set[str] = set()

    def take(self, kind: str, name: str) -> tuple[str, int]:
        """The id of the next test, and its number among those of the same name, from 1."""
        case_id = f"{self._path}::{kind}::{name}"
        count = self._seen.get(case_id, 0) + 1
        own_id = case_id if count == 1 else f"{case_id} #{count}"
        while own_id in self._taken:  # a test may be called "a #2", before or after the second "a"
            count += 1
            own_id = f"{case_id} #{count}"
        self._seen[case_id] = count
        self._taken.add(own_id)
        return own_id, count


class Shared(NamedTuple):
    """What decides, beside a test's entry, into how many tests it falls.

    `scorers` are the names of the suite's, `together` says that the runs of an agent test are trials of one
    (`run_options.inconclusive.on`), and `models` are asked in place of those that tests name.
    """

    scorers: tuple[str, ...] = ()
    together: bool = False
    models: tuple[str, ...] = ()

    @classmethod
    def of(cls, suite: LoadedSuite, models: Iterable[str] = ()) -> Shared:
        inconclusive = suite.run_options.get("inconclusive") or {}
        names = tuple(scorer["name"] for scorer in suite.scorers)
        return cls(names, bool(inconclusive.get("on")), tuple(dict.fromkeys(models)))


class ModelRun(NamedTuple):
    """One answer that is got of a test, or several that are trials of it: `runs` of them.

    `suffix` tells it from the others of its test. `run` counts from 1, 0 for the only one.
    """

    suffix: str = ""
    model: str | None = None
    run: int = 0
    runs: int = 1


NOTHING_SHARED = Shared()


def names_of(
    kind: TestKind, entry: Mapping[str, object], name: str, shared: Shared = NOTHING_SHARED
) -> Iterator[tuple[TestKind, str]]:
    """The tests that an entry of a suite comes to: the entry itself, or one of each case, model, run, grader and judged metric.

    `name` is the entry's. The entry may be anything in a suite that is not sound.
    """
    if kind is TestKind.EVAL:
        graders = graders_of(entry, shared.scorers)
        for model_run in model_runs_of_eval(entry, shared):
            for grader in graders or (None,):
                yield kind, name_of_grading(f"{name}{model_run.suffix}", grader, graders)
        return
    if kind is TestKind.AGENT:
        suffixes = [model_run.suffix for model_run in model_runs_of_agent(entry, shared)]
    else:
        suffixes = _cases_of(entry) if kind is not TestKind.COMPLIANCE else [""]
    graded = entry.get("eval") if kind in (TestKind.COMPOSITION, TestKind.AGENT) else None
    for suffix in suffixes:
        yield kind, f"{name}{suffix}"
        for metric in graded if isinstance(graded, dict) else ():
            yield TestKind.EVAL, name_of_metric(f"{name}{suffix}", str(metric))


def model_runs_of_agent(entry: Mapping[str, object], shared: Shared = NOTHING_SHARED) -> list[ModelRun]:
    """What an agent test comes to: each of its models, as often as `runs` says; 0 runs are one."""
    runs = _runs(entry)
    if shared.together and runs > 1:
        return [ModelRun(suffix, model, runs=runs) for suffix, model in _models(entry, shared)]
    return _each_run(_models(entry, shared), runs)


def model_runs_of_eval(entry: Mapping[str, object], shared: Shared = NOTHING_SHARED) -> list[ModelRun]:
    """What an eval comes to: each of its models, where one answers, as often as `runs` says."""
    return _each_run(_models(entry, shared) if needs_model(entry) else [("", None)], _runs(entry))


def needs_model(entry: Mapping[str, object]) -> bool:
    """Whether the answer that an eval grades is a model's."""
    return "output" not in entry and "call" not in entry


def graders_of(entry: Mapping[str, object], declared: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the scorers that grade an eval; () where its judge does."""
    named = entry.get("scorers")
    if not isinstance(named, list):
        return declared
    return tuple(dict.fromkeys(name for name in named if isinstance(name, str)))


def jurors_of(written: Mapping[str, Any], otherwise: Mapping[str, Any]) -> tuple[str, ...]:
    """The models of a jury; () where one model grades. Who names one `model`, or how often it is asked, has no such jury."""
    if "models" in written:
        return tuple(written["models"])
    return () if "model" in written or "jury" in written else tuple(otherwise.get("models", ()))


def _models(entry: Mapping[str, object], shared: Shared) -> list[tuple[str, str | None]]:
    """The models that are asked, None for whichever there is, each with what a name says of it."""
    named = entry.get("models")
    own = named if isinstance(named, list) and named else [entry.get("model")]
    models = list(dict.fromkeys(model if isinstance(model, str) else None for model in shared.models or own))
    told = len(models) > 1 or bool(shared.models)
    return [(f" [{model}]" if told and model is not None else "", model) for model in models]


def _each_run(models: Iterable[tuple[str, str | None]], runs: int) -> list[ModelRun]:
    if runs == 1:
        return [ModelRun(suffix, model) for suffix, model in models]
    return [ModelRun(f"{suffix} #{run}", model, run) for suffix, model in models for run in range(1, runs + 1)]


def _runs(entry: Mapping[str, object]) -> int:
    runs = entry.get("runs", 1)
    return max(1, min(runs, _MOST_RUNS)) if type(runs) is int else 1


def _cases_of(entry: Mapping[str, object]) -> list[str]:
    cases = entry.get("cases")
    if not isinstance(cases, list):
        return [""]
    named = (row.get("name") for row in cases if isinstance(row, dict))
    return [name_of_case("", name) for name in named if isinstance(name, str)]


def name_of_metric(name: str, metric: str) -> str:
    """The name of what a model judges of a test."""
    return f"{name}: {metric}"


def name_of_grading(name: str, grader: str | None, graders: Sequence[str]) -> str:
    """The name of what one of the graders of an eval says; that of the eval where it has no more than one."""
    return name if grader is None or len(graders) < 2 else f"{name} ({grader})"


def grading_of(case_id: str, run: str = "") -> str:
    """What tells the grading of one run and repeat of a test from those of the others; "" for the first."""
    return f"{'' if run in ('', '1') else f'run {run}'}{repeat_of(case_id)}"
