"""`mcptest skill`: print or install what a coding agent should know about mcptest."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mcptest_engine.core.environment import shipped
from mcptest_engine.core.errors import McptestError, UsageError
from mcptest_engine.core.sanitise import one_line

PLACE = Path(".claude") / "skills" / "mcptest"


@click.command()
@click.option("--install", "wants_install", is_flag=True, help="Write it to .claude/skills/mcptest of this workspace.")
@click.option("--install-path", type=click.Path(), metavar="DIR", help="Write it to this folder.")
@click.option("--force", is_flag=True, help="Overwrite a changed skill.")
def command(wants_install: bool, install_path: str | None, force: bool) -> None:
    """Print the skill that tells a coding agent how to test a server with mcptest, or install it.

    \b
    Example:
      mcptest skill --install
    """
    text = (shipped("examples") / "agent-skill" / "mcptest" / "SKILL.md").read_text(encoding="utf-8")
    if not wants_install and install_path is None:
        sys.stdout.write(text)
        return
    from mcptest_engine.workspace.files import leads_inside
    from mcptest_engine.workspace.suite_file import write_suite
    from mcptest_engine.workspace.workspace import find_workspace

    root = find_workspace(Path.cwd()).root
    file = (Path(install_path) if install_path is not None else root / PLACE) / "SKILL.md"
    if install_path is None and not leads_inside(file, root):
        raise UsageError(
            f"{PLACE / file.name} is a link to a place outside of this workspace, so nothing is written there",
            hint="replace it with a folder, or name one: --install-path DIR",
        )
    if file.exists() and not force and file.read_text(encoding="utf-8", errors="replace") != text:
        raise UsageError(f"{file} exists and differs", hint="check it; --force overwrites it")
    try:
        write_suite(file, text.encode())
    except OSError as wrong:
        raise McptestError(f"cannot write {file}: {wrong.strerror or wrong}") from wrong
    sys.stdout.write(f"wrote {one_line(str(file))}\n")
