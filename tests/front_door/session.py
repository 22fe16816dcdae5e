"""A scripted agent: a session of the real MCP server in which one test is weakened, one skipped, and one bug corrected."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.tui.agents.working import agent

if TYPE_CHECKING:
    from pathlib import Path

SERVER = """
import json, sys

ADD, SUB = 1, 1  # what is wrong with each
for line in sys.stdin:
    message = json.loads(line)
    params = message.get("params") or {}
    if "id" not in message:
        continue
    match message["method"]:
        case "initialize":
            info = {"name": "calc", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            about = {"inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
            result = {"tools": [{"name": name, **about} for name in ("add", "sub", "mul", "pow")]}
        case _:
            a, b = params["arguments"]["a"], params["arguments"]["b"]
            value = {"add": a + b + ADD, "sub": a - b + SUB, "mul": a * b + 1}[params["name"]]
            result = {"content": [{"type": "text", "text": str(value)}], "structuredContent": {"value": value}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


class Session(NamedTuple):
    """The answers of the agent's runs in order, and what `list_runs` says of them at the end."""

    answers: list[dict[str, Any]]
    listed: list[dict[str, Any]]

    @property
    def last(self) -> str:
        return str(self.answers[-1]["run_id"])


def suite(**changes: dict[str, Any]) -> str:
    """The agent's suite; `changes` are members of tests by their tool."""
    tests = []
    for tool, right in (("add", 5), ("sub", 1), ("mul", 6)):
        expect = [{"target": "result.structuredContent.value", "matcher": {"exact": right}}]
        test = {"name": f"{tool} of 3 and 2", "tool": tool, "args": {"a": 3, "b": 2}, "expect": expect}
        tests.append({**test, **changes.get(tool, {})})
    return json.dumps({"servers": {"calc": {"command": [sys.executable, "-S", "calc.py"]}}, "tools": tests})


def weaken(folder: Path) -> Session:
    """Let the agent work in `folder`: `add` is weakened, `mul` skipped, the server's `sub` corrected."""
    program, answers = folder / "calc.py", []
    program.write_text(SERVER, encoding="utf-8")
    (folder / ".mcptest").mkdir(exist_ok=True)
    any_number = {"expect": [{"target": "result.structuredContent.value", "matcher": {"type": "number"}}]}
    with agent(folder, "--enable-writes") as door:
        answers.append(door.call("run_tool_test", suite=suite()))
        answers.append(door.call("run_tool_test", suite=suite(add=any_number)))
        program.write_text(SERVER.replace("ADD, SUB = 1, 1", "ADD, SUB = 1, 0"), encoding="utf-8")
        answers.append(door.call("run_tool_test", suite=suite(add=any_number)))
        (folder / "calc.yml").write_text(suite(add=any_number, mul={"skip": "later"}), encoding="utf-8")
        answers.append(door.call("trigger_run", config="calc.yml"))
        return Session(answers, door.call("list_runs")["runs"])
