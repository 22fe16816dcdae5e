"""A test with `cases:` as one test for each row: its name, what is asked, and what is expected, with the row's values in them.

Pure. The entry has been checked. See docs/how-to/compositions.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.suite.references import Reference, fill, part_of
from mcptest_engine.suite.templates import LITERAL_KEYS, as_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WITH_CASES = ("tools", "resources", "prompts", "compositions")
"""The blocks whose tests may have rows of data."""
FILLED = ("args", "uri", "meta", "expect", "verify")
"""What of a test of one request may hold variables of a case; of a composition its `expect`, and what its nodes are given."""
_OF_CASES = ("skip", "only")


def rows_of(data: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], dict[str, Any]]]:
    """Each case of a test with the entry that it comes to: without `cases`, and with what the case says in place.

    `expect` stands in it as a case of a composition or of a request has it, still with its templates.
    """
    shared = {key: value for key, value in data.items() if key != "cases"}
    for case in data["cases"]:
        own = {key: case[key] for key in (*_OF_CASES, "expect") if key in case}
        tags = [*data.get("tags", ()), *case.get("tags", ())]
        yield case, {**shared, **own, "name": name_of_case(data["name"], case["name"]), "tags": tags}


def requests_of(data: Mapping[str, object]) -> Iterator[tuple[Mapping[str, Any], dict[str, Any]]]:
    """Each case of a test of one request, with its entry ready to be run."""
    late = [key for key in FILLED if key in data or key == "expect"]
    for case, entry in rows_of(data):
        variables = case.get("vars", {})
        filled = {key: fill_in(entry[key], variables, key) for key in late if key in entry}
        yield case, _with_texts({**entry, **filled})


def _with_texts(request: dict[str, Any]) -> dict[str, Any]:
    """The request with text for each value that has to be text: a URI, and the arguments of a prompt."""
    if "uri" in request:
        return {**request, "uri": as_text(request["uri"])}
    if "prompt" in request and "args" in request:
        return {**request, "args": {key: as_text(value) for key, value in request["args"].items()}}
    return request


def fill_in(value: Any, variables: Mapping[str, Any], key: str = "expect") -> Any:
    """What stands under `key` with a case's variables in it, except in what has a language of its own."""

    def look_up(reference: Reference) -> Any:
        if reference.space == "var" and reference.name in variables:
            return part_of(reference, variables[reference.name])
        return reference

    if key == "verify":
        return [_with_texts({name: fill_in(part, variables, name) for name, part in step.items()}) for step in value]
    return fill(value, look_up, LITERAL_KEYS if key == "expect" else frozenset())


def name_of_case(name: str, case: str) -> str:
    """The full name of a test that is run with one row of its data."""
    return f"{name} [{case}]"
