"""The share of wrong answers that each test of a suite noticed in its last `mcptest mutate`: `.mcptest/strength/<suite>.json`.

    { schema_version: "mcptest.strength/v1", suite, tests: { <id>: { score, digest } } }

A score holds as long as the test is written as it was then: `digest` is of its text, with templates replaced.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.safe_json import load_json
from mcptest_engine.workspace.atomic import write_atomic
from mcptest_engine.workspace.files import make_directory, read_file
from mcptest_engine.workspace.slug import slug

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mcptest_engine.running.cases import Case
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

SCHEMA_VERSION = "mcptest.strength/v1"
_LARGEST = 16 * 1024 * 1024


def read_mutation_scores(suite: LoadedSuite, workspace: Workspace) -> dict[str, float]:
    """The scores by the ids of tests, from 0 to 1; without those of tests that have changed since. A damaged file has none."""
    try:
        stored = load_json(read_file(_scores_path(suite, workspace), largest=_LARGEST))
        tests = stored["tests"] if stored["schema_version"] == SCHEMA_VERSION else {}
        digests = set(_digests(suite, workspace).values())
        return {
            str(test_id): float(one["score"])
            for test_id, one in tests.items()
            if one["digest"] in digests and 0 <= one["score"] <= 1
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def save_mutation_scores(suite: LoadedSuite, workspace: Workspace, scores: Iterable[tuple[Case, float | None]]) -> None:
    """Store the scores of a mutation run in place of those of the one before. Raises: OSError."""
    digests = _digests(suite, workspace)
    tests = {
        case.id: {"score": round(score, 4), "digest": digests[case.file, case.line]}
        for case, score in scores
        if score is not None and (case.file, case.line) in digests
    }
    stored = {"schema_version": SCHEMA_VERSION, "suite": workspace.relative(suite.path), "tests": tests}
    path = _scores_path(suite, workspace)
    workspace.make_runs_dir()  # and with it the `.gitignore`
    make_directory(path.parent)
    write_atomic(path, json.dumps(stored, indent=1).encode("utf-8", "backslashreplace"))


def _scores_path(suite: LoadedSuite, workspace: Workspace) -> Path:
    name = os.path.splitext(workspace.relative(suite.path))[0]  # noqa: PTH122
    return workspace.data_dir / "strength" / f"{slug(name)}.json"


def _digests(suite: LoadedSuite, workspace: Workspace) -> dict[tuple[str, int], str]:
    """By where a test stands; what stands on one line counts as one."""
    texts: dict[tuple[str, int], list[Any]] = {}
    for entry in suite.tests:
        texts.setdefault((workspace.relative(entry.file), entry.line), []).append(entry.data)
    return {
        place: sha256(json.dumps(data, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()[:16]
        for place, data in texts.items()
    }
