"""Runs `mcptest mock` after its options are parsed: loads the manifest, chooses the transport.

Used by the command line's command and by `python -m mcptest_engine.mock`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.errors import ExitCode, McptestError, UsageError, did_you_mean
from mcptest_engine.core.sanitise import sanitise
from mcptest_engine.mock.faults import FaultCounter, parse_fault
from mcptest_engine.mock.log import LOG_LEVELS, Log, LogLevel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.mock.http import Address
    from mcptest_engine.mock.manifest import Manifest


class MockOptions(NamedTuple):
    """The options of the command line; exactly one of `tools_from` and `preset` is required."""

    tools_from: str | None = None
    preset: str | None = None
    fault: str = "none"
    http: str | None = None
    require_bearer_env: str | None = None
    log_level: str = "warning"


def run_mock(options: MockOptions, environ: Mapping[str, str]) -> int:
    """Serve until the client leaves or a signal arrives; return the exit code: 2, with a message on stderr, for bad options."""
    try:
        return _serve(options, environ)
    except McptestError as wrong:
        hint = f"\n  {wrong.hint}" if wrong.hint else ""
        sys.stderr.write(sanitise(f"{wrong}{hint}\n"))
        return ExitCode.INVALID


def _serve(options: MockOptions, environ: Mapping[str, str]) -> int:
    log = Log(_log_level(options.log_level))
    faults = FaultCounter(parse_fault(options.fault))
    address, token = _address(options), _token(options, environ)
    manifest = _manifest(options)
    from mcptest_engine.mock.server import Session

    if address is None:
        from mcptest_engine.mock.stdio import serve_stdio

        if sys.stdin is None:
            raise UsageError("stdin is closed: without --http, the mock server needs stdin and stdout for MCP")
        code = serve_stdio(Session(manifest, faults), log)
        sys.stderr.flush()
        os._exit(code)  # the client waits for the exit, and the interpreter's cleanup would take another 10 ms
    from mcptest_engine.mock.http import serve_http

    if not address.is_loopback:
        log.warning(f"listening on {address.host}: other machines may connect")
    return serve_http(lambda: Session(manifest, faults), log, address=address, token=token, announce=announce)


def _manifest(options: MockOptions) -> Manifest:
    match options.tools_from, options.preset:
        case str() as path, None:
            from mcptest_engine.mock.reading import load_manifest

            return load_manifest(Path(path))
        case None, str() as preset:
            from mcptest_engine.mock.presets import load_preset

            return load_preset(preset)
        case None, None:
            raise UsageError("nothing to serve", hint="give --tools-from PATH or --preset NAME")
        case _:
            raise UsageError("give --tools-from or --preset, not both")


def _address(options: MockOptions) -> Address | None:
    if options.http is None:
        return None
    from mcptest_engine.mock.http import parse_address

    return parse_address(options.http)


def _token(options: MockOptions, environ: Mapping[str, str]) -> str | None:
    name = options.require_bearer_env
    if name is None:
        return None
    if options.http is None:
        raise UsageError("--require-bearer-env needs --http: there are no headers over stdio")
    if not environ.get(name):
        raise UsageError(f'the environment variable "{name}" of --require-bearer-env is not set or is empty')
    return environ[name]


def _log_level(word: str) -> LogLevel:
    if word not in LOG_LEVELS:
        hint = did_you_mean(word, LOG_LEVELS) or f"known levels: {', '.join(LOG_LEVELS)}"
        raise UsageError(f'unknown log level "{word}"', hint=hint)
    return LogLevel[word.upper()]


def announce(url: str) -> None:
    sys.stderr.write(f"listening on {url}\n")
    sys.stderr.flush()
