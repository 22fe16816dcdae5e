"""The pipeline that `init --ci` writes: it installs what the server needs, and runs the suite on every push.

An existing pipeline is never changed. Pure, except for `write` and for looking at the files of the folder.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import McptestError, UsageError
from mcptest_engine.core.values import dataclass
from mcptest_engine.workspace.files import leads_inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REPORTS = "mcptest-reports"
_FILES = {"github": Path(".github") / "workflows" / "mcptest.yml", "gitlab": Path(".gitlab-ci.yml")}
SOURCE_VARIABLE = "MCPTEST_SOURCE"
"""The variable from which CI installs mcptest, where the file does not say it."""
INDEX_NAME: str | None = None
"""The name of mcptest on pip's default index. None: it is not published there, and the name may belong to another project."""
_NAMED = re.compile(r"(?<!\$)\$\{(?:env\.)?([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The place of a pipeline: `root` is the repository's; `folder` is where mcptest starts, relative to it or ""."""

    kind: str
    root: Path
    folder: str

    @property
    def path(self) -> Path:
        return self.root / _FILES[self.kind]


def pipeline_for(kind: str, start: Path) -> Pipeline:
    """The pipeline of the repository that contains `start`, else of `start` itself. Raises: UsageError when one exists."""
    root = next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), start)
    folder = "" if root == start else start.relative_to(root).as_posix()
    found = Pipeline(kind=kind, root=root, folder=folder)
    if os.path.lexists(found.path):
        shown = os.path.relpath(found.path, start)
        raise UsageError(
            f"`{shown}` exists already, and is not changed", hint="docs/how-to/ci.md has the steps to add to it"
        )
    if not leads_inside(found.path, root):
        raise UsageError(
            f"`{_FILES[kind]}` is a link to a place outside of the repository, so nothing is written there"
        )
    return found


def own_source() -> str | None:
    """Where pip can install this mcptest from on another machine; None when no such place is known.

    Source: PEP 610 (direct_url.json). Without that file it came from an index or a folder of wheels; pip does not record which.
    """
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution("mcptest")
    except PackageNotFoundError:
        return None
    direct_url = json.loads(found.read_text("direct_url.json") or "null")
    if direct_url is None:
        return f"{INDEX_NAME}=={found.version}" if INDEX_NAME is not None else None
    url = str(direct_url.get("url", ""))
    if "vcs_info" in direct_url:
        return f"{direct_url['vcs_info']['vcs']}+{url}@{direct_url['vcs_info']['commit_id']}"
    return url if url.startswith("https://") else None


def write(
    pipeline: Pipeline, suite: Path, settings: Mapping[str, object], *, skips_mutating: bool, source: str | None
) -> None:
    """Write the pipeline for the suite whose server is declared as `settings`; mcptest is installed from `source`.
    Raises: McptestError.
    """
    from mcptest_engine.workspace.suite_file import write_suite

    text = text_of(pipeline, suite, settings, skips_mutating=skips_mutating, source=source)
    try:
        pipeline.path.parent.mkdir(parents=True, exist_ok=True)
        write_suite(pipeline.path, text.encode())
    except OSError as wrong:
        raise McptestError(f"`{pipeline.path}` cannot be written: {wrong.strerror or wrong}") from wrong


def text_of(
    pipeline: Pipeline, suite: Path, settings: Mapping[str, object], *, skips_mutating: bool, source: str | None
) -> str:
    """The file's text. Without a `source`, a variable of the CI system names it."""
    start = pipeline.root / pipeline.folder
    file = shlex.quote(os.path.relpath(suite, start))
    needed = _install(start, f'"${SOURCE_VARIABLE}"' if source is None else shlex.quote(source))
    variables = sorted(variables_in(settings))
    run = f"mcptest run {file}" + (" --skip-tag mutating" if skips_mutating else "")
    with_node = (start / "package.json").is_file()
    if pipeline.kind == "gitlab":
        needed = [*(["apt-get update -qq && apt-get install -y -qq nodejs npm"] if with_node else []), *needed]
        return _gitlab(pipeline, file, run, needed, variables)
    return _github(pipeline, file, run, needed, variables, with_node=with_node)


def variables_in(settings: object, key: str = "") -> set[str]:
    """The environment variables in a server's settings."""
    if isinstance(settings, dict):
        named = {settings["env"]} if set(settings) == {"env"} and isinstance(settings["env"], str) else set()
        return named.union(*(variables_in(value, str(name)) for name, value in settings.items()))
    if isinstance(settings, (list, tuple)):
        return {name for value in settings for name in variables_in(value)}
    if isinstance(settings, str):
        return {settings} if key.endswith("_env") else set(_NAMED.findall(settings))
    return set()


def _install(folder: Path, source: str) -> list[str]:
    """The install commands, mcptest first."""
    commands = [f"pip install {source}"]
    if (folder / "requirements.txt").is_file():
        commands.append("pip install -r requirements.txt")
    elif (folder / "pyproject.toml").is_file():
        commands.append("pip install .")
    if (folder / "package.json").is_file():
        commands.append("npm ci" if (folder / "package-lock.json").is_file() else "npm install")
    return commands


def _github(
    pipeline: Pipeline, file: str, run: str, needed: list[str], variables: list[str], *, with_node: bool
) -> str:
    def lines() -> Iterator[str]:
        yield "# Written by `mcptest init --ci github`. Edit freely."
        yield from ("name: mcptest", "on: [push, pull_request]", "", "permissions:", "  contents: read", "", "jobs:")
        yield from ("  mcptest:", "    runs-on: ubuntu-latest", "    timeout-minutes: 15")
        if pipeline.folder:
            yield from ("    defaults:", "      run:", f"        working-directory: {_quoted(pipeline.folder)}")
        yield from ("    steps:", "      - uses: actions/checkout@v4", "      - uses: actions/setup-python@v5")
        yield '        with: { python-version: "3.12" }'
        if with_node:
            yield from ("      - uses: actions/setup-node@v4", '        with: { node-version: "22" }')
        for command in needed:
            yield f"      - run: {_quoted(command)}"
            if SOURCE_VARIABLE in command:
                yield f'        env: {{ {SOURCE_VARIABLE}: "${{{{ vars.{SOURCE_VARIABLE} }}}}" }}'
        yield f"      - run: {_quoted(f'mcptest validate {file}')}"
        reporters = f"--reporter github --reporter json={REPORTS}/run.json --reporter junit={REPORTS}/junit.xml"
        yield f"      - run: {_quoted(f'{run} {reporters}')}"
        if variables:
            yield "        env:"
            yield from (f'          {name}: "${{{{ secrets.{name} }}}}"' for name in variables)
        yield from ("      - uses: actions/upload-artifact@v4", "        if: always()", "        with:")
        yield "          name: mcptest"
        yield f"          path: {_quoted('/'.join(filter(None, (pipeline.folder, REPORTS))))}"

    return "\n".join(lines()) + "\n"


def _gitlab(pipeline: Pipeline, file: str, run: str, needed: list[str], variables: list[str]) -> str:
    reports = "/".join(filter(None, (pipeline.folder, REPORTS)))

    def lines() -> Iterator[str]:
        yield "# Written by `mcptest init --ci gitlab`. Edit freely."
        if variables:
            yield f"# Set under Settings > CI/CD > Variables: {', '.join(variables)}"
        yield from ("mcptest:", "  image: python:3.12", "  script:")
        if pipeline.folder:
            yield f"    - {_quoted(f'cd {shlex.quote(pipeline.folder)}')}"
        yield from (f"    - {_quoted(command)}" for command in needed)
        yield f"    - {_quoted(f'mcptest validate {file}')}"
        reporters = f"--reporter pretty --reporter junit={REPORTS}/junit.xml --reporter gitlab={REPORTS}/gitlab.json"
        yield f"    - {_quoted(f'{run} {reporters}')}"
        yield from ("  artifacts:", "    when: always", "    paths:", f"      - {_quoted(reports)}", "    reports:")
        yield f"      junit: {_quoted(f'{reports}/junit.xml')}"
        yield f"      codequality: {_quoted(f'{reports}/gitlab.json')}"

    return "\n".join(lines()) + "\n"


def _quoted(text: str) -> str:
    """The text as a YAML scalar, quoted only where necessary."""
    from mcptest_engine.suite.yaml_text import scalar

    return scalar(text)
