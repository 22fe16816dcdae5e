"""A front door that ends in the middle of a run: no server stays, nothing is torn, and the next one goes on."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.front_door.conftest import SUITE
from tests.soak.doors import soak

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.front_door.conftest import Door

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for processes as Linux lets one")
SILENT = "import os, sys; open('pid', 'w').write(str(os.getpid())); sys.stdin.read()"
"""A server that says who it is and never answers."""


@pytest.fixture
def hanging(tmp_path: Path) -> Callable[[], int]:
    """A workspace whose suite hangs once its server is there, and a function that waits for that server: its pid."""
    os.mkfifo(tmp_path / "pid")
    command = json.dumps([sys.executable, "-S", "-c", SILENT])
    (tmp_path / "mcptest.yml").write_text(
        f"servers: {{ s: {{ command: {command}, connect_timeout_ms: 60000 }} }}\ntools: [{{ name: t, tool: t }}]\n"
    )
    return lambda: int((tmp_path / "pid").read_text())


def wait_until_gone(pid: int) -> None:
    """Until the process has ended, whoever has to collect it."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], 60)[0], f"the process {pid} is still there"
    finally:
        os.close(handle)


def goes_on(open_door: Callable[..., Door], tmp_path: Path, kept: int = 0) -> None:
    """The next front door finds what was kept of the run that was cut, and makes one of its own."""
    assert len(list((tmp_path / ".mcptest" / "runs").glob("*.json"))) == kept
    door = open_door("--enable-writes")
    cut = door.call("list_runs")["runs"]
    assert [(run["interrupted"], run["verdict"]) for run in cut] == [(True, "fail")] * kept
    ran = door.call("run_tool_test", suite=SUITE)
    assert [run["run_id"] for run in door.call("list_runs")["runs"]] == [ran["run_id"], *(run["run_id"] for run in cut)]


@pytest.mark.parametrize("how", ["kill", "SIGTERM", "SIGINT", "end of input"])
def test_a_front_door_that_ends_mid_run_leaves_no_server_and_keeps_how_far_it_came(
    open_door: Callable[..., Door], tmp_path: Path, hanging: Callable[[], int], how: str
) -> None:
    """Only SIGKILL leaves no time for it."""
    door = open_door("--enable-writes")
    door.begin("tools/call", {"name": "trigger_run", "arguments": {}})
    server = hanging()
    if how == "end of input":
        assert door.end() == 0
    else:
        door.process.send_signal(signal.SIGKILL if how == "kill" else getattr(signal, how))
        door.process.wait(60)
    wait_until_gone(server)
    goes_on(open_door, tmp_path, kept=0 if how == "kill" else 1)


def test_a_client_that_is_killed_takes_front_door_and_servers_with_it(
    open_door: Callable[..., Door], mcptest_command: str, tmp_path: Path, hanging: Callable[[], int]
) -> None:
    (tmp_path / ".mcptest").mkdir()
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "trigger_run", "arguments": {}}},
    ]
    messages[0]["params"]["clientInfo"] = {"name": "client", "version": "1"}
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    client = (
        "import subprocess, sys, threading\n"
        "door = subprocess.Popen([sys.argv[1], 'mcp-server', '--enable-writes'], stdin=-1, stdout=-1, text=True)\n"
        "print(door.pid, flush=True)\n"
        f"door.stdin.write({lines!r}); door.stdin.flush()\n"
        "threading.Event().wait()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", client, mcptest_command], cwd=tmp_path, stdout=subprocess.PIPE, encoding="utf-8"
    )
    with process:
        assert process.stdout is not None
        door = int(process.stdout.readline())
        server = hanging()
        process.kill()
    wait_until_gone(server)
    wait_until_gone(door)
    goes_on(open_door, tmp_path, kept=1)


@pytest.mark.timeout(300)
def test_agents_that_work_in_one_workspace_at_once_lose_nothing(mcptest_command: str, tmp_path: Path) -> None:
    """`python -m tests.soak.doors` does it with 1,000 runs."""
    found = soak(mcptest_command, tmp_path / "workspace", clients=4, runs=8)
    assert found.troubles == []
