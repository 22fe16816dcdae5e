"""`agents:` in a run: deferred, never a pass, and no server is started for them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from mcptest_engine.reporting.registry import FORMATS, render

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcptest_engine.core.results import RunRecord

    RecordOf = Callable[..., RunRecord]

DEFERRED = "deferred: this version of mcptest runs no agents yet"


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
    """Decisions 6 and 14: no deferred row is ever a pass, and the exit code stays 0."""
    mark = tmp_path / "mark"
    record = record_of(suite(mark))
    assert [(test.kind.value, test.verdict.value, test.message) for test in record.tests] == [
        ("agent", "inconclusive", DEFERRED),
        ("agent", "inconclusive", DEFERRED),
        ("agent", "skip", "not yet"),
    ]
    assert [(test.server, test.tool, test.request) for test in record.tests] == [("s", None, None)] * 3
    assert (record.exit_code, record.servers, record.totals.inconclusive) == (0, (), 2)
    assert not mark.exists()


def test_a_failed_test_beside_them_still_fails_the_run(record_of: RecordOf, tmp_path: Path) -> None:
    """Deferred rows excuse nobody."""
    record = record_of(suite(tmp_path / "mark", "tools: [{ name: fails, tool: any }]"))
    assert [test.verdict.value for test in record.tests] == ["inconclusive", "inconclusive", "skip", "fail"]
    assert record.exit_code == 1


def test_every_report_tells_of_them(record_of: RecordOf, tmp_path: Path) -> None:
    """None of them counts one as passed."""
    record = record_of(suite(tmp_path / "mark"))
    for name in FORMATS:
        text = render(name, record).text
        assert "inconclusive" in text.lower() or "INCONC" in text or DEFERRED in text, name
