"""Write a file that a person edits or asked for: atomically, through links, and with the permissions it has.

Where the file cannot be replaced (its folder is not writable, or it has several hard links), it is written in place; if the
disk fills up meanwhile, the old content is restored.
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
    """Write a suite, a part of one, or a report; missing folders are created. A device or pipe is written to directly.

    The schema file of the workspace is updated if the suite names it.
    Raises: OSError; then the file has its old content.
    """
    _write(path, data)
    if _SCHEMA_NAME in data[:_HEAD_BYTES] and not is_data_path(path):
        from mcptest_engine.workspace.schema_file import save_schema

        save_schema(Path(path), data, make=True)


def _write(path: str | Path, data: bytes) -> None:
    if is_data_path(path):  # an accepted snapshot; links are not followed there
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
    """The demo suite as a file that the user may change: `mcptest-demo.yml` in `folder`, created when it does not exist.

    The copy's first test, tagged `LESSON_TAG`, fails, so that the user can fix it. In a checkout of mcptest the original file
    is returned, in which all tests pass. Raises: OSError.
    """
    original = shipped("examples") / "demo" / "mcptest.yml"
    if original.is_relative_to(folder.resolve()):
        return original
    from mcptest_engine.workspace.schema_file import save_schema, with_schema_line

    own = folder / "mcptest-demo.yml"
    with suppress(FileExistsError), own.open("xb") as file:
        before, tools, after = original.read_text(encoding="utf-8").partition("tools:\n")
        intro = before.replace("# Everything passes; one", "# One test is wrong on purpose, for you to correct; one")
        text = with_schema_line(f"{intro}{tools}{_LESSON}\n{after}", own)
        file.write(text.encode())
        save_schema(own, text.encode(), make=True)
    return own


def _is_special(path: str | Path) -> bool:
    """Whether this is a device, a pipe, or a name such as /dev/stdout, which may stand for a file that is open already."""
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
            _overwrite(file.fileno(), data)
        except OSError:
            with suppress(OSError):
                _overwrite(file.fileno(), before)  # needs no new blocks on the disk
            raise


def _overwrite(descriptor: int, data: bytes) -> None:
    rest, at = memoryview(data), 0
    while at < len(data):
        at += os.pwrite(descriptor, rest[at:], at)
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)
