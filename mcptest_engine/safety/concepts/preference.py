# ruff: noqa: SIM102 - one judgement is one condition; a list of words is one line
"""SEC-006: the model is pressed to choose this tool, or away from all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.safety.concepts.words import BIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.safety.concepts.clauses import Clause

__all__ = ["NEEDS", "find"]

B = BIT
_ADDRESSED = B["MODEL"] | B["YOU"]
NEEDS = B["CHOOSE"] | B["BEST"] | B["OTHER"] | B["RANK"] | B["FAIL"]
_WIDE = frozenset(
    [
        "anything",
        "everything",
        "action",
        "actions",
        "request",
        "requests",
        "question",
        "questions",
        "task",
        "tasks",
        "query",
        "queries",
        "prompt",
        "message",
        "messages",
        "response",
        "responding",
        "answering",
        "anything-else",
        "else",
    ]
)


def find(clause: Clause) -> Iterator[tuple[int, int]]:
    """The words between which this tool is pressed upon the model."""
    for judge in (
        _before_others,
        _over_others,
        _others_are_bad,
        _others_are_shunned,
        _first_choice,
        _threat,
        _for_everything,
    ):
        found = judge(clause)
        if found is not None:
            yield found


def _others(clause: Clause) -> tuple[int, int] | None:
    """As in "any other tool", "the alternatives", "built-in tools"; not "any other Shopify tools", "tools of this server"."""
    for one in clause.places(B["OTHER"] | B["ALL"] | B["NATIVE"]):
        for at in range(one, min(len(clause.words), one + 5)):
            if clause.bits[at] & B["TOOL"] and (at > one or clause.words[at].startswith(("alternative", "competitor"))):
                between = clause.words[one + 1 : at]
                if any(
                    not clause.bits[one + 1 + k] & (B["OTHER"] | B["ALL"] | B["NATIVE"])
                    and word
                    not in (
                        "the",
                        "mcp",
                        "available",
                        "single",
                        "of",
                        "such",
                        "search",
                        "installed",
                        "external",
                        "similar",
                    )
                    for k, word in enumerate(between)
                ):
                    break
                tail = clause.words[at + 1 : at + 4]
                if {"of", "in", "on", "from"} & set(tail[:1]) and {"this", "the", "same"} & set(tail):
                    break
                if (
                    clause.words[at]
                    in ("server", "service", "services", "function", "functions", "integration", "servers", "utility")
                    and not clause.bits[one] & (B["OTHER"] | B["NATIVE"])
                    and "other" not in between
                ):
                    break
                return one, at
    for at in clause.places(B["OTHER"]):
        if clause.words[at] == "else" and clause.words[at - 1] in ("anything", "everything", "something", "nothing"):
            return at - 1, at
        if clause.words[at] in ("others", "competitors", "alternatives"):
            return at, at
    return None


def _purpose(clause: Clause, at: int) -> bool:
    """Whether what follows says what it is good for: "to get", "when you need", "for forms"."""
    for then in range(at + 1, min(len(clause.words), at + 8)):
        word = clause.words[then]
        if word in ("to", "when", "if", "because", "where", "unless", "whenever"):
            return clause.words[then - 1] != "even"
        if word == "for" and not set(clause.words[then + 1 : then + 3]) & {
            "every",
            "all",
            "any",
            "everything",
            "anything",
            "each",
        }:
            return True
    return False


def _chosen(clause: Clause) -> int | None:
    """Where this tool is chosen, called or used."""
    for at in clause.places(B["CHOOSE"] | B["CALL"]):
        if clause.negated(at):
            continue
        bits = clause.bits[at]
        if bits & (B["PAST"] | B["ING"]) and clause.any & (B["MODAL"] | B["ALWAYS"]):
            return at
        if bits & B["BASE"] and any(one & B["THIS"] for one in clause.bits[at + 1 : at + 4]):
            return at
    return None


def _before_others(clause: Clause) -> tuple[int, int] | None:
    """Before, instead of or rather than every other tool."""
    if not clause.directive:
        return None
    others, chosen = _others(clause), _chosen(clause)
    if others is None or chosen is None:
        return None
    for at in clause.places(B["OVER"]):
        if (
            chosen < others[0]
            and at < others[0]
            and others[0] - at <= 4
            and abs(at - chosen) <= 12
            and not _purpose(clause, others[1])
        ):
            return min(chosen, at), others[1]
        if (
            at < others[0] < chosen
            and others[0] - at <= 4
            and (clause.any & B["THIS"])
            and not _purpose(clause, chosen)
        ):
            return at, chosen
    return None


def _over_others(clause: Clause) -> tuple[int, int] | None:
    """Preferred to the others, of higher priority."""
    others = _others(clause)
    for at in clause.places(B["RANK"]):
        if clause.any & B["THIS"] and others and not clause.negated(at) and abs(others[0] - at) <= 8:
            return min(at, others[0]), max(at, others[1])
    for at in clause.places(B["CHOOSE"]):
        if clause.words[at] in (
            "prefer",
            "favor",
            "favour",
            "preferred",
            "favored",
            "prioritize",
            "prioritise",
            "prioritized",
            "choose",
            "pick",
            "chosen",
            "select",
            "selected",
        ):
            if clause.negated(at) or not (clause.any & B["THIS"] or clause.any & B["MODAL"]):
                continue
            named = clause.any & B["REF"] and clause.any & B["OVER"] and clause.any & (B["ALWAYS"] | B["MODAL"])
            if ((others and clause.any & (B["OVER"])) or (named and clause.any & B["THIS"])) and not _purpose(
                clause, at + 3
            ):
                return at, others[1] if others else min(at + 8, len(clause.words) - 1)
    return None


def _others_are_bad(clause: Clause) -> tuple[int, int] | None:
    """The others are broken, outdated or worse."""
    others = _others(clause)
    if others is None or {"this"} & set(clause.words[others[0] : others[1]]):
        return None
    if (
        clause.words[others[0]] in ("each", "any") and clause.words[others[1]] in ("server", "service")
    ) or clause.words[0] in ("if", "when", "whether"):
        return None
    if not clause.bits[others[0]] & (B["OTHER"] | B["NATIVE"]) and not any(
        b & (B["OTHER"] | B["NATIVE"]) for b in clause.bits[others[0] : others[1] + 1]
    ):
        return None
    for at in clause.places(B["BAD"] | B["FAIL"]):
        if 0 < at - others[1] <= 9 and any(
            b & (B["COPULA"] | B["MODAL"] | B["FAIL"])
            or w
            in (
                "will",
                "may",
                "can",
                "give",
                "return",
                "produce",
                "tend",
                "often",
                "might",
                "contain",
                "provide",
                "known",
            )
            for b, w in zip(clause.bits[others[1] + 1 : at + 1], clause.words[others[1] + 1 : at + 1], strict=True)
        ):
            if (
                "if" in clause.words[max(0, others[0] - 3) : others[0]]
                or "when" in clause.words[max(0, others[0] - 3) : others[0]]
                or clause.negated(at)
            ):
                continue
            return others[0], at
    return None


def _others_are_shunned(clause: Clause) -> tuple[int, int] | None:
    """No other tool is to be used."""
    others = _others(clause)
    if others is None or (not clause.directive and not clause.any & B["NEG"]):
        return None
    for at in clause.places(B["CHOOSE"] | B["CALL"]):
        if 0 < others[0] - at <= 5 and clause.negated(at) and clause.bits[at] & (B["BASE"] | B["ING"]):
            if {"if", "until", "while", "same", "after", "before", "during"} & set(clause.words[others[1] :]) or {
                "if",
                "when",
                "while",
            } & set(clause.words[:at]):
                continue
            return at, others[1]
        if (
            0 < at - others[1] <= 7
            and clause.negated(at, 4)
            and clause.bits[at] & B["PAST"]
            and clause.any & B["MODAL"]
        ):
            return others[0], at
    return None


def _first_choice(clause: Clause) -> tuple[int, int] | None:
    """The default, the first choice, the only reliable one, always."""
    words = set(clause.words)
    text = " ".join(clause.words)
    for key in (
        "first choice",
        "go-to",
        "default choice",
        "only choice",
        "entry point",
        "top choice",
        "primary choice",
        "number one",
        "first resort",
        "only tool you",
        "only tool that",
        "one-stop",
        "preferred choice",
        "default tool",
        "primary tool",
    ):
        if (
            key in text
            and (clause.any & (B["ALWAYS"] | B["MODAL"] | B["YOU"] | _ADDRESSED) or clause.order_at() is not None)
            and not {"if", "when"} & words
        ):
            if key == "only tool that" and not words & {"reliable", "works", "accurate", "trusted", "safe", "correct"}:
                continue
            at = clause.words.index(key.split()[0])
            return at, min(at + 4, len(clause.words) - 1)
    for at in clause.places(B["BEST"]):
        if (
            clause.words[at] in ("only", "sole")
            and any(b & B["BEST"] for b in clause.bits[at + 1 : at + 4])
            and any(
                b & B["TOOL"] or w in ("source", "option", "way", "method", "one", "choice")
                for b, w in zip(clause.bits[at + 1 : at + 7], clause.words[at + 1 : at + 7], strict=True)
            )
        ):
            return at, min(at + 5, len(clause.words) - 1)
    chosen = _chosen(clause)
    if (
        chosen is not None
        and clause.words[chosen] in ("prefer", "choose", "pick", "select", "favor", "favour")
        and {"always", "exceptions", "matter"} & words
    ):
        if (
            any(b & B["THIS"] for b in clause.bits[chosen + 1 : chosen + 3])
            and not _purpose(clause, chosen)
            and not words & {"when", "if", "option", "value"}
            and "over" not in words
        ):
            return chosen, min(chosen + 4, len(clause.words) - 1)
    if (
        chosen is not None
        and clause.any & (_ADDRESSED | B["MODAL"])
        and {"always", "invariably", "exclusively"} & words
        and clause.any & B["THIS"]
    ):
        if (
            not _purpose(clause, chosen)
            and not clause.any & (B["BEFORE"] | B["AFTER"])
            and abs(
                chosen - next(k for k, w in enumerate(clause.words) if w in ("always", "invariably", "exclusively"))
            )
            <= 5
        ):
            if any(b & B["THIS"] for b in clause.bits[chosen + 1 : chosen + 3]) and not set(
                clause.words[chosen + 1 : chosen + 6]
            ) & {"parameter", "format", "value", "option", "field", "id"}:
                return chosen, min(chosen + 4, len(clause.words) - 1)
    return None


def _threat(clause: Clause) -> tuple[int, int] | None:
    """What happens to whoever does not use it."""
    words = set(clause.words)
    if not clause.any & B["FAIL"]:
        return None
    if (
        {"or", "otherwise", "else", "unless"} & words
        and clause.any & (B["MODAL"] | B["ALWAYS"])
        and (_chosen(clause) is not None)
        and {"first", "before", "every", "always", "system", "session", "everything", "you"} & words
    ):
        if {
            "crash",
            "system",
            "terminated",
            "session",
            "shut",
            "penalized",
            "penalty",
            "everything",
            "shutdown",
            "suspended",
            "lost",
            "corrupt",
            "corrupted",
        } & words:
            return _chosen(clause) or 0, len(clause.words) - 1
    using = [at for at in clause.places(B["CHOOSE"] | B["CALL"]) if clause.bits[at] & (B["ING"] | B["BASE"])]
    if (
        using
        and {"failure", "failing", "not", "neglecting", "refusing"} & words
        and clause.any & B["THIS"]
        and {"result", "results", "cause", "causes", "lead", "leads"} & words
    ):
        if {
            "penalty",
            "penalties",
            "termination",
            "terminated",
            "incorrect",
            "errors",
            "failure",
            "crash",
            "violation",
            "suspended",
            "loss",
            "corruption",
        } & words:
            return using[0], len(clause.words) - 1
    return None


def _for_everything(clause: Clause) -> tuple[int, int] | None:
    """For every question, whatever it is about."""
    chosen = _chosen(clause)
    order = clause.order_at()
    if chosen is None or not (order is not None or clause.any & (B["MODAL"] | B["ALWAYS"])):
        return None
    words = clause.words
    for at in range(chosen + 1, min(len(words), chosen + 16)):
        if words[at] in ("every", "all", "any", "each", "everything", "anything") and words[at - 1] in (
            "for",
            "on",
            "in",
            "with",
            "before",
            "answering",
            "to",
            "at",
            "of",
            "doing",
        ):
            ahead = set(words[at : at + 4])
            if ahead & _WIDE and not {"only", "if"} & set(words) and not _purpose(clause, at + 1):
                if clause.bits[chosen] & B["BASE"] and not any(
                    b & B["THIS"] for b in clause.bits[chosen + 1 : chosen + 4]
                ):
                    continue
                return chosen, min(at + 3, len(words) - 1)
    if (
        {"regardless", "whatever", "irrespective"} & set(words)
        and clause.any & B["REQUEST"]
        and clause.any & B["THIS"]
        and clause.bits[chosen] & B["CHOOSE"]
    ):
        return chosen, min(chosen + 5, len(words) - 1)
    return None
