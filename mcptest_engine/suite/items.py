"""What stands under `expect`: assertions, and sets of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcptest_engine.suite.yaml import Pointer

ASSERT_SET = "assert-set"


def assertions_of(items: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Every assertion of a sound list, those inside sets included, in order."""
    for item in items:
        if ASSERT_SET in item:
            yield from item[ASSERT_SET]["assertions"]
        else:
            yield item


def assertions_in(expect: Any, path: Pointer) -> Iterator[tuple[Pointer, Mapping[str, Any]]]:
    """Every assertion of an `expect` of any shape, with its place; `path` leads to the `expect`."""
    below = isinstance(expect, dict)
    items, path = (expect.get("assertions"), (*path, "assertions")) if below else (expect, path)
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if not isinstance(item, dict):
            continue
        if isinstance(inner := item.get(ASSERT_SET), dict):
            yield from assertions_in(inner, (*path, index, ASSERT_SET))
        else:
            yield (*path, index), item
