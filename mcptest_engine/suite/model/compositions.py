"""Compositions: calls of tools that feed each other, as a graph without cycles. See docs/how-to/compositions.md."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from mcptest_engine.suite.model.agents import AgentEval  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.model.base import NOT_EMPTY, About, Many, Milliseconds, Part, Text, hints
from mcptest_engine.suite.model.entries import (
    ARGS_HINTS,
    EXPECT_HINTS,
    AnyTest,
    Case,
    Expect,
    ExpectItem,
    Transform,
)

Dollars = Annotated[float, Field(ge=0)]
Tokens = Annotated[int, Field(ge=0)]


class Need(Part):
    """A parent, where more is to be said of it than its id."""

    about = About(
        expected="a mapping with `id`", heading="A parent of a node", text="In place of the id of the parent."
    )

    id: Text = Field(description="The id of the parent.", json_schema_extra=hints("node name"))
    optional: bool | None = Field(
        default=None,
        description="The node runs even if this parent failed or was skipped. `default` then takes the place of "
        "its output.",
        json_schema_extra=hints("required"),
    )
    default: Any = Field(
        default=None,
        description="The output of an optional parent that failed or was skipped. Default: null.",
        json_schema_extra=hints("fallback otherwise"),
    )


class Mock(Part):
    """An answer that is given in the server's place."""

    about = About(expected="a mapping with `result`", heading="A node's `mock`")

    result: Any = Field(
        description="The result of the node, in place of the server's.",
        json_schema_extra=hints(
            "output value response returns",
            missing="write the answer in place of the server's, such as `mock: { result: { count: 1 } }`",
        ),
    )


class Loop(Part):
    """The node is called again and again until its output is as wanted."""

    about = About(
        expected="a mapping with `until` and `max`",
        place="belongs under `loop`, in a node",
        is_rare=True,
        heading="A node's `loop`",
    )

    until: Text = Field(
        description="A jq condition on `{output, iteration, parents}`. The loop ends when it is true.",
        examples=['.output.structuredContent.state == "done"'],
        json_schema_extra=hints(
            "while condition", missing="write when the loop ends: a jq condition on `{output, iteration, parents}`"
        ),
    )
    max: Annotated[int, Field(ge=1, le=10_000)] = Field(
        description="The highest number of calls. If the condition does not hold after the last one, the node fails.",
        examples=[10],
        json_schema_extra=hints(
            "max_iterations limit times", missing="write the highest number of calls, such as `max: 10`"
        ),
    )
    delay_ms: Annotated[int, Field(ge=0, le=2_147_483_647)] | None = Field(
        default=None,
        description="The pause between two calls, in milliseconds. Default: 0.",
        json_schema_extra=hints("delay"),
    )
    max_cost_usd: Dollars | None = Field(
        default=None,
        description="The cost limit of all calls of the loop, in US dollars. If it is exceeded, the node fails.",
        json_schema_extra=hints("max_cost"),
    )
    max_tokens: Tokens | None = Field(
        default=None,
        description="The token limit of all calls of the loop. If it is exceeded, the node fails.",
        json_schema_extra=hints("tokens"),
    )


class Node(Part):
    """One call of a tool, made when its parents are done."""

    about = About(
        expected="a node, which is a mapping with `id` and `tool`",
        place="belongs in a node, under a composition's `nodes`",
        is_rare=True,
        heading="A node",
        text="One call of a composition. [What its parts do](../how-to/compositions.md#nodes).",
        link="node",
    )

    id: Text = Field(
        description="The name for other nodes and assertions. `var`, `item` and `env` are reserved.",
        json_schema_extra=hints("name node key", missing="give the node an id, such as `id: search`"),
    )
    description: str | None = Field(default=None, description="A description for people.")
    needs: Many[Text | Need] = Field(
        default=(),
        description="The parents: nodes that run before this one, and whose outputs it can use.",
        examples=[["search"]],
        json_schema_extra=hints("depends_on dependsOn dependencies after parents requires", items="node ids"),
    )
    server: Text | None = Field(default=None, description="A server of this suite. Not needed if there is only one.")
    tool: Text = Field(
        description="The tool to call.", json_schema_extra=hints("call uses", missing="name the tool to call")
    )
    args: dict[str, Any] = Field(
        default={},
        description="The arguments. `${id.field}` is a part of a parent's output, `${var.X}` a variable of a "
        "case, `${item}` the element of a fan-out.",
        examples=[{"package": "${search.structuredContent.name}"}],
        json_schema_extra=ARGS_HINTS,
    )
    transform: Transform | None = Field(
        default=None,
        description='A jq program that makes the output of the node from `{"result": …}`.',
        json_schema_extra=hints("jq"),
    )
    when: Text | None = Field(
        default=None,
        description="A jq condition on `{parents: {id: output}}`. If it is false or null, the node is skipped.",
        examples=[".parents.search.structuredContent.count > 0"],
        json_schema_extra=hints("if condition"),
    )
    for_each: Text | Annotated[dict[str, Text], Field(min_length=1)] | None = Field(
        default=None,
        description="A parent's output that is an array. The node makes one call for each element, which is "
        "`${item}`. A mapping of names to several arrays makes one call for each combination; the elements "
        "are `${item.NAME}`.",
        examples=["${search}", "${search.structuredContent.hits[*]}", {"city": "${cities}", "unit": "${units}"}],
        json_schema_extra=hints("foreach forEach map each"),
    )
    max_concurrency: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None,
        description="How many elements of `for_each` at once. Default: 1.",
        json_schema_extra=hints("concurrency maxConcurrency"),
    )
    loop: Loop | None = Field(
        default=None,
        description="Repeat the call until a condition holds.",
        examples=[{"until": ".output.structuredContent.done", "max": 5}],
        json_schema_extra=hints("repeat until"),
    )
    mock: Mock | None = Field(
        default=None,
        description="A fixed answer. Nothing is called.",
        examples=[{"result": {"count": 1}}],
        json_schema_extra=hints("fixture stub"),
    )
    freeze: Literal["golden", "record"] | None = Field(
        default=None,
        description="`record` calls the tool and saves its result. `golden` uses the saved result and calls nothing.",
    )
    timeout_ms: Milliseconds | None = Field(
        default=None, description="The time limit of one call, in milliseconds.", json_schema_extra=hints("timeout")
    )
    retries: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="How many times a failed call is retried.", json_schema_extra=hints("retry")
    )
    max_cost_per_call_usd: Dollars | None = Field(
        default=None, description="The cost limit of one call, in US dollars. If it is exceeded, the node fails."
    )
    max_tokens_per_call: Tokens | None = Field(
        default=None, description="The token limit of one call. If it is exceeded, the node fails."
    )


class Assembly(Part):
    """Several outputs made one."""

    about = About(
        expected="a mapping with `assemble`",
        heading="A composition's `output`",
        text="Either a node's id, or this mapping.",
    )

    assemble: Text = Field(
        description="A jq program over `{nodes: {id: output}}`.",
        examples=["{ stars: .nodes.stars.structuredContent.count }"],
        json_schema_extra=hints("jq program", missing="write a jq program over `{nodes: {id: output}}`"),
    )


class CompositionCase(Case):
    """One row of a composition's data."""

    about = About(
        expected="a case, which is a mapping with `name` and `vars`",
        place="belongs in a case, under a composition's `cases`",
        is_rare=True,
        heading="A case of a composition",
        text="A row of its `cases:`.",
        link="case",
    )

    golden: Any = Field(
        default=None,
        description="The expected combined output, compared exactly.",
        json_schema_extra=hints("expected output"),
    )


class CompositionBudget(Part):
    """What a composition may come to, all its cases together or each of them; crossing a cap ends it."""

    about = About(
        expected="a mapping with caps such as `max_cost_usd`",
        place="belongs under `budget`, in a composition",
        is_rare=True,
        heading="A composition's `budget`",
        text="One limit is enough. The limits hold for all cases together or, with `scope: case`, for each case.",
    )

    model_config = NOT_EMPTY

    max_cost_usd: Dollars | None = Field(
        default=None, description="The cost limit, in US dollars.", json_schema_extra=hints("cost max_cost usd")
    )
    max_tokens: Tokens | None = Field(default=None, description="The token limit.", json_schema_extra=hints("tokens"))
    max_duration_ms: Milliseconds | None = Field(
        default=None,
        description="The time limit, in milliseconds.",
        json_schema_extra=hints("timeout_ms duration_ms max_time_ms"),
    )
    scope: Literal["all", "case"] | None = Field(
        default=None,
        description="`all` (default): the limits hold for all cases together. The cases then run one after "
        "another, and the case that exceeds a limit fails. `case`: the limits hold for each case.",
    )


class Composition(AnyTest):
    """A fixed workflow of several calls, checked as a whole."""

    about = About(
        expected="a composition, which is a mapping with `name` and `nodes`",
        place="belongs in a composition, under `compositions`",
        is_rare=True,
        heading="A composition",
        text="An entry of `compositions:`: [calls that feed each other](../how-to/compositions.md).",
        link="composition",
    )

    name: Text = Field(
        description="The name of the composition, in reports and for `--filter`. It should say what its calls do together.",
        json_schema_extra=hints(
            missing="write a name that says what the calls do together, such as `name: a placed order is listed`"
        ),
    )
    nodes: Annotated[Many[Node], Field(min_length=1)] = Field(
        description="The calls. `needs` decides their order, not this list.",
        json_schema_extra=hints(
            "pipeline steps graph dag tools calls",
            missing="write a list of nodes below `nodes:`, each with `id` and `tool`",
            items="nodes",
        ),
    )
    output: Text | Assembly | None = Field(
        default=None,
        description="The combined output: the id of a node, or `{ assemble: PROGRAM }`. Default: the output of "
        "the last node in topological order.",
        examples=["readme", {"assemble": "{ stars: .nodes.stars.structuredContent.count }"}],
        json_schema_extra=hints("result outputs return"),
    )
    expect: Many[ExpectItem] | Expect | None = Field(
        default=None,
        description="The expectations on the combined output and the trace: a list of assertions, or a mapping "
        "with budgets.",
        examples=[[{"target": "nodes.readme.status", "matcher": {"exact": "ok"}}]],
        json_schema_extra=EXPECT_HINTS,
    )
    cases: Annotated[Many[CompositionCase], Field(min_length=1)] | Text | None = Field(
        default=None,
        description="Rows of data. The composition runs once for each. A text is the path of a CSV, TSV, JSON, JSONL or "
        "YAML file, relative to this file.",
        json_schema_extra=hints("rows dataset data examples matrix parametrize each parameters"),
    )
    budget: CompositionBudget | None = Field(
        default=None,
        description="Limits on cost, tokens and time.",
        examples=[{"max_cost_usd": 0.5}, {"scope": "case", "max_tokens": 2000}],
        json_schema_extra=hints("limits"),
    )
    eval: AgentEval | None = Field(
        default=None,
        description="The metrics that a model grades.",
        examples=[{"mcp_use": {"threshold": 0.7}}],
        json_schema_extra=hints("evals"),
    )
    concurrency: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None,
        description="How many calls at once, including fan-outs. 1 makes them one after another. Default: no limit.",
        json_schema_extra=hints("max_concurrency workers parallel"),
    )
    timeout_ms: Milliseconds | None = Field(
        default=None, description="The time limit of each call, in milliseconds. A node's own limit overrides it."
    )
