"""Hooks as the suite declares them, each as one or several commands, and what can be wrong with a command.

A command is split by the rules of a POSIX shell and run without one. See docs/how-to/hooks.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.text import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.suite.merge import Placed
    from mcptest_engine.suite.places import Places
    from mcptest_engine.suite.yaml import Pointer

PHASES = ("beforeAll", "afterAll", "beforeEach", "afterEach")
PER_TEST = frozenset({"beforeEach", "afterEach"})
_OPERATOR = lazy_pattern(r"(?:\|\|?|&&?|;|[0-9]?>>?(?:&[0-9])?|<|2>&1)\Z")
_EXPANDED = lazy_pattern(r"~/|\$[A-Za-z_]\w*(?:/|\Z)|`|\$\(|\S+;\Z|[^\s*?]*[*?][^\s*?]*\.\w+\Z")


def steps_of(phase: object) -> list[Any]:
    """The steps of a phase, in order, whichever way it was written."""
    return phase if isinstance(phase, list) else [phase]


def check_hooks(hooks: Mapping[str, Placed], places: Places) -> None:
    """Tell what is wrong with the commands of `hooks`, key by key."""
    for phase in PHASES:
        if phase not in hooks:
            continue
        placed = hooks[phase]
        for number, step in enumerate(steps_of(placed.value)):
            path = (*placed.path, number) if isinstance(placed.value, list) else placed.path
            command, at = (step.get("command"), (*path, "command")) if isinstance(step, dict) else (step, path)
            if isinstance(command, str) and command:
                _check_command(command, placed.file, at, places)
    if "per_attempt" in hooks and PER_TEST.isdisjoint(hooks):
        placed = hooks["per_attempt"]
        message = "`per_attempt` has no effect without a `beforeEach` or an `afterEach`"
        places.warn(placed.file, placed.path, message, "add one of the two, or remove it", key=True)


def _check_command(command: str, file: int, path: Pointer, places: Places) -> None:
    import shlex

    try:
        argv = shlex.split(command)
    except ValueError as wrong:
        message = f"the command {quoted(command)} cannot be split: {str(wrong)[:1].lower()}{str(wrong)[1:]}"
        places.report(file, path, message, "close every quote")
        return
    if not argv or not argv[0]:
        places.report(file, path, "the command is empty", "name a program, such as `./seed.sh`")
        return
    name, assigns, _ = argv[0].partition("=")
    if assigns and name.isidentifier():
        message = f"{quoted(argv[0])} sets no variable: a hook is run without a shell"
        places.warn(
            file, path, message, f"start with `env {argv[0]}`, or write it under `env:` at the top of the suite"
        )
        return
    operator = next((word for word in argv if _OPERATOR.match(word)), None)
    if operator is not None:
        message = f"{quoted(operator)} is passed to `{argv[0]}` as an argument: a hook is run without a shell"
        places.warn(file, path, message, "call the shell yourself: `bash -c '…'`")
        return
    expanded = None if "-c" in argv else next((word for word in argv if _EXPANDED.match(word)), None)
    if expanded is not None:
        message = f"{quoted(expanded)} is passed unchanged: a hook is run without a shell"
        hint = "write `${env.HOME}/`" if expanded.startswith("~/") else "`${env.NAME}` reads the environment"
        if not expanded.startswith(("~", "$")) or expanded.startswith("$("):
            hint = "call the shell yourself: `bash -c '…'`"
        places.warn(file, path, message, hint)
