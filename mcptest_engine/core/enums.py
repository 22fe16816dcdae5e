"""The closed sets of results: verdicts, kinds of tests, kinds of failures.

Apart from `results`, because loading a suite needs the names and not the records, whose building costs milliseconds.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Verdict(StrEnum):
    """The verdict on a test. `INCONCLUSIVE`: there was nothing to check; never a pass."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    SKIP = "skip"


class TestKind(StrEnum):
    """The kinds of tests, and what is decided by the kind alone.

    `block` is the key of the suite that the tests stand under. `is_request`: a test is one request of a tool, a resource or a
    prompt, and judged by its answer; `defaultTest` holds for it. `may_ask_models`: models answer or grade.
    """

    block: str
    is_request: bool
    may_ask_models: bool

    TOOL = "tool", "tools", True, False
    RESOURCE = "resource", "resources", True, False
    PROMPT = "prompt", "prompts", True, False
    COMPOSITION = "composition", "compositions", False, False
    AGENT = "agent", "agents", False, True
    EVAL = "eval", "evals", False, True
    COMPLIANCE = "compliance", "compliance", False, False

    def __new__(cls, value: str, block: str = "", is_request: bool = False, may_ask_models: bool = False) -> Self:
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.block, kind.is_request, kind.may_ask_models = block, is_request, may_ask_models
        return kind


class NotRun(StrEnum):
    """Why a selected test was not run, or was not finished, where the suite does not skip it itself.

    INTERRUPTED: the run was interrupted before it, or in it. BAIL: the run stopped after as many failures as it may have.
    NOT_ASKED: the test was not among those that the run's executor was to run. DENIED: the policy allows no such call.
    COST: a budget or a cap on costs was used up. HUNG: its server hung in an earlier test.
    """

    INTERRUPTED = "interrupted"
    BAIL = "bail"
    NOT_ASKED = "not_asked"
    DENIED = "denied"
    COST = "cost"
    HUNG = "hung"


class ExpectedOutcome(StrEnum):
    """The `outcome` that a test expects of its call: a result that is no error, an error, or either."""

    SUCCESS = "success"
    ERROR = "error"
    ANY = "any"


class Strength(StrEnum):
    """What a test demands, the weakest first.

    ANSWERED: that an answer comes, whatever it says. VALID: that the call succeeds and the answer is valid MCP. SHAPE: that
    values are there, of a type, a length or within bounds. VALUE: that a value is the one expected, or nearly so.
    """

    ANSWERED = "answered"
    VALID = "valid"
    SHAPE = "shape"
    VALUE = "value"


def is_weak(strength: Strength | None, mutation_score: float | None = None) -> bool:
    """Whether a test says little by passing: it looks at nothing in the answer, or noticed under half of the wrong ones."""
    if mutation_score is not None:
        return mutation_score < 0.5
    return strength in (Strength.ANSWERED, Strength.VALID)


class FailureKind(StrEnum):
    """What has failed. The first seven are JUnit failures, the rest JUnit errors.

    TOOL_ERROR: the tool reported an error (`isError: true`). PROTOCOL_ERROR: the server answered with a JSON-RPC error.
    INVALID: the result breaks the protocol's schema or the tool's own `outputSchema`.
    """

    ASSERTION = "assertion"
    TOOL_ERROR = "tool_error"
    PROTOCOL_ERROR = "protocol_error"
    INVALID = "invalid"
    BUDGET = "budget"
    SCORE = "score"
    METRIC = "metric"
    SERVER = "server"
    TIMEOUT = "timeout"
    AUTH = "auth"
    HOOK = "hook"
    SCORER = "scorer"
    SUITE = "suite"

    @classmethod
    def _missing_(cls, value: object) -> FailureKind | None:
        """`policy` was a kind of 0.1. A test whose call the policy refuses is skipped (`NotRun.DENIED`)."""
        return cls.SUITE if value == "policy" else None


class Part(StrEnum):
    """What a part of a failure's message is about.

    OWN: what failed. CAUSE: what failed in a composition before that, from which it may follow. ALSO: what failed beside it.
    BUDGET: the budget that a composition used up. STEP: the first step of `verify` that failed.
    """

    CAUSE = "cause"
    OWN = "own"
    ALSO = "also"
    BUDGET = "budget"
    STEP = "step"


ERROR_FAILURES = frozenset({FailureKind.TOOL_ERROR, FailureKind.PROTOCOL_ERROR})
"""The server answered, with an error that the test does not expect."""
JUDGED_FAILURES = ERROR_FAILURES | {
    FailureKind.INVALID,
    FailureKind.ASSERTION,
    FailureKind.BUDGET,
    FailureKind.SCORE,
    FailureKind.METRIC,
}

FAILS_ALONE, FAILS_ALONE_WORDS = "fails_alone", "run again alone: fails too"
"""The kind of a failure's cause where the test fails alone too, and how reports say it."""
