"""Suites of a client by handle (`s1`, `s2`, …), so that it sends a text once and afterwards only changes.

A handle belongs to one process of the MCP server and stays the same while its text changes. At most `MOST_SUITES` are retained,
and at most `MOST_CHARACTERS` of text: the least recently used ones are forgotten first.
"""

from __future__ import annotations

import re
from collections import OrderedDict

from mcptest_engine.core.errors import UsageError, did_you_mean

MOST_SUITES = 50
MOST_CHARACTERS = 20_000_000
MOST_TEXT = 2_000_000
_HANDLE = re.compile(r"\s*(s[0-9]{1,9})\s*")
_MOST_NAMED = 10


class Handles:
    """The suites of one client by handle."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._last = 0

    def add(self, text: str) -> str:
        """The handle of a text: its existing one, or a new one. Raises: UsageError for a text that is too long."""
        found = next((handle for handle, known in self._texts.items() if known == text), None)
        if found is None:
            self._last += 1
            found = f"s{self._last}"
        self.put(found, text)
        return found

    def put(self, handle: str, text: str) -> None:
        """Replace the text of a handle. Raises: UsageError for one that is too long."""
        if len(text) > MOST_TEXT:
            raise UsageError(f"the suite has {len(text):,} characters", hint="write it to a file and use trigger_run")
        self._texts[handle] = text
        self._texts.move_to_end(handle)
        while len(self._texts) > MOST_SUITES or sum(map(len, self._texts.values())) > MOST_CHARACTERS:
            self._texts.popitem(last=False)

    def get(self, handle: str) -> str:
        """The text of a handle. Raises: UsageError with the nearest one."""
        text = self._texts.get(handle)
        if text is None:
            known = list(reversed(self._texts))
            names = ", ".join(known[:_MOST_NAMED]) or "no suite yet"
            near = did_you_mean(handle, known)
            raise UsageError(
                f"there is no suite `{handle}` here: {f'{near}; ' if near else ''}this session has {names}",
                hint=f"the {MOST_SUITES} suites that were used last are retained, until the server ends: send the text again",
            )
        self._texts.move_to_end(handle)
        return text


def handle_of(given: str) -> str | None:
    """The handle in an argument; None for the text of a suite, or a path."""
    found = _HANDLE.fullmatch(given)
    return None if found is None else found[1]
