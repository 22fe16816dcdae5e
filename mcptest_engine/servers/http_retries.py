"""Decides whether a request is repeated: only after 429 or 503 with `Retry-After`, and while its call has time.

Every other failure is the server's answer, and the test sees it. A 429 says that the request was not processed. A 503 may come
from a gateway while the server works on it, so after a 503 a tool that may change something is not called again. Source: RFC
9110, 9.2.2 (what may be repeated), 10.2.3 (Retry-After), 15.6.4 (503); RFC 6585, 4 (429).
"""

from __future__ import annotations

from time import monotonic, time
from typing import TYPE_CHECKING

from mcptest_engine.servers.failures import duration

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx2

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.servers.calls import Call

MAX_RETRIES = 3

_UNAVAILABLE = 503
_BUSY = frozenset({429, _UNAVAILABLE})
_MOST_DIGITS = 9
_FOR_EVER = 1e9


class Retries:
    """The retries of one request.

    `kept` is what `http.retries` stores: {"status", "headers", "body", "waited_ms"} of each answer that asked for one.
    `refusal` says why the last was not done, as the end of a sentence; "" when none was asked for. `danger_of_repeating` says
    why `call` may not be sent twice, "" when it may.
    """

    def __init__(
        self,
        call: Call | None,
        default_seconds: float,
        danger_of_repeating: Callable[[Call], Awaitable[str]],
    ) -> None:
        self.kept: list[JsonDict] = []
        self.refusal = ""
        self._call = call
        self._danger_of_repeating = danger_of_repeating
        self._deadline = monotonic() + default_seconds

    async def wait_before_next(self, response: httpx2.Response, body: str, *, resumes: bool) -> float | None:
        """The seconds to wait before the request is sent again; None when it is not. `resumes`: it only asks for the rest of an
        answer.
        """
        self.refusal = ""
        seconds = None
        if response.status_code in _BUSY:
            seconds = retry_after_seconds(response.headers.get("retry-after", ""), time())
        if seconds is None:
            return None
        left = (self._deadline if self._call is None else self._call.deadline) - monotonic()
        if len(self.kept) >= MAX_RETRIES:
            self.refusal = f"; mcptest asked {MAX_RETRIES + 1} times, each time after the requested pause"
        elif seconds >= left:
            whose = "there are" if self._call is None else "the call has"
            self.refusal = f"; it asks to wait {duration(seconds)}, and {whose} {_time_left(left)}"
        elif (
            self._call is not None
            and not resumes
            and response.status_code == _UNAVAILABLE
            and (danger := await self._danger_of_repeating(self._call))
        ):
            self.refusal = f"; it asks to call again in {duration(seconds)}, which is not done: {danger}"
        else:
            self.kept.append(
                {
                    "status": response.status_code,
                    "headers": dict(response.headers),
                    "body": body,
                    "waited_ms": round(seconds * 1000),
                }
            )
            return seconds
        return None


def retry_after_seconds(retry_after: str, now: float) -> float | None:
    """The seconds that `Retry-After` asks for, given the time in seconds since the epoch; None when it cannot be read."""
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


def _time_left(seconds: float) -> str:
    """The time left, in whole seconds above one: nobody wants "29.9987 s"."""
    return duration(float(round(seconds))) if seconds >= 1 else duration(max(round(seconds, 3), 0.0))
