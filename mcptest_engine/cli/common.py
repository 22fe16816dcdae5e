"""Shared by several commands: finding and loading the suite, `--var`, colour, and printing problems."""

from __future__ import annotations

import errno
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcptest_engine.core.environment import is_ci
from mcptest_engine.core.errors import McptestError, PolicyDenied, Problem, Severity, SuiteError, UsageError
from mcptest_engine.core.text import counted
from mcptest_engine.workspace.workspace import SUITE_FILES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.suite.load import CheckedSuite, LoadedSuite, LoadOptions
    from mcptest_engine.workspace.workspace import Workspace

WARNINGS_SHOWN = 3
_LARGEST_JSON = 64 * 1024 * 1024


def suite_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """FILE, `--config FILE` and `--var K=V`, for every command that reads a suite."""
    function = click.option("--var", "variables", multiple=True, metavar="K=V", help="Set a suite variable.")(function)
    function = click.option("--config", type=click.Path(), metavar="FILE", help="The suite; the same as FILE.")(
        function
    )
    return click.argument("file", required=False, type=click.Path())(function)


def suites_options(function: Callable[..., object]) -> Callable[..., object]:
    """FILE…, `--config FILE` and `--var K=V`, for commands that read any number of suites."""
    function = click.option("--var", "variables", multiple=True, metavar="K=V", help="Set a suite variable.")(function)
    function = click.option("--config", type=click.Path(), metavar="FILE", help="The suite; the same as FILE.")(
        function
    )
    return click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path())(function)


def suite_path(file: str | None, config: str | None) -> Path:
    """The named suite, else `mcptest.yaml` or `mcptest.yml` in this folder. Raises: UsageError."""
    if file is not None and config is not None and file != config:
        raise UsageError(
            f"two suites are named: `{file}` and `{config}`", hint="name one: this command takes one suite"
        )
    named = file or config
    if named is not None:
        return Path(named)
    for name in SUITE_FILES:
        if Path(name).is_file():
            return Path(name)
    raise UsageError(
        f"no suite named, and neither {' nor '.join(f'`{name}`' for name in SUITE_FILES)} is here",
        hint="name one: mcptest run FILE; or all below this folder: mcptest run .; or try the demo: mcptest demo",
    )


def parse_variables(pairs: Iterable[str], *, flag: str = "--var") -> dict[str, str]:
    """Parse `K=V` pairs. Raises: UsageError, which names `flag`, for one without "="."""
    variables = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"`{flag} {pair}` is not of the form K=V", hint=f"for example: {flag} REGION=eu-west")
        variables[name] = value
    return variables


def announce_new_folder(file: Path) -> None:
    """Say on stderr that a folder is created for a file, before it is written: the name may be misspelt."""
    from mcptest_engine.core.sanitise import one_line

    if not file.parent.exists():
        sys.stderr.write(f"note: the folder `{one_line(str(file.parent), 200)}` is created\n")


def load_options(
    path: Path, workspace: Workspace, variables: Mapping[str, str], *, secrets: Mapping[str, str] | None = None
) -> LoadOptions:
    """How to read suites for this command: this process's environment, imports only from the workspace.

    `secrets` are variables that were given on the command line instead.
    """
    from mcptest_engine.suite.load import LoadOptions

    return LoadOptions(
        variables=variables,
        environ={**os.environ, **(secrets or {})},
        workspace_root=workspace.root,
        allow_outside=path.is_absolute(),
    )


def check(path: Path, workspace: Workspace, variables: Mapping[str, str]) -> CheckedSuite:
    """The suite and all its problems."""
    from mcptest_engine.suite.load import check_suite

    checked = check_suite(path, load_options(path, workspace, variables))
    if checked.suite is not None:
        refresh_schema(checked.suite)
    return checked


def refresh_schema(suite: LoadedSuite) -> None:
    """Update the schema file that the suite names, in an existing `.mcptest`. Does nothing under CI."""
    if is_ci(os.environ):
        return
    from mcptest_engine.workspace.schema_file import save_schema

    save_schema(suite.path, suite.data, make=False)


def load(path: Path, workspace: Workspace, variables: Mapping[str, str], *, strict: bool = False) -> LoadedSuite:
    """Load the suite and print its warnings on stderr. Raises: SuiteError; under `strict` for warnings as well."""
    checked = check(path, workspace, variables)
    # the tree stays in memory as long as the process: collecting garbage in it again and again is a fifth of a large run
    gc.freeze()
    errors = [problem for problem in checked.problems if problem.severity is Severity.ERROR]
    if checked.suite is None or errors or (strict and checked.problems):
        raise SuiteError(checked.problems)
    if checked.problems and _is_news(checked.problems):
        show_problems(checked.problems[:WARNINGS_SHOWN])
        more = len(checked.problems) - WARNINGS_SHOWN
        if more > 0:
            sys.stderr.write(f"and {counted(more, 'more warning')}; `mcptest validate` shows them\n")
    return checked.suite


def _is_news(problems: Sequence[Problem]) -> bool:
    """Whether this command has not printed them yet: some commands read the same suite more than once."""
    context = click.get_current_context(silent=True)
    printed = set() if context is None else context.meta.setdefault("mcptest.problems_told", set())
    text = "\n".join(map(str, problems))
    is_news = text not in printed
    printed.add(text)
    return is_news


def show_problems(problems: Sequence[Problem], *, running: bool = True) -> None:
    """Print problems on stderr for people, in file order, with their count."""
    paint = colours(sys.stderr)
    for problem in problems:
        first, *rest = str(problem).split("\n")
        code = "33" if problem.severity is Severity.WARNING else "31"
        sys.stderr.write("\n".join([paint(code, first), *rest]) + "\n")
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    if errors:
        suffix = "; nothing was run" if running else ""
        sys.stderr.write(f"{counted(errors, 'problem')}{suffix}\n")


def show_error(error: BaseException, severity: str = "error") -> None:
    """Print an error and its hint on stderr."""
    from mcptest_engine.core.sanitise import sanitise

    sys.stderr.write(f"{severity}: {sanitise(str(getattr(error, 'message', error)))}\n")
    hint = getattr(error, "hint", None)
    if hint:
        sys.stderr.write(f"  {sanitise(hint)}\n")


def read_json(file: str, *, hint: str | None = None) -> Any:
    """Parse the JSON of a file that a person named, `-` for stdin. Raises: UsageError that says what is wrong with it."""
    from mcptest_engine.core.safe_json import JsonFault, load_json
    from mcptest_engine.workspace.files import read_named_file

    try:
        return load_json(sys.stdin.buffer.read() if file == "-" else read_named_file(file, largest=_LARGEST_JSON))
    except OSError as wrong:
        raise UsageError(f"`{file}` cannot be read: {wrong.strerror or wrong}", hint=hint) from None
    except JsonFault as wrong:
        place = "".join(f":{number}" for number in wrong.place or ())
        raise UsageError(f"{file}{place}: {wrong.reason}", hint=hint) from None


def json_text(value: object) -> str:
    """Format `value` as indented JSON that is safe on a terminal, with a newline. Raises: McptestError when it is nested too
    deeply.
    """
    from mcptest_engine.core.safe_json import safe_json

    try:
        return safe_json(value, indent=2) + "\n"
    except RecursionError:
        raise McptestError("the answer is nested too deeply to be printed") from None


def supports_colour(stream: object) -> bool:
    """Whether to use colour: on a terminal, unless `NO_COLOR` is set or the terminal is a dumb one."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_terminal(stream)


def is_terminal(stream: Any) -> bool:
    """Whether the stream is a terminal; one that was closed before the start is None."""
    try:
        return stream is not None and bool(stream.isatty())
    except ValueError:
        return False


def colours(stream: object) -> Callable[[str, str], str]:
    """Make a function that colours text for `stream`: (SGR code, text) -> text."""
    if not supports_colour(stream):
        return lambda _code, text: text
    return lambda code, text: f"\x1b[{code}m{text}\x1b[0m"


def find_here() -> Workspace:
    """The workspace of the directory in which mcptest was started."""
    from mcptest_engine.workspace.workspace import find_workspace

    return find_workspace(Path.cwd())


def refuse_under_ci(message: str, *, hint: str, allowed: bool) -> None:
    """Raises: PolicyDenied under `CI`, unless allowed there."""
    if not allowed and is_ci(os.environ):
        raise PolicyDenied(message, hint=hint)


def write_out(text: str, output: str | None) -> None:
    """Write to the file `output`, or to stdout. Raises: McptestError when the file cannot be written."""
    if output is None:
        sys.stdout.write(text)
        return
    from mcptest_engine.workspace.suite_file import write_suite

    try:
        if not Path(output).absolute().parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        write_suite(output, text.encode())
    except OSError as wrong:
        raise McptestError(f"`{output}` was not written: {wrong.strerror or wrong}") from None


def save_record(workspace: Workspace, record: RunRecord, *, is_last: bool = True) -> Path | None:
    """Store the record in the workspace; a failure causes a warning, never another verdict, and returns None.

    With several runs in one command, only the last one cleans up old records, flushes the disk, and mentions the workspace.
    """
    try:
        path = workspace.save_run(record.to_json(streamed=True), is_last=is_last)
    except (OSError, McptestError) as wrong:
        show_error(wrong, "warning")
        return None
    if is_last:
        note_stray(workspace)
    return path


def note_stray(workspace: Workspace) -> None:
    """Say where runs are saved when the place is unexpected."""
    if workspace.is_stray_for(Path.cwd()):
        shown = os.path.relpath(workspace.data_dir)
        sys.stderr.write(
            f"note: the run is saved in {shown}, the nearest {workspace.data_dir.name} above this folder\n"
        )
