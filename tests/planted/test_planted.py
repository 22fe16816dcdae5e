"""The suites pass on the correct servers, and `found.json` says what was seen of the bugs; a sample is looked at again."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.planted.bugs_found import DOMAINS, FOUND, HERE, LEVELS, bugs_of, failed_tests, suite_of
from tests.planted.generated_suites import GENERATED, measure, summary
from tests.planted.mutation_scores import SCORES, correlations, score_suite

if TYPE_CHECKING:
    from pathlib import Path

STORED = json.loads(FOUND.read_text(encoding="utf-8"))


def test_found_json_has_every_suite_and_every_bug() -> None:
    bugs = {domain: set(bugs_of(domain)) for domain in DOMAINS}
    assert {domain: {level: set(row) for level, row in levels.items()} for domain, levels in STORED.items()} == {
        domain: dict.fromkeys(LEVELS, bugs[domain]) for domain in DOMAINS
    }
    assert sum(map(len, bugs.values())) >= 36


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_suite_is_green_on_the_correct_server(domain: str, tmp_path: Path) -> None:
    async def run_all() -> list[list[str]]:
        return await asyncio.gather(
            *(failed_tests(domain, suite_of(domain, level), None, tmp_path) for level in LEVELS)
        )

    assert asyncio.run(run_all()) == [[] for _ in LEVELS]


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_bug_is_found_as_it_is_stored(domain: str, tmp_path: Path) -> None:
    """One bug and one level of each domain; of neighbouring domains never the same level."""
    place = DOMAINS.index(domain)
    level, bug = LEVELS[place % len(LEVELS)], sorted(bugs_of(domain))[place % 6]
    assert bool(asyncio.run(failed_tests(domain, suite_of(domain, level), bug, tmp_path))) is STORED[domain][level][bug]


def test_the_docs_say_how_the_mutation_score_goes_with_the_bugs_found(tmp_path: Path) -> None:
    """`python -m tests.planted.mutation_scores` renews the scores; one of them is measured again here."""
    scores = json.loads(SCORES.read_text(encoding="utf-8"))
    page = (HERE.parent.parent / "docs" / "how-to" / "mutation.md").read_text(encoding="utf-8")
    for name, value in correlations(scores).items():
        assert f"| {name} | {value:.2f} |" in page
    assert score_suite("builds", suite_of("builds", "3"), tmp_path) == scores["builds"]["3"]


def test_a_generated_suite_that_is_accepted_as_it_is_notices_what_the_docs_say(tmp_path: Path) -> None:
    """`python -m tests.planted.generated_suites` renews the figures; those of one domain are measured again here."""
    rows = json.loads(GENERATED.read_text(encoding="utf-8"))
    assert set(rows) == set(DOMAINS)
    assert {domain for domain, row in rows.items() if row["score"]["score"] < 0.5 or row["most_of_a_tool"] > 6} == set()
    page = (HERE.parent.parent / "docs" / "how-to" / "generate-a-suite.md").read_text(encoding="utf-8")
    together = summary(rows)
    for domain, row in rows.items():
        score = row["score"]
        mutants = score["killed"] + score["survived"]
        assert f"| `{domain}` | {row['tests']} |" in page
        assert f"| {mutants} | {score['score']:.0%} |".replace("%", " %") in page
    assert f"the suites find {together['bugs_found']};" in page
    measured = measure("directory", tmp_path, bugs=False)
    assert measured == {key: value for key, value in rows["directory"].items() if key != "bugs"}
