"""What of `cache` and `effects` has no effect. Source of the precedence: upstream-facts 6.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.core.kinds import TestKind
from mcptest_engine.core.words import quoted
from mcptest_engine.suite.items import ASSERT_SET

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.suite.merge import PlacedTest
    from mcptest_engine.suite.places import Places

EXTERNAL = "external"
_MORE_THAN_ONE_ANSWER = ("fault", "verify", "client")
_BESIDE_THE_ANSWER = ("notifications", "server_requests")


def check_cache(test: PlacedTest, server: Mapping[str, Any] | None, *, hooks: bool, places: Places) -> None:
    """Tell of a `cache: always` that cannot be, and of a misspelt effect. `server` is None where it is not known."""
    entry = test.entry
    effects = entry.get("effects")
    for index, effect in enumerate(effects if isinstance(effects, list) else ()):
        if isinstance(effect, str) and effect != EXTERNAL and (near := did_you_mean(effect[:80].lower(), (EXTERNAL,))):
            message = f"{quoted(effect)} is not a known effect and does not prevent caching"
            places.warn(test.file, (*test.path, "effects", index), message, near)
    if entry.get("cache") != "always":
        return
    for why in _reasons(test, server, hooks=hooks):
        message = f"`cache: always` has no effect: {why}"
        places.warn(test.file, (*test.path, "cache"), message, "remove `cache`, or remove what prevents caching")
        return


def _reasons(test: PlacedTest, server: Mapping[str, Any] | None, *, hooks: bool) -> Iterator[str]:
    entry = test.entry
    effects = entry.get("effects")
    if hooks:
        yield "nothing is cached in a suite with `hooks`"
    if isinstance(effects, list) and EXTERNAL in effects:
        yield f"nothing is cached of a test with `effects: [{EXTERNAL}]`"
    for key in _MORE_THAN_ONE_ANSWER:
        if key in entry:
            yield f"nothing is cached of a test with `{key}`"
    for target in _targets(entry.get("expect")):
        if target.startswith(_BESIDE_THE_ANSWER):
            yield f"nothing is cached of a test that looks at {quoted(target)}"
    over_http = server is not None and "url" in server and "server_version" not in server
    if over_http and test.kind is not TestKind.COMPLIANCE:
        yield "nothing is cached of a server with `url` and no `server_version`"


def _targets(expect: Any) -> Iterator[str]:
    """What a test looks at, as far as its `expect`, which may be of any shape, says so."""
    items = expect.get("assertions") if isinstance(expect, dict) else expect
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            continue
        if isinstance(item.get(ASSERT_SET), dict):
            yield from _targets(item[ASSERT_SET])
        if isinstance(target := item.get("target"), str):
            yield target
