"""What is measured of an agent's choice of tools, without a model: blocks of an agent test.

Source: upstream-facts 8.2. All read the trace alone.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from mcptest_engine.suite.model.base import Many, OneWay, Part, Text, one_of
from mcptest_engine.suite.model.scoring import Share, Weight  # noqa: TC001  (pydantic reads the annotations)

ToolSet = Annotated[Many[Text], Field(min_length=1)]
"""Tools of which any one does what is needed."""
Edge = Annotated[Many[Text], Field(min_length=2, max_length=2)]
"""One tool, and the one that is called after it."""
TrajectoryMode = Literal["strict", "unordered", "subsequence", "superset", "subset"]


class FunctionSets(Part):
    """The tools that are needed, and how good the choice has to be."""

    sets: Annotated[Many[ToolSet], Field(min_length=1)] = Field(
        description="Each thing that is needed, as the tools that do it equally well.",
        examples=[[["get_weather", "get_forecast"], ["send_mail"]]],
    )
    min_f1: Share = Field(default=1.0, description="The F1 of the choice that is needed.")
    min_precision: Share | None = Field(
        default=None, description="How much of what was called has to be needed.", examples=[0.8]
    )
    min_recall: Share | None = Field(
        default=None, description="How much of what is needed has to be called.", examples=[1.0]
    )


class ToolSelection(OneWay):
    """The right tools, and how reliably they are chosen. Exactly one of `tool` and `tools`."""

    model_config = one_of("tool", "tools")
    ways: ClassVar[tuple[str, ...]] = ("tool", "tools")

    tool: Text | None = Field(default=None, description="The tool that a run has to call.", examples=["get_weather"])
    tools: ToolSet | None = Field(
        default=None, description="The tools that a run has to call, all of them.", examples=[["search", "read"]]
    )
    min_rate: Share = Field(default=1.0, description="Which share of the `runs` has to choose right, from 0 to 1.")
    max_tokens: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="How many tokens one run may take; more is a wrong choice.", examples=[5000]
    )


class ExpectedCall(Part):
    """A call that is expected."""

    tool: Text = Field(description="The tool.", examples=["get_weather"])
    server: Text | None = Field(default=None, description="The server that has it; any when left out.")
    args: dict[str, Any] | None = Field(
        default=None,
        description="Arguments that the call has to hold, compared as `subset` does; any when left out.",
        examples=[{"city": "Oslo"}],
    )


class Trajectory(Part):
    """The calls that are expected of an agent."""

    calls: Annotated[Many[Text | ExpectedCall], Field(min_length=1)] = Field(
        description="The calls, each a tool's name, or a mapping with `tool` and `args`.",
        examples=[["search", {"tool": "read", "args": {"id": 1}}]],
    )
    mode: TrajectoryMode = Field(
        default="strict",
        description="`strict`: these calls in this order and no others; `unordered`: these and no others; `subsequence`: these "
        "in this order, others between them; `superset`: these and maybe others, in any order; `subset`: no others than these.",
    )


class GoldenPath(Part):
    """The shortest way, and how far the calls may stray from it."""

    calls: Annotated[Many[Text | ExpectedCall], Field(min_length=1)] = Field(
        description="The calls of the shortest way, in order.", examples=[["search", "read"]]
    )
    max_wasted: Annotated[int, Field(ge=0)] = Field(
        default=0, description="How many calls may be made that the way does not have."
    )
    max_repeats: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="How many calls may be made again with the same arguments.", examples=[0]
    )
    max_backtracks: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="How often an earlier step of the way may be returned to.", examples=[0]
    )


class Delegation(Part):
    """A hand-off that is expected: right after one tool another is called."""

    from_: Text = Field(alias="from", description="The tool that hands over.", examples=["search"])
    to: Text = Field(description="The tool that is called right after it.", examples=["read"])


class ToolEdges(Part):
    """Which tool may follow which."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    allowed: Annotated[Many[Edge], Field(min_length=1)] | None = Field(
        default=None,
        description="Pairs of a tool and one that may follow it.",
        examples=[[["search", "read"], ["read", "summarize"]]],
    )
    restricted: Annotated[Many[Edge], Field(min_length=1)] | None = Field(
        default=None,
        description="Pairs of a tool and one that must not follow it; none may be tried.",
        examples=[[["search", "delete_file"]]],
    )
    min_allowed_pct: Annotated[float, Field(ge=0, le=100)] | None = Field(
        default=None, description="How many of 100 steps have to be among the `allowed`.", examples=[100]
    )
    delegation: Annotated[Many[Delegation], Field(min_length=1)] | None = Field(
        default=None,
        description="Hand-offs from one tool right to another that are expected to be made.",
        examples=[[{"from": "search", "to": "read"}]],
    )
    min_delegation_pct: Annotated[float, Field(ge=0, le=100)] | None = Field(
        default=None, description="How many of 100 hand-offs under `delegation` have to be made.", examples=[100]
    )

    @model_validator(mode="after")
    def _says_something(self) -> ToolEdges:
        if not self.model_fields_set:
            raise PydanticCustomError("says_nothing", "at least one key")
        return self


class Distractors(Part):
    """Tools that are offered beside the real ones, and how few of them the model may fall for."""

    count: Annotated[int, Field(ge=1, le=200)] = Field(description="How many are offered.", examples=[10])
    from_: Literal["catalog", "near_duplicate"] = Field(
        default="catalog",
        alias="from",
        description="`catalog`: tools of other trades; `near_duplicate`: tools named like real ones, with the same arguments, "
        "that say why they are not the right one.",
        examples=["near_duplicate"],
    )
    of: ToolSet | None = Field(
        default=None,
        description="The tools whose choice is right, and that near duplicates are like; every real tool when left out.",
        examples=[["get_weather"]],
    )
    min_accuracy: Annotated[float, Field(ge=0, le=100)] = Field(
        default=100,
        description="How many of 100 calls have to be of a right tool and not of a distractor.",
        examples=[90],
    )


class TokenEfficiency(Part):
    """What a right choice of a tool may take."""

    correct: ToolSet = Field(description="The tools whose choice is right.", examples=[["get_weather"]])
    max_tokens_per_correct: Weight | None = Field(
        default=None, description="How many tokens there may be for each right choice.", examples=[2000]
    )
