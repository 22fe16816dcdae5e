"""The themes that ship: complete, usable by Textual, and readable."""

from __future__ import annotations

import dataclasses
import re
from math import dist
from operator import mul
from pathlib import Path
from typing import Any

import pytest
import yaml

THEMES = Path(__file__).parent.parent.parent / "themes"
OWN_COLOURS = "terminal"
"""The theme whose colours are the terminal's: there is nothing of them to measure."""
FILES = sorted(path for path in THEMES.glob("*.yml") if path.stem != OWN_COLOURS)
COLOURS = (
    "primary", "secondary", "accent", "foreground", "background", "surface", "panel", "boost", "success", "warning", "error",
)  # fmt: skip
VERDICTS = ("verdict-pass", "verdict-fail", "verdict-inconclusive", "verdict-skip")
JSON_TOKENS = ("json-key", "json-string", "json-number", "json-boolean", "json-null")
TOKENS = (*VERDICTS, "value-expected", "value-actual", *JSON_TOKENS)
HIGH_CONTRAST = {"lantern", "chalkline"}


def read(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return loaded


def luminance(colour: str) -> float:
    """Relative luminance of `#RRGGBB`, from 0 to 1 (WCAG 2.2)."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """The contrast ratio, from 1 to 21 (WCAG 2.2)."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_two_dark_two_light_and_two_of_high_contrast_ship():
    """At least six themes: dark, light and high contrast of either kind."""
    themes = {theme["name"]: theme["dark"] for theme in map(read, FILES)}
    plain = [dark for name, dark in themes.items() if name not in HIGH_CONTRAST]
    assert sorted(themes[name] for name in HIGH_CONTRAST) == [False, True]
    assert (plain.count(True), plain.count(False)) >= (2, 2)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_theme_has_every_field_and_token_and_nothing_unknown(path):
    """Fields of Textual's Theme, and in `variables` our own tokens beside Textual's."""
    theme = read(path)
    assert theme["name"] == path.stem
    assert set(theme) == {"name", "dark", "variables", *COLOURS}
    assert set(TOKENS) <= set(theme["variables"])
    colours = [*(theme[key] for key in COLOURS), *theme["variables"].values()]
    assert all(re.fullmatch(r"#[0-9A-F]{6}", colour) for colour in colours)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_textual_accepts_a_theme_and_knows_the_variables_that_are_not_ours(path):
    """A misspelt Textual variable would be ignored in silence."""
    from textual.theme import BUILTIN_THEMES, Theme

    theme = read(path)
    assert set(theme) <= {field.name for field in dataclasses.fields(Theme)}
    built = Theme(**theme)
    assert built.to_color_system().generate()["primary"]
    assert theme["name"] not in BUILTIN_THEMES
    known = BUILTIN_THEMES["textual-dark"].to_color_system().generate()
    assert set(theme["variables"]) - set(TOKENS) <= set(known)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_text_and_verdicts_can_be_read(path):
    """WCAG 2.2, 1.4.3 (4.5:1) and, for the high-contrast themes, 1.4.6 (7:1)."""
    theme = read(path)
    least = 7.0 if path.stem in HIGH_CONTRAST else 4.5
    inks = {"foreground": theme["foreground"], **{token: theme["variables"][token] for token in TOKENS}}
    grounds = {key: theme[key] for key in ("background", "surface", "panel")}
    weak = {
        f"{ink} on {ground}": round(contrast(inks[ink], grounds[ground]), 2)
        for ink in inks
        for ground in grounds
        if contrast(inks[ink], grounds[ground]) < least
    }
    assert weak == {}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_selected_can_be_read(path):
    """The selection and the cursor keep the text on them readable."""
    theme = read(path)
    variables = theme["variables"]
    least = 7.0 if path.stem in HIGH_CONTRAST else 4.5
    assert contrast(theme["foreground"], variables["input-selection-background"]) >= least
    assert contrast(variables["block-cursor-foreground"], variables["block-cursor-background"]) >= least
    assert contrast(variables["footer-key-foreground"], theme["panel"]) >= least


BLINDNESS = {
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
"""From linear RGB to what is seen: Machado, Oliveira and Fernandes, 2009, of full severity."""
LEAST_APART = 20.0
"""In CIELAB (1976), where 2.3 is a difference that can just be seen."""


def seen(colour: str, matrix: tuple[tuple[float, ...], ...]) -> tuple[float, float, float]:
    """A colour in CIELAB, as somebody with that colour blindness sees it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels]
    red, green, blue = (min(max(sum(map(mul, row, linear)), 0.0), 1.0) for row in matrix)
    xyz = (
        (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505,
        0.2126 * red + 0.7152 * green + 0.0722 * blue,
        (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089,
    )
    x, y, z = (part ** (1 / 3) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116 for part in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("kind", BLINDNESS)
def test_pass_and_fail_are_told_apart_with_every_colour_blindness(path, kind):
    """Each has its own mark besides."""
    variables = read(path)["variables"]
    passed, failed = (seen(variables[name], BLINDNESS[kind]) for name in ("verdict-pass", "verdict-fail"))
    assert dist(passed, failed) >= LEAST_APART


def test_one_theme_has_the_terminals_own_sixteen_colours():
    """No colour of ours, and none that vanishes on a dark or on a light ground: neither black, white nor yellow as text."""
    theme = read(THEMES / f"{OWN_COLOURS}.yml")
    colours = {key: theme[key] for key in COLOURS} | theme["variables"]
    assert theme["ansi"] is True
    assert set(TOKENS) <= set(theme["variables"])
    assert all(colour.startswith("ansi_") for colour in colours.values())
    inks = {key: colour for key, colour in colours.items() if "background" not in key and "cursor" not in key}
    inks.pop("input-selection-foreground")
    assert not [key for key, colour in inks.items() if colour.endswith(("black", "white", "yellow"))]
