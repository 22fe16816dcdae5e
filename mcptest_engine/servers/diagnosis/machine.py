"""Checks the machine: the platform, writable folders, and the programs that servers are started with."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import platform
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine import __version__
from mcptest_engine.core.text import counted
from mcptest_engine.servers.diagnosis.checks import Check, Status
from mcptest_engine.workspace.files import open_directory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.servers.diagnosis.checks import Tell

_LAYER = "environment"
_PROGRAMS = ("node", "npx", "uv", "uvx", "docker")
_TELL_VERSION = frozenset({"node", "uv", "docker"})  # the other programs take as long as a server to print theirs
_VERSION_SECONDS = 2.0
_FEW_BYTES = 500 * 1024 * 1024
_FEW_FILES = 256
_FEW_WATCHES = 8192
_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")


def check_machine(tell: Tell, *, environ: Mapping[str, str], own: str, data_dir: Path, encoding: str | None) -> None:
    """Check everything except the programs. `own` is the path of this command, `encoding` that of stdout."""
    tell(_check("mcptest", Status.OK, f"{__version__}, Python {platform.python_version()} at {sys.executable}"))
    tell(_check("platform", Status.OK, f"{sys.platform} {platform.machine()}"))
    tell(_on_path(environ, own))
    tell(_locale(encoding))
    tell(_writable("temporary files", Path(tempfile.gettempdir()), "name another folder in TMPDIR"))
    tell(_writable("workspace", data_dir, "start mcptest in a directory that can be written"))
    tell(_disk(data_dir))
    tell(_open_files())
    watches = _watches()
    if watches is not None:
        tell(watches)


async def check_programs(tell: Tell, environ: Mapping[str, str]) -> None:
    """Check the programs that often start servers; mcptest itself needs none of them."""
    found = {name: shutil.which(name, path=environ.get("PATH", os.defpath)) for name in _PROGRAMS}
    versions = await asyncio.gather(*(_version(name, path) for name, path in found.items()))
    for (name, path), version in zip(found.items(), versions, strict=True):
        if path is None:
            tell(_check(name, Status.SKIPPED, "not on PATH; only servers that are started with it need it"))
        else:
            tell(_check(name, Status.OK, f"{version} at {path}" if version else path))


def _check(name: str, status: Status, detail: str, hint: str | None = None) -> Check:
    return Check(layer=_LAYER, name=name, status=status, detail=detail, hint=hint)


def _on_path(environ: Mapping[str, str], own: str) -> Check:
    found = shutil.which("mcptest", path=environ.get("PATH", os.defpath))
    if found is None:
        hint = f"add its folder to PATH: {Path(own).parent}" if Path(own).name == "mcptest" else None
        return _check("PATH", Status.WARNING, "`mcptest` is not on PATH", hint)
    if Path(own).name == "mcptest" and os.path.realpath(own) != os.path.realpath(found):
        hint = "put the right one first on PATH; a suite always uses the one that runs it"
        return _check("PATH", Status.WARNING, f"`mcptest` is {found}, and this is {own}", hint)
    return _check("PATH", Status.OK, f"`mcptest` is {found}")


def _locale(encoding: str | None) -> Check:
    if encoding is not None and encoding.lower().replace("-", "").replace("_", "") == "utf8":
        return _check("locale", Status.OK, "UTF-8")
    hint = "set LANG=C.UTF-8 or PYTHONUTF8=1"
    return _check("locale", Status.WARNING, f"{encoding or 'no encoding'}: special characters may look wrong", hint)


def _writable(name: str, folder: Path, hint: str) -> Check:
    """Create and remove a file: permissions alone do not show a read-only or full disk. The folder itself is not created."""
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        with open_directory(there), tempfile.TemporaryFile(dir=there):
            pass
    except OSError as wrong:
        reason = wrong.strerror or str(wrong)
        if wrong.errno in (errno.ENOSPC, errno.EDQUOT):
            hint = "free some space on the disk"
        return _check(name, Status.FAILED, f"{folder} cannot be written: {reason}", hint)
    made = "" if there == folder else ", made by the first run"
    return _check(name, Status.OK, f"{folder}{made}")


def _disk(folder: Path) -> Check:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        free = shutil.disk_usage(folder).free
    except OSError as wrong:
        return _check("disk", Status.WARNING, f"its free space cannot be read: {wrong.strerror}")
    detail = f"{free / 1024**3:.1f} GiB free"
    if free < _FEW_BYTES:
        return _check("disk", Status.WARNING, detail, "runs keep their records in `.mcptest`: free some space")
    return _check("disk", Status.OK, detail)


def _open_files() -> Check:
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _check("open files", Status.OK, "no limit")
    detail = f"at most {soft}"
    if soft < _FEW_FILES:
        return _check("open files", Status.WARNING, detail, "each server takes four: raise it with `ulimit -n 1024`")
    return _check("open files", Status.OK, detail)


def _watches() -> Check | None:
    """Check how many files Linux may watch; `--watch` and the workbench depend on that."""
    with contextlib.suppress(OSError, ValueError):
        number = int(_WATCHES.read_text(encoding="ascii"))
        detail = f"at most {counted(number, 'watch').replace('watchs', 'watches')}"
        if number < _FEW_WATCHES:
            hint = "`--watch` may miss changes: raise fs.inotify.max_user_watches"
            return _check("inotify", Status.WARNING, detail, hint)
        return _check("inotify", Status.OK, detail)
    return None


async def _version(name: str, path: str | None) -> str | None:
    """The version that the program prints, when it does so at once."""
    if path is None or name not in _TELL_VERSION:
        return None
    try:
        process = await asyncio.create_subprocess_exec(
            path,
            "--version",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(_VERSION_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    number = re.search(rb"\d+(?:\.\d+)+", output)
    return number[0].decode("ascii") if number else None
