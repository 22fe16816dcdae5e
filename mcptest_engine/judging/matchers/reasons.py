"""Words that several matchers share: reasons are thunks, so nothing is worded before somebody reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.clipping import kind_of, show
from mcptest_engine.core.results import Mismatch
from mcptest_engine.core.targets import Absent, Spread
from mcptest_engine.judging.matchers import Unjudged

if TYPE_CHECKING:
    from mcptest_engine.judging.matchers import Reason


def because(message: str, pointer: str = "") -> Reason:
    """A reason whose words are known and cheap."""
    return lambda: Mismatch(message=message, pointer=pointer)


def wrong_kind(wanted: str, actual: object) -> Reason:
    """The value is absent, or of another kind; `wanted` such as "a string"."""

    def reason() -> Mismatch:
        if isinstance(actual, Absent):
            return absent(actual)
        return Mismatch(message=f"expected {wanted}, got {described(actual)}")

    return reason


def unjudged(message: str, *, timed_out: bool = False) -> Unjudged:
    """A reason for a value that could not be judged."""
    return Unjudged(because(message), timed_out=timed_out)


def unjudged_kind(wanted: str, actual: object) -> Unjudged:
    """The value is absent, or not of a kind that the matcher can judge."""
    return Unjudged(wrong_kind(wanted, actual))


def reworded(reason: Reason, told: Reason) -> Reason:
    """`told` in the place of a reason that says the same in fewer words."""
    return Unjudged(told, timed_out=reason.timed_out) if isinstance(reason, Unjudged) else told


def absent(value: Absent) -> Mismatch:
    """A mismatch because the assertion path led to no value."""
    return Mismatch(message=f"does not exist: {value.explanation}")


def absent_entry(values: object) -> Reason | None:
    """Why a list out of `[*]` that lacks entries cannot be judged as a whole; None for any other value."""
    if isinstance(values, Absent):
        return lambda: absent(values)
    if not isinstance(values, Spread):
        return None
    index, entry = values.first_absent
    return Unjudged(
        lambda: Mismatch(message=f"element [{index}] does not exist: {entry.explanation}", pointer=f"/{index}")
    )


def described(value: object) -> str:
    """Kind and value, such as "a number, `5`"; null is only "null"."""
    return "null" if value is None else f"{kind_of(value)}, `{show(value)}`"
