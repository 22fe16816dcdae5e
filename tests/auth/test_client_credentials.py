"""Client credentials: one token a server and run, renewed when it has to be, and whose fault it is when there is none."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from mcptest_engine.core.errors import AuthFailed
from mcptest_engine.core.redaction import MASK, Redactor
from mcptest_engine.servers.client_credentials import ClientCredentials
from mcptest_engine.servers.failures import duration
from mcptest_engine.servers.oauth import auth_for
from mcptest_engine.servers.oauth_http import OAuthHttp, OAuthTrouble
from mcptest_engine.servers.oauth_tokens import Client, read_grant, request_token
from mcptest_engine.servers.session import connect
from mcptest_engine.servers.spec import HttpOptions
from mcptest_engine.servers.token_auth import TokenAuth
from tests.auth.conftest import ask, spec_for
from tests.processes import longer

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from tests.auth.conftest import Realm

    MakeRealm = Callable[..., Realm]

CLIENT = {"me": "s3cret-s3cret"}


def oauth(realm: Realm | None = None, **more: Any) -> dict[str, Any]:
    where = {} if realm is None else {"token_endpoint": realm.token_endpoint}
    keys = {"grant": "client_credentials", "client_id": "me", "client_secret_env": "CLIENT_SECRET"}
    return {"oauth": {**keys, **where, **more}}


def failure(url: str, auth: dict[str, Any], **settings: Any) -> AuthFailed:
    """What the first request of a session fails with."""

    async def main() -> None:
        await ask(url, auth_for(spec_for(url, auth, **settings)))

    with pytest.raises(AuthFailed) as caught:
        asyncio.run(main())
    assert "s3cret-s3cret" not in f"{caught.value.message}{caught.value.hint}"
    return caught.value


def test_all_sessions_and_concurrent_calls_of_a_server_share_one_token(make_realm: MakeRealm) -> None:
    realm = make_realm(clients=CLIENT)

    async def main() -> list[int]:
        spec = spec_for(realm.url, oauth(realm))
        answers = await asyncio.gather(*(ask(realm.url, auth_for(spec)) for _ in range(16)))
        return [answer.status_code for answer in answers]

    assert asyncio.run(main()) == [200] * 16
    assert len(realm.seen("token")) == 1


def test_the_token_is_asked_for_as_the_suite_says(make_realm: MakeRealm) -> None:
    realm = make_realm(clients=CLIENT)
    asyncio.run(_once(realm, oauth(realm, scope="read write")))
    (asked,) = realm.seen("token")
    assert asked["form"] == {"grant_type": "client_credentials", "scope": "read write", "resource": realm.url}
    assert asked["authorization"].startswith("Basic ")


def test_the_secret_goes_into_the_form_where_the_suite_wants_that(make_realm: MakeRealm) -> None:
    realm = make_realm(clients=CLIENT, methods=["client_secret_post"])
    assert asyncio.run(_once(realm, oauth(realm, auth_method="client_secret_post"))) == 200
    (asked,) = realm.seen("token")
    assert (asked["form"]["client_secret"], asked["authorization"]) == ("s3cret-s3cret", None)


def test_a_token_that_is_over_is_replaced_before_it_is_sent(make_realm: MakeRealm) -> None:
    realm = make_realm(clients=CLIENT, expires_in=3600)
    now = [1000.0]

    async def main() -> list[int]:
        spec = spec_for(realm.url, oauth(realm))
        auth = TokenAuth(realm.url, ClientCredentials(spec, spec.oauth or {}, clock=lambda: now[0]))
        counts = []
        for now[0] in (1000.0, 4500.0, 4541.0):  # it holds until 4600, less the window of a minute
            assert (await ask(realm.url, auth)).status_code == 200
            counts.append(len(realm.seen("token")))
        return counts

    assert asyncio.run(main()) == [1, 1, 2]


def test_a_refused_token_is_replaced_once_for_all_who_were_refused(make_realm: MakeRealm) -> None:
    realm = make_realm(clients=CLIENT)

    async def main() -> set[int]:
        auth = auth_for(spec_for(realm.url, oauth(realm)))
        await ask(realm.url, auth)
        realm.revoke()
        return {answer.status_code for answer in await asyncio.gather(*(ask(realm.url, auth) for _ in range(8)))}

    assert asyncio.run(main()) == {200}
    assert len(realm.seen("token")) == 2


def test_a_server_that_refuses_the_new_token_too_has_the_last_word(make_realm: MakeRealm) -> None:
    realm = make_realm(clients=CLIENT, refuse=2)
    assert asyncio.run(_once(realm, oauth(realm))) == 401
    assert len(realm.seen("mcp")) == 2


def test_a_client_that_is_refused_is_refused_once_for_all_who_wait(make_realm: MakeRealm) -> None:
    realm = make_realm(clients={"me": "another"})

    async def main() -> list[object]:
        auth = auth_for(spec_for(realm.url, oauth(realm)))
        return await asyncio.gather(*(ask(realm.url, auth) for _ in range(8)), return_exceptions=True)

    failures = asyncio.run(main())
    assert all(isinstance(one, AuthFailed) for one in failures)
    assert len(realm.seen("token")) == 1


def test_a_wrong_secret_is_told_with_the_servers_words_and_without_the_secret(make_realm: MakeRealm) -> None:
    realm = make_realm(clients={"me": "another"}, methods=["client_secret_post"])
    told = failure(realm.url, oauth(realm, auth_method="client_secret_post"))
    assert told.message == (
        f'auth failed: the token endpoint {realm.token_endpoint} refused: invalid_client "got {MASK}"'
    )
    assert (
        told.hint
        == "correct `client_id` (`me`) or the secret in env var `CLIENT_SECRET` (named by `client_secret_env`)"
    )


def test_no_part_of_a_secret_is_left_where_an_endpoint_sends_the_secret_back() -> None:
    """A pattern once masked `client_secret=…` up to the first `&`, and the rest was known to nobody any more."""
    secret = "kE!y/se+cret&9=Zq"
    request = httpx2.Request("POST", "https://auth.example/token", content=b"grant_type=client_credentials")
    body = f"<p>bad client_secret={secret}</p>"
    response = httpx2.Response(500, text=body, headers={"content-type": "text/html"}, request=request)
    with pytest.raises(OAuthTrouble) as caught:
        read_grant(response, Redactor([secret]).redact_text)
    assert "9=Zq" not in caught.value.message


def test_a_secret_that_is_not_set_is_told_before_anything_is_sent(make_realm: MakeRealm) -> None:
    realm = make_realm(clients=CLIENT)
    told = failure(realm.url, oauth(realm, client_secret_env="NOT_SET"))
    assert "env var `NOT_SET` (named by `client_secret_env`) is not set or is empty" in told.message
    assert realm.seen("token") == realm.seen("mcp") == []


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("html", "answered with text/html instead of a token: <html><body>Please sign in"),
        ("busy", "answered HTTP 502: bad gateway"),
        ("no_token", "answered with no `access_token`"),
        ("odd_type", 'gave a token of the type "mac"'),
        ("newline", "an `access_token` that cannot go into a header"),
        ("deep", "answered with application/json instead of a token"),
        ("huge", "answered with more than 1024 KiB"),
        ("invalid_scope", 'refused: invalid_scope "as the realm was told"'),
    ],
)
def test_an_answer_that_is_no_token_is_told_as_the_token_endpoints(make_realm: MakeRealm, how: str, words: str) -> None:
    realm = make_realm(clients=CLIENT, token=how)
    told = failure(realm.url, oauth(realm))
    assert told.message.startswith(f"auth failed: the token endpoint {realm.token_endpoint} ")
    assert words in told.message
    assert len(told.message) < 600


def test_plain_http_on_this_machine_goes_past_a_proxy_elsewhere(make_realm: MakeRealm) -> None:
    realm = make_realm(clients=CLIENT)
    client = Client("me", "s3cret-s3cret", "client_secret_basic")

    async def main() -> str:
        async with OAuthHttp(HttpOptions(proxy="http://proxy.invalid:3128"), 30) as http:
            form = {"grant_type": "client_credentials"}
            return (await request_token(http, realm.token_endpoint, form, client, str)).access_token

    assert asyncio.run(main()) == f"access.{realm.name}.1.zzz"


def test_a_proxy_on_this_machine_is_asked(make_realm: MakeRealm) -> None:
    realm = make_realm(clients=CLIENT)
    told = failure(realm.url, oauth(realm), http={"proxy": "http://127.0.0.1:9"})
    assert told.message.endswith("could not be reached: connection refused")
    assert realm.seen("token") == []


def test_no_proxy_of_the_environment_sees_a_secret_for_this_machine(
    make_realm: MakeRealm, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://proxy.invalid:3128")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    realm = make_realm(clients=CLIENT)
    spec = spec_for(realm.url, oauth(realm))

    async def main() -> list[int]:
        async with httpx2.AsyncClient(trust_env=False) as client:
            return [(await ask(realm.url, auth_for(spec), client)).status_code]

    assert asyncio.run(main()) == [200]


@pytest.mark.parametrize(
    ("kind", "words"),
    [("file", "contains no certificate"), ("directory", "contains no certificate"), ("nothing", "exist")],
)
def test_certificates_that_are_none_are_told(make_realm: MakeRealm, tmp_path: Path, kind: str, words: str) -> None:
    place = tmp_path / "authorities"
    if kind == "file":
        place.write_text("no certificate")
    elif kind == "directory":
        place.mkdir()
        (place / "authority.pem").write_text("no certificate")
    told = failure(make_realm().url, oauth(token_endpoint="https://127.0.0.1:9/token"), http={"verify": str(place)})
    assert f'`http.verify` names "{place}", which ' in told.message
    assert words in told.message


def test_a_token_endpoint_that_is_not_there_is_told(make_realm: MakeRealm) -> None:
    realm = make_realm()
    told = failure(realm.url, oauth(realm, token_endpoint="http://127.0.0.1:9/token"))
    assert told.message == (
        "auth failed: the token endpoint http://127.0.0.1:9/token could not be reached: connection refused"
    )


@pytest.mark.parametrize(
    "endpoint", ["https://[", "https://as.example:99999/token", "ftp://as.example/", "https:///token"]
)
def test_a_token_endpoint_that_is_no_url_is_told(make_realm: MakeRealm, endpoint: str) -> None:
    told = failure(make_realm().url, oauth(token_endpoint=endpoint))
    assert told.message == f'auth failed: the token endpoint "{endpoint}" is not an http or https URL'


def test_a_token_endpoint_that_never_answers_is_told_before_the_handshake_is_out_of_time(make_realm: MakeRealm) -> None:
    realm = make_realm(clients=CLIENT, token="hang")
    for seconds in longer(0.5):
        told = failure(realm.url, oauth(realm), connect_timeout_ms=round(seconds * 1000))
        if "the token endpoint" in told.message:  # else what comes before it had no time to be answered either
            break
    asked = f"the token endpoint {realm.token_endpoint} did not answer within {duration(0.8 * seconds)}"
    assert told.message == f"auth failed: {asked}"


def test_no_secret_goes_to_a_token_endpoint_in_the_clear(make_realm: MakeRealm) -> None:
    realm = make_realm()
    told = failure(realm.url, oauth(realm, token_endpoint="http://as.example/token"))
    assert "http://as.example/token is not asked: tokens and secrets go only to https" in told.message


def test_no_token_is_asked_for_a_server_in_the_clear() -> None:
    told = failure("http://api.example/mcp", oauth())
    assert told.message.startswith("auth failed: the OAuth token is not sent to http://api.example/mcp")


def test_an_authorization_server_that_minds_the_resource_is_asked_without(make_realm: MakeRealm) -> None:
    realm = make_realm(clients=CLIENT, minds_resource=True)
    assert asyncio.run(_once(realm, oauth(realm))) == 200
    assert ["resource" in asked["form"] for asked in realm.seen("token")] == [True, False]


def test_without_an_endpoint_the_servers_refusal_says_where_tokens_come_from(make_realm: MakeRealm) -> None:
    realm = make_realm(clients=CLIENT, methods=["client_secret_post"], browser=False)

    async def main() -> list[int]:
        auth = auth_for(spec_for(realm.url, oauth(scope="read")))
        first = await ask(realm.url, auth)
        realm.revoke()
        return [first.status_code, (await ask(realm.url, auth)).status_code]

    assert asyncio.run(main()) == [200, 200]
    first, second = realm.seen("token")
    assert first["form"] == second["form"]
    assert first["form"]["resource"] == realm.url
    assert first["form"]["scope"] == "read"


@pytest.mark.parametrize("challenge", [False, "none"])
def test_metadata_are_found_at_their_well_known_places_too(make_realm: MakeRealm, challenge: object) -> None:
    realm = make_realm(clients=CLIENT, challenge=challenge)
    assert asyncio.run(_once(realm, oauth())) == 200


async def _remarks_of_a_session(url: str, auth: dict[str, Any]) -> list[str]:
    session = await connect(spec_for(url, auth))
    try:
        answers = [await session.request("tools/call", {"name": "who"}, timeout_seconds=30) for _ in range(2)]
        assert all("result" in one.answer for one in answers)
    finally:
        await session.close()
    return session.remarks.texts


def test_a_token_endpoint_of_another_origin_that_the_server_named_is_remarked_upon_once(make_realm: MakeRealm) -> None:
    realm = make_realm(clients=CLIENT, token_host="localhost")
    (remark,) = asyncio.run(_remarks_of_a_session(realm.url, oauth()))
    where = realm.token_endpoint.replace("127.0.0.1", "localhost")
    assert remark == (
        f'server "api" names the token endpoint {where}, at another origin; the client secret was sent there; '
        "set `token_endpoint` in the suite to choose it"
    )


def test_a_token_endpoint_of_the_servers_own_origin_or_of_the_suite_is_not_remarked_upon(make_realm: MakeRealm) -> None:
    realm = make_realm(clients=CLIENT)
    assert asyncio.run(_remarks_of_a_session(realm.url, oauth())) == []
    elsewhere = realm.token_endpoint.replace("127.0.0.1", "localhost")
    assert asyncio.run(_remarks_of_a_session(realm.url, oauth(token_endpoint=elsewhere))) == []


def test_discovery_that_finds_nothing_is_told_with_its_remedy(make_realm: MakeRealm) -> None:
    realm = make_realm(clients=CLIENT, metadata=False)
    told = failure(realm.url, oauth())
    assert f"no authorization server is known for {realm.url}" in told.message
    assert told.hint == "set `token_endpoint`"


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ("elsewhere", "http://127.0.0.1:9/.well-known/oauth-authorization-server/as could not be reached"),
        ("insecure", "as.example/.well-known/oauth-authorization-server/as is not asked"),
        ("other", "is of another issuer"),
        ("half", "/as, publishes no metadata (RFC 8414), and "),
    ],
)
def test_metadata_that_lead_nowhere_good_are_told(make_realm: MakeRealm, metadata: str, words: str) -> None:
    realm = make_realm(clients=CLIENT, metadata=metadata)
    assert words in failure(realm.url, oauth()).message
    assert realm.seen("token") == []


def test_a_login_writes_no_log_of_its_own(make_realm: MakeRealm, capfd: pytest.CaptureFixture[str]) -> None:
    failure(make_realm(clients={"me": "another"}).url, oauth())
    assert capfd.readouterr() == ("", "")


def test_a_token_is_redacted_from_the_moment_it_is_known(make_realm: MakeRealm) -> None:
    realm = make_realm(clients=CLIENT)
    secrets = Redactor()

    async def main() -> str:
        return (await ask(realm.url, auth_for(spec_for(realm.url, oauth(realm), secrets)))).text

    answer = asyncio.run(main())
    assert f"access.{realm.name}.1.zzz" in answer
    assert f"<{MASK}>" in secrets.redact_text(answer)
    assert secrets.redact_text("s3cret-s3cret") == MASK


def test_nothing_of_it_is_written_to_the_disk(make_realm: MakeRealm, home: Path) -> None:
    realm = make_realm(clients=CLIENT)
    asyncio.run(_once(realm, oauth(realm)))
    assert list(home.iterdir()) == []


def test_a_token_goes_to_its_own_origin_only(make_realm: MakeRealm) -> None:
    realm = make_realm(clients=CLIENT, open=True)
    elsewhere = realm.url.replace("127.0.0.1", "localhost")

    async def main() -> httpx2.Response:
        return await ask(elsewhere, auth_for(spec_for(realm.url, oauth(realm))))

    assert "your token is <>" in asyncio.run(main()).text


async def _once(realm: Realm, auth: dict[str, Any]) -> int:
    return (await ask(realm.url, auth_for(spec_for(realm.url, auth)))).status_code


def test_a_run_asks_for_one_token_and_shows_neither_it_nor_the_secret(
    make_realm: MakeRealm, mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    realm = make_realm(clients=CLIENT)
    calls = [{"name": f"call {number}", "tool": "who"} for number in range(5)]
    own = {"name": "a session of its own", "tool": "who", "client": {"roots": []}}
    server = {"url": realm.url, "auth": oauth(realm)}
    (tmp_path / "mcptest.yml").write_text(json.dumps({"servers": {"api": server}, "tools": [*calls, own]}))
    done = mcptest("run", "--reporter", "json", CLIENT_SECRET="s3cret-s3cret")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["servers"][0]["auth"] == "oauth"
    assert f"<{MASK}>" in done.stdout
    assert len(realm.seen("token")) == 1
    kept = "".join(path.read_text() for path in (tmp_path / ".mcptest").rglob("*") if path.is_file())
    for secret in (f"access.{realm.name}.1.zzz", "s3cret-s3cret"):
        assert secret not in done.stdout + done.stderr + kept


def test_a_run_whose_client_is_refused_fails_its_tests_for_auth(
    make_realm: MakeRealm, mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    realm = make_realm(clients={"me": "another"})
    suite = {"servers": {"api": {"url": realm.url, "auth": oauth(realm)}}, "tools": [{"name": "who", "tool": "who"}]}
    (tmp_path / "mcptest.yml").write_text(json.dumps(suite))
    done = mcptest("run", "--reporter", "json", CLIENT_SECRET="s3cret-s3cret")
    assert done.returncode == 1, done.stdout + done.stderr
    failed = json.loads(done.stdout)["tests"][0]["failure"]
    assert failed["kind"] == "auth"
    assert "refused: invalid_client" in failed["message"]
    assert failed["hint"].startswith("correct `client_id` (`me`) or the secret in env var `CLIENT_SECRET`")
