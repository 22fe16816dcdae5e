"""The docs say what the product does."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"


def generator() -> object:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["suite.md", "cli.md"])
def test_a_generated_page_is_what_its_source_gives(name: str) -> None:
    """Run `python docs/generate.py` after changing a model or a command."""
    assert (DOCS / name).read_text(encoding="utf-8") == generator().PAGES[name]()  # type: ignore[attr-defined]


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(DOCS.glob("*.md"))], ids=lambda path: path.name)
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    """A reader who follows a link finds the page."""
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target
