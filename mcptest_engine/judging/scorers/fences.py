"""The fence around what a judge grades: tags with a code that the material cannot know, and none of its own look-alikes.

The code is made from the whole question: 128 bits of its SHA-256. To close its fence, a material would have to contain a hash
of itself, and each guess at one changes it; so the code is as good as a random one, and equal questions stay equal, which the
cache and cassettes go by. It has the form of a UUID because replays take UUIDs for equal: a material whose times or ids have
changed since it was recorded changes nothing else in its question.

A judge might take a tag without the code for the real one. So whatever looks like the beginning of a tag has its bracket
written as `&lt;`: in any width, alphabet or style, with any bracket and slash, and with any invisible characters in it.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from mcptest_engine.safety.normalizing import latin_name

if TYPE_CHECKING:
    from collections.abc import Sequence

MATERIAL_LIMIT = 100_000
"""Characters of one piece of material that are shown; of a longer one, its beginning and its end."""
_BRACKETS = frozenset("<\u1438\u16b2\U0001d236")
_SLASHES = frozenset("/\\\u2044\u2215\u2571\u27cb\u29f8\u2afd\u3033\u30ce\u4e3f")
_NAMED_BRACKET = re.compile(r"LESS-THAN|PRECEDES|\bLEFT\b.*(?:ANGLE|ARROWHEAD)|LEFT-POINTING")
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_NOTHING = "\0"
"""What a character that shows nothing is folded to, or one that is shown upon the one before it."""
_NAMED_LETTER = re.compile(r"\bLETTER (?:SMALL CAPITAL |SCRIPT |OPEN |TURNED |REVERSED )*([GRADE])\b")
_RAD = "\u33ad"
"""A square with the letters `rad`."""
_GRADED = "g-(?:r-a-d|R)-e-d".replace("-", f"{_NOTHING}*")
_TAG = re.compile(rf"<(?=[\s/{_NOTHING}]*{_GRADED})")


class Material(NamedTuple):
    """One piece of what is graded. `tag` is what it stands in, a single word."""

    tag: str
    text: str


def fence_code(question: str, materials: Sequence[Material]) -> str:
    """The code of the tags of one question, as a UUID."""
    told = json.dumps([question, *materials]).encode()
    return str(UUID(bytes=hashlib.sha256(told).digest()[:16]))


def fence(material: Material, code: str) -> str:
    """The material between its tags, so that nothing in it ends it."""
    name = f"graded:{material.tag}:{code}"
    return f"<{name}>\n{escape_tags(_fitting(material.text))}\n</{name}>"


def escape_tags(text: str) -> str:
    """`text` with the bracket of whatever looks like a `graded:` tag written as `&lt;`."""
    parts, end = [], 0
    for found in _TAG.finditer(text.translate(_FOLDED)):
        parts += [text[end : found.start()], "&lt;"]
        end = found.end()
    return "".join((*parts, text[end:]))


class _Folded(dict[int, str]):
    """For each character the one ASCII character that it looks like, for `str.translate`; filled as they are met."""

    def __missing__(self, code: int) -> str:
        self[code] = found = _folded(chr(code))
        return found


_FOLDED = _Folded()


def _folded(character: str) -> str:
    if character.isspace():
        return " "
    if character in _BLANK_LETTERS or unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Cs", "Mn", "Me"):
        return _NOTHING
    name = unicodedata.name(character, "")
    if character in _BRACKETS or _NAMED_BRACKET.search(name):
        return "<"
    if character in _SLASHES or "SOLIDUS" in name:
        return "/"
    if character == _RAD:
        return "R"
    if character.isascii():
        return character.lower()
    letter = _NAMED_LETTER.search(name)
    return letter[1].lower() if letter is not None else latin_name(character)[:1].lower() or _NOTHING


def _fitting(text: str) -> str:
    text = text.encode("utf-8", "replace").decode("utf-8")  # half a character, which no request can carry
    if len(text) <= MATERIAL_LIMIT:
        return text
    half = MATERIAL_LIMIT // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"
