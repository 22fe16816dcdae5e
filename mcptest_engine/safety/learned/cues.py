"""Cues that confirm a rule that the learned judge names: an action and its object, in the form of an order.

Many honest sentences have such cues, and the judge is sometimes wrong; both together seldom are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcptest_engine.safety.learned.windows import Window

_BEFORE_AN_ORDER = frozenset(
    [
        "|",
        "and",
        "then",
        "also",
        "please",
        "always",
        "immediately",
        "automatically",
        "silently",
        "quietly",
        "first",
        "next",
        "finally",
        "must",
        "should",
        "shall",
        "will",
        "to",
        "or",
        "but",
        "so",
        "instead",
        "just",
        "simply",
        "kindly",
        ",",
        ":",
        "(",
        ";",
        "-",
        "and/or",
        "you",
        "agents",
        "assistants",
    ]
)

# Each line: sets of concepts; a window must hold a concept of every set.
_CUES: dict[str, tuple[tuple[frozenset[str], ...], ...]] = {
    rule: tuple(tuple(frozenset(group.split("|")) for group in line.split()) for line in lines)
    for rule, lines in {
        "SEC-001": (
            "NEG|HIDE|QUIET|WITHOUT TELL|KNOW|HIDE USER|NOBODY|ANSWER",
            "QUIET CALL|SEND|PASS|READ|CHANGE|CODE|MONEY|DESTROY",
            "OVERRIDE|VOID|RANK|DISABLE RULES|SYSTEM|SAFETY YOU|MODEL|USER|SYSTEM|SAFETY|AUTHORITY",
            "NEG OBEY RULES|USER|SYSTEM|AUTHORITY",
            "NEG|WITHOUT|DISABLE|OVERRIDE ASK USER|CALL|CODE|DESTROY|MONEY|SEND|CHANGE",
            "GRANT USER|AUTHORITY CALL|CODE|DESTROY|MONEY|SEND|ALL",
            "ROLE YOU|MODEL",
            "CLAIM USER|ANSWER NEG|FINE|PROMOTE|BAD|REASSURE|TRUST",
            "OBEY REMOTE_TEXT|WEB|RESULT|CONTENT RULES|YOU|ALL|USER|ALWAYS",
            "MONEY ALWAYS|WITHOUT|NEG|IF USER|PROMOTE|ARG|SECRET",
            "PROMOTE USER|ANSWER ALWAYS|BEST|NEG|MODAL",
            "CODE|PERSIST|DESTROY|DISABLE|GIVE PATH|SAFETY|WEB",
            "CHANGE ANSWER|RESULT NEG|QUIET|WITHOUT|USER",
        ),
        "SEC-002": (
            "REF|NAMED|KIN|RISK CALL|CHOOSE|CHANGE|PASS|SEND|INSTEAD|BAD|VOID",
            "OTHER TOOL CALL|CHOOSE|CHANGE|PASS|SEND|INSTEAD|BAD|VOID|NEG",
        ),
        "SEC-003": (
            "SEND|PASS|READ SECRET|PATH|CHAT",
            "SEND|PASS ALL FILE|PRIVATE|CONTENT|RESULT",
            "SEND|PASS|READ PRIVATE|FILE USER|MINE|WEB|SINK",
            "SEND WEB|MINE",
        ),
    }.items()
}


def has_cue(window: Window, rule: str, place: str) -> bool:
    """Whether a window has a cue of `rule` and is an order; the description of an argument (`place` "p") need not be one."""
    held = frozenset(name for meaning in window.concepts for name in meaning)
    if not (place == "p" or _is_order(window)):
        return False
    return any(all(held & group for group in cue) for cue in _CUES.get(rule, ()))


def only_describes(window: Window) -> bool:
    """Whether a window describes the tool, as in "Applies a manifest", and orders nothing."""
    is_third_person = "THIRD" in window.concepts[0] or (window.index == 0 and window.words[0].endswith("s"))
    return is_third_person and not _is_order(window)


def _is_order(window: Window) -> bool:
    """Whether a window has a modal verb, a "please", or a verb in its plain form where orders have it."""
    before = "|"
    for word, meaning in zip(window.words, window.concepts, strict=True):
        if "MODAL" in meaning or "PLEASE" in meaning or ("BASE" in meaning and before in _BEFORE_AN_ORDER):
            return True
        before = word
    return False
