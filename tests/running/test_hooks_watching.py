"""Watch mode with hooks."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from typing import TYPE_CHECKING

from tests.running.hook_suites import Folder, writing

if TYPE_CHECKING:
    from pathlib import Path

LIMIT_SECONDS = 60


def test_a_saved_hook_runs_again_and_comes_before_the_servers(
    mcptest_command: str, tmp_path: Path, clean_environ: dict[str, str]
) -> None:
    """A hook's script is watched as a server's is, and no server is started in advance where `beforeAll` comes first."""
    folder = Folder(tmp_path)
    (tmp_path / ".mcptest").mkdir()
    hook = folder.script("all.sh")
    suite = folder.suite({"beforeAll": hook}, writing("one"))
    # a path in the server's command is watched, and the diary is written by every run: here it is no path
    (tmp_path / "mcptest.yml").write_text(suite.replace(json.dumps(str(folder.diary)), '"diary"'), encoding="utf-8")
    process = subprocess.Popen(
        [mcptest_command, "run", "--watch"],
        cwd=tmp_path,
        env=clean_environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    timer = threading.Timer(LIMIT_SECONDS, process.kill)
    timer.start()
    try:
        assert process.stderr is not None
        said = iter(process.stderr.readline, "")
        assert any("watching;" in line for line in said)
        folder.script("all.sh", "echo changed >> $diary")
        assert any("watching;" in line for line in said)
        process.send_signal(signal.SIGINT)
        process.communicate()
    finally:
        timer.cancel()
        if process.poll() is None:
            process.kill()
            process.communicate()
    once = ["server starts", "one", "server ends"]
    assert folder.lines() == ["all.sh", *once, "all.sh", "changed", *once]
