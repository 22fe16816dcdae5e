"""Outputs too large for a run record: `.mcptest/runs/<run_id>/<slug>.json`, which the record refers to.

They are written during the run and deleted with its record. If a file cannot be written, the output is lost and the verdict
stands: `problem` then says why, and the reference has no file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.workspace.atomic import write_atomic_pieces
from mcptest_engine.workspace.json_text import is_small, json_pieces, to_json_bytes
from mcptest_engine.workspace.slug import Slugs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.workspace.workspace import Workspace

LARGEST_INSIDE = 1 << 20  # bytes of JSON


class SideFiles:
    """Writes large outputs of one run to files. `problem` is one line after a file could not be written, else None."""

    def __init__(self, workspace: Workspace, run_id: str) -> None:
        self._workspace = workspace
        self._run_id = run_id
        self._slugs = Slugs()
        self.problem: str | None = None

    def __call__(self, output: object, name: str) -> Any:
        """Return `output` itself when its JSON has at most 1 MiB, else {"$file": path relative to `.mcptest/`, "bytes": n}.

        `output` must be redacted already; `name` is the test's. "$file" is None when the file could not be written.
        """
        if is_small(output, LARGEST_INSIDE):
            return output
        if is_small(output, 8 * LARGEST_INSIDE):  # near the limit the exact size is needed
            data = to_json_bytes(output)
            return output if len(data) <= LARGEST_INSIDE else self._write((data,), name)
        return self._write(json_pieces(output), name)

    def _write(self, pieces: Iterable[bytes], name: str) -> dict[str, object]:
        counted = _Counted(pieces)
        place: str | None = None
        if self.problem is None:
            place = f"runs/{self._run_id}/{self._slugs.take(name)}.json"
            path = self._workspace.data_dir / place
            try:
                self._workspace.hold_side_files(self._run_id)
                write_atomic_pieces(path, counted)
            except OSError as wrong:
                self.problem = f'the output of "{name}" was not saved: {wrong.strerror or wrong}: {path}'
                place = None
        for _ in counted:  # count the bytes that were not written, too
            pass
        return {"$file": place, "bytes": counted.size}


class _Counted:
    """An iterator over pieces that counts their bytes; after a failed write it continues where it stopped."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self.size = 0

    def __iter__(self) -> _Counted:
        return self

    def __next__(self) -> bytes:
        piece = next(self._pieces)
        self.size += len(piece)
        return piece
