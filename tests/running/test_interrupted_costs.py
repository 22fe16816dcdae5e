"""What was paid for before a run was interrupted stands in its record, whichever attempt or run of a test it was for."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.costs import Spending
from mcptest_engine.running.launch import launch
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.suite.load import LoadOptions, load_suite
from mcptest_engine.workspace.workspace import Workspace
from tests.conftest import SERVERS
from tests.servers.model_endpoint import Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from mcptest_engine.core.run_record import RunRecord
    from tests.servers.model_endpoint import ModelEndpoint

ECHO = {"command": [sys.executable, "-S", str(SERVERS / "echo.py")]}
PRICES = {"*": {"input_usd_per_mtok": 1, "output_usd_per_mtok": 5}}
JUDGED = {"name": "e", "output": "a", "rubric": "kind", "retries": 1}


@pytest.fixture
def interrupted(tmp_path: Path, models: ModelEndpoint) -> Callable[..., RunRecord]:
    """The record of a run that is interrupted as soon as `when` comes back."""

    def running(suite: dict[str, Any], when: Callable[[], Awaitable[object]]) -> RunRecord:
        path = tmp_path / "mcptest.yml"
        path.write_text(json.dumps({"prices": PRICES, "servers": {"s": ECHO}, **suite}))
        environ = {"PATH": os.environ["PATH"], **models.environ}
        loaded = load_suite(path, LoadOptions(environ=environ, workspace_root=tmp_path))

        async def launched() -> RunRecord:
            asked = launch(
                loaded, RunSettings(environ=environ), workspace=Workspace(tmp_path), emit=lambda _event: None
            )
            task = asyncio.create_task(asked)
            async with asyncio.timeout(180):
                await when()
                task.cancel()
                return await task

        return asyncio.run(launched())

    return running


def spending(record: RunRecord) -> Spending:
    assert record.interrupted
    found = Spending.of(record.tests)
    assert found is not None
    return found


def test_a_retried_row_keeps_what_its_scorer_was_paid(interrupted: Callable[..., RunRecord], tmp_path: Path) -> None:
    waiting = tmp_path / "waiting"
    os.mkfifo(waiting)
    script = tmp_path / "scorer"
    again = f'if [ -e "$0.once" ]; then echo > {waiting}; sleep 60; fi; touch "$0.once"'
    script.write_text(f'#!/bin/sh\n{again}\necho \'{{"verdict": "fail", "cost_usd": 0.25}}\'\n')
    script.chmod(0o755)
    scorer = {"name": "x", "type": "exec", "command": [str(script)]}
    record = interrupted({"scorers": [scorer], "evals": [JUDGED]}, lambda: asyncio.to_thread(waiting.read_text))
    assert spending(record).scorers == ({"scorer": "x", "calls": 1, "cost_usd": 0.25},)
    (test,) = record.tests
    assert test.verdict.value == "skip"
    assert (test.message or "").startswith("interrupted after ")


def test_a_retried_row_keeps_what_its_judge_cost(interrupted: Callable[..., RunRecord], models: ModelEndpoint) -> None:
    models.answers(json.dumps({"reasoning": "no", "score": 0.1}), Reply("", fault="hang"))
    suite = {"judge": {"model": "claude-test"}, "evals": [JUDGED]}
    record = interrupted(suite, lambda: models.until(lambda: len(models.questions) == 2))
    (row,) = spending(record).models
    assert (row["model"], row["calls"]) == ("claude-test", 1)
    assert row["cost_usd"] > 0


def test_the_answer_that_a_judge_was_about_to_grade_is_kept(
    interrupted: Callable[..., RunRecord], models: ModelEndpoint
) -> None:
    models.answers("hello", Reply("", fault="hang"))
    asked = {"name": "e", "prompt": "greet", "model": "claude-test", "rubric": "kind", "judge": {"model": "claude-j"}}
    record = interrupted({"evals": [asked]}, lambda: models.until(lambda: len(models.questions) == 2))
    assert [row["model"] for row in spending(record).models] == ["claude-test"]


def test_what_a_composition_did_is_kept_when_its_judge_is_still_asked(
    interrupted: Callable[..., RunRecord], models: ModelEndpoint
) -> None:
    models.answers(Reply("", fault="hang"))
    node = {"id": "a", "tool": "echo", "args": {"text": "x"}}
    expect = [{"target": "output", "matcher": {"llm-judge": {"rubric": "x"}}}]
    suite = {"judge": {"model": "claude-j"}, "compositions": [{"name": "c", "nodes": [node], "expect": expect}]}
    record = interrupted(suite, lambda: models.until(lambda: len(models.questions) == 1))
    (test,) = record.tests
    assert (test.verdict.value, test.message) == ("skip", "interrupted")
    assert test.trace is not None
    assert test.trace["nodes"]["a"]["status"] == "ok"


def test_the_trials_of_a_test_are_all_added_up(interrupted: Callable[..., RunRecord], models: ModelEndpoint) -> None:
    models.answers("one", "two", "three", *[Reply("", fault="hang")] * 4)
    suite = {
        "run_options": {"inconclusive": {"on": True}},
        "agents": [{"name": "a", "prompt": "greet", "model": "claude-test", "runs": 7}],
    }
    record = interrupted(suite, lambda: models.until(lambda: len(models.questions) == 7))
    (row,) = spending(record).models
    assert row["calls"] == 3
