"""`mcptest completion SHELL`: the script that has a shell complete commands, options and files."""

from __future__ import annotations

import click

VARIABLE = "_MCPTEST_COMPLETE"
"""The variable that the script sets when it asks for completions."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell. Load it where your shell starts.

    \b
    Examples:
      echo 'eval "$(mcptest completion bash)"' >> ~/.bashrc
      echo 'eval "$(mcptest completion zsh)"' >> ~/.zshrc
      mcptest completion fish > ~/.config/fish/completions/mcptest.fish
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    outer = ctx.find_root()
    click.echo(found(outer.command, {}, "mcptest", VARIABLE).source())
