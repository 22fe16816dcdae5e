"""What a scorer is, what it says of an answer, and why one said nothing. Values only."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.errors import McptestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.enums import Verdict
    from mcptest_engine.core.json_types import JsonDict

EXEC = "exec"
DEFAULT_TIMEOUT_MS = 30_000


class Scorer(NamedTuple):
    """A program that grades, as the suite declares it. `env` is resolved; `cwd` is absolute or None for mcptest's own.

    `max_cost_usd` is what one grading costs at most, in USD. Of a `type` other than "exec" there is no more than its
    name.
    """

    name: str
    type: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str | None = None
    timeout_ms: float = DEFAULT_TIMEOUT_MS
    concurrency: int | None = None
    max_cost_usd: float | None = None


class ScorerVerdict(NamedTuple):
    """What a scorer said. `score` is None only where it came to no verdict; `extra` holds the fields that only it knows."""

    verdict: Verdict
    score: float | None
    reasoning: str
    cost_usd: float
    extra: Mapping[str, object] = {}


class ScorerFault(StrEnum):
    """Why a scorer gave no verdict."""

    SPAWN = "spawn"
    EXIT = "exit"
    TIMEOUT = "timeout"
    NO_OUTPUT = "no_output"
    INVALID_JSON = "invalid_json"
    INVALID_VERDICT = "invalid_verdict"
    OUTPUT_TOO_LARGE = "output_too_large"
    UNKNOWN_TYPE = "unknown_type"


class ScorerError(McptestError):
    """A scorer gave no verdict. Secrets are out of `message` and `stderr_tail`, the end of what it wrote on stderr."""

    def __init__(
        self, scorer: str, fault: ScorerFault, message: str, *, hint: str | None = None, stderr_tail: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.scorer = scorer
        self.fault = fault
        self.stderr_tail = stderr_tail

    def to_json(self) -> JsonDict:
        """As the record has it in `failure.scorer_error`."""
        return {
            "scorer": self.scorer,
            "kind": self.fault.value,
            "message": self.message,
            "stderr_tail": self.stderr_tail,
        }
