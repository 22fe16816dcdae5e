"""Scorers that are real programs: small `sh` scripts, each run once as in a run."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.judging.scorers.exec import grade_by_program, request_bytes
from mcptest_engine.judging.scorers.values import Scorer, ScorerError, ScorerVerdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REQUEST = request_bytes(prompt="q", output="a", criteria="c", metadata={"eval": "e"})
ENVIRON = {"PATH": os.environ["PATH"], "SHARED": "from the run"}


class Wrappers:
    """A folder of wrappers. `said` asks one and gives its verdict, `refused` the error of one that gives none."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def script(self, body: str, name: str = "wrapper") -> str:
        path = self.path / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def scorer(self, body: str, **more: Any) -> Scorer:
        return Scorer(**{"name": "s", "type": "exec", "command": (self.script(body),), "timeout_ms": 60_000, **more})

    def said(self, body: str, *, request: bytes = REQUEST, **more: Any) -> ScorerVerdict:
        return ask(self.scorer(body, **more), request)

    def refused(self, body: str, *, request: bytes = REQUEST, **more: Any) -> ScorerError:
        with pytest.raises(ScorerError) as wrong:
            ask(self.scorer(body, **more), request)
        return wrong.value


def ask(scorer: Scorer, request: bytes = REQUEST, redact: Callable[[str], str] = lambda text: text) -> ScorerVerdict:
    async def asked() -> ScorerVerdict:
        async with asyncio.timeout(180):
            return await grade_by_program(scorer, request, environ=ENVIRON, redact=redact)

    return asyncio.run(asked())


@pytest.fixture
def wrappers(tmp_path: Path) -> Wrappers:
    return Wrappers(tmp_path)
