"""What of a result is kept: no secret, nothing too large, nothing too deep."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mcptest_engine.core.clipping import RECORD_CHARACTERS
from mcptest_engine.core.enums import TestKind, Verdict
from mcptest_engine.core.redaction import Redactor
from mcptest_engine.core.results import (
    AssertionResult,
    AssertionSet,
    Failure,
    FailureKind,
    Part,
    TestResult,
    VerifyResult,
)
from mcptest_engine.running.stored_results import ResultStorage

SECRET = "Zq8v-secret-value-0123456"
ROW = AssertionResult(index=0, target="result.content[0].text", matcher={"exact": "a"}, passed=True, actual="a")
RESULT = TestResult(
    id="m.yml::tool::n",
    name="n",
    kind=TestKind.TOOL,
    server="s",
    tool="echo",
    verdict=Verdict.PASS,
    duration_ms=1.0,
    started_offset_ms=0.0,
    file="m.yml",
    line=1,
    assertions=(ROW,),
    request={"method": "tools/call", "params": {"name": "echo", "arguments": {}}},
    output={"result": {"content": [{"type": "text", "text": "a"}]}},
)


def storage(*secrets: str) -> ResultStorage:
    return ResultStorage(Redactor(secrets), lambda output, _name: output)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_an_ordinary_result_is_kept_as_it_is() -> None:
    """Nothing is copied where nothing is secret."""
    assert storage(SECRET).prepare(RESULT, size=0) is RESULT


@pytest.mark.parametrize(
    "row",
    [
        replace(ROW, matcher={"exact": SECRET}),
        replace(ROW, matcher={"all-of": [{"contains": f"x{SECRET}"}]}),
        replace(ROW, target=f'result["{SECRET}"]'),
        replace(ROW, name=f"is {SECRET}"),
        replace(ROW, passed=False, message=f"not {SECRET}", pointer=f"/{SECRET}", diff=f"-{SECRET}"),
        replace(ROW, actual={"a": SECRET}),
    ],
)
def test_no_part_of_an_assertion_shows_a_secret(row: AssertionResult) -> None:
    """What templates put into the suite reaches no report."""
    kept = storage(SECRET).prepare(replace(RESULT, assertions=(row,)), size=0)
    assert SECRET not in json.dumps(kept.to_json())
    assert "[REDACTED]" in json.dumps(kept.to_json())


def test_a_secret_for_a_tool_is_not_shown_either() -> None:
    assert storage(SECRET).prepare(replace(RESULT, tool=SECRET), size=0).tool == "[REDACTED]"


@pytest.mark.parametrize("size", [128, 400, 5000])
@pytest.mark.parametrize("between", [0, 1, 30])
def test_the_clipped_end_of_a_value_holds_no_half_of_a_secret(size: int, between: int) -> None:
    """Masks are shorter than what they hide, and draw the end of what was looked at into what is shown."""
    secret = ("S3cr-et!" * 1000)[:size]
    value = ("x" * between + "x" + secret) * (60_000 // size)
    (row,) = storage(secret).prepare(replace(RESULT, assertions=(replace(ROW, actual=value),)), size=0).assertions
    assert "S3" not in row.actual
    assert len(row.actual) < RECORD_CHARACTERS + 100


def test_a_deeply_nested_answer_costs_its_depth_and_not_the_record() -> None:
    """A record is read by programs that follow some hundred levels."""
    deep = {"result": {"content": [], "v": nested(900)}, "notifications": [{"method": "a"}, nested(900)]}
    rows = (replace(ROW, actual=nested(900)), replace(ROW, actual={"v": nested(900)}), replace(ROW, actual=nested(150)))
    kept = storage().prepare(replace(RESULT, output=deep, assertions=rows), size=0)
    assert kept.output is not None
    assert kept.output["result"]["content"] == []
    assert kept.output["result"]["v"].endswith("(clipped: nested more than 200 levels deep)")
    assert kept.output["notifications"][0] == {"method": "a"}
    assert [type(row.actual) for row in kept.assertions] == [str, str, list]
    assert json.loads(json.dumps(kept.to_json()))


def test_what_is_just_not_too_deep_is_kept_whole() -> None:
    output = {"result": {"v": nested(198)}}
    assert storage().prepare(replace(RESULT, output=output), size=0).output is output


def test_no_reason_as_data_shows_a_secret() -> None:
    """What the messages tell stands in members of its own as well: of assertions, of sets, of failures, of a result."""
    parts = ((Part.OWN, SECRET), (Part.ALSO, f"x {SECRET}"))
    row = replace(ROW, passed=False, message=SECRET, note=SECRET, reason=SECRET, brief=SECRET, deferred=SECRET)
    of_set = AssertionSet(name=None, threshold=1.0, score=None, passed=None, assertions=(row,))
    result = replace(
        RESULT,
        message=SECRET,
        deferred=SECRET,
        failure=Failure(kind=FailureKind.ASSERTION, message=SECRET, parts=parts),
        assertions=(row, replace(ROW, passed=None, message=SECRET, deferred=SECRET, set=of_set)),
        trials=({"verdict": "inconclusive", "duration_ms": 1.0, "message": SECRET, "deferred": SECRET},),
    )
    assert SECRET not in json.dumps(storage(SECRET).prepare(result, size=0).to_json())


def test_no_part_of_a_step_shows_a_secret_and_a_large_answer_is_put_aside() -> None:
    """Further calls are kept like the first."""
    put: list[str] = []

    def externalise(output: Any, name: str) -> Any:
        put.append(name)
        return {"$file": "x", "bytes": 1}

    step = VerifyResult(
        index=1,
        name=f"is {SECRET}",
        server="s",
        tool=SECRET,
        verdict=Verdict.FAIL,
        duration_ms=1.0,
        message=f"not {SECRET}",
        failure=Failure(kind=FailureKind.SERVER, message=SECRET, hint=SECRET, stderr_tail=f"x {SECRET}"),
        assertions=(replace(ROW, matcher={"exact": SECRET}, actual=SECRET),),
        request={"method": "tools/call", "params": {"name": SECRET}},
        output={"result": {"text": SECRET}},
    )
    kept = ResultStorage(Redactor((SECRET,)), externalise).prepare(replace(RESULT, verify=(step,)), size=0)
    assert SECRET not in json.dumps(kept.to_json())
    assert kept.verify[0].output == {"$file": "x", "bytes": 1}
    assert put == ["n verify 1"]


def test_headers_that_are_credentials_are_masked_and_others_kept() -> None:
    """A session's id speaks for the session; a challenge is what one needs to read."""
    headers = {"mcp-session-id": "0a1b", "set-cookie": "a=b", "www-authenticate": "Bearer", "content-type": "text/html"}
    kept = storage().prepare(replace(RESULT, output={"http": {"status": 401, "headers": headers}}), size=0)
    assert kept.output is not None
    assert kept.output["http"]["headers"] == {
        "mcp-session-id": "[REDACTED]",
        "set-cookie": "[REDACTED]",
        "www-authenticate": "Bearer",
        "content-type": "text/html",
    }
