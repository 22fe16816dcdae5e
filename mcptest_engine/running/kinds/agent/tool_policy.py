"""Which of the calls that a model asks for are executed: the `tools:` of an agent test, and else the class of the tool. Pure.

`deny` is stronger than `dry`, and `dry` than `allow`. With `allow`, a tool that it does not name is executed only if it
declares itself read-only. Without `allow`, every tool is executed that is not classified as destructive.
See docs/explanation/safety.md.
"""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.effects import CallDecision, DecidedBy
from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.running.kinds.agent.toolbox import join_name
from mcptest_engine.safety.tool_classes import ToolClass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest_engine.running.kinds.agent.toolbox import ListedTool


LISTS = ("allow", "deny", "dry")
DENIED = "the policy of this test does not allow this tool"
STUB_TEXT = "OK"
"""What a stub says where the tool declares no `outputSchema`."""


class Ruling(NamedTuple):
    """What becomes of a call. `why` is the reason of a denial, for people; a model is given `DENIED` alone."""

    decision: CallDecision
    by: DecidedBy
    why: str = ""


def decide_call(lists: Mapping[str, Sequence[str]], tool: ListedTool, servers: Sequence[str]) -> Ruling:
    """What becomes of a call. `lists` is `tools:` as written; `servers` are those whose tools are offered.

    Of a tool that its server does not list any more nothing says what it would do.
    """
    if _is_named("deny", lists, tool, servers):
        return Ruling(CallDecision.DENIED, DecidedBy.SUITE, "`deny` names it")
    if _is_named("dry", lists, tool, servers):
        return Ruling(CallDecision.DRY, DecidedBy.SUITE)
    if not tool.is_listed:
        return Ruling(CallDecision.DENIED, DecidedBy.POLICY, "the server no longer lists it")
    if "allow" in lists:
        if _is_named("allow", lists, tool, servers):
            return Ruling(CallDecision.EXECUTED, DecidedBy.SUITE)
        if tool.tool_class is ToolClass.READ_ONLY:
            return Ruling(CallDecision.EXECUTED, DecidedBy.MODEL)
        return Ruling(
            CallDecision.DENIED, DecidedBy.SUITE, "`allow` does not name it, and it does not declare `readOnlyHint`"
        )
    if tool.tool_class is ToolClass.DESTRUCTIVE:
        return Ruling(CallDecision.DENIED, DecidedBy.POLICY, "it is classified as destructive")
    return Ruling(CallDecision.EXECUTED, DecidedBy.MODEL)


def unknown_names(
    lists: Mapping[str, Sequence[str]], tools: Sequence[ListedTool], servers: Sequence[str]
) -> Iterator[str]:
    """What is to be warned of: names and patterns in `tools:` that no listed tool goes by."""
    known = [join_name(tool.server, tool.name, servers) for tool in tools]
    for key in LISTS:
        for pattern in lists.get(key, ()):
            if any(_is_named(key, {key: (pattern,)}, tool, servers) for tool in tools):
                continue
            meant = next(
                (name for name, tool in zip(known, tools, strict=True) if fnmatchcase(tool.name, pattern)), None
            )
            if meant is not None:
                yield f"`tools.{key}` names `{pattern}` without its server, so it allows nothing; write `{meant}`"
            else:
                hint = did_you_mean(pattern, known)
                yield f"`tools.{key}` names `{pattern}`, which no server lists" + (f"; {hint}" if hint else "")


def stub_result(tool: Mapping[str, object]) -> dict[str, Any]:
    """A result that the tool could have given: a value for its `outputSchema`, or a text where it has none that can be met."""
    schema = tool.get("outputSchema")
    if isinstance(schema, dict):
        from mcptest_engine.core.synthesize import synthesize

        made = synthesize({"type": "object", **schema})
        if made.problem is None and isinstance(made.value, dict):
            text = json.dumps(made.value, ensure_ascii=False)
            return {"content": [{"type": "text", "text": text}], "structuredContent": made.value}
    return {"content": [{"type": "text", "text": STUB_TEXT}]}


def _is_named(key: str, lists: Mapping[str, Sequence[str]], tool: ListedTool, servers: Sequence[str]) -> bool:
    """Whether a pattern of the list names the tool.

    Of several servers, one that begins with `server__` means tools of that server alone: others name their tools as they like.
    For the same reason `allow` knows no tool by its own name then, which any of the servers could give to one of its tools.
    """
    return any(_names(pattern, tool, servers, bare=key != "allow") for pattern in lists.get(key, ()))


def _names(pattern: str, tool: ListedTool, servers: Sequence[str], *, bare: bool) -> bool:
    if (bare or len(servers) < 2) and fnmatchcase(tool.name, pattern):
        return True
    prefixes = (join_name(server, "", servers) for server in servers)
    prefix = max((one for one in prefixes if pattern.startswith(one)), key=len, default="")
    if not prefix:
        return fnmatchcase(join_name(tool.server, tool.name, servers), pattern) or fnmatchcase(tool.told, pattern)
    is_of_server = join_name(tool.server, "", servers) == prefix
    return is_of_server and (fnmatchcase(tool.name, pattern.removeprefix(prefix)) or fnmatchcase(tool.told, pattern))
