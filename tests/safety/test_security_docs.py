"""`docs/how-to/security-scan.md` lists the rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcptest_engine.safety.findings import RULES

RULES_PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "security-scan.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_rule_stands_in_the_docs_with_its_severity(rule) -> None:
    assert f"| {rule.id} | {rule.name} | {rule.severity} | " in RULES_PAGE
