"""`ndjson`: each test's record on a line of its own, then the rest of the run record on the last. Nothing is lost.

Every line says what it is: `"type": "test"` or `"type": "summary"`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.safe_json import safe_json
from mcptest_engine.reporting.json_ import with_unchecked

if TYPE_CHECKING:
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.registry import RenderOptions


def render(record: RunRecord, options: RenderOptions) -> str:  # noqa: ARG001 - every format takes both
    """A line for each test in declared order, and the summary line, which every run has."""
    data = with_unchecked(record, record.to_json())
    tests = data.pop("tests")
    lines = [safe_json({"type": "test", **test}) for test in tests]
    lines.append(safe_json({"type": "summary", **data}))
    return "\n".join(lines) + "\n"
