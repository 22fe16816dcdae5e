"""Which names of JSON members, variables and headers promise a secret value.

`token`, `api_key` and `DB_PASSWORD` do; `max_tokens`, `next_page_token`, `primary_key` and `password_hint` do not. The
surprising thing is that a word's place decides: a key or token is secret when the name ends in it, a password or secret
wherever the word stands, unless the name goes on to say that it means something about the secret.
"""

from __future__ import annotations

from functools import lru_cache

from mcptest_engine.core.lazy_patterns import lazy_pattern

_WORD = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALONE = _word_set(
    "password passwords passwd pwd passphrase passcode secret secrets token jwt bearer apikey apikeys authorization "
    "cookie cookies credential credentials"
)
_AS_LAST = frozenset((_ALONE | {"key", "auth"}) - {"bearer"})
_ANYWHERE = frozenset(("password", "passwd", "passphrase", "secret"))
_GLUED = ("password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "secretkey", "privatekey")
_PLURALS = frozenset(("keys", "tokens"))
_SECRET_PLURAL_OF = _word_set("api access refresh auth bearer id session secret private signing encryption")

# `page_token` says where to read on, `primary_key` which row: words that make a key or token harmless.
_HARMLESS_TOKEN = _word_set(
    "page next prev previous continuation cursor sync progress pagination max min num count total start end stop pad "
    "eos bos unk mask sep cls special watch resume change first last"
)
_HARMLESS_KEY = _word_set(
    "primary foreign public partition sort range cache idempotency natural composite unique candidate row lookup map "
    "dict object property column field group project issue space shortcut hot page translation i18n json data"
)
# `password_hint`, `secret_name`, `token_count`: the name of something about a secret.
_ABOUT = _word_set(
    "age algorithm at changed count description enabled endpoint env environment exists expires expiry expiration "
    "field file format hint id ids label length limit manager max min name names path pattern placeholder policy ref "
    "regex required reset rotation rules schema scope scopes status strength title ttl type updated uri url validator "
    "version visible"
)
# What is no secret as a member of an object is one behind `--`: `--key 8f1c…`, `--pat …`.
_FLAGS = frozenset(("key", "pass", "pat"))
# Whoever has a session's id may speak in its name (MCP 2025-11-25, basic/transports#session-management).
_CREDENTIALS = frozenset(("mcp-session-id",))
# These say which credentials are wanted, and hold none (RFC 9110, 11.6.1).
_CHALLENGES = frozenset(("www-authenticate", "proxy-authenticate"))


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a value under `name` is to be redacted; the name may be in any case, camelCase, or with separators.

    Also true for header names `*-Token`, `*-Key`, `*-Secret` and `*-Auth*`.
    """
    if name.lower() in _CREDENTIALS:
        return True
    words = [word.lower() for word in _WORD.findall(name)]
    while len(words) > 1 and words[-1].isdigit():
        words.pop()  # `password2`, `API_KEY_1`
    if not words:
        return False
    if len(words) == 1:
        return words[0] in _ALONE or words[0].endswith(_GLUED)
    return _ends_in_a_secret(words, spaced=" " in name) or _mentions_a_secret(words) or _is_auth_header(name)


def is_secret_flag(word: str) -> bool:
    """Whether a command's word promises that a secret follows, or holds one behind its `=`: `--api-key`, `--pass=…`.

    `--key` and `--pat` do, though those are no secrets among the members of an object.
    """
    name = word.partition("=")[0]
    bare = name.lstrip("-")
    return name != bare and (bare.lower() in _FLAGS or is_secret_name(bare))


def _ends_in_a_secret(words: list[str], *, spaced: bool) -> bool:
    """`spaced`: in a name of plain words, such as "odd key" or "API key", only some words make a key a secret."""
    last, before = words[-1], words[-2]
    if last in _PLURALS:
        return before in _SECRET_PLURAL_OF
    if last == "key":
        return before in _SECRET_PLURAL_OF if spaced else before not in _HARMLESS_KEY
    if last == "token":
        return before not in _HARMLESS_TOKEN
    return last in _AS_LAST or last.endswith(_GLUED)


def _mentions_a_secret(words: list[str]) -> bool:
    return words[-1] not in _ABOUT and not _ANYWHERE.isdisjoint(words)


def _is_auth_header(name: str) -> bool:
    lowered = name.lower()
    return "-auth" in lowered and "-author" not in lowered.replace("-authoriz", "") and lowered not in _CHALLENGES
