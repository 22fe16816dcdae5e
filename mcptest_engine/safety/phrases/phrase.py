# ruff: noqa: E501 - a pattern is one line, so that it can be read as one
"""One way of steering a model: a `Phrase`, and the small language that phrases are written in.

A phrase is a row of regular expressions with bounded gaps between them. The surprising thing is that the gaps are no part of
the expressions: chains are followed from part to part in one pass, so that no text, however made, costs more than time linear
in its length.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING

from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Phrase", "phrase"]

_GAP = r"[\W_]{1,4}"
_FEW = r"(?:[^\W_]{1,20}[\W_]{1,4}){0,3}"
_POSITIVE = r"(?<!not\s)(?<!n't\s)(?<!never\s)"
_GAP_OF = re.compile(r"<(\d+)(!?)>")
_SENTENCE_END = re.compile(r"[.!?\u3002\uff01\uff1f\u0964](?:\s|$)|[\u3002\uff01\uff1f]|\n(?=[-*#\u2022])")

_NAMES = {
    "override": (
        r"(?:ignore|disregard|forget|override|overrule|neglect|overlook|bypass|circumvent|discard|dismiss|abandon|set aside"
        r"|put aside|pay no attention to|pay no heed to|stop (?:following|obeying)|(?:no longer|do not|don't|must not"
        r"|should not|never) (?:follow|obey|adhere to|comply with|listen to)|no longer bound by|not bound by)"
    ),
    "earlier": (
        r"(?:previous|previously given|prior|earlier|above|preceding|foregoing|original|initial|existing|former|past|old|your|other|safety|system|developer|user)(?:'s)?"
    ),
    "orders": (
        r"(?:instructions?|directions?|directives?|guidelines?|guidance|guardrails?|rules?|prompts?|commands?|orders|restrictions?"
        r"|polic(?:y|ies)|constraints?|safeguards?|programming|training|system message)"
    ),
    "user": r"(?:the |your |any |this )?(?:end )?(?:users?|human|person|customer|operator)",
    "model": r"(?:assistants?|ai|ais|ai models?|ai agents?|ai assistants?|language models?|llms?|models?|agents?|chatbots?)",
    "transfer": (
        r"(?:send|pass|include|attach|put|copy|forward|upload|post|e-?mail|submit|append|provide|insert|embed|leak"
        r"|exfiltrate|share|transmit|hand over|hand|deliver|paste|place|write|add|report|relay|supply|give|feed|store|dump"
        r"|encode|load|collect|gather|extract|harvest)"
    ),
    "reading": r"(?:read|open|load|cat|access|retrieve|fetch|get|take|taken|grab|extract|obtain|copy|look up|print)",
    "private": (
        r"(?:~/\.ssh\b|\.ssh/|id_(?:rsa|ed25519|ecdsa|dsa)\b|/etc/(?:passwd|shadow|sudoers)|\.aws/credentials|\.netrc\b"
        r"|\.git-credentials|\.kube/config|\.gnupg\b|\.docker/config|\.npmrc\b|\.pgpass\b|\.bash_history|claude_desktop_config"
        r"|\.cursor/mcp|mcp\.json|\.vscode/mcp|login data\b|wallet\.dat|seed phrase)"
    ),
    "softprivate": (
        r"(?:\.env(?: files?)?\b|private keys?|ssh keys?|credentials? files?|secrets? files?|key ?chain|password (?:file|store|manager)s?"
        r"|(?:configuration|config|settings) (?:file )?of (?:the |your |this )?(?:editor|client|host|ide|agent|mcp)|(?:client|editor|agent|host)'s"
        r" (?:configuration|config|settings))"
    ),
    "secrets": (
        r"(?:api[\s_-]?keys?|pass ?words?|passphrases?|access tokens?|auth(?:entication|orization)? tokens?|session (?:cookies|tokens?)"
        r"|cookies|credentials?|secrets?|private keys?|environment variables?|tokens)"
    ),
    "talk": (
        r"(?:conversation(?: so far| history| transcript)?(?! (?:ids?|names?|titles?|keys?|types?|uuids?|urls?|objects?|list)\b)|chat (?:history|log|transcript)|transcript|dialogue|message history"
        r"|system prompt|hidden prompt|(?:user's |users' )(?:last |latest |private |previous |other )?(?:messages?|prompts?|documents?|files?|mails?|emails?|data)"
        r"|user messages|messages of the user|everything the user|(?:results?|outputs?) of (?:all |any |every )?other tools?"
        r"|all results|chat so far|last (?:\w+ )?messages?)"
    ),
    "sink": (
        r"(?:https?://|@[\w-]{1,40}\.\w|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b(?:parameter|argument|field|property)\b|the request\b|our server"
        r"|this tool\b|the call\b|as [^\W_]+_\w+|here\b|along\b|this endpoint|our (?:api|endpoint|team))"
    ),
    "choose": r"(?:use|using|choose|choosing|select|selecting|pick|picking|prefer|call|calling|invoke|default to|rely on|go with)",
    "this": r"(?:this one|this tool|this function|this server|this|it)",
    "whenever": (
        r"(?:when|whenever|if|before|after|once|every time|each time|for (?:all|any|every|each|subsequent|all subsequent|future)"
        r"|in all|on (?:every|each))"
    ),
    "written": (
        r"(?:(?:web ?)?pages?|web ?sites?|sites?|documents?|files?|e-?mails?|mails?|contents?|texts?|results?|outputs?|responses?|issues?"
        r"|comments?|tickets?|messages?|readme|articles?|transcripts?|data)"
    ),
    "everyother": r"(?:all|any|every|each|the) (?:other|others|alternative|alternatives|competing|competitors?|rival|remaining|else|similar)",
}


@dataclass(frozen=True, slots=True)
class Gap:
    """How many characters may stand between two parts, and whether a sentence may end there."""

    most: int
    crosses_sentences: bool


@dataclass(frozen=True, slots=True)
class Phrase:
    """Parts in this order with at most `gaps` between them; `unless` must not match in what was found.

    It is tried on a text in small letters that holds one word of each group of `needs`. A part is compiled when it is first
    needed: most never are.
    """

    rule: str
    needs: tuple[frozenset[str], ...]
    sources: tuple[str, ...]
    gaps: tuple[Gap, ...] = ()
    unless: str | None = None
    parameters_only: bool = False

    def find(self, text: str, start: int = 0, end: int = sys.maxsize) -> tuple[int, int] | None:
        """Where the phrase stands in this part of `text`, which is in small letters: the first place.

        It takes time linear in the length of the part.
        """
        for source in reversed(self.sources):
            if not _loosely(source).search(text, start, end):
                return None
        chains = [found.span() for found in _compiled(self.sources[0]).finditer(text, start, end)]
        for source, gap in zip(self.sources[1:], self.gaps, strict=True):
            if not chains:
                return None
            chains = list(_continued(chains, _compiled(source).finditer(text, start, end), gap, text))
        unless = _compiled(self.unless) if self.unless else None
        for chain in chains:
            cut_off = chain[1] == end < len(text)  # where a part ends, `$` matches
            if not cut_off and (unless is None or not unless.search(text, *chain)):
                return chain
        return None


@lru_cache(maxsize=1024)
def _loosely(source: str) -> re.Pattern[str]:
    """The part without what it asks of the text before it: a search for it skips whatever begins with no letter of it."""
    return re.compile(source.removeprefix(_POSITIVE).removeprefix(r"\b"))


@lru_cache(maxsize=1024)
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source)


def _continued(
    chains: list[tuple[int, int]], places: Iterator[re.Match[str]], gap: Gap, text: str
) -> Iterator[tuple[int, int]]:
    """The chains, in order of their ends, each carried on to the places of the next part that it is nearest to."""
    ends = [end for _, end in chains]
    for found in places:
        nearest = bisect_right(ends, found.start()) - 1
        if nearest < 0 or found.start() - ends[nearest] > gap.most:
            continue
        if gap.crosses_sentences or not _SENTENCE_END.search(text, ends[nearest], found.start()):
            yield chains[nearest][0], found.end()


def phrase(rule: str, needs: str, pattern: str, *, unless: str | None = None, parameters_only: bool = False) -> Phrase:
    """`{name}` stands for one of `_NAMES`, a blank for whatever may part two words, ` ...` for up to three words more.

    `<60>` is a gap of at most 60 characters inside of a sentence, `<60!>` one that may hold the end of a sentence.
    """
    split = _GAP_OF.split(pattern)
    return Phrase(
        rule=rule,
        needs=tuple(frozenset(group.split()) for group in needs.split("&")),
        sources=tuple(_expanded(part) for part in split[::3]),
        gaps=tuple(Gap(int(most), bool(crosses)) for most, crosses in zip(split[1::3], split[2::3], strict=True)),
        unless=unless,
        parameters_only=parameters_only,
    )


def _expanded(pattern: str) -> str:
    for name, meaning in _NAMES.items():
        pattern = pattern.replace("{" + name + "}", meaning)
    pattern = pattern.replace(" ...", f"{_GAP}{_FEW}").replace(" ?", r"[\W_]{0,4}").replace(" ", _GAP)
    return pattern.replace("{positive}", _POSITIVE)
