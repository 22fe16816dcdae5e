import os
import subprocess
import sys

import pytest

from mcptest_engine.workspace.atomic import write_atomic, write_atomic_pieces

FILL = """
import resource, signal, sys
from pathlib import Path
from mcptest_engine.workspace.atomic import write_atomic
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write_atomic(Path(sys.argv[1]), b"x" * 100_000)
except OSError as wrong:
    print(type(wrong).__name__, wrong.errno)
"""


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "a.json"
    write_atomic(path, b"old")
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_the_mode_is_the_one_asked_for(tmp_path):
    write_atomic(tmp_path / "secret", b"", mode=0o600)
    write_atomic(tmp_path / "open", b"")
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o644 & ~umask


def test_a_failure_half_way_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.json"
    write_atomic(path, b"old")

    def pieces():
        yield b"new"
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError):
        write_atomic_pieces(path, pieces())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_takes_no_more_leaves_the_old_file_and_nothing_else(tmp_path):
    """The limit on file sizes fails a write half way, as a full disk does."""
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    done = subprocess.run(
        [sys.executable, "-c", FILL, str(path)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("OSError")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_as_long_as_the_file_system_allows_can_be_written(tmp_path):
    path = tmp_path / ("n" * 255)
    write_atomic(path, b"x")
    assert path.read_bytes() == b"x"
