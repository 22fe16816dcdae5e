"""`mcptest cache` and `mcptest cache clear`: the results that `run --cache` keeps, counted or deleted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcptest_engine.cli.common import find_here, json_text
from mcptest_engine.core.errors import McptestError
from mcptest_engine.core.words import counted

if TYPE_CHECKING:
    from mcptest_engine.workspace.result_cache import CacheSize, ResultCache

_dir_option = click.option(
    "--cache-dir", type=click.Path(), metavar="DIR", help="The results in DIR, as `mcptest run --cache-dir` keeps them."
)


@click.group(invoke_without_command=True)
@_dir_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def group(ctx: click.Context, cache_dir: str | None, form: str) -> None:
    """Show how many results `mcptest run --cache` has kept, how much room they take, and where they are.

    \b
    Example:
      mcptest cache clear
    """
    ctx.obj = cache_dir
    if ctx.invoked_subcommand is not None:
        return
    cache = _cache(cache_dir)
    found = cache.size()
    if form == "json":
        told = {"folder": str(cache.folder), "results": found.results, "bytes": found.size}
        sys.stdout.write(json_text(told))
    else:
        sys.stdout.write(f"{_told(found)} in {_place(cache.folder)}\n")


@group.command("clear")
@_dir_option
@click.pass_context
def clear(ctx: click.Context, cache_dir: str | None) -> None:
    """Delete every kept result, and nothing else.

    \b
    Example:
      mcptest cache clear
    """
    cache = _cache(cache_dir if cache_dir is not None else ctx.obj)
    try:
        deleted = cache.clear()
    except OSError as wrong:
        raise McptestError(f"cannot delete what is in {cache.folder}: {wrong.strerror or wrong}") from wrong
    sys.stdout.write(f"deleted {_told(deleted)} in {_place(cache.folder)}\n")


def _cache(cache_dir: str | None) -> ResultCache:
    from mcptest_engine.workspace.result_cache import ResultCache, results_dir

    return ResultCache(results_dir(find_here()) if cache_dir is None else Path(cache_dir).absolute())


def _told(found: CacheSize) -> str:
    return f"{counted(found.results, 'result')} ({_size_text(found.size)})"


def _size_text(size: int) -> str:
    if size < 1024:
        return counted(size, "byte")
    return f"{size / 1024:.1f} KiB" if size < 1024 * 1024 else f"{size / 1024 / 1024:.1f} MiB"


def _place(folder: Path) -> str:
    return str(folder.relative_to(Path.cwd())) if folder.is_relative_to(Path.cwd()) else str(folder)
