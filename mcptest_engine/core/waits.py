"""How long a call waited for an earlier one of its session: most servers answer one call after the other."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcptest_engine.core.json_types import JsonDict

_KEPT = 256
_LEAST_SECONDS = 0.001


class Waits:
    """The calls of one session that were answered, with rising ids and rising times of their answers.

    The last one before a call is what that call was behind. Each has the slowest call of its own wait with it, which is the one
    that the others were behind.
    """

    def __init__(self) -> None:
        self._answered: deque[tuple[int, float, JsonDict, float, JsonDict]] = deque(maxlen=_KEPT)

    def note_answered(self, call_id: int, sent_at: float, called: JsonDict, at: float) -> JsonDict | None:
        """An answer came, `at` in seconds. Returns what its call was behind: {"ms": 906.0} and the `called` of the slow call.

        One that was sent after this call and answered before it is dropped: whatever it was before, this answer is later.
        """
        answered = self._answered
        while answered and answered[-1][0] > call_id:
            answered.pop()
        behind, slow_at, slow = None, at, called
        if answered and (waited := answered[-1][1] - sent_at) >= _LEAST_SECONDS:
            _, before, earlier, earlier_slow_at, earlier_slow = answered[-1]
            if earlier_slow_at > sent_at:
                before, earlier = earlier_slow_at, earlier_slow
            behind = {"ms": round(waited * 1000, 3), **earlier}
            if before - sent_at > at - sent_at - waited:
                slow_at, slow = before, earlier
        answered.append((call_id, at, called, slow_at, slow))
        return behind
