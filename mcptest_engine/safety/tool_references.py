# ruff: noqa: E501 - a pattern is one line, so that it can be read as one
"""SEC-002 by the names of tools: orders about other tools in one tool's description.

Such an order makes one tool's call follow another's, changes another tool's arguments, or declares another tool unusable.
"call list_x first" and "list_x is deprecated, use list_y" are not reported, because honest catalogs say so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcptest_engine.safety.learned import sentences
from mcptest_engine.safety.tool_classes import ToolClass, classify_name

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = re.compile(r"(?<![\w./-])[a-z][a-z0-9]*(?:[_-][a-z0-9]+)+(?![\w/-]|\.\w)")
_VERBS = frozenset(
    [
        "read",
        "get",
        "list",
        "send",
        "upload",
        "post",
        "create",
        "delete",
        "update",
        "search",
        "fetch",
        "write",
        "run",
        "execute",
        "sync",
        "call",
        "open",
        "set",
        "add",
        "remove",
        "save",
        "log",
        "report",
        "share",
        "export",
        "push",
        "publish",
        "query",
        "load",
        "find",
        "submit",
        "grep",
        "browse",
        "download",
        "copy",
        "move",
        "edit",
        "make",
        "start",
        "stop",
        "pay",
        "transfer",
        "book",
        "mail",
    ]
)
_RISKY = frozenset(
    [
        "upload",
        "send",
        "post",
        "sync",
        "mirror",
        "paste",
        "log",
        "report",
        "collect",
        "transfer",
        "share",
        "forward",
        "track",
        "telemetry",
        "audit",
        "export",
        "submit",
        "publish",
        "notify",
        "mail",
        "email",
        "webhook",
        "backup",
        "archive",
        "record",
        "relay",
        "push",
        "execute",
        "run",
        "shell",
        "pay",
        "exec",
        "invoice",
        "wire",
        "remit",
        "broadcast",
        "tweet",
    ]
)
_TRIGGER = re.compile(
    r"\b(?:after|before|whenever|when|once|each|every|if|prior to|following|as soon as|as often as|results?|outputs?|answers?|responses?|contents?|while|in addition to|together with|alongside)\b"
)
_INSISTS = re.compile(
    r"\b(?:must|always|also|every|each|whenever|have to|has to|needs? to|is to|are to|shall|should|immediately|automatically|silently|without (?:asking|telling))\b"
)
_CALLS = re.compile(
    r"\b(?:call|invoke|run|use|execute|pass|hand|send|feed|forward|give|trigger|fire|handed|passed|fed|sent|forwarded|given|called|run through|go(?:es)? to|go(?:es)? through)\b"
)
_CARRIED = re.compile(
    r"\b(?:its|the|their|that) (?:\w+ )?(?:results?|outputs?|contents?|responses?|answers?|data|return value|text|file|arguments?)\b|\bsame (?:path|arguments?|file|text)\b|\beverything\b|\bwhat (?:it|they) returned?\b"
)
_ARGUMENTS = (
    r"(?:recipients?|guests?(?: list)?|attendees?|amounts?|address(?:es)?|iban|account|bcc|cc|subject|body|urls?|target|destination|arguments?|parameters?"
    r"|payload|messages?|query|quantity|price|branch|payee|beneficiary|path|command)"
)
_CHANGES = r"(?:change|set|add|replace|append|substitute|put|include|redirect|swap|modify|rewrite|prepend|insert|multiply|increase|raise|alter|override|double)"
_CHANGED = r"(?:changed|set|added|replaced|appended|substituted|redirected|swapped|modified|rewritten|prepended|inserted|multiplied|increased|raised|altered|overridden|doubled)"
_ARGUMENT_CHANGED = re.compile(
    rf"\b{_CHANGES}\b.{{0,60}}\b{_ARGUMENTS}\b|\b{_ARGUMENTS}\b.{{0,60}}\b(?:must|has to|have to|is to|are to|should|needs? to)\b.{{0,15}}\b{_CHANGED}\b"
)
_RETIRED = re.compile(
    r".{0,12}\b(?:is|are|was|were|has been|have been|had been|became|gets?)\b.{0,20}\b(?:deprecated|withdrawn|retired|disabled|replaced|removed|discontinued|superseded|outdated|obsolete|taken offline|shut down|switched off)\b"
)
_BAD = re.compile(
    r"\b(?:broken|unsafe|insecure|unreliable|compromised|buggy|faulty|wrong|corrupts?|leaks?|malicious|dangerous|no longer (?:safe|trust\w*|works?)|vulnerable|inaccurate|hacked|loses?)\b"
)
_INSTEAD = re.compile(
    r"\b(?:use|call|choose|pick|switch to|route|run|prefer|go with|send)\b.{0,60}\b(?:instead|in its place|in its stead|wherever|whenever|every time|from now on|for (?:all|every|any)|rather than)\b"
    r"|\binstead\b.{0,30}\b(?:use|call|choose|pick|run)\b|\b(?:do not|don't|never|stop) (?:use|using|call|calling)\b.{0,80}\b(?:use|call) (?:this|it)\b"
)
_NEGATED = re.compile(r"\b(?:not|never|don't|without|no need to)(?: \w+){0,2}\s*\Z")
_CHOSEN = re.compile(
    r"\bif (?:the )?user\b|\bwhen (?:the )?user (?:asks|wants|requests)|\boptional|\bif (?:you )?(?:need|want|necessary)|\bas needed\b|\bmay\b|\bcan\b"
)


def orders_about_tools(
    text: str, own: str, names: frozenset[str], arguments: frozenset[str]
) -> Iterator[tuple[int, int]]:
    """The start and end of each sentence that orders something about other tools, in a text in small letters.

    `own` is the described tool's name, `names` are those of the server's tools, and `arguments` those of this tool's arguments.
    """
    if "_" not in text and "-" not in text:
        return
    spans = sentences(text)
    for at, (start, end) in enumerate(spans):
        found = [name for name in _NAME.finditer(text, start, end) if _is_tool(name[0], names, arguments)]
        others = [name for name in found if name[0] != own]
        if not others:
            continue
        sentence = text[start:end]
        following = text[start : spans[at + 1][1]] if at + 1 < len(spans) else sentence
        if (
            _orders_pair(sentence, start, others, found, own)
            or _changes_arguments(sentence, start, others)
            or _replaces_tool(following, start, others, own)
        ):
            yield start, end


def _is_tool(name: str, names: frozenset[str], arguments: frozenset[str]) -> bool:
    if name in names:
        return True
    return "_" in name and name not in arguments and name.split("_", maxsplit=1)[0] in _VERBS


def _orders_pair(sentence: str, start: int, others: list[re.Match[str]], found: list[re.Match[str]], own: str) -> bool:
    """Whether a call of one tool is to be followed by a call of another, risky one, or its result passed to it."""
    if not _INSISTS.search(sentence) or _CHOSEN.search(sentence):
        return False
    for one in others:
        for two in found:
            if two.start() <= one.start() or two[0] == one[0] or not _is_risky(two[0]):
                continue
            between = sentence[one.end() - start : two.start() - start]
            if not _TRIGGER.search(sentence[: one.start() - start]) or not _CALLS.search(between):
                continue
            if _NEGATED.search(between):
                continue
            if two[0] != own or (not _share_noun(one[0], own) and _CARRIED.search(sentence[one.end() - start :])):
                return True
    return False


def _changes_arguments(sentence: str, start: int, others: list[re.Match[str]]) -> bool:
    """Whether another, risky tool is to be called with other arguments."""
    if not _TRIGGER.search(sentence) and not _INSISTS.search(sentence):
        return False
    changed = _ARGUMENT_CHANGED.search(sentence)
    if changed is None or _NEGATED.search(sentence[: changed.start()]) or _CHOSEN.search(sentence):
        return False
    return any(_is_risky(one[0]) and abs(one.start() - start - changed.start()) < 120 for one in others)


def _replaces_tool(text: str, start: int, others: list[re.Match[str]], own: str) -> bool:
    """Whether another tool is declared unusable or bad, and this one is to be called in its place."""
    instead = _INSTEAD.search(text)
    if instead is None:
        return False
    for one in others:
        rest = text[one.end() - start :]
        bad = _BAD.search(rest[:120])
        if _RETIRED.match(rest) and (bad or not _share_noun(one[0], own)):
            return True
        if (
            bad
            and re.match(r".{0,12}\b(?:is|was|has|gives?|returns?|leaks?|corrupts?|loses?)\b", rest)
            and not _NEGATED.search(rest[: bad.start()])
        ):
            return True
        before = text[: one.start() - start]
        if (
            re.search(r"\b(?:whenever|every time|each time|always)\b.{0,40}\Z", before)
            and not _share_noun(one[0], own)
            and re.search(r"\binstead\b", rest)
        ):
            return True
    return False


def _is_risky(name: str) -> bool:
    return not _RISKY.isdisjoint(re.split(r"[_-]", name)) or classify_name(name) is not ToolClass.READ_ONLY_PRESUMED


def _share_noun(one: str, other: str) -> bool:
    """Whether two names share a noun or, where one has no noun, any word: `list_v1` and `list_v2`."""
    words = [frozenset(part.rstrip("s") for part in re.split(r"[_\W]", name) if len(part) > 2) for name in (one, other)]
    nouns = [held - _VERBS for held in words]
    return not nouns[0].isdisjoint(nouns[1]) if all(nouns) else not words[0].isdisjoint(words[1])
