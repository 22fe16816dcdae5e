"""The functions that workers of the cluster run. Imported on the worker, so it imports only what it needs."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from typing import Any

from mcptest_engine import __version__

STOP_POLL_SECONDS = 0.5


def probe(directory: str, suite: str) -> dict[str, object]:
    """What must be equal on every worker: the version, and that the suite exists at its path."""
    there = os.path.isfile(os.path.join(directory, suite))  # noqa: PTH113, PTH118 - pathlib is not needed for it
    return {"mcptest": __version__, "host": socket.gethostname(), "suite": there}


def run_batch(request: dict[str, Any], stop: str) -> dict[str, Any]:
    """Run one shard in a child process; return {"record"} or {"error", "hint"}.

    `stop` is the name of the event that cancels the run. A topic of the same name receives the child's progress: lists of [id,
    verdict, ms, reason].
    """
    if request["version"] != __version__:
        return {"error": f"a worker has mcptest {__version__}, and this is {request['version']}", "hint": None}
    argv = [sys.executable, "-m", "mcptest_engine.cli.cluster.batch"]
    child = subprocess.Popen(
        argv,
        cwd=request["directory"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert child.stdin is not None
    child.stdin.write(json.dumps(request).encode() + b"\n")
    child.stdin.flush()
    done, telling = threading.Event(), _ProgressSender(stop)
    watcher = threading.Thread(target=_watch, args=(child, stop, done, telling, _client()), daemon=True)
    watcher.start()
    out, err = _outputs(child, telling)
    telling.send()
    done.set()
    try:
        answer: dict[str, Any] = json.loads(out)
    except ValueError:
        tail = err.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"exit code {child.returncode}"]
        return {"error": f"a batch ended without a record on {socket.gethostname()}: {tail[0]}", "hint": None}
    return answer


class _ProgressSender:
    """Sends the progress of a batch from time to time; a lost message does no harm."""

    def __init__(self, topic: str) -> None:
        from importlib import import_module

        self._worker = import_module("distributed").get_worker()
        self._topic = topic
        self._lock = threading.Lock()
        self._cases: list[object] = []

    def add(self, case: object) -> None:
        with self._lock:
            self._cases.append(case)

    def send(self) -> None:
        with self._lock:
            cases, self._cases = self._cases, []
        if cases:
            with contextlib.suppress(Exception):
                self._worker.log_event(self._topic, cases)


def _outputs(child: subprocess.Popen[bytes], telling: _ProgressSender) -> tuple[bytes, bytes]:
    """The child's last line and its stderr, once both streams have ended; stdin stays open."""
    assert child.stdout is not None
    assert child.stderr is not None
    errors: list[bytes] = []
    reader = threading.Thread(target=lambda stream: errors.append(stream.read()), args=(child.stderr,), daemon=True)
    reader.start()
    out = b""
    for line in child.stdout:
        if line.startswith(b'{"case": '):
            telling.add(json.loads(line)["case"])
        else:
            out = line
    child.wait()
    reader.join(timeout=5)
    return out, b"".join(errors)


def _client() -> Any:
    from importlib import import_module

    return import_module("distributed").get_client()


def _watch(
    child: subprocess.Popen[bytes], stop: str, done: threading.Event, telling: _ProgressSender, client: object
) -> None:
    """Pass on the child's progress; close its stdin when the run is cancelled, or its coordinator is gone."""
    from importlib import import_module

    event = import_module("distributed").Event(stop, client=client)
    while not done.wait(STOP_POLL_SECONDS):
        telling.send()
        try:
            off = event.is_set()
        except Exception:  # noqa: BLE001 - the connection to the scheduler has its own ways to be gone
            off = True
        if off:
            assert child.stdin is not None
            child.stdin.close()
            return
