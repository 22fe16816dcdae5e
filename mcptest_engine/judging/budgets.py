"""The budgets of a test: how long its answer may take and how long it may be. A budget gates, or only warns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.results import Failure, FailureKind
from mcptest_engine.core.text import estimate_tokens
from mcptest_engine.core.values import dataclass
from mcptest_engine.suite.templates import as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcptest_engine.core.json_types import Json, JsonMapping


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetOutcome:
    """What the budgets came to: the failure, if one gates and is exceeded, and a line for each that only warns."""

    failure: Failure | None = None
    warnings: tuple[str, ...] = ()


def judge_budgets(expect: Mapping[str, object], envelope: Mapping[str, object]) -> BudgetOutcome:
    """Judge `max_duration_ms` and `max_response_tokens`: a number, or {budget, mode: fail|warn}. What equals the budget fits.

    Both exceeded are one failure whose message names both.
    """
    failures: list[str] = []
    warnings: list[str] = []
    for key, told in (("max_duration_ms", _duration_failure), ("max_response_tokens", _tokens_failure)):
        if key not in expect:
            continue
        budget, mode = _budget(expect[key])
        message = told(budget, envelope)
        if message is not None:
            (warnings if mode == "warn" else failures).append(f"{message} ({key})")
    failure = Failure(kind=FailureKind.BUDGET, message="; ".join(failures)) if failures else None
    return BudgetOutcome(failure=failure, warnings=tuple(warnings))


def response_tokens(envelope: Mapping[str, object]) -> int:
    """About how many tokens the texts of an answer are: a quarter of their characters, rounded up.

    Texts are those of a tool's `content`, a resource's `contents`, and a prompt's `messages`, embedded resources included; an
    agent test has its final response. The combined output of a composition that holds no such texts is counted as JSON.
    Source: MCP 2025-11-25, server/tools, server/resources, server/prompts.
    """
    said = envelope.get("final_response")
    if "composition" in envelope:
        output = envelope["output"]
        texts: Iterable[str] = tuple(_texts(output)) or (() if output is None else (as_text(output),))
    else:
        texts = (said,) if isinstance(said, str) else _texts(envelope.get("result"))
    return estimate_tokens(texts)


def _budget(setting: Json) -> tuple[float, str]:
    if isinstance(setting, dict):
        return setting["budget"], setting.get("mode", "fail")
    return setting, "fail"


def _duration_failure(budget: float, envelope: JsonMapping) -> str | None:
    duration = envelope["duration_ms"]
    if duration <= budget:
        return None
    return f"duration budget exceeded: {_milliseconds(duration, budget)} > {_number_text(budget)}ms"


def _tokens_failure(budget: float, envelope: Mapping[str, object]) -> str | None:
    tokens = response_tokens(envelope)
    return None if tokens <= budget else f"response token budget exceeded: {tokens} > {_number_text(budget)}"


def _milliseconds(duration: float, budget: float) -> str:
    """Whole milliseconds, unless rounding would hide that the budget is exceeded."""
    for digits in (0, 1, 3, 6):
        rounded = round(duration, digits)
        if rounded > budget:
            return f"{_number_text(rounded)}ms"
    return f"{duration!r}ms"


def _number_text(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _texts(result: object) -> Iterator[str]:
    if not isinstance(result, dict):
        return
    for key in ("content", "contents", "messages"):
        blocks = result.get(key)
        for block in blocks if isinstance(blocks, list) else ():
            yield from _texts_of(block.get("content") if key == "messages" and isinstance(block, dict) else block)


def _texts_of(block: object) -> Iterator[str]:
    """The texts of one content block; a prompt's message may hold several."""
    for item in block if isinstance(block, list) else [block]:
        if not isinstance(item, dict):
            continue
        for holder in (item, item.get("resource")):
            if isinstance(holder, dict) and isinstance(holder.get("text"), str):
                yield holder["text"]
