"""One mapping of a manifest: its members by their canonical names, and readers that report wrong types.

Keys may be in snake case or as in the MCP specification (`input_schema` or `inputSchema`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.mock.templates import Path

SPELLINGS = {
    "inputSchema": "input_schema",
    "outputSchema": "output_schema",
    "mimeType": "mime_type",
    "uriTemplate": "uri_template",
    "listChanged": "list_changed",
}
ON_THE_WIRE = {ours: theirs for theirs, ours in SPELLINGS.items()}


class Complainer(Protocol):
    """Collects problems with their places."""

    def complain(self, path: Path, message: str, *, key: bool = False, hint: str | None = None) -> None:
        """Add a problem. `key`: its place is the key and not the value."""


class Fields:
    """The members of one mapping. Each reader returns None for a missing member, and reports a wrong type."""

    def __init__(self, reader: Complainer, path: Path) -> None:
        self._reader = reader
        self.path = path
        self.members: JsonDict = {}
        self.written: dict[str, str] = {}

    def path_of(self, key: str) -> Path:
        """The place of `key` in the file, with its spelling there."""
        return (*self.path, self.written.get(key, key))

    def text(self, key: str, *, required: bool = False) -> str | None:
        value = self._member(key, required=required)
        if value is None or isinstance(value, str):
            if required and value == "":
                self._reader.complain(self.path_of(key), f"`{key}` is empty")
            return value
        self._wrong(key, "text", value, hint="quote it" if isinstance(value, int | float) else None)
        return None

    def texts(self, *keys: str) -> dict[str, str]:
        """The texts of `keys` that are present, by their names in the protocol."""
        found = ((ON_THE_WIRE.get(key, key), self.text(key)) for key in keys)
        return {name: value for name, value in found if value is not None}

    def booleans(self, key: str) -> dict[str, bool]:
        value = self._member(key)
        if value is None or isinstance(value, bool):
            return {} if value is None else {key: value}
        self._wrong(key, "true or false", value)
        return {}

    def number(self, key: str) -> float | None:
        value = self._member(key)
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and value >= 0):
            return value
        self._wrong(key, "a number of at least 0", value)
        return None

    def whole_number(self, key: str, *, required: bool = False, least: int | None = None) -> int | None:
        value = self._member(key, required=required)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and (least is None or value >= least):
            return value
        self._wrong(key, "a whole number" if least is None else f"a whole number of at least {least}", value)
        return None

    def mapping(self, key: str) -> dict[str, object] | None:
        value = self._member(key)
        if value is None or isinstance(value, dict):
            return value
        self._wrong(key, "a mapping", value)
        return None

    def sequence(self, key: str) -> list[object]:
        value = self._member(key)
        if value is None or isinstance(value, list):
            return value or []
        self._wrong(key, "a list", value)
        return []

    def _member(self, key: str, *, required: bool = False) -> object:
        if key in self.members:
            value = self.members[key]
            if value is None:
                self._wrong(key, "given or left out", value)
            return value
        if required:
            self._reader.complain(self.path, f"`{key}` is missing")
        return None

    def _wrong(self, key: str, wanted: str, value: object, *, hint: str | None = None) -> None:
        path = self.path_of(key)
        self._reader.complain(path, f"`{path[-1]}` must be {wanted}, found {kind_of(value)}", hint=hint)


def kind_of(value: object) -> str:
    """The type of a value in the words of a message."""
    match value:
        case None:
            return "nothing"
        case bool():
            return f"the boolean {str(value).lower()}"
        case int() | float():
            return f"the number {value}"
        case str():
            return f'the text "{value[:40]}"'
        case list():
            return "a list"
        case _:
            return "a mapping"
