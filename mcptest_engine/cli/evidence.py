"""`mcptest evidence`: a short document about a run: what was tested, with what, from which source, with which result."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import click

from mcptest_engine.cli.common import find_here, json_text, write_out
from mcptest_engine.cli.report import named_run, read_record
from mcptest_engine.core.errors import RecordError, UsageError
from mcptest_engine.core.safe_json import JsonFault, load_json
from mcptest_engine.core.text import utc_text
from mcptest_engine.workspace.files import read_named_file

LEVELS = ("critical", "high", "medium", "low", "info")


@click.command()
@click.argument("record", metavar="RUN.json")
@click.option(
    "--output", "--out", type=click.Path(), metavar="PATH", help="Write the output to this file instead of stdout."
)
@click.option(
    "--security", type=click.Path(), metavar="FILE", help="Findings to count, from `mcptest security --format json`."
)
@click.option(
    "--reproducible", is_flag=True, help="Use the time of the run, so that the same inputs give the same bytes."
)
@click.option("--sign", is_flag=True, hidden=True)
def command(record: str, output: str | None, security: str | None, reproducible: bool, sign: bool) -> None:
    """Print a document that states what a run proves: servers, models, suite, source, results, digests.

    \b
    Example:
      mcptest evidence run.json --security findings.json --reproducible --output evidence.json
    """
    if sign:
        hint = "sign the file with the tool of those who check it"
        raise UsageError("--sign: mcptest does not sign", hint=hint)
    from mcptest_engine.reporting.evidence import evidence_of

    record = named_run(record)
    run = read_record(record)
    found = None if security is None else _findings(security)
    document = evidence_of(
        run,
        record_bytes=_bytes_of(record),
        generated_at=_time(run.started_at) if reproducible else utc_text(datetime.now(UTC)),
        reproducible=reproducible,
        severity_counts=None if found is None else found[0],
        security_bytes=None if found is None else found[1],
    )
    text = json_text(document)
    write_out(text, output)


def _bytes_of(record: str) -> bytes:
    """The bytes of the file, wherever it was found; the document has their digest."""
    path = Path(record)
    if not path.exists():
        path = find_here().runs_dir / f"{record.upper()}.json"
    try:
        return read_named_file(path)
    except OSError as wrong:
        raise RecordError(f"`{record}` cannot be read: {wrong.strerror or wrong}") from None


def _findings(file: str) -> tuple[dict[str, int], bytes]:
    """The number of findings of each severity in a file, and the file's bytes. Raises: UsageError."""
    hint = "write it with: mcptest security … --format json --output FILE"
    try:
        data = read_named_file(file)
        document = load_json(data)
    except OSError as wrong:
        raise UsageError(f"`{file}` cannot be read: {wrong.strerror or wrong}") from None
    except JsonFault as wrong:
        raise UsageError(f"`{file}` has no findings: {wrong}", hint=hint) from None
    found = document.get("findings") if isinstance(document, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, dict) and one.get("severity") in LEVELS for one in found):
        raise UsageError(f"`{file}` has no findings of `mcptest security`", hint=hint)
    return {level: sum(one["severity"] == level for one in found) for level in LEVELS}, data


def _time(started_at: str) -> str:
    """The run's own time, or that of SOURCE_DATE_EPOCH."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if not epoch:
        return started_at
    try:
        return datetime.fromtimestamp(int(epoch), UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        raise UsageError("SOURCE_DATE_EPOCH is not a number of seconds") from None
