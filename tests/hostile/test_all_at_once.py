"""Every bad server in one run of the installed command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.hostile.behaviours import BEHAVIOURS
from tests.hostile.runs import ECHO, call, processes_in, server_of, write_suite

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

SLOW = {"endless-line", "megabytes", "notification-flood", "ping-flood", "drip", "close-stdin"}


def test_each_gets_its_own_verdict_and_none_brings_down_the_command(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, fifo: Path
) -> None:
    """Exit code 1, no traceback, no test unaccounted for, whatever the reporter."""
    rows = [row for row in BEHAVIOURS if row.mode not in SLOW]
    servers = {f"s{number}": server_of(row, tmp_path) for number, row in enumerate(rows)}
    tests = [call(f"t{number}", f"s{number}") for number in range(len(rows))]
    write_suite(tmp_path, servers | {"good": ECHO}, [*tests, call("good", "good")])
    files = [f"--reporter={name}=out.{name}" for name in ("pretty", "junit", "tap", "md", "github", "agent", "ndjson")]
    done = mcptest("run", "--reporter", "json", *files)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    *found, good = json.loads(done.stdout)["tests"]
    assert good["verdict"] == "pass"
    for row, test in zip(rows, found, strict=True):
        if not row.waits_ms:
            assert test["verdict"] == ("fail" if row.says else "pass"), (row.mode, test)
        # On a busy machine a server that has so little time may not even have started.
        kinds = {row.kind, "server"} if row.waits_ms else {row.kind}
        assert test.get("failure", {}).get("kind", "") in kinds, (row.mode, test)
    assert len(processes_in(tmp_path)) == 1  # the daemon, which left its group on purpose
