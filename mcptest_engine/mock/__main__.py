"""`python -m mcptest_engine.mock`: the options of `mcptest mock` without the rest of the command line."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from mcptest_engine.mock.faults import SPELLINGS
from mcptest_engine.mock.log import LOG_LEVELS
from mcptest_engine.mock.main import MockOptions, run_mock

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Read the options and serve; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m mcptest_engine.mock", description="Serve a mock MCP server.", allow_abbrev=False
    )
    parser.add_argument("--tools-from", metavar="PATH", help="a YAML manifest, or a .json tools/list snapshot")
    parser.add_argument("--preset", metavar="NAME", help="a built-in catalog, such as demo")
    parser.add_argument("--fault", metavar="KIND", default="none", help=f"one of {', '.join(SPELLINGS)}")
    parser.add_argument("--http", metavar="[HOST:]PORT", help="serve Streamable HTTP; port 0 picks one")
    parser.add_argument("--require-bearer-env", metavar="NAME", help="answer 401 without the token in this variable")
    parser.add_argument("--log-level", metavar="LEVEL", default="warning", help=f"one of {', '.join(LOG_LEVELS)}")
    return run_mock(MockOptions(**vars(parser.parse_args(argv))), os.environ)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
