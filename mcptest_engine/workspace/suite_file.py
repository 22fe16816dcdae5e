"""Writing a file that a person edits or asked for: as a whole, through links, and with the permissions it has.

The surprising thing: where it cannot be replaced (the folder is not writable, the file has a second name), it is written in
place, and if the disk fills up meanwhile the old content is put back.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from mcptest_engine.core.environment import shipped
from mcptest_engine.workspace.atomic import write_atomic
from mcptest_engine.workspace.files import file_state, is_data_path, make_directory

LESSON_TAG = "wrong-on-purpose"
_LESSON = f"""
  # This test fails, for you to see how that looks: the server's Oslo has another temperature. The Result tab says which.
  # Put the right one here, or accept it in Review.
  - name: "the weather in Oslo (wrong on purpose: fix it)"
    tool: get_weather
    args: {{ city: Oslo }}
    tags: [{LESSON_TAG}]
    expect:
      - {{ target: result.structuredContent, matcher: {{ subset: {{ temperature: 25, unit: celsius }} }} }}
""".lstrip("\n")
_HEAD_BYTES = 512
_SCHEMA_NAME = b"suite.schema.json"
_NOT_ATOMIC = {errno.EACCES, errno.EPERM, errno.EROFS}


def write_suite(path: str | Path, data: bytes) -> None:
    """Write a suite, a part of one, or a report; a new one is made with its folders. A device or pipe is written into.

    The schema file of the workspace is brought up to date if the suite names it.
    Raises: OSError; then nothing on the disk has changed.
    """
    _write(path, data)
    if _SCHEMA_NAME in data[:_HEAD_BYTES] and not is_data_path(path):
        from mcptest_engine.workspace.schema_file import save_schema

        save_schema(Path(path), data, make=True)


def _write(path: str | Path, data: bytes) -> None:
    if is_data_path(path):  # a snapshot that a person accepted: there are no links there
        make_directory(Path(path).parent)
        mode = 0o644
        with suppress(FileNotFoundError):
            mode = stat.S_IMODE(file_state(path).st_mode)
        write_atomic(Path(path), data, mode=mode)
        return
    if _is_special(path):
        Path(path).write_bytes(data)
        return
    target = Path(os.path.realpath(path))
    try:
        status = target.stat()
    except FileNotFoundError:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, data, mode=0o666)
        return
    if status.st_nlink > 1 or not os.access(target, os.W_OK):
        _write_in_place(target, data)
        return
    try:
        _replace(target, data, status)
    except OSError as wrong:
        if wrong.errno not in _NOT_ATOMIC:
            raise
        _write_in_place(target, data)


def demo_suite(folder: Path) -> Path:
    """The demo suite as a file that its reader may change: `mcptest-demo.yml` in `folder`, written if it is not there yet.

    The copy's first test is wrong, tagged `LESSON_TAG`: something to mend. Inside a checkout of mcptest it is the checkout's
    own file, in which all is well. Raises: OSError.
    """
    original = shipped("examples") / "demo" / "mcptest.yml"
    if original.is_relative_to(folder.resolve()):
        return original
    from mcptest_engine.workspace.schema_file import save_schema, with_schema_line

    own = folder / "mcptest-demo.yml"
    with suppress(FileExistsError), own.open("xb") as file:
        before, tools, after = original.read_text(encoding="utf-8").partition("tools:\n")
        told = before.replace("# Everything passes; one", "# One test is wrong on purpose, for you to correct; one")
        text = with_schema_line(f"{told}{tools}{_LESSON}\n{after}", own)
        file.write(text.encode())
        save_schema(own, text.encode(), make=True)
    return own


def _is_special(path: str | Path) -> bool:
    """Whether this is a device, a pipe, or a name such as /dev/stdout, behind which a file may stand that is open already."""
    if os.fspath(path).startswith(("/dev/", "/proc/")):
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116
    except FileNotFoundError:
        return False


def _replace(target: Path, data: bytes, before: os.stat_result) -> None:
    mode = stat.S_IMODE(before.st_mode)
    write_atomic(target, data, mode=mode)
    after = target.stat()
    if stat.S_IMODE(after.st_mode) != mode:
        target.chmod(mode)
    if hasattr(os, "chown") and after.st_gid != before.st_gid:
        with suppress(OSError):
            os.chown(target, -1, before.st_gid)


def _write_in_place(target: Path, data: bytes) -> None:
    with target.open("r+b") as file:
        before = file.read()
        try:
            _put(file.fileno(), data)
        except OSError:
            with suppress(OSError):
                _put(file.fileno(), before)  # these blocks are still the file's own
            raise


def _put(descriptor: int, data: bytes) -> None:
    rest, at = memoryview(data), 0
    while at < len(data):
        at += os.pwrite(descriptor, rest[at:], at)
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)
