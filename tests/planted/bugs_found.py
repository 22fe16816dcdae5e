"""Small servers with one realistic bug each, and suites of growing strength: which suite finds which bug.

`servers/` has a server for each of some domains. `python tests/planted/servers/tickets.py` is correct; with `--bug NAME` it has
one bug, which is a subclass of a few lines at the end of the file. Its docstring says what happened in life.

`suites/` has for each domain seven suites that pass on the correct server. Five are what people of growing diligence write:

1. the calls succeed;
2. the answers have the right shape;
3. a few important values are right, too;
4. most values are right, and there are more calls;
5. whole answers are right, but for what changes from run to run, and what a call changed is looked at.

The other two are extremes: `wide` has all calls of the fifth and no assertions, `deep` has its first two tests and no others.

The suites of a domain were written before its bugs, so that no suite aims at a bug. `found.json` says of every suite and every
bug of its domain whether the suite finds it, that is whether its run fails. It is a measure for whatever estimates how much a
suite proves. `python -m tests.planted.bugs_found` makes it anew, which takes two minutes.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
from pathlib import Path

from mcptest_engine.running.launch import launch
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.suite.load import LoadOptions, load_suite
from mcptest_engine.workspace.workspace import Workspace

HERE = Path(__file__).resolve().parent
FOUND = HERE / "found.json"
DOMAINS = tuple(sorted(path.stem for path in (HERE / "servers").glob("*.py") if path.stem != "planted"))
LEVELS = ("1", "2", "3", "4", "5", "wide", "deep")
_BUG = re.compile(r'^class (\w+)\((?!Server\b)\w+\):\n    """(.+)"""$', re.MULTILINE)
_PASSED, _FAILED = 0, 1


def bugs_of(domain: str) -> dict[str, str]:
    """The bugs of a domain's server by their names, with what happened in life."""
    return dict(_BUG.findall((HERE / "servers" / f"{domain}.py").read_text(encoding="utf-8")))


def suite_of(domain: str, level: str) -> Path:
    """The file of a suite."""
    return HERE / "suites" / f"{domain}-{level}.yml"


async def failed_tests(domain: str, path: Path, bug: str | None, folder: Path) -> list[str]:
    """Run a suite on the correct server, or on the one with this bug: the names of the tests that fail."""
    server = (sys.executable, "-S", str(HERE / "servers" / f"{domain}.py"), *(() if bug is None else ("--bug", bug)))
    environ = {"PATH": os.environ["PATH"]}
    options = LoadOptions(variables={}, environ=environ, workspace_root=folder)
    suite = load_suite(path, options)
    settings = RunSettings(server_command=server, environ=environ)
    async with asyncio.timeout(180):
        record = await launch(suite, settings, workspace=Workspace(folder), emit=lambda _event: None)
    if record.exit_code not in (_PASSED, _FAILED):
        raise RuntimeError(f"{path.stem} of {domain} with {bug}: the run ended with {record.exit_code}")
    failed = [test.name for test in record.tests if test.verdict == "fail"]
    return failed or ["(the run)"] * record.exit_code


async def find_bugs(folder: Path) -> dict[str, dict[str, dict[str, bool]]]:
    """Whether each suite finds each bug, as domain, level, bug. Raises: RuntimeError if a suite fails on the correct server."""
    found: dict[str, dict[str, dict[str, bool]]] = {}
    for domain in DOMAINS:
        for level in LEVELS:
            if failed := await failed_tests(domain, suite_of(domain, level), None, folder):
                raise RuntimeError(f"{domain}-{level} fails on the correct server: {failed}")
            row = {
                bug: bool(await failed_tests(domain, suite_of(domain, level), bug, folder))
                for bug in sorted(bugs_of(domain))
            }
            found.setdefault(domain, {})[level] = row
    return found


def render_table(found: dict[str, dict[str, dict[str, bool]]]) -> str:
    """The share of bugs that each level finds, by domain and together."""
    lines = [f"{'':12}{'bugs':>6}" + "".join(f"{level:>7}" for level in LEVELS)]
    for name in (*found, "together"):
        rows = [found[domain] for domain in (found if name == "together" else [name])]
        levels = [[hit for row in rows for hit in row[level].values()] for level in LEVELS]
        shares = "".join(f"{sum(hits) / len(hits):>7.0%}" for hits in levels)
        lines.append(f"{name:12}{len(levels[0]):>6}{shares}")
    return "\n".join(lines)


def main() -> None:
    """Run everything, write `found.json` and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(find_bugs(Path(folder)))
    FOUND.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(render_table(found))


if __name__ == "__main__":
    main()
