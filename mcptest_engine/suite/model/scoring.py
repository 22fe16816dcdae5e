"""How assertions become a score: sets of them, thresholds, and metrics derived from their names.

Source: suite-composition. Weights and thresholds are decimal numbers, compared as they are written.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from mcptest_engine.suite.model.base import Many, OneWay, Part, Text, one_of

Weight = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
"""A part of the whole, from 0 to 1."""


class MetricTerm(Part):
    """One of the scores that a metric is made of."""

    ref: Text = Field(
        description="The name of an assertion, a set or an earlier metric of the same test.",
        examples=["cites_sources"],
    )
    weight: Weight = Field(default=1.0, description="The weight in the score.")


class MetricValue(OneWay):
    """How a metric comes from other scores. Exactly one of `weighted_average` and `weighted_sum`."""

    model_config = one_of("weighted_average", "weighted_sum")
    ways: ClassVar[tuple[str, ...]] = ("weighted_average", "weighted_sum")

    weighted_average: Annotated[Many[MetricTerm], Field(min_length=1)] | None = Field(
        default=None, description="The scores times their weights, divided by the sum of the weights."
    )
    weighted_sum: Annotated[Many[MetricTerm], Field(min_length=1)] | None = Field(
        default=None, description="The scores times their weights, added up."
    )


class DerivedMetric(Part):
    """A number that is reported of a test, made of the scores of its named assertions and sets."""

    name: Text = Field(description="The name in reports and for later metrics.", examples=["quality"])
    value: MetricValue = Field(description="How the metric is computed.")
    threshold: Weight | None = Field(
        default=None, description="If the metric is below this, the test fails, even if its score passed."
    )
