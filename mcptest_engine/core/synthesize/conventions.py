"""Free text that a tool can use: chosen by the argument's name and description, harmless, and always the same.

All of it is a guess and is reported as one. Nothing here names a thing that could exist on somebody's machine, but for the
current directory.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.core.json_types import JsonDict

_READ = 2_000  # characters of a description
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_EXAMPLE = re.compile(
    r"""(?:e\.g\.?|for example|for instance|such as|example:|examples:)[,:]?\s*["'`]([\w./:+@-][\w./:+@ -]{0,39})["'`]""",
    re.IGNORECASE,
)
_BARE_EXAMPLE = re.compile(
    r"(?:\be\.g\.?|\bfor example|\bfor instance|\bexamples?:)[,:]?\s*([\w./:+@-]*\w)(?=\s*(?:[,;)\]]|\.?$|\.\s| or ))",
    re.IGNORECASE | re.MULTILINE,
)
"""An example without quotes: one word, at whose end the example ends too."""
_NUMBER_EXAMPLE = re.compile(
    r"(?:\b(?:e\.g\.?|for example|for instance|such as|examples?:|defaults?(?: is| to|:)?))[,:]?\s*[`(]?"
    r"(-?\d+(?:\.\d+)?)(?![\w.-]*\w)",
    re.IGNORECASE,
)
_CHOICES = re.compile(
    r"""\b(?:one of|either|possible values(?: are)?|allowed values(?: are)?)\s*(?::\s*["'`]?|["'`])([\w./+-]{0,39}\w)""",
    re.IGNORECASE,
)

_QUOTED = re.compile(r"""["'`]([\w./:+-]{1,40})["'`]""")
_KINDS = frozenset(
    [
        "type",
        "mode",
        "kind",
        "status",
        "state",
        "format",
        "level",
        "order",
        "sort",
        "direction",
        "category",
        "action",
        "operation",
        "method",
        "unit",
        "units",
    ]
)
_SHAPES = tuple(
    (re.compile(rf"(?<![A-Za-z]){shape}(?![A-Za-z])", re.IGNORECASE), text)
    for shape, text in (
        ("YYYY-MM-DD[T ]HH", "2025-01-01T12:00:00Z"),
        ("YYYY-MM-DD", "2025-01-01"),
        ("YYYY-MM", "2025-01"),
        ("(?:ISO(?:[ -]?8601)?|RFC ?3339) date(?! ?-?time)", "2025-01-01"),
        ("(?:ISO[ -]?8601|RFC ?3339|ISO (?:date ?-?time|timestamp))", "2025-01-01T12:00:00Z"),
        ("HH:MM:SS", "12:00:00"),
        ("HH:MM", "12:00"),
        ("cron expression", "0 0 * * *"),
        ("(?:IANA|time ?zone)", "UTC"),
        ("base ?64(?:-encoded)?", "aGVsbG8="),
        ("(?:SQL (?:SELECT|query|statement)|SELECT (?:SQL )?(?:query|statement))", "SELECT 1"),
        ("(?:JSON (?:string|object|text)|stringified JSON|JSON-encoded)", "{}"),
        ("UUID", "123e4567-e89b-12d3-a456-426614174000"),
    )
)
_TOLD = tuple(
    (re.compile(rf"(?<![A-Za-z]){shape}(?![A-Za-z])", re.IGNORECASE), text)
    for shape, text in (
        ("(?:URL|URI|link)", "https://example.com/"),
        ("e-?mail(?: address)?", "user@example.com"),
        ("(?:path|directory|folder)", "."),
        ("(?:ID|identifier)", "1"),
        ("(?:branch|commit|revision|ref)", "HEAD"),
    )
)

_TEXTS: tuple[tuple[frozenset[str], str], ...] = tuple(
    (frozenset(words.split()), text)
    for words, text in (
        ("url uri href link website webpage endpoint homepage", "https://example.com/"),
        ("email mail", "user@example.com"),
        ("timezone tz", "UTC"),
        ("datetime timestamp since until before after", "2025-01-01T12:00:00Z"),
        ("date day", "2025-01-01"),
        ("time", "12:00"),
        ("month", "2025-01"),
        ("year", "2025"),
        ("domain hostname host", "example.com"),
        ("ip", "127.0.0.1"),
        ("phone", "+15550100"),
        ("language lang locale", "en"),
        ("country", "US"),
        ("currency", "USD"),
        ("city location place address", "London"),
        ("uuid guid", "123e4567-e89b-12d3-a456-426614174000"),
        ("glob", "*"),
        ("regex regexp", "."),
        ("sql", "SELECT 1"),
        ("color colour", "#ffffff"),
        ("mime mimetype", "text/plain"),
        ("branch", "main"),
        ("revision ref commit", "HEAD"),
        ("version", "1.0.0"),
        ("path dir directory folder file filename filepath dirname root cwd", "."),
        ("id identifier key", "1"),
        ("query q search keyword term prompt question", "hello"),
        ("symbol ticker", "TEST"),
        ("code script expression", "1"),
        ("selector", "body"),
        ("name title label repo repository project", "test"),
    )
)
_NUMBERS: tuple[tuple[frozenset[str], float], ...] = tuple(
    (frozenset(words.split()), number)
    for words, number in (
        ("year", 2025),
        ("month day week", 1),
        ("port", 8080),
        ("lat latitude", 51.5),
        ("lon lng long longitude", 0),
        ("timestamp", 1735732800),
    )
)


def likely_texts(name: str, schemas: Iterable[JsonDict]) -> list[str]:
    """Texts for an argument of this name, the likeliest first."""
    told = [schema["description"][:_READ] for schema in schemas if isinstance(schema.get("description"), str)]
    texts = [found[1].strip() for text in told if (found := _EXAMPLE.search(text))]
    texts += [found[1] for text in told if (found := _BARE_EXAMPLE.search(text))]
    texts += [found[1] for text in told if (found := _CHOICES.search(text))]
    texts += [text for shape, text in _SHAPES if any(shape.search(words) for words in told)]
    words = _split_name(name)
    if words and words[-1] in _KINDS:  # a `branch_type` is no branch; its description may name the choices
        texts += [found[1] for text in told if (found := _QUOTED.search(text))]
        words = []
    for word in reversed(words):  # the last word is what a thing is: a `file_id` is an id, an `id_file` a file
        texts += [text for known, text in _TEXTS if not known.isdisjoint((word, word.removesuffix("s")))]
    texts += [text for shape, text in _TOLD if any(shape.search(words) for words in told)]
    return [*texts, "hello", "test"]


def likely_numbers(name: str, schemas: Iterable[JsonDict] = ()) -> list[float]:
    """Numbers for an argument of this name, the likeliest first."""
    told = [schema["description"][:_READ] for schema in schemas if isinstance(schema.get("description"), str)]
    numbers = [float(found[1]) for text in told if (found := _NUMBER_EXAMPLE.search(text))]
    whole = [int(number) if number.is_integer() else number for number in numbers]
    return whole + [number for word in reversed(_split_name(name)) for known, number in _NUMBERS if word in known]


def _split_name(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name[:200])]
