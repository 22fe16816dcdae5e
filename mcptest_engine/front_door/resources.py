"""Resources by URI: the full, redacted output of a test, whose `actual` may be cut, and schemas of answers.

The parts of a URI are an id and a slug; they are looked up, and never joined to a path.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from mcptest_engine.core.errors import UsageError, did_you_mean
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.front_door.artifacts import run_of, tests_of
from mcptest_engine.front_door.paging import presentable
from mcptest_engine.workspace.files import read_file
from mcptest_engine.workspace.slug import Slugs

if TYPE_CHECKING:
    from mcptest_engine.workspace.workspace import Workspace

TEMPLATE = "mcptest://runs/{run_id}/tests/{name}/output"
SCHEMA_TEMPLATE = "mcptest://schemas/{tool}"
_SCHEMA = "mcptest://schemas/"
_URI = re.compile(r"mcptest://runs/([0-9A-Za-z]{26})/tests/([^/?#]{1,600})/output")
_SIDE_FILE = re.compile(r"runs/([0-9A-Z]{26})/([^/\\]+)\.json")
MOST_LISTED = 100
DEEPEST = 200


def output_uri(run_id: str, slug: str) -> str:
    """The URI of one test's output."""
    return f"mcptest://runs/{run_id}/tests/{quote(slug)}/output"


def read_resource(workspace: Workspace, uri: str) -> str:
    """The JSON text of a resource. Raises: UsageError for an unknown URI."""
    return answer_schema(uri.removeprefix(_SCHEMA)) if uri.startswith(_SCHEMA) else read_output(workspace, uri)


def answer_schema(tool: str) -> str:
    """The JSON Schema of a tool's answer."""
    from mcptest_engine.front_door.verbs import ALL

    found = next((verb.gives for verb in ALL if verb.name == tool), None)
    if found is None:
        hint = did_you_mean(tool[:100], [verb.name for verb in ALL]) or "tools/list has the names"
        raise UsageError(f"there is no tool {json.dumps(tool)[:120]}", hint=hint)
    return json.dumps(found, ensure_ascii=False, indent=2)


def read_output(workspace: Workspace, uri: str) -> str:
    """The output as JSON text, however large. Raises: UsageError for an unknown URI."""
    found = _URI.fullmatch(uri)
    if found is None:
        raise UsageError(f"{json.dumps(uri)[:120]} is not a resource of mcptest", hint=f"they read {TEMPLATE}")
    run_id, wanted = found[1].upper(), unquote(found[2])
    record = run_of(workspace, run_id)
    slugs = Slugs()
    for test in tests_of(record):
        if slugs.take(str(test.get("name", ""))) == wanted:
            whole = presentable(_whole_output(workspace, run_id, test.get("output")), DEEPEST)
            return json.dumps(whole, ensure_ascii=False, indent=2)
    raise UsageError(
        f"the run {run_id} has no test `{wanted[:100]}`", hint="a test is named by its slug: small letters and -"
    )


def listed(workspace: Workspace) -> list[tuple[str, str]]:
    """(uri, description) for the tests of the newest run: first those that did not pass, at most 100."""
    newest = next(iter(workspace.runs()), None)
    if newest is None:
        return []
    try:
        tests = tests_of(run_of(workspace, newest.stem))
    except UsageError:
        return []
    slugs = Slugs()
    rows = [(output_uri(newest.stem, slugs.take(str(test.get("name", "")))), test) for test in tests]
    rows.sort(key=lambda row: row[1].get("verdict") == "pass")
    outputs = [(uri, f"{test.get('verdict')}: {one_line(str(test.get('name')), 120)}"[:160]) for uri, test in rows]
    return [(presentable(uri), presentable(about)) for uri, about in outputs[:MOST_LISTED]]


def _whole_output(workspace: Workspace, run_id: str, output: object) -> object:
    """The whole output, read from beside the record where it was too large for it."""
    place = output.get("$file") if isinstance(output, dict) and set(output) == {"$file", "bytes"} else None
    if not isinstance(place, str):
        return output
    found = _SIDE_FILE.fullmatch(place)
    if found is None or found[1] != run_id:
        raise UsageError("the output of this test is in another folder")
    try:
        return json.loads(read_file(workspace.runs_dir / run_id / f"{found[2]}.json"))
    except (OSError, ValueError, RecursionError) as wrong:
        raise UsageError(
            f"the output of this test cannot be read: {getattr(wrong, 'strerror', None) or wrong}"
        ) from None
