"""How assertions become a score: sets of them, thresholds, and metrics derived from their names.

See docs/how-to/scores.md. Weights and thresholds are decimal numbers, compared as they are written.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mcptest_engine.suite.model.base import About, Many, Part, Text, hints, one_of

Weight = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
"""A part of the whole, from 0 to 1."""


class MetricTerm(Part):
    """One of the scores that a metric is made of."""

    about = About(
        instead={"text": "write `{ ref: VALUE }`"},
        expected="a mapping with `ref` and `weight`",
        heading="A term of a metric",
        link="term",
    )

    ref: Text = Field(
        description="The name of an assertion, a set or an earlier metric of the same test.",
        examples=["cites_sources"],
        json_schema_extra=hints(
            "name metric reference score", missing="name the score: an assertion, a set or an earlier metric"
        ),
    )
    weight: Weight = Field(default=1.0, description="The weight in the score.", json_schema_extra=hints("w factor"))


class MetricValue(Part):
    """How a metric comes from other scores. Exactly one of `weighted_average` and `weighted_sum`."""

    about = About(
        expected="a mapping with `weighted_average` or `weighted_sum`",
        place="belongs under `value`, in a metric",
        choice=("a metric", "write `weighted_average:` and below it a list of `{ ref: NAME, weight: 1 }`"),
        heading="A metric's `value`",
        text="Exactly one of the two.",
    )

    model_config = one_of("weighted_average", "weighted_sum")

    weighted_average: Annotated[Many[MetricTerm], Field(min_length=1)] | None = Field(
        default=None,
        description="The scores times their weights, divided by the sum of the weights.",
        json_schema_extra=hints("average avg mean weighted_mean weightedAverage", items="terms"),
    )
    weighted_sum: Annotated[Many[MetricTerm], Field(min_length=1)] | None = Field(
        default=None,
        description="The scores times their weights, added up.",
        json_schema_extra=hints("sum weightedSum", items="terms"),
    )


class DerivedMetric(Part):
    """A number that is reported of a test, made of the scores of its named assertions and sets."""

    about = About(
        expected="a metric, which is a mapping with `name` and `value`",
        place="belongs in a metric, under `derivedMetrics`",
        heading="A metric",
        text="An entry of `derivedMetrics`.",
        link="metric",
    )

    name: Text = Field(
        description="The name in reports and for later metrics.",
        examples=["quality"],
        json_schema_extra=hints("id metric", missing="give the metric a name"),
    )
    value: MetricValue = Field(
        description="How the metric is computed.",
        json_schema_extra=hints(
            "formula expression of",
            missing="write how to compute it, such as `value: { weighted_average: [{ ref: NAME }] }`",
        ),
    )
    threshold: Weight | None = Field(
        default=None,
        description="If the metric is below this, the test fails, even if its score passed.",
        json_schema_extra=hints("min min_score"),
    )
