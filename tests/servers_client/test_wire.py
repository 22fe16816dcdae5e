"""JSON-RPC as bytes: what is sent, how lines are cut, what an incoming line is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.errors import UsageError
from mcptest_engine.servers import wire
from mcptest_engine.servers.wire import Kind, LineSplitter

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.integers(1, 10**9), st.text(min_size=1), st.dictionaries(st.text(), JSON, max_size=5))
def test_a_request_is_one_line_that_reads_back_as_it_was(call_id: int, method: str, params: dict[str, object]) -> None:
    """JSON-RPC 2.0, 4; MCP 2025-11-25, basic/transports#stdio: no newline inside a message."""
    line = wire.encode_request(call_id, method, params)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}


def test_a_lone_surrogate_is_sent_as_an_escape() -> None:
    """A string that UTF-8 cannot carry is still JSON."""
    assert b'"\\ud800"' in wire.encode_request(1, "tools/call", {"text": "\ud800"})


def test_a_nan_is_refused_before_it_is_sent() -> None:
    """NaN is no JSON (RFC 8259, 6)."""
    with pytest.raises(UsageError, match="cannot be sent as JSON"):
        wire.encode_request(1, "tools/call", {"x": float("nan")})


def test_params_that_are_none_are_left_out() -> None:
    """Absent is not null."""
    assert json.loads(wire.encode_request(1, "ping", None)) == {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@given(st.lists(st.binary().filter(lambda line: b"\n" not in line and line.strip()), max_size=6), st.data())
def test_lines_are_the_same_however_the_bytes_arrive(lines: list[bytes], data: st.DataObject) -> None:
    """Own the wire: chunks fall anywhere."""
    text = b"".join(line + b"\n" for line in lines)
    splitter, found = LineSplitter(1 << 20), []
    while text:
        size = data.draw(st.integers(1, len(text)))
        found += splitter.feed(text[:size])
        text = text[size:]
    assert found == lines
    assert splitter.rest() == b""


@pytest.mark.parametrize(
    "pieces", [[b"x" * 30, b"x\nok\n"], [b"x" * 8 + b"yyyyyyy", b"\nok\n"], [b"xx", b"y" * 9 + b"\nok\n"]]
)
def test_a_line_over_the_limit_is_dropped_and_counted(pieces: list[bytes]) -> None:
    """Memory is bounded whatever a server writes."""
    splitter = LineSplitter(10)
    found = [line for piece in pieces for line in splitter.feed(piece)]
    assert found == [b"ok"]
    assert splitter.overflowed == 1


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, Kind.ANSWER),
        ({"id": 1, "result": {}}, Kind.ANSWER),
        ({"jsonrpc": "2.0", "id": 1}, Kind.ANSWER),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping"}, Kind.REQUEST),
        ({"jsonrpc": "2.0", "method": "notifications/x"}, Kind.NOTIFICATION),
        ([], Kind.BATCH),
        ({"id": 1, "level": "info"}, Kind.NOISE),
        ({"method": "GET", "path": "/"}, Kind.NOISE),
        ({"jsonrpc": "2.0", "method": 7}, Kind.NOISE),
        ("text", Kind.NOISE),
        (None, Kind.NOISE),
    ],
)
def test_what_a_line_is_depends_on_its_members(message: object, kind: Kind) -> None:
    """JSON-RPC 2.0, 4 and 5; a JSON log line is noise."""
    assert wire.kind_of(message) is kind


@pytest.mark.parametrize(
    ("members", "fault"),
    [
        ({"result": {}}, None),
        ({"error": {"code": -1, "message": "m", "data": [], "vendor": 1}}, None),
        ({"result": []}, "its `result` is an array, not an object"),
        ({"result": None}, "its `result` is null, not an object"),
        ({"result": {}, "error": None}, "it has both `result` and `error`"),
        ({}, "it has neither `result` nor `error`"),
        ({"error": "no"}, "its `error` is a string, not an object"),
        ({"error": {"message": "m"}}, "its `error.code` is missing"),
        ({"error": {"code": "-1", "message": "m"}}, 'its `error.code` is "-1", a string, not an integer'),
        ({"error": {"code": 1.5, "message": "m"}}, "its `error.code` is 1.5, a number, not an integer"),
        ({"error": {"code": True, "message": "m"}}, "its `error.code` is true, a boolean, not an integer"),
        ({"error": {"code": 1}}, "its `error.message` is missing"),
        ({"jsonrpc": "1.0", "result": {}}, 'its `jsonrpc` is "1.0", not "2.0"'),
        ({"jsonrpc": 2.0, "result": {}}, 'its `jsonrpc` is 2.0, not "2.0"'),
    ],
)
def test_a_malformed_answer_is_named_for_what_is_wrong_with_it(members: dict[str, object], fault: str | None) -> None:
    """JSON-RPC 2.0, 5 and 5.1."""
    assert wire.answer_fault({"jsonrpc": "2.0", "id": 1} | members) == fault


def test_an_answer_without_a_version_is_malformed() -> None:
    """JSON-RPC 2.0, 5."""
    assert wire.answer_fault({"id": 1, "result": {}}) == "it has no `jsonrpc` member"


@pytest.mark.parametrize(
    ("line", "reason", "call_id"),
    [
        (b'{"jsonrpc":"2.0","id":12,"result":{"x":NaN}}', "NaN is not a JSON value", 12),
        (b'{"jsonrpc":"2.0","result":{,"id":12}', "it is not JSON", 12),
        (b'{"jsonrpc":"2.0","id":12,"result":{"x":"\xff"}}', "it is not UTF-8", 12),
        (b'{"jsonrpc":"2.0","id":3,"result":' + b"[" * 200_000, "it is nested too deeply", 3),
        (b'{"jsonrpc":"2.0","id":4,"result":{"x":1e999}}', "a number that is too large to read: 1e999", 4),
        (b'{"jsonrpc":"2.0","id":4,"result":{"x":-1e999}}', "too large to read: -1e999", 4),
        (b'{"jsonrpc":"2.0","id":5,"result":' + b"9" * 4301 + b"}", "an integer of more than 4,300 digits", 5),
        (b"Server listening on 8080", "it is not JSON", None),
        (b'{"id":12, broken log', "it is not JSON", None),
    ],
)
def test_an_unreadable_line_tells_why_and_whose_it_seems(line: bytes, reason: str, call_id: int | None) -> None:
    """A call must not wait for its timeout when its answer has come and is spoilt."""
    with pytest.raises(wire.Unreadable) as unreadable:
        wire.parse(line)
    assert reason in unreadable.value.reason
    assert unreadable.value.call_id == call_id


def test_large_integers_and_floats_are_kept() -> None:
    """What the server sent is kept as it was sent."""
    assert wire.parse(b'{"n":18446744073709551617}') == {"n": 2**64 + 1}
    assert wire.parse(b"[" + b"9" * 4300 + b"]") == [10**4300 - 1]
    assert wire.parse(b"[1.5e308, -0.0, 1e-999]") == [1.5e308, -0.0, 0.0]


@given(st.binary())
def test_any_bytes_give_a_value_or_a_reason(line: bytes) -> None:
    """Nothing that a server writes may crash us."""
    try:
        wire.kind_of(wire.parse(line))
    except wire.Unreadable as unreadable:
        assert unreadable.reason


SECRET = "Zq8v-secret-value-0123456"


def hidden(text: str) -> str:
    return text.replace(SECRET, "[REDACTED]")


@pytest.mark.parametrize("before", [270, 285, 299])
def test_a_clipped_line_holds_no_half_of_a_secret(before: int) -> None:
    """Secrets are taken out before anything is cut."""
    assert "Zq8v" not in wire.clip(b"x" * before + SECRET.encode() + b"y" * 50, redact=hidden)


def test_what_was_not_looked_at_is_not_shown() -> None:
    """Where masks draw the end near, the start of the next secret may stand there."""
    secret = "S3cr-et!" * 480
    line = f"x{secret}".encode() * 5
    assert "S3cr" not in wire.clip(line, redact=lambda text: text.replace(secret, "[REDACTED]"))


def test_the_fault_of_an_answer_holds_no_half_of_a_secret() -> None:
    fault = wire.answer_fault({"jsonrpc": "v" * 50 + SECRET, "result": {}}, hidden)
    assert fault is not None
    assert "Zq8v" not in fault
