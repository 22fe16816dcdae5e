"""What agents did in a workspace through the MCP server, from the stored files: runs, inline suites, proposals.

File names are ULIDs, so names alone give the order in time. Of each requested row only the head of its file is read, and it is
cached until the file changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.workspace.agent_files import inline_dir
from mcptest_engine.workspace.files import file_state, list_names
from mcptest_engine.workspace.json_beginnings import head_of
from mcptest_engine.workspace.proposals import proposals_dir
from mcptest_engine.workspace.ulid import is_ulid, newest_first, ulid_seconds

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.workspace.workspace import Workspace

    Row = JsonDict

NEWEST = 300
"""How many of the newest files of each folder are read by default."""
LONGEST = 300
_COUNTS = ("total", "passed", "failed", "inconclusive", "skipped")


class Activity:
    """The activity of agents in one workspace. Not thread-safe."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._known: dict[Path, tuple[tuple[int, int], Row | None]] = {}

    def rows(self, newest: int = NEWEST) -> tuple[list[Row], bool]:
        """Return the rows, newest first, and whether older files were left out.

        A row has `id`, `kind`, `at` (seconds since 1970) and `file`. Kinds: "run", a run of the MCP server; "inline", a suite
        sent as text that has no record, or none yet; "proposal", which waits for a person; "unreadable", a file that is none of
        these.
        """
        runs, more = _newest(self.workspace.runs_dir, ".json", newest)
        inline, more_inline = _newest(inline_dir(self.workspace), ".yml", newest)
        proposals, more_proposals = _newest(proposals_dir(self.workspace), ".json", newest)
        seen = {path: self._read(path, _run_row, "tests") for path in runs}
        waiting = {path: self._read(path, _proposal_row, "test") for path in proposals}
        self._known = {path: known for path, known in self._known.items() if path in seen or path in waiting}
        oldest = runs[-1].stem if more and runs else ""
        found = [row for row in (*seen.values(), *waiting.values()) if row is not None]
        decided = {path.stem for path in runs}
        found += [_row(path, "inline") for path in inline if path.stem not in decided and path.stem >= oldest]
        places = {stem: at for at, stem in enumerate(newest_first(str(row["id"]) for row in found))}
        return sorted(found, key=lambda row: places[str(row["id"])]), more or more_inline or more_proposals

    def _read(self, path: Path, make: Any, until: str) -> Row | None:
        """The row of a file; None for a file that is gone or not an agent's. Cached until the time or size changes."""
        try:
            state = file_state(path)
        except OSError:
            return None  # deleted meanwhile
        stamp = state.st_mtime_ns, state.st_size
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            head = head_of(path, until)
            row = _unreadable_row(path, stamp[1]) if head is None else make(path, head)
            known = self._known[path] = stamp, row
        return known[1]


def _newest(folder: Path, suffix: str, most: int) -> tuple[list[Path], bool]:
    """The newest `most` files in a folder that are named by a ULID, newest first, and whether there are more."""
    stems = (name.removesuffix(suffix) for name in list_names(folder) if name.endswith(suffix))
    found = newest_first(stem for stem in stems if is_ulid(stem))
    return [folder / f"{stem}{suffix}" for stem in found[:most]], len(found) > most


def _run_row(path: Path, head: Row) -> Row | None:
    """The row of a run record; None when the MCP server did not make the record."""
    suite, totals, by = head.get("suite"), head.get("totals"), head.get("requested_by")
    if not isinstance(suite, dict) or not isinstance(totals, dict) or head.get("run_id") != path.stem:
        return _unreadable_row(path, None)
    place = _text(suite.get("path"))
    is_inline = place == f".mcptest/inline/{path.stem}.yml"
    if not isinstance(by, dict) and not is_inline:
        return None
    client = by.get("client") if isinstance(by, dict) else None
    row = _row(path, "run")
    row |= {
        "verdict": _text(head.get("verdict")),
        "suite": place,
        "name": _text(suite.get("name")),
        "inline": is_inline,
        "mode": _text(head.get("mode")),
        "interrupted": head.get("interrupted") is True,
        "duration_ms": _number(head.get("duration_ms")),
        "totals": {name: int(_number(totals.get(name))) for name in _COUNTS},
    }
    if isinstance(client, dict):
        row["client"] = {"name": _text(client.get("name")), "version": _text(client.get("version"))}
    if isinstance(head.get("cassette"), str):
        row["cassette"] = _text(head["cassette"])
    return row


def _proposal_row(path: Path, head: Row) -> Row:
    if head.get("id") != path.stem:
        return _unreadable_row(path, None)
    row = {name: _text(head.get(name)) for name in ("suite", "source")}
    return {**_row(path, "proposal"), **row, "name": _text(head.get("test_name"))}


def _row(path: Path, kind: str) -> Row:
    return {"id": path.stem, "kind": kind, "at": ulid_seconds(path.stem), "file": str(path)}


def _unreadable_row(path: Path, size: int | None) -> Row:
    return {**_row(path, "unreadable"), **({} if size is None else {"bytes": size})}


def _text(value: object) -> str:
    return value[:LONGEST] if isinstance(value, str) else ""


def _number(value: object) -> float:
    """`value` as a float; 0 for anything that is no count or time, such as 1e999, which JSON allows."""
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e15 else 0.0
