"""Texts of the formats that JSON Schema and OpenAPI name, short and long ones."""

from __future__ import annotations

_TEXTS: dict[str, tuple[str, ...]] = {
    "date": ("2025-01-01", "2025-12-31"),
    "date-time": ("2025-01-01T12:00:00Z", "2025-12-31T23:59:59Z"),
    "time": ("12:00:00Z", "23:59:59Z"),
    "duration": ("PT1H", "P1D"),
    "email": ("user@example.com", "a@b.c"),
    "idn-email": ("user@example.com", "a@b.c"),
    "hostname": ("example.com", "a"),
    "idn-hostname": ("example.com", "a"),
    "ipv4": ("127.0.0.1", "192.0.2.1"),
    "ipv6": ("::1", "2001:db8::1"),
    "uri": ("https://example.com/", "a:"),
    "uri-reference": ("https://example.com/", "/", ""),
    "iri": ("https://example.com/", "a:"),
    "iri-reference": ("https://example.com/", "/", ""),
    "url": ("https://example.com/",),
    "uri-template": ("https://example.com/{id}", "{id}"),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174001"),
    "json-pointer": ("/a", ""),
    "relative-json-pointer": ("0", "1/a"),
    "regex": (".", "a"),
    "byte": ("aGVsbG8=",),
    "base64": ("aGVsbG8=",),
    "binary": ("hello",),
    "color": ("#ffffff",),
    "phone": ("+15550100",),
    "path": (".",),
    "int32": ("1",),
    "int64": ("1",),
}


def format_texts(name: str, nth: int = 0) -> list[str]:
    """Texts of a format, the usual one first; with `nth` above 0 also further ones, each `nth` another. Empty: unknown."""
    texts = list(_TEXTS.get(name, ()))
    if nth and texts:
        texts = [*_another(name, nth), *texts]
    return texts


def longer_text(name: str, length: int) -> str | None:
    """A text of the format at least about this long, or None where the format does not stretch."""
    match name:
        case "email" | "idn-email":
            return f"user@{_labels(length - 5)}"
        case "hostname" | "idn-hostname":
            return _labels(length)
        case "uri" | "iri" | "uri-reference" | "iri-reference" | "url" | "uri-template":
            return "https://example.com/".ljust(length, "a")
        case "date-time":
            return f"2025-01-01T12:00:00.{'0' * max(1, length - 21)}Z"
        case "time":
            return f"12:00:00.{'0' * max(1, length - 10)}Z"
        case "json-pointer":
            return "/".ljust(length, "a")
        case "relative-json-pointer":
            return "0/".ljust(length, "a")
        case "regex":
            return "a" * length
        case "duration":
            return f"P{'1' * max(1, length - 2)}D"
    return None


def _labels(length: int) -> str:
    """A host name of at least this length, in labels of at most 63 characters."""
    text = "example.com"
    while len(text) < length:
        text = f"{'a' * min(63, max(1, length - len(text) - 1))}.{text}"
    return text


def _another(name: str, nth: int) -> list[str]:
    match name:
        case "date":
            return [f"{2025 + nth // 336:04}-{nth // 28 % 12 + 1:02}-{nth % 28 + 1:02}"]
        case "date-time":
            return [f"2025-01-01T{nth // 3600 % 24:02}:{nth // 60 % 60:02}:{nth % 60:02}Z"]
        case "time":
            return [f"{nth // 3600 % 24:02}:{nth // 60 % 60:02}:{nth % 60:02}Z"]
        case "duration":
            return [f"PT{nth + 1}H"]
        case "email" | "idn-email":
            return [f"user{nth}@example.com"]
        case "hostname" | "idn-hostname":
            return [f"host{nth}.example.com"]
        case "ipv4":
            return [f"127.0.{nth // 256 % 256}.{nth % 256}"]
        case "ipv6":
            return [f"2001:db8::{nth % 65536:x}"]
        case "uri" | "uri-reference" | "iri" | "iri-reference" | "url" | "uri-template":
            return [f"https://example.com/{nth}"]
        case "uuid":
            return [f"123e4567-e89b-12d3-a456-{426614174000 + nth}"]
        case "json-pointer":
            return [f"/{nth}"]
        case "relative-json-pointer":
            return [f"{nth}"]
        case "regex":
            return ["a" * (nth % 1000 + 1)]
    return []
