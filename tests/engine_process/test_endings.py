"""Nothing outlives the child, however it ends, and nothing of ours but its protocol reaches its stdout."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcptest_tui.engine_client import engine_argv
from tests.engine_process.conftest import echoes, run, wait_for_spare
from tests.engine_process.processes import Watched, processes_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.engine_process.conftest import Child, Clinging

    SuiteOn = Callable[..., Path]


@pytest.mark.parametrize("ending", ["eof", "SIGTERM", "SIGKILL"])
def test_no_server_outlives_the_child(
    start: Callable[..., Child], clinging: Clinging, place: Path, ending: str
) -> None:
    """Whether it is asked, told or killed, in the middle of a run; what that run has found is kept where it can be."""
    child = start(patient=True)
    child.ask("run", run="r", path="mcptest.yml")
    clinging.wait_for("called")
    everything = Watched(processes_in(place))
    if ending == "eof":
        child.end()
    else:
        child.process.send_signal(getattr(signal, ending))
    everything.wait_until_gone()
    kept = [json.loads(path.read_text(encoding="utf-8")) for path in (place / ".mcptest" / "runs").glob("*.json")]
    assert [record["interrupted"] for record in kept] == ([] if ending == "SIGKILL" else [True])


def test_warm_servers_end_with_the_child(child: Child, suite_on: SuiteOn, place: Path) -> None:
    suite_on("echo", tests=echoes(1))
    run(child)
    wait_for_spare(child)
    everything = Watched(processes_in(place))
    assert child.end() == 0
    everything.wait_until_gone()


def test_nothing_but_the_protocol_reaches_its_stdout(place: Path, environ: dict[str, str]) -> None:
    """Whatever prints in it, a library or a program that it starts, prints on stderr; what reads stdin finds it empty."""
    code = (
        "import os, sys\n"
        "from mcptest_engine.engine_process.__main__ import _own_descriptors\n"
        "_own_descriptors()\n"
        "print('from Python', sys.stdin.read())\n"
        "sys.stdout.flush()\n"
        "os.system('echo from a program; cat')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=place,
        env=environ,
        input=b"a command",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == b""
    assert done.stderr.split() == b"from Python from a program".split()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux")
def test_a_stdout_that_takes_nothing_ends_it(place: Path, environ: dict[str, str]) -> None:
    with open("/dev/full", "wb") as full:
        process = subprocess.Popen(
            engine_argv(),
            executable=sys.executable,
            cwd=place,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=full,
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write(b'{"ask": 1, "do": "hello"}\n')
        process.stdin.flush()
        assert process.wait(60) == 0
        process.stdin.close()


def test_commands_in_a_file_are_carried_out(place: Path, environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "commands").write_text('{"ask": 1, "do": "hello"}\n', encoding="utf-8")
    with open(tmp_path / "commands", "rb") as commands:
        done = subprocess.run(
            engine_argv(),
            executable=sys.executable,
            cwd=place,
            env=environ,
            stdin=commands,
            capture_output=True,
            timeout=60,
            check=False,
        )
    assert b'"reply":1' in done.stdout


def test_a_child_that_is_stuck_ends_with_its_input(place: Path, environ: dict[str, str]) -> None:
    """Its loop may be busy for ever; whoever talked to it is gone."""
    code = (
        "import mcptest_engine.engine_process.__main__ as worker, threading\n"
        "worker._STUCK_SECONDS = 0.1\n"
        "threading.Thread(target=worker._exit_if_stuck, args=(0,), daemon=True).start()\n"
        "print('ready', flush=True)\n"
        "while True: pass\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=place, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.stdin.close()
    assert process.wait(60) == 1
    process.stdout.close()
