"""Completion in the shell, by the script that `mcptest completion` prints; bash runs it here."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mcptest_engine.cli.main import main

BASH = """\
eval "$({mcptest} completion bash)"
COMP_WORDS=({words}); COMP_CWORD={last}
_mcptest_completion mcptest
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def completed(command: str, words: str) -> list[str]:
    """What bash offers for the last of the words; `mcptest` is found first on PATH."""
    script = BASH.format(mcptest=command, words=words, last=len(words.split()) - 1)
    path = f"{Path(command).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=True, env={**os.environ, "PATH": path}, timeout=60
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("mcptest mut", ["mutate"]),
        ("mcptest re", ["run", "review", "record", "report", "resources"]),
        ("mcptest run --last", ["--last-failed"]),
        ("mcptest init --ci git", ["github", "gitlab"]),
    ],
)
def test_bash_completes_commands_options_and_their_values(mcptest_command: str, words: str, offered: list[str]) -> None:
    expected = {word for word in offered if word.startswith(words.split()[-1])}
    assert set(completed(mcptest_command, words)) == expected


RUNS = {
    "zsh": 'autoload -U compinit; compinit -D; eval "$({mcptest} completion zsh)"; whence -w _mcptest_completion',
    "fish": "{mcptest} completion fish | source; complete --do-complete 'mcptest mut'",
}


@pytest.mark.parametrize(("shell", "expected"), [("zsh", "_mcptest_completion: function"), ("fish", "mutate")])
def test_zsh_and_fish_take_their_scripts(mcptest_command: str, tmp_path: Path, shell: str, expected: str) -> None:
    """zsh completes only at a prompt, so it is asked whether the script defines the function."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    environ = {**os.environ, "HOME": str(tmp_path), "PATH": f"{Path(mcptest_command).parent}:{os.environ['PATH']}"}
    script = RUNS[shell].format(mcptest=mcptest_command)
    done = subprocess.run([program, "-c", script], capture_output=True, text=True, env=environ, check=False, timeout=60)
    assert expected in done.stdout, done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"_MCPTEST_COMPLETE={shell}_complete" in script


def test_completing_opens_no_workbench(mcptest_command: str) -> None:
    environ = {**os.environ, "_MCPTEST_COMPLETE": "bash_complete", "COMP_WORDS": "mcptest ", "COMP_CWORD": "1"}
    done = subprocess.run([mcptest_command], capture_output=True, text=True, env=environ, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert {"plain,tui", "plain,run", "plain,help"} <= set(done.stdout.split("\n"))
