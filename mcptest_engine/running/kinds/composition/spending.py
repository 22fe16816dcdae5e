"""What the calls of a composition cost, and the caps on it: those of all its cases together, or of each.

A call says what it cost in `result._meta["mcptest/usage"]`: {"cost_usd", "tokens", "model"}. One that says nothing counts
zero. One that says anything, and no price, has an unknown price, and so has every sum that it is part of; and so with tokens.
What is unknown may be over any cap.
See docs/how-to/compositions.md.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.costs import added_up, is_amount, sum_costs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


USAGE = "mcptest/usage"


class Usage(NamedTuple):
    """What one call, or several together, cost. `cost_usd` is None when the price of one is unknown; `said`: any told of it.

    `tokens` are those that are known, `knows_tokens` False where one call told of its costs and of no whole number of tokens.
    """

    cost_usd: float | None = 0.0
    tokens: int = 0
    model: str | None = None
    said: bool = False
    knows_tokens: bool = True


_NOTHING = Usage()


def usage_of(result: object) -> Usage:
    """What a result says that its call cost; what is no amount of money or tokens is not believed."""
    meta = result.get("_meta") if isinstance(result, dict) else None
    said = meta.get(USAGE) if isinstance(meta, dict) else None
    if not isinstance(said, dict) or not said:
        return _NOTHING
    cost, tokens, model = said.get("cost_usd"), said.get("tokens"), said.get("model")
    known = int(tokens) if is_amount(tokens) and tokens == int(tokens) else None
    return Usage(
        cost_usd=float(cost) if is_amount(cost) else None,
        tokens=known or 0,
        model=model if isinstance(model, str) else None,
        said=True,
        knows_tokens=known is not None,
    )


def total(usages: Iterable[Usage]) -> Usage:
    """Several calls as one; the model is that of all, or None where they differ."""
    every = list(usages)
    models = {usage.model for usage in every if usage.said}
    return Usage(
        cost_usd=sum_costs(usage.cost_usd for usage in every),
        tokens=sum(usage.tokens for usage in every),
        model=next(iter(models)) if len(models) == 1 else None,
        said=any(usage.said for usage in every),
        knows_tokens=all(usage.knows_tokens for usage in every),
    )


def total_said(usages: Iterable[Usage]) -> Usage:
    """The same; most calls say nothing, and are not added up."""
    said = [usage for usage in usages if usage.said]
    return total(said) if said else _NOTHING


def by_model(usages: Iterable[Usage]) -> list[dict[str, Any]]:
    """What each model cost, the dearest first: [{"model", "calls", "tokens", "cost_usd"}]; silent calls are left out."""
    return added_up(
        {"model": usage.model, "calls": 1, "tokens": usage.tokens, "cost_usd": usage.cost_usd}
        for usage in usages
        if usage.said
    )


class Spending:
    """What one case of a composition has come to so far, or all of them, against its caps. Times are in seconds.

    `of_all` says that several cases share it: they run one after another, so that the same one crosses a cap in every run.
    """

    def __init__(self, budget: Mapping[str, Any] | None = None, *, of_all: bool = False) -> None:
        self._budget = budget = budget or {}
        self.of_all = of_all
        self.max_cost_usd: float | None = budget.get("max_cost_usd")
        self.max_tokens: int | None = budget.get("max_tokens")
        self.max_duration_ms: int | None = budget.get("max_duration_ms")
        self.tripped: str | None = None
        self._unknown = False
        self.stops: set[Callable[[], None]] = set()
        """Of each case that is under way, what ends its calls."""
        self._cost = Decimal(0)
        self._tokens = 0
        self._seconds = 0.0

    @property
    def has_caps(self) -> bool:
        """Whether anything can cross it."""
        return (self.max_cost_usd, self.max_tokens, self.max_duration_ms) != (None, None, None)

    def anew(self) -> Spending:
        """The same caps, of which nothing was spent."""
        return Spending(self._budget, of_all=self.of_all)

    def add(self, usage: Usage) -> str | None:
        """Count a call; the cap that it crossed, None where it crossed none or one had been crossed before."""
        if not usage.said:
            return None
        if usage.cost_usd:
            self._cost += Decimal(repr(usage.cost_usd))
        self._tokens += usage.tokens
        if self.tripped is not None:
            return None
        if self.max_cost_usd is not None and self._cost > Decimal(repr(self.max_cost_usd)):
            self.tripped = "max_cost_usd"
        elif self.max_tokens is not None and self._tokens > self.max_tokens:
            self.tripped = "max_tokens"
        elif self.max_cost_usd is not None and usage.cost_usd is None:
            self.tripped, self._unknown = "max_cost_usd", True
        elif self.max_tokens is not None and not usage.knows_tokens:
            self.tripped, self._unknown = "max_tokens", True
        return self.tripped

    def stop(self) -> None:
        """A cap was crossed: end the calls of all cases."""
        for stop in tuple(self.stops):
            stop()

    def seconds_left(self) -> float | None:
        """How long it may still go on; None without a cap, and never below zero."""
        return None if self.max_duration_ms is None else max(self.max_duration_ms / 1000 - self._seconds, 0.0)

    def took(self, seconds: float) -> None:
        """A case has ended; several that ran at once may be over the cap together only."""
        self._seconds += seconds
        if self.tripped is None and self.max_duration_ms is not None and self._seconds * 1000 > self.max_duration_ms:
            self.tripped = "max_duration_ms"

    def describe_excess(self) -> str:
        """What was crossed, and how far: "max_cost_usd: the calls cost $0.06, over $0.05"."""
        calls, they = ("the calls of all cases", "all cases") if self.of_all else ("the calls", "it")
        if self._unknown:
            told, most = ("price", self.max_cost_usd) if self.tripped == "max_cost_usd" else ("tokens", self.max_tokens)
            return f"{self.tripped}: a call reported its usage, but no {told}, so the total may exceed {most}"
        if self.tripped == "max_cost_usd":
            return f"max_cost_usd: {calls} cost ${float(self._cost)}, over ${self.max_cost_usd}"
        if self.tripped == "max_tokens":
            return f"max_tokens: {calls} took {self._tokens} tokens, over {self.max_tokens}"
        return f"max_duration_ms: {they} took longer than {self.max_duration_ms} ms"
