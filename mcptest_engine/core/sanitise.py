"""Server text made safe to show: what a terminal or a CI system would obey, or a reader could not see, becomes visible.

Replaced are C0 (but tab and newline), DEL, C1, bidirectional controls, lone surrogates, line and paragraph separators,
and characters that show as nothing. Joiners and variation selectors are kept where writing systems and emoji need them:
between two characters outside ASCII, and one selector at a time. The surprising thing is how much of this is about
clean text: nearly every text is clean, so its price is what counts, under 1 µs for a line and 2 ms a megabyte.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcptest_engine.core.lazy_patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Callable

_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_OBEYED = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls
    "\u2028\u2029"  # ends of lines and paragraphs
)
_ALWAYS = (
    f"{_OBEYED}"
    "\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\U0001d173-\U0001d17a"  # shown as nothing
    "\U000e0000-\U000e00ff"  # tags: a whole hidden sentence fits into them
    "\ud800-\udfff"  # lone surrogates cannot be written as UTF-8
)
_SUSPECT = lazy_pattern(f"[{_ALWAYS}{_JOINERS}{_SELECTORS}]")  # one set: many times faster to search than _UNSAFE
_UNSAFE = lazy_pattern(
    rf"[{_ALWAYS}]|(?<![^\x00-\x7f])[{_JOINERS}]|[{_JOINERS}](?![^\x00-\x7f])|(?<=[{_SELECTORS}])[{_SELECTORS}]"
)
# Azure's agent and TeamCity obey "##name[" anywhere in a line, GitHub's runner "##[" likewise and "::name" where a line begins:
# after any blank of Unicode's, which it trims, and after what its comparison of texts may pass over.
CI_COMMAND_IN_LINE = lazy_pattern(r"##(?=[A-Za-z.]*\[)")
_PASSED_OVER = rf"[\u00ad\u034f{_JOINERS}{_SELECTORS}]"
_CI_COMMAND = lazy_pattern(
    rf"##(?=[A-Za-z.]*\[)|^(?:[^\S\n]|{_PASSED_OVER})*:{_PASSED_OVER}*:(?={_PASSED_OVER}*[A-Za-z])", re.MULTILINE
)
_CONTROLS = tuple(chr(code) for code in (*range(32), 127) if chr(code) not in "\t\n")
_CONTROL_MARKS = bytes(chr(code) in _CONTROLS for code in range(256))
_LONG = 4096


def sanitise(text: str) -> str:
    r"""`text` with every unsafe character as a stand-in: ESC as `␛`, DEL as `␡`, others as `\u202e` or `\U000e0041`.

    What a CI system would obey gets a blank: `##vso[` is `# #vso[`, a line's `::error` is `: :error`.
    Tab and newline stay. Returns `text` itself when there is nothing to replace; never raises, and is idempotent.
    """
    if not _is_safe(text):
        text = _UNSAFE.sub(_stand_in, text)
    if "##" in text or "::" in text or (":" in text and not text.isascii()):
        return _CI_COMMAND.sub(lambda found: f"{found[0][:-1]} {found[0][-1]}", text)
    return text


def replace_unsafe(text: str, stand_in: Callable[[str], str]) -> str:
    """`text` with `stand_in(character)` for every unsafe character; `text` itself when there is none."""
    if _is_safe(text):
        return text
    return _UNSAFE.sub(lambda found: stand_in(found[0]), text)


def first_control(text: str) -> int | None:
    """The index of the first character with which a text could forge a line of a report, tab and newline included."""
    found = None if text.isprintable() else re.search(f"[\t\n{_OBEYED}]", text)
    return None if found is None else found.start()


def one_line(text: str, limit: int | None = None) -> str:
    r"""`text` sanitised and on one line, newline and tab as `\n` and `\t`; beyond `limit` characters it ends in "…"."""
    if limit is not None and len(text) > limit:
        text = text[: limit + 1]  # every stand-in is at least as long as what it stands for
    line = sanitise(text).replace("\n", "\\n").replace("\t", "\\t")
    if limit is None or len(line) <= limit:
        return line
    return line[: max(limit - 1, 0)] + "…"


def _is_safe(text: str) -> bool:
    if not text.isascii():
        return _SUSPECT.search(text) is None or _UNSAFE.search(text) is None
    # For ASCII both ways beat a regular expression: few look-ups on a short text, no copy of a long one.
    if len(text) < _LONG:
        return text.isprintable() or b"\x01" not in text.encode("ascii").translate(_CONTROL_MARKS)
    return not any(map(text.__contains__, _CONTROLS))


def _stand_in(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 32:
        return chr(0x2400 + code)
    if code == 127:
        return "\u2421"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
