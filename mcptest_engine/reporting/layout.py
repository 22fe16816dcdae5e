"""Text on a terminal: colours, and how many columns a text takes. And what a text needs to be one in Markdown.

Written here because a library that does it costs a third of the start-up time of a run. Widths follow Unicode's East
Asian Width: wide and full-width characters take two columns, combining and invisible ones none.
"""

from __future__ import annotations

from functools import lru_cache

from mcptest_engine.core.enums import Verdict
from mcptest_engine.core.lazy_patterns import lazy_pattern

ELLIPSIS = "…"
WORDS = {Verdict.PASS: "PASS", Verdict.FAIL: "FAIL", Verdict.SKIP: "SKIP", Verdict.INCONCLUSIVE: "INCONC"}
_ZERO_WIDTH_JOINER = "\u200d"
_EMOJI_STYLE = "\ufe0f"
_WORDS = lazy_pattern(r" *[^ ]+")
_MARKDOWN = lazy_pattern(r"([\\`*_\[\]#|~]|^[-+=])")


class Ink:
    """Colours, or nothing at all when `on` is false. Only the eight colours that every theme of a terminal has."""

    __slots__ = ("on",)

    def __init__(self, *, on: bool) -> None:
        self.on = on

    def green(self, text: str) -> str:
        return self._paint("32", text)

    def red(self, text: str) -> str:
        return self._paint("31", text)

    def yellow(self, text: str) -> str:
        return self._paint("33", text)

    def cyan(self, text: str) -> str:
        return self._paint("36", text)

    def dim(self, text: str) -> str:
        return self._paint("2", text)

    def bold(self, text: str) -> str:
        return self._paint("1", text)

    def strong_red(self, text: str) -> str:
        return self._paint("1;31", text)

    def strong_green(self, text: str) -> str:
        return self._paint("1;32", text)

    def strong_yellow(self, text: str) -> str:
        return self._paint("1;33", text)

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and text else text


def word_of(verdict: Verdict, ink: Ink, width: int = 0) -> str:
    """The verdict's word in its colour, padded to `width`."""
    word = pad(WORDS[verdict], width)
    if verdict is Verdict.PASS:
        return ink.green(word)
    return ink.strong_red(word) if verdict is Verdict.FAIL else ink.yellow(word)


def columns(text: str) -> int:
    """How many columns `text`, one line without control characters, takes on a terminal."""
    if text.isascii():
        return len(text)
    total = last = 0
    joined = False
    for character in text:
        if character == _EMOJI_STYLE:
            total += 1 if last == 1 else 0
            last = 2
            continue
        last = 0 if joined else _columns_of(character)
        joined = character == _ZERO_WIDTH_JOINER
        total += last
    return total


def clip(text: str, width: int) -> str:
    """`text` in at most `width` columns, its end given up for an ellipsis where it is longer."""
    if columns(text) <= width:
        return text
    if width <= 0:
        return ""
    kept = min(len(text), width)
    while kept and columns(text[:kept]) > width - 1:
        kept -= 1
    return text[:kept] + ELLIPSIS


def pad(text: str, width: int) -> str:
    """`text` and spaces up to `width` columns; a longer text is left as it is."""
    return text + " " * (width - columns(text))


def fold(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` columns, broken at spaces; a longer word stands whole, so it can be copied.

    A width of 0 leaves the text in one line.
    """
    if width <= 0 or columns(text) <= width:
        return [text]
    lines, line, used = [], "", 0
    for word in _WORDS.findall(text):
        size = columns(word)
        if line and used + size > width:
            lines.append(line)
            word = word.lstrip(" ")
            line, used = word, columns(word)
        else:
            line, used = line + word, used + size
    return [*lines, line]


@lru_cache(maxsize=4096)
def _columns_of(character: str) -> int:
    import unicodedata

    if unicodedata.category(character) in {"Mn", "Me", "Cf", "Cc"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def escape_markdown(text: str) -> str:
    """A line in which nothing is Markdown or HTML, and a `|` ends no cell."""
    import html  # its table of entities takes a millisecond, and a run needs none

    return _MARKDOWN.sub(r"\\\1", html.escape(text, quote=False))
