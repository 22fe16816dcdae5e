"""ARCHITECTURE.md names what there is, and the source only what a reader of it can open."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NUMBERED = ("ecisions", "ecisions.md", "indings", "apabilities", "ssue", "pstream-facts", "workbench.md")
NOT_PUBLIC = [  # each starts with letters, which is what `re` finds fast
    *(re.compile(rf"{re.escape(word)},? [a-zA-Z]?\d") for word in NUMBERED),
    *(re.compile(word) for word in ("agent-interface", "execution-safety", "external-scorers")),
    re.compile(r"Source: [a-z]+(?:-[a-z]+)*[,;.]"),  # a word alone names no publisher
    re.compile(r"\"\"\"[A-Z]\d+(?:, [A-Z]\d+)*: "),  # a number alone names no list
]
PAGES = [re.compile(rf"{folder}/[\w./-]*\w\.md\b") for folder in ("docs", "examples", "tests")]


def sources() -> list[Path]:
    folders = [ROOT / "mcptest", ROOT / "mcptest_engine", ROOT / "mcptest_tui", *ROOT.glob("tests/*/")]
    found = [path for folder in folders if folder.name != "e2e" for path in folder.rglob("*.py")]  # e2e: node_modules
    return [*found, *ROOT.glob("tests/*.py"), *ROOT.glob("tests/e2e/*.py"), *ROOT.glob("docs/*.py")]


def test_no_source_refers_to_a_text_that_is_not_in_the_repository() -> None:
    found = []
    for path in set(sources()) - {Path(__file__)}:
        text = path.read_text(encoding="utf-8")
        named = [one for pattern in NOT_PUBLIC for one in pattern.findall(text)]
        named += [one for pattern in PAGES for one in pattern.findall(text) if not (ROOT / one).is_file()]
        found += [f"{path.relative_to(ROOT)}: {one}" for one in named]
    assert not found, sorted(found)
    for refused in (
        "Source: decisions 14, Safety.",
        "issue 8",
        "Source: compositions; RFC 1.",
        '"""S19: a baseline."""',
    ):
        assert any(pattern.search(refused) for pattern in NOT_PUBLIC), refused
    for allowed in ("Source: MCP 2025-11-25, basic.", "Source: proc_pid_stat(5).", "Source: actions/toolkit, 3."):
        assert not any(pattern.search(allowed) for pattern in NOT_PUBLIC), allowed


def test_the_architecture_is_short_and_names_what_there_is() -> None:
    """Each file, folder, class and function in backticks, wherever it is; and each package has its line."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 1000
    packages = [ROOT / "mcptest", ROOT / "mcptest_engine", ROOT / "mcptest_tui"]
    places = ["", *(f"/{path.relative_to(ROOT).as_posix()}" for package in packages for path in package.rglob("*"))]
    places += [f"/{path}" for path in ("docs/matchers.py", "docs/reference/reporters.md", "tests/forked.py")]
    source = "".join(path.read_text(encoding="utf-8") for package in packages for path in package.rglob("*.py"))
    names = set(re.findall(r"`([^`\n]+)`", text))
    files = {name for name in names if re.fullmatch(r"[\w/]+(\.py|\.md|/)", name)}
    assert len(files) > 40
    assert sorted(name for name in files if not any(place.endswith(f"/{name.rstrip('/')}") for place in places)) == []
    defined = {
        part for name in names - files for part in name.split(".") if re.fullmatch(r"[A-Z]\w+|[a-z]+_[a-z]+", part)
    }
    assert len(defined) > 12
    there = re.findall(r"^(?: *(?:class|def|async def) |(?=[A-Z_]+\b))(\w+)", source, re.MULTILINE)
    assert defined - set(there) == set()
    for folder in (ROOT / "mcptest_engine").glob("*/__init__.py"):
        assert re.search(rf"(?m)^  {folder.parent.name}/ ", text), folder.parent.name
