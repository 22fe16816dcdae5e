"""Chooses the tools of a generated suite: the named ones, or a page of the server's list in the order of names.

See docs/how-to/generate-a-suite.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.authoring.catalog_texts import nameable_tools
from mcptest_engine.core.errors import UsageError, did_you_mean
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted
from mcptest_engine.core.values import dataclass
from mcptest_engine.safety.execution_policy import MANY_TOOLS, ExecutionPolicy

if TYPE_CHECKING:
    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.servers.catalog import Catalog

PAGE = 25
"""The number of tools, resources and prompts in one page of a scaffold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaffoldOptions:
    """The options of a scaffold.

    `tools` names the only ones wanted; `cursor` is an offset into the sorted tool list. `include_others` adds tests of
    resources and prompts; None: unless `tools` are named. `page` is the largest number of tools, unless `all` are wanted.
    `policy` decides whose tests may run at once; the others have a `skip:`.
    """

    tools: tuple[str, ...] | None = None
    include_edge: bool = True
    include_violation: bool = True
    probe: bool = False
    include_others: bool | None = None
    all: bool = False
    cursor: int = 0
    page: int = PAGE
    policy: ExecutionPolicy = MANY_TOOLS


DEFAULT_OPTIONS = ScaffoldOptions()


def cursor_of(value: int | str) -> int:
    """Parse a cursor, an integer or its text. Raises: UsageError."""
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise UsageError(f"`{one_line(text, 40)}` is not a cursor", hint="use the `next_cursor` of the previous page")
    return int(text)


def chosen_tools(
    catalog: Catalog, options: ScaffoldOptions, notes: list[str], *, more: int = 0
) -> tuple[list[JsonMapping], int, int | None]:
    """The tools of the requested page, by name; where the entries after them begin; the cursor of the next page.

    `more` is how many entries follow the tools on later pages. `notes` say which named tools do not exist. Raises: UsageError
    for a cursor behind the last entry.
    """
    named = nameable_tools(catalog.tools, notes)
    if options.tools is not None:
        for wanted in dict.fromkeys(options.tools):
            if wanted not in named:
                near = did_you_mean(wanted, named)
                notes.append(f"no tool is named `{one_line(wanted, 80)}`" + (f": {near}" if near else ""))
        named = {name: tool for name, tool in named.items() if name in options.tools}
    names = sorted(named)
    after_tools = max(len(names), 1)  # without tools, the first page has cursor 0 too
    if options.cursor and options.cursor >= (after_tools + more if more else len(names)):
        message = f"the cursor {options.cursor} is past the last of {counted(len(names), 'tool')}"
        raise UsageError(message, hint="use the `next_cursor` of the previous page, or none")
    end = after_tools + more if options.all else options.cursor + options.page
    if end < len(names):
        shown = f"{options.cursor + 1} to {end}" if options.cursor else f"the first {end}"
        notes.append(f"the catalog is truncated: {shown} of {len(names)} tools are covered; continue with cursor {end}")
    elif options.cursor < after_tools and not options.all:
        end = after_tools  # the entries after the tools begin their own page
    return [named[name] for name in names[options.cursor : end]], after_tools, end if end < after_tools + more else None
