"""How a server is reached, read off a suite's text that need not be saved, nor sound: enough to ask it what it offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import SuiteError
from mcptest_engine.suite.yaml import read_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

_TOP = "servers:"


def target_in(lines: Sequence[str], name: str, folder: str) -> dict[str, Any] | None:
    """`{command, env?, cwd?, url?, ready?}` or `{url, bearer_token_env?}`; None where the text does not say it in plain words.

    Of templates only the suite's own `folder` is known here.
    """
    start = next((row for row, line in enumerate(lines) if line.startswith(_TOP)), None)
    if start is None:
        return None
    end = next((row for row in range(start + 1, len(lines)) if lines[row][:1] not in ("", " ", "#", "}")), len(lines))
    try:
        tree = read_tree("\n".join(lines[start:end]), file="").value
    except SuiteError:
        return None
    servers = tree.get("servers") if isinstance(tree, dict) else None
    settings = servers.get(name) if isinstance(servers, dict) else None
    if not isinstance(settings, dict):
        return None
    known = _filled(settings, folder)
    return None if known is None else _target(known)


def _target(settings: dict[str, Any]) -> dict[str, Any] | None:
    command, url = settings.get("command"), settings.get("url")
    if isinstance(command, list) and command and (url is None or isinstance(url, str)):
        env, cwd = settings.get("env"), settings.get("cwd")
        target: dict[str, Any] = {"command": [str(word) for word in command]}
        if isinstance(env, dict):
            target["env"] = {str(key): str(value) for key, value in env.items()}
        target |= {"cwd": cwd} if isinstance(cwd, str) else {}
        if url is not None:
            target |= {key: settings[key] for key in ("url", "ready") if key in settings}
        return target
    if isinstance(url, str) and command is None and "headers" not in settings:
        auth = settings.get("auth")
        token = auth.get("bearer_token_env") if isinstance(auth, dict) else None
        return {"url": url, "bearer_token_env": token} if isinstance(token, str) else {"url": url}
    return None


def _filled(value: object, folder: str) -> Any:
    """The settings with the folder in its places; None when another template stands in them."""
    if isinstance(value, str):
        value = value.replace("${CONFIG_DIR}", folder)
        return None if "${" in value else value
    if isinstance(value, dict):
        filled = {key: _filled(part, folder) for key, part in value.items()}
        return None if any(part is None and value[key] is not None for key, part in filled.items()) else filled
    if isinstance(value, list):
        items = [_filled(part, folder) for part in value]
        return None if any(part is None for part in items) else items
    return value
