"""`make docs`: the website of the pages."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GENERATOR = ("sphinx", "furo", "myst_parser")
TIMEOUT_SECONDS = 840


@pytest.mark.timeout(900)
@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in GENERATOR),
    reason="the documentation generator is not installed: `make docs` installs it",
)
def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    """Sphinx warns of each link whose page or section is missing."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", "-d", str(tmp_path / "cache")]
    built = subprocess.run(
        [*command, ".", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert (built.returncode, built.stderr) == (0, "")
    site = tmp_path / "site"
    pages = {page.relative_to(ROOT).with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")}
    assert [page for page in pages if not (site / page).is_file()] == []
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|img|link|iframe)\b[^>]*?\b(?:src|href)=\"([^\"]+)\"", page.read_text(encoding="utf-8")
        )
        assert [one for one in loaded if "//" in one] == [], page
    for sheet in site.rglob("*.css"):
        assert re.findall(r"url\([\"']?https?:|@import", sheet.read_text(encoding="utf-8")) == [], sheet
    assert "how-to/flaky-tests" in (site / "searchindex.js").read_text(encoding="utf-8")
