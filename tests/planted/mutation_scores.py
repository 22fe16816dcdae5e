"""The mutation score of each suite in `suites/`, beside the share of the planted bugs that it finds.

`python -m tests.planted.mutation_scores` makes `scores.json` anew and prints the rank correlation. Scores are of the correct
servers: no bug is known to the mutation run.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.redaction import Redactor
from mcptest_engine.mutation.recording import record_answers
from mcptest_engine.mutation.replay import Options, replay_for
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.suite.load import LoadOptions, load_suite
from mcptest_engine.workspace.workspace import Workspace
from tests.planted.bugs_found import DOMAINS, FOUND, HERE, LEVELS, suite_of

if TYPE_CHECKING:
    from collections.abc import Sequence

SCORES = HERE / "scores.json"
EXTREMES = frozenset({"wide", "deep"})


def score_suite(domain: str, path: Path, folder: Path) -> dict[str, Any]:
    """What `mcptest mutate` says of a suite on the correct server."""
    server = (sys.executable, "-S", str(HERE / "servers" / f"{domain}.py"))
    environ = {"PATH": os.environ["PATH"]}
    workspace = Workspace(folder)
    options = LoadOptions(variables={}, environ=environ, workspace_root=folder)
    suite = load_suite(path, options)
    settings = RunSettings(server_command=server, environ=environ)
    recording = asyncio.run(record_answers(suite, settings, workspace=workspace, emit=lambda _event: None))
    assert recording is not None
    mutated = replay_for(suite, workspace, Options(), redactor=Redactor()).run(recording)
    share = mutated.score.share
    return {
        "score": None if share is None else round(share, 4),
        "killed": mutated.score.killed,
        "survived": mutated.score.survived,
        "tests": len(mutated.tests),
        "left_out": len(mutated.left_out),
        "volatile": mutated.volatile,
    }


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """The rank correlation of two lists; equal values share their mean rank."""
    return statistics.correlation(_ranks(one), _ranks(other))


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]


def correlations(scores: dict[str, dict[str, Any]]) -> dict[str, float]:
    """The rank correlation of score and share of bugs found: of all suites, without the extremes, and by domain."""
    found = json.loads(FOUND.read_text(encoding="utf-8"))

    def pairs(domains: Sequence[str], levels: Sequence[str]) -> tuple[list[float], list[float]]:
        told = [
            (scores[domain][level]["score"], found[domain][level].values()) for domain in domains for level in levels
        ]
        return [score for score, _ in told], [sum(hits) / len(hits) for _, hits in told]

    graded = [level for level in LEVELS if level not in EXTREMES]
    return {
        "all suites": spearman(*pairs(DOMAINS, LEVELS)),
        "levels 1 to 5": spearman(*pairs(DOMAINS, graded)),
        "levels 1 to 5, mean of the domains": statistics.mean(spearman(*pairs([one], graded)) for one in DOMAINS),
    }


def main() -> None:
    """Score every suite, write `scores.json` and print how they go with the bugs found."""
    scores: dict[str, dict[str, Any]] = {}
    for domain in DOMAINS:
        for level in LEVELS:
            with tempfile.TemporaryDirectory() as folder:
                scores.setdefault(domain, {})[level] = score_suite(domain, suite_of(domain, level), Path(folder))
        print(domain, {level: row["score"] for level, row in scores[domain].items()}, flush=True)
    SCORES.write_text(json.dumps(scores, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    for name, value in correlations(scores).items():
        print(f"{name}: {value:.2f}")


if __name__ == "__main__":
    main()
