"""Where tokens of `mcptest login` live: whole or not at all, for one user's eyes, and told when something is the matter."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.servers import token_store
from mcptest_engine.servers.token_store import StoredToken, StoreTrouble
from mcptest_engine.workspace.workspace import find_workspace

if TYPE_CHECKING:
    from pathlib import Path

URL = "https://api.example.com/mcp"
TOKEN = StoredToken(
    url=URL, access_token="secret-access", last_refreshed=1.0, refresh_token="secret-refresh", scope="a b"
)


def test_a_token_comes_back_as_it_was_stored() -> None:
    token_store.save(TOKEN)
    assert token_store.load(URL) == TOKEN


def test_a_token_lies_under_the_hash_of_its_url_where_only_its_owner_looks(home: Path) -> None:
    path = token_store.save(TOKEN)
    assert path == home / ".mcptest" / "auth" / f"{hashlib.sha256(URL.encode()).hexdigest()}.json"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert json.loads(path.read_text())["access_token"] == "secret-access"
    assert list(path.parent.iterdir()) == [path]


def test_a_directory_that_others_could_read_is_closed_to_them(home: Path) -> None:
    (home / ".mcptest" / "auth").mkdir(parents=True, mode=0o755)
    path = token_store.save(TOKEN)
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_token_is_for_exactly_its_url() -> None:
    token_store.save(TOKEN)
    assert token_store.load(URL + "/") is None


def test_a_traceback_shows_no_token() -> None:
    assert "secret" not in repr(TOKEN)


@pytest.mark.parametrize(
    "text",
    ["", '{"url": "https://api.exam', "[]", "[" * 50_000, "null", '{"url": 1}', b"\xff\xfe".decode("latin-1")]
    + [json.dumps({**TOKEN._asdict(), name: 7}) for name in ("access_token", "refresh_token", "auth_method")]
    + [json.dumps({**TOKEN._asdict(), "expires_at_unix": "soon"}), json.dumps({"access_token": "x", "url": URL})],
)
def test_a_file_that_is_torn_or_foreign_is_told_with_its_place(text: str) -> None:
    path = token_store.save(TOKEN)
    path.write_text(text)
    with pytest.raises(StoreTrouble) as caught:
        token_store.load(URL)
    assert caught.value.message == (
        f"the file of the stored token, ~/.mcptest/auth/{path.name}, contains no token of mcptest"
    )
    assert caught.value.hint == f"`mcptest login {URL}` writes it again; `--logout` removes it"


def test_a_token_of_another_url_is_not_taken() -> None:
    path = token_store.save(TOKEN)
    path.write_text(json.dumps({**TOKEN._asdict(), "url": "https://other.example/mcp"}))
    with pytest.raises(StoreTrouble, match="belongs to another URL"):
        token_store.load(URL)


def test_members_of_a_later_version_are_passed_over() -> None:
    path = token_store.save(TOKEN)
    path.write_text(json.dumps({**json.loads(path.read_text()), "colour": "blue"}))
    assert token_store.load(URL) == TOKEN


def test_a_home_that_cannot_be_written_is_told_before_it_matters(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "a file").write_text("")
    monkeypatch.setenv("HOME", str(home / "a file"))
    with pytest.raises(StoreTrouble, match=r"cannot be written: .*Not a directory"):
        token_store.prepare(URL)
    assert token_store.load(URL) is None


def test_a_token_is_removed_whatever_state_it_is_in() -> None:
    token_store.save(TOKEN).write_text("torn")
    assert (token_store.remove(URL), token_store.remove(URL)) == (True, False)


def test_the_lock_is_for_one_at_a_time_and_free_again_afterwards() -> None:
    async def main() -> list[str]:
        order: list[str] = []
        inside = asyncio.Event()

        async def first() -> None:
            async with token_store.locked(URL, 30):
                inside.set()
                with pytest.raises(StoreTrouble, match="is being refreshed by another process"):
                    await second()
                order.append("first")

        async def second() -> None:
            await inside.wait()
            async with token_store.locked(URL, 0):
                order.append("second")

        await first()
        await second()
        return order

    assert asyncio.run(main()) == ["first", "second"]


def test_stored_tokens_make_no_workspace_of_a_home(home: Path) -> None:
    token_store.save(TOKEN)
    below = home / "work" / "project"
    below.mkdir(parents=True)
    assert find_workspace(below).root == below
