"""Rewrites a matcher that failed so that it holds for the actual value.

Only matchers that can state a value are rewritten: the author of a schema, a jq program or a rubric has to look at it. Each
proposal is judged on the value first, so that none is returned that would fail again.
"""

from __future__ import annotations

import math
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.authoring.review_texts import value_at
from mcptest_engine.authoring.shapes import type_of
from mcptest_engine.core.clipping import show
from mcptest_engine.suite.edit_steps import keep_form

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.suite.yaml import Pointer

SHORT_TEXT = 80
"""The longest text of one line that is stated whole."""
LARGEST_VALUE = 16 * 1024
"""The most characters of JSON that a proposal may add to a suite."""
_MOST_LINES = 500


class Restated(NamedTuple):
    """Another matcher; `loosens` says how it demands less than the one that failed, None when it does not."""

    matcher: JsonMapping
    loosens: str | None = None


def restated(matcher: Mapping[str, object], actual: object) -> Restated | None:
    """A matcher that holds for `actual`, as similar to the failed one as possible; None when there is none."""
    if len(matcher) != 1:
        return None
    ((name, argument),) = matcher.items()
    restate = _RESTATE.get(name)
    if restate is None or len(show(actual, LARGEST_VALUE + 1)) > LARGEST_VALUE:
        return None
    found = restate(argument, actual)
    if found is None or found.matcher == matcher or not _holds(found.matcher, actual):
        return None
    formed = keep_form(matcher, found.matcher)
    return found._replace(matcher=formed) if _holds(formed, actual) else found


def find_loosening(matcher: JsonMapping, part: Pointer, new: Any, actual: Any) -> str | None:
    """How a matcher demands less when only its `part` becomes `new`, as proposed for `actual`."""
    name, *inner = part
    if name == "all-of" and len(inner) > 1:
        return find_loosening(matcher[name][inner[0]], tuple(inner[1:]), new, actual)
    if name in ("subset", "contains"):
        lost: list[str] = []
        _covered(value_at(matcher, part), new, "".join(f"{one}." for one in inner), lost)
        return _loss(lost)
    found = restated(matcher[name][inner[0]] if name == "all-of" and inner else matcher, actual)
    return None if found is None else found.loosens


def _holds(matcher: Mapping[str, object], actual: object) -> bool:
    from mcptest_engine.judging.matchers import Context, compile_judge

    try:
        return compile_judge(matcher, Context())(actual) is None
    except (ValueError, TypeError, KeyError, RecursionError):
        return False


def _exact(_argument: object, actual: object) -> Restated | None:
    return Restated({"exact": actual})


def _contains(argument: object, actual: object) -> Restated | None:
    if isinstance(argument, str) and isinstance(actual, str):
        part = _part(argument, actual)
        return None if part is None else Restated({"contains": part})
    if isinstance(argument, dict) and isinstance(actual, dict):
        return _subset_of("contains", argument, actual)
    return None


def _icontains(argument: object, actual: object) -> Restated | None:
    part = _part(argument, actual) if isinstance(argument, str) and isinstance(actual, str) else None
    return None if part is None else Restated({"icontains": part})


def _starts_with(argument: Any, actual: object) -> Restated | None:
    if not isinstance(actual, str) or not actual.strip():
        return None
    line = actual.split("\n", 1)[0]
    return Restated({"starts-with": line if len(line) <= SHORT_TEXT else _cut(line, max(len(argument), 20))})


def _ends_with(argument: Any, actual: object) -> Restated | None:
    if not isinstance(actual, str) or not actual.strip():
        return None
    line = actual.rsplit("\n", 1)[-1]
    wanted = line if len(line) <= SHORT_TEXT else _cut(line[::-1], max(len(argument), 20))[::-1]
    return Restated({"ends-with": wanted}) if wanted else None


def _regex(argument: object, actual: object) -> Restated | None:
    if not isinstance(actual, str) or not actual.strip():
        return None
    if _is_short(actual):
        return Restated({"exact": actual})
    part = _part(str(argument), actual)
    return None if part is None else Restated({"contains": part})


def _one_of(argument: object, actual: object) -> Restated | None:
    if not isinstance(argument, list):
        return None
    return Restated({"one-of": [*argument, actual]}, f"accepts {show(actual, 60)} as well")


def _contains_any(argument: object, actual: object) -> Restated | None:
    if not isinstance(argument, list) or not isinstance(actual, str):
        return None
    part = _part(str(argument[0]) if argument else "", actual)
    return None if part is None else Restated({"contains-any": [*argument, part]}, f"accepts {show(part, 60)} as well")


def _type(_argument: object, actual: object) -> Restated | None:
    kind = type_of(actual)
    if kind == "null":
        return Restated({"type": kind}, "accepts null")
    return Restated({"type": kind})


def _exists(argument: object, _actual: object) -> Restated | None:
    return Restated({"exists": True}) if argument is False else None


def _length(argument: object, actual: object) -> Restated | None:
    if not isinstance(actual, (str, list, dict)):
        return None
    if isinstance(argument, dict):
        inner = restated(argument, len(actual))
        return None if inner is None else Restated({"length": inner.matcher}, inner.loosens)
    return Restated({"length": len(actual)})


def _above(name: str) -> Callable[[Any, Any], Restated | None]:
    """`lt` and `lte`: raise the limit to the actual value, or just above it."""

    def restate(argument: object, actual: Any) -> Restated | None:
        if not _is_number(argument) or not _is_number(actual):
            return None
        limit = actual if name == "lte" else _beyond(actual, 1)
        return Restated({name: limit}, f"raises the limit from {argument} to {limit}")

    return restate


def _below(name: str) -> Callable[[Any, Any], Restated | None]:
    def restate(argument: object, actual: Any) -> Restated | None:
        if not _is_number(argument) or not _is_number(actual):
            return None
        limit = actual if name == "gte" else _beyond(actual, -1)
        return Restated({name: limit}, f"lowers the limit from {argument} to {limit}")

    return restate


def _between(argument: object, actual: object) -> Restated | None:
    if not isinstance(argument, list) or len(argument) != 2 or not _is_number(actual):
        return None
    low, high = argument
    if actual < low:
        return Restated({"between": [actual, high]}, f"lowers the limit from {low} to {actual}")
    return Restated({"between": [low, actual]}, f"raises the limit from {high} to {actual}")


def _approx(argument: object, actual: object) -> Restated | None:
    if not isinstance(argument, dict) or not _is_number(actual):
        return None
    return Restated({"approx": {**argument, "value": actual}})


def _subset(argument: object, actual: object) -> Restated | None:
    return _subset_of("subset", argument, actual)


def _subset_of(name: str, argument: object, actual: object) -> Restated | None:
    lost: list[str] = []
    value = _covered(argument, actual, "", lost)
    if value in ({}, []):
        return None
    return Restated({name: value}, _loss(lost))


def _loss(lost: Sequence[str]) -> str | None:
    return f"no longer requires {', '.join(f'`{one}`' for one in lost[:3])}" if lost else None


def _covered(wanted: object, actual: object, path: str, lost: list[str]) -> object:
    """The expected parts with their actual values; missing ones are left out and noted in `lost`."""
    if isinstance(wanted, dict) and isinstance(actual, dict):
        lost += [f"{path}{key}" for key in wanted if key not in actual]
        return {
            key: _covered(part, actual[key], f"{path}{key}.", lost) for key, part in wanted.items() if key in actual
        }
    if isinstance(wanted, list) and isinstance(actual, list):
        lost += [f"{path}{number}" for number in range(len(actual), len(wanted))]
        return [
            _covered(part, other, f"{path}{number}.", lost)
            for number, (part, other) in enumerate(zip(wanted, actual, strict=False))
        ]
    return actual


def _not(argument: object, _actual: object) -> Restated | None:
    """`not`: the excluded value was returned, so only the opposite holds."""
    if not isinstance(argument, dict) or len(argument) != 1:
        return None
    return Restated(argument, "expects the value that it excluded")


def _all_of(argument: object, actual: object) -> Restated | None:
    if not isinstance(argument, list):
        return None
    inner = [(one, None if _holds(one, actual) else restated(one, actual)) for one in argument]
    losses = [new.loosens for _, new in inner if new is not None and new.loosens is not None]
    return Restated(
        {"all-of": [old if new is None else new.matcher for old, new in inner]}, "; ".join(losses) if losses else None
    )


_RESTATE: dict[str, Callable[[object, object], Restated | None]] = {
    "exact": _exact,
    "contains": _contains,
    "icontains": _icontains,
    "contains-any": _contains_any,
    "starts-with": _starts_with,
    "ends-with": _ends_with,
    "regex": _regex,
    "one-of": _one_of,
    "type": _type,
    "exists": _exists,
    "length": _length,
    "lt": _above("lt"),
    "lte": _above("lte"),
    "gt": _below("gt"),
    "gte": _below("gte"),
    "between": _between,
    "approx": _approx,
    "subset": _subset,
    "not": _not,
    "all-of": _all_of,
}


def _part(wanted: str, actual: str) -> str | None:
    """The part of a text that identifies it: all of a short one, else its line that is most similar to the expected text."""
    if not actual.strip():
        return None
    if _is_short(actual):
        return actual
    lines = [line.strip() for line in actual.split("\n")[:_MOST_LINES] if line.strip()]
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[:SHORT_TEXT])
    best, likeness = lines[0], 0.0
    for line in lines:
        matcher.set_seq1(line[:SHORT_TEXT])
        if matcher.quick_ratio() > likeness and matcher.ratio() > likeness:
            best, likeness = line, matcher.ratio()
    return best if len(best) <= SHORT_TEXT else _cut(best, SHORT_TEXT)


def _is_short(text: str) -> bool:
    return len(text) <= SHORT_TEXT and "\n" not in text and "\r" not in text


def _cut(text: str, most: int) -> str:
    """The beginning of a long line, up to the end of a word if there is one."""
    cut = text[:most]
    space = cut.rfind(" ")
    return cut[:space] if space > most // 2 else cut


def _is_number(value: object) -> bool:
    # the difference of infinities is not 0
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value - value == 0


def _beyond(value: float, step: int) -> float:
    """The next round number, so that `value` is within the limit."""
    if isinstance(value, int) or value.is_integer():
        return int(value) + step
    scale = 10.0 ** (1 - math.floor(math.log10(abs(value))))
    rounded: float = (math.ceil if step > 0 else math.floor)(value * scale) / scale
    return rounded if rounded != value else value + step / scale
