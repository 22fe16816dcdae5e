"""What a run does with a token of `mcptest login`: sends it, refreshes it in time, and says when it is over."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import AuthFailed
from mcptest_engine.core.redaction import MASK, Redactor
from mcptest_engine.servers import token_store
from mcptest_engine.servers.http_client import HttpClient
from mcptest_engine.servers.oauth import auth_for
from mcptest_engine.servers.token_store import StoredToken
from tests.auth.conftest import ask, spec_for
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.auth.conftest import Realm

    MakeRealm = Callable[..., Realm]

CLIENT = {"me": "s3cret-s3cret"}


@pytest.fixture
def stored(make_realm: MakeRealm) -> Callable[..., tuple[Realm, StoredToken]]:
    """A realm, and a token of it in the store that holds for `left` seconds."""

    def make(*, left: float | None = 3600.0, **knobs: Any) -> tuple[Realm, StoredToken]:
        realm = make_realm(clients=CLIENT, **knobs)
        first = asyncio.run(_granted(realm))
        token = StoredToken(
            url=realm.url,
            access_token=first.access_token,
            refresh_token=first.refresh_token,
            last_refreshed=time.time() - 3600,
            expires_at_unix=None if left is None else time.time() + left,
            client_id="me",
            client_secret="s3cret-s3cret",
            auth_method="client_secret_basic",
            token_endpoint=realm.token_endpoint,
            resource=realm.url,
        )
        token_store.save(token)
        return realm, token

    return make


async def _granted(realm: Realm) -> Any:
    """A token by client credentials, which in these realms comes with a refresh token."""
    from mcptest_engine.servers.oauth_http import OAuthHttp
    from mcptest_engine.servers.oauth_tokens import Client, request_token
    from mcptest_engine.servers.spec import HttpOptions

    client = Client("me", "s3cret-s3cret", "client_secret_basic")
    async with OAuthHttp(HttpOptions(), 30) as http:
        return await request_token(http, realm.token_endpoint, {"grant_type": "client_credentials"}, client, str)


async def once(url: str, **settings: Any) -> int:
    return (await ask(url, auth_for(spec_for(url, **settings)))).status_code


def refreshes(realm: Realm) -> list[dict[str, str]]:
    return [one["form"] for one in realm.seen("token") if one["form"]["grant_type"] == "refresh_token"]


def test_a_stored_token_is_sent(stored: Callable[..., tuple[Realm, StoredToken]]) -> None:
    realm, token = stored()
    assert asyncio.run(once(realm.url)) == 200
    assert realm.seen("mcp")[0]["authorization"] == f"Bearer {token.access_token}"
    assert refreshes(realm) == []


@pytest.mark.parametrize(
    "settings",
    [
        {"auth": {"bearer_token_env": "MCP_TOKEN"}},
        {"auth": {"bearer_token_env": "NOT_SET"}},
        {"headers": {"authorization": "Basic abc"}},
    ],
)
def test_a_suite_that_says_who_it_is_gets_no_stored_token(
    stored: Callable[..., tuple[Realm, StoredToken]], settings: dict[str, Any]
) -> None:
    realm, _ = stored()
    assert auth_for(spec_for(realm.url, **settings)) is None


def test_without_a_token_for_just_this_url_there_is_none(stored: Callable[..., tuple[Realm, StoredToken]]) -> None:
    realm, _ = stored()
    assert auth_for(spec_for(f"{realm.url}/")) is None


def test_a_token_is_refreshed_within_a_minute_of_its_end_and_written_back(
    stored: Callable[..., tuple[Realm, StoredToken]],
) -> None:
    realm, token = stored(left=59.0)
    assert asyncio.run(once(realm.url)) == 200
    (form,) = refreshes(realm)
    assert form == {"grant_type": "refresh_token", "refresh_token": token.refresh_token, "resource": realm.url}
    kept = token_store.load(realm.url)
    assert kept is not None
    assert kept.access_token == f"access.{realm.name}.2.zzz"
    assert kept.refresh_token == f"refresh.{realm.name}.2.zzz"
    assert (kept.expires_at_unix or 0) - kept.last_refreshed == pytest.approx(3600)
    assert token_store.path_for(realm.url).stat().st_mode & 0o777 == 0o600


def test_a_refused_token_is_refreshed_once_for_all_who_were_refused(
    stored: Callable[..., tuple[Realm, StoredToken]],
) -> None:
    realm, _ = stored(left=None)
    realm.revoke()

    async def main() -> set[int]:
        auth = auth_for(spec_for(realm.url))
        return {answer.status_code for answer in await asyncio.gather(*(ask(realm.url, auth) for _ in range(8)))}

    assert asyncio.run(main()) == {200}
    assert len(refreshes(realm)) == 1


async def _given_up(call: asyncio.Task[Any], realm: Realm) -> None:
    """Give `call` up as a timeout does, at the moment when the refresh token is spent and the new one not here yet."""
    await asyncio.to_thread(realm.wait_until_held)
    call.cancel()
    await asyncio.wait((call,))
    assert call.cancelled()


def _stored_refresh_token(realm: Realm) -> str | None:
    kept = token_store.load(realm.url)
    assert kept is not None
    return kept.refresh_token


def test_a_refresh_goes_on_when_the_call_that_wanted_it_is_given_up(
    stored: Callable[..., tuple[Realm, StoredToken]],
) -> None:
    realm, _ = stored(left=-1.0, gate="answer")

    async def main() -> int:
        auth = auth_for(spec_for(realm.url))
        await _given_up(asyncio.ensure_future(ask(realm.url, auth)), realm)
        second = asyncio.ensure_future(ask(realm.url, auth))
        await asyncio.to_thread(realm.release)
        return (await second).status_code

    assert asyncio.run(main()) == 200
    assert len(refreshes(realm)) == 1
    assert _stored_refresh_token(realm) == f"refresh.{realm.name}.2.zzz"


def test_closing_waits_for_a_refresh_that_nobody_waits_for_any_more(
    stored: Callable[..., tuple[Realm, StoredToken]],
) -> None:
    realm, _ = stored(left=-1.0, gate="answer")

    async def main() -> bool:
        client = HttpClient(spec_for(realm.url))
        await _given_up(asyncio.ensure_future(client.send("GET", [])), realm)
        closing = asyncio.ensure_future(client.close())
        await asyncio.to_thread(realm.seen, "token")  # turns of the loop, in which it could end
        waited = not closing.done()
        await asyncio.to_thread(realm.release)
        await closing
        return waited

    assert asyncio.run(main())
    assert _stored_refresh_token(realm) == f"refresh.{realm.name}.2.zzz"


def test_closing_waits_no_longer_than_an_authorization_server_may_take(
    stored: Callable[..., tuple[Realm, StoredToken]],
) -> None:
    realm, token = stored(left=-1.0, gate="answer")

    async def main() -> None:
        client = HttpClient(spec_for(realm.url, connect_timeout_ms=1000))
        await _given_up(asyncio.ensure_future(client.send("GET", [])), realm)
        await client.close()

    asyncio.run(main())
    assert _stored_refresh_token(realm) == token.refresh_token


def test_a_refresh_token_that_stays_good_is_kept(stored: Callable[..., tuple[Realm, StoredToken]]) -> None:
    realm, token = stored(left=-1.0, refresh="kept")
    assert asyncio.run(once(realm.url)) == 200
    kept = token_store.load(realm.url)
    assert kept is not None
    assert kept.access_token != token.access_token
    assert kept.refresh_token == token.refresh_token


def test_what_another_process_refreshed_meanwhile_is_taken_as_it_is(
    stored: Callable[..., tuple[Realm, StoredToken]],
) -> None:
    realm, token = stored(left=-1.0)
    newer = asyncio.run(_granted(realm)).access_token

    async def main() -> int:
        auth = auth_for(spec_for(realm.url))
        token_store.save(token._replace(access_token=newer, expires_at_unix=time.time() + 3600))
        return (await ask(realm.url, auth)).status_code

    assert asyncio.run(main()) == 200
    assert refreshes(realm) == []
    assert realm.seen("mcp")[-1]["authorization"] == f"Bearer {newer}"


def test_two_processes_that_refresh_at_once_make_one_request(
    stored: Callable[..., tuple[Realm, StoredToken]], home: Path
) -> None:
    realm, _ = stored(left=-1.0)
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.auth.refresher", realm.url],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        for _ in range(2)
    ]
    for process in processes:  # both hold the old token before either asks
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=60)[0] for process in processes]
    assert [f"access.{realm.name}.2.zzz" in answer for answer in answers] == [True, True], answers
    assert len(refreshes(realm)) == 1


def test_a_login_that_is_over_says_so_and_how_to_go_on(stored: Callable[..., tuple[Realm, StoredToken]]) -> None:
    realm, token = stored(left=-1.0, refresh="invalid_grant")
    with pytest.raises(AuthFailed) as caught:
        asyncio.run(once(realm.url))
    assert caught.value.message == (
        "auth failed: the token stored by `mcptest login` could not be refreshed: "
        f'the token endpoint {realm.token_endpoint} refused: invalid_grant "no more of {MASK}"'
    )
    assert caught.value.hint == f"log in again with: mcptest login {realm.url}"
    assert token_store.load(realm.url) == token


def test_a_refresh_that_fails_too_early_to_matter_changes_nothing(
    stored: Callable[..., tuple[Realm, StoredToken]],
) -> None:
    realm, _ = stored(left=30.0, refresh="temporarily_unavailable")

    async def main() -> list[int]:
        auth = auth_for(spec_for(realm.url))
        return [(await ask(realm.url, auth)).status_code for _ in range(3)]

    assert asyncio.run(main()) == [200, 200, 200]
    assert len(refreshes(realm)) == 1


def test_a_token_without_a_refresh_token_is_sent_to_its_end_and_beyond(
    stored: Callable[..., tuple[Realm, StoredToken]],
) -> None:
    realm, token = stored(left=-1.0)
    token_store.save(token._replace(refresh_token=None))
    assert asyncio.run(once(realm.url)) == 200  # the server's clock decides, not ours
    realm.revoke()
    assert asyncio.run(once(realm.url)) == 401


def test_a_torn_file_fails_the_server_with_its_place(stored: Callable[..., tuple[Realm, StoredToken]]) -> None:
    realm, _ = stored()
    path = token_store.path_for(realm.url)
    path.write_text("{")
    with pytest.raises(AuthFailed, match=f"auth failed: the file of the stored token, ~/.mcptest/auth/{path.name}"):
        auth_for(spec_for(realm.url))


def test_a_home_that_cannot_be_written_is_told_before_the_refresh_token_is_spent(
    stored: Callable[..., tuple[Realm, StoredToken]],
) -> None:
    realm, _ = stored(left=-1.0)
    token_store.path_for(realm.url).with_suffix(".lock").mkdir()  # whoever runs this: no lock can be made
    with pytest.raises(AuthFailed, match="auth failed: the stored token cannot be locked"):
        asyncio.run(once(realm.url))
    assert refreshes(realm) == []


def test_new_tokens_are_redacted_from_the_moment_they_are_known(
    stored: Callable[..., tuple[Realm, StoredToken]],
) -> None:
    realm, token = stored(left=-1.0)
    secrets = Redactor()

    async def main() -> str:
        return (await ask(realm.url, auth_for(spec_for(realm.url, secrets=secrets)))).text

    assert f"<{MASK}>" in secrets.redact_text(asyncio.run(main()))
    assert secrets.redact_text(f"refresh.{realm.name}.2.zzz") == MASK
    assert secrets.redact_text(token.refresh_token or "") == MASK
