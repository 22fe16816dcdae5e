"""The version of the source that a run tested: repository, branch, commit, and whether tracked files were changed since.

`git status` is started when the run starts and read when it ends, so that nobody waits for it; what is not known in time is
null.
"""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest_engine.core.json_types import JsonDict

PATIENCE_SECONDS = 0.5
UNKNOWN = {"repo": None, "branch": None, "commit": None, "dirty": None}


class Source:
    """The git state of the checkout that contains `root`; `git status` starts at once, and `read` returns its result.

    `programs` is what the suites of a command have found out about the sources of their servers: see `LedgerExtension`.
    """

    def __init__(self, root: Path) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._state: JsonDict | None = None
        self.programs: dict[tuple[tuple[str, ...], str], tuple[tuple[str, ...], dict[str, str]]] = {}
        self._top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
        self._path = root.relative_to(self._top).as_posix()
        if not (self._top / ".git").exists():
            return
        argv = ["git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
        try:
            self._process = subprocess.Popen(
                argv,
                cwd=root,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                errors="replace",
            )
        except OSError:
            self._process = None

    def read(self) -> dict[str, object]:
        """{repo, branch, commit, dirty}; each null where unknown. `repo` is origin's URL without credentials.

        Where `root` lies below the top of the checkout, `path` leads from there to `root`.
        """
        if self._state is None:
            self._state = self._read()
        return self._state

    def _read(self) -> dict[str, object]:
        if self._process is None:
            return dict(UNKNOWN)
        try:
            text, _ = self._process.communicate(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return dict(UNKNOWN)
        if self._process.returncode != 0:
            return dict(UNKNOWN)
        path = {} if self._path == "." else {"path": self._path}
        return {"repo": _read_origin(self._top / ".git" / "config"), **_parse_status(text), **path}


def _parse_status(text: str) -> dict[str, object]:
    branch: str | None = None
    commit: str | None = None
    dirty = False
    for line in text.split("\n"):
        if line.startswith("# branch.oid "):
            commit = line.removeprefix("# branch.oid ")
        elif line.startswith("# branch.head "):
            branch = line.removeprefix("# branch.head ")
        elif line and not line.startswith("#"):
            dirty = True
    return {
        "branch": None if branch == "(detached)" else branch,
        "commit": None if commit == "(initial)" else commit,
        "dirty": dirty,
    }


def _read_origin(config: Path) -> str | None:
    try:
        text = config.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    section = re.search(r'^\[remote "origin"\]\n((?:[ \t]+.*\n?)*)', text, re.MULTILINE)
    url = re.search(r"^\s*url\s*=[ \t]*(.*)", section.group(1), re.MULTILINE | re.IGNORECASE) if section else None
    return _without_credentials(_unquote(url.group(1))) if url else None


def _unquote(value: str) -> str:
    """A value as git reads it, without quotes, backslashes and comment. Source: git-config(1), "Syntax"."""
    parts = re.findall(r'"((?:[^"\\]|\\.)*)"?|([^"\\#;]+|\\.)|([#;].*)', value)
    return "".join(re.sub(r"\\(.)", r"\1", quoted or bare) for quoted, bare, _comment in parts).strip()


def _without_credentials(url: str) -> str:
    """A URL without user and password: all up to the last `@` goes, as a password may hold `/`, `?` and `@` unescaped."""
    scheme, separator, rest = url.partition("://")
    if separator:
        return f"{scheme}://{rest.rpartition('@')[2]}"
    user, at, path = url.rpartition("@")
    return path if ":" in user else f"{user}{at}{path}"
