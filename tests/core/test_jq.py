"""Bounded jq: programs that loop, ask for memory, or look out of the window."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest_engine.core import jq
from mcptest_engine.core.jq import JqProgramError, JqRunError, check_program, close_worker, run_program
from tests.processes import is_running, until

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=10,
)


@pytest.fixture(scope="module", autouse=True)
def _no_worker_left():
    yield
    close_worker()


def test_a_program_gives_all_its_outputs():
    assert run_program(".[] | . * 2", [1, 2, 3]) == [2, 4, 6]
    assert run_program("empty", None) == []


@settings(max_examples=60, deadline=None)
@given(JSON)
def test_the_identity_program_gives_the_value_back(value):
    """Law; integers of any size included, since ids beyond 2**53 are common."""
    assert run_program(".", value) == [value]


def test_large_integers_stay_exact_when_they_are_moved_about():
    assert run_program(".id", {"id": 12345678901234567890123}) == [12345678901234567890123]


def test_what_json_cannot_say_goes_in_as_jq_would_say_it():
    """NaN is null in jq, the infinities its largest numbers, half a character the replacement character."""
    assert run_program(".", [float("nan"), float("inf"), float("-inf"), "\ud800"]) == [
        [None, 1.7976931348623157e308, -1.7976931348623157e308, "\ufffd"]
    ]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (".a | foo", "foo/0 is not defined (line 1, column 6)"),
        (".\n| foo", "foo/0 is not defined (line 2, column 3)"),
        ('"äöü" | foo', "foo/0 is not defined (line 1, column 9)"),
        ("1 +", "unexpected end of file (line 1, column 3)"),
        ("", "unexpected end of file (line 1, column 1)"),
        ("def f: 1;", "unexpected end of file (line 1, column 9)"),
        (") | (1", "unexpected character (line 1, column 1)"),
        ('import "x" as x; 1', "unexpected import (line 1, column 1)"),
        ('include "x"; 1', "unexpected include (line 1, column 1)"),
        ("a\0b", "a program cannot contain a NUL character"),
    ],
)
def test_a_program_that_does_not_compile_says_where(program, message):
    """Lines and columns are the author's, whatever is put before the program."""
    with pytest.raises(JqProgramError) as refused:
        check_program(program)
    assert refused.value.message == message


@pytest.mark.parametrize("program", [".", ".a.b[0]?", "# note\n.", ". # note \\", "def f: 1; f", "$__loc__"])
def test_a_program_that_compiles_is_let_through(program):
    check_program(program)


def test_lines_inside_a_program_are_the_authors():
    assert run_program("\n$__loc__.line", None) == [2]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (".a", 'Cannot index number with string ("a")'),
        ('error("no")', "no"),
        ("1, halt", "a program cannot halt"),
        ('"x" | halt_error', "x"),
        ("input", "there is no further input"),
        ('"a" | modulemeta', "modules cannot be read"),
    ],
)
def test_a_program_that_fails_says_why(program, message):
    """A program that left half-way through must not count as one without output."""
    with pytest.raises(JqRunError) as failed:
        run_program(program, 1)
    assert failed.value.message == message
    assert not failed.value.timed_out


@pytest.mark.parametrize("program", ["env", "$ENV", "def f: $ENV; f", '"x" as $ENV | env'])
def test_a_program_sees_no_environment(program, monkeypatch):
    """The worker is started anew, so that it could have inherited the variable."""
    monkeypatch.setenv("MCPTEST_SECRET", "hunter2")
    close_worker()
    assert run_program(program, None) == [{}]


def test_a_program_sees_no_definitions_of_the_users_home(tmp_path, monkeypatch):
    """jq would load `~/.jq`."""
    (tmp_path / ".jq").write_text("def from_home: 1;")
    monkeypatch.setenv("HOME", str(tmp_path))
    close_worker()
    with pytest.raises(JqProgramError, match="from_home/0 is not defined"):
        run_program("from_home", None)


@pytest.mark.parametrize("program", ["def f: f; f", "last(repeat(1))", "repeat(1)", "until(false; . + 1)"])
def test_a_program_that_loops_for_ever_is_stopped_and_the_next_one_runs(program):
    """Bounded in time."""
    with pytest.raises(JqRunError) as stopped:
        run_program(program, 0, timeout_seconds=0.1)
    assert stopped.value.timed_out
    assert stopped.value.message == "stopped after 0.1 s"
    assert run_program(".", 1) == [1]


@pytest.mark.skipif(sys.platform != "linux", reason="needs to know what the worker has computed")
def test_a_program_that_had_no_time_to_compute_is_waited_for():
    """On a busy machine it's not the program that is slow; here the worker is stopped for longer than it has."""
    run_program(".", 1)
    worker = jq._WORKERS[0].process.pid
    os.kill(worker, signal.SIGSTOP)
    going_on = threading.Timer(0.3, os.kill, (worker, signal.SIGCONT))
    going_on.start()
    assert run_program(".", 2, timeout_seconds=0.1) == [2]
    going_on.join()


@pytest.mark.skipif(sys.platform != "linux", reason="needs to know what the worker has computed")
def test_a_worker_that_computes_nothing_at_all_is_given_up(monkeypatch):
    monkeypatch.setattr(jq, "_BUSY_SECONDS", 0.2)
    run_program(".", 1)
    os.kill(jq._WORKERS[0].process.pid, signal.SIGSTOP)
    with pytest.raises(JqRunError, match=r"stopped after 0\.1 s"):
        run_program(".", 2, timeout_seconds=0.1)
    assert run_program(".", 3) == [3]


def test_a_program_that_asks_for_all_memory_ends_alone():
    """jq aborts its process then."""
    with pytest.raises(JqRunError) as ended:
        run_program('"x" * 100000000 | until(false; . + .)', None, timeout_seconds=60)
    assert ended.value.message == "ran out of memory"
    assert run_program(".", 1) == [1]


def test_a_value_nested_too_deeply_is_an_error_and_no_crash():
    value: object = 1
    for _ in range(100_000):
        value = [value]
    with pytest.raises(JqRunError, match="nested too deeply"):
        run_program(".", value)
    try:
        outputs = run_program("reduce range(5000) as $_ (0; [.])", None)
    except JqRunError as wrong:  # where the interpreter does not read that deep
        assert "nested too deeply" in wrong.message
    else:
        assert len(outputs) == 1


def test_large_values_go_through():
    """Far beyond what a pipe holds."""
    assert run_program("length", "x" * 5_000_000) == [5_000_000]
    assert run_program('"x" * 3000000 | ., length', None)[1] == 3_000_000


def test_threads_share_the_worker():
    wrong: list[object] = []

    def ask(number: int) -> None:
        wrong.extend(number for _ in range(20) if run_program(". + 1", number) != [number + 1])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_worker_is_reaped_when_it_is_closed():
    run_program(".", 1)
    process = jq._WORKERS[0].process
    close_worker()
    assert process.returncode is not None
    assert not jq._WORKERS


def test_a_worker_killed_from_outside_is_replaced():
    run_program(".", 1)
    process = jq._WORKERS[0].process
    process.kill()
    process.wait()
    assert run_program(".", 2) == [2]


ALONE = """
import os, sys
from mcptest_engine.core.jq import run_program, _WORKERS
run_program(".", 1)
print(_WORKERS[0].process.pid, flush=True)
if sys.argv[1] == "is killed":
    os.kill(os.getpid(), 9)
if sys.argv[1] == "is killed while a program loops":
    from mcptest_engine.core import jq
    write = jq._Worker.write
    jq._Worker.write = lambda *args: (write(*args), os.kill(os.getpid(), 9))
    run_program("def f: f; f", 1, timeout_seconds=0.2)
"""


@pytest.mark.parametrize("end", ["exits", "is killed", "is killed while a program loops"])
def test_no_worker_outlives_us(end):
    """Design 4: a run killed anywhere leaves no process. The worker leaves when its input ends, or by its own alarm."""
    run = subprocess.run(
        [sys.executable, "-c", ALONE, end],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert run.stderr == ""
    pid = int(run.stdout)
    until(lambda: not is_running(pid))


def test_importing_jq_bounds_starts_nothing_and_imports_nothing_heavy():
    """Started on first use only."""
    code = (
        "import sys, mcptest_engine.core.jq as j; print(j._WORKERS, 'jq' in sys.modules, 'subprocess' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert run.stdout == "[] False False\n"
