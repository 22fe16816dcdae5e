"""Stored results of nodes: `.mcptest/cassettes/<suite>.frozen.json`, one file for each suite.

    { schema_version: "mcptest.cassette/v1", name, recorded_at, mcptest_version, suite: {name, path}, servers: {},
      stand_ins?: [ { text, variable? } ],
      nodes: [ { composition, case, node, item?, iteration?, server, tool, args, result } ] }

The format of a cassette, with results of nodes in place of exchanges of servers. A result is found by its composition, case
and node, the element of a fan-out, the iteration of a loop, and the args. Callers redact everything before they save it;
`stand_ins` are as in `cassettes.py`. The files are made to be committed.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.errors import UsageError
from mcptest_engine.workspace.cassettes import (
    FROZEN_SUFFIX,
    SCHEMA_VERSION,
    cassettes_dir,
    read_cassette,
    write_cassette,
)
from mcptest_engine.workspace.slug import slug

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.workspace.workspace import Workspace


class NodeKey(NamedTuple):
    """A node of a composition, run with one case; `case` is None for a composition without cases."""

    composition: str
    case: str | None
    node: str


class CallKey(NamedTuple):
    """One call of a node: the index in its fan-out, the iteration of its loop, and the digest of its args."""

    item: int | None
    iteration: int | None
    args: str


def digest(args: object) -> str:
    """The SHA-256 of a call's args, in hexadecimal; the order of keys does not matter."""
    text = json.dumps(args, sort_keys=True, ensure_ascii=False, default=str)
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def frozen_path(workspace: Workspace, suite: str) -> Path:
    """The file with a suite's results; `suite` is the suite's path relative to the workspace, without its suffix."""
    return cassettes_dir(workspace) / f"{slug(suite)}{FROZEN_SUFFIX}.json"


class Frozen(NamedTuple):
    """The results in a file, by node and call, and the texts that replace secrets in them."""

    kept: dict[NodeKey, dict[CallKey, JsonDict]]
    stand_ins: list[dict[str, str]]


def load_frozen(path: Path) -> Frozen:
    """The results stored in a file, none when it does not exist. Raises: UsageError for an invalid file."""
    if not os.path.lexists(path):
        return Frozen({}, [])
    kept: dict[NodeKey, dict[CallKey, JsonDict]] = {}
    document = read_cassette(path)
    entries = document.get("nodes")
    if not isinstance(entries, list):
        raise UsageError(f"{path} has no results of nodes: `nodes` is not a list")
    for number, entry in enumerate(entries):
        if not _is_valid_entry(entry):
            raise UsageError(
                f"{path}: node {number} needs texts for `composition`, `node`, `server` and `tool`, an object for `args`, "
                "and a `result`"
            )
        key = CallKey(entry.get("item"), entry.get("iteration"), digest(entry["args"]))
        kept.setdefault(NodeKey(entry["composition"], entry.get("case"), entry["node"]), {})[key] = entry
    return Frozen(kept, document.get("stand_ins", []))


def save_frozen(
    path: Path,
    kept: Mapping[NodeKey, Mapping[CallKey, Mapping[str, object]]],
    stand_ins: Sequence[Mapping[str, str]],
    *,
    head: Mapping[str, object],
    workspace: Workspace,
) -> None:
    """Replace the file by these results. Raises: McptestError when the disk refuses it."""
    entries = [entry for _, calls in sorted(kept.items(), key=_sort_key) for entry in calls.values()]
    document: JsonDict = {"schema_version": SCHEMA_VERSION, "name": path.stem, **head, "servers": {}}
    if stand_ins:
        document["stand_ins"] = list(stand_ins)
    document["nodes"] = entries
    write_cassette(path, document, workspace, doing=f"keep the results of nodes in {path}")


def _is_valid_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and all(isinstance(entry.get(key), str) for key in ("composition", "node", "server", "tool"))
        and all(isinstance(entry.get(key), int | None) for key in ("item", "iteration"))
        and isinstance(entry.get("case"), str | None)
        and isinstance(entry.get("args"), dict)
        and "result" in entry
    )


def _sort_key(kept: tuple[NodeKey, Mapping[CallKey, Mapping[str, object]]]) -> tuple[str, str, str]:
    """The sort key of a node's results: a stable order keeps the diff of a new recording small."""
    key = kept[0]
    return key.composition, key.case or "", key.node
