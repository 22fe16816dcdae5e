"""The JSON of a run record's values is the same whether an encoder is compiled or not."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.json_object import Encoders, JsonObject, compiled_encoder
from tests.reporting.conftest import make_rich_record, make_test

if TYPE_CHECKING:
    from collections.abc import Iterator


def values_in(value: Any) -> Iterator[JsonObject]:
    if isinstance(value, tuple):
        for one in value:
            yield from values_in(one)
    elif hasattr(value, "__dataclass_fields__"):
        if isinstance(value, JsonObject):
            yield value
        for field in fields(value):
            yield from values_in(getattr(value, field.name))


def test_values_are_encoded_alike_before_and_after_compiling():
    values = list(values_in(make_rich_record()))
    assert {type(value).__name__ for value in values} >= {"TestResult", "AssertionResult", "Failure", "ServerRecord"}
    encoders = Encoders()
    for value in values:
        first, compiled = encoders[type(value)](value), compiled_encoder(type(value))(value)
        assert json.dumps(first) == json.dumps(compiled)


def test_many_values_are_encoded_as_the_first():
    encoders, value = Encoders(), make_test("a")
    first = encoders[type(value)]
    texts = {json.dumps(encoders[type(value)](value)) for _ in range(200)}
    assert len(texts) == 1
    assert encoders[type(value)] is not first
