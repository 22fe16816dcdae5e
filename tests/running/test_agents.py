"""`agents:` in a run: deferred, never a pass, and no server is started for them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from mcptest_engine.reporting.registry import FORMATS, render

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcptest_engine.core.run_record import RunRecord

    RecordOf = Callable[..., RunRecord]

DEFERRED = "deferred: no model provider"


def suite(mark: Path, more: str = "") -> str:
    """A suite of agents whose server and hook leave a mark."""
    touch = json.dumps([sys.executable, "-c", f"open({str(mark)!r}, 'w')"])
    return f"""
servers: {{ s: {{ command: {touch} }} }}
hooks: {{ beforeAll: touch {mark}, beforeEach: touch {mark} }}
agents:
  - {{ name: greets, prompt: hello, tags: [a] }}
  - {{ name: several, prompt: hello, servers: [s], models: [one, two], runs: 3 }}
  - {{ name: skipped, prompt: hello, skip: not yet }}
{more}"""


def test_an_agent_test_is_inconclusive_and_starts_nothing(record_of: RecordOf, tmp_path: Path) -> None:
    """No deferred row is ever a pass, and the exit code stays 0."""
    mark = tmp_path / "mark"
    record = record_of(suite(mark))
    several = [f"several [{model}] #{run}" for model in ("one", "two") for run in (1, 2, 3)]
    assert [(test.kind.value, test.name, test.verdict.value) for test in record.tests] == [
        *(("agent", name, "inconclusive") for name in ("greets", *several)),
        ("agent", "skipped", "skip"),
    ]
    assert all(str(test.message).startswith(DEFERRED) for test in record.tests[:-1])
    assert {(test.server, test.tool) for test in record.tests} == {("s", None)}
    assert (record.exit_code, record.servers, record.totals.inconclusive) == (0, (), 7)
    assert not mark.exists()


def test_a_failed_test_beside_them_still_fails_the_run(record_of: RecordOf, tmp_path: Path) -> None:
    """Deferred rows excuse nobody."""
    record = record_of(suite(tmp_path / "mark", "tools: [{ name: fails, tool: any }]"))
    assert [test.verdict.value for test in record.tests] == [*["inconclusive"] * 7, "skip", "fail"]
    assert record.exit_code == 1


def test_inconclusive_tests_fail_a_run_that_says_so(record_of: RecordOf, tmp_path: Path) -> None:
    """The summary's own warning says why the run failed although no test did."""
    more = "run_options: { inconclusive: { treat_as: fail } }"
    record = record_of(suite(tmp_path / "mark", more))
    assert (record.exit_code, record.verdict.value, record.totals.failed) == (1, "fail", 0)
    assert record.warnings == ("7 inconclusive tests fail the run (run_options.inconclusive.treat_as: fail)",)


def test_every_report_tells_of_them(record_of: RecordOf, tmp_path: Path) -> None:
    """None of them counts one as passed."""
    record = record_of(suite(tmp_path / "mark"))
    for name in FORMATS:
        text = render(name, record).text
        assert "inconclusive" in text.lower() or "INCONC" in text or DEFERRED in text, name


def test_what_several_tests_warn_of_is_told_once(record_of: RecordOf, tmp_path: Path) -> None:
    """Six lines that differ in a name alone hide what else there is to tell."""
    metric = "derivedMetrics: [{ name: m, value: { weighted_average: [{ ref: no_such_name }] } }]"
    expect = "expect: [{ target: result.content, matcher: { length: 1 } }]"
    rows = "\n".join(f"  - {{ name: {name}, tool: status, {expect}, {metric} }}" for name in "abc")
    record = record_of(f"servers: {{ s: {{ command: [mcptest, mock, --preset, demo] }} }}\ntools:\n{rows}\n")
    (told,) = (text for text in record.warnings if "no_such_name" in text)
    assert told.startswith("a and 2 more tests: ")
