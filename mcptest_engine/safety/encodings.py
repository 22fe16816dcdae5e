"""Encoded text inside a text, decoded: base64, base32, hex, escapes, percent, HTML entities, rot13, reversed.

The decoded text is judged like any other. Many honest descriptions hold a hash, a cursor or a picture: a run that decodes to
nothing readable counts only when it is long, and no hash, UUID, path or picture.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONGEST_DECODED = 4096
MOST_RUNS = 32  # of one text
_SHORTEST_RUN = 16
_SUSPICIOUS_RUN = 28  # a shorter run is decoded, but is no finding in itself
_LONG_BLOB = 80
_HASHES = frozenset((32, 40, 48, 56, 64, 96, 128))

_RUN = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}={0,2}")
_BROKEN_RUN = re.compile(
    r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9/_-]{16,}+(?:[\s\"'+\\]{1,6}+[A-Za-z0-9/_-]{16,}+){1,60}(?:[\s\"'+\\]{1,6}[A-Za-z0-9/_-]{2,15})?={0,2}"
)
_BASE32 = re.compile(r"[A-Z2-7]{32,}={0,6}")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_SPACED_HEX = re.compile(
    r"(?<![0-9A-Za-z])(?:(?:0x)?[0-9a-fA-F]{2}[ ,:;]{1,2}){11,}(?:0x)?[0-9a-fA-F]{2}(?![0-9A-Za-z])"
)
_BITS = re.compile(r"(?<!\d)(?:[01]{8}[ ,]{1,2}){11,}[01]{8}(?!\d)")
_DECIMAL = re.compile(r"(?<!\d)(?:(?:1[0-2]|[3-9])\d[ ,]{1,2}){23,}(?:1[0-2]|[3-9])\d(?!\d)")
_BACKSLASHED = re.compile(r"(?:(?:\\x[0-9a-fA-F]{2}|\\u\{?[0-9a-fA-F]{4,6}\}?|\\U[0-9a-fA-F]{8}|\\[0-7]{3})[ ]?){6,}")
_ONE_BACKSLASHED = re.compile(r"\\(?:x|u\{?|U)([0-9a-fA-F]{2,8})\}?[ ]?|\\([0-7]{3})[ ]?")
_PERCENT = re.compile(r"[^\s\"'<>`%]{0,40}+(?:%[0-9a-fA-F]{2}[^\s\"'<>`%]{0,40}+){3,}")
_MANY_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2}){12}")
_ENTITIES = re.compile(r"(?:&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|[A-Za-z]{2,8});?[ ]?){6,}")
_MEDIA = re.compile(r"data:(?:image|audio|video|font|application/pdf)[\w/+.;=-]{0,60},\Z")
_MAYBE = re.compile(r"[\\%][xuU0-9a-fA-F]|&[#A-Za-z]|[0-9a-fA-F][ ,:;]{1,2}(?:0x)?[0-9a-fA-F]")
_WORD = re.compile(r"[A-Za-z]{2,}")
_ROT13_WORDS = re.compile(
    r"\b(?:gur|naq|gb|lbh|lbhe|guvf|jvgu|nyy|abg|hfr|gbby|sebz|frnq|ernq|svyr|frperg|vafgehpgvbaf?)\b", re.IGNORECASE
)
_REVERSED_WORDS = re.compile(
    r"\b(?:eht|dna|uoy|ruoy|siht|htiw|lla|ton|esu|loot|morf|dnes|daer|elif|resu|snoitcurtsni)\b", re.IGNORECASE
)
_FEWEST_MIRRORED_WORDS = 3


class Encoded(NamedTuple):
    """An encoded run of a text: its encoding, and the decoded `text`, which is empty when nothing readable came out.

    `suspicious` says whether the run is a finding in itself.
    """

    start: int
    end: int
    encoding: str
    text: str
    suspicious: bool


def encoded_texts(text: str) -> Iterator[Encoded]:
    """Find the encoded runs of `text`, kind by kind, at most `MOST_RUNS` of each kind."""
    if len(text) < _SHORTEST_RUN:
        return
    if _MAYBE.search(text):
        yield from _escaped_runs(text)
    if max(map(len, text.split()), default=0) >= _SHORTEST_RUN:
        yield from _encoded_runs(text)
    for encoding, words, decode in _MIRRORED:
        if len({found.lower() for found in islice(words.findall(text), 64)}) >= _FEWEST_MIRRORED_WORDS:
            yield Encoded(0, len(text), encoding, decode(text), suspicious=True)


def _reverse(text: str) -> str:
    return text[::-1]


def _rot13(text: str) -> str:
    return codecs.encode(text, "rot13")


_MIRRORED: tuple[tuple[str, re.Pattern[str], Callable[[str], str]], ...] = (
    ("rot13", _ROT13_WORDS, _rot13),
    ("reversed text", _REVERSED_WORDS, _reverse),
)


def _escaped_runs(text: str) -> Iterator[Encoded]:
    for encoding, pattern, decode, many in _ESCAPES:
        for found in islice(pattern.finditer(text), MOST_RUNS):
            if _MEDIA.search(text, max(0, found.start() - 100), found.start()) is None:
                decoded = decode(found[0][: 8 * LONGEST_DECODED])
                if decoded:
                    yield Encoded(
                        *found.span(), encoding, decoded, suspicious=bool(many.search(found[0])) and decoded.isascii()
                    )


def _from_backslashes(run: str) -> str:
    def one(found: re.Match[str]) -> str:
        number = int(found[1], 16) if found[1] else int(found[2], 8)
        return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else " "

    return _ONE_BACKSLASHED.sub(one, run)


def _from_percent(run: str) -> str:
    return unquote(run.replace("+", " "), errors="replace")


def _from_entities(run: str) -> str:
    return html.unescape(run)


def _from_bytes(run: str, base: int) -> str:
    values = [int(part, base) for part in re.split(r"[ ,:;]+", run.replace("0x", "")) if part]
    data = bytes(value for value in values if value < 256)
    return data.decode("ascii", "replace") if _is_readable(data) else ""


_ESCAPES: tuple[tuple[str, re.Pattern[str], Callable[[str], str], re.Pattern[str]], ...] = (
    ("backslash escapes", _BACKSLASHED, _from_backslashes, re.compile(r"(?:\\[^\\]+){12}")),
    ("percent-encoding", _PERCENT, _from_percent, _MANY_PERCENT),
    ("HTML entities", _ENTITIES, _from_entities, re.compile(r"(?:&#[^;]+;[ ]?){12}")),
    ("hex", _SPACED_HEX, lambda run: _from_bytes(run, 16), _SPACED_HEX),
    ("binary", _BITS, lambda run: _from_bytes(run, 2), _BITS),
    ("decimal character codes", _DECIMAL, lambda run: _from_bytes(run, 10), _DECIMAL),
)


def _encoded_runs(text: str) -> Iterator[Encoded]:
    for found in islice(_RUN.finditer(text), MOST_RUNS):
        if _MEDIA.search(text, max(0, found.start() - 100), found.start()) is None:
            encoding, decoded = _decode_run(found[0])
            blob = not decoded and _is_blob(found[0])
            if decoded or blob:
                yield Encoded(*found.span(), encoding, decoded, suspicious=blob or len(found[0]) >= _SUSPICIOUS_RUN)
    for found in islice(_BROKEN_RUN.finditer(text), MOST_RUNS):
        encoding, decoded = _decode_run(re.sub(r"[\s\"'+\\]+", "", found[0]))
        if decoded:
            yield Encoded(*found.span(), encoding, decoded, suspicious=True)


def _decode_run(run: str) -> tuple[str, str]:
    """The encoding of a run without blanks, and its decoded text, which is empty when it is not readable."""
    if _HEX.fullmatch(run):
        return "hex", _readable_text(_from_hex(run.removeprefix("0x")))
    if _BASE32.fullmatch(run):
        decoded = _readable_text(_from_base32(run))
        if decoded:
            return "base32", decoded
    return "base64", _readable_text(_from_base64(run))


def _is_blob(run: str) -> bool:
    """Whether a run that decodes to nothing readable is long, and no hash, path or identifier."""
    digits = run.removeprefix("0x")
    if len(digits) < _LONG_BLOB:
        return False
    if _HEX.fullmatch(run):
        return len(set(digits)) > 3 and len(digits) not in _HASHES
    return _is_random(run)


def _from_hex(digits: str) -> bytes:
    digits = digits[:LONGEST_DECODED]
    return bytes.fromhex(digits[: len(digits) // 2 * 2])


def _from_base64(run: str) -> bytes:
    body = run.rstrip("=")[:LONGEST_DECODED].translate(str.maketrans("-_", "+/"))
    body = body[: len(body) - (len(body) % 4 == 1)]
    try:
        return base64.b64decode(body + "=" * (-len(body) % 4))
    except (binascii.Error, ValueError):
        return b""


def _from_base32(run: str) -> bytes:
    body = run.rstrip("=")[:LONGEST_DECODED]
    body = body[: len(body) // 8 * 8]
    return base64.b32decode(body)


def _is_readable(data: bytes) -> bool:
    return bool(data) and sum(32 <= byte < 127 or byte in b"\r\n\t" for byte in data) >= 0.85 * len(data)


def _readable_text(data: bytes) -> str:
    """`data` as text when it has at least three words and hardly anything unreadable; else "".

    Other scripts count when they are valid UTF-8 or UTF-16 and mostly letters. A readable run without blanks counts as well: it
    may be encoded once more, and `poisoning` then decodes it again.
    """
    if _is_readable(data):
        text = data.decode("ascii", "replace")
        words = _WORD.findall(text)
        if len(words) >= 3 and b" " in data and sum(map(len, words)) > 0.55 * len(data):
            return text
        if len(text) >= _SUSPICIOUS_RUN and (_RUN.fullmatch(text.strip()) or _PERCENT.fullmatch(text.strip())):
            return text
        return ""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        try:
            text = data.decode("utf-16-le") if len(data) % 2 == 0 and data[1:2] == b"\0" else ""
        except UnicodeDecodeError:
            return ""
    letters = sum(map(str.isalpha, text))
    return text if len(text) >= 8 and letters > 0.7 * len(text) and text.isprintable() else ""


def _is_random(run: str) -> bool:
    """Whether digits, capitals and small letters alternate all through, unlike in a path or an identifier of words."""
    kinds = [sum(map(kind, run)) for kind in (str.isdigit, str.isupper, str.islower)]
    changes = sum(a.isupper() != b.isupper() or a.isdigit() != b.isdigit() for a, b in pairwise(run))
    return min(kinds) >= len(run) * 0.04 and changes > 0.35 * len(run)
