"""The child program that runs jq for `core/jq.py`; it is never imported.

Started as `python -I -S jq_worker.py DIRECTORY`, where DIRECTORY holds the jq binding. It reads three lines a request
(seconds, program, value) and answers one line: `{"o":[outputs]}`, `{"c":text}` for a program that does not compile, or
`{"e":text}` for one that failed. The surprising thing is the timer: should our parent be gone while a program runs for ever,
nobody is left to kill us, so the kernel does it by an alarm that no Python code has to serve. It counts our own computing.
"""

from __future__ import annotations

import signal
import sys

sys.path.append(sys.argv[1])

import json
from typing import Any

import jq

CACHED_PROGRAMS = 1024
MEMORY_BYTES = 1 << 30
LARGEST_ANSWER = 128 << 20

# What a program could look out of the window with, or leave by without a word, is given another meaning. It all stands on
# the program's first line, so that lines (and `$__loc__`) are the author's own; columns of line 1 are shifted back.
PREFIX = (
    "def env: {}; def input_filename: null; def get_search_list: []; "
    'def input: error("there is no further input"); def modulemeta: error("modules cannot be read"); '
    'def halt: error("a program cannot halt"); def halt_error: error; def halt_error($code): error; '
    "{} as $ENV | "
)


def wrapped(text: str) -> object:
    """The program with `tojson` behind it: the binding turns numbers into floats, jq itself keeps each as it was written.

    Only for a program that compiles alone, so that its brackets cannot reach out of ours.
    """
    return jq.compile(f"{PREFIX}({text}\n\n)|tojson")


def run(program: Any, value: str) -> str:
    """All outputs as the text of one JSON array's inside."""
    outputs: list[str] = []
    size = 0
    for output in program.input_text(value):
        size += len(output)
        if size > LARGEST_ANSWER:
            raise ValueError("the outputs are too large")
        outputs.append(output)
    return ",".join(outputs)


def answer(programs: dict[str, Any], program: str, value: str) -> str:
    """One answer line for a request; an empty `value` asks only whether the program compiles.

    `programs` keeps the compiled ones, and None for one that is known to compile; compiling takes milliseconds.
    """
    if program not in programs:
        if len(programs) >= CACHED_PROGRAMS:
            programs.clear()
        try:
            jq.compile(PREFIX + json.loads(program))
        except ValueError as wrong:
            return json.dumps({"c": str(wrong), "p": len(PREFIX)})
        programs[program] = None
    if not value:
        return '{"o":[]}'
    try:
        compiled = programs[program]
        if compiled is None:
            compiled = programs[program] = wrapped(json.loads(program))
        return f'{{"o":[{run(compiled, value)}]}}'
    except ValueError as wrong:
        return json.dumps({"e": str(wrong)})


def limit_ourselves() -> None:
    """Bound our memory and leave no core file; a platform that knows no such limit goes without."""
    import resource

    for kind, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CORE, 0)):
        try:
            resource.setrlimit(kind, (most, most))
        except (ValueError, OSError):
            continue


def main() -> None:
    """Serve requests until standard input ends."""
    limit_ourselves()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    programs: dict[str, Any] = {}
    read, write = sys.stdin.buffer.readline, sys.stdout.buffer.write
    write(b"ready\n")
    sys.stdout.buffer.flush()
    while seconds := read():
        program, value = read().decode(), read().decode()
        signal.setitimer(signal.ITIMER_PROF, float(seconds))
        line = answer(programs, program, value.rstrip("\n"))
        signal.setitimer(signal.ITIMER_PROF, 0)
        write(line.encode("utf-8", "replace") + b"\n")
        sys.stdout.buffer.flush()


main()
