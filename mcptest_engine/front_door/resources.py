"""`mcptest://runs/{run_id}/tests/{slug}/output`: the full, redacted output of a test, whose `actual` may have been clipped.

The parts of a URI are an id and a slug and are looked up, never joined to a path.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from mcptest_engine.core.errors import UsageError
from mcptest_engine.front_door.artifacts import run_of
from mcptest_engine.workspace.slug import Slugs

if TYPE_CHECKING:
    from mcptest_engine.workspace.workspace import Workspace

TEMPLATE = "mcptest://runs/{run_id}/tests/{name}/output"
_URI = re.compile(r"mcptest://runs/([0-9A-Za-z]{26})/tests/([^/?#]{1,600})/output")
_SIDE_FILE = re.compile(r"runs/([0-9A-Z]{26})/([^/\\]+)\.json")
MOST_LISTED = 100


def output_uri(run_id: str, slug: str) -> str:
    """The URI of one test's output."""
    return f"mcptest://runs/{run_id}/tests/{quote(slug)}/output"


def read_output(workspace: Workspace, uri: str) -> str:
    """The output as JSON text, however large. Raises: UsageError for a URI that names nothing here."""
    found = _URI.fullmatch(uri)
    if found is None:
        raise UsageError(f"{json.dumps(uri)[:120]} is no resource of mcptest", hint=f"they read {TEMPLATE}")
    run_id, wanted = found[1].upper(), unquote(found[2])
    record = run_of(workspace, run_id)
    slugs = Slugs()
    for test in record.get("tests") or ():
        if isinstance(test, dict) and slugs.take(str(test.get("name", ""))) == wanted:
            return json.dumps(_whole(workspace, run_id, test.get("output")), ensure_ascii=False, indent=2)
    raise UsageError(
        f"the run {run_id} has no test `{wanted[:100]}`", hint="a test is named by its slug: small letters and -"
    )


def listed(workspace: Workspace) -> list[tuple[str, str]]:
    """(uri, what it is) for the tests of the newest run that did not pass, and of others as long as there is room."""
    from mcptest_engine.core.errors import RecordError

    for path in workspace.runs()[:1]:
        try:
            record = workspace.load_run(path.stem)
        except RecordError:
            return []
        slugs = Slugs()
        rows = [
            (test.get("verdict") == "pass", output_uri(path.stem, slugs.take(str(test.get("name", "")))), test)
            for test in record.get("tests") or ()
            if isinstance(test, dict)
        ]
        rows.sort(key=lambda row: row[0])
        return [(uri, f"{test.get('verdict')}: {test.get('name')}") for _, uri, test in rows[:MOST_LISTED]]
    return []


def _whole(workspace: Workspace, run_id: str, output: Any) -> Any:
    """The output itself, read from beside the record where it was too large to stand inside."""
    place = output.get("$file") if isinstance(output, dict) and set(output) == {"$file", "bytes"} else None
    if not isinstance(place, str):
        return output
    found = _SIDE_FILE.fullmatch(place)
    if found is None or found[1] != run_id:
        raise UsageError("the output of this test lies elsewhere")
    path = workspace.runs_dir / run_id / f"{found[2]}.json"
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as wrong:
        raise UsageError(f"the output of this test cannot be read: {wrong}") from None
