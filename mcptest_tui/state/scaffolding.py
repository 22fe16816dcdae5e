"""What a new suite for a server is to hold, and where it goes: ticks, and what the engine made of them.

Nothing is written here. Tools that destroy something are not ticked at first: their tests carry a `skip:`, and a person
should want them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.text import counted
from mcptest_tui.places import path_here
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DESTRUCTIVE, MUTATING = "destructive", "mutating"
LABELS = {
    DESTRUCTIVE: "destructive: runs only after you have checked it",
    MUTATING: "changes something: runs one after another",
    "read_only": "read-only",
    "read_only_presumed": "not declared read-only",
}
OPTIONS = (
    ("include_edge", "edge cases", "at a limit of its schema: one more test for each tool"),
    ("include_violation", "violations", "arguments to refuse: one more test for each tool"),
    ("include_others", "resources, prompts", "one test for each"),
    ("probe", "probes", "many more tests: for each tool every limit, every missing argument, every wrong type"),
)
"""What an option adds: what stands before the colon is said of it where there is no room for all."""


@dataclass(slots=True, eq=False)
class ToolRow:
    """One tool. `held_back` says why its tests are not run before a person has looked at them; `allowed` by a yes to it.

    `guessed` are the arguments that had to be made up.
    """

    name: str
    tool_class: str
    chosen: bool
    tests: int = 0
    held_back: str = ""
    warnings: tuple[str, ...] = ()
    allowed: bool = False
    guessed: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The class of the tool in a few words."""
        return "allowed: its tests run" if self.allowed else LABELS.get(self.tool_class, self.tool_class)


class Destination(NamedTuple):
    """The file to write: a new one, or an existing suite."""

    path: str
    new: bool

    @property
    def shown(self) -> str:
        """The path as seen from the current folder."""
        return path_here(self.path)


class Row(NamedTuple):
    """A row of the list: "heading", "tool", "option", "place" or "note"; `at` is its number among those, or its key."""

    kind: str
    at: int = 0
    text: str = ""


@dataclass(slots=True, eq=False)
class Scaffolding:
    """The ticks and the answer. `is_known` once the tools have been told."""

    places: Sequence[Destination]
    place: int = 0
    tools: list[ToolRow] = field(default_factory=list)
    options: dict[str, bool] = field(
        default_factory=lambda: {
            "include_edge": True,
            "include_violation": True,
            "include_others": True,
            "probe": False,
        }
    )
    before: str = ""
    after: str = ""
    resources: int = 0
    prompts: int = 0
    notes: tuple[str, ...] = ()
    problem: str = ""
    is_known: bool = False

    @property
    def destination(self) -> Destination:
        """The file that is selected to be written."""
        return self.places[self.place]

    def engine_options(self) -> dict[str, Any]:
        """The options for the engine: at first of all tools, to learn which there are."""
        names = None if not self.is_known else [tool.name for tool in self.tools if tool.chosen]
        return {**self.options, "tools": names, "allow": [tool.name for tool in self.tools if tool.allowed]}

    def put(self, answer: Mapping[str, Any]) -> bool:
        """What the engine made of it. True when it should be asked again, now that the tools are known."""
        told = {str(one.get("name")): one for one in answer.get("tools", ())}
        again = False
        if not self.is_known:
            said: dict[str, list[str]] = {}
            for warning in answer.get("warnings", ()):
                said.setdefault(str(warning.get("tool")), []).append(f"{warning.get('rule')} {warning.get('summary')}")
            self.tools = [
                ToolRow(
                    name, str(one.get("class")), one.get("class") != DESTRUCTIVE, warnings=tuple(said.get(name, ()))
                )
                for name, one in told.items()
            ]
            self.is_known = True
            again = any(not tool.chosen for tool in self.tools)
        for tool in self.tools:
            one = told.get(tool.name) if tool.chosen or again else None
            tool.tests = int(one.get("tests") or 0) if one is not None else 0
            tool.held_back = str(one.get("held_back") or "") if one is not None else ""
            tool.guessed = tuple(map(str, one.get("guessed") or ())) if one is not None else ()
        self.before, self.after = str(answer.get("before") or ""), str(answer.get("after") or "")
        self.resources, self.prompts = int(answer.get("resources") or 0), int(answer.get("prompts") or 0)
        self.notes, self.problem = tuple(map(str, answer.get("notes") or ())), ""
        return again

    def failed(self, problem: str) -> None:
        """Store why the suite could not be made, and drop its text."""
        self.problem, self.before, self.after = problem, "", ""

    def rows(self) -> list[Row]:
        chosen = sum(tool.chosen for tool in self.tools)
        asking = "the tools could not be listed" if self.problem else "asking the server for its tools …"
        title = f"Tools   {chosen} of {len(self.tools)}" if self.is_known else asking
        rows = [Row("heading", text=title)]
        rows += [Row("tool", at) for at in range(len(self.tools))]
        if self.is_known and not self.tools:
            rows.append(Row("note", text="it offers none"))
        rows += [Row("heading", text="Tests of each")]
        rows += [Row("option", at) for at in range(len(OPTIONS))]
        rows += [Row("heading", text="Goes into"), *(Row("place", at) for at in range(len(self.places)))]
        return rows

    def toggle(self, row: Row) -> bool:
        """Tick or untick the row, or select its file; return False without effect."""
        if row.kind == "tool":
            self.tools[row.at].chosen = not self.tools[row.at].chosen
        elif row.kind == "option":
            name = OPTIONS[row.at][0]
            self.options[name] = not self.options[name]
        elif row.kind == "place" and row.at != self.place:
            self.place = row.at
        else:
            return False
        return True

    def toggle_allowed(self, row: Row) -> bool:
        """Allow a tool's tests to run, or hold them back; False for one that needs no yes, and for one that destroys."""
        if row.kind != "tool" or self.tools[row.at].tool_class in ("read_only", DESTRUCTIVE):
            return False
        tool = self.tools[row.at]
        tool.allowed = not tool.allowed
        tool.chosen = tool.chosen or tool.allowed
        return True

    def toggle_all(self) -> None:
        """Tick all tools but destructive ones; if they are ticked, untick all."""
        harmless = [tool for tool in self.tools if tool.tool_class != DESTRUCTIVE]
        wanted = not all(tool.chosen for tool in harmless)
        for tool in harmless if wanted else self.tools:
            tool.chosen = wanted

    @property
    def first_new_line(self) -> int:
        """The line on which the new text begins, from 1."""
        for number, (old, new) in enumerate(
            zip([*self.before.split("\n"), None], self.after.split("\n"), strict=False), 1
        ):
            if old != new:
                return number
        return max(self.after.count("\n"), 1)

    def summary(self) -> list[str]:
        """A summary: how many tests, that nothing is called, what is held back, and what needs arguments."""
        tests = sum(tool.tests for tool in self.tools)
        parts = [f"{tests} of {counted(sum(tool.chosen for tool in self.tools), 'tool')}"]
        parts += [f"{self.resources} of resources"] if self.resources else []
        parts += [f"{self.prompts} of prompts"] if self.prompts else []
        whole = counted(tests + self.resources + self.prompts, "test")
        told = f"{whole}: {', '.join(parts)}" if len(parts) > 1 else f"{whole}{parts[0].removeprefix(str(tests))}"
        lines = [f"{told}. No tool is called."]
        held = [tool.name for tool in self.tools if tool.chosen and tool.held_back]
        if held:
            allow = key_of("ticks.run")
            lines.append(f"Held back, with a `skip:` ({allow} lets the tests of a tool run): {_named(held)}")
        guessed = [f"{tool.name} ({', '.join(tool.guessed)})" for tool in self.tools if tool.chosen and tool.guessed]
        if guessed:
            lines.append(f"Made-up arguments, marked with `guess`; put in real ones: {_named(guessed)}")
        return [*lines, *self.notes]


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def places_for(suites: Sequence[str], own: str, new_path: str) -> list[Destination]:
    """Where it can go: a new file first, then the suite that declares the server, then the others."""
    there = [Destination(path, new=False) for path in dict.fromkeys((*([own] if own else []), *suites))]
    return [Destination(new_path, new=True), *there]
