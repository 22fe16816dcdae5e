"""Which tests a save affects.

A test's digest covers its own text with templates replaced, its server's settings and the local files that its server is
started from; so what a changed file affects is what has another digest than before.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcptest_engine.running.documents import watched_by
from mcptest_engine.safety.tool_classes import ToolClass, cautious_class

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from mcptest_engine.running.documents import Document
    from mcptest_tui.state.store import Store
    from mcptest_tui.state.test_row import TestRow


def affected(old: Mapping[str, Document], new: Mapping[str, Document], changed_files: Iterable[str]) -> set[str]:
    """The ids of the tests that a change of these files affects, also of those that never ran.

    `old` and `new` are documents by path, `old` being the last ones that were sound. Of a suite that is new, all are.
    """
    changed = {os.path.realpath(file) for file in changed_files}
    found: set[str] = set()
    for path, document in new.items():
        if not document.sound or not changed & {os.path.realpath(file) for file in watched_by(document)}:
            continue
        before = old.get(path)
        digests = {} if before is None else {test.id: test.digest for test in before.tests}
        found.update(test.id for test in document.tests if digests.get(test.id) != test.digest)
    return found


def due(store: Store, changed_files: Iterable[str]) -> list[str]:
    """What to run after a save: the tests that it affects, and those beside them whose result is of an older text.

    In file order; without those whose result is of this very text already, or that wait for a run of it.
    """
    changed = list(changed_files)
    found = affected(store.previous, store.documents, changed)
    real = {os.path.realpath(file) for file in changed}
    touched = {
        path
        for path, document in store.documents.items()
        if document.sound and real & {os.path.realpath(file) for file in watched_by(document)}
    }
    rows = store.rows
    return [
        test
        for test in store.order
        if (row := rows[test]).path in touched
        and (test in found or row.outdated)
        and row.digest != (row.asked_digest or row.ran_digest)
    ]


def why_it_waits(row: TestRow, listed: Mapping[tuple[str, str, str], ToolClass], run_by_key: Collection[str]) -> str:
    """Why a save does not start this test; "" where it does.

    It waits for a key where it destroys or asks what costs money, and where it changes something and no key has run it in this
    session. `listed` are the classes of tools as connected servers list them, by suite, server and tool; else the name counts.
    """
    classes = {listed.get((row.path, server, tool)) or cautious_class(tool) for server, tool in row.calls}
    if ToolClass.DESTRUCTIVE in classes:
        return "it calls a destructive tool"
    if row.spends or (row.result or {}).get("cost_usd"):
        return "it asks a model or a paid scorer"
    if ToolClass.MUTATING in classes and row.id not in run_by_key:
        return "it calls a tool that changes something"
    return ""
