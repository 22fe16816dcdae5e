"""What a test found: its verdict, failure, assertions, attempts and steps; `run_record` holds the whole run."""

from __future__ import annotations

from dataclasses import replace
from math import fsum, isfinite
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.enums import (
    ERROR_FAILURES,
    FAILS_ALONE,
    FAILS_ALONE_WORDS,
    JUDGED_FAILURES,
    FailureKind,
    NotRun,
    Part,
    Strength,
    TestKind,
    Verdict,
)
from mcptest_engine.core.json_object import JsonObject, decode, encode
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import MemberDescriptorType

    from mcptest_engine.core.json_types import Json, JsonDict, JsonMapping

__all__ = [
    "ERROR_FAILURES",
    "JUDGED_FAILURES",
    "AssertionResult",
    "AssertionSet",
    "Attempt",
    "Cause",
    "DerivedMetric",
    "Failure",
    "FailureKind",
    "MetricRollup",
    "Mismatch",
    "NotRun",
    "Part",
    "TestKind",
    "TestResult",
    "Verdict",
    "VerifyResult",
]

_WORTH_PACKING = 60
_WORTH_COMPRESSING = 512
_PACKED = ("output", "assertions", "verify", "trace", "trials")
_OF_A_SOUND_ANSWER = frozenset({FailureKind.ASSERTION, FailureKind.BUDGET, FailureKind.SCORE, FailureKind.METRIC})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """Why a matcher said no.

    `message` is the one-line reason with values clipped, such as "substring `a` not found in `b`". `pointer` is the JSON
    Pointer, inside the value judged, of the first place that differs. `diff` is a unified diff where both sides are objects,
    arrays or texts of several lines.
    """

    message: str
    pointer: str = ""
    diff: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause(JsonObject):
    """Why a test failed, as far as running it again has shown.

    It failed while calls of other tests were under way. `kind` is "interference": it passes alone; "fails_alone": it fails
    alone too; or "not_tried": it was not run again. `beside` is the name of a test beside which it fails, None where none was
    found; `reruns` is how often it was run again.
    """

    JSON_MEMBERS = "kind with=beside? reruns"

    kind: str
    beside: str | None
    reruns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure(JsonObject):
    """Why a test failed. `message` is one line; `stderr_tail` the end of the server's stderr where that helps.

    `parts` are what `message` is made of, (what it tells, its text) each, () where it tells one thing only.
    `not_ready`: the server did not become ready in the time that the suite gives it.
    `scorer_error` is {"scorer", "kind", "message", "stderr_tail"} where a scorer gave no verdict. `line` is that
    of the case or the node at fault in the test's file, where it is not the test's own.
    """

    JSON_MEMBERS = "kind message parts? line? not_ready? cause? hint? stderr_tail? scorer_error?"

    kind: FailureKind
    message: str
    hint: str | None = None
    stderr_tail: str | None = None
    scorer_error: Mapping[str, object] | None = None
    line: int | None = None
    cause: Cause | None = None
    parts: tuple[tuple[Part, str], ...] = ()
    not_ready: bool = False

    def with_part(self, part: Part, text: str) -> Failure:
        """The failure with a further part of its message: a cause in front, any other at the end."""
        parts = self.parts or ((Part.OWN, self.message),)
        parts = ((part, text), *parts) if part is Part.CAUSE else (*parts, (part, text))
        message = f"{text}; {self.message}" if part is Part.CAUSE else f"{self.message}; {text}"
        return replace(self, message=message, parts=parts)

    def with_lead(self, lead: str) -> Failure:
        """The failure whose message, and the first part of it, begins with `lead`."""
        parts = tuple((part, text if number else lead + text) for number, (part, text) in enumerate(self.parts))
        return replace(self, message=lead + self.message, parts=parts)

    def texts(self, *wanted: Part) -> list[str]:
        """The texts of those parts of the message, in its order."""
        return [text for part, text in self.parts if part in wanted]

    def without_step(self) -> Failure | None:
        """The failure of the test's own call, where a step of `verify` failed too; None where only that did."""
        parts = tuple(part for part in self.parts if part[0] is not Part.STEP)
        if len(parts) == len(self.parts):
            return self
        return replace(self, message="; ".join(text for _, text in parts), parts=parts) if parts else None

    @property
    def rerun_text(self) -> str | None:
        """What running the test again alone has shown, in one line; None where it was not, or where `hint` says it."""
        return FAILS_ALONE_WORDS if self.cause is not None and self.cause.kind == FAILS_ALONE else None

    @property
    def distrust(self) -> str | None:
        """Why the answer must not become what a test expects; None where it only differs from what was expected."""
        if self.cause is not None and self.cause.kind == "not_tried":
            return "this answer may be wrong: the test failed beside other tests, and was not run again alone"
        if self.cause is not None and self.cause.kind != FAILS_ALONE:
            beside = "other tests" if self.cause.beside is None else f'"{self.cause.beside}"'
            return f"this answer may be wrong: the test passes alone, and fails beside {beside} ({self.cause.kind})"
        if self.kind in _OF_A_SOUND_ANSWER:
            return None
        return f"this answer may be wrong: the test failed as `{self.kind}`: {self.message}"

    def to_json(self) -> JsonDict:
        out = encode(self)
        if self.parts:
            out["parts"] = [{"of": part.value, "message": text} for part, text in self.parts]
        return out

    @classmethod
    def from_json(cls, data: JsonMapping) -> Failure:
        parts = tuple((Part(part["of"]), part["message"]) for part in data.get("parts", ()))
        return decode(cls, {**data, "parts": parts})


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionResult(JsonObject):
    """One assertion judged. `matcher` is the mapping as written in the suite, secrets masked; `passed` is None where nobody
    could say, and `deferred` is why where no model could be asked.

    `actual` is the value the target led to (redacted, and clipped when it is large); it is left out of the record when the
    target led nowhere. `message` is the full line, "NOTE: assertion 1 (`target`) failed: REASON", set when `passed` is not
    True; `note` is what the suite says of its failing, and `brief` the line without the error of the call at its end, if any.

    The row of an assert-set has `set`, and neither target nor matcher nor actual; the rows in it count from 0 again.
    `judgement` is what a model said where the matcher asks one, as in `TestResult`. `implicit` is set in
    the rows of what is expected without being written: "outcome" (that the call succeeds, or fails; `actual` is "success",
    "tool_error" or "protocol_error") and "valid" (`actual` is "valid" or "invalid"). They follow the written ones, their weight
    is 0. `passed` is None in the row of the outcome where made-up arguments met with an error. `transform` is the jq program
    that the value goes through first.
    """

    JSON_MEMBERS = (
        "index implicit? name? target matcher transform? weight passed message? note? reason? brief? pointer? "
        "diff? actual judgement? deferred? set?"
    )

    index: int
    target: str
    matcher: JsonMapping
    passed: bool | None
    name: str | None = None
    weight: float = 1.0
    message: str | None = None
    pointer: str | None = None
    diff: str | None = None
    absent: bool = False
    actual: Json = None
    set: AssertionSet | None = None
    judgement: JsonMapping | None = None
    implicit: str | None = None
    transform: str | None = None
    deferred: str | None = None
    note: str | None = None
    reason: str | None = None
    brief: str | None = None

    def leaves(self) -> Iterator[AssertionResult]:
        """The row itself, or the rows of its set."""
        if self.set is None:
            yield self
        else:
            yield from self.set.assertions

    def to_json(self) -> JsonDict:
        out = encode(self)
        if self.set is not None:
            del out["target"], out["matcher"]
        if self.absent:
            del out["actual"]
        return out

    @classmethod
    def from_json(cls, data: JsonMapping) -> AssertionResult:
        absent, is_set = "actual" not in data, "set" in data
        if absent or is_set:
            data = {**data, "actual": data.get("actual")} | ({"target": "", "matcher": {}} if is_set else {})
        return decode(cls, data, absent=absent)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionSet(JsonObject):
    """The result of a set of assertions. `score` is the share of the weights that passed, None where some were not judged.

    `passed` is None when deferred.
    """

    JSON_MEMBERS = "name? threshold score passed assertions"

    name: str | None
    threshold: float
    score: float | None
    passed: bool | None
    assertions: tuple[AssertionResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedMetric(JsonObject):
    """A metric of one test. `passed` is None where it has no threshold; `missing` are references that lead nowhere."""

    JSON_MEMBERS = "name value threshold? passed? missing?"

    name: str
    value: float
    threshold: float | None = None
    passed: bool | None = None
    missing: tuple[str, ...] = ()

    def missing_texts(self) -> Iterator[str]:
        """A line for each reference that leads nowhere, so that a typo is visible."""
        return (
            f"metric `{self.name}`: no assertion, set or metric is named `{name}`, so its score is 0.0"
            for name in self.missing
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRollup(JsonObject):
    """A metric over a run: the mean over the `count` tests that reported it."""

    JSON_MEMBERS = "name mean count"

    name: str
    mean: float
    count: int

    @classmethod
    def of(cls, tests: Iterable[TestResult]) -> tuple[MetricRollup, ...]:
        """The rollup of each metric name, in the order in which they are met, its mean to 15 digits."""
        values: dict[str, list[float]] = {}
        for test in tests:
            for metric in test.derived_metrics:
                values.setdefault(metric.name, []).append(metric.value)
        means = {name: fsum(one / len(found) for one in found) for name, found in values.items()}
        rounded = {name: float(f"{mean:.15g}") for name, mean in means.items()}  # the largest numbers round to infinity
        return tuple(
            cls(name=name, mean=rounded[name] if isfinite(rounded[name]) else means[name], count=len(found))
            for name, found in values.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt(JsonObject):
    """One try of a test that was tried more than once, or whose first answer met with a `fault`.

    `fault` is what the test did to this answer: "drop_response", "disconnect" or "delay_ms". An attempt whose answer was taken
    away is inconclusive: it was asked for, and there is nothing to judge.
    """

    JSON_MEMBERS = "verdict duration_ms message? fault?"

    verdict: Verdict
    duration_ms: float
    message: str | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResult(JsonObject):
    """One step of a test's `verify`: a further call after the deciding one, judged like a test.

    `request` and `output` are as in `TestResult`, and None in a step that was not run: its verdict is "skip", and `message`
    says why.
    """

    JSON_MEMBERS = "index name? server tool? verdict duration_ms message? failure? assertions request output"

    index: int
    server: str
    verdict: Verdict
    duration_ms: float
    name: str | None = None
    tool: str | None = None
    message: str | None = None
    failure: Failure | None = None
    assertions: tuple[AssertionResult, ...] = ()
    request: JsonMapping | None = None
    output: JsonMapping | None = None

    @property
    def label(self) -> str:
        """What the step goes by, such as "verify step 1 (balance is 90)"."""
        return f"verify {self.called}"

    @property
    def called(self) -> str:
        """The step's number, from 1, and its name, else its tool or method: "step 1 (balance is 90)"."""
        return f"step {self.index + 1} ({self.name or self.tool or (self.request or {}).get('method') or self.server})"

    @property
    def summary(self) -> str:
        """What the step goes by, and its message: "verify step 1 (balance is 90): assertion 1 …"."""
        return f"{self.label}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult(JsonObject):
    """One test of a run.

    `request` is {"method", "params"} as sent, or None when nothing was sent. `output` is what came back: {"result": …} or
    {"error": …} exactly as the server sent them, with "notifications", "server_requests" and "http" where there were any; None
    when nothing came. Of what is nested more than 200 levels deep the beginning is kept, as text. A large output is {"$file":
    path relative to `.mcptest/`, "bytes": n} instead. `verify` holds every step of the suite's `verify`, in order.
    `line` is the line of the test's entry in `file`, which is relative to the workspace. Times are in milliseconds. `score` and
    `threshold` are there for a test that was judged and has a threshold, `derived_metrics` where it declares any. `case` is the
    name of the row of data that it ran with, `row` where that is written if it is in a data file: {"file", "line"}.
    `trace` is what came of a composition: {"composition", "nodes", "output", …}
    as targets see it; of an agent test it is {"tool_calls", "final_response", "conversation", …}. `cost_usd` and `tokens` are
    what the calls and the models say that they cost, where any does.

    `model` is the one that an agent test or an eval was run with, `scorer` who graded an eval. `judgement` is what the grading
    came to: {"by": "exec" | "judge", "verdict", "score", "threshold"?, "reasoning", "input", "output", "criteria"?: [{"name",
    "weight", "score", "passed", "reasoning"}], "path"?: [{"ask", "answer", "score", "reasoning"}], "jury"?: [{"model", "score",
    "passed", "reasoning"}], "model"?, "cost_usd", "extra"?, "models"?}. `trials` are the runs of a test that is decided by the
    share of them that passed: [{"verdict", "duration_ms", "message"?, "cost_usd"?, "tokens"?, "trace"?}].
    `behind` is the part of `duration_ms` in which an answer to a call came that was sent earlier over the same connection:
    {"ms", "tool"}, or "method" of what calls no tool; None under 1 ms.
    `strength` is what it demands, known from its assertions; None in records of before it was there. `mutation_score` is the
    share of wrong answers that it noticed in the last `mcptest mutate` of its suite, from 0 to 1, None where nobody knows.
    `guess` helps a person whose test has made-up arguments that met with an error: {"input_schema"?, "arguments"?, "sources"?}.
    `not_run` is what kept a skipped test from being run, None where the suite or a hook skips it; `deferred` is why no model
    could be asked, of a test that is inconclusive for that. Records of before they were there have neither.
    `definition` is what the suite says of the test and `assertions` do not show: {"skip"?, "retries"?, "timeout_ms"? of a test
    that timed out, the other members of its `expect`, and "assertions"? and "outcome"? where no assertion was judged}.
    """

    JSON_MEMBERS = (
        "id name kind server tool? case? row? model? scorer? verdict duration_ms started_offset_ms behind? "
        "cached flaky? attempts? file line tags strength? mutation_score? not_run? deferred? score? "
        "threshold? derived_metrics? message? failure? assertions request output definition? verify? "
        "judgement? trials? guess? trace?"
    )

    id: str
    name: str
    kind: TestKind
    server: str
    verdict: Verdict
    duration_ms: float
    started_offset_ms: float
    file: str
    line: int
    tool: str | None = None
    case: str | None = None
    row: JsonMapping | None = None
    cached: bool = False
    flaky: bool = False
    attempts: tuple[Attempt, ...] = ()
    tags: tuple[str, ...] = ()
    score: float | None = None
    threshold: float | None = None
    derived_metrics: tuple[DerivedMetric, ...] = ()
    message: str | None = None
    failure: Failure | None = None
    assertions: tuple[AssertionResult, ...] = ()
    request: JsonMapping | None = None
    output: JsonMapping | None = None
    verify: tuple[VerifyResult, ...] = ()
    trace: JsonMapping | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    model: str | None = None
    scorer: str | None = None
    judgement: JsonMapping | None = None
    trials: tuple[JsonMapping, ...] = ()
    guess: JsonMapping | None = None
    behind: JsonMapping | None = None
    definition: JsonMapping | None = None
    strength: Strength | None = None
    mutation_score: float | None = None
    not_run: NotRun | None = None
    deferred: str | None = None

    def __repr__(self) -> str:
        return f"<TestResult of {self.name!r}: {self.verdict.value}>"

    @property
    def own_ms(self) -> float:
        """Its duration without the time behind an earlier call."""
        return self.duration_ms - (0.0 if self.behind is None else self.behind["ms"])

    @property
    def undecided(self) -> str | None:
        """The outcome that was wanted of a call with made-up arguments, "success" or "error", where an error left it open."""
        if self.verdict is not Verdict.INCONCLUSIVE:
            return None
        rows = (row for row in self.assertions if row.implicit == "outcome" and row.passed is None)
        return next((str(row.matcher.get("exact")) for row in rows), None)

    def pack(self) -> None:
        """Hold the values in it as bytes, large ones compressed; reading such a member unpacks it each time.

        A long run holds every result until its end, and most of that memory is answers that nobody looks at before.
        """
        object.__setattr__(self, "__class__", _PackedResult)
        size = _pack(self, _OUTPUT)
        # What passed with a short answer has little else; pickling values of classes takes longer than plain ones.
        if self.failure is not None or size == 0 or size >= _WORTH_COMPRESSING:
            for slot in _OTHERS:
                _pack(self, slot)

    def to_json(self) -> JsonDict:
        out = encode(self)
        if self.score is None:
            out.pop("threshold", None)
        if self.tokens is not None:
            out["cost_usd"], out["tokens"] = self.cost_usd, self.tokens
        return out

    @classmethod
    def from_json(cls, data: JsonMapping) -> TestResult:
        return decode(cls, data, cost_usd=data.get("cost_usd"), tokens=data.get("tokens"))


def rename_server(result: TestResult, server: str) -> TestResult:
    """The same result with another name of its server. What is packed stays so, which `replace` would unpack."""
    renamed: TestResult = object.__new__(type(result))
    for read, write in _SLOTS:
        write(renamed, read(result))
    object.__setattr__(renamed, "server", server)
    return renamed


class _Packed:
    """A value that this process has pickled; compressed when that is worth it."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class _Unpacked:
    """A member of `_PackedResult` that may be packed: what is read is the value itself."""

    def __init__(self, slot: MemberDescriptorType) -> None:
        self._slot = slot

    def __get__(self, result: TestResult | None, owner: type) -> Any:
        if result is None:
            return self
        value = self._slot.__get__(result, owner)
        if type(value) is not _Packed:
            return value
        import pickle

        is_plain = value.data[0] == pickle.PROTO[0]
        if is_plain:
            return pickle.loads(value.data)  # noqa: S301 - our own
        import zlib  # few answers are so large

        return pickle.loads(zlib.decompress(value.data))  # noqa: S301 - our own

    def __set__(self, result: TestResult, value: Any) -> None:
        self._slot.__set__(result, value)


_SLOTS = [(slot.__get__, slot.__set__) for slot in map(TestResult.__dict__.__getitem__, TestResult.__slots__)]
_OUTPUT, *_OTHERS = (TestResult.__dict__[_name] for _name in _PACKED)
_compared = attrgetter(*TestResult.__slots__)


class _PackedResult(TestResult):
    """A result whose values are held as bytes (`TestResult.pack`); it equals the one that it was."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TestResult) and bool(_compared(self) == _compared(other))

    __hash__ = TestResult.__hash__


for _name in _PACKED:
    setattr(_PackedResult, _name, _Unpacked(TestResult.__dict__[_name]))


def _pack(result: TestResult, slot: Any) -> int:
    """Pack one member; returns its size as bytes, 0 where nothing is or it is packed already."""
    value = slot.__get__(result, TestResult)
    if not value or type(value) is _Packed:
        return 0
    import pickle  # few runs are so long

    data = pickle.dumps(value)
    if len(data) > _WORTH_PACKING:
        if len(data) >= _WORTH_COMPRESSING:
            import zlib  # few answers are so large

            data = zlib.compress(data, 1)
        slot.__set__(result, _Packed(data))
    return len(data)
