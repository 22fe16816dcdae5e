"""`mcptest eval` as it is typed, with real wrappers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from mcptest_engine.reporting.record_schema import record_fault
from tests.processes import is_running, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., subprocess.CompletedProcess[str]]

MANIFEST = {
    "mock_server": {
        "name": "incidents",
        "tools": [
            {"name": "counts", "responses": [{"content": [{"type": "text", "text": word}]} for word in ("one", "two")]},
            {"name": "fails", "response": {"content": [{"type": "text", "text": "no such incident"}], "isError": True}},
            {"name": "says_no_text", "response": {"content": []}},
            {"name": "structured", "response": {"content": [], "structuredContent": {"tag": "v2"}}},
        ],
    }
}
OUTPUT = {"prompt": "Summarize the incident report.", "output": "checkout failed", "rubric": "Names the tag."}


class Folder:
    """A suite on the mock server with wrappers of `sh`, and how often each of them was asked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "manifest.yml").write_text(yaml.safe_dump(MANIFEST))

    def suite(self, scorers: dict[str, str | dict[str, Any]], *evals: dict[str, Any], **more: Any) -> None:
        """A scorer is the body of its script, or its entry."""
        entries = []
        for name, told in scorers.items():
            entry = {"type": "exec", "command": [f"./{name}.sh"]} if isinstance(told, str) else told
            entries.append({"name": name, **entry})
            if isinstance(told, str):
                script = self.path / f"{name}.sh"
                script.write_text(f"#!/bin/sh\necho asked >> {name}.log\n{told}\n")
                script.chmod(0o755)
        servers = {"mock": {"command": ["mcptest", "mock", "--tools-from", "manifest.yml"]}}
        suite = {"servers": servers, "scorers": entries, "evals": list(evals), **more}
        (self.path / "mcptest.yaml").write_text(yaml.safe_dump(suite, sort_keys=False))

    def asked(self, name: str) -> int:
        log = self.path / f"{name}.log"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def record(self) -> dict[str, Any]:
        return json.loads((self.path / "run.json").read_text())


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def says(verdict: str, **more: object) -> str:
    return f"cat > /dev/null; printf '%s' '{json.dumps({'verdict': verdict, **more})}'"


def test_the_lines_are_those_of_the_document(mcptest: Run, folder: Folder) -> None:
    good = says("pass", score=0.92, reasoning="names the service", cost_usd=0.0003)
    folder.suite({"good": good}, {"name": "summary-quality", **OUTPUT})
    done = mcptest("eval", "--config", "mcptest.yaml")
    assert done.stdout == "PASS [exec] summary-quality: cost=$0.0003 names the service\nScorer cost: $0.0003\n"
    assert done.returncode == 0


def test_every_verdict_has_its_word_and_a_scorer_its_place(mcptest: Run, folder: Folder) -> None:
    """The verdict decides, whatever the score is; an inconclusive row is no pass and no failure."""
    folder.suite(
        {
            "yes": says("pass", score=0.1),
            "no": says("fail", score=0.9, reasoning="misses\nthe tag"),
            "perhaps": says("inconclusive", reasoning="no reference"),
            "braintrust": {"type": "braintrust", "project": 7},
        },
        {"name": "a", **OUTPUT},
        {"name": "b", **OUTPUT, "scorers": ["perhaps"]},
    )
    done = mcptest("eval")
    assert done.stdout.splitlines() == [
        "PASS [exec] a (yes): cost=$0.0000",
        "FAIL [exec] a (no): cost=$0.0000 misses\\nthe tag",
        "INCONC [exec] a (perhaps): cost=$0.0000 no reference",
        "ERROR [exec] a (braintrust): scorer type 'braintrust' not available in this build",
        "  hint: wrap it in a program: `type: exec`; the scorer is declared at mcptest.yaml:21",
        "INCONC [exec] b: cost=$0.0000 no reference",
        "Scorer cost: $0.0000",
    ]
    assert done.returncode == 1
    only = mcptest("eval", "--filter", "b")
    assert (only.returncode, "1 inconclusive" in only.stderr) == (0, True)


REPORTERS = (
    "pretty", "minimal", "json", "ndjson", "junit", "tap", "md", "github", "agent",
    "html", "matrix", "sarif", "gitlab", "openinference",
)  # fmt: skip


@pytest.fixture
def reports(mcptest: Run, folder: Folder) -> dict[str, str]:
    """Every report of a run with two scorer errors, one with a wicked stderr, a wrapper that said fail, and a deferred row."""
    bad = """cat > /dev/null; printf '\\033[31mno key\\033[0m\\n::error::forged\\n' >&2; exit 3"""
    folder.suite(
        {"broken": bad, "chatty": "cat > /dev/null; echo hello", "no": says("fail", reasoning="misses the tag")},
        {"name": "summary", **OUTPUT},
        {"name": "left to a judge", **OUTPUT, "scorers": []},
    )
    flags = [word for name in REPORTERS for word in ("--reporter", f"{name}=out.{name}")]
    assert mcptest("eval", *flags).returncode == 1
    return {name: (folder.path / f"out.{name}").read_text() for name in REPORTERS}


def test_every_report_tells_a_scorer_error_as_one(reports: dict[str, str]) -> None:
    """Every failure surfaces in every reporter, never raw."""
    for name, text in reports.items():
        assert "scorer `broken` exited with 3" in text.replace("\\`", "`").replace("<code>", "`").replace(
            "</code>", "`"
        ), name
        assert "\x1b" not in text, name
        assert name in ("junit", "html") or not re.search(r"^::error::forged", text, re.MULTILINE), name
    record = json.loads(reports["json"])
    assert record_fault(record) is None
    broken, chatty, no, _deferred = record["tests"]
    assert broken["failure"]["kind"] == "scorer"
    assert broken["failure"]["scorer_error"]["kind"] == "exit"
    assert broken["failure"]["scorer_error"]["scorer"] == "broken"
    assert "forged" in broken["failure"]["scorer_error"]["stderr_tail"]
    assert chatty["failure"]["scorer_error"]["kind"] == "invalid_json"
    assert (no["failure"]["kind"], no["judgement"]["reasoning"]) == ("score", "misses the tag")
    assert json.loads(reports["ndjson"].splitlines()[0])["failure"] == broken["failure"]
    suite = ET.fromstring(reports["junit"]).find("testsuite")
    assert suite is not None
    assert [
        (case.find("error") is not None, case.find("failure") is not None) for case in suite.findall("testcase")
    ] == [
        (True, False),
        (True, False),
        (False, True),
        (False, False),
    ]
    assert "scorer error: exit" in reports["pretty"]
    assert "stderr of scorer `broken`" in reports["pretty"]
    assert 'kind: "exit"' in reports["tap"]
    assert "actual: checkout failed" in reports["agent"]


def test_reports_of_values_hold_the_scorer_and_its_fault(reports: dict[str, str]) -> None:
    """A structured scorer error."""
    error = {"scorer": "broken", "kind": "exit"}
    (run,) = json.loads(reports["sarif"])["runs"]
    assert [one["properties"].get("scorer_error") for one in run["results"]][::2] == [error, None]
    assert json.loads(reports["gitlab"])[0]["properties"]["scorer_error"] == error
    spans = [json.loads(line)["attributes"] for line in reports["openinference"].splitlines()]
    assert [
        (span["mcptest.test.scorer_error.scorer"], span["mcptest.test.scorer_error.kind"])
        for span in spans
        if "mcptest.test.scorer_error.kind" in span
    ] == [("broken", "exit"), ("chatty", "invalid_json")]


def test_every_report_tells_a_deferred_row_and_none_takes_it_for_a_pass(reports: dict[str, str]) -> None:
    """Every summary shows the inconclusive count; no deferred row is ever a pass."""
    totals = json.loads(reports["json"])["totals"]
    assert (totals["passed"], totals["failed"], totals["inconclusive"]) == (0, 3, 1)
    for name in ("pretty", "minimal", "junit", "tap", "md", "github", "agent", "html", "matrix", "gitlab", "sarif"):
        assert "inconclusive" in reports[name], name
    assert "ok 4 - left to a judge # TODO inconclusive: deferred: no model provider" in reports["tap"]
    (deferred,) = [one for one in json.loads(reports["gitlab"]) if "left to a judge" in one["description"]]
    assert (deferred["severity"], "deferred: no model provider" in deferred["description"]) == ("minor", True)
    spans = [json.loads(line) for line in reports["openinference"].splitlines()]
    assert [
        span["status_code"] for span in spans if span["attributes"].get("mcptest.test.name") == "left to a judge"
    ] == ["UNSET"]


def test_an_answer_is_got_once_for_all_who_grade_it(mcptest: Run, folder: Folder) -> None:
    """The text of a real tool call; the tool answers otherwise the next time."""
    tell = """printf '{"verdict": "pass", "reasoning": "%s"}' "$(sed 's/.*"output": "\\([^"]*\\)".*/\\1/')" """
    folder.suite(
        {"a": tell, "b": tell, "c": says("pass")},
        {"name": "called", "prompt": "q", "call": {"tool": "counts"}, "rubric": "r", "scorers": ["a", "b"]},
        {"name": "in json", "prompt": "q", "call": {"tool": "structured"}, "scorers": ["c"]},
    )
    done = mcptest("eval", "--reporter", "json=run.json")
    told = [test["judgement"]["reasoning"] for test in folder.record()["tests"]]
    assert told[:2] == ["one", "one"]
    assert done.returncode == 0
    first, _, structured = folder.record()["tests"]
    assert first["request"] == {"method": "tools/call", "params": {"name": "counts", "arguments": {}}}
    assert first["output"]["result"]["content"][0]["text"] == "one"
    assert structured["judgement"]["output"] == '{"tag": "v2"}'


def test_an_answer_that_cannot_be_got_fails_in_the_servers_words(mcptest: Run, folder: Folder) -> None:
    folder.suite(
        {"good": says("pass")},
        {"name": "an error", "prompt": "q", "call": {"tool": "fails"}},
        {"name": "unknown", "prompt": "q", "call": {"tool": "missing"}},
        {"name": "no text", "prompt": "q", "call": {"tool": "says_no_text"}},
    )
    done = mcptest("run", "--reporter", "json=run.json")
    assert done.returncode == 1
    an_error, unknown, no_text = (test["message"] for test in folder.record()["tests"])
    assert an_error == "there is no answer to grade: `fails` reported an error: no such incident"
    assert unknown.startswith('server "mock" lists no tool "missing"; the server answered error -32602')
    assert no_text == "there is no answer to grade: `says_no_text` answered without a text"
    assert folder.asked("good") == 0


def test_once_the_cap_is_spent_the_rest_is_skipped_and_the_exit_code_is_5(mcptest: Run, folder: Folder) -> None:
    """`--max-cost` is a refusal by policy."""
    evals = [{"name": f"e{at}", **OUTPUT} for at in range(6)]
    folder.suite({"dear": says("pass", cost_usd=0.05)}, *evals)
    done = mcptest("eval", "--max-cost", "0.10")
    assert done.stdout.splitlines() == [
        "PASS [exec] e0: cost=$0.0500",
        "PASS [exec] e1: cost=$0.0500",
        *(f"SKIP [exec] e{at}: not run: --max-cost 0.1 USD is spent" for at in range(2, 6)),
        "Scorer cost: $0.1000",
    ]
    assert (done.returncode, folder.asked("dear")) == (5, 2)
    assert mcptest("run", "--max-cost", "1").returncode == 0
    assert mcptest("eval", "--max-cost", "0").returncode == 2


def test_a_last_call_that_overruns_the_cap_exits_with_5_and_says_by_how_much(mcptest: Run, folder: Folder) -> None:
    folder.suite({"dear": says("pass", cost_usd=0.25)}, {"name": "e", **OUTPUT})
    done = mcptest("eval", "--max-cost", "0.10")
    assert done.stdout.splitlines()[0] == "PASS [exec] e: cost=$0.2500"
    assert "--max-cost 0.1 USD is exceeded by 0.15 USD: 0.25 USD was spent" in done.stderr
    assert done.returncode == 5
    assert mcptest("eval", "--max-cost", "0.25").returncode == 0, "what is spent to the cent is no overrun"


def test_kept_verdicts_cost_nothing_and_say_so(mcptest: Run, folder: Folder) -> None:
    folder.suite({"dear": says("pass", cost_usd=0.05)}, {"name": "e", **OUTPUT})
    mcptest("eval", "--cache")
    again = mcptest("eval", "--cache", "--reporter", "json=run.json")
    assert again.returncode == 0
    record = folder.record()
    assert (record["totals"]["cached"], record["tests"][0]["cached"], folder.asked("dear")) == (1, True, 1)
    assert "spending" not in record
    assert mcptest("cache").stdout.splitlines()[1].startswith("1 verdict (")
    mcptest("cache", "clear")
    assert mcptest("eval", "--cache").stdout.startswith("PASS [exec] e: cost=$0.0500\n")


def test_a_variable_of_the_suite_or_of_its_dotenv_that_changes_grades_anew(mcptest: Run, folder: Folder) -> None:
    grades = """printf '{"verdict": "%s"}' "${LEVEL:-pass}" """
    row = {"name": "e", **OUTPUT}
    for env, dotenv, expected in (
        ({"LEVEL": "pass"}, "", "PASS"),
        ({"LEVEL": "fail"}, "", "FAIL"),
        ({}, "LEVEL=inconclusive\n", "INCONC"),
        ({}, "LEVEL=fail\nOTHER=1\n", "FAIL"),
    ):
        (folder.path / ".env").write_text(dotenv)
        folder.suite({"s": grades}, row, env=env)
        first, again = mcptest("eval", "--cache").stdout, mcptest("eval", "--cache").stdout
        assert first.startswith(f"{expected} [exec] e: cost=$0.0000"), first
        assert "(cached)" not in first
        assert "(cached)" in again
    assert folder.asked("s") == 4


def test_what_a_retried_row_cost_is_what_all_its_attempts_did(mcptest: Run, folder: Folder) -> None:
    """Passing after a failure is flaky; the same answer is graded again."""
    verdict = """[ "$(wc -l < twice.log)" -gt 1 ] && word=pass || word=fail; cat > /dev/null"""
    folder.suite(
        {"twice": f"""{verdict}; printf '{{"verdict": "%s", "cost_usd": 0.1}}' $word"""},
        {"name": "e", "prompt": "q", "call": {"tool": "counts"}, "retries": 2},
    )
    done = mcptest("eval", "--reporter", "json=run.json")
    (row,) = folder.record()["tests"]
    assert (done.returncode, row["flaky"], len(row["attempts"]), row["judgement"]["output"]) == (0, True, 2, "one")
    assert folder.record()["spending"]["scorers"] == [{"scorer": "twice", "calls": 1, "cost_usd": 0.2}]


@pytest.mark.parametrize("last", ["exit 3", "cat > /dev/null; echo no verdict"])
def test_what_an_attempt_cost_is_not_lost_when_the_next_gives_no_verdict(
    mcptest: Run, folder: Folder, last: str
) -> None:
    first = says("fail", cost_usd=0.1)
    folder.suite(
        {"twice": f'if [ "$(wc -l < twice.log)" -gt 1 ]; then {last}; else {first}; fi'}, {"name": "e", **OUTPUT}
    )
    done = mcptest("eval", "--retries", "1")
    assert done.stdout.startswith("ERROR [exec] e: cost=$0.1000 scorer `twice`")
    assert "Scorer cost: $0.1000" in done.stdout


def test_what_an_attempt_cost_is_not_lost_when_its_verdict_was_kept_for_the_next(mcptest: Run, folder: Folder) -> None:
    """Nobody is asked the same twice, and what was paid in this run was paid."""
    folder.suite({"no": says("fail", cost_usd=0.1)}, {"name": "e", **OUTPUT})
    done = mcptest("eval", "--retries", "1", "--cache")
    assert done.stdout.splitlines() == ["FAIL [exec] e: cost=$0.1000 scorer `no` said fail", "Scorer cost: $0.1000"]
    assert "cached" not in done.stderr
    assert folder.asked("no") == 1
    again = mcptest("eval", "--retries", "1", "--cache")
    assert "cost=$0.0000 (cached)" in again.stdout
    assert "Scorer cost: $0.0000" in again.stdout


def test_a_secret_of_the_environment_that_a_scorer_quotes_reaches_no_report(mcptest: Run, folder: Folder) -> None:
    """A scorer is given the whole environment, and what its platform's client prints in an error may hold the key."""
    tells = """cat > /dev/null; echo "bad key $PLATFORM_API_KEY" >&2; exit 1"""
    folder.suite(
        {
            "tells": tells,
            "says": """printf '{"verdict": "pass", "reasoning": "%s in %s"}' "$PLATFORM_API_KEY" "$PWD" """,
        },
        {"name": "e", **OUTPUT},
    )
    done = mcptest("eval", PLATFORM_API_KEY="no-known-prefix-1234")
    assert "  stderr: bad key [REDACTED]" in done.stdout
    assert f"e (says): cost=$0.0000 [REDACTED] in {folder.path}" in done.stdout
    (saved,) = (folder.path / ".mcptest" / "runs").iterdir()
    assert "no-known-prefix" not in saved.read_text()


def test_a_row_is_called_what_the_filter_takes(mcptest: Run, folder: Folder) -> None:
    folder.suite({"yes": says("pass"), "no": says("fail")}, {"name": "a", **OUTPUT})
    names = re.findall(r"^\w+ \[exec\] (.*?): ", mcptest("eval").stdout, re.MULTILINE)
    assert names == ["a (yes)", "a (no)"]
    assert mcptest("eval", "--filter", names[0]).stdout.startswith("PASS [exec] a (yes): ")
    assert folder.asked("no") == 1


def test_a_server_that_died_is_told_with_its_last_words_once_and_a_repro_each(mcptest: Run, folder: Folder) -> None:
    """Who failed stands in the brackets: no scorer was at fault."""
    suite = {"servers": {"lib": {"command": ["sh", "-c", "echo no library here >&2; exit 1"]}}}
    calls = {"prompt": "q", "rubric": "r", "call": {"server": "lib", "tool": "t"}}
    folder.suite({"one": says("pass"), "two": says("pass")}, {"name": "d", **calls}, **suite)
    done = mcptest("eval")
    assert done.returncode == 1
    errors = [line for line in done.stdout.splitlines() if line.startswith("ERROR ")]
    assert [line.partition(":")[0] for line in errors] == ["ERROR [server] d (one)", "ERROR [server] d (two)"]
    assert done.stdout.count("  stderr: no library here\n") == 1
    assert done.stdout.count('  repro: mcptest run --filter "d (') == 2


def test_an_eval_of_a_suite_without_any_says_so_and_a_misspelt_filter_gets_the_nearest_name(
    mcptest: Run, folder: Folder
) -> None:
    """Exit code 7 has a reason that helps."""
    folder.suite({"yes": says("pass")}, {"name": "dune found", **OUTPUT})
    missed = mcptest("eval", "--filter", "dune fuond")
    assert missed.returncode == 7
    assert "the selection matched none of 1 test; did you mean `dune found`?" in missed.stderr
    explained = mcptest("eval", "--explain", "--filter", "dune fuond")
    assert (explained.returncode, "did you mean `dune found`?" in explained.stderr) == (7, True)
    folder.suite({}, tools=[{"name": "t", "tool": "counts"}])
    none = mcptest("eval")
    assert none.returncode == 7
    assert "nothing in the suite is graded: it has no evals; `mcptest run` runs its 1 test" in none.stderr
    assert folder.asked("yes") == 0


def test_a_scorer_may_be_called_judge(mcptest: Run, folder: Folder) -> None:
    folder.suite({"judge": says("pass")}, {"name": "e", **OUTPUT})
    assert mcptest("eval").stdout.startswith("PASS [exec] e: ")


@pytest.mark.parametrize("flags", [("--max-cost", "nan"), ("--cost-baseline", "x.json", "--cost-tolerance", "nan")])
def test_a_cap_that_is_no_number_is_refused(mcptest: Run, folder: Folder, flags: tuple[str, ...]) -> None:
    folder.suite({"good": says("pass")}, {"name": "e", **OUTPUT})
    done = mcptest("run", *flags)
    assert (done.returncode, folder.asked("good")) == (2, 0)
    assert "nan is not a number" in done.stderr


def test_a_plan_tells_what_no_model_will_answer(mcptest: Run, folder: Folder) -> None:
    folder.suite({"good": says("pass")}, {"name": "e", "prompt": "Summarize.", "rubric": "short"})
    done = mcptest("eval", "--explain")
    assert "  scorer  good (exec): ./good.sh\n          deferred: no model provider" in done.stdout
    assert "total: 0 calls of scorers, 0 calls of judges\n" in done.stdout
    with_key = mcptest("eval", "--explain", OPENAI_API_KEY="sk-none")
    assert (
        "total: 1 call of scorers, 0 calls of judges, 1 conversation with models in at most 10 turns\n"
        in with_key.stdout
    )


def test_a_plan_starts_nothing_and_asks_nobody(mcptest: Run, folder: Folder) -> None:
    """Without spending a token."""
    folder.suite(
        {"good": says("pass")},
        {"name": "e", **OUTPUT},
        {
            "name": "judged",
            "prompt": "q",
            "call": {"tool": "counts"},
            "rubric": {"criteria": [{"name": "brief", "weight": 2}, {"name": "kind"}]},
            "threshold": 0.8,
            "scorers": [],
            "judge": {"model": "gpt-5-mini", "jury": 3},
        },
        servers={"mock": {"command": ["no-such-server"]}},
        prices={"gpt-5-mini": {"input_usd_per_mtok": 1, "output_usd_per_mtok": 2}},
    )
    done = mcptest("eval", "--explain", OPENAI_API_KEY="sk-none")
    assert done.returncode == 0
    assert folder.asked("good") == 0
    assert "  scorer  good (exec): ./good.sh\n" in done.stdout
    assert "  rubric  brief (weight 2)\n          kind (weight 1)\n" in done.stdout
    assert "  judge   gpt-5-mini, a jury of 3; passes at 0.8\n  calls   3 calls, about " in done.stdout
    assert re.search(r"^total: 1 call of scorers, 3 calls of judges$", done.stdout, re.MULTILINE)
    as_json = json.loads(mcptest("eval", "--explain", "--reporter", "json").stdout)
    assert [one["test"] for one in as_json["gradings"]] == ["e", "judged"]
    assert as_json["gradings"][1]["deferred"].startswith("deferred: no model provider")


def test_a_plan_counts_the_jurors_that_can_be_asked(mcptest: Run, folder: Folder) -> None:
    judge = {"models": ["gpt-5-mini", "claude-a", "gpt-5"], "guarded": True}
    folder.suite({}, {"name": "judged", "output": "a", "rubric": "kind", "judge": judge})
    done = mcptest("eval", "--explain", OPENAI_API_KEY="sk-none")
    assert "  judge   gpt-5-mini, claude-a, gpt-5, a jury of 3, asked in both orders; passes at 0.7\n" in done.stdout
    assert re.search(r"^total: 0 calls of scorers, 4 calls of judges$", done.stdout, re.MULTILINE)
    (grading,) = json.loads(mcptest("eval", "--explain", "--reporter", "json").stdout)["gradings"]
    assert grading["judge"] == judge


def test_a_reference_to_a_variable_that_is_not_set_does_not_load(mcptest: Run, folder: Folder) -> None:
    """An unset reference is a load error."""
    entry = {"type": "exec", "command": ["true"], "env": {"KEY": "${NO_SUCH_KEY}"}}
    folder.suite({"s": entry}, {"name": "e", **OUTPUT})
    done = mcptest("eval")
    assert (done.returncode, done.stdout) == (2, "")
    assert "NO_SUCH_KEY" in done.stderr


def test_a_scorer_has_the_suites_env_and_dotenv_and_its_own_over_them(mcptest: Run, folder: Folder) -> None:
    """What is secret by its name is in no record."""
    tell = (
        """printf '{"verdict": "pass", "reasoning": "%s %s %s %s"}' "$FROM_FILE" "$FROM_SUITE" "$OUTSIDE" "$API_KEY" """
    )
    folder.suite({"s": tell}, {"name": "e", **OUTPUT}, env={"FROM_SUITE": "suite", "OUTSIDE": "suite"})
    text = (folder.path / "mcptest.yaml").read_text()
    own = text.replace("- name: s\n", "- name: s\n  env: {API_KEY: 'hunter2-hunter2', OUTSIDE: '${OUTSIDE} own'}\n")
    (folder.path / "mcptest.yaml").write_text(own)
    (folder.path / ".env").write_text("FROM_FILE=file\n")
    done = mcptest("eval", "--reporter", "json=run.json", OUTSIDE="outside")
    assert done.returncode == 0, done.stderr
    assert folder.record()["tests"][0]["judgement"]["reasoning"].startswith("file suite outside own ")
    assert "hunter2" not in (folder.path / "run.json").read_text()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_nothing_of_a_scorer_outlives_mcptest(
    mcptest_command: str, clean_environ: dict[str, str], folder: Folder, number: int
) -> None:
    """Kill -9 leaves nothing of a process group."""
    folder.suite({"slow": "trap '' TERM; echo $$ > pid.new; mv pid.new pid; sleep 300"}, {"name": "e", **OUTPUT})
    started = subprocess.Popen(
        [mcptest_command, "eval", "--reporter", "json=run.json"],
        cwd=folder.path,
        env=clean_environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until((folder.path / "pid").exists)
    pid = int((folder.path / "pid").read_text())
    os.kill(started.pid, number)
    started.wait(60)
    until(lambda: not is_running(pid))
    if number == signal.SIGINT:
        assert started.returncode == 130
        (row,) = folder.record()["tests"]
        assert row["verdict"] == "skip"
        assert row["message"].startswith("interrupted after ")
