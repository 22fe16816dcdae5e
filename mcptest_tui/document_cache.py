"""The suites as they were read last, for the first paint: names and places of tests, no texts of servers.

Reading a suite takes as long as starting the workbench does, so what is painted first comes from here, and a moment later
from the suite itself. A cache that is broken, or of another version, is as good as none.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcptest_engine import __version__
from mcptest_engine.running.documents import Document
from mcptest_engine.workspace.files import make_directory, read_file
from mcptest_tui.places import cache_dir

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MOST_BYTES = 4 * 1024 * 1024


class DocumentCache:
    """One file for all suites of a workspace."""

    def __init__(self, root: Path) -> None:
        self.path = cache_dir(root) / "documents.json"
        self._written = ""

    def load(self) -> dict[str, Document]:
        """The documents by path."""
        try:
            text = read_file(self.path, largest=MOST_BYTES).decode()
            value = json.loads(text)
            if value["version"] != __version__:
                return {}
            found = {item["path"]: Document.from_json(item) for item in value["documents"]}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return {}
        self._written = text
        return found

    def save(self, documents: Iterable[Document]) -> None:
        """Keep them, if they are other than those that are kept. Raises: OSError."""
        text = json.dumps({"version": __version__, "documents": [document.to_json() for document in documents]})
        if text != self._written and len(text) <= MOST_BYTES:
            from mcptest_engine.workspace.atomic import write_atomic

            make_directory(self.path.parent)
            write_atomic(self.path, text.encode())
            self._written = text
