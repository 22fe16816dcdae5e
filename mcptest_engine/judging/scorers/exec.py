"""A scorer of type `exec`: one program started for one answer, told what to grade on stdin, heard on stdout.

The surprising thing: how it ended is looked at before what it printed, so that a good verdict of a program that then failed
is no verdict. See docs/how-to/scorers.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from mcptest_engine.core.safe_json import safe_json
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.judging.scorers.values import EXEC, ScorerError, ScorerFault
from mcptest_engine.judging.scorers.verdicts import BadVerdict, read_verdict
from mcptest_engine.servers.failures import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.judging.scorers.values import Scorer, ScorerVerdict

TAIL_CHARACTERS = 4_096
_QUOTED = 80
_QUOTED_FROM = 4_096  # characters that are looked through for secrets before the beginning of them is quoted


def request_bytes(*, prompt: str, output: str, criteria: str, metadata: Mapping[str, object]) -> bytes:
    """The one JSON document that a scorer reads: `input`, `output`, `criteria`, `metadata`, in this order."""
    request = {"input": prompt, "output": output, "criteria": criteria, "metadata": metadata}
    return safe_json(request).encode() + b"\n"


async def grade_by_program(
    scorer: Scorer, request: bytes, *, environ: Mapping[str, str], redact: Callable[[str], str]
) -> ScorerVerdict:
    """What `scorer` says of `request`. `environ` is its whole environment but for its own `env`. Raises: ScorerError."""
    if scorer.type != EXEC:
        told = f"scorer type '{one_line(scorer.type, _QUOTED)}' not available in this build"
        raise ScorerError(scorer.name, ScorerFault.UNKNOWN_TYPE, told, hint="wrap it in a program: `type: exec`")
    # Not needed where every verdict is kept.
    from mcptest_engine.servers.command_process import LARGEST_ANSWER_BYTES, CommandProcess, NotStarted

    try:
        process = CommandProcess(
            scorer.command,
            {**environ, **scorer.env},
            kind="scorer",
            name=scorer.name,
            stdin=request,
            cwd=scorer.cwd,
        )
    except NotStarted as wrong:
        _fail(scorer, ScorerFault.SPAWN, redact(str(wrong)))
    except OSError as wrong:  # no descriptor is left for its pipes
        _fail(scorer, ScorerFault.SPAWN, f"could not be started: {wrong.strerror or wrong}")
    try:
        in_time = await process.wait(scorer.timeout_ms / 1000, unless_flooded=True)
    finally:
        await process.end()
    tail = process.output.text(redact)[-TAIL_CHARACTERS:]
    if process.flooded.done():
        told = f"printed more than {LARGEST_ANSWER_BYTES // 1024**2} MiB on stdout"
        _fail(scorer, ScorerFault.OUTPUT_TOO_LARGE, told, stderr_tail=tail)
    if not in_time:
        told = f"took longer than {duration(scorer.timeout_ms / 1000)} and was killed"
        _fail(scorer, ScorerFault.TIMEOUT, told, stderr_tail=tail, hint="set a larger `timeout_ms` on the scorer")
    if process.signal is not None:
        _fail(scorer, ScorerFault.EXIT, f"was ended by {process.signal}", stderr_tail=tail)
    if process.exit_code:
        _fail(scorer, ScorerFault.EXIT, f"exited with {process.exit_code}", stderr_tail=tail)
    answer = bytes(process.answer)
    try:
        return read_verdict(answer)
    except BadVerdict as wrong:
        told = redact(str(wrong))
        if wrong.fault is ScorerFault.INVALID_JSON:
            told += f" (it begins `{_beginning(answer, redact)}`)"
        _fail(scorer, wrong.fault, told, stderr_tail=tail, hint=wrong.hint)


def _beginning(answer: bytes, redact: Callable[[str], str]) -> str:
    return one_line(redact(answer[:_QUOTED_FROM].decode("utf-8", "replace").lstrip()), _QUOTED)


def _fail(
    scorer: Scorer, fault: ScorerFault, clause: str, *, hint: str | None = None, stderr_tail: str = ""
) -> NoReturn:
    told = f"scorer `{one_line(scorer.name, _QUOTED)}` {clause}"
    raise ScorerError(scorer.name, fault, told, hint=hint, stderr_tail=stderr_tail)
