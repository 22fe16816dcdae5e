"""The catalogs that servers of suites listed last, for the editor: one file a server in `.mcptest/cache/catalogs`.

    { schema_version: "mcptest.catalog/v1", suite, server, target, read_at, tools, prompts, resources, capabilities, … }

The workbench's engine saves a catalog, redacted, when it has listed one, and shows it with its time. Runs never read it. A file
that cannot be read, or that is of another command or URL, counts as missing.
"""

from __future__ import annotations

import contextlib
import json
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import McptestError
from mcptest_engine.core.text import time_shown
from mcptest_engine.workspace.atomic import write_atomic
from mcptest_engine.workspace.files import make_directory, read_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mcptest_engine.core.json_types import JsonDict, JsonMapping

SCHEMA_VERSION = "mcptest.catalog/v1"
LARGEST = 4 * 1024 * 1024
READ_AT = "read_at"


def remember_catalog(data_dir: Path, suite: str, server: str, target: str, catalog: JsonMapping) -> bool:
    """Save the catalog of a server of the suite at the path `suite`; return False when it could not be saved.

    `target` is the server's command or URL. A list that `catalog` lacks keeps its saved entries of the same target, because a
    run lists only what it needs.
    """
    old = recall_catalogs(data_dir, suite, [(server, target)]).get(server, {})
    failed = catalog.get("errors") or {}
    old_errors = {what: error for what, error in old.get("errors", {}).items() if what not in catalog}
    capabilities = {**old.get("capabilities", {}), **(catalog.get("capabilities") or {})}
    catalog = {**old, **catalog, "capabilities": capabilities, "errors": {**old_errors, **failed}}
    head = {"schema_version": SCHEMA_VERSION, "suite": suite, "server": server, "target": target}
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    data = json.dumps({**catalog, **head, READ_AT: now}, ensure_ascii=False).encode("utf-8", "replace")
    if len(data) > LARGEST:
        return False
    path = _catalog_path(data_dir, suite, server)
    with contextlib.suppress(OSError, McptestError):
        make_directory(path.parent)
        write_atomic(path, data)
        return True
    return False


def recall_catalogs(data_dir: Path, suite: str, servers: Iterable[tuple[str, str]]) -> dict[str, JsonDict]:
    """The saved catalogs by server, for the servers of a suite given as (name, target); servers without one are left out.

    `read_at` becomes a time to show: `03:16`, with its date before it unless that is today.
    """
    found = {}
    for server, target in servers:
        with contextlib.suppress(
            OSError, McptestError, ValueError, RecursionError, KeyError, TypeError, AttributeError
        ):
            catalog = json.loads(read_file(_catalog_path(data_dir, suite, server), largest=LARGEST))
            head = {"schema_version": SCHEMA_VERSION, "suite": suite, "server": server, "target": target}
            has_shape = all(isinstance(catalog[key], dict) for key in ("capabilities", "errors"))
            if has_shape and head.items() <= catalog.items():
                found[server] = {**catalog, READ_AT: time_shown(datetime.fromisoformat(catalog[READ_AT]).timestamp())}
    return found


def _catalog_path(data_dir: Path, suite: str, server: str) -> Path:
    name = blake2b(f"{suite}\0{server}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return data_dir / "cache" / "catalogs" / f"{name}.json"
