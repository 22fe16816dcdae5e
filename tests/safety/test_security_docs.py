"""`docs/how-to/security-scan.md` lists the rules; `docs/explanation/security-scan-accuracy.md` says how well they work."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcptest_engine.safety.findings import RULES
from tests.safety import corpora

DOCS = Path(__file__).parent.parent.parent / "docs"
RULES_PAGE = (DOCS / "how-to" / "security-scan.md").read_text(encoding="utf-8")
FIGURES_PAGE = (DOCS / "explanation" / "security-scan-accuracy.md").read_text(encoding="utf-8")


def test_the_figures_in_the_docs_are_those_of_the_corpora() -> None:
    """Issue 6: precision and recall in the docs; `python -m tests.safety.corpora` prints the tables."""
    assert corpora.rule_table() in FIGURES_PAGE
    assert corpora.set_table() in FIGURES_PAGE
    assert corpora.blind_table() in FIGURES_PAGE
    assert corpora.untouched_words() in " ".join(FIGURES_PAGE.split("\n"))
    assert corpora.held_out_words() in " ".join(FIGURES_PAGE.split("\n"))
    assert corpora.held_out_words(corpora.MEASURED_ONCE) in " ".join(FIGURES_PAGE.split("\n"))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_rule_stands_in_the_docs_with_its_severity(rule) -> None:
    assert f"| {rule.id} | {rule.name} | {rule.severity} | " in RULES_PAGE
