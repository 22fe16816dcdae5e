"""A whole suite."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from mcptest_engine.suite.model.agents import AgentBudget, AgentTest  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.model.base import NOT_EMPTY, About, Many, Milliseconds, Part, Scalar, Text, hints
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

    about = About(expected="a mapping with `from_env`")

    from_env: Text = Field(description="The environment variable that holds the value.", json_schema_extra=hints("env"))
    default: Any = Field(default=None, description="The value if the variable is not set.")


class Inconclusive(Part):
    """When several runs of one test are too few, or too much alike, to say whether it passes."""

    about = About(
        expected="a mapping with keys such as `on` and `min_trials`",
        place="belongs under `inconclusive`, in `run_options`",
        is_rare=True,
        heading="`run_options.inconclusive`",
        text="[Agent tests](../how-to/agent-tests.md) explains it.",
    )

    on: bool | None = Field(
        default=None,
        description="The `runs` of an agent test are one test. It passes if the confidence interval of their "
        "pass rate is above one half, and fails if it is below. Otherwise it is inconclusive.",
        json_schema_extra=hints("enabled"),
    )
    min_trials: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=5,
        description="The lowest number of runs. With fewer runs, the test is inconclusive.",
        json_schema_extra=hints("trials min_runs"),
    )
    confidence_pct: Annotated[float, Field(ge=80, le=99)] = Field(
        default=95,
        description="The confidence level of the interval in percent, from 80 to 99.",
        json_schema_extra=hints("confidence"),
    )
    treat_as: Literal["neutral", "fail"] = Field(
        default="neutral",
        description="Whether inconclusive tests fail the run: no (`neutral`) or yes (`fail`).",
        json_schema_extra=hints("as"),
    )


class RunOptions(Part):
    """How the suite is run; the command line overrides."""

    about = About(place="belongs under `run_options`", later="executor keep_runs models", heading="`run_options`")

    concurrency: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None,
        description="How many tests run at once.",
        examples=[8],
        json_schema_extra=hints("workers parallel parallelism max_concurrency"),
    )
    retries: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="How many times a failed test is retried.", json_schema_extra=hints("retry")
    )
    restart: bool | None = Field(
        default=None, description="Whether a server that died or hangs is restarted for the remaining tests."
    )
    bail: bool | Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="Stop after the first failure, or after this many.",
        json_schema_extra=hints("fail_fast failfast failFast"),
    )
    timeout_ms: Milliseconds | None = Field(
        default=None,
        description="The time limit of one call, in milliseconds.",
        examples=[30000],
        json_schema_extra=hints("timeout"),
    )
    model_timeout_ms: Milliseconds | None = Field(
        default=None,
        description="The time limit for one answer of a model, in milliseconds. Default: 120000.",
        examples=[300000],
        json_schema_extra=hints("model_timeout judge_timeout_ms"),
    )
    connect_timeout_ms: Milliseconds | None = Field(
        default=None, description="The time limit of a server's start and handshake, in milliseconds.", examples=[15000]
    )
    outcome: Outcome | None = Field(
        default=None,
        description="The default `outcome` of tests: `success` (default), `error` or `any`.",
        examples=["any"],
    )
    validity: Gate | None = Field(
        default=None,
        description="What happens if a result violates the protocol or the tool's `outputSchema`: the test fails "
        "(`fail`, default), a warning (`warn`), or it is not checked (`off`).",
        examples=["warn"],
    )
    hygiene: Gate | None = Field(
        default=None,
        description="What happens if a server writes other lines than messages to stdout, or keeps running after "
        "its stdin was closed: the run fails (`fail`), a warning (`warn`, default), or nothing (`off`).",
        examples=["fail"],
    )
    catalog: Literal["on", "off"] | None = Field(
        default=None,
        description="Whether a run lists the tools and prompts of its servers (`on`, default), to find unknown "
        "names, unknown arguments and invalid results.",
        examples=["off"],
    )
    inconclusive: Inconclusive | None = Field(
        default=None,
        description="How inconclusive tests are treated.",
        examples=[{"on": True, "min_trials": 10}],
    )


class Performance(Part):
    """How fast the servers ought to be: a timeout, which fails the calls that exceed it, and an advisory figure."""

    about = About(place="belongs under `performance`", heading="`performance`")

    default_timeout_ms: Milliseconds | None = Field(
        default=None,
        description="The default time limit of a call, in milliseconds. Overrides `run_options.timeout_ms`.",
        json_schema_extra=hints("timeout_ms"),
    )
    p95_latency_ms: Milliseconds | None = Field(
        default=None,
        description="The desired 95th percentile of call times, in milliseconds. If it is exceeded, there is a "
        "warning.",
        json_schema_extra=hints("p95 p95_ms"),
    )


Percentage = Annotated[float, Field(ge=0, le=100)]


class Coverage(Part):
    """How much of what the servers offer the tests have to exercise, and how strong they have to be, in percent; less ends the
    run with exit code 6.
    """

    about = About(
        place="belongs under `coverage`, at the top of the file",
        heading="`coverage`",
        text="Percentages from 0 to 100. [Coverage](../how-to/coverage.md) explains them.",
    )

    tools: Percentage | None = Field(
        default=None,
        description="The percentage of the tools that passing tests call with success.",
        examples=[100],
        json_schema_extra=hints("threshold"),
    )
    parameters: Percentage | None = Field(
        default=None,
        description="The percentage of all parameters of all tools that a call contains.",
        json_schema_extra=hints("args arguments params"),
    )
    enum_values: Percentage | None = Field(
        default=None,
        description="The percentage of all `enum` values of parameters that a call contains.",
        json_schema_extra=hints("enum enums"),
    )
    resources: Percentage | None = Field(
        default=None,
        description="The percentage of the resources and resource templates that are read.",
        json_schema_extra=hints("uris"),
    )
    prompts: Percentage | None = Field(default=None, description="The percentage of the prompts that tests get.")
    error_paths: Percentage | None = Field(
        default=None,
        description="The percentage of the called tools that refuse something.",
        json_schema_extra=hints("errors error_path"),
    )
    strength: Percentage | None = Field(
        default=None,
        description="The percentage of the tests that check a value, not only that a call succeeds or what shape its "
        "answer has.",
        examples=[60],
        json_schema_extra=hints("assertions values"),
    )


Count = Annotated[int, Field(ge=0)]


class EffectLimits(Part):
    """How many calls of tools that change something a run may make; more end the run with exit code 6."""

    about = About(
        expected="a mapping with `destructive` or `mutating`",
        place="belongs under `effects`, at the top of the file",
        heading="`effects`",
        text="One of the two is enough. [The ledger of effects](../explanation/safety.md#the-ledger-of-effects) explains them.",
    )

    model_config = NOT_EMPTY

    destructive: Count | None = Field(
        default=None,
        description="The highest number of calls of destructive tools.",
        examples=[0],
        json_schema_extra=hints("delete deletes destructive_calls"),
    )
    mutating: Count | None = Field(
        default=None,
        description="The highest number of calls of mutating tools.",
        examples=[10],
        json_schema_extra=hints("writes write mutations mutating_calls"),
    )


class Suite(Part):
    """A suite of tests for MCP servers."""

    about = About(
        place="belongs at the top of the file",
        later="conformance corpus faults fixtures mock_server model_compat model_compatibility "
        "scenarios security setup setup_per_test teardown tool_quality",
    )

    name: Text | None = Field(
        default=None,
        description="The name of the suite. Default: the name of the file.",
        json_schema_extra=hints("suite title"),
    )
    description: str | None = Field(
        default=None, description="A description for people.", json_schema_extra=hints("desc")
    )
    schema_path: Text | None = Field(
        default=None,
        alias="$schema",
        description="The path or URL of the JSON Schema of suites, for editors. Only a suite in JSON needs it: in YAML, the "
        "first line names the schema.",
        examples=[".mcptest/suite.schema.json"],
    )
    servers: dict[str, Server] = Field(
        default={},
        description="The servers under test, by the names that tests use.",
        json_schema_extra=hints("mcpServers"),
    )
    imports: Many[Text] = Field(
        default=(),
        description="Other suite files. Their servers, variables and tests come first.",
        examples=[["./common.yaml"]],
        json_schema_extra=hints("include includes extends"),
    )
    variables: dict[str, FromEnv | Any] = Field(
        default={},
        description="Values for `${name}`. `{ from_env: NAME, default: … }` reads the environment.",
        json_schema_extra=hints("vars"),
    )
    env: dict[str, Scalar] = Field(
        default={},
        description="Environment variables for every server of the suite. A number or boolean is passed as text, "
        "as written.",
        json_schema_extra=hints("environment"),
    )
    defaultTest: DefaultTest | None = Field(  # noqa: N815  (as suites spell it)
        default=None,
        description="Defaults for every test. Its assertions are added to each test's own; a test can override "
        "the other keys.",
        examples=[{"expect": [{"target": "result.isError", "matcher": {"not": {"exact": True}}}]}],
        json_schema_extra=hints("default_test defaults default defaultTests"),
    )
    hooks: Hooks | None = Field(
        default=None,
        description="Commands before and after the run and each test.",
        examples=[{"beforeAll": "./seed.sh"}],
        json_schema_extra=hints("hook lifecycle"),
    )
    tools: Many[ToolTest] = Field(
        default=(),
        description="Tests that call tools.",
        json_schema_extra=hints("tests test cases test_cases testCases", items="tests"),
    )
    resources: Many[ResourceTest] = Field(
        default=(), description="Tests that read resources.", json_schema_extra=hints(items="tests")
    )
    prompts: Many[PromptTest] = Field(
        default=(), description="Tests that get prompts.", json_schema_extra=hints(items="tests")
    )
    compliance: Many[ComplianceCheck] | Compliance = Field(
        default=(),
        description="Checks of the protocol: a list, or a mapping with `checks` and common keys.",
        json_schema_extra=hints("protocol_checks protocolChecks", items="checks"),
    )
    compositions: Many[Composition] = Field(
        default=(),
        description="Workflows of several tool calls that pass data to each other, as a graph without cycles.",
        json_schema_extra=hints("composition pipelines workflows dags", items="compositions"),
    )
    agents: Many[AgentTest] = Field(
        default=(),
        description="Tests of a model that uses the servers: a prompt, and the expectations on the calls.",
        json_schema_extra=hints("agent agent_tests agentTests", items="tests"),
    )
    evals: Many[EvalTest] = Field(
        default=(),
        description="Answers that are graded: a text, the result of a call, or the answer of a model.",
        json_schema_extra=hints("eval evaluations", items="evals"),
    )
    scorers: Many[AnyScorer] = Field(
        default=(),
        description="Programs that grade the answers of `evals`.",
        json_schema_extra=hints("scorer graders evaluators", items="scorers"),
    )
    judge: Judge | None = Field(
        default=None,
        description="The default judge of evals, metrics and matchers.",
        examples=[{"model": "claude-sonnet-4-5", "jury": 3}],
        json_schema_extra=hints("judges"),
    )
    budget: AgentBudget | None = Field(
        default=None,
        description="Cost limits: the default for one run of a test, and for the suite with its scorers.",
        examples=[{"per_test_usd_cents": 5, "per_suite_usd_cents": 100}],
        json_schema_extra=hints("budgets"),
    )
    prices: dict[str, Price] = Field(
        default={},
        description="Prices of models, by id or by the beginning of ids (`my-model-*`). They override mcptest's "
        "own table.",
        examples=[{"my-model-*": {"input_usd_per_mtok": 0.5, "output_usd_per_mtok": 1.5}}],
        json_schema_extra=hints("pricing"),
    )
    run_options: RunOptions | None = Field(
        default=None, description="Options of the run.", json_schema_extra=hints("options config settings")
    )
    performance: Performance | None = Field(
        default=None, description="Expectations on speed: a default time limit, and a desired percentile."
    )
    coverage: Coverage | None = Field(
        default=None,
        description="Floors for coverage, in percent. An empty mapping only measures it.",
        examples=[{"tools": 100}],
    )
    effects: EffectLimits | None = Field(
        default=None,
        description="Limits for the number of tool calls that change something.",
        examples=[{"destructive": 0}],
    )
