"""One shard of a run, in its own process on a worker: a line of JSON on stdin starts it, and it writes lines to stdout.

`{"case": …}` for each finished test, and at the end `{"record": …}` or `{"error": …, "hint": …}`. It is a process and no thread
of the worker, so that it has its own working directory, servers and signals. stdin stays open: when it ends, the worker has
died or the run was cancelled, and the shard ends early, with its record.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import McptestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.events import Event
    from mcptest_engine.core.run_record import RunRecord


def main() -> None:
    """Run the shard that stdin describes."""
    request = json.loads(sys.stdin.buffer.readline())
    try:
        answer: dict[str, Any] = {"record": asyncio.run(_run_batch(request)).to_json()}
    except McptestError as error:
        answer = {"error": str(error.message), "hint": error.hint}
    json.dump(answer, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # a thread of asyncio may still wait for stdin


async def _run_batch(request: Mapping[str, Any]) -> RunRecord:
    from mcptest_engine.cli.common import find_here, load
    from mcptest_engine.running.launch import launch
    from mcptest_engine.running.listening import Listeners

    workspace = find_here()
    path = Path(request["suite"])
    suite = load(path, workspace, request["variables"])
    if suite.sha256 != request["sha256"]:
        raise McptestError(f"on this worker, {path} has a different text", hint="give the workers the same directory")
    task = asyncio.ensure_future(
        launch(suite, _settings(request["settings"]), workspace=workspace, emit=Listeners([_write_event]))
    )
    asyncio.get_running_loop().add_reader(0, _cancel_on_eof, task)
    return await task


def _write_event(event: Event) -> None:
    from mcptest_engine.cli.cluster.batch_progress import case_row

    row = case_row(event)
    if row is not None:
        sys.stdout.write(json.dumps({"case": row}) + "\n")
        sys.stdout.flush()


def _settings(members: Mapping[str, Any]) -> Any:
    from mcptest_engine.core.enums import Verdict
    from mcptest_engine.running.settings import RunSettings, Selection

    selection = members["selection"]
    ids = selection["ids"]
    return RunSettings(
        **{
            **members,
            "selection": Selection(
                filter=selection["filter"],
                shard=tuple(selection["shard"]),
                ids=None if ids is None else frozenset(ids),
                tags=frozenset(selection["tags"]),
                skip_tags=frozenset(selection["skip_tags"]),
                servers=frozenset(selection["servers"]),
                rows=frozenset(selection["rows"]),
                dealt=selection["dealt"],
            ),
            "server_command": None if members["server_command"] is None else tuple(members["server_command"]),
            "flags": tuple(members["flags"]),
            "models": tuple(members["models"]),
            "fail_on": tuple(map(Verdict, members["fail_on"])),
        }
    )


def _cancel_on_eof(task: asyncio.Future[RunRecord]) -> None:
    if not os.read(0, 4096):
        asyncio.get_running_loop().remove_reader(0)
        task.cancel()


if __name__ == "__main__":
    main()
