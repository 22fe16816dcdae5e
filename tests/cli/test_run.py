"""`mcptest run`, the installed command against a real server process."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Command = Callable[..., subprocess.CompletedProcess[str]]
    Write = Callable[..., Path]


def record(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def verdicts(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    return {test["name"]: test["verdict"] for test in record(done)["tests"]}


def test_a_run_judges_tools_resources_and_prompts(mcptest: Command, write: Write) -> None:
    """Load, connect, run, judge, report; one failing test is exit 1."""
    write()
    done = mcptest("run", "--reporter", "json")
    assert done.returncode == 1
    assert verdicts(done) == {
        "api is operational": "pass",
        "api is degraded": "fail",
        "memo reads": "pass",
        "greets by name": "pass",
    }


def test_the_record_is_saved_and_reported_again_byte_for_byte(mcptest: Command, write: Write, tmp_path: Path) -> None:
    """`mcptest report run.json --format X` gives byte for byte what the run would have printed."""
    write()
    formats = ["pretty", "minimal", "json", "ndjson", "junit", "tap", "md", "github", "agent"]
    flags = [flag for name in formats[1:] for flag in ("--reporter", f"{name}={name}.out")]
    ran = mcptest("run", "--reporter", "pretty", *flags)
    (saved,) = (tmp_path / ".mcptest" / "runs").glob("*.json")
    assert mcptest("report", str(saved), "--format", "pretty").stdout == ran.stdout
    for name in formats[1:]:
        again = mcptest("report", str(saved), "--format", name, "--output", "again.out")
        assert again.returncode == 0, again.stderr
        assert (tmp_path / "again.out").read_bytes() == (tmp_path / f"{name}.out").read_bytes(), name


def test_report_without_a_record_takes_the_newest_run(mcptest: Command, write: Write) -> None:
    """A person who wants to see the last run again need not know its id."""
    write()
    mcptest("run")
    assert mcptest("report", "--format", "agent").stdout.startswith("VERDICT fail 3/4 passed (1 failed, 0 inconclusive")


def test_the_repro_line_of_the_agent_report_runs_just_that_test(mcptest: Command, write: Write) -> None:
    """Every `repro` line is exact."""
    write()
    report = mcptest("run", "--reporter", "agent").stdout
    assert '  repro: mcptest run --filter "api is degraded"\n' in report or (
        'repro: mcptest run --filter "api is degraded"\n' in report
    )
    done = mcptest("run", "--filter", "api is degraded", "--reporter", "json")
    assert verdicts(done) == {"api is degraded": "fail"}


def test_the_repro_line_names_a_suite_that_the_default_would_not_find(mcptest: Command, write: Write) -> None:
    """`--config` after `--filter`."""
    write(name="other.yml")
    report = mcptest("run", "other.yml", "--reporter", "agent").stdout
    assert 'mcptest run --filter "api is degraded" --config other.yml\n' in report


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--filter", "nothing is called that"], 7),
        (["--filter", "re:("], 2),
        (["--tag", "smoke"], 0),
        (["--skip-tag", "smoke"], 1),
        (["--server", "mcok"], 2),
        (["--shard", "3/2"], 2),
        (["--reporter", "prety"], 2),
        (["--reporter", "json", "--reporter", "junit"], 2),
        (["--bail", "0"], 2),
        (["--var", "novalue"], 2),
        (["--watch", "--reporter", "json"], 2),
        (["missing.yml"], 2),
    ],
)
def test_each_kind_of_invocation_has_its_exit_code(
    mcptest: Command, write: Write, flags: list[str], expected: int
) -> None:
    """Exit codes."""
    write()
    done = mcptest("run", *flags)
    assert done.returncode == expected, done.stderr
    if expected == 2:
        assert done.stdout == ""
        assert "error" in done.stderr or "no such file" in done.stderr


def test_snapshot_updates_are_refused_under_ci(mcptest: Command, write: Write) -> None:
    """Exit 5 without --allow-update-in-ci."""
    write()
    assert mcptest("run", "--update-snapshots", CI="true").returncode == 5
    assert mcptest("run", "--update-snapshots", "--allow-update-in-ci", CI="true").returncode == 1


def test_focused_tests_are_refused_under_ci(mcptest: Command, suite_with: Write) -> None:
    """`only` is refused under CI (exit 2)."""
    suite_with("tools:\n  - { name: a, tool: get_status, only: true }\n  - { name: b, tool: get_status }\n")
    done = mcptest("run", "--reporter", "json")
    assert verdicts(done) == {"a": "pass"}
    refused = mcptest("run", CI="1")
    assert refused.returncode == 2
    assert "focused" in refused.stderr


def test_no_suite_here_is_exit_2_and_says_how_to_go_on(mcptest: Command) -> None:
    """2, no suite found."""
    done = mcptest("run")
    assert done.returncode == 2
    assert "mcptest demo" in done.stderr


def test_a_bad_suite_runs_nothing_and_shows_every_problem(mcptest: Command, suite_with: Write, tmp_path: Path) -> None:
    """Every problem at once, in file order, with file, line and column."""
    suite_with("toolz: []\ntools:\n  - { name: a, tool: get_status, tagz: [x] }\n")
    done = mcptest("run")
    assert done.returncode == 2
    assert "mcptest.yml:4:1: " in done.stderr
    assert "did you mean `tools`?" in done.stderr
    assert "did you mean `tags`?" in done.stderr
    assert "2 problems; nothing was run" in done.stderr
    assert not (tmp_path / ".mcptest" / "runs").exists()


def test_a_retried_test_that_passes_is_flaky(mcptest: Command, suite_with: Write) -> None:
    """Every attempt is in the record; passing after a failure is pass with `flaky: true`."""
    suite_with(
        "tools:\n  - name: gets ready\n    tool: get_flaky\n    expect:\n"
        '      - { target: "result.content[0].text", matcher: { exact: ready } }\n'
    )
    done = mcptest("run", "--retries", "2", "--reporter", "json")
    assert done.returncode == 0
    (test,) = record(done)["tests"]
    assert test["flaky"] is True
    assert [attempt["verdict"] for attempt in test["attempts"]] == ["fail", "pass"]


def test_bail_skips_what_was_not_begun(mcptest: Command, suite_with: Write) -> None:
    """`--bail [N]`; what did not run is no pass."""
    rows = "".join(f"  - {{ name: t{number}, tool: get_nothing }}\n" for number in range(6))
    suite_with("tools:\n" + rows)
    done = mcptest("run", "--workers", "1", "--bail", "2", "--reporter", "json")
    assert done.returncode == 1
    assert list(verdicts(done).values()) == ["fail", "fail", "skip", "skip", "skip", "skip"]


def test_an_unknown_tool_gets_the_nearest_name_that_the_suite_uses(mcptest: Command, suite_with: Write) -> None:
    """Hints for the nearest tool name."""
    suite_with("tools:\n  - { name: good, tool: get_status }\n  - { name: bad, tool: get_statsu }\n")
    done = mcptest("run", "--reporter", "json")
    failure = record(done)["tests"][1]["failure"]
    assert failure["hint"] == "did you mean `get_status`?"


def test_last_failed_runs_only_what_failed(mcptest: Command, write: Write) -> None:
    """`--last-failed`."""
    write()
    mcptest("run")
    assert verdicts(mcptest("run", "--last-failed", "--reporter", "json")) == {"api is degraded": "fail"}


def test_shards_merge_into_one_report(mcptest: Command, write: Write, tmp_path: Path) -> None:
    """`--shard i/n` with `report --merge a.json b.json`."""
    write()
    for index in (1, 2):
        mcptest("run", "--shard", f"{index}/2", "--reporter", f"json=s{index}.json")
    whole = record(mcptest("report", "--merge", "s1.json", "s2.json", "--format", "json"))
    alone = record(mcptest("run", "--reporter", "json"))
    assert [test["id"] for test in whole["tests"]] == [test["id"] for test in alone["tests"]]
    assert whole["totals"] == alone["totals"]
    assert whole["exit_code"] == 1


JUDGED = """\
name: judged
servers: { demo: { command: [mcptest, mock, --preset, demo] } }
agents:
  - { name: asks, server: demo, prompt: Hi., models: [gpt-5, claude-x], runs: 3 }
  - { name: asks too, server: demo, prompt: Hi., models: [gpt-5], runs: 2, eval: { rubric: It is polite. } }
evals:
  - { name: literal, output: { a: 1 }, rubric: good }
  - { name: asked, server: demo, prompt: hi, runs: 4, rubric: good }
tools:
  - { name: status, server: demo, tool: status }
"""


@pytest.mark.parametrize("shards", [2, 5])
def test_shards_of_runs_and_repeats_merge_into_the_order_of_the_whole_run(
    mcptest: Command, tmp_path: Path, shards: int
) -> None:
    """Rows of one line stand as they do in a run of all: by model, run and grader, and once more for each repeat."""
    (tmp_path / "mcptest.yml").write_text(JUDGED, encoding="utf-8")
    names = [f"s{index}.json" for index in range(1, shards + 1)]
    for index, name in enumerate(names, 1):
        mcptest("run", "--repeat", "2", "--shard", f"{index}/{shards}", "--reporter", f"json={name}")
    whole = record(mcptest("report", "--merge", *names[::-1], "--format", "json"))
    alone = record(mcptest("run", "--repeat", "2", "--reporter", "json"))
    assert len(alone["tests"]) == 32
    assert [test["id"] for test in whole["tests"]] == [test["id"] for test in alone["tests"]]
    assert "places" not in whole


def test_repeats_run_each_test_several_times(mcptest: Command, write: Write) -> None:
    """`--repeat N`, to hunt for flaky tests."""
    write()
    done = mcptest("run", "--filter", "memo reads", "--repeat", "3", "--reporter", "json")
    assert list(verdicts(done)) == ["memo reads #1", "memo reads #2", "memo reads #3"]


@pytest.mark.parametrize("flag", ["--command", "--server-command"])
def test_another_command_takes_the_place_of_every_server(mcptest: Command, write: Write, flag: str) -> None:
    """`--command`, and its earlier name."""
    write()
    done = mcptest("run", flag, "mcptest mock --preset evil", "--reporter", "json")
    assert set(verdicts(done).values()) == {"fail"}


def test_a_dry_run_starts_nothing(mcptest: Command, write: Write, tmp_path: Path) -> None:
    """`--dry-run`."""
    write()
    done = mcptest("run", "--dry-run", "--server-command", "touch started")
    assert done.returncode == 0
    assert "api is degraded" in done.stdout
    assert not (tmp_path / "started").exists()


def test_secrets_never_reach_a_record_or_a_report(mcptest: Command, suite_with: Write, tmp_path: Path) -> None:
    """Secrets never reach a record, a log or a report."""
    suite_with(
        "tools:\n  - name: says it\n    tool: get_token\n    expect:\n"
        '      - { target: "result.content[0].text", matcher: { exact: nothing } }\n',
        top="env: { API_TOKEN: hunter2-hunter2 }\n",
    )
    done = mcptest("run", "--reporter", "pretty", "--reporter", "json=run.json", "--reporter", "junit=run.xml")
    assert done.returncode == 1
    kept = [*tmp_path.glob("run.*"), *(tmp_path / ".mcptest" / "runs").glob("*")]
    assert len(kept) == 3
    for text in (done.stdout, done.stderr, *(path.read_text(encoding="utf-8") for path in kept)):
        assert "hunter2" not in text
    assert "[REDACTED]" in done.stdout


def test_a_report_that_cannot_be_written_is_told_and_the_others_are_kept(
    mcptest: Command, write: Write, tmp_path: Path
) -> None:
    """Nothing is lost: one bad path does not keep back the other reports."""
    write()
    (tmp_path / "file").touch()
    done = mcptest("run", "--reporter", "junit=file/x.xml", "--reporter", "tap=good.tap")
    assert done.returncode == 2 or done.returncode == 1
    assert "the junit report was not written" in done.stderr
    assert (tmp_path / "good.tap").read_text(encoding="utf-8").startswith("TAP version 14")


def test_timeouts_are_one_clear_failure_and_the_session_stays_usable(mcptest: Command, suite_with: Write) -> None:
    """A timed-out call is cancelled and the session stays usable."""
    suite_with(
        "tools:\n  - { name: late, tool: get_slow, timeout_ms: 100 }\n"
        "  - { name: after, tool: get_status, serial: true }\n"
    )
    done = mcptest("run", "--reporter", "json")
    late, after = record(done)["tests"]
    assert (late["verdict"], late["failure"]["kind"]) == ("fail", "timeout")
    assert after["verdict"] == "pass"


def test_the_repro_line_repeats_what_changes_the_test(mcptest: Command, write: Write) -> None:
    """Every `repro` line is exact, also for a run with variables of its own or another server."""
    suite = write()
    text = suite.read_text(encoding="utf-8").replace("contains: degraded", 'contains: "${want}"')
    suite.write_text(f"variables: {{ want: degraded }}\n{text}", encoding="utf-8")
    done = mcptest("run", "--var", "want=not there", "--protocol", "2025-06-18", "--reporter", "agent")
    (line,) = (line for line in done.stdout.splitlines() if "repro: " in line)
    command = shlex.split(line.partition("repro: ")[2])
    assert command == [
        *("mcptest", "run", "--filter", "api is degraded"),
        *("--var", "want=not there", "--protocol", "2025-06-18"),
    ]
    again = mcptest(*command[1:], "--reporter", "json")
    assert "`not there` not found" in record(again)["tests"][0]["message"]
