"""What stands under `expect`: assertions, and sets of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ASSERT_SET = "assert-set"


def assertions_of(items: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Every assertion of a sound list, those inside sets included, in order."""
    for item in items:
        if ASSERT_SET in item:
            yield from item[ASSERT_SET]["assertions"]
        else:
            yield item
