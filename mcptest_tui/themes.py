"""Themes: YAML files with the fields of Textual's `Theme`, ours and a person's own, and defaults for our tokens.

A file of the plain shape (one `key: "value"` a line) is read without the YAML library, whose import would cost a tenth of
the time to the first paint; whatever is not plain goes the long way, and so does every error, which has its place.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from textual.color import Color, ColorParseError
from textual.theme import Theme

from mcptest_engine.core.environment import shipped
from mcptest_engine.core.errors import McptestError, did_you_mean
from mcptest_engine.workspace.files import read_file
from mcptest_tui.places import user_themes_dir

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEFAULT = "nightshift"
VARIABLES = {
    "verdict-pass": "what passed: tests, assertions, calls",
    "verdict-fail": "what failed, and errors",
    "verdict-inconclusive": "what is inconclusive or deferred, and warnings",
    "verdict-skip": "what was skipped or has not run",
    "value-expected": "the expected value in Result and Diff, and the removed lines in Review",
    "value-actual": "the actual value in Result and Diff, and the added lines in Review",
    "muted": "text of less importance",
    "json-key": "keys in trees and in the editor",
    "json-string": "texts",
    "json-number": "numbers",
    "json-boolean": "true and false",
    "json-null": "null",
}
"""Our own variables of a theme, and what each means wherever it is seen; the table of the docs."""
PLAIN_TEXT = {
    "text-muted": "muted",
    "text-disabled": "muted",
    "text-error": "verdict-fail",
    "text-warning": "verdict-inconclusive",
    "text-success": "verdict-pass",
}
"""Textual's tokens for text, and ours in their place, which are tested for their contrast."""
GREYISH = 26
"""How far the channels of a colour lie apart, at most, that is grey where colours are few."""
SUFFIXES = (".yml", ".yaml")
MOST_BYTES = 1024 * 1024
FIELDS = tuple(field.name for field in fields(Theme))
_PLAIN = re.compile(r'(  )?([a-z-]+): *(?:"([^"\\]*)"|(true|false)|([a-z][a-z0-9-]*))? *(?:#.*)?')


class ThemeError(McptestError):
    """A theme file that cannot be used; the message has its place."""


def theme_files() -> dict[str, Path]:
    """The file of each theme by its name (the file's), a person's own over ours."""
    found: dict[str, Path] = {}
    for folder in (shipped("themes"), user_themes_dir()):
        with suppress(OSError):
            found.update({path.stem: path for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES})
    return found


def read_theme(path: Path) -> Theme:
    """The theme of a file, named as the file is. Raises: ThemeError with file, line and column."""
    try:
        text = read_file(path, largest=MOST_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as wrong:
        raise ThemeError(f"{path}: cannot be read: {getattr(wrong, 'strerror', None) or wrong}") from wrong
    plain = _plain(text)
    if plain is not None and next(_faults(plain), None) is None:
        return _built(plain, path)
    return _built(_carefully(path), path)


def _built(value: dict[str, Any], path: Path) -> Theme:
    try:
        theme = Theme(**{**value, "name": path.stem})
        theme.to_color_system().generate()
    except Exception as wrong:  # Textual raises what it likes for colours that do not go together
        raise ThemeError(f"{path}: not a theme: {wrong}") from wrong
    return theme


def _plain(text: str) -> dict[str, Any] | None:
    """The value of a file of the plain shape; None for any other."""
    top: dict[str, Any] = {}
    into: dict[str, Any] = top
    for line in text.split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        found = _PLAIN.fullmatch(line)
        if found is None:
            return None
        inner, key, quoted, flag, word = found.groups()
        into = into if inner else top
        if (inner and into is top) or key in into:
            return None
        if quoted is None and flag is None and word is None:
            if inner or key != "variables":
                return None
            into = top[key] = {}
        else:
            into[key] = quoted if quoted is not None else word if word is not None else flag == "true"
    return top


def _carefully(path: Path) -> dict[str, Any]:
    """The value read as YAML, every fault with its place. Raises: ThemeError."""
    from mcptest_engine.core.errors import SuiteError
    from mcptest_engine.suite.yaml import read_file

    try:
        tree = read_file(path, file=str(path))
    except SuiteError as wrong:
        problem = wrong.problems[0]
        raise ThemeError(str(problem).splitlines()[0], hint=problem.hint) from wrong
    if not isinstance(tree.value, dict):
        raise ThemeError(f"{path}:1:1: a theme is a mapping such as `primary: '#6CC7FF'`")
    for pointer, message, hint in _faults(tree.value):
        span = tree.span(pointer, key=hint is not None, nearest=True)
        place = f"{path}:{span.line}:{span.column}" if span else str(path)
        raise ThemeError(f"{place}: {message}", hint=hint)
    return dict(tree.value)


def _faults(value: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], str, str | None]]:
    """(pointer, what is wrong, hint) of everything that Textual would not take."""
    for key, given in value.items():
        if key not in FIELDS:
            yield (key,), f'unknown key "{key}"', did_you_mean(str(key), FIELDS) or f"known are {', '.join(FIELDS)}"
        elif key == "variables":
            if not isinstance(given, dict) or not all(isinstance(part, str) for part in given.values()):
                yield (key,), "`variables` maps names to colours", None
            else:
                for name, colour in given.items():
                    if colour.startswith("#") and not _is_colour(colour):
                        yield (key, name), f'"{colour}" is not a colour', None
        elif key in ("dark", "ansi"):
            if not isinstance(given, bool):
                yield (key,), f"`{key}` is true or false", None
        elif key in ("luminosity_spread", "text_alpha"):
            if not isinstance(given, (int, float)):
                yield (key,), f"`{key}` is a number", None
        elif key != "name" and not (isinstance(given, str) and _is_colour(given)):
            yield (key,), f'"{given}" is not a colour such as "#6CC7FF"', None
    if "primary" not in value:
        yield (), "a theme needs `primary`", None


def _is_colour(text: str) -> bool:
    try:
        Color.parse(text)
    except ColorParseError:
        return False
    return True


def in_256_colours(theme: Theme) -> Theme:
    """The theme with its greyish colours grey: of 256 many are greys, and nothing is a little blue."""

    def greyed(colour: str) -> str:
        if not colour.startswith("#"):
            return colour
        shade = Color.parse(colour)
        level = round(shade.brightness * 255)
        return Color(level, level, level).hex if max(shade.rgb) - min(shade.rgb) <= GREYISH else colour

    colours = {
        name: greyed(value) for name in FIELDS if name != "name" and isinstance(value := getattr(theme, name), str)
    }
    variables = {name: greyed(value) for name, value in theme.variables.items()}
    return replace(theme, **colours, variables=variables)  # type: ignore[arg-type]


def cursor_style(*, ansi: bool) -> str:
    """The style of the chosen tab or row. With 16 colours it is reversed: bold black is grey in many such terminals."""
    return "bold reverse" if ansi else "bold $block-cursor-foreground on $block-cursor-background"


def token_defaults(theme: Theme) -> dict[str, str]:
    """Our tokens for a theme that lacks them, from the colours that it has."""
    dark = theme.dark
    foreground = theme.foreground or ("ansi_default" if theme.ansi else "white" if dark else "black")
    success = theme.success or theme.primary
    warning = theme.warning or theme.primary
    error = theme.error or theme.primary
    secondary = theme.secondary or theme.primary
    accent = theme.accent or theme.primary
    skip = theme.variables.get("verdict-skip", foreground)
    return {
        "muted": skip,
        "verdict-pass": success,
        "verdict-fail": error,
        "verdict-inconclusive": warning,
        "verdict-skip": skip,
        "value-expected": theme.primary,
        "value-actual": accent if secondary == theme.primary else secondary,
        "json-key": theme.primary,
        "json-string": success,
        "json-number": accent,
        "json-boolean": secondary,
        "json-null": foreground,
        "ansi-background": "ansi_default",
        "ansi-foreground": "ansi_default",
    }
