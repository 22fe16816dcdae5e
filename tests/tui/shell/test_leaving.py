"""Opening and ending the installed command in a pseudo-terminal, and everywhere that it cannot be drawn."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.tui.terminal import PATIENCE_SECONDS, Terminal

SETTINGS = Path(__file__).parents[3] / "docs" / "how-to" / "workbench-settings.md"
SUITE = """\
name: slow
servers:
  mock: { command: [mcptest, mock, --tools-from, manifest.yml] }
tools:
  - { name: waits, tool: get_slow }
"""
MANIFEST = """\
mock_server:
  name: slow
  tools:
    - { name: get_slow, delay_ms: 600000, response: { content: [{ type: text, text: late }] } }
"""
SIGNALLED_AMID_A_WRITE = """\
import os, queue, signal, sys
from mcptest_tui.__main__ import main
put, is_first = queue.Queue._put, [True]
def signalled(self, item):
    put(self, item)
    if is_first and "\\x1b[2J" in str(item):
        is_first.clear()
        os.kill(os.getpid(), signal.SIGCONT)
queue.Queue._put = signalled
sys.argv[1:] = []
main()
"""
EDITOR = """\
found=$(stty -g)
stty raw -echo
stty -g > before
kill -CONT $PPID
echo is edited
dd bs=1 count=1 > typed
stty -g > after
stty $found
"""
ESCAPE = "\x1b[27u"
"""As a terminal sends it that was asked to tell keys apart."""


@pytest.fixture
def terminal(mcptest_command, place, clean_environ):
    """Start `mcptest …` on a terminal in `place`; what is left of it is ended."""
    opened = []

    def start(*arguments, size=(120, 40), stderr=None, owned=True, program=mcptest_command, **environ):
        path = f"{Path(mcptest_command).parent}{os.pathsep}{clean_environ['PATH']}"
        found = Terminal(
            [program, *arguments],
            cwd=place,
            environ={**clean_environ, "PATH": path, **environ},
            size=size,
            stderr=stderr,
            owned=owned,
        )
        opened.append(found)
        return found

    yield start
    for found in opened:
        found.close()


def children_of(folder):
    """Processes, whoever started them, that work in `folder`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            works_there = (process / "cwd").readlink() == folder and int(process.name) != os.getpid()
            if works_there and (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.append(int(process.name))
        except OSError:
            continue
    return found


def all_gone(folder):
    """In the end nobody works in `folder` any more."""
    end = time.monotonic() + PATIENCE_SECONDS
    while children_of(folder) and time.monotonic() < end:
        time.sleep(0.02)
    return not children_of(folder)


def test_it_opens_and_quits(terminal, demo, place):
    """`mcptest` alone; the terminal is as before, and nothing is left."""
    app = terminal()
    app.wait_for("5 Traffic")
    app.wait_for("16 tests")
    app.press("\x11")
    assert app.wait_for_end() == 0
    assert app.is_as_before
    assert all_gone(place)


def test_the_docs_list_what_is_sent_to_the_terminal_and_each_mode_is_taken_back(terminal, demo):
    """Also the progress in the tab of a terminal that takes it, and a copy through the terminal."""
    app = terminal(WT_SESSION="1", SSH_TTY="/dev/pts/0")
    app.wait_for("16 tests")
    app.press("a")
    app.wait_for("live process")
    app.press("c")
    app.wait_for("OSC 52")
    app.wait_for("16 tests   15 ✓")
    app.press("\x11")
    assert app.wait_for_end() == 0
    modes = re.findall(r"\x1b\[\?(\d+)(h|l|\$p)", app.output.decode())
    last = {mode: done for mode, done in modes if done != "$p"}
    assert {mode for mode, done in last.items() if done == "h"} == {"25", "7"}
    sent = {f"?{mode}" for mode, _ in modes} | set(re.findall(r"\x1b\[([<>]\d*u)", app.output.decode()))
    sent |= {f"OSC {code}" for code in re.findall(r"\x1b\](9;4|\d+);", app.output.decode())}
    table = SETTINGS.read_text(encoding="utf-8").partition("| sequence | what for |")[2].partition("\n\n")[0]
    told = [re.match(r"\| (.+?) \|", row) for row in table.split("\n")]
    listed = {code.strip("` ") for row in told if row for code in row[1].split(",")}
    assert sent == listed


def test_quitting_waits_for_no_suite_that_is_still_being_read(terminal, demo, place):
    """One of ten thousand tests may take many seconds."""
    stuck = (
        "import sys, time; from mcptest_engine.running import documents; from mcptest_tui.__main__ import main; "
        "documents.document_of = lambda *_, **__: time.sleep(3600); sys.argv[1:] = []; main()"
    )
    app = terminal("-c", stuck, program=sys.executable)
    app.wait_for("5 Traffic")
    app.press("\x11")
    assert app.wait_for_end() == 0
    assert app.is_as_before
    assert all_gone(place)


def test_who_was_stopped_and_goes_on_leaves_the_terminal_as_it_was(terminal, demo, place):
    """By SIGSTOP, of which nobody is told before; and all is drawn again, not only what changes.

    However many signals come, one of them amid a write, whose lock is taken until it ends.
    """
    app = terminal("-c", SIGNALLED_AMID_A_WRITE, program=sys.executable)
    app.wait_for("16 tests")
    app.output = b""
    os.kill(app.process.pid, signal.SIGSTOP)
    for pause in [0.02] * 6 + [0.001] * 40:  # some come while the one before is handled
        os.kill(app.process.pid, signal.SIGCONT)
        time.sleep(pause)
    app.wait_for("5 Traffic")
    app.wait_for("16 tests")
    app.output = b""
    app.press("?")
    app.wait_for("type to search")
    app.press("\x11")
    assert app.wait_for_end() == 0
    assert app.is_as_before
    assert all_gone(place)


def test_ctrl_z_and_fg_show_the_screen_again_as_often_as_one_likes(terminal, demo, place, mcptest_command):
    """In a shell, also after `bg`, which stops it once more; and a key that is typed right behind `fg` counts."""
    shell = terminal("-i", program="/bin/sh", PS1="in the shell: ", ENV="")
    shell.wait_for("in the shell: ")
    shell.press(f"{mcptest_command}\n")
    shell.wait_for("16 tests")
    for back in ("fg\n?", "fg\n?", "bg\nfg\n?"):
        shell.press("\x1a")
        shell.wait_for("Stopped")
        assert b"\x1b[?1049l" in shell.output
        shell.output = b""  # with all that was drawn before
        shell.press(back)
        shell.wait_for("type to search")
        shell.output = b""  # with the dialog, which may cover the screen from the first frame on
        shell.press(ESCAPE)
        shell.wait_for("5 Traffic")
    shell.output = b""
    shell.press("\x11")
    shell.wait_for("in the shell: ")
    shell.press("exit\n")
    assert shell.wait_for_end() == 0
    assert shell.is_as_before
    assert all_gone(place)


def test_a_signal_to_go_on_leaves_the_terminal_to_the_editor_that_is_open(terminal, demo, place):
    """One from outside, such as vim, after its own ctrl+z and `fg`."""
    (place / "edit.sh").write_text(EDITOR, encoding="utf-8")
    app = terminal(EDITOR="sh edit.sh")
    app.wait_for("16 tests")
    app.press("j\x05")
    app.wait_for_question("is edited")
    app.output = b""
    app.press("x")
    app.wait_for("16 tests")
    assert (place / "before").read_text() == (place / "after").read_text()
    app.press("\x11")
    assert app.wait_for_end() == 0
    assert app.is_as_before


def test_q_quits_from_an_empty_folder(terminal, place):
    """And nothing is written there."""
    app = terminal("tui", ".")
    app.wait_for("No suite in this folder.")
    app.press("q")
    assert app.wait_for_end() == 0
    assert [path.name for path in place.rglob("*")] == [".mcptest"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order(terminal, demo, place, number):
    """The terminal is given back, and the session is written."""
    app = terminal()
    app.wait_for("16 tests")
    os.kill(app.process.pid, number)
    assert app.wait_for_end() == 128 + number
    assert app.is_as_before
    assert all_gone(place)
    assert (place / ".mcptest" / "cache" / "session.json").is_file()


@pytest.mark.parametrize("owned", [True, False], ids=["told", "not told"])
def test_a_terminal_that_is_closed_leaves_nothing_behind(terminal, demo, place, owned):
    """The system tells so and wakes it, and Textual then draws anew where nobody takes it; or nothing tells at all."""
    app = terminal(owned=owned)
    app.wait_for("16 tests")
    app.hang_up()
    assert app.process.wait(PATIENCE_SECONDS) == 128 + signal.SIGHUP
    assert all_gone(place)
    assert (place / ".mcptest" / "cache" / "session.json").is_file()


def test_a_run_that_is_on_is_asked_about_and_its_servers_are_ended(terminal, place):
    """`y` at the question."""
    (place / "mcptest.yml").write_text(SUITE, encoding="utf-8")
    (place / "manifest.yml").write_text(MANIFEST, encoding="utf-8")
    app = terminal()
    app.wait_for("1 test")
    app.press("a")
    app.wait_for("running")
    app.press("\x11")
    app.wait_for("Quit mcptest?")
    app.press("y")
    assert app.wait_for_end() == 0
    assert all_gone(place)


@pytest.mark.parametrize("arguments", [(), ("tui",), ("tui", "x.yml")])
def test_without_a_terminal_one_line_says_what_to_run(mcptest, arguments):
    """Exit 2."""
    done = mcptest(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "error: the workbench needs a terminal, and stdin is not one; `mcptest --plain` works with lines of text; "
        "or run a suite with `mcptest run`\n"
    )


def test_a_folder_that_is_deleted_is_told(terminal, mcptest_command, place):
    """In place of a traceback."""
    gone = place / "gone"
    gone.mkdir()
    app = terminal("-c", f"cd {gone} && rmdir {gone} && {mcptest_command}", program="/bin/sh")
    assert app.wait_for_end() == 2
    assert "the current folder no longer exists" in app.text


def test_a_dumb_terminal_is_refused(mcptest):
    """Nothing can be drawn on it."""
    done = mcptest("tui", TERM="dumb")
    assert done.returncode == 2
    assert "TERM is dumb" in done.stderr


def test_stderr_in_a_file_does_no_harm(terminal, demo, place):
    """`mcptest 2> err`: it is drawn on stdout, and nothing of it is in the file."""
    with open(place / "err", "wb") as err:
        app = terminal(stderr=err)
        app.wait_for("16 tests")
        app.press("\x11")
        assert app.wait_for_end() == 0
    assert (place / "err").read_bytes() == b""


def test_where_only_ascii_is_wanted_nothing_else_is_drawn(terminal, demo):
    """Frames, marks, names of keys, also of what lies over the list."""
    app = terminal(MCPTEST_ASCII="1")
    app.wait_for("16 tests")
    app.press("a")
    app.wait_for("16 tests   15 +")  # the run has ended, and nobody is asked whether to end it
    app.press("\x10")
    app.wait_for("an action; > a test; @ a tool")
    app.press("\x11")
    assert app.wait_for_end() == 0
    assert app.output.isascii()


def test_tui_has_its_help_and_refuses_unknown_options(mcptest):
    """Like every other command."""
    shown = mcptest("tui", "--help")
    assert (shown.returncode, "Example" in shown.stdout) == (0, True)
    refused = mcptest("tui", "--nope")
    assert (refused.returncode, "no such option: --nope" in refused.stderr) == (2, True)
    assert "open the workbench" in mcptest("--help").stdout


def test_demo_without_a_terminal_is_headless(mcptest):
    """`mcptest demo` in a pipe prints the report."""
    assert "passed" in mcptest("demo").stdout
    assert "passed" in mcptest("demo", "--headless").stdout


def test_demo_on_a_terminal_opens_the_workbench(terminal, place):
    """On the example suite."""
    app = terminal("demo")
    app.wait_for("17 tests")
    app.press("\x11")
    assert app.wait_for_end() == 0


def test_a_folder_with_a_module_named_like_pythons_own_does_no_harm(terminal, demo, place):
    (place / "logging.py").write_text("raise SystemExit('mine')\n", encoding="utf-8")
    app = terminal()
    app.wait_for("16 tests")
    app.press("\x11")
    assert app.wait_for_end() == 0


QUICK = """\
servers:
  mock: { command: [mcptest, mock, --tools-from, manifest.yml] }
tools:
  - { name: calls, tool: get_quick, expect: [{ target: "result.content[0].text", matcher: { exact: late } }] }
"""


def test_bytes_that_are_no_text_do_not_end_it(terminal, demo):
    opened = terminal()
    opened.wait_for("16 tests")
    opened.press(b"\xff\xfe\xe9")
    opened.press("q")
    assert opened.wait_for_end() == 0


def test_escape_alone_is_a_key(terminal, demo):
    """Without another key behind it."""
    opened = terminal()
    opened.wait_for("16 tests")
    opened.press("?")
    opened.wait_for("type to search")
    while opened.read(1.0):
        pass
    opened.press("\x1b")
    assert opened.read(PATIENCE_SECONDS)
    opened.press("q")
    assert opened.wait_for_end() == 0


@pytest.mark.skipif(not Path("/proc").exists(), reason="the threads of a process are listed in /proc only")
def test_an_idle_workbench_sleeps(terminal, demo):
    """None of its threads wakes up by a clock but that of the app, which saves the session every few seconds."""
    opened = terminal()
    opened.wait_for("16 tests")

    def switches():
        tasks = Path(f"/proc/{opened.process.pid}/task").iterdir()
        others = [task for task in tasks if task.name != str(opened.process.pid)]
        return {task.name: (task / "status").read_text().partition("voluntary_ctxt_switches:")[2] for task in others}

    for _ in range(20):
        before = switches()
        if not opened.read(1.0) and switches() == before:
            return
    pytest.fail("some thread woke up in each of 20 seconds")


def test_a_key_that_is_pressed_before_anything_is_drawn_runs_the_tests(terminal, place):
    """It goes neither into a filter nor is it lost, whether or not the suites have been read by then."""
    (place / "manifest.yml").write_text(MANIFEST.replace("slow", "quick").replace("600000", "1"))
    (place / "mcptest.yml").write_text(QUICK)
    opened = terminal()
    opened.read(PATIENCE_SECONDS)  # the terminal is taken over
    opened.press("a")
    opened.wait_for("1 ✓")
