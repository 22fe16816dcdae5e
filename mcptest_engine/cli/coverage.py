"""`mcptest coverage`: how much of its servers' tools, resources and prompts a suite's newest run has used."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from mcptest_engine.cli.common import find_here, json_text, load, parse_variables, read_json, suite_options, suite_path
from mcptest_engine.cli.target import with_session
from mcptest_engine.core.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.core.coverage import Dimension
    from mcptest_engine.running.coverage import ServerLists
    from mcptest_engine.servers.session import Session
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

MISSING_SHOWN = 10


@click.command()
@suite_options
@click.option("--run", "run_id", metavar="ID", help="Use this run. [default: the newest of the suite]")
@click.option(
    "--tools-from", metavar="FILE", help="Use this output of `mcptest tools --format json` in place of the servers."
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit 6 if fewer of the tools were called; overrides the suite's `coverage`.",
)
@click.option(
    "--floor",
    "floors",
    multiple=True,
    metavar="KIND=PERCENT",
    help="The same for tools, parameters, enum_values, resources, prompts, error_paths or strength.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(
    ctx: click.Context,
    file: str | None,
    config: str | None,
    variables: tuple[str, ...],
    run_id: str | None,
    tools_from: str | None,
    threshold: float | None,
    floors: tuple[str, ...],
    form: str,
) -> None:
    """Show how much of a suite's servers its newest run has tested, and how many tests check a value.

    The servers are only asked for their lists.

    \b
    Example:
      mcptest coverage mcptest.yaml --threshold 80
    """
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.running.coverage import coverage_of

    asked = _floors(threshold, floors)
    workspace = find_here()
    suite = load(suite_path(file, config), workspace, parse_variables(variables))
    record = _load_record(workspace, suite, run_id)
    offered = _lists_by_server(suite, tools_from)
    tests = [test for test in record.get("tests") or () if isinstance(test, dict)]
    wanted = {**_own_floors(suite, workspace, tests), **asked}
    counted = coverage_of(offered, tests, redact=Redactor(suite.secrets).redact_text, several=len(suite.servers) > 1)
    rows = [replace(row, floor=wanted.get(row.name), judged=row.name in wanted) for row in counted]
    unknown = wanted.keys() - {row.name for row in rows}
    if unknown:
        raise UsageError(f"{', '.join(sorted(unknown))} cannot be counted: a server did not list them")
    short = [row for row in rows if row.is_short]
    if form == "json":
        coverage = {row.name: row.to_json() for row in rows}
        gate = [{"dimension": row.name, "floor": row.floor, "percent": row.shown_percent} for row in short]
        sys.stdout.write(json_text({"run_id": record.get("run_id"), "coverage": coverage, "below_floor": gate}))
    else:
        _print(rows, str(record.get("run_id")))
    ctx.exit(ExitCode.GATE if short else ExitCode.PASSED)


def _own_floors(suite: LoadedSuite, workspace: Workspace, tests: Sequence[Mapping[str, object]]) -> Mapping[str, float]:
    """The floors of the suite's `coverage`; none of them for a run of a part of its tests, as they are now."""
    if not suite.coverage:
        return {}
    from mcptest_engine.running.plan import make_plan
    from mcptest_engine.running.settings import RunSettings

    cases = make_plan(suite, RunSettings(), relative=workspace.relative).cases
    ran = {re.sub(r" #run\d+$", "", str(test.get("id"))) for test in tests}
    covered = sum(case.id in ran for case in cases)
    if covered < len(suite.tests):
        reason = f"that run has {covered} of the suite's {len(suite.tests)} tests"
        sys.stderr.write(f"note: {reason}; the floors of its `coverage` are not checked\n")
        return {}
    return suite.coverage


def _floors(threshold: float | None, floors: Sequence[str]) -> dict[str, float]:
    from mcptest_engine.core.coverage import DIMENSIONS
    from mcptest_engine.core.errors import did_you_mean

    found = {} if threshold is None else {"tools": threshold}
    for text in floors:
        name, _, percent = text.partition("=")
        if name not in DIMENSIONS:
            hint = did_you_mean(name, DIMENSIONS) or f"known: {', '.join(DIMENSIONS)}"
            raise UsageError(f"`--floor {text}`: there is no `{name}`", hint=hint)
        try:
            found[name] = float(percent)
        except ValueError:
            raise UsageError(f"`--floor {text}` is not of the form KIND=PERCENT", hint="such as tools=80") from None
        if not 0 <= found[name] <= 100:
            raise UsageError(f"`--floor {text}`: write a percentage from 0 to 100")
    return found


def _load_record(workspace: Workspace, suite: LoadedSuite, run_id: str | None) -> Mapping[str, Any]:
    if run_id is not None:
        return workspace.load_run(run_id)
    record = workspace.last_run(workspace.relative(suite.path))
    if record is None:
        shown = os.path.relpath(suite.path)
        raise UsageError(f"no run of {shown} is saved here", hint=f"run it first: mcptest run {shown}")
    return record


def _lists_by_server(suite: LoadedSuite, tools_from: str | None) -> dict[str, ServerLists]:
    from mcptest_engine.running.coverage import ServerLists

    if tools_from is not None:
        if len(suite.servers) != 1:
            raise UsageError("--tools-from requires a suite with one server")
        return {next(iter(suite.servers)): ServerLists(**_catalog_file(tools_from))}
    return {name: _lists_of(suite, name) for name in suite.servers}


def _catalog_file(file: str) -> dict[str, Any]:
    hint = "write it with: mcptest tools --format json --output FILE"
    document = read_json(file, hint=hint)
    document = document.get("result", document) if isinstance(document, dict) else {"tools": document}
    members = {"tools": "tools", "resources": "resources", "resourceTemplates": "templates", "prompts": "prompts"}
    found = {
        name: [entry for entry in document[member] if isinstance(entry, dict)]
        for member, name in members.items()
        if isinstance(document.get(member), list)
    }
    if not found:
        raise UsageError(f"`{file}` has no `tools`", hint=hint)
    return found


def _lists_of(suite: LoadedSuite, server: str) -> ServerLists:
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.running.coverage import ServerLists
    from mcptest_engine.running.launch import server_specs
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.servers.catalog import read_catalog

    secrets = Redactor(suite.secrets)
    spec = server_specs(suite, RunSettings(), redact=secrets.redact_text, keep_secret=secrets.register)[server]

    async def read(session: Session) -> ServerLists:
        return ServerLists.of(await read_catalog(session))

    return with_session(spec, read)


def _print(rows: Sequence[Dimension], run_id: str) -> None:
    from mcptest_engine.core.sanitise import one_line

    sys.stdout.write(f"coverage of run {run_id}\n")
    for row in rows:
        floor = f"  below {row.floor:g} %" if row.is_short else ""
        figures = f"{row.shown_percent:5.1f} %  {row.covered} of {row.total}" if row.total else "none to cover"
        sys.stdout.write(f"  {row.shown_name:<12} {figures}{floor}\n")
        for missing in row.missing[:MISSING_SHOWN]:
            sys.stdout.write(f"      {one_line(missing, 100)}\n")
        if len(row.missing) > MISSING_SHOWN:
            sys.stdout.write(f"      … {len(row.missing) - MISSING_SHOWN} more; --format json names them all\n")
