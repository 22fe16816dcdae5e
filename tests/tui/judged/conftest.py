"""A suite of agent tests and evals in the workbench; the local endpoint is one provider, and the other is not set up."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.results import TestKind, TestResult, Verdict
from mcptest_engine.core.run_record import RunRecord, SuiteInfo
from mcptest_engine.workspace.ulid import new_ulid
from mcptest_engine.workspace.workspace import Workspace
from tests.servers.model_endpoint import Reply, Use

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers.model_endpoint import ModelEndpoint

SCORER = """\
import json, sys
asked = json.load(sys.stdin)
print(json.dumps({"verdict": "pass", "score": 0.9, "reasoning": "near enough", "cost_usd": 0.002, "distance": 3}))
"""
SUITE = f"""\
name: judged
servers:
  demo: {{ command: ["mcptest", "mock", "--preset", "demo"] }}
scorers:
  - {{ name: near, type: exec, command: [{json.dumps(sys.executable)}, -S, near.py] }}
  - {{ name: broken, type: exec, command: [{json.dumps(sys.executable)}, -S, -c, "import sys; sys.exit('no \\e[31mconfig')"] }}
run_options: {{ inconclusive: {{ on: true, min_trials: 3 }} }}

agents:
  - name: the weather is told
    server: demo
    models: [claude-sonnet-4-5, gpt-5.4]
    system_prompt: "Answer in one sentence."
    prompt: "How warm is it in Oslo?"
    expect:
      assertions:
        - {{ target: final_response, matcher: {{ contains: "19" }} }}
    trajectory: {{ mode: strict, calls: [get_weather] }}
    eval: {{ mcp_task_completion: {{ threshold: 0.8 }} }}
  - name: the status is looked up
    server: demo
    model: claude-sonnet-4-5
    prompt: "Is it working?"
    runs: 3
    tool_selection: {{ tool: status, min_rate: 0.6 }}
  - name: it goes wrong
    server: demo
    model: claude-unknown-9
    prompt: "Do everything"
    expect: {{ assertions: [{{ target: "tool_calls[1].is_error", matcher: {{ exact: false }} }}] }}

tools:
  - name: the status is clear
    tool: status
    expect:
      - target: "result.content[0].text"
        matcher: {{ llm-judge: {{ rubric: "Says whether it works.", threshold: 0.6 }} }}

evals:
  - name: a summary
    prompt: "Summarize the incident."
    output: "checkout-api failed"
    rubric: "names the service"
  - name: by criteria
    prompt: "Summarize the incident."
    output: "checkout-api failed after v2.3.1 was rolled out"
    scorers: []
    rubric: {{ criteria: [{{ name: names the service, weight: 2 }}, {{ name: brief }}] }}
  - name: by a tree
    prompt: "How is it?"
    output: "it works"
    scorers: []
    rubric: {{ tree: {{ ask: "Does it say whether it works?", no: {{ score: 0 }}, yes: {{ score: 1 }} }} }}
  - name: by a jury
    prompt: "How is it?"
    output: "fine"
    scorers: []
    judge: {{ jury: 3 }}
    rubric: "Is it helpful?"
"""
HOSTILE = "\x1b]0;title\x07\x1b[31mred [bold]x[/] \u202eevil"


@pytest.fixture
def judged(place: Path, models: ModelEndpoint, monkeypatch: pytest.MonkeyPatch) -> ModelEndpoint:
    """The suite in `place`; what the models say."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "MCPTEST_MODEL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in models.anthropic.items():
        monkeypatch.setenv(name, value)
    (place / "near.py").write_text(SCORER, encoding="utf-8")
    (place / "mcptest.yml").write_text(SUITE, encoding="utf-8")
    models.answer_with(answered)
    return models


def answered(question: Any) -> Reply:
    """What a model says: as a judge, else as an agent."""
    last = question.last
    if "# Form of your answer" in last:
        return Reply(json.dumps(grade(last)))
    if "How warm" in last:
        return Reply("I will look it up.", uses=[Use("get_weather", {"city": "Oslo"})])
    if "Is it working" in last:
        return Reply(uses=[Use("status", {})])
    if "everything" in last:
        return Reply(HOSTILE, uses=[Use("echo", {"text": HOSTILE}), Use("nothing_like_it", {"a": 1})])
    if "Count" in last or "number" in last:
        return Reply("One more.", uses=[Use("echo", {"text": f"number {len(question.body['messages'])}"})])
    return Reply("It is 19 degrees in Oslo.")


def grade(asked: str) -> dict[str, Any]:
    """A grade in the requested form."""
    form = asked.rpartition("# Form of your answer")[2]
    if '"grades"' in form:
        reasons = ("It is named at once.", f"{HOSTILE} it is not")
        grades = [
            {"criterion": at, "reasoning": reasons[at - 1], "score": score} for at, score in enumerate((1, 0.5), 1)
        ]
        return {"grades": grades}
    return {"reasoning": "It is put plainly.", "score": 0.9}


def write_record(place: Path, name: str, trace: dict[str, Any]) -> None:
    """A run of an earlier session, in which the agent test of this id passed."""
    test = TestResult(
        id=name,
        name=name.rpartition("::")[2],
        kind=TestKind.AGENT,
        server="demo",
        verdict=Verdict.PASS,
        duration_ms=1.0,
        started_offset_ms=0.0,
        file="mcptest.yml",
        line=4,
        trace=trace,
    )
    record = RunRecord(
        run_id=new_ulid(),
        mcptest_version="1",
        started_at="2026-01-01T00:00:00Z",
        duration_ms=1.0,
        verdict=Verdict.PASS,
        suite=SuiteInfo(name="long", path="mcptest.yml", sha256="0" * 64),
        source={},
        environment={},
        servers=(),
        tests=(),
    )
    Workspace(place).save_run(record.with_tests((test,)).to_json())
