"""The log of messages, and server-sent events out of chunks."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.redaction import Redactor
from mcptest_engine.servers.sse import EventSplitter
from mcptest_engine.servers.stdio import OutputTail
from mcptest_engine.servers.traffic import Traffic

STREAM = (
    b': c\r\n\r\nevent: e\r\nid: 1\r\ndata: a\r\ndata:  b\r\n\r\nretry: 50\n\ndata\n\ndata: {"x":1}\r\revent: none\n\n'
)


@given(st.lists(st.integers(0, len(STREAM))))
def test_events_are_the_same_however_the_bytes_arrive(cuts: list[int]) -> None:
    """WHATWG HTML, 9.2.6: CR, LF and CRLF end a line, `data` lines are joined, comments are skipped."""
    places = [0, *sorted(cuts), len(STREAM)]
    splitter, events = EventSplitter(), []
    for start, end in pairwise(places):
        events += splitter.feed(STREAM[start:end])
    assert [(event.data, event.event, event.id, event.retry_ms) for event in events] == [
        (b"a\n b", "e", "1", None),
        (b"", "message", None, 50),
        (b"", "message", None, None),
        (b'{"x":1}', "message", None, None),
    ]


def test_the_log_lets_the_oldest_go_to_stay_within_its_size() -> None:
    """Every message is kept, but memory is bounded."""
    traffic = Traffic(kept_bytes=1100)  # each row takes 200 beside its line
    for number in range(10):
        traffic.add(float(number), False, b'{"n":%d}' % number + b" " * 13)
    assert [entry.message["n"] for entry in traffic.entries()] == [5, 6, 7, 8, 9]
    assert traffic.dropped == 5


def test_a_large_message_is_kept_by_its_value_alone() -> None:
    """A 50 MB answer must not be in memory twice."""
    traffic, message = Traffic(), {"text": "x" * 100_000}
    traffic.add(0.0, False, b"x" * 100_011, message)
    (entry,) = traffic.entries()
    assert entry.message is message
    assert entry.size == 100_011


def test_noise_is_kept_as_text() -> None:
    """Text and invalid UTF-8 on stdout are recorded."""
    traffic = Traffic()
    traffic.add(0.0, False, b"caf\xff\n")
    (entry,) = traffic.entries()
    assert (entry.text, entry.message) == ("caf\ufffd", None)


def test_a_line_feed_alone_after_a_carriage_return_belongs_to_it_once() -> None:
    """WHATWG HTML, 9.2.6: CRLF is one end of a line, also in three chunks; the next LF is the blank line."""
    splitter = EventSplitter()
    events = [event.data for chunk in (b"data: x\r", b"\n", b"\n") for event in splitter.feed(chunk)]
    assert events == [b"x"]


def test_what_was_written_since_a_time_holds_no_half_of_a_secret_that_began_before() -> None:
    """Of its lines, or of the one that was under way; nothing of those before."""
    redactor = Redactor(["supersecretvalue-123456"])
    tail = OutputTail(16_384, redactor.redact_text)
    key = b"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n"
    for at, data in enumerate([b"old\n", b"start supersecret", b"value-123456 end\n", key, b"hkiG9w0BAQEFAASC\nnew"]):
        tail.add(float(at), data)
    assert tail.text(since=0.0) == "old\nstart [REDACTED] end\n[REDACTED]"
    assert tail.text(since=2.0) == "start [REDACTED] end\n[REDACTED]"
    assert "hkiG" not in tail.text(since=4.0)
    assert tail.text(since=9.0) == ""


def test_the_oldest_of_a_long_stderr_holds_no_half_of_a_secret() -> None:
    """Secrets are taken out before the rest is cut off."""
    secret = "Zq8v-secret-value-0123456"
    for offset in range(0, len(secret), 3):
        tail = OutputTail(16_384, lambda text: text.replace(secret, "[REDACTED]"))
        line = f"{'x' * 7}{secret}".encode() * 2
        for number in range(2000):
            tail.add(float(number), line[offset:] if number == 0 else line)
        text = tail.text(since=0.0)
        assert text
        assert set(text.replace("[REDACTED]", "")) <= set("x[REDACTED]")
