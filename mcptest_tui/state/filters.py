"""What is typed above the list of tests: free text, and qualifiers such as `is:failed`, `tag:smoke`, `slow:>500`, `-server:x`.

Parts are joined with "and"; values joined with commas with "or". What cannot be understood is told with the nearest word, and
taken as text meanwhile, so that a half-typed qualifier never empties the list without a word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcptest_tui.state.test_row import TestRow

    Predicate = Callable[[TestRow], bool]

QUALIFIERS = {
    "is": "the verdict of a test, or what it does",
    "tag": "a tag of the suite",
    "server": "the server that is called",
    "tool": "the tool, URI or prompt",
    "file": "part of the file's name",
    "slow": "took longer than so many milliseconds: slow:>500",
}
STATES: dict[str, Predicate] = {
    "failed": lambda row: row.verdict == "fail" and row.status != "stopped",
    "passed": lambda row: row.verdict == "pass" and row.status != "stopped",
    "inconclusive": lambda row: row.verdict == "inconclusive" and row.status != "stopped",
    "deferred": lambda row: row.deferred,
    "skipped": lambda row: row.verdict == "skip" and row.status != "stopped",
    "flaky": lambda row: row.flaky,
    "new": lambda row: row.verdict == "new" and row.status != "stopped",
    "stopped": lambda row: row.status == "stopped",
    "cached": lambda row: row.cached,
    "running": lambda row: row.status in ("queued", "running"),
    "waiting": lambda row: bool(row.waits or (row.busy and row.answered)),
    "outdated": lambda row: row.outdated,
    "weak": lambda row: row.is_weak,
}
_ALIASES = {"fail": "failed", "pass": "passed", "skip": "skipped", "queued": "running"}
_PART = re.compile(r'(-?)(?:(\w+):)?(?:"([^"]*)"?|(\S*))')
_SLOW = re.compile(r"([<>]?)(\d+(?:\.\d+)?)(ms|s)?")


class Known(NamedTuple):
    """The tags, servers, tools and files of the open tests, for completion."""

    tags: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: Iterable[TestRow]) -> Known:
        """Collect the words from the rows, in order of appearance."""
        tags: dict[str, None] = {}
        servers: dict[str, None] = {}
        tools: dict[str, None] = {}
        files: dict[str, None] = {}
        for row in rows:
            if row.tags:
                tags.update(dict.fromkeys(row.tags))
            servers[row.server] = None
            tools[row.tool] = None
            files[row.file] = None
        short = dict.fromkeys(file.rpartition("/")[2] for file in files)
        return cls(*(tuple(filter(None, words)) for words in (tags, servers, tools, short)))

    def values(self, qualifier: str) -> tuple[str, ...]:
        """Return the values that can follow a qualifier."""
        if qualifier == "is":
            return tuple(STATES)
        if qualifier == "slow":
            return (">100", ">500", ">1000")
        return {"tag": self.tags, "server": self.servers, "tool": self.tools, "file": self.files}.get(qualifier, ())


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter that was read. `moving` says that a row may come and go with what it does."""

    text: str = ""
    predicates: tuple[Predicate, ...] = ()
    problems: tuple[str, ...] = ()
    moving: bool = False
    words: tuple[tuple[str, str], ...] = field(default=())

    def __bool__(self) -> bool:
        return bool(self.predicates)

    def matches(self, row: TestRow) -> bool:
        """Whether the test matches all parts of the filter."""
        return all(predicate(row) for predicate in self.predicates)

    def select(self, rows: Iterable[TestRow]) -> list[TestRow]:
        """Return the tests that match, in their order."""
        chosen = list(rows)
        for predicate in self.predicates:
            chosen = list(filter(predicate, chosen))
        return chosen

    def why_empty(self, known: Known) -> str:
        """When nothing matches: the nearest of the words that exist, or ""."""
        for qualifier, value in self.words:
            words = known.values(qualifier)
            parts = value.casefold().split(",")
            if words and not any(part in word.casefold() for part in parts for word in words):
                return _nearest(qualifier, value, words)
        return ""


def parse_filter(text: str) -> Filter:
    """Parse a filter; mistakes become its `problems`, never exceptions."""
    predicates: list[Predicate] = []
    problems: list[str] = []
    words: list[tuple[str, str]] = []
    moving = False
    for negated, qualifier, value, whole in _parts(text):
        if qualifier and not value:
            continue  # still being typed
        made: Predicate | None = None
        if qualifier in QUALIFIERS:
            made, problem = _predicate(qualifier, value)
            moving = moving or qualifier in ("is", "slow")
            words.append((qualifier, value))
        else:
            problem = _unknown(qualifier, value) if qualifier else ""
        if problem:
            problems.append(problem)
        if made is None:
            if qualifier in QUALIFIERS:
                continue
            made = _text_predicate(whole)
        predicates.append(_not(made) if negated else made)
    return Filter(text, tuple(predicates), tuple(problems), moving, tuple(words))


def completions(text: str, known: Known) -> list[tuple[str, str]]:
    """What the last word of `text` could become: (the whole text then, what is new in it)."""
    before, last = _last_word(text)
    negated = "-" if last.startswith("-") else ""
    word = last[len(negated) :]
    qualifier, colon, value = word.partition(":")
    if not colon:
        if not word and not before and not negated:
            return [(f"{name}:", f"{name}:") for name in QUALIFIERS]
        if not word and not negated:
            return []
        return [(f"{before}{negated}{name}:", f"{name}:") for name in QUALIFIERS if name.startswith(word.casefold())]
    if qualifier not in QUALIFIERS:
        return []
    *listed, part = value.split(",")
    part = part.strip('"').casefold()
    found = [name for name in known.values(qualifier) if name.casefold().startswith(part)]
    found += [name for name in known.values(qualifier) if part in name.casefold() and name not in found]
    made = []
    for name in found:
        if name.casefold() == part and len(found) == 1:
            return []
        made.append((f"{before}{negated}{qualifier}:{','.join([*listed, _quoted(name)])} ", name))
    return made


def toggled(text: str, part: str) -> str:
    """`text` with a part such as `is:failed` added, or taken out when it is there."""
    parts = text.split()
    if part in parts:
        return " ".join(word for word in parts if word != part)
    return " ".join([*parts, part])


def _parts(text: str) -> Iterator[tuple[bool, str, str, str]]:
    """Return (negated, qualifier, value, the part without its sign) for each part."""
    for found in _PART.finditer(text):
        sign, qualifier, quoted, plain = found.groups()
        value = quoted if quoted is not None else plain
        if not qualifier and not value:
            continue
        yield bool(sign), (qualifier or "").casefold(), value, f"{qualifier}:{value}" if qualifier else value


def _last_word(text: str) -> tuple[str, str]:
    at = 0
    quoted = False
    for place, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif character == " " and not quoted:
            at = place + 1
    return text[:at], text[at:]


def _predicate(qualifier: str, value: str) -> tuple[Predicate | None, str]:
    if qualifier == "slow":
        return _slow(value)
    values = tuple(filter(None, value.split(",")))
    if not values:
        return None, ""  # nothing but commas: still being typed
    if qualifier == "is":
        return _is(values)
    folded = tuple(value.casefold() for value in values)
    if qualifier == "tag":
        return lambda row: any(word in tag.casefold() for tag in row.tags for word in folded), ""
    if qualifier == "server":
        return lambda row: any(word in row.server.casefold() for word in folded), ""
    if qualifier == "tool":
        return lambda row: any(word in row.tool.casefold() for word in folded), ""
    return lambda row: any(word in row.file.casefold() for word in folded), ""


def _is(values: tuple[str, ...]) -> tuple[Predicate | None, str]:
    chosen: list[Predicate] = []
    for value in values:
        name = _ALIASES.get(value.casefold(), value.casefold())
        near = [state for state in STATES if state == name] or [state for state in STATES if state.startswith(name)]
        if not near:
            return None, _nearest("is", value, tuple(STATES))
        chosen.append(STATES[near[0]])
    return (chosen[0] if len(chosen) == 1 else lambda row: any(one(row) for one in chosen)), ""


def _slow(value: str) -> tuple[Predicate | None, str]:
    found = _SLOW.fullmatch(value)
    if found is None:
        return None, "" if value in ("<", ">") else "slow: takes milliseconds, such as slow:>500"
    sign, number, unit = found.groups()
    limit = float(number) * (1000 if unit == "s" else 1)
    if sign == "<":
        return lambda row: row.own_ms is not None and row.own_ms < limit, ""
    return lambda row: row.own_ms is not None and row.own_ms > limit, ""


def _text_predicate(text: str) -> Predicate:
    folded = text.casefold()
    return lambda row: folded in row.folded


def _not(predicate: Predicate) -> Predicate:
    return lambda row: not predicate(row)


def _unknown(qualifier: str, value: str) -> str:
    hint = did_you_mean(qualifier, QUALIFIERS)
    return f"no qualifier {qualifier}:; {hint}" if hint and not value.startswith("//") else ""


def _nearest(qualifier: str, value: str, words: tuple[str, ...]) -> str:
    hint = did_you_mean(value, words)
    listed = ", ".join(words[:6]) + (", …" if len(words) > 6 else "")
    return f"no {qualifier}:{value}; {hint or f'there is {listed}'}"


def _quoted(text: str) -> str:
    return f'"{text}"' if " " in text else text
