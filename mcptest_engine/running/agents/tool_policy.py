"""Which of the calls that a model asks for are executed: the `tools:` of an agent test, and else the class of the tool. Pure.

`deny` is stronger than `dry`, and `dry` than `allow`. With `allow`, a tool that it does not name is executed only if it
declares itself read-only. Without `allow`, every tool is executed that is not classified as destructive.
Source: execution-safety.md, which gives the classes.
"""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.effects import CallDecision, DecidedBy
from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.safety.policy import ToolClass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

LISTS = ("allow", "deny", "dry")
DENIED = "the policy of this test does not allow this tool"
STUB_TEXT = "OK"
"""What a stub says where the tool declares no `outputSchema`."""


class Ruling(NamedTuple):
    """What becomes of a call. `why` is the reason of a denial, for people; a model is given `DENIED` alone."""

    decision: CallDecision
    by: DecidedBy
    why: str = ""


def decide_call(
    lists: Mapping[str, Sequence[str]], names: Sequence[str], tool_class: ToolClass, *, is_listed: bool = True
) -> Ruling:
    """What becomes of a call. `lists` is `tools:` as written; `names` are those that the tool may go by in it.

    `is_listed` is whether the server lists the tool still: of one that it does not, nothing says what it would do.
    """
    if _is_named(names, lists.get("deny", ())):
        return Ruling(CallDecision.DENIED, DecidedBy.SUITE, "`deny` names it")
    if _is_named(names, lists.get("dry", ())):
        return Ruling(CallDecision.DRY, DecidedBy.SUITE)
    if not is_listed:
        return Ruling(CallDecision.DENIED, DecidedBy.POLICY, "the server does not list it any more")
    if "allow" in lists:
        if _is_named(names, lists["allow"]) or tool_class is ToolClass.READ_ONLY:
            return Ruling(CallDecision.EXECUTED, DecidedBy.MODEL)
        return Ruling(
            CallDecision.DENIED, DecidedBy.SUITE, "`allow` does not name it, and it does not declare `readOnlyHint`"
        )
    if tool_class is ToolClass.DESTRUCTIVE:
        return Ruling(CallDecision.DENIED, DecidedBy.POLICY, "it is classified as destructive")
    return Ruling(CallDecision.EXECUTED, DecidedBy.MODEL)


def unknown_names(lists: Mapping[str, Sequence[str]], known: Iterable[str]) -> Iterator[str]:
    """What is to be warned of: names and patterns in `tools:` that no listed tool goes by."""
    known = tuple(known)
    for key in LISTS:
        for pattern in lists.get(key, ()):
            if not any(fnmatchcase(name, pattern) for name in known):
                hint = did_you_mean(pattern, known)
                yield f"`tools.{key}` names `{pattern}`, which no server lists" + (f"; {hint}" if hint else "")


def stub_result(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A result that the tool could have given: a value for its `outputSchema`, or a text where it has none that can be met."""
    schema = tool.get("outputSchema")
    if isinstance(schema, dict):
        from mcptest_engine.core.synthesize import synthesize

        made = synthesize({"type": "object", **schema})
        if made.problem is None and isinstance(made.value, dict):
            text = json.dumps(made.value, ensure_ascii=False)
            return {"content": [{"type": "text", "text": text}], "structuredContent": made.value}
    return {"content": [{"type": "text", "text": STUB_TEXT}]}


def _is_named(names: Sequence[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)
