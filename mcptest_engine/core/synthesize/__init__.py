"""Arguments for tools and values for JSON Schemas, made without calling anything.

We generate ourselves, deterministically and in counted steps. hypothesis-jsonschema is the well-kept library for this, but
it draws at random, takes an import of 150 ms and whole seconds on schemas that servers send, gives free text no tool can
use, and cannot say which of its values are guesses; jsf, rstr and exrex draw at random too and leave most of the
combinators out. It stays what it is good at: the tests check us with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.synthesize.values import ArgumentCase, Synthesis

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.synthesize.cases import Cases

__all__ = ["ArgumentCase", "Synthesis", "arguments_for", "edge_case", "probe_cases", "synthesize", "violation_case"]


def synthesize(schema: object) -> Synthesis:
    """A value that is valid under the schema (2020-12 unless `$schema` says otherwise), or why none was found.

    Nothing is ever fetched; the same schema always gives the same value, within a bounded number of steps.
    """
    from mcptest_engine.core.synthesize.search import find_value

    return find_value(schema)


def arguments_for(tool: Mapping[str, object]) -> Synthesis:
    """Arguments for a tool as `tools/list` describes it: what is required, and no more unless the schema asks for more."""
    from mcptest_engine.core.synthesize.search import find_value

    return find_value(_input_schema(tool), {"type": "object"})


def edge_case(tool: Mapping[str, object]) -> ArgumentCase | None:
    """Arguments at one boundary of the input schema, valid and unlike `arguments_for`; None when it has no boundary."""
    from mcptest_engine.core.synthesize.cases import first_edge

    return first_edge(_cases(tool))


def violation_case(tool: Mapping[str, object]) -> ArgumentCase | None:
    """Arguments that break the input schema in one way; None when it accepts everything."""
    from mcptest_engine.core.synthesize.cases import first_violation

    return first_violation(_cases(tool))


def probe_cases(tool: Mapping[str, object]) -> tuple[ArgumentCase, ...]:
    """The further boundary and negative cases, at most 30, none of them `edge_case`, `violation_case` or another again."""
    from mcptest_engine.core.synthesize.cases import all_probes

    return all_probes(_cases(tool))


def _cases(tool: Mapping[str, object]) -> Cases:
    from mcptest_engine.core.synthesize.cases import Cases

    return Cases(_input_schema(tool), arguments_for(tool))


def _input_schema(tool: Mapping[str, object]) -> object:
    schema = tool.get("inputSchema")
    return {"type": "object"} if schema is None else schema
