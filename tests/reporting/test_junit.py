"""JUnit XML: it always parses, keeps to its XSD, and counts what it holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from mcptest_engine.core.results import JUDGED_FAILURES, Failure, FailureKind
from mcptest_engine.reporting.registry import render

XSD = etree.XMLSchema(etree.parse(str(Path(__file__).with_name("junit.xsd"))))


def parsed(record):
    document = etree.fromstring(render("junit", record).stdout.encode("utf-8"))
    XSD.assertValid(document)
    return document


def check_sums(element):
    cases = element.findall(".//testcase")
    assert int(element.get("tests")) == len(cases)
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(element.get(attribute)) == len(element.findall(f".//{tag}"))


def test_the_record_that_holds_everything_is_valid_and_counted(rich_record):
    """JUnit as Jenkins and Surefire read it: `junit.xsd`."""
    document = parsed(rich_record)
    assert [suite.get("name") for suite in document] == ["demo", "weather"]
    for element in (document, *document):
        check_sums(element)


def test_another_reader_of_junit_sees_the_same_tests(rich_record, tmp_path):
    """`junitparser` is an independent reader."""
    from junitparser import Error, Failure, JUnitXml, Skipped

    file = tmp_path / "junit.xml"
    file.write_text(render("junit", rich_record).stdout, encoding="utf-8")
    cases = [case for suite in JUnitXml.fromfile(str(file)) for case in suite]
    kinds = [type(case.result[0]) if case.result else None for case in cases]
    assert len(cases) == len(rich_record.tests)
    assert [kinds.count(kind) for kind in (None, Failure, Error, Skipped)] == [3, 6, 7, 2]


@pytest.mark.parametrize("kind", FailureKind)
def test_what_was_judged_is_a_failure_and_the_rest_is_an_error(kind, build):
    failure = Failure(kind=kind, message="why", stderr_tail="last words")
    (case,) = parsed(build.record(build.test("a", "fail", failure=failure))).iter("testcase")
    (outcome,) = (child for child in case if child.tag in {"failure", "error"})
    assert outcome.tag == ("failure" if kind in JUDGED_FAILURES else "error")
    assert (outcome.get("type"), outcome.get("message")) == (kind.value, "why")
    assert case.findtext("system-err") == "last words"


def test_a_case_tells_where_it_stands(build):
    """The file and line of the test's entry."""
    (case,) = parsed(build.record(build.test("a", file="suites/a.yml", line=7))).iter("testcase")
    assert (case.get("file"), case.get("line"), case.get("classname")) == ("suites/a.yml", "7", "demo.demo")


def test_an_inconclusive_test_is_no_pass(build):
    """No deferred row is ever a pass."""
    (case,) = parsed(build.record(build.test("a", "inconclusive", message="no provider"))).iter("testcase")
    assert case.find("skipped").get("message") == "inconclusive: no provider"


@pytest.mark.parametrize("more", [{"exit_code": 7}, {"exit_code": 5}, {"exit_code": 130, "interrupted": True}])
def test_a_run_that_failed_without_a_failed_test_is_not_green(more, build):
    """A consumer that reads only this file must not see a pass."""
    document = parsed(build.record(build.test("a"), warnings=("because",), **more))
    assert document.get("errors") == "1"
    assert "because" in document.findtext(".//error")
    check_sums(document)


ANY_TEXT = st.text(st.characters(), min_size=1, max_size=30)


@given(name=ANY_TEXT, message=ANY_TEXT, tail=ANY_TEXT)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_a_server_sends_the_document_parses(name, message, tail, build):
    """Control characters, surrogates and markup included."""
    failure = Failure(kind=FailureKind.SERVER, message=message, stderr_tail=tail, hint=tail)
    parsed(build.record(build.test(name, "fail", failure=failure), build.test(name, "skip", message=message)))
