"""The forms that some texts of a suite have: a URL, a path of one, a duration."""

from __future__ import annotations

from mcptest_engine.core.durations import DURATION_PATTERN

PATH_PATTERN = "^/"
URL_PATTERN = "^(https?://)"
DURATION_OR_URL_PATTERN = f"^({DURATION_PATTERN.removeprefix('^')}|https?://)"


def is_duration(pattern: str) -> bool:
    """Whether a text of this form may be a duration."""
    return "(ms|" in pattern


def is_url(pattern: str) -> bool:
    """Whether a text of this form may be a URL."""
    return "https?" in pattern
