"""What a YAML syntax error means to the person who wrote the file: the place of the mistake, and the remedy.

The parser says where it gave up, which is often a line after the mistake; these are the mistakes that people really
make. Imported only when a file does not parse.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.values import dataclass
from mcptest_engine.suite.text_edits import line_start

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Fault:
    """`index` is that of a character of the text."""

    index: int
    message: str
    hint: str | None = None


def explain(error: Exception, text: str) -> Fault:
    """The fault behind an exception that the YAML parser raised while it read `text`."""
    unreadable = _unreadable(text)
    if unreadable is not None and getattr(error, "problem_mark", None) is None:
        return unreadable
    stuck = _Stuck(error, text)
    for diagnose in _DIAGNOSES:
        fault = diagnose(stuck)
        if fault is not None:
            return fault
    return Fault(stuck.index, f"the YAML cannot be read: {stuck.says}", None)


def with_pairs_joined(error: Exception, text: str) -> str | None:
    """`text` with the escaped surrogate pairs of the quoted scalar at fault spelt as YAML does, for another attempt.

    JSON writes "\\ud83d\\udca5" for one character beyond U+FFFF, and the parser refuses that. The text stays as long as it
    was: spaces after the closing quote make up for the shorter spelling. In a file that is JSON throughout all scalars are
    dealt with at once. None when the error is another one.
    """
    if "Unicode character escape" not in str(getattr(error, "problem", "")):
        return None
    start = getattr(getattr(error, "context_mark", None), "index", -1)
    if start < 0 or not _PAIR.search(text, start):
        return None
    if _is_json(text):
        return _QUOTED.sub(_pairs_joined, text)
    found = _QUOTED.match(text, start)
    joined = None if found is None else text[:start] + _pairs_joined(found) + text[found.end() :]
    return None if joined == text else joined


_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_ESCAPE = re.compile(rf"{_PAIR.pattern}|\\.", re.DOTALL)


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    import json

    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _pairs_joined(quoted: re.Match[str]) -> str:
    scalar = quoted.group()
    if "\\u" not in scalar:
        return scalar
    joined = _ESCAPE.sub(_joined, scalar)
    return joined + " " * (len(scalar) - len(joined))


def _joined(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return escape.group()
    high, low = int(escape[1], 16), int(escape[2], 16)
    return f"\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"


_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _unreadable(text: str) -> Fault | None:
    found = _UNREADABLE.search(text)
    if found is None:
        return None
    code = ord(found.group())
    if code == 0:
        return Fault(found.start(), "the file contains a NUL byte; it is not text", "save it as UTF-8 text")
    hint = f'in double quotes it can be written "\\x{code:02x}"' if code < 0x100 else None
    return Fault(found.start(), f"the character U+{code:04X} is not allowed in a YAML file", hint)


class _Stuck:
    """Where the parser gave up, and what it said."""

    def __init__(self, error: Exception, text: str) -> None:
        mark, context_mark = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
        self.text = text
        self.index = min(_index(mark, context_mark), len(text))
        self.context_index = min(_index(context_mark, mark), len(text))
        self.context = str(getattr(error, "context", None) or "")
        self.says = str(getattr(error, "problem", None) or error).partition("\n")[0]
        self.char = text[self.index : self.index + 1]

    def line_at(self, index: int) -> tuple[int, str]:
        """The start of the line around `index`, and the line without its end."""
        start = line_start(self.text, index)
        return start, re.split(r"[\r\n]", self.text[start:], maxsplit=1)[0]

    def before(self, index: int) -> tuple[int, str]:
        """The nearest line above the one around `index` that is neither blank nor a comment; (0, "") without one."""
        start, _ = self.line_at(index)
        while start > 0:
            start, line = self.line_at(start - 1)
            if line.strip() and not line.lstrip().startswith("#"):
                return start, line
        return 0, ""


def _index(*marks: Any) -> int:
    return next((mark.index for mark in marks if mark is not None), 0)


def _tab(stuck: _Stuck) -> Fault | None:
    start, line = stuck.line_at(stuck.index)
    indent = line[: len(line) - len(line.lstrip())]
    if "\t" in indent and stuck.index <= start + len(indent):
        return Fault(start + indent.index("\t"), "a tab cannot indent in YAML", "indent with spaces")
    if stuck.char == "\t":
        return Fault(stuck.index, "a tab is not allowed here in YAML", "use spaces")
    return None


# The key may follow dashes. `https://…` and a Windows path are values, not keys.
_NO_SPACE = re.compile(r"\s*(?:- +)*([A-Za-z_][\w-]*):(?!//)(?=[^\s\\/])(.*)")


def _missing_space(stuck: _Stuck) -> Fault | None:
    """`tool:echo` is text to YAML; the parser notices at that line or at the next."""
    candidates = [stuck.line_at(stuck.index)]
    if "mapping values" in stuck.says or "expected ':'" in stuck.says:
        candidates = [stuck.line_at(stuck.context_index), stuck.before(stuck.index), *candidates]
    elif "expected key" not in stuck.says and "block" not in stuck.context:
        return None
    for start, line in candidates:
        found = _NO_SPACE.fullmatch(line)
        if found and " #" not in found[2][:1]:
            colon = start + found.end(1)
            value = found[2].strip()
            shown = value if len(value) <= 40 else value[:39] + "…"
            hint = f"write `{found[1]}: {shown}`"
            return Fault(colon, f"a space is missing after the colon in `{found[1]}:{shown}`", hint)
    return None


def _flow(stuck: _Stuck) -> Fault | None:
    """`{target: result.content[0].text}` and `{x: ${var.y}}`: brackets end a plain text inside braces or brackets."""
    if "flow" not in stuck.context and "did not find expected ',' or" not in stuck.says:
        return None
    inside = "braces" if "mapping" in stuck.context else "brackets"
    start, line = stuck.line_at(stuck.index)
    before = line[: stuck.index - start]
    if stuck.char == "{" and before.endswith("$"):
        end = line.find("}", stuck.index - start)
        template = line[stuck.index - 1 - start : end + 1] if end >= 0 else "${…}"
        hint = f'quote it: "{template}"'
        return Fault(stuck.index - 1, f"a template must be quoted inside {inside}", hint)
    if stuck.char == "[":
        word = re.search(r"[^\s,{}\[\]:]*$", before)
        begin = word.start() if word else stuck.index - start
        rest = re.match(r"[^,{}\s]*", line[begin:])
        target = rest.group() if rest else ""
        return Fault(
            stuck.index,
            f"`[` inside {inside} starts a list",
            f'quote it: "{target}"',
        )
    opened = stuck.text[stuck.context_index : stuck.context_index + 1]
    if opened in ("{", "["):
        closing = "}" if opened == "{" else "]"
        if not stuck.char or "\n" in stuck.text[stuck.context_index : stuck.index]:
            return Fault(stuck.context_index, f"the `{opened}` opened here is not closed", f"close it with `{closing}`")
        return Fault(
            stuck.index, f"a comma or `{closing}` is missing here", "quote text that contains `{`, `}`, `[`, `]` or `,`"
        )
    return None


def _unclosed(stuck: _Stuck) -> Fault | None:
    """`bad: [` and `exact: [}`: a bracket that the end of the file or the wrong bracket comes after."""
    if "expected node content" not in stuck.says:
        return None
    if stuck.char == ",":
        return Fault(stuck.index, "a value is missing before this comma", "write the value, or remove the comma")
    opened = _open_bracket(stuck.text, stuck.index)
    if opened is None:
        return None
    char, closing = stuck.text[opened], "}" if stuck.text[opened] == "{" else "]"
    return Fault(opened, f"the `{char}` opened here is not closed", f"close it with `{closing}`")


def _open_bracket(text: str, end: int) -> int | None:
    """The innermost bracket that is still open at `end`; quotes and comments are the scanner's to see through."""
    import yaml

    opened: list[int] = []
    try:
        for token in yaml.scan(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if token.start_mark.index >= end:
                break
            kind = type(token).__name__
            if kind in ("FlowSequenceStartToken", "FlowMappingStartToken"):
                opened.append(token.start_mark.index)
            elif kind in ("FlowSequenceEndToken", "FlowMappingEndToken") and opened:
                opened.pop()
    except yaml.YAMLError:
        pass  # what could be read so far says enough
    return opened[-1] if opened else None


def _start_character(stuck: _Stuck) -> Fault | None:
    if "cannot start any token" not in stuck.says or not stuck.char:
        return None
    _, line = stuck.line_at(stuck.index)
    hint = "quote it" if not line else "put the text in quotes"
    return Fault(
        stuck.index,
        f"text cannot start with `{stuck.char}`" if stuck.char != "`" else "text cannot start with a backtick",
        hint,
    )


def _alias_character(stuck: _Stuck) -> Fault | None:
    for word, char in (("alias", "*"), ("anchor", "&"), ("tag", "!")):
        if (
            f"scanning an {word}" in stuck.context
            or f"scanning a {word}" in stuck.context
            or f"parsing a {word}" in stuck.context
        ):
            return Fault(
                stuck.context_index,
                f"text cannot start with `{char}`, which has another meaning in YAML",
                "put the text in quotes",
            )
    if "tag" in stuck.says:
        return Fault(
            stuck.context_index,
            "text cannot start with `!`, which has another meaning in YAML",
            "put the text in quotes",
        )
    return None


_HALF = re.compile(r"\\(?:u|U0000)[dD][89a-fA-F][0-9a-fA-F]{2}")


def _quoted(stuck: _Stuck) -> Fault | None:
    if "quoted scalar" not in stuck.context:
        return None
    if "escape" in stuck.says or "expected hex" in stuck.says or "Unicode character" in stuck.says:
        start = stuck.text.rfind("\\", 0, stuck.index + 1)
        half = _HALF.match(stuck.text, start) if start >= 0 else None
        if half is not None:
            hint = "write both halves of the pair, or the character itself"
            return Fault(start, f"`{half.group()}` is half of a character (a lone surrogate)", hint)
        found = stuck.text[start : start + 2]
        hint = "use single quotes, where a backslash has no special meaning"
        return Fault(max(start, 0), f"`{found}` is not a valid escape in double quotes", hint)
    if "end of stream" in stuck.says or "document indicator" in stuck.says:
        return Fault(
            stuck.context_index, "the quote opened here is never closed", "close it, or double a quote inside: `''`"
        )
    return None


def _after_quote(stuck: _Stuck) -> Fault | None:
    start, line = stuck.line_at(stuck.index)
    before = line[: stuck.index - start].rstrip()
    if "expected key" in stuck.says and before.endswith(("'", '"')):
        return Fault(stuck.index, "there is text after the closing quote", "quote the whole value")
    return None


def _colon_in_text(stuck: _Stuck) -> Fault | None:
    if "mapping values are not allowed" not in stuck.says:
        return None
    start, line = stuck.line_at(stuck.index)
    before = line[: stuck.index - start]
    if ": " in before or re.search(r":\s", before):
        return Fault(stuck.index, "the line has a second `: `", "put the value in quotes")
    return Fault(
        stuck.index,
        "there is a key here, but the value above continues",
        "check the indentation of this line and the one before",
    )


def _after_bracket(stuck: _Stuck) -> Fault | None:
    """Something behind a bracket that ends its value: `command: [python] server.py`."""
    start, line = stuck.line_at(stuck.index)
    before, rest = line[: stuck.index - start].rstrip(), line[stuck.index - start :].strip()
    if not before.endswith(("]", "}")) or not rest:
        return None
    closer, shown = before[-1], rest if len(rest) <= 40 else rest[:39] + "…"
    if rest[0] in "]}":
        return Fault(stuck.index, f"a `{rest[0]}` too many", "remove it")
    what = "list" if closer == "]" else "mapping"
    hint = "remove the comma" if rest == "," else f"move it before the `{closer}`, or remove it"
    return Fault(stuck.index, f"`{shown}` comes after the `{closer}` that ends the {what}", hint)


def _dash(stuck: _Stuck) -> Fault | None:
    if "block sequence entries are not allowed" in stuck.says:
        return Fault(
            stuck.index, "a list cannot start on the line of its key", "put the `-` on the next line, indented"
        )
    return None


def _missing_colon(stuck: _Stuck) -> Fault | None:
    if "could not find expected ':'" not in stuck.says:
        return None
    _, line = stuck.line_at(stuck.context_index)
    word = line.strip().removeprefix("- ")
    shown = word if len(word) <= 40 else word[:39] + "…"
    return Fault(stuck.context_index, f"a key without a colon: `{shown}`", "write `key: value`")


def _indentation(stuck: _Stuck) -> Fault | None:
    _, line = stuck.line_at(stuck.index)
    if "block collection" in stuck.context and line.strip().startswith("scorers:"):
        from mcptest_engine.suite.problem_messages import SCORERS_HINT

        return Fault(stuck.index, "a list continues here, but it contains a key of a mapping", SCORERS_HINT)
    if "block collection" in stuck.context or "block mapping" in stuck.context or "document start" in stuck.says:
        return Fault(
            stuck.index, "the indentation of this line does not fit any line above", "align it with the lines around it"
        )
    return None


_DIAGNOSES: tuple[Callable[[_Stuck], Fault | None], ...] = (
    _tab,
    _missing_space,
    _flow,
    _unclosed,
    _quoted,
    _start_character,
    _alias_character,
    _after_quote,
    _after_bracket,
    _colon_in_text,
    _dash,
    _missing_colon,
    _indentation,
)
