"""What the review loop stores: the rejected changes of failed tests, and the last write, for undo.

`.mcptest/review.json` and `.mcptest/review-undo.json`; an unreadable file counts as missing.
"""

from __future__ import annotations

import base64
import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.authoring.review_items import FileChange, Reviewed
from mcptest_engine.workspace.atomic import write_atomic
from mcptest_engine.workspace.files import read_file, remove_file
from mcptest_engine.workspace.json_text import to_json_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.workspace.workspace import Workspace

MOST_REJECTED = 2_000
_LARGEST = 256 * 1024 * 1024


def rejected_ids(workspace: Workspace) -> frozenset[str]:
    """The changes of failed tests that a person has rejected."""
    return frozenset(_rejected(workspace))


def remember_rejected(workspace: Workspace, ids: Iterable[str]) -> None:
    """Store the newest of them. Raises: OSError."""
    wanted = list(ids)
    if wanted:
        others = [one for one in _rejected(workspace) if one not in wanted]
        _write(workspace, "review.json", {"rejected": [*others, *wanted][-MOST_REJECTED:]})


def forget_rejected(workspace: Workspace, ids: Iterable[str]) -> None:
    """Remove them, so that they are proposed again. Raises: OSError."""
    unwanted, there = set(ids), _rejected(workspace)
    if unwanted & set(there):
        _write(workspace, "review.json", {"rejected": [one for one in there if one not in unwanted]})


def save_undo(workspace: Workspace, reviewed: Reviewed) -> None:
    """Store what undoes these decisions. Raises: OSError."""
    files = [
        {"path": file.path, "before": _encoded(file.before), "after": _encoded(file.after)} for file in reviewed.written
    ]
    _write(workspace, "review-undo.json", {"written": files, "forgotten": list(reviewed.forgotten)})


def read_undo(workspace: Workspace) -> Reviewed | None:
    """The last write; None when there is none to undo."""
    stored = _read(workspace, "review-undo.json")
    with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
        files = tuple(
            FileChange(path=str(file["path"]), before=_decoded(file["before"]), after=_decoded(file["after"]))
            for file in stored["written"]
        )
        forgotten = tuple(one for one in stored["forgotten"] if isinstance(one, dict))
        if not all(_is_ours(workspace, file.path) for file in files):
            return None
        return Reviewed(written=files, forgotten=forgotten)
    return None


def _is_ours(workspace: Workspace, path: str) -> bool:
    """Whether a review may have written the file: a suite, or a file of the workspace. The folder may be someone else's."""
    own, root = Path(workspace.root, path).resolve(), workspace.root.resolve()
    is_suite = own.suffix in (".yml", ".yaml") and own.is_relative_to(root)
    return is_suite or own.is_relative_to(root / workspace.data_dir.name)


def drop_undo(workspace: Workspace) -> None:
    """Forget the last write: there is nothing to undo any more. Raises: OSError."""
    remove_file(_path(workspace, "review-undo.json"))


def _rejected(workspace: Workspace) -> list[str]:
    found = _read(workspace, "review.json").get("rejected")
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _path(workspace: Workspace, name: str) -> Path:
    return workspace.data_dir / name


def _read(workspace: Workspace, name: str) -> JsonDict:
    try:
        stored = json.loads(read_file(_path(workspace, name), largest=_LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return stored if isinstance(stored, dict) else {}


def _write(workspace: Workspace, name: str, value: object) -> None:
    workspace.make_runs_dir()
    write_atomic(_path(workspace, name), to_json_bytes(value), mode=0o600)


def _encoded(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def _decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)
