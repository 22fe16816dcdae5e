"""`mcptest diff`: compare two catalogs of a server, and find changes that break clients of the old one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mcptest_engine.cli.common import colours, json_text, read_json, write_out
from mcptest_engine.cli.target import listed_surface, target_options
from mcptest_engine.core.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.safety.tool_surface import Surface

Held = tuple["dict[str | None, Surface]", frozenset[str], "Callable[[str], str]"]


@click.command()
@click.argument("old", type=click.Path())
@click.argument("new", required=False, type=click.Path())
@target_options
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@click.option("--output", type=click.Path(), metavar="PATH", help="Write the output to this file instead of stdout.")
@click.pass_context
def command(ctx: click.Context, /, old: str, new: str | None, form: str, output: str | None, **flags: object) -> None:
    """Compare two saved catalogs, or a saved one with a server. Exit 1 if a change may break a client.

    \b
    Example:
      mcptest diff old.json new.json --format markdown
    """
    from mcptest_engine.core.schemas import DEEPEST, nested_deeper_than
    from mcptest_engine.reporting.catalog_diff import diff_json, diff_markdown, diff_text
    from mcptest_engine.safety.changes.catalogs import catalog_changes

    named = any(flags[name] for name in ("url", "argv", "server", "config", "env", "bearer_token_env"))
    if new is not None and named:
        raise UsageError("both a second catalog and a server are named", hint="name one")
    if new is None and not named:
        raise UsageError("only one catalog is named", hint="name the new one, or a server: --url, --command, --server")
    before = _read_catalog(old)
    after = _read_catalog(new) if new is not None else _list_catalog(flags)
    sections = before[1] & after[1]
    if not sections:
        raise UsageError("the two catalogs have no list in common", hint="compare tools with tools")
    try:
        compared = catalog_changes(before[0], after[0], sections=sections)
    except RecursionError:
        parts = [[*held.tools, *held.prompts, *held.resources, *held.templates] for held in before[0].values()]
        is_old = nested_deeper_than(parts, DEEPEST)
        what = f"`{old if is_old or new is None else new}`" if is_old or new else "the server's catalog"
        raise UsageError(f"{what} is nested too deeply to be compared", hint=f"at most {DEEPEST} levels are") from None
    if form == "json":
        text = json_text(diff_json(compared))
    elif form == "markdown":
        text = diff_markdown(compared)
    else:
        text = diff_text(compared, colours(sys.stdout) if output is None else lambda _code, plain: plain)
    write_out(after[2](text), output)
    ctx.exit(ExitCode.FAILED if compared.breaks else ExitCode.PASSED)


def _read_catalog(file: str) -> Held:
    """Read the catalog in a file. Raises: UsageError when that fails."""
    from mcptest_engine.safety.saved_catalog import sections_in, surfaces_in

    hint = "save a catalog with: mcptest tools --format json --output FILE"
    document = read_json(file, hint=hint)
    surfaces = surfaces_in(document, file=f"`{file}`")
    if _is_a_page(document):
        raise UsageError(
            f"`{file}` contains one page of a list (it has a `nextCursor`); the other pages are missing", hint=hint
        )
    return surfaces, sections_in(document), str


def _is_a_page(document: object) -> bool:
    """Whether the file holds only some pages of a list, so that missing entries mean nothing."""
    parts = [document]
    if isinstance(document, dict):
        servers = document.get("servers")
        held = servers.values() if isinstance(servers, dict) else servers if isinstance(servers, list) else ()
        parts += [document.get("result"), *held]
    return any(isinstance(part, dict) and part.get("nextCursor") is not None for part in parts)


def _list_catalog(flags: Mapping[str, object]) -> Held:
    """List a server's catalog; a list that it does not return is not compared."""
    listed = listed_surface(flags)
    failed = {name.replace("resources/templates", "resourceTemplates") for name in listed.failed}
    lists = frozenset({"tools", "prompts", "resources", "resourceTemplates", "instructions"})
    return {None: listed.surface}, lists - failed, listed.redact
