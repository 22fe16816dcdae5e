"""A person's settings: read fast and right, and what cannot be taken is told with its default kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml as plain_yaml
from hypothesis import given
from hypothesis import strategies as st

from mcptest_tui.config import KEYS, TEMPLATE, Config, _plain, config_file, load_config
from mcptest_tui.keymap import checked, load_keymap
from mcptest_tui.outside import editor_command
from mcptest_tui.themes import read_theme, theme_files
from tests.tui.waiting import until


@pytest.fixture
def own(place):
    """Write `config.yml`."""

    def write(text):
        config_file().parent.mkdir(parents=True, exist_ok=True)
        config_file().write_text(text, encoding="utf-8")
        return load_config()

    return write


def test_without_a_file_there_are_the_defaults(place):
    """And the template, with its marks taken away, says the same."""
    assert load_config() == Config()
    text = "\n".join(line[2:] for line in TEMPLATE.splitlines() if ":" in line and "Settings" not in line)
    told = plain_yaml.safe_load(text)
    assert set(told) == set(KEYS)
    assert (told["bell_seconds"], told["watch"], told["title"]) == (10, "affected", True)


def test_what_is_set_is_taken(own):
    """Of the plain shape and of any other."""
    short = own("watch: off\nclipboard: osc52  # over ssh\nbell_seconds: 0\ntitle: false\ntheme: paper\n")
    assert short == Config(theme="paper", watch="off", clipboard="osc52", bell_seconds=0, title=False)
    assert own("{watch: all, editor: 'code --wait'}\n") == Config(watch="all", editor="code --wait")


def test_of_many_wrong_names_the_first_are_told_and_how_many_more_there_are(own):
    """In the settings and in the keymap; what is right below them is taken."""
    names = [f"wrong{number}" for number in range(2_000)]
    told = own("".join(f"{name}: off\n" for name in names) + "watch: off\n")
    assert told.watch == "off"
    assert (len(told.problems), told.problems[-1]) == (21, "config.yml: 1,980 more unknown keys")
    keymap = checked({**dict.fromkeys(names, "f5"), "run.this": "r"})
    assert keymap.keys == {"run.this": "r"}
    assert len(keymap.problems) == len(keymap.wrong) == 21
    assert keymap.problems[-1] == 'no action "wrong20", and none for 1,979 more names'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("wacth: off\n", 'config.yml: unknown key "wacth"; did you mean `watch`?'),
        ("watch: never\n", "config.yml: `watch` is off or affected or all"),
        ("title: 3\n", "config.yml: `title` is true or false"),
        ("bell_seconds: -1\n", "config.yml: `bell_seconds` is a number of seconds; 0 for never"),
        ("bell_seconds: true\n", "config.yml: `bell_seconds` is a number of seconds; 0 for never"),
        ("theme: [a]\n", "config.yml: `theme` is a text"),
        ("bell_seconds: ²\n", "config.yml: `bell_seconds` is a number of seconds; 0 for never"),
        (f"bell_seconds: {'9' * 5000}\n", "config.yml:1:15: the number has too many digits"),
        ("- a\n", "config.yml: expected lines such as `watch: off`"),
    ],
)
def test_what_cannot_be_taken_is_told(own, text, problem):
    """Never a refusal to start: the rest holds, where the file can be read at all."""
    assert own(text).problems == (problem,)
    can_be_read = text[0] != "-" and "digits" not in problem
    if can_be_read:
        assert own(text + "editor: vi\n").editor == "vi"


def test_a_configuration_folder_that_cannot_be_looked_into_gives_the_defaults(place, monkeypatch):
    """Settings, keymap and themes."""
    monkeypatch.setenv("XDG_CONFIG_HOME", f"/{'x' * 5000}")
    assert load_config() == Config()
    assert load_keymap().keys == {}
    assert "paper" in theme_files()


def test_a_file_that_is_no_yaml_is_told_with_its_place(own):
    """File, line and column."""
    assert own("watch: [\n").problems[0].startswith("config.yml:1:8: ")
    config_file().write_bytes(b"\xff\xfe")
    assert "cannot be read" in load_config().problems[0]


WORDS = st.sampled_from(["off", "a-b", "true", "10", "007", "null", "no", "1e3", "0x1f", "'q'", "[a]", "~", "a b", ""])


@given(st.dictionaries(st.sampled_from(KEYS), WORDS))
def test_the_short_way_never_reads_otherwise_than_yaml(told):
    """It may give up, but not differ."""
    from mcptest_engine.suite.yaml import read_tree

    text = "".join(f"{key}: {word}\n" for key, word in told.items())
    short = _plain(text)
    if short:
        assert short == read_tree(text, file="x").value


@pytest.mark.anyio
async def test_the_workbench_starts_with_it(workbench, demo, own):
    """Its problems are among the settings."""
    own("watch: all\ntheme: paper\nbel_seconds: 3\n")
    async with workbench() as pilot:
        app = pilot.app
        assert (app.watch_mode, app.theme) == ("all", "paper")
        await pilot.press("comma")
        from tests.tui.pictures import text_of

        await until(pilot, lambda: "did you mean `bell_seconds`?" in text_of(app))


def test_the_files_in_the_docs_can_be_taken(own, tmp_path):
    """Readers copy them."""
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "workbench-settings.md").read_text(encoding="utf-8")
    config, keymap, theme = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert own(config).problems == ()
    assert set(plain_yaml.safe_load(config)) == set(KEYS)
    (tmp_path / "keymap.yml").write_text(keymap, encoding="utf-8")
    told = load_keymap(tmp_path / "keymap.yml")
    assert (len(told.keys), told.problems) == (3, ())
    (tmp_path / "mine.yml").write_text(theme, encoding="utf-8")
    assert read_theme(tmp_path / "mine.yml").dark
    assert [name for name in theme_files() if f"`{name}`" not in page] == []


@pytest.mark.parametrize(
    ("editor", "command"),
    [
        ("vi", ["vi", "+7", "s.yml"]),
        ("/usr/bin/code --wait", ["/usr/bin/code", "--wait", "--goto", "s.yml:7"]),
        ("hx", ["hx", "s.yml:7"]),
        ("", []),
    ],
)
def test_an_editor_is_told_the_line_in_its_own_way(editor, command):
    """Most take `+7`."""
    assert list(map(str, editor_command(editor, Path("s.yml"), 7))) == command
