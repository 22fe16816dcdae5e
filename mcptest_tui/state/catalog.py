"""What a server offers, as the lists that are walked through: tools, resources, templates, prompts, each with its line.

An entry may be anything that a server sends; what has no name is shown by what it has. Lines are made when they are first
seen, so that a thousand tools cost what is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcptest_engine.safety.tool_classes import ToolClass, classify
from mcptest_engine.servers.signatures import prompt_pieces, signature_pieces, template_pieces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.servers.signatures import Piece

KINDS = ("tools", "resources", "templates", "prompts")
TITLES = {"tools": "Tools", "resources": "Resources", "templates": "Templates", "prompts": "Prompts"}
SHORT = {"tools": "Tools", "resources": "Res", "templates": "Tmpl", "prompts": "Pr"}
VERBS = {"tools": "call", "resources": "read", "templates": "read", "prompts": "get"}
NAMES = {"tools": "name", "resources": "uri", "templates": "uriTemplate", "prompts": "name"}
_CLASSES = {
    ToolClass.READ_ONLY: "read-only",
    ToolClass.READ_ONLY_PRESUMED: "",
    ToolClass.MUTATING: "changes things",
    ToolClass.DESTRUCTIVE: "destructive",
}


@dataclass(slots=True, eq=False)
class Item:
    """One entry of a server's list, as the server sent it."""

    kind: str
    data: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    """What is suspicious in its words, one line each: it may be meant for a model rather than for a person."""
    _pieces: list[Piece] | None = field(default=None)
    _folded: str = ""
    _badges: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """The name or URI by which a request addresses the entry."""
        return str(self.data.get(NAMES[self.kind], ""))

    @property
    def title(self) -> str:
        """What it is called for people, "" where that says no more than its name."""
        annotations = self.data.get("annotations")
        titles = [self.data.get("title"), annotations.get("title") if isinstance(annotations, dict) else None]
        titles += [self.data.get("name")] if self.kind in ("resources", "templates") else []
        return next((one for one in titles if isinstance(one, str) and one and one != self.name), "")

    @property
    def description(self) -> str:
        """The description as the server sent it."""
        text = self.data.get("description")
        return text if isinstance(text, str) else ""

    @property
    def destructive(self) -> bool:
        """Whether it is a destructive tool, which is called only after a question."""
        return self.kind == "tools" and classify(self.data) is ToolClass.DESTRUCTIVE

    @property
    def badges(self) -> tuple[str, ...]:
        """What calling it does: `destructive`, `read-only`, `idempotent`, `open-world`."""
        if self._badges is None:
            self._badges = tuple(_badges(self.data)) if self.kind == "tools" else ()
        return self._badges

    @property
    def pieces(self) -> list[Piece]:
        """Return the styled text of its row: signature, URI, or prompt with arguments."""
        if self._pieces is None:
            if self.kind == "tools":
                self._pieces = signature_pieces(self.name or "(no name)", self.data.get("inputSchema"))
            elif self.kind == "prompts":
                self._pieces = prompt_pieces(self.data)
            elif self.kind == "templates":
                self._pieces = template_pieces(self.name)
            else:
                self._pieces = [(self.name or "(no uri)", "name")]
        return self._pieces

    @property
    def folded(self) -> str:
        """The text that a search looks in, with its case folded."""
        if not self._folded:
            suspicious = ("suspicious",) if self.warnings else ()
            words = (self.name, self.title, self.description[:2000], *self.badges, *suspicious)
            self._folded = "\n".join(words).casefold()
        return self._folded


class Catalog:
    """The lists of one server, with a filter over the one that is shown."""

    def __init__(self, told: Mapping[str, object] | None = None, watched: Mapping[str, str] | None = None) -> None:
        self.told: Mapping[str, Any] = told or {}
        self._watched: Mapping[str, str] = {} if watched is None else watched
        self.items: dict[str, list[Item]] = {kind: _items(kind, self.told.get(kind)) for kind in KINDS}
        self._warn(self.told.get("warnings"))
        self.kind = next((kind for kind in KINDS if self.items[kind]), KINDS[0])
        self.filter = ""
        self.shown: list[Item] = self.items[self.kind]

    @property
    def suspicious(self) -> int:
        """The number of tools with suspicious texts."""
        return sum(bool(item.warnings) for item in self.items["tools"])

    def _warn(self, told: object) -> None:
        said: dict[str, list[str]] = {}
        for warning in told if isinstance(told, list) else ():
            said.setdefault(str(warning.get("tool")), []).append(
                f"{warning.get('rule') or ''} {warning.get('summary')}".strip()
            )
        for item in self.items["tools"] if said else ():
            item.warnings = tuple(said.get(item.name, ()))

    def use(self, kind: str) -> None:
        """Show the list of another kind."""
        self.kind = kind
        self.search(self.filter)

    def search(self, text: str) -> None:
        """Show only entries with every word of `text`, and without words behind `-`."""
        self.filter = text
        words = [word.removeprefix("is:") for word in text.casefold().split()]
        wanted = [word for word in words if not word.startswith("-")]
        unwanted = [word[1:] for word in words if len(word) > 1 and word.startswith("-")]
        everything = self.items[self.kind]
        if not words:
            self.shown = everything
            return
        found = [
            item
            for item in everything
            if all(word in item.folded for word in wanted) and not any(word in item.folded for word in unwanted)
        ]
        self.shown = sorted(found, key=lambda item: not all(word in item.name.casefold() for word in wanted))

    def word(self, item: Item) -> str:
        """One word about an entry: "subscribed", "updated", or what calling it does."""
        return self._watched.get(item.name, "") if item.kind == "resources" else item.badges[0] if item.badges else ""

    def counts(self) -> dict[str, int]:
        """Return the number of entries of each kind."""
        return {kind: len(items) for kind, items in self.items.items()}

    def problem(self, kind: str) -> str:
        """Return why a list could not be read, or was cut; "" when all is well."""
        errors = self.told.get("errors")
        return str(errors.get(kind, "")) if isinstance(errors, dict) else ""

    def place(self, item: Item) -> int:
        """Return the row of the entry with this kind and name, 0 without one."""
        shown = enumerate(self.shown)
        return next((at for at, one in shown if (one.kind, one.name) == (item.kind, item.name)), 0)

    def find(self, kind: str, name: str) -> Item | None:
        """Return the entry that requests address by this name, None without one."""
        return next((item for item in self.items.get(kind, ()) if item.name == name), None)


def unlisted(kind: str, name: str) -> Item:
    """What a request named though the server does not list it: a hidden tool, a URI made from a template."""
    return Item(kind, {NAMES[kind]: name})


def _items(kind: str, told: object) -> list[Item]:
    entries: Sequence[Any] = told if isinstance(told, list) else ()
    return [Item(kind, entry) for entry in entries if isinstance(entry, dict) and "$more" not in entry]


def _badges(tool: Mapping[str, object]) -> list[str]:
    found = [_CLASSES[classify(tool)]]
    hints = tool.get("annotations")
    if isinstance(hints, dict):
        if hints.get("idempotentHint") is True:
            found.append("idempotent")
        if hints.get("openWorldHint") is True:
            found.append("open-world")
        if hints.get("openWorldHint") is False:
            found.append("closed-world")
    return [badge for badge in found if badge]
