"""What a worker of the cluster is asked to do. Imported there, so it imports nothing that it does not need."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from typing import Any

from mcptest_engine import __version__

STOP_POLL_SECONDS = 0.5


def probe(directory: str, suite: str) -> dict[str, Any]:
    """What has to be alike on every worker: the version, and that the suite is where it is."""
    there = os.path.isfile(os.path.join(directory, suite))  # noqa: PTH113, PTH118 - pathlib is not needed for it
    return {"mcptest": __version__, "host": socket.gethostname(), "suite": there}


def run_batch(asked: dict[str, Any], stop: str) -> dict[str, Any]:
    """Run one shard in a child; {"record"} or {"error", "hint"}. `stop` names the event that calls the run off."""
    if asked["version"] != __version__:
        return {"error": f"a worker has mcptest {__version__}, and this is {asked['version']}", "hint": None}
    argv = [sys.executable, "-m", "mcptest_engine.cli.cluster.batch"]
    child = subprocess.Popen(
        argv,
        cwd=asked["directory"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert child.stdin is not None
    child.stdin.write(json.dumps(asked).encode() + b"\n")
    child.stdin.flush()
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(child, stop, done, _client()), daemon=True)
    watcher.start()
    out, err = _outputs(child)
    done.set()
    try:
        told: dict[str, Any] = json.loads(out)
    except ValueError:
        tail = err.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"exit code {child.returncode}"]
        return {"error": f"a batch ended without a record on {socket.gethostname()}: {tail[0]}", "hint": None}
    return told


def _outputs(child: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Both streams to their ends, stdin left open."""
    assert child.stdout is not None
    assert child.stderr is not None
    errors: list[bytes] = []
    reader = threading.Thread(target=lambda stream: errors.append(stream.read()), args=(child.stderr,), daemon=True)
    reader.start()
    out = child.stdout.read()
    child.wait()
    reader.join(timeout=5)
    return out, b"".join(errors)


def _client() -> Any:
    from importlib import import_module

    return import_module("distributed").get_client()


def _watch(child: subprocess.Popen[bytes], stop: str, done: threading.Event, client: Any) -> None:
    """End the child's lifeline when the run was called off, or nobody is there any more who could call it off."""
    from importlib import import_module

    event = import_module("distributed").Event(stop, client=client)
    while not done.wait(STOP_POLL_SECONDS):
        try:
            off = event.is_set()
        except Exception:  # noqa: BLE001 - the connection to the scheduler has its own ways to be gone
            off = True
        if off:
            assert child.stdin is not None
            child.stdin.close()
            return
