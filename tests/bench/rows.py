"""One figure of `make bench`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table: numbers in `unit`, `limit` the figure to reach; `most` the largest ratio allowed, if any."""

    what: str
    measured: float | None
    unit: str = "ms"
    limit: float | None = None
    floor: float | None = None
    most: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.measured / self.floor if self.measured is not None and self.floor else None

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "skipped"
        too_large = self.limit is not None and self.measured > self.limit
        too_slow = self.most is not None and self.ratio is not None and self.ratio > self.most
        return "missed" if too_large or too_slow else "ok"
