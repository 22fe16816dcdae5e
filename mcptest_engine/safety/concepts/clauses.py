# ruff: noqa: E501, C901, SIM102 - one judgement is one condition; a list of words is one line
"""A text as sentences of words with their meanings: a `Clause`, with the questions that rules ask of it.

Everything is bounded: a sentence is cut after 70 words, so that no text costs more than time linear in its length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcptest_engine.safety.concepts.words import BIT, bits_of, is_identifier, pair_bits, risky_name

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Clause", "clauses"]

LONGEST = 70
_NOT_TOOLS = frozenset(
    [
        "id",
        "ids",
        "url",
        "name",
        "key",
        "path",
        "type",
        "token",
        "field",
        "value",
        "parameter",
        "argument",
        "column",
        "table",
        "status",
        "str",
        "string",
        "text",
        "content",
        "ms",
        "size",
        "count",
        "at",
        "time",
        "date",
    ]
)
_NAMING = frozenset(
    [
        "id",
        "ids",
        "name",
        "names",
        "title",
        "titles",
        "type",
        "types",
        "url",
        "key",
        "uuid",
        "count",
        "counts",
        "list",
        "limit",
        "window",
        "length",
        "size",
        "max",
        "number",
        "member",
        "members",
    ]
)
_SECRET_ENDS = ("KEY", "SECRET", "TOKEN", "PASSWORD", "CREDENTIALS")
_TOKEN = re.compile(
    r"(?P<web>https?://[^\s)>\"']{1,2000}|www\.[^\s)>\"']{1,500}|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{1,64}|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?:\:\d+)?(?![\w.])"
    r"|(?<![\w.-])[A-Za-z][\w-]{0,40}(?:\.[\w-]{1,40}){0,2}\.(?:example|com|net|io|cloud|xyz|ru|cc|top|site|online|invalid|test)\b(?!\.?\w))"
    r"|(?P<path>(?:~|\$\w{1,40}|%\w{1,40}%)?/?\.(?:env|ssh|aws|netrc|npmrc|pgpass|gnupg|kube|docker|git-credentials|bash_history|zsh_history|config|cursor|pypirc|mozilla|password-store)\b[\w./-]{0,100}"
    r"|/etc/[\w./-]{1,80}|~/[\w./-]{1,100}|[\w./-]{0,60}\b(?:id_rsa|id_ed25519|id_ecdsa|mcp\.json|wallet\.dat|credentials\.json|secrets\.ya?ml|authorized_keys)\b)"
    r"|(?P<word>[^\W\d][\w'-]{0,60}|\d+)"
    r"|(?P<end>[.!?](?=[\s<\[)]|$)|\n|<!--|-->|[\u3002\uff01\uff1f])"
    r"|(?P<comma>[,;:()\u2014\u2013]|-(?=\s))"
)
_SHELL = re.compile(
    r"\brm -[rf]{1,3}\b|\bcurl\b[^\n|]{0,120}\|\s{0,3}(?:ba|z)?sh\b|\bwget\b[^\n|]{0,120}\|\s{0,3}(?:ba)?sh\b|\bchmod (?:-R )?[0-7+]"
    r"|\bsudo \w|\bnc -\w|\bbash -[ci]\b|\bpowershell\b|\bcrontab\b|\bmkfs\b|\bdd if=|/dev/tcp/|\bcurl (?:-\w+ )?[^\s]{0,40}https?://|\bwget https?://|\beval\(|authorized_keys"
)
_MARKED = re.compile(
    r"<!--|<\s?/?(?:important|system|instructions?|admin|secret|hidden|critical|sys|assistant|override|directive|internal|developer"
    r"|prompt|note|rules?|mandatory|priority|agent|ai|llm)\b[\w -]{0,30}>|\[/?(?:system|inst|important|admin|override|hidden|internal|assistant|critical|instructions?|developer)\b[^\]\n]{0,40}\]"
    r"|<<\w{2,20}>>|<\|\w{2,20}\|>|#{2,4} ?(?:system|instructions?)\b|\b(?:system|admin|developer|override|hidden) ?(?:note|message|notice|prompt|instructions?|override|directive)? ?:"
    r"|^system ?:|\"?role\"?: ?\"?system|```system|---+ ?(?:end of|system)\b",
    re.IGNORECASE | re.MULTILINE,
)
_SOFT = re.compile(
    r"<\s?/?(?:important|note|critical|rules?|priority|mandatory|prompt|instructions?)\b|\[/?(?:important|critical|instructions?)\b",
    re.IGNORECASE,
)
_END, _COMMA, _BASE = BIT["END"], BIT["COMMA"], BIT["BASE"]
_CALLS = BIT["CALL"] | BIT["CHOOSE"]
_ORDERED = BIT["MODAL"] | BIT["PLEASE"] | BIT["ALWAYS"]
_INTRO = BIT["WHEN"] | BIT["BEFORE"] | BIT["AFTER"] | BIT["PURPOSE"]


@dataclass(slots=True)
class Clause:
    """One sentence: its words, what they mean, and where they stand in the text."""

    words: list[str]
    bits: list[int]
    spans: list[tuple[int, int]]
    any: int
    index: int
    in_argument: bool
    marked: bool = False
    shell: bool = False
    soft: bool = False
    order: int | None = -1

    def has(self, *masks: int) -> bool:
        """Whether there is a word of each mask."""
        return all(self.any & mask for mask in masks)

    def places(self, mask: int) -> list[int]:
        """The indexes of the words of a mask."""
        return [at for at, bits in enumerate(self.bits) if bits & mask] if self.any & mask else []

    def near(self, one: int, other: int, most: int = 8) -> tuple[int, int] | None:
        """The first word of `one` that a word of `other` follows, at most so many words later."""
        if not (self.any & one and self.any & other):
            return None
        others = self.places(other)
        for at in self.places(one):
            for then in others:
                if 0 < then - at <= most:
                    return at, then
        return None

    def both(self, one: int, other: int, most: int = 8) -> tuple[int, int] | None:
        """The same in either order."""
        return self.near(one, other, most) or self.near(other, one, most)

    def negated(self, at: int, most: int = 3) -> bool:
        """Whether a "not" stands closely before a word."""
        return any(bits & BIT["NEG"] for bits in self.bits[max(0, at - most) : at])

    def talk(self) -> list[int]:
        """Where the talk with the user is meant, and not its id."""
        return [at for at in self.places(BIT["TALK"]) if not _NAMING & set(self.words[at + 1 : at + 3])]

    @property
    def imperative(self) -> bool:
        """Whether it, or a part of it behind a comma, begins with a verb in its plain form."""
        return self.order_at() is not None

    def order_at(self) -> int | None:
        """Where a verb stands that gives an order; the first sentence of a description names what the tool does."""
        if self.order == -1:
            self.order = self._order()
        return self.order

    def _order(self) -> int | None:
        start_counts = self.index > 0 or self.in_argument or self.marked
        fresh, led = True, False
        for at, bits in enumerate(self.bits):
            if bits & _COMMA:
                fresh, led = True, True
                continue
            if fresh and bits & _BASE and not bits & BIT["COPULA"] and (start_counts or led):
                return at
            if fresh and bits & BIT["LEAD"]:
                led = led or self.words[at] not in ("and", "or")
                continue
            fresh = bool(bits & BIT["ALSO"])
            led = led or (at == 0 and bool(bits & _INTRO))
        return None

    @property
    def directive(self) -> bool:
        """Whether it orders: an obligation, or a verb in its plain form where an order would begin."""
        return self.marked or bool(self.any & _ORDERED) or self.imperative

    def span(self, one: int = 0, other: int | None = None) -> tuple[int, int]:
        """Where two words and what is between them stand."""
        last = len(self.spans) - 1 if other is None else other
        one, last = min(one, last), max(one, last)
        return self.spans[max(0, one)][0], self.spans[min(last, len(self.spans) - 1)][1]


def clauses(text: str, in_argument: bool, names: frozenset[str], own: str) -> Iterator[Clause]:
    """The sentences of a text in its plain form; `names` are those of the other tools, in small letters."""
    marks = [found.end() for found in _MARKED.finditer(text)] if any(c in text for c in "<[#:`-") else []
    words: list[str] = []
    bits: list[int] = []
    spans: list[tuple[int, int]] = []
    index = 0
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        if kind == "end" or len(words) >= LONGEST:
            if words:
                yield _clause(text, words, bits, spans, index, in_argument, marks)
                words, bits, spans, index = [], [], [], index + 1
            if kind == "end":
                continue
        raw = found[0].rstrip("'")
        low = raw.lower()
        if kind == "web":
            bit = BIT["WEB"] | BIT["SINK"] | BIT["FORM"]
        elif kind == "path":
            bit = BIT["PATH"] | (BIT["SECRET"] if not raw.startswith("/etc/host") else 0)
        elif kind == "comma":
            bit = _COMMA
        else:
            bit = bits_of(raw.lower())
            if "_" in raw and raw.isupper() and raw.rsplit("_", 1)[-1] in _SECRET_ENDS:
                bit = BIT["SECRET"]
            if not bit and raw.lower().endswith("'s"):
                bit = bits_of(raw[:-2].lower())
            elif is_identifier(raw) and low.rsplit("_", 1)[-1] not in _NOT_TOOLS:
                bit |= BIT["REF"]
        if low == own and kind == "word" and ("_" in low or "-" in low or (words and bits[-1] & _CALLS)):
            bit = (bit | BIT["THIS"]) & ~BIT["REF"]
        elif low in names and kind == "word":
            if (
                "_" in low
                or "-" in low
                or (words and (bits[-1] & _CALLS or words[-1] in ("or", ",", "the", "with", "than", "of", "by")))
            ):
                bit = BIT["REF"] | BIT["NAMED"]
        if bit & BIT["REF"] and risky_name(low):
            bit |= BIT["RISK"]
        if words:
            together = pair_bits(words[-1], low)
            if together:
                bits[-1] |= together
        words.append(low)
        bits.append(bit)
        spans.append(found.span())
    if words:
        yield _clause(text, words, bits, spans, index, in_argument, marks)


def _clause(
    text: str,
    words: list[str],
    bits: list[int],
    spans: list[tuple[int, int]],
    index: int,
    in_argument: bool,
    marks: list[int],
) -> Clause:
    start, end = spans[0][0], spans[-1][1]
    seen = 0
    for bit in bits:
        seen |= bit
    return Clause(
        words=words,
        bits=bits,
        spans=spans,
        any=seen,
        index=index,
        in_argument=in_argument,
        marked=any(mark <= end and start - mark < 400 for mark in marks[:20]),
        soft=_SOFT.search(text, max(0, start - 60), end) is not None,
        shell=_SHELL.search(text, start, min(len(text), end + 20)) is not None,
    )
