"""The source names only what a reader of it can open."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOT_PUBLIC = re.compile(
    r"""(?x)
    (?i:\b(?: decisions(?:\.md)? | findings | capabilities | issue | upstream-facts | workbench\.md),?\ [a-z]?\d)
    | \b(?: agent-interface | execution-safety | external-scorers)\b
    | Source:\ [a-z]+(?:-[a-z]+)*[,;.]        # a word alone names no publisher
    | \"\"\"[A-Z]\d+(?:,\ [A-Z]\d+)*:\         # a number alone names no list
    """
)
PAGE = re.compile(r"\b(?:docs|examples|tests)/[\w./-]*\w\.md\b")


def sources() -> list[Path]:
    folders = [ROOT / "mcptest", ROOT / "mcptest_engine", ROOT / "mcptest_tui", *ROOT.glob("tests/*/")]
    found = [path for folder in folders if folder.name != "e2e" for path in folder.rglob("*.py")]  # e2e: node_modules
    return [*found, *ROOT.glob("tests/*.py"), *ROOT.glob("tests/e2e/*.py"), *ROOT.glob("docs/*.py")]


def test_no_source_refers_to_a_text_that_is_not_in_the_repository() -> None:
    found = []
    for path in set(sources()) - {Path(__file__)}:
        text = path.read_text(encoding="utf-8")
        found += [f"{path.relative_to(ROOT)}: {one[0]}" for one in NOT_PUBLIC.finditer(text)]
        found += [f"{path.relative_to(ROOT)}: {one}" for one in PAGE.findall(text) if not (ROOT / one).is_file()]
    assert not found, sorted(found)
    for refused in (
        "Source: decisions 14, Safety.",
        "issue 8",
        "Source: compositions; RFC 1.",
        '"""S19: a baseline."""',
    ):
        assert NOT_PUBLIC.search(refused), refused
    for allowed in ("Source: MCP 2025-11-25, basic.", "Source: proc_pid_stat(5).", "Source: actions/toolkit, 3."):
        assert not NOT_PUBLIC.search(allowed), allowed
