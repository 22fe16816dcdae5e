"""Suites for the figures: a server, and any number of tests with one assertion, seven lines each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TEST = """\
  - name: echo {number}
    tool: echo
    args: {{ text: "hello {number}" }}
    expect:
      - target: "result.content[0].text"
        matcher:
          contains: "{wanted}"
"""


def write_suite(
    path: Path, tests: int, *, command: Sequence[str] = (), url: str | None = None, wanted: str | None = None
) -> Path:
    """A suite of `tests` tests on one server, reached by its argv or its URL. Returns `path`.

    Each test sends a text of its own and wants it back; `wanted` is wanted instead when it is given.
    """
    reached = f"url: {json.dumps(url)}" if url else f"command: {json.dumps(list(command))}"
    entries = (TEST.format(number=number, wanted=wanted or f"hello {number}") for number in range(tests))
    path.write_text(f"name: bench\nservers:\n  bench:\n    {reached}\ntools:\n{''.join(entries)}", encoding="utf-8")
    return path
