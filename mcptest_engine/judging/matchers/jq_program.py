"""`jq`: a program's last output is truthy, that is neither `false` nor `null`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.clipping import show, show_text
from mcptest_engine.core.jq import JqProgramError, JqRunError, run_program
from mcptest_engine.core.results import Mismatch
from mcptest_engine.judging.matchers.reasons import absent_entry, because, unjudged

if TYPE_CHECKING:
    from mcptest_engine.judging.matchers import Context, Judge, Reason


def truthy(program: str, _: Context) -> Judge:
    """The last output is truthy; a program without output, or one that fails, does not hold."""

    def judge(actual: object) -> Reason | None:
        lacking = absent_entry(actual)
        if lacking is not None:
            return lacking
        name = f"jq `{show_text(program, 120)}`"
        try:
            outputs = run_program(program, actual)
        except (JqProgramError, JqRunError) as wrong:
            timed_out = isinstance(wrong, JqRunError) and wrong.timed_out
            return unjudged(f"{name} {program_failure_text(wrong)}", timed_out=timed_out)
        if not outputs:
            return because(f"{name} gave no output")
        last = outputs[-1]
        if last is not None and last is not False:
            return None
        return lambda: Mismatch(message=f"{name} gave `{show(last)}` for `{show(actual)}`")

    return judge


def program_failure_text(wrong: JqProgramError | JqRunError) -> str:
    """How a program failed, to stand after its name."""
    if isinstance(wrong, JqRunError) and wrong.timed_out:
        return f"was {show_text(wrong.message)}"
    return f"failed: {show_text(wrong.message)}"
