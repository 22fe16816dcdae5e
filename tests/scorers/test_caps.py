"""Caps of real runs: what the server was called for, what scorers were paid, and what was told."""

from __future__ import annotations

import json
import random
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.conftest import SERVERS

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., subprocess.CompletedProcess[str]]

PAYS = """#!/bin/sh
read -r line
cost=${line#*\\"cost\\": }; cost=${cost%%\\}*}
echo "$cost" >> paid.log
sleep 0.02
printf '{"verdict": "pass", "cost_usd": %s}' "$cost"
"""


class Bank:
    """A suite whose evals move money on a server that keeps a book, graded by a scorer that costs what the eval says."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "pays.sh").write_text(PAYS)
        (path / "pays.sh").chmod(0o755)

    def suite(
        self, costs: list[float], *, calls: bool = True, scorer: dict[str, Any] | None = None, **more: Any
    ) -> Path:
        answer: Any = {"call": {"tool": "transfer", "args": {"amount": 1}}} if calls else {"output": "x"}
        suite = {
            "servers": {
                "bank": {"command": [sys.executable, "-S", str(SERVERS / "ledger.py"), str(self.path / "book")]}
            },
            "scorers": [{"name": "dear", "type": "exec", "command": ["./pays.sh"], **(scorer or {})}],
            "evals": [
                {"name": f"e{at}", "prompt": "q", "rubric": "r", "serial": False, "metadata": {"cost": cost}, **answer}
                for at, cost in enumerate(costs)
            ],
            **more,
        }
        path = self.path / "mcptest.yaml"
        path.write_text(yaml.safe_dump(suite, sort_keys=False))
        return path

    @property
    def transfers(self) -> int:
        book = self.path / "book"
        return len(json.loads(book.read_text())) if book.exists() else 0

    @property
    def paid(self) -> list[float]:
        log = self.path / "paid.log"
        return [float(line) for line in log.read_text().split()] if log.exists() else []


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    return Bank(tmp_path)


def rows(done: subprocess.CompletedProcess[str]) -> tuple[int, int]:
    """How many passed, and how many were skipped as not run."""
    lines = done.stdout.splitlines()
    return sum(line.startswith("PASS") for line in lines), sum(": not run: " in line for line in lines)


@pytest.mark.parametrize("workers", ["1", "40"])
def test_rows_that_are_not_run_have_called_nothing(mcptest: Run, bank: Bank, workers: str) -> None:
    bank.suite([1.0] * 5)
    done = mcptest("eval", "--max-cost", "1", "--workers", workers)
    assert (rows(done), bank.transfers, done.returncode) == ((1, 4), 1, 5), done.stdout
    assert "not run: --max-cost 1 USD is spent" in done.stdout


def test_a_cheap_first_call_does_not_let_forty_dear_ones_through(mcptest: Run, bank: Bank) -> None:
    bank.suite([0.001, *[1.0] * 40], calls=False)
    done = mcptest("eval", "--max-cost", "1", "--workers", "40")
    assert sum(bank.paid) <= 2.0
    assert done.returncode == 5


def test_scorers_that_declare_their_cost_never_cross_the_cap(mcptest: Run, bank: Bank) -> None:
    bank.suite([0.4] * 6, scorer={"max_cost_usd": 0.4})
    done = mcptest("eval", "--max-cost", "1", "--workers", "8")
    assert (rows(done), bank.transfers, bank.paid, done.returncode) == ((2, 4), 2, [0.4, 0.4], 5), done.stdout
    assert "--max-cost 1 USD has 0.2 USD left, and a call of scorer `dear` may cost 0.4 USD" in done.stdout
    assert "overrun" not in done.stderr


def test_a_scorer_that_costs_more_than_it_declares_is_named(mcptest: Run, bank: Bank) -> None:
    bank.suite([0.4] * 6, scorer={"max_cost_usd": 0.1})
    done = mcptest("eval", "--max-cost", "1", "--workers", "8")
    assert (rows(done), bank.transfers) == ((2, 4), 2), done.stdout
    assert "a call of scorer `dear` cost 0.4 USD, which is more than the 0.1 USD reserved for it" in done.stderr


def test_the_budget_of_a_suite_is_reserved_from_like_a_cap(mcptest: Run, bank: Bank) -> None:
    bank.suite([0.6] * 4, budget={"per_suite_usd_cents": 100})
    done = mcptest("run", "--workers", "8", "--reporter", "json=run.json")
    record = json.loads((bank.path / "run.json").read_text())
    assert [test["verdict"] for test in record["tests"]].count("pass") == bank.transfers == len(bank.paid) == 1
    assert done.returncode == 5
    told = {test["message"] for test in record["tests"] if test["verdict"] == "skip"}
    left = "budget.per_suite_usd_cents 1 USD has 0.4 USD left, and a call of scorer `dear` may cost 0.6 USD"
    assert told == {f"not run: {left}"}


def test_the_answer_that_several_scorers_grade_is_got_once_under_a_cap(mcptest: Run, bank: Bank) -> None:
    bank.suite([0.2, 0.2])
    path = bank.path / "mcptest.yaml"
    suite = yaml.safe_load(path.read_text())
    suite["scorers"].append({**suite["scorers"][0], "name": "other", "max_cost_usd": 0.2})
    path.write_text(yaml.safe_dump(suite))
    done = mcptest("eval", "--max-cost", "10", "--workers", "8")
    assert (rows(done), bank.transfers, done.returncode) == ((4, 0), 2, 0), done.stdout


def test_a_row_that_was_tried_before_is_not_told_as_not_run(mcptest: Run, bank: Bank) -> None:
    """Its first attempt failed without telling its cost, so that the cap holds no second one."""
    bank.suite([0.1], calls=False, run_options={"retries": 1})
    (bank.path / "pays.sh").write_text("#!/bin/sh\necho 0.1 >> paid.log\nexit 1\n")
    done = mcptest("eval", "--max-cost", "1")
    assert bank.paid == [0.1]
    assert "not graded: --max-cost 1 USD cannot limit scorer `dear`, whose first call reported no cost" in done.stdout
    assert done.returncode == 5


@pytest.mark.parametrize("seed", range(6))
def test_runs_with_random_costs_spend_no_more_than_the_cap_and_one_call(mcptest: Run, bank: Bank, seed: int) -> None:
    chance = random.Random(seed)
    costs = [round(chance.choice([0.0, 0.001, chance.uniform(0, 1)]), 4) for _ in range(40)]
    declared = {"max_cost_usd": 1.0} if seed % 2 else {}
    cap = round(chance.uniform(0.2, 8), 3)
    bank.suite(costs, scorer={**declared, **chance.choice([{}, {"concurrency": 5}])})
    done = mcptest("eval", "--max-cost", str(cap), "--workers", str(chance.choice([1, 8, 64])))
    passed, not_run = rows(done)
    assert (passed, not_run) == (bank.transfers, 40 - bank.transfers)
    assert len(bank.paid) == passed
    assert sum(bank.paid) <= cap + (0 if declared and cap >= 1 else max(bank.paid, default=0))
    assert done.returncode == (5 if not_run or sum(bank.paid) > cap else 0)
