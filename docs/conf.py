"""Settings of the website of these pages: `make docs` builds it into `build/docs`.

The sources are the Markdown files as they are. The sidebar is made from the lists of links in `docs/README.md`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "mcptest"
extensions = ["myst_parser"]
root_doc = "docs/README"
include_patterns = ["docs/**", "examples/**.md"]
exclude_patterns = ["tests", "mcptest", "mcptest_engine", "mcptest_tui", "build", ".*"]
myst_heading_anchors = 4
suppress_warnings = [
    "misc.highlighting_failure",
    "toc.not_included",
]  # shortened samples; README.md is held complete by a test

html_theme = "furo"
html_title = "mcptest"
html_show_copyright = False
html_copy_source = False

SECTION = re.compile(r"^## (?P<title>.+)\n(?P<lines>(?:.*\n)*?)(?=^## |\Z)", re.MULTILINE)
PAGE = re.compile(r"^- \[[^]]+\]\((?P<path>[^)]+)\.md\)", re.MULTILINE)


def add_sidebar(app: Sphinx, name: str, source: list[str]) -> None:
    """Append one hidden table of contents for each section of the index that lists pages."""
    if name == root_doc:
        trees = []
        for section in SECTION.finditer(source[0]):
            pages = PAGE.findall(section["lines"])
            if pages:
                trees.append(
                    "\n".join(["```{toctree}", ":hidden:", f":caption: {section['title']}", "", *pages, "```"])
                )
        if "../examples/README" in source[0]:
            examples = sorted(path.parent.name for path in (Path(app.srcdir) / "examples").glob("*/README.md"))
            trees[-1] = (
                trees[-1].removesuffix("```") + "".join(f"../examples/{each}/README\n" for each in examples) + "```"
            )
        source[0] += "\n\n" + "\n\n".join(trees) + "\n"


def add_front_page(app: Sphinx, failure: Exception | None) -> None:
    """Write the `index.html` that leads to the index of the docs."""
    if failure is None:
        page = '<!doctype html><title>mcptest</title><meta http-equiv="refresh" content="0; url=docs/README.html">\n'
        (Path(app.outdir) / "index.html").write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("source-read", add_sidebar)
    app.connect("build-finished", add_front_page)
