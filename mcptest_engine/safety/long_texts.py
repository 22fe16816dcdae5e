"""Which parts of a long text are read closely: a server may send a million characters, and a user waits.

A first look at single words goes over the whole text, up to `LOOKED_OVER` in all. The most suspicious blocks are then read, and
so are the beginning and the end.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from mcptest_engine.safety.learned import first_look

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG = 4_000  # a shorter text is always read as a whole
MOST_OF_A_TEXT = 20_000
MOST_OF_A_CATALOG = 100_000  # of long texts together; then `LEAST_OF_A_TEXT` of each
LEAST_OF_A_TEXT = 2_000
LOOKED_OVER = 2_000_000  # of long texts together; then the first look takes only every nth block
_BLOCK = 500
_FEWEST_BLOCKS = 40
_MOST_PLACES = 4
_HIDDEN_OR_RUN = re.compile(r"[\u200b-\u200f\u202a-\u202e\u2060-\u2064\U000e0000-\U000e007f]|[A-Za-z0-9+/_-]{28}")


class Reading:
    """The parts to read of the texts of one catalog, within a limit for all its long texts together."""

    def __init__(self) -> None:
        self._left = MOST_OF_A_CATALOG
        self._unseen = LOOKED_OVER

    def parts(self, text: str) -> tuple[str, ...]:
        """The parts of `text` to read, in order: all of it, or its beginning, its end and the most suspicious blocks."""
        if len(text) <= LONG:
            return (text,)
        most = max(LEAST_OF_A_TEXT, min(MOST_OF_A_TEXT, self._left))
        self._left -= min(len(text), most)
        return (text,) if len(text) <= most else tuple(self._choose_parts(text, most))

    def _choose_parts(self, text: str, most: int) -> Iterator[str]:
        head, tail = most * 3 // 10, len(text) - most * 2 // 10
        step = max(1, -(-(tail - head) // max(self._unseen, _FEWEST_BLOCKS * _BLOCK)))
        self._unseen -= (tail - head) // step
        blocks = range(head, tail, _BLOCK * step)
        ranked = sorted(((first_look(text[at : at + _BLOCK]), at) for at in blocks), reverse=True)
        places = [at for _, at in ranked[: (most // 2) // (2 * _BLOCK)]]
        if step == 1:
            places += [found.start() for found in islice(_HIDDEN_OR_RUN.finditer(text, head, tail), _MOST_PLACES)]
        spans = [(0, head), *((max(0, at - _BLOCK // 2), at + _BLOCK * 3 // 2) for at in sorted(places))]
        spans.append((tail, len(text)))
        low, high = spans[0]
        for start, end in spans[1:]:
            if start > high:
                yield text[low:high]
                low = start
            high = max(high, end)
        yield text[low:high]
