"""SEC-008: credentials in a text. Honest descriptions often contain placeholders such as `sk-…`, which do not count."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

from mcptest_engine.core.secret_patterns import TOKEN_START, TOKENS, find_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

_WINDOW, _OVERLAP = 2_048, 256
_KEY = re.compile(
    rf"{TOKEN_START}(?:{'|'.join(f'{token.prefix}{token.character}{{{token.sure},}}' for token in TOKENS)}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}|SG\.[\w-]{16,}\.[\w-]{16,}"
    r")|-----BEGIN [A-Z ]*PRIVATE KEY-----\s*[A-Za-z0-9+/]{16,}"
)
_PLACEHOLDER = re.compile(
    r"your|xxx|example|<|\$\{|\.\.\.|\u2026|\*\*\*|placeholder|change|dummy|sample|redacted|password|secret|token|username|user:|^pass(?:wd)?$|\bdemo\b|\btest\b|foo|bar\b|123456|abcdef"
    r"|(.)\1{4}",
    re.IGNORECASE,
)
_SPELLED_OUT = re.compile(r"your|xxx|example|\.\.\.|(.)\1{4}", re.IGNORECASE)
_AS_EXAMPLE = re.compile(
    r"(?:\b(?:example|sample|such as|for instance|like)\b|\be\.g\.?)[^.!?\n]{0,60}\Z", re.IGNORECASE
)
_USERINFO = re.compile(r"://(?P<user>[^\s/?#@:\"'<>]{0,64}):\Z")
_ASSIGNED = re.compile(
    r"(?:password|passwd|pwd|passphrase|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|client[_-]?secret|secret[_-]?key|\btoken|bearer)"
    r"[\"'` ]{0,2}(?:[:=]|\bis\b)?[\"'` ]{0,3}\Z",
    re.IGNORECASE,
)


def find_credential(text: str, *, is_value_of: str | None = None) -> tuple[int, int] | None:
    """The start and end of a credential in `text`; None when it has none.

    `is_value_of` is the secret-looking name of the argument that the text is a value of.
    """
    if len(text) >= 12:
        for found in _KEY.finditer(text):
            if (
                (any(map(str.isdigit, found[0])) or found[0].startswith("-"))
                and not _SPELLED_OUT.search(found[0].rpartition("KEY-----")[2][4:])
                and not (
                    found[0].startswith("eyJ")
                    and (_is_made_up(found[0]) or _AS_EXAMPLE.search(text, max(0, found.start() - 60), found.start()))
                )
            ):
                return found.span()
        for start, end in _find_secrets_by_window(text):
            value, before = text[start:end], text[max(0, start - 80) : start]
            if _PLACEHOLDER.search(value) or (
                value.startswith("eyJ") and (_is_made_up(value) or _AS_EXAMPLE.search(before))
            ):
                continue
            user = _USERINFO.search(before)
            if (user and user["user"] != value) or (_ASSIGNED.search(before) and _is_strong(value)):
                return start, end
    if (
        is_value_of is not None
        and _is_strong(text)
        and " " not in text
        and not _PLACEHOLDER.search(text.removeprefix("password"))
        and not (text.startswith("eyJ") and _is_made_up(text))
    ):
        return 0, len(text)
    return None


def _is_made_up(token: str) -> bool:
    """Whether the signature of a JSON Web Token decodes to readable ASCII, which that of a real one does not."""
    signature = token.rpartition(".")[2]
    try:
        decoded = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    except (binascii.Error, ValueError):
        return False
    return decoded.isascii() and decoded.decode("ascii").isprintable()


def _find_secrets_by_window(text: str) -> Iterator[tuple[int, int]]:
    """The results of `find_secrets` window by window: on endless assignments it takes time quadratic in the length."""
    for at in range(0, len(text), _WINDOW):
        window = text[max(0, at - _OVERLAP) : at + _WINDOW]
        offset = max(0, at - _OVERLAP)
        yield from ((start + offset, end + offset) for start, end in sorted(find_secrets(window)))


def _is_strong(value: str) -> bool:
    """Whether a value looks generated rather than like a word: long enough, with several kinds of characters."""
    value = value.strip("\"'`.,;)")
    kinds = sum(any(map(kind, value)) for kind in (str.isdigit, str.isupper, str.islower))
    others = any(not character.isalnum() and character != "_" for character in value)
    return (
        len(value) >= 8
        and any(map(str.isdigit, value))
        and (kinds + others >= 3 or len(value) >= 24)
        and "://" not in value
    )
