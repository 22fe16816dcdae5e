"""Programs from elsewhere that some tests run: found, or the test is skipped with the reason; under CI it fails instead.

`make setup` installs those from PyPI, `make npm` those from npm (into `tests/e2e/node_modules`, with a Node of their own,
because the conformance suite needs a newer one than many systems have), `make mcp1` the MCP SDK 1.x (into `build/mcp1`),
and the system's package manager the rest.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
NODE_MODULES = ROOT / "tests" / "e2e" / "node_modules"


def needs(program: str, *, hint: str = "install it with the system's package manager") -> str:
    """The path of `program`, from PATH or from the environment that runs the tests."""
    found = shutil.which(program, path=search_path())
    if found is None:
        unavailable(f"{program} is not installed; {hint}")
    return found


def needs_one_of(*programs: str, hint: str, runs: Callable[[str], bool] = bool) -> str:
    """The path of the first of these programs that is installed and, when tried by `runs`, does."""
    paths = (shutil.which(program, path=search_path()) for program in programs)
    found = next((path for path in paths if path is not None and runs(path)), None)
    if found is None:
        unavailable(f"none of {', '.join(programs)} is installed; {hint}")
    return found


def needs_npm(program: str) -> str:
    """The path of a program that `make npm` installs, which also needs a Node to run."""
    found = shutil.which(program, path=str(NODE_MODULES / ".bin"))
    if found is None:
        unavailable(f"{program} is not installed; run `make npm`")
    needs("node", hint="run `make npm`, which brings one for Linux and macOS")
    return found


def needs_mcp1(program: str = "python") -> str:
    """The path of a program of the environment that `make mcp1` makes, in which the MCP SDK is 1.x."""
    found = ROOT / "build" / "mcp1" / "bin" / program
    if not found.exists():
        unavailable("mcptest is not installed beside mcp 1.x; run `make mcp1`")
    return str(found)


def search_path() -> str:
    """A PATH on which the programs of `make npm` come first, with their own Node, then those beside this Python."""
    nodes = [str(path) for path in sorted(NODE_MODULES.glob("node-*/bin")) if (path / "node").exists()]
    return os.pathsep.join([*nodes, str(NODE_MODULES / ".bin"), str(Path(sys.executable).parent), os.environ["PATH"]])


def in_ci() -> bool:
    """Whether this runs under CI, where everything is there and nothing may be skipped."""
    return os.environ.get("CI", "").lower() not in {"", "0", "false"}


def unavailable(reason: str) -> NoReturn:
    """Skip the test for `reason`; under CI fail it."""
    if in_ci():
        pytest.fail(f"under CI nothing is skipped: {reason}", pytrace=False)
    pytest.skip(reason)
