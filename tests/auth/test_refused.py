"""How a 401 or 403 is told: what the server said, which input to mend, and the command that looks closer."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mcptest_engine.core.errors import AuthFailed
from mcptest_engine.servers import token_store
from mcptest_engine.servers.auth import challenge_parameter, check_secrets_may_go, refused
from mcptest_engine.servers.token_store import StoredToken
from tests.auth.conftest import spec_for

URL = "https://mcp.example.com"
DOCTOR = f"Diagnose with: mcptest doctor --url {URL}"
OAUTH = {"oauth": {"grant": "client_credentials", "client_id": "me", "client_secret_env": "CLIENT_SECRET"}}
NEEDS_WRITE = 'Bearer error="insufficient_scope", scope="read write"'


def lines(auth: dict[str, Any] | None, challenge: str | None, status: int = 401, url: str = URL) -> list[str]:
    return refused(spec_for(url, auth), status, challenge).message.split("\n")


def store(**more: Any) -> None:
    token_store.save(StoredToken(url=URL, access_token="access", last_refreshed=1.0, **more))


def test_a_bearer_token_that_is_not_set_is_told_in_the_documents_three_lines() -> None:
    assert lines({"bearer_token_env": "NOT_SET"}, 'Bearer realm="mcp"') == [
        'auth failed: HTTP 401 from https://mcp.example.com, server advertises Bearer (realm="mcp").',
        "env var `NOT_SET` (named by `bearer_token_env`) is not set or is empty in this process;",
        f"export a valid token into it. {DOCTOR} --bearer-token-env NOT_SET",
    ]


def test_a_bearer_token_that_is_not_accepted_is_named_by_its_variable() -> None:
    assert lines({"bearer_token_env": "MCP_TOKEN"}, None, 403) == [
        "auth failed: HTTP 403 from https://mcp.example.com, server advertises no scheme.",
        "the token in env var `MCP_TOKEN` (named by `bearer_token_env`) was not accepted;",
        f"export a valid token into it. {DOCTOR} --bearer-token-env MCP_TOKEN",
    ]


def test_client_credentials_that_are_not_accepted_are_named_by_their_keys() -> None:
    assert lines(OAUTH, "Bearer") == [
        "auth failed: HTTP 401 from https://mcp.example.com, server advertises Bearer.",
        "the token that client `me` was given (`auth.oauth`, client credentials) was not accepted;",
        "correct `client_id`, the secret in env var `CLIENT_SECRET` (named by `client_secret_env`), or the `scope`. "
        + DOCTOR,
    ]


def test_client_credentials_that_lack_a_scope_are_told_which() -> None:
    assert lines(OAUTH, NEEDS_WRITE, 403)[2] == (
        f'give the client the scope "read write" and name it with `scope`. {DOCTOR}'
    )


def test_a_stored_token_that_is_not_accepted_asks_for_another_login() -> None:
    store()
    assert lines(None, "Bearer")[1:] == [
        "the token stored by `mcptest login` was not accepted;",
        f"log in again with: mcptest login {URL}. {DOCTOR}",
    ]


def test_a_stored_token_that_is_over_is_said_to_be() -> None:
    store(expires_at_unix=time.time() - 1)
    assert lines(None, "Bearer")[1] == "the token stored by `mcptest login` has expired and cannot be refreshed;"


def test_a_stored_token_that_lacks_a_scope_asks_for_a_login_with_it() -> None:
    store()
    assert lines(None, NEEDS_WRITE, 403)[2] == (
        f"log in with the scope that is asked for: mcptest login {URL} --scope 'read write'. {DOCTOR}"
    )


def test_no_credentials_at_all_offer_a_login_where_the_server_says_how() -> None:
    where = 'Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource"'
    assert lines(None, where)[1:] == [
        "no token was sent;",
        f"name the env var that holds one with `bearer_token_env`, or log in with: mcptest login {URL}. {DOCTOR}",
    ]


def test_no_credentials_at_all_offer_no_login_where_the_server_does_not() -> None:
    assert lines(None, "Bearer")[2] == f"name the env var that holds one with `bearer_token_env`. {DOCTOR}"


def test_a_url_that_may_hold_a_secret_is_left_for_the_reader_to_fill_in() -> None:
    told = "\n".join(lines(None, "Bearer resource_metadata=x", url=f"{URL}/mcp?key=abc"))
    assert "mcptest login URL" in told
    assert "abc" not in told


def test_a_challenge_without_end_is_cut_off() -> None:
    assert len(lines(None, f'Bearer realm="{"x" * 100_000}"')[0]) < 700


@pytest.mark.parametrize(
    ("challenge", "value"),
    [
        ('Bearer scope="a b"', "a b"),
        ("Bearer realm=x, scope=a", "a"),
        ('Bearer error="insufficient_scope",scope = "a"', "a"),
        ('Bearer SCOPE="a"', "a"),
        ('Bearer noscope="b"', None),
        ("", None),
        (None, None),
    ],
)
def test_a_parameter_of_a_challenge_is_read_as_http_writes_it(challenge: str | None, value: str | None) -> None:
    assert challenge_parameter(challenge, "scope") == value


def test_no_token_of_any_kind_goes_over_a_network_in_the_clear() -> None:
    with pytest.raises(AuthFailed, match=r"the OAuth token is not sent to http://api\.example/mcp"):
        check_secrets_may_go(spec_for("http://api.example/mcp", OAUTH))
    check_secrets_may_go(spec_for("http://[::1]:80/mcp", OAUTH))
