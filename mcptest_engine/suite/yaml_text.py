"""Plain data to YAML text, as people write suites: short things in brackets on one line, assertions one a line.

What is written means the same to every reader of YAML, 1.1 included (`no` is quoted), and a target always stands in double
quotes, because its brackets would end it inside of braces. A CI system that prints it finds no command to obey in it.
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.sanitise import CI_COMMAND_IN_LINE
from mcptest_engine.suite.yaml_scalars import resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 100
"""What is longer than this is not put on one line."""
ALWAYS_QUOTED = frozenset({"target"})
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*(?: [A-Za-z0-9_(][A-Za-z0-9_./()'-]*)*")
_OLD_WORDS = frozenset({"y", "n", "yes", "no", "on", "off"})  # booleans to readers of YAML 1.1
_NOT_SHOWN = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]")
_LONE = re.compile("[\ud800-\udfff]")


class Unwritable(ValueError):
    """A value that no suite can hold; the message says which."""


def scalar(value: object, *, quoted: bool = False) -> str:
    """One text, number, boolean or null. Raises: Unwritable."""
    if isinstance(value, str):
        return value if not quoted and _is_plain(value) else _in_quotes(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    if isinstance(value, (int, float)):
        try:
            return repr(value)
        except ValueError:
            raise Unwritable("the number has too many digits") from None
    raise Unwritable(f"a suite cannot contain a {type(value).__name__}")


def in_flow(value: object, *, as_json: bool = False, quoted: bool = False) -> str:
    """Any value on one line: `{ text: hello, tags: [a, b] }`, or as JSON. Raises: Unwritable."""
    if isinstance(value, dict):
        members = [
            f"{scalar(_key(key), quoted=as_json)}: {in_flow(member, as_json=as_json, quoted=key in ALWAYS_QUOTED)}"
            for key, member in value.items()
        ]
        if as_json:
            return "{" + ", ".join(members) + "}"
        return "{ " + ", ".join(members) + " }" if members else "{}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(in_flow(item, as_json=as_json) for item in value) + "]"
    return scalar(value, quoted=quoted or as_json)


def entry(key: str, value: object, column: int, *, in_args: bool = False) -> list[str]:
    """The lines of `key: value` in a block mapping at `column`; the first without its indentation.

    Objects in objects stand on lines of their own in arguments, which a server may want as deep as it likes.
    """
    head, in_args = f"{scalar(_key(key))}:", in_args or key == "args"
    if not (in_args and _holds_objects(value)) and not _is_block(value, column + len(head) + 1):
        return [f"{head} {in_flow(value, quoted=key in ALWAYS_QUOTED)}"]
    inner = column + 2
    return [head, *indented(block(value, inner, in_args=in_args), inner)]


def item(value: object, column: int, *, spread: bool = False, in_args: bool = False) -> list[str]:
    """The lines of `- value` in a block sequence whose dashes stand at `column`; `spread` gives each key a line of its own."""
    spread = spread or (in_args and _holds_objects(value))
    if not isinstance(value, (dict, list)) or not value or not (spread or _is_block(value, column + 2)):
        return [f"- {in_flow(value)}"]
    first, *rest = block(value, column + 2, in_args=in_args)
    return [f"- {first}", *rest]


def block(value: Any, column: int, *, in_args: bool = False) -> list[str]:
    """The lines of a collection in block style at `column`; the first without its indentation."""
    lines: list[str] = []
    if isinstance(value, dict):
        for key, member in value.items():
            lines += _follow(lines, entry(key, member, column, in_args=in_args), column)
    else:
        for member in value:
            lines += _follow(lines, item(member, column, in_args=in_args), column)
    return lines


def _follow(before: Sequence[str], lines: Sequence[str], column: int) -> list[str]:
    return [" " * column + lines[0] if before else lines[0], *lines[1:]]


def indented(lines: Sequence[str], column: int) -> list[str]:
    """The lines of a block whose first is written with its own indentation of `column` spaces."""
    return [" " * column + lines[0], *lines[1:]]


def _is_block(value: object, column: int) -> bool:
    """Whether a collection is better written over several lines."""
    if not isinstance(value, (dict, list)) or not value:
        return False
    nested = (
        value if isinstance(value, list) else [x for part in value.values() if isinstance(part, list) for x in part]
    )
    return any(isinstance(part, dict) for part in nested) or column + len(in_flow(value)) > WIDTH


def _holds_objects(value: object) -> bool:
    return isinstance(value, dict) and any(isinstance(part, dict) and part for part in value.values())


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise Unwritable("a key must be text")
    return key


@lru_cache(maxsize=4096)
def _is_plain(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None and text.lower() not in _OLD_WORDS and resolve(text) is text


def _in_quotes(text: str) -> str:
    if _LONE.search(text):
        raise Unwritable("the text contains half a character (a lone surrogate)")
    text = CI_COMMAND_IN_LINE.sub(r"#\\u0023", json.dumps(text, ensure_ascii=False))
    return _NOT_SHOWN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
