"""The pytest plugin: suites are collected as tests, and the fixture `mcp_server` calls a server from Python tests.

pytest loads this module at every start, also without any suite, so it imports neither the engine nor asyncio at the top.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcptest.server import Server, SyncServer

SUITE_NAMES = ("mcptest.yaml", "mcptest.yml")
_SCHEMA_LINE = b"# yaml-language-server: $schema="
_HEAD_BYTES = 512


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the plugin's flags to pytest."""
    group = parser.getgroup("mcptest", "MCP servers (mcptest)")
    group.addoption(
        "--mcptest-var", action="append", default=[], metavar="K=V", help="Set a variable of the suites; repeatable."
    )
    group.addoption("--mcptest-update-snapshots", action="store_true", help="Accept the current answers as snapshots.")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker that a suite's tests have besides their tags."""
    config.addinivalue_line("markers", "mcptest: a test of an mcptest suite (each of its tags is a marker too)")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a suite: named on the command line, called `mcptest.yaml` or `mcptest.yml`, or a YAML file with mcptest's schema
    line.
    """
    is_yaml = file_path.suffix in (".yml", ".yaml")
    if not is_yaml and file_path.suffix != ".json":
        return None
    if not parent.session.isinitpath(file_path) and not (is_yaml and _is_suite(file_path)):
        return None
    from mcptest.pytest_suites import SuiteFile

    return SuiteFile.from_parent(parent, path=file_path)


def _is_suite(path: Path) -> bool:
    if path.name in SUITE_NAMES:
        return True
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    line = next((line for line in head.splitlines() if line.startswith(_SCHEMA_LINE)), b"")
    return b"mcptest" in line or b"suite.schema.json" in line


@pytest.fixture
def mcp_app() -> Any:
    """The server that `mcp_server` calls. Override it with a FastMCP or Server object, a command, a URL, or a suite's block."""
    pytest.fail(
        "the fixture `mcp_server` needs a server: define a fixture `mcp_app` that returns a FastMCP or Server object, "
        "a command, or a URL",
        pytrace=False,
    )


@pytest.fixture
def mcp_server(request: pytest.FixtureRequest, mcp_app: object) -> Iterator[Server | SyncServer]:
    """The server of `mcp_app`, opened by the first call and ended after the test.

    An `async def` test awaits its calls; a plain test calls without `await`.
    """
    from mcptest.server import SyncServer, open_server
    from mcptest_engine.workspace.slug import slug
    from mcptest_engine.workspace.workspace import find_workspace

    workspace = find_workspace(request.config.rootpath)
    file = workspace.relative(request.path)
    server = open_server(
        mcp_app,
        snapshots=workspace.snapshots_dir / f"{slug(file.removesuffix('.py'))}.yml",
        update_snapshots=request.config.getoption("mcptest_update_snapshots"),
        test=request.node.nodeid.partition("::")[2],
    )
    if inspect.iscoroutinefunction(inspect.unwrap(request.function)):
        yield server
        server.close()
        return
    plain = SyncServer(server)
    yield plain
    plain.close()


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an `async def` test that uses `mcp_server`, where no other plugin does."""
    server: Any = pyfuncitem.funcargs.get("mcp_server")
    if server is None or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    import asyncio

    names = inspect.signature(pyfuncitem.obj).parameters

    async def run() -> None:
        try:
            await pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names if name in pyfuncitem.funcargs})
        finally:
            await server.aclose()

    asyncio.run(run())
    return True
