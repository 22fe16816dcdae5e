"""`mcptest schema`: the published JSON Schemas, for editors and for programs that read run records."""

from __future__ import annotations

import sys

import click


@click.command()
@click.option("--record", is_flag=True, help="Print the schema of run records.")
def command(record: bool) -> None:
    """Print the JSON Schema of suites or of run records. Editors use it to complete and explain keys.

    A suite that names `.mcptest/suite.schema.json` in its first line needs no copy: mcptest keeps that file up to date.

    \b
    Example:
      mcptest schema > mcptest.schema.json
    """
    if record:
        from mcptest_engine.reporting.record_schema import schema_text
    else:
        from mcptest_engine.suite.schema import schema_text
    sys.stdout.write(schema_text().rstrip("\n") + "\n")
