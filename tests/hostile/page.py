"""Writes the tables of `docs/reference/failures.md` from what the tests check: `python -m tests.hostile.page`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.hostile.behaviours import BEHAVIOURS
from tests.hostile.http_behaviours import HTTP_BEHAVIOURS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.hostile.behaviours import Behaviour
    from tests.hostile.http_behaviours import HttpBehaviour

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "failures.md"
SHOWN_AS = {"{program}": "./server.py", "{url}": "http://127.0.0.1:8000/mcp", "\0": "␀", "\n": " "}


def current(text: str) -> str:
    """The page's `text` with its tables as they must be."""
    for name, rows in (("stdio", BEHAVIOURS), ("http", HTTP_BEHAVIOURS)):
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{table(rows)}{end}{rest.partition(end)[2]}"
    return text


def table(rows: Iterable[Behaviour | HttpBehaviour]) -> str:
    """A table in Markdown."""
    lines = [f"| {row.does} | {_told(row)} | {row.advice} |" for row in rows]
    return "\n".join(["| what it does | what mcptest says | what to do |", "|---|---|---|", *lines]) + "\n"


def _told(row: Behaviour | HttpBehaviour) -> str:
    if not row.says:
        return "the test passes"
    told = f"**{row.kind}** {_code(row.says)}"
    return told if row.hint is None else f"{told}<br>hint: {_code(row.hint)}"


def _code(text: str) -> str:
    """Text as code in a table's cell: in a fence longer than any run of backticks inside, with bars escaped."""
    for inside, shown in SHOWN_AS.items():
        text = text.replace(inside, shown)
    fence, space = ("``", " ") if "`" in text else ("`", "")
    return f"{fence}{space}{text.replace('|', chr(92) + '|')}{space}{fence}"


if __name__ == "__main__":
    PAGE.write_text(current(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)}\n")
