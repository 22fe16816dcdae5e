"""Which values probably differ at the next call: times, durations, random ids, today's date, and measurements of the machine.

Two calls within one second agree on such values and prove nothing. For some, the name alone decides (`uptime`, `pid`,
`request_id`); an `id` is doubted only where it was seen once.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import date

_CHANGING = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\b\d\d:\d\d:\d\d\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\b[0-9a-f]{16,}\b|\b1[5-9]\d{8}(?:\d{3})?\b",
    re.IGNORECASE,
)
_ULID = re.compile(r"\b0[0-9A-HJKMNP-TV-Z]{25}\b")
_CHANGING_NAME = re.compile(r"(?:_at|At|timestamp|time|uptime|duration|elapsed|nonce|cursor|_ms|Ms)$|^(?:uuid|now)$")
_OF_THE_PROCESS = frozenset(
    (
        "ts",
        "pid",
        "ppid",
        "process_id",
        "thread_id",
        "worker_id",
        "port",
        "listen_port",
        "server_port",
        "local_port",
        "hostname",
        "pod_name",
        "container_id",
        "instance_id",
        "boot_id",
        "session",
        "session_id",
        "request_id",
        "trace_id",
        "span_id",
        "correlation_id",
        "transaction_id",
        "execution_id",
        "invocation_id",
        "connection_id",
        "expires",
        "expiry",
        "expires_in",
        "ttl",
        "etag",
        "uptime_seconds",
        "uptime_s",
        "last_seen",
        "latency",
        "memory_usage",
        "rss",
        "cpu_usage",
        "load_average",
        "call_count",
        "call_number",
        "request_count",
        "requests_served",
        "counter",
        "today",
        "weekday",
        "day_of_week",
        "age_seconds",
    )
)
"""Names, in snake case, of values that are equal in two calls of one process and differ in the next one, or on another day."""
_AMOUNTS = frozenset(
    [
        "free",
        "available",
        "avail",
        "used",
        "usage",
        "idle",
        "busy",
        "load",
        "loads",
        "utilization",
        "utilisation",
        "temperature",
    ]
)
_LEVELS = frozenset(["load", "loadavg", "utilization", "utilisation", "idle", "iowait", "throughput", "rps"])
_MEASURES = frozenset(
    [
        "byte",
        "bytes",
        "kb",
        "mb",
        "gb",
        "tb",
        "kib",
        "mib",
        "gib",
        "percent",
        "pct",
        "memory",
        "mem",
        "heap",
        "disk",
        "swap",
        "space",
        "cpu",
        "core",
        "cores",
        "time",
        "times",
        "ticks",
        "celsius",
        "watts",
        "connections",
        "threads",
        "handles",
        "inodes",
    ]
)
_PARTS = frozenset(
    ["cpu", "cpus", "core", "cores", "memory", "mem", "disk", "disks", "swap", "heap", "battery", "network"]
)
_OF_A_PART = frozenset(
    [
        "model",
        "speed",
        "mhz",
        "ghz",
        "user",
        "nice",
        "sys",
        "system",
        "irq",
        "total",
        "size",
        "count",
        "vendor",
        "free",
        "used",
        "available",
        "percent",
        "cached",
        "buffers",
        "active",
        "inactive",
        "rx",
        "tx",
        "cores",
        "threads",
        "usage",
        "load",
    ]
)
"""Words for measurements and parts of a machine: equal in two calls within a second, and different elsewhere."""
_MEASURED_TEXT = re.compile(
    r"^\s*\d[\d.,]*\s*(?:[KMGT]i?B|bytes|%|°C|[GM]Hz)\s*$"
    r"|^\s*(?:Intel|AMD|Apple M\d|ARM)\b.*(?:CPU|Processor|Core|EPYC|Ryzen|M\d)",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[-\s]+")
_NAME_OF_AN_ID = "id"
_EPOCHS = ((1.5e9, 2e9), (1.5e12, 2e12), (1.5e15, 2e15), (1.5e18, 2e18))
"""Seconds since 1970, and thousandths, millionths and billionths, for the years from 2017 to 2033."""
_READ = 64 * 1024


def is_likely_to_change(
    value: object, name: str = "", *, seen_twice: bool = False, today: date | None = None, inside: Collection[str] = ()
) -> bool:
    """Whether `value`, a text or another scalar, under the member `name` is likely another one next time.

    `inside` are the names of what the member lies in. `seen_twice` says that two calls gave the same; `today` makes a text that
    holds its date (or that of the day before or after, for other time zones) one that changes.
    """
    if name and (_CHANGING_NAME.search(name) or _names_the_process(name)):
        return True
    if name == _NAME_OF_AN_ID and not seen_twice:
        return True
    if name and _is_measured(value, name, inside):
        return True
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return any(start <= value < end for start, end in _EPOCHS)
    if not isinstance(value, str):
        return False
    read = value[:_READ]
    if _CHANGING.search(read) is not None or _ULID.search(read) is not None:
        return True
    return today is not None and any(spelt in read for day in (-1, 0, 1) for spelt in _spellings(today, day))


def _is_measured(value: object, name: str, inside: Collection[str]) -> bool:
    """Whether a value is a measurement of a machine: `freeBytes`, `cores[0].idle`, `cpu.model`; a flag is not."""
    if value is None or isinstance(value, bool):
        return False
    words = _snake_parts(name)
    if words[-1:] and words[-1] in _LEVELS and not isinstance(value, str):
        return True
    if not _AMOUNTS.isdisjoint(words) and not _MEASURES.isdisjoint(words):
        return True
    around = {word for one in inside for word in _snake_parts(one)}
    if isinstance(value, str) and _MEASURED_TEXT.search(value[:200]):
        return not (_AMOUNTS | _PARTS | _MEASURES).isdisjoint((*words, *around))
    if not _PARTS.isdisjoint(words) and not _OF_A_PART.isdisjoint(words):
        return True
    return not _PARTS.isdisjoint(around) and not (_OF_A_PART | _AMOUNTS).isdisjoint(words)


def _snake_parts(name: str) -> list[str]:
    return [word for word in _CAMEL.sub("_", name).lower().split("_") if word]


def _names_the_process(name: str) -> bool:
    """Whether a name is about the process; `requestId`, `X-Request-Id` and `request_id` are one name."""
    snake = _CAMEL.sub("_", name).lower().replace("__", "_")
    return snake.removeprefix("x_") in _OF_THE_PROCESS


def _spellings(today: date, days: int) -> tuple[str, ...]:
    day = today + timedelta(days=days)
    months = (f"{day:%B}", f"{day:%b}")
    words = [
        spelt for month in months for spelt in (f"{month} {day.day}, ", f"{day.day} {month} ", f"{month} {day:%d} ")
    ]
    return (f"{day:%Y-%m-%d}", f"{day:%Y/%m/%d}", f"{day:%d/%m/%Y}", f"{day:%m/%d/%Y}", f"{day:%d.%m.%Y}", *words)
