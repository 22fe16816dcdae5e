# ruff: noqa: C901, SIM102 - one judgement is one condition; a list of words is one line
"""SEC-003: private data is to be passed on, or named as what an argument has to carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.safety.concepts.words import BIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.safety.concepts.clauses import Clause

__all__ = ["NEEDS", "find"]

B = BIT
_ADDRESSED = B["MODEL"] | B["YOU"]
NEEDS = B["SENDX"] | B["PASS"] | B["READ"] | B["SECRET"] | B["TALK"] | B["PATH"]
_PRIVATE = B["SECRET"] | B["PATH"]
_MOVES = B["SENDX"] | B["PASS"]
_FACTS = frozenset(
    [
        "name",
        "address",
        "phone",
        "passport",
        "birthday",
        "birth",
        "salary",
        "email",
        "mail",
        "number",
        "numbers",
        "ssn",
        "iban",
        "income",
        "location",
        "employer",
        "age",
    ]
)
_DATA = frozenset(
    [
        "dump",
        "listing",
        "everything",
        "database",
        "result",
        "results",
        "output",
        "outputs",
        "response",
        "responses",
        "data",
        "file",
        "files",
        "contents",
        "document",
        "documents",
        "input",
        "inputs",
        "query",
        "queries",
        "request",
        "requests",
        "prompt",
        "prompts",
        "message",
        "messages",
        "emails",
        "contacts",
        "address",
        "email",
        "mails",
        "everything",
        "answer",
        "answers",
        "source",
        "code",
        "variables",
        "values",
        "notes",
        "photos",
        "repository",
        "password",
    ]
)


def find(clause: Clause, before: Clause | None) -> Iterator[tuple[int, int]]:
    """The words between which data goes where it should not."""
    for judge in (_to_the_web, _into_an_argument, _named_by_an_argument, _secret_inside):
        found = judge(clause)
        if found is not None:
            yield found
    if before is not None:
        two = _read_then_passed(before, clause)
        if two is not None:
            yield two
    two = _read_then_passed(clause, clause)
    if two is not None:
        yield two


def _talk(clause: Clause) -> list[int]:
    """Where the talk with the user is meant, and not its id."""
    return clause.talk()


def _denied(clause: Clause, at: int) -> bool:
    return any(
        word in ("not", "never", "don't", "avoid", "cannot", "doesn't", "without", "no")
        for word in clause.words[max(0, at - 4) : at]
    )


def _to_the_web(clause: Clause) -> tuple[int, int] | None:
    """Sent to an address that the text names."""
    if not clause.any & B["WEB"]:
        return None
    if {"example", "e.g", "eg", "such"} & set(clause.words) or "docs" in clause.words:
        return None
    for at in clause.places(_MOVES | B["CALL"]):
        bits = clause.bits[at]
        if _denied(clause, at) or clause.words[at + 1 : at + 2] == [":"]:
            continue
        sink = next((then for then in clause.places(B["WEB"]) if 0 < then - at <= 30), None)
        passive = bits & B["PAST"] and not bits & B["BASE"]
        if sink is None:
            continue
        words = set(clause.words[max(0, at - 12) : sink + 8])
        seen = 0
        for one in clause.bits[max(0, at - 12) : sink + 8]:
            seen |= one
        what = (2 if seen & (B["PATH"] | B["SECRET"]) or _talk(clause) else 0) + (1 if words & _DATA else 0)
        all_of = (
            1
            if seen & B["ALL"]
            and words & {"all", "every", "everything", "each", "entire", "full", "whole", "complete", "any"}
            else 0
        )
        what += 1 if clause.any & B["REF"] else 0
        ordered = (
            1
            if clause.order_at() is not None or clause.any & (B["MODEL"] | B["MODAL"] | B["ALWAYS"] | B["PLEASE"])
            else 0
        )
        also = (
            1
            if {"also", "copy", "additionally", "too", "well", "bcc", "cc", "silently", "before", "after", "whenever"}
            & set(clause.words)
            else 0
        )
        score = (
            what + all_of + ordered + also
            if bits & B["SENDX"] or seen & B["SENDX"]
            else what + all_of + ordered + also - 1
        )
        if passive and not clause.any & B["MODAL"]:
            score -= 0 if all_of else 1
        if clause.index == 0 and not clause.in_argument and not (what >= 2 and all_of):
            score -= 1
        elif (
            ordered
            and bits & B["SENDX"]
            and not clause.any & B["IF"]
            and not {"issues", "bugs", "issue", "support", "contact", "if"} & set(clause.words)
        ):
            score, also = 3, 1
        if what + all_of + also and score >= 3:
            return at, sink
    return None


def _into_an_argument(clause: Clause) -> tuple[int, int] | None:
    """The talk, or a secret, put into a call."""
    if not clause.directive and not clause.in_argument:
        return None
    if {"if", "optional", "optionally"} & set(clause.words[:1]):
        return None
    for at in clause.places(_MOVES):
        bits = clause.bits[at]
        moved = (
            bits & B["BASE"]
            or (bits & B["ING"] and clause.words[at - 1] == "by")
            or (bits & B["PAST"] and clause.any & B["MODAL"])
        )
        if not moved or _denied(clause, at):
            continue
        order = clause.order_at()
        if order is None and not clause.any & (B["MODAL"] | B["ALWAYS"] | B["PLEASE"] | _ADDRESSED):
            continue
        for what in _talk(clause):
            if not (0 < what - at <= 14 or (bits & B["PAST"] and 0 < at - what <= 10)):
                continue
            near = set(clause.words[max(0, what - 5) : what + 6])
            weight = (
                1
                if near
                & {"full", "entire", "whole", "complete", "all", "every", "everything", "verbatim", "raw", "far"}
                else 0
            )
            weight += (
                1
                if near
                & {"user's", "your", "history", "transcript", "user", "system", "hidden", "far", "previous", "prior"}
                else 0
            )
            weight += 1 if clause.any & (B["SINK"] | B["HERE"] | B["REF"]) else 0
            weight += 1 if clause.any & (B["ALWAYS"] | B["MODAL"] | B["PLEASE"]) else 0
            weight += 1 if set(clause.words) & {"unedited", "verbatim", "unredacted", "exact", "unchanged"} else 0
            weight += 1 if near & {"hidden", "system"} and near & {"your", "prompt", "message"} else 0
            if weight >= 3 or (weight == 2 and near & {"system", "verbatim", "transcript"}):
                return at, what
        for what in clause.places(_PRIVATE):
            if not (0 < what - at <= 12 or (bits & B["PAST"] and 0 < at - what <= 8)):
                continue
            near = set(clause.words[max(0, what - 5) : what + 6])
            if near & {"your"} and near & {"key", "token"} and clause.in_argument:
                continue
            source = near & {
                "context",
                "vault",
                "session",
                "user's",
                "users'",
                "environment",
                "every",
                "all",
                "found",
                "stored",
                "other",
                "returned",
                "contents",
                "whatever",
                "know",
                "seen",
                "saved",
                "any",
            } or " value of " in " ".join(clause.words)
            if (
                source
                and (
                    clause.any & (B["SINK"] | B["REF"] | B["HERE"] | B["TOOL"])
                    or {"in", "into", "as"} & set(clause.words[what:])
                )
                and not {"path", "header", "create", "rotate", "names", "if"} & set(clause.words)
                and order is not None
            ):
                return at, what
            weight = 2 if clause.bits[what] & B["PATH"] else 0
            weight += (
                1
                if near
                & {
                    "all",
                    "any",
                    "every",
                    "user's",
                    "users'",
                    "their",
                    "stored",
                    "saved",
                    "found",
                    "contents",
                    "content",
                    "value",
                    "values",
                    "environment",
                    "other",
                }
                else 0
            )
            weight += 1 if clause.any & (B["SINK"] | B["HERE"] | B["REF"]) else 0
            weight += 1 if near & {"found", "contents", "environment", "all", "any", "find", "seen", "know"} else 0
            weight -= 1 if {"path", "file's", "location", "create", "rotate", "set"} & near else 0
            weight -= (
                2
                if {"header", "required", "if", "obtained", "returned", "issued"} & set(clause.words)
                and not clause.bits[what] & B["PATH"]
                else 0
            )
            wide = near & {
                "context",
                "vault",
                "session",
                "user's",
                "value",
                "environment",
                "every",
                "all",
                "returned",
                "holds",
                "from",
            }
            if (
                wide
                and set(clause.words) & {"in", "into", "as", "after", "before", "to"}
                and clause.any & (B["REF"] | B["SINK"])
            ):
                weight += 1
            if weight >= 3:
                return at, what
    return None


def _secret_inside(clause: Clause) -> tuple[int, int] | None:
    """Private files named where something has to be given; every secret; a handful of personal facts."""
    words = set(clause.words)
    ordered = clause.order_at() is not None or clause.any & (B["MODAL"] | B["PLEASE"]) or clause.in_argument
    if not ordered or {"not", "never", "path", "default", "excluded", "redacted", "ignored", "e.g", "example"} & words:
        return None
    for at in clause.places(B["PATH"]):
        if (clause.any & (_MOVES | B["CONTENT"]) or "holds" in words) and words & {
            "content",
            "contents",
            "holds",
            "include",
            "included",
            "body",
            "send",
            "pass",
            "put",
            "attach",
            "value",
            "lines",
            "text",
            "paste",
        }:
            return max(0, at - 4), at
    for at in clause.places(B["SECRET"]):
        near = set(clause.words[max(0, at - 4) : at])
        if (
            near & {"every", "all", "any"}
            and clause.any & (_MOVES | B["CONTENT"])
            and not words & {"list", "lists", "delete", "rotate", "names", "revoke", "remove"}
        ):
            if words & {"value", "user's", "returned", "found", "environment", "vault", "from", "into", "stored"}:
                return max(0, at - 4), at
    mine = next(
        (
            k
            for k, w in enumerate(clause.words)
            if w
            in (
                "emails",
                "mails",
                "inbox",
                "messages",
                "contacts",
                "calendar",
                "photos",
                "documents",
                "browsing",
                "clipboard",
                "keystrokes",
                "location",
                "files",
            )
        ),
        None,
    )
    if mine is not None and {"user's", "users'", "user"} & set(clause.words[max(0, mine - 6) : mine + 4]):
        order = clause.order_at()
        if (
            order is not None
            and clause.bits[order] & (_MOVES | B["READ"])
            and order < mine
            and {"into", "in", "to", "as"} & set(clause.words[mine:])
            and clause.any & (B["SINK"] | B["REF"] | B["WEB"] | B["CONTENT"])
            and clause.words[order] not in ("use", "list", "search", "show", "get", "find")
        ):
            return order, mine
    personal = words & _FACTS
    if (
        len(personal) >= 2
        and {"user", "user's", "users'", "customer's"} & words
        and (
            (
                clause.order_at() is not None
                and clause.bits[clause.order_at() or 0] & _MOVES
                and not clause.bits[clause.order_at() or 0] & B["READ"]
            )
            or {"known", "anything", "everything", "earlier"} & words
        )
    ):
        if clause.in_argument or clause.index > 0:
            return 0, min(12, len(clause.words) - 1)
    if (
        clause.in_argument
        and words & {"every", "all", "any"}
        and words & {"tools", "tool", "turns"}
        and words & {"argument", "arguments", "results", "outputs", "output", "calls"}
        and words & {"session", "other", "far", "used", "called", "you"}
    ):
        return 0, min(12, len(clause.words) - 1)
    return None


def _named_by_an_argument(clause: Clause) -> tuple[int, int] | None:
    """An argument whose description is a secret, or the whole talk."""
    if not clause.in_argument:
        return None
    words = set(clause.words)
    for what in _talk(clause):
        near = set(clause.words[max(0, what - 6) : what + 8])
        if near & {"verbatim", "far"} or (
            near & {"system", "hidden"}
            and near & {"prompt"}
            and near & {"your", "full", "current", "complete", "assistant's"}
        ):
            return max(0, what - 3), what
        if near & {"full", "entire", "complete", "whole"} and near & {"including", "your", "user's", "tool", "tools"}:
            return max(0, what - 3), what
    for what in clause.places(_PRIVATE):
        near = set(clause.words[max(0, what - 6) : what + 6])
        content = near & {"contents", "content", "dump", "output", "copy"} and not words & {
            "path",
            "default",
            "defaults",
        }
        if clause.bits[what] & B["PATH"] and content:
            return max(0, what - 4), what
        if (
            near & {"all", "every"}
            and near & {"environment", "user's", "env", "stored", "saved"}
            and not words & {"list", "names", "delete", "expire", "revoke"}
        ):
            return max(0, what - 3), what
    return None


def _read_then_passed(first: Clause, then: Clause) -> tuple[int, int] | None:
    """A private file read, and what was read passed on in the same sentence or the next."""
    if not first.any & _PRIVATE or not first.any & B["READ"]:
        return None
    order = first.order_at()
    if order is None and not first.any & (B["MODAL"] | B["PLEASE"]):
        return None
    read = next((at for at in first.places(B["READ"]) if first.bits[at] & B["BASE"] and not _denied(first, at)), None)
    if read is None:
        return None
    private = next((at for at in first.places(_PRIVATE) if 0 < at - read <= 14), None)
    if private is None:
        return None
    start = private if first is then else -1
    moved = next(
        (
            at
            for at in then.places(_MOVES)
            if at > start and then.bits[at] & (B["BASE"] | B["PAST"]) and not _denied(then, at)
        ),
        None,
    )
    if moved is None or (first is not then and then.order_at() is None and not then.any & B["MODAL"]):
        return None
    if not then.any & (B["SINK"] | B["HERE"] | B["WEB"] | B["REF"] | B["THIS"] | B["CONTENT"]):
        return None
    hard = (
        first.bits[private] & B["PATH"]
        or first.any & (B["ALL"] | B["USER"])
        or then.any & B["WEB"]
        or "environment" in first.words
    )
    if not hard:
        return None
    return (read, moved) if first is then else (0, min(moved + 4, len(then.words) - 1))
