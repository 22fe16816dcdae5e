"""`docs/reference/reporters.md`: every format has its section, and the sample in it is what the reporter prints."""

from __future__ import annotations

import os
import re
from pathlib import Path

from mcptest_engine.reporting.registry import FORMATS, RenderOptions, render

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "reporters.md"
SAMPLE = re.compile(r"(<!-- sample: (?P<name>[\w ]+) -->\n````\w*\n)(?P<text>.*?)(?=````\n)", re.DOTALL)


def shown(name, record):
    format_name, *more = name.split()
    options = RenderOptions(agent_budget=int(more[1]) if more[:1] == ["budget"] else 1024)
    text = render(format_name, record, options).text
    if format_name == "html":
        text = text.partition("<style>")[0]
    if format_name in {"json", "ndjson", "html", "gitlab", "openinference"}:
        # A whole test is too long for a page: the first 76 characters of each line.
        return "".join(line if len(line) <= 76 else f"{line[:76]}…" for line in text.splitlines(keepends=True)).replace(
            "…", "…\n"
        )
    return text


def test_the_samples_are_what_the_reporters_print(sample_record):
    """House: docs are tested. `MCPTEST_UPDATE_GOLDEN=1` writes them."""
    page = PAGE.read_text(encoding="utf-8")
    fresh = SAMPLE.sub(lambda found: found[1] + shown(found["name"], sample_record), page)
    if os.environ.get("MCPTEST_UPDATE_GOLDEN") == "1":
        PAGE.write_text(fresh, encoding="utf-8")
        page = fresh
    assert page == fresh


def test_every_format_has_a_section_with_a_sample():
    """House: every reporter has its page."""
    page = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^## `(\w+)`", page, flags=re.MULTILINE) == list(FORMATS)
    shown_as_text = set(FORMATS) - {"matrix"}  # a page is for a browser
    assert {found["name"].split()[0] for found in SAMPLE.finditer(page)} == shown_as_text
