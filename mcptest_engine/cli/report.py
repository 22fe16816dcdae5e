"""`mcptest report`: a saved run in another format, with the same bytes that the run itself would have printed."""

from __future__ import annotations

import gc
import os
import re
import sys
from pathlib import Path

import click

from mcptest_engine.cli.common import find_here
from mcptest_engine.core.errors import ExitCode, RecordError, UsageError
from mcptest_engine.core.results import Verdict
from mcptest_engine.core.run_record import RunRecord, Totals
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.workspace.files import read_named_file

HINT = "it is what `--reporter json` writes"
_MOST_NOTES = 5
_LATEST = re.compile(r"latest(?:~(\d{1,4}))?")


@click.command()
@click.argument("records", nargs=-1, metavar="[RUN.json]…")
@click.option(
    "--format", "form", default="pretty", show_default=True, metavar="FMT", help="A format of `run --reporter`."
)
@click.option("--output", type=click.Path(), metavar="PATH", help="Write the output to this file instead of stdout.")
@click.option("--merge", is_flag=True, help="Merge the shards of one suite into one report.")
@click.option("--allow-missing", is_flag=True, help="With --merge: accept missing shards.")
@click.option("--agent-budget", type=click.IntRange(min=0), default=1024, metavar="TOKENS", show_default=True)
@click.option("--no-color", is_flag=True, help="No colour; NO_COLOR does the same.")
@click.pass_context
def command(
    ctx: click.Context,
    records: tuple[str, ...],
    form: str,
    output: str | None,
    merge: bool,
    allow_missing: bool,
    agent_budget: int,
    no_color: bool,
) -> None:
    """Print a saved run in any format: a file, a run id, `latest` (the default), or `latest~1` (the one before).

    \b
    Example:
      mcptest report --merge shard-1.json shard-2.json --format junit --output out.xml
    """
    from mcptest_engine.cli.sinks import make_sinks, write_reports

    if no_color:
        os.environ["NO_COLOR"] = "1"
    sinks = make_sinks((form,), output, agent_budget=agent_budget)
    if gc.isenabled():  # records are read, reported and dropped: collecting garbage among them is a tenth of a merge
        gc.disable()
        ctx.call_on_close(gc.enable)
    read = [read_record(name) for name in records or (_newest(),)]
    code = ExitCode.PASSED
    if merge:
        from mcptest_engine.reporting.merge import merge_records

        read = [merge_records(read, allow_missing=allow_missing)]
        code = ExitCode(read[0].exit_code)
    elif allow_missing:
        raise UsageError("--allow-missing without --merge")
    if len(read) > 1:
        raise UsageError(f"{len(read)} runs are named", hint="name one, or merge them with --merge")
    lost = write_reports(read[0], sinks, workspace=find_here())
    ctx.exit(ExitCode.FAILED if lost else code)


def read_record(name: str) -> RunRecord:
    """Read the record of that name. Raises: RecordError for one that does not match its published schema; UsageError."""
    from mcptest_engine.reporting.record_schema import record_fault

    data = _data(named_run(name))
    try:
        record = RunRecord.from_json(data)
    except RecordError as wrong:
        raise RecordError(f"`{one_line(name, 200)}`: {wrong.message}", hint=HINT) from None
    fault = record_fault(data) or _contradiction(record)
    if fault is not None:
        raise RecordError(f"`{name}` is not a run record: {fault}", hint=HINT)
    return record


def named_run(name: str) -> str:
    """The file or run id of a name: `latest~2` is two before the newest run of the same suite. Raises: UsageError."""
    found = _LATEST.fullmatch(name)
    if found is None or Path(name).exists():
        return name
    newest, back = _newest(), int(found[1] or 0)
    if not back:
        return newest
    workspace = find_here()
    path = RunRecord.from_json(workspace.load_run(newest)).suite.path
    for at, record in enumerate(workspace.recent_runs(path)):
        if at == back:
            return str(record["run_id"])
    raise UsageError(f"there is no `{name}`: there are not that many saved runs of {path}")


def _contradiction(record: RunRecord) -> str | None:
    """How a record's totals contradict its tests; reports, evidence and comparisons use one or the other."""
    if record.totals != Totals.of(record.tests):
        return "its `totals` do not match its tests"
    if (record.verdict is Verdict.PASS) is not (record.exit_code == ExitCode.PASSED):
        return f"its verdict is `{record.verdict.value}`, but its exit code is {record.exit_code}"
    return None


def _data(name: str) -> object:
    """The JSON of a record: `-` is stdin, a path its file, anything else a run id of the workspace."""
    from mcptest_engine.core.safe_json import load_json

    if name != "-" and not Path(name).exists():
        return find_here().load_run(name)
    try:
        return load_json(sys.stdin.buffer.read() if name == "-" else read_named_file(name))
    except (OSError, ValueError) as wrong:
        raise RecordError(f"`{name}` is not a run record: {wrong}", hint=HINT) from None


def _newest() -> str:
    path, notes = find_here().latest_run()
    for note in notes[:_MOST_NOTES]:
        sys.stderr.write(f"note: {one_line(note)}\n")
    if path is not None:
        return str(path)
    raise UsageError("no run is saved here yet", hint="run a suite first, `mcptest run`, or name a record's file")
