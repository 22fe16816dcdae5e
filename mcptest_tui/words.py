"""Marks, key names and other short words, the same in every pane; plain ASCII where the locale has nothing better."""

from __future__ import annotations

import locale
import os
from typing import TYPE_CHECKING

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import LONG_WAIT_MS
from mcptest_tui.actions import by_id

if TYPE_CHECKING:
    from collections.abc import Mapping

OWN_KEYS: dict[str, tuple[str, ...]] = {}
"""The person's keymap by the ids of actions, which `Preferences.use_keymap` fills: messages name the keys that work."""


def is_ascii() -> bool:
    """Whether marks must be ASCII: MCPTEST_ASCII=1, or a locale that is not UTF-8."""
    if os.environ.get("MCPTEST_ASCII"):
        return True
    return "utf" not in locale.getpreferredencoding(False).lower()


_UNICODE = {
    "pass": "✓", "fail": "✗", "inconclusive": "!", "skip": "~", "new": "○", "stopped": "○", "deferred": "!",
    "queued": "·", "running": "●",
    "open": "▾", "closed": "▸", "cut": "…", "arrow": "→", "bar": "▌", "off": "○", "on": "●", "dot": "•", "split": "│",
}  # fmt: skip
_ASCII = {
    "pass": "+", "fail": "x", "inconclusive": "!", "skip": "~", "new": ".", "stopped": ".", "deferred": "!",
    "queued": ".", "running": "*",
    "open": "v", "closed": ">", "cut": "...", "arrow": "->", "bar": "|", "off": ".", "on": "*", "dot": "*", "split": "|",
}  # fmt: skip
PLAIN = is_ascii()
MARKS = _ASCII if PLAIN else _UNICODE

_KEYS = {
    "question_mark": "?", "colon": ":", "comma": ",", "full_stop": ".", "apostrophe": "'", "slash": "/", "plus": "+",
    "greater_than_sign": ">", "less_than_sign": "<", "equals_sign": "=", "left_square_bracket": "[",
    "right_square_bracket": "]", "exclamation_mark": "!", "at": "@", "minus": "-", "asterisk": "*", "percent_sign": "%",
    "escape": "esc", "space": "space", "ampersand": "&",
    "enter": "enter" if is_ascii() else "⏎", "pageup": "pgup", "pagedown": "pgdn", "delete": "del",
    "up": "up" if is_ascii() else "↑", "down": "down" if is_ascii() else "↓",
    "left": "left" if is_ascii() else "←", "right": "right" if is_ascii() else "→",
}  # fmt: skip


def mark(status: str) -> str:
    """The mark of a verdict or state: `✓` for "pass"."""
    return MARKS.get(status, " ")


def key_shown(key: str) -> str:
    """A key as a person reads it: `ctrl+p` as `^p`, `question_mark` as `?`."""
    *modifiers, last = key.split("+") if key != "+" else [key]
    last = _KEYS.get(last, last)
    if modifiers == ["ctrl"] and len(last) == 1:
        return f"^{last}"
    return "+".join((*modifiers, last))


def keys_shown(keys: tuple[str, ...] | list[str]) -> str:
    """Return several keys for one action as text: `r, ^r`."""
    return ", ".join(map(key_shown, keys))


def keys_now(name: str) -> tuple[str, ...]:
    """The keys of an action as they are now: the person's own, or ours."""
    return OWN_KEYS.get(name) or by_id()[name][1].keys


def key_of(name: str, *, typing: bool = False) -> str:
    """The key of an action for a message, the person's own or ours; "its name in the palette" where it has none.

    While a person types in a text, the first key that is no character.
    """
    keys = keys_now(name)
    wanted = [key for key in keys if not (typing and len(key_shown(key)) == 1)]
    return key_shown((wanted or keys)[0]) if keys else f'"{by_id()[name][1].title}" in the palette'


def duration_shown(seconds: float) -> str:
    """Return a duration for people: `0.4 s`, `12 s`, `2:05`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 60 else f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def strength_shown(strength: str, mutation_score: float | None) -> str:
    """`value`, or `value 83 %` with the share of wrong answers that a test noticed; "" where it is not known."""
    return strength if mutation_score is None else f"{strength} {int(mutation_score * 100 + 1e-9)} %"


def took_shown(duration_ms: float) -> str:
    """What a test or a call took: `<1 ms`, `12 ms`, `3.4 s`, `2:05`."""
    if duration_ms < 999.5:
        return f"{duration_ms:.0f} ms" if duration_ms >= 1 else "<1 ms"
    return f"{duration_ms / 1000:.1f} s" if duration_ms < 59_950 else duration_shown(duration_ms / 1000)


def took_text(duration_ms: float, behind: Mapping[str, object] | None) -> str:
    """What a test took, how much of that it waited for an earlier call, and the rest, which is the time in the list of tests:
    `919 ms, 906 ms of it waiting for stock_report, 13 ms its own`. A short wait is not worth words: then it is that rest alone.
    """
    took, waited = took_shown(duration_ms), waited_ms(behind)
    if behind is None or waited < LONG_WAIT_MS:
        return took_shown(duration_ms - waited)
    called = one_line(str(behind.get("tool") or behind.get("method") or "another call"), 60)
    return f"{took}, {took_shown(waited)} of it waiting for {called}, {took_shown(duration_ms - waited)} its own"


def waited_ms(behind: Mapping[str, object] | None) -> float:
    """How much of its duration a test waited for an earlier call; `behind` is that of its result."""
    waited = None if behind is None else behind.get("ms")
    return float(waited) if isinstance(waited, (int, float)) else 0.0
