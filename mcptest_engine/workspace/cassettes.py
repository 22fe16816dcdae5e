"""Cassettes: `.mcptest/cassettes/<name>.json`, the exchanges of one run, recorded for replay without the servers.

    { schema_version: "mcptest.cassette/v1", name, recorded_at, mcptest_version, suite: {name, path},
      servers: { NAME: { transport, exchanges: [ { method, params, answer: {result | error} | refusal: {auth, message, hint?},
                                                   duration_ms, notifications?, server_requests?, http? } ] } },
      stand_ins?: [ { text, variable? } ],
      models?: { chosen: { test?, judge? }, tools: { NUMBER: [ tool ] },
                 exchanges: [ { request: { model, turns, system?, tools?: NUMBER, … }, answer, duration_ms, kept? } ] } }

Exchanges are in the order in which they were answered. `stand_ins` are the texts that replace secrets in answers, each with
the variable that holds the secret if the suite names one. `chosen` are the models used where a test names none. Callers
redact everything before they save it, because cassettes are made to be committed.
"""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import McptestError, UsageError, did_you_mean
from mcptest_engine.core.safe_json import load_json
from mcptest_engine.core.schemas import nested_deeper_than
from mcptest_engine.workspace.atomic import write_atomic
from mcptest_engine.workspace.files import list_files, make_directory, read_named_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.workspace.workspace import Workspace

SCHEMA_VERSION = "mcptest.cassette/v1"
FROZEN_SUFFIX = ".frozen"
"""Suffix of the names of files with results of nodes (`frozen.py`), which are not recordings of servers."""
DEEPEST = 400
"""The most levels of arrays and objects in a cassette: reading, comparing and redacting recurse once for each level."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


def cassette_path(workspace: Workspace, name: str) -> Path:
    """The path of the cassette with this name. Raises: UsageError for a name that could lead elsewhere."""
    if _NAME.fullmatch(name) is None or name.endswith((".json", ".", FROZEN_SUFFIX)):
        raise UsageError(
            f"`{name[:120]}` is not a name for a cassette",
            hint="letters, digits, `.`, `_` and `-`, beginning with a letter or digit; without `.json`",
        )
    return cassettes_dir(workspace) / f"{name}.json"


def cassettes_dir(workspace: Workspace) -> Path:
    return workspace.data_dir / "cassettes"


def cassette_names(workspace: Workspace) -> list[str]:
    """The sorted names of the stored cassettes; links are ignored."""
    names = (name.removesuffix(".json") for name in list_files(cassettes_dir(workspace), ".json"))
    return sorted(name for name in names if _NAME.fullmatch(name) and not name.endswith(FROZEN_SUFFIX))


def save_cassette(workspace: Workspace, name: str, cassette: Mapping[str, object]) -> Path:
    """Write a cassette, replacing one of that name. Raises: McptestError when the disk refuses it."""
    path = cassette_path(workspace, name)
    write_cassette(path, cassette, workspace, doing=f"save the cassette as {path}")
    return path


def make_cassettes_dir(workspace: Workspace, path: Path) -> None:
    """Create the folder of the cassette at `path`. Raises: McptestError when it cannot be written to."""
    try:
        workspace.make_runs_dir()
        make_directory(path.parent)
        if not os.access(path.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as wrong:
        raise McptestError(f"cannot save the cassette as {path}: {wrong.strerror or wrong}") from wrong


def write_cassette(path: Path, cassette: Mapping[str, object], workspace: Workspace, *, doing: str) -> None:
    """Write a cassette to `path`. Raises: McptestError "cannot {doing}: …", with `doing` such as "save it"."""
    if nested_deeper_than(cassette, DEEPEST):
        raise McptestError(f"cannot {doing}: what was recorded is nested more than {DEEPEST} levels deep")
    try:
        text = json.dumps(cassette, ensure_ascii=False, indent=1, allow_nan=False)
        workspace.make_runs_dir()
        make_directory(path.parent)
        write_atomic(path, text.encode("utf-8", "backslashreplace") + b"\n")
    except OSError as wrong:
        raise McptestError(f"cannot {doing}: {wrong.strerror or wrong}") from wrong
    except (ValueError, RecursionError) as wrong:
        raise McptestError(f"cannot {doing}: {wrong}") from wrong


def load_cassette(workspace: Workspace, name: str) -> JsonDict:
    """The cassette of this name. Raises: UsageError when there is none, or its file is not a valid cassette."""
    path = cassette_path(workspace, name)
    if not os.path.lexists(path):
        names = cassette_names(workspace)
        hint = did_you_mean(name, names) or ("record one: mcptest run --record NAME" if not names else None)
        raise UsageError(f"there is no cassette `{name}` in {cassettes_dir(workspace)}", hint=hint)
    return read_cassette(path)


def open_cassette(workspace: Workspace, named: str) -> JsonDict:
    """The cassette of this name, or in this file if `named` is a path. Raises: UsageError when there is no valid one."""
    path = Path(named)
    return (
        read_cassette(path)
        if named.endswith(".json") or "/" in named or path.is_file()
        else load_cassette(workspace, named)
    )


def read_cassette(path: Path) -> JsonDict:
    """The cassette in the file at `path`. Raises: UsageError when it cannot be read or is not a valid cassette."""
    try:
        cassette = load_json(read_named_file(path))
    except OSError as wrong:
        raise UsageError(f"cannot read {path}: {wrong.strerror or wrong}") from None
    except ValueError as wrong:
        raise UsageError(f"{path} is not a cassette: {wrong}") from None
    if nested_deeper_than(cassette, DEEPEST):
        raise UsageError(f"{path} cannot be replayed: it is nested more than {DEEPEST} levels deep")
    if not isinstance(cassette, dict) or cassette.get("schema_version") != SCHEMA_VERSION:
        version = cassette.get("schema_version") if isinstance(cassette, dict) else None
        raise UsageError(
            f"{path} is not a cassette of this version: `schema_version` is {json.dumps(version)}",
            hint=f"this mcptest reads {SCHEMA_VERSION}",
        )
    stand_ins = cassette.get("stand_ins", [])
    if not isinstance(stand_ins, list) or not all(isinstance(one, dict) and _is_stand_in(one) for one in stand_ins):
        raise UsageError(f"{path} is not a cassette: `stand_ins` is not a list of objects with a `text`")
    problem = _problem_of_servers(cassette.get("servers")) or _problem_of_models(cassette.get("models"))
    if problem is not None:
        raise UsageError(f"{path} is not a cassette: {problem}")
    return cassette


def _is_stand_in(one: Mapping[str, object]) -> bool:
    return bool(one.get("text")) and all(isinstance(one.get(key, ""), str) for key in ("text", "variable"))


_KINDS: dict[str, tuple[type, ...]] = {
    "http": (dict, type(None)),
    "notifications": (list, type(None)),
    "server_requests": (list, type(None)),
    "duration_ms": (int, float, type(None)),
}


def _problem_of_servers(servers: object) -> str | None:
    """The first problem of the recorded exchanges of servers, as a clause; None when there is none."""
    if not isinstance(servers, dict):
        return "`servers` is not an object"
    for name, server in servers.items():
        exchanges = server.get("exchanges") if isinstance(server, dict) else None
        if not isinstance(exchanges, list):
            return f"server `{name}` has no `exchanges`"
        for number, exchange in enumerate(exchanges):
            place = f"exchange {number} of server `{name}`"
            if not isinstance(exchange, dict) or not isinstance(exchange.get("method"), str):
                return f"{place} has no `method`"
            wrong = next((key for key, kinds in _KINDS.items() if not isinstance(exchange.get(key), kinds)), None)
            if wrong is not None:
                return f"{place} has a `{wrong}` of the wrong type"
            messages = [*(exchange.get("notifications") or ()), *(exchange.get("server_requests") or ())]
            if not all(isinstance(one, dict) for one in messages):
                return f"{place} has a notification or server request that is not an object"
            refusal = exchange.get("refusal")
            if isinstance(refusal, dict) and isinstance(refusal.get("message"), str):
                continue
            answer = exchange.get("answer")
            if not isinstance(answer, dict) or ("result" in answer) == ("error" in answer):
                return f"{place} has no `answer` with either `result` or `error`"
    return None


def _problem_of_models(models: object) -> str | None:
    """The first problem of the recorded exchanges of models, which a cassette need not have; else None."""
    if models is None:
        return None
    exchanges = models.get("exchanges") if isinstance(models, dict) else None
    if not isinstance(models, dict) or not isinstance(exchanges, list):
        return "`models` has no `exchanges`"
    if not all(isinstance(models.get(name, {}), dict) for name in ("chosen", "tools")):
        return "`models` has a `chosen` or `tools` that is not an object"
    for number, exchange in enumerate(exchanges):
        place = f"exchange {number} of `models`"
        request = exchange.get("request") if isinstance(exchange, dict) else None
        if not isinstance(request, dict) or not isinstance(request.get("model"), str):
            return f"{place} has no `request` with a `model`"
        if not isinstance(exchange.get("duration_ms"), int | float):
            return f"{place} has no `duration_ms`"
        answer = exchange.get("answer")
        if not isinstance(answer, dict) or not {"text", "stop", "tokens_in", "tokens_out", "cost_usd"} <= {*answer}:
            return f"{place} has no `answer` of a model"
    return None
