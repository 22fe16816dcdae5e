"""`mcptest mutate` as a command: its formats, its exit codes, and what waits for review afterwards."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    Run = Callable[..., subprocess.CompletedProcess[str]]

SHOP = [sys.executable, "-S", str(Path(__file__).parent.parent / "servers" / "shop.py")]
SUITE = f"""\
servers: {{ shop: {{ command: {json.dumps(SHOP)} }} }}
tools:
  - {{ name: the price of tea, tool: price, args: {{ item: tea }} }}
"""


def test_a_score_below_the_threshold_exits_with_6_and_review_has_the_assertions(mcptest: Run, tmp_path: Path) -> None:
    suite = tmp_path / "mcptest.yml"
    suite.write_text(SUITE)
    told = mcptest("mutate", "--threshold", "80")
    assert told.returncode == 6
    assert "the price of tea" in told.stdout
    assert "add assertions: mcptest review mcptest.yml   (1 proposal)" in told.stdout
    assert "error" not in told.stderr.replace("without an error", "")
    assert not (tmp_path / ".mcptest" / "runs").exists() or not list((tmp_path / ".mcptest" / "runs").glob("*.json"))
    accepted = mcptest("review", "--accept-all")
    assert accepted.returncode == 0, accepted.stderr
    again = mcptest("mutate", "--threshold", "100", "--format", "json", "--output", "score.json", "--no-proposals")
    assert (again.returncode, again.stdout) == (0, "")
    report = json.loads((tmp_path / "score.json").read_text())
    assert (report["survived"], report["tests"][0]["strength"]) == (0, "value")
    mcptest("run", "--reporter", "json=run.json")
    (test,) = json.loads((tmp_path / "run.json").read_text())["tests"]
    assert (test["strength"], test["mutation_score"]) == ("value", 1)
    suite.write_text(suite.read_text().replace("exact: ", "contains: ", 1))
    mcptest("run", "--reporter", "json=run.json")
    (test,) = json.loads((tmp_path / "run.json").read_text())["tests"]
    assert "mutation_score" not in test  # it was written otherwise when it was measured


def test_review_adds_assertions_beside_those_in_the_short_form(mcptest: Run, tmp_path: Path) -> None:
    suite = tmp_path / "mcptest.yml"
    suite.write_text(SUITE.replace("{ item: tea }", "{ item: tea }, expect: { structured.price: { gt: 0 } }"))
    mcptest("mutate")
    accepted = mcptest("review", "--accept-all")
    assert "1 accepted" in accepted.stdout, accepted.stderr
    assert "expect: { structured.price: { gt: 0 }, assertions: [{ target: " in suite.read_text()
    again = mcptest("mutate", "--threshold", "100")
    assert again.returncode == 0, again.stdout


def test_a_suite_without_a_mutant_exits_with_7_and_an_unknown_operator_with_2(mcptest: Run, tmp_path: Path) -> None:
    (tmp_path / "mcptest.yml").write_text(SUITE.replace("price, args", "price, skip: later, args"))
    skipped = mcptest("mutate")
    assert skipped.returncode == 7
    assert "no mutant could be judged" in skipped.stdout
    assert "it is skipped" in skipped.stdout
    unknown = mcptest("mutate", "--operators", "emty-text")
    assert unknown.returncode == 2
    assert "did you mean `empty-text`?" in unknown.stderr
