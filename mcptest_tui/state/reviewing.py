"""What waits for a person, and what they have decided of it so far: nothing here is written until they say so.

Decisions hang on the items' ids, so a list that is read again, because a run has ended or a file has changed, keeps them for
what is still there. A decision may be changed until it is written.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.text import counted
from mcptest_tui.words import MARKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ACCEPT, REJECT, SKIP = "accept", "reject", "skip"
RISK_MARKS = {
    "can only be rejected": "-",
    "needs arguments": "?",
    "loosens": MARKS["inconclusive"],
    "volatile": "*",
}
"""The marks before the proposals to look at, and in the legend of the list."""
KINDS = {
    "arguments": "other arguments than those made up",
    "test": "a new test",
    "expect": "another `expect`",
    "assertion": "another assertion",
    "snapshot": "another snapshot",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One proposal from the engine; `file` is the absolute path of the file that it would change."""

    id: str
    kind: str
    suite: str
    file: str
    line: int | None
    title: str
    before: str
    after: str
    why: str = ""
    stability: str = ""
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    loosens: str | None = None
    is_volatile: bool = False
    arguments: tuple[str, ...] = ()
    needs_arguments: bool = False
    is_cut: bool = False
    run_suite: str = ""
    tests: tuple[str, ...] = ()
    source: str = ""
    stale: str = ""
    """Why it cannot be accepted any more, only rejected."""
    path: tuple[str, ...] = ()
    call: str = ""
    """What the test calls, and with which arguments."""
    target: str = ""
    """The assertion path of the value that changes; "" for what is no assertion."""

    @property
    def place(self) -> str:
        """The suite and the line of the test, as `weather.yml:41`."""
        return f"{self.suite}:{self.line}" if self.line else self.suite

    @property
    def about(self) -> str:
        """What of the test it changes: the target of an assertion, a member such as `max_duration_ms`, or what is new."""
        if self.kind == "assertion":
            return (
                self.target
                or _target(self.after)
                or next((part for part in reversed(self.path) if not part.isdigit()), "")
            )
        return {"test": "new test", "arguments": "args"}.get(self.kind, self.kind)

    @property
    def risks(self) -> list[str]:
        """The reasons to check the proposal before it is accepted."""
        risks = {
            "can only be rejected": bool(self.stale),
            "needs arguments": self.needs_arguments,
            "loosens": self.loosens is not None,
            "volatile": self.is_volatile,
        }
        return [word for word, holds in risks.items() if holds]

    @property
    def mark(self) -> str:
        """The mark of the first risk; a space without any."""
        return RISK_MARKS[self.risks[0]] if self.risks else " "

    def is_missing_arguments(self, text: str | None) -> bool:
        """Whether the text to accept, None for the one proposed, still has no arguments that the server takes."""
        return self.needs_arguments and (text is None or text.strip() == self.after.strip())

    @property
    def is_safe(self) -> bool:
        """Whether it may be accepted with all the others: it takes nothing back, and looks as if it stays."""
        return not self.risks

    @property
    def to_edit(self) -> str:
        """The text to edit: `after`, below the accepted arguments as comments."""
        return "".join(f"# {line}\n" for line in self.arguments) + self.after

    def undescribed(self, text: str) -> str:
        """Return an edited text without the comments about arguments above it."""
        lines = text.split("\n")
        while self.arguments and lines and lines[0].startswith("#"):
            del lines[0]
        return "\n".join(lines)

    @property
    def likeness(self) -> tuple[str, ...]:
        """What is the same in proposals that are alike: the kind, and where in a test the change is, whichever its number."""
        return self.kind, *(part for part in self.path if not part.isdigit()), self.target or _target(self.after)

    def is_about(self, suite: str, test: str) -> bool:
        """Whether the proposal changes this test of the suite at that path."""
        return test in (self.title, *self.tests) and suite.endswith((self.suite, self.run_suite or self.suite))


def item_of(told: Mapping[str, Any]) -> Item:
    """Return a proposal made of the engine's answer."""
    texts: dict[str, Any] = {name: str(told.get(name) or "") for name in _TEXTS}
    texts.update(
        {name: tuple(map(str, told.get(name) or ())) for name in ("left_out", "notes", "tests", "path", "arguments")}
    )
    line, loosens = told.get("line"), told.get("loosens")
    return Item(
        line=line if isinstance(line, int) else None,
        loosens=None if loosens is None else str(loosens),
        is_volatile=bool(told.get("is_volatile")),
        needs_arguments=bool(told.get("needs_arguments")),
        is_cut=bool(told.get("is_cut")),
        target=str(told.get("about") or ""),
        **texts,
    )


_TEXTS = (
    "id",
    "kind",
    "suite",
    "file",
    "title",
    "before",
    "after",
    "why",
    "stability",
    "run_suite",
    "source",
    "stale",
    "call",
)


class Decision(NamedTuple):
    """A decision; `text` is the edited fragment, None for the proposed one."""

    choice: str
    text: str | None = None


class Reviewing:
    """The list of proposals, the cursor in it, and the decisions."""

    def __init__(self) -> None:
        self.items: tuple[Item, ...] = ()
        self.decisions: dict[str, Decision] = {}
        self.drafts: dict[str, str] = {}
        """Fragments that were begun to be edited, by item."""
        self.risks: tuple[str, ...] = ()
        """Those of all items, each once."""
        self.at = 0
        self._order: list[str] = []
        self._away: dict[str, Decision] = {}
        """Decisions of items that are not there: a suite may be broken, or gone, for as long as somebody works at it."""

    def put(self, items: Iterable[Item]) -> None:
        """Replace the proposals; the cursor stays on its item, or at its row."""
        current = self.current
        self.items = tuple(items)
        self.risks = tuple(dict.fromkeys(word for item in self.items for word in item.risks))
        there = {item.id: at for at, item in enumerate(self.items)}
        known = {**self._away, **self.decisions}
        self.decisions = {key: one for key, one in known.items() if key in there}
        self._away = {key: one for key, one in known.items() if key not in there}
        back = [key for key in self.decisions if key not in self._order]
        self._order = [*back, *(key for key in self._order if key in self.decisions)]
        at = there.get(current.id) if current is not None else None
        self.at = at if at is not None else min(self.at, max(len(self.items) - 1, 0))

    # Where one is

    @property
    def current(self) -> Item | None:
        """The proposal under the cursor, None without proposals."""
        return self.items[self.at] if self.at < len(self.items) else None

    def move(self, steps: int) -> bool:
        """Move the cursor without deciding; return False at either end."""
        return self.go(self.at + steps)

    def go(self, at: int) -> bool:
        """Move the cursor to item `at`, or the nearest; return whether it moved."""
        wanted = min(max(at, 0), max(len(self.items) - 1, 0))
        moved, self.at = wanted != self.at, wanted
        return moved

    def find(self, suite: str, test: str) -> int | None:
        """The number of the first item about a test, an undecided one before others."""
        found = [at for at, item in enumerate(self.items) if item.is_about(suite, test)]
        return next((at for at in found if self.items[at].id not in self.decisions), found[0] if found else None)

    # Deciding

    def decision(self, item: Item) -> Decision | None:
        """Return the decision about a proposal so far, None without one."""
        return self.decisions.get(item.id)

    def decide(self, choice: str, text: str | None = None) -> None:
        """Decide the current item, and go to the next undecided one, round to the first."""
        item = self.current
        if item is None:
            return
        self._put(item, Decision(choice, text))
        self._next()

    def decide_all(self, items: Sequence[Item], choice: str) -> None:
        """Decide about several proposals at once, with their proposed texts."""
        for item in items:
            self._put(item, Decision(choice))
        self._next()

    def undo(self) -> Item | None:
        """Undo the last decision and move to its item; return None without one."""
        if not self._order:
            return None
        key = self._order.pop()
        self.decisions.pop(key, None)
        self.at = next((at for at, item in enumerate(self.items) if item.id == key), self.at)
        return self.current

    def rest(self) -> list[Item]:
        """Return all proposals without a decision."""
        return [item for item in self.items if item.id not in self.decisions]

    def alike(self, item: Item) -> list[Item]:
        """The undecided ones that change the same in other tests, and may be accepted unread; the item itself among them."""
        like = item.likeness
        return [one for one in self.rest() if one is item or (one.is_safe and one.likeness == like)]

    # What it comes to

    @property
    def counts(self) -> dict[str, int]:
        """The number of decisions of each kind, and of the proposals left."""
        found = Counter(one.choice for one in self.decisions.values())
        return {ACCEPT: found[ACCEPT], REJECT: found[REJECT], SKIP: found[SKIP], "left": len(self.rest())}

    @property
    def unwritten(self) -> int:
        """The number of decisions that will change something when they are written."""
        counts = self.counts
        return counts[ACCEPT] + counts[REJECT]

    @property
    def is_complete(self) -> bool:
        """Whether all proposals are decided, and at least one decision needs writing."""
        return bool(self.items) and not self.rest() and self.unwritten > 0

    def accepted(self) -> list[Item]:
        return [item for item in self.items if (one := self.decision(item)) is not None and one.choice == ACCEPT]

    def files(self, items: Iterable[Item] | None = None) -> list[str]:
        """Return what the accepted proposals change: suites, or the snapshots of one."""
        chosen = self.accepted() if items is None else items
        snapshots = "the snapshots of "
        return list(dict.fromkeys(f"{snapshots if item.kind == 'snapshot' else ''}{item.suite}" for item in chosen))

    def to_write(self) -> list[dict[str, Any]]:
        """Return the decisions for the engine, without those that skip."""
        found = []
        for item in self.items:
            one = self.decision(item)
            if one is not None and one.choice != SKIP:
                found.append(
                    {"id": item.id, "choice": one.choice, **({"text": one.text} if one.text is not None else {})}
                )
        return found

    def remove_decided(self, refused: Iterable[str]) -> None:
        """Remove the decisions that were carried out, and those that were refused, which need another."""
        refused = set(refused)
        self.decisions = {key: one for key, one in self.decisions.items() if one.choice == SKIP and key not in refused}
        self._away.clear()
        self._order = [key for key in self._order if key in self.decisions]

    def _put(self, item: Item, decision: Decision) -> None:
        self.decisions[item.id] = decision
        self._order = [key for key in self._order if key != item.id] + [item.id]

    def _next(self) -> None:
        count = len(self.items)
        behind = (at % count for at in range(self.at + 1, self.at + 1 + count))
        self.at = next((at for at in behind if self.items[at].id not in self.decisions), self.at)


def file_names_text(files: Sequence[str]) -> str:
    """Return the names for a sentence: `a.yml and b.yml`, `a.yml, b.yml and 3 files more`."""
    if len(files) <= 2:
        return " and ".join(files)
    return f"{', '.join(files[:2])} and {counted(len(files) - 2, 'file')} more"


def rest_question(state: Reviewing, choice: str) -> tuple[list[Item], str, list[str], list[str]]:
    """(what A, R or S would decide, the question, the lines below it, what is left out and why).

    Proposals that loosen or look volatile stay out of A.
    """
    rest = state.rest()
    chosen = [item for item in rest if choice != ACCEPT or item.is_safe]
    lines: list[str] = []
    left: list[str] = []
    files = state.files(chosen)
    if choice == ACCEPT:
        if files:
            change = "It changes" if len(chosen) == 1 else "They change"
            lines.append(f"{change} {file_names_text(files)}; nothing is written before you decide.")
        loosening = sum(item.loosens is not None for item in rest)
        volatile = sum(item.loosens is None and item.is_volatile for item in rest)
        if loosening:
            left.append(f"{counted(loosening, 'proposal')} that would make a test demand less; look at each")
        stale = sum(bool(item.stale) for item in rest)
        if stale:
            left.append(f"{counted(stale, 'proposal')} that can only be rejected; each says why")
        needing = sum(item.needs_arguments for item in rest)
        if needing:
            left.append(f"{counted(needing, 'test')} that {'needs' if needing == 1 else 'need'} arguments")
        if volatile:
            left.append(f"{counted(volatile, 'proposal')} of values that change from call to call")
    elif choice == REJECT:
        lines.append("Proposals that were made on request are deleted by the write.")
    else:
        lines.append("They are proposed again the next time.")
    lines += (f"Left out: {told}." for told in left)
    return chosen, f"{choice.capitalize()} {counted(len(chosen), 'proposal')}?", lines, left


def _target(fragment: str) -> str:
    """Return the first assertion path that a fragment names."""
    at = fragment.find("target:")
    return "" if at < 0 else fragment[at + 7 :].split("\n", 1)[0].split(",", 1)[0].strip().strip("\"'}")
