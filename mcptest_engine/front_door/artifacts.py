"""What lies in the workspace: runs, cassettes, the doctor's report. A name that a client gives is never a path."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import RecordError, UsageError, did_you_mean
from mcptest_engine.front_door.paging import page, start_of
from mcptest_engine.workspace.ulid import is_ulid

if TYPE_CHECKING:
    from mcptest_engine.front_door.door import Request
    from mcptest_engine.front_door.verbs import Answer
    from mcptest_engine.workspace.workspace import Workspace

_SHORTEST_TEXT = 400


async def list_runs(request: Request) -> Answer:
    """{runs: [{run_id, suite, verdict, totals, started_at, duration_ms, mode}], next_cursor?}."""
    return await asyncio.to_thread(_list_runs, request)


def _list_runs(request: Request) -> dict[str, Any]:
    start, limit = start_of(request.arguments.get("cursor")), int(request.arguments.get("limit", 20))
    paths = request.workspace.runs()
    runs = []
    for path in paths[start : start + limit]:
        try:
            runs.append(_headline(request.workspace.load_run(path.stem)))
        except RecordError as wrong:
            runs.append({"run_id": path.stem, "omitted": wrong.message})
    following = start + limit if start + limit < len(paths) else None
    return {"runs": runs, **({"next_cursor": following} if following is not None else {})}


async def get_run(request: Request) -> Answer:
    """The record of a run, its tests in pages."""
    return await asyncio.to_thread(_get_run, request)


def _get_run(request: Request) -> dict[str, Any]:
    record = run_of(request.workspace, request.arguments["run_id"])
    tests = record.get("tests")
    tests = [test for test in tests if isinstance(test, dict)] if isinstance(tests, list) else []
    if request.arguments.get("only", "all") == "failed":
        tests = [test for test in tests if test.get("verdict") in ("fail", "inconclusive")]
    head = {key: value for key, value in record.items() if key != "tests"}
    head = _shortened(head)
    taken, following = page([_shortened(test) for test in tests], start_of(request.arguments.get("cursor")))
    return {**head, "tests": taken, **({"next_cursor": following} if following is not None else {})}


def run_of(workspace: Workspace, run_id: str) -> dict[str, Any]:
    """The record with this id. Raises: UsageError for what is no id or no run; an id is never taken for a path."""
    if not is_ulid(run_id.upper()):
        raise UsageError(f"{json.dumps(run_id)[:80]} is no run id", hint="list_runs gives the ids of the runs here")
    try:
        return workspace.load_run(run_id.upper())
    except RecordError as wrong:
        raise UsageError(wrong.message, hint="list_runs gives the ids of the runs here") from None


async def get_coverage(request: Request) -> Answer:
    """{run_id, tools_called, coverage?, notes?}; `coverage` only of servers whose lists the run itself asked for."""
    return await asyncio.to_thread(_get_coverage, request)


def _get_coverage(request: Request) -> dict[str, Any]:
    from mcptest_engine.running.coverage import calls_of, coverage_of, offered_in

    run_id = request.arguments.get("run_id")
    if run_id is None:
        newest = next(iter(request.workspace.runs()), None)
        if newest is None:
            raise UsageError("no run is kept in this workspace yet", hint="run_tool_test or trigger_run makes one")
        run_id = newest.stem
    record = run_of(request.workspace, run_id)
    tests = [test for test in record.get("tests") or () if isinstance(test, dict)]
    called = [{"server": server, "tool": tool, "calls": calls} for (server, tool), calls in calls_of(tests).items()]
    offered = offered_in(tests)
    answer: dict[str, Any] = {"run_id": run_id, "tools_called": called}
    if offered:
        answer["coverage"] = {row.name: row.to_json() for row in coverage_of(offered, tests)}
    unseen = {server for server in record_servers(record) if server not in offered}
    if unseen:
        names = ", ".join(f"`{name}`" for name in sorted(unseen))
        answer["notes"] = [
            f"what {names} offers was not listed in this run: `mcptest coverage` asks, and tells percentages"
        ]
    return dict(_shortened(answer))


def record_servers(record: dict[str, Any]) -> list[str]:
    """The names of a run's servers."""
    return [str(server.get("name")) for server in record.get("servers") or () if isinstance(server, dict)]


async def list_cassettes(request: Request) -> Answer:
    """{cassettes: [{name, bytes}]}."""
    from mcptest_engine.workspace.cassettes import cassette_names, cassette_path

    workspace = request.workspace
    names = await asyncio.to_thread(cassette_names, workspace)
    return {"cassettes": [{"name": name, "bytes": cassette_path(workspace, name).stat().st_size} for name in names]}


async def get_cassette(request: Request) -> Answer:
    """The head of one cassette, its servers, and their exchanges in pages: {name, …, servers, exchanges, next_cursor?}."""
    return await asyncio.to_thread(_get_cassette, request)


def _get_cassette(request: Request) -> dict[str, Any]:
    from mcptest_engine.workspace.cassettes import cassette_names, load_cassette

    name = request.arguments["name"]
    names = cassette_names(request.workspace)
    if name not in names:
        hint = did_you_mean(name, names) or ("there is none yet" if not names else "list_cassettes gives their names")
        raise UsageError(f"there is no cassette {json.dumps(name)[:80]} in this workspace", hint=hint)
    told = load_cassette(request.workspace, name)
    servers = told.pop("servers")
    rows = [{"server": server, **exchange} for server, kept in servers.items() for exchange in kept["exchanges"]]
    heads = [{"name": server, "exchanges": len(kept["exchanges"])} for server, kept in servers.items()]
    taken, following = page([_shortened(row) for row in rows], start_of(request.arguments.get("cursor")))
    answer = {**_shortened(told), "servers": heads, "exchanges": taken}
    return {**answer, **({"next_cursor": following} if following is not None else {})}


async def get_doctor_report(request: Request) -> Answer:
    """The document of `mcptest doctor --format json`."""
    from mcptest_engine.front_door.doctor import report

    answer: Answer = await report(request)
    return answer


def _headline(record: dict[str, Any]) -> dict[str, Any]:
    suite = record.get("suite")
    kept = ("run_id", "verdict", "started_at", "duration_ms", "mode", "totals", "interrupted")
    told = {key: record[key] for key in kept if key in record}
    return {**told, "suite": {key: suite.get(key) for key in ("name", "path")} if isinstance(suite, dict) else None}


def _shortened(value: Any, room: int = 40_000) -> Any:
    """A value whose JSON has room in an answer: long texts are cut first, then long lists and deep parts."""
    text_room = room
    while len(json.dumps(value, ensure_ascii=False)) > room and text_room > _SHORTEST_TEXT:
        text_room //= 4
        value = _cut(value, max(text_room, _SHORTEST_TEXT), max(text_room // 100, 3))
    return value


def _cut(value: Any, most_text: int, most_items: int) -> Any:
    if isinstance(value, str) and len(value) > most_text:
        return f"{value[:most_text]}… ({len(value):,} characters)"
    if isinstance(value, dict):
        kept = {key: _cut(part, most_text, most_items) for key, part in list(value.items())[: most_items * 10]}
        more = len(value) - len(kept)
        return {**kept, "…": f"{more:,} more"} if more > 0 else kept
    if isinstance(value, list):
        kept_items = [_cut(part, most_text, most_items) for part in value[:most_items]]
        more = len(value) - len(kept_items)
        return [*kept_items, f"… {more:,} more"] if more > 0 else kept_items
    return value
