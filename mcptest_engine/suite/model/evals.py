"""Answers that are graded: where each comes from, and by what it is graded. Source: external-scorers; decisions 6."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from mcptest_engine.suite.model.agents import AgentBudget, AgentTools  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.model.base import Group, Many, Milliseconds, Part, Text
from mcptest_engine.suite.model.entries import Reason  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.model.judging import Judge, Rubric  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.model.scoring import Share, Weight  # noqa: TC001  (pydantic reads the annotations)


class EvalCall(Part):
    """The call of a tool whose text is graded."""

    tool: Text = Field(description="The tool to call.", examples=["summarize"])
    args: dict[str, Any] = Field(default={}, description="The tool's arguments.", examples=[{"id": 7}])
    server: Text | None = Field(
        default=None, description="The server that has the tool; the eval's own when left out.", examples=["api"]
    )


class EvalTest(Part):
    """One answer, graded by scorers or by a judge.

    The answer is the literal `output`, what a `call` gives, or what a model says to the `prompt`.
    """

    may_be_null: ClassVar[frozenset[str]] = frozenset(
        {"output"}
    )  # of the right shape; the checks of the whole refuse it

    name: Text = Field(description="Says what holds when the test passes; reports and `--filter` use it.")
    description: str | None = Field(default=None, description="More about the eval, for people.")
    server: Text | None = Field(
        default=None,
        description="The server that is called, or whose tools the model may call; may be left out when there is only one.",
    )
    servers: Annotated[Many[Text], Field(min_length=1)] | None = Field(
        default=None,
        description="Several servers whose tools the model may call, in place of `server`.",
        examples=[["github", "calendar"]],
    )
    prompt: Text | None = Field(
        default=None,
        description="What the answer is an answer to; what the model is asked where one is to answer.",
        examples=["Summarize the incident report."],
    )
    system_prompt: str | None = Field(default=None, description="What the model is told beforehand.")
    rubric: Text | Rubric | None = Field(
        default=None,
        description="What a good answer is: a text, criteria or a tree of questions. A judge needs one, a scorer is given it.",
        examples=["Names the service and the release tag, under 50 words."],
    )
    threshold: Share | None = Field(
        default=None,
        description="From which score of a judge on the answer passes; 0.7 when left out. A scorer says itself.",
        examples=[0.8],
    )
    output: Any = Field(
        default=None,
        description="The answer itself; what is no text is graded as its JSON text.",
        examples=["checkout failed after v2.3.1"],
    )
    call: EvalCall | None = Field(
        default=None,
        description="The call of a tool whose text is the answer.",
        examples=[{"tool": "summarize", "args": {"id": 7}}],
    )
    model: Text | None = Field(
        default=None, description="The model that answers.", examples=["claude-sonnet-4-5", "gpt-5"]
    )
    models: Annotated[Many[Text], Field(min_length=1)] | None = Field(
        default=None,
        description="Several models, in place of `model`: the answer of each is graded.",
        examples=[["claude-sonnet-4-5", "gpt-5"]],
    )
    max_turns: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="How often the model may answer before it has to be done.", examples=[8]
    )
    tools: AgentTools | None = Field(
        default=None,
        description="Which tools are executed when the model asks for them; all that are not classified as destructive when "
        "left out.",
        examples=[{"allow": ["get_incident"]}],
    )
    runs: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        default=None, description="How many answers are got and graded; one when left out."
    )
    budget: AgentBudget | None = Field(
        default=None, description="What the model may cost.", examples=[{"per_test_usd_cents": 5}]
    )
    scorers: Many[Text] | None = Field(
        default=None,
        description="The names of the scorers that grade it; all of the suite when left out. With none, a judge does.",
        examples=[["braintrust-factuality"]],
    )
    judge: Judge | None = Field(
        default=None,
        description="Who grades it where no scorer does; the suite's `judge` when left out.",
        examples=[{"jury": 3}],
    )
    metadata: dict[str, Any] = Field(
        default={}, description="What scorers are told besides, as it stands.", examples=[{"team": "billing"}]
    )
    skip: bool | Reason | None = Field(
        default=None, description="Do not run this eval; a text says why.", examples=["needs the staging server"]
    )
    only: bool | None = Field(default=None, description="Run only tests so marked; refused in CI.")
    tags: Many[Text] = Field(default=(), description="Labels that `--tag` selects by.", examples=[["smoke"]])
    group: Group | None = None
    serial: bool | None = Field(
        default=None, description="Run alone, after the tests before it and before those after it."
    )
    retries: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="How many times a failed eval is tried again."
    )
    timeout_ms: Milliseconds | None = Field(
        default=None,
        description="How long the call of a tool, and each answer of a model, may take, in milliseconds; "
        "30000 and 120000 when left out, or as `run_options` says.",
    )


class Price(Part):
    """What a model costs, in US dollars for a million tokens."""

    input_usd_per_mtok: Weight = Field(description="For what it is told.", examples=[3])
    output_usd_per_mtok: Weight = Field(description="For what it says.", examples=[15])
