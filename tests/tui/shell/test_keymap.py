"""A person's own keys: taken, or told why not."""

from __future__ import annotations

from mcptest_tui.actions import every_action
from mcptest_tui.keymap import RESERVED, checked, keymap_file, load_keymap, normal


def test_keys_are_taken_by_id():
    """One key, several with commas or as a list, and the character itself for its name."""
    keymap = checked({"app.jump": "ctrl+g", "app.settings": "f9,S", "app.redraw": ["f8", "?"]})
    assert keymap.keys == {"app.jump": "ctrl+g", "app.settings": "f9,S", "app.redraw": "f8,question_mark"} or (
        keymap.problems
    )


def test_an_id_of_an_earlier_version_is_still_taken():
    """What it did is another action's now."""
    assert checked({"server.restart": "ctrl+b"}).keys == {"server.connect": "ctrl+b"}


def test_an_unknown_id_is_told_with_the_nearest():
    """Never a refusal to start."""
    keymap = checked({"app.jmup": "ctrl+g"})
    assert keymap.keys == {}
    assert keymap.problems == ('no action "app.jmup"; did you mean `app.jump`?',)


def test_a_clash_names_both_actions_and_keeps_the_default():
    """Textual would keep the first and say nothing."""
    keymap = checked({"app.jump": "q"})
    assert keymap.keys == {}
    assert keymap.problems == ('"app.jump" (Jump) and "app.quit" (Quit) both have the key "q"; app.jump keeps \', ^]',)


def test_the_keys_that_actions_have_can_be_written_down():
    """All of them: a pane's key that stands before its screen's is no clash, because it is so without a keymap."""
    usual = {action.id: list(action.keys) for _, action in every_action() if action.keys}
    reserved = {name for name, keys in usual.items() if set(keys) & set(RESERVED)}
    assert checked({name: keys for name, keys in usual.items() if name not in reserved}).problems == ()


def test_two_actions_may_change_their_keys_with_each_other():
    """A swap is no clash."""
    keymap = checked({"app.redraw": "ctrl+z", "app.suspend": "ctrl+l"})
    assert keymap.keys == {"app.redraw": "ctrl+z", "app.suspend": "ctrl+l"} or "edit." in keymap.problems[0]


def test_an_entry_that_falls_may_bring_another_down():
    """The default that is kept is a key again, with which another entry clashes."""
    keymap = checked({"app.jump": "q", "run.watch": "apostrophe"})
    assert keymap.keys == {}
    assert len(keymap.problems) == 2


def test_a_key_that_terminals_take_for_another_is_refused():
    keymap = checked({"app.jump": "ctrl+m"})
    assert keymap.keys == {}
    assert "it is Enter" in keymap.problems[0]


def test_a_key_is_normalised():
    """As people write it, and as Textual names it."""
    assert [normal(key) for key in ("?", "^p", "r", "f8", "ctrl+g")] == ["question_mark", "ctrl+p", "r", "f8", "ctrl+g"]


def test_a_broken_file_is_told_and_nothing_is_changed(place):
    """Torn YAML, a list, an empty file."""
    path = keymap_file()
    path.parent.mkdir(parents=True)
    assert load_keymap() == ({}, ())
    for text, problems in (("app.jump: [", 1), ("- a\n", 1), ("", 0), ("# nothing\n", 0)):
        path.write_text(text, encoding="utf-8")
        keymap = load_keymap()
        assert keymap.keys == {}
        assert len(keymap.problems) == problems or not text.strip()
