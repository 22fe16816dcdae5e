"""JSON Schemas that are cut off from the world."""

from __future__ import annotations

import socket
import tracemalloc

import pytest

from mcptest_engine.core.schema_keywords import ineffective_parts
from mcptest_engine.core.schemas import SchemaError, compile_schema, nested_deeper_than


def test_a_remote_reference_is_refused_and_never_fetched():
    """No remote `$ref` is ever fetched."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        port = listening.getsockname()[1]
        with pytest.raises(SchemaError, match="nothing outside of the schema is fetched"):
            compile_schema({"$ref": f"http://127.0.0.1:{port}/schema.json"})
        with pytest.raises(TimeoutError):
            listening.accept()


def test_a_file_reference_is_refused(tmp_path):
    """No schema ever fetches a `file:` reference."""
    place = tmp_path / "schema.json"
    place.write_text("true")
    with pytest.raises(SchemaError, match="nothing outside of the schema"):
        compile_schema({"$ref": place.as_uri()})


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [({"type": "foo"}, "/type"), ({"properties": {"a": {"pattern": "("}}}, "/properties/a/pattern"), (5, "")],
)
def test_what_is_no_schema_is_told_with_its_place(schema, pointer):
    with pytest.raises(SchemaError) as refused:
        compile_schema(schema)
    assert refused.value.pointer == pointer


def test_a_reference_inside_the_schema_works():
    validator = compile_schema({"$defs": {"id": {"type": "integer"}}, "items": {"$ref": "#/$defs/id"}})
    assert validator.is_valid([1, 2])
    assert not validator.is_valid(["x"])


def test_the_draft_is_2020_12_unless_the_schema_says_otherwise():
    """`prefixItems` is new in 2020-12, `items` as a list was dropped there."""
    assert not compile_schema({"prefixItems": [{"type": "integer"}]}).is_valid(["x"])
    draft7 = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "integer"}]}
    assert not compile_schema(draft7).is_valid(["x"])
    assert compile_schema({**draft7, "items": [{"type": "string"}]}).is_valid(["x"])


def test_equal_schemas_are_compiled_once():
    assert compile_schema({"type": "string"}) is compile_schema({"type": "string"})


def test_depth_is_measured_without_recursion():
    value: object = []
    for _ in range(100_000):
        value = [value]
    assert nested_deeper_than(value, 500)
    assert not nested_deeper_than([[1], {"a": []}], 3)
    assert nested_deeper_than([[1], {"a": []}], 2)
    with pytest.raises(SchemaError, match="nested too deeply"):
        compile_schema({"const": value})


def test_references_keep_what_they_lead_to_and_take_memory_as_they_are_long() -> None:
    """Also one of thousands of parts, which leads nowhere and stands in a default."""
    schema = {
        "default": {"$ref": "#" + "/a" * 30_000},
        "$ref": "#/components/b",
        "components": {"b": {"type": "string"}},
        "componentz": {},
        "comp": {},
    }
    tracemalloc.start()
    found = [part.path for part in ineffective_parts(schema)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == [("componentz",), ("comp",)]
    assert peak < 4_000_000
