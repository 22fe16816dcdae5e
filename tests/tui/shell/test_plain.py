"""`mcptest --plain` as a real process: words in, lines out, nothing drawn."""

from __future__ import annotations

import asyncio
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mcptest_tui.actions import by_id
from mcptest_tui.plain import COMMANDS, SPOKEN, PlainWorkbench
from tests.tui.shell.test_leaving import MANIFEST, SUITE, all_gone
from tests.tui.state.making import document, finished, id_of, item, started
from tests.tui.terminal import PATIENCE_SECONDS, Terminal


@pytest.fixture
def environ(mcptest_command, clean_environ):
    return {**clean_environ, "PATH": f"{Path(mcptest_command).parent}{os.pathsep}{clean_environ['PATH']}"}


@pytest.fixture
def spoken(mcptest_command, place, environ):
    """What is answered to these lines, which come through a pipe."""

    def run(*lines, arguments=("--plain",)):
        done = subprocess.run(
            [mcptest_command, *arguments],
            cwd=place,
            env=environ,
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    return run


def test_a_script_runs_tests_and_reads_why_one_failed(spoken, demo, place):
    """Each line waits for what came before it; the sentences are those of the workbench."""
    demo.write_text(demo.read_text(encoding="utf-8").replace("operational }", "broken }"), encoding="utf-8")
    lines = spoken("show 1", "run 2-3", "show 2")
    fresh = lines[: lines.index("running 2 tests")]
    assert fresh[-3]
    assert (fresh[-2], fresh[-1].partition("  ")[0]) == ("", "on a command line")
    del lines[1 : len(fresh)]
    assert lines[:2] == ["16 tests in 1 suite; the command help lists the commands", "running 2 tests"]
    assert any(re.fullmatch(r"2 failed: the service is operational, (<1|[\d.]+) m?s", line) for line in lines)
    assert any(
        re.fullmatch(r"3 passed: a verbose status says how long it has been up, (<1|[\d.]+) m?s", line)
        for line in lines
    )
    shown = lines[lines.index("2 failed: the service is operational") :]
    assert "failed: result.content[0].text  contains" in shown
    assert 'run it again  mcptest run --filter "the service is operational"' in shown
    assert all_gone(place)


def test_a_result_has_the_time_that_the_list_of_the_workbench_shows(place, capsys):
    """The test's own, without what it waited behind an earlier call."""
    plain = PlainWorkbench([])
    plain.store.put_document(document(item("the price of pens")))
    test = id_of("the price of pens")
    plain.store.apply_many(
        [started("r", test), finished("r", test, duration_ms=919.0, behind={"ms": 906.0, "tool": "report"})]
    )
    plain._finished(plain.store.rows[test])
    assert capsys.readouterr().out == "1 passed: the price of pens, 13 ms\n"


def test_lines_hold_no_control_no_frame_and_no_colour(spoken, demo):
    """Whatever is shown, and also of a suite with problems."""
    (demo.parent / "bad.yml").write_text("servers: { a: { comand: [x] } }\ntools: []\n", encoding="utf-8")
    text = "\n".join(spoken("tests", "run all", "show 1-16", "problems", "servers", "review", "help"))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2500-\u259f]", text)


def test_a_suite_with_warnings_alone_is_not_said_not_to_run(spoken, place):
    """Each suite is named."""
    servers = 'servers: { demo: { command: ["mcptest", "mock"] } }'
    (place / "broken.yml").write_text(f"{servers}\ntools: [\n", encoding="utf-8")
    (place / "unchecked.yml").write_text(f"{servers}\ntools: [{{ name: a, tool: echo }}]\n", encoding="utf-8")
    lines = spoken("problems")
    told = {lines[at]: lines[at + 1] for at, text in enumerate(lines) if text in ("broken.yml:", "unchecked.yml:")}
    assert told == {"broken.yml:": "1 problem: this suite does not run", "unchecked.yml:": "1 warning"}


def test_verdicts_are_coloured_where_that_is_asked_for(spoken, demo):
    assert any(
        line.startswith("1 \x1b[32mpassed\x1b[0m: ")
        for line in spoken("run 1", arguments=("tui", "--plain", "--color"))
    )


def test_a_proposal_is_accepted_and_written(spoken, demo):
    demo.write_text(demo.read_text(encoding="utf-8").replace("operational }", "broken }"), encoding="utf-8")
    lines = spoken("run 2", "review", "accept", "write", "tests is:failed", "tests is:passed", "unwrite")
    assert "proposal 1 of 1, the service is operational, in mcptest.yml:19" in lines
    assert "all proposals are decided; the command write saves them" in lines
    assert "1 accepted, 0 rejected • wrote 1 file, `unwrite` takes it back" in lines
    assert "undone: 1 file as before" in lines
    assert "status: operational" not in demo.read_text(encoding="utf-8")
    assert "no test matches" in lines
    assert "2 passed: the service is operational" in lines


def test_unwritten_decisions_are_named_at_the_end(spoken, demo):
    demo.write_text(demo.read_text(encoding="utf-8").replace("operational }", "broken }"), encoding="utf-8")
    lines = spoken("run 2", "review", "reject")
    assert lines[-1] == "Review: 1 rejected, not written; the proposals stay open."


def test_the_ids_of_the_registry_are_commands_too(spoken, demo):
    assert set(SPOKEN) <= set(by_id())
    assert {word.partition(" ")[0] for word in SPOKEN.values()} <= set(COMMANDS)
    assert "no test has failed" in spoken("run.failed")


def test_a_filter_with_a_mistake_runs_no_test(spoken, demo):
    """What is ignored while one types in the workbench would be all tests here."""
    lines = spoken("run is:faild", "run is:passed,zzz the", "run tga:smoke", "run is:", "tests slow:x")
    assert lines[1:] == [
        "no is:faild; did you mean `failed`?",
        "no is:zzz; there is failed, passed, inconclusive, deferred, skipped, flaky, …",
        "no qualifier tga:; did you mean `tag`?",
        '"is:" is not a filter; say what to look for: words, is:failed, tag:smoke',
        "slow: takes milliseconds, such as slow:>500",
    ]


def test_help_names_nothing_that_only_the_workbench_has(spoken, demo):
    assert "show NUMBER: Show the result of the test." in spoken("help")


def test_what_cannot_be_done_says_so(spoken, place):
    """An empty folder, an unknown word, a number that is none."""
    lines = spoken("rn all", "run all", "show 3", "watch often", "open nothing.yml", "accept", "stop")
    assert lines[0].startswith("no suite in this folder; `mcptest init` makes one")
    assert 'unknown command "rn"; did you mean `run`?' in lines
    assert "there is no nothing.yml" in lines
    assert "watch is off, affected or all" in lines
    assert not (place / ".mcptest" / "cache" / "session.json").exists()


def test_the_demo_begins_in_an_empty_folder(spoken, place):
    lines = spoken("demo")
    assert (place / "mcptest-demo.yml").is_file()
    assert any("passed: the server offers its tools" in line for line in lines)


def test_ctrl_c_stops_the_run_and_not_the_program(mcptest_command, nursery, place, environ):
    """On a terminal, where a line is carried out at once."""
    (place / "mcptest.yml").write_text(SUITE, encoding="utf-8")
    (place / "manifest.yml").write_text(MANIFEST, encoding="utf-8")
    terminal = Terminal([mcptest_command, "--plain"], cwd=place, environ=environ, nursery=nursery)
    try:
        terminal.wait_for("1 test in 1 suite")
        terminal.press("run all\n")
        terminal.wait_for("running 1 test")
        terminal.press("\x03")
        terminal.wait_for("stopped")
        terminal.press("\x03")
        terminal.wait_for("nothing is running; the command quit leaves")
        terminal.press("tests\n")
        terminal.wait_for("1 not run: waits")
        terminal.press("quit\n")
        assert terminal.wait_for_end() == 0
        assert b"\x1b" not in terminal.output
    finally:
        terminal.close()
    assert all_gone(place)


def test_a_save_runs_what_it_affects(mcptest_command, nursery, place, environ, demo):
    terminal = Terminal([mcptest_command, "--plain"], cwd=place, environ=environ, nursery=nursery)
    try:
        terminal.wait_for("16 tests in 1 suite")
        terminal.press("run 2\n")
        terminal.wait_for("1 passed in")
        demo.write_text(demo.read_text(encoding="utf-8").replace("operational }", "broken }"), encoding="utf-8")
        terminal.wait_for("2 failed: the service is operational")
        terminal.press("\x04")
        assert terminal.wait_for_end() == 0
    finally:
        terminal.close()


def test_it_imports_nothing_that_draws():
    """Neither Textual nor what the engine's child is there for."""
    program = (
        "import sys, mcptest_tui.plain; print([name for name in ('textual', 'mcp', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def failing(*_args, **_kwargs):
    raise OSError("no more processes")


@pytest.mark.parametrize("method", ["queue", "update_digests"])
def test_a_run_that_cannot_begin_is_told_and_nothing_waits_for_it(demo, monkeypatch, capsys, method):
    monkeypatch.setattr(sys, "stdin", io.StringIO("run 2\ntests\nquit\n"))
    plain = PlainWorkbench([])
    monkeypatch.setattr(plain.store.__class__, method, failing)
    asyncio.run(asyncio.wait_for(plain.run(), PATIENCE_SECONDS))
    told = capsys.readouterr().out
    assert "this is a bug in mcptest: OSError: no more processes\n" in told
    assert told.endswith("\n16 tests\n")


def test_without_an_engine_a_run_is_refused(demo, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("run 2\nreview\ntests\nquit\n"))
    monkeypatch.setattr("mcptest_tui.engine_client.EngineClient._spawn", failing)
    asyncio.run(asyncio.wait_for(PlainWorkbench([]).run(), PATIENCE_SECONDS))
    told = capsys.readouterr().out
    assert told.count("the engine cannot be started: no more processes\n") >= 2
    assert told.endswith("\n16 tests\n")


def test_in_a_folder_that_is_gone_it_says_so(mcptest_command, place, environ):
    gone = place / "gone"
    gone.mkdir()
    script = 'rmdir "$PWD" && exec "$0" --plain'
    done = subprocess.run(
        ["/bin/sh", "-c", script, mcptest_command],
        cwd=gone,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: the current folder no longer exists; go to another one, such as `cd ~`\n"
