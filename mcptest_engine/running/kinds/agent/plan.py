"""How an agent test is planned: one program for each of its models and runs. Pure; nothing here knows what a model is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.targets import AGENT_GATES
from mcptest_engine.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.judging.scorers.juries import Providers
    from mcptest_engine.running.declared_tests import ModelRun


DEFAULT_MAX_TURNS = 10


class Trials(NamedTuple):
    """How many runs decide a test, and by which interval: `run_options.inconclusive`."""

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

    def call_text(self, _case: object) -> str:
        text = f"{self.model or 'a model'}, up to {counted(self.max_turns, 'turn')}"
        return text if self.trials is None else f"{text}, {counted(self.trials.runs, 'trial')}"

    def list_members(self, _case: object) -> dict[str, Any]:
        return {
            **({} if self.model is None else {"model": self.model}),
            **({} if self.trials is None else {"trials": self.trials.runs}),
        }

    def request_key(self, _case: object) -> tuple[object, ...]:
        return (
            *("model", self.model, self.system_prompt, self.prompt, self.servers, self.variant),
            *([self.tools] if self.tools else []),
        )

    def may_change_state(self, _case: object) -> bool:
        """It may: what a model calls is not known beforehand."""
        return True

    def for_repeat(self, number: int) -> AgentProgram:
        """The first repeat is what a run without repeats is, so that a saved answer serves both."""
        return self if number == 1 else self._replace(variant=f"{self.variant}#{number}")

    def deferral_reason(self, providers: Providers) -> str | None:
        from mcptest_engine.judging.scorers.juries import seat_of

        return seat_of(self.model, providers, judging=False).missing


def runs_id(case_id: str, run: str) -> str:
    """What the runs of a test have in common: the id of one without its number."""
    before, mark, after = case_id.rpartition(f" #{run}")
    return f"{before}{after}" if mark and run else case_id


MIN_TRIALS = 5
CONFIDENCE_PCT = 95.0


def agent_program(
    data: Mapping[str, Any],
    server: str,
    model_run: ModelRun,
    budget: Mapping[str, Any],
    inconclusive: Mapping[str, Any],
) -> AgentProgram:
    """The program of one run of an agent test, or of all its trials.

    `server` is the one that it uses where it names none, `budget` the suite's, `inconclusive` that of `run_options`.
    """
    trials = None
    if model_run.runs > 1:
        trials = Trials(
            model_run.runs,
            inconclusive.get("min_trials", MIN_TRIALS),
            float(inconclusive.get("confidence_pct", CONFIDENCE_PCT)),
        )
    gates = {name: data[name] for name in AGENT_GATES if name in data}
    program = program_of(data, server, model_run, budget)
    return program._replace(gates=gates, trials=trials, runs=max(data.get("runs", 1), 1))


def program_of(data: Mapping[str, Any], server: str, model_run: ModelRun, budget: Mapping[str, Any]) -> AgentProgram:
    """One run of a model, as an agent test or an eval describes it."""
    cents = data.get("budget", {}).get("per_test_usd_cents", budget.get("per_test_usd_cents"))
    return AgentProgram(
        model=model_run.model,
        prompt=data.get("prompt") or data.get("user_prompt", ""),
        system_prompt=data.get("system_prompt"),
        servers=tuple(dict.fromkeys(data["servers"])) if "servers" in data else (server,) if server else (),
        max_turns=data.get("max_turns", DEFAULT_MAX_TURNS),
        variant=str(model_run.run) if model_run.run else "",
        budget_usd=None if cents is None else cents / 100,
        tools=data.get("tools", {}),
    )
