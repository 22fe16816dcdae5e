"""Compositions: calls of tools that feed each other, as a graph without cycles. Source: compositions."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from mcptest_engine.suite.model.agents import AgentEval  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.model.base import Fresh, Group, Many, Milliseconds, Part, Text
from mcptest_engine.suite.model.entries import (
    Case,
    Expect,
    ExpectItem,
    Reason,
    Transform,
)

Dollars = Annotated[float, Field(ge=0)]
Tokens = Annotated[int, Field(ge=0)]


class Need(Part):
    """A parent, where more is to be said of it than its id."""

    may_be_null: ClassVar[frozenset[str]] = frozenset({"default"})

    id: Text = Field(description="The id of the parent.")
    optional: bool | None = Field(
        default=None,
        description="The node runs even if this parent failed or was skipped. `default` then takes the place of "
        "its output.",
    )
    default: Any = Field(
        default=None, description="The output of an optional parent that failed or was skipped. Default: null."
    )


class Mock(Part):
    """An answer that is given in the server's place."""

    may_be_null: ClassVar[frozenset[str]] = frozenset({"result"})

    result: Any = Field(description="The result of the node, in place of the server's.")


class Loop(Part):
    """The node is called again and again until its output is as wanted."""

    until: Text = Field(
        description="A jq condition on `{output, iteration, parents}`. The loop ends when it is true.",
        examples=['.output.structuredContent.state == "done"'],
    )
    max: Annotated[int, Field(ge=1, le=10_000)] = Field(
        description="The highest number of calls. If the condition does not hold after the last one, the node fails.",
        examples=[10],
    )
    delay_ms: Annotated[int, Field(ge=0, le=2_147_483_647)] | None = Field(
        default=None, description="The pause between two calls, in milliseconds. Default: 0."
    )
    max_cost_usd: Dollars | None = Field(
        default=None,
        description="The cost limit of all calls of the loop, in US dollars. If it is exceeded, the node fails.",
    )
    max_tokens: Tokens | None = Field(
        default=None, description="The token limit of all calls of the loop. If it is exceeded, the node fails."
    )


class Node(Part):
    """One call of a tool, made when its parents are done."""

    id: Text = Field(description="The name for other nodes and assertions. `var`, `item` and `env` are reserved.")
    description: str | None = Field(default=None, description="A description for people.")
    needs: Many[Text | Need] = Field(
        default=(),
        description="The parents: nodes that run before this one, and whose outputs it can use.",
        examples=[["search"]],
    )
    server: Text | None = Field(default=None, description="A server of this suite. Not needed if there is only one.")
    tool: Text = Field(description="The tool to call.")
    args: dict[str, Any] = Field(
        default={},
        description="The arguments. `${id.field}` is a part of a parent's output, `${var.X}` a variable of a "
        "case, `${item}` the element of a fan-out.",
        examples=[{"package": "${search.structuredContent.name}"}],
    )
    transform: Transform | None = Field(
        default=None, description='A jq program that makes the output of the node from `{"result": …}`.'
    )
    when: Text | None = Field(
        default=None,
        description="A jq condition on `{parents: {id: output}}`. If it is false or null, the node is skipped.",
        examples=[".parents.search.structuredContent.count > 0"],
    )
    for_each: Text | Annotated[dict[str, Text], Field(min_length=1)] | None = Field(
        default=None,
        description="A parent's output that is an array. The node makes one call for each element, which is "
        "`${item}`. A mapping of names to several arrays makes one call for each combination; the elements "
        "are `${item.NAME}`.",
        examples=["${search}", "${search.structuredContent.hits[*]}", {"city": "${cities}", "unit": "${units}"}],
    )
    max_concurrency: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="How many elements of `for_each` at once. Default: 1."
    )
    loop: Loop | None = Field(
        default=None,
        description="Repeat the call until a condition holds.",
        examples=[{"until": ".output.structuredContent.done", "max": 5}],
    )
    mock: Mock | None = Field(
        default=None,
        description="A fixed answer. Nothing is called.",
        examples=[{"result": {"count": 1}}],
    )
    freeze: Literal["golden", "record"] | None = Field(
        default=None,
        description="`record` calls the tool and saves its result. `golden` uses the saved result and calls nothing.",
    )
    timeout_ms: Milliseconds | None = Field(default=None, description="The time limit of one call, in milliseconds.")
    retries: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="How many times a failed call is retried."
    )
    max_cost_per_call_usd: Dollars | None = Field(
        default=None, description="The cost limit of one call, in US dollars. If it is exceeded, the node fails."
    )
    max_tokens_per_call: Tokens | None = Field(
        default=None, description="The token limit of one call. If it is exceeded, the node fails."
    )


class Assembly(Part):
    """Several outputs made one."""

    assemble: Text = Field(
        description="A jq program over `{nodes: {id: output}}`.",
        examples=["{ stars: .nodes.stars.structuredContent.count }"],
    )


class CompositionCase(Case):
    """One row of a composition's data."""

    may_be_null: ClassVar[frozenset[str]] = frozenset({"golden"})

    golden: Any = Field(default=None, description="The expected combined output, compared exactly.")


class CompositionBudget(Part):
    """What a composition may come to, all its cases together or each of them; crossing a cap ends it."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    max_cost_usd: Dollars | None = Field(default=None, description="The cost limit, in US dollars.")
    max_tokens: Tokens | None = Field(default=None, description="The token limit.")
    max_duration_ms: Milliseconds | None = Field(default=None, description="The time limit, in milliseconds.")
    scope: Literal["all", "case"] | None = Field(
        default=None,
        description="`all` (default): the limits hold for all cases together. The cases then run one after "
        "another, and the case that exceeds a limit fails. `case`: the limits hold for each case.",
    )

    @model_validator(mode="after")
    def _says_something(self) -> CompositionBudget:
        if not self.model_fields_set:
            raise PydanticCustomError("says_nothing", "at least one limit")
        return self


class Composition(Part):
    """A fixed workflow of several calls, checked as a whole."""

    name: Text = Field(
        description="The name of the test, in reports and for `--filter`. It should say what holds if the test passes."
    )
    description: str | None = Field(default=None, description="One line for `mcptest list`.")
    nodes: Annotated[Many[Node], Field(min_length=1)] = Field(
        description="The calls. `needs` decides their order, not this list."
    )
    output: Text | Assembly | None = Field(
        default=None,
        description="The combined output: the id of a node, or `{ assemble: PROGRAM }`. Default: the output of "
        "the last node in topological order.",
        examples=["readme", {"assemble": "{ stars: .nodes.stars.structuredContent.count }"}],
    )
    expect: Many[ExpectItem] | Expect | None = Field(
        default=None,
        description="The expectations on the combined output and the trace: a list of assertions, or a mapping "
        "with budgets.",
        examples=[[{"target": "nodes.readme.status", "matcher": {"exact": "ok"}}]],
    )
    cases: Annotated[Many[CompositionCase], Field(min_length=1)] | Text | None = Field(
        default=None,
        description="Rows of data. The composition runs once for each. A text is the path of a CSV, TSV, JSON, JSONL or "
        "YAML file, relative to this file.",
    )
    budget: CompositionBudget | None = Field(
        default=None,
        description="Limits on cost, tokens and time.",
        examples=[{"max_cost_usd": 0.5}, {"scope": "case", "max_tokens": 2000}],
    )
    eval: AgentEval | None = Field(
        default=None,
        description="The metrics that a model grades.",
        examples=[{"mcp_use": {"threshold": 0.7}}],
    )
    concurrency: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None,
        description="How many calls at once, including fan-outs. 1 makes them one after another. Default: no limit.",
    )
    skip: bool | Reason | None = Field(
        default=None, description="Skip this composition. A text is the reason.", examples=["needs the staging server"]
    )
    only: bool | None = Field(default=None, description="Run only the tests with `only: true`. Refused in CI.")
    tags: Many[Text] = Field(default=(), description="Labels for `--tag`.", examples=[["smoke"]])
    group: Group | None = None
    fresh: Fresh | None = None
    serial: bool | None = Field(
        default=None, description="Run alone: earlier tests finish first, and later tests wait."
    )
    retries: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="How many times a failed composition is retried."
    )
    timeout_ms: Milliseconds | None = Field(
        default=None, description="The time limit of each call, in milliseconds. A node's own limit overrides it."
    )
