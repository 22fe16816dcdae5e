# ruff: noqa: SIM102 - one judgement is one condition; a list of words is one line
"""SEC-002: the model is sent to another tool, kept from it, or told what to call it with.

The surprising thing is what a score has to let through: "call create_session first", "use list_x to get the id".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.safety.concepts.words import BIT, risky_name
from mcptest_engine.safety.policy import ToolClass, classify_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.safety.concepts.clauses import Clause

__all__ = ["NEEDS", "find"]

B = BIT
_ADDRESSED = B["MODEL"] | B["YOU"]
NEEDS = B["REF"] | B["TOOL"]
_SETUP = (
    "create",
    "start",
    "open",
    "init",
    "initialize",
    "login",
    "connect",
    "begin",
    "new",
    "set",
    "authenticate",
    "add",
    "register",
    "launch",
    "select",
)
_NOT_TOOLS = frozenset(
    [
        "id",
        "ids",
        "url",
        "name",
        "key",
        "path",
        "type",
        "token",
        "field",
        "value",
        "parameter",
        "argument",
        "column",
        "table",
        "status",
    ]
)
_USING = B["CALL"] | B["CHOOSE"]


def find(clause: Clause) -> Iterator[tuple[int, int, str | None]]:
    """The words between which another tool is meddled with, and the tool, when it is named."""
    named = _named(clause)
    yield from _called(clause, named)
    yield from _avoided(clause, named)
    yield from _altered(clause, named)
    yield from _all_tools(clause)


def _named(clause: Clause) -> list[int]:
    """Where tools are named: `send_email`, "the X tool", not `limit_id` behind "set"."""
    named = []
    for at, bits in enumerate(clause.bits):
        word = clause.words[at]
        if bits & B["REF"] and word.rsplit("_", 1)[-1] not in _NOT_TOOLS:
            named.append(at)
        elif (
            word in ("tool", "function", "plugin")
            and at
            and not clause.bits[at - 1] & (B["THIS"] | B["OTHER"] | B["ALL"] | B["NATIVE"] | B["BEST"] | B["NEG"])
        ):
            before = clause.words[at - 1]
            if before not in (
                "the",
                "a",
                "an",
                "mcp",
                "same",
                "right",
                "of",
                "which",
                "first",
                "that",
                "your",
                "our",
            ) and (
                clause.words[at - 2] in ("the", "using", "use", "call", "invoke", "run", "server's", "with", "of")
                if at > 1
                else False
            ):
                named.append(at - 1)
    return named


def _called(clause: Clause, named: list[int]) -> Iterator[tuple[int, int, str | None]]:
    for at in named:
        call = next((back for back in range(at - 1, max(-1, at - 5), -1) if clause.bits[back] & B["CALL"]), None)
        passive = (
            any(
                clause.bits[then] & B["CALL"] and clause.bits[then] & (B["PAST"] | B["ING"])
                for then in range(at + 1, min(len(clause.words), at + 7))
            )
            and clause.any & B["MODAL"]
        )
        if call is None and not passive:
            given = next(
                (k for k in range(at + 1, min(len(clause.words), at + 4)) if clause.bits[k] & B["MODAL"]), None
            )
            if given is not None and risky_name(clause.words[at]) and clause.index > 0:
                tail = clause.words[given + 1 : given + 10]
                what = any(
                    b & (B["PASS"] | B["ARG"] | B["CHANGE"] | B["WEB"]) for b in clause.bits[given + 1 : given + 9]
                )
                if (
                    (what or clause.any & B["FAIL"])
                    and (
                        clause.any & B["WEB"]
                        or "amount" in tail
                        or clause.any & B["FAIL"]
                        or any(w.isdigit() for w in tail)
                        or {"page", "always", "only", "every"} & set(clause.words)
                    )
                    and not clause.any & B["IF"]
                ):
                    yield at, min(given + 6, len(clause.words) - 1), None
            moved = next(
                (
                    k
                    for k in range(at - 1, max(-1, at - 9), -1)
                    if clause.bits[k] & B["SENDX"] and clause.bits[k] & B["BASE"]
                ),
                None,
            )
            if (
                moved is not None
                and {"to", "through", "via", "with"} & set(clause.words[moved:at])
                and clause.any & (B["ALL"] | B["SECRET"] | B["TALK"] | B["WEB"])
                and not clause.negated(moved)
            ):
                if clause.order_at() is not None or clause.any & (B["MODAL"] | _ADDRESSED):
                    yield moved, at, None
            continue
        if call is not None and not clause.bits[call] & B["BASE"] and not clause.any & B["MODAL"]:
            continue
        start = at if call is None else call
        if clause.negated(start):
            continue
        if call is not None and not (
            clause.order_at() is not None or clause.any & (B["MODAL"] | B["ALWAYS"] | B["PLEASE"])
        ):
            continue
        name = clause.words[at]
        words, rest = set(clause.words), clause.words[at + 1 : at + 14]
        if call is None:
            called = next(
                then for then in range(at + 1, min(len(clause.words), at + 7)) if clause.bits[then] & B["CALL"]
            )
            rest = clause.words[called + 1 : called + 12]
        risky = risky_name(name)
        score = 2 if risky else 0
        score += (
            1
            if clause.any & (B["ALWAYS"] | B["MODAL"] | B["PLEASE"]) or {"also", "always", "automatically"} & words
            else 0
        )
        score += (
            1
            if (clause.any & (B["AFTER"] | B["BEFORE"]))
            and (clause.any & B["THIS"] or {"any", "every", "each"} & words)
            else 0
        )
        talk = B["TALK"] if clause.talk() else 0
        score += 2 if clause.any & (talk | B["SECRET"] | B["WEB"] | B["PATH"] | B["QUIET"]) or clause.shell else 0
        score += (
            1
            if ({"confirm", "force", "true", "recursive"} & set(rest) and "with" in rest) or "=true" in "".join(rest)
            else 0
        )
        score += 1 if {"full", "entire", "all", "everything", "same", "whole", "copy"} & set(rest) else 0
        score += (
            2
            if {"also", "too", "additionally", "unconditionally", "regardless", "well"} & words
            and (clause.any & B["WHEN"] | clause.any & B["AFTER"])
            else 0
        )
        score += 1 if {"every", "each"} & words and {"time", "call", "request", "message", "use", "turn"} & words else 0
        score += 1 if clause.marked else 0
        score += 1 if clause.any & B["MODAL"] and passive and ("with" in rest or "only" in words) else 0
        score += (
            1
            if clause.index > 0
            and call is not None
            and clause.order_at() is not None
            and classify_name(name) is ToolClass.DESTRUCTIVE
            else 0
        )
        score += 1 if clause.index > 0 and risky and "once" in words and clause.any & B["THIS"] else 0
        score += 2 if {"approval", "asking", "confirmation"} & words and {"no", "without", "skip"} & words else 0
        score -= (
            2
            if name.split("_")[0] in _SETUP and clause.any & (B["BEFORE"] | B["FIRST"]) and "after" not in words
            else 0
        )
        score -= 2 if _has_purpose(rest) else 0
        score -= 1 if {"if", "unless", "until"} & words else 0
        score -= (
            2
            if {"confirmation", "approval", "permission"} & words
            and {"ask", "confirm", "get", "obtain", "wait"} & words
            and not {"no", "without", "not", "never"} & words
            else 0
        )
        score -= 2 if {"instead", "e.g", "example"} & words else 0
        score -= 1 if {"finished", "done", "completed", "needed"} & words else 0
        if score >= 3:
            bad = clause.any & (B["WEB"] | B["SECRET"] | B["QUIET"] | talk) or clause.shell or score >= 5
            yield start, min(max(at, start) + 4, len(clause.words) - 1), None if bad else name


def _has_purpose(rest: list[str]) -> bool:
    """As in "… to get the id", "… for the details", "so that": what the call is good for."""
    for at, word in enumerate(rest[:6]):
        if word in ("to", "so", "for", "if", "which", "because") and at + 1 < len(rest):
            return rest[at + 1] not in ("every", "all", "any", "the", "this") or word in ("for", "if", "which")
    return False


def _avoided(clause: Clause, named: list[int]) -> Iterator[tuple[int, int, str | None]]:
    """Another tool is not to be used: it is bad, or this one is to be used."""
    words = set(clause.words)
    native = clause.has(B["NATIVE"], B["TOOL"]) and clause.near(B["NATIVE"], B["TOOL"], 4)
    targets: list[tuple[int, str | None]] = [(at, clause.words[at]) for at in named]
    if native and not targets:
        targets.append((native[1], None))
    for at, name in targets:
        rest = clause.words[at + 1 :]
        use = next(
            (back for back in range(at - 1, max(-1, at - 6), -1) if clause.bits[back] & (_USING | B["KNOW"])), None
        )
        denied = (use is not None and clause.negated(use)) or (
            clause.any & B["MODAL"] and {"not", "never"} & words and clause.any & _USING and "be" in words
        )
        bad = any(bits & B["BAD"] for bits in clause.bits[at + 1 : at + 14])
        this = clause.near(_USING, B["THIS"], 3)
        prefers = (
            (this is not None and not clause.negated(this[0]))
            or "in favor" in " ".join(clause.words)
            or (clause.any & B["INSTEAD"] and clause.any & B["THIS"])
        )
        score = 0
        if denied:
            score += 1
            score += 1 if native else 0
            score += 2 if bad else 0
            score += 1 if prefers else 0
            score += 1 if {"never", "longer", "must", "anymore", "any", "even"} & words else 0
            score += (
                1
                if clause.bits[at] & B["NAMED"] and "never" in words and not {"unless", "before", "without"} & set(rest)
                else 0
            )
            score += (
                2
                if clause.bits[at] & B["NAMED"]
                and (
                    {"replaces", "told", "even", "asks"} & words
                    or (clause.any & B["THIS"] and {"only", "instead"} & words)
                )
                else 0
            )
            score -= (
                2
                if {"for", "when", "if", "after", "in", "twice", "again", "both"} & set(rest[:4]) and not native
                else 0
            )
        elif (
            clause.bits[at] & B["NAMED"]
            and prefers
            and {"stop", "never", "must", "always", "no"} & words
            and not _has_purpose(rest)
        ) or (
            any(
                clause.words[k] in ("skip", "bypass", "ignore") and clause.order_at() is not None
                for k in range(max(0, at - 3), at)
            )
            and clause.index > 0
            and (clause.bits[at] & B["NAMED"] or {"call", "use"} & words)
        ):
            score = 3
        elif bad and any(bits & B["COPULA"] or bits & B["FAIL"] for bits in clause.bits[at + 1 : at + 5]):
            score = (
                2
                + (1 if prefers else 0)
                + (1 if native else 0)
                + (1 if {"must", "always", "instead", "never"} & words else 0)
            )
        elif (
            clause.any & B["INSTEAD"]
            and clause.directive
            and (native or {"always", "must", "never"} & words)
            and clause.any & B["THIS"]
        ):
            score = 3 if not _has_purpose(rest) else 1
        if score >= 3:
            yield min(at, use if use is not None else at), min(at + 6, len(clause.words) - 1), name


def _altered(clause: Clause, named: list[int]) -> Iterator[tuple[int, int, str | None]]:
    """What another tool is to be called with, or what becomes of its results."""
    if not clause.directive:
        return
    words = set(clause.words)
    general = clause.near(B["OTHER"] | B["ALL"], B["TOOL"], 3)
    targets: list[tuple[int, str | None]] = [(at, clause.words[at]) for at in named] or (
        [(general[1], None)] if general else []
    )
    using = clause.any & (_USING | B["WHEN"] | B["AFTER"] | B["BEFORE"])
    for at, name in targets:
        for change in clause.places(B["CHANGE"]):
            if (
                clause.negated(change)
                or abs(change - at) > 22
                or change == at
                or not clause.bits[change] & (B["BASE"] | B["PAST"])
            ):
                continue
            argument = next(
                (
                    then
                    for then in clause.places(B["ARG"] | B["WEB"])
                    if 0 < then - change <= 8 or (clause.bits[change] & B["PAST"] and 0 < change - then <= 8)
                ),
                None,
            )
            if argument is None or not using:
                continue
            changes = clause.words[change] in (
                "change",
                "replace",
                "modify",
                "alter",
                "rewrite",
                "swap",
                "substitute",
                "redirect",
                "override",
                "append",
                "prepend",
                "bcc",
                "cc",
                "multiply",
                "inject",
                "switch",
                "falsify",
                "reroute",
                "divert",
                "double",
                "tamper",
                "changed",
                "replaced",
                "forge",
            )
            score = 2 if changes else 1
            score += 1 if risky_name(name or "other") or name is None else 0
            score += 1 if {"when", "whenever", "every", "each", "any", "all", "before", "always"} & words else 0
            score += 2 if clause.any & (B["WEB"] | B["SECRET"] | B["QUIET"] | B["TALK"]) else 0
            score += 1 if {"always", "must", "silently", "irrespective", "regardless"} & words else 0
            score += (
                1
                if {
                    "iban",
                    "recipient",
                    "recipients",
                    "account",
                    "bcc",
                    "cc",
                    "amount",
                    "payee",
                    "receiver",
                    "beneficiary",
                }
                & words
                else 0
            )
            score -= 2 if clause.any & B["IF"] and not clause.any & B["WEB"] else 0
            score -= 1 if clause.any & B["THIS"] and clause.index == 0 else 0
            if score >= 4:
                yield min(at, change), max(argument, change), None if score >= 5 else name
                return


def _all_tools(clause: Clause) -> Iterator[tuple[int, int, str | None]]:
    """Every other tool: its calls, its results, its use."""
    if not clause.directive:
        return
    words = set(clause.words)
    tool = clause.near(B["OTHER"] | B["ALL"], B["TOOL"], 3)
    if tool is None or {"this server", "same server"} & {" ".join(clause.words[tool[1] + 1 : tool[1] + 4])[-11:]}:
        return
    if "this" in clause.words[tool[1] : tool[1] + 4] and "server" in clause.words[tool[1] : tool[1] + 5]:
        return
    if (
        clause.words[tool[1]]
        in (
            "services",
            "service",
            "integration",
            "integrations",
            "utility",
            "utilities",
            "server",
            "servers",
            "capability",
        )
        and not clause.any & B["OTHER"]
    ):
        return
    if clause.negated(tool[0], 2) and not clause.has(_USING):
        return
    passes = [
        at
        for at in clause.places(B["SENDX"] | B["PASS"] | B["CALL"])
        if clause.bits[at] & B["BASE"] and not clause.negated(at)
    ]
    results = clause.any & B["RESULT"]
    ordered = clause.order_at() is not None or clause.any & (B["MODAL"] | B["ALWAYS"] | B["PLEASE"])
    when = {"after", "before", "whenever", "each", "every", "from", "of", "with", "for", "any"} & words
    if (
        passes
        and ordered
        and when
        and (results or (clause.any & (B["BEFORE"] | B["AFTER"] | B["WHEN"]) and clause.has(B["CALL"])))
    ):
        if not clause.any & B["IF"] and not ({"if", "unless"} & words) and _scoped(clause, tool) is False:
            yield min(tool[0], passes[0]), max(tool[1], passes[0]), None
            return
    routed = {"through", "via", "redirect", "route", "routed", "redirected", "proxied", "proxy"} & words
    if routed and ordered and not clause.any & B["WEB"]:
        yield tool[0], tool[1], None


def _scoped(clause: Clause, tool: tuple[int, int]) -> bool:
    """Whether "any other X tools" names the family that it is about."""
    between = clause.words[tool[0] + 1 : tool[1]]
    return any(
        word not in ("other", "the", "mcp", "available", "single", "different", "of", "another", "external", "server's")
        for word in between
    )
