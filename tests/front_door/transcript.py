"""The loop in examples/mcp-server-config/agent-loop-transcript.jsonl; `python -m tests.front_door.transcript` records it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "examples" / "mcp-server-config" / "agent-loop-transcript.jsonl"
DEMO = ["mcptest", "mock", "--preset", "demo"]
_VARIES = (
    (re.compile(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b"), "RUN"),
    (re.compile(r'(\\?"duration_ms\\?": ?)[\d.]+'), r"\g<1>0"),
    (re.compile(r"max_duration_ms: \d+"), "max_duration_ms: 0"),
    (re.compile(r'("version": )"[^"]*"'), r'\1"0"'),
)
SUITE = """\
servers:
  target: { command: ["mcptest", "mock", "--preset", "demo"] }
tools:
  - name: the service is degraded
    server: target
    tool: status
    expect:
      - { target: "result.content[0].text", matcher: { contains: degraded } }
  - name: the weather of Oslo is bearable
    server: target
    tool: get_weather
    args: { city: Oslo }
    expect:
      - { target: result.structuredContent.temperature, matcher: { lt: 30 } }
"""


def requests() -> list[dict[str, Any]]:
    """What the client sends, in order."""
    client = {"name": "an-agent", "version": "1.0"}
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("tools/list", {}),
        *(
            ("tools/call", {"name": verb, "arguments": arguments})
            for verb, arguments in (
                ("list_tools", {"command": DEMO}),
                ("scaffold_suite", {"command": DEMO, "tools": ["status", "get_weather"], "include_violation": False}),
                ("call_tool", {"command": DEMO, "tool": "status"}),
                ("propose_assertions", {"command": DEMO, "tool": "status", "suite": "s1"}),
                ("validate_suite", {"suite": SUITE.replace("expect:", "expects:", 1)}),
                ("run_tool_test", {"suite": SUITE}),
                (
                    "edit_suite",
                    {"suite": "s2", "edits": [{"old": "contains: degraded", "new": "contains: operational"}]},
                ),
                ("run_tool_test", {"suite": "s2", "filter": "the service is degraded"}),
                ("run_tool_test", {"suite": "s2"}),
            )
        ),
    ]
    messages: list[dict[str, Any]] = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening}]
    messages.append({"jsonrpc": "2.0", "method": "notifications/initialized"})
    for number, (method, params) in enumerate(calls, 1):
        messages.append({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    return messages


def played(command: str, messages: list[dict[str, Any]], folder: Path, environ: dict[str, str]) -> list[dict[str, Any]]:
    """The whole talk, each line {"from", "message"}, of a front door with writes enabled in `folder`."""
    (folder / ".mcptest").mkdir(exist_ok=True)
    process = subprocess.Popen(
        [command, "mcp-server", "--enable-writes"],
        cwd=folder,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    talk = []
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in messages:
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            talk.append({"from": "client", "message": message})
            if "id" in message:
                talk.append({"from": "server", "message": json.loads(process.stdout.readline())})
        process.stdin.close()
    return talk


def compared(line: dict[str, Any]) -> str:
    """A line with what differs from run to run taken out."""
    text = json.dumps(line, ensure_ascii=False, sort_keys=True)
    for pattern, mark in _VARIES:
        text = pattern.sub(mark, text)
    return text


def main() -> None:
    """Record it anew."""
    command = str(Path(sys.executable).with_name("mcptest"))
    with tempfile.TemporaryDirectory() as folder:
        talk = played(command, requests(), Path(folder), dict(os.environ))
    FILE.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in talk), encoding="utf-8")


if __name__ == "__main__":
    main()
