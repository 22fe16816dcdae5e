"""TAP 14: read by a TAP parser, its diagnostics by a YAML parser."""

from __future__ import annotations

import re

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tap.parser import Parser

from mcptest_engine.core.results import Failure, FailureKind
from mcptest_engine.reporting.registry import render


def parsed(record):
    return list(Parser().parse_text(render("tap", record).stdout))


def results(record):
    return [line for line in parsed(record) if line.category == "test"]


def diagnostics(record):
    """The YAML blocks by TAP 14's rule: two spaces and `---`, up to two spaces and `...`."""
    blocks = re.findall(r"^  ---\n(.*?)^  \.\.\.$", render("tap", record).stdout, flags=re.MULTILINE | re.DOTALL)
    return [yaml.safe_load(re.sub(r"^  ", "", block, flags=re.MULTILINE)) for block in blocks]


def test_a_parser_reads_version_plan_and_every_test(rich_record):
    """TAP 14: the version line, then the plan."""
    version, plan, *rest = parsed(rich_record)
    assert (version.category, version.version) == ("version", 14)
    assert (plan.category, plan.expected_tests) == ("plan", 18)
    points = [line for line in rest if line.category == "test"]
    assert [point.number for point in points] == list(range(1, 19))
    assert sum(point.ok for point in points) == 4
    assert sum(not point.ok and not point.todo for point in points) == 13


def test_a_skip_and_an_inconclusive_test_carry_their_directive_and_reason(build):
    """TAP 14, directives; an inconclusive test is never a pass."""
    skip, doubtful = results(
        build.record(build.test("a", "skip", message="no token"), build.test("b", "inconclusive", message="no model"))
    )
    assert (skip.ok, skip.skip, skip.directive.reason) == (True, True, "no token")
    assert (doubtful.ok, doubtful.todo, doubtful.directive.reason) == (False, True, "inconclusive: no model")


def test_a_name_cannot_become_a_directive(build):
    """TAP 14: `#` and `\\` are escaped in a description."""
    text = render("tap", build.record(build.test("a # SKIP \\ b"))).stdout
    assert text.splitlines()[2] == "ok 1 - a \\# SKIP \\\\ b"


def test_every_failure_has_a_diagnostic_block_that_is_yaml(rich_record):
    """TAP 14, YAML diagnostics."""
    blocks = diagnostics(rich_record)
    assert [block["at"]["line"] for block in blocks if "at" in block] == [
        test.line for test in rich_record.tests if test.verdict == "fail"
    ]
    structured = blocks[1]
    assert structured["found"] == '{"items": [{"name": "b"}], "null": null}'
    assert structured["diff"].splitlines()[5:9] == ["     {", '-      "name": "a"', '+      "name": "b"', "     }"]
    assert structured["also"][0].startswith("assertion 3")


def test_a_stderr_tail_keeps_its_lines(build):
    """A block scalar, whatever its first line begins with."""
    failure = Failure(kind=FailureKind.SERVER, message="died", stderr_tail="   indented\n\n- a: b\n--- x\n#\n")
    (block,) = diagnostics(build.record(build.test("a", "fail", failure=failure)))
    assert block["stderr"] == "   indented\n\n- a: b\n--- x\n#"


def test_a_run_without_a_test_is_skipped_as_a_whole_or_bails_out(build):
    """An empty shard is fine, an empty selection is not."""
    (_, plan) = parsed(build.record())
    assert (plan.expected_tests, plan.skip) == (0, True)
    bail = parsed(build.record(exit_code=7))[-1]
    assert (bail.category, bail.reason) == ("bail", "the selection matched no test (exit code 7)")


ANY_TEXT = st.text(st.characters(), min_size=1, max_size=30)


@given(name=ANY_TEXT, message=ANY_TEXT, tail=ANY_TEXT)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_a_server_sends_the_report_keeps_its_shape(name, message, tail, build):
    """One point, one block, and the words in it."""
    failure = Failure(kind=FailureKind.SERVER, message=message, stderr_tail=tail)
    record = build.record(build.test(name, "fail", failure=failure, server=name))
    assert [point.number for point in results(record)] == [1]
    (block,) = diagnostics(record)
    assert block["kind"] == "server"
    assert isinstance(block["message"], str)
