"""The contents of the workspace: runs, cassettes, the doctor's report. A name from a client is never used as a path."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import RecordError, UsageError, did_you_mean
from mcptest_engine.front_door.inside import check_places, own_suite
from mcptest_engine.front_door.paging import LARGEST_HEAD, LARGEST_PAGE, page, shortened, start_of, weight
from mcptest_engine.workspace.agent_files import save_report
from mcptest_engine.workspace.ulid import is_ulid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.front_door.door import Request
    from mcptest_engine.front_door.verbs import Answer
    from mcptest_engine.servers.diagnosis.checks import Check
    from mcptest_engine.workspace.workspace import Workspace

_NO_RUN = "list_runs gives the ids of the runs here"
_ROOM_FOR_CALLS = 20_000
_ROOM_FOR_HEADLINE = 2_000
_MOST_NOTES = 10


async def list_runs(request: Request) -> Answer:
    """{runs: [{run_id, suite, verdict, totals, started_at, duration_ms, mode, to_review?}], next_cursor?}."""
    return await asyncio.to_thread(_list_runs, request)


def _list_runs(request: Request) -> JsonDict:
    start, limit = start_of(request.arguments.get("cursor")), int(request.arguments.get("limit", 20))
    ids = [path.stem for path in request.workspace.runs()]
    taken, following = page(ids[: start + limit], start, show=lambda run_id: _headline(request.workspace, run_id))
    if following is None and start + limit < len(ids):
        following = start + limit
    return {"runs": taken, **_further(following)}


async def get_run(request: Request) -> Answer:
    """The record of a run, its tests in pages."""
    return await asyncio.to_thread(_get_run, request)


def _get_run(request: Request) -> JsonDict:
    record = run_of(request.workspace, request.arguments["run_id"])
    run_id = request.arguments["run_id"].upper()
    tests = tests_of(record)
    wanted = request.arguments.get("test")
    if wanted is not None:
        found = [test for test in tests if wanted in (test.get("name"), test.get("id"))]
        if not found:
            names = [str(test.get("name")) for test in tests]
            hint = did_you_mean(wanted[:200], names) or "get_run without `test` has all their names"
            raise UsageError(f"the run {run_id} has no test {json.dumps(wanted[:200], ensure_ascii=False)}", hint=hint)
        taken, following = page(found, start_of(request.arguments.get("cursor")), show=shortened)
        return {"run_id": run_id, "tests": taken, **_further(following)}
    if request.arguments.get("only", "all") == "failed":
        tests = [test for test in tests if test.get("verdict") in ("fail", "inconclusive")]
    head = shortened({key: value for key, value in record.items() if key != "tests"}, LARGEST_HEAD)
    taken, following = page(tests, start_of(request.arguments.get("cursor")), show=shortened)
    return {**head, "run_id": run_id, "tests": taken, **_further(following)}


async def render_report(request: Request) -> Answer:
    """{run_id, format, bytes} and `text`; or `file`, the path of the report, where it is too long for an answer."""
    return await asyncio.to_thread(_render_report, request)


def _render_report(request: Request) -> JsonDict:
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.record_schema import record_fault
    from mcptest_engine.reporting.registry import render

    workspace, form = request.workspace, request.arguments["format"]
    run_id = request.arguments.get("run_id") or _newest_run(workspace)[0]
    data = run_of(workspace, run_id)
    run_id = run_id.upper()
    try:
        record, fault = RunRecord.from_json(data), record_fault(data)
    except RecordError as wrong:
        fault = wrong.message
    if fault is not None:
        raise UsageError(f'the run "{run_id}" is not a run record: {fault}'[:500], hint=_NO_RUN)
    text = render(form, record).text
    answer: JsonDict = {"run_id": run_id, "format": form, "bytes": len(text.encode())}
    if weight(text) <= LARGEST_PAGE:
        return {**answer, "text": text}
    if not request.door.writes_enabled:
        hint = f"mcptest report {run_id} --format {form} --output FILE writes it; so does this with --enable-writes"
        raise UsageError(f"the {form} report has {answer['bytes']:,} bytes, too many for an answer", hint=hint)
    check_places(workspace)
    return {**answer, "file": workspace.relative(save_report(workspace, run_id, form, text))}


def run_of(workspace: Workspace, run_id: str) -> dict[str, object]:
    """The record with this id. Raises: UsageError for an invalid id, or one without a run; an id is never used as a path."""
    if not is_ulid(run_id.upper()):
        raise UsageError(f"{json.dumps(run_id[:80])} is not a run id", hint=_NO_RUN)
    run_id = run_id.upper()
    path = workspace.runs_dir / f"{run_id}.json"
    if not os.path.lexists(path):
        raise UsageError(f'there is no run "{run_id}" in this workspace', hint=_NO_RUN)
    try:
        return workspace.load_run(run_id)
    except RecordError as wrong:
        raise UsageError(f'the run "{run_id}" cannot be read: {wrong.reason}', hint=_NO_RUN) from None


def tests_of(record: Mapping[str, object]) -> list[dict[str, object]]:
    """The tests of a record, which may be damaged."""
    return _objects(record.get("tests"))


def _objects(value: object) -> list[dict[str, object]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _further(following: int | None) -> dict[str, int]:
    return {} if following is None else {"next_cursor": following}


async def get_coverage(request: Request) -> Answer:
    """{run_id, tools_called, coverage?, notes?}; `coverage` as the run recorded it, or computed from its tests' tool lists."""
    return await asyncio.to_thread(_get_coverage, request)


def _get_coverage(request: Request) -> JsonDict:
    from mcptest_engine.core.sanitise import one_line
    from mcptest_engine.running.coverage import calls_of, coverage_of, lists_of_tests

    run_id = request.arguments.get("run_id")
    passed_over: list[str] = []
    if run_id is None:
        run_id, passed_over = _newest_run(request.workspace)
    record = run_of(request.workspace, run_id)
    tests = tests_of(record)
    called = [{"server": server, "tool": tool, "calls": calls} for (server, tool), calls in calls_of(tests).items()]
    shown, more = page(called, 0, room=_ROOM_FOR_CALLS)
    answer: JsonDict = {"run_id": run_id.upper(), "tools_called": shown}
    recorded_notes = record.get("coverage_notes")
    notes = [
        one_line(str(text), 300)
        for text in (*passed_over, *(recorded_notes if isinstance(recorded_notes, list) else ()))
    ]
    notes = notes[:_MOST_NOTES]
    if more is not None:
        notes.append(f"{len(called) - more:,} more tools were called: get_run lists each test")
    if isinstance(record.get("coverage"), dict) and record["coverage"]:
        answer["coverage"] = record["coverage"]
    else:
        offered = lists_of_tests(tests)
        if offered:
            answer["coverage"] = {row.name: row.to_json() for row in coverage_of(offered, tests)}
        unseen = {server for server in record_servers(record) if server not in offered}
        if unseen:
            names = ", ".join(f"`{name}`" for name in sorted(unseen))
            notes.append(
                f"what {one_line(names, 300)} offers was not listed in this run: a suite with `coverage: {{}}` has its "
                "whole runs do that, and `mcptest coverage` asks now"
            )
    if "coverage" in answer:
        answer["coverage"] = shortened(answer["coverage"], LARGEST_PAGE - _ROOM_FOR_CALLS)
    return {**answer, **({"notes": notes} if notes else {})}


def _newest_run(workspace: Workspace) -> tuple[str, list[str]]:
    """The id of the newest run, and notes on the runs that were skipped. Raises: UsageError when there is none."""
    newest, passed_over = workspace.latest_run()
    if newest is None:
        raise UsageError("no run is saved in this workspace yet", hint="run_tool_test or trigger_run makes one")
    return newest.stem, passed_over


def record_servers(record: dict[str, object]) -> list[str]:
    """The names of a run's servers."""
    return [str(server.get("name")) for server in _objects(record.get("servers"))]


async def list_cassettes(request: Request) -> Answer:
    """{cassettes: [{name, bytes}], next_cursor?} of the workspace."""
    from mcptest_engine.workspace.cassettes import cassette_path

    def entry_of(name: str) -> JsonDict:
        try:
            return {"name": name, "bytes": cassette_path(request.workspace, name).stat().st_size}
        except OSError as wrong:
            return {"name": name, "omitted": wrong.strerror or str(wrong)}

    names = await asyncio.to_thread(_cassette_names, request.workspace)
    taken, following = page(names, start_of(request.arguments.get("cursor")), show=entry_of)
    return {"cassettes": taken, **_further(following)}


def _cassette_names(workspace: Workspace) -> list[str]:
    """The cassettes in the workspace itself: links do not count, nor does a directory that leads out of it."""
    from mcptest_engine.workspace.cassettes import cassette_names

    return cassette_names(workspace)


async def get_cassette(request: Request) -> Answer:
    """The head of one cassette, its servers, and their exchanges in pages: {name, …, servers, exchanges, next_cursor?}."""
    return await asyncio.to_thread(_get_cassette, request)


def _get_cassette(request: Request) -> JsonDict:
    from mcptest_engine.workspace.cassettes import load_cassette

    name = request.arguments["name"]
    names = _cassette_names(request.workspace)
    if name not in names:
        hint = did_you_mean(name, names) or ("there is none yet" if not names else "list_cassettes gives their names")
        raise UsageError(f"there is no cassette {json.dumps(name)[:80]} in this workspace", hint=hint)
    cassette = load_cassette(request.workspace, name)
    servers = cassette.pop("servers")
    rows = [
        {"server": server, **exchange} for server, recorded in servers.items() for exchange in recorded["exchanges"]
    ]
    heads = [{"name": server, "exchanges": len(recorded["exchanges"])} for server, recorded in servers.items()]
    taken, following = page(rows, start_of(request.arguments.get("cursor")), show=shortened)
    return {**shortened({**cassette, "servers": heads}, LARGEST_HEAD), "exchanges": taken, **_further(following)}


async def get_doctor_report(request: Request) -> Answer:
    """The document of `mcptest doctor --format json` for this machine and workspace; no server is started for it.

    {mcptest_version, ok, target: null, failed_layer, summary, checks}.
    """
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.judging.providers.checking import check_models
    from mcptest_engine.servers.diagnosis.checks import Report
    from mcptest_engine.servers.diagnosis.project import check_here
    from mcptest_engine.suite.load import LoadOptions, check_suite

    environ, root = request.door.environ, request.workspace.root
    path = own_suite(root)
    options = LoadOptions(environ=environ, workspace_root=root, start_dir=root, only_own_files=True)
    checked = None if path is None else await asyncio.to_thread(check_suite, path, options)
    checks: list[Check] = []
    await check_here(
        checks.append,
        environ=environ,
        own=os.path.abspath(sys.argv[0]),  # noqa: ASYNC240, PTH100 - the link that was used
        data_dir=request.workspace.data_dir,
        root=root,
        path=path,
        checked=checked,
        encoding="utf-8",
    )
    suite = None if checked is None else checked.suite
    check_models(checks.append, environ if suite is None else {**suite.lookups, **suite.env})
    redactor = Redactor(() if suite is None else suite.secrets)
    document: JsonDict = redactor.redact(Report(checks=tuple(checks)).as_json())
    shown, more = page(document["checks"], 0, room=LARGEST_PAGE)
    left = {} if more is None else {"omitted": f"{len(checks) - more:,} more checks: see mcptest doctor"}
    return {**document, "checks": shown, **left}


def _headline(workspace: Workspace, run_id: str) -> JsonDict:
    """The members before the tests of a record, without parsing the tests."""
    from mcptest_engine.core.ledger import count_to_review
    from mcptest_engine.workspace.json_beginnings import head_of

    path = workspace.runs_dir / f"{run_id}.json"
    record = head_of(path, "tests")
    if record is None:
        return {"run_id": run_id, "omitted": "its record cannot be read: get_run says why"}
    suite = record.get("suite")
    members = ("run_id", "verdict", "started_at", "duration_ms", "mode", "totals", "interrupted", "requested_by")
    headline = {key: record[key] for key in members if key in record}
    if isinstance(headline.get("requested_by"), dict):
        headline["requested_by"] = {
            key: headline["requested_by"][key] for key in ("via", "client") if key in headline["requested_by"]
        }
    if to_review := count_to_review(record.get("ledger"), run_id):
        headline["to_review"] = to_review
    named = {key: suite.get(key) for key in ("name", "path")} if isinstance(suite, dict) else None
    return dict(shortened({**headline, "run_id": run_id, "suite": named}, _ROOM_FOR_HEADLINE))
