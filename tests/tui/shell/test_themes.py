"""Theme files: ours read fast and right, a person's own told when they are broken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mcptest_tui
from mcptest_engine.core.shipped import shipped
from mcptest_tui.themes import ThemeError, _carefully, _plain, read_theme, theme_files, token_defaults

OURS = sorted(shipped("themes").glob("*.yml"))


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_the_short_way_reads_what_the_long_way_reads(path):
    """A theme of ours never costs the import of the YAML library."""
    assert _plain(path.read_text(encoding="utf-8")) == _carefully(path)
    assert read_theme(path).name == path.stem


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("primary: '#12345'\n", ":1:10: ", '"#12345" is not a colour'),
        ("primary: red\nacent: blue\n", ":2:1: ", 'unknown key "acent"'),
        ("primary: [\n", ":1:10: ", "is not closed"),
        ("dark: true\n", ":1:1: ", "a theme needs `primary`"),
        ("primary: red\ndark: perhaps\n", ":2:7: ", "`dark` is true or false"),
        ("primary: red\nvariables:\n  value-actual: '#zzz'\n", ":3:17: ", '"#zzz" is not a colour'),
        ("just words\n", ":1:1: ", "a theme is a mapping"),
    ],
)
def test_a_broken_theme_is_told_with_its_place(tmp_path, text, place, words):
    """File, line and column."""
    path = tmp_path / "mine.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ThemeError) as refused:
        read_theme(path)
    assert str(path) + place in refused.value.message
    assert words in refused.value.message


def test_a_persons_own_theme_stands_before_ours(place):
    """Of the same name."""
    from mcptest_tui.places import user_themes_dir

    user_themes_dir().mkdir(parents=True)
    own = user_themes_dir() / "paper.yaml"
    own.write_text("primary: red\n", encoding="utf-8")
    assert theme_files()["paper"] == own


def test_a_theme_without_our_tokens_gets_them_from_its_colours(tmp_path):
    """Textual's own themes have none of them."""
    from textual.theme import BUILTIN_THEMES

    nord = token_defaults(BUILTIN_THEMES["nord"])
    assert nord["verdict-fail"] == BUILTIN_THEMES["nord"].error
    tokens = read_theme(OURS[0]).variables
    assert set(nord) <= {*tokens, "muted"}


def test_colours_come_from_themes_alone():
    """No hex in style sheets or code."""
    root = Path(mcptest_tui.__file__).parent
    found = [
        f"{path.name}:{number}"
        for path in [*root.rglob("*.tcss"), *root.rglob("*.py")]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"#[0-9a-fA-F]{6}\b|#[0-9a-fA-F]{3}\b(?=[;\"'])", line) and "such as" not in line
    ]
    assert found == []
