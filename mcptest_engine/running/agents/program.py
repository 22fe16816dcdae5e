"""An agent test ready to run. Plain data: a case holds one and travels with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DEFAULT_MAX_TURNS = 10


class Trials(NamedTuple):
    """How many runs decide a test, and by which interval: `run_options.inconclusive` (upstream-facts 4.3)."""

    runs: int
    min_trials: int
    confidence_pct: float


class AgentProgram(NamedTuple):
    """One prompt for one model, which may call the tools of `servers`.

    `model` is as the suite or the command line names it, None for whichever there is. `variant` is the number of the run among
    `runs:`, "" for the only one; models are asked anew in each. `budget_usd` is what one run may cost. `gates` are the blocks
    that measure the choice of tools (`tool_selection`, `trajectory`, …), as written. `tools` are the lists `allow`, `deny` and
    `dry` of tools, as written. `trials` is there where the runs are one
    row that their share of passes decides. `runs` is how many there are of this test and model, rows of their own or not.
    """

    model: str | None
    prompt: str
    system_prompt: str | None
    servers: tuple[str, ...]
    max_turns: int = DEFAULT_MAX_TURNS
    variant: str = ""
    budget_usd: float | None = None
    gates: Mapping[str, Any] = {}
    tools: Mapping[str, Sequence[str]] = {}
    trials: Trials | None = None
    runs: int = 1

    @property
    def run(self) -> str:
        """The number of the run, "" for the only one; whichever repeat of the suite it belongs to."""
        return self.variant.partition("#")[0]

    @property
    def counts_runs(self) -> bool:
        """Whether what it comes to hangs on other runs of its test."""
        return self.runs > 1 and "tool_selection" in self.gates


def runs_id(case_id: str, run: str) -> str:
    """What the runs of a test have in common: the id of one without its number."""
    before, mark, after = case_id.rpartition(f" #{run}")
    return f"{before}{after}" if mark and run else case_id
