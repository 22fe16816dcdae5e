"""Ctrl-C in the middle of a composition: the report of what ran, and nothing left running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.compositions.conftest import calls_in, workshop
from tests.processes import of_this_test, until

pytestmark = pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="needs /proc to see processes")


def test_ctrl_c_in_the_middle_of_a_composition_leaves_nothing_running(
    mcptest_command: str, clean_environ: dict[str, str], tmp_path: Path, log: Path
) -> None:
    each = {"id": "each", "tool": "hang", "needs": ["list"], "for_each": "${list}", "max_concurrency": 3}
    nodes = [{"id": "list", "tool": "give", "mock": {"result": [1, 2, 3]}}, each, {"id": "beside", "tool": "hang"}]
    server = {"command": workshop(log), "shutdown_grace_ms": 30_000}
    suite = {"servers": {"s": server}, "compositions": [{"name": "c", "nodes": nodes}]}
    (tmp_path / "mcptest.yml").write_text(json.dumps(suite), encoding="utf-8")
    (tmp_path / ".mcptest").mkdir()
    process = subprocess.Popen(
        [mcptest_command, "run", "--reporter", "json"],
        cwd=tmp_path,
        env=clean_environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        until(lambda: len(calls_in(log)) == 4)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert process.returncode == 130, stderr
    record = json.loads(stdout)
    assert record["interrupted"] is True
    (test,) = record["tests"]
    assert (test["verdict"], test["message"]) == ("skip", "interrupted at `each`, `beside`")
    nodes = test["trace"]["nodes"]
    assert [nodes[name]["status"] for name in ("list", "each", "beside")] == ["ok", "err", "err"]
    assert [call["message"] for call in nodes["each"]["calls"]] == ["ended before it was answered"] * 3
    assert of_this_test(tmp_path) == []
    assert [call[0] for call in calls_in(log)] == ["start"] * 4 + ["cancelled"] * 4
