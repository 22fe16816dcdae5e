"""`mcptest login` as a person meets it, and the runs that use what it stored."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.servers import token_store
from mcptest_engine.servers.token_store import StoredToken
from tests.auth.conftest import follow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.auth.conftest import Realm

    MakeRealm = Callable[..., Realm]
    Command = Callable[..., subprocess.CompletedProcess[str]]

FOLLOWER = """\
#!{python}
import sys, urllib.request
urllib.request.urlopen(sys.argv[1]).read()
"""
SUITE = """\
servers: {{ api: {{ url: "{url}" }} }}
tools: [{{ name: who am I, tool: who, expect: [{{ target: "result.isError", matcher: {{ exists: false }} }}] }}]
"""


@pytest.fixture
def started(mcptest_command: str, clean_environ: dict[str, str]) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start `mcptest login` with its streams in hand; ended by force when the test is over."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [mcptest_command, "login", *arguments],
            env=clean_environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def address_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_without_a_browser_the_address_is_printed_and_its_answer_taken(
    make_realm: MakeRealm, started: Callable[..., subprocess.Popen[str]]
) -> None:
    realm = make_realm()
    process = started(realm.url, "--no-browser")
    asyncio.run(follow(address_of(process)))
    out, err = process.communicate(timeout=60)
    path = token_store.path_for(realm.url)
    assert process.returncode == 0, err
    first, second, third = out.splitlines()
    assert first == f"logged in at {realm.url}"
    assert second.startswith(f"the token is stored in ~/.mcptest/auth/{path.name} and valid until 20")
    assert second.endswith(" UTC; it is refreshed automatically")
    assert third == "every run on this URL uses it, unless its suite has an `auth`"
    assert err == "open this address in a browser on this machine to log in\n"
    stored = token_store.load(realm.url)
    assert stored is not None
    assert not any(secret in out + err for secret in stored.secrets())


def test_the_browser_is_sent_off(make_realm: MakeRealm, mcptest: Command, tmp_path: Path) -> None:
    realm = make_realm()
    browser = tmp_path / "browser"
    browser.write_text(FOLLOWER.format(python=sys.executable))
    browser.chmod(0o755)
    done = mcptest("login", realm.url, BROWSER=f"{browser} %s")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"logged in at {realm.url}"), done.stderr


def test_a_device_prints_where_to_go_and_what_to_type(make_realm: MakeRealm, mcptest: Command) -> None:
    realm = make_realm(pending=["authorization_pending"])
    done = mcptest("login", realm.url, "--device")
    assert done.returncode == 0, done.stderr
    uri = f"{realm.origin}/{realm.name}/type-it-in"
    assert done.stdout.splitlines()[:4] == [
        uri,
        "code: WDJB-MJHT",
        f"or, with the code in it: {uri}?code=WDJB-MJHT",
        f"logged in at {realm.url}",
    ]
    assert "it is valid for 300 s" in done.stderr


def test_a_login_that_fails_says_why_in_one_line_and_stores_nothing(make_realm: MakeRealm, mcptest: Command) -> None:
    realm = make_realm(registration=False)
    done = mcptest("login", realm.url, "--no-browser")
    assert (done.returncode, done.stdout) == (1, "")
    error, hint = done.stderr.splitlines()
    assert error.startswith(f"error: login at {realm.url} failed: the registration endpoint ")
    assert "--client-id" in hint
    assert token_store.load(realm.url) is None


def test_ctrl_c_ends_a_login_without_a_trace(
    make_realm: MakeRealm, started: Callable[..., subprocess.Popen[str]]
) -> None:
    realm = make_realm()
    process = started(realm.url, "--no-browser")
    assert address_of(process).startswith("http://")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "interrupted: nothing was stored"
    assert "Traceback" not in err
    assert token_store.load(realm.url) is None


def test_a_login_that_could_not_be_kept_is_not_begun(make_realm: MakeRealm, mcptest: Command, tmp_path: Path) -> None:
    realm = make_realm()
    (tmp_path / "a file").write_text("")
    done = mcptest("login", realm.url, HOME=str(tmp_path / "a file"))
    assert done.returncode == 1
    assert done.stderr.startswith("error: the stored token cannot be written: ~/.mcptest/auth/")
    assert realm.seen("mcp") == []


def test_the_status_tells_whether_and_until_when_and_never_the_token(mcptest: Command) -> None:
    url = "https://api.example.com/mcp"
    none = mcptest("login", url, "--status")
    assert (none.returncode, none.stdout) == (1, f"no token is stored for {url}\n")
    token_store.save(
        StoredToken(url=url, access_token="very-secret", last_refreshed=0.0, expires_at_unix=4e9, scope="a b")
    )
    some = mcptest("login", url, "--status")
    path = token_store.shown_path(token_store.path_for(url))
    assert (some.returncode, some.stdout) == (
        0,
        f"a token for {url} is stored in {path} and valid until 2096-10-02 07:06:40 UTC\nscope: a b\n",
    )
    assert some.stderr == ""


def test_a_token_that_is_over_is_said_to_be(mcptest: Command) -> None:
    url = "https://api.example.com/mcp"
    token_store.save(StoredToken(url=url, access_token="very-secret", last_refreshed=0.0, expires_at_unix=1.0))
    assert mcptest("login", url, "--status").stdout.endswith(" and expired at 1970-01-01 00:00:01 UTC; log in again\n")


def test_logging_out_removes_the_token(mcptest: Command) -> None:
    url = "https://api.example.com/mcp"
    token_store.save(StoredToken(url=url, access_token="very-secret", last_refreshed=0.0))
    done = mcptest("login", url, "--logout")
    assert (done.returncode, done.stdout) == (
        0,
        f"the token for {url} is removed; the server may still accept it until it expires\n",
    )
    assert token_store.load(url) is None
    assert mcptest("login", url, "--logout").stdout == f"no token is stored for {url}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("api.example.com",), "needs the http or https URL of a server"),
        (("https://me:pass@api.example.com/mcp",), "must not contain a user name or password"),
        (("http://api.example.com/mcp",), "tokens go only to https or to this machine"),
        (("https://a.example/mcp", "--status", "--logout"), "--status and --logout cannot be combined"),
        (("https://a.example/mcp", "--client-secret-env", "X"), "--client-secret-env requires --client-id"),
        (("https://a.example/mcp", "--client-id", "x", "--client-secret-env", "NOT_SET"), "env var `NOT_SET`"),
        (("https://a.example/mcp", "--scope", 'a" b'), "--scope needs scopes"),
        (("https://a.example/mcp", "--timeout", "0"), "--timeout"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_sent(
    mcptest: Command, arguments: tuple[str, ...], words: str
) -> None:
    done = mcptest("login", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert "pass@" not in done.stderr


def test_a_run_uses_the_stored_token_and_shows_it_nowhere(
    make_realm: MakeRealm, mcptest: Command, tmp_path: Path, started: Callable[..., subprocess.Popen[str]]
) -> None:
    realm = make_realm()
    process = started(realm.url, "--no-browser")
    asyncio.run(follow(address_of(process)))
    process.communicate(timeout=60)
    (tmp_path / "mcptest.yml").write_text(SUITE.format(url=realm.url))
    done = mcptest("run", "--reporter", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    stored = token_store.load(realm.url)
    assert stored is not None
    record = json.loads(done.stdout)
    assert record["servers"][0]["auth"] == "oauth"
    assert "your token is <[REDACTED]>" in done.stdout
    kept = "".join(path.read_text() for path in (tmp_path / ".mcptest").rglob("*") if path.is_file())
    assert not any(secret in done.stdout + done.stderr + kept for secret in stored.secrets())
    assert [path.name for path in (tmp_path / "home" / ".mcptest").iterdir()] == ["auth"]
