"""The figure of agent tests: what a turn of the loop costs over the SDK that asks the model.

As a program it measures both against a local endpoint and prints {"ours", "bare"}: milliseconds of its CPU a turn, which other
work on the machine changes little. The endpoint and the server are processes of their own.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.bench.run import Bench

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MODEL = "claude-sonnet-5-5"
TURNS, ROUNDS = 60, 5
PROMPT = "go on"
SHED = ROOT / "tests" / "servers" / "toolshed.py"
NAMES = (
    "say",
    "meet",
    "picture",
    "record",
    "both",
    "nothing",
    "long",
    "refuse",
    "reject",
    "hang",
    "die",
    "odd_name_here",
)
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS: list[Any] = [{"name": name, "description": "", "input_schema": SCHEMA} for name in NAMES]


def agent_turns(bench: Bench) -> Iterator[Any]:
    from tests.bench.rows import Row

    told = subprocess.run(
        [sys.executable, str(HERE / "agents.py")], cwd=bench.directory, capture_output=True, text=True, check=True
    )
    found = json.loads(told.stdout)
    note = "CPU time; floor: the SDK alone, without a server"
    yield Row(what="a turn of an agent", measured=found["ours"], floor=found["bare"], most=1.3, note=note)


SECTIONS = (agent_turns,)


async def bare(turns: int) -> None:
    """The loop that whoever has the SDK would write."""
    from anthropic import AsyncAnthropic

    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    async with AsyncAnthropic(max_retries=0) as client:
        for _ in range(turns):
            async with client.messages.stream(model=MODEL, max_tokens=8192, messages=messages, tools=TOOLS) as stream:
                message = await stream.get_final_message()
            messages.append({"role": "assistant", "content": [block.model_dump() for block in message.content]})
            messages.append(
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": block.id, "content": "hello"}
                        for block in message.content
                        if block.type == "tool_use"
                    ],
                }
            )


async def ours(turns: int, place: Path) -> None:
    """A run of a suite with one agent test of so many turns."""
    from mcptest_engine.running.launch import launch
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadOptions, load_suite
    from mcptest_engine.workspace.workspace import Workspace

    command = [sys.executable, str(SHED)]
    expect = [{"target": "turns", "matcher": {"exact": turns}}]
    agent = {"name": "turns", "model": MODEL, "prompt": PROMPT, "max_turns": turns, "expect": expect}
    path = place / "agents.yml"
    path.write_text(json.dumps({"servers": {"bench": {"command": command}}, "agents": [agent]}), encoding="utf-8")
    suite = load_suite(path, LoadOptions(variables={}, environ={}, workspace_root=place))
    record = await launch(suite, RunSettings(), workspace=Workspace(place), emit=lambda _event: None)
    assert [test.verdict.value for test in record.tests] == ["pass"], record.tests[0].message


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / ".mcptest").mkdir()
        script = place / "script.json"
        script.write_text(json.dumps([{"text": "again", "uses": [{"name": "say", "args": {"text": "hello"}}]}]))
        endpoint = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.model_endpoint", str(script)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert endpoint.stdout is not None
        for _ in range(4):
            variable, _, value = endpoint.stdout.readline().removeprefix("export ").strip().partition("=")
            os.environ[variable] = value
        try:
            found: dict[str, list[float]] = {"ours": [], "bare": []}
            asyncio.run(bare(2))
            asyncio.run(ours(2, place))
            for _ in range(ROUNDS):
                for who, loop in (("ours", lambda turns: ours(turns, place)), ("bare", bare)):
                    few, many = _cpu(loop, 4), _cpu(loop, 4 + TURNS)
                    found[who].append((many - few) / TURNS)
            print(json.dumps({who: round(min(costs) * 1000, 3) for who, costs in found.items()}))
        finally:
            endpoint.communicate("")


def _cpu(loop: Any, turns: int) -> float:
    began = process_time()
    asyncio.run(loop(turns))
    return process_time() - began


if __name__ == "__main__":
    main()
