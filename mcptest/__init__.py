"""Test MCP servers from Python: run suites, or call a server and check its answers.

    import mcptest

    record = mcptest.run("mcptest.yaml")
    assert record.verdict == "pass"

    with mcptest.connect("python server.py") as server:
        server.call("add", a=1, b=2).expect("structured.result", exact=3)

What `__all__` names is the public API; docs/reference/stability.md says what stays compatible. A name is imported when it is
first used, so that `import mcptest` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcptest.server import (
        CallFailed,
        Connection,
        ExpectationFailed,
        ProtocolError,
        Result,
        Server,
        SyncServer,
        connect,
    )
    from mcptest.suites import McptestWarning, load, run, run_async
    from mcptest_engine import __version__
    from mcptest_engine.core.errors import (
        CallTimeout,
        InvalidResult,
        McptestError,
        ServerDidNotStart,
        ServerDied,
        ServerError,
        SuiteError,
        UsageError,
    )
    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.suite.load import LoadedSuite as Suite

__all__ = [
    "CallFailed",
    "CallTimeout",
    "Connection",
    "ExpectationFailed",
    "InvalidResult",
    "McptestError",
    "McptestWarning",
    "ProtocolError",
    "Result",
    "RunRecord",
    "Server",
    "ServerDidNotStart",
    "ServerDied",
    "ServerError",
    "Suite",
    "SuiteError",
    "SyncServer",
    "TestResult",
    "UsageError",
    "__version__",
    "connect",
    "load",
    "run",
    "run_async",
]

_ERRORS = "mcptest_engine.core.errors"
_HOMES = {
    "CallFailed": "mcptest.server",
    "CallTimeout": _ERRORS,
    "Connection": "mcptest.server",
    "ExpectationFailed": "mcptest.server",
    "InvalidResult": _ERRORS,
    "McptestError": _ERRORS,
    "McptestWarning": "mcptest.suites",
    "ProtocolError": "mcptest.server",
    "Result": "mcptest.server",
    "RunRecord": "mcptest_engine.core.run_record",
    "Server": "mcptest.server",
    "ServerDidNotStart": _ERRORS,
    "ServerDied": _ERRORS,
    "ServerError": _ERRORS,
    "SuiteError": _ERRORS,
    "SyncServer": "mcptest.server",
    "TestResult": "mcptest_engine.core.results",
    "UsageError": _ERRORS,
    "__version__": "mcptest_engine",
    "connect": "mcptest.server",
    "load": "mcptest.suites",
    "run": "mcptest.suites",
    "run_async": "mcptest.suites",
}


def __getattr__(name: str) -> Any:
    if name == "Suite":
        return import_module("mcptest_engine.suite.load").LoadedSuite
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module `mcptest` has no attribute `{name}`")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
