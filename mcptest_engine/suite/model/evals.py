"""Answers that are graded: where each comes from, and by what it is graded. See docs/how-to/scorers.md."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from mcptest_engine.suite.model.agents import AgentBudget, AgentTools  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.model.base import About, Many, Milliseconds, Part, Text, hints
from mcptest_engine.suite.model.entries import ARGS_HINTS, AnyTest
from mcptest_engine.suite.model.judging import Judge, Rubric  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.model.scoring import Share, Weight  # noqa: TC001  (pydantic reads the annotations)


class EvalCall(Part):
    """The call of a tool whose text is graded."""

    about = About(
        expected="a mapping with `tool` and `args`",
        place="belongs under `call`, in an eval",
        is_rare=True,
        heading="An eval's `call`",
    )

    tool: Text = Field(
        description="The tool to call.",
        examples=["summarize"],
        json_schema_extra=hints("name", missing="name the tool to call"),
    )
    args: dict[str, Any] = Field(
        default={},
        description="The arguments of the tool.",
        examples=[{"id": 7}],
        json_schema_extra=ARGS_HINTS,
    )
    server: Text | None = Field(
        default=None, description="The server of the tool. Default: the server of the eval.", examples=["api"]
    )


class EvalTest(AnyTest):
    """One answer, graded by scorers or by a judge.

    The answer is the literal `output`, what a `call` gives, or what a model says to the `prompt`.
    """

    about = About(
        expected="an eval, which is a mapping",
        place="belongs in an eval, under `evals`",
        is_rare=True,
        heading="An eval",
        text="An `output`, a `call` or a `prompt` of `evals:`, and how it is graded. [Evals](../how-to/evals.md) explains it.",
        link="eval",
    )

    name: Text = Field(
        description="The name of the eval, in reports and for `--filter`. It should say what is graded.",
        json_schema_extra=hints(
            missing="write a name that says what is graded, such as `name: the summary names the cause`"
        ),
    )
    server: Text | None = Field(
        default=None,
        description="The server to call, or whose tools the model may call. Not needed if there is only one.",
    )
    servers: Annotated[Many[Text], Field(min_length=1)] | None = Field(
        default=None,
        description="Several servers whose tools the model may call, in place of `server`.",
        examples=[["github", "calendar"]],
    )
    prompt: Text | None = Field(
        default=None,
        description="The question. If a model answers, it is the prompt for the model.",
        examples=["Summarize the incident report."],
        json_schema_extra=hints("user_prompt question query input task"),
    )
    system_prompt: str | None = Field(
        default=None, description="The system prompt for the model.", json_schema_extra=hints("system")
    )
    rubric: Text | Rubric | None = Field(
        default=None,
        description="A description of a good answer: a text, criteria or a tree of questions. A judge needs it. "
        "A scorer gets it.",
        examples=["Names the service and the release tag, under 50 words."],
        json_schema_extra=hints("criteria assert expect grading"),
    )
    threshold: Share | None = Field(
        default=None,
        description="The lowest score of a judge that passes. Default: 0.7. A scorer decides itself.",
        examples=[0.8],
        json_schema_extra=hints("min_score pass_threshold"),
    )
    output: Any = Field(
        default=None,
        description="The answer. A value that is not a text is graded as JSON.",
        examples=["checkout failed after v2.3.1"],
        json_schema_extra=hints("answer response candidate text"),
    )
    call: EvalCall | None = Field(
        default=None,
        description="A tool call. Its text is the answer.",
        examples=[{"tool": "summarize", "args": {"id": 7}}],
        json_schema_extra=hints("tool args"),
    )
    model: Text | None = Field(
        default=None, description="The model that answers.", examples=["claude-sonnet-4-5", "gpt-5"]
    )
    models: Annotated[Many[Text], Field(min_length=1)] | None = Field(
        default=None,
        description="Several models, in place of `model`. The answer of each is graded.",
        examples=[["claude-sonnet-4-5", "gpt-5"]],
    )
    max_turns: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None,
        description="The highest number of answers of the model.",
        examples=[8],
        json_schema_extra=hints("turns"),
    )
    tools: AgentTools | None = Field(
        default=None,
        description="Which tools are executed if the model calls them. Default: all that are not classified as "
        "destructive.",
        examples=[{"allow": ["get_incident"]}],
    )
    runs: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        default=None,
        description="How many answers are graded. Default: 1.",
        json_schema_extra=hints("repeat samples trials"),
    )
    budget: AgentBudget | None = Field(
        default=None,
        description="The cost limits of the model.",
        examples=[{"per_test_usd_cents": 5}],
        json_schema_extra=hints("cost"),
    )
    scorers: Many[Text] | None = Field(
        default=None,
        description="The names of the scorers. Default: all of the suite. With an empty list, a judge grades the "
        "answer.",
        examples=[["braintrust-factuality"]],
        json_schema_extra=hints("scorer graders evaluators"),
    )
    judge: Judge | None = Field(
        default=None,
        description="The judge, if there is no scorer. Default: the suite's `judge`.",
        examples=[{"jury": 3}],
        json_schema_extra=hints("jury"),
    )
    metadata: dict[str, Any] = Field(
        default={},
        description="Further data for the scorers, sent exactly as written.",
        examples=[{"team": "billing"}],
        json_schema_extra=hints("meta"),
    )
    timeout_ms: Milliseconds | None = Field(
        default=None,
        description="The time limit of the tool call and of each answer of a model, in milliseconds. Default: "
        "that of `run_options`, or 30000 and 120000.",
    )


class Price(Part):
    """What a model costs, in US dollars for a million tokens."""

    about = About(
        expected="a mapping with `input_usd_per_mtok` and `output_usd_per_mtok`",
        place="belongs under a model's id, in `prices`",
        is_rare=True,
        heading="A price",
        text="Both are needed. The exact id of a model is preferred, then the longest beginning with `*` that fits.",
        link="price",
    )

    input_usd_per_mtok: Weight = Field(
        description="The price of a million input tokens, in US dollars.",
        examples=[3],
        json_schema_extra=hints("input in", missing="write the price of a million tokens in US dollars"),
    )
    output_usd_per_mtok: Weight = Field(
        description="The price of a million output tokens, in US dollars.",
        examples=[15],
        json_schema_extra=hints("output out", missing="write the price of a million tokens in US dollars"),
    )
