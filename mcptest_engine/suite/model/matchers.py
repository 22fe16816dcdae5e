"""The matchers as a suite spells them: one flat model with exactly one key.

The judging of each lives in `judging/matchers`; a test holds its registry equal to the keys here.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from mcptest_engine.suite.model.base import Many, Part, Text
from mcptest_engine.suite.model.judging import LlmJudge  # noqa: TC001  (pydantic reads the annotations)

JsonType = Literal["string", "number", "integer", "boolean", "array", "object", "null"]


def _only_true(value: bool) -> bool:
    if not value:
        raise PydanticCustomError("only_true", "`false` has no effect here; remove the key")
    return value


# `Literal[True]` would accept 1, which equals it.
OnlyTrue = Annotated[bool, AfterValidator(_only_true), WithJsonSchema({"const": True, "type": "boolean"})]


class Approx(Part):
    """A number and how far from it another may lie."""

    value: float = Field(description="The number expected.")
    tolerance: float = Field(ge=0, description="The largest allowed difference.")


class Snapshot(Part):
    """A comparison with a stored value."""

    name: Text | None = Field(default=None, description="The name of the snapshot. Default: the name of the test.")
    ignore: Many[Text] = Field(
        default=(),
        description="Paths inside the value that are not compared.",
        examples=[["content[0].text"]],
    )


class Matcher(Part):
    """Decides one assertion. Exactly one key."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})
    may_be_null: ClassVar[frozenset[str]] = frozenset({"exact", "contains", "subset"})

    exact: Any = Field(default=None, description="Deep JSON equality; `1` equals `1.0`, `true` does not equal `1`.")
    not_: Matcher | None = Field(default=None, alias="not", description="Holds if the inner matcher does not.")
    all_of: Annotated[Many[Matcher], Field(min_length=1)] | None = Field(
        default=None, alias="all-of", description="Holds if all of these matchers hold."
    )
    any_of: Annotated[Many[Matcher], Field(min_length=1)] | None = Field(
        default=None, alias="any-of", description="Holds if at least one of these matchers holds."
    )
    contains: Any = Field(
        default=None,
        description="A substring of a text, an element of an array, or pairs of an object.",
    )
    icontains: str | None = Field(default=None, description="A substring; upper and lower case are equal.")
    contains_all: Annotated[Many[Any], Field(min_length=1)] | None = Field(
        default=None, alias="contains-all", description="All of these, each as in `contains`."
    )
    contains_any: Annotated[Many[Any], Field(min_length=1)] | None = Field(
        default=None, alias="contains-any", description="At least one of these, each as in `contains`."
    )
    starts_with: str | None = Field(default=None, alias="starts-with", description="The beginning of a text.")
    ends_with: str | None = Field(default=None, alias="ends-with", description="The end of a text.")
    regex: str | None = Field(
        default=None,
        description="A regular expression, found anywhere in a text. Flags are inside, such as `(?i)`.",
        examples=["^\\d{4}-\\d{2}-\\d{2}$"],
    )
    schema_: dict[str, Any] | None = Field(
        default=None,
        alias="schema",
        description="A JSON Schema. Default: draft 2020-12. Nothing remote is fetched.",
        examples=[{"type": "object", "required": ["id"]}],
    )
    lt: float | None = Field(default=None, description="Less than this number.")
    lte: float | None = Field(default=None, description="Less than or equal to this number.")
    gt: float | None = Field(default=None, description="Greater than this number.")
    gte: float | None = Field(default=None, description="Greater than or equal to this number.")
    between: Annotated[Many[float], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="The smallest and the largest allowed number.", examples=[[1, 10]]
    )
    approx: Approx | None = Field(default=None, description="A number with a tolerance.")
    length: Annotated[int, Field(ge=0)] | Matcher | None = Field(
        default=None, description="The length of a text, array or object: a number, or a matcher for it."
    )
    type: JsonType | None = Field(default=None, description="The JSON type; `integer` is a number without a fraction.")
    exists: bool | None = Field(default=None, description="Whether the target exists.")
    one_of: Annotated[Many[Any], Field(min_length=1)] | None = Field(
        default=None, alias="one-of", description="Equal to one of these values."
    )
    subset: Any = Field(
        default=None,
        description="Contains all these keys and values, at every depth. Arrays are compared element by element; "
        "more elements may follow.",
    )
    each: Matcher | None = Field(
        default=None, description="Holds for every element of an array, and for an empty array."
    )
    some: Matcher | None = Field(default=None, description="Holds for at least one element of an array.")
    jq: Text | None = Field(
        default=None, description="A jq program. Holds if its last output is neither false nor null."
    )
    snapshot: OnlyTrue | Snapshot | None = Field(default=None, description="Equal to the accepted, saved value.")
    llm_judge: LlmJudge | None = Field(
        default=None,
        alias="llm-judge",
        description="Holds if a model says that the value is good. Deferred if no model is set up.",
        examples=[{"rubric": "Names the city and the temperature."}],
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Matcher:
        if len(self.model_fields_set) != 1:
            raise PydanticCustomError("one_key", "a matcher has exactly one key")
        return self
