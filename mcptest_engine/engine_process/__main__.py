"""Start and end the engine process: descriptors, signals, and an exit that leaves no server running."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import sys
import threading

from mcptest_engine.core.environment import survive_stray_signals
from mcptest_engine.engine_process.protocol import Lines, Output
from mcptest_engine.engine_process.service import Service

POLITE_SECONDS = 0.45
"""How long the servers may take to exit when the process ends; those still running are then killed."""
LAST_SECONDS = 0.3
"""How long an interrupted run may take after `POLITE_SECONDS` to save its results."""
_STUCK_SECONDS = 3.0
_READ_BYTES = 256 * 1024


def main() -> None:
    """Carry out commands until stdin ends, then exit."""
    commands, lines = _own_descriptors()
    import gc

    survive_stray_signals()
    # records and catalogs live long, and hardly any frequent object is part of a cycle
    gc.set_threshold(100_000, 20, 100)
    threading.Thread(target=_exit_if_stuck, args=(commands,), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(commands, lines))
    leave(0)


def leave(code: int) -> None:
    """Exit now: kill the remaining servers, and wait neither for threads nor for the interpreter's cleanup."""
    import atexit

    atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


def _own_descriptors() -> tuple[int, int]:
    """Move stdin and stdout to other descriptors, so that only the protocol uses them; descriptor 1 becomes stderr."""
    commands, lines = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without a stderr
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
    os.close(nothing)
    sys.stdout = sys.stderr
    return commands, lines


async def _serve(commands: int, lines: int) -> None:
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, over.set)
    output = Output(lines, loop, over.set)
    service = Service(output)
    _read(commands, service, over)
    await over.wait()
    closing = asyncio.ensure_future(service.close())
    await asyncio.wait((closing,), timeout=POLITE_SECONDS)
    if not closing.done():
        from mcptest_engine.servers.guardian import kill_all

        kill_all()
        await asyncio.wait((closing,), timeout=LAST_SECONDS)
    output.finish()
    leave(0)  # returning to `asyncio.run` would wait for tasks that still hang


def _read(descriptor: int, service: Service, over: asyncio.Event) -> None:
    """Pass every line to the service as it arrives; the end of the input ends the process."""
    loop, lines = asyncio.get_running_loop(), Lines()

    def ready() -> None:
        try:
            data = os.read(descriptor, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        for line in lines.feed(data) if data else [lines.rest()]:
            service.received(line)
        if not data:
            loop.remove_reader(descriptor)
            over.set()

    try:
        loop.add_reader(descriptor, ready)
    except PermissionError:  # a file, which is always readable and which the loop cannot watch
        while not over.is_set():
            ready()


def _exit_if_stuck(commands: int) -> None:
    """Exit when stdin has ended and the event loop is blocked, so that it does not notice; runs in a thread."""
    poll = select.poll()
    poll.register(commands, 0)  # poll always reports a hang-up
    while not any(happened & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, happened in poll.poll()):
        pass
    threading.Event().wait(_STUCK_SECONDS)
    leave(1)


if __name__ == "__main__":
    main()
