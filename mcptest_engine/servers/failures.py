"""The messages of server failures; stdio and HTTP use the same sentences.

Inside `servers/` a failure is a `CallFailed`: a clause without its subject ("exited with code 3 …"). It becomes a sentence when
the caller is known: `server "x" exited …` for a call, `server "x" did not start: it exited …` for the handshake.
"""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mcptest_engine.core.errors import (
    AnswerLost,
    CallTimeout,
    ProtocolBroken,
    ServerDidNotStart,
    ServerDied,
    ServerError,
    did_you_mean,
)
from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.servers.spec import ServerSpec

BY_HAND = "was ended by hand"
"""The clause for a server that a person ended."""
_E = TypeVar("_E", bound=ServerError)
_ENOEXEC = errno.ENOEXEC
_VARIABLE = lazy_pattern(r"[A-Z][A-Z0-9_]{2,}")
_ABOUT_VARIABLES = lazy_pattern(r"(?i)environ|env var|variable|not set|unset|missing|required|undefined|KeyError")
_NEVER_HINTED = frozenset({"PWD", "OLDPWD", "SHLVL", "HOSTNAME"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a connection ended.

    `clause` is a predicate such as "exited with code 3". `exit_code` and `signal` ("SIGSEGV") are None where they do not
    apply; `how_far` is what closing took: "", "eof", "SIGTERM" or "SIGKILL".
    """

    clause: str
    exit_code: int | None = None
    signal: str | None = None
    how_far: str = ""

    @property
    def short(self) -> str:
        """The end in two words, as in a `ServerError`."""
        return ServerError("", server="", exit_code=self.exit_code, signal=self.signal).short


class CallFailed(Exception):
    """A call without a usable answer.

    `error` is the public class; `clause` lacks its subject and the method's name. `short` is the cause in two or three words,
    where nothing else says it. `own_limit`: the suite's `http.timeout` ended the call, not its own timeout. `unreached` is why
    there was no connection, where that is the failure.
    """

    def __init__(
        self,
        error: type[ServerError],
        clause: str,
        *,
        hint: str | None = None,
        ending: Ending | None = None,
        http: JsonDict | None = None,
        own_limit: bool = False,
        short: str | None = None,
        unreached: str | None = None,
    ) -> None:
        super().__init__(clause)
        self.short = short
        self.unreached = unreached
        self.own_limit = own_limit
        self.http = http
        self.error = error
        self.clause = clause
        self.hint = hint
        self.ending = ending

    def during(
        self, method: str, *, server: str, stderr_tail: str, last: str | None = None, seconds: float | None = None
    ) -> ServerError:
        """The public error for a call of `method`.

        `seconds` is how long it waited, for a server that a person ended. `last` is the start of the last message of a server
        that died.
        """
        clause, after = self.clause, ""
        if self.error is ServerDied:
            waited = "waited" if seconds is None else f"had waited {seconds:.1f} s"
            clause += f' while "{method}" {waited} for its answer'
            after = f"; its last message: {last}" if last else ""
        return self._public(self.error, f'server "{server}" {clause}{after}', clause, server, stderr_tail)

    def at_start(self, method: str, *, server: str, stderr_tail: str, hint: str | None = None) -> ServerDidNotStart:
        """The public error for a handshake that failed in `method`."""
        clause = self.clause + (f' before it answered "{method}"' if self.ending is not None else "")
        message = f'server "{server}" did not start: it {clause}'
        if self.unreached is not None:
            message = f'cannot connect to server "{server}": {self.unreached}'
        return self._public(ServerDidNotStart, message, clause, server, stderr_tail, hint)

    def plain(self, *, server: str, stderr_tail: str) -> ServerError:
        """The public error where no call was made."""
        return self._public(self.error, f'server "{server}" {self.clause}', self.clause, server, stderr_tail)

    def _public(
        self, error: type[_E], message: str, clause: str, server: str, stderr_tail: str, hint: str | None = None
    ) -> _E:
        ending = self.ending
        return error(
            message,
            server=server,
            hint=self.hint or hint,
            stderr_tail=stderr_tail,
            exit_code=None if ending is None else ending.exit_code,
            signal=None if ending is None else ending.signal,
            http=self.http,
            clause=clause,
            timed_out=self.error is CallTimeout,
            ended=ending is not None,
            short=self.short,
        )


def is_refusal(http: Mapping[str, object] | None) -> bool:
    """Whether the status of an HTTP response is no success."""
    status = None if http is None else http.get("status")
    return isinstance(status, int) and not 200 <= status < 300


def timed_out(
    method: str, seconds: float, *, noise: str | None, unfinished: str | None, refused: str | None = None
) -> CallFailed:
    """No answer in time.

    `noise` is what came instead, `unfinished` the start of a line that did not end, `refused` the server's request that this
    client had not declared.
    """
    hint = None if noise is None else f"output in place of an answer: {noise}"
    if refused is not None:
        hint = f"it asked for `{refused}`, which is not declared: declare and answer it under `client:`"
    if unfinished is not None:
        hint = f"an unfinished line is waiting: {unfinished}; a message ends with a newline"
    return CallFailed(CallTimeout, f'did not answer "{method}" within {duration(seconds)}', hint=hint)


def answer_lost(method: str, kind: str) -> CallFailed:
    """The answer arrived, and the test's own `fault` discarded it."""
    how = "cut off by" if kind == "disconnect" else "dropped by"
    return CallFailed(AnswerLost, f'had its answer to "{method}" {how} `fault: {kind}`')


def broken_answer(method: str, fault: str, shown: str) -> CallFailed:
    """An answer that breaks the protocol; `shown` is its start."""
    return CallFailed(ProtocolBroken, f'broke the protocol in its answer to "{method}": {fault}: {shown}')


def too_large(limit_bytes: int) -> CallFailed:
    """A message over the size limit."""
    limit = f"{limit_bytes // (1024 * 1024)} MiB" if limit_bytes >= 1024 * 1024 else f"{limit_bytes} bytes"
    return CallFailed(ProtocolBroken, f"sent a message of more than {limit}, which is too large")


def out_of_memory() -> CallFailed:
    """A message that does not fit into memory."""
    return CallFailed(ProtocolBroken, "sent a message that takes more memory than there is")


def sent_back(method: str) -> CallFailed:
    """The request itself came back instead of an answer, as from `cat`."""
    hint = "it is not an MCP server, or a terminal in between repeats its input: check the command"
    return CallFailed(ProtocolBroken, f'sends its input back: the request "{method}" itself came back', hint=hint)


def could_not_spawn(spec: ServerSpec, wrong: OSError | ValueError) -> ServerDidNotStart:
    """The program does not exist, is no program, or may not be run."""
    assert spec.command is not None
    program = spec.command[0]
    reason, hint = _spawn_reason(spec, program, wrong)
    return ServerDidNotStart(
        f'server "{spec.name}" did not start: {reason}',
        server=spec.name,
        hint=hint,
        clause=reason,
        short="no such command" if isinstance(wrong, FileNotFoundError) else "cannot be started",
    )


def start_hint(spec: ServerSpec, output: str) -> str | None:
    """The hint for a program that did not start because a file or variable is missing. `output` is the end of its output."""
    words = (_beside_suite_hint(spec, word) for word in (spec.command or ())[1:])
    return next(filter(None, words), None) or _withheld_variable_hint(output, spec.withheld)


def _withheld_variable_hint(output: str, withheld: Iterable[str]) -> str | None:
    """The hint for a server that names a variable which is set here but was not passed on.

    A name without an underscore counts only on a line about variables, since `DEBUG` and `ERROR` occur in any log.
    """
    hidden = frozenset(withheld) - _NEVER_HINTED
    for line in reversed(output.splitlines()):
        for name in _VARIABLE.findall(line):
            if name in hidden and ("_" in name or _ABOUT_VARIABLES.search(line)):
                return f"`{name}` is set here but is not passed to the server: add it under `env:`"
    return None


def duration(seconds: float) -> str:
    """A duration as in messages: "250 ms", "15 s"."""
    return f"{seconds * 1000:g} ms" if seconds < 1 else f"{seconds:g} s"


def _spawn_reason(spec: ServerSpec, program: str, wrong: OSError | ValueError) -> tuple[str, str | None]:
    # `subprocess` puts the directory into `filename` when `cwd` failed, and the program otherwise.
    if isinstance(wrong, ValueError):
        return f"its command cannot be run: {wrong}", None
    if spec.cwd is not None and wrong.filename == spec.cwd:
        return f'its cwd "{spec.cwd}" is not an accessible directory', None
    if isinstance(wrong, FileNotFoundError):
        return _not_found(spec, program)
    if isinstance(wrong, PermissionError):
        if "/" in program and _program_path(spec, program).is_dir():
            return f'"{program}" is a directory, not a program', "name the program inside it"
        if _magic(spec, program) in _BINARY_MAGICS:
            return f'"{program}" is not executable', "make it so with `chmod +x`"
        return (
            f'"{program}" is not executable',
            f"make it so with `chmod +x`, or name its interpreter: [{_interpreter(program)}, {program}]",
        )
    if wrong.errno == _ENOEXEC:
        if _magic(spec, program) in _BINARY_MAGICS:
            return f'"{program}" is a program for another type of machine', "use one that is built for this machine"
        return (
            f'"{program}" is not a program: it has no `#!` line',
            f"name its interpreter: [{_interpreter(program)}, {program}]",
        )
    return f'"{program}" cannot be run: {wrong.strerror or wrong}', None


_BINARY_MAGICS = frozenset(
    {b"\x7fELF", b"MZ\x90\0", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe"}
)  # the first bytes of ELF, PE and Mach-O files
INTERPRETERS = {".py": "python3", ".js": "node", ".mjs": "node", ".cjs": "node", ".ts": "deno", ".sh": "sh"}


def _interpreter(program: str) -> str:
    return INTERPRETERS.get(Path(program).suffix, "python3")


def _program_path(spec: ServerSpec, program: str) -> Path:
    return Path(spec.cwd or "", program)


def _magic(spec: ServerSpec, program: str) -> bytes:
    """The first bytes of a file; b"" when it cannot be read."""
    import shutil  # slow to import, and needed only here

    found = program if "/" in program else shutil.which(program, path=spec.env.get("PATH"))
    try:
        with _program_path(spec, found or program).open("rb") as stream:
            return stream.read(4)
    except OSError:
        return b""


def _beside_hint(program: str) -> str:
    """The hint for a bare name that is a file in the current directory: those are looked for on PATH only."""
    interpreter = INTERPRETERS.get(Path(program).suffix)
    by_path = f'a file here is named by its path: ["./{program}"]'
    return by_path if interpreter is None else f'{by_path}, or by its interpreter: ["{interpreter}", "{program}"]'


def _not_found(spec: ServerSpec, program: str) -> tuple[str, str | None]:
    if "/" not in program:
        known = ("python3", "python", "node", "npx", "uv", "uvx", "deno", "bun", "docker", "mcptest")
        hint: str | None = did_you_mean(program, known) if program not in known else None
        if " " in program:
            hint = "write the command as a list, one word each: " + json.dumps(program.split())
        elif _program_path(spec, program).is_file():
            hint = _beside_hint(program)
        return f'the program "{one_line(program)}" was not found on PATH', hint
    if Path(program).exists():
        return f'"{program}" names an interpreter in its `#!` line that was not found', None
    return f'the program "{one_line(program)}" was not found', _beside_suite_hint(spec, program)


def _beside_suite_hint(spec: ServerSpec, word: str) -> str | None:
    """The hint for a path that does not exist as given, but does in the suite's directory."""
    try:
        is_misplaced = (
            spec.config_dir is not None
            and not Path(word).is_absolute()
            and Path(spec.config_dir, word).is_file()
            and not _program_path(spec, word).exists()
        )
    except (OSError, ValueError):  # a word that cannot be a path
        return None
    plain = word.removeprefix("./")
    start = "where mcptest was started" if spec.cwd is None else "`cwd`"
    hint = f"paths are relative to {start}; beside the suite it is `${{CONFIG_DIR}}/{plain}`"
    return hint if is_misplaced else None
