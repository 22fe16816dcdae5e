"""Processes of mcptest that are forked from one which has imported what they need.

Each is a process of its own with its own descriptors, directory, environment and exit code, and does what the installed command
or the workbench's engine does; only the second that it would import for is spent once. What such a process starts in turn is
forked from it, too, where it is mcptest or a Python program of the tests (`WarmPopen`). How the command itself starts is
checked where that is the point.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import io
import os
import pkgutil
import platform
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import traceback
import warnings
from contextvars import Context
from dataclasses import is_dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any, NoReturn, TextIO

import mcptest_engine
from mcptest_engine.core import jq
from mcptest_engine.core.lazy_patterns import LazyPattern
from mcptest_tui.engine_client import engine_argv

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ROOT = Path(__file__).parent.parent
ENGINE = "the workbench's engine"
"""In the place of an argv: the process that the workbench starts."""
IMPORTED = (
    "anyio._backends._asyncio",
    "argparse",
    "difflib",
    "httpcore2",
    "importlib.readers",
    "jsonschema_rs",
    "tomllib",
)
"""Beside every module of the engine and what these import in turn; the rest is imported by each process for itself."""
_MAINS = ("mcptest_engine.engine_process.__main__", "mcptest_engine.mock.__main__", "mcptest_tui.__main__")
PUBLIC_SERVERS = ("mcp-server-git", "mcp-server-time")
"""Commands of servers from elsewhere, each the `main` of a module of that name. Their SDK takes a second to import."""
_NOT_IMPORTED = ("__main__", "anthropic_", "jq_worker", "openai_")
"""What is a program, and what takes seconds for the few who need it."""
_INSTALLED = str(Path(sys.executable).with_name("mcptest"))
_WAYS = ("search", "match", "fullmatch", "finditer", "findall", "sub")
_MOST_DESCRIPTORS = 256
_MADV_COLLAPSE, _LARGE_PAGE = 25, 1 << 21
_READ_BY_THE_INTERPRETER = ("PYTHON", "LC_", "LANG")
_LEFT_OUT = ("LC_", "LANG")
"""What a server may lack and the starter have: without a language UTF-8 is taken, as with one."""


def can_fork(environ: Mapping[str, str]) -> bool:
    """Whether nothing is set that an interpreter looks at when it starts, and otherwise than here."""
    names = {name for name in {*environ, *os.environ} if name.startswith(_READ_BY_THE_INTERPRETER)}
    names -= {"PYTHONDONTWRITEBYTECODE"}
    return hasattr(os, "fork") and all(environ.get(name) == os.environ.get(name) for name in names)


def flush_nothing() -> None:
    """Write no file through to the disk, in this process and its forks: no test cuts the power, and each write waits for it."""
    os.fsync = lambda fd: None  # noqa: ARG005


def take_terminal(descriptor: int = 0) -> None:
    """Be the first process of a session that has this terminal, after `setsid`."""
    fcntl.ioctl(descriptor, termios.TIOCSCTTY, 0)


class Forked:
    """A process, as `subprocess.Popen` has one with pipes of text."""

    def __init__(self, pid: int, status: int) -> None:
        self.pid, self._status = pid, status
        self.stdin: IO[Any] | None = None
        self.stdout: IO[Any] | None = None
        self.stderr: IO[Any] | None = None
        self.returncode: int | None = None

    def fileno(self) -> int:
        """A descriptor that is readable once the process has ended, until `poll` or `wait` has reported it."""
        return self._status

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended. Raises: TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"the forked process {self.pid}", timeout or 0)
            self.told(os.read(self._status, 100) or b" -9")
        assert self.returncode is not None
        return self.returncode

    def told(self, words: bytes) -> None:
        """The exit code from the fork server, after the process id."""
        if code := words.partition(b" ")[2]:
            self.returncode = int(code)
            os.close(self._status)

    def send_signal(self, number: int) -> None:
        """To the process alone, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


class Nursery:
    """The process that the others are forked from; it ends with this one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """No more of them: the process ends."""
        if self._socket is not None:
            self._socket.close()
        if self._folder is not None:
            self._folder.cleanup()

    def import_public_servers(self) -> None:
        """Import them, and so their SDK, for all that is forked from now on."""
        self.ask([], [], cwd=ROOT, env={}, leads="import")

    def folder(self) -> Path:
        """For the beginning of a PATH: it has a command `mcptest` that goes on in a fork, for shells that run many of them."""
        with self._lock:
            self._up()
        assert self._folder is not None
        return Path(self._folder.name)

    def _up(self) -> socket.socket:
        if self._socket is None:
            ours, theirs = socket.socketpair()
            self._folder = tempfile.TemporaryDirectory(prefix="mcptest-forked-")
            command = Path(self._folder.name) / "mcptest"
            place = command.with_name("socket")
            command.write_text(_COMMAND.format(python=sys.executable, place=str(place)), encoding="utf-8")
            command.chmod(0o755)
            listening = socket.socket(socket.AF_UNIX)
            listening.bind(str(place))
            listening.listen(16)
            with theirs, listening:
                descriptors = [theirs.fileno(), listening.fileno()]
                subprocess.Popen(
                    [sys.executable, "-m", "tests.forked", *map(str, descriptors)],
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=descriptors,
                ).returncode = 0  # nobody waits for it: it ends when the socket is closed
            self._socket = ours
        return self._socket

    def start(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: bool = False,
        stderr: TextIO | None = None,
        start_new_session: bool = False,
        text: bool = True,
    ) -> Forked:
        """`argv` begins with the command's name. Without `stderr` that is a pipe; without `stdin` there is nothing to read."""
        in_theirs, into = os.pipe() if stdin else (os.open(os.devnull, os.O_RDONLY), -1)
        out, out_theirs = os.pipe()
        err, err_theirs = os.pipe() if stderr is None else (-1, stderr.fileno())
        theirs = [in_theirs, out_theirs, err_theirs]
        process = self.ask(argv, theirs, cwd=cwd, env=env, leads="session" if start_new_session else "")
        for end in {*theirs} - ({err_theirs} if stderr is not None else set()):
            os.close(end)
        process.stdin = _opened(into, "w", text) if stdin else None
        process.stdout = _opened(out, "r", text)
        process.stderr = _opened(err, "r", text) if stderr is None else None
        return process

    def start_on_terminal(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], terminal: int) -> Forked:
        """As the first process of a session that has the terminal with this descriptor."""
        return self.ask(argv, [terminal] * 3, cwd=cwd, env=env, leads="terminal")

    def ask(
        self, argv: Sequence[str], streams: Sequence[int], *, cwd: Path, env: Mapping[str, str], leads: str
    ) -> Forked:
        """The process; `leads`: "session" or "terminal", of which it is the first; a "sibling" of the nursery is our child.

        "import" starts none.
        """
        words = [leads, str(cwd), str(len(argv)), *argv, *(f"{name}={value}" for name, value in env.items())]
        request = "\0".join(words).encode(errors="surrogateescape")
        status, told = os.pipe()
        with self._lock:
            up = self._up()
            socket.send_fds(up, [struct.pack("!Q", len(request))], [*streams, told])
            up.sendall(request)
        os.close(told)
        first = os.read(status, 100)
        process = Forked(int(first.partition(b" ")[0]), status)
        process.told(first)
        return process

    def run(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run` with nothing to read and the output captured. Raises: TimeoutExpired."""
        process = self.start(argv, cwd=cwd, env=env)
        said: dict[str, str] = {}

        def read(name: str) -> None:
            with getattr(process, name) as stream:
                said[name] = stream.read()

        readers = [threading.Thread(target=read, args=(name,), daemon=True) for name in ("stdout", "stderr")]
        for reader in readers:
            reader.start()
        end = time.monotonic() + timeout
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        for reader in readers:
            reader.join(max(end - time.monotonic(), 0))
        if len(said) < len(readers):
            raise subprocess.TimeoutExpired(list(argv), timeout)
        return subprocess.CompletedProcess([*argv], code, said["stdout"], said["stderr"])


def _opened(descriptor: int, mode: str, text: bool) -> IO[Any]:
    return open(descriptor, mode, encoding="utf-8") if text else open(descriptor, f"{mode}b")


NURSERY = Nursery()
"""Of this process; nothing is started before it is asked for, and the fixture `nursery` closes it."""


_COMMAND = """\
#!{python} -IS
import _signal, _socket, os, sys
words = ["", os.getcwd(), str(len(sys.argv)), *sys.argv, *(f"{{k}}={{v}}" for k, v in os.environ.items())]
request = os.fsencode("\\0".join(words))
status, told = os.pipe()
asking = _socket.socket(_socket.AF_UNIX)
asking.connect({place!r})
descriptors = b"".join(one.to_bytes(4, sys.byteorder) for one in (0, 1, 2, told))
asking.sendmsg([len(request).to_bytes(8, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])
asking.sendall(request)
os.close(told)
pid, _, code = os.read(status, 100).partition(b" ")
for number in (_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM):
    _signal.signal(number, lambda number, _: os.kill(int(pid), number))
code = int(code or os.read(status, 100) or -9)
if code < 0:
    _signal.signal(-code, _signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


_SERVERS: dict[str, str] = {}
"""The modules of servers from elsewhere that are imported, by the path of their command."""


def _serve(asked: socket.socket, listening: socket.socket) -> None:
    """Fork for each request, until the first socket is closed."""
    flush_nothing()
    engine = (one.name for one in pkgutil.walk_packages(mcptest_engine.__path__, "mcptest_engine."))
    for name in (*IMPORTED, *(one for one in engine if one.rpartition(".")[2] not in _NOT_IMPORTED), *_MAINS):
        __import__(name)
    _make_ready()
    gc.collect()
    gc.freeze()
    _use_large_pages()
    ended, wake = os.pipe()
    for end in (ended, wake):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # what matters is the byte that it writes
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    told_of: dict[int, int] = {}
    sources: list[socket.socket | int] = [asked, ended, listening]
    while True:
        ready = select.select(sources, [], [])[0]
        if ended in ready:
            os.read(ended, 4096)
            _tell_of_ended(told_of)
        if asked in ready and not _fork(asked, told_of):
            return
        if listening in ready:
            with listening.accept()[0] as connection:
                _fork(connection, told_of)


def _use_large_pages() -> None:
    """Where Linux has them: a fork copies a table of this process's pages, which is shorter for large ones."""
    if sys.platform != "linux":
        return
    madvise = ctypes.CDLL(None).madvise  # one that knows nothing of this refuses, and all stays as it is
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, rights, _, _, file, *_ = line.split()
        if rights == "rw-p" and file == "0":
            first, end = (int(one, 16) for one in span.split("-"))
            first, end = -(-first // _LARGE_PAGE) * _LARGE_PAGE, end // _LARGE_PAGE * _LARGE_PAGE
            if first < end:
                madvise(ctypes.c_void_p(first), ctypes.c_size_t(end - first), _MADV_COLLAPSE)


def _fork(asked: socket.socket, told_of: dict[int, int]) -> bool:
    """Whether there was something to read: it is forked for."""
    head, descriptors, _, _ = socket.recv_fds(asked, 8, 4)
    if not head:
        return False
    (size,) = struct.unpack("!Q", head)
    request = _exactly(asked, size).decode(errors="surrogateescape").split("\0")
    if request[0] == "import":
        _import_public_servers()
        os.write(descriptors[0], b"0 0")
        os.close(descriptors[0])
        return True
    is_sibling = request[0].startswith("sibling")
    pid = _fork_a_sibling() if is_sibling else os.fork()
    if pid == 0:
        _become(request, descriptors)
    *theirs, told = descriptors
    for descriptor in theirs:
        os.close(descriptor)
    with contextlib.suppress(BrokenPipeError):
        os.write(told, f"{pid}".encode())
    if is_sibling:
        os.close(told)
    else:
        told_of[pid] = told
    return True


def _import_public_servers() -> None:
    for command in () if _SERVERS else PUBLIC_SERVERS:
        name = command.replace("-", "_")
        __import__(name)
        _SERVERS[str(Path(sys.executable).with_name(command))] = name
    gc.collect()
    gc.freeze()


def _tell_of_ended(told_of: dict[int, int]) -> None:
    """Send the exit code of an ended process to whoever waits for it."""
    while told_of:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        told = told_of.pop(pid)
        with contextlib.suppress(BrokenPipeError):
            os.write(told, f" {os.waitstatus_to_exitcode(status)}".encode())
        os.close(told)


def _make_ready() -> None:
    """Do here what else would wait for its first use in each process: patterns, making values, schemas, what the detector
    reads.
    """
    modules = [module for name, module in sys.modules.items() if name.startswith("mcptest_engine")]
    for one in [one for module in modules for one in vars(module).values()]:
        if isinstance(one, type) and is_dataclass(one):
            with contextlib.suppress(TypeError):
                one(*[None] * 99)  # more than any takes: it is refused, by an `__init__` that is there from now on
        elif type(one) is LazyPattern:
            for way in _WAYS:
                getattr(one, way)
    from mcptest_engine.judging.validity import Validity, find_invalidity
    from mcptest_engine.mock.presets import load_preset
    from mcptest_engine.safety.learned.judge import learned_weights
    from mcptest_engine.safety.learned.lexicon import lexicon
    from mcptest_engine.safety.poisoning import description_warnings
    from mcptest_engine.suite.compliance import HANDSHAKE_REVISIONS, STATELESS_REVISION
    from mcptest_engine.suite.load import LoadOptions, check_text
    from mcptest_engine.suite.schema import messages

    description_warnings([tool.descriptor for tool in load_preset("demo").tools or ()])
    learned_weights()
    lexicon()
    for revision, opening in ((HANDSHAKE_REVISIONS[-1], "initialize"), (STATELESS_REVISION, "server/discover")):
        for method in (opening, "tools/list", "tools/call", "resources/read", "prompts/get"):
            find_invalidity(method, {"result": {}}, Validity(revision, fails=True), str)
    check_text("name: nothing\n", LoadOptions(environ={}, workspace_root=ROOT), base_dir=ROOT)
    messages()


def _exactly(asked: socket.socket, size: int) -> bytes:
    read = io.BytesIO()
    while read.tell() < size:
        read.write(asked.recv(size - read.tell()))
    return read.getvalue()


def _become(request: Sequence[str], descriptors: Sequence[int]) -> NoReturn:
    """The command, as its console script has it, or the engine."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    leads, cwd, count, *words = request
    argv, env = words[: int(count)], dict(word.split("=", 1) for word in words[int(count) :])
    if leads not in ("", "sibling"):
        os.setsid()
    if leads == "terminal":
        take_terminal(descriptors[0])
    subprocess.Popen = WarmPopen  # type: ignore[misc]
    if leads.startswith("sibling"):
        words, start = _warm_main(argv, env) or (argv, _main_of(argv))
        _run(words, _with_new_streams(start), descriptors[:3], cwd, env)
    _run(argv, _main_of(argv), descriptors[:3], cwd, env)


def _main_of(argv: Sequence[str]) -> Callable[[], object]:
    if argv[0] == ENGINE:
        from mcptest_engine.engine_process.__main__ import main as serve

        return serve
    from mcptest_tui.__main__ import main

    return main


def _run(
    argv: Sequence[str], main: Callable[[], object], descriptors: Sequence[int], cwd: str | None, env: Mapping[str, str]
) -> NoReturn:
    """Be, in this fork, a process that has just begun with these descriptors 0 to 2 and ends with `main`."""
    for number, descriptor in enumerate(descriptors):
        if descriptor != number:
            os.dup2(descriptor, number)
    os.closerange(3, _MOST_DESCRIPTORS)
    if cwd is not None:
        os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    sys.dont_write_bytecode = True
    sys.argv = [*argv]
    code: Any = 1
    try:
        main()
        code = 0
    except SystemExit as left:
        code = left.code
        if not isinstance(code, int | None):
            sys.stderr.write(f"{code}\n")
    except BaseException:  # noqa: BLE001 - as an interpreter tells of it
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except ValueError:  # it is closed
            pass
        except OSError as failed:  # as an interpreter ends
            code = 120
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(f"Exception ignored in: {stream!r}\n{failed!r}\n")
    os._exit(code if isinstance(code, int) else int(code is not None))


_Main = tuple[list[str], "Callable[[], object]"]
"""What a process would run: its `sys.argv`, and its main function."""


class WarmPopen(subprocess.Popen[Any]):
    """A process that a forked one starts. What is mcptest, or a program under `tests`, goes on in a fork of the starter.

    With an `executable` it is started as everywhere, for tests of that start and of how an interpreter ends.

    Everything but where its modules come from is as after `exec`: descriptors, environment, directory, group, signals.
    """

    forks_engines = False
    """Whether the workbench's engine is forked, too. A workbench that was forked starts it as everywhere: it has threads then,
    and what one of them holds in that moment nobody gives back in the fork.
    """

    def _execute_child(self, *given: Any) -> None:  # the one place where all of `Popen`'s arguments are worked out
        names = ("args", "executable", "preexec_fn", "close_fds", "pass_fds", "cwd", "env", "_", "_flags", "shell")
        args, executable, preexec_fn, _, pass_fds, cwd, env, _, _, shell = given[: len(names)]
        stdin, _, _, stdout, _, stderr = given[len(names) : len(names) + 6]
        start_new_session = given[-2]
        argv: list[str] = [os.fspath(word) for word in ([args] if isinstance(args, str | os.PathLike) else args)]
        main = (
            None
            if executable
            or preexec_fn
            or pass_fds
            or shell
            or not all(isinstance(word, str) for word in argv)
            or (tuple(argv) == engine_argv() and not self.forks_engines)
            else _warm_main(argv, os.environ if env is None else env)
        )
        if main is None or (cwd is not None and not Path(cwd).is_dir()):
            super()._execute_child(*given)  # type: ignore[misc]
            return
        ends = [number if end < 0 else end for number, end in enumerate((stdin, stdout, stderr))]
        self.pid = self._forked(argv, main, ends, cwd, dict(os.environ if env is None else env), start_new_session)
        self._child_created = True
        self._close_pipe_fds(*given[len(names) : len(names) + 6])  # type: ignore[attr-defined]

    def _forked(
        self,
        argv: list[str],  # noqa: ARG002 - of use where others fork
        main: _Main,
        ends: list[int],
        cwd: str | None,
        env: dict[str, str],
        start_new_session: bool,
    ) -> int:
        """The id of the process."""
        words, start = main
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads that a fork does not have
            pid = os.fork()
        if pid == 0:
            if start_new_session:
                os.setsid()
            _forget_the_starter()
            Context().run(_run, words, _with_new_streams(start), ends, cwd, env)
        return pid


class NurseryPopen(WarmPopen):
    """The same for what the process of the tests starts: that has grown too large to be forked, so the nursery is."""

    forks_engines = True

    def _forked(
        self,
        argv: list[str],
        _main: _Main,
        ends: list[int],
        cwd: str | None,
        env: dict[str, str],
        start_new_session: bool,
    ) -> int:
        leads = "sibling session" if start_new_session else "sibling"
        started = NURSERY.ask(argv, ends, cwd=Path.cwd() if cwd is None else Path(cwd), env=env, leads=leads)
        os.close(started.fileno())
        return started.pid


_CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine()) if sys.platform == "linux" else None
"""The number of the system call by which a process can start one that is a child of its own parent."""
CAN_START_SIBLINGS = _CLONE is not None and sys.implementation.name == "cpython"
_CLONE_PARENT = 0x8000


def _fork_a_sibling() -> int:
    """As `os.fork` of a process with one thread, but whoever started this one is the parent and has to wait for it."""
    pid: int = ctypes.PyDLL(None).syscall(_CLONE, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    assert pid >= 0, "the system starts no sibling"
    return pid


_STARTERS: list[object] = []


def _forget_the_starter() -> None:
    """Signals as a new process has them; and nothing of the starter's is closed, written or ended here: its descriptors have
    other meanings now.
    """
    gc.freeze()
    _STARTERS.extend(jq._WORKERS)
    jq._WORKERS.clear()
    jq._LOCK = threading.Lock()
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def _with_new_streams(start: Callable[[], object]) -> Callable[[], object]:
    """`start` with its own streams, because those of the parent may hold unwritten text."""

    def begin() -> object:
        _STARTERS.extend((sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__))
        sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115
        sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115
        sys.stderr = sys.__stderr__ = open(  # type: ignore[misc]  # noqa: SIM115
            2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
        )
        return start()

    return begin


def _warm_main(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[list[str], Callable[[], object]] | None:
    """What a process of this argv would run, as (its `sys.argv`, its main function), if it can be forked."""
    from mcptest_engine.servers.spec import own_command

    same = {name: os.environ[name] for name in os.environ if name.startswith(_LEFT_OUT)} | dict(environ)
    if not can_fork(same):
        return None
    server = _SERVERS.get(shutil.which(argv[0], path=environ.get("PATH")) or "")
    if server is not None:
        return [*argv], sys.modules[server].main
    if argv[0] == _INSTALLED:
        return [*argv], _main_of(argv)
    if argv[0] != sys.executable:
        return None
    own = own_command(("mcptest",))
    if tuple(argv[: len(own)]) == own:
        return ["mcptest", *argv[len(own) :]], _main_of(["mcptest"])
    if argv[1:2] == ["-P"] and tuple(argv) == engine_argv():
        return [ENGINE], _main_of([ENGINE])
    if argv[1:3] == ["-m", "mcptest_engine.mock"]:
        from mcptest_engine.mock.__main__ import main as serve

        return [*argv[2:]], lambda: sys.exit(serve(argv[3:]))
    script, *words = argv[2 if argv[1:2] == ["-S"] else 1 :] or ("",)
    path = Path(script)
    if path.suffix != ".py" or not path.is_absolute() or ROOT / "tests" not in path.parents or not path.is_file():
        return None

    def run_script() -> None:
        sys.path.insert(0, str(path.parent))
        loader = SourceFileLoader("__main__", script)  # which reads it compiled where it is
        module = sys.modules["__main__"] = ModuleType("__main__")
        module.__file__ = script
        loader.exec_module(module)

    return [script, *words], run_script


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])), socket.socket(fileno=int(sys.argv[2])))
