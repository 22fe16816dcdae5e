"""What can be wrong with weights, thresholds and metrics although their shape is right.

A reference to a metric that comes later, or to itself, could never resolve and is an error. A name that nothing has scores
0.0, by the language, and is a warning with the nearest name. See docs/how-to/scores.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.core.text import quoted
from mcptest_engine.suite.items import ASSERT_SET, METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.suite.merge import Placed
    from mcptest_engine.suite.places import Places
    from mcptest_engine.suite.yaml import Pointer

_WAYS = ("weighted_average", "weighted_sum")
_NOTHING = "all weights are zero, so nothing counts"


class _Metric(NamedTuple):
    """A metric as it was found: its mapping, and where that stands; `shared` says that it is `defaultTest`'s."""

    data: dict[str, Any]
    file: int
    path: Pointer
    shared: bool


class ScoreChecks:
    """Checks of tests that use the score model. `defaults` is `defaultTest`, key by key.

    `knows_names` is False where a `name` of the suite is misspelt: any unknown reference may be to that one.
    """

    def __init__(self, defaults: Mapping[str, Placed], places: Places, *, knows_names: bool = True) -> None:
        self._places, self._knows_names = places, knows_names
        self._defaults = defaults
        expect = defaults.get("expect")
        self._shared = _items(None if expect is None else expect.value)
        self._threshold = defaults["threshold"].value if "threshold" in defaults else None
        shared = defaults.get(METRICS)
        self._metrics = [] if shared is None else _metrics(shared.value, shared.file, shared.path, shared=True)

    def check_shared(self) -> None:
        """What is wrong with `defaultTest` by itself."""
        expect = self._defaults.get("expect")
        if expect is not None:
            self._check_sets(expect.value, expect.file, expect.path)
        for metric in self._metrics:
            self._check_weights(metric)

    def check(self, entry: Mapping[str, object], file: int, path: Pointer) -> None:
        """What is wrong with one test; `path` leads to it."""
        if "expect" in entry:
            self._check_sets(entry["expect"], file, (*path, "expect"))
        items = [*_items(entry.get("expect")), *self._shared]
        if entry.get("threshold", self._threshold) is not None:
            self._check_threshold(entry, items, file, path)
        own = _metrics(entry.get(METRICS), file, (*path, METRICS), shared=False)
        if own or self._metrics:
            self._check_metrics(own, list(_names(items)), file, path)

    def _check_threshold(self, entry: Mapping[str, object], items: list[Any], file: int, path: Pointer) -> None:
        own = "threshold" in entry
        if not items and own:
            message = "`threshold` has no effect: the test has no assertions to score"
            self._places.report(file, (*path, "threshold"), message, "add `expect:`, or remove `threshold`", key=True)
        elif items and not any(_weight(_of(item)) for item in items):
            at = (*path, "threshold") if own else path
            self._places.report(file, at, f"{_NOTHING} in the score", "give one of them a weight above 0", key=own)

    def _check_sets(self, expect: object, file: int, path: Pointer) -> None:
        if isinstance(expect, dict):
            expect, path = expect.get("assertions"), (*path, "assertions")
        for number, item in enumerate(expect if isinstance(expect, list) else ()):
            inner = item.get(ASSERT_SET) if isinstance(item, dict) else None
            assertions = inner.get("assertions") if isinstance(inner, dict) else None
            if isinstance(assertions, list) and assertions and not any(_weight(one) for one in assertions):
                place = (*path, number, ASSERT_SET)
                self._places.report(
                    file, place, f"{_NOTHING} in the set", "give one of them a weight above 0", key=True
                )

    def _check_weights(self, metric: _Metric) -> None:
        """An average over nothing has no value."""
        for way, terms in _ways(metric.data):
            if way == "weighted_average" and terms and not any(_weight(term) for term in terms):
                place = (*metric.path, "value", way)
                message = f"{_NOTHING} in the average"
                self._places.report(metric.file, place, message, "give one of them a weight above 0", key=True)

    def _check_metrics(self, own: list[_Metric], names: list[str], file: int, path: Pointer) -> None:
        for metric in own:
            self._check_weights(metric)
        called = {metric.data.get("name") for metric in own}
        metrics = [*own, *(metric for metric in self._metrics if metric.data.get("name") not in called)]
        order = [metric.data.get("name") for metric in metrics]
        for number, metric in enumerate(metrics):
            name = order[number]
            if not isinstance(name, str):
                continue
            if name in order[:number]:
                self._report_problem(
                    metric, ("name",), f"the test has two metrics named {quoted(name)}", "rename one of them"
                )
            elif name in names:
                message = f"{quoted(name)} is also the name of an assertion or set"
                self._report_problem(metric, ("name",), message, "rename one of them, so that `ref` is unambiguous")
            self._check_references(metric, number, order, names, called, file, path)

    def _check_references(
        self,
        metric: _Metric,
        number: int,
        order: list[Any],
        names: list[str],
        own: set[Any],
        file: int,
        path: Pointer,
    ) -> None:
        earlier = [name for name in order[:number] if isinstance(name, str)]
        for way, terms in _ways(metric.data):
            for index, term in enumerate(terms):
                ref = term.get("ref") if isinstance(term, dict) else None
                if not isinstance(ref, str) or ref in earlier:
                    continue
                below = ("value", way, index, "ref")
                if ref in names:
                    if names.count(ref) > 1:
                        message = f"{quoted(ref)} is the name of {names.count(ref)} assertions or sets"
                        self._report_problem(
                            metric, below, message, "give each its own name, so that the reference is unambiguous"
                        )
                elif ref == order[number]:
                    self._report_problem(metric, below, f"the metric {quoted(ref)} refers to itself", None)
                elif ref in order:
                    hint = f"declare {quoted(ref)} before {quoted(str(order[number]))}"
                    if not metric.shared and ref not in own:
                        hint = "the metrics of `defaultTest` come after a test's own: declare it in the test as well"
                    self._report_problem(metric, below, f"the metric {quoted(ref)} is declared later", hint)
                elif self._knows_names and all(isinstance(name, str) for name in order):
                    self._unknown(metric, below, ref, [*names, *earlier], file, path)

    def _unknown(self, metric: _Metric, below: Pointer, ref: str, known: list[str], file: int, path: Pointer) -> None:
        message = f"no assertion, set or metric is named {quoted(ref)}, so its score is 0.0"
        hint: str = "give the right assertion this `name`"
        if known:
            hint = did_you_mean(ref, known) or "named are " + ", ".join(map(quoted, dict.fromkeys(known)))
        if metric.shared:
            name = quoted(str(metric.data.get("name")))
            self._places.warn(file, path, f"in the metric {name} of `defaultTest`, {message} in this test", hint)
        else:
            self._places.warn(metric.file, (*metric.path, *below), message, hint)

    def _report_problem(self, metric: _Metric, below: Pointer, message: str, hint: str | None) -> None:
        self._places.report(metric.file, (*metric.path, *below), message, hint)


def _items(expect: object) -> list[Any]:
    found = expect.get("assertions") if isinstance(expect, dict) else expect
    return found if isinstance(found, list) else []


def _of(item: object) -> Any:
    return item.get(ASSERT_SET, item) if isinstance(item, dict) else item


def _weight(part: object) -> Any:
    """The weight of a part; 1 where it says none, or something that the structural check refuses."""
    weight = part.get("weight", 1) if isinstance(part, dict) else 1
    return weight if isinstance(weight, int | float) else 1


def _names(items: list[Any]) -> Iterator[str]:
    """The names of the assertions and sets, those inside sets included."""
    for item in items:
        found = _of(item)
        if not isinstance(found, dict):
            continue
        if isinstance(name := found.get("name"), str):
            yield name
        if found is not item and isinstance(inner := found.get("assertions"), list):
            yield from _names(inner)


def _metrics(written: object, file: int, path: Pointer, *, shared: bool) -> list[_Metric]:
    entries = enumerate(written if isinstance(written, list) else ())
    return [_Metric(data, file, (*path, number), shared) for number, data in entries if isinstance(data, dict)]


def _ways(metric: Mapping[str, object]) -> Iterator[tuple[str, list[Any]]]:
    value = metric.get("value")
    if not isinstance(value, dict):
        return
    for way in _WAYS:
        if isinstance(terms := value.get(way), list):
            yield way, terms
