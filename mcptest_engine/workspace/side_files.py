"""Outputs too large for a run record: `.mcptest/runs/<run_id>/<slug>.json`, which the record refers to.

They are written while the run goes on and deleted with its record. A disk that refuses one costs that output, never the
verdict: `problem` then says why, and the reference has no file.
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
    """Puts large outputs of one run aside. `problem` is one line once the disk refused a file, else None."""

    def __init__(self, workspace: Workspace, run_id: str) -> None:
        self._workspace = workspace
        self._run_id = run_id
        self._slugs = Slugs()
        self.problem: str | None = None

    def __call__(self, output: object, name: str) -> Any:
        """`output` itself when its JSON has at most 1 MiB, else {"$file": path relative to `.mcptest/`, "bytes": n}.

        `output` must be redacted already; `name` is the test's. "$file" is None when the file could not be written.
        """
        if is_small(output, LARGEST_INSIDE):
            return output
        if is_small(output, 8 * LARGEST_INSIDE):  # near the limit only the bytes themselves can tell
            data = to_json_bytes(output)
            return output if len(data) <= LARGEST_INSIDE else self._put((data,), name)
        return self._put(json_pieces(output), name)

    def _put(self, pieces: Iterable[bytes], name: str) -> dict[str, object]:
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
        for _ in counted:  # what was not written still counts
            pass
        return {"$file": place, "bytes": counted.size}


class _Counted:
    """An iterable of pieces that knows how many bytes have gone through it; can be gone on with after a failure."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self.size = 0

    def __iter__(self) -> _Counted:
        return self

    def __next__(self) -> bytes:
        piece = next(self._pieces)
        self.size += len(piece)
        return piece
