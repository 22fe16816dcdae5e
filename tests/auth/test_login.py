"""Logging in: the browser's flow and the device's, what comes of them, and every way in which they fail."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from mcptest_engine.core.errors import AuthFailed
from mcptest_engine.servers.oauth_device import DeviceCode, Timing
from mcptest_engine.servers.oauth_login import LoginRequest, interactive_auth, log_in, log_in_by_device
from tests.auth.conftest import ask, follow

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.auth.conftest import Realm

    MakeRealm = Callable[..., Realm]


def failure(
    realm: Realm, open_url: Callable[[str], Any] = follow, timeout_seconds: float = 300.0, **options: Any
) -> AuthFailed:
    """What a login in a browser fails with."""
    with pytest.raises(AuthFailed) as caught:
        asyncio.run(log_in(LoginRequest(realm.url, **options), open_url, timeout_seconds))
    assert caught.value.message.startswith(f"login at {realm.url} failed: ")
    assert "\n" not in caught.value.message
    return caught.value


def test_a_login_gives_a_token_and_all_that_refreshing_it_needs(make_realm: MakeRealm) -> None:
    realm = make_realm(issued_secret="issued-issued")
    token = asyncio.run(log_in(LoginRequest(realm.url), follow))
    assert token.access_token.startswith(f"access.{realm.name}.")
    assert (token.refresh_token or "").startswith(f"refresh.{realm.name}.")
    assert (token.expires_at_unix or 0) - token.last_refreshed == pytest.approx(3600)
    assert abs(token.last_refreshed - time.time()) < 60
    assert (token.client_id, token.client_secret, token.auth_method) == (
        "client-1",
        "issued-issued",
        "client_secret_basic",
    )
    assert (token.token_endpoint, token.issuer) == (realm.token_endpoint, realm.token_endpoint.removesuffix("/token"))
    assert (token.url, token.resource) == (realm.url, realm.url)


def test_the_authorization_request_holds_what_oauth_2_1_asks_for(make_realm: MakeRealm) -> None:
    realm = make_realm()
    asyncio.run(log_in(LoginRequest(realm.url, scope="read write"), follow))
    (asked,) = (one["form"] for one in realm.seen("authorize"))
    assert (asked["response_type"], asked["code_challenge_method"], asked["resource"]) == ("code", "S256", realm.url)
    assert asked["scope"] == "read write"
    assert len(asked["state"]) >= 32
    assert urlsplit(asked["redirect_uri"]).hostname == "127.0.0.1"
    (registered,) = (one["form"] for one in realm.seen("register"))
    assert registered["redirect_uris"] == [asked["redirect_uri"]]
    assert (registered["client_name"], registered["application_type"]) == ("mcptest", "native")


def test_a_client_that_is_known_is_not_registered(make_realm: MakeRealm) -> None:
    realm = make_realm(clients={"mine": "s3cret-s3cret"}, registration=False, methods=["client_secret_post"])
    token = asyncio.run(log_in(LoginRequest(realm.url, client_id="mine", client_secret="s3cret-s3cret"), follow))
    assert (token.client_id, token.auth_method) == ("mine", "client_secret_post")
    assert realm.seen("register") == []


def test_a_server_that_asks_for_no_token_can_be_logged_in_at_all_the_same(make_realm: MakeRealm) -> None:
    realm = make_realm(open=True)
    assert asyncio.run(log_in(LoginRequest(realm.url), follow)).access_token


def test_whoever_logs_in_sees_a_page_that_says_so(make_realm: MakeRealm) -> None:
    realm = make_realm()
    pages: list[httpx2.Response] = []

    async def look(address: str) -> None:
        async with httpx2.AsyncClient(follow_redirects=True, verify=False) as client:
            pages.append(await client.get(address))

    asyncio.run(log_in(LoginRequest(realm.url), look))
    assert (pages[0].status_code, pages[0].headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "mcptest has its answer" in pages[0].text
    assert "code" not in pages[0].text


def test_what_else_knocks_at_the_listener_changes_nothing(make_realm: MakeRealm) -> None:
    realm = make_realm()
    statuses: list[int] = []

    async def knock(address: str) -> None:
        back = parse_qs(urlsplit(address).query)["redirect_uri"][0]
        _, writer = await asyncio.open_connection("127.0.0.1", urlsplit(back).port)  # says nothing, as browsers do
        async with httpx2.AsyncClient(verify=False) as client:
            for method, where in (("GET", "/favicon.ico"), ("GET", "/callback"), ("POST", "/callback?code=x")):
                statuses.append((await client.request(method, f"{back.removesuffix('/callback')}{where}")).status_code)
        await follow(address)
        writer.close()

    assert asyncio.run(log_in(LoginRequest(realm.url), knock)).access_token
    assert statuses == [404, 404, 404]


def test_a_refusal_is_told_in_the_servers_words(make_realm: MakeRealm) -> None:
    realm = make_realm(authorize={"error": "access_denied", "error_description": "you\nmay not"})
    assert 'the authorization server refused the login: access_denied "you\\nmay not"' in failure(realm).message


@pytest.mark.parametrize("query", ["code=x", "error=access_denied"])
@pytest.mark.parametrize("state", ["", "&state=", "&state=forged"])
def test_an_answer_to_another_login_is_turned_away_and_changes_nothing(
    make_realm: MakeRealm, query: str, state: str
) -> None:
    realm = make_realm()
    answers: list[httpx2.Response] = []

    async def forge(address: str) -> None:
        back = parse_qs(urlsplit(address).query)["redirect_uri"][0]
        async with httpx2.AsyncClient(verify=False) as client:
            answers.append(await client.get(f"{back}?{query}{state}"))
        await follow(address)

    assert asyncio.run(log_in(LoginRequest(realm.url), forge)).access_token
    assert answers[0].status_code == 400
    assert "not the answer to the login" in answers[0].text


def test_an_answer_to_another_login_alone_is_none(make_realm: MakeRealm) -> None:
    realm = make_realm(authorize={"state": "forged"})
    assert "there was no login within 500 ms" in failure(realm, timeout_seconds=0.5).message
    assert realm.seen("token") == []


def test_an_answer_of_another_issuer_is_not_taken(make_realm: MakeRealm) -> None:
    realm = make_realm(authorize={"iss": "https://evil.example"})
    assert "the answer of the login is of another issuer" in failure(realm).message
    assert realm.seen("token") == []


def test_a_server_without_metadata_is_told(make_realm: MakeRealm) -> None:
    realm = make_realm(metadata=False)
    assert f"no authorization server is known for {realm.url}" in failure(realm).message


def test_a_registration_that_is_refused_is_told_with_its_remedy(make_realm: MakeRealm) -> None:
    told = failure(make_realm(registration=False))
    assert 'refused: access_denied "registration is closed"' in told.message
    assert "--client-id" in (told.hint or "")


@pytest.mark.parametrize(
    ("how", "words"),
    [("html", "answered with text/html instead of a token"), ("invalid_grant", "refused: invalid_grant")],
)
def test_a_token_endpoint_that_gives_no_token_is_told(make_realm: MakeRealm, how: str, words: str) -> None:
    assert words in failure(make_realm(token=how)).message


@pytest.mark.parametrize(
    ("challenges", "found"), [(None, "is missing"), (["plain"], 'is ["plain"]'), ([], "is []"), ("S256", 'is "S256"')]
)
def test_a_server_that_does_not_say_that_it_supports_pkce_is_refused(
    make_realm: MakeRealm, challenges: object, found: str
) -> None:
    """MCP 2025-11-25, basic/authorization: without S256 in its metadata clients must refuse to proceed."""
    realm = make_realm(challenges=challenges)
    failed = failure(realm)
    assert f"PKCE with S256 is supported: `code_challenge_methods_supported` {found}; " in failed.message
    assert failed.hint == 'the authorization server\'s metadata needs `"code_challenge_methods_supported": ["S256"]`'
    assert [realm.seen(place) for place in ("register", "authorize", "token")] == [[], [], []]


def test_a_login_without_a_browser_needs_no_pkce(make_realm: MakeRealm) -> None:
    realm = make_realm(challenges=None)
    assert asyncio.run(log_in_by_device(LoginRequest(realm.url), lambda _: None)).access_token


@pytest.mark.parametrize("how", ["echo", "echo_error"])
def test_what_a_token_endpoint_sends_back_shows_no_code(make_realm: MakeRealm, how: str) -> None:
    realm = make_realm(token=how, clients={"mine": "s3cret-s3cret"}, methods=["client_secret_post"])
    message = failure(realm, client_id="mine", client_secret="s3cret-s3cret").message
    (sent,) = (one["form"] for one in realm.seen("token"))
    assert "code=[REDACTED]" in message
    for secret in (sent["code"], sent["code_verifier"], sent["client_secret"]):
        assert secret[:8] not in message


@pytest.mark.parametrize("how", ["echo", "echo_error"])
def test_what_a_token_endpoint_sends_back_shows_no_device_code(make_realm: MakeRealm, how: str) -> None:
    realm = make_realm(token=how)
    with pytest.raises(AuthFailed) as caught:
        asyncio.run(log_in_by_device(LoginRequest(realm.url), lambda _: None))
    assert "device.code" not in caught.value.message


def test_a_registration_that_is_no_client_is_told_in_a_line_without_what_it_holds(make_realm: MakeRealm) -> None:
    message = failure(make_realm(registration="odd")).message
    assert "answered without a `client_id` that is a text" in message
    for foreign in ("validation error", "input_value", "pydantic", "issued-issued"):
        assert foreign not in message


def test_a_login_that_nobody_finishes_ends_with_its_time(make_realm: MakeRealm) -> None:
    told = failure(make_realm(), open_url=lambda _: None, timeout_seconds=0.5)
    assert told.message.endswith("failed: there was no login within 500 ms")


def test_a_server_in_the_clear_is_not_asked() -> None:
    with pytest.raises(AuthFailed, match=r"no login at http://api\.example/mcp: tokens go only to https"):
        asyncio.run(log_in(LoginRequest("http://api.example/mcp"), follow))


def test_a_server_that_is_not_there_is_told() -> None:
    with pytest.raises(
        AuthFailed, match=r"the server http://127\.0\.0\.1:9/mcp could not be reached: connection refused"
    ):
        asyncio.run(log_in(LoginRequest("http://127.0.0.1:9/mcp"), follow))


# The device flow


class Device:
    """A device with a clock of its own, which goes on only while the device waits."""

    def __init__(self) -> None:
        self.shown: list[DeviceCode] = []
        self.waits: list[float] = []
        self.now = 0.0
        self.timing = Timing(self._wait, lambda: self.now)

    async def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def log_in(self, realm: Realm, **options: Any) -> Any:
        login = LoginRequest(realm.url, **options)
        return asyncio.run(log_in_by_device(login, self.shown.append, timing=self.timing))


def test_a_device_shows_its_code_and_asks_until_it_was_typed_in(make_realm: MakeRealm) -> None:
    realm, device = (
        make_realm(pending=["authorization_pending", "slow_down", "authorization_pending"], interval=2),
        Device(),
    )
    token = device.log_in(realm)
    assert token.access_token == f"access.{realm.name}.1.zzz"
    assert (token.client_id, token.token_endpoint) == ("client-1", realm.token_endpoint)
    (code,) = device.shown
    assert (code.user_code, code.verification_uri) == ("WDJB-MJHT", f"{realm.origin}/{realm.name}/type-it-in")
    assert device.waits == [2, 2, 7, 7]
    (registered,) = (one["form"] for one in realm.seen("register"))
    assert registered["grant_types"] == ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"]


def test_an_interval_beyond_all_floats_is_the_usual_one(make_realm: MakeRealm) -> None:
    device = Device()
    device.log_in(make_realm(pending=["authorization_pending"], interval=10**400))
    assert device.waits == [5, 5]


def test_a_device_needs_no_authorization_endpoint(make_realm: MakeRealm) -> None:
    assert Device().log_in(make_realm(browser=False)).access_token


def test_a_device_asks_for_its_resource_and_scope(make_realm: MakeRealm) -> None:
    realm = make_realm()
    Device().log_in(realm, scope="read")
    (asked,) = realm.seen("device")
    assert (asked["form"]["scope"], asked["form"]["resource"]) == ("read", realm.url)


@pytest.mark.parametrize(
    ("pending", "words"),
    [
        (["authorization_pending", "access_denied"], "the login was refused: access_denied"),
        (["expired_token"], "the code was not entered in time: expired_token"),
        (["invalid_grant"], "refused: invalid_grant"),
        (["authorization_pending"] * 10, "the code was not entered within 300 s"),
    ],
)
def test_a_device_login_that_comes_to_nothing_says_why(make_realm: MakeRealm, pending: list[str], words: str) -> None:
    with pytest.raises(AuthFailed) as caught:
        Device().log_in(make_realm(pending=pending, interval=50))
    assert words in caught.value.message


def test_a_server_without_device_login_is_told_with_its_remedy(make_realm: MakeRealm) -> None:
    with pytest.raises(AuthFailed, match="offers no device login") as caught:
        Device().log_in(make_realm(device=False))
    assert caught.value.hint == "log in without --device"


def test_a_client_that_the_device_endpoint_does_not_know_is_told(make_realm: MakeRealm) -> None:
    with pytest.raises(AuthFailed, match=r"the device authorization endpoint .*/as/device refused: invalid_client"):
        Device().log_in(make_realm(), client_id="nobody")


# A session that logs in by itself


def test_a_session_logs_in_when_it_is_refused_and_keeps_its_token(make_realm: MakeRealm) -> None:
    realm = make_realm()

    async def main() -> list[int]:
        auth = interactive_auth(LoginRequest(realm.url), follow)
        answers = await asyncio.gather(*(ask(realm.url, auth) for _ in range(6)))
        return [answer.status_code for answer in (*answers, await ask(realm.url, auth))]

    assert asyncio.run(main()) == [200] * 7
    assert len(realm.seen("authorize")) == 1


def test_a_session_that_lacks_a_scope_logs_in_again_with_it(make_realm: MakeRealm) -> None:
    realm = make_realm(scope="write")

    async def main() -> int:
        return (await ask(realm.url, interactive_auth(LoginRequest(realm.url), follow))).status_code

    assert [asyncio.run(main()), len(realm.seen("authorize"))] == [403, 1]

    async def again() -> list[int]:
        auth = interactive_auth(LoginRequest(realm.url), follow)
        return [(await ask(realm.url, auth)).status_code for _ in range(2)]

    assert asyncio.run(again()) == [403, 200]
    assert realm.seen("authorize")[-1]["form"]["scope"] == "write"


def test_a_session_refreshes_a_token_that_is_over_without_a_browser(make_realm: MakeRealm) -> None:
    realm = make_realm(expires_in=0)

    async def main() -> list[int]:
        auth = interactive_auth(LoginRequest(realm.url), follow)
        return [(await ask(realm.url, auth)).status_code for _ in range(3)]

    assert asyncio.run(main()) == [200, 200, 200]
    assert len(realm.seen("authorize")) == 1
    assert [one["form"]["grant_type"] for one in realm.seen("token")] == ["authorization_code", *["refresh_token"] * 2]


def test_a_session_whose_login_is_refused_says_so(make_realm: MakeRealm) -> None:
    realm = make_realm(authorize={"error": "access_denied"})

    async def main() -> None:
        await ask(realm.url, interactive_auth(LoginRequest(realm.url), follow))

    with pytest.raises(AuthFailed, match="the authorization server refused the login: access_denied"):
        asyncio.run(main())
