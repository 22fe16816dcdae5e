"""Which values of a suite are to be kept out of records, logs and reports.

The surprising thing: a name decides, never the value; what merely looks random is the redactor's business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.secret_names import looks_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.suite.templates import Templates


def secret_values(
    servers: Mapping[str, Mapping[str, Any]], env: Mapping[str, str], templates: Templates, lookups: Mapping[str, str]
) -> set[str]:
    """The values to redact.

    They are those of `env:` maps, headers and variables with secret-looking names, and what `bearer_token_env` and
    `{ env: NAME }` name. `lookups` is the environment in which those are looked up.
    """
    found = set(_named_secrets(env))
    found.update(_named_secrets(templates.variables))
    for server in servers.values():
        found.update(_named_secrets(server.get("env") or {}))
        found.update(_of_headers(server.get("headers") or {}, lookups))
        token = (server.get("auth") or {}).get("bearer_token_env")
        found.add(lookups.get(token, "") if token else "")
    found.discard("")
    return found


def _named_secrets(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, str) and looks_secret_name(name):
            yield value


def _of_headers(headers: Mapping[str, Any], lookups: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        if isinstance(value, dict):
            yield lookups.get(value["env"], "")
        elif looks_secret_name(name):
            yield value
            scheme, _, credential = value.partition(" ")
            if scheme.lower() in ("bearer", "basic", "token"):
                yield credential.strip()
