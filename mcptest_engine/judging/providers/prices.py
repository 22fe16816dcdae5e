"""What models cost: USD per million tokens, of the well-known ones, as their providers listed it on `LISTED_ON`.

A suite's `prices:` stand over it. A price that is not known is None, never 0. Discounts (answers of a batch, prompts that a
provider had in its own cache) are left out, so that a cost is never told too low. A model that was sold at a passing price on
that day is left out too (gpt-5.6-sol: what it costs after the offer was announced by nobody).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.json_types import JsonMapping

LISTED_ON = "2026-11-10"
_MILLION = 1_000_000
_LONG = 272_000
_SNAPSHOT = re.compile(r"-(?:\d{8}|\d{4}-\d\d-\d\d|latest)$")
"""What names one state of a model, which costs what the model does."""


class Price(NamedTuple):
    """USD per million tokens in and out. `long` is what counts for all tokens of a prompt of more than `above` tokens;
    where that is None it is not known.
    """

    tokens_in: float
    tokens_out: float
    above: int | None = None
    long: tuple[float, float] | None = None


_OPUS, _SONNET, _FABLE = Price(5, 25), Price(3, 15), Price(10, 50)
_SOL = Price(2, 10, _LONG, (4, 15))
PRICES: Mapping[str, Price] = {
    "claude-fable-5-2": Price(8, 40),
    "claude-fable-5-1": _FABLE,
    "claude-fable-5": _FABLE,
    "claude-mythos-5-1": _FABLE,
    "claude-mythos-5": _FABLE,
    "claude-opus-5-5": Price(4, 20),
    "claude-opus-5": _OPUS,
    "claude-opus-4-8": _OPUS,
    "claude-opus-4-7": _OPUS,
    "claude-opus-4-6": _OPUS,
    "claude-opus-4-5": _OPUS,
    "claude-opus-4-1": Price(15, 75),
    "claude-sonnet-5-5": Price(2, 10),
    "claude-sonnet-5": Price(2, 10),
    "claude-sonnet-4-6": _SONNET,
    "claude-sonnet-4-5": _SONNET,
    "claude-haiku-5-5": Price(0.1, 0.5, 100_000, (0.5, 2.5)),
    "claude-haiku-4-5": Price(1, 5),
    "gpt-6.1-sol": _SOL,
    "gpt-6.1-terra": Price(1, 5, _LONG, (2, 7.5)),
    "gpt-6-astra": Price(10, 50, _LONG, (20, 75)),
    "gpt-6-sol": _SOL,
    "gpt-6-luna": Price(0.1, 0.5, _LONG, (0.2, 0.75)),
    "gpt-5.6-terra": Price(2, 12, _LONG, (4, 18)),
    "gpt-5.6-luna": Price(0.2, 1.2, _LONG, (0.4, 1.8)),
    "gpt-5.5": Price(5, 30, _LONG),
    "gpt-5.4": Price(2.5, 15, _LONG, (5, 22.5)),
    "gpt-5.4-mini": Price(0.75, 4.5),
    "gpt-5.4-nano": Price(0.2, 1.25),
    "gpt-5.2": Price(1.75, 14),
    "gpt-5.1": Price(1.25, 10),
    "gpt-5": Price(1.25, 10),
    "gpt-5-mini": Price(0.25, 2),
    "gpt-5-nano": Price(0.05, 0.4),
    "gpt-4.1": Price(2, 8),
    "gpt-4.1-mini": Price(0.4, 1.6),
    "gpt-4.1-nano": Price(0.1, 0.4),
    "gpt-4o": Price(2.5, 10),
    "gpt-4o-2024-05-13": Price(5, 15),  # dearer than the model is now
    "gpt-4o-mini": Price(0.15, 0.6),
    "o4-mini": Price(1.1, 4.4),
    "o3": Price(2, 8),
    "o3-mini": Price(1.1, 4.4),
    "o1": Price(15, 60),
}


class PriceList:
    """The prices that count in a run. `own` is a suite's: {id or prefix*: {input_usd_per_mtok, output_usd_per_mtok}}."""

    def __init__(self, own: Mapping[str, JsonMapping] | None = None) -> None:
        self._own = {
            name: Price(price["input_usd_per_mtok"], price["output_usd_per_mtok"])
            for name, price in (own or {}).items()
        }

    def price(self, model: str) -> Price | None:
        """By the id itself, else by the longest `prefix*`, else as listed."""
        if (exact := self._own.get(model)) is not None:
            return exact
        prefixes = [name for name in self._own if name.endswith("*") and model.startswith(name[:-1])]
        if prefixes:
            return self._own[max(prefixes, key=len)]
        return PRICES.get(model) or PRICES.get(_SNAPSHOT.sub("", model))

    def cost(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """What a call cost in USD, exactly; None where the price is not known."""
        price = self.price(model)
        if price is None:
            return None
        each = (price.tokens_in, price.tokens_out)
        if price.above is not None and tokens_in > price.above:
            if price.long is None:
                return None
            each = price.long
        from decimal import Decimal

        millionths = sum(Decimal(repr(usd)) * tokens for usd, tokens in zip(each, (tokens_in, tokens_out), strict=True))
        return float(millionths / _MILLION)
