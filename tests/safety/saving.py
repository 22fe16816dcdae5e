"""A program: open the workbench on a suite, save another text of it, and leave when what that starts has ended."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from mcptest_tui.app import Workbench
from tests.tui.waiting import until


def write_other_text(suite: Path) -> None:
    suite.write_text(suite.read_text(encoding="utf-8").replace(" one", " two"), encoding="utf-8")


async def save(mode: str, suite: Path) -> None:
    """The tests that wait for a key, and with "off" all, are not waited for."""
    app = Workbench([str(suite)])
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        try:
            rows = app.store.rows
            await until(pilot, lambda: app.suites.searched and len(rows) == 4, what="the tests")
            app.watch_mode = mode
            before = {row.digest for row in rows.values()}
            write_other_text(suite)
            await until(pilot, lambda: before.isdisjoint(row.digest for row in rows.values()), what="the save")
            await until(
                pilot,
                lambda: mode == "off" or all(row.waits or row.status in ("pass", "fail") for row in rows.values()),
                what="the run",
            )
        finally:
            await app.leaving.end()


asyncio.run(save(sys.argv[1], Path(sys.argv[2]).absolute()))
