"""Runs what the pages show, as a reader would type it, and holds each sample output to what really came.

A page is one session in a scratch directory with a copy of `examples/`. A fence with the language `console` holds commands
(`$ …`) and what they print; a fence after `<!-- file: NAME -->` is written to NAME first. A fence after
`<!-- not run: REASON -->` is left alone. In a sample, a line `…` stands for any number of lines, times, run ids and dates are
compared by their shape only, and which tests were the slowest is not compared at all. `python docs/sessions.py` writes the
outputs that differ into the pages.

The surprising thing: the port 8765 of a page is replaced by a free one while it runs.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PORT = "8765"
TIMEOUT_SECONDS = 220
PAGES = (
    ROOT / "README.md",
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
)

_FENCE = re.compile(
    r"(?:^<!-- (?P<mark>file|not run): (?P<about>.+?) -->\n)?^(?P<ticks>```+)(?P<language>\w*)\n(?P<body>.*?)^(?P=ticks)$",
    re.MULTILINE | re.DOTALL,
)
_VARIES = (
    (re.compile(r"^  slowest\n(?:    .+\n)+\n?", re.MULTILINE), ""),
    (re.compile(r"(?:<|&lt;)1ms|\b\d+(?:\.\d+)?m?s\b"), "TIME"),
    (re.compile(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b|(?<=from the run of )(?:[\d-]+ )?\d\d:\d\d"), "RUN"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)?"), "DATE"),
    (re.compile(r'(?<="day_of_week": ")\w+'), "DAY"),
    (re.compile(r'(?<=_ms": )[\d.]+|(?<=time=")[\d.]+'), "TIME"),
    (re.compile(r"\b(?:linux|darwin)\b|\bx86_64\b|\barm64\b|\b3\.1\d\.\d+\b"), "HERE"),
)


class Fence(NamedTuple):
    """One fence of a page: `mark` is "file", "not run" or "", `about` what stands after it; `start` its body's offset."""

    language: str
    body: str
    start: int
    mark: str
    about: str


class Step(NamedTuple):
    """One command of a page and the output shown under it; `start` and `end` are the output's place in the page."""

    command: str
    shown: str
    start: int
    end: int


def fences(page: str) -> tuple[Fence, ...]:
    """Every fence of a page, in order."""
    return tuple(
        Fence(
            language=found["language"],
            body=found["body"],
            start=found.start("body"),
            mark=found["mark"] or "",
            about=found["about"] or "",
        )
        for found in _FENCE.finditer(page)
    )


def steps(fence: Fence) -> tuple[Step, ...]:
    """The commands of a `console` fence, each with the lines below it."""
    found = list(re.finditer(r"^\$ (.+)\n", fence.body, re.MULTILINE))
    ends = [*(later.start() for later in found[1:]), len(fence.body)][: len(found)]
    return tuple(
        Step(
            command=one[1],
            shown=fence.body[one.end() : end],
            start=fence.start + one.end(),
            end=fence.start + end,
        )
        for one, end in zip(found, ends, strict=True)
    )


def matches(shown: str, real: str) -> bool:
    """Whether a sample matches the real output; `…` alone on a line stands for any lines."""
    pattern = re.escape(_shape(shown))
    return re.fullmatch(re.sub(r"^…\\\n", "(?:.*\\n)*?", pattern, flags=re.MULTILINE), _shape(real)) is not None


def play(page: str, path: str) -> list[tuple[Step, str]]:
    """Run a page in a scratch directory, commands looked up in `path` first: each step with its output, both streams as one."""
    with tempfile.TemporaryDirectory(prefix="mcptest-docs-") as scratch:
        place = Path(scratch).resolve()
        work = place / "work"
        port = _free_port()
        played, script = [], ["exec 2>&1"]
        for number, fence in enumerate(fences(page)):
            if fence.mark == "file":
                (place / str(number)).write_text(fence.body.replace(PORT, port), encoding="utf-8")
                script.append(f"mkdir -p $(dirname {fence.about}); cp ../{number} {fence.about}")
            if fence.language == "console" and fence.mark != "not run":
                for step in steps(fence):
                    played.append(step)
                    script.append(_told(step.command.replace(PORT, port)))
        if not played:
            return []
        shutil.copytree(ROOT / "examples", work / "examples", ignore=shutil.ignore_patterns(".mcptest", "__pycache__"))
        (work / ".mcptest").mkdir()
        outputs = _run("\n".join([*script, r"printf '\036'", ""]), work, path)
        return list(zip(played, (text.replace(port, PORT) for text in outputs), strict=True))


def updated(page: str, path: str) -> str:
    """The page with the real output in place of each sample that does not match it."""
    for step, real in reversed(play(page, path)):
        if not matches(step.shown, real):
            page = page[: step.start] + real + page[step.end :]
    return page


def _shape(text: str) -> str:
    for pattern, word in _VARIES:
        text = pattern.sub(word, text)
    return text


def _told(command: str) -> str:
    """The shell's lines for one command: a mark, then the command with the exit code of the one before in `$?`."""
    lines = f"printf '\\036'; (exit $code)\n{command}"
    if not command.endswith("&"):
        return f"code=$?; {lines}"
    until = "until grep -qs listening ../background; do kill -0 $! || break; sleep 0.05; done"
    waiting = f'{until}; sed "/^listening/q" ../background'
    emptied = "code=$?; : >../background"  # else the words of one before it could be seen in it
    return f"{emptied}; {lines.removesuffix('&')} >../background 2>&1 &\n{waiting}"


def _run(script: str, work: Path, path: str) -> list[str]:
    environ = {key: value for key, value in os.environ.items() if key in {"LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE"}}
    environ |= {
        "PATH": f"{path}:{os.environ['PATH']}",
        "HOME": str(work.parent),
        "TERM": "dumb",
        "COLUMNS": "80",
    }
    ending = "trap 'kill $(jobs -p) 2>/dev/null' EXIT\n"
    done = subprocess.run(
        ["bash", "-c", ending + script],
        cwd=work,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    return done.stdout.split("\036")[1:-1]


def _free_port() -> str:
    """A free port below the ephemeral range, so that no other program gets it before the page uses it."""
    while True:
        port = random.randrange(10_000, 32_000)  # noqa: S311 - it is no secret
        try:
            with socket.create_server(("127.0.0.1", port)):
                return str(port)
        except OSError:
            continue


if __name__ == "__main__":
    wanted = {Path(name).resolve() for name in sys.argv[1:]} or set(PAGES)
    for path in PAGES:
        if path in wanted:
            before = path.read_text(encoding="utf-8")
            after = updated(before, str(Path(sys.executable).parent))
            if after != before:
                path.write_text(after, encoding="utf-8")
                sys.stdout.write(f"updated {path.relative_to(ROOT)}\n")
