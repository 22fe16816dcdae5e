"""`mcptest cache` and `mcptest cache clear`: count or delete what `--cache` has stored.

Besides results of tests, that may be verdicts of scorers and answers of models.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcptest_engine.cli.common import find_here, json_text
from mcptest_engine.core.errors import McptestError
from mcptest_engine.core.text import counted

if TYPE_CHECKING:
    from mcptest_engine.workspace.result_cache import CacheSize, ResultCache

_dir_option = click.option(
    "--cache-dir", type=click.Path(), metavar="DIR", help="The folder of `mcptest run --cache-dir`."
)


@click.group(invoke_without_command=True)
@_dir_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def group(ctx: click.Context, cache_dir: str | None, form: str) -> None:
    """Show what `--cache` has saved, its size and its place: results, verdicts of scorers, answers of models.

    \b
    Example:
      mcptest cache clear
    """
    ctx.obj = cache_dir
    if ctx.invoked_subcommand is not None:
        return
    cache = _cache(cache_dir)
    found = cache.size()
    others = {word: (other, other.size()) for word, other in _others(cache_dir).items()}
    if form == "json":
        document: dict[str, Any] = {"folder": str(cache.folder), "results": found.results, "bytes": found.size}
        for word, (other, size) in others.items():
            document[f"{word}s"] = {"folder": str(other.folder), "count": size.results, "bytes": size.size}
        sys.stdout.write(json_text(document))
        return
    sys.stdout.write(f"{_size_line(found)} in {_folder_text(cache.folder)}\n")
    for word, (other, size) in others.items():
        if size.results:
            sys.stdout.write(f"{_size_line(size, word)} in {_folder_text(other.folder)}\n")


@group.command("clear")
@_dir_option
@click.pass_context
def clear(ctx: click.Context, cache_dir: str | None) -> None:
    """Delete everything that `--cache` has saved.

    \b
    Example:
      mcptest cache clear
    """
    cache_dir = cache_dir if cache_dir is not None else ctx.obj
    for word, cache in {"result": _cache(cache_dir), **_others(cache_dir)}.items():
        try:
            deleted = cache.clear()
        except OSError as wrong:
            raise McptestError(f"cannot delete what is in {cache.folder}: {wrong.strerror or wrong}") from wrong
        if deleted.results or word == "result":
            sys.stdout.write(f"deleted {_size_line(deleted, word)} in {_folder_text(cache.folder)}\n")


def _cache(cache_dir: str | None) -> ResultCache:
    from mcptest_engine.workspace.result_cache import ResultCache, open_cache

    return open_cache(find_here(), "results") if cache_dir is None else ResultCache(Path(cache_dir).absolute())


def _others(cache_dir: str | None) -> dict[str, ResultCache]:
    """The other stored files, each with the word for one of them; a user's own folder holds results alone."""
    from mcptest_engine.workspace.result_cache import open_cache

    if cache_dir is not None:
        return {}
    here = find_here()
    return {"verdict": open_cache(here, "verdicts"), "answer": open_cache(here, "models")}


def _size_line(found: CacheSize, word: str = "result") -> str:
    return f"{counted(found.results, word)} ({_size_text(found.size)})"


def _size_text(size: int) -> str:
    if size < 1024:
        return counted(size, "byte")
    return f"{size / 1024:.1f} KiB" if size < 1024 * 1024 else f"{size / 1024 / 1024:.1f} MiB"


def _folder_text(folder: Path) -> str:
    return str(folder.relative_to(Path.cwd())) if folder.is_relative_to(Path.cwd()) else str(folder)
