"""Compositions: calls of tools that feed each other, as a graph without cycles. Source: compositions."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from mcptest_engine.suite.model.agents import AgentEval  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.model.base import Group, Many, Milliseconds, Part, Text
from mcptest_engine.suite.model.entries import (  # noqa: TC001  (pydantic reads the annotations)
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

    id: Text = Field(description="The parent's id.")
    optional: bool | None = Field(
        default=None,
        description="The node runs although this parent failed or was skipped; `default` stands in for it.",
    )
    default: Any = Field(
        default=None, description="What stands for the output of an optional parent that has none; null when left out."
    )


class Mock(Part):
    """An answer that is given in the server's place."""

    may_be_null: ClassVar[frozenset[str]] = frozenset({"result"})

    result: Any = Field(description="The node's result, as the server would have sent it.")


class Loop(Part):
    """The node is called again and again until its output is as wanted."""

    until: Text = Field(
        description="A jq predicate over `{output, iteration, parents}`; the loop ends when it is truthy.",
        examples=['.output.structuredContent.state == "done"'],
    )
    max: Annotated[int, Field(ge=1, le=10_000)] = Field(
        description="How many calls at most; the node fails when the last one is not as wanted.", examples=[10]
    )
    delay_ms: Annotated[int, Field(ge=0, le=2_147_483_647)] | None = Field(
        default=None, description="How long to wait between two calls, in milliseconds; 0 when left out."
    )
    max_cost_usd: Dollars | None = Field(
        default=None, description="What all calls of the loop may cost, in US dollars; more fails the node."
    )
    max_tokens: Tokens | None = Field(
        default=None, description="How many tokens all calls of the loop may take; more fails the node."
    )


class Node(Part):
    """One call of a tool, made when its parents are done."""

    id: Text = Field(description="What other nodes and assertions call it; `var`, `item` and `env` are taken.")
    description: str | None = Field(default=None, description="More about the node, for people.")
    needs: Many[Text | Need] = Field(
        default=(), description="The parents, whose outputs are there when the node runs.", examples=[["search"]]
    )
    server: Text | None = Field(
        default=None, description="A server of this suite; may be left out when there is only one."
    )
    tool: Text = Field(description="The tool that is called.")
    args: dict[str, Any] = Field(
        default={},
        description="The tool's arguments; `${id.field}` is a part of a parent's output, `${var.X}` a case's variable, "
        "`${item}` the element of a fan-out.",
        examples=[{"package": "${search.structuredContent.name}"}],
    )
    transform: Transform | None = Field(
        default=None, description='A jq program over `{"result": …}` whose output is the node\'s.'
    )
    when: Text | None = Field(
        default=None,
        description="A jq predicate over `{parents: {id: output}}`; the node is skipped when it gives false or null.",
        examples=[".parents.search.structuredContent.count > 0"],
    )
    for_each: Text | Annotated[dict[str, Text], Field(min_length=1)] | None = Field(
        default=None,
        description="A parent's output that is an array: the node is called once for each element, which is `${item}`. Or a "
        "mapping of names to several: once for each combination of their elements, which are `${item.NAME}`.",
        examples=["${search}", "${search.structuredContent.hits[*]}", {"city": "${cities}", "unit": "${units}"}],
    )
    max_concurrency: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="How many elements of `for_each` at once; one when left out."
    )
    loop: Loop | None = Field(
        default=None,
        description="Call again until a condition holds.",
        examples=[{"until": ".output.structuredContent.done", "max": 5}],
    )
    mock: Mock | None = Field(
        default=None,
        description="An answer in the server's place: nothing is called.",
        examples=[{"result": {"count": 1}}],
    )
    freeze: Literal["golden", "record"] | None = Field(
        default=None,
        description="`record` calls the tool and keeps its result; `golden` gives the result that was kept, and calls nothing.",
    )
    timeout_ms: Milliseconds | None = Field(default=None, description="How long one call may take, in milliseconds.")
    retries: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="How many times a failed call is tried again."
    )
    max_cost_per_call_usd: Dollars | None = Field(
        default=None, description="What one call may cost, in US dollars; more fails the node."
    )
    max_tokens_per_call: Tokens | None = Field(
        default=None, description="How many tokens one call may take; more fails the node."
    )


class Assembly(Part):
    """Several outputs made one."""

    assemble: Text = Field(
        description="A jq program over `{nodes: {id: output}}`.",
        examples=["{ stars: .nodes.stars.structuredContent.count }"],
    )


class CompositionCase(Part):
    """One row of a composition's data."""

    may_be_null: ClassVar[frozenset[str]] = frozenset({"golden"})

    name: Text = Field(description="What the row is called, in reports and for `--case`.")
    vars: dict[str, Any] = Field(
        default={}, description="What `${var.X}` stands for in this row.", examples=[{"query": "mcp", "limit": 1}]
    )
    golden: Any = Field(default=None, description="The combined output that is expected, exactly.")
    expect: Many[ExpectItem] | Expect | None = Field(
        default=None, description="What is expected of this row, in place of what the composition expects."
    )
    skip: bool | Reason | None = Field(default=None, description="Do not run this row; a text says why.")
    only: bool | None = Field(default=None, description="Run only tests so marked; refused in CI.")
    tags: Many[Text] = Field(default=(), description="Labels of this row, beside those of the composition.")


class CompositionBudget(Part):
    """What a composition may come to, all its cases together or each of them; crossing a cap ends it."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    max_cost_usd: Dollars | None = Field(default=None, description="What the calls may cost, in US dollars.")
    max_tokens: Tokens | None = Field(default=None, description="How many tokens the calls may take.")
    max_duration_ms: Milliseconds | None = Field(default=None, description="How long it may take, in milliseconds.")
    scope: Literal["all", "case"] | None = Field(
        default=None,
        description="`all` (when left out): the caps hold for all cases together, which then run one after another; the case "
        "that crosses one fails. `case`: for each case by itself.",
    )

    @model_validator(mode="after")
    def _says_something(self) -> CompositionBudget:
        if not self.model_fields_set:
            raise PydanticCustomError("says_nothing", "at least one cap")
        return self


class Composition(Part):
    """A fixed workflow of several calls, checked as a whole."""

    name: Text = Field(description="Says what holds when the test passes; reports and `--filter` use it.")
    description: str | None = Field(default=None, description="One line for `mcptest list`.")
    nodes: Annotated[Many[Node], Field(min_length=1)] = Field(
        description="The calls. Their order is that of their `needs`, not of this list."
    )
    output: Text | Assembly | None = Field(
        default=None,
        description="The combined output: a node's id, or `{ assemble: PROGRAM }`; the last node's in topological order when "
        "left out.",
        examples=["readme", {"assemble": "{ stars: .nodes.stars.structuredContent.count }"}],
    )
    expect: Many[ExpectItem] | Expect | None = Field(
        default=None,
        description="What is expected of the combined output and the trace: a list of assertions, or a mapping with budgets.",
        examples=[[{"target": "nodes.readme.status", "matcher": {"exact": "ok"}}]],
    )
    cases: Annotated[Many[CompositionCase], Field(min_length=1)] | None = Field(
        default=None, description="Rows of data: the composition is run once for each."
    )
    budget: CompositionBudget | None = Field(
        default=None,
        description="Caps on cost, tokens and time.",
        examples=[{"max_cost_usd": 0.5}, {"scope": "case", "max_tokens": 2000}],
    )
    eval: AgentEval | None = Field(
        default=None,
        description="What a model grades of the output and the trace.",
        examples=[{"mcp_use": {"threshold": 0.7}}],
    )
    concurrency: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None,
        description="How many calls at once, those of fan-outs included; no cap when left out, 1 runs in order.",
    )
    skip: bool | Reason | None = Field(
        default=None, description="Do not run this composition; a text says why.", examples=["needs the staging server"]
    )
    only: bool | None = Field(default=None, description="Run only tests so marked; refused in CI.")
    tags: Many[Text] = Field(default=(), description="Labels that `--tag` selects by.", examples=[["smoke"]])
    group: Group | None = None
    serial: bool | None = Field(
        default=None, description="Run alone, after the tests before it and before those after it."
    )
    retries: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="How many times a failed composition is run again."
    )
    timeout_ms: Milliseconds | None = Field(
        default=None, description="How long each call may take where its node says nothing, in milliseconds."
    )
