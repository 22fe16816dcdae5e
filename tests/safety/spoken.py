"""Examples of a regular expression that take every alternative at least once.

Made from the parse tree of the standard library's `re`, which is private; only this test depends on it.
"""

from __future__ import annotations

import re._constants as op  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from typing import Any

MOST = 200


def examples(source: str) -> list[str]:
    return _said(parser.parse(source))


def _said(tree: Any) -> list[str]:
    so_far = [""]
    for kind, value in tree:
        choices = _choices(kind, value)
        joined = (
            [before + after for before in so_far for after in choices] if len(so_far) * len(choices) <= MOST else None
        )
        if joined is None:  # too many: every choice once, and every beginning once
            joined = [so_far[at % len(so_far)] + after for at, after in enumerate(choices)]
            joined += [before + choices[at % len(choices)] for at, before in enumerate(so_far)]
        so_far = list(dict.fromkeys(joined))
    return so_far


def _choices(kind: Any, value: Any) -> list[str]:
    if kind is op.LITERAL:
        return [chr(value)]
    if kind is op.SUBPATTERN:
        return _said(value[3])
    if kind is op.BRANCH:
        return [said for branch in value[1] for said in _said(branch)]
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        least, _, inner = value
        return [said * least for said in _said(inner)] if least else ["", *_said(inner)]
    if kind is op.IN:
        return _of_class(value)
    return [""] if kind in (op.AT, op.ASSERT, op.ASSERT_NOT) else ["x"]


def _of_class(value: Any) -> list[str]:
    if value[0][0] is op.NEGATE:
        return ["x"]
    if any(one == (op.CATEGORY, op.CATEGORY_NOT_WORD) for one in value):
        return [" "]
    literals = [chr(code) for what, code in value if what is op.LITERAL]
    if len(literals) == len(value):
        return literals if len(literals) <= 3 else literals[:1]
    return ["x"]
