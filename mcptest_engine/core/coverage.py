"""One way of counting what tests have exercised of what servers offer, and the floor that it may have to reach.

The rows of a run's record, of `mcptest coverage` and of merged shards alike. Names in them are a server's words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest_engine.core.json_types import JsonDict, JsonMapping

STRENGTH = "strength"
DIMENSIONS = ("tools", "parameters", "enum_values", "resources", "prompts", "error_paths", STRENGTH)
TOLD_AS = "coverage: "
"""How every line of a run's warnings about coverage begins."""
SHARDED = f"{TOLD_AS}its floors are checked for all shards together, by `mcptest report --merge`"
SHARD_MISSING = f"{TOLD_AS}its floors are not checked, because shards are missing"
_LISTED = frozenset({"tools", "parameters", "resources", "prompts"})
"""What is the same for every shard, because it does not depend on what was called."""
_NAMES_TOLD = 5
_NAME_LIMIT = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """One way of counting. `missing` names what no test exercised, in the servers' order; of `strength` the tests that check no
    value, each with what it demands: it counts tests, and not what servers offer.

    `floor` is the percentage demanded, None where none is; `judged` is false where the tests that ran are not all there are,
    so that the floor says nothing. `unknown` says why it could not be counted. `refused` are, of `error_paths`, the tools
    that a test saw refuse something: with them, the rows of shards can be added up.
    """

    name: str
    covered: int = 0
    total: int = 0
    missing: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    floor: float | None = None
    judged: bool = False
    unknown: str | None = None

    @property
    def percent(self) -> float:
        """0 to 100; of nothing all is covered."""
        return 100.0 * self.covered / self.total if self.total else 100.0

    @property
    def reaches_floor(self) -> bool:
        """Whether it has what its floor demands; what could not be counted reaches none that demands something."""
        if not self.floor:
            return True
        return self.unknown is None and (not self.total or self.covered * 100 >= self.floor * self.total)

    @property
    def is_short(self) -> bool:
        """Whether a gate closes over this row."""
        return self.judged and not self.reaches_floor

    @property
    def shown_percent(self) -> float:
        """The percentage with one digit, rounded down where it would else look like its floor, or like everything."""
        told = round(self.percent, 1)
        looks_fine = told >= 100 or (not self.reaches_floor and told >= (self.floor or 0))
        return int(self.percent * 10) / 10 if told > self.percent and looks_fine else told

    @property
    def shown_name(self) -> str:
        return self.name.replace("_", " ")

    @property
    def missing_name(self) -> str:
        """What the entries of `missing` are called."""
        return (
            "tests that check no value" if self.name == STRENGTH else f"{self.shown_name} that no passing test covers"
        )

    @property
    def summary(self) -> str:
        """What is amiss, in one line: "coverage: tools 16.7 % (2 of 12), below the floor of 50 %; not covered: `a`, …"."""
        if self.unknown is not None:
            missed = f"the floor of {self.floor:g} % is missed: {self.unknown}"
            return f"{TOLD_AS}{self.shown_name} could not be counted, so {missed}"
        names = ", ".join(f"`{one_line(name, _NAME_LIMIT)}`" for name in self.missing[:_NAMES_TOLD])
        more = len(self.missing) - _NAMES_TOLD
        figures = f"{self.shown_percent:g} % ({self.covered} of {self.total})"
        return (
            f"{TOLD_AS}{self.shown_name} {figures}, below the floor of {self.floor:g} %; "
            f"{'too weak' if self.name == STRENGTH else 'not covered'}: {names}{f' and {more} more' if more > 0 else ''}"
        )

    def to_json(self) -> JsonDict:
        """The row without its name, as it stands under it."""
        out: JsonDict = {"covered": self.covered, "total": self.total}
        out["percent"] = self.shown_percent if self.unknown is None else None
        if self.floor is not None:
            out["floor"] = self.floor
            if self.judged:
                out["met"] = self.reaches_floor
        if self.unknown is not None:
            out["unknown"] = self.unknown
        if self.missing:
            out["missing"] = list(self.missing)
        if self.refused:
            out["refused"] = list(self.refused)
        return out

    @classmethod
    def from_json(cls, name: str, data: JsonMapping) -> Dimension:
        return cls(
            name=name,
            covered=data["covered"],
            total=data["total"],
            missing=tuple(data.get("missing", ())),
            refused=tuple(data.get("refused", ())),
            floor=data.get("floor"),
            judged="met" in data,
            unknown=data.get("unknown"),
        )


def short_lines(rows: Iterable[Dimension]) -> tuple[str, ...]:
    """A line for each floor that was not reached."""
    return tuple(row.summary for row in rows if row.is_short)


def added_up(parts: Sequence[Sequence[Dimension]], *, judged: bool) -> tuple[Dimension, ...]:
    """The rows of several runs on one catalog, as one run of all their tests would have them.

    Uncovered is what none of them covered. A row that one of them could not count is unknown.
    """
    rows = []
    for name in DIMENSIONS:
        found = [row for part in parts for row in part if row.name == name]
        if found:
            first = found[0]
            unknown = next((row.unknown for row in found if row.unknown is not None), None)
            if len(found) < len(parts):
                unknown = unknown or "a shard has no figures"
            if name in _LISTED and len({row.total for row in found}) > 1:
                unknown = unknown or "the shards had different lists"
            blank = Dimension(name=name, floor=first.floor, judged=judged and first.floor is not None, unknown=unknown)
            rows.append(blank if unknown is not None else _added(blank, found))
    return tuple(rows)


def _added(blank: Dimension, rows: Sequence[Dimension]) -> Dimension:
    if blank.name == "error_paths":  # counted of the tools that were called, which differ
        refused = dict.fromkeys(name for row in rows for name in row.refused)
        called = dict.fromkeys(name for row in rows for name in (*row.missing, *row.refused))
        missing = tuple(name for name in called if name not in refused)
        return replace(blank, covered=len(refused), total=len(called), missing=missing, refused=tuple(refused))
    if blank.name == STRENGTH:  # each shard has other tests
        weak = tuple(name for row in rows for name in row.missing)
        return replace(
            blank, covered=sum(row.covered for row in rows), total=sum(row.total for row in rows), missing=weak
        )
    nowhere = set(rows[0].missing).intersection(*(row.missing for row in rows[1:]))
    missing = tuple(name for name in rows[0].missing if name in nowhere)
    total = max(row.total for row in rows)
    return replace(blank, covered=total - len(missing), total=total, missing=missing)
