"""Many agents at once in one workspace: front doors over pipes and `mcptest run`, all of them running suites and reading runs.

    python -m tests.soak.doors --clients 10 --runs 1000

Afterwards every run that somebody was told of has to be there, whole, and the one that was told of, and nothing besides.
Prints what it found; exits with 1 when something is lost, torn or left over.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.front_door.conftest import Door

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SUITE = """\
servers: { mock: { command: [mcptest, mock, --preset, demo] } }
tools:
  - { name: "of WHO", tool: status }
  - { name: fails, tool: status, expect: [{ target: "result.content[0].text", matcher: { contains: degraded } }] }
"""
COMMAND_LINES = 0.3
"""The part of the clients that are command lines."""


@dataclass(slots=True)
class Found:
    """The result: the suite text of each run, and every problem as text."""

    told: dict[str, str] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    seconds: float = 0.0


def soak(command: str, folder: Path, *, clients: int, runs: int) -> Found:
    """Let `clients` make `runs` runs together in the workspace `folder`, and look at what is there afterwards."""
    (folder / ".mcptest").mkdir(parents=True)
    lines = max(round(clients * COMMAND_LINES), 1)
    shares = [runs // clients + (number < runs % clients) for number in range(clients)]
    work = [_command_lines if number < lines else _front_door for number in range(clients)]
    started = time.monotonic()
    with ThreadPoolExecutor(clients) as pool:
        ended = list(pool.map(lambda n: work[n](command, folder, f"client-{n}", shares[n]), range(clients)))
    found = Found(seconds=time.monotonic() - started)
    for told in ended:
        found.told |= told.told
        found.troubles += told.troubles
    if len(found.told) != runs:
        found.troubles.append(f"{len(found.told)} runs were told of, and {runs} were asked for")
    found.troubles += _troubles_of_files(folder, found.told)
    found.troubles += _troubles_of_list(command, folder, found.told)
    return found


def _front_door(command: str, folder: Path, who: str, runs: int) -> Found:
    found = Found()
    with _door(command, folder, who) as process:
        door = Door(process)
        for number in range(runs):
            text = SUITE.replace("WHO", f"{who}, number {number}")
            ran = door.call("run_tool_test", suite=text)
            found.told[ran["run_id"]] = text
            kept = door.call("get_run", run_id=ran["run_id"])
            listed = {run["run_id"] for run in door.call("list_runs", limit=50)["runs"]}
            if ran["failed"] != 1 or [test["name"] for test in kept["tests"]] != [
                row["name"] for row in ran["results"]
            ]:
                found.troubles.append(f"{who}: the run {ran['run_id']} is another one")
            if not listed:
                found.troubles.append(f"{who}: no run is listed")
        if door.end() != 0:
            found.troubles.append(f"{who}: the front door ended with {process.returncode}")
    return found


def _command_lines(command: str, folder: Path, who: str, runs: int) -> Found:
    found = Found()
    for number in range(runs):
        text = SUITE.replace("WHO", f"{who}, number {number}")
        path = folder / f"{who}.yml"
        path.write_text(text)
        done = subprocess.run(
            [command, "run", path.name, "--reporter", "json"], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode != 1:
            found.troubles.append(f"{who}: mcptest run ended with {done.returncode}: {done.stderr[-300:]}")
            continue
        found.told[json.loads(done.stdout)["run_id"]] = text
    return found


def _door(command: str, folder: Path, who: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [command, "mcp-server", "--enable-writes"],
        cwd=folder,
        env={**os.environ, "NAME_OF_CLIENT": who},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )


def _troubles_of_files(folder: Path, told: dict[str, str]) -> Iterator[str]:
    data = folder / ".mcptest"
    names = {path.name for path in (data / "runs").iterdir()}
    for name in sorted(names - {f"{run_id}.json" for run_id in told}):
        yield f"runs/{name} is left over"
    for run_id, text in told.items():
        try:
            record: dict[str, Any] = json.loads((data / "runs" / f"{run_id}.json").read_bytes())
        except (OSError, ValueError) as wrong:
            yield f"the run {run_id} is lost or torn: {wrong}"
            continue
        if record["run_id"] != run_id or f'"{record["tests"][0]["name"]}"' not in text:
            yield f"the run {run_id} holds another one"
        inline = data / "inline" / f"{run_id}.yml"
        if record["suite"]["path"].startswith(".mcptest/inline/") and inline.read_text() != text:
            yield f"the suite of {run_id} is another one"
    for path in (data / "inline").iterdir():
        if path.stem not in told or path.suffix != ".yml":
            yield f"inline/{path.name} is left over"


def _troubles_of_list(command: str, folder: Path, told: dict[str, str]) -> Iterator[str]:
    listed: list[str] = []
    with _door(command, folder, "the last") as process:
        door = Door(process)
        more: dict[str, Any] = {}
        while True:
            page = door.call("list_runs", limit=200, **more)
            listed += [run["run_id"] for run in page["runs"] if "omitted" not in run]
            if "next_cursor" not in page:
                break
            more = {"cursor": page["next_cursor"]}
        door.end()
    if listed != sorted(told, reverse=True):
        yield f"list_runs gives {len(listed)} runs, {len(set(listed) & told.keys())} of them of these {len(told)}"


def main(words: Sequence[str] | None = None) -> int:
    """Run it with the flags in `words` and print the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--runs", type=int, default=1_000)
    flags = parser.parse_args(words)
    command = str(Path(sys.executable).with_name("mcptest"))
    with tempfile.TemporaryDirectory() as folder:
        found = soak(command, Path(folder) / "workspace", clients=flags.clients, runs=flags.runs)
    sys.stdout.write("".join(f"{trouble}\n" for trouble in found.troubles[:50]))
    told = f"{flags.clients} clients, {len(found.told)} runs in {found.seconds:.0f} s"
    sys.stdout.write(f"{told}: {len(found.troubles) or 'no'} lost, torn or left over\n")
    return 1 if found.troubles else 0


if __name__ == "__main__":
    sys.exit(main())
