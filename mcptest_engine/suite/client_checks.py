"""What can be wrong with a `client:` whose shape is right: roots that are no `file:` URIs, keys that say nothing together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.words import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.suite.places import Places
    from mcptest_engine.suite.yaml import Pointer


def check_client(client: Any, file: int, path: Pointer, places: Places) -> None:
    """Tell `places` what is wrong with the client of a server or test; `path` leads to it in the file."""
    if not isinstance(client, dict):
        return
    roots = client.get("roots")
    for index, root in enumerate(roots if isinstance(roots, list) else ()):
        if isinstance(root, dict):
            _check_root(root.get("uri"), file, (*path, "roots", index, "uri"), places)
        else:
            _check_root(root, file, (*path, "roots", index), places)
    for answer, place in _answers(client.get("sampling"), (*path, "sampling")):
        _check_beside_error(answer, ("model", "role", "stopReason"), file, place, places)
    for answer, place in _answers(client.get("elicitation"), (*path, "elicitation")):
        _check_beside_error(answer, ("content",), file, place, places)
        if "content" in answer and answer.get("action") in ("decline", "cancel"):
            message = f"the specification allows `content` with `accept` only, not with `{answer['action']}`"
            places.warn(file, (*place, "content"), message, "it is sent unchanged", key=True)


def _check_root(uri: Any, file: int, path: Pointer, places: Places) -> None:
    """Source: MCP 2025-11-25, client/roots: a root's `uri` is a `file://` URI."""
    if isinstance(uri, str) and uri and not uri.lower().startswith("file://"):
        hint = f"write `file://{uri}`" if uri.startswith("/") else "such as `file:///data`"
        places.warn(file, path, f"the specification requires a `file://` URI for a root, found {quoted(uri)}", hint)


def _answers(answers: Any, path: Pointer) -> Iterator[tuple[dict[str, Any], Pointer]]:
    """The answers that are mappings, one alone or the items of a list."""
    if isinstance(answers, dict):
        yield answers, path
    for index, answer in enumerate(answers if isinstance(answers, list) else ()):
        if isinstance(answer, dict):
            yield answer, (*path, index)


def _check_beside_error(
    answer: dict[str, Any], keys: tuple[str, ...], file: int, path: Pointer, places: Places
) -> None:
    for key in keys if "error" in answer else ():
        if key in answer:
            message = f"`{key}` has no effect beside `error`: the server gets only the error"
            places.tell(file, (*path, key), message, "remove one of the two", key=True)
