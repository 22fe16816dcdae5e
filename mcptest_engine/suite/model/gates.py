"""What is measured of an agent's choice of tools, without a model: blocks of an agent test.

All read the trace alone.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from mcptest_engine.suite.model.base import NOT_EMPTY, About, Many, Part, Text, hints, one_of
from mcptest_engine.suite.model.scoring import Share, Weight  # noqa: TC001  (pydantic reads the annotations)

ToolSet = Annotated[Many[Text], Field(min_length=1)]
"""Tools of which any one does what is needed."""
Edge = Annotated[Many[Text], Field(min_length=2, max_length=2)]
"""One tool, and the one that is called after it."""
TrajectoryMode = Literal["strict", "unordered", "subsequence", "superset", "subset"]


class FunctionSets(Part):
    """The tools that are needed, and how good the choice has to be."""

    about = About(
        expected="a mapping with `sets`",
        place="belongs under `equal_function_sets`, in an agent test",
        is_rare=True,
        heading="`equal_function_sets`",
        text="Either the list of lists, or this mapping.",
    )

    sets: Annotated[Many[ToolSet], Field(min_length=1)] = Field(
        description="The tools that are needed. Each entry is a list of equally good tools.",
        examples=[[["get_weather", "get_forecast"], ["send_mail"]]],
        json_schema_extra=hints(
            "classes", missing="write a list of lists of tools below `sets:`", items="lists of tools"
        ),
    )
    min_f1: Share = Field(default=1.0, description="The lowest F1 that passes.", json_schema_extra=hints("f1"))
    min_precision: Share | None = Field(
        default=None,
        description="The lowest precision that passes: the share of the calls that were needed.",
        examples=[0.8],
        json_schema_extra=hints("precision"),
    )
    min_recall: Share | None = Field(
        default=None,
        description="The lowest recall that passes: the share of the needed tools that were called.",
        examples=[1.0],
        json_schema_extra=hints("recall"),
    )


class ToolSelection(Part):
    """The right tools, and how reliably they are chosen. Exactly one of `tool` and `tools`."""

    about = About(
        expected="a mapping with `tool` or `tools`",
        place="belongs under `tool_selection`, in an agent test",
        choice=("`tool_selection`", "write which tool must be called, such as `tool: get_weather`"),
        is_rare=True,
        heading="`tool_selection`",
        text="Exactly one of `tool` and `tools`.",
    )

    model_config = one_of("tool", "tools")

    tool: Text | None = Field(default=None, description="The tool that a run must call.", examples=["get_weather"])
    tools: ToolSet | None = Field(
        default=None,
        description="The tools that a run must call.",
        examples=[["search", "read"]],
        json_schema_extra=hints("expected"),
    )
    min_rate: Share = Field(
        default=1.0,
        description="The share of the `runs` that must call these tools, from 0 to 1.",
        json_schema_extra=hints("rate min_selection_rate"),
    )
    max_tokens: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="The token limit of one run. A run that exceeds it counts as wrong.",
        examples=[5000],
        json_schema_extra=hints("token_cap"),
    )


class ExpectedCall(Part):
    """A call that is expected."""

    about = About(
        expected="a mapping with `tool` and `args`",
        is_rare=True,
        heading="A call that is expected",
        text="Either a tool's name, or this mapping.",
        link="call",
    )

    tool: Text = Field(
        description="The tool.",
        examples=["get_weather"],
        json_schema_extra=hints("name", missing="name the tool to call"),
    )
    server: Text | None = Field(default=None, description="The server of the tool. Default: any.")
    args: dict[str, Any] | None = Field(
        default=None,
        description="Arguments that the call must contain, compared like `subset`. Default: any.",
        examples=[{"city": "Oslo"}],
        json_schema_extra=hints("arguments params"),
    )


class Trajectory(Part):
    """The calls that are expected of an agent."""

    about = About(
        instead={"list": "write `calls:` below it, and the list below that"},
        expected="a mapping with `calls`",
        place="belongs under `trajectory`, in an agent test",
        is_rare=True,
        heading="`trajectory`",
    )

    calls: Annotated[Many[Text | ExpectedCall], Field(min_length=1)] = Field(
        description="The calls, each a tool's name, or a mapping with `tool` and `args`.",
        examples=[["search", {"tool": "read", "args": {"id": 1}}]],
        json_schema_extra=hints("expected steps tools", missing="write a list of tools below `calls:`", items="calls"),
    )
    mode: TrajectoryMode = Field(
        default="strict",
        description="`strict`: exactly these calls in this order. `unordered`: exactly these calls. "
        "`subsequence`: these calls in this order, with others between them. `superset`: these calls and "
        "others, in any order. `subset`: no other calls than these.",
        json_schema_extra=hints("match"),
    )


class GoldenPath(Part):
    """The shortest way, and how far the calls may stray from it."""

    about = About(
        instead={"list": "write `calls:` below it, and the list below that"},
        expected="a mapping with `calls`",
        place="belongs under `golden_path`, in an agent test",
        is_rare=True,
        heading="`golden_path`",
    )

    calls: Annotated[Many[Text | ExpectedCall], Field(min_length=1)] = Field(
        description="The calls of the shortest sequence, in order.",
        examples=[["search", "read"]],
        json_schema_extra=hints("steps path tools", missing="write a list of tools below `calls:`"),
    )
    max_wasted: Annotated[int, Field(ge=0)] = Field(
        default=0, description="How many other calls are allowed.", json_schema_extra=hints("wasted")
    )
    max_repeats: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="How many calls may be repeated with the same arguments.", examples=[0]
    )
    max_backtracks: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="How often an earlier step may be repeated.", examples=[0]
    )


class Delegation(Part):
    """A hand-off that is expected: right after one tool another is called."""

    about = About(
        expected="a mapping with `from` and `to`",
        place="belongs in a hand-off, under `delegation` in `tool_edges`",
        is_rare=True,
        heading="A hand-off",
        text="An item of `delegation` in `tool_edges`.",
        link="hand-off",
    )

    from_: Text = Field(
        alias="from",
        description="The first tool of the hand-off.",
        examples=["search"],
        json_schema_extra=hints("source before", missing="name the first tool of the hand-off"),
    )
    to: Text = Field(
        description="The tool that must be called right after it.",
        examples=["read"],
        json_schema_extra=hints("target after", missing="name the tool to call right after it"),
    )


class ToolEdges(Part):
    """Which tool may be called after which."""

    about = About(
        expected="a mapping with `allowed` or `restricted`",
        place="belongs under `tool_edges`, in an agent test",
        later="expect",
        is_rare=True,
        heading="`tool_edges`",
        text="One of them is enough. A pair is a list of two tools.",
    )

    model_config = NOT_EMPTY

    allowed: Annotated[Many[Edge], Field(min_length=1)] | None = Field(
        default=None,
        description="Pairs of a tool and a tool that may follow it.",
        examples=[[["search", "read"], ["read", "summarize"]]],
        json_schema_extra=hints("allow", items="pairs of tools"),
    )
    restricted: Annotated[Many[Edge], Field(min_length=1)] | None = Field(
        default=None,
        description="Pairs of a tool and a tool that must not follow it.",
        examples=[[["search", "delete_file"]]],
        json_schema_extra=hints("deny forbidden denied", items="pairs of tools"),
    )
    min_allowed_pct: Annotated[float, Field(ge=0, le=100)] | None = Field(
        default=None, description="The percentage of steps that must be in `allowed`.", examples=[100]
    )
    delegation: Annotated[Many[Delegation], Field(min_length=1)] | None = Field(
        default=None,
        description="Hand-offs that are expected: a tool that is called right after another.",
        examples=[[{"from": "search", "to": "read"}]],
        json_schema_extra=hints("delegations handoffs", items="hand-offs"),
    )
    min_delegation_pct: Annotated[float, Field(ge=0, le=100)] | None = Field(
        default=None, description="The percentage of hand-offs in `delegation` that must be made.", examples=[100]
    )


class Distractors(Part):
    """Tools that are offered beside the real ones, and how few of them the model may fall for."""

    about = About(
        expected="a mapping with `count`",
        place="belongs under `distractors`, in an agent test",
        later="complexity",
        is_rare=True,
        heading="`distractors`",
    )

    count: Annotated[int, Field(ge=1, le=200)] = Field(
        description="How many distractors are offered.",
        examples=[10],
        json_schema_extra=hints("number", missing="write how many to offer, such as `count: 8`"),
    )
    from_: Literal["catalog", "near_duplicate"] = Field(
        default="catalog",
        alias="from",
        description="`catalog`: tools about other subjects. `near_duplicate`: tools with similar names and the "
        "arguments of a real tool, whose description says why they are wrong.",
        examples=["near_duplicate"],
        json_schema_extra=hints("source kind"),
    )
    of: ToolSet | None = Field(
        default=None,
        description="The right tools, which near duplicates imitate. Default: every real tool.",
        examples=[["get_weather"]],
        json_schema_extra=hints("tools", items="tools"),
    )
    min_accuracy: Annotated[float, Field(ge=0, le=100)] = Field(
        default=100,
        description="The percentage of calls that must be of a right tool and not of a distractor.",
        examples=[90],
        json_schema_extra=hints("min_score"),
    )


class TokenEfficiency(Part):
    """What a right choice of a tool may take."""

    about = About(
        expected="a mapping with `correct`",
        place="belongs under `token_efficiency`, in an agent test",
        is_rare=True,
        heading="`token_efficiency`",
    )

    correct: ToolSet = Field(
        description="The right tools.",
        examples=[["get_weather"]],
        json_schema_extra=hints("tools", missing="write a list of the right tools below `correct:`", items="tools"),
    )
    max_tokens_per_correct: Weight | None = Field(
        default=None,
        description="The token limit for each call of a right tool.",
        examples=[2000],
        json_schema_extra=hints("max_tokens tokens_per_correct"),
    )
