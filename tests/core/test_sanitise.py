import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.sanitise import one_line, sanitise

ANY_TEXT = st.text(st.characters(exclude_categories=()))
UNSAFE = [
    *range(0x09),
    *range(0x0B, 0x20),
    *range(0x7F, 0xA0),
    0x061C,
    0x200E,
    0x200F,
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
]
INVISIBLE = [0x180E, 0x200B, 0x2028, 0x2029, 0x2060, 0xFEFF, 0xE0001, 0xE0041, 0xE007F, 0xD800, 0xDFFF]


@pytest.mark.parametrize("code", UNSAFE + INVISIBLE, ids=hex)
@pytest.mark.parametrize("around", ["", "é", "a" * 5000], ids=["alone", "beyond-ascii", "long"])
def test_an_unsafe_character_never_comes_through(code, around):
    """C0 but tab and newline, DEL, C1 and bidi controls are shown as visible stand-ins."""
    shown = sanitise(f"{around}x{chr(code)}y{around}")
    assert chr(code) not in shown
    assert shown != f"{around}xy{around}"
    shown.encode("utf-8")


def test_stand_ins_say_which_character_stood_there():
    assert sanitise("\x1b[31mred\x00\x7f") == "␛[31mred␀␡"
    assert sanitise("\x9b31m \u202eevil \U000e0041 \ud800") == "\\u009b31m \\u202eevil \\U000e0041 \\ud800"
    assert sanitise("a\rb") == "a␍b"


def test_tab_newline_and_every_ordinary_script_stay():
    for text in ("a\tb\nc", "naïve — ✓", "می‌خواهم", "क्‍ष", "👨‍👩‍👧 ❤️ 🏳️‍🌈", "日本語", ""):
        assert sanitise(text) is text


def test_a_joiner_hidden_in_an_ascii_word_is_shown():
    assert sanitise("pass\u200dword") == "pass\\u200dword"
    assert sanitise("\u200c") == "\\u200c"


def test_a_message_smuggled_in_variation_selectors_is_shown():
    assert sanitise("😀" + "\U000e0148\U000e0155") == "😀\U000e0148\\U000e0155"


BLANKS = "\u00a0\u1680\u2000\u2009\u200a\u202f\u205f\u3000"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x ##vso[task.setvariable variable=a]b", "x # #vso[task.setvariable variable=a]b"),
        ("##[group]a ##[endgroup]", "# #[group]a # #[endgroup]"),
        ("a\n  ::stop-commands::x", "a\n  : :stop-commands::x"),
        ("::error file=a::b", ": :error file=a::b"),
        *((f"a\n{blank} ::error::b", f"a\n{blank} : :error::b") for blank in BLANKS),
        ("##teamcity[testFailed]", "# #teamcity[testFailed]"),
        ("\x00##vso[a]", "␀# #vso[a]"),
        ("###vso[a]", "## #vso[a]"),
    ],
)
def test_what_a_ci_system_would_obey_is_taken_apart(text, shown):
    assert sanitise(text) == shown
    assert sanitise(shown) is shown


def test_headings_and_qualified_names_stay():
    for text in ("## Usage [docs]", "suite.yml::tool::status", "a::b", "C# #1", "1::2", "::1"):
        assert sanitise(text) is text


@given(st.text(st.sampled_from("#:[a \n.\x1b\u00a0\u3000\u00ad")))
def test_no_combination_of_its_parts_leaves_a_ci_command(text):
    """actions/runner, ActionCommand.TryParseV2: `message.TrimStart()` begins with `::`."""
    shown = sanitise(text)
    assert re.search(r"##[A-Za-z.]*\[", shown) is None
    assert not any(re.match("::[A-Za-z]", line.replace("\u00ad", "").lstrip()) for line in shown.split("\n"))
    assert sanitise(shown) == shown


@given(ANY_TEXT)
def test_sanitising_twice_changes_nothing_more(text):
    once = sanitise(text)
    assert sanitise(once) == once
    once.encode("utf-8")


@given(st.text(st.characters(max_codepoint=127, exclude_characters=":#")))
def test_the_fast_test_for_ascii_agrees_with_the_definition(text):
    unsafe = any(ord(character) in UNSAFE for character in text)
    assert (sanitise(text) is text) is not unsafe


@given(ANY_TEXT, st.integers(1, 40))
def test_one_line_is_one_line_and_within_its_limit(text, limit):
    line = one_line(text, limit)
    assert len(line) <= limit
    assert "\n" not in line
    assert "\t" not in line
    assert one_line(text).startswith(line.removesuffix("…"))


def test_one_line_escapes_and_clips():
    assert one_line("a\nb\tc\x1b") == "a\\nb\\tc␛"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"
