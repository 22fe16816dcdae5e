"""What becomes of a run when its servers die, and what one test's judging costs the others."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.events import CaseFinished
from mcptest_engine.core.jq import run_program

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from mcptest_engine.core.run_record import RunRecord

    Command = Callable[..., subprocess.CompletedProcess[str]]

SERVERS = Path(__file__).parent.parent / "servers"
SNAPSHOT = """\
  - name: x
    tool: echo
    args: { text: hi }
    expect: [{ target: result, matcher: { snapshot: true } }]
"""


def suite(folder: Path, script: str, *arguments: str, tests: str, top: str = "") -> None:
    (folder / ".mcptest").mkdir(exist_ok=True)
    command = json.dumps([sys.executable, "-S", str(SERVERS / f"{script}.py"), *arguments])
    (folder / "mcptest.yml").write_text(f"{top}servers: {{ s: {{ command: {command} }} }}\ntools:\n{tests}")


def rows_of(done: subprocess.CompletedProcess[str]) -> list[dict[str, object]]:
    assert done.stdout, done.stderr
    return list(json.loads(done.stdout)["tests"])


@pytest.mark.parametrize("when", ["shake", "call"])
def test_a_server_that_dies_is_started_once_more_for_the_rest(mcptest: Command, tmp_path: Path, when: str) -> None:
    """One test in flight fails with its stderr, the rest run on the restarted server."""
    rows = "".join(f"  - {{ name: t{number}, tool: look }}\n" for number in range(40))
    suite(tmp_path, "dies_once", str(tmp_path / "flag"), when, tests=rows)
    done = mcptest("run", "--reporter", "json")
    failed = [test for test in rows_of(done) if test["verdict"] == "fail"]
    assert len(failed) <= 1
    assert failed or when == "shake"  # nobody had asked it anything yet
    for test in failed:
        assert test["failure"]["kind"] == "server"  # type: ignore[index]
        assert "code 3" in test["failure"]["message"]  # type: ignore[index]
        assert "giving up" in test["failure"]["stderr_tail"]  # type: ignore[index]
    (server,) = json.loads(done.stdout)["servers"]
    assert server["restarts"] == 1


def test_a_dead_server_stays_dead_when_restarts_are_off(mcptest: Command, tmp_path: Path) -> None:
    """`run_options.restart: false`."""
    rows = "".join(f"  - {{ name: t{number}, tool: look }}\n" for number in range(12))
    top = "run_options: { restart: false }\n"
    suite(tmp_path, "dies_once", str(tmp_path / "flag"), "call", tests=rows, top=top)
    done = mcptest("run", "--reporter", "json")
    assert {test["verdict"] for test in rows_of(done)} == {"fail"}
    assert json.loads(done.stdout)["servers"][0]["restarts"] == 0


def test_a_jq_program_that_takes_its_time_holds_up_no_other_test(
    record_of: Callable[..., RunRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Durations are the server's, not ours: a slow judge must not look like a slow server. This one waits for all others."""
    finished: list[str] = []
    all_others = threading.Event()

    def emit(event: object) -> None:
        if isinstance(event, CaseFinished):
            finished.append(event.result.name)
            if len(finished) == 30:
                all_others.set()

    def patient(*asked: Any, **more: Any) -> list[Any]:
        all_others.wait(20)
        return run_program(*asked, **more)

    monkeypatch.setattr("mcptest_engine.judging.matchers.jq_program.run_program", patient)
    command = json.dumps([sys.executable, "-S", str(SERVERS / "echo.py")])
    judged = 'expect: [{ target: "result.content[0].text", matcher: { jq: ". == \\"a\\"" } }]'
    rows = f"  - {{ name: patient, tool: echo, args: {{ text: a }}, {judged} }}\n"
    rows += "".join(f"  - {{ name: t{number}, tool: echo }}\n" for number in range(30))
    record = record_of(f"servers: {{ s: {{ command: {command} }} }}\ntools:\n{rows}", emit=emit)
    assert {test.message for test in record.tests} == {None}
    assert finished[-1] == "patient"


def test_the_time_that_a_composition_waits_for_its_turn_at_jq_is_not_its_own(
    record_of: Callable[..., RunRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other program takes more than the whole budget of the composition."""
    others_turn = threading.Event()

    def slow(program: str, value: Any, **more: Any) -> list[Any]:
        others_turn.set()
        threading.Event().wait(1.5)
        return run_program(program, value, **more)

    monkeypatch.setattr("mcptest_engine.judging.matchers.jq_program.run_program", slow)
    command = json.dumps([sys.executable, "-S", str(SERVERS / "echo.py")])
    judged = 'expect: [{ target: "result.content[0].text", matcher: { jq: ". == \\"a\\"" } }]'
    record = record_of(
        f"servers: {{ s: {{ command: {command} }} }}\n"
        f"tools: [{{ name: slow, tool: echo, args: {{ text: a }}, {judged} }}]\n"
        "compositions:\n  - name: quick\n    budget: { max_duration_ms: 1000 }\n    nodes:\n"
        "      - { id: a, server: s, tool: echo, args: { text: a } }\n"
        "      - { id: b, needs: [a], server: s, tool: echo, args: { text: b }, transform: { jq: .result } }\n"
    )
    assert {test.name: test.message for test in record.tests} == {"slow": None, "quick": None}
    assert others_turn.is_set()
    assert record.tests[1].duration_ms < 1000


def test_only_the_servers_of_focused_tests_are_started(mcptest: Command, tmp_path: Path) -> None:
    """A server that no chosen test needs is not touched."""
    (tmp_path / ".mcptest").mkdir()
    echo = json.dumps([sys.executable, "-S", str(SERVERS / "echo.py")])
    (tmp_path / "mcptest.yml").write_text(
        f'servers: {{ a: {{ command: {echo} }}, b: {{ command: [touch, "{tmp_path}/started"] }} }}\n'
        "tools:\n  - { name: x, server: a, tool: echo, args: { text: hi }, only: true }\n"
        "  - { name: y, server: b, tool: echo }\n"
    )
    done = mcptest("run", "--reporter", "json")
    assert [server["name"] for server in json.loads(done.stdout)["servers"]] == ["a"]
    assert not (tmp_path / "started").exists()


def test_a_typo_is_not_hidden_by_a_shard(mcptest: Command, tmp_path: Path) -> None:
    """An empty shard is 0, a selection that matches no test is 7."""
    suite(tmp_path, "echo", tests="  - { name: x, tool: echo, args: { text: hi } }\n")
    assert mcptest("run", "--shard", "1/2", "--filter", "nothing like it").returncode == 7
    assert {mcptest("run", "--shard", f"{part}/2").returncode for part in (1, 2)} == {0}


def test_last_failed_says_so_when_nothing_failed(mcptest: Command, tmp_path: Path) -> None:
    """A loop that mends one failure after another ends with a run of the whole suite."""
    suite(tmp_path, "echo", tests="  - { name: x, tool: echo, args: { text: hi } }\n")
    assert "no earlier run of this suite" in mcptest("run", "--last-failed").stderr
    done = mcptest("run", "--last-failed", "--reporter", "json")
    assert done.returncode == 0
    assert "no test failed when it last ran: running the whole suite" in done.stderr
    assert [test["name"] for test in rows_of(done)] == ["x"]


def test_last_failed_knows_repeated_tests(mcptest: Command, tmp_path: Path) -> None:
    """`--repeat` numbers the names; the test is the same."""
    suite(
        tmp_path,
        "echo",
        tests="  - { name: x, tool: echo, args: { text: hi }, timeout_ms: 5000, expect: [{ target: "
        "result.isError, matcher: { exact: true } }] }\n",
    )
    mcptest("run", "--repeat", "2")
    done = mcptest("run", "--last-failed", "--reporter", "json")
    assert [test["name"] for test in rows_of(done)] == ["x"]


def test_repeats_share_their_snapshot(mcptest: Command, tmp_path: Path) -> None:
    """A snapshot without a name goes by its test, not by the number of a repeat."""
    suite(tmp_path, "echo", tests=SNAPSHOT)
    assert mcptest("run", "--update-snapshots").returncode == 0
    assert mcptest("run", "--repeat", "3").returncode == 0


def test_snapshots_that_cannot_be_read_run_nothing(mcptest: Command, tmp_path: Path) -> None:
    """Exit 2, nothing executed."""
    suite(tmp_path, "echo", tests=SNAPSHOT)
    mcptest("run", "--update-snapshots")
    (kept,) = (tmp_path / ".mcptest" / "snapshots").glob("*.yml")
    kept.write_text("a: [unclosed")
    done = mcptest("run")
    assert done.returncode == 2
    assert "cannot read the snapshots" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_spelling_of_a_notifications_target_makes_a_test_serial(mcptest: Command, tmp_path: Path) -> None:
    """A test that targets `notifications` is serial."""
    rows = "".join(
        f"  - name: n{number}\n    tool: echo\n    args: {{ text: a }}\n"
        f"    expect: [{{ target: '{target}', matcher: {{ length: 0 }} }}]\n"
        for number, target in enumerate(['["notifications"]', ".notifications", "notifications"])
    )
    suite(tmp_path, "echo", tests=rows)
    listed = json.loads(mcptest("list", "--format", "json").stdout)
    assert [test["serial"] for test in listed["tests"]] == [True, True, True]


def test_a_written_snapshot_is_told(mcptest: Command, tmp_path: Path) -> None:
    """Nobody has looked at it yet, so its pass must not be silent."""
    suite(tmp_path, "echo", tests=SNAPSHOT)
    done = mcptest("run", "--update-snapshots", "--reporter", "json")
    assert json.loads(done.stdout)["warnings"] == [
        "1 snapshot written to .mcptest/snapshots/mcptest.yml: check it and commit it"
    ]


def test_reports_in_files_leave_a_word_on_stderr(mcptest: Command, tmp_path: Path) -> None:
    """Who asks for a file alone still learns how it went."""
    suite(tmp_path, "echo", tests="  - { name: x, tool: echo, args: { text: hi } }\n")
    done = mcptest("run", "--reporter", "junit=out.xml")
    assert (done.stdout, done.stderr.splitlines()[-1][:11]) == ("", "ran 1 test:")


def test_an_unknown_tool_that_comes_as_a_tool_error_gets_the_nearest_name(mcptest: Command, tmp_path: Path) -> None:
    """The official Python SDK answers so; a name that was never known is no hint, least of all for itself."""
    (tmp_path / "manifest.yml").write_text(
        "mock_server:\n  tools:\n    - { name: add_note, description: Adds }\n    - name: add_notes\n      description: Gone\n"
        '      response: { isError: true, content: [{ type: text, text: "Unknown tool: add_notes" }] }\n'
    )
    (tmp_path / "mcptest.yml").write_text(
        "servers: { s: { command: [mcptest, mock, --tools-from, manifest.yml], catalog: off } }\ntools:\n"
        "  - { name: known, tool: add_note }\n  - { name: unknown, tool: add_notes }\n"
    )
    known, unknown = rows_of(mcptest("run", "--reporter", "json"))
    assert known["verdict"] == "pass"
    assert unknown["failure"]["hint"] == "did you mean `add_note`?"  # type: ignore[index]
