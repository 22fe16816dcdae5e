"""`mcptest record NAME`: a run that stores the servers' answers; the same as `run --record NAME`."""

from __future__ import annotations

import os

import click

from mcptest_engine.cli.run import command as run
from mcptest_engine.core.errors import UsageError


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("name")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, name: str, arguments: tuple[str, ...]) -> None:
    """Run a suite as `mcptest run` does, and save the answers of its servers in the cassette NAME.

    After NAME come the arguments of `mcptest run`: a suite, --filter, --reporter and so on.

    \b
    Example:
      mcptest record weather mcptest.yaml
    """
    if name.endswith((".yml", ".yaml")) and os.path.isfile(name):  # noqa: PTH113
        raise UsageError(f"the name of the cassette is missing before `{name}`", hint=f"mcptest record NAME {name}")
    code = run.main(["--record", name, *arguments], prog_name="mcptest record NAME", standalone_mode=False)
    ctx.exit(code if isinstance(code, int) else 0)
