"""A text in its plain form as windows: each sentence, and each two neighbouring ones, as words with their concepts.

Everything is bounded: a sentence is cut after `LONGEST` words, so that the time is linear in the length of any text.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from mcptest_engine.core.values import dataclass
from mcptest_engine.safety.learned.lexicon import lexicon, runs
from mcptest_engine.safety.tool_classes import ToolClass, classify_name

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 70
LONGEST_SENTENCE = 500
FORMS = frozenset(["BASE", "THIRD", "PAST", "ING"])

_URL = r"h[tx]{2}ps?://[^\s)>\"']{1,2000}|www\.[^\s)>\"']{1,500}"
_MAIL = r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{1,64}"
_ADDRESS = r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?:\:\d+)?(?![\w.])"
_HOST = (
    r"(?<![\w.-])[A-Za-z][\w-]{0,40}(?:\.[\w-]{1,40}){0,2}"
    r"\.(?:example|com|net|io|cloud|xyz|ru|cc|top|site|online|invalid|test)\b(?!\.?\w)"
)
_DOT_FILE = (
    r"(?:~|\$\w{1,40}|%\w{1,40}%)?/?\.(?:env|ssh|aws|netrc|npmrc|pgpass|gnupg|kube|docker|git-credentials|bash_history"
    r"|zsh_history|config|cursor|pypirc|mozilla|password-store|gitconfig)\b[\w./-]{0,100}"
)
_HOME_FILE = (
    r"/etc/[\w./-]{1,80}|~/[\w./-]{1,100}"
    r"|(?<![\w./-])[\w./-]{0,60}\b(?:id_rsa|id_ed25519|id_ecdsa|mcp\.json|wallet\.dat|credentials\.json|secrets\.ya?ml|authorized_keys)\b"
)
_SENTENCE_END = re.compile(
    r"(?<![\s(:]\d)(?<![\s(:]\d\d)(?<!\be\.g)(?<!\bi\.e)[.!?](?=[\s<\[)])|\n|[\u3002\uff01\uff1f]"
)
_MARKUP = r"<!--|-->|<\|?/?[\w -]{1,30}\|?>|\[/?[A-Z_ ]{3,30}\]|\{\"|\[\[|\]\]|```|%%|###?|---+|/\*|\*/|=>|\$\(|//"
_TOKEN = re.compile(
    r"(?P<plain>[A-Za-z][A-Za-z']{0,60}(?=[ ,]))"  # nearly all words; first, because it is the fastest
    rf"|(?P<WEB>{_URL}|{_MAIL}|{_ADDRESS}|{_HOST})|(?P<PATH>{_DOT_FILE}|{_HOME_FILE})"
    r"|(?P<word>[^\W\d][\w'-]{0,60})|(?P<NUMBER>\d[\d.,]{0,30})"
    rf"|(?P<COMMA>[,:()\u2014\u2013;]|-(?=\s))|(?P<MARKUP>{_MARKUP})"
)
_CONTENT = re.compile(r"(?<![\w-])[a-z]{4,}(?![\w-])")
_SECRET_ENDS = ("KEY", "SECRET", "TOKEN", "PASSWORD", "CREDENTIALS")
_MEANINGS = {
    "WEB": ("WEB",),
    "PATH": ("PATH", "SECRET"),
    "NUMBER": ("NUMBER",),
    "COMMA": ("COMMA",),
    "MARKUP": ("MARKUP",),
}


@dataclass(slots=True)
class Window:
    """One or two sentences: words in small letters, concepts of each word, place in the text, and number of the sentence."""

    words: list[str]
    concepts: list[tuple[str, ...]]
    start: int
    end: int
    index: int
    capitals: int = 0
    last: int = -1
    belongs: tuple[str, ...] = ()

    @property
    def pair(self) -> bool:
        """Whether it is two sentences."""
        return self.last >= 0


def sentences(text: str) -> list[tuple[int, int]]:
    """The start and end of each sentence of `text`; an overlong one is cut at a blank."""
    found: list[tuple[int, int]] = []
    start = 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]:
        while end - start > LONGEST_SENTENCE:
            blank = text.rfind(" ", start + LONGEST_SENTENCE // 2, start + LONGEST_SENTENCE)
            cut = blank if blank > 0 else start + LONGEST_SENTENCE
            found.append((start, cut))
            start = cut
        if end - start > 1:
            found.append((start, end))
        start = end
    return found


def windows(
    text: str, start: int, end: int, index: int, names: frozenset[str] = frozenset(), own: str = ""
) -> list[Window]:
    """A sentence of `text` as a window, or as several when it has more than `LONGEST` words.

    `index` is the sentence's number; `names` are those of the catalog's tools, `own` this tool's, in small letters.
    """
    known, pairs = lexicon()
    made: list[Window] = []
    current: Window | None = None
    for found in _TOKEN.finditer(text, start, end):
        kind = found.lastgroup or ""
        if current is None or len(current.words) >= LONGEST:
            current = Window([], [], found.start(), found.end(), index)
            made.append(current)
        raw = found[0]
        if kind in ("plain", "word"):
            word = raw.lower().rstrip("'")
            meaning = known.get(word) if kind == "plain" and "_" not in word else None
            if meaning is None:
                meaning = _meaning(raw, word, names, own)
            if len(raw) > 2 and raw.isupper():
                current.capitals += 1
        else:
            word = raw.lower() if kind in ("MARKUP", "COMMA") else f"<{kind}>"
            meaning = _MEANINGS[kind]
        if current.words:
            together = pairs.get((current.words[-1], word))
            if together:
                current.concepts[-1] = tuple(dict.fromkeys(current.concepts[-1] + together))
        current.words.append(word)
        current.concepts.append(meaning)
        current.end = found.end()
    return made


def joined(one: Window, other: Window) -> Window:
    """Two neighbouring sentences as one window."""
    return Window(
        [*one.words, "|", *other.words],
        [*one.concepts, ("COMMA",), *other.concepts],
        one.start,
        other.end,
        one.index,
        max(one.capitals, other.capitals),
        last=other.index,
    )


class Prose:
    """A text and its sentences; `about` are the stems of the tool's name (`stems_of_name`)."""

    def __init__(self, text: str, names: frozenset[str], own: str, about: frozenset[str]) -> None:
        self.text, self.spans = text, sentences(text)
        self._names, self._own, self._about = names, own, about
        self._made: dict[int, list[Window]] = {}
        self._stems: list[frozenset[str]] = []
        self._times: Counter[str] = Counter()

    def sentence(self, at: int) -> list[Window]:
        """The sentence with this number: one window, or several and each two neighbouring ones joined."""
        made = self._windows(at)
        return [*made, *(self._with_relation(joined(one, other)) for one, other in pairwise(made))]

    def two(self, at: int) -> list[Window]:
        """A sentence and the next one together."""
        one, other = self._windows(at), self._windows(at + 1)
        return [self._with_relation(joined(one[-1], other[0]))] if one and other else []

    def every(self) -> Iterator[Window]:
        for at in range(len(self.spans)):
            yield from self.sentence(at)
            if at + 1 < len(self.spans):
                yield from self.two(at)

    def _windows(self, at: int) -> list[Window]:
        if at not in self._made:
            made = windows(self.text, *self.spans[at], at, self._names, self._own)
            self._made[at] = [self._with_relation(window) for window in made]
        return self._made[at]

    def _with_relation(self, window: Window) -> Window:
        """Add features on how the window relates to the rest: a planted order shares few words with its description."""
        if not self._stems:
            self._stems = [stems(self.text[start:end]) for start, end in self.spans]
            self._times = Counter(stem for one in self._stems for stem in one)
        last = max(window.index, window.last)
        here = [self._stems[at] for at in dict.fromkeys((window.index, last))]
        mine = frozenset().union(*here)
        about = mine & self._about
        shared = sum(self._times[stem] > sum(stem in one for one in here) for stem in mine - about) + len(about)
        new = len(mine) - shared
        relation = [f"@sh{min(shared, 4)}", f"@nv{min(new, 6)}", f"@r{shared * 4 // len(mine) if mine else 9}"]
        relation.append(f"@na{min(len(about), 2)}")
        if last == len(self.spans) - 1:
            relation.append("@last")
        if len(self.spans) == 1:
            relation.append("@one")
        window.belongs = tuple(relation)
        return window


def stems(text: str) -> frozenset[str]:
    """The stems of the words that say what a text is about: words without a concept."""
    known = lexicon().words
    return frozenset(word.rstrip("s")[:5] for word in _CONTENT.findall(text.lower()) if word not in known)


@lru_cache(maxsize=1024)
def stems_of_name(name: str) -> frozenset[str]:
    """The stems of the words in a tool's name."""
    return frozenset(part.rstrip("s")[:5] for part in re.split(r"[_\W]", name.lower()) if len(part) > 2)


def _meaning(raw: str, word: str, names: frozenset[str], own: str) -> tuple[str, ...]:
    parted = "_" in word.strip("_") or "-" in word
    if word == own and parted:
        return ("OWN",)
    if word in names and parted:
        return _of_tool(word, own, True)
    known = lexicon().words
    meaning = known.get(word)
    if meaning is not None:
        return meaning
    if "_" in word.strip("_"):
        if raw.isupper():
            return ("SECRET",) if raw.rsplit("_", 1)[-1] in _SECRET_ENDS else ("CONSTANT",)
        return _of_tool(word, own, False)
    if word.endswith("'s"):
        return known.get(word[:-2], ())
    if not word.isascii():
        return tuple(dict.fromkeys(concept for part in runs().findall(word) for concept in known[part]))
    return ()


@lru_cache(maxsize=4096)
def _of_tool(name: str, own: str, listed: bool) -> tuple[str, ...]:
    """The concepts of a word that looks like a tool's name: listed, changing something, similar to this tool's name."""
    meaning = ["REF"]
    if listed:
        meaning.append("NAMED")
    if classify_name(name) is not ToolClass.READ_ONLY_PRESUMED:
        meaning.append("RISK")
    if _name_parts(name) & _name_parts(own):
        meaning.append("KIN")
    return tuple(meaning)


def _name_parts(name: str) -> frozenset[str]:
    return frozenset(part.rstrip("s") for part in re.split(r"[_\W]", name) if len(part) > 3)
