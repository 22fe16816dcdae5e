"""What else in a sentence speaks for a rule that the learned judge names: a deed, and what is done with it, said as an order.

The surprising thing is that these cues stand in many honest sentences, and the judge is wrong now and then; together they
seldom are.
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

# Each line: sets of concepts that a window must hold one of.
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
    """Whether a window says by itself what `rule` is about, as an order; `place` is as the judge's."""
    held = frozenset(name for meaning in window.concepts for name in meaning)
    if not (place == "p" or _is_order(window)):
        return False
    return any(all(held & group for group in cue) for cue in _CUES.get(rule, ()))


def only_describes(window: Window) -> bool:
    """Whether a window says what the tool does, as in "Applies a manifest", and orders nothing."""
    is_third_person = "THIRD" in window.concepts[0] or (window.index == 0 and window.words[0].endswith("s"))
    return is_third_person and not _is_order(window)


def _is_order(window: Window) -> bool:
    """Whether a window says what is to be done: a verb in its plain form where an order has it, or "must"."""
    before = "|"
    for word, meaning in zip(window.words, window.concepts, strict=True):
        if "MODAL" in meaning or "PLEASE" in meaning or ("BASE" in meaning and before in _BEFORE_AN_ORDER):
            return True
        before = word
    return False
