"""Which arguments a stateless server finds in headers, by `x-mcp-header` in its tools' schemas."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest_engine.servers.param_headers import ParamHeaders, annotated_headers, header_text, schema_fault

GOOD = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
        "plain": {"type": "string"},
    },
}


def test_annotated_arguments_are_sent_in_headers() -> None:
    """MCP 2026-07-28, custom headers: absent arguments have none."""
    headers = ParamHeaders()
    headers.learn({"tools": [{"name": "t", "inputSchema": GOOD}, "no tool", {"name": 5}]})
    params = {"name": "t", "arguments": {"region": "eu", "deep": {"n": 7}, "plain": "x"}}
    assert headers.of_call("tools/call", params) == {"Mcp-Param-Region": "eu", "Mcp-Param-N": "7"}
    assert headers.of_call("tools/call", {"name": "t", "arguments": {"region": None}}) == {}
    assert headers.of_call("tools/call", {"name": "other"}) is None
    assert headers.of_call("prompts/get", params) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("eu-west", "eu-west"),
        (True, "true"),
        (12, "12"),
        (" edge", "=?base64?IGVkZ2U=?="),
        ("Grüße", "=?base64?R3LDvMOfZQ==?="),
        ("a\nb", "=?base64?YQpi?="),
        ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
    ],
)
def test_a_value_fits_into_a_header(value: Any, text: str) -> None:
    assert header_text(value) == text


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": "A B"}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": 5}}},
        {"properties": {"a": {"x-mcp-header": "A"}}},
        {"x-mcp-header": "A"},
        {"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]},
        {"properties": {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}},
        {
            "properties": {
                "a": {"type": "string", "x-mcp-header": "A"},
                "b": {"type": "string", "x-mcp-header": "a"},
            }
        },
    ],
)
def test_a_schema_with_a_faulty_annotation_gives_no_headers(schema: Any) -> None:
    assert schema_fault(schema) is not None
    assert annotated_headers(schema) == {}


def test_data_inside_a_schema_is_no_annotation() -> None:
    schema = {"properties": {"a": {"type": "object", "default": {"x-mcp-header": "A"}}}}
    assert schema_fault(schema) is None


@pytest.mark.parametrize("schema", [None, 7, [], {"properties": []}])
def test_what_is_no_schema_has_no_annotations(schema: Any) -> None:
    assert annotated_headers(schema) == {}
