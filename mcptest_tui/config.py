"""A person's own settings: `config.yml` beside the keymap. For an invalid entry there is a problem and its default.

A file of the plain shape (one `key: word` a line) is read without the YAML library, because it is read before the first paint.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.errors import did_you_mean
from mcptest_tui.places import config_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from mcptest_engine.running.diagnostics import Diagnostic

CHOICES = {
    "watch": ("off", "affected", "all"),
    "clipboard": ("auto", "osc52"),
    "title": (True, False),
    "tips": (True, False),
    "spare_servers": (True, False),
}

MOST_PROBLEMS = 20
"""So many problems of one file are told; of the others only the number."""

TEMPLATE = """\
# Settings of the workbench, read when it starts. Missing settings have the values shown here.
#
# theme: nightshift       # the palette's Theme shows them all, and writes it here
# watch: affected         # what a save runs: off, affected or all; for workspaces without a session
# editor: "code --wait"   # for E; else $VISUAL, else $EDITOR
# clipboard: auto         # osc52 copies through the terminal, whatever tools this machine has
# bell_seconds: 10        # a longer run rings the bell if the terminal is not in focus; 0: never
# spare_servers: true     # false starts no server before the next run needs it
# spare_minutes: 10       # how long a spare server waits for the next run before it is ended
# title: true             # false does not change the terminal's title and progress mark
# tips: true              # false shows none; each of the five is shown once
"""


@dataclass(frozen=True, slots=True)
class Config:
    """The settings, and what was wrong with the file."""

    theme: str = ""
    watch: str = "affected"
    editor: str = ""
    clipboard: str = "auto"
    bell_seconds: float = 10.0
    title: bool = True
    tips: bool = True
    spare_servers: bool = True
    spare_minutes: float = 10.0
    problems: tuple[str, ...] = ()


KEYS = tuple(field.name for field in fields(Config) if field.name != "problems")


def config_file() -> Path:
    return config_dir() / "config.yml"


def load_config(path: Path | None = None) -> Config:
    """The file, checked; without one, the defaults. Never raises."""
    path = path or config_file()
    if not os.path.isfile(path):  # noqa: PTH113 - never raises, as in a folder that may not be entered
        return Config()
    try:
        value = _plain(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as wrong:
        return Config(problems=(f"{path.name}: cannot be read: {getattr(wrong, 'strerror', None) or wrong}",))
    if value is not None:
        return checked(value)
    from mcptest_engine.core.errors import SuiteError
    from mcptest_engine.suite.yaml import EMPTY, read_file

    try:
        read = read_file(path, file=path.name).value
    except SuiteError as refused:
        problems = [problem for problem in refused.problems[:3] if problem.message != EMPTY]
        return Config(problems=tuple(str(problem).splitlines()[0] for problem in problems))
    if not isinstance(read, dict):
        return Config(problems=(f"{path.name}: expected lines such as `watch: off`",))
    return checked(read)


def diagnose_config(text: str, path: str) -> list[Diagnostic]:
    """What is wrong with the text of the settings, each at its place."""

    def wrong_with(value: dict[Any, Any]) -> list[Wrong]:
        return [wrong for key, given in value.items() if (wrong := _wrong(str(key), given))]

    return diagnose_own_file(text, path, wrong_with, "expected lines such as `watch: off`")


def diagnose_own_file(
    text: str, path: str, wrong_with: Callable[[dict[Any, Any]], Iterable[Wrong]], expected: str
) -> list[Diagnostic]:
    """What is wrong with a file of keys and values; `wrong_with` gives the wrong entries, `expected` names a line."""
    from mcptest_engine.core.errors import Problem, SuiteError
    from mcptest_engine.running.diagnostics import LINE_END, diagnostics_of
    from mcptest_engine.suite.yaml import EMPTY, read_tree

    try:
        tree = read_tree(text, file=path)
    except SuiteError as broken:
        problems = [problem for problem in broken.problems if problem.message != EMPTY]
    else:
        problems = list(tree.problems)
        if isinstance(tree.value, dict):
            for key, message, hint in wrong_with(tree.value):
                span = tree.span((key,), key=True, nearest=True)
                problems.append(Problem(message=message, hint=hint, file=path, span=span))
        else:
            problems.append(Problem(message=expected, file=path, span=tree.span(())))
    return sorted(diagnostics_of(problems, lambda _: LINE_END.split(text), file=path), key=lambda one: one.line)


def put_entry(text: str, name: str, value: str) -> str:
    """The text of a person's own file with this entry, the rest as it was. Raises: EditRefused."""
    from mcptest_engine.suite.edit import set_value
    from mcptest_engine.suite.text_edits import apply
    from mcptest_engine.suite.yaml_text import scalar

    if not any(line.strip() and not line.startswith("#") for line in text.splitlines()):
        return f"{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{name}: {scalar(value)}\n"
    return apply(text, set_value(text, (name,), value))


def checked(value: dict[Any, Any]) -> Config:
    """`value` without keys that do not exist and values that cannot be."""
    found: dict[str, Any] = {}
    problems: list[str] = []
    more = 0
    for key, given in value.items():
        if len(problems) == MOST_PROBLEMS and key not in KEYS:
            more += 1
            continue
        wrong = _wrong(str(key), given)
        if wrong:
            problems.append(f"config.yml: {wrong.text}")
        else:
            found[str(key)] = given
    if more:
        problems.append(f"config.yml: {more:,} more unknown keys")
    return replace(Config(**found), problems=tuple(problems))


class Wrong(NamedTuple):
    """One entry of such a file that is wrong: its key, why, and how to mend it."""

    key: str
    message: str
    hint: str | None = None

    @property
    def text(self) -> str:
        return self.message if self.hint is None else f"{self.message}; {self.hint}"


def _wrong(key: str, given: object) -> Wrong | None:
    """Return what is wrong with one setting, None when nothing is."""
    if key not in KEYS:
        return Wrong(key, f'unknown key "{key}"', did_you_mean(key, KEYS) or "known are " + ", ".join(KEYS))
    if key in CHOICES:
        if any(given is choice or (isinstance(given, str) and given == choice) for choice in CHOICES[key]):
            return None
        shown = " or ".join(str(choice).lower() if isinstance(choice, bool) else choice for choice in CHOICES[key])
        return Wrong(key, f"`{key}` is {shown}")
    if key in ("bell_seconds", "spare_minutes"):
        number = isinstance(given, (int, float)) and not isinstance(given, bool) and 0 <= given < math.inf
        unit = key.partition("_")[2]
        zero = "0 starts none" if key == "spare_minutes" else "0 for never"
        return None if number else Wrong(key, f"`{key}` is a number of {unit}", zero)
    return None if isinstance(given, str) else Wrong(key, f"`{key}` is a text")


def _plain(text: str) -> dict[str, Any] | None:
    """The value of a file of the plain shape; None for any other."""
    found: dict[str, Any] = {}
    for line in text.split("\n"):
        bare = line.partition(" #")[0].strip()
        if not bare or line.startswith("#"):
            continue
        key, colon, word = bare.partition(": ")
        word = word.strip()
        if not colon or key in found or not key.isidentifier() or not word.replace("-", "").replace("_", "").isalnum():
            return None
        if word.isascii() and word.isdigit() and len(word) < 10 and (word == "0" or word[0] != "0"):
            found[key] = int(word)
        elif word in ("true", "false"):
            found[key] = word == "true"
        elif word[0].isalpha() and word.lower() not in ("null", "true", "false", "yes", "no", "on"):
            found[key] = word
        else:
            return None
    return found
