"""The command that runs one test again, as every report quotes it.

A name is quoted so that a POSIX shell hands it over unchanged: in double quotes where nothing in it means anything to
the shell, else in single ones.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcptest_engine.core.costs import composition_name
from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.workspace.slug import slug
from mcptest_engine.workspace.workspace import SUITE_FILES

if TYPE_CHECKING:
    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.registry import RenderOptions

INLINE = ".mcptest/inline/"
_HARMLESS_NAME = lazy_pattern(r"[\w \-.,:;#()\[\]/]+")
_HARMLESS_WORD = lazy_pattern(r"[\w\-./,:@%+=]+")


def repro_line(record: RunRecord, test: TestResult, options: RenderOptions) -> str:
    """`mcptest run --filter "name"`, with `--config PATH` where the default would not find the suite. One line."""
    name = filter_name(test)
    path = options.config if options.config is not None else record.suite.path
    if record.suites:
        path = test.id.partition("::")[0]
    words = list(record.flags)
    if record.suites and "--replay" in words:  # each suite has a cassette of its own
        words[words.index("--replay") + 1] += f"-{slug(os.path.splitext(path)[0])}"  # noqa: PTH122
    flags = "".join(f" {_quoted_word(one_line(word))}" for word in words)
    if path.startswith(INLINE):
        return inline_repro(path, name) + flags
    found_anyway = path in SUITE_FILES if options.default_config is None or record.suites else options.default_config
    config = "" if found_anyway else f" --config {_quoted_word(one_line(path))}"
    return f"mcptest run --filter {quoted_name(one_line(name))}{config}{flags}"


def filter_name(test: TestResult) -> str:
    """What `--filter` has to be given to run the test again as it ran."""
    tripped_all = ((test.trace or {}).get("composition") or {}).get("budget_scope") == "all"
    return composition_name(test) if tripped_all else test.name  # the cases before it spent most of what was there


def inline_repro(path: str, test: str | None = None) -> str:
    """The same for a suite that came as text, of all of its tests without `test`."""
    command = f"mcptest run {_quoted_word(one_line(path))}"
    return command if test is None else f"{command} --filter {quoted_name(one_line(test))}"


def quoted_name(name: str) -> str:
    """A test's name as one word of a POSIX shell."""
    return f'"{name}"' if _HARMLESS_NAME.fullmatch(name) else _single_quoted(name)


def _quoted_word(word: str) -> str:
    return word if _HARMLESS_WORD.fullmatch(word) else _single_quoted(word)


def _single_quoted(text: str) -> str:
    # A quote inside single quotes: end them, a quoted quote, begin again.
    return "'" + text.replace("'", "'\"'\"'") + "'"
