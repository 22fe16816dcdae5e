"""Which tests a suite has, with their names and ids: for the plan of a run, `validate`, and lists of tests before any run.

An id is `suite-path::kind::full name`, with ` #2` and so on where two would be equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

from mcptest_engine.core.costs import repeat_of
from mcptest_engine.core.enums import TestKind
from mcptest_engine.suite.case_rows import name_of_case

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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


class DeclaredTest(NamedTuple):
    """One of the tests that an entry of a suite declares, and in `metrics` what a model judges of it: tests as well.

    `model_run` is there for agent tests and evals, `grader` for evals that scorers grade, `metric` for a metric.
    """

    kind: TestKind
    name: str
    model_run: ModelRun = ModelRun()
    grader: str | None = None
    metric: str | None = None
    metrics: tuple[DeclaredTest, ...] = ()


def declared_tests(kind: TestKind, entry: Mapping[str, object], name: str, shared: Shared) -> Iterator[DeclaredTest]:
    """The tests of an entry: one, or one of each case, model, run and grader.

    `name` is the entry's. The entry may be anything in a suite that is not sound.
    """
    match kind:
        case TestKind.TOOL | TestKind.RESOURCE | TestKind.PROMPT:
            return (DeclaredTest(kind, full_name) for full_name in _names_of_cases(entry, name))
        case TestKind.COMPLIANCE:
            return iter([DeclaredTest(kind, name)])
        case TestKind.COMPOSITION:
            return (_with_metrics(DeclaredTest(kind, full_name), entry) for full_name in _names_of_cases(entry, name))
        case TestKind.AGENT:
            runs = _model_runs_of_agent(entry, shared)
            return (_with_metrics(DeclaredTest(kind, f"{name}{run.suffix}", run), entry) for run in runs)
        case TestKind.EVAL:
            return _gradings(entry, name, shared)
        case _:
            assert_never(kind)


def all_declared_tests(
    kind: TestKind, entry: Mapping[str, object], name: str, shared: Shared
) -> Iterator[DeclaredTest]:
    """The tests of an entry in the order of a run: each is followed by its metrics."""
    for test in declared_tests(kind, entry, name, shared):
        yield test
        yield from test.metrics


def _names_of_cases(entry: Mapping[str, object], name: str) -> Iterator[str]:
    cases = entry.get("cases")
    if not isinstance(cases, list):
        return iter([name])
    named = (row.get("name") for row in cases if isinstance(row, dict))
    return (name_of_case(name, case) for case in named if isinstance(case, str))


def _with_metrics(test: DeclaredTest, entry: Mapping[str, object]) -> DeclaredTest:
    graded = entry.get("eval")
    if not isinstance(graded, dict):
        return test
    metrics = (
        DeclaredTest(TestKind.EVAL, f"{test.name}: {metric}", test.model_run, metric=str(metric)) for metric in graded
    )
    return test._replace(metrics=tuple(metrics))


def _gradings(entry: Mapping[str, object], name: str, shared: Shared) -> Iterator[DeclaredTest]:
    """The tests of an eval: each grader of each answer. Where several grade, the name says which."""
    graders = graders_of(entry, shared.scorers)
    for run in _model_runs_of_eval(entry, shared):
        for grader in graders or (None,):
            mark = f" ({grader})" if len(graders) > 1 else ""
            yield DeclaredTest(TestKind.EVAL, f"{name}{run.suffix}{mark}", run, grader)


def _model_runs_of_agent(entry: Mapping[str, object], shared: Shared) -> list[ModelRun]:
    """What an agent test comes to: each of its models, as often as `runs` says; 0 runs are one."""
    runs = _runs(entry)
    if shared.together and runs > 1:
        return [ModelRun(suffix, model, runs=runs) for suffix, model in _models(entry, shared)]
    return _each_run(_models(entry, shared), runs)


def _model_runs_of_eval(entry: Mapping[str, object], shared: Shared) -> list[ModelRun]:
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
    is_named = len(models) > 1 or bool(shared.models)
    return [(f" [{model}]" if is_named and model is not None else "", model) for model in models]


def _each_run(models: Iterable[tuple[str, str | None]], runs: int) -> list[ModelRun]:
    if runs == 1:
        return [ModelRun(suffix, model) for suffix, model in models]
    return [ModelRun(f"{suffix} #{run}", model, run) for suffix, model in models for run in range(1, runs + 1)]


def _runs(entry: Mapping[str, object]) -> int:
    runs = entry.get("runs", 1)
    return max(1, min(runs, _MOST_RUNS)) if type(runs) is int else 1


def grading_of(case_id: str, run: str = "") -> str:
    """What tells the grading of one run and repeat of a test from those of the others; "" for the first."""
    return f"{'' if run in ('', '1') else f'run {run}'}{repeat_of(case_id)}"
