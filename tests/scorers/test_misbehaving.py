"""Scorers that do what they should not: each is one structured error, and leaves nothing running."""

from __future__ import annotations

import json
import os
import resource
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.judging.scorers.values import Scorer, ScorerError, ScorerFault
from mcptest_engine.servers.failures import duration
from tests.processes import is_running, longer
from tests.scorers.conftest import ask

if TYPE_CHECKING:
    from pathlib import Path

    from tests.scorers.conftest import Wrappers

GOOD = """echo '{"verdict": "pass"}'"""


def refusal(scorer: Scorer) -> ScorerError:
    with pytest.raises(ScorerError) as wrong:
        ask(scorer)
    return wrong.value


def test_an_error_has_the_members_that_reports_tell(wrappers: Wrappers) -> None:
    """{scorer, kind, message, stderr_tail}."""
    assert wrappers.refused("echo 'no key' >&2; exit 3").to_json() == {
        "scorer": "s",
        "kind": "exit",
        "message": "scorer `s` exited with 3",
        "stderr_tail": "no key\n",
    }


def test_a_failing_exit_after_a_good_verdict_is_an_error(wrappers: Wrappers) -> None:
    """It exits 0."""
    assert wrappers.refused(f"{GOOD}; exit 1").fault is ScorerFault.EXIT


def test_a_signal_is_named(wrappers: Wrappers) -> None:
    wrong = wrappers.refused("kill -SEGV $$")
    assert (wrong.fault, wrong.message) == (ScorerFault.EXIT, "scorer `s` was ended by SIGSEGV")


def test_a_program_that_is_not_there_is_told_with_its_name(tmp_path: Path) -> None:
    wrong = refusal(Scorer("s", "exec", ("no-such-scorer-anywhere",)))
    assert wrong.fault is ScorerFault.SPAWN
    assert wrong.message == "scorer `s` could not be started: there is no program `no-such-scorer-anywhere` on PATH"
    lost = refusal(Scorer("s", "exec", ("./there.sh",), cwd=str(tmp_path)))
    assert lost.message == f"scorer `s` could not be started: there is no file `./there.sh` in its cwd `{tmp_path}`"


def test_a_file_that_is_not_executable_is_told_with_the_remedy(wrappers: Wrappers) -> None:
    path = wrappers.path / "plain.sh"
    path.write_text(GOOD)
    wrong = refusal(Scorer("s", "exec", (str(path),)))
    assert wrong.fault is ScorerFault.SPAWN
    assert f"`{path}` is not executable (`chmod +x` it, or name its interpreter: `sh {path}`)" in wrong.message
    script = path.rename(path.with_suffix(".py"))
    assert f"name its interpreter: `python3 {script}`" in refusal(Scorer("s", "exec", (str(script),))).message


def test_a_command_line_in_one_word_is_told_how_to_be_written() -> None:
    assert refusal(Scorer("s", "exec", ("cat | ./short.sh",))).message.endswith(
        'there is no program `cat | ./short.sh` (run a shell command with a shell: ["sh", "-c", "cat | ./short.sh"])'
    )
    assert refusal(Scorer("s", "exec", ("python3 x.py",))).message.endswith(
        'there is no program `python3 x.py` (each word is a list item of its own: ["python3", "x.py"])'
    )


def test_a_cwd_that_is_not_there_is_told(wrappers: Wrappers) -> None:
    wrong = refusal(wrappers.scorer(GOOD, cwd=str(wrappers.path / "gone")))
    assert wrong.fault is ScorerFault.SPAWN
    assert wrong.message.endswith("gone` is not a directory that can be entered")


def test_a_command_with_a_nul_cannot_be_started() -> None:
    assert refusal(Scorer("s", "exec", ("sh", "-c", "true\0"))).fault is ScorerFault.SPAWN


def test_a_scorer_for_which_no_descriptor_is_left_is_one_that_was_not_started(wrappers: Wrappers) -> None:
    """Whichever of the descriptors it is that is missing, nothing runs on and nothing is left open."""
    scorer = wrappers.scorer("sleep 300")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    for spare in range(3, 14):
        held = [os.open(os.devnull, os.O_RDONLY) for _ in range(spare)]
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(held) + 1, limits[1]))
        try:
            for descriptor in held:
                os.close(descriptor)
            with pytest.raises((ScorerError, OSError)):
                ask(scorer._replace(timeout_ms=50))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_an_unknown_type_says_so_and_starts_nothing() -> None:
    """The very words."""
    wrong = refusal(Scorer("s", "braintrust"))
    assert (wrong.fault, wrong.message) == (
        ScorerFault.UNKNOWN_TYPE,
        "scorer type 'braintrust' not available in this build",
    )


@pytest.mark.parametrize(
    "body", ["", "printf '  \\n'", "exec 1>&-; cat > /dev/null"], ids=["silent", "blanks", "closed"]
)
def test_an_empty_stdout_is_no_output(wrappers: Wrappers, body: str) -> None:
    wrong = wrappers.refused(body)
    assert (wrong.fault, wrong.message) == (
        ScorerFault.NO_OUTPUT,
        "scorer `s` exited with 0 and printed nothing on stdout",
    )
    assert wrong.hint == 'the verdict goes to stdout, as one JSON object: {"verdict": "pass"}'


@pytest.mark.parametrize(
    "body",
    [
        "echo loading model; " + GOOD,
        GOOD + "; " + GOOD,
        "printf '\\357\\273\\277'; " + GOOD,
        "printf '\\377\\376{}'",
        """printf '{"verdict": "pass"'""",
        "printf '%4000s' | tr ' ' '['",
    ],
    ids=["log line", "two documents", "byte order mark", "not UTF-8", "cut off", "nested"],
)
def test_what_is_not_one_json_document_is_no_verdict(wrappers: Wrappers, body: str) -> None:
    wrong = wrappers.refused(body)
    assert wrong.fault is ScorerFault.INVALID_JSON
    assert wrong.message.startswith("scorer `s` printed no JSON: ")
    assert "\n" not in wrong.message
    assert "it is not JSON" not in wrong.message
    if "\\357" in body:
        assert wrong.hint == "write UTF-8 without a byte order mark"
    elif "\\377" in body:
        assert (
            wrong.hint == "write UTF-8: for a Python program `env: { PYTHONIOENCODING: utf-8 }` on the scorer does that"
        )
    else:
        assert wrong.hint == "only the verdict goes to stdout: write everything else to stderr"


def test_more_than_a_mebibyte_is_too_large_at_once(wrappers: Wrappers) -> None:
    """Whoever never ends printing is not waited for."""
    wrong = wrappers.refused("cat /dev/zero")
    assert (wrong.fault, wrong.message) == (
        ScorerFault.OUTPUT_TOO_LARGE,
        "scorer `s` printed more than 1 MiB on stdout",
    )


def test_a_verdict_of_exactly_a_mebibyte_is_taken(wrappers: Wrappers) -> None:
    frame = len('{"verdict":"pass","reasoning":""}')
    body = f"""printf '{{"verdict":"pass","reasoning":"'; head -c {1024 * 1024 - frame} /dev/zero | tr '\\0' x; printf '"}}'"""
    assert len(wrappers.said(body).reasoning) == 1024 * 1024 - frame


@pytest.mark.parametrize(
    "body",
    [
        GOOD + "; sleep 300",
        "trap '' TERM INT HUP; while :; do sleep 0.05; done",
        "kill -STOP $$",
        "sleep 300 | sleep 300",
    ],
    ids=["prints and hangs", "ignores SIGTERM", "stops itself", "waits for children"],
)
def test_whoever_takes_too_long_is_killed_with_its_group(wrappers: Wrappers, body: str) -> None:
    """`timeout_ms` is wall-clock."""
    for seconds in longer(0.1):
        wrong = wrappers.refused(f"echo $$ > '{wrappers.path}/pid'; {body}", timeout_ms=round(seconds * 1000))
        told = f"scorer `s` took longer than {duration(seconds)} and was killed"
        assert (wrong.fault, wrong.message) == (ScorerFault.TIMEOUT, told)
        if pid := (wrappers.path / "pid").exists() and (wrappers.path / "pid").read_text():
            break  # else it was killed before it had begun
    assert not is_running(int(pid))


def test_a_child_in_another_group_holds_nothing_up(wrappers: Wrappers) -> None:
    """It has left its group on purpose, as documented; the row is told in time all the same."""
    wrong = wrappers.refused(f"setsid sh -c 'echo $$ > \"{wrappers.path}/pid\"; exec sleep 5'", timeout_ms=300)
    assert wrong.fault is ScorerFault.TIMEOUT


def test_secrets_are_out_of_what_an_error_quotes(wrappers: Wrappers) -> None:
    scorer = wrappers.scorer("echo key hunter2 >&2; echo hunter2 is no JSON")
    with pytest.raises(ScorerError) as wrong:
        ask(scorer, redact=lambda text: text.replace("hunter2", "…"))
    assert "hunter2" not in json.dumps(wrong.value.to_json())
    assert wrong.value.stderr_tail == "key …\n"
