"""The findings of `doctor`: one `Check` for each thing examined, and the report of them all."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING

from mcptest_engine import __version__
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.core.json_types import JsonDict

    Tell = Callable[["Check"], None]
    """Receives each check when it is done."""


class Status(StrEnum):
    """The result of a check. A skipped one had nothing to examine, and is no failure."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was examined.

    `layer` is where it belongs ("environment", "tcp", "protocol", …) and `name` what it is; a name may be a server's. `detail`
    and `hint` are a clause or two, without secrets and not sanitised. `output` is what the server wrote on stderr. `server` is
    its name where several are examined.
    """

    layer: str
    name: str
    status: Status
    detail: str = ""
    hint: str | None = None
    duration_ms: float | None = None
    output: str = ""
    server: str | None = None

    def as_json(self) -> dict[str, object]:
        """Encode for the JSON report; unknown members are left out."""
        members: JsonDict = {} if self.server is None else {"server": self.server}
        members |= {"layer": self.layer, "name": self.name, "status": self.status, "detail": self.detail}
        if self.hint:
            members["hint"] = self.hint
        if self.duration_ms is not None:
            members["duration_ms"] = round(self.duration_ms, 3)
        if self.output:
            members["output"] = self.output
        return members


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All checks in order; `target` is the server as shown, None for this machine."""

    checks: tuple[Check, ...]
    target: Mapping[str, str] | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing failed; a warning is no failure."""
        return self.failed is None

    @property
    def failed(self) -> Check | None:
        """The first check that failed, None when none did."""
        return next((check for check in self.checks if check.status is Status.FAILED), None)

    def count(self, status: Status) -> int:
        """The number of checks with this status."""
        return sum(check.status is status for check in self.checks)

    def as_json(self) -> dict[str, object]:
        """{mcptest_version, ok, target, failed_layer, summary, checks}."""
        counts = Counter(check.status for check in self.checks)
        return {
            "mcptest_version": __version__,
            "ok": self.ok,
            "target": None if self.target is None else dict(self.target),
            "failed_layer": None if self.failed is None else self.failed.layer,
            "summary": {status.value: counts[status] for status in Status},
            "checks": [check.as_json() for check in self.checks],
        }
