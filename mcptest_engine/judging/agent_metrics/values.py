"""What the measures of an agent test look at, and what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

DIGITS = 6


class Called(NamedTuple):
    """A call that a model asked for, of the tool's own name; `args` is None where they were no JSON object.

    `distractor`: the tool was offered to see whether the model falls for it.
    """

    name: str
    args: Mapping[str, Any] | None = None
    server: str | None = None
    distractor: bool = False


class Seen(NamedTuple):
    """What a conversation came to: its calls in order, the tokens and cost of the model, the size of the offered tools.

    `before` are the runs of the same test that were measured already, this one not among them.
    """

    calls: tuple[Called, ...]
    tokens: int = 0
    cost_usd: float | None = None
    surface_tokens: int = 0
    runs: int = 1
    before: tuple[bool, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(call.name for call in self.calls)


class Measured(NamedTuple):
    """What a block says: its members for targets, the number that reports show under `score`, and why it failed, or None."""

    members: Mapping[str, Any]
    score: tuple[str, float]
    failure: str | None = None


def rounded(value: float) -> float:
    """A share as records keep it."""
    return round(value, DIGITS)


def share(part: float, whole: float, *, empty: float = 1.0) -> float:
    """`part` of `whole`; `empty` where there is nothing to have a share of."""
    return rounded(part / whole) if whole else empty


def f1_of(precision: float, recall: float) -> float:
    """The harmonic mean of the two."""
    return rounded(2 * precision * recall / (precision + recall)) if precision + recall else 0.0


def listed(names: tuple[str, ...] | list[str], most: int = 6) -> str:
    """`a`, `b` and 3 more."""
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
