"""The rows of an agent test: one for each of its models and runs. Pure; nothing here knows what a model is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.running.agents.program import DEFAULT_MAX_TURNS, AgentProgram, Trials
from mcptest_engine.running.ids import askings_of_agent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.running.ids import Asking, Shared

GATES = (
    *("equal_function_sets", "tool_selection", "trajectory", "golden_path", "tool_edges", "token_efficiency"),
    "distractors",
)
"""The blocks of an agent test that measure its choice of tools."""
MIN_TRIALS = 5
CONFIDENCE_PCT = 95.0


def programs_of(
    data: Mapping[str, Any], server: str, shared: Shared, budget: Mapping[str, Any], inconclusive: Mapping[str, Any]
) -> Iterator[tuple[Asking, AgentProgram]]:
    """The programs of an agent test, each with what tells it from the others.

    `server` is the one that it uses where it names none, `budget` the suite's, `inconclusive` that of `run_options`.
    """
    for asking in askings_of_agent(data, shared):
        trials = None
        if asking.runs > 1:
            trials = Trials(
                asking.runs,
                inconclusive.get("min_trials", MIN_TRIALS),
                float(inconclusive.get("confidence_pct", CONFIDENCE_PCT)),
            )
        gates = {name: data[name] for name in GATES if name in data}
        yield (
            asking,
            program_of(data, server, asking, budget)._replace(
                gates=gates, trials=trials, runs=max(data.get("runs", 1), 1)
            ),
        )


def program_of(data: Mapping[str, Any], server: str, asking: Asking, budget: Mapping[str, Any]) -> AgentProgram:
    """One asking of a model, as an agent test or an eval describes it."""
    cents = data.get("budget", {}).get("per_test_usd_cents", budget.get("per_test_usd_cents"))
    return AgentProgram(
        model=asking.model,
        prompt=data.get("prompt") or data.get("user_prompt", ""),
        system_prompt=data.get("system_prompt"),
        servers=tuple(dict.fromkeys(data["servers"])) if "servers" in data else (server,) if server else (),
        max_turns=data.get("max_turns", DEFAULT_MAX_TURNS),
        variant=str(asking.run) if asking.run else "",
        budget_usd=None if cents is None else cents / 100,
        tools=data.get("tools", {}),
    )
