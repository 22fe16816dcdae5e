"""Items that wait for a person, and the results of decisions: plain values for the command and the workbench.

An item contains no edit. It says which test it is about and what would change there; the edit is made when it is accepted, on
the text at that time.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from mcptest_engine.core.json_types import JsonDict, JsonMapping


class Choice(StrEnum):
    """What a person decides about an item. A skipped one waits on."""

    ACCEPT = "accept"
    REJECT = "reject"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem:
    """One change that waits: "test" adds a test, "expect" replaces an `expect`, "assertion" changes one, "snapshot" a value.

    "arguments" is a test whose made-up arguments met with an error: accepting it removes `guess`, and a person gives others by
    editing it. `arguments` describes what the tool takes, a line each; `needs_arguments`: none better are known.

    `id` is 12 hexadecimal digits and the same as long as the change is. `suite` is the path of the file that would be written,
    relative to the workspace, `line` that of the test in it, from 1. `about` is the assertion path of the value that changes,
    "" for what is no assertion. `call` is what an existing test calls, and with which arguments.
    `before` and `after` are YAML without indentation: what
    the item is about, as it stands (comments included) and as it would be. `stability` tells how far the value can be trusted,
    `is_volatile` that it cannot. `loosens` says how a failing test would demand less. `tests` are the full names of those to
    run again, of `run_suite`.

    The rest is for `decide`: where the change is made, `path` leading from the test down, and what stood there when it was
    proposed.
    """

    id: str
    kind: str
    suite: str
    line: int | None
    title: str
    before: str
    after: str
    about: str = ""
    call: str = ""
    why: str = ""
    stability: str = ""
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    loosens: str | None = None
    is_volatile: bool = False
    arguments: tuple[str, ...] = ()
    needs_arguments: bool = False
    run_suite: str = ""
    tests: tuple[str, ...] = ()
    source: str = ""
    origin: str = ""
    block: str = ""
    test_name: str = ""
    path: tuple[str | int, ...] = ()
    was: Any = None
    value: Any = None

    @property
    def is_safe(self) -> bool:
        """Whether "accept all" includes it: it neither loosens a test, nor looks volatile, nor needs arguments."""
        return self.loosens is None and not self.is_volatile and not self.needs_arguments

    @property
    def to_edit(self) -> str:
        """The text for editing: `after`, below a description of the tool's arguments. `undescribed` removes that again."""
        return "".join(f"# {line}\n" for line in self.arguments) + self.after

    def undescribed(self, text: str) -> str:
        """An edited text without the lines of `arguments` above it."""
        lines = text.split("\n")
        while self.arguments and lines and lines[0].startswith("#"):
            del lines[0]
        return "\n".join(lines)

    @property
    def likeness(self) -> tuple[str, ...]:
        """What similar items have in common: the kind and, of an assertion, its target and its matcher."""
        if "matcher" in self.path:
            return (self.kind, self.about)
        matcher = self.was.get("matcher") if isinstance(self.was, dict) else None
        if self.kind != "assertion" or not isinstance(matcher, dict):
            return (self.kind, *(str(part) for part in self.path[-1:]))
        return (self.kind, str(self.was.get("target")), *(str(name) for name in matcher))

    def to_json(self) -> JsonDict:
        return asdict(self)

    @classmethod
    def from_json(cls, data: JsonMapping) -> ReviewItem:
        """Decode an item of `to_json`. Raises: KeyError, TypeError."""
        members = {field.name: data[field.name] for field in fields(cls) if field.name in data}
        for name in ("left_out", "notes", "tests", "path", "arguments"):
            members[name] = tuple(members.get(name, ()))
        return cls(**members)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file that was written: `path` is absolute; `before` is None for a new one, `after` for one that was removed."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedItem:
    """An accepted item that could not be written, and the reason; it waits on."""

    item: ReviewItem
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """The result of decisions. `accepted` are written; `forgotten` are the proposals that were removed, for `undo`."""

    written: tuple[FileChange, ...] = ()
    accepted: tuple[ReviewItem, ...] = ()
    rejected: tuple[ReviewItem, ...] = ()
    skipped: tuple[ReviewItem, ...] = ()
    refused: tuple[RefusedItem, ...] = ()
    forgotten: tuple[JsonMapping, ...] = ()

    @property
    def to_rerun(self) -> dict[str, tuple[str, ...]]:
        """The changed tests: suite -> full names."""
        touched: dict[str, dict[str, None]] = {}
        for item in self.accepted:
            touched.setdefault(item.run_suite or item.suite, {}).update(dict.fromkeys(item.tests))
        return {suite: tuple(names) for suite, names in touched.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """The result of `undo`: the restored files, and the others with the reason."""

    restored: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
