"""What can go wrong, whose fault it is, and how it is reported.

The tree, one class for each thing a caller does differently:

    McptestError
    ├── UsageError          the command line: exit 2
    ├── SuiteError          the suite: carries every Problem of it; exit 2
    ├── ServerError         the server under test; carries what it left behind
    │   ├── ServerDidNotStart   not found, not executable, exited, never answered `initialize`
    │   │   └── NotReady        `wait_for_ready` ran out: exit 3
    │   ├── ServerDied          exited or closed the connection with calls pending
    │   ├── ServerHung          stopped answering, and cannot be started again; what would be asked of it is not run
    │   ├── CallTimeout         no answer in time; the session stays usable
    │   ├── ProtocolBroken      an answer that is not the protocol's
    │   ├── InvalidResult       a result that breaks the protocol's schema
    │   ├── CallMismatch        a call that the server answers, and its lists do not allow
    │   ├── AnswerLost          its answer was taken away on purpose, by the test's own `fault`
    │   └── AuthFailed          401, 403
    ├── PolicyDenied        refused by policy: exit 5
    │   └── BudgetExhausted     the budget of tool calls is used up
    └── RecordError         a run record that cannot be read

A result with `isError: true` is an answer, never an exception. A position that is not known is None: no position beats a
made-up one.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, NamedTuple, Self

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest_engine.core.json_types import JsonDict


class ExitCode(IntEnum):
    """What a process that waits for us may rely on. When several apply: 130, 2, 3, 5, 1, 6; 7 only where no test ran."""

    PASSED = 0
    FAILED = 1
    INVALID = 2
    NOT_READY = 3
    POLICY = 5
    GATE = 6
    NO_TESTS = 7
    INTERRUPTED = 130


class Severity(StrEnum):
    """A warning never changes an exit code unless `--strict` is given."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text file: line and column of a character, both counted from 1 in code points."""

    line: int
    column: int

    def __lt__(self, other: Span) -> bool:
        return (self.line, self.column) < (other.line, other.column)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong with a suite file: where, what, and how to mend it.

    `pointer` is the RFC 6901 JSON Pointer of the containing object for an unknown key, else of the value ("" is the root).
    `message` is one line, lower case where it is ours. `hint` is one line such as "did you mean `server`?". `words` is what a
    person reads, where programs know the message by another text. `is_yaml` is for faults of the text itself, where a pointer
    says little or nothing.
    """

    message: str
    pointer: str = ""
    file: str | None = None
    span: Span | None = None
    hint: str | None = None
    severity: Severity = Severity.ERROR
    words: str = ""
    is_yaml: bool = False

    def to_json(self) -> JsonDict:
        """{path, message, hint}, and `line` and `column` of a fault of the text itself."""
        told: JsonDict = {"path": self.pointer, "message": self.message, "hint": self.hint}
        if self.is_yaml and self.span is not None:
            told |= {"line": self.span.line, "column": self.span.column}
        return told

    @property
    def shown(self) -> str:
        """The message for a person."""
        return self.words or self.message

    def __str__(self) -> str:
        place = self.file or ""
        if self.span is not None:
            place += f":{self.span.line}:{self.span.column}"
        word = "warning: " if self.severity is Severity.WARNING else ""
        lines = [f"{place}: {word}{self.shown}" if place else f"{word}{self.shown}"]
        if self.pointer:
            lines.append(f"  at {self.pointer}")
        if self.hint:
            lines.append(f"  {self.hint}")
        return "\n".join(map(one_line, lines))


class McptestError(Exception):
    """The root of every error that mcptest raises on purpose; `hint` says how to go on, in one line.

    Python shows the hint below the message where nobody catches the error.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint is not None:
            self.add_note(hint)


class UsageError(McptestError):
    """The command line asks for something that cannot be done."""


class SuiteError(McptestError):
    """A suite that does not load. `problems` holds every problem found, in file order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class ServerError(McptestError):
    """A server that did not do its part.

    `stderr_tail` is the end of what it wrote on stderr (decoded, unsanitised), `exit_code` its exit code or None while it
    runs or when a signal ended it, `signal` that signal's name such as "SIGSEGV". `http` is what came over HTTP where that is
    how the failure was told: {"status", "headers", "body"?, "retries"?} as in the envelope. `clause` is the cause alone: the
    message without the server's name, the step that failed and the server's last message. `timed_out`: no answer came in time;
    `ended`: the connection ended before one came.
    """

    def __init__(
        self,
        message: str,
        *,
        server: str,
        hint: str | None = None,
        stderr_tail: str = "",
        exit_code: int | None = None,
        signal: str | None = None,
        http: JsonDict | None = None,
        clause: str | None = None,
        timed_out: bool = False,
        ended: bool = False,
        short: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.timed_out, self.ended = timed_out, ended
        self._short = short
        self.clause = message if clause is None else clause
        self.server = server
        self.stderr_tail = stderr_tail
        self.exit_code = exit_code
        self.signal = signal
        self.http = http

    @property
    def short(self) -> str:
        """The cause in two or three words, such as "exited 1": for a list of servers."""
        if self._short is not None:
            return self._short
        if self.exit_code is not None or self.signal is not None:
            return f"exited {self.exit_code}" if self.signal is None else f"killed, {self.signal}"
        status = (self.http or {}).get("status")
        if status is not None:
            return "needs a login" if status == 401 else f"HTTP {status}"
        return "no answer in time" if self.timed_out else "failed"


class ServerDidNotStart(ServerError):
    """Not found, not executable, exited before it answered `initialize`, or never answered it."""


class NotReady(ServerDidNotStart):
    """The time of `wait_for_ready` ran out before the server could be reached."""


class ServerDied(ServerError):
    """Exited or closed its end while calls were waiting for an answer."""


class ServerHung(ServerError):
    """Stopped answering in an earlier call, and could not be started again: nothing more is asked of it."""


class CallTimeout(ServerError):
    """No answer within the call's time; the request was cancelled on the wire."""


class ProtocolBroken(ServerError):
    """Something that is not JSON-RPC came where an answer was due; the message quotes its start."""


class InvalidResult(ServerError):
    """The result of a call breaks the protocol's schema or the tool's own `outputSchema`."""


class CallMismatch(ServerError):
    """The server answered a call of a tool that it does not list; in a strict run, one with arguments that it refuses."""


class AnswerLost(ServerError):
    """The answer was taken away on purpose: the test asked for it with `fault`."""


class Refusal(NamedTuple):
    """How a server refused who asks: the HTTP status, the scheme that it wants, what it was sent, and what to do.

    `may_log_in`: nothing was sent, and `remedy` does not tell of `mcptest login`.
    """

    status: int
    advertised: str
    sent: str
    remedy: str
    may_log_in: bool


class AuthFailed(ServerError):
    """HTTP 401 or 403, which is `refusal`, or a token that could not be had."""

    refusal: Refusal | None = None

    @classmethod
    def because(cls, clause: str, *, server: str, hint: str | None = None) -> AuthFailed:
        """The error whose message begins with "auth failed: "."""
        return cls(f"auth failed: {clause}", server=server, hint=hint, clause=clause)


class NotInstalled(McptestError):
    """A package is missing that the run needs, such as a model provider's: an error, and nothing to be deferred for."""


class PolicyDenied(McptestError):
    """Refused by the safety policy or by a rule for CI."""


class BudgetExhausted(PolicyDenied):
    """Every call that the budget allows has been made; `limit` is how many those were."""

    def __init__(self, limit: int) -> None:
        told = "1 tool call" if limit == 1 else f"{limit} tool calls"
        super().__init__(f"the budget of {told} is used up", hint="allow more with --max-calls")
        self.limit = limit


class RecordError(McptestError):
    """A run record that is missing, torn, or of another schema version; `reason` is why, without its path."""

    def __init__(self, message: str, *, hint: str | None = None, reason: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reason = message if reason is None else reason


class Suggestion(str):
    """A hint "did you mean `MEANT`?" that knows the word which is written instead."""

    __slots__ = ("meant", "written")

    written: str
    meant: str

    def __new__(cls, written: str, meant: str) -> Self:
        self = super().__new__(cls, f"did you mean `{meant}`?")
        self.written, self.meant = written, meant
        return self

    def __reduce__(self) -> tuple[type[Suggestion], tuple[str, str]]:
        return Suggestion, (self.written, self.meant)


_LONGEST_WORD = 200


def did_you_mean(word: str, known: Iterable[str]) -> Suggestion | None:
    """The hint for a misspelt word, or None when nothing is near.

    Case is ignored; a long word is cut. Source: `difflib` measured best of the common metrics on misspelt suite keys; it does
    not know that letters are swapped more often than exchanged (`agrs` is as near to `tags` as to `args`), so the same letters
    come first.
    """
    import difflib  # only on the error path

    by_folded = {candidate.casefold(): candidate for candidate in known}
    word = word[:_LONGEST_WORD]
    folded = word.casefold()
    near = difflib.get_close_matches(folded, by_folded, n=3, cutoff=0.6)
    if not near:
        return None
    best = next((candidate for candidate in near if sorted(candidate) == sorted(folded)), near[0])
    return Suggestion(word, by_folded[best])
