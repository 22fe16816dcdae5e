"""Record the answers that the passing tests of a suite see, and find the values that differ in a second run.

The runs are ordinary ones, of servers or cassettes, but no run record is saved. Tests left out are listed with reasons.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.authoring.observing import scalars
from mcptest_engine.authoring.stability import is_likely_to_change
from mcptest_engine.core.enums import TestKind, Verdict
from mcptest_engine.core.live import TEST
from mcptest_engine.core.values import dataclass
from mcptest_engine.judging.differences import equal
from mcptest_engine.mutation.operators import (
    AGENT,
    MISSING,
    Answer,
    Path,
    Source,
    find_copies,
    get_at,
    put_at,
    read_json,
    sites_of,
)
from mcptest_engine.running.cases import Case
from mcptest_engine.running.kinds.agent.plan import AgentProgram
from mcptest_engine.running.launch import launch
from mcptest_engine.running.plan import make_plan
from mcptest_engine.running.settings import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.core.events import Emit
    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.judging.opinions import Opinions
    from mcptest_engine.judging.validity import Validity
    from mcptest_engine.running.cases import JudgedRequest
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadedSuite, TestEntry
    from mcptest_engine.workspace.workspace import Workspace

NEEDS_MODEL = "a model is asked: record it with `mcptest run --record NAME`, and mutate that with `--record NAME`"
_NO_ANSWER_OF_ITS_OWN = {
    TestKind.EVAL: "an eval is graded by a model or a scorer",
    TestKind.COMPLIANCE: "a compliance check judges the protocol",
}


class Judged(NamedTuple):
    """A judged answer: `asked` is the test or a step of its `verify`, `envelope` is what assertion paths start from."""

    asked: JudgedRequest
    envelope: JsonMapping
    validity: Validity | None
    opinions: Opinions | None


class Called(NamedTuple):
    """One call of a composition, and its answer."""

    server: str
    tool: str
    args: Mapping[str, object]
    answer: Answer
    validity: Validity | None


class RunAnswers:
    """An `AnswerObserver` that stores the answers of one run: `judged` by test id and step, `calls` by test id."""

    def __init__(self) -> None:
        self.judged: dict[str, dict[int | None, Judged]] = defaultdict(dict)
        self.calls: dict[str, list[Called]] = defaultdict(list)

    def note_judged(
        self, asked: JudgedRequest, envelope: Mapping[str, object], validity: Validity | None, opinions: Opinions | None
    ) -> None:
        step = None if isinstance(asked, Case) else getattr(asked, "number", None)
        self.judged[TEST.get()][step] = Judged(asked, envelope, validity, opinions)

    def note_call(
        self,
        server: str,
        tool: str,
        args: Mapping[str, object],
        answer: Mapping[str, object],
        validity: Validity | None,
    ) -> None:
        self.calls[TEST.get()].append(Called(server, tool, args, dict(answer), validity))


class Observed(NamedTuple):
    """The record of a run, and the answers of its tests."""

    record: RunRecord
    answers: RunAnswers


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One recorded answer of a test.

    `step` is the index of the step of `verify` that saw it, `call` that of the call of a composition. `again` is the answer in
    a second run, if there was one. `volatile` are the paths of values that change from run to run. `identity` is equal for the
    same answer, apart from volatile values, to the same call.
    """

    source: Source
    judged: Judged
    step: int | None = None
    call: int | None = None
    again: Answer | None = None
    volatile: frozenset[Path] = frozenset()
    identity: str = ""

    @property
    def tool(self) -> str:
        """The tool, resource URI or prompt that was called, else the method; "agent" for an agent test."""
        if self.source.method == AGENT:
            return AGENT
        params = self.judged.envelope["request"]["params"] or {}
        return str(params.get("name", params.get("uri", self.source.method)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTest:
    """A passed test and the answers that it saw. `calls` are those of a composition, in the order of `answers`."""

    case: Case
    answers: tuple[Recorded, ...]
    calls: tuple[Called, ...] = ()

    @property
    def tool(self) -> str:
        """What the test calls; for a composition the names of its tools, joined by arrows."""
        if self.case.kind is TestKind.COMPOSITION:
            return " → ".join(dict.fromkeys(call.tool for call in self.calls))
        return self.answers[0].tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The recorded answers of a suite.

    `left_out` has (name, reason) of each test without a recording; `volatile` is the number of volatile values.
    """

    tests: tuple[RecordedTest, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    volatile: int = 0


async def record_answers(
    suite: LoadedSuite,
    settings: RunSettings,
    *,
    workspace: Workspace,
    emit: Emit,
    cassettes: Sequence[str] = (),
) -> Recording | None:
    """Run the suite, or replay each of `cassettes` once, and record what its passing tests saw.

    Without cassettes, the tests that passed and change nothing are run a second time. Returns None when a run was interrupted;
    cancelling the task interrupts it.
    """
    chosen, left_out = (suite, []) if cassettes else _without_models(suite)
    asked = settings._replace(interactive=False)
    runs: list[Observed] = []
    for cassette in cassettes or (None,):
        observed = await _observe(chosen, asked._replace(replay=cassette), workspace, emit)
        runs.append(observed)
        if observed.record.interrupted:
            return None
    if cassettes:
        return _recording(_cases(chosen, settings, workspace), runs, left_out)
    found = await record_again(chosen, asked, runs[0], workspace=workspace, emit=emit)
    return None if found is None else replace(found, left_out=(*left_out, *found.left_out))


async def record_again(
    suite: LoadedSuite, settings: RunSettings, first: Observed, *, workspace: Workspace, emit: Emit
) -> Recording | None:
    """Make the recording of an observed run, after a second run of the tests that passed and change nothing.

    The second run begins with the second half of the suite, so that counters of calls have other values. Returns None when it
    was interrupted.
    """
    runs = [first]
    ids = _ids_that_change_nothing(first)
    if ids:
        names = {entry.data.get("name") for entry in suite.tests}
        has_unique_names = len(names) == len(suite.tests)  # otherwise the ids depend on the order
        half = len(suite.tests) // 2 if has_unique_names else 0
        again = replace(suite, tests=(*suite.tests[half:], *suite.tests[:half]))
        asked = settings._replace(selection=Selection(ids=ids), interactive=False)
        runs.append(await _observe(again, asked, workspace, emit))
        if runs[1].record.interrupted:
            return None
    return _recording(_cases(suite, settings, workspace), runs, [])


async def _observe(suite: LoadedSuite, settings: RunSettings, workspace: Workspace, emit: Emit) -> Observed:
    answers = RunAnswers()
    return Observed(await launch(suite, settings, workspace=workspace, emit=emit, observer=answers), answers)


def _cases(suite: LoadedSuite, settings: RunSettings, workspace: Workspace) -> dict[str, Case]:
    return {case.id: case for case in make_plan(suite, settings, relative=workspace.relative).cases}


def _ids_that_change_nothing(observed: Observed) -> frozenset[str]:
    """The ids of passed tests that only called tools declared or presumed to be read-only."""
    record, answers = observed
    effects = () if record.effects is None else record.effects.calls
    changing = {(row.server, row.tool) for row in effects if row.tool_class not in ("read_only", "read_only_presumed")}

    def called(test: str) -> Iterator[tuple[str, Any]]:
        yield from ((call.server, call.tool) for call in answers.calls.get(test, ()))
        for one in answers.judged.get(test, {}).values():
            if one.asked.method == "tools/call":
                yield one.asked.server, (one.asked.params or {}).get("name")

    return frozenset(
        test.id for test in record.tests if test.verdict is Verdict.PASS and changing.isdisjoint(called(test.id))
    )


def _without_models(suite: LoadedSuite) -> tuple[LoadedSuite, list[tuple[str, str]]]:
    """The suite without the tests and composition metrics that need a model, which costs money; and (name, reason) of these."""
    left_out, kept = [], []
    for entry in suite.tests:
        name = str(entry.data["name"])
        if _is_judged_by_model(entry):
            left_out.append((name, NEEDS_MODEL))
            continue
        if "eval" in entry.data:
            left_out.append((f"{name}: its metrics", NEEDS_MODEL))
            entry = replace(entry, data={key: value for key, value in entry.data.items() if key != "eval"})
        kept.append(entry)
    return replace(suite, tests=tuple(kept)), left_out


def _is_judged_by_model(entry: TestEntry) -> bool:
    if entry.kind.may_ask_models:
        return True
    own = [entry.data, *entry.data.get("verify", ()), *entry.data.get("cases", ())]
    return any("llm-judge" in json.dumps(one.get("expect", ""), default=str) for one in own)


def _recording(cases: Mapping[str, Case], runs: Sequence[Observed], left_out: list[tuple[str, str]]) -> Recording:
    (first, answers), *others = runs
    second = others[0] if others else None
    flaky = set()
    passed = {one.id for one in first.tests if one.verdict is Verdict.PASS}
    if second is not None and passed <= {one.id for one in second.record.tests}:
        # every test ran again, so none fails because an earlier one is missing
        flaky = {one.id for one in second.record.tests if one.verdict is not Verdict.PASS}
    tests: list[RecordedTest] = []
    for result in first.tests:
        case = cases.get(result.id)
        why = _why_left_out(result, case, flaky)
        test = None
        if why is None and case is not None:
            test = _recorded_test(case, answers, None if second is None else second.answers)
            why = None if test is not None else "no answer of its own was recorded"
        if test is None:
            left_out.append((result.name, why or "it is not in the plan of the suite"))
        else:
            tests.append(test)
    tests = _with_other_answers(tests)
    return Recording(
        tests=tuple(tests),
        left_out=tuple(left_out),
        volatile=sum(len(answer.volatile) for test in tests for answer in test.answers),
    )


def _why_left_out(result: TestResult, case: Case | None, flaky: set[str]) -> str | None:
    if case is not None and case.kind in _NO_ANSWER_OF_ITS_OWN:
        return _NO_ANSWER_OF_ITS_OWN[case.kind]
    match result.verdict:
        case Verdict.FAIL:
            return "it fails: `mcptest run` shows why"
        case Verdict.SKIP | Verdict.INCONCLUSIVE:
            return f"it is {'skipped' if result.verdict is Verdict.SKIP else 'inconclusive'}"
    if result.id in flaky:
        return "it did not pass in the second run"
    if case is not None and case.kind is TestKind.COMPOSITION and len(result.attempts) > 1:
        return "it passed only when it was tried again"
    program = None if case is None else case.body
    if case is not None and isinstance(program, AgentProgram) and (program.trials or not case.expect["assertions"]):
        return "an agent test is judged by measures or by its share of passes"
    return None


def _recorded_test(case: Case, first: RunAnswers, second: RunAnswers | None) -> RecordedTest | None:
    if case.kind is TestKind.COMPOSITION:
        calls = tuple(first.calls.get(case.id, ()))
        other_calls = None if second is None else second.calls.get(case.id, ())
        answers = [_recorded_call(case, calls, at, _same_call(calls, at, other_calls)) for at in range(len(calls))]
        return RecordedTest(case=case, answers=tuple(answers), calls=calls) if answers else None
    judged = first.judged.get(case.id, {})
    again = {} if second is None else second.judged.get(case.id, {})
    found = [_recorded_answer(one, step, again.get(step)) for step, one in judged.items()]
    whole = tuple(one for one in found if one is not None)
    return RecordedTest(case=case, answers=whole) if whole else None


def _recorded_answer(judged: Judged, step: int | None, again: Judged | None) -> Recorded | None:
    answer = answer_in(judged)
    if answer is None:
        return None
    method = AGENT if "final_response" in answer else judged.asked.method
    validity = judged.validity
    source = Source(method, answer, output_schema=None if validity is None else validity.output_schema)
    other = None if again is None else answer_in(again)
    asked = scalars((judged.asked.params or {}).get("arguments", judged.asked.params))
    volatile = find_volatile(source, other, asked)
    params = None if method == AGENT else judged.asked.params
    identity = _identity_of(judged.asked.server, source, params, volatile)
    return Recorded(source=source, judged=judged, step=step, again=other, volatile=volatile, identity=identity)


def answer_in(judged: Judged) -> Answer | None:
    """The part of an envelope that is mutated; None where there was no answer."""
    envelope = judged.envelope
    if "final_response" in envelope:
        return {key: envelope[key] for key in ("final_response", "tool_calls")}
    if envelope["error"] is not None:
        return {"error": envelope["error"]}
    return {"result": envelope["result"]} if "result" in envelope else None


def envelope_with(judged: Judged, answer: Answer) -> JsonDict:
    """The judged envelope with another answer in it."""
    envelope = {**judged.envelope, "error": None, **answer}
    if "final_response" in answer:
        envelope["tool_names"] = [call.get("name") for call in answer["tool_calls"]]
    elif "result" not in answer:
        envelope.pop("result", None)
    return envelope


def _recorded_call(case: Case, calls: Sequence[Called], at: int, again: Answer | None) -> Recorded:
    call = calls[at]
    judge = None if call.validity is None else call.validity.output_schema
    source = Source("tools/call", call.answer, output_schema=judge)
    request = {"method": "tools/call", "params": {"name": call.tool, "arguments": call.args}}
    judged = Judged(case, {"request": request}, call.validity, None)
    volatile = find_volatile(source, again, scalars(call.args))
    identity = _identity_of(call.server, source, request["params"], volatile)
    return Recorded(source=source, judged=judged, call=at, volatile=volatile, identity=identity)


def _identity_of(server: str, source: Source, params: object, volatile: frozenset[Path]) -> str:
    """A hash of a call and its answer without volatile values."""
    answer = source.answer
    for path in sorted(volatile, key=lambda one: (-len(one), str(one))):  # inner paths before outer ones
        answer = put_at(answer, path, None)
    text = json.dumps([server, source.method, params, answer], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _same_call(calls: Sequence[Called], at: int, others: Iterable[Called] | None) -> Answer | None:
    """The answer to the same call in another run: if it is the nth call of a tool here, that of the nth call there."""
    if others is None:
        return None
    call = calls[at]
    place = sum(one.tool == call.tool and one.server == call.server for one in calls[:at])
    alike = [one.answer for one in others if one.tool == call.tool and one.server == call.server]
    return alike[place] if place < len(alike) else None


def find_volatile(source: Source, other: Answer | None, asked: frozenset[str]) -> frozenset[Path]:
    """The paths of values that change from run to run: they differ in `other`, or look like a time, random id or counter.

    `asked` are the values of the arguments, which do not count as such: the server repeats them.
    """
    copies = find_copies(source.answer) if source.method == "tools/call" else ()
    found: set[Path] = set()
    lists: set[Path] = set()
    steady: set[Path] = set()  # the lists with a value that is not volatile
    for path, value, _, _ in sites_of(source, copies):
        again = MISSING if other is None else get_at(other, path)
        if isinstance(value, (dict, list)) or (isinstance(value, str) and read_json(value) is not None):
            if other is not None and isinstance(value, list) and not _is_same_list(value, again):
                found.add(path)
            elif other is not None and isinstance(value, list) and len(value) > 1 and len(path) > 2:  # not the blocks
                lists.add(path)
        elif (other is not None and not equal(value, again)) or is_likely_volatile(path, value, asked):
            found.add(path)
        else:
            steady.update(path[:at] for at, part in enumerate(path) if isinstance(part, int))
    # If all values in a list are volatile, it has the same length by chance.
    inside = {path[:at] for path in found for at, part in enumerate(path) if isinstance(part, int)}
    return frozenset(found | (lists & inside - steady))


def _is_same_list(one: list[object], other: object) -> bool:
    """Whether two lists have equal lengths, and one is not the other in another order."""
    if not isinstance(other, list) or len(one) != len(other):
        return False
    pairs = ([json.dumps(item, sort_keys=True, default=str) for item in items] for items in (one, other))
    first, second = pairs
    return first == second or sorted(first) != sorted(second)


def is_likely_volatile(path: Path, value: object, asked: frozenset[str]) -> bool:
    """Whether a value looks like a time, a random id or a counter; never null, a boolean or the value of an argument."""
    names = [part for part in path if isinstance(part, str)]
    if repr(value) in asked or value is None or isinstance(value, bool):
        return False
    today = datetime.now(UTC).date()
    return is_likely_to_change(value, names[-1], seen_twice=True, today=today, inside=tuple(names[2:-1]))


def _with_other_answers(tests: Iterable[RecordedTest]) -> list[RecordedTest]:
    """Set the `others` of each answer: at most one different result of the same target."""
    tests = list(tests)
    known: dict[tuple[str, str, str], list[object]] = defaultdict(list)
    for answer in (one for test in tests for one in test.answers):
        if "result" in answer.source.answer:
            known[_target_of(answer)].append(answer.source.answer["result"])

    def others(answer: Recorded) -> Iterator[object]:
        own = answer.source.answer.get("result")
        yield from (result for result in known[_target_of(answer)] if not equal(result, own))

    return [
        replace(
            test,
            answers=tuple(
                replace(one, source=one.source._replace(others=tuple(islice(others(one), 1)))) for one in test.answers
            ),
        )
        for test in tests
    ]


def _target_of(answer: Recorded) -> tuple[str, str, str]:
    """(server, method, name): answers with the same key may be confused; the resources of a server share one key."""
    name = "" if answer.source.method == "resources/read" else answer.tool
    return answer.judged.asked.server, answer.source.method, name
