"""The small things that several parts share."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest_engine.core.clipping import describe_error
from mcptest_engine.core.errors import ServerError
from mcptest_engine.core.text import counted, pointer

SECRET = "Zq8v-secret-value-0123456"


def hidden(text: str) -> str:
    return text.replace(SECRET, "[REDACTED]")


def test_one_thing_is_singular_and_none_is_plural() -> None:
    assert [counted(number, "test") for number in (0, 1, 2)] == ["0 tests", "1 test", "2 tests"]


def test_a_json_pointer_escapes_tilde_and_slash() -> None:
    """RFC 6901, 3."""
    assert pointer(()) == ""
    assert pointer(("a/b", 0, "c~d", "")) == "/a~1b/0/c~0d/"


def test_an_error_is_told_with_its_code_and_its_message_quoted() -> None:
    assert describe_error({"code": -32602, "message": "Unknown tool: x"}) == 'error -32602 "Unknown tool: x"'
    assert describe_error("not an object") == 'error "not an object"'


@pytest.mark.parametrize("before", range(150, 200, 7))
def test_clipping_an_error_leaves_no_half_of_a_secret(before: int) -> None:
    """Secrets are taken out before anything is cut."""
    told = describe_error({"code": -1, "message": "x" * before + SECRET + "y" * 500}, hidden)
    assert "Zq8v" not in told
    assert len(told) < 230


def test_a_long_error_full_of_secrets_shows_no_half_of_the_last_one_either() -> None:
    """Masks draw the end of what was looked at near to what is shown."""
    long_secret = "S3cr-et!" * 500
    told = describe_error(
        {"code": -1, "message": f"x{long_secret}" * 30}, lambda text: text.replace(long_secret, "[REDACTED]")
    )
    assert "S3cr" not in told


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"exit_code": 1}, "exited 1"),
        ({"signal": "SIGKILL"}, "killed, SIGKILL"),
        ({"timed_out": True}, "no answer in time"),
        ({"short": "no such command"}, "no such command"),
        ({"http": {"status": 401}}, "needs a login"),
        ({"http": {"status": 503}}, "HTTP 503"),
        ({}, "failed"),
    ],
)
def test_why_a_server_failed_is_known_in_two_words(known: dict[str, Any], words: str) -> None:
    """What a list of servers has room for, from what the error knows and not from its sentence."""
    assert ServerError("a sentence", server="x", **known).short == words
