"""However a run ends, its report is written where it can be, and no process of it is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.processes import of_this_test, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Write = Callable[..., Path]

SLOW = """\
tools:
  - { name: quick, tool: get_status, serial: true }
  - { name: slow one, tool: get_slow }
  - { name: slow two, tool: get_slow }
"""


@pytest.fixture
def started(mcptest_command: str, tmp_path: Path, clean_environ: dict[str, str]) -> Iterator[Callable[..., object]]:
    """Start `mcptest run` and wait until its server has a call in hand; ended by force when the test is over."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [mcptest_command, "run", *arguments],
            cwd=tmp_path,
            env=clean_environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        running.append(process)
        until(lambda: len(of_this_test(tmp_path)) >= 2)
        return process

    yield start
    for process in running:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


pytestmark = pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="needs /proc to see processes")


def test_ctrl_c_once_ends_the_run_with_its_report(
    started: Callable[..., object], suite_with: Write, tmp_path: Path
) -> None:
    """Ctrl-C once ends the run cleanly with its report: 130."""
    suite_with(SLOW)
    process = started("--reporter", "json")
    assert isinstance(process, subprocess.Popen)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    record = json.loads(stdout)
    assert record["interrupted"] is True
    assert (record["verdict"], record["exit_code"]) == ("fail", 130)
    assert {test["verdict"] for test in record["tests"][1:]} == {"skip"}
    assert of_this_test(tmp_path) == []


def test_ctrl_c_in_the_second_of_several_suites_ends_all_with_one_report(
    started: Callable[..., object], tmp_path: Path
) -> None:
    """The first two share a server that the second hangs in, and that of the third has been started ahead."""
    starts = tmp_path / "starts.txt"
    counted = [sys.executable, "-S", str(Path(__file__).parent.parent / "servers" / "counted.py"), str(starts)]
    for name, server, tool in (("a", "shared", "count"), ("b", "shared", "hang"), ("c", "later", "count")):
        suite = {"servers": {server: {"command": [*counted, server]}}, "tools": [{"name": name, "tool": tool}]}
        (tmp_path / f"{name}.yml").write_text(json.dumps(suite), encoding="utf-8")
    process = started("a.yml", "b.yml", "c.yml", "--workers", "2", "--reporter", "json")
    assert isinstance(process, subprocess.Popen)
    until(lambda: starts.exists() and {"hang shared", "start later"} <= set(starts.read_text("utf-8").splitlines()))
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    record = json.loads(stdout)
    assert (record["interrupted"], record["verdict"], record["exit_code"]) == (True, "fail", 130)
    assert [(suite["path"], suite["exit_code"]) for suite in record["suites"]] == [("a.yml", 0), ("b.yml", 130)]
    assert starts.read_text("utf-8").count("start") == 2
    assert of_this_test(tmp_path) == []


@pytest.mark.parametrize("silent", [[], ["silent"]], ids=["in a call", "while a server starts"])
def test_ctrl_c_twice_leaves_at_once_and_leaves_nothing(
    started: Callable[..., object], write: Write, tmp_path: Path, silent: list[str]
) -> None:
    """Twice kills."""
    lingering = Path(__file__).parent.parent / "servers" / "lingering.py"
    command = json.dumps([sys.executable, str(lingering), str(tmp_path), *silent])
    write(
        f"servers: {{ s: {{ command: {command}, shutdown_grace_ms: 30000 }} }}\ntools:\n  - {{ name: a, tool: look }}\n"
    )
    process = started()
    assert isinstance(process, subprocess.Popen)
    until((tmp_path / "called").exists)
    process.send_signal(signal.SIGINT)
    until((tmp_path / "eof").exists)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr.endswith("\nkilled\n")
    until(lambda: of_this_test(tmp_path) == [])


def test_a_kill_leaves_no_process_and_no_torn_record(
    started: Callable[..., object], suite_with: Write, tmp_path: Path
) -> None:
    """Design 4: a run killed anywhere leaves no process, and its record complete or absent."""
    suite_with(SLOW)
    process = started("--reporter", "json=out.json")
    assert isinstance(process, subprocess.Popen)
    process.kill()
    process.wait(timeout=60)
    until(lambda: of_this_test(tmp_path) == [])
    for path in (tmp_path / ".mcptest").rglob("*.json"):
        json.loads(path.read_text(encoding="utf-8"))
    process.communicate()


def test_a_terminated_run_ends_as_an_interrupted_one(
    started: Callable[..., object], suite_with: Write, tmp_path: Path
) -> None:
    """CI systems end jobs with SIGTERM."""
    suite_with(SLOW)
    process = started()
    assert isinstance(process, subprocess.Popen)
    process.terminate()
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in stdout
    assert of_this_test(tmp_path) == []


def test_signals_of_a_server_that_mean_nothing_end_nothing(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], write: Write
) -> None:
    """And a server inherits none of them ignored."""
    program = Path(__file__).parent.parent / "servers" / "signalling.py"
    expect = '[{ target: "result.content[0].text", matcher: { exact: "sent; not as they always are: []" } }]'
    write(
        f"servers: {{ s: {{ command: {json.dumps([sys.executable, '-S', str(program)])} }} }}\n"
        f"tools:\n  - {{ name: a, tool: signal, expect: {expect} }}\n"
    )
    done = mcptest("run")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


PASSING = "tools:\n  - { name: quick, tool: get_status }\n"
FAILING = (
    "tools:\n  - { name: quick, tool: get_status, expect: [{ target: result.content, matcher: { length: 9 } }] }\n"
)


@pytest.mark.parametrize("gone", ["stdout", "stderr", "both"])
@pytest.mark.parametrize(
    ("suite", "arguments", "code"),
    [
        (PASSING, "run --reporter html=late.html --reporter pretty", 0),
        (FAILING, "run --reporter html=late.html --reporter minimal", 1),
        (FAILING, "run --reporter html=late.html --reporter minimal --watch", 1),
        (PASSING, "list", 0),
        (PASSING, "validate", 0),
        (PASSING, "validate --strict", 2),
        ("tools: 7\n", "validate", 2),
        ("tools: 7\n", "run", 2),
        (PASSING, "tools --config mcptest.yml", 0),
        (PASSING, "security --config mcptest.yml", 0),
        (PASSING, "call get_status --config mcptest.yml", 0),
        (PASSING, "call nothing --config mcptest.yml", 1),
        (PASSING, "report latest", 2),
        (PASSING, "schema", 0),
        (PASSING, "skill", 0),
        (PASSING, "--help", 0),
        (PASSING, "run --help", 0),
        (PASSING, "--version", 0),
        (PASSING, "run --nothing", 2),
        (PASSING, "nothing", 2),
    ],
)
def test_a_reader_that_goes_away_does_not_change_the_exit_code(
    mcptest_command: str,
    suite_with: Write,
    tmp_path: Path,
    clean_environ: dict[str, str],
    suite: str,
    arguments: str,
    code: int,
    gone: str,
) -> None:
    """`mcptest run | true`, also with `2>&1`; every report that goes to a file is whole, and nothing is said about it."""
    suite_with(suite)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [mcptest_command, *arguments.split()],
        executable=mcptest_command if gone == "both" and arguments in ("list", "nothing") else None,
        cwd=tmp_path,
        env=clean_environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if gone == "stderr" else writing,
        stderr=subprocess.PIPE if gone == "stdout" else writing,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(writing)
    left = (done.stdout or "") + (done.stderr or "")
    assert done.returncode == code, left
    assert not any(word in left for word in ("Traceback", "Broken pipe", "Exception ignored")), left
    assert (tmp_path / "late.html").exists() is ("late.html" in arguments)
    if "late.html" in arguments:
        assert (tmp_path / "late.html").read_text("utf-8").rstrip().endswith("</html>")


def test_an_mcp_client_that_goes_away_is_no_failure_of_the_mcp_server(
    mcptest_command: str, tmp_path: Path, clean_environ: dict[str, str]
) -> None:
    """A client that is killed may leave an answer that nobody reads, before the end of stdin is seen."""
    reading, writing = os.pipe()
    os.close(reading)
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    done = subprocess.run(
        [mcptest_command, "mcp-server"],
        executable=mcptest_command,
        cwd=tmp_path,
        env=clean_environ,
        input=json.dumps(opening) + "\n",
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")
