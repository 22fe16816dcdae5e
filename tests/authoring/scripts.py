"""A server with scripted answers, and a proposal made from them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_engine.authoring.propose import Proposed, propose
from mcptest_engine.safety.execution_policy import ExecutionPolicy
from mcptest_engine.servers.gate import Gate
from mcptest_engine.servers.session import Session, connect
from mcptest_engine.servers.spec import ServerSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

SERVER = Path(__file__).resolve().parents[1] / "servers" / "scripted.py"
LIMIT_SECONDS = 60
TODAY = date(2026, 3, 4)


class Scripted:
    """One scripted server: its files, its command line, and what was called of it."""

    def __init__(
        self, folder: Path, tools: Sequence[Mapping[str, Any]], answers: Mapping[str, Sequence[Mapping[str, Any]]]
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._script, self._diary = folder / "script.json", folder / "diary.txt"
        self._script.write_text(json.dumps({"tools": tools, "answers": answers}), encoding="utf-8")
        self.argv = (sys.executable, "-S", str(SERVER), str(self._script), str(self._diary))

    @property
    def called(self) -> list[str]:
        """The tools that were called, in order."""
        return self._diary.read_text(encoding="utf-8").split() if self._diary.exists() else []

    def use(self, work: Callable[[Session], Coroutine[Any, Any, Any]], **settings: Any) -> Any:
        """Connect, `await work(session)`, close."""

        async def limited() -> Any:
            spec = ServerSpec(name="scripted", command=self.argv, env={"PATH": os.environ["PATH"]}, **settings)
            async with asyncio.timeout(LIMIT_SECONDS):
                session = await connect(spec)
                try:
                    return await work(session)
                finally:
                    await session.close()

        return asyncio.run(limited())

    def propose(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        policy: ExecutionPolicy | None = None,
        single_call: bool = False,
        timeout_seconds: float = 30,
        **settings: Any,
    ) -> Proposed:
        """What is proposed of a call of `tool`."""

        async def work(session: Session) -> Proposed:
            return await propose(
                session,
                tool,
                arguments or {},
                gate=Gate(policy or ExecutionPolicy()),
                server_key="target",
                single_call=single_call,
                timeout_seconds=timeout_seconds,
                today=TODAY,
            )

        found: Proposed = self.use(work, **settings)
        return found


def tool(name: str, **more: Any) -> dict[str, Any]:
    """A descriptor."""
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def text_result(text: str, **more: Any) -> dict[str, Any]:
    """A result of one text, as an answer of the script."""
    return {"result": {"content": [{"type": "text", "text": text}], **more}}
