"""Secrets taken out of text and JSON values before anything is written, shown or compared.

Redacted are registered values, however they are encoded (JSON, HTML, percent, base64, base32, hex, two of them over each
other) or cut in pieces by line breaks, blanks and quotes, whatever stands under a secret-looking name, and what looks like a
secret by itself (see `secret_patterns`). The surprising thing is that nothing is copied while nothing is secret, which is
nearly always: the walk over a clean tool result costs a few microseconds.

Kept on purpose: the base64 of images, audio and binary resources (else all pictures would be equal), an object under a
secret-looking name (a JSON Schema has `password: {type: string}`; its members are judged by their own names), and everything
that mcptest itself writes into a record, since callers redact only what is foreign.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.secret_names import is_secret_name
from mcptest_engine.core.secret_patterns import SHORTEST_PATTERN, TOKENS, find_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcptest_engine.core.json_types import JsonDict

__all__ = ["MASK", "SHORTEST_SUBSTRING", "Disguise", "Redactor", "is_secret_name"]

MASK = "[REDACTED]"

SHORTEST_SUBSTRING = 8  # a shorter registered value is masked only where it is the whole string: it may be any word
_LONGEST_WORD = 16
_MOST_PASSES = 8
_MOST_REMEMBERED = 4096
_LONGEST_REMEMBERED = 64
_CONTAINERS = (dict, list, tuple)
_MEDIA_MEMBERS = frozenset(("data", "blob"))


class Redactor:
    """Knows the secrets of one run.

    `longest` is how many characters at the end of a text that was cut off may be part of a secret, and hence unknown as one.
    Redaction is idempotent, keeps the shape of every value (containers, number and order of members), and gives back the
    very same object when nothing in it is secret.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._whole: set[str] = set()
        self._anywhere: tuple[str, ...] = ()
        self._broken: dict[str, tuple[str, re.Pattern[str]]] = {}  # by value: its characters, and the value in pieces
        self._numbers: set[int] = set()  # those of the values that are whole numbers
        self._plain_names: set[str] = set()
        self.longest = 4096  # characters that a secret may have; the patterns find none that is longer
        self._disguise: Disguise | None = None
        self._clean: set[str] = set()  # texts known to be clean: what a test sends often comes back, and is judged
        for secret in secrets:
            self.register(secret)

    def register(self, value: str) -> None:
        """Redact `value` from now on: anywhere in a text, or only as a whole string when it has under 8 characters."""
        self._plain_names.clear()
        self._clean.clear()
        for form in (value, value.strip()):
            if not form or form in MASK:
                continue
            self._whole.add(form)
            if _WHOLE_NUMBER.fullmatch(form):
                self._numbers.add(int(form))
            if len(form) >= SHORTEST_SUBSTRING:
                self._anywhere = tuple(dict.fromkeys((*self._anywhere, *_spellings(form))))
                in_base64 = _within_base64(form.encode("utf-8", "surrogatepass"))
                between = _BREAKS if form.isalpha() or form.isdecimal() else _CUTS
                for spelled in {form, *_in_json(form), *in_base64} if not _LINE_BREAK.search(form) else ():
                    pattern = lazy_pattern(between.join(map(re.escape, spelled)))
                    characters = spelled.translate(_NOT_COMPARED)
                    if len(characters) >= SHORTEST_SUBSTRING // 2:
                        self._broken[spelled] = characters, pattern
                self.longest = max(self.longest, *map(len, self._anywhere))

    def with_shapes(self, disguise: Disguise) -> Redactor:
        """One that knows the same secrets, and puts a value of the same shape in the place of each."""
        other = Redactor()
        other._whole, other._anywhere, other._broken = set(self._whole), self._anywhere, dict(self._broken)
        other._disguise, other.longest, other._numbers = disguise, self.longest, set(self._numbers)
        return other

    def redact_text(self, text: str) -> str:
        """`text` with `[REDACTED]` for each secret in it; `text` itself when there is none."""
        if text in self._clean:
            return text
        if text in self._whole:
            return self._stand_in(text)
        if len(text) < SHORTEST_PATTERN:
            return text
        redacted = self._redacted(text)
        if redacted is text and len(text) <= _LONGEST_REMEMBERED:
            if len(self._clean) >= _MOST_REMEMBERED:
                self._clean.clear()  # a text comes again soon, or never
            self._clean.add(text)
        return redacted

    def _redacted(self, text: str) -> str:
        if self._disguise is not None and text in self._disguise.given_out:
            return text
        # A mask may complete another match, such as the rest of an assigned value. What keeps its shape is found again.
        for _ in range(_MOST_PASSES if self._disguise is None else 1):
            spans = self._spans(text)
            if not spans:
                break
            text = self._masked(text, spans)
        return text

    def _stand_in(self, secret: str) -> str:
        return MASK if self._disguise is None else self._disguise.of(secret)

    def _masked(self, text: str, spans: list[tuple[int, int]]) -> str:
        parts, done = [], 0
        for start, end in _united(spans):
            parts += [text[done:start], *self._stand_ins(text[start:end])]
            done = end
        return "".join([*parts, text[done:]])

    def _stand_ins(self, secret: str) -> Iterator[str]:
        """What stands in for a place; a registered value within it has the stand-in that it has everywhere."""
        inner = [] if self._disguise is None else _united(list(self._registered(secret)))
        done = 0
        for start, end in inner:
            yield self._stand_in_of_rest(secret[done:start])
            yield self._stand_in(secret[start:end])
            done = end
        yield self._stand_in_of_rest(secret[done:]) if done else self._stand_in(secret)

    def _stand_in_of_rest(self, text: str) -> str:
        is_plain = _PREFIX.fullmatch(text) or not any(map(str.isalnum, text))
        return text if is_plain else self._stand_in(text)

    def redact(self, value: object) -> Any:
        """`value`, a JSON value of any depth, without its secrets; the same object when it holds none."""
        if isinstance(value, str):
            return self.redact_text(value)
        if not isinstance(value, _CONTAINERS):
            return self._number(value)
        return value if self._is_clean(value) else self._copy(value, self._key, self._member)

    def redact_registered(self, value: object) -> Any:
        """`value` without the registered secrets, and whatever else is in it as it is: for what is shown as it was sent.

        Any JSON value, also inside of tuples and dataclasses.
        """
        if not self._whole:
            return value
        if isinstance(value, str):
            return self._registered_only(value)
        if isinstance(value, tuple):
            parts = map(self.redact_registered, value)
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if is_dataclass(value) and not isinstance(value, type):
            shown = {one.name: self.redact_registered(getattr(value, one.name)) for one in fields(value) if one.init}
            return replace(value, **shown)
        if not isinstance(value, _CONTAINERS):
            return self._number(value)
        return self._copy(value, self._shown_key, lambda key, item, _siblings: self._shown_member(key, item))

    def _shown_key(self, key: str) -> str:
        return key if _is_word(key) else self._registered_only(key)

    def _shown_member(self, key: str, item: object) -> object:
        if isinstance(item, str):
            return item if key == "required" and _is_word(item) else self._registered_only(item)
        return self._number(item)

    def _number(self, item: object) -> object:
        """A number that is a registered value masked; anything else as it is."""
        if not self._numbers or type(item) not in (int, float) or item not in self._numbers:
            return item
        return MASK if self._disguise is None else self._disguise.number(item)

    def _spans(self, text: str) -> list[tuple[int, int]]:
        spans = find_secrets(text)
        if self._anywhere:
            spans += self._registered(text)
        return [(start, end) for start, end in spans if text[start:end] != MASK] if spans else spans

    def _registered(self, text: str) -> Iterator[tuple[int, int]]:
        """The places of registered values, some of them more than once."""
        for secret in self._anywhere:
            at = text.find(secret)
            while at >= 0:
                yield at, at + len(secret)
                at = text.find(secret, at + 1)
        whole = _LINE_BREAK.sub("", text) if "\\" in text else text
        joined = whole.translate(_NOT_COMPARED)
        if len(joined) < len(text):
            for characters, pattern in self._broken.values():
                if characters in joined:
                    yield from (found.span() for found in pattern.finditer(text))

    def _is_clean(self, value: Any) -> bool:
        """Whether nothing in a container is secret. Its own stack: no depth of nesting ends it."""
        stack, clean, whole = [value], self._clean, self._whole
        while stack:
            container = stack.pop()
            items: Iterable[Any] = container
            if isinstance(container, dict):
                items = container.values()
                if not self._plain_names.issuperset(container):
                    odd = {key for key in container if key not in self._plain_names and not self._is_plain_name(key)}
                    for key in odd:
                        item = container[key]
                        if self._key(key) is not key or self._member(key, item, container) is not item:
                            return False
                    items = [item for key, item in container.items() if key not in odd or isinstance(item, _CONTAINERS)]
            for item in items:
                if item.__class__ is str or isinstance(item, str):
                    if len(item) < SHORTEST_PATTERN:
                        if item in whole:
                            return False
                    elif item not in clean and self.redact_text(item) is not item:
                        return False
                elif isinstance(item, _CONTAINERS):
                    stack.append(item)
                elif self._numbers and self._number(item) is not item:
                    return False
        return True

    def _is_plain_name(self, name: str) -> bool:
        """Whether a member's name neither is a secret nor promises one. Remembered, because names come again and again."""
        plain = name not in _MEDIA_MEMBERS and not is_secret_name(name) and self._key(name) is name
        if plain and len(name) <= _LONGEST_REMEMBERED and len(self._plain_names) < _MOST_REMEMBERED:
            self._plain_names.add(name)
        return plain

    def _copy(self, value: object, name: Callable[[str], str], member: Callable[[str, Any, JsonDict], Any]) -> Any:
        """A redacted copy of a container; children are made first and then filled, so that depth costs no recursion."""
        top: list[Any] = [value]
        stack: list[tuple[Any, Any, Any]] = [(top, 0, value)]
        while stack:
            holder, place, source = stack.pop()
            if isinstance(source, dict):
                filled: Any = {}
                for key, item in source.items():
                    new_key = _unused(name(key), filled)
                    filled[new_key] = new = member(key, item, source)
                    if isinstance(new, _CONTAINERS):
                        stack.append((filled, new_key, new))
            else:
                # Whether the names in `required` are shown is decided as for the names of members.
                key = "required" if place == "required" else ""
                filled = [item if isinstance(item, _CONTAINERS) else member(key, item, {}) for item in source]
                stack += [(filled, at, item) for at, item in enumerate(source) if isinstance(item, _CONTAINERS)]
            holder[place] = filled
        return top[0]

    def _key(self, key: str) -> str:
        return key if len(key) < SHORTEST_SUBSTRING or _is_word(key) else self.redact_text(key)

    def _member(self, key: str, item: object, siblings: dict[str, object]) -> object:
        """A member's value redacted; an object is given back as it is, and so is a list unless its name is secret."""
        if is_secret_name(key):
            return self._concealed(item)
        if not isinstance(item, str):
            return self._number(item)
        if key in _MEDIA_MEMBERS and "mimeType" in siblings:
            return self._registered_only(item)
        return self.redact_text(item)

    def _registered_only(self, text: str) -> str:
        if text in self._whole:
            return self._stand_in(text)
        spans = [(start, end) for start, end in self._registered(text) if text[start:end] != MASK]
        return self._masked(text, spans) if spans else text

    def _concealed(self, value: object, depth: int = 20) -> object:
        """What stands under a secret name: texts and numbers masked, in lists too; flags, null and objects as they are.

        Lists nested deeper than `depth` are judged like any other value.
        """
        if isinstance(value, str):
            return self._stand_in(value) if value and value != MASK else value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return MASK if self._disguise is None else self._disguise.number(value)
        if depth and isinstance(value, (list, tuple)):
            concealed = [self._concealed(item, depth - 1) for item in value]
            return concealed if any(new is not old for new, old in zip(concealed, value, strict=True)) else value
        return value


class Disguise:
    """Values that stand in for secrets: the same length, digits for digits, letters for letters, known prefixes kept.

    The same secret has the same stand-in, another one another. They are made with a key that is kept nowhere, so that no
    secret can be found by trying. `made` are those that were given out, by secret.
    """

    def __init__(self) -> None:
        import secrets

        self._key = secrets.token_bytes(32)
        self.made: dict[str, str] = {}
        self.given_out: set[str] = set()

    def of(self, secret: str) -> str:
        """What stands in for a text; `[REDACTED]` where nothing of it could be another.

        A stand-in stands for itself.
        """
        if secret in self.given_out:
            return secret
        kept = _PREFIX.match(secret)
        prefix, rest = secret[: kept.end()] if kept else "", secret[kept.end() :] if kept else secret
        for attempt in range(_MOST_ATTEMPTS):
            found = prefix + self._changed(rest, attempt)
            if found != secret:
                self.made[secret] = found
                self.given_out.add(found)
                return found
        return MASK

    def number(self, value: float) -> float:
        """What stands in for a number: another of as many digits, with a fraction where it has one."""
        if isinstance(value, int):
            made = (int(self._changed(str(abs(value)), attempt)) for attempt in range(_MOST_ATTEMPTS))
            found: float = next((number for number in made if number != abs(value)), abs(value) ^ 1)
            return -found if value < 0 else found
        found = float(f"{self._changed(str(int(abs(value)))[:15], 0)}.5") if math.isfinite(value) else 0.5
        return -found if value < 0 else found

    def _changed(self, text: str, attempt: int) -> str:
        from hashlib import shake_256

        noise = shake_256(self._key + bytes([attempt]) + text.encode("utf-8", "surrogatepass")).digest(len(text))
        hexadecimal = _HEXADECIMAL.fullmatch(text) and not text.isdecimal()
        letters = "abcdef" if hexadecimal else "abcdefghijklmnopqrstuvwxyz"
        changed, done = [], 0
        for escape in (*_ESCAPES.finditer(text), None):
            end = len(text) if escape is None else escape.start()
            for character, number in zip(text[done:end], noise[done:end], strict=True):
                if character.isdigit():
                    character = "0123456789"[number % 10]
                elif character.isalpha():
                    letter = letters[number % len(letters)]
                    character = letter.upper() if character.isupper() else letter
                changed.append(character)
            if escape is not None:
                changed.append(_changed_escape(escape[0], noise[end]))
                done = escape.end()
        if text.isdecimal() and changed[0] == "0":
            changed[0] = str(noise[0] % 9 + 1)  # a JSON number begins with no zero
        return "".join(changed)


def _changed_escape(escape: str, number: int) -> str:
    """An escape for another character in the same notation; as it is where it stands for punctuation, or is a line of a PEM."""
    digits = _CODE.search(escape)
    if digits is None:
        return escape
    code = int(digits[1] or digits[2] or digits[3], 10 if digits[3] else 16)
    if code < 128 and not chr(code).isalnum():
        return escape
    other = 97 + number % 26
    if digits[1]:
        return f"{escape[:-4]}{other:04x}"
    return f"%{other:02X}" if escape[0] == "%" else f"&#{other};"


_MOST_ATTEMPTS = 8
_WHOLE_NUMBER = lazy_pattern("[1-9][0-9]{5,39}")
_ESCAPES = lazy_pattern(
    r"\\+u[0-9a-fA-F]{4}|\\+[\"/bfnrt]?|%[0-9A-Fa-f]{2}|-----[A-Z ]+-----"
    r"|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|amp|lt|gt|quot|apos);"
)
_CODE = lazy_pattern(r"\A(?:\\+u([0-9a-fA-F]{4})|(?:%|&#[xX])([0-9a-fA-F]+);?|&#([0-9]+);)\Z")
_HEXADECIMAL = lazy_pattern(r"[0-9a-f]+|[0-9A-F]+")
_PREFIX = lazy_pattern(
    r"(?:(?:[sp]k-(?:proj|ant)-|[sprk]k[-_](?:live[-_]|test[-_])?"
    rf"|{'|'.join(token.prefix for token in TOKENS)}|eyJ|(?:Bearer|Basic|Token) +))"
)


def _is_word(name: str) -> bool:
    """Whether a name is a plain word: a password that is one would rename the members of everything that is shown."""
    return len(name) <= _LONGEST_WORD and name.isalpha()


def _united(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same places in order, overlapping ones as one."""
    united: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if united and start < united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((start, end))
    return united


_BREAKS = r"(?:[\r\n]|\\[rn])*"  # as they are, and as JSON writes them
_LINE_BREAK = lazy_pattern(r"[\r\n]|\\[rnt]")
# Blanks and quotes, and pieces that code joins: `"abc" + "def"`.
_CUTS = r"(?:\\?[\"'`]\s{0,20}[+.,]\s{0,20}\\?[\"'`]|\\?[\"'`]|\s|\\[rnt])*"
_NOT_COMPARED = dict.fromkeys(map(ord, " \t\r\n\f\v\"'`\\+.,"))


def _spellings(secret: str) -> set[str]:
    """The secret as it is and in the encodings of what it passes through, two of them over each other too, JSON four times."""
    from base64 import b64encode

    once = _encoded(secret)
    twice = {again for form in once for again in _encoded(form)} if len(once) > 1 else set[str]()
    data = secret.encode("utf-8", "surrogatepass")
    in_json = {secret}
    for _ in range(4):
        in_json |= {again for form in in_json for again in _in_json(form)}
    in_hex = {data.hex(separator) if separator else data.hex() for separator in ("", ":", " ", "-")}
    twice_base64 = set(_within_base64(b64encode(data).rstrip(b"=")))
    in_base32 = set(_within_base32(data))
    return {
        *once,
        *twice,
        *in_json,
        *in_base32,
        *map(str.lower, in_base32),
        *_within_base64(data),
        *twice_base64,
        *in_hex,
        *map(str.upper, in_hex),
    }


def _encoded(text: str) -> set[str]:
    """The text as it stands in plain text, in JSON within text, in HTML, and in a URL."""
    if text.isalnum() and text.isascii():
        return {text}
    from html import escape
    from urllib.parse import quote, quote_plus

    json_texts = _in_json(text)
    json_texts |= {form.translate(_ESCAPED_FOR_HTML) for form in json_texts}
    in_html = {escape(text, quote=quotes) for quotes in (True, False)}
    in_html |= {form.replace("&#x27;", single) for form in in_html for single in ("&#39;", "&apos;")}
    in_html |= {form.replace("&quot;", "&#34;") for form in in_html}
    in_html.add(escape(text).replace("&#x27;", "&#39;").translate(_ESCAPED_BY_MUSTACHE))
    in_url = {quote(text, safe=safe, errors="replace") for safe in ("", "/")} | {quote_plus(text, errors="replace")}
    in_url |= {_PERCENT.sub(lambda found: found[0].lower(), form) for form in in_url}
    return {text, *json_texts, *(form.replace("/", "\\/") for form in json_texts), *in_html, *in_url}


def _in_json(text: str) -> set[str]:
    return {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}


_ESCAPED_FOR_HTML = {ord(one): f"\\u{ord(one):04x}" for one in "&<>"}  # as Go's encoding/json does
_ESCAPED_BY_MUSTACHE = {ord(one): f"&#x{ord(one):02X};" for one in "/=`"}
_PERCENT = lazy_pattern("%[0-9A-F]{2}")


def _within_base64(data: bytes) -> Iterator[str]:
    """What of the base64 of any text that holds `data` depends on nothing else, for each place that it may begin at."""
    from base64 import b64encode

    for before in range(3):
        whole = b64encode(b"\0" * before + data).decode()
        inside = whole[-(-8 * before // 6) : 8 * (before + len(data)) // 6]
        yield inside
        yield inside.replace("+", "-").replace("/", "_")


def _within_base32(data: bytes) -> Iterator[str]:
    """The same of the base32."""
    from base64 import b32encode

    for before in range(5):
        whole = b32encode(b"\0" * before + data).decode()
        yield whole[-(-8 * before // 5) : 8 * (before + len(data)) // 5]


def _unused(key: str, taken: dict[str, object]) -> str:
    """`key`, or with a number when two secret keys would fall together and a member be lost."""
    if key not in taken:
        return key
    number = 2
    while f"{key}#{number}" in taken:
        number += 1
    return f"{key}#{number}"
