"""`mcptest fmt`: format suites, or convert their assertions to the other form."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mcptest_engine.cli.common import show_error, show_problems, suite_path
from mcptest_engine.core.errors import ExitCode, SuiteError, UsageError
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted
from mcptest_engine.suite.text_edits import EditRefused


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@click.option(
    "--short", "form", flag_value="short", help="Write assertions in the short form, `text: { contains: x }`."
)
@click.option(
    "--long", "form", flag_value="long", help="Write assertions in the long form, a list of `target` and `matcher`."
)
@click.option("--check", "is_check", is_flag=True, help="Write nothing. Exit with 1 if a file would change.")
@click.pass_context
def command(ctx: click.Context, files: tuple[str, ...], form: str | None, is_check: bool) -> None:
    """Format suites, or convert their assertions between the short and the long form.

    Without `--short` or `--long`, indentation, spaces and quotes become uniform, and the line that names the schema for
    editors gets the right path. With one of them, everything but the
    assertions stays as it is, comments included. An assertion that the other form cannot express stays, and is listed.

    \b
    Examples:
      mcptest fmt mcptest.yaml
      mcptest fmt --short mcptest.yaml
      mcptest fmt --long --check suites/*.yml
    """
    would_change = is_refused = False
    for path in [Path(file) for file in files] or [suite_path(None, None)]:
        name = one_line(str(path))
        try:
            text = _read_suite(path)
            after, summary, left = _formatted(text, form, path)
        except SuiteError as broken:
            show_problems(broken.problems, running=False)
            is_refused = True
            continue
        except EditRefused as refused:
            show_error(EditRefused(f"{name}: {refused.message}", hint=refused.hint))
            is_refused = True
            continue
        for place, reason in left:
            sys.stderr.write(f"{name}:{place}: unchanged: {reason}\n")
        if after == text:
            sys.stdout.write(f"{name}: nothing to change\n")
            continue
        would_change = True
        if not is_check:
            _write(path, after)
        sys.stdout.write(f"{name}: {'would be ' if is_check else ''}{summary}\n")
    ctx.exit(ExitCode.INVALID if is_refused else ExitCode.FAILED if is_check and would_change else ExitCode.PASSED)


def _formatted(text: str, form: str | None, path: Path) -> tuple[str, str, list[tuple[int, str]]]:
    """The new text, a description of the changes, and what could not be converted, with its line."""
    if form is None:
        from mcptest_engine.suite.tidy import tidy
        from mcptest_engine.workspace.schema_file import with_mended_schema_line

        return with_mended_schema_line(tidy(text), path), "formatted", []
    from mcptest_engine.suite.assertion_forms import with_assertions

    found = with_assertions(text, short=form == "short")
    summary = f"changed: the assertions in {counted(found.changed, 'place')} to the {form} form"
    return found.text, summary, [(one.line, one.reason) for one in found.left]


def _read_suite(path: Path) -> str:
    from mcptest_engine.suite.yaml import decode, file_bytes, read_tree

    data = file_bytes(path, file=str(path))
    text = decode(data, file=str(path))
    read_tree(text, file=str(path))  # the error says where the text cannot be parsed
    return "\ufeff" + text if data.startswith(b"\xef\xbb\xbf") else text


def _write(path: Path, text: str) -> None:
    from mcptest_engine.workspace.suite_file import write_suite

    try:
        write_suite(path, text.encode("utf-8", "surrogatepass"))
    except OSError as wrong:
        raise UsageError(f"{one_line(str(path))}: the file cannot be written: {wrong.strerror or wrong}") from None
