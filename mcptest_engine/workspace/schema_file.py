"""The JSON Schema of suites as a file of the workspace, which editors read without a network.

A suite names it in a comment, the schema line, or in JSON by the key `$schema`. The file is written only in the suite's own
workspace and only for a suite that names it, so that somebody else's suite causes no write anywhere else.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from mcptest_engine.core.environment import PACKAGE
from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.workspace.atomic import write_atomic
from mcptest_engine.workspace.files import DATA_DIR, make_directory, read_file
from mcptest_engine.workspace.workspace import Workspace, find_workspace

SCHEMA_FILE = "suite.schema.json"
URL_VARIABLE = "MCPTEST_SCHEMA_URL"
"""A hosted copy of the schema, which generated suites name instead of the file."""
COMMENT = "# yaml-language-server: $schema="
SCHEMA_LINE = f"{COMMENT}{DATA_DIR}/{SCHEMA_FILE}"
"""The schema line of a suite in the top folder of its workspace."""
_FORMER_URL = "https://mcptest.sh/schema/"
"""The start of the schema URL in suites of earlier versions."""
_KEY = r'\A\ufeff?\s*\{[^{}\[\]]*"\$schema"\s*:\s*"'
"""Matches the key in the outermost object only, not that of a schema in a matcher."""
_SCHEMA_LINE = lazy_pattern(rf'(?:^{re.escape(COMMENT)}|{_KEY})([^\s"]+)', re.MULTILINE)
_HEAD = 512


def with_schema_line(text: str, path: Path) -> str:
    """The suite with the schema line for a suite at `path`; a suite without a schema line stays as it is."""
    found = _SCHEMA_LINE.search(text[:_HEAD])
    if found is None:
        return text
    place = os.environ.get(URL_VARIABLE) or _relative_place(path)
    return f"{text[: found.start(1)]}{place}{text[found.end(1) :]}"


def with_mended_schema_line(text: str, path: Path) -> str:
    """Like `with_schema_line`, but only where the line names a missing file, as in a copied suite, or a former URL."""
    found = _SCHEMA_LINE.search(text[:_HEAD])
    if found is None:
        return text
    is_lost = found[1].endswith(SCHEMA_FILE) and "://" not in found[1] and not (path.parent / found[1]).exists()
    return with_schema_line(text, path) if is_lost or found[1].startswith(_FORMER_URL) else text


def save_schema(path: Path, data: bytes, *, make: bool) -> None:
    """Update the schema file that the suite at `path` names; without `make` only where `.mcptest` exists.

    Disk errors are ignored: the schema helps people to write suites, and nothing else needs it.
    """
    found = _SCHEMA_LINE.search(data[:_HEAD].decode("utf-8", "replace"))
    if found is None or not found[1].endswith(f"{DATA_DIR}/{SCHEMA_FILE}"):
        return
    with suppress(OSError):
        workspace = _workspace_of(path)
        place = workspace.data_dir / SCHEMA_FILE
        if os.path.realpath(path.parent / found[1]) == os.path.realpath(place) and (
            make or workspace.data_dir.is_dir()
        ):
            _save(workspace, place)


def _save(workspace: Workspace, place: Path) -> None:
    schema = (PACKAGE / "suite" / SCHEMA_FILE).read_bytes()
    with suppress(FileNotFoundError):
        if read_file(place) == schema:
            return
    make_directory(workspace.data_dir)
    workspace.ignore_data()
    write_atomic(place, schema, mode=0o644, flush=False)


def _workspace_of(path: Path) -> Workspace:
    """The workspace of the current directory if the suite lies in it, else the suite's own."""
    here = find_workspace(Path.cwd())
    return here if not here.relative(path).startswith("..") else find_workspace(path.absolute().parent)


def _relative_place(path: Path) -> str:
    place = _workspace_of(path).data_dir / SCHEMA_FILE
    return os.path.relpath(os.path.realpath(place), os.path.realpath(path.parent)).replace(os.sep, "/")
