"""Encoded text and credentials inside of a text: SEC-004 and SEC-008.

A run of base64 or hex is judged by what it decodes to; one that decodes to nothing readable has to be long, and no hash,
UUID, path or picture. The surprising thing is how many honest descriptions hold a hash, a cursor or a `sk-…` placeholder.
"""

from __future__ import annotations

import base64
import binascii
import re
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mcptest_engine.core.secret_patterns import find_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["find_credential", "find_encoded"]

_RUN = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{28,}={0,2}")
_BASE32 = re.compile(r"[A-Z2-7]{32,}={0,6}")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_ESCAPED = re.compile(
    r"(?:\\x[0-9a-fA-F]{2}){12,}|(?:\\u00[0-9a-fA-F]{2}){12,}|(?:%[0-9a-fA-F]{2}){12,}|(?:&#x?[0-9a-fA-F]{2,4};){12,}"
    r"|(?:\\[0-7]{3}){12,}|(?:\b[01]{8}[ ,]){12,}|(?:\b0x[0-9a-fA-F]{2}[ ,]{1,2}){12,}|(?:\b(?:1[0-2]|[3-9])\d[ ,]{1,2}){24,}"
    r"|(?i:snoitcurtsni|vafgehpgvbaf)"
)
_MAYBE_ESCAPED = re.compile(r"[\\%][xu0-9a-fA-F]|&#|[0-9][ ,]{1,2}(?:0x)?[0-9]|(?i:snoitcurtsni|vafgehpgvbaf)")
_SHORTEST_RUN = 28
_MEDIA = re.compile(r"data:(?:image|audio|video|font|application/pdf)[\w/+.;=-]{0,60},\Z")
_HASHES = frozenset((32, 40, 48, 56, 64, 96, 128))
_LONGEST_DECODED = 4096
_LONG_BLOB = 80
_WINDOW, _OVERLAP = 2_048, 256
_WORD = re.compile(r"[A-Za-z]{2,}")


def find_encoded(text: str) -> tuple[int, int] | None:
    """Where an encoded payload stands in `text`, the first one."""
    if len(text) < _SHORTEST_RUN:
        return None
    escaped = _ESCAPED.search(text) if _MAYBE_ESCAPED.search(text) else None
    if escaped and not (escaped[0].startswith("%") and not unquote(escaped[0], errors="replace").isascii()):
        return escaped.span()
    if max(map(len, text.split()), default=0) < _SHORTEST_RUN:
        return None
    for found in _RUN.finditer(text):
        if _MEDIA.search(text, max(0, found.start() - 100), found.start()) is None and _is_payload(found[0]):
            return found.span()
    return None


def _is_payload(run: str) -> bool:
    if _HEX.fullmatch(run):
        digits = run.removeprefix("0x")
        return (
            len(digits) >= 40
            and len(set(digits)) > 3
            and (_is_prose(_from_hex(digits)) or (len(digits) >= _LONG_BLOB and len(digits) not in _HASHES))
        )
    if _BASE32.fullmatch(run) and _is_prose(_from_base32(run)):
        return True
    return _is_prose(_from_base64(run)) or (len(run) >= _LONG_BLOB and _is_random(run))


def _from_hex(digits: str) -> bytes:
    digits = digits[:_LONGEST_DECODED]
    return bytes.fromhex(digits[: len(digits) // 2 * 2])


def _from_base64(run: str) -> bytes:
    body = run.rstrip("=")[:_LONGEST_DECODED].translate(str.maketrans("-_", "+/"))
    body = body[: len(body) - (len(body) % 4 == 1)]
    try:
        return base64.b64decode(body + "=" * (-len(body) % 4))
    except (binascii.Error, ValueError):
        return b""


def _from_base32(run: str) -> bytes:
    body = run.rstrip("=")[:_LONGEST_DECODED]
    body = body[: len(body) // 8 * 8]
    return base64.b32decode(body)


def _is_prose(data: bytes) -> bool:
    """At least four words, and hardly anything but ASCII text."""
    if not data or sum(32 <= byte < 127 or byte in b"\r\n\t" for byte in data) < 0.85 * len(data):
        return False
    words = _WORD.findall(data.decode("ascii", "replace"))
    return len(words) >= 4 and b" " in data and sum(map(len, words)) > 0.55 * len(data)


def _is_random(run: str) -> bool:
    """Digits, capitals and small letters all through, and no words put together as in a path or an identifier."""
    kinds = [sum(map(kind, run)) for kind in (str.isdigit, str.isupper, str.islower)]
    changes = sum(a.isupper() != b.isupper() or a.isdigit() != b.isdigit() for a, b in pairwise(run))
    return min(kinds) >= len(run) * 0.04 and changes > 0.35 * len(run)


_KEY = re.compile(
    r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|sk-(?:[a-z]{2,8}-){0,2}[A-Za-z0-9_-]{16,}|xox[abeprs]-[A-Za-z0-9-]{16,}"
    r"|glpat-[A-Za-z0-9_-]{16,}|A[KS]IA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}|[spr]k_(?:live|test)_[A-Za-z0-9]{12,}|hf_[A-Za-z0-9]{20,}"
    r"|npm_[A-Za-z0-9]{30,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}|SG\.[\w-]{16,}\.[\w-]{16,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----\s*[A-Za-z0-9+/]{16,}"
)
_PLACEHOLDER = re.compile(
    r"your|xxx|example|<|\$\{|\.\.\.|\u2026|\*\*\*|placeholder|change|dummy|sample|redacted|password|secret|token|username|user:|foo|bar\b|123456|abcdef"
    r"|(.)\1{4}",
    re.IGNORECASE,
)
_SPELLED_OUT = re.compile(r"your|xxx|example|\.\.\.|(.)\1{4}", re.IGNORECASE)
_USERINFO = re.compile(r"://[^\s/?#@:\"'<>]{0,64}:\Z")
_ASSIGNED = re.compile(
    r"(?:password|passwd|pwd|passphrase|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|client[_-]?secret|secret[_-]?key|\btoken|bearer)"
    r"[\"'` ]{0,2}(?:[:=]|\bis\b)?[\"'` ]{0,3}\Z",
    re.IGNORECASE,
)


def find_credential(text: str, *, is_value_of: str | None = None) -> tuple[int, int] | None:
    """Where a credential stands in `text`, the first one.

    `is_value_of` is the secret-looking name that the text is a value of.
    """
    if len(text) >= 12:
        for found in _KEY.finditer(text):
            if (any(map(str.isdigit, found[0])) or found[0].startswith("-")) and not _SPELLED_OUT.search(
                found[0].rpartition("KEY-----")[2][4:]
            ):
                return found.span()
        for start, end in _secrets(text):
            value, before = text[start:end], text[max(0, start - 80) : start]
            if _PLACEHOLDER.search(value):
                continue
            if _USERINFO.search(before) or (_ASSIGNED.search(before) and _is_strong(value)):
                return start, end
    if (
        is_value_of is not None
        and _is_strong(text)
        and " " not in text
        and not _PLACEHOLDER.search(text.removeprefix("password"))
    ):
        return 0, len(text)
    return None


def _secrets(text: str) -> Iterator[tuple[int, int]]:
    """What `find_secrets` finds, window by window: assignments without end would cost the square of the length."""
    for at in range(0, len(text), _WINDOW):
        window = text[max(0, at - _OVERLAP) : at + _WINDOW]
        offset = max(0, at - _OVERLAP)
        yield from ((start + offset, end + offset) for start, end in sorted(find_secrets(window)))


def _is_strong(value: str) -> bool:
    """A made-up value rather than a word: long enough, and of several kinds of characters."""
    value = value.strip("\"'`.,;)")
    kinds = sum(any(map(kind, value)) for kind in (str.isdigit, str.isupper, str.islower))
    others = any(not character.isalnum() and character != "_" for character in value)
    return (
        len(value) >= 8
        and any(map(str.isdigit, value))
        and (kinds + others >= 3 or len(value) >= 24)
        and "://" not in value
    )
