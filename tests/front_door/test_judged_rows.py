"""What a scorer says, as a coding agent reads it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from tests.conftest import SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    OpenDoor = Callable[..., Any]


def test_graded_rows_are_told_like_other_tests(open_door: OpenDoor, tmp_path: Path) -> None:
    """A failure says what the scorer said, or that it gave no verdict; what was graded is the actual value."""
    verdict = json.dumps({"verdict": "fail", "reasoning": "misses the tag", "cost_usd": 0.01})
    commands = {"no": ["echo", verdict], "broken": ["sh", "-c", "echo no key >&2; exit 3"]}
    suite = {
        "servers": {"none": {"command": ["true"]}},
        "scorers": [{"name": name, "type": "exec", "command": command} for name, command in commands.items()],
        "evals": [{"name": "summary", "prompt": "q", "output": "checkout failed", "rubric": "names the tag"}],
    }
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite))
    answer = open_door("--enable-writes").call("trigger_run")
    assert [(row["name"], row["verdict"]) for row in answer["results"]] == [
        ("summary (no)", "fail"),
        ("summary (broken)", "fail"),
    ]
    no, broken = answer["failures"]
    assert (no["assert"], no["actual"]) == ("scorer `no` said fail: misses the tag", "checkout failed")
    assert broken["assert"].startswith("scorer `broken` exited with 3")
    assert broken["actual"] == "stderr: no key"
    assert no["repro"] == 'mcptest run --filter "summary (no)"'
    assert answer["spending"]["cost_usd"] == 0.01


def test_what_was_not_decided_tells_its_reason_and_a_note_that_nothing_was(open_door: OpenDoor, tmp_path: Path) -> None:
    """The verdict mirrors the exit code, so an agent would take ten deferred tests for ten that passed."""
    agent = {"name": "a", "model": "gpt-5.4", "prompt": "hi", "expect": [{"target": "turns", "matcher": {"exact": 1}}]}
    suite = {"servers": {"none": {"command": ["true"]}}, "agents": [agent]}
    answer = open_door("--enable-writes").call("run_tool_test", suite=json.dumps(suite))
    assert (answer["verdict"], answer["inconclusive"], answer["failures"]) == ("pass", 1, [])
    (row,) = answer["results"]
    assert row["reason"].startswith("deferred: no model provider")
    assert answer["notes"][0] == f"nothing was checked: 1 test inconclusive: {row['reason']}"


def test_validate_suite_tells_warnings_beside_errors(open_door: OpenDoor) -> None:
    """As `mcptest validate` does: a threshold that does nothing is no error."""
    suite = {
        "servers": {"none": {"command": ["true"]}},
        "scorers": [{"name": "s", "type": "exce", "command": ["true"]}],
        "evals": [{"name": "e", "prompt": "q", "output": "o", "rubric": "r"}],
    }
    answer = open_door().call("validate_suite", suite=json.dumps(suite))
    assert (answer["valid"], answer["errors"]) == (True, [])
    (warning,) = answer["warnings"]
    assert warning["path"].startswith("/scorers/0")
    assert "exce" in warning["message"]


def test_a_run_takes_a_cap_and_models(open_door: OpenDoor, tmp_path: Path) -> None:
    """As `--max-cost` and `--models` do at the command line: a paid run is nothing to begin without them."""
    spends = json.dumps({"verdict": "pass", "cost_usd": 0.05})
    suite = {
        "servers": {"none": {"command": ["true"]}},
        "scorers": [{"name": "s", "type": "exec", "command": ["echo", spends]}],
        "evals": [{"name": name, "prompt": "q", "output": name, "rubric": "r"} for name in "ab"],
        "agents": [{"name": "talks", "prompt": "hi", "expect": [{"target": "turns", "matcher": {"exact": 1}}]}],
    }
    door = open_door("--enable-writes")
    answer = door.call("run_tool_test", suite=json.dumps(suite), max_cost_usd=0.01, models=["gpt-one", "gpt-two"])
    assert {"talks [gpt-one]", "talks [gpt-two]"} < {row["name"] for row in answer["results"]}
    skipped = [row for row in answer["results"] if row["verdict"] == "skip"]
    assert answer["verdict"] == "fail"
    assert len(skipped) == 1
    assert "max-cost" in skipped[0]["reason"]
    assert "max_cost_usd" in door.refused("trigger_run", max_cost_usd=0)
    assert "models" in door.refused("trigger_run", models="gpt-one")


def test_a_row_that_the_cap_leaves_no_money_for_has_called_nothing(open_door: OpenDoor, tmp_path: Path) -> None:
    """`max_cost_usd` is reserved from like `--max-cost`."""
    book = tmp_path / "book"
    bank = {"command": [sys.executable, "-S", str(SERVERS / "ledger.py"), str(book)]}
    dear = {"name": "dear", "type": "exec", "command": ["echo", json.dumps({"verdict": "pass", "cost_usd": 1})]}
    call = {"prompt": "q", "rubric": "r", "serial": False, "call": {"tool": "transfer", "args": {"amount": 1}}}
    suite = {"servers": {"bank": bank}, "scorers": [dear], "evals": [{"name": f"e{at}", **call} for at in range(5)]}
    answer = open_door("--enable-writes").call("run_tool_test", suite=json.dumps(suite), max_cost_usd=1)
    reasons = [row["reason"] for row in answer["results"] if row["verdict"] == "skip"]
    assert reasons == ["not run: --max-cost 1 USD is spent"] * 4
    assert len(json.loads(book.read_text())) == 1
