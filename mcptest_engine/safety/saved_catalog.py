"""Read a saved catalog, in any of the shapes that tools write, as the surfaces of one server or of several.

Accepted are a JSON-RPC response to `tools/list`, its result, a bare list of tools, the output of `mcptest tools --format json`,
and a snapshot with `servers`. Files are read by the caller.
"""

from __future__ import annotations

from collections.abc import Mapping

from mcptest_engine.core.errors import UsageError
from mcptest_engine.safety.tool_surface import Surface

_HINT = 'a catalog is `{"tools": [...]}`, a `tools/list` response, a list of tools, or `{"servers": {name: {"tools": [...]}}}`'
_LISTS = {"tools": "tools", "prompts": "prompts", "resources": "resources", "resourceTemplates": "templates"}


def surfaces_in(document: object, *, file: str) -> dict[str | None, Surface]:
    """Each server's surface by its name; the name is None in a document that names no server.

    Raises: UsageError for anything that is no catalog; `file` is the document's name in the message.
    """
    if isinstance(document, Mapping) and "servers" in document:
        return {
            name: _read_surface(held, f"{file}: server `{name}`") for name, held in _servers(document["servers"], file)
        }
    return {None: _read_surface(document, file)}


def sections_in(document: object) -> frozenset[str]:
    """The protocol's names of the lists that a catalog holds, and "instructions"; a missing list is unknown, not empty."""
    if isinstance(document, list):
        return frozenset({"tools"})
    if not isinstance(document, Mapping):
        return frozenset()
    if "servers" in document:
        servers = document["servers"]
        held = list(servers.values()) if isinstance(servers, Mapping) else servers if isinstance(servers, list) else []
        return frozenset().union(*map(sections_in, held))
    if "jsonrpc" in document:
        return sections_in(document.get("result"))
    return frozenset(key for key in (*_LISTS, "instructions") if document.get(key) is not None)


def _servers(servers: object, file: str) -> list[tuple[str, object]]:
    if isinstance(servers, list) and all(
        isinstance(one, Mapping) and isinstance(one.get("name"), str) for one in servers
    ):
        return [(one["name"], one) for one in servers]
    if isinstance(servers, Mapping):
        if any(isinstance(held, Mapping) and ("command" in held or "url" in held) for held in servers.values()):
            hint = "check a server of it: mcptest security --config FILE --server NAME"
            raise UsageError(f"{file} is a suite, not a catalog", hint=hint)
        return list(servers.items())
    raise UsageError(f"{file}: `servers` is not an object of servers", hint=_HINT)


def _read_surface(held: object, what: str) -> Surface:
    if isinstance(held, Mapping) and "jsonrpc" in held:
        if "error" in held:
            raise UsageError(
                f"{what} is an error response, not a catalog", hint="save the response of a `tools/list` that worked"
            )
        held = held.get("result")
    if isinstance(held, list):
        held = {"tools": held}
    if not isinstance(held, Mapping) or not any(key in held for key in (*_LISTS, "instructions")):
        raise UsageError(f"{what} has no list `tools`", hint=_HINT)
    instructions = held.get("instructions")
    return Surface(
        **{member: _catalog_entries(held.get(key), f"{what}: `{key}`") for key, member in _LISTS.items()},
        instructions=instructions if isinstance(instructions, str) else None,
    )


def _catalog_entries(listed: object, what: str) -> tuple[Mapping[str, object], ...]:
    if listed is None:
        return ()
    if not isinstance(listed, list):
        raise UsageError(f"{what} is not a list", hint=_HINT)
    for at, entry in enumerate(listed):
        if not isinstance(entry, Mapping):
            raise UsageError(f"{what}: entry {at} is not an object", hint=_HINT)
    return tuple(listed)
