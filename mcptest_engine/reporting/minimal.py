"""`minimal`: one line on stdout, and on stderr one line for each failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.results import Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted
from mcptest_engine.reporting import facts
from mcptest_engine.reporting.compositions import spending_text
from mcptest_engine.reporting.registry import Rendered

if TYPE_CHECKING:
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.registry import RenderOptions


def render(record: RunRecord, options: RenderOptions) -> Rendered:  # noqa: ARG001 - every format takes both
    """`ran 2 tests: 1 passed, 1 failed in 99ms`, and `FAIL name: reason` for each failure.

    `INCONC name: reason` for each test whose made-up arguments met with an error: it is for a person to mend.
    """
    sums = f"ran {counted(record.totals.total, 'test')}: {facts.counts_text(record)}"
    spent = spending_text(record.spending)
    told = f"{sums} in {facts.duration_text(record.duration_ms)}{f', {spent}' if spent else ''}"
    stdout = f"{told}{', interrupted' if record.interrupted else ''}\n"
    lines = [
        f"FAIL {one_line(test.name)}: {facts.first_reason(test)}" for test in facts.tests_with(record, Verdict.FAIL)
    ]
    lines += [
        f"INCONC {one_line(test.name)}: {facts.inconclusive_text(test)}" for test in record.tests if test.undecided
    ]
    reason = facts.run_reason(record)
    if reason is not None and not record.interrupted:
        lines.append(reason)
    lines += (f"warning: {warning}" for warning in facts.warning_texts(record))
    return Rendered(stdout, "".join(line + "\n" for line in lines))
