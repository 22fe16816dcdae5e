"""Who sits on a jury, and whether it can come to a verdict at all. Pure: asks nobody.

A juror whose model cannot be asked keeps its seat and has no vote, so that a missing key never makes a verdict easier to reach.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from mcptest_engine.judging.providers.values import NO_PROVIDER

if TYPE_CHECKING:
    from collections.abc import Sequence


class Jury(Protocol):
    """Who grades: `models`, each once, or `model` (None for whichever there is) as often as `jury` says.

    `guarded`: each of them in both orders.
    """

    @property
    def model(self) -> str | None: ...
    @property
    def jury(self) -> int: ...
    @property
    def guarded(self) -> bool: ...
    @property
    def models(self) -> tuple[str, ...]: ...


class Providers(Protocol):
    """Which models can be asked."""

    def chosen(self, model: str | None, *, judging: bool) -> str | None: ...
    def missing(self, model: str | None) -> str | None: ...


class Seat(NamedTuple):
    """One juror: its model, or in `missing` why that cannot be asked."""

    model: str
    missing: str | None = None


def seats_of(jury: Jury, providers: Providers) -> tuple[Seat, ...]:
    """The jurors in their order."""
    if jury.models:
        return tuple(seat_of(model, providers, judging=True) for model in jury.models)
    return (seat_of(jury.model, providers, judging=True),) * max(jury.jury, 1)


def why_no_verdict(seats: Sequence[Seat]) -> str | None:
    """Why the jury can come to no verdict, since too few of its models can be asked; None where it can."""
    missing = [seat.missing for seat in seats if seat.missing is not None]
    able = len(seats) - len(missing)
    if 2 * able > len(seats):
        return None
    return f"{missing[0]} ({able} of {len(seats)} jurors can be asked; that is not a majority)" if able else missing[0]


def seat_of(model: str | None, providers: Providers, *, judging: bool) -> Seat:
    """The model that is asked where a test names `model`, to judge or to answer."""
    chosen = providers.chosen(model, judging=judging)
    missing = providers.missing(model if chosen is None else chosen)
    return Seat(chosen or "", NO_PROVIDER if chosen is None and missing is None else missing)
