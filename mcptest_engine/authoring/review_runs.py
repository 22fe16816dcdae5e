"""Changed expectations from the newest runs: a failed assertion, rewritten so that it holds for the actual value.

A record says what was judged, the suite says what is written; a change is proposed only where the two still agree. A value that
was redacted, cut or made by a template is never proposed: nobody could say what belongs in the file.
"""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.authoring.review_matchers import find_loosening, restated
from mcptest_engine.authoring.review_texts import value_at
from mcptest_engine.core.clipping import show
from mcptest_engine.core.enums import TestKind
from mcptest_engine.core.errors import McptestError, RecordError
from mcptest_engine.core.redaction import MASK
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.targets import Absent, Spread, TargetSyntaxError, parse_target, render, resolve_answer
from mcptest_engine.core.text import time_shown
from mcptest_engine.suite.short_assertions import block_of_step, long_form_assertions
from mcptest_engine.suite.templates import DATA_MATCHERS, LITERAL_KEYS
from mcptest_engine.suite.text_edits import EditRefused
from mcptest_engine.suite.yaml_text import Unwritable
from mcptest_engine.workspace.files import file_state
from mcptest_engine.workspace.ulid import is_ulid, ulid_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mcptest_engine.authoring.review_texts import SuiteText
    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.suite.yaml import Pointer
    from mcptest_engine.workspace.workspace import Workspace

MOST_RUNS = 200
"""How many of the newest runs are read."""
RUNS_OF_A_SUITE = 12
MOST_BYTES = 96 * 1024 * 1024
COMPARED = 3
"""The number of runs in which a value must be equal to be called stable."""
_LARGEST_RECORD = 48 * 1024 * 1024
_HEAD_BYTES = 16 * 1024
_SUITE = '"suite":'
_BLOCKS = {kind.value: kind.block for kind in TestKind if kind.is_request}
_CLIPPED = re.compile(r"… \((?:\d+ characters|clipped[^)]*)\)\Z")
_NUMBERED = re.compile(r"(.*) #(\d+)", re.DOTALL)
_WHY = 400
_MOST_PARTS = 50
"""With more differences in one value, they are proposed together."""
_MOST_DESCRIBED = 40
_DESCRIBED = ("enum", "const", "format", "pattern", "minimum", "maximum", "default", "examples")


class Change(NamedTuple):
    """One change that a failed test suggests: `was` becomes `value` at `path` below the test number `place` of `block`.

    `about` is the assertion path of what changes, "" for a budget. `distrust` says why it must not be made, where what came is
    no answer to go by.
    """

    block: str
    place: int
    path: Pointer
    was: Any
    value: Any
    about: str
    why: str
    stability: str
    is_volatile: bool
    loosens: str | None
    run_id: str
    tests: tuple[str, ...]
    distrust: str | None


class Runs:
    """The newest records of every suite, each read once and only when needed."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._ids: dict[str, list[str]] | None = None
        self._left = MOST_BYTES

    def suites(self) -> list[str]:
        """The paths of the suites that were run, as from `Workspace.relative`."""
        return sorted(self._by_suite())

    def of(self, suite: str) -> Iterator[Mapping[str, object]]:
        """The records of a suite, newest first; damaged ones are skipped."""
        for run_id in self._by_suite().get(suite, ()):
            with suppress(RecordError, OSError):
                size = file_state(self._workspace.runs_dir / f"{run_id}.json").st_size
                self._left -= size
                if self._left < 0:
                    return
                if size <= _LARGEST_RECORD:
                    yield self._workspace.load_run(run_id)

    def _by_suite(self) -> dict[str, list[str]]:
        if self._ids is None:
            self._ids = {}
            for path in self._workspace.runs()[:MOST_RUNS]:
                suite = _suite_of(path)
                if suite is not None and len(self._ids.setdefault(suite, [])) < RUNS_OF_A_SUITE:
                    self._ids[suite].append(path.stem)
        return self._ids


class Seen(NamedTuple):
    """One result of a test: its run, and the result in the record."""

    run_id: str
    result: JsonMapping


def results(records: Iterator[Mapping[str, object]]) -> dict[tuple[str, str, str], list[list[Seen]]]:
    """The results of each test, by file, kind and id: for each run, newest first, its results there.

    A test that is repeated has several in one run. Skips decide nothing.
    """
    found: dict[tuple[str, str, str], list[list[Seen]]] = {}
    for record in records:
        here: dict[tuple[str, str, str], list[Seen]] = {}
        tests = record.get("tests")
        for result in tests if isinstance(tests, list) else ():
            if isinstance(result, dict) and result.get("verdict") in ("pass", "fail", "inconclusive"):
                key = (str(result.get("file")), str(result.get("kind")), _own_id(result))
                here.setdefault(key, []).append(Seen(str(record.get("run_id")), result))
        for key, seen in here.items():
            found.setdefault(key, []).append(seen)
    return found


def changes(text: SuiteText, kind: str, runs: Sequence[Sequence[Seen]]) -> Iterator[Change]:
    """The changes that the newest result of one test suggests; none when it passed. Bad records suggest nothing."""
    block = _BLOCKS.get(kind)
    newest = runs[0]
    if block is None or not any(seen.result.get("verdict") == "fail" for seen in newest):
        return
    first = newest[0].result
    index = text.find(block, _suite_name(first), line=_number(first.get("line")), number=_namesake(first))
    test = None if index is None else text.value((block, index))
    if index is None or not isinstance(test, dict):
        return
    tests = tuple(dict.fromkeys(str(seen.result.get("name")) for seen in newest))
    distrust = next(filter(None, (_distrust(seen.result) for seen in newest)), None)
    found = (part for one in _of_test(test, block, newest) for part in _parts(text, (block, index), one))
    for part in found:
        stability, is_volatile = part.failed.stability(runs)
        yield Change(
            block=block,
            place=index,
            path=part.path,
            was=part.was,
            value=part.value,
            about=part.failed.about,
            why=one_line(f"{_named(newest[0].run_id)}: {part.failed.message}", _WHY),
            stability=stability,
            is_volatile=is_volatile,
            loosens=part.loosens,
            run_id=newest[0].run_id,
            tests=tests,
            distrust=distrust,
        )


def _named(run_id: str) -> str:
    return f"from the run of {time_shown(ulid_seconds(run_id))}" if is_ulid(run_id) else f"from the run {run_id}"


def _distrust(result: Mapping[str, object]) -> str | None:
    """Why an answer of the test, or of a step of its `verify`, must not become its expectation; None when it may."""
    steps = result.get("verify")
    for call in (result, *(steps if isinstance(steps, list) else ())):
        failure = call.get("failure") if isinstance(call, dict) else None
        if failure is None:
            continue
        from mcptest_engine.core.results import Failure

        try:
            distrust = Failure.from_json(failure).distrust
        except (KeyError, TypeError, ValueError):
            distrust = "this answer may be wrong: the record does not say why the test failed"
        if distrust is not None:
            return distrust
    return None


class Guess(NamedTuple):
    """A test whose made-up arguments met with an error, as it stands and as it would be without `guess`.

    `arguments` describes what the tool takes, a line each. `needs_arguments`: the run came by no better ones.
    """

    block: str
    place: int
    was: JsonMapping
    value: JsonMapping
    why: str
    loosens: str | None
    notes: tuple[str, ...]
    arguments: tuple[str, ...]
    needs_arguments: bool
    run_id: str
    tests: tuple[str, ...]


def refused_guess(text: SuiteText, kind: str, newest: Sequence[Seen]) -> Guess | None:
    """What the newest results of a test say of its made-up arguments; None where they say nothing, or are not its any more."""
    block = _BLOCKS.get(kind)
    seen = next((one for one in newest if _undecided(one.result) is not None), None)
    if block is None or seen is None:
        return None
    index = text.find(
        block, _suite_name(seen.result), line=_number(seen.result.get("line")), number=_namesake(seen.result)
    )
    test = None if index is None else text.value((block, index))
    if index is None or not isinstance(test, dict) or not test.get("guess") or not _has_sent(test, seen.result):
        return None
    guess = seen.result.get("guess")
    found = guess if isinstance(guess, dict) else {}
    value = {key: part for key, part in test.items() if key != "guess"}
    better, sources = found.get("arguments"), found.get("sources")
    notes: tuple[str, ...] = ()
    if isinstance(better, dict) and isinstance(sources, dict):
        value["args"] = escape_templates(better)
        notes = tuple(
            f"`{one_line(str(name), 60)}` is what `{one_line(str(tool), 60)}` returned"
            for name, tool in sources.items()
        )
    is_refusal = _undecided(seen.result) == "error"
    return Guess(
        block=block,
        place=index,
        was=test,
        value=value,
        why=one_line(f"{_named(seen.run_id)}: {seen.result.get('message')}", _WHY),
        loosens="any error then counts as a refusal" if is_refusal else None,
        notes=notes,
        arguments=tuple(described_arguments(found.get("input_schema"))),
        needs_arguments=not is_refusal and not notes,
        run_id=seen.run_id,
        tests=tuple(dict.fromkeys(str(one.result.get("name")) for one in newest)),
    )


def described_arguments(schema: object) -> Iterator[str]:
    """What an input schema says of each argument, on a line: "`id` (string, required): The id of the book."."""
    members = schema.get("properties") if isinstance(schema, dict) else None
    required = schema.get("required") if isinstance(schema, dict) else None
    for name, about in list(members.items())[:_MOST_DESCRIBED] if isinstance(members, dict) else ():
        facts = about if isinstance(about, dict) else {}
        kind = facts.get("type", "any")
        parts = [" or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)]
        if isinstance(required, list) and name in required:
            parts.append("required")
        parts += [f"{key} {show(facts[key], 100)}" for key in _DESCRIBED if key in facts]
        description = facts.get("description")
        text = f": {description}" if isinstance(description, str) and description.strip() else ""
        yield one_line(f"`{name}` ({', '.join(parts)}){text}", 300)


def _undecided(result: Mapping[str, object]) -> str | None:
    """The wanted outcome of a call with made-up arguments, when an error left it open."""
    rows = result.get("assertions")
    for row in rows if isinstance(rows, list) and result.get("verdict") == "inconclusive" else ():
        if isinstance(row, dict) and row.get("implicit") == "outcome" and row.get("passed") is None:
            matcher = row.get("matcher")
            return str(matcher.get("exact")) if isinstance(matcher, dict) else None
    return None


def _has_sent(test: Mapping[str, object], result: Mapping[str, object]) -> bool:
    """Whether the result is for the test's current arguments; the values of templates are not known."""
    request = result.get("request")
    params = request.get("params") if isinstance(request, dict) else None
    try:
        given = as_judged(test.get("args") or {})
    except Templated:
        return True
    sent = params.get("arguments") if isinstance(params, dict) else None
    return _equal(given, sent or {}) or _holds_mask(sent)


class _Failed(NamedTuple):
    """What failed in one test: where its row stands in the record, what it was given, and the matcher proposed for it.

    `about` is the assertion path; `inner` leads from the matcher to the part of it that is proposed. `accepts_error`: the test
    would pass on an error with any part of the proposal.
    """

    place: tuple[str | int, ...]
    actual: Any
    message: str
    matcher: Any = None
    about: str = ""
    inner: Pointer = ()
    accepts_error: bool = False

    def stability(self, runs: Sequence[Sequence[Seen]]) -> tuple[str, bool]:
        """How many runs in a row come to the same proposal, and whether they differ. Those before it passed say nothing of it.

        What is proposed is compared, not what came: a length may be the same of a list that changes all the time.
        """
        if not self.place:
            return "", False
        same, value = 0, "same actual value"
        for run in runs[:COMPARED]:
            rows = [_row_at(seen.result, self.place) for seen in run]
            failed = [row for row in rows if row is not None and row.get("passed") is False]
            if len(failed) < len(rows) or not failed:
                break
            if any(not _equal(row.get("actual"), self.actual) for row in failed):
                if not all(self._suggests_the_same(row) for row in failed):
                    return "differs between runs: looks volatile", True
                value = "same proposal"
            same += 1
        if len(runs[0]) > 1 and same <= 1:
            return f"{value} {len(runs[0])} times in one run", False
        return ("seen once" if same <= 1 else f"{value} in the last {same} runs"), False

    def _suggests_the_same(self, row: Mapping[str, object]) -> bool:
        judged = row.get("matcher")
        found = restated(judged, row.get("actual")) if isinstance(judged, dict) else None
        wanted = None if found is None else escape_templates(found.matcher, LITERAL_KEYS)
        return found is not None and _equal(value_at(wanted, self.inner), value_at(self.matcher, self.inner))


class _Restated(NamedTuple):
    """What failed, what is written at `path` below the test, and what it would be; `loosens` says how that demands less.

    `matchers` are the old and the new one, and `matcher_path` leads to what is written of them: of a plain value in the short
    form, which `is_plain` says, that is the operand of `exact`.
    """

    path: Pointer
    was: Any
    value: Any
    loosens: str | None
    failed: _Failed
    matchers: tuple[Any, Any] = (None, None)
    matcher_path: Pointer = ()
    is_plain: bool = False


def _of_test(test: Mapping[str, object], block: str, newest: Sequence[Seen]) -> Iterator[_Restated]:
    """The failed assertions and budgets of a test and of its `verify` steps."""
    result = next(seen.result for seen in newest if seen.result.get("verdict") == "fail")
    yield from _of_expect(test, block, (), result, (), newest)
    steps, written = result.get("verify"), test.get("verify")
    for number, step in enumerate(steps if isinstance(steps, list) else ()):
        own = written[number] if isinstance(written, list) and number < len(written) else None
        if isinstance(step, dict) and isinstance(own, dict):
            yield from _of_expect(own, block_of_step(own), ("verify", number), step, ("verify", number), newest)


def _of_expect(
    written: Mapping[str, object],
    block: str,
    above: Pointer,
    result: Mapping[str, object],
    place: tuple[str | int, ...],
    newest: Sequence[Seen],
) -> Iterator[_Restated]:
    expect, rows, output = written.get("expect"), result.get("assertions"), result.get("output")
    # the assertions of `defaultTest` follow the test's own
    own = zip(long_form_assertions(expect, block), rows if isinstance(rows, list) else (), strict=False)
    for number, ((path, assertion), row) in enumerate(own):
        for inner, item, at, one in _leaves(assertion, row):
            here = (*place, "assertions", number, *at)
            if one.get("passed") is not False or not _failed_everywhere(newest, here):
                continue
            found = _restated(item, one, output, result)
            if found is not None:
                value, loosens, accepts_error = found
                failed = _Failed(
                    here,
                    one.get("actual"),
                    str(one.get("message", "")),
                    value.get("matcher"),
                    str(one.get("target")),
                    accepts_error=accepts_error,
                )
                full = (*above, "expect", *path, *inner)
                if isinstance(full[-1], int):
                    matchers = (item["matcher"], value["matcher"])
                    yield _Restated(full, item, value, loosens, failed, matchers, (*full, "matcher"))
                else:
                    yield from _of_short(expect, full, item["matcher"], value["matcher"], loosens, failed)
    if isinstance(expect, dict) and not place:
        yield from _budgets(expect, newest)


def _of_short(
    expect: Any, path: Pointer, matcher: JsonDict, new: JsonDict, loosens: str | None, failed: _Failed
) -> Iterator[_Restated]:
    """A failed assertion in the short form, whose key ends `path`; a plain value stays one where it can."""
    key = path[-1]
    was = expect[key]
    if not isinstance(was, dict):
        plain = new.get("exact")
        value = plain if list(new) == ["exact"] and plain is not None and not isinstance(plain, dict) else new
        yield _Restated(path, was, value, loosens, failed, (matcher, new), path, is_plain=True)
        return
    (name,) = matcher
    if len(was) > 1 and list(new) == [name]:  # other matchers of the key are not affected
        yield _Restated((*path, name), was[name], new[name], loosens, failed, (matcher, new), path)
    elif len(was) == 1 or not new.keys() & was.keys():
        others = [(one, {one: operand}) for one, operand in was.items()]
        value = {word: operand for one, its in others for word, operand in (new if one == name else its).items()}
        yield _Restated(path, was, value, loosens, failed, (matcher, new), path)


def _parts(text: SuiteText, test: tuple[str, int], whole: _Restated) -> list[_Restated]:
    """Split a change by its differences, so that each is decided separately; the whole change where the text does not allow
    that.
    """
    failed, (was, value) = whole.failed, whole.matchers
    differences = list(_differences(was, value)) if failed.about else []
    parts: list[_Restated] = []
    is_split = len(differences) > 1 or any(len(inner) > 1 and inner[0] in DATA_MATCHERS for inner, _, _ in differences)
    for inner, old, new in differences if is_split and len(differences) <= _MOST_PARTS else ():
        at = (*whole.matcher_path, *inner[whole.is_plain :])
        about = failed.about + render(("x", *inner[1:]))[1:]
        piece = text.piece(*test, at)
        try:
            if piece is None or (piece.inner and piece.inner[-1] != at[-1]):
                raise EditRefused("it is written elsewhere")
            piece.with_value(new)
        except (McptestError, Unwritable):
            parts.clear()
            break
        around = value_at(was, inner[:-1])
        expected = "nothing" if isinstance(around, dict) and inner[-1] not in around else show(old, 100)
        message = f"`{about}` is {show(new, 100)}, expected {expected}"
        loosens = whole.loosens
        if loosens is not None and not failed.accepts_error:
            loosens = find_loosening(was, inner, new, failed.actual)
        parts.append(_Restated(at, old, new, loosens, failed._replace(message=message, about=about, inner=inner)))
    return parts or [whole]


def _differences(was: object, value: object, path: Pointer = ()) -> Iterator[tuple[Pointer, object, object]]:
    """Where two values differ, with what stands there in each; what lost a member or changed its length is one difference."""
    if isinstance(was, dict) and isinstance(value, dict) and was.keys() <= value.keys():
        for key, new in value.items():
            yield from _differences(was[key], new, (*path, key)) if key in was else [((*path, key), None, new)]
    elif isinstance(was, list) and isinstance(value, list) and len(was) == len(value):
        for number, (old, new) in enumerate(zip(was, value, strict=True)):
            yield from _differences(old, new, (*path, number))
    elif not _equal(was, value):
        yield path, was, value


def _is_partly_changed(was: object, now: object, value: object) -> bool:
    """Whether each difference of two values is in `now` as in one of them: some parts of a change were accepted."""
    if _equal(now, was) or _equal(now, value):
        return True
    if isinstance(was, dict) and isinstance(now, dict) and isinstance(value, dict):
        return was.keys() <= now.keys() <= value.keys() and all(
            _is_partly_changed(was.get(key, value[key]), part, value[key]) for key, part in now.items()
        )
    if isinstance(was, list) and isinstance(now, list) and isinstance(value, list):
        return len(was) == len(now) == len(value) and all(map(_is_partly_changed, was, now, value))
    return False


def _leaves(item: object, row: object) -> Iterator[tuple[Pointer, JsonMapping, Pointer, JsonMapping]]:
    """The leaves of an assertion or a set: the path in the suite, the assertion, the path in the record, the row."""
    if not isinstance(item, dict) or not isinstance(row, dict):
        return
    of_set, judged = item.get("assert-set"), row.get("set")
    if isinstance(of_set, dict) != isinstance(judged, dict):
        return
    if not isinstance(of_set, dict) or not isinstance(judged, dict):
        yield (), item, (), row
        return
    inner, rows = of_set.get("assertions"), judged.get("assertions")
    if judged.get("passed") is False and isinstance(inner, list) and isinstance(rows, list):
        for number, (one, its) in enumerate(zip(inner, rows, strict=False)):
            if isinstance(one, dict) and isinstance(its, dict):
                yield ("assert-set", "assertions", number), one, ("set", "assertions", number), its


def _restated(
    item: Mapping[str, object], row: Mapping[str, object], output: object, result: Mapping[str, object]
) -> tuple[Any, str | None, bool] | None:
    """The assertion as it would be, how that loosens, and whether it does so by accepting an error."""
    judged, target = row.get("matcher"), row.get("target")
    if not isinstance(judged, dict) or "actual" not in row or not isinstance(target, str):
        return None
    try:
        written = as_judged(item.get("matcher"), LITERAL_KEYS)
        if as_judged(item.get("target")) != target:
            return None
    except Templated:
        return None
    actual = _whole_actual(row["actual"], target, output, transformed="transform" in item)
    if actual is _NOT_WHOLE or _holds_mask(actual) or _holds_mask(judged):
        return None
    found = restated(judged, actual)
    if found is None or _holds_mask(found.matcher):
        return None
    if written != judged and (written == found.matcher or not _is_partly_changed(judged, written, found.matcher)):
        return None
    error = _accepts_error(target, judged, actual, output, result)
    return {**item, "matcher": escape_templates(found.matcher, LITERAL_KEYS)}, error or found.loosens, error is not None


def _accepts_error(
    target: str, judged: Mapping[str, object], actual: object, output: object, result: Mapping[str, object]
) -> str | None:
    """Whether the change would let a test pass on an error that it does not expect."""
    bare = target.lstrip(".")
    if bare == "result.isError" and actual is True:
        return "accepts an error result"
    if bare == "error" and actual is not None and judged != {"exists": True}:
        return "accepts a protocol error"
    if not isinstance(output, dict):
        return None
    answer = output.get("result")
    if output.get("error") is None and not (isinstance(answer, dict) and answer.get("isError") is True):
        return None
    rows = result.get("assertions")
    for row in rows if isinstance(rows, list) else ():
        about = str(row.get("target", "")).lstrip(".") if isinstance(row, dict) else ""
        if about.startswith("error") or (about == "result.isError" and row.get("passed") is True):
            return None
    return "accepts an error result"


_NOT_WHOLE = object()


def _whole_actual(actual: object, target: str, output: object, *, transformed: bool) -> object:
    """The whole value that was judged: that of the row, else that of the answer if it was stored."""
    cut = isinstance(actual, str) and _CLIPPED.search(actual) is not None
    if not cut and not (isinstance(actual, list) and None in actual and "[*]" in target):
        return actual
    if transformed or not isinstance(output, dict) or "$file" in output:
        return _NOT_WHOLE
    try:
        found = resolve_answer(parse_target(target), output)
    except TargetSyntaxError:
        return _NOT_WHOLE
    if isinstance(found, (Absent, Spread)) or (isinstance(found, str) and "(clipped: nested" in found[-80:]):
        return _NOT_WHOLE
    return found


def _budgets(expect: Mapping[str, object], newest: Sequence[Seen]) -> Iterator[_Restated]:
    """Budgets that were exceeded, raised with some room."""
    for key in ("max_duration_ms", "max_response_tokens"):
        written = expect.get(key)
        budget = written.get("budget") if isinstance(written, dict) else written
        if isinstance(written, dict) and written.get("mode", "fail") != "fail":
            continue
        if not isinstance(budget, (int, float)) or isinstance(budget, bool):
            continue
        spent = max((_measured_amount(key, seen.result) for seen in newest), default=0.0)
        message = next(
            (failure_text for seen in newest if f"({key})" in (failure_text := str(seen.result.get("message")))),
            None,
        )
        if spent <= budget or message is None:
            continue
        limit = _roomy(spent) if key == "max_duration_ms" else math.ceil(spent)
        unit = " ms" if key == "max_duration_ms" else " tokens"
        value = {**written, "budget": limit} if isinstance(written, dict) else limit
        yield _Restated(
            ("expect", key),
            written,
            value,
            f"raises the limit from {budget} to {limit}{unit}",
            _Failed((), spent, message),
        )


def _measured_amount(key: str, result: Mapping[str, object]) -> float:
    if key == "max_duration_ms":
        duration = result.get("duration_ms")
        return float(duration) if isinstance(duration, (int, float)) else 0.0
    from mcptest_engine.judging.budgets import response_tokens

    output = result.get("output")
    return float(response_tokens(output)) if isinstance(output, dict) else 0.0


def _roomy(spent: float) -> int:
    """Half as much again, rounded to two digits."""
    wanted = math.ceil(spent * 1.5)
    unit = int(10 ** max(len(str(wanted)) - 2, 0))
    return -(-wanted // unit) * unit


def _failed_everywhere(newest: Sequence[Seen], place: tuple[str | int, ...]) -> bool:
    """Whether the row failed in every repeat of the run: if it passed once, the test is flaky and the suite is right."""
    rows = (_row_at(seen.result, place) for seen in newest)
    return all(row is None or row.get("passed") is False for row in rows)


def _row_at(result: Mapping[str, object], place: tuple[str | int, ...]) -> JsonMapping | None:
    found: Any = result
    for part in place:
        try:
            found = found[part]
        except (LookupError, TypeError):
            return None
    return found if isinstance(found, dict) else None


class Templated(Exception):
    """A text contains a template: its value is not what is written."""


def as_judged(value: object, literal: frozenset[str] = frozenset()) -> Any:
    """Return a written value as it is judged: `$${` becomes `${`. Raises: Templated for a template."""
    return _with_texts(value, _unescaped, literal)


def escape_templates(value: object, literal: frozenset[str] = frozenset()) -> object:
    """Return a value from outside as a suite must write it: `${` becomes `$${`."""
    return _with_texts(value, lambda text: text.replace("${", "$${"), literal)


def _unescaped(text: str) -> str:
    if "${" in text.replace("$${", ""):
        raise Templated
    return text.replace("$${", "${")


def _with_texts(value: object, change: Callable[[str], str], literal: frozenset[str]) -> Any:
    """Copy a value and change its texts; members named in `literal` stay, except inside the values of data matchers."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {
            key: part if key in literal else _with_texts(part, change, frozenset() if key in DATA_MATCHERS else literal)
            for key, part in value.items()
        }
    return [_with_texts(part, change, literal) for part in value] if isinstance(value, list) else value


def _holds_mask(value: object) -> bool:
    return MASK in json.dumps(value, ensure_ascii=False, default=str)


def _equal(one: object, other: object) -> bool:
    return bool(one == other) and repr(one) == repr(other)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _own_id(result: Mapping[str, object]) -> str:
    """The last part of the test's id without the number of a repeat."""
    return str(result.get("id")).rsplit("::", 1)[-1].split(" #run", 1)[0]


def _suite_name(result: Mapping[str, object]) -> str:
    """The test's name as the suite has it: of a repeat without its number."""
    name = str(result.get("name"))
    numbered = _NUMBERED.fullmatch(name) if " #run" in str(result.get("id")) else None
    return name if numbered is None else numbered[1]


def _namesake(result: Mapping[str, object]) -> int:
    """The number of the test among those of one name, from 1."""
    own = _own_id(result)
    number = own.removeprefix(f"{_suite_name(result)} #")
    return int(number) if number != own and number.isdecimal() and len(number) < 6 else 1


def _suite_of(path: Any) -> str | None:
    """The path of a run's suite, read from the beginning of its record."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES).decode("utf-8", "replace")
        at = head.find(_SUITE)
        suite = json.JSONDecoder().raw_decode(head[at + len(_SUITE) :].lstrip())[0] if at >= 0 else None
    except (OSError, ValueError, RecursionError):
        return None
    found = suite.get("path") if isinstance(suite, dict) else None
    return found if isinstance(found, str) else None
