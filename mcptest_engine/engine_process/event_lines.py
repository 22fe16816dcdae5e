"""Turn the engine's events into events for the workbench, with what a screen needs to follow a run.

The engine's events are redacted already. Requests and outputs are left out; the workbench requests them with `detail`.
"""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.events import (
    AgentTurn,
    CaseAnswered,
    CaseExplained,
    CaseFinished,
    CaseStarted,
    HookFinished,
    HookStarted,
    NodeChanged,
    RunStarted,
    ServerFailed,
    ServerReady,
    ServerStarting,
    Warned,
)
from mcptest_engine.engine_process.pages import LONGEST_TEXT, clipped, pruned

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcptest_engine.core.events import Event
    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import HookResult, RunRecord
    from mcptest_engine.engine_process.results import Results
    from mcptest_engine.engine_process.workbench_events import AgentTurn as AgentTurnEvent
    from mcptest_engine.engine_process.workbench_events import HookStarted as HookStartedEvent
    from mcptest_engine.engine_process.workbench_events import Send, ServerState


MOST_TOOLS = 20
"""The most tool calls of a model's turn in an event."""
MOST_HOOKS = 200
"""The most hooks in the event of a finished run; each hook also had its own event."""


class RunEventLines:
    """The listener of one run; `run` is the key that the workbench gave it."""

    def __init__(self, send: Send, results: Results, *, run: str, path: Path, root: Path) -> None:
        self._send, self._results = send, results
        self._run, self._path, self._root = run, str(path), root
        self._run_id = ""

    def __call__(self, event: Event) -> None:
        """Send an event; if that raises, send a warning about a bug instead, so that later events are still sent."""
        try:
            self._send_event(event)
        except Exception as wrong:  # noqa: BLE001 - the workbench waits for the events after this one
            message = (
                f"this is a bug in mcptest, not in your suite: {type(event).__name__}: {type(wrong).__name__}: {wrong}"
            )
            self._send({"event": "warned", "run": self._run, "message": clipped(message)})

    def _send_event(self, event: Event) -> None:
        match event:
            case CaseFinished(result=result):
                self._results.add(self._run_id, result)
                shown = result_shown(result)
                self._send({"event": "case.finished", "run": self._run, "id": result.id, "result": shown})
            case CaseExplained(result=result):
                self._results.add(self._run_id, result)
                shown = result_shown(result)
                self._send({"event": "case.explained", "run": self._run, "id": result.id, "result": shown})
            case CaseStarted(id=test_id):
                self._send({"event": "case.started", "run": self._run, "id": test_id})
            case CaseAnswered(id=test_id, is_held=held):
                self._send(
                    {
                        "event": "case.answered",
                        "run": self._run,
                        "id": test_id,
                        "waits_for": "alone" if held else "list",
                    }
                )
            case NodeChanged():
                self._send(
                    {
                        "event": "node.changed",
                        "run": self._run,
                        "id": event.test,
                        "node": event.node,
                        "status": event.status,
                        "duration_ms": event.duration_ms,
                        "message": clipped(event.message or ""),
                    }
                )
            case AgentTurn():
                self._send(turn_event(event, self._run))
            case RunStarted():
                self._started(event)
            case HookStarted(phase=phase, command=command, test=test):
                started: HookStartedEvent = {
                    "event": "hook.started",
                    "run": self._run,
                    "phase": phase,
                    "command": clipped(command),
                }
                if test is not None:
                    started["test"] = test
                self._send(started)
            case HookFinished(result=hook):
                self._send({"event": "hook.finished", "run": self._run, "hook": hook_shown(hook)})
            case Warned(message=message):
                self._send({"event": "warned", "run": self._run, "message": message})
            case ServerStarting() | ServerReady() | ServerFailed():
                state = server_state(event, self._path)
                state["run"] = self._run
                self._send(state)
            case _:
                pass  # `run.finished` is sent when the record is saved

    def _started(self, event: RunStarted) -> None:
        self._run_id = event.run_id
        self._results.began(event.run_id)
        files: dict[str, str] = {}
        for test in event.tests:
            if test.file not in files:
                files[test.file] = os.path.normpath(self._root / test.file)
        self._send(
            {
                "event": "run.started",
                "run": self._run,
                "path": self._path,
                "run_id": event.run_id,
                "workers": event.workers,
                "tests": [
                    {
                        "id": test.id,
                        "name": test.name,
                        "kind": test.kind.value,
                        "server": test.server,
                        "file": files[test.file],
                        "line": test.line,
                    }
                    for test in event.tests
                ],
            }
        )


def server_event_lines(send: Send, *, path: Path) -> Callable[[Event], None]:
    """The listener for servers that are started between two runs of the suite at `path`."""

    def send_event(event: Event) -> None:
        if isinstance(event, (ServerStarting, ServerReady, ServerFailed)):
            send(server_state(event, str(path)))

    return send_event


def server_state(event: ServerStarting | ServerReady | ServerFailed, path: str) -> ServerState:
    """The event about the state of a server of the suite at `path`."""
    match event:
        case ServerStarting(server=server):
            return {"event": "server.state", "path": path, "server": server, "state": "starting"}
        case ServerReady():
            return {
                "event": "server.state",
                "path": path,
                "server": event.server,
                "state": "ready",
                "server_info": pruned(event.server_info),
                "protocol": event.protocol_version,
                "duration_ms": round(event.duration_ms, 1),
            }
        case ServerFailed(server=server, failure=failure, restarting=restarting):
            state: ServerState = {
                "event": "server.state",
                "path": path,
                "server": server,
                "state": "restarting" if restarting else "failed",
                "message": clipped(failure.message),
                "short": event.short,
            }
            if failure.hint:
                state["hint"] = failure.hint
            if failure.stderr_tail:
                state["stderr"] = failure.stderr_tail[-LONGEST_TEXT:]
            return state


def turn_event(event: AgentTurn, run: str) -> AgentTurnEvent:
    """The event about a model's turn; it has a `trial` if the test has several conversations."""
    turn: AgentTurnEvent = {
        "event": "agent.turn",
        "run": run,
        "id": event.test,
        "turn": event.turn,
        "text": clipped(event.text),
        "tools": [clipped(name) for name in event.tools[:MOST_TOOLS]],
        "tokens": event.tokens,
        "cost_usd": event.cost_usd,
    }
    if event.run:
        turn["trial"] = event.run
    return turn


def hook_shown(hook: HookResult) -> dict[str, object]:
    """A hook's result as JSON, with only the end of its output."""
    shown = hook.to_json()
    for name in ("command", "message"):
        if name in shown:
            shown[name] = clipped(shown[name])
    if "output" in shown:
        shown["output"] = shown["output"][-LONGEST_TEXT:]
    return shown


def result_shown(result: TestResult) -> dict[str, Any]:
    """A result as JSON, without its request and output and those of its `verify` steps; long texts are cut."""
    shown = result.to_json()
    del shown["request"], shown["output"]
    if "verify" in shown:
        for step in shown["verify"]:
            del step["request"], step["output"]
        shown["verify"] = pruned(shown["verify"])
    if result.assertions:
        shown["assertions"] = [_row(row) for row in shown["assertions"]]
    if "message" in shown:
        shown["message"] = clipped(shown["message"])
    if "failure" in shown:
        shown["failure"] = {
            name: value[-LONGEST_TEXT:]
            if name == "stderr_tail"
            else clipped(value)
            if isinstance(value, str)
            else pruned(value)
            for name, value in shown["failure"].items()
        }
    if "attempts" in shown:
        shown["attempts"] = pruned(shown["attempts"])
    if "judgement" in shown:
        shown["judgement"] = pruned(shown["judgement"])
    if "trials" in shown:
        shown["trials"] = pruned(shown["trials"])
    if "conversation" in shown.get("trace", ()):
        shown["trace"] = pruned(shown["trace"])
    return shown


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """Cut the long texts of an assertion or assertion set in place, and return it."""
    if "set" in row:
        row["set"]["assertions"] = [_row(inner) for inner in row["set"]["assertions"]]
        if "message" in row:
            row["message"] = clipped(row["message"])
        return row
    for name in ("message", "note", "reason", "brief", "diff", "target"):
        text = row.get(name)
        if text is not None and len(text) > LONGEST_TEXT:
            row[name] = clipped(text)
    actual = row.get("actual")
    if isinstance(actual, str):
        if len(actual) > LONGEST_TEXT:
            row["actual"] = clipped(actual)
    elif isinstance(actual, (dict, list)):
        row["actual"] = pruned(actual)
    if "judgement" in row:
        row["judgement"] = pruned(row["judgement"])
    for operand in row["matcher"].values():
        if isinstance(operand, (dict, list)) or (isinstance(operand, str) and len(operand) > LONGEST_TEXT):
            row["matcher"] = pruned(row["matcher"])
            break
    return row


def record_shown(record: RunRecord) -> dict[str, Any]:
    """The record as JSON, without its tests, and with only the hooks of the whole run and the failed ones.

    `gates` has the coverage that is below its minimum and the limits of effects that were exceeded, each as
    {"about": "effects" or "coverage", "message"}.
    """
    shown = record.with_tests(()).to_json()
    shown["totals"] = record.totals.to_json()
    del shown["tests"]
    for server in shown.get("servers", ()):
        server["stderr_tail"] = server["stderr_tail"][-LONGEST_TEXT:]
    for name in ("servers", "warnings"):
        if name in shown:
            shown[name] = pruned(shown[name])
    gates = [("effects", line) for line in (record.effects.exceeded() if record.effects is not None else ())]
    if shown.pop("coverage", None):
        from mcptest_engine.core.coverage import short_lines

        gates += [("coverage", line) for line in short_lines(record.coverage)]
    if gates:
        shown["gates"] = [{"about": about, "message": clipped(line)} for about, line in gates]
    if "effects" in shown:
        shown["effects"] = pruned(shown["effects"])
    if spending := record.spending:
        shown["spending"] = pruned(spending.to_json())
    if rollups := record.metric_rollups:
        shown["metric_rollups"] = [rollup.to_json() for rollup in rollups]
    if record.hooks:
        kept = (hook for hook in record.hooks if hook.test is None or not hook.passed)
        shown["hooks"] = [hook_shown(hook) for hook in islice(kept, MOST_HOOKS)]
    return shown
