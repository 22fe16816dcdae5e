"""What a kind of test needs to be known everywhere. Whoever adds one is told here what is missing."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.core.enums import TestKind
from mcptest_engine.running.cases import Check, Request
from mcptest_engine.running.documents import document_of
from mcptest_engine.running.kinds.agent.plan import AgentProgram
from mcptest_engine.running.kinds.composition.plan import Row
from mcptest_engine.running.kinds.eval.plan import EvalRow, MetricRow
from mcptest_engine.running.launch import needed_servers, open_pool
from mcptest_engine.running.plan import make_plan
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.suite.completion import complete
from mcptest_engine.suite.load import LoadOptions, check_text

if TYPE_CHECKING:
    from mcptest_engine.judging.scorers.juries import Providers

ROOT = Path(__file__).parents[2]
SAMPLES: dict[TestKind, tuple[type, dict[str, object]]] = {
    TestKind.TOOL: (Request, {"tool": "add", "server": "s", "outcome": "success"}),
    TestKind.RESOURCE: (Request, {"uri": "file:///a", "server": "s", "outcome": "success"}),
    TestKind.PROMPT: (Request, {"prompt": "p", "server": "s", "outcome": "success"}),
    TestKind.COMPLIANCE: (Check, {"check": "ping", "server": "s"}),
    TestKind.COMPOSITION: (Row, {"nodes": [{"id": "n", "tool": "add"}], "eval": {"rubric": "good"}}),
    TestKind.AGENT: (AgentProgram, {"server": "s", "prompt": "hi"}),
    TestKind.EVAL: (EvalRow, {"call": {"tool": "add", "server": "s"}, "prompt": "hi", "rubric": "good"}),
}
"""Of each kind what its body is, and an entry of a suite."""


class AllModels:
    """Every model can be asked."""

    def chosen(self, model: str | None, *, judging: bool) -> str | None:
        return model or ("judge" if judging else "model")

    def missing(self, model: str | None) -> str | None:
        return None if model else "no model"


@pytest.mark.parametrize("kind", TestKind)
def test_each_kind_of_test_is_known_everywhere(kind: TestKind, tmp_path: Path) -> None:
    """In the language, the checks, the plan, the start of servers, the workbench's list and completion, and the docs."""
    if kind.may_ask_models:
        pytest.importorskip("openai")  # the model is one that can be asked
    assert kind in SAMPLES, "add an entry of a suite to SAMPLES"
    body_type, entry = SAMPLES[kind]
    text = json.dumps({"servers": {"s": {"command": ["true"]}}, kind.block: [{"name": "a", **entry}]}, indent=1)
    nowhere = Path("/nowhere")
    checked = check_text(text, LoadOptions(environ={}, workspace_root=nowhere), name="s.yml", base_dir=nowhere)
    assert checked.suite is not None, f"`suite/model/` or `suite/checks.py`: {checked.problems}"
    cases = make_plan(checked.suite, RunSettings(), relative=str).cases
    assert [type(case.body) for case in cases] == [body_type, *([MetricRow] if "eval" in entry else [])]
    assert cases[0].kind is kind
    providers: Providers = AllModels()
    for case in cases:
        body = case.body
        assert body.call_text(case)
        json.dumps([body.list_members(case), body.request_key(case)])
        assert isinstance(body.may_change_state(case), bool)
        assert type(body.for_repeat(2)) is type(body)
        assert body.deferral_reason(providers) is None
    settings = RunSettings(environ={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "MCPTEST_MODEL": "m"})
    pool = open_pool(checked.suite, settings)
    assert needed_servers(checked.suite, settings, pool) == ("s",), "`running/launch.py`"
    document = document_of(tmp_path / "s.yml", text, start_dir=tmp_path, environ={})
    assert [(test.kind, test.block, test.name) for test in document.tests] == [
        (case.kind.value, kind.block, case.name) for case in cases
    ]
    assert kind.block in {offer.label for offer in complete("\n", 1, 1).items}, "`suite/model/suite.py`"
    assert f"`{kind.block}`" in (ROOT / "docs" / "reference" / "suite.md").read_text(encoding="utf-8")


def test_what_holds_for_several_kinds_is_said_by_the_kinds() -> None:
    """`kind in (TestKind.A, TestKind.B)` would be one more place to look at for a new kind: a member of `TestKind` says it."""
    found = []
    for path in (ROOT / "mcptest_engine").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "TestKind" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Tuple, ast.Set, ast.List)):
                kinds = [
                    one for one in node.elts if isinstance(one, ast.Attribute) and ast.unparse(one.value) == "TestKind"
                ]
                found += [f"{path.relative_to(ROOT)}:{node.lineno}"] * (len(kinds) > 1)
    assert found == []
