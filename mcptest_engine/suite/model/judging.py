"""Who grades what a model says: rubrics, judges, and the programs of others. Source: external-scorers; decisions 6."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from mcptest_engine.suite.model.base import Many, Milliseconds, OneWay, Part, Scalar, Text, one_of
from mcptest_engine.suite.model.scoring import Share, Weight  # noqa: TC001  (pydantic reads the annotations)

EXEC = "exec"


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


class Judge(Part):
    """The model that grades, and how often it is asked."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    model: Text | None = Field(
        default=None,
        description="The model that grades; when left out, `MCPTEST_JUDGE_MODEL` or the default of a provider that is set up.",
        examples=["claude-sonnet-4-5"],
    )
    models: Annotated[Many[Text], Field(min_length=1, max_length=99)] | None = Field(
        default=None,
        description="Several models in place of `model`: a jury of which each is asked once, and most have to pass the answer.",
        examples=[["claude-sonnet-5-5", "gpt-5.4", "gpt-5.4-mini"]],
    )
    jury: Annotated[int, Field(ge=1, le=99)] | None = Field(
        default=None,
        description="How many times it is asked, each time anew; most of the jurors have to pass the answer.",
        examples=[3],
    )
    guarded: bool | None = Field(
        default=None,
        description="Each juror is asked a second time with what it reads in another order; a verdict that hangs on the "
        "order is inconclusive.",
    )

    @model_validator(mode="after")
    def _says_something(self) -> Judge:
        if not self.model_fields_set:
            raise PydanticCustomError("says_nothing", "at least one key")
        return self


class Threshold(Part):
    """From which score on a metric is good enough, and who says so."""

    threshold: Share = Field(description="From which score on the metric passes.", examples=[0.8])
    judge: Judge | None = Field(
        default=None, description="Who grades this metric; the suite's `judge` when left out.", examples=[{"jury": 3}]
    )


class LlmJudge(Part):
    """A model's opinion of one value."""

    rubric: Text | Rubric = Field(
        description="What a good value is: a text, or criteria, or a tree of questions.",
        examples=["Names the city and the temperature."],
    )
    threshold: Share | None = Field(
        default=None, description="From which score on it holds; 0.7 when left out.", examples=[0.8]
    )
    model: Text | None = Field(default=None, description="The model that grades; the suite's `judge` when left out.")
    models: Annotated[Many[Text], Field(min_length=1, max_length=99)] | None = Field(
        default=None,
        description="Several models in place of `model`: a jury, each asked once; the suite's `judge` when left out.",
        examples=[["claude-sonnet-5-5", "gpt-5.4", "gpt-5.4-mini"]],
    )
    jury: Annotated[int, Field(ge=1, le=99)] | None = Field(
        default=None, description="How many times it is asked; the suite's `judge` when left out."
    )


class Scorer(Part):
    """A program that grades: it reads one JSON document from stdin and writes one verdict to stdout."""

    name: Text = Field(
        description="What it is called in `scorers` of an eval and in reports; another name has its own kept verdicts.",
        examples=["braintrust-factuality"],
    )
    type: Text = Field(description="`exec`, a program that is run.", examples=[EXEC])
    command: Annotated[Many[Text], Field(min_length=1)] = Field(
        description="The program and its arguments, without a shell.", examples=[["python3", "scorers/braintrust.py"]]
    )
    env: dict[str, Scalar] = Field(
        default={},
        description="Environment variables over mcptest's own; `${NAME}` is the environment's, and has to be set.",
        examples=[{"BRAINTRUST_API_KEY": "${BRAINTRUST_API_KEY}"}],
    )
    cwd: Text | None = Field(
        default=None, description="The directory in which it runs; where mcptest was started when left out."
    )
    timeout_ms: Milliseconds | None = Field(
        default=None, description="How long one verdict may take, in milliseconds; 30000 when left out."
    )
    concurrency: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="How many of it may run at once; as many as tests do when left out."
    )
    max_cost_usd: Weight | None = Field(
        default=None,
        description="What one verdict costs at most, in US dollars. Under a cap only scorers that say so run at the same time.",
        examples=[0.01],
    )


class OtherScorer(Part):
    """A scorer of a type that this build does not have: what else it says is not looked at, and its rows fail."""

    model_config = ConfigDict(extra="allow")

    name: Text = Field(description="What it is called in `scorers` of an eval and in reports.")
    type: Text = Field(description="Its type; only `exec` can be run by this build.")

    @model_validator(mode="before")
    @classmethod
    def _refuse_null(cls, data: Any) -> Any:
        return data  # what another build makes of its own keys is not known here


def _scorer_kind(item: Any) -> str:
    kind = item.type if isinstance(item, Scorer | OtherScorer) else item.get("type") if isinstance(item, dict) else EXEC
    return "exec" if kind == EXEC else "other"


AnyScorer = Annotated[
    Annotated[Scorer, Tag("exec")] | Annotated[OtherScorer, Tag("other")], Discriminator(_scorer_kind)
]
