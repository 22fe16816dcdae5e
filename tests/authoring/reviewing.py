"""A workspace with a suite and the records of runs, judged by the real judge on answers that a test gives."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.results import TestKind
from mcptest_engine.judging.assertions import judge_assertions
from mcptest_engine.running.plan import make_plan
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.suite.load import LoadOptions, load_suite
from mcptest_engine.workspace.ulid import new_ulid
from mcptest_engine.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HEAD = "name: s\nservers:\n  mock: { command: [cat] }\n"


def text_result(text: str, **more: Any) -> dict[str, Any]:
    """A tool's result of one text."""
    return {"content": [{"type": "text", "text": text}], **more}


class Bench:
    """A workspace in a folder, its suite, and what runs said of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / ".mcptest").mkdir(exist_ok=True)
        self.workspace = Workspace(root)

    def suite(self, text: str, name: str = "mcptest.yml") -> Path:
        """Write a suite, byte for byte."""
        path = self.root / name
        path.write_bytes(text.encode())
        return path

    def ran(
        self, answers: Mapping[str, Any], *, name: str = "mcptest.yml", repeat: int = 1, duration_ms: float = 5
    ) -> dict[str, Any]:
        """Keep the record of a run in which each test named was answered so; a list of answers is one for each repeat."""
        suite = load_suite(self.root / name, LoadOptions(environ={}, workspace_root=self.root))
        plan = make_plan(suite, RunSettings(repeat=repeat), relative=self.workspace.relative)
        tests, seen = [], dict.fromkeys(answers, 0)
        for case in plan.cases:
            key = case.name if case.name in answers else case.name.rpartition(" #")[0]
            if key not in answers:
                continue
            answer = answers[key]
            if isinstance(answer, list):
                answer, seen[key] = answer[seen[key]], seen[key] + 1
            output = answer if "error" in answer or "result" in answer else {"result": answer}
            envelope = {"error": None, "duration_ms": duration_ms, "notifications": [], **output}
            rows = judge_assertions(case.expect["assertions"], envelope)
            over = [
                f"budget exceeded: {duration_ms} ({key})"
                for key in ("max_duration_ms",)
                if key in case.expect and duration_ms > _budget(case.expect[key])
            ]
            failed = any(row.passed is False for row in rows) or bool(over)
            tests.append(
                {
                    "id": case.id,
                    "name": case.name,
                    "kind": TestKind(case.kind).value,
                    "server": case.server,
                    "verdict": "fail" if failed else "pass",
                    "duration_ms": duration_ms,
                    "started_offset_ms": 0,
                    "cached": False,
                    "file": case.file,
                    "line": case.line,
                    "tags": [],
                    "message": "; ".join([*(row.message for row in rows if row.message), *over]) or None,
                    "assertions": [row.to_json() for row in rows],
                    "request": None,
                    "output": output,
                }
            )
        run_id = new_ulid()
        record = {"run_id": run_id, "suite": {"name": "s", "path": name}, "tests": tests}
        self.keep(run_id, json.dumps(record))
        return record

    def keep(self, run_id: str, text: str) -> None:
        """Save a record, or something similar, where runs are saved."""
        self.workspace.make_runs_dir()
        (self.workspace.runs_dir / f"{run_id}.json").write_text(text, encoding="utf-8")


def _budget(setting: Any) -> float:
    return float(setting["budget"] if isinstance(setting, dict) else setting)
