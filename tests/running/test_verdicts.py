"""From an answer to a verdict and its words."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest_engine.core.enums import ExpectedOutcome, TestKind, Verdict
from mcptest_engine.core.errors import AnswerLost, AuthFailed, NotReady, ProtocolBroken
from mcptest_engine.core.redaction import Redactor
from mcptest_engine.core.results import Failure, FailureKind, Part, TestResult
from mcptest_engine.running.cases import ORDINARY, Case
from mcptest_engine.running.verdicts import Outcome, failed_outcome, judge, refused_outcome, with_tool_hint

SECRET = "Zq8v-secret-value-0123456"

CASE = Case(
    id="m.yml::tool::n",
    name="n",
    kind=TestKind.TOOL,
    body=ORDINARY,
    server="s",
    servers=("s",),
    method="tools/call",
    params={"name": "t", "arguments": {}},
    expect={},
    timeout_seconds=1.0,
    file="m.yml",
    line=1,
    tool="t",
    outcome=ExpectedOutcome.SUCCESS,
)


def case_of(*assertions: dict[str, Any], outcome: ExpectedOutcome = ExpectedOutcome.ANY) -> Case:
    return CASE._replace(expect={"assertions": list(assertions)}, outcome=outcome)


def judged(answer: dict[str, Any], *assertions: dict[str, Any]) -> Outcome:
    envelope = {
        "error": None,
        "duration_ms": 1.0,
        "attempt": 1,
        "notifications": [],
        "server_requests": [],
        "http": None,
        **answer,
    }
    case = CASE._replace(expect={"assertions": list(assertions)})
    return judge(case, envelope, snapshots=None, redact=Redactor((SECRET,)).redact)


@pytest.mark.parametrize("before", [185, 195, 280, 295])
def test_an_error_that_is_told_holds_no_half_of_a_secret(before: int) -> None:
    """Secrets are taken out before a message is clipped."""
    text = "x" * before + SECRET + "y" * 50
    reported = judged({"result": {"isError": True, "content": [{"type": "text", "text": text}]}})
    refused = judged({"error": {"code": -1, "message": text}})
    for outcome in (reported, refused):
        assert outcome.verdict is Verdict.FAIL
        assert "xxxx" in (outcome.message or "")
        assert "Zq8v" not in (outcome.message or "")


def test_errors_are_told_in_the_same_words_with_and_without_assertions() -> None:
    error = {"error": {"code": -32602, "message": "Unknown tool: x"}}
    told = 'the server answered error -32602 "Unknown tool: x"'
    assert judged(error).message == told
    asserted = judged(error, {"target": "result.content", "matcher": {"exists": True}})
    assert asserted.message == told
    assert (asserted.assertions[0].message or "").endswith(f"does not exist: {told}")
    assert judged({"result": {"isError": True, "content": []}}).message == "the tool reported an error: (no text)"


def test_a_jq_program_that_fails_on_a_secret_quotes_none_of_it() -> None:
    """jq shows the beginning of what it could not take."""
    outcome = judged(
        {"result": {"text": SECRET}},
        {"target": "result.text", "matcher": {"exists": True}, "transform": {"jq": "fromjson"}},
    )
    assert outcome.verdict is Verdict.FAIL
    assert "Zq8" not in (outcome.message or "")


def test_a_failed_assertion_and_an_exceeded_budget_are_both_told() -> None:
    """The kind is the assertion's, and nothing of either is lost."""
    case = CASE._replace(expect={"assertions": [{"target": "result.a", "matcher": {"exact": 2}}], "max_duration_ms": 5})
    envelope: dict[str, Any] = {
        "error": None,
        "duration_ms": 9.0,
        "attempt": 1,
        "notifications": [],
        "server_requests": [],
        "http": None,
        "result": {"a": 1},
    }
    outcome = judge(case, envelope, snapshots=None, redact=lambda value: value)
    assert outcome.failure is not None
    assert outcome.failure.kind is FailureKind.ASSERTION
    told = (
        "assertion 1 (`result.a`) failed: expected `2`, got `1`; duration budget exceeded: 9ms > 5ms (max_duration_ms)"
    )
    assert outcome.message == outcome.failure.message == told


UNAUTHORIZED = {"status": 401, "headers": {"www-authenticate": "Bearer"}, "body": "no"}
IS_401 = {"target": "http.status", "matcher": {"exact": 401}}


def test_a_refusal_by_http_passes_when_it_is_what_the_test_expects() -> None:
    """`http` is part of the envelope also where no JSON-RPC answer came."""
    outcome = failed_outcome(AuthFailed("auth failed: HTTP 401", server="s", http=UNAUTHORIZED), duration_ms=1.0)
    as_expected = refused_outcome(case_of(IS_401), outcome, judged({"http": UNAUTHORIZED}, IS_401))
    assert (as_expected.verdict, as_expected.failure) == (Verdict.PASS, None)
    assert as_expected.output == {"http": UNAUTHORIZED}


def test_a_refusal_that_is_not_what_the_test_expects_stays_the_servers_failure() -> None:
    """The rows are in the record, and so are status, headers and body."""
    outcome = failed_outcome(AuthFailed("auth failed: HTTP 401", server="s", http=UNAUTHORIZED), duration_ms=1.0)
    assertions = (IS_401, {"target": "result.a", "matcher": {"exact": 1}})
    told = refused_outcome(case_of(*assertions), outcome, judged({"http": UNAUTHORIZED}, *assertions))
    assert told.failure is not None
    assert (told.failure.kind, told.failure.message) == (FailureKind.AUTH, "auth failed: HTTP 401")
    assert [row.passed for row in told.assertions] == [True, False]
    assert told.output == {"http": UNAUTHORIZED}


def test_a_status_of_success_without_an_answer_never_passes() -> None:
    """Green means checked: the answer that was due did not come, or broke the protocol."""
    fine = {"status": 200, "headers": {"content-type": "text/html"}, "body": "<h1>"}
    outcome = failed_outcome(ProtocolBroken("a page", server="s", http=fine), duration_ms=1.0)
    is_200 = {"target": "http.status", "matcher": {"exact": 200}}
    told = refused_outcome(case_of(is_200), outcome, judged({"http": fine}, is_200))
    assert told.verdict is Verdict.FAIL
    assert told.message == "a page"


def test_errors_are_told_as_whose_fault_they_are() -> None:
    """An answer that the test took away is nobody's."""
    assert failed_outcome(NotReady("not yet", server="s"), duration_ms=1.0).failure == Failure(
        kind=FailureKind.SERVER, message="not yet", not_ready=True
    )
    lost = failed_outcome(AnswerLost("dropped", server="s"), duration_ms=1.0)
    assert (lost.verdict, lost.failure, lost.lost) == (Verdict.INCONCLUSIVE, None, True)


ASKING = {"result": {"resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create"}}}}


def test_a_call_that_ended_in_a_question_is_no_pass() -> None:
    """Green means checked: the tool has not run, and what was asserted holds of the question."""
    outcome = judged(ASKING, {"target": "result.isError", "matcher": {"not": {"exact": True}}})
    assert outcome.message == ("the call requires input: `elicitation/create`, and `client:` has no answer to that")
    assert judged(ASKING).verdict is Verdict.FAIL


@pytest.mark.parametrize("target", ["result.resultType", "result.inputRequests.a.method", "result"])
def test_a_test_that_looks_at_the_question_judges_it(target: str) -> None:
    assert judged(ASKING, {"target": target, "matcher": {"exists": True}}).verdict is Verdict.PASS


HOLDS_OF_SUCCESS: list[dict[str, Any]] = [
    {"target": "http.headers.server", "matcher": {"exists": True}},
    {"target": "http.status", "matcher": {"not": {"exact": 502}}},
    {"target": "http.status", "matcher": {"type": "integer"}},
    {"target": "http.status", "matcher": {"lt": 600}},
    {"target": "http.status", "matcher": {"exists": True}},
    {"target": "http.status", "matcher": {"gte": 200}},
    {"target": "http.status", "matcher": {"any-of": [{"exact": 204}, {"gte": 400}]}},
    {"target": "http.status", "matcher": {"all-of": [{"not": {"exact": 404}}]}},
    {"target": "http.status", "matcher": {"exact": True}, "transform": {"jq": ". < 600"}},
    {
        "assert-set": {
            "threshold": 0.5,
            "assertions": [
                {"target": "http.status", "matcher": {"exact": 500}},
                {"target": "http.status", "matcher": {"exact": 200}},
            ],
        }
    },
]


@pytest.mark.parametrize("assertion", HOLDS_OF_SUCCESS, ids=repr)
def test_a_refusal_that_nobody_asked_for_is_no_pass(assertion: dict[str, Any]) -> None:
    """Only a test that could not pass with a status of success takes an HTTP error for an answer."""
    http = {"status": 500, "headers": {"server": "x"}}
    error = ProtocolBroken("answered with HTTP 500", server="s", http=http)
    outcome = failed_outcome(error, duration_ms=1.0)
    expected = judged({"http": http}, assertion)
    assert expected.verdict is Verdict.PASS
    assert refused_outcome(case_of(assertion), outcome, expected).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    "matcher",
    [{"exact": 500}, {"gte": 400}, {"not": {"between": [200, 299]}}, {"one-of": [500, 503]}, {"length": 3}],
    ids=repr,
)
def test_a_refusal_that_a_test_asks_for_passes_unless_it_wants_success(matcher: dict[str, Any]) -> None:
    http = {"status": 500, "headers": {}}
    outcome = failed_outcome(ProtocolBroken("answered with HTTP 500", server="s", http=http), duration_ms=1.0)
    assertion = {"target": ".http.status", "matcher": matcher}
    expected = judged({"http": http}, assertion)
    as_judged = Verdict.FAIL if "length" in matcher else Verdict.PASS
    assert refused_outcome(case_of(assertion), outcome, expected).verdict is as_judged
    assert refused_outcome(case_of(assertion, outcome=ExpectedOutcome.ERROR), outcome, expected).verdict is as_judged
    assert (
        refused_outcome(case_of(assertion, outcome=ExpectedOutcome.SUCCESS), outcome, expected).verdict is Verdict.FAIL
    )


@pytest.mark.parametrize("repeated", [False, True])
def test_the_nearest_tool_is_named_whatever_the_server_says_of_an_unknown_one(repeated: bool) -> None:
    """By the error's code, which of a node with several calls stands in those."""
    refusal: dict[str, Any] = {"refused": True, "error_code": -32602}
    told = {"calls": [{"status": "ok"}, {"status": "err", **refusal}]} if repeated else refusal
    message = "the server answered error -32602"
    node = {"id": "a", "status": "err", "server": "s", "tool": "givee", "message": message, **told}
    result = TestResult(
        id="m.yml::composition::n",
        name="n",
        kind=TestKind.COMPOSITION,
        server="s",
        tool=None,
        verdict=Verdict.FAIL,
        duration_ms=1.0,
        started_offset_ms=0.0,
        file="m.yml",
        line=1,
        failure=Failure(kind=FailureKind.PROTOCOL_ERROR, message="node `a` failed"),
        trace={"composition": {"order": ["a"]}, "nodes": {"a": node}},
    )
    failure = with_tool_hint(result, {"s": {"give"}}).failure
    assert failure is not None
    assert failure.hint == "did you mean `give`?"


def test_the_parts_of_a_message_stay_those_of_the_message() -> None:
    """Whatever is put before it, and whichever is left out."""
    own = Failure(kind=FailureKind.TOOL_ERROR, message="a").with_part(Part.ALSO, "b").with_lead("first; ")
    both = own.with_part(Part.STEP, "c")
    assert both.message == "; ".join(text for _, text in both.parts) == "first; a; b; c"
    assert both.without_step() == own
    assert Failure(kind=FailureKind.TOOL_ERROR, message="a").with_lead("x ").parts == ()
