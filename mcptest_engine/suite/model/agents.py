"""Tests of a model that uses the servers: a prompt, and the expectations on the calls."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mcptest_engine.suite.model.base import NOT_EMPTY, About, Many, Milliseconds, Part, Text, hints, one_of
from mcptest_engine.suite.model.entries import EXPECT_HINTS, AnyTest, Expect, ExpectItem
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

    about = About(
        expected="a mapping with metrics such as `rubric` and `mcp_use`",
        place="belongs under `eval`, in an agent test",
        heading="Judged metrics of a test",
        text="The `eval:` of an agent test or a composition; one metric is enough.",
    )

    model_config = NOT_EMPTY

    rubric: Text | Rubric | None = Field(
        default=None,
        description="A description of a good final answer: a text, criteria, or a tree of questions.",
        examples=["The answer names the city and the temperature."],
        json_schema_extra=hints("criteria tree"),
    )
    mcp_task_completion: Metric | None = Field(
        default=None,
        description="Was the task of the prompt done?",
        examples=[{"threshold": 0.8}],
        json_schema_extra=hints("completion task_completion"),
    )
    mcp_use: Metric | None = Field(
        default=None,
        description="Were the right tools used, and used well?",
        examples=[{"threshold": 0.7}],
        json_schema_extra=hints("tool_use tool_usage"),
    )
    argument_correctness: Metric | None = Field(
        default=None,
        description="Were the tools called with the right arguments?",
        examples=[True],
        json_schema_extra=hints("arguments argument_accuracy"),
    )
    plan_quality: Metric | None = Field(
        default=None, description="Do the steps make a good plan?", examples=[True], json_schema_extra=hints("plan")
    )


class AgentBudget(Part):
    """What models may cost."""

    about = About(
        expected="a mapping with `per_test_usd_cents` or `per_suite_usd_cents`",
        place="belongs under `budget`, at the top or in an agent test",
        heading="A `budget` for models",
        text="One of the two is enough.",
    )

    model_config = NOT_EMPTY

    per_test_usd_cents: Weight | None = Field(
        default=None,
        description="The cost limit of one run of a test, in US cents.",
        examples=[5],
        json_schema_extra=hints("max_cost_usd per_test per_test_cents"),
    )
    per_suite_usd_cents: Weight | None = Field(
        default=None,
        description="The cost limit of all models and scorers of the suite together, in US cents.",
        examples=[100],
        json_schema_extra=hints("per_suite per_suite_cents"),
    )


class AgentTools(Part):
    """Which tools are executed when a model asks for them. A name may hold `*`, `?` and `[…]`."""

    about = About(
        expected="a mapping with `allow`, `deny` or `dry`",
        place="belongs under `tools`, in an agent test or an eval",
        is_rare=True,
        heading="An agent test's `tools`",
        text="One list is enough. [Agent tests](../how-to/agent-tests.md#which-tools-are-executed) explains it.",
    )

    model_config = NOT_EMPTY

    allow: Many[Text] | None = Field(
        default=None,
        description="Tools that are executed, whatever their class. With this list, other tools are executed "
        "only if they declare `readOnlyHint: true`.",
        examples=[["get_weather", "create_*"]],
        json_schema_extra=hints("allowed execute permit allowlist whitelist"),
    )
    deny: Many[Text] | None = Field(
        default=None,
        description="Tools that are never executed. The model gets an error that says that the policy of the "
        "test does not allow them.",
        examples=[["delete_*"]],
        json_schema_extra=hints("denied block blocked forbid forbidden denylist blacklist"),
    )
    dry: Many[Text] | None = Field(
        default=None,
        description="Tools that are not executed. The model gets a value made from their `outputSchema`.",
        examples=[["send_mail"]],
        json_schema_extra=hints("dry_run stub mock simulate"),
    )


class AgentExpect(Expect):
    """What is expected of a trace."""

    about = About(
        expected="a mapping with `assertions`",
        place="belongs beside `assertions`, under an agent test's `expect`",
        is_rare=True,
        heading="An agent test's `expect`",
        text="Either a list of assertions, or this mapping.",
    )

    max_cost_usd: Weight | None = Field(
        default=None,
        description="The cost limit of the model, in US dollars. If it is exceeded, the test fails.",
        examples=[0.05],
        json_schema_extra=hints("cost max_cost max_usd"),
    )


class AgentTest(AnyTest):
    """One prompt, given to a model that may call the servers' tools. Exactly one of `prompt` and `user_prompt`."""

    about = About(
        expected="a test, which is a mapping",
        place="belongs in an agent test, under `agents`",
        choice=("an agent test", "write the prompt, such as `prompt: How warm is it in Oslo?`"),
        later="cache discovery orchestration recovery stability trajectory_axes transform",
        is_rare=True,
        heading="A test of an agent",
        text="An entry of `agents:`, with either `prompt` or `user_prompt`. "
        "[Agent tests](../how-to/agent-tests.md) explains it.",
        link="agent test",
    )

    model_config = one_of("prompt", "user_prompt")

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
        default=None,
        description="The model that is asked.",
        examples=["claude-sonnet-4-5", "gpt-5"],
        json_schema_extra=hints("llm provider"),
    )
    models: Annotated[Many[Text], Field(min_length=1)] | None = Field(
        default=None,
        description="Several models, in place of `model`. The test runs with each.",
        examples=[["claude-sonnet-4-5", "gpt-5"]],
    )
    prompt: Text | None = Field(
        default=None,
        description="The prompt for the model.",
        examples=["How warm is it in Oslo?"],
        json_schema_extra=hints("input message query question task user"),
    )
    user_prompt: Text | None = Field(
        default=None, description="The same as `prompt`.", json_schema_extra=hints("userPrompt")
    )
    system_prompt: str | None = Field(
        default=None,
        description="The system prompt for the model.",
        json_schema_extra=hints("instructions system systemPrompt"),
    )
    max_turns: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None,
        description="The highest number of answers of the model.",
        examples=[8],
        json_schema_extra=hints("maxTurns max_iterations max_steps steps turns"),
    )
    tools: AgentTools | None = Field(
        default=None,
        description="Which tools are executed if the model calls them. Default: all that are not classified as "
        "destructive.",
        examples=[{"allow": ["get_weather"], "dry": ["send_mail"]}],
    )
    runs: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        default=None,
        description="How many times the test runs. Default: once.",
        json_schema_extra=hints("repeat samples trials"),
    )
    budget: AgentBudget | None = Field(
        default=None,
        description="The cost limits of the model.",
        examples=[{"per_test_usd_cents": 5}],
        json_schema_extra=hints("cost"),
    )
    expect: Many[ExpectItem] | AgentExpect | None = Field(
        default=None,
        description="The expectations on the trace: a list of assertions, or a mapping with budgets.",
        examples=[[{"target": "tool_names", "matcher": {"contains": "get_weather"}}]],
        json_schema_extra=EXPECT_HINTS,
    )
    threshold: Share | None = Field(
        default=None,
        description="The weighted share of the assertions that must hold. Default: all.",
        examples=[0.75],
        json_schema_extra=hints("min_score"),
    )
    derivedMetrics: Annotated[Many[DerivedMetric], Field(min_length=1)] | None = Field(  # noqa: N815  (as suites spell it)
        default=None,
        description="Metrics of the test, computed in order from the scores of its named assertions and sets.",
        examples=[[{"name": "quality", "value": {"weighted_average": [{"ref": "cites_sources", "weight": 2}]}}]],
        json_schema_extra=hints("derived_metrics", items="metrics"),
    )
    equal_function_sets: Annotated[Many[ToolSet], Field(min_length=1)] | FunctionSets | None = Field(
        default=None,
        description="The tools that are needed. Each entry is a list of equally good tools. Measures precision, "
        "recall and F1 of the calls.",
        examples=[[["get_weather", "get_forecast"], ["send_mail"]]],
        json_schema_extra=hints("function_sets", items="lists of tools"),
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
        json_schema_extra=hints("expected_calls"),
    )
    golden_path: GoldenPath | None = Field(
        default=None,
        description="The shortest sequence of calls, and how many other calls are allowed.",
        examples=[{"calls": ["search", "read"], "max_wasted": 1}],
        json_schema_extra=hints("path"),
    )
    tool_edges: ToolEdges | None = Field(
        default=None,
        description="Which tool may be called after which.",
        examples=[{"restricted": [["search", "delete_file"]]}],
        json_schema_extra=hints("tool_edge_coverage edges"),
    )
    token_efficiency: TokenEfficiency | None = Field(
        default=None,
        description="The token limit for each call of a right tool.",
        examples=[{"correct": ["get_weather"], "max_tokens_per_correct": 2000}],
        json_schema_extra=hints("efficiency"),
    )
    distractors: Distractors | None = Field(
        default=None,
        description="Tools that do not exist and are offered beside the real ones, to see whether the model "
        "calls them.",
        examples=[{"count": 10, "from": "near_duplicate", "of": ["get_weather"]}],
    )
    eval: AgentEval | None = Field(
        default=None,
        description="The metrics that a model grades.",
        examples=[{"mcp_use": {"threshold": 0.7}}],
        json_schema_extra=hints("evals evaluation judge metrics rubric"),
    )
    timeout_ms: Milliseconds | None = Field(
        default=None, description="The time limit of each tool call, in milliseconds."
    )
