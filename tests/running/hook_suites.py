"""Suites with hooks for the tests of this folder: a server that keeps a diary, and scripts that write into it too."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.processes import save

SERVERS = Path(__file__).resolve().parents[1] / "servers"


class Folder:
    """A folder with a diary, in which the server and the scripts note what happens to them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.diary = path / "diary"

    def script(self, name: str, body: str = "", *, shell: str = "/bin/sh") -> str:
        """An executable script; returns its path. One of `sh` notes its name before its body, and has `$diary`."""
        path = self.path / name
        note = f'diary="{self.diary}"\necho {name} >> "$diary"\n' if shell == "/bin/sh" else ""
        save(path, f"#!{shell}\n{note}{body}\n", mode=0o755)
        return str(path)

    def python(self, name: str, body: str) -> str:
        """A command that runs this Python code as a plain or a context hook; `context` is the JSON from stdin."""
        path = self.path / name
        save(path, f"import json, os, sys\n{body}\n")
        return f"{sys.executable} -S {path}"

    def context(self, name: str, answer: object = None, *, keep: bool = True) -> dict[str, Any]:
        """A context step that appends its input to `contexts` and prints this answer (text unchanged)."""
        text = answer if isinstance(answer, str) else "" if answer is None else json.dumps(answer)
        kept = f"open({str(self.path / 'contexts')!r}, 'a').write(sys.stdin.read())\n" if keep else ""
        return {"command": self.python(name, f"{kept}sys.stdout.write({text!r})"), "mode": "context"}

    def suite(self, hooks: object, *tests: dict[str, Any], **more: object) -> str:
        """The text of a suite; two tests, "one" and "two", unless others are given."""
        command = [sys.executable, "-S", str(SERVERS / "diary.py"), str(self.diary)]
        tools = list(tests) or [writing("one"), writing("two")]
        server = {"command": command, "shutdown_grace_ms": 30_000}  # however busy the machine is, it notes its end
        return json.dumps({"name": "s", "servers": {"d": server}, "hooks": hooks, "tools": tools, **more})

    def lines(self) -> list[str]:
        """The diary."""
        return self.diary.read_text(encoding="utf-8").splitlines() if self.diary.exists() else []

    def contexts(self) -> list[dict[str, Any]]:
        """The inputs of the context hooks, in order."""
        return [json.loads(line) for line in (self.path / "contexts").read_text(encoding="utf-8").splitlines()]


def writing(name: str, **more: object) -> dict[str, Any]:
    """A test that writes its name into the server's diary."""
    asserted = [{"target": "result.isError", "matcher": {"not": {"exact": True}}}]
    return {"name": name, "tool": "write", "args": {"text": name}, "expect": asserted, **more}


def failing(name: str, **more: object) -> dict[str, Any]:
    """A test whose call is noted as "fail", and which fails."""
    return {**writing(name), "tool": "fail", "args": {}, **more}
