"""The start directory of the engine process, its environment, and the workspace."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.engine_process.protocol import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.engine_process.workbench_events import Send
    from mcptest_engine.suite.load import CheckedSuite, LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace


class Surroundings:
    """The directory, environment and workspace in which suites are read and run; set once, by the command `hello`."""

    def __init__(self) -> None:
        self._workspace: Workspace | None = None

    def settle(self, cwd: str | None, environ: Mapping[str, str] | None) -> None:
        """Work in `cwd`, with `environ` as the whole environment. Raises: Refused for a directory that cannot be entered."""
        if environ is not None:
            os.environ.clear()
            os.environ.update(environ)
        if cwd is not None:
            try:
                os.chdir(cwd)
            except OSError as wrong:
                raise Refused(f"cannot work in {cwd}: {wrong.strerror or wrong}") from None
        self._workspace = None

    @property
    def start_dir(self) -> Path:
        return Path.cwd()

    @property
    def environ(self) -> dict[str, str]:
        return dict(os.environ)

    @property
    def workspace(self) -> Workspace:
        """The workspace of the start directory; found anew while it has no data directory, which a first run creates."""
        from mcptest_engine.workspace.workspace import find_workspace

        if self._workspace is None or not self._workspace.data_dir.exists():
            self._workspace = find_workspace(self.start_dir)
        return self._workspace

    def absolute(self, path: str) -> Path:
        return Path(os.path.abspath(self.start_dir / path))  # noqa: PTH100  (resolve() would follow links)

    async def remember_catalog(
        self,
        suite: Path,
        server: str,
        target: str,
        catalog: Mapping[str, object],
        send: Send,
    ) -> None:
        """Store the catalog of a server of a suite; send an event if it was stored."""
        from mcptest_engine.workspace.catalogs import remember_catalog

        if await asyncio.to_thread(remember_catalog, self.workspace.data_dir, str(suite), server, target, catalog):
            send({"event": "catalog.remembered", "path": str(suite), "server": server})

    def check(self, path: Path, variables: Mapping[str, str] | None = None) -> CheckedSuite:
        """Read the suite at `path`, with all its problems."""
        from mcptest_engine.running.documents import suite_options
        from mcptest_engine.suite.load import check_suite

        options = suite_options(path, start_dir=self.start_dir, environ=self.environ, variables=variables)
        return check_suite(path, options)

    def load(self, path: Path, variables: Mapping[str, str] | None = None) -> LoadedSuite:
        """Load the suite at `path`. Raises: Refused, with the problems of a suite that has errors."""
        checked = self.check(path, variables)
        if checked.suite is not None:
            return checked.suite
        from mcptest_engine.core.text import counted
        from mcptest_engine.running.documents import problems_shown

        problems = [item.to_json() for item in problems_shown(checked, path)]
        first = checked.errors[0]
        raise Refused(
            f"{path.name} has {counted(len(checked.errors), 'problem')}: {first.message}",
            hint=first.hint,
            kind="suite",
            problems=problems,
        )
