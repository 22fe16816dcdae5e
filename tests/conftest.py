"""What every test shares: where the real servers lie, and the installed command."""

from __future__ import annotations

import compileall
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.forked import CAN_START_SIBLINGS, NURSERY, PUBLIC_SERVERS, Nursery, NurseryPopen, can_fork, flush_nothing
from tests.model_fixtures import model_endpoint, models  # noqa: F401 - fixtures for every test that asks a model
from tests.programs import needs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parent.parent
SERVERS = ROOT / "tests" / "servers"
LIMIT_SECONDS = 180
"""That only a command which hangs reaches, also on a machine that is slow and busy."""


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile once what some thousand processes load: most of them write no bytecode, so a fresh checkout would stay slow."""
    if not hasattr(session.config, "workerinput"):
        for folder in (ROOT / "mcptest", ROOT / "mcptest_engine", ROOT / "mcptest_tui", SERVERS):
            compileall.compile_dir(folder, quiet=2)


def pytest_configure() -> None:
    """Processes that the tests start receive every signal, also in the background of a script or under nohup.

    A signal that is ignored is ignored in every child, too; one that has a handler here has none there. This process goes on
    not to be ended by it.
    """
    os.environ.pop("PYTHONUNBUFFERED", None)  # as on most machines, and what has it cannot be forked
    if CAN_START_SIBLINGS:
        subprocess.Popen = NurseryPopen  # type: ignore[misc]
    flush_nothing()
    gc.disable()  # until all is collected, which stays
    _hear_signals()
    _judge_examples_by_what_they_show()


def _judge_examples_by_what_they_show() -> None:
    """And by no time: on a busy machine an example may take any."""
    from hypothesis import HealthCheck, settings

    settings.register_profile(
        "untimed", settings(), deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("untimed")


def pytest_runtest_setup() -> None:
    """The same after a test that ran a command in this process: it ignores signals while it writes its report."""
    _hear_signals()


def _hear_signals() -> None:
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: it isn't looked through again and again for what nobody needs any more.

    What the tests make is looked through as seldom as the engine does it: oftener, a twelfth of a workbench test went into it.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    gc.enable()


@pytest.fixture(scope="session")
def mcptest_command() -> str:
    """The `mcptest` console script of the environment that runs the tests."""
    beside = Path(sys.executable).with_name("mcptest")
    found = str(beside) if beside.exists() else shutil.which("mcptest")
    assert found is not None, "the mcptest command is not installed; run `make setup`"
    return found


@pytest.fixture(scope="session", autouse=True)
def nursery() -> Iterator[Nursery]:
    """Where processes of mcptest and servers of the tests are forked from."""
    with closing(NURSERY):
        yield NURSERY


@pytest.fixture
def public_python_servers(nursery: Nursery) -> None:
    """The servers from PyPI are installed. What mcptest starts of them, or of others with their SDK, is forked."""
    for command in PUBLIC_SERVERS:
        needs(command, hint="run `make setup`")
    nursery.import_public_servers()


@contextmanager
def parallel_http_server() -> Iterator[str]:
    """`servers/parallel.py` over HTTP; gives its URL."""
    with subprocess.Popen(
        [sys.executable, "-S", str(SERVERS / "parallel.py"), "--http"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        process.stdin.close()


@pytest.fixture(params=["stdio", "stdio, stateless", "http", "http, stateless"])
def parallel_server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The settings of `servers/parallel.py` as a suite has them, over each transport and in each lifecycle."""
    way = str(request.param)
    protocol = ', protocol: "2026-07-28"' if "stateless" in way else ""
    if way.startswith("stdio"):
        yield f"command: {json.dumps([sys.executable, '-S', str(SERVERS / 'parallel.py')])}{protocol}"
        return
    with parallel_http_server() as url:
        yield f"url: {url}{protocol}"


@pytest.fixture
def mixing_suite(parallel_server: str) -> str:
    """A suite whose "ann" and "bob" get each other's answers beside each other, and pass alone."""
    tests = "".join(
        f"  - {{ name: {who}, tool: mix, args: {{ who: {who} }}, "
        f'expect: [{{ target: "result.content[0].text", matcher: {{ exact: {who} }} }}] }}\n'
        for who in ("ann", "bob")
    )
    return f"servers: {{ s: {{ {parallel_server} }} }}\ntools:\n{tests}"


@pytest.fixture
def clean_environ(tmp_path: Path) -> dict[str, str]:
    """This environment without what would change a run: CI, colours, the user's home."""
    environ = {key: value for key, value in os.environ.items() if key not in {"CI", "FORCE_COLOR", "NO_COLOR"}}
    return {**environ, "HOME": str(tmp_path / "home"), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def mcptest(
    mcptest_command: str, nursery: Nursery, tmp_path: Path, clean_environ: dict[str, str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command in `tmp_path` as a process of its own, with its output captured."""

    def run(*arguments: str, cwd: Path = tmp_path, **environ: str) -> subprocess.CompletedProcess[str]:
        (cwd / ".mcptest").mkdir(exist_ok=True)  # a workspace of its own, whatever lies further up
        argv, env = [mcptest_command, *arguments], {**clean_environ, **environ}
        if can_fork(env):
            return nursery.run(argv, cwd=cwd, env=env, timeout=LIMIT_SECONDS)
        return subprocess.run(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=LIMIT_SECONDS,
            check=False,
        )

    return run
