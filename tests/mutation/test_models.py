"""Agent tests and judged assertions are mutated from a recording: no model is asked."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.core.redaction import Redactor
from mcptest_engine.mutation.recording import record_answers
from mcptest_engine.mutation.replay import Options, Status, replay_for
from mcptest_engine.mutation.report import to_json
from mcptest_engine.running.launch import launch
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.suite.load import LoadOptions, load_suite
from mcptest_engine.workspace.workspace import Workspace
from tests.servers.model_endpoint import Reply, Use

if TYPE_CHECKING:
    from tests.servers.model_endpoint import ModelEndpoint

SHOP = json.dumps([sys.executable, "-S", str(Path(__file__).parent.parent / "servers" / "shop.py")])
SUITE = f"""\
servers: {{ shop: {{ command: {SHOP} }} }}
agents:
  - name: asks for the price
    prompt: How much is tea?
    expect:
      - {{ target: tool_names, matcher: {{ contains: price }} }}
      - {{ target: final_response, matcher: {{ contains: "30" }} }}
tools:
  - name: a judged list
    tool: orders
    expect:
      - {{ target: "result.content[0].text", matcher: {{ llm-judge: {{ rubric: Names two orders., threshold: 0.5 }} }} }}
"""


def test_a_recorded_agent_and_a_recorded_verdict_are_mutated_without_a_model(
    models: ModelEndpoint, tmp_path: Path
) -> None:
    """A mutant that leaves the judged value alone is decided by the recorded verdict; any other is undecided."""
    path, workspace = tmp_path / "mcptest.yml", Workspace(tmp_path)
    path.write_text(SUITE)
    suite = load_suite(path, LoadOptions(environ=dict(os.environ), workspace_root=tmp_path))
    models.when("Names two orders.", json.dumps({"score": 0.9, "reason": "two are named"}))
    models.answers(Reply(uses=[Use("price", {"item": "tea"})]), "Tea costs 30 EUR.")
    environ = {"PATH": os.environ["PATH"], **models.environ}
    settings = RunSettings(environ=environ, record="shop", workers=1)
    record = asyncio.run(launch(suite, settings, workspace=workspace, emit=lambda _event: None))
    assert [test.verdict for test in record.tests] == ["pass", "pass"], [test.message for test in record.tests]
    asked = len(models.questions)
    recording = asyncio.run(
        record_answers(
            suite,
            RunSettings(environ={"PATH": os.environ["PATH"]}),
            workspace=workspace,
            emit=lambda _event: None,
            cassettes=("shop",),
        )
    )
    assert recording is not None
    mutated = replay_for(suite, workspace, Options(), redactor=Redactor()).run(recording)
    assert len(models.questions) == asked
    agent, judged = mutated.tests
    by_path = {(one.change.operator, one.change.path): one for one in agent.mutants}
    assert by_path["drop-last-item", ("tool_calls",)].status is Status.KILLED
    assert by_path["number-plus-one", ("final_response",)].status is Status.KILLED
    assert by_path["empty-text", ("tool_calls", 0, "args", "item")].status is Status.SURVIVED
    statuses = {one.change.operator: one.status for one in judged.mutants}
    assert statuses["flip-is-error"] is Status.KILLED
    assert statuses["number-plus-one"] is Status.UNDECIDED
    report = to_json(mutated, suite="mcptest.yml", redact=lambda value: value)
    assert report["undecided"] > 0
    assert report["left_out"] == []
