"""Tests of how a model uses the servers: a prompt, and what is expected of the calls that it leads to."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from mcptest_engine.suite.model.base import Group, Many, Milliseconds, OneWay, Part, Text, one_of
from mcptest_engine.suite.model.entries import Expect, ExpectItem, Reason
from mcptest_engine.suite.model.gates import (  # noqa: TC001  (pydantic reads the annotations)
    Distractors,
    FunctionSets,
    GoldenPath,
    TokenEfficiency,
    ToolEdges,
    ToolSelection,
    ToolSet,
    Trajectory,
)
from mcptest_engine.suite.model.judging import Rubric, Threshold
from mcptest_engine.suite.model.matchers import OnlyTrue
from mcptest_engine.suite.model.scoring import (  # noqa: TC001  (pydantic reads the annotations)
    DerivedMetric,
    Share,
    Weight,
)

Metric = OnlyTrue | Threshold


class AgentEval(Part):
    """What a model grades of the trace of an agent test."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    rubric: Text | Rubric | None = Field(
        default=None,
        description="What a good final answer is: a text, or criteria, or a tree of questions.",
        examples=["The answer names the city and the temperature."],
    )
    mcp_task_completion: Metric | None = Field(
        default=None, description="Whether the task of the prompt was done.", examples=[{"threshold": 0.8}]
    )
    mcp_use: Metric | None = Field(
        default=None, description="Whether the right tools were used, and well.", examples=[{"threshold": 0.7}]
    )
    argument_correctness: Metric | None = Field(
        default=None, description="Whether the tools were called with the right arguments.", examples=[True]
    )
    plan_quality: Metric | None = Field(
        default=None, description="Whether the steps that were taken make a good plan.", examples=[True]
    )

    @model_validator(mode="after")
    def _says_something(self) -> AgentEval:
        if not self.model_fields_set:
            raise PydanticCustomError("says_nothing", "at least one metric")
        return self


class AgentBudget(Part):
    """What models may cost."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    per_test_usd_cents: Weight | None = Field(
        default=None, description="What one run of a test may cost, in US cents.", examples=[5]
    )
    per_suite_usd_cents: Weight | None = Field(
        default=None,
        description="What all models and scorers of the suite together may cost, in US cents.",
        examples=[100],
    )

    @model_validator(mode="after")
    def _says_something(self) -> AgentBudget:
        if not self.model_fields_set:
            raise PydanticCustomError("says_nothing", "at least one cap")
        return self


class AgentTools(Part):
    """Which tools are executed when a model asks for them. A name may hold `*`, `?` and `[…]`."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    allow: Many[Text] | None = Field(
        default=None,
        description="Tools that are executed, whatever their class; with this list, no others are but those that declare "
        "`readOnlyHint: true`.",
        examples=[["get_weather", "create_*"]],
    )
    deny: Many[Text] | None = Field(
        default=None,
        description="Tools that are never executed: the model is told that the policy of the test does not allow them.",
        examples=[["delete_*"]],
    )
    dry: Many[Text] | None = Field(
        default=None,
        description="Tools that are not executed but answered with a value made from their `outputSchema`.",
        examples=[["send_mail"]],
    )

    @model_validator(mode="after")
    def _says_something(self) -> AgentTools:
        if not self.model_fields_set:
            raise PydanticCustomError("says_nothing", "at least one list")
        return self


class AgentExpect(Expect):
    """What is expected of a trace."""

    max_cost_usd: Weight | None = Field(
        default=None, description="What the model may cost, in US dollars; more fails the test.", examples=[0.05]
    )


class AgentTest(OneWay):
    """One prompt, given to a model that may call the servers' tools. Exactly one of `prompt` and `user_prompt`."""

    model_config = one_of("prompt", "user_prompt")
    ways: ClassVar[tuple[str, ...]] = ("prompt", "user_prompt")

    name: Text = Field(description="Says what holds when the test passes; reports and `--filter` use it.")
    description: str | None = Field(default=None, description="More about the test, for people.")
    server: Text | None = Field(
        default=None,
        description="The server whose tools the model may call; may be left out when the suite has only one.",
    )
    servers: Annotated[Many[Text], Field(min_length=1)] | None = Field(
        default=None,
        description="Several servers, in place of `server`.",
        examples=[["github", "calendar"]],
    )
    model: Text | None = Field(
        default=None, description="The model that is asked.", examples=["claude-sonnet-4-5", "gpt-5"]
    )
    models: Annotated[Many[Text], Field(min_length=1)] | None = Field(
        default=None,
        description="Several models, in place of `model`: the test is run with each.",
        examples=[["claude-sonnet-4-5", "gpt-5"]],
    )
    prompt: Text | None = Field(
        default=None, description="What the model is asked.", examples=["How warm is it in Oslo?"]
    )
    user_prompt: Text | None = Field(default=None, description="Another word for `prompt`.")
    system_prompt: str | None = Field(default=None, description="What the model is told beforehand.")
    max_turns: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="How often the model may answer before the test ends.", examples=[8]
    )
    tools: AgentTools | None = Field(
        default=None,
        description="Which tools are executed when the model asks for them; all that are not classified as destructive when "
        "left out.",
        examples=[{"allow": ["get_weather"], "dry": ["send_mail"]}],
    )
    runs: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        default=None, description="How many times the test is run; one when left out."
    )
    budget: AgentBudget | None = Field(
        default=None, description="What the model may cost.", examples=[{"per_test_usd_cents": 5}]
    )
    expect: Many[ExpectItem] | AgentExpect | None = Field(
        default=None,
        description="What is expected of the trace: a list of assertions, or a mapping with budgets.",
        examples=[[{"target": "tool_names", "matcher": {"contains": "get_weather"}}]],
    )
    threshold: Share | None = Field(
        default=None,
        description="The share of the assertions, by weight, that must hold; all of them when left out.",
        examples=[0.75],
    )
    derivedMetrics: Annotated[Many[DerivedMetric], Field(min_length=1)] | None = Field(  # noqa: N815  (as suites spell it)
        default=None,
        description="Numbers reported of the test, made of the scores of its named assertions and sets, in order.",
        examples=[[{"name": "quality", "value": {"weighted_average": [{"ref": "cites_sources", "weight": 2}]}}]],
    )
    equal_function_sets: Annotated[Many[ToolSet], Field(min_length=1)] | FunctionSets | None = Field(
        default=None,
        description="Which tools are needed, each as a list of tools that do equally well: precision, recall and F1 of the "
        "choice.",
        examples=[[["get_weather", "get_forecast"], ["send_mail"]]],
    )
    tool_selection: ToolSelection | None = Field(
        default=None,
        description="How many of the `runs` have to choose the right tools, and how many tokens each may take.",
        examples=[{"tool": "get_weather", "min_rate": 0.8}],
    )
    trajectory: Trajectory | None = Field(
        default=None,
        description="The calls that are expected, and how the ones that were made have to match them.",
        examples=[{"mode": "subsequence", "calls": ["search", {"tool": "read", "args": {"id": 1}}]}],
    )
    golden_path: GoldenPath | None = Field(
        default=None,
        description="The shortest way to the goal, and how far the calls may stray from it.",
        examples=[{"calls": ["search", "read"], "max_wasted": 1}],
    )
    tool_edges: ToolEdges | None = Field(
        default=None,
        description="Which tool may follow which.",
        examples=[{"restricted": [["search", "delete_file"]]}],
    )
    token_efficiency: TokenEfficiency | None = Field(
        default=None,
        description="How many tokens a right choice of a tool may take.",
        examples=[{"correct": ["get_weather"], "max_tokens_per_correct": 2000}],
    )
    distractors: Distractors | None = Field(
        default=None,
        description="Tools that are offered beside the real ones, to see whether the model falls for them.",
        examples=[{"count": 10, "from": "near_duplicate", "of": ["get_weather"]}],
    )
    eval: AgentEval | None = Field(
        default=None, description="What a model grades of the trace.", examples=[{"mcp_use": {"threshold": 0.7}}]
    )
    skip: bool | Reason | None = Field(
        default=None, description="Do not run this test; a text says why.", examples=["needs the staging server"]
    )
    only: bool | None = Field(default=None, description="Run only tests so marked; refused in CI.")
    tags: Many[Text] = Field(default=(), description="Labels that `--tag` selects by.", examples=[["smoke"]])
    group: Group | None = None
    serial: bool | None = Field(
        default=None, description="Run alone, after the tests before it and before those after it."
    )
    retries: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="How many times a failed test is tried again."
    )
    timeout_ms: Milliseconds | None = Field(
        default=None, description="How long each call of a tool may take, in milliseconds."
    )
