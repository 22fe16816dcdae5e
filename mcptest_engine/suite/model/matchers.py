"""The matchers as a suite spells them: one flat model with exactly one key.

The judging of each lives in `judging/matchers`; a test holds its registry equal to the keys here.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from mcptest_engine.suite.model.base import About, Many, Part, Text, hints
from mcptest_engine.suite.model.judging import LlmJudge  # noqa: TC001  (pydantic reads the annotations)

JsonType = Literal["string", "number", "integer", "boolean", "array", "object", "null"]


OnlyTrue = Literal[True]


class Approx(Part):
    """A number and how far from it another may lie."""

    about = About(
        instead={"value": "write `{ value: VALUE, tolerance: 0.01 }`"},
        expected="a mapping with `value` and `tolerance`",
        place="belongs under `approx`",
    )

    value: float = Field(description="The number expected.", json_schema_extra=hints("of expected"))
    tolerance: float = Field(
        ge=0, description="The largest allowed difference.", json_schema_extra=hints("delta epsilon within")
    )


class Snapshot(Part):
    """A comparison with a stored value."""

    about = About(instead={"text": "write `true`, or `{ name: VALUE }`"}, place="belongs under `snapshot`")

    name: Text | None = Field(default=None, description="The name of the snapshot. Default: the name of the test.")
    ignore: Many[Text] = Field(
        default=(),
        description="Paths inside the value that are not compared.",
        examples=[["content[0].text"]],
    )


class Matcher(Part):
    """Decides one assertion. Exactly one key."""

    about = About(
        instead={
            "text": "write `{ contains: VALUE }`",
            "list": "write `all-of:` before a list of matchers",
            "value": "write `{ exact: VALUE }`",
        },
        expected="a mapping with one matcher",
        place="is a matcher: it belongs under `matcher`",
        link="[matcher](matchers.md)",
    )

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    exact: Any = Field(
        default=None,
        description="Deep JSON equality; `1` equals `1.0`, `true` does not equal `1`.",
        json_schema_extra=hints("eq equal equals is value toEqual toBe == equal_to"),
    )
    not_: Matcher | None = Field(
        default=None,
        alias="not",
        description="Holds if the inner matcher does not.",
        json_schema_extra=hints(
            told={
                "not_contains not-contains": "did you mean `not: { contains: … }`?",
                "ne neq not_equals not-equals !=": "did you mean `not: { exact: … }`?",
            }
        ),
    )
    all_of: Annotated[Many[Matcher], Field(min_length=1)] | None = Field(
        default=None,
        alias="all-of",
        description="Holds if all of these matchers hold.",
        json_schema_extra=hints("and", items="matchers"),
    )
    any_of: Annotated[Many[Matcher], Field(min_length=1)] | None = Field(
        default=None,
        alias="any-of",
        description="Holds if at least one of these matchers holds.",
        json_schema_extra=hints("or", items="matchers"),
    )
    contains: Any = Field(
        default=None,
        description="A substring of a text, an element of an array, or pairs of an object.",
        json_schema_extra=hints("has include includes substring toContain contain"),
    )
    icontains: str | None = Field(
        default=None, description="A substring; upper and lower case are equal.", json_schema_extra=hints("contains_i")
    )
    contains_all: Annotated[Many[Any], Field(min_length=1)] | None = Field(
        default=None, alias="contains-all", description="All of these, each as in `contains`."
    )
    contains_any: Annotated[Many[Any], Field(min_length=1)] | None = Field(
        default=None, alias="contains-any", description="At least one of these, each as in `contains`."
    )
    starts_with: str | None = Field(
        default=None, alias="starts-with", description="The beginning of a text.", json_schema_extra=hints("prefix")
    )
    ends_with: str | None = Field(
        default=None, alias="ends-with", description="The end of a text.", json_schema_extra=hints("suffix")
    )
    regex: str | None = Field(
        default=None,
        description="A regular expression, found anywhere in a text. Flags are inside, such as `(?i)`.",
        examples=["^\\d{4}-\\d{2}-\\d{2}$"],
        json_schema_extra=hints("match matches pattern re regexp"),
    )
    schema_: dict[str, Any] | None = Field(
        default=None,
        alias="schema",
        description="A JSON Schema. Default: draft 2020-12. Nothing remote is fetched.",
        examples=[{"type": "object", "required": ["id"]}],
        json_schema_extra=hints("json_schema jsonSchema json-schema"),
    )
    lt: float | None = Field(
        default=None, description="Less than this number.", json_schema_extra=hints("less_than lessThan <")
    )
    lte: float | None = Field(
        default=None, description="Less than or equal to this number.", json_schema_extra=hints("max le <=")
    )
    gt: float | None = Field(
        default=None, description="Greater than this number.", json_schema_extra=hints("greater_than greaterThan >")
    )
    gte: float | None = Field(
        default=None, description="Greater than or equal to this number.", json_schema_extra=hints("min ge >=")
    )
    between: Annotated[Many[float], Field(min_length=2, max_length=2)] | None = Field(
        default=None,
        description="The smallest and the largest allowed number.",
        examples=[[1, 10]],
        json_schema_extra=hints("range"),
    )
    approx: Approx | None = Field(
        default=None, description="A number with a tolerance.", json_schema_extra=hints("close_to closeTo near")
    )
    length: Annotated[int, Field(ge=0)] | Matcher | None = Field(
        default=None,
        description="The length of a text, array or object: a number, or a matcher for it.",
        json_schema_extra=hints("len size count"),
    )
    type: JsonType | None = Field(
        default=None,
        description="The JSON type; `integer` is a number without a fraction.",
        json_schema_extra=hints("typeof is_type"),
    )
    exists: bool | None = Field(
        default=None, description="Whether the target exists.", json_schema_extra=hints("present defined")
    )
    one_of: Annotated[Many[Any], Field(min_length=1)] | None = Field(
        default=None, alias="one-of", description="Equal to one of these values.", json_schema_extra=hints("in enum")
    )
    subset: Any = Field(
        default=None,
        description="Contains all these keys and values, at every depth. Arrays are compared element by element; "
        "more elements may follow.",
        json_schema_extra=hints("superset partial toMatchObject"),
    )
    each: Matcher | None = Field(
        default=None,
        description="Holds for every element of an array, and for an empty array.",
        json_schema_extra=hints("every all"),
    )
    some: Matcher | None = Field(
        default=None, description="Holds for at least one element of an array.", json_schema_extra=hints("any")
    )
    jq: Text | None = Field(
        default=None, description="A jq program. Holds if its last output is neither false nor null."
    )
    snapshot: OnlyTrue | Snapshot | None = Field(
        default=None, description="Equal to the accepted, saved value.", json_schema_extra=hints("toMatchSnapshot")
    )
    llm_judge: LlmJudge | None = Field(
        default=None,
        alias="llm-judge",
        description="Holds if a model says that the value is good. Deferred if no model is set up.",
        examples=[{"rubric": "Names the city and the temperature."}],
    )
