"""The tests of a suite: what is asked of a server, and what is expected of its answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from mcptest_engine.suite.model.base import About, Many, Milliseconds, Part, Text, hints, one_of
from mcptest_engine.suite.model.client import Client  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.model.matchers import Matcher  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.model.scoring import (  # noqa: TC001  (pydantic reads the annotations)
    DerivedMetric,
    Share,
    Weight,
)

# `skip: no` is text in YAML 1.2, and would skip the test for the reason "no".
_NO_REASON = [
    spelt for word in ("yes", "no", "on", "off", "true", "false") for spelt in (word, word.title(), word.upper())
]


Reason = Annotated[str, Field(min_length=1, json_schema_extra={"not": {"enum": [*_NO_REASON]}})]


EXPECT_HINTS = hints(
    "assert asserts assertion assertions expected expectations checks validate",
    items="assertions",
    told={"options": "write its keys in the test itself, without `options:`; `weight` is a key of an assertion"},
)
ARGS_HINTS = hints("arguments argument params parameters input inputs with")
NAME_HINTS = hints("title id test", missing="write a name that says what holds if the test passes")

Cache = Literal["always", "never"]
Outcome = Literal["success", "error", "any"]


class Transform(Part):
    """A rewriting of the value before it is judged."""

    about = About(
        instead={"text": "write `{ jq: VALUE }`"},
        expected="a mapping with `jq`",
        place="belongs under `transform`",
        link="`{ jq: PROGRAM }`",
    )

    jq: Text = Field(
        description="A jq program. Its last output is checked in place of the value.",
        examples=["fromjson | .items[0].name"],
        json_schema_extra=hints("query program filter"),
    )


class Assertion(Part):
    """One expectation: where to look, and what must hold there."""

    about = About(
        expected="an assertion, which is a mapping with `target` and `matcher`",
        place="belongs in an assertion, under `expect`",
        heading="An assertion",
        text="The value to check, and the matcher for it. [Matchers](matchers.md) has all of them.",
        link="assertion",
    )

    target: Text = Field(
        description="A path into the answer. Quote it if it contains brackets.",
        examples=["result.content[0].text", "result.isError", "error.code", "duration_ms"],
        json_schema_extra=hints(
            "path jsonpath json_path field selector at",
            missing='write a path into the answer, such as `target: "result.content[0].text"`',
        ),
    )
    matcher: Matcher = Field(
        description="The matcher for the value.",
        json_schema_extra=hints(
            "match assert expect check", missing="write a matcher, such as `matcher: { exists: true }`"
        ),
    )
    name: Text | None = Field(default=None, description="A name for reports.", json_schema_extra=hints("metric id"))
    message: str | None = Field(
        default=None, description="A text before the failure message.", json_schema_extra=hints("msg")
    )
    transform: Transform | None = Field(
        default=None, description="Changes the value before it is checked.", json_schema_extra=hints("jq_transform")
    )
    weight: Weight = Field(
        default=1.0,
        description="The weight of the assertion in the score of its set, or of a test with a `threshold`.",
    )


class AssertSet(Part):
    """Assertions that hold together when enough of them do. It counts as one in the score of its test."""

    about = About(
        instead={"list": "write `assertions:` below `assert-set:`, and the list below that"},
        expected="a set, which is a mapping with `assertions`",
        place="belongs in a set, under `assert-set`",
        heading="`assert-set`",
        text="Stands in place of an assertion: `- assert-set: { … }`. [Scores](../how-to/scores.md) explains it.",
    )

    name: Text | None = Field(
        default=None, description="A name for reports and for metrics.", json_schema_extra=hints("id metric title")
    )
    threshold: Share = Field(
        default=1.0,
        description="The set holds if this weighted share of its assertions holds.",
        examples=[0.6],
        json_schema_extra=hints("min_score pass_threshold score"),
    )
    weight: Weight = Field(default=1.0, description="The weight of the set in the score of a test with a `threshold`.")
    assertions: Annotated[Many[Assertion], Field(min_length=1)] = Field(
        description="The assertions of the set.",
        json_schema_extra=hints(
            "assert asserts checks expect items of",
            missing="write a list of assertions below `assertions:`",
            items="assertions",
        ),
    )


class AssertSetItem(Part):
    """A set of assertions in place of a single one."""

    about = About(
        expected="a mapping with `assert-set`",
        place="is an item of its own under `expect`: put `- ` before it",
        link="[set](#assert-set)",
    )

    assert_set: AssertSet = Field(
        alias="assert-set", description="Several assertions that count as one. It holds if enough of them hold."
    )


ExpectItem = Assertion | AssertSetItem
"""One item under `expect`: an assertion, or a set of them."""


class TokenBudget(Part):
    """How long an answer may be, and what happens when it is longer."""

    about = About(
        expected="a mapping with `budget`",
        place="belongs under `max_response_tokens`",
        heading="`max_response_tokens`",
        text="Either a number, or this mapping.",
    )

    budget: Annotated[int, Field(ge=1)] = Field(
        description="The largest number of tokens allowed.", json_schema_extra=hints("max limit tokens")
    )
    mode: Literal["fail", "warn"] = Field(
        default="fail", description="Whether a longer answer fails the test.", json_schema_extra=hints("action")
    )


class Expect(Part):
    """What is expected of an answer."""

    about = About(
        expected="a mapping with `assertions`",
        place="belongs beside `assertions`, under `expect`",
        later="max_cost_usd",
        heading="`expect`",
        text="Either a list of assertions, or this mapping, in which [the short form](#the-short-form-of-assertions) "
        "is possible.",
    )

    assertions: Many[ExpectItem] = Field(
        default=(),
        description="The assertions, each with `target` and `matcher`. All must hold, or enough of them if the test has "
        "a `threshold`. Beside them, or in place of them, assertions in the short form: a target as the key, and "
        "its matchers or the exact value, such as `text: { contains: hello }`.",
        json_schema_extra=hints("assert asserts checks expect"),
    )
    max_duration_ms: Milliseconds | None = Field(
        default=None,
        description="The time limit of the call, in milliseconds.",
        json_schema_extra=hints("max_duration max_latency_ms duration_ms timeout timeout_ms"),
    )
    max_response_tokens: Annotated[int, Field(ge=1)] | TokenBudget | None = Field(
        default=None,
        description="The highest length of the answer, in tokens (its characters divided by four).",
        json_schema_extra=hints("max_tokens"),
    )


class Delay(Part):
    """The answer counts as come later than it did."""

    about = About(
        expected="a mapping with `delay_ms`", place="belongs under `fault`, in a test", heading="A delaying `fault`"
    )

    delay_ms: Milliseconds = Field(
        description="The delay in milliseconds. If it is longer than the time limit, the call times out.",
        examples=[250],
        json_schema_extra=hints(
            "delay latency_ms ms",
            missing="write the delay, such as `{ delay_ms: 250 }`",
            told={
                "drop drop_response": "write `fault: drop_response`, without a mapping",
                "disconnect": "write `fault: disconnect`, without a mapping",
            },
        ),
    )


class VerifyStep(Part):
    """One further call after a test's own, with what is expected of it. Exactly one of `tool`, `uri` and `prompt`."""

    about = About(
        instead={"text": "write `tool: VALUE`, and its `args` and `expect` below it"},
        expected="a step, which is a mapping with `tool`, `uri` or `prompt`",
        choice=("a step", "write the request: `tool: NAME`, `uri: URI` or `prompt: NAME`"),
        heading="A step of `verify`",
        text="Exactly one of `tool`, `uri` and `prompt`.",
        link="step",
    )

    model_config = one_of("tool", "uri", "prompt")

    name: Text | None = Field(
        default=None,
        description="A name for reports.",
        examples=["the money moved once"],
        json_schema_extra=hints("title id test"),
    )
    server: Text | None = Field(
        default=None, description="Another server of this suite. Default: the server of the test."
    )
    tool: Text | None = Field(
        default=None,
        description="The tool to call, or a request such as `tools/list`.",
        json_schema_extra=hints("method call function tool_name"),
    )
    uri: Text | None = Field(
        default=None,
        description="The resource to read.",
        examples=["file:///ledger.csv"],
        json_schema_extra=hints("resource url"),
    )
    prompt: Text | None = Field(default=None, description="The prompt to get.")
    args: dict[str, Any] = Field(
        default={},
        description="The arguments of the tool, or of the prompt.",
        examples=[{"account": "ada"}],
        json_schema_extra=ARGS_HINTS,
    )
    expect: Many[ExpectItem] | Expect | None = Field(
        default=None,
        description="The expectations on this answer, as in a test.",
        json_schema_extra=EXPECT_HINTS,
    )
    timeout_ms: Milliseconds | None = Field(
        default=None,
        description="The time limit of this call, in milliseconds. Default: that of the test.",
        json_schema_extra=hints("timeout timeout_s timeout_seconds"),
    )
    outcome: Outcome | None = Field(default=None, description="Whether this call must succeed, as in a test.")


class Scheduled(Part):
    """When and how often a test runs."""

    tags: Many[Text] = Field(
        default=(), description="Labels for `--tag`.", examples=[["smoke"]], json_schema_extra=hints("labels label")
    )
    group: Text | None = Field(
        default=None,
        description="Tests of one group depend on each other. They run one after another, in the order of the "
        "suite. Selecting one of them selects all, and a shard gets all of them.",
        examples=["accounts"],
        json_schema_extra=hints("depends_on needs order together"),
    )
    fresh: bool | Literal["group"] | None = Field(
        default=None,
        description="Start a new process of the server for each attempt of this test (`true`), or one for all tests of its "
        "`group` (`group`). It overrides the server's `fresh`.",
        examples=[True, "group"],
        json_schema_extra=hints("isolated isolate isolation"),
    )
    serial: bool | None = Field(
        default=None,
        description="Run alone: earlier tests finish first, and later tests wait.",
        json_schema_extra=hints("sequential"),
    )
    retries: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="How many times a failed test is retried.", json_schema_extra=hints("retry")
    )
    timeout_ms: Milliseconds | None = Field(
        default=None,
        description="The time limit of the call, in milliseconds.",
        json_schema_extra=hints("timeout timeout_s timeout_seconds"),
    )


class AnyTest(Scheduled):
    """What tests of every kind have in common."""

    name: Text = Field(
        description="The name of the test, in reports and for `--filter`. It should say what holds if the test passes.",
        json_schema_extra=NAME_HINTS,
    )
    description: str | None = Field(
        default=None, description="A description for people.", json_schema_extra=hints("summary desc")
    )
    skip: bool | Reason | None = Field(
        default=None,
        description="Skip this test. A text is the reason.",
        examples=["needs the staging database"],
        json_schema_extra=hints("skipped disabled ignore"),
    )
    only: bool | None = Field(
        default=None,
        description="Run only the tests with `only: true`. Refused in CI.",
        json_schema_extra=hints("focus"),
    )


class Shared(Scheduled):
    """What a test says of itself, or `defaultTest` for every test that does not."""

    server: Text | None = Field(default=None, description="A server of this suite. Not needed if there is only one.")
    expect: Many[ExpectItem] | Expect | None = Field(
        default=None,
        description="The expectations on the answer: a list of assertions, or a mapping with budgets.",
        json_schema_extra=EXPECT_HINTS,
    )
    outcome: Outcome | None = Field(
        default=None,
        description="The expected outcome of the call: `success` (default), `error` (the tool or the server "
        "reports an error), or `any`. `any` is the default of a test with an assertion on `result.isError` "
        "or `error` that can hold for an error.",
        examples=["error"],
    )
    threshold: Share | None = Field(
        default=None,
        description="The test passes if this weighted share of its assertions holds. Default: all must hold.",
        examples=[0.75],
        json_schema_extra=hints("min_score minScore pass_threshold passThreshold score"),
    )
    derivedMetrics: Annotated[Many[DerivedMetric], Field(min_length=1)] | None = Field(  # noqa: N815  (as suites spell it)
        default=None,
        description="Metrics of the test, computed in order from the scores of its named assertions and sets.",
        examples=[[{"name": "quality", "value": {"weighted_average": [{"ref": "cites_sources", "weight": 2}]}}]],
        json_schema_extra=hints("metrics derived_metrics"),
    )
    meta: dict[str, Any] | None = Field(
        default=None,
        description="The `_meta` of the request. A `progressToken` requests progress notifications.",
        examples=[{"progressToken": "p1"}],
        json_schema_extra=hints("_meta metadata"),
    )
    client: Client | None = Field(
        default=None,
        description="What mcptest can do as a client in this test, in place of the server's own `client`. "
        "The test gets a session of its own.",
        examples=[{"elicitation": "decline"}],
        json_schema_extra=hints("client_capabilities"),
    )
    serial: bool | None = Field(
        default=None,
        description="Run alone: earlier tests finish first, and later tests wait. "
        "Default for tests of tools whose names suggest a change.",
    )


class Test(AnyTest):
    """What tests of one request have in common, beside what `defaultTest` can say for them."""

    cases: Annotated[Many[Case], Field(min_length=1)] | Text | None = Field(
        default=None,
        description="Rows of data. The test runs once for each, as `NAME [CASE]`. A text is the path of a CSV, TSV, JSON, "
        "JSONL or YAML file, relative to this file.",
        examples=["cities.csv", [{"name": "two", "vars": {"a": 1, "b": 1, "sum": 2}}]],
        json_schema_extra=hints("rows dataset data examples matrix parametrize each", items="cases"),
    )
    guess: bool | Many[Text] | None = Field(
        default=None,
        description="`true`, or the names of arguments that are made up. If the call ends in an error, the test "
        "is inconclusive. With `outcome: error`, it passes only if the error is about the arguments. "
        "`mcptest review` asks for real ones.",
        examples=[["id"], True],
    )
    cache: Cache | None = Field(
        default=None,
        description="Whether `run --cache` may use a saved result: `never`, or `always`, even if it would not do "
        "so by default.",
        examples=["never"],
    )
    effects: Many[Text] = Field(
        default=(),
        description="Effects outside of the server. With `external` (such as a mail that is sent), `run --cache` "
        "never uses a saved result.",
        examples=[["external"]],
    )
    fault: Literal["drop_response", "disconnect"] | Delay | None = Field(
        default=None,
        description="A simulated fault of the first answer: it is dropped (`drop_response`), the connection is "
        "cut when it arrives (`disconnect`), or it is delayed (`{ delay_ms: 250 }`). The server runs "
        "unchanged.",
        examples=["drop_response", {"delay_ms": 250}],
        json_schema_extra=hints(
            "chaos delay fault_injection faults inject latency", told={"drop": "did you mean `fault: drop_response`?"}
        ),
    )
    verify: Annotated[Many[VerifyStep], Field(min_length=1)] | None = Field(
        default=None,
        description="Further calls after this one, in order, each with its own `expect`. They check the effect "
        "of this call.",
        examples=[
            [
                {
                    "tool": "balance",
                    "args": {"account": "ada"},
                    "expect": [{"target": "result.structuredContent.amount", "matcher": {"exact": 90}}],
                }
            ]
        ],
        json_schema_extra=hints(
            "after afterwards and_then check followed_by post then verification verify_after", items="steps"
        ),
    )


class DefaultTest(Shared):
    """What every test has too: its assertions come after the test's own, the rest holds where a test says nothing."""

    about = About(
        expected="a mapping with keys such as `expect` and `threshold`",
        heading="`defaultTest`",
        text="Defaults for every test. A test's own keys override them; assertions are added to its own.",
    )


class Case(Part):
    """One row of data of a test."""

    about = About(
        heading="A case",
        text="A row of `cases:`, as [Tests with many cases](../how-to/cases.md) explains.",
        link="case",
    )

    name: Text = Field(
        description="The name of the case, in reports and for `--case`.",
        json_schema_extra=hints("id", missing="give the case a name"),
    )
    vars: dict[str, Any] = Field(
        default={},
        description="The values of `${var.X}` in this case.",
        examples=[{"query": "mcp", "limit": 1}],
        json_schema_extra=hints("variables args inputs"),
    )
    expect: Many[ExpectItem] | Expect | None = Field(
        default=None,
        description="The expectations of this case, in place of those of the test.",
        json_schema_extra=hints("expected assertions assert"),
    )
    skip: bool | Reason | None = Field(default=None, description="Skip this case. A text is the reason.")
    only: bool | None = Field(default=None, description="Run only the tests with `only: true`. Refused in CI.")
    tags: Many[Text] = Field(default=(), description="Labels of this case, in addition to those of the test.")


class ToolTest(Shared, Test):
    """One call of a tool."""

    about = About(
        instead={"text": "write `name: VALUE`, and the request below it"},
        expected="a test, which is a mapping",
        place="belongs in a test",
        later="fuzz metamorphic pipe runs",
        heading="A test of a tool",
        text="An entry of `tools:`. A method such as `tools/list` may stand in place of a tool's name.",
        link="tool test",
    )

    tool: Text = Field(
        description="The tool to call, or a request with `args` as its parameters: `tools/list`, "
        "`resources/list`, `resources/templates/list`, `prompts/list`, `ping`, `logging/setLevel`, `resources/subscribe`, "
        "`resources/unsubscribe`, `completion/complete` or `server/discover`.",
        json_schema_extra=hints("method call function tool_name", missing="name the tool to call"),
    )
    args: dict[str, Any] = Field(
        default={},
        description="The arguments of the tool.",
        examples=[{"text": "hello"}],
        json_schema_extra=ARGS_HINTS,
    )


class ResourceTest(Shared, Test):
    """One reading of a resource."""

    about = About(
        instead={"text": "write `name: VALUE`, and the request below it"},
        expected="a test, which is a mapping",
        place="belongs in a test",
        later="fuzz metamorphic runs",
        heading="A test of a resource",
        text="An entry of `resources:`; sends `resources/read`.",
        link="resource test",
    )

    uri: Text = Field(
        description="The resource to read.",
        examples=["file:///readme.md"],
        json_schema_extra=hints("resource url", missing="name the resource to read"),
    )


class PromptTest(Shared, Test):
    """One prompt, rendered."""

    about = About(
        instead={"text": "write `name: VALUE`, and the request below it"},
        expected="a test, which is a mapping",
        place="belongs in a test",
        later="fuzz metamorphic runs",
        heading="A test of a prompt",
        text="An entry of `prompts:`; sends `prompts/get`.",
        link="prompt test",
    )

    prompt: Text = Field(description="The prompt to get.", json_schema_extra=hints(missing="name the prompt to get"))
    args: dict[str, str] = Field(
        default={},
        description="The arguments of the prompt, which are texts.",
        json_schema_extra=ARGS_HINTS,
    )
