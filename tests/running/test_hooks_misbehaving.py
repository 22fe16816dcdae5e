"""Hooks that do what they should not, with real processes: each is one clear failure or none, and leaves nothing behind."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.reporting.facts import MESSAGE_LIMIT
from mcptest_engine.reporting.hook_facts import output_lines
from mcptest_engine.servers.failures import duration
from tests.processes import is_running, longer, until
from tests.running.hook_suites import Folder, writing

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.core.run_record import HookResult, RunRecord

    HookOf = Callable[..., HookResult]

LAST_64_KIB = 64 * 1024


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def hook_of(folder: Folder, record_of: Callable[..., RunRecord]) -> HookOf:
    """What a run tells of its one hook, a `beforeEach`; the test's verdict and words must follow from it."""

    def run(step: Any, *, timeout_ms: int = 60_000, **more: object) -> HookResult:
        hooks = {"beforeEach": step, "timeout_ms": timeout_ms}
        record = record_of(folder.suite(hooks, writing("one"), **more))
        (hook,) = record.hooks
        assert record.tests[0].verdict == ("pass" if hook.passed else "fail")
        assert record.tests[0].message == (None if hook.passed else hook.summary)
        return hook

    return run


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is asked to end has all the time that a busy machine may take."""
    monkeypatch.setattr("mcptest_engine.servers.command_process.GRACE_SECONDS", 30.0)


def pids(folder: Folder) -> list[int]:
    """The processes whose numbers the scripts have noted in `pids`."""
    return [int(line) for line in (folder.path / "pids").read_text(encoding="utf-8").split()]


def test_a_hook_need_not_read_its_context(folder: Folder, hook_of: HookOf) -> None:
    """However large it is: a pipe holds 64 KiB."""
    variables = {"large": "x" * 300_000}
    step = {"command": folder.script("deaf", """exec 0<&-; echo '{"vars": {}}'"""), "mode": "context"}
    assert hook_of(step, variables=variables).passed
    assert hook_of({"command": "true", "mode": "context"}, variables=variables).passed


def test_a_large_context_arrives_whole(folder: Folder, hook_of: HookOf) -> None:
    """In as many writes as it takes."""
    step = {"command": folder.python("count.py", "sys.exit(len(json.load(sys.stdin)['vars']['large']) != 300000)")}
    assert hook_of({**step, "mode": "context"}, variables={"large": "x" * 300_000}).passed


def test_of_ten_megabytes_the_last_64_kib_are_kept(folder: Folder, hook_of: HookOf) -> None:
    """Both streams of a plain hook, the stderr of one with a context."""
    body = "stream.write('x' * 10_000_000 + 'the end'); stream.flush()"
    plain = hook_of(folder.python("plain.py", f"stream = sys.stdout; {body}"))
    assert plain.passed
    assert len(plain.output) == LAST_64_KIB
    assert plain.output.endswith("xxthe end")
    context = hook_of({"command": folder.python("context.py", f"stream = sys.stderr; {body}"), "mode": "context"})
    assert context.passed
    assert context.output.endswith("xxthe end")


def test_of_an_answer_that_is_none_the_last_64_kib_are_kept_and_a_report_shows_the_beginning_of_its_line(
    folder: Folder, hook_of: HookOf
) -> None:
    body = "sys.stdout.write('x' * 900_000); sys.stdout.flush(); print('done', file=sys.stderr)"
    hook = hook_of({"command": folder.python("large.py", body), "mode": "context"})
    assert not hook.passed
    assert len(hook.output) == LAST_64_KIB
    assert hook.output.endswith("xx\ndone\n")
    assert [len(line) for line in output_lines(hook)] == [MESSAGE_LIMIT + 2, 4]


def test_both_streams_of_a_plain_hook_are_kept_in_order(folder: Folder, hook_of: HookOf) -> None:
    """As a terminal would show them."""
    assert hook_of(folder.script("both", "echo a; echo b >&2; echo c")).output == "a\nb\nc\n"


@pytest.mark.parametrize(("size", "passed"), [(1024 * 1024, True), (1024 * 1024 + 1, False), (10_000_000, False)])
def test_an_answer_may_have_a_mebibyte(size: int, passed: bool, folder: Folder, hook_of: HookOf) -> None:
    """What is more is read all the same, so that the hook comes to its end."""
    body = f"sys.stdout.write('{{}}' + ' ' * {size - 2}); sys.stdout.flush(); print('done', file=sys.stderr)"
    hook = hook_of({"command": folder.python("large.py", body), "mode": "context"})
    assert (hook.passed, hook.exit_code) == (passed, 0)
    assert passed or (hook.message or "").startswith("printed over 1 MiB")
    assert hook.output.endswith("done\n")


@pytest.mark.parametrize("mode", ["plain", "context"])
def test_a_hook_may_close_its_output_early(mode: str, folder: Folder, hook_of: HookOf) -> None:
    """It is its exit that counts, and it is waited for."""
    command = folder.script("mute", f"exec 1>&- 2>&-; cat > /dev/null; echo ended >> {folder.diary}")
    assert hook_of(command if mode == "plain" else {"command": command, "mode": "context"}).passed
    told = [line for line in folder.lines() if line != "server starts"]  # which it does meanwhile
    assert told[:2] == ["mute", "ended"]


def test_a_program_that_cannot_be_run_is_told_with_what_was_looked_for(folder: Folder, hook_of: HookOf) -> None:
    """What, where, and what to do."""
    locked = folder.script("locked.sh")
    (folder.path / "locked.sh").chmod(stat.S_IRUSR)
    bare = folder.path / "bare"
    bare.write_text("echo hello\n", encoding="utf-8")
    bare.chmod(0o755)
    lost = folder.script("lost", shell="/no/such/interpreter")
    reasons = {
        f"{folder.path}/nothing.sh": f"there is no file `{folder.path}/nothing.sh`",
        "./no/such/seed.sh": f"there is no file `./no/such/seed.sh` in {Path.cwd()}, where mcptest was started",
        "no-such-program x": "there is no program `no-such-program` on PATH",
        "pyproject.toml": "no program `pyproject.toml` on PATH (a file here is named by its path: `./pyproject.toml`)",
        locked: f"`{locked}` is not executable (`chmod +x` it, or name its interpreter: `sh {locked}`)",
        str(bare): f"`{bare}` has no `#!` line (name its interpreter: `sh {bare}`)",
        lost: f"the interpreter that the `#!` line of `{lost}` names is not there",
        str(folder.path): f"`{folder.path}` is a directory",
    }
    for command, reason in reasons.items():
        hook = hook_of(command)
        assert (hook.message or "").startswith("could not be started: "), hook
        assert reason in (hook.message or "")
        assert (hook.exit_code, hook.output) == (None, "")


def test_a_hook_that_a_signal_ends_has_failed(folder: Folder, hook_of: HookOf) -> None:
    """The signal is named, and there is no exit code."""
    hook = hook_of(folder.script("killed", "echo bye; kill -9 $$"))
    assert (hook.message, hook.exit_code, hook.output) == ("was ended by SIGKILL", None, "bye\n")


def test_a_context_hook_that_fails_shows_what_it_printed(folder: Folder, hook_of: HookOf) -> None:
    """Both streams, since either may say why; and nothing of its answer counts."""
    hook = hook_of(
        {"command": folder.script("f", """echo '{"skip": {"reason": "r"}}'; echo why >&2; exit 9"""), "mode": "context"}
    )
    assert (hook.message, hook.output) == ("exited with 9", '{"skip": {"reason": "r"}}\nwhy\n')


def test_a_hook_that_takes_too_long_is_killed_with_all_it_started(folder: Folder, hook_of: HookOf) -> None:
    """The whole group, also what ignores SIGTERM; what it wrote until then is kept."""
    body = f"trap '' TERM; sleep 1000 & echo $$ $! > {folder.path}/pids; echo so far; wait; sleep 1000"
    for seconds in longer(0.3):
        hook = hook_of(folder.script("slow", body), timeout_ms=round(seconds * 1000))
        assert (hook.message, hook.exit_code) == (f"took longer than {duration(seconds)} and was killed", None)
        assert hook.duration_ms >= seconds * 1000
        if hook.output:  # else it was killed before it had come that far
            break
    assert hook.output == "so far\n"
    assert len(pids(folder)) == 2
    until(lambda: not any(map(is_running, pids(folder))))


@pytest.mark.usefixtures("patience")
def test_a_hook_that_ends_when_it_is_asked_to_has_still_failed(folder: Folder, hook_of: HookOf) -> None:
    """A trap lets it clean up, and its exit code then says nothing."""
    script = folder.script("polite", "trap 'echo cleaned; exit 0' TERM; sleep 1000 & wait")
    for seconds in longer(0.3):
        hook = hook_of(script, timeout_ms=round(seconds * 1000))
        if hook.output:  # else it was asked before it could hear of it
            break
    told = f"took longer than {duration(seconds)} and was killed"
    assert (hook.message, hook.exit_code, hook.output) == (told, None, "cleaned\n")


def test_the_time_of_a_step_wins_over_that_of_all(folder: Folder, hook_of: HookOf) -> None:
    """In both directions."""
    patient = {"command": f"{folder.script('patient', 'sleep 0.2')}", "mode": "context", "timeout_ms": 60_000}
    assert hook_of(patient, timeout_ms=1).passed
    hasty = {"command": "sleep 1000", "mode": "context", "timeout_ms": 20}
    assert hook_of(hasty).message == "took longer than 20 ms and was killed"


def test_what_a_hook_leaves_holding_its_pipes_is_not_waited_for(folder: Folder, hook_of: HookOf) -> None:
    """And is gone when the test's bracket is closed."""
    hook = hook_of(folder.script("leaves", f"sleep 1000 & echo $! > {folder.path}/pids; echo left"))
    assert (hook.passed, hook.output) == (True, "left\n")
    until(lambda: not is_running(*pids(folder)))


def test_what_before_all_leaves_running_serves_until_the_end(
    folder: Folder, record_of: Callable[..., RunRecord]
) -> None:
    """A fixture server in the background, which logs to the pipe that it was given: alive in `afterAll`, gone after it."""
    os.mkfifo(folder.path / "asked")
    body = f"(read word < {folder.path}/asked; echo log; echo log; echo served >> $diary; sleep 1000) &"
    hooks = {
        "beforeAll": folder.script("fixture", f"{body}\necho $! > {folder.path}/pids"),
        "beforeEach": folder.script("each", f"kill -0 $(cat {folder.path}/pids) && echo alive >> $diary"),
        "afterAll": folder.script(
            "end", f"echo word > {folder.path}/asked; until grep -q served $diary; do sleep 0.01; done"
        ),
        "timeout_ms": 60_000,
    }
    record = record_of(folder.suite(hooks, writing("one")))
    assert [hook.passed for hook in record.hooks] == [True, True, True]
    assert [line for line in folder.lines() if line in {"alive", "served"}] == ["alive", "served"]
    until(lambda: not is_running(*pids(folder)))


@pytest.mark.usefixtures("patience")
def test_what_before_each_leaves_running_ends_with_its_test(
    folder: Folder, record_of: Callable[..., RunRecord]
) -> None:
    """Asked first, so that it can clean up; alive in `afterEach`, gone before the next test."""
    note = folder.path / "pids"
    body = (
        "(trap 'echo cleaned >> $diary; exit' TERM; echo up >> $diary; while :; do sleep 0.01; done) > /dev/null 2>&1 &"
    )
    look = f"for pid in $(cat {note}); do ps -o stat= -p $pid | grep -qv Z && echo alive >> $diary; done; true"
    hooks = {
        "beforeEach": [
            folder.script("first", f"touch {note}; {look}"),
            folder.script("start", f"{body}\necho $! >> {note}; until grep -q up $diary; do sleep 0.01; done"),
        ],
        "afterEach": folder.script("after", look),
    }
    record = record_of(folder.suite(hooks))
    assert all(hook.passed for hook in record.hooks)
    shown = [line for line in folder.lines() if line in {"one", "two", "alive", "cleaned"}]
    assert shown == ["one", "alive", "cleaned", "two", "alive", "cleaned"]
    assert not any(map(is_running, pids(folder)))


def test_the_record_has_room_for_some_output_of_every_hook(
    folder: Folder, record_of: Callable[..., RunRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand talkative hooks make no record of a hundred megabytes."""
    monkeypatch.setattr("mcptest_engine.running.hooks.ROOM_FOR_OUTPUT", 5_000)
    hooks = {"beforeEach": folder.python("talk.py", "print('x' * 4_000)")}
    record = record_of(folder.suite(hooks, *(writing(str(number)) for number in range(4))))
    assert [len(hook.output) for hook in record.hooks] == [4_001, 2_048, 2_048, 2_048]
