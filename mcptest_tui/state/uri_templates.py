"""URI templates filled with values. Source: RFC 6570, levels 1 to 3, with `*` and `:n` of level 4 for texts."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
_RESERVED = ":/?#[]@!$&'()*+,;="


class _Style(NamedTuple):
    first: str
    between: str
    named: bool
    empty: str
    kept: str


_STYLES = {
    "": _Style("", ",", False, "", ""),
    "+": _Style("", ",", False, "", _RESERVED),
    "#": _Style("#", ",", False, "", _RESERVED),
    ".": _Style(".", ".", False, "", ""),
    "/": _Style("/", "/", False, "", ""),
    ";": _Style(";", ";", True, "", ""),
    "?": _Style("?", "&", True, "=", ""),
    "&": _Style("&", "&", True, "=", ""),
}


def expand(template: str, values: Mapping[str, object]) -> str:
    """Return the URI of a template; variables without values are left out."""

    def expression(found: re.Match[str]) -> str:
        style = _STYLES[found[1]]
        parts = [_variable(part.strip(), values, style) for part in found[2].split(",")]
        told = [part for part in parts if part is not None]
        return style.first + style.between.join(told) if told else ""

    return _EXPRESSION.sub(expression, template)


def _variable(part: str, values: Mapping[str, object], style: _Style) -> str | None:
    name, _, length = part.rstrip("*").partition(":")
    if name not in values:
        return None
    value = values[name]
    text = value if isinstance(value, str) else json.dumps(value)
    if length.isdecimal():
        text = text[: int(length)]
    told = quote(text, safe=f"~{style.kept}")
    if not style.named:
        return told
    return f"{name}={told}" if told else f"{name}{style.empty}"
