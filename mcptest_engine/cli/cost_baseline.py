"""The file of `run --cost-baseline` and `--save-cost-baseline`: small, sorted, and meant to be committed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.cli.common import json_text
from mcptest_engine.core.errors import ExitCode, UsageError
from mcptest_engine.core.sanitise import one_line

if TYPE_CHECKING:
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.running.cost_gate import Cost, CostGate


def read_gate(path: str, tolerance_percent: float) -> CostGate:
    """Read the baseline at `path`. Raises: UsageError when it is none."""
    from mcptest_engine.running.cost_gate import CostGate

    return CostGate(_read_baseline(path), path, tolerance_percent)


def save_baseline(path: str, record: RunRecord, *, whole: bool) -> bool:
    """Save what the run cost, and print that; False when it cannot be written.

    A partial run changes only its part. Only a run that passed is saved.
    """
    from mcptest_engine.running.cost_gate import baseline_of
    from mcptest_engine.workspace.atomic import write_atomic

    if record.exit_code != ExitCode.PASSED:
        sys.stderr.write(f"the costs were not saved to `{one_line(path)}`: the run did not pass\n")
        return True
    try:
        data = baseline_of(record, None if whole or not Path(path).exists() else _read_baseline(path))
        if data is None:
            sys.stderr.write(f"the costs were not saved to `{one_line(path)}`: no call of this run reports its cost\n")
            return True
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(Path(path), json_text(data).encode())
    except (OSError, UsageError) as wrong:
        sys.stderr.write(
            f"error: the costs were not saved to `{one_line(path)}`: {getattr(wrong, 'strerror', None) or wrong}\n"
        )
        return False
    sys.stderr.write(f"costs saved to {one_line(path)}: commit it, and compare later runs with --cost-baseline\n")
    return True


def _read_baseline(path: str) -> dict[str, Cost]:
    from mcptest_engine.core.safe_json import load_json
    from mcptest_engine.running.cost_gate import costs_in
    from mcptest_engine.workspace.files import read_named_file

    try:
        return costs_in(load_json(read_named_file(path)))
    except OSError as wrong:
        raise UsageError(
            f"the cost baseline `{path}` cannot be read: {wrong.strerror or wrong}",
            hint=f"make one: mcptest run --save-cost-baseline {path}",
        ) from None
    except ValueError as wrong:
        raise UsageError(
            f"`{path}` is not a cost baseline: {wrong}", hint="it is what --save-cost-baseline writes"
        ) from None
