"""Laws of one session, without a process: whatever comes in, something orderly comes out."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.mock.faults import Fault, FaultCounter
from mcptest_engine.mock.manifest import Manifest, Outcome, Tool
from mcptest_engine.mock.messages import Answer, BadMessage, Cancel, Silence, read_message
from mcptest_engine.mock.presets import load_preset
from mcptest_engine.mock.server import Session
from mcptest_engine.mock.templates import compile_template

DEMO = load_preset("demo")
METHODS = [
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "resources/read",
    "prompts/get",
    "notifications/cancelled",
    "x",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from([tool.name for tool in DEMO.tools or ()]) | st.text(max_size=5)
PARAMS = JSON | st.fixed_dictionaries(
    {}, optional={"name": NAMES, "arguments": JSON, "cursor": JSON, "uri": JSON, "requestId": JSON}
)


def session(manifest: Manifest = DEMO) -> Session:
    return Session(manifest, FaultCounter(Fault()))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_json_rpc_error(body):
    """JSON-RPC 2.0, 5.1: what cannot be read is answered."""
    try:
        read_message(body)
    except BadMessage as bad:
        assert json.loads(bad.answer.body)["error"]["code"] in (-32700, -32600)


@given(st.sampled_from(METHODS), PARAMS, st.integers() | st.text(max_size=5))
def test_every_request_gets_one_answer_with_its_id(method, params, key):
    """JSON-RPC 2.0, 5: result or error, never both, and the id of the request."""
    message = read_message(json.dumps({"jsonrpc": "2.0", "id": key, "method": method, "params": params}).encode())
    effect = session().receive(message)
    assert isinstance(effect, Answer)
    answer = json.loads(effect.body)
    assert answer["id"] == key
    assert ("result" in answer) != ("error" in answer)
    assert b"\n" not in effect.body


@given(st.sampled_from(METHODS), PARAMS)
def test_no_notification_is_ever_answered(method, params):
    """JSON-RPC 2.0, 4.1."""
    message = read_message(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())
    assert isinstance(session().receive(message), Silence | Cancel)


@given(JSON)
def test_a_whole_template_gives_back_what_it_was_given(value):
    """Templates: the JSON type is kept, the value untouched."""
    wrong: list[str] = []
    template = compile_template({"x": "${args.x}"}, lambda _path, message: wrong.append(message))
    assert template({"x": value}) == {"x": value}
    assert wrong == []


@given(JSON)
def test_a_value_without_templates_stands_for_itself(value):
    """Templates: text without `${` is never touched."""
    if "${" not in json.dumps(value):
        assert compile_template(value, lambda *_: None)({}) == value


@pytest.mark.parametrize("depth", [50, 200, 500, 900, 960, 980, 990, 1000, 5000, 50_000])
def test_arguments_of_any_depth_are_answered(depth):
    """Nesting that can be read but not written again is an error, not the end of the server."""
    echo = compile_template({"x": ["${args.x}"]}, lambda *_: None)
    tool = Tool(name="t", descriptor={"name": "t"}, outcome=Outcome(results=(echo,)))
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"x":%s}}}'
    try:
        effect = session(Manifest(tools=(tool,))).receive(read_message(call % (b"[" * depth + b"]" * depth)))
    except BadMessage as bad:
        effect = bad.answer
    assert isinstance(effect, Answer)
    assert effect.body.startswith(b'{"jsonrpc":"2.0","id":')
