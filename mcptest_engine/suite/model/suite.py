"""A whole suite."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from mcptest_engine.suite.model.agents import AgentBudget, AgentTest  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.model.base import Many, Milliseconds, Part, Scalar, Text
from mcptest_engine.suite.model.compliance import (  # noqa: TC001  (pydantic reads the annotations)
    Compliance,
    ComplianceCheck,
)
from mcptest_engine.suite.model.compositions import Composition  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.model.entries import (  # noqa: TC001  (pydantic reads the annotations)
    DefaultTest,
    Outcome,
    PromptTest,
    ResourceTest,
    ToolTest,
)
from mcptest_engine.suite.model.evals import EvalTest, Price  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.model.hooks import Hooks  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.model.judging import AnyScorer, Judge  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.model.servers import Gate, Server  # noqa: TC001  (pydantic reads the annotations)


class FromEnv(Part):
    """A variable that takes its value from the environment."""

    may_be_null: ClassVar[frozenset[str]] = frozenset({"default"})

    from_env: Text = Field(description="The environment variable that holds the value.")
    default: Any = Field(default=None, description="The value where that one is not set.")


def _variable(value: Any) -> Any:
    """A mapping with `from_env` is a look-up; everything else is the value itself."""
    return FromEnv.model_validate(value) if isinstance(value, dict) and "from_env" in value else value


# Written out: a union of `FromEnv` and any value at all would accept every misspelt `FromEnv` as a value.
_VARIABLE_SCHEMA = {
    "if": {"type": "object", "required": ["from_env"]},
    "then": {
        "type": "object",
        "description": "A value from the environment.",
        "properties": {
            "from_env": {
                "type": "string",
                "minLength": 1,
                "description": "The environment variable that holds the value.",
            },
            "default": {"description": "The value where that one is not set."},
        },
        "required": ["from_env"],
        "additionalProperties": False,
    },
}
Variable = Annotated[Any, AfterValidator(_variable), WithJsonSchema(_VARIABLE_SCHEMA)]


class Inconclusive(Part):
    """When several runs of one test are too few, or too much alike, to say whether it passes."""

    on: bool | None = Field(
        default=None,
        description="The `runs` of an agent test are one test, which passes or fails when the confidence interval of their "
        "share of passes lies wholly above or below one half, and is inconclusive otherwise.",
    )
    min_trials: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=5, description="How many runs there have to be; fewer are inconclusive."
    )
    confidence_pct: Annotated[float, Field(ge=80, le=99)] = Field(
        default=95, description="How sure the interval is, in percent, from 80 to 99."
    )
    treat_as: Literal["neutral", "fail"] = Field(
        default="neutral",
        description="What inconclusive tests mean for the run: nothing (`neutral`), or that it fails (`fail`).",
    )


class RunOptions(Part):
    """How the suite is run; the command line overrides."""

    concurrency: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="How many tests run at once.", examples=[8]
    )
    retries: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="How many times a failed test is tried again."
    )
    restart: bool | None = Field(
        default=None, description="Whether a server that died or hangs is started again for the remaining tests."
    )
    bail: bool | Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="Stop after the first failure, or after this many."
    )
    timeout_ms: Milliseconds | None = Field(
        default=None, description="How long one call may take, in milliseconds.", examples=[30000]
    )
    model_timeout_ms: Milliseconds | None = Field(
        default=None,
        description="How long a model may take for one answer, in milliseconds; 120000 when left out.",
        examples=[300000],
    )
    connect_timeout_ms: Milliseconds | None = Field(
        default=None, description="How long a server's start and handshake may take, in milliseconds.", examples=[15000]
    )
    outcome: Outcome | None = Field(
        default=None,
        description="What the calls of tests must come to that do not say so themselves: `success` (the default), `error` or "
        "`any`.",
        examples=["any"],
    )
    validity: Gate | None = Field(
        default=None,
        description="What a result means that breaks the protocol's schema or the tool's own `outputSchema`: the test fails "
        "(`fail`, the default), a warning (`warn`), or it is not checked (`off`).",
        examples=["warn"],
    )
    hygiene: Gate | None = Field(
        default=None,
        description="What it means that a server writes to stdout what is no message, or goes on when its stdin is closed: the "
        "run fails (`fail`), a warning (`warn`, the default), or nothing (`off`).",
        examples=["fail"],
    )
    catalog: Literal["on", "off"] | None = Field(
        default=None,
        description="Whether a run lists the tools and prompts of its servers, to know unknown names, unknown arguments and "
        "output schemas (`on`, the default).",
        examples=["off"],
    )
    inconclusive: Inconclusive | None = Field(
        default=None,
        description="What is made of tests that are neither passed nor failed.",
        examples=[{"on": True, "min_trials": 10}],
    )


class Performance(Part):
    """How fast the servers ought to be: a timeout, which fails the calls that exceed it, and an advisory figure."""

    default_timeout_ms: Milliseconds | None = Field(
        default=None,
        description="How long one call may take before it fails, in milliseconds, "
        "where neither the test nor its server says; over `run_options.timeout_ms`.",
    )
    p95_latency_ms: Milliseconds | None = Field(
        default=None,
        description="Below what 95 of 100 calls should stay, in milliseconds; more is told and never fails a run.",
    )


Percentage = Annotated[float, Field(ge=0, le=100)]


class Coverage(Part):
    """How much of what the servers offer the tests have to exercise, in percent; less ends the run with exit code 6."""

    tools: Percentage | None = Field(default=None, description="Of the tools, how many are called.", examples=[100])
    parameters: Percentage | None = Field(
        default=None, description="Of all parameters of all tools, how many are given by some call."
    )
    enum_values: Percentage | None = Field(
        default=None, description="Of the values that parameters with an `enum` may have, how many are given."
    )
    resources: Percentage | None = Field(
        default=None, description="Of the resources and resource templates, how many are read."
    )
    prompts: Percentage | None = Field(default=None, description="Of the prompts, how many are got.")
    error_paths: Percentage | None = Field(
        default=None, description="Of the tools that are called, how many are seen to refuse something."
    )


Count = Annotated[int, Field(ge=0)]


class EffectLimits(Part):
    """How many calls of tools that change something a run may make; more end the run with exit code 6."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    destructive: Count | None = Field(
        default=None, description="Calls of tools that are classified as destructive.", examples=[0]
    )
    mutating: Count | None = Field(
        default=None, description="Calls of tools that are classified as mutating.", examples=[10]
    )

    @model_validator(mode="after")
    def _says_something(self) -> EffectLimits:
        if not self.model_fields_set:
            raise PydanticCustomError("says_nothing", "at least one limit")
        return self


class Suite(Part):
    """A suite of tests for MCP servers."""

    name: Text | None = Field(default=None, description="The suite's name; the file's name when left out.")
    description: str | None = Field(default=None, description="What the suite is about, for people.")
    servers: dict[str, Server] = Field(default={}, description="The servers under test, by the names that tests use.")
    imports: Many[Text] = Field(
        default=(),
        description="Other suite files whose servers, variables and tests come first.",
        examples=[["./common.yaml"]],
    )
    variables: dict[str, Variable] = Field(
        default={}, description="Values for `${name}`; `{ from_env: NAME, default: … }` reads the environment."
    )
    env: dict[str, Scalar] = Field(
        default={},
        description="Environment variables for every server of the suite; "
        "a number or boolean is passed as the text that it is written as.",
    )
    defaultTest: DefaultTest | None = Field(  # noqa: N815  (as suites spell it)
        default=None,
        description="What every test has too: its assertions are appended to each test's own, and the rest holds where a "
        "test does not say otherwise.",
        examples=[{"expect": [{"target": "result.isError", "matcher": {"not": {"exact": True}}}]}],
    )
    hooks: Hooks | None = Field(
        default=None,
        description="Commands around the run and around each of its tests.",
        examples=[{"beforeAll": "./seed.sh"}],
    )
    tools: Many[ToolTest] = Field(default=(), description="Tests that call tools.")
    resources: Many[ResourceTest] = Field(default=(), description="Tests that read resources.")
    prompts: Many[PromptTest] = Field(default=(), description="Tests that get prompts.")
    compliance: Many[ComplianceCheck] | Compliance = Field(
        default=(),
        description="Checks of what the protocol asks of every server: a list, or a mapping with `checks` and what they have "
        "in common.",
    )
    compositions: Many[Composition] = Field(
        default=(), description="Fixed workflows: calls of tools that feed each other, as a graph without cycles."
    )
    agents: Many[AgentTest] = Field(
        default=(),
        description="Tests of how a model uses the servers: a prompt, and what is expected of the calls that it leads to.",
    )
    evals: Many[EvalTest] = Field(
        default=(), description="Answers that are graded, each a text, the result of a call or a model's."
    )
    scorers: Many[AnyScorer] = Field(default=(), description="Programs that grade the answers of `evals`.")
    judge: Judge | None = Field(
        default=None,
        description="The model that grades wherever an eval, a metric or a matcher does not say otherwise.",
        examples=[{"model": "claude-sonnet-4-5", "jury": 3}],
    )
    budget: AgentBudget | None = Field(
        default=None,
        description="What models may cost: one run of a test that does not say otherwise, and the suite with its scorers.",
        examples=[{"per_test_usd_cents": 5, "per_suite_usd_cents": 100}],
    )
    prices: dict[str, Price] = Field(
        default={},
        description="What models cost, over the shipped table, by a model's id or by how several begin: `my-model-*`.",
        examples=[{"my-model-*": {"input_usd_per_mtok": 0.5, "output_usd_per_mtok": 1.5}}],
    )
    run_options: RunOptions | None = Field(default=None, description="How the suite is run.")
    performance: Performance | None = Field(
        default=None, description="How fast the servers ought to be: a timeout and an advisory figure."
    )
    coverage: Coverage | None = Field(
        default=None,
        description="How much of what the servers offer has to be exercised, in percent; an empty mapping only measures it.",
        examples=[{"tools": 100}],
    )
    effects: EffectLimits | None = Field(
        default=None,
        description="How many calls of tools that change something a run may make.",
        examples=[{"destructive": 0}],
    )
