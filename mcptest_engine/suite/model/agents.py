"""Tests of how a model uses the servers: a prompt, and what is expected of the calls that it leads to.

They are read and checked here; this version of mcptest runs none of them.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from mcptest_engine.suite.model.base import Many, Milliseconds, OneWay, Part, Text, one_of
from mcptest_engine.suite.model.entries import Expect, ExpectItem, Reason  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.model.scoring import Share, Weight  # noqa: TC001  (pydantic reads the annotations)


class Criterion(Part):
    """One thing that a rubric asks of an answer."""

    name: Text = Field(description="What it is called, in reports.", examples=["covers query"])
    description: Text | None = Field(default=None, description="What the judge is told of it; the name when left out.")
    weight: Weight = Field(default=1.0, description="How much it counts.")


class Branch(OneWay):
    """A place of a decision tree: a question that leads on, or a score that ends it. Exactly one of `ask` and `score`."""

    model_config = one_of("ask", "score")
    ways: ClassVar[tuple[str, ...]] = ("ask", "score")

    ask: Text | None = Field(default=None, description="A question with the answer yes or no.")
    yes: Branch | None = Field(default=None, description="Where a yes leads; needed beside `ask`.")
    no: Branch | None = Field(default=None, description="Where a no leads; needed beside `ask`.")
    score: Share | None = Field(default=None, description="The score that this way ends with, from 0 to 1.")


class Rubric(OneWay):
    """How an answer is graded. Exactly one of `criteria` and `tree`."""

    model_config = one_of("criteria", "tree")
    ways: ClassVar[tuple[str, ...]] = ("criteria", "tree")

    criteria: Annotated[Many[Criterion], Field(min_length=1)] | None = Field(
        default=None, description="What is asked of the answer, each thing graded by itself."
    )
    tree: Branch | None = Field(default=None, description="Questions with yes or no, each leading on or to a score.")
    threshold: Share | None = Field(default=None, description="From which score on the rubric is met.", examples=[0.7])
    strict: bool | None = Field(default=None, description="Every criterion must be met, whatever the score.")


class Threshold(Part):
    """From which score on a metric is good enough."""

    threshold: Share = Field(description="From which score on the metric passes.", examples=[0.8])


Metric = Literal[True] | Threshold


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
    """What the model may cost."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    per_test_usd_cents: Weight | None = Field(
        default=None, description="What one run of this test may cost, in US cents.", examples=[5]
    )
    per_suite_usd_cents: Weight | None = Field(
        default=None, description="What all agent tests together may cost, in US cents.", examples=[100]
    )

    @model_validator(mode="after")
    def _says_something(self) -> AgentBudget:
        if not self.model_fields_set:
            raise PydanticCustomError("says_nothing", "at least one cap")
        return self


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
    runs: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        default=None, description="How many times the test is run; one when left out."
    )
    budget: AgentBudget | None = Field(
        default=None, description="What the model may cost.", examples=[{"per_test_usd_cents": 5}]
    )
    expect: Many[ExpectItem] | Expect | None = Field(
        default=None,
        description="What is expected of the trace: a list of assertions, or a mapping with budgets.",
        examples=[[{"target": "tool_names", "matcher": {"contains": "get_weather"}}]],
    )
    eval: AgentEval | None = Field(
        default=None, description="What a model grades of the trace.", examples=[{"mcp_use": {"threshold": 0.7}}]
    )
    skip: bool | Reason | None = Field(
        default=None, description="Do not run this test; a text says why.", examples=["needs the staging server"]
    )
    only: bool | None = Field(default=None, description="Run only tests so marked; refused in CI.")
    tags: Many[Text] = Field(default=(), description="Labels that `--tag` selects by.", examples=[["smoke"]])
    serial: bool | None = Field(
        default=None, description="Run alone, after the tests before it and before those after it."
    )
    retries: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="How many times a failed test is tried again."
    )
    timeout_ms: Milliseconds | None = Field(
        default=None, description="How long each call of a tool may take, in milliseconds."
    )
