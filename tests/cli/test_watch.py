"""`mcptest run --watch`, headless: a save is enough."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
from typing import IO, TYPE_CHECKING

import pytest

from tests.processes import save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Write = Callable[..., Path]


class Watching:
    """A running `mcptest run --watch`. `said` reads its stderr (or `stream`) up to a line with some words, in a minute."""

    def __init__(self, process: subprocess.Popen[str], stream: IO[str] | None = None) -> None:
        self.process = process
        self._stream = stream or process.stderr

    def said(self, words: str) -> str:
        assert self._stream is not None
        timer = threading.Timer(60, self.process.kill)
        timer.start()
        try:
            heard = ""
            while words not in heard:
                line = self._stream.readline()
                assert line, f"it ended, having said: {heard}"
                heard += line
            return heard
        finally:
            timer.cancel()


@pytest.fixture
def watching(mcptest_command: str, tmp_path: Path, clean_environ: dict[str, str]) -> Iterator[Callable[..., Watching]]:
    """Start watching in `tmp_path`, and wait for the first run."""
    started: list[subprocess.Popen[str]] = []

    def start(*flags: str, **environ: str) -> Watching:
        process = subprocess.Popen(
            [mcptest_command, "run", "--watch", *flags],
            cwd=tmp_path,
            env={**clean_environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        started.append(process)
        loop = Watching(process)
        loop.said("watching;")
        return loop

    yield start
    for process in started:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


@pytest.mark.parametrize("polling", ["", "1"])
def test_a_save_runs_again_and_says_what_changed(watching: Callable[..., Watching], write: Write, polling: str) -> None:
    """Reruns on save, shows what changed since the last run (newly failing, fixed).

    The file is written in place here, which is two changes to whoever looks in between: how many runs it takes is not said.
    """
    suite = write()
    loop = watching(**({"WATCHFILES_FORCE_POLLING": polling} if polling else {}))
    suite.write_text(suite.read_text(encoding="utf-8").replace("contains: degraded", "contains: api"), encoding="utf-8")
    loop.said("fixed: api is degraded")
    loop.said("watching;")
    suite.write_text(suite.read_text(encoding="utf-8").replace("exact: first", "exact: second"), encoding="utf-8")
    loop.said("newly failing: memo reads")


def test_a_failure_beside_other_calls_is_told_with_its_cause_at_every_save(
    mcptest_command: str, tmp_path: Path, clean_environ: dict[str, str], mixing_suite: str
) -> None:
    """The servers of the next run are warm, and its failures as before."""
    path = tmp_path / "mcptest.yml"
    path.write_text(mixing_suite, encoding="utf-8")
    process = subprocess.Popen(
        [mcptest_command, "run", "--watch", "--no-color"],
        cwd=tmp_path,
        env=clean_environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    loop = Watching(process, process.stdout)
    try:
        for number in range(2):
            assert "hint: passes alone; fails beside" in loop.said("watching;")
            save(path, f"{mixing_suite}# {number}\n")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def test_an_atomic_save_is_seen_again_and_again(watching: Callable[..., Watching], write: Write) -> None:
    """Editors replace the file; a watched file is lost after the first such save, a watched directory is not."""
    suite = write()
    loop = watching()
    text = suite.read_text(encoding="utf-8")
    for number in range(3):
        save(suite, f"{text}# {number}\n")
        assert "no verdict changed since the last run" in loop.said("watching;")


def test_a_broken_suite_is_told_and_a_mended_one_runs(watching: Callable[..., Watching], write: Write) -> None:
    """Revalidates first."""
    suite = write()
    loop = watching()
    good = suite.read_text(encoding="utf-8")
    save(suite, good.replace("tools:", "toolz:"))
    assert "did you mean `tools`?" in loop.said("watching;")
    save(suite, good)
    assert "no verdict changed" in loop.said("watching;")


def test_a_servers_own_file_is_watched(watching: Callable[..., Watching], write: Write, tmp_path: Path) -> None:
    """Local files named in a server's argv."""
    write()
    loop = watching()
    manifest = tmp_path / "manifest.yml"
    save(manifest, manifest.read_text(encoding="utf-8").replace("text: first", "text: other"))
    assert "newly failing: memo reads" in loop.said("watching;")


def test_a_log_that_a_server_writes_does_not_start_run_after_run(
    watching: Callable[..., Watching], write: Write, tmp_path: Path
) -> None:
    """It is named by the server's command, so a change of it is one of the server's, and every run makes one."""
    suite = write()
    (tmp_path / "server.log").write_text("", encoding="utf-8")
    (tmp_path / "server.sh").write_text('#!/bin/sh\necho started >> "$1"\nshift\nexec "$@"\n', encoding="utf-8")
    text = suite.read_text(encoding="utf-8")
    started = re.sub(r"command: \[", "command: [/bin/sh, ./server.sh, ./server.log, ", text)
    assert started != text
    suite.write_text(started, encoding="utf-8")
    loop = watching()
    loop.said("server.log changes with every run")
    save(suite, f"{started}# saved\n")
    assert "no verdict changed" in loop.said("watching;")
