"""The summary that GitHub shows on the page of a job: what a step appends to the file named by `GITHUB_STEP_SUMMARY`.

It goes with the `github` report, wherever that goes itself. What would not be shown is not written: GitHub takes at most 1 MiB
of each step, and drops all of a larger one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "GITHUB_STEP_SUMMARY"
MOST_BYTES = 1024 * 1024


def add_to_summary(text: str) -> None:
    """Append Markdown to the job's summary, where there is one. What keeps it out costs a warning and nothing else."""
    named = os.environ.get(VARIABLE)
    if not named:
        return
    data = f"{text}\n".encode()
    try:
        with Path(named).open("ab") as file:
            if file.tell() + len(data) > MOST_BYTES:
                _warn("it would be larger than the 1 MiB that GitHub shows of a step")
                return
            file.write(data)
    except OSError as wrong:
        _warn(wrong.strerror or str(wrong))


def _warn(why: str) -> None:
    sys.stderr.write(f"warning: the job summary was not written: {why}\n")
