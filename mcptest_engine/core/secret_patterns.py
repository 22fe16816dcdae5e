"""Where a text holds something that looks like a secret, although nobody registered it.

Well-known token prefixes, private keys, passwords in URLs, long hex and base64-like runs, and values written after a
secret-looking name (`"password": "…"`, `API_KEY=…`, `Authorization: Bearer …`, `--token …`), and those that a few commands take
without one (`curl -u name:…`, `mysql -p…`). The surprising thing is that no regular
expression reads a whole text: each rule hangs on one character, or on a run of token characters found by a byte search, so
that a clean text costs some 2 µs, or 4 ms a megabyte.

Left alone on purpose: runs of over 4,096 characters (data, no credential) and paths that only look random.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.secret_names import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    Spans = Iterator[tuple[int, int]]

SHORTEST_PATTERN = 8  # no pattern matches anything shorter

_TOKEN_CHARACTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/=-")
_RUNS = bytes(ord("a") if code in _TOKEN_CHARACTERS else ord(" ") for code in range(256))
_RUN = b"a" * 20  # as long as the shortest token that is known by its prefix alone
_SHORTEST_RANDOM = 32
_LONGEST_CREDENTIAL = 4096


class Token(NamedTuple):
    """A kind of token that is known by how it begins: its `prefix` and one of the characters after it, both patterns.

    From `least` of these on it is redacted. From `sure` on it is no placeholder either, in a text that may well hold some.
    """

    prefix: str
    character: str
    least: int
    sure: int


TOKENS = (
    Token("[sp]k-", "[A-Za-z0-9_-]", 8, 16),
    Token(r"xox\w-", "[A-Za-z0-9_-]", 8, 16),
    Token("glpat-", "[A-Za-z0-9_-]", 8, 16),
    Token("gh[pousr]_", "[A-Za-z0-9]", 8, 20),
    Token("github_pat_", "[A-Za-z0-9_]", 8, 20),
    Token("[spr]k_(?:live|test)_", "[A-Za-z0-9]", 8, 12),
    Token("hf_", "[A-Za-z0-9]", 20, 20),
    Token("npm_", "[A-Za-z0-9]", 20, 30),
    Token("A[KS]IA", "[0-9A-Z]", 16, 16),
    Token("AIza", "[0-9A-Za-z_-]", 35, 35),
)
"""Every kind of token that is looked for, whatever for. JSON Web Tokens (`eyJ`) are recognized by more than their beginning."""
TOKEN_START = r"(?<![A-Za-z0-9])"


def _with_separator(separator: str) -> str:
    """The tokens whose prefix has a separator, which is searched for: looking for one character, and back, is the fastest."""
    found = []
    for token in TOKENS:
        head, has_it, tail = token.prefix.partition(separator)
        if has_it:
            found.append(rf"(?<={TOKEN_START}{head}{separator}){tail}{token.character}{{{token.least},}}")
    return "|".join(found)


_DASHED = lazy_pattern(
    rf"-(?:{_with_separator('-')}"
    r"|----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\Z))"
)
_UNDERSCORED = lazy_pattern(rf"_(?:{_with_separator('_')})")
_BARE_PREFIXES = ("eyJ", "AKIA", "ASIA", "AIza")
_BARE_TOKENS = [token for token in TOKENS if "-" not in token.prefix and "_" not in token.prefix]
_BARE = lazy_pattern(
    rf"{TOKEN_START}(?:eyJ[A-Za-z0-9_-]{{8,}}(?:\.[A-Za-z0-9_-]+){{0,4}}"
    + "".join(f"|{token.prefix}{token.character}{{{token.least},}}" for token in _BARE_TOKENS)
    + ")"
)
_HEX = lazy_pattern(r"[0-9a-fA-F]{32,}")
_BASE64 = lazy_pattern(r"[A-Za-z0-9_+/-]{32,}={0,2}")
_SEPARATORS = lazy_pattern(r"[_+/=-]+")
_CLASS_CHANGE = lazy_pattern(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])")

_USERINFO = lazy_pattern(r"://[^\s/?#@:\"'<>]*:([^\s/?#\"'<>]+)@")
_BEARER = lazy_pattern(r"Bearer +(?=[A-Za-z_~+/=.-]*[0-9])([A-Za-z0-9_~+/=.-]{8,})")

# How the names of secrets end; only a name that ends so is looked at. The last letter is tried before the rest: a group that
# ignores case costs ten times as much, at every colon of a JSON text.
_ENDINGS = (
    *("ord", "rds", "swd", "pwd", "hrase", "ret", "ets", "ken", "ens", "key", "eys", "jwt"),
    *("ization", "auth", "kie", "ies", "tial", "tials"),
)


def _after_a_name(separator: str, between: str) -> str:
    """A pattern that holds right after `separator` when an ending of `_ENDINGS` and `between` stand before it."""
    lasts = "".join(sorted({ending[-1] + ending[-1].upper() for ending in _ENDINGS}))
    by_width: dict[int, list[str]] = {}
    for ending in _ENDINGS:
        by_width.setdefault(len(ending), []).append(ending)
    behind = "|".join(f"(?<=(?ai:{'|'.join(group)}){between}{separator})" for group in by_width.values())
    return f"(?<=[{lasts}]{between}{separator})(?:{behind})"


_QUOTE = "[\"']"
_ESCAPED_QUOTE = r"\\" + _QUOTE
_COLON = lazy_pattern(f":(?:{'|'.join(_after_a_name(':', between) for between in ('', _QUOTE, _ESCAPED_QUOTE))})")
_EQUALS = lazy_pattern(f"=(?:{_after_a_name('=', '')}|{_after_a_name('=', ' ')})(?![=>~])")
_NAME_BACKWARDS = lazy_pattern(r"( ?)([\"']?)\\*([A-Za-z0-9_.-]+)")
_LONGEST_NAME = 100

_QUOTED = lazy_pattern(r"\s*(\\*[\"'])((?:(?!\1)(?:[^\\]|\\.))+)", re.DOTALL)
_NUMBER = lazy_pattern(r"\s*([0-9]{4,})(?![0-9.])")
_ASSIGNED = lazy_pattern(r"([^\s\"'&,;]+)")
_SETTING = lazy_pattern(r"[ \t]*((?=\S*[0-9])[^\s\"']+|[^\s\"']{16,})[ \t]*$", re.MULTILINE)
_SCHEME = lazy_pattern(r"[ \t]*((?i:basic|bearer|token|digest|apikey|negotiate|aws4-hmac-sha256)[ \t]+[^\r\n\"']+)")
_CREDENTIAL = lazy_pattern(
    r"[ \t]*((?:(?=[^\s\"']*[0-9])[^\s\"']{8,}|[^\s\"']{16,})(?=[ \t]*$|[\"']))",
    re.MULTILINE,
)
_COOKIES = lazy_pattern(r"[ \t]*([^\s\"'=]+=[^\r\n\"']+)")
_READ_TO_THE_END = (_SETTING, _CREDENTIAL, _COOKIES)  # of the word: what they miss in it, they miss in its rest
_WORD = lazy_pattern(r"[ \t]*[^\s\"']*")
_OPTION = lazy_pattern(
    r"--([A-Za-z][\w-]{1,60})[ \t]+(?:([\"'])((?:(?!\2)[^\r\n]){4,})\2"
    r"|((?=[^\s\"']*[0-9])[^\s\"'-][^\s\"']{3,}|[^\s\"'-][^\s\"']{15,}))"
)
_COMMANDS = (
    ("curl", lazy_pattern(r"\bcurl\b[^\r\n|;&]{0,300}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']+:([^\s\"']{3,})")),
    ("mysql", lazy_pattern(r"\bmysql\w*[^\r\n|;&]{0,300}?\s-p[\"']?([^\s\"']{3,})")),
    ("mariadb", lazy_pattern(r"\bmariadb[\w-]*[^\r\n|;&]{0,300}?\s-p[\"']?([^\s\"']{3,})")),
    ("sshpass", lazy_pattern(r"\bsshpass\s+-p ?[\"']?([^\s\"']{3,})")),
    ("redis-cli", lazy_pattern(r"\bredis-cli\b[^\r\n|;&]{0,300}?\s-a ?[\"']?([^\s\"']{3,})")),
)
"""Commands that take a password by an option whose name does not tell; the first group is the password."""
_OPENING = lazy_pattern(r"\s*\\*[\"']")


def find_secrets(text: str) -> list[tuple[int, int]]:
    """The places (start, end) in `text` of what looks like a secret, in no order; they may overlap."""
    spans: list[tuple[int, int]] = []
    if "-" in text and _DASHED.search(text):
        spans += _prefixed(_DASHED, text)
    if "_" in text and _UNDERSCORED.search(text):
        spans += _prefixed(_UNDERSCORED, text)
    if ":" in text and _COLON.search(text):
        spans += _named(_COLON, text)
    if "=" in text and _EQUALS.search(text):
        spans += _named(_EQUALS, text)
    if "--" in text:
        spans += (found.span(found.lastindex or 0) for found in _OPTION.finditer(text) if is_secret_name(found[1]))
    if " -" in text:
        for command, pattern in _COMMANDS:
            if command in text:
                spans += (found.span(1) for found in pattern.finditer(text))
    if "@" in text:
        spans += (found.span(1) for found in _USERINFO.finditer(text))
    if len(text) >= len(_RUN):
        runs = text.encode("ascii", "replace").translate(_RUNS)  # one byte a character: places in both are the same
        if _RUN in runs:
            spans += _long_runs(text, runs)
        if "Bearer " in text:
            spans += (found.span(1) for found in _BEARER.finditer(text))
    return spans


def _prefixed(pattern: re.Pattern[str], text: str) -> Spans:
    for found in pattern.finditer(text):
        start = found.start()
        while start and text[start - 1].isalnum() and text[start - 1].isascii():
            start -= 1
        yield start, found.end()


def _long_runs(text: str, runs: bytes) -> Spans:
    """Secrets in runs of token characters, which `runs` shows as `a`."""
    start = runs.find(_RUN)
    while start >= 0:
        end = runs.find(b" ", start)
        end = len(runs) if end < 0 else end
        if end - start <= _LONGEST_CREDENTIAL:
            yield from _bare_tokens(text, start, end)
            if end - start >= _SHORTEST_RANDOM:
                yield from _random_parts(text, start, end)
        start = runs.find(_RUN, end)


def _bare_tokens(text: str, start: int, end: int) -> Spans:
    for prefix in _BARE_PREFIXES:
        at = text.find(prefix, start, end)
        while at >= 0:
            found = _BARE.match(text, at)
            if found:
                yield found.span()
            at = text.find(prefix, found.end() if found else at + 1, end)


def _random_parts(text: str, start: int, end: int) -> Spans:
    for found in _HEX.finditer(text, start, end):
        if len(set(found[0])) > 3:  # `aaaa…` and `0000…` pad and separate
            yield found.span()
    for found in _BASE64.finditer(text, start, end):
        if _is_random_like(found[0]):
            yield found.span()


def _is_random_like(run: str) -> bool:
    """At least two digits, two capitals and two small letters, and not words put together as in a path."""
    if min(sum(map(kind, run)) for kind in (str.isdigit, str.isupper, str.islower)) < 2:
        return False
    parts = _SEPARATORS.split(run)
    # In a random text every other character is of another kind than the one before it, among words one in ten.
    return max(map(len, parts)) >= 20 or len(_CLASS_CHANGE.findall(run)) > 0.15 * len(run)


def _named(separator: re.Pattern[str], text: str) -> Spans:
    """Values after a secret-looking name and `separator`, which is a colon or an equals sign.

    Each part of the text is read once, however many names stand in it: a value that was found holds the values of the names
    within it, unless one's quotation begins at its very end.
    """
    done = 0
    missed = dict.fromkeys(_READ_TO_THE_END, 0)
    for found in separator.finditer(text):
        at = found.end()
        if at < done:
            opening = _OPENING.match(text, at)
            if opening is None or opening.end() < done:
                continue
        before = text[max(found.start() - _LONGEST_NAME, 0) : found.start()]
        name = _NAME_BACKWARDS.match(before[::-1])  # backwards, because only its end is known
        if name and is_secret_name(name[3][::-1]):
            for pattern in _values_after(found[0], name):
                if at < missed.get(pattern, 0):
                    continue
                value = pattern.match(text, at)
                if value:
                    done = value.end()
                    yield value.span(value.lastindex or 0)
                    break
                if pattern in missed:
                    word = _WORD.match(text, at)
                    missed[pattern] = word.end() if word else at


def _values_after(separator: str, backwards: re.Match[str]) -> tuple[re.Pattern[str], ...]:
    """How the value may be written, by what stands before it: `"name":`, `name=`, `name =`, `name:`."""
    spaced, is_quoted, name = bool(backwards[1]), bool(backwards[2]), backwards[3][::-1].lower()
    if is_quoted:
        return (_QUOTED, _NUMBER)
    if separator == "=":
        return (_QUOTED, _SETTING if spaced else _ASSIGNED)
    if name.endswith("authorization"):
        return (_QUOTED, _SCHEME, _CREDENTIAL)
    if name.endswith(("cookie", "cookies")):
        return (_QUOTED, _COOKIES)
    return (_QUOTED, _SETTING)
