"""Whether a request is repeated: only after 429 or 503 with `Retry-After`, only a few times, only while its call has time.

Everything else that goes wrong is what the server did, and the test sees it. A 429 says that the request was not taken. A 503
may come from a gateway whose server is at work already, so that after one no tool is called again that may change something.
Source: RFC 9110, 9.2.2 (what may be repeated), 10.2.3 (Retry-After), 15.6.4 (503); RFC 6585, 4 (429).
"""

from __future__ import annotations

from time import monotonic, time
from typing import TYPE_CHECKING, Any

from mcptest_engine.servers.failures import duration

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx2

    from mcptest_engine.servers.calls import Call

MAX_RETRIES = 3

_UNAVAILABLE = 503
_BUSY = frozenset({429, _UNAVAILABLE})
_MOST_DIGITS = 9
_FOR_EVER = 1e9


class Retries:
    """The repetitions of one request.

    `kept` is what `http.retries` holds: {"status", "headers", "body", "waited_ms"} of each answer that asked for one.
    `refusal` says, as the end of a sentence, why the last was not done; "" when it did not ask. `danger_of_repeating` says why
    `call` may not be sent twice where nothing says that it was not taken, "" when it may.
    """

    def __init__(
        self,
        call: Call | None,
        default_seconds: float,
        danger_of_repeating: Callable[[Call], Awaitable[str]],
    ) -> None:
        self.kept: list[dict[str, Any]] = []
        self.refusal = ""
        self._call = call
        self._danger_of_repeating = danger_of_repeating
        self._deadline = monotonic() + default_seconds

    async def wait_before_next(self, response: httpx2.Response, body: str, *, resumes: bool) -> float | None:
        """The seconds to wait before the request is sent again; None when it is not.

        One that `resumes` only asks for the rest of an answer.
        """
        self.refusal = ""
        asked = None
        if response.status_code in _BUSY:
            asked = retry_after_seconds(response.headers.get("retry-after", ""), time())
        if asked is None:
            return None
        left = (self._deadline if self._call is None else self._call.deadline) - monotonic()
        if len(self.kept) >= MAX_RETRIES:
            self.refusal = f"; mcptest asked {MAX_RETRIES + 1} times, each time after the requested pause"
        elif asked >= left:
            whose = "there are" if self._call is None else "the call has"
            self.refusal = f"; it asks to wait {duration(asked)}, and {whose} {_left(left)}"
        elif (
            self._call is not None
            and not resumes
            and response.status_code == _UNAVAILABLE
            and (danger := await self._danger_of_repeating(self._call))
        ):
            self.refusal = f"; it asks to call again in {duration(asked)}, which is not done: {danger}"
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


def retry_after_seconds(retry_after: str, now: float) -> float | None:
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
