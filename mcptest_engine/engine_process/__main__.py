"""The process: its descriptors, its signals, and its end, which leaves no server behind, whatever ends it."""

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
"""How long the servers may take to go when the process ends; what is left of them then is killed."""
LAST_SECONDS = 0.3
"""How long it may take after that to keep what a run that was cut short has found."""
_STUCK_SECONDS = 3.0
_READ_BYTES = 256 * 1024


def main() -> None:
    """Serve until stdin ends, then leave."""
    commands, lines = _own_descriptors()
    import gc

    survive_stray_signals()
    gc.set_threshold(100_000, 20, 100)  # records and catalogs live long, and nothing that runs often makes cycles
    threading.Thread(target=_outlive, args=(commands,), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(commands, lines))
    leave(0)


def leave(code: int) -> None:
    """End now: kill whatever is left of the servers, and wait neither for threads nor for the interpreter to be taken apart."""
    import atexit

    atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


def _own_descriptors() -> tuple[int, int]:
    """Stdin and stdout under other numbers, that nobody but the protocol reads or writes them; descriptor 1 is stderr then."""
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
    leave(0)  # not by way of `asyncio.run`, which would wait for what still hangs


def _read(descriptor: int, service: Service, over: asyncio.Event) -> None:
    """Hand every line to the service as it comes; the end of the input ends the process."""
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
    except PermissionError:  # a file, which is always ready and which the loop cannot watch
        while not over.is_set():
            ready()


def _outlive(commands: int) -> None:
    """End the process when its input is gone and the loop, stuck in something, does not notice."""
    poll = select.poll()
    poll.register(commands, 0)  # a hang-up is told unasked
    while not any(happened & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, happened in poll.poll()):
        pass
    threading.Event().wait(_STUCK_SECONDS)
    leave(1)


if __name__ == "__main__":
    main()
