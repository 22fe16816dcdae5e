"""Which tests get a process of their own of a server, as `fresh:` on the test or on the server says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from mcptest_engine.suite.load import LoadedSuite


def fresh_groups(suite: LoadedSuite) -> frozenset[str]:
    """The groups of which a test says `fresh: group`, which then holds for all of it."""
    return frozenset(
        entry.data["group"] for entry in suite.tests if entry.data.get("fresh") == "group" and "group" in entry.data
    )


def fresh_of(data: Mapping[str, Any], server: Mapping[str, Any], groups: Collection[str]) -> bool | str:
    """What holds for a test on a server: False, True or "group". Only what mcptest starts can be fresh."""
    if not server.get("command"):
        return False
    asked: bool | str | None = data.get("fresh")
    if asked is None and data.get("group") in groups:
        return "group"
    if asked is not None:
        return asked
    declared: bool | str = server.get("fresh", False)
    return False if declared == "suite" else declared


def has_fixed_port(server: Mapping[str, Any]) -> bool:
    """Whether a program is started that has one port, so that there can be only one of it."""
    return bool(server.get("command")) and "url" in server and urlsplit(server["url"]).port != 0
