"""Tests of a model that uses the servers: a prompt, and the expectations on the calls."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from mcptest_engine.suite.model.base import Fresh, Group, Many, Milliseconds, OneWay, Part, Text, one_of
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
        description="A description of a good final answer: a text, criteria, or a tree of questions.",
        examples=["The answer names the city and the temperature."],
    )
    mcp_task_completion: Metric | None = Field(
        default=None, description="Was the task of the prompt done?", examples=[{"threshold": 0.8}]
    )
    mcp_use: Metric | None = Field(
        default=None, description="Were the right tools used, and used well?", examples=[{"threshold": 0.7}]
    )
    argument_correctness: Metric | None = Field(
        default=None, description="Were the tools called with the right arguments?", examples=[True]
    )
    plan_quality: Metric | None = Field(default=None, description="Do the steps make a good plan?", examples=[True])

    @model_validator(mode="after")
    def _says_something(self) -> AgentEval:
        if not self.model_fields_set:
            raise PydanticCustomError("says_nothing", "at least one metric")
        return self


class AgentBudget(Part):
    """What models may cost."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    per_test_usd_cents: Weight | None = Field(
        default=None, description="The cost limit of one run of a test, in US cents.", examples=[5]
    )
    per_suite_usd_cents: Weight | None = Field(
        default=None,
        description="The cost limit of all models and scorers of the suite together, in US cents.",
        examples=[100],
    )

    @model_validator(mode="after")
    def _says_something(self) -> AgentBudget:
        if not self.model_fields_set:
            raise PydanticCustomError("says_nothing", "at least one limit")
        return self


class AgentTools(Part):
    """Which tools are executed when a model asks for them. A name may hold `*`, `?` and `[…]`."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    allow: Many[Text] | None = Field(
        default=None,
        description="Tools that are executed, whatever their class. With this list, other tools are executed "
        "only if they declare `readOnlyHint: true`.",
        examples=[["get_weather", "create_*"]],
    )
    deny: Many[Text] | None = Field(
        default=None,
        description="Tools that are never executed. The model gets an error that says that the policy of the "
        "test does not allow them.",
        examples=[["delete_*"]],
    )
    dry: Many[Text] | None = Field(
        default=None,
        description="Tools that are not executed. The model gets a value made from their `outputSchema`.",
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
        default=None,
        description="The cost limit of the model, in US dollars. If it is exceeded, the test fails.",
        examples=[0.05],
    )


class AgentTest(OneWay):
    """One prompt, given to a model that may call the servers' tools. Exactly one of `prompt` and `user_prompt`."""

    model_config = one_of("prompt", "user_prompt")
    ways: ClassVar[tuple[str, ...]] = ("prompt", "user_prompt")

    name: Text = Field(
        description="The name of the test, in reports and for `--filter`. It should say what holds if the test passes."
    )
    description: str | None = Field(default=None, description="A description for people.")
    server: Text | None = Field(
        default=None,
        description="The server whose tools the model may call. Not needed if the suite has only one server.",
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
        description="Several models, in place of `model`. The test runs with each.",
        examples=[["claude-sonnet-4-5", "gpt-5"]],
    )
    prompt: Text | None = Field(
        default=None, description="The prompt for the model.", examples=["How warm is it in Oslo?"]
    )
    user_prompt: Text | None = Field(default=None, description="Another word for `prompt`.")
    system_prompt: str | None = Field(default=None, description="The system prompt for the model.")
    max_turns: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="The highest number of answers of the model.", examples=[8]
    )
    tools: AgentTools | None = Field(
        default=None,
        description="Which tools are executed if the model calls them. Default: all that are not classified as "
        "destructive.",
        examples=[{"allow": ["get_weather"], "dry": ["send_mail"]}],
    )
    runs: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        default=None, description="How many times the test runs. Default: once."
    )
    budget: AgentBudget | None = Field(
        default=None, description="The cost limits of the model.", examples=[{"per_test_usd_cents": 5}]
    )
    expect: Many[ExpectItem] | AgentExpect | None = Field(
        default=None,
        description="The expectations on the trace: a list of assertions, or a mapping with budgets.",
        examples=[[{"target": "tool_names", "matcher": {"contains": "get_weather"}}]],
    )
    threshold: Share | None = Field(
        default=None,
        description="The weighted share of the assertions that must hold. Default: all.",
        examples=[0.75],
    )
    derivedMetrics: Annotated[Many[DerivedMetric], Field(min_length=1)] | None = Field(  # noqa: N815  (as suites spell it)
        default=None,
        description="Metrics of the test, computed in order from the scores of its named assertions and sets.",
        examples=[[{"name": "quality", "value": {"weighted_average": [{"ref": "cites_sources", "weight": 2}]}}]],
    )
    equal_function_sets: Annotated[Many[ToolSet], Field(min_length=1)] | FunctionSets | None = Field(
        default=None,
        description="The tools that are needed. Each entry is a list of equally good tools. Measures precision, "
        "recall and F1 of the calls.",
        examples=[[["get_weather", "get_forecast"], ["send_mail"]]],
    )
    tool_selection: ToolSelection | None = Field(
        default=None,
        description="The share of the `runs` that must call the right tools, and the token limit of each run.",
        examples=[{"tool": "get_weather", "min_rate": 0.8}],
    )
    trajectory: Trajectory | None = Field(
        default=None,
        description="The expected calls, and how the actual calls must match them.",
        examples=[{"mode": "subsequence", "calls": ["search", {"tool": "read", "args": {"id": 1}}]}],
    )
    golden_path: GoldenPath | None = Field(
        default=None,
        description="The shortest sequence of calls, and how many other calls are allowed.",
        examples=[{"calls": ["search", "read"], "max_wasted": 1}],
    )
    tool_edges: ToolEdges | None = Field(
        default=None,
        description="Which tool may be called after which.",
        examples=[{"restricted": [["search", "delete_file"]]}],
    )
    token_efficiency: TokenEfficiency | None = Field(
        default=None,
        description="The token limit for each call of a right tool.",
        examples=[{"correct": ["get_weather"], "max_tokens_per_correct": 2000}],
    )
    distractors: Distractors | None = Field(
        default=None,
        description="Tools that do not exist and are offered beside the real ones, to see whether the model "
        "calls them.",
        examples=[{"count": 10, "from": "near_duplicate", "of": ["get_weather"]}],
    )
    eval: AgentEval | None = Field(
        default=None, description="The metrics that a model grades.", examples=[{"mcp_use": {"threshold": 0.7}}]
    )
    skip: bool | Reason | None = Field(
        default=None, description="Skip this test. A text is the reason.", examples=["needs the staging server"]
    )
    only: bool | None = Field(default=None, description="Run only the tests with `only: true`. Refused in CI.")
    tags: Many[Text] = Field(default=(), description="Labels for `--tag`.", examples=[["smoke"]])
    group: Group | None = None
    fresh: Fresh | None = None
    serial: bool | None = Field(
        default=None, description="Run alone: earlier tests finish first, and later tests wait."
    )
    retries: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="How many times a failed test is retried."
    )
    timeout_ms: Milliseconds | None = Field(
        default=None, description="The time limit of each tool call, in milliseconds."
    )
