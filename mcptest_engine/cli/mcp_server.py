"""`mcptest mcp-server`: mcptest as an MCP server over stdio, and `--install`, which registers it with an agent."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcptest_engine.core.errors import ExitCode, UsageError

if TYPE_CHECKING:
    import asyncio

    from mcptest_engine.front_door.door import Door


@click.command("mcp-server")
@click.option("--enable-writes", is_flag=True, help="Also offer the tools that start servers and call their tools.")
@click.option("--install", "wants_install", is_flag=True, help="Add mcptest to the settings of an agent, and exit.")
@click.option(
    "--install-path", type=click.Path(), metavar="FILE", help="The file of these settings. [default: .claude/mcp.json]"
)
@click.option(
    "--allow-env",
    multiple=True,
    metavar="NAME",
    help="Allow the agent to send this environment variable as a token; repeatable. MCP_… and MCPTEST_… are "
    "always allowed.",
)
@click.option("--workspace", type=click.Path(), metavar="DIR", help="The workspace. [default: the current directory]")
def command(
    enable_writes: bool,
    wants_install: bool,
    install_path: str | None,
    allow_env: tuple[str, ...],
    workspace: str | None,
) -> None:
    """Run mcptest as an MCP server for a coding agent, over stdio until stdin is closed.

    \b
    Example:
      mcptest mcp-server --install --enable-writes
    """
    root = Path(workspace) if workspace is not None else Path.cwd()
    if not root.is_dir():
        raise UsageError(f"`{root}` is not a directory")
    if wants_install or install_path is not None:
        file = None if install_path is None else Path(install_path)
        _install(root, file, enable_writes=enable_writes, allow_env=allow_env)
        return
    if sys.stdin is None:
        raise UsageError("stdin is closed: `mcptest mcp-server` needs stdin and stdout for MCP; an agent starts it")
    if sys.stdin.isatty():
        sys.stderr.write("mcptest mcp-server uses stdin and stdout for MCP; an agent starts it. Ctrl-D ends it\n")
    _serve(str(root), enable_writes=enable_writes, allowed_env=frozenset(allow_env))


def _serve(root: str, *, enable_writes: bool, allowed_env: frozenset[str]) -> None:
    import asyncio

    from mcptest_engine.cli.ending import ending_on_signals
    from mcptest_engine.front_door.server import open_door, serve

    door = open_door(root, writes_enabled=enable_writes, allowed_env=allowed_env)

    async def main() -> None:
        with ending_on_signals(_Leaving(door), quietly=True):
            await serve(door)

    asyncio.run(main())


class _Leaving:
    """Called by a signal: end the runs, save their records, and exit, whatever the client still sends.

    The process exits without unwinding: a thread that waits for stdin cannot be interrupted.
    """

    def __init__(self, door: Door) -> None:
        self._door = door
        self._task: asyncio.Task[None] | None = None

    def cancel(self) -> None:
        import asyncio

        self._task = asyncio.ensure_future(self._leave())

    async def _leave(self) -> None:
        from mcptest_engine.servers.guardian import kill_all

        try:
            await self._door.runs.end()
        finally:
            kill_all()
            os._exit(ExitCode.INTERRUPTED)


def _install(root: Path, path: Path | None, *, enable_writes: bool, allow_env: tuple[str, ...]) -> None:
    from mcptest_engine.core.sanitise import one_line
    from mcptest_engine.front_door.install import install
    from mcptest_engine.workspace.workspace import find_workspace

    workspace = find_workspace(root.absolute()).root
    done = install(workspace, path, writes_enabled=enable_writes, allowed_env=allow_env)
    action = "wrote" if done.changed else "nothing to change in"
    sys.stdout.write(f"{action} {one_line(os.path.relpath(done.path))}\n")
    if done.backup is not None:
        sys.stdout.write(f"the previous text is saved in {one_line(os.path.relpath(done.backup))}\n")
    allowed = "the tools that only read; --enable-writes adds those that run tests"
    if enable_writes:
        allowed = (
            "all tools, including those that start programs and call tools of servers; without --enable-writes, "
            "only those that read"
        )
    sys.stdout.write(f"`mcptest` offers {allowed}. Restart the agent, or reload its configuration.\n")
    if path is None:
        sys.stdout.write("For a client that reads `.mcp.json`: mcptest mcp-server --install --install-path .mcp.json\n")
