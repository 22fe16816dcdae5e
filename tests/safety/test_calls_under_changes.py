"""Over random catalogs, annotations and changes of the list no command calls a tool outside its row of the page on safety.

The rule is written out here again, from the table: it asks the code only for the class that a name suggests.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from mcptest_engine.authoring.propose import propose
from mcptest_engine.authoring.scaffold import ScaffoldOptions, scaffold_suite
from mcptest_engine.authoring.targets import Target
from mcptest_engine.core.errors import McptestError
from mcptest_engine.running.launch import launch
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.safety.execution_policy import ExecutionPolicy
from mcptest_engine.safety.tool_classes import ToolClass, classify
from mcptest_engine.servers.catalog import Catalog
from mcptest_engine.servers.gate import Gate
from mcptest_engine.suite.load import LoadOptions, check_text
from mcptest_engine.workspace.workspace import Workspace
from tests.authoring.scripts import SERVER, Scripted
from tests.servers.model_endpoint import Reply, Use

if TYPE_CHECKING:
    from tests.servers.model_endpoint import ModelEndpoint

NAMES = ("look", "read_x", "create_x", "delete_x", "d\u0435lete_x", "truncate_x", "gadget")
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
ANNOTATIONS = (
    st.just({"readOnlyHint": True})
    | st.none()
    | st.dictionaries(st.sampled_from(HINTS), st.booleans() | st.sampled_from(["yes", None, 1]), max_size=3)
)
Tools = list[dict[str, Any]]
Script = dict[str, Any]


@st.composite
def catalogs(draw: st.DrawFn) -> Tools:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))
    made = []
    for name in names:
        hints = draw(ANNOTATIONS)
        made.append(
            {"name": name, "inputSchema": {"type": "object"}, **({} if hints is None else {"annotations": hints})}
        )
    return made


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """What a server lists, and what it lists instead after some calls of some tools."""
    answers: dict[str, list[dict[str, Any]]] = {}
    for name in NAMES:
        steps: list[dict[str, Any]] = [{"result": {"content": []}} for _ in range(4)]
        if draw(st.integers(0, 3)):
            steps[draw(st.integers(0, 2))]["list"] = draw(catalogs())
        answers[name] = steps
    return {"tools": draw(catalogs()), "answers": answers}


def declares(tools: Tools, name: str) -> bool:
    """Whether every tool of this name says that it only reads, in annotations that are sound."""
    own = [tool.get("annotations") or {} for tool in tools if tool["name"] == name]
    return bool(own) and all(
        hints.get("readOnlyHint") is True and all(isinstance(hints.get(hint), (bool, type(None))) for hint in HINTS)
        for hints in own
    )


def class_of(tools: Tools, name: str) -> ToolClass:
    return max((classify(tool) for tool in tools if tool["name"] == name), key=lambda one: one.severity)


def listed_at_each_call(script: Script, called: list[str]) -> list[tuple[str, Tools]]:
    """Each call with the list that the server had last announced when it came."""
    tools, counts, found = script["tools"], dict.fromkeys(NAMES, 0), []
    for name in called:
        found.append((name, tools))
        steps = script["answers"][name]
        tools = steps[min(counts[name], len(steps) - 1)].get("list", tools)
        counts[name] += 1
    return found


def assert_in_the_row(name: str, tools: Tools, before: list[str], policy: ExecutionPolicy) -> None:
    """Of one call: whether the table allows it, after the calls `before`."""
    assert any(tool["name"] == name for tool in tools), "a tool that is not listed was called"
    if declares(tools, name):
        return
    tool_class, is_named = class_of(tools, name), not policy.declared_only or name in policy.allowed
    if tool_class is ToolClass.READ_ONLY_PRESUMED:
        assert is_named or policy.presumed
        return
    assert tool_class is not ToolClass.READ_ONLY
    assert is_named
    assert name not in before, "what changes something was called twice"
    assert tool_class is ToolClass.MUTATING or policy.execute_destructive


POLICIES = st.builds(
    ExecutionPolicy,
    declared_only=st.just(True),
    presumed=st.booleans(),
    allowed=st.frozensets(st.sampled_from(NAMES), max_size=2),
    execute_destructive=st.booleans(),
    concurrency=st.just(1),
)


@settings(max_examples=15)
@given(scripts(), st.booleans())
def test_propose_calls_no_tool_outside_its_row(script: Script, destructive: bool) -> None:
    policy = ExecutionPolicy(execute_destructive=destructive)
    with tempfile.TemporaryDirectory() as folder:
        server = Scripted(Path(folder), script["tools"], script["answers"])

        async def work(session: Any) -> None:
            for tool in dict.fromkeys(one["name"] for one in script["tools"]):
                gate = Gate(policy)
                try:
                    await propose(session, tool, {}, gate=gate, server_key="target", timeout_seconds=30)
                except McptestError:
                    assert gate.budget.made <= 1

        server.use(work)
        by_tool: dict[str, list[str]] = {}
        for name, tools in listed_at_each_call(script, server.called):
            assert_in_the_row(name, tools, by_tool.setdefault(name, []), policy)
            by_tool[name].append(name)
            assert len(by_tool[name]) <= 2


NAMED = st.lists(st.sampled_from((*NAMES, "*_x", "d*")), max_size=2)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    scripts(),
    st.fixed_dictionaries({}, optional={"allow": NAMED, "deny": NAMED, "dry": NAMED}),
    st.lists(st.sampled_from(NAMES), max_size=6),
)
def test_a_model_has_no_tool_executed_outside_its_row(
    models: ModelEndpoint, script: Script, lists: dict[str, list[str]], wanted: list[str]
) -> None:
    models.reset()
    models.answers(*(Reply(uses=[Use(name)]) for name in wanted), "done")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = Scripted(folder, script["tools"], script["answers"])
        case = {"name": "a", "model": "gpt-5.4", "prompt": "go", **({"tools": lists} if lists else {})}
        suite = json.dumps({"servers": {"s": {"command": server.argv}}, "agents": [case]})
        found = check_text(suite, LoadOptions(environ={}, workspace_root=folder), name="mcptest.yml", base_dir=folder)
        if found.suite is None:
            reject()  # a tool is in two of the lists
        asked = RunSettings(environ={"PATH": os.environ["PATH"], **models.environ})
        record = asyncio.run(launch(found.suite, asked, workspace=Workspace(folder), emit=lambda _: None))

        def is_in(key: str, name: str) -> bool:
            return any(fnmatchcase(name, pattern) for pattern in lists.get(key, ()))

        for name, tools in listed_at_each_call(script, server.called):
            assert any(tool["name"] == name for tool in tools), "a tool that is not listed was called"
            assert not is_in("deny", name)
            assert not is_in("dry", name)
            if not is_in("allow", name) and not declares(tools, name):
                assert "allow" not in lists
                assert class_of(tools, name) is not ToolClass.DESTRUCTIVE
        executed = sum(row.count for row in record.effects.calls if row.decision == "executed") if record.effects else 0
        assert executed == len(server.called)


@settings(max_examples=20)
@given(catalogs() | st.none(), scripts(), POLICIES)
def test_init_calls_no_tool_outside_its_row_whatever_the_process_that_runs_lists(
    first: Tools | None, script: Script, policy: ExecutionPolicy
) -> None:
    """The suite is written from one list, the process that runs has the same (None) or another, and it changes meanwhile."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "script.json").write_text(json.dumps(script))
        diary = folder / "diary"
        argv = [sys.executable, "-S", str(SERVER), str(folder / "script.json"), str(diary)]
        catalog = Catalog(tools=tuple(script["tools"] if first is None else first), capabilities={"tools": {}})
        suite = scaffold_suite(
            catalog, Target(settings={"command": argv}), ScaffoldOptions(policy=policy, all=True)
        ).suite
        path = folder / "mcptest.yml"
        path.write_text(suite)
        loaded = check_text(
            suite, LoadOptions(environ=dict(os.environ), workspace_root=folder), name=path.name, base_dir=folder
        ).suite
        assert loaded is not None
        workspace = Workspace(folder)
        run = launch(loaded, RunSettings(workers=1, policy=policy), workspace=workspace, emit=lambda _: None)
        asyncio.run(run)
        called = diary.read_text().split() if diary.exists() else []
        for at, (tool, tools) in enumerate(listed_at_each_call(script, called)):
            assert_in_the_row(tool, tools, called[:at], policy)
