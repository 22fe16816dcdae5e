"""Instructions to the model in what a server says of its tools: the rules SEC-001 to SEC-006, and SEC-008.

Pure functions of tool descriptors as `tools/list` sent them; a descriptor of any shape is accepted. Texts are judged in
their plain form (see `unmasking`), so that a disguise hides nothing. The surprising thing is the order: a text is searched for
telling words first, and the few phrases whose words are all there are then tried on it.
Source: agent-interface.md, Description warnings; upstream-facts 12.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.secret_names import looks_secret_name
from mcptest_engine.core.secret_patterns import find_secrets
from mcptest_engine.safety.credentials import find_credential
from mcptest_engine.safety.definition_texts import Text, texts_of_tool, tool_name
from mcptest_engine.safety.encodings import encoded_texts
from mcptest_engine.safety.extents import Reading
from mcptest_engine.safety.findings import RULES, Finding, Level, finding, warning_json
from mcptest_engine.safety.learned import steering, stems_of_name
from mcptest_engine.safety.phrases import places_to_try
from mcptest_engine.safety.unmasking import first_hidden, plain_views, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["POISONING_RULES", "Finding", "Judge", "description_warnings", "warning_json"]

POISONING_RULES = ("SEC-001", "SEC-002", "SEC-003", "SEC-004", "SEC-005", "SEC-006", "SEC-008")
_LONGEST_NAME = 64
_OF_VALUE = re.compile(r"\.(?:default|const|example|enum)")
_SHORTEST = 12  # no phrase in ASCII is shorter
_MOST_ENCODINGS = 3
_LONGEST_DECODED = 4_096


def description_warnings(tools: Iterable[Mapping[str, Any]]) -> tuple[Finding, ...]:
    """What the rules say of `tools`, in their order and then the rules'; at most one finding for each tool and rule.

    Entries that are no objects are passed over: whoever read the list has told of them.
    """
    listed = [tool for tool in tools if hasattr(tool, "get")]
    judge = Judge(tool_name(tool) for tool in listed)
    found: list[Finding] = []
    for tool in listed:
        found += judge.findings(tool_name(tool), texts_of_tool(tool))
    return tuple(found)


class Match(NamedTuple):
    """A rule that a text matches: the words that it was found by, decoded from `encoding` if that is named.

    `learned` says that only the learned judge found it: such a finding is of medium severity at most.
    """

    rule: str
    excerpt: str
    learned: bool = False
    encoding: str = ""

    @property
    def severity(self) -> Level:
        """How bad it is."""
        severity = RULES[self.rule].severity
        return Level.MEDIUM if self.learned and severity.rank < Level.MEDIUM.rank else severity


class Judge:
    """Judges texts; one that comes again, as those of schemas do, is read once. `names` are those of the server's tools."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(name.lower() for name in names if len(name) <= _LONGEST_NAME)
        self._known: dict[tuple[str, str, str | None, str, frozenset[str]], tuple[Match, ...]] = {}
        self._reading = Reading()

    def findings(self, owner: str, texts: Iterable[Text]) -> list[Finding]:
        """The findings of one tool, prompt or resource: of each rule the first of the worst severity, in the rules' order."""
        found: dict[str, tuple[Text, Match]] = {}
        name = owner.lower()
        for text in texts:
            secret_name = _secret_name(text)
            if len(text.text) < _SHORTEST and secret_name is None and text.text.isascii() and text.text.isprintable():
                continue
            own = name if len(name) <= _LONGEST_NAME and name in text.text.lower() else ""
            place = place_of(text)
            about = about_of(name, place)
            key = (text.text, place, secret_name, own, about)
            matches = self._known.get(key)
            if matches is None:
                matches = self._known[key] = tuple(self._matches(text, secret_name, own, about))
            for match in matches:
                if match.rule not in found or match.severity.rank < found[match.rule][1].severity.rank:
                    found[match.rule] = (text, match)
        return [_finding(owner, *found[rule]) for rule in POISONING_RULES if rule in found]

    def _matches(self, text: Text, secret_name: str | None, own: str, about: frozenset[str]) -> Iterator[Match]:
        for part in self._reading.parts(text.text):
            at = first_hidden(part)
            if at is not None:
                yield Match("SEC-005", visible(part[max(0, at - 20) : at + 40]))
            open_part = part
            secret = find_credential(part, is_value_of=secret_name)
            if secret is not None:
                yield Match("SEC-008", part[secret[0] : secret[0] + 4] + "…")
                open_part = f"{part[: secret[0]]} {part[secret[1] :]}"
            yield from _decoded_matches(open_part, text, self._names, own)
            yield from _text_matches(part, text, self._names, own, about)


def _finding(owner: str, text: Text, match: Match) -> Finding:
    subject = f"{_called(text)}, decoded from {match.encoding}," if match.encoding else _called(text)
    excerpt = _without_secrets(match.excerpt)
    return finding(match.rule, owner, text.where, subject=subject, excerpt=excerpt, severity=match.severity)


def _decoded_matches(part: str, text: Text, names: frozenset[str], own: str, depth: int = 0) -> Iterator[Match]:
    """What is found in the encoded runs of a part once they are decoded, as often as they were encoded."""
    for run in encoded_texts(part):
        if run.suspicious:
            yield Match("SEC-004", part[run.start : min(run.end, run.start + 24)])
        if not run.text:
            continue
        for match in _text_matches(run.text, text, names, own, frozenset()):
            yield match._replace(encoding=run.encoding)
        if depth < _MOST_ENCODINGS:
            for match in _decoded_matches(run.text[:_LONGEST_DECODED], text, names, own, depth + 1):
                if match.rule != "SEC-004":
                    yield match._replace(encoding=f"{match.encoding} inside of {run.encoding}")


def _text_matches(part: str, text: Text, names: frozenset[str], own: str, about: frozenset[str]) -> Iterator[Match]:
    """What phrases and the learned judge find in a part of `text`: the first place of each rule, phrases first."""
    done: set[str] = set()
    for shown in plain_views(part):
        low = shown.lower()
        for phrase, start, end in places_to_try(low):
            if phrase.rule in done or (phrase.parameters_only and text.argument is None):
                continue
            span = phrase.find(low, start, end)
            if span is not None:
                done.add(phrase.rule)
                yield Match(phrase.rule, (shown if len(shown) == len(low) else low)[span[0] : span[1]])
        for steered in steering(shown, place_of(text), names, own, about):
            if steered.rule not in done:
                done.add(steered.rule)
                yield Match(steered.rule, shown[steered.start : steered.end], learned=True)


def place_of(text: Text) -> str:
    """A letter for what a text is: description, title, name; of an argument its name (k), description (p), value; or else."""
    if text.where in ("description", "title", "name"):
        return text.where[0]
    if text.is_name:
        return "k"
    if text.argument is None:
        return "o"
    return "p" if text.where.endswith(".description") else "v"


def about_of(name: str, place: str) -> frozenset[str]:
    """What a tool's name says its description is about; texts of schemas are judged without it, many tools have the same."""
    return stems_of_name(name) if place in "dt" and len(name) <= _LONGEST_NAME else frozenset()


def _secret_name(text: Text) -> str | None:
    """The argument that the text is a default or example of, when its name promises a secret."""
    if not text.argument or not _OF_VALUE.search(text.where):
        return None
    return text.argument if looks_secret_name(text.argument) else None


def _called(text: Text) -> str:
    """What a place is called in a sentence."""
    last = text.where.rsplit(".", 1)[-1]
    if last == "instructions":
        return "text"
    if "." not in text.where:
        return text.where
    if text.argument is not None:
        what = "name" if text.is_name else last.split("[")[0]
        return f"{what} of `{text.argument[:30]}`"
    return text.where


def _without_secrets(excerpt: str) -> str:
    for start, end in sorted(find_secrets(excerpt), reverse=True):
        excerpt = f"{excerpt[:start]}…{excerpt[end:]}"
    return excerpt
