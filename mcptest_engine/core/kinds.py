"""The closed sets that results are told in: verdicts, kinds of tests, whose a failure is.

Apart from `results`, because loading a suite needs the names and not the records, whose building costs milliseconds.
"""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What a test came to. `INCONCLUSIVE`: there was nothing to judge by; never a pass."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    SKIP = "skip"


class TestKind(StrEnum):
    """The block of the suite that a test stands in."""

    TOOL = "tool"
    RESOURCE = "resource"
    PROMPT = "prompt"
    COMPOSITION = "composition"
    AGENT = "agent"
    EVAL = "eval"
    COMPLIANCE = "compliance"


class FailureKind(StrEnum):
    """Whose a failure is. The first four are JUnit failures, the rest JUnit errors."""

    ASSERTION = "assertion"
    BUDGET = "budget"
    SCORE = "score"
    METRIC = "metric"
    SERVER = "server"
    TIMEOUT = "timeout"
    AUTH = "auth"
    HOOK = "hook"
    SCORER = "scorer"
    POLICY = "policy"
    SUITE = "suite"


JUDGED_FAILURES = frozenset({FailureKind.ASSERTION, FailureKind.BUDGET, FailureKind.SCORE, FailureKind.METRIC})
