"""The public API is what docs/reference/stability.md promises: a change of it shows here, and is made on purpose.

`MCPTEST_UPDATE_GOLDEN=1` writes the surface anew. Before 1.0 a removed name or parameter belongs in the changelog.
"""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import TYPE_CHECKING

import mcptest

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = Path(__file__).with_name("public_surface.txt")
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python-api.md"
DATA = frozenset({"RunRecord", "Suite", "TestResult"})
"""Classes whose members are those of the record's JSON and of the suite language, which tests of their own hold."""


def surface() -> Iterator[str]:
    for name in mcptest.__all__:
        found = getattr(mcptest, name)
        if inspect.isfunction(found):
            yield f"{name}{inspect.signature(found)}"
        elif inspect.isclass(found):
            bases = ", ".join(base.__name__ for base in found.__mro__[1:-1] if base.__module__.startswith("mcptest"))
            yield f"class {name}({bases})"
            if name not in DATA:
                yield from members(name, found)
        else:
            yield name


def members(name: str, of: type) -> Iterator[str]:
    for member, value in sorted(vars(of).items()):
        if member.startswith("_"):
            continue
        plain = "async " if inspect.iscoroutinefunction(value) else ""
        yield (
            f"  {name}.{member}"
            if isinstance(value, property)
            else f"  {plain}{name}.{member}{inspect.signature(value)}"
        )


def test_the_public_surface_is_as_it_was() -> None:
    found = "\n".join(surface()) + "\n"
    if os.environ.get("MCPTEST_UPDATE_GOLDEN"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8")


def test_every_public_name_is_documented_and_importable() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [
        name
        for name in mcptest.__all__
        if f"`{name}" not in page and f"`await {name}" not in page and name != "__version__"
    ] == []
    assert set(dir(mcptest)) == set(mcptest.__all__)
