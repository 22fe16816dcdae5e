"""The servers in the settings of coding agents, without the values of `env` and headers.

To start one, the workbench sends its key, and its settings are read again here: secrets never leave this process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.engine_process.protocol import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def found_servers(start_dir: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    """`{servers: […], problems: [{path, client, message}]}`; values of `env` and headers are left out."""
    from mcptest_engine.servers.agent_configs import find_agent_servers

    found = find_agent_servers(start_dir, environ)
    return {
        "servers": [
            {
                "key": server.key,
                "name": server.name,
                "client": server.client,
                "source": server.source_path,
                "transport": server.transport,
                "target": server.shown,
                "digest": server.digest,
                "argv": list(server.argv),
                "cwd": server.target.get("cwd"),
                "env_names": list(server.env_names),
                "header_names": list(server.header_names),
                "variables": list(server.variables),
                "missing": list(server.missing),
                "enabled": server.enabled,
            }
            for server in found.servers
        ],
        "problems": [problem._asdict() for problem in found.problems],
    }


def found_settings(
    key: str, start_dir: Path, environ: Mapping[str, str], *, agreed: str | None = None
) -> dict[str, Any]:
    """Read the settings of the server with this key. `agreed` is the digest of the settings that a person has accepted.

    Raises: Refused when the server is gone, has another digest, or needs environment variables without a value.
    """
    from mcptest_engine.servers.agent_configs import find_agent_servers

    for server in find_agent_servers(start_dir, environ).servers:
        if server.key == key:
            if agreed is not None and agreed != server.digest:
                raise Refused("its settings have changed since it was looked at", hint="r looks again", kind="changed")
            if server.missing:
                names = ", ".join(f"`{name}`" for name in server.missing)
                raise Refused(
                    f"its settings need {names}, which has no value here", hint="export it, and start mcptest again"
                )
            return dict(server.target)
    raise Refused("this server is no longer in the settings", kind="gone")
