"""Which tools each command calls, measured at a server that writes down every call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.cli.main import COMMANDS
from tests.safety.commands import NOT_RUN, ROWS, Bench, on_the_page, table, updates, write_page

if TYPE_CHECKING:
    from pathlib import Path

    from tests.safety.commands import Run
    from tests.servers.model_endpoint import ModelEndpoint


def test_every_command_has_a_row_or_a_reason_for_none() -> None:
    assert {row.words[0] for row in ROWS if row.words} | set(NOT_RUN) == set(COMMANDS)


def test_no_command_calls_a_tool_outside_of_its_row_and_the_page_shows_what_each_called(
    mcptest: Run, mcptest_command: str, clean_environ: dict[str, str], models: ModelEndpoint, tmp_path: Path
) -> None:
    """No line of the table may surprise a reader."""
    found = []
    for number, row in enumerate(ROWS):
        bench = Bench(tmp_path / str(number))
        found.append((row, bench.calls(row, mcptest, mcptest_command, clean_environ, models)))
    assert [(row.shown, set(calls)) for row, calls in found] == [(row.shown, set(row.may)) for row in ROWS]
    if updates():
        write_page(table(found))
    assert on_the_page() == table(found)
