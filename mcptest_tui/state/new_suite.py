"""What a person types to name a server, and names for new suites and for the servers in them."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def free_path(folder: Path) -> Path:
    """Return a path for a new suite that no file has yet."""
    wanted = folder / "mcptest.yml"
    number = 2
    while os.path.lexists(wanted):
        wanted = folder / f"mcptest-{number}.yml"
        number += 1
    return wanted


def target_of(typed: str) -> dict[str, Any] | None:
    """`{url, bearer_token_env?}` or `{command}` for what a person typed; None when it is neither."""
    typed = typed.strip()
    url = re.fullmatch(r"(https?://\S+)(?:\s+\$\{?([A-Za-z_]\w*)\}?)?", typed)
    if url is not None:
        return {"url": url[1], **({"bearer_token_env": url[2]} if url[2] else {})}
    if re.match(r"[a-z][a-z0-9+.-]*://", typed, re.IGNORECASE):
        return None
    try:
        command = shlex.split(typed)
    except ValueError:
        return None
    return {"command": command} if command else None


def target_problem(typed: str) -> str | None:
    """Why what was typed names no server, with what to type instead; None where it may name one."""
    typed = typed.strip()
    target = target_of(typed)
    if target is None:
        return "neither a command nor a URL"
    if re.fullmatch(
        r"(localhost|[\w-]+(\.[\w-]+)+)(:\d+)?/\S*|(localhost|[\w-]+(\.[\w-]+)*):\d+", typed
    ) and not os.path.lexists(typed):
        return f"a URL begins with http:// or https://, for example  http://{typed}"
    first = target["command"][0] if "command" in target else ""
    if re.match(r"[A-Za-z_]\w*=", first):
        return f"variables come after the program `env`, for example  env {typed}"
    return None


def declared_target(target: Mapping[str, Any], secrets: dict[str, str]) -> dict[str, Any]:
    """`{url}` or `{command}` as a suite declares it; a secret goes into `secrets`, under the variable in its place."""
    from mcptest_engine.authoring.targets import declared_command, declared_url

    if "url" in target:
        return {"url": declared_url(str(target["url"]), secrets)}
    return {"command": declared_command([str(word) for word in target["command"]], secrets)}


def shown_target(target: Mapping[str, object]) -> str:
    """Return the command or the URL on one line, without secrets."""
    from mcptest_engine.suite.secrets import without_userinfo

    declared = declared_target(target, {})
    return without_userinfo(declared["url"]) if "url" in declared else shlex.join(declared["command"])


def server_name(target: Mapping[str, object]) -> str:
    """A short name for the server: its program's, or its host's; never a word that may be a secret."""
    if "url" in target:
        word = re.split(r"[/?#]", re.sub(r"^https?://", "", str(target["url"])))[0].rpartition("@")[2].split(":")[0]
        word = "" if re.fullmatch(r"[\d.]+", word) else word  # an address is no name
    else:
        declared = declared_target(target, {})["command"]
        words = [part for part in declared if not part.startswith("-") and "${env." not in part] or [""]
        word = words[-1 if len(words) > 1 else 0].rpartition("/")[2]
    word = re.sub(r"\.(py|js|ts|mjs)$", "", word)
    return re.sub(r"[^a-z0-9_-]+", "-", word.lower()).strip("-") or "server"
