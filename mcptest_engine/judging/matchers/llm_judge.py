"""`llm-judge`: a model says whether the value is good. It holds, or does not, by what was said; asking is others' affair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.judging.matchers import Undecided
from mcptest_engine.judging.matchers.reasons import absent_entry, because

if TYPE_CHECKING:
    from mcptest_engine.judging.matchers import Context, Judge, Reason


def judged_by_model(argument: dict[str, object], context: Context) -> Judge:
    """The model's opinion of the value; of what is absent nobody is asked: it does not hold."""

    def judge(actual: object) -> Reason | None:
        lacking = absent_entry(actual)
        if lacking is not None:
            return lacking
        if context.opinions is None:
            raise Undecided("deferred: no model is asked here", deferred="no model is asked here")
        opinion = context.opinions.of(argument, actual)
        return None if opinion.passed else because(opinion.words)

    return judge
