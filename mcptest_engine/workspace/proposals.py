"""Proposals that wait for a person: `.mcptest/proposals/<id>.json`, one a file, written atomically.

A proposal holds a value for a suite, not an edit of its text: the text may change before the review, so the edit is made when
the proposal is accepted. Callers redact it before they save it.
"""

from __future__ import annotations

import errno
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.values import dataclass
from mcptest_engine.workspace.atomic import write_atomic
from mcptest_engine.workspace.files import list_files, make_directory, read_file, remove_file
from mcptest_engine.workspace.json_text import to_json_bytes
from mcptest_engine.workspace.ulid import is_ulid

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.workspace.workspace import Workspace

_LARGEST = 16 * 1024 * 1024
_TEXTS = ("id", "made_at", "source", "suite", "block", "test_name", "text", "why", "stability")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProposal:
    """A proposed test, or a new `expect` for an existing test.

    `suite` is relative to the workspace, `block` is that of the test, such as "tools". `test` is the whole test as a mapping
    when one is to be added; else `test_name` names the test whose `expect` is to be replaced. `text` is the proposed YAML block
    with its comments (a test, or an expect). `source` is what proposed it: "propose", "scaffold", "workbench", "agent",
    "mutate" or "init". `stability` is one line such as "seen 2 times, stable"; `left_out` are full target paths; `notes` are
    for a person.
    """

    id: str
    made_at: str
    source: str
    suite: str
    block: str
    test_name: str
    test: JsonMapping | None = None
    expect: Any = None
    text: str = ""
    why: str = ""
    stability: str = ""
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def proposals_dir(workspace: Workspace) -> Path:
    return workspace.data_dir / "proposals"


def save_proposal(workspace: Workspace, proposal: StoredProposal) -> Path:
    """Write a proposal to its file. Raises: OSError."""
    folder = proposals_dir(workspace)
    workspace.make_runs_dir()
    make_directory(folder)
    path = _proposal_path(workspace, proposal.id)
    write_atomic(path, to_json_bytes(asdict(proposal)), mode=0o600)
    return path


def read_proposals(workspace: Workspace) -> tuple[StoredProposal, ...]:
    """All stored proposals, oldest first; files that cannot be read are skipped."""
    folder = proposals_dir(workspace)
    found = (_read_proposal(folder / name) for name in sorted(list_files(folder, ".json")))
    return tuple(proposal for proposal in found if proposal is not None)


def drop_proposal(workspace: Workspace, proposal_id: str) -> None:
    """Delete a proposal, if it still exists. Raises: OSError, also for an id that is not a ULID."""
    remove_file(_proposal_path(workspace, proposal_id))


def _proposal_path(workspace: Workspace, proposal_id: str) -> Path:
    if not is_ulid(proposal_id):
        raise OSError(errno.EINVAL, f"`{proposal_id[:120]}` is not the id of a proposal")
    return proposals_dir(workspace) / f"{proposal_id}.json"


def proposal_in(value: Any) -> StoredProposal | None:
    """The proposal in a value parsed from JSON; None for another shape, or for an id that is not a ULID."""
    try:
        found = StoredProposal(
            **{**value, "left_out": tuple(value.get("left_out", ())), "notes": tuple(value.get("notes", ()))}
        )
    except (TypeError, AttributeError):
        return None
    texts = (getattr(found, name) for name in _TEXTS)
    lines = (*found.left_out, *found.notes)
    has_shape = all(isinstance(text, str) for text in (*texts, *lines)) and isinstance(found.test, (dict, type(None)))
    return found if has_shape and is_ulid(found.id) else None


def _read_proposal(path: Path) -> StoredProposal | None:
    """The proposal in a file; None when it cannot be read, has another shape, or its id is not the file's name."""
    try:
        found = proposal_in(json.loads(read_file(path, largest=_LARGEST)))
    except (OSError, ValueError, RecursionError):
        return None
    return found if found is not None and found.id == path.stem else None
