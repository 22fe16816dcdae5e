"""A generated suite as readable YAML text that means exactly what was intended.

A server's text is data here: it cannot leave a comment or quotes, its `${` is no template, and invisible characters are
escaped. The text is parsed again, and a test that does not come back as intended (a key of 2,000 characters, nesting too deep
for a suite) is left out and named.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import SuiteError
from mcptest_engine.core.sanitise import one_line, replace_unsafe, sanitise
from mcptest_engine.core.values import dataclass
from mcptest_engine.suite.yaml import read_tree
from mcptest_engine.suite.yaml_text import Unwritable, entry, in_flow, scalar
from mcptest_engine.workspace.schema_file import SCHEMA_LINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcptest_engine.authoring.targets import Target
    from mcptest_engine.core.json_types import JsonDict, JsonMapping

LINE = 120
"""The longest line of a header."""
MOST_CHARACTERS = 8_000
"""A test with a longer text is left out: nobody would read it."""

_NOT_WRITTEN_DOWN = (
    "The values are not written: set these variables where the suite runs. A variable that is not set is empty."
)
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One test of a suite: the block that it goes into, its mapping, and the lines of comment above it, without their `#`."""

    block: str
    test: JsonMapping
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TestText:
    """A test that a suite can hold, and its lines: an item of a list whose dash stands at column 0.

    `known` is where those of its `expect` begin and end when they are known to read back.
    """

    entry: Entry
    lines: tuple[str, ...]
    known: tuple[int, int] = (0, 0)


def first_line(text: object, limit: int = 100) -> str:
    """The first line with any content in a server's text, safe inside a comment or a test's name."""
    lines = str(text or "").strip().splitlines()
    return one_line(lines[0].strip(), limit) if lines else ""


def wrapped(text: str) -> list[str]:
    """Wrap prose for a header."""
    lines: list[str] = []
    for word in _WORD.findall(text):
        if lines and len(lines[-1]) + 1 + len(word) <= LINE - 2:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def write_suite_text(header: Iterable[str], target: Target, tests: Sequence[TestText]) -> str:
    """The suite: the schema line, the header's lines, its server, and its tests by block in the order given."""
    lines = [SCHEMA_LINE, "#", *(f"# {one_line(line)}".rstrip() for line in header), ""]
    lines += target_lines(target)
    return "\n".join([*lines, *block_lines(tests)]) + "\n"


def target_lines(target: Target) -> list[str]:
    """The server that tests are for, as a suite of its own declares it, after the variables that it needs."""
    lines = []
    if target.variables:
        declared = [f"  {scalar(name)}: {in_flow(plain(value))}" for name, value in target.variables.items()]
        is_empty = all(isinstance(value, dict) and value.get("default") == "" for value in target.variables.values())
        lines = ["variables:", *([f"  # {_NOT_WRITTEN_DOWN}"] if is_empty else []), *map(_shown, declared), ""]
    return [*lines, "servers:", f"  {scalar(target.key)}:", *server_lines(target.settings, 4)]


def block_lines(tests: Sequence[TestText]) -> list[str]:
    """The lines of whole blocks, each after an empty line."""
    lines: list[str] = []
    for block in dict.fromkeys(one.entry.block for one in tests):
        lines += ["", f"{block}:", *lines_of([one for one in tests if one.entry.block == block], 2)]
    return lines


def server_lines(settings: Mapping[str, object], column: int) -> list[str]:
    """The lines of a server's settings; its argv always in brackets and quotes."""
    lines = []
    for key, value in settings.items():
        if key == "command" and isinstance(value, (list, tuple)):
            first_lines = [f"command: {in_flow(list(value), as_json=True)}"]
        else:
            first_lines = entry(key, plain(value), column)
        lines += [" " * column + first_lines[0], *first_lines[1:]]
    return [_shown(line) for line in lines]


def lines_of(tests: Iterable[TestText], column: int) -> list[str]:
    """The lines of tests whose dashes stand at `column`, an empty line between two."""
    space, lines = " " * column, list[str]()
    for one in tests:
        lines += ["", *one.lines] if lines else one.lines
    return [space + line if line else "" for line in lines]


def proved(entries: Iterable[Entry]) -> tuple[tuple[TestText, ...], tuple[tuple[Entry, str], ...]]:
    """The tests that are parsed exactly as intended, and the others with the reason."""
    good: list[TestText] = []
    left_out: list[tuple[Entry, str]] = []
    for one in entries:
        try:
            written = _entry_text(one)
        except (Unwritable, RecursionError) as wrong:
            left_out.append((one, str(wrong) if isinstance(wrong, Unwritable) else "it is nested too deeply"))
            continue
        reason = _unwritable(written)
        if reason is None:
            good.append(written)
        else:
            left_out.append((one, reason))
    if good and not _read_back(good):
        alone = [(one, _read_back([one])) for one in good]
        left_out += [
            (one.entry, "it cannot be written as YAML that reads back the same") for one, fine in alone if not fine
        ]
        good = [one for one, fine in alone if fine]
    return tuple(good), tuple(left_out)


def plain(value: object) -> Any:
    """A copy of plain dicts and lists."""
    if isinstance(value, dict) or hasattr(value, "items"):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _entry_text(one: Entry) -> TestText:
    lines = [f"# {one_line(line)}".rstrip() for line in one.comments]
    known = (0, 0)
    for index, (key, value) in enumerate(one.test.items()):
        text, is_known = _expected(value) if key == "expect" else (_member(key, value, 2), False)
        if is_known and index:
            known = len(lines), len(lines) + len(text)
        lines += [f"{'  ' if index else '- '}{text[0]}", *text[1:]]
    return TestText(entry=one, lines=tuple(lines), known=known)


def _member(key: str, value: object, column: int) -> list[str]:
    if key == "name":
        lines = [f"name: {scalar(value, quoted=True)}"]
    elif isinstance(value, str) and ("\n" in value or len(value) > LINE - 20) and _is_prose(value):
        space = " " * (column + 2)
        style, parts = ("|-", value.split("\n")) if "\n" in value else (">-", wrapped(value))
        lines = [f"{key}: {style}", *(space + line if line else "" for line in parts)]
    else:
        lines = entry(key, value, column)
    return [_shown(line) for line in lines]


def _expected(value: object) -> tuple[list[str], bool]:
    """The lines of an `expect`, and whether they parse as intended. Cached, because most tests of a suite expect the same."""
    sign = repr(value)
    known = _EXPECTED.get(sign)
    if known is None:
        lines = _member("expect", value, 2)
        known = lines, _reads_as([f"  {lines[0]}", *lines[1:]], {"expect": plain(value)})
        if len(_EXPECTED) >= _MOST_KEPT:
            _EXPECTED.clear()
        _EXPECTED[sign] = known
    return known


_EXPECTED: dict[str, tuple[list[str], bool]] = {}
_MOST_KEPT = 64


def _is_prose(text: str) -> bool:
    """Whether a text can be written without quotes, over several lines; where that is not the same it is quoted."""
    lines = text.split("\n")
    return (
        sanitise(words := text.replace(" ", "\n")) == words  # any word may begin a line
        and all(" ".join(line.split(" ")) == line.strip() and "\t" not in line and "  " not in line for line in lines)
        and bool(lines[0])
        and bool(lines[-1])
    )


def _shown(line: str) -> str:
    r"""The line with every invisible character escaped; such characters are in double quotes, where `\u` is read."""
    return replace_unsafe(line, lambda char: f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}")


def _unwritable(one: TestText) -> str | None:
    """Why a test is left out although it can be written; None when it is not."""
    test = one.entry.test
    if not _is_finite(test):
        return "it contains a number that JSON cannot express"
    if _has_template_key(test.get("args")):
        return "the name of an argument contains `${`, which a suite would read as a template"
    size = sum(map(len, one.lines))
    return f"it has {size:,} characters, too many for a suite" if size > MOST_CHARACTERS else None


def _is_finite(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return all(map(_is_finite, value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()))


def _has_template_key(value: object) -> bool:
    if isinstance(value, dict):
        return any("${" in key or _has_template_key(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_has_template_key, value))


def _read_back(tests: Sequence[TestText]) -> bool:
    """Whether the tests parse as intended; an `expect` that is known to is not parsed again."""
    lines: list[str] = []
    meant: list[JsonDict] = []
    for one in tests:
        start, end = one.known
        lines += [*one.lines[:start], *one.lines[end:]]
        meant.append(plain({key: value for key, value in one.entry.test.items() if key != "expect" or not end}))
    return _reads_as(lines, meant)


def _reads_as(lines: Iterable[str], meant: object) -> bool:
    try:
        back = read_tree("\n".join(lines) + "\n", file="").value
    except SuiteError:
        return False
    return bool(back == meant) and repr(back) == repr(meant)  # 1, 1.0 and true are equal to Python


def same_settings(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Whether two servers are declared with the same settings."""
    return repr(sorted(plain(one).items(), key=repr)) == repr(sorted(plain(other).items(), key=repr))


def unused_key(key: str, taken: Sequence[str] | Mapping[str, object]) -> str:
    """The key, with a number when it is used."""
    number, found = 2, key
    while found in taken:
        found, number = f"{key}-{number}", number + 1
    return found
