"""`junit`: JUnit XML as Jenkins, GitLab and the Surefire family read it. A `<testsuite>` a server, a `<testcase>` a test.

JUnit has no word for what could not be judged: such a test is a `<skipped>` that says "inconclusive", because a bare
`<testcase>` would be a pass. A run that failed without a failed test gets a test case of its own, since a consumer
that reads only this file would see green otherwise. The text is written by hand and always parses: what XML cannot
hold is replaced.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcptest_engine.core.costs import CompositionSum, composition_name
from mcptest_engine.core.results import JUDGED_FAILURES, FailureKind, TestKind, Verdict
from mcptest_engine.core.sanitise import one_line, sanitise
from mcptest_engine.core.text import number_text
from mcptest_engine.reporting import compositions, facts, hook_facts
from mcptest_engine.reporting.agents import calls_total
from mcptest_engine.reporting.failure_text import failure_text
from mcptest_engine.reporting.repro import repro_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord, ServerRecord
    from mcptest_engine.reporting.registry import RenderOptions

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_ATTRIBUTE = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;"})
_STDERR_LINES = 200


def render(record: RunRecord, options: RenderOptions) -> str:
    """The document. The sums in its attributes count the elements below them."""
    by_server: dict[str, list[TestResult]] = {}
    for test in record.tests:
        by_server.setdefault(test.server, []).append(test)
    reason = facts.run_reason(record)
    tests = record.tests
    attributes = {
        "name": one_line(record.suite.name),
        **_sums(tests, run_failed=reason is not None),
        "time": _seconds(record.duration_ms),
        "timestamp": _timestamp(record),
    }
    servers = {server.name: server for server in record.servers}
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites{_attributes(attributes)}>"]
    hooks = hook_facts.texts_by_test(record)
    for server, of_server in by_server.items():
        lines += _suite(record, of_server, servers.get(server), hooks, options)
    if reason is not None:
        lines += _run_suite(record, reason)
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _suite(
    record: RunRecord,
    tests: Sequence[TestResult],
    server: ServerRecord | None,
    hooks: Mapping[str, str],
    options: RenderOptions,
) -> Iterator[str]:
    attributes = {
        "name": one_line(tests[0].server) or one_line(record.suite.name),
        **_sums(tests, run_failed=False),
        "time": _seconds(sum(test.duration_ms for test in tests)),
        "timestamp": _timestamp(record),
    }
    yield f"  <testsuite{_attributes(attributes)}>"
    told = {**_suite_facts(record, server), **_suite_compositions(tests)}
    if tests[0] is record.tests[0] and facts.run_reason(record) is None:  # else they stand beside the reason
        warnings = hook_facts.other_warnings(record)
        told |= {f"mcptest.warning.{number}": warning for number, warning in enumerate(warnings, 1)}
    yield from _properties(told, "    ")
    for test in tests:
        yield from _testcase_lines(record, test, hooks.get(test.id, ""), options)
    yield "  </testsuite>"


def _suite_facts(record: RunRecord, server: ServerRecord | None) -> dict[str, str]:
    unchecked = facts.unchecked_text(record)
    found = {"mcptest.unchecked": unchecked, "mcptest.run_id": record.run_id, "mcptest.version": record.mcptest_version}
    found["mcptest.mode"] = record.mode
    if server is not None:
        info = server.server_info or {}
        found |= {
            "server.transport": server.transport,
            "server.name": str(info.get("name", "")),
            "server.version": str(info.get("version", "")),
            "server.protocol_version": server.protocol_version or "",
            "server.restarts": str(server.restarts or ""),
        }
    return {key: value for key, value in found.items() if value}


def _suite_compositions(tests: Sequence[TestResult]) -> dict[str, str]:
    """How many cases of each composition passed."""
    told = ((one_line(one.name), compositions.cases_text(one)) for one in CompositionSum.of(tests))
    return {f"composition: {name}": cases for name, cases in told if cases}


def _testcase_lines(record: RunRecord, test: TestResult, hooks: str, options: RenderOptions) -> Iterator[str]:
    """A test. `hooks` is what failed around it, or around the run, which has no place of its own."""
    file, line = facts.place_of(test)
    path = test.id.partition("::")[0]
    suite = next((run.name for run in record.suites if run.path == path), record.suite.name)
    attributes = {
        "name": one_line(test.name),
        "classname": one_line(f"{suite}.{test.server}" if test.server else suite),
        "time": _seconds(test.duration_ms),
        "file": facts.file_in_repository(record.source, file),
    }
    if line > 0:
        attributes["line"] = str(line)
    body = [*_properties(_case_facts(test), "      "), *_outcome(record, test, options)]
    tail = facts.stderr_lines(test, _STDERR_LINES) if test.verdict is Verdict.FAIL else []
    if tail or hooks:
        told = "\n".join([*tail, *([hooks] if hooks else [])])
        body.append(f"      <system-err>{_xml_text(told)}</system-err>")
    if not body:
        yield f"    <testcase{_attributes(attributes)}/>"
        return
    yield f"    <testcase{_attributes(attributes)}>"
    yield from body
    yield "    </testcase>"


def _case_facts(test: TestResult) -> dict[str, str]:
    found = {"tags": ", ".join(test.tags)} if test.tags else {}
    if test.cached:
        found["cached"] = "true"
    if test.flaky:
        found["flaky"] = "true"
    if test.attempts:
        found["attempts"] = str(len(test.attempts))
    if test.verdict is Verdict.INCONCLUSIVE:
        found["verdict"] = test.verdict.value
    if test.score is not None and test.threshold is not None:
        found |= {"score": number_text(test.score), "threshold": number_text(test.threshold)}
    if test.scorer is not None:
        found["scorer"] = test.scorer
    error = None if test.failure is None else test.failure.scorer_error
    if error is not None:
        found["scorer_error"] = str(error.get("kind"))
    found |= _composition_facts(test) | _agent_facts(test)
    found |= {f"metric.{one_line(metric.name)}": number_text(metric.value) for metric in test.derived_metrics}
    return found


def _composition_facts(test: TestResult) -> dict[str, str]:
    found = {} if test.case is None else {"case": test.case}
    if test.case is not None and test.kind is TestKind.COMPOSITION:
        found["composition"] = composition_name(test)
    if test.tokens is not None:
        found |= {
            "tokens": str(test.tokens),
            "cost_usd": facts.UNKNOWN if test.cost_usd is None else repr(test.cost_usd),
        }
    graph = facts.graph_of(test)
    if graph is not None and (cap := graph["composition"].get("budget_tripped")) is not None:
        found["budget_tripped"] = cap
    return found


def _agent_facts(test: TestResult) -> dict[str, str]:
    found = {} if test.model is None else {"model": test.model}
    if test.trace is not None and "conversation" in test.trace:
        found |= {"turns": str(test.trace["turns"]), "tool_calls": str(calls_total(test.trace))}
        found["stop"] = str(test.trace["stop"])
    if test.trials:
        passed = sum(trial["verdict"] == Verdict.PASS.value for trial in test.trials)
        found["runs_passed"] = f"{passed} of {len(test.trials)}"
    return found


def _outcome(record: RunRecord, test: TestResult, options: RenderOptions) -> Iterator[str]:
    if test.verdict is Verdict.SKIP:
        yield f"      <skipped{_attributes({'message': facts.remark(test) or 'skipped'})}/>"
    elif test.verdict is Verdict.INCONCLUSIVE:
        yield f"      <skipped{_attributes({'message': f'inconclusive: {facts.inconclusive_text(test)}'})}/>"
    elif test.verdict is Verdict.FAIL:
        kind = test.failure.kind if test.failure is not None else FailureKind.ASSERTION
        element = "failure" if kind in JUDGED_FAILURES else "error"
        body = failure_text(test, [f"repro: {repro_line(record, test, options)}"], stderr=False)
        head = _attributes({"message": facts.reasons(test)[0].text, "type": kind.value})
        yield f"      <{element}{head}>{_xml_text(body)}</{element}>"


def _unchecked(record: RunRecord) -> Iterator[str]:
    if unchecked := facts.unchecked_text(record):
        yield unchecked


def _run_suite(record: RunRecord, reason: str) -> Iterator[str]:
    """The failure that is the run's own: a suite of one test case, in error."""
    sums = _attributes({"name": "mcptest", **_sums((), run_failed=True), "time": "0.000"})
    message = _attributes({"message": reason, "type": "interrupted" if record.interrupted else "run"})
    yield f"  <testsuite{sums}>"
    yield f"    <testcase{_attributes({'name': 'the run', 'classname': 'mcptest', 'time': '0.000'})}>"
    text = "\n".join([*_unchecked(record), reason, *facts.warning_texts(record)])
    yield f"      <error{message}>{_xml_text(text)}</error>"
    yield "    </testcase>"
    yield "  </testsuite>"


def _sums(tests: Sequence[TestResult], *, run_failed: bool) -> dict[str, str]:
    failures = errors = skipped = 0
    for test in tests:
        if test.verdict is Verdict.FAIL:
            judged = test.failure is None or test.failure.kind in JUDGED_FAILURES
            failures, errors = failures + judged, errors + (not judged)
        elif test.verdict is not Verdict.PASS:
            skipped += 1
    return {
        "tests": str(len(tests) + run_failed),
        "failures": str(failures),
        "errors": str(errors + run_failed),
        "skipped": str(skipped),
    }


def _properties(found: Mapping[str, str], indent: str) -> Iterator[str]:
    if not found:
        return
    yield f"{indent}<properties>"
    for name, value in found.items():
        yield f"{indent}  <property{_attributes({'name': name, 'value': one_line(value)})}/>"
    yield f"{indent}</properties>"


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.3f}"


def _timestamp(record: RunRecord) -> str:
    """The start as Surefire writes it: seconds, without a zone (ours is UTC)."""
    return one_line(record.started_at)[:19]


def _attributes(values: Mapping[str, str]) -> str:
    return "".join(f' {name}="{_clean(value).translate(_ATTRIBUTE)}"' for name, value in values.items())


def _xml_text(text: str) -> str:
    return _clean(text).translate(_ELEMENT)


def _clean(text: str) -> str:
    """`text` sanitised, and without what XML 1.0 cannot hold."""
    clean = sanitise(text)
    return clean if clean.isascii() else _NOT_XML.sub("\ufffd", clean)
