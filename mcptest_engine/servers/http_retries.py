"""Whether a request is repeated: only after 429 or 503 with `Retry-After`, only a few times, only while its call has time.

Everything else that goes wrong is what the server did, and the test sees it.
Source: RFC 9110, 10.2.3 (Retry-After), 15.6.4 (503); RFC 6585, 4 (429).
"""

from __future__ import annotations

from time import monotonic, time
from typing import TYPE_CHECKING, Any

from mcptest_engine.servers.failures import duration

if TYPE_CHECKING:
    import httpx2

    from mcptest_engine.servers.calls import Call

MAX_RETRIES = 3

_BUSY = frozenset({429, 503})
_MOST_DIGITS = 9
_FOR_EVER = 1e9


class Retries:
    """The repetitions of one request.

    `kept` is what `http.retries` holds: {"status", "headers", "body", "waited_ms"} of each answer that asked for one.
    `refusal` says, as the end of a sentence, why the last was not done; "" when it did not ask.
    """

    def __init__(self, call: Call | None, default_seconds: float) -> None:
        self.kept: list[dict[str, Any]] = []
        self.refusal = ""
        self._call = call
        self._deadline = monotonic() + default_seconds

    def wait_before_next(self, response: httpx2.Response, body: str) -> float | None:
        """The seconds to wait before the request is sent again; None when it is not."""
        self.refusal = ""
        asked = None
        if response.status_code in _BUSY:
            asked = seconds_asked(response.headers.get("retry-after", ""), time())
        if asked is None:
            return None
        left = (self._deadline if self._call is None else self._call.deadline) - monotonic()
        if len(self.kept) >= MAX_RETRIES:
            self.refusal = f"; it was asked {MAX_RETRIES + 1} times, each time after the wait it asked for"
        elif asked >= left:
            whose = "there are" if self._call is None else "the call has"
            self.refusal = f"; it asks to wait {duration(asked)}, and {whose} {_left(left)}"
        else:
            self.kept.append(
                {
                    "status": response.status_code,
                    "headers": dict(response.headers),
                    "body": body,
                    "waited_ms": round(asked * 1000),
                }
            )
            return asked
        return None


def seconds_asked(retry_after: str, now: float) -> float | None:
    """What a `Retry-After` header asks for, given the time of day in seconds since the epoch; None when it says nothing."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text) if len(text) <= _MOST_DIGITS else _FOR_EVER
    return _until(text, now) if text else None


def _until(date: str, now: float) -> float | None:
    from email.utils import parsedate_to_datetime  # slow to import, and rarely needed

    try:
        return float(round(max(0.0, parsedate_to_datetime(date).timestamp() - now), 3))
    except (ValueError, OverflowError):
        return None


def _left(seconds: float) -> str:
    """A time that runs, in whole seconds where it has any: nobody wants "29.9987 s"."""
    return duration(float(round(seconds))) if seconds >= 1 else duration(max(round(seconds, 3), 0.0))
