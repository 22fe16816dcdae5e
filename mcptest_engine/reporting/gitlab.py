"""`gitlab`: the Code Quality report that GitLab shows in a merge request, an entry for each test that did not pass.

Warnings are entries of the severity `info`, unless the run itself failed: then that entry says them.

The fingerprint leaves the message out, so a failure that words itself differently stays the same finding.
Source: GitLab, "Code Quality report format".
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from mcptest_engine.core.results import Verdict
from mcptest_engine.core.safe_json import safe_json
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.reporting import facts, hook_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.registry import RenderOptions

CHECK_NAME = "mcptest.assertion"
RUN_CHECK_NAME = "mcptest.run"
WARNING_CHECK_NAME = "mcptest.warning"
HOOK_CHECK_NAME = "mcptest.hook"


def render(record: RunRecord, options: RenderOptions) -> str:  # noqa: ARG001 - every format takes both
    """A list with one entry a line, empty when there is nothing to show."""
    entries = [safe_json(entry) for entry in _issues(record)]
    return "[\n" + ",\n".join(f"  {entry}" for entry in entries) + "\n]\n" if entries else "[]\n"


def _issues(record: RunRecord) -> Iterator[dict[str, object]]:
    reason = facts.run_reason(record)
    unchecked = [told] if (told := facts.unchecked_text(record)) else []
    warnings = hook_facts.other_warnings(record)
    if reason is not None:
        yield _of_run(record, "; ".join([reason, *unchecked, *warnings]), RUN_CHECK_NAME, "critical")
    else:
        for text in (*unchecked, *warnings):
            yield _of_run(record, text, WARNING_CHECK_NAME, "info", title=text)
    for hook in hook_facts.hook_failures(record):
        severity = "critical" if hook.phase == "beforeAll" else "minor"
        yield _of_run(record, hook.text, f"{HOOK_CHECK_NAME}.{hook.phase}", severity, title=hook.title)
    alike = hook_facts.setup_failure(record) is not None  # the hook's entry says it for all of them
    for test in record.tests:
        if test.verdict is not Verdict.PASS and not (alike and hook_facts.is_blocked_by_hook(test)):
            yield _issue(record, test)


def _of_run(record: RunRecord, told: str, check: str, severity: str, *, title: str = "") -> dict[str, object]:
    """What is no test's own, at the first line of the suite."""
    place = facts.file_in_repository(record.source, record.suite.path)
    return {
        "description": f"{one_line(record.suite.name)}: {told}",
        "check_name": check,
        "fingerprint": _fingerprint(f"{check}{title}", place, 1),
        "severity": severity,
        "location": {"path": place, "lines": {"begin": 1}},
    }


def _issue(record: RunRecord, test: TestResult) -> dict[str, object]:
    written, at = facts.place_of(test)
    name, file, line = one_line(test.name), facts.file_in_repository(record.source, written), max(at, 1)
    return {
        "description": f"{name}: {_message(test)}",
        "check_name": CHECK_NAME if test.failure is None else f"mcptest.{test.failure.kind.value}",
        "fingerprint": _fingerprint(name, file, max(test.line, 1)),
        "severity": "major" if test.verdict is Verdict.FAIL else "minor",
        "location": {"path": file, "lines": {"begin": line}},
        "properties": {
            "duration_ms": test.duration_ms,
            "cache_hit": test.cached,
            **({"scorer_error": error} if (error := facts.scorer_error_members(test)) else {}),
        },
    }


def _message(test: TestResult) -> str:
    if test.verdict is Verdict.FAIL:
        return facts.first_reason(test)
    if test.verdict is Verdict.INCONCLUSIVE:
        return f"inconclusive: {facts.inconclusive_text(test)}"
    return f"skipped: {remark}" if (remark := facts.remark(test)) else "skipped"


def _fingerprint(name: str, file: str, line: int) -> str:
    return hashlib.sha256(f"{name}\0{file}\0{line}".encode("utf-8", "replace")).hexdigest()
