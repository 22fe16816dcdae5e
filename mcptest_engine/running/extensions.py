"""What wraps a run, as a list: each extension may change the plan before the run, and adds to the record after it.

`before` is called in the order of the list and `finish` in the reverse one, so that the first extension wraps all others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.running.cases import Plan


class Extension:
    """One thing that wraps a run."""

    __slots__ = ()

    def before(self, plan: Plan) -> Plan:
        """Return the plan that is run. Raises UsageError where the run makes no sense; nothing was called then."""
        return plan

    def finish(self, record: RunRecord) -> RunRecord:
        """Return the record with what this extension adds. A disk that refuses a file costs a warning, never the record."""
        return record


def with_warnings(record: RunRecord, warnings: Iterable[str]) -> RunRecord:
    """Return the record with further warnings."""
    added = tuple(warnings)
    return replace(record, warnings=(*record.warnings, *added)) if added else record
