"""Who grades what a model says: rubrics, judges, and the programs of others. See docs/how-to/scorers.md."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from mcptest_engine.suite.model.base import NOT_EMPTY, About, Many, Milliseconds, Part, Scalar, Text, hints, one_of
from mcptest_engine.suite.model.scoring import Share, Weight  # noqa: TC001  (pydantic reads the annotations)

EXEC = "exec"


class Criterion(Part):
    """One thing that a rubric asks of an answer."""

    about = About(
        instead={"text": "write `{ name: VALUE }`"},
        expected="a criterion, which is a mapping with `name`",
        heading="A criterion",
        link="criterion",
    )

    name: Text = Field(
        description="The name in reports.",
        examples=["covers query"],
        json_schema_extra=hints("criterion id title", missing="give the criterion a name"),
    )
    description: Text | None = Field(
        default=None, description="The text for the judge. Default: the name.", json_schema_extra=hints("desc text")
    )
    weight: Weight = Field(default=1.0, description="The weight in the score.", json_schema_extra=hints("w"))


class Branch(Part):
    """A place of a decision tree: a question that leads on, or a score that ends it. Exactly one of `ask` and `score`."""

    about = About(
        instead={"value": "write `{ score: VALUE }`"},
        expected="a mapping with `ask`, `yes` and `no`, or with `score`",
        choice=("a branch", "write a question, such as `ask: Does it name the city?`, or `score: 1`"),
        heading="A branch of a tree",
        text="Either `ask` with `yes` and `no`, or `score`.",
        link="branch",
    )

    model_config = one_of("ask", "score")

    ask: Text | None = Field(default=None, description="A yes-or-no question.", json_schema_extra=hints("question if"))
    yes: Branch | None = Field(
        default=None, description="What follows a yes. Required with `ask`.", json_schema_extra=hints("then")
    )
    no: Branch | None = Field(
        default=None, description="What follows a no. Required with `ask`.", json_schema_extra=hints("else")
    )
    score: Share | None = Field(
        default=None, description="The score at the end of this path, from 0 to 1.", json_schema_extra=hints("value")
    )


class Rubric(Part):
    """How an answer is graded. Exactly one of `criteria` and `tree`."""

    about = About(
        expected="a mapping with `criteria` or `tree`",
        place="belongs under `rubric`",
        choice=("a rubric", "write `criteria:` and below it a list of `{ name: NAME }`"),
        heading="A rubric",
        text="Either a text, or this mapping with `criteria` or `tree`. [Judging](../how-to/llm-judge.md) explains it.",
    )

    model_config = one_of("criteria", "tree")

    criteria: Annotated[Many[Criterion], Field(min_length=1)] | None = Field(
        default=None,
        description="The criteria. Each is graded by itself.",
        json_schema_extra=hints("items rules", items="criteria"),
    )
    tree: Branch | None = Field(
        default=None,
        description="Yes-or-no questions. Each answer leads to another question or to a score.",
        json_schema_extra=hints("questions"),
    )
    threshold: Share | None = Field(
        default=None,
        description="The lowest score that passes.",
        examples=[0.7],
        json_schema_extra=hints("min_score pass_threshold"),
    )
    strict: bool | None = Field(default=None, description="Every criterion must reach the threshold too.")


class Judge(Part):
    """The model that grades, and how often it is asked."""

    about = About(
        expected="a mapping with `model`, `models` or `jury`",
        place="belongs under `judge`",
        is_rare=True,
        heading="A judge",
        text="One of the three is enough. The suite's `judge` supplies the others.",
        link="judge",
    )

    model_config = NOT_EMPTY

    model: Text | None = Field(
        default=None,
        description="The model that grades. Default: `MCPTEST_JUDGE_MODEL`, or the default of the provider that "
        "is set up.",
        examples=["claude-sonnet-4-5"],
        json_schema_extra=hints("llm"),
    )
    models: Annotated[Many[Text], Field(min_length=1, max_length=99)] | None = Field(
        default=None,
        description="Several models, in place of `model`. Each is asked once, and most of them must pass the answer.",
        examples=[["claude-sonnet-5-5", "gpt-5.4", "gpt-5.4-mini"]],
        json_schema_extra=hints("llms judges", items="models"),
    )
    jury: Annotated[int, Field(ge=1, le=99)] | None = Field(
        default=None,
        description="How many times the model is asked. Most of these jurors must pass the answer.",
        examples=[3],
        json_schema_extra=hints("jurors votes samples"),
    )
    guarded: bool | None = Field(
        default=None,
        description="Ask each juror a second time, in the opposite order. If the two verdicts differ, the juror "
        "has none.",
        json_schema_extra=hints("position_bias"),
    )


class Threshold(Part):
    """From which score on a metric is good enough, and who says so."""

    about = About(
        instead={"value": "write `{ threshold: VALUE }`"},
        expected="a mapping with `threshold`",
        heading="A metric's threshold",
        text="In place of `true`.",
    )

    threshold: Share = Field(
        description="The lowest score that passes.",
        examples=[0.8],
        json_schema_extra=hints(
            "min min_score score", missing="write the lowest score that passes, such as `{ threshold: 0.7 }`"
        ),
    )
    judge: Judge | None = Field(
        default=None, description="The judge of this metric. Default: the suite's `judge`.", examples=[{"jury": 3}]
    )


class LlmJudge(Part):
    """A model's opinion of one value."""

    about = About(
        instead={"text": "write `{ rubric: VALUE }`"},
        expected="a mapping with `rubric`",
        place="belongs under `llm-judge`",
        is_rare=True,
        heading="`llm-judge`",
        text="The [matcher](matchers.md) of that name.",
    )

    rubric: Text | Rubric = Field(
        description="A description of a good value: a text, criteria, or a tree of questions.",
        examples=["Names the city and the temperature."],
        json_schema_extra=hints(
            "criteria prompt", missing="write what a good value is, such as `rubric: Names the city.`"
        ),
    )
    threshold: Share | None = Field(
        default=None,
        description="The lowest score that passes. Default: 0.7.",
        examples=[0.8],
        json_schema_extra=hints("min_score"),
    )
    model: Text | None = Field(
        default=None,
        description="The model that grades. Default: that of the suite's `judge`.",
        json_schema_extra=hints("llm"),
    )
    models: Annotated[Many[Text], Field(min_length=1, max_length=99)] | None = Field(
        default=None,
        description="Several models, in place of `model`. Each is asked once, as a jury. Default: those of the "
        "suite's `judge`.",
        examples=[["claude-sonnet-5-5", "gpt-5.4", "gpt-5.4-mini"]],
        json_schema_extra=hints("llms judges"),
    )
    jury: Annotated[int, Field(ge=1, le=99)] | None = Field(
        default=None,
        description="How many times the model is asked. Default: that of the suite's `judge`.",
        json_schema_extra=hints("jurors"),
    )


class Scorer(Part):
    """A program that grades: it reads one JSON document from stdin and writes one verdict to stdout."""

    about = About(
        expected="a scorer, which is a mapping with `name`, `type` and `command`",
        place="belongs in a scorer, under `scorers` at the top of the file",
        is_rare=True,
        heading="A scorer",
        text="An entry of `scorers:`. [Scorers](../how-to/scorers.md) explains it.",
        link="scorer",
    )

    name: Text = Field(
        description="The name in `scorers` of an eval and in reports. Cached verdicts belong to the name.",
        examples=["braintrust-factuality"],
        json_schema_extra=hints("id", missing="give the scorer a name"),
    )
    type: Text = Field(
        description="`exec`: a program.", examples=[EXEC], json_schema_extra=hints("kind", missing="write `type: exec`")
    )
    command: Annotated[Many[Text], Field(min_length=1)] = Field(
        description="The program and its arguments, without a shell.",
        examples=[["python3", "scorers/braintrust.py"]],
        json_schema_extra=hints(
            "cmd argv run exec args", missing="write the command, such as `command: [python3, scorer.py]`"
        ),
    )
    env: dict[str, Scalar] = Field(
        default={},
        description="Additional environment variables. `${NAME}` is a variable of mcptest's environment, and "
        "must be set.",
        examples=[{"BRAINTRUST_API_KEY": "${BRAINTRUST_API_KEY}"}],
        json_schema_extra=hints("environment"),
    )
    cwd: Text | None = Field(
        default=None,
        description="The working directory. Default: where mcptest was started.",
        json_schema_extra=hints("dir workdir working_directory"),
    )
    timeout_ms: Milliseconds | None = Field(
        default=None,
        description="The time limit of one verdict, in milliseconds. Default: 30000.",
        json_schema_extra=hints("timeout"),
    )
    concurrency: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None,
        description="How many processes of it may run at once. Default: as many as tests.",
        json_schema_extra=hints("max_concurrency workers parallel"),
    )
    max_cost_usd: Weight | None = Field(
        default=None,
        description="The highest cost of one verdict, in US dollars. With a cost limit, only scorers with this "
        "key run several at once.",
        examples=[0.01],
        json_schema_extra=hints("cost_usd max_cost"),
    )


class OtherScorer(Part):
    """A scorer of a type that this build does not have: what else it says is not looked at, and its rows fail."""

    about = About(
        expected="a scorer, which is a mapping with `name` and `type`",
        heading="A scorer of another build",
        text="One whose `type` is not `exec`. It may have any other keys.",
        link="one of another build",
    )

    model_config = ConfigDict(extra="allow")

    name: Text = Field(
        description="The name in `scorers` of an eval and in reports.",
        json_schema_extra=hints(missing="give the scorer a name"),
    )
    type: Text = Field(description="The type. This version can only run `exec`.")


AnyScorer = Scorer | OtherScorer
