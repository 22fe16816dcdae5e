# ruff: noqa: C901, SIM102 - one judgement is one condition; a list of words is one line
"""SEC-001: the model is given orders about itself, its user or its rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.safety.concepts.words import BIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.safety.concepts.clauses import Clause

__all__ = ["NEEDS", "find"]

B = BIT
_ADDRESSED = B["MODEL"] | B["YOU"]
_SHOWING = frozenset(
    [
        "json",
        "id",
        "ids",
        "raw",
        "html",
        "markdown",
        "stack",
        "trace",
        "token",
        "tokens",
        "password",
        "unless",
        "until",
        "confirmed",
        "column",
        "columns",
        "field",
        "fields",
        "key",
        "keys",
        "internal",
        "debug",
        "duplicate",
        "duplicates",
        "api",
        "identifiers",
        "identifier",
        "uuid",
    ]
)
_DEEDS = B["THIS"] | B["CALL"] | B["INSTR"] | B["TOOL"] | B["SENDX"] | B["DANGER"] | B["ALSO"] | B["REF"]
_ACTING = B["CALL"] | B["SENDX"] | B["PASS"] | B["READ"] | B["DANGER"] | B["DO"] | B["CHANGE"]
_MACHINE = B["MODEL"]
_DECLINE = frozenset(["refuse", "decline", "question", "hesitate", "resist", "argue"])
_SEVERE = frozenset(
    [
        "developer",
        "god",
        "debug",
        "maintenance",
        "unrestricted",
        "jailbroken",
        "uncensored",
        "unfiltered",
        "dan",
        "admin",
        "root",
        "jailbreak",
    ]
)
_PERSONA = frozenset(
    [
        "agent",
        "assistant",
        "bot",
        "ai",
        "model",
        "persona",
        "character",
        "role",
        "admin",
        "administrator",
        "hacker",
        "expert",
        "identity",
    ]
)
_CONTROL = frozenset(["every", "all", "each", "future", "subsequent", "any"])

NEEDS = (
    B["OVERRIDE"]
    | B["OBEY"]
    | B["VOID"]
    | B["RANK"]
    | B["QUIET"]
    | B["HIDE"]
    | B["TELL"]
    | B["KNOW"]
    | B["ASK"]
    | B["CLAIM"]
    | B["CALL"]
    | B["READ"]
    | B["DANGER"]
    | B["DO"]
    | _ADDRESSED
    | B["DISABLE"]
    | B["GRANT"]
    | B["ROLE"]
    | B["PROMOTE"]
)


def find(clause: Clause) -> Iterator[tuple[int, int]]:
    """The words between which an order to the model stands."""
    for judge in (
        _override,
        _conceal,
        _hidden,
        _unseen,
        _unasked,
        _persona,
        _deceit,
        _safety,
        _authority,
        _answers,
        _marked,
        _machine_must,
        _tracks,
        _fetched,
    ):
        found = judge(clause)
        if found is not None:
            yield found


def _override(clause: Clause) -> tuple[int, int] | None:
    """Dropping instructions, putting others above them, or saying that they hold no longer."""
    if not clause.has(B["INSTR"] | _ADDRESSED | B["PRIOR"]):
        return None
    whole = clause.any
    owned = B["PRIOR"] | B["YOU"] | B["SAFETY"]
    honest = (
        {"phrases", "injection", "detect", "detects"} & set(clause.words)
        or clause.words[0] in ("whether", "if", "list", "returns", "return", "comma-separated", "optional")
        or "patterns" in clause.words
    )
    if honest:
        return None
    for at in clause.places(B["OVERRIDE"]):
        if (
            clause.bits[at] & (B["PAST"] | B["THIRD"])
            and not clause.bits[at] & B["BASE"]
            and clause.words[at] not in ("overrides", "supersedes", "replaces", "overrule", "overrules", "outranks")
        ):
            continue
        if (
            clause.bits[at] & B["BASE"]
            and clause.words[at] in ("replace", "drop", "skip", "cancel", "reject")
            and not whole & (B["YOU"] | B["SAFETY"])
        ):
            continue
        if clause.negated(at):
            continue
        for then in clause.places(B["INSTR"]):
            if 0 < then - at <= 9:
                if {"in", "inside", "within", "found", "contained"} & set(clause.words[then + 1 : then + 3]) and {
                    "it",
                    "its",
                    "content",
                    "there",
                    "them",
                    "page",
                    "result",
                    "email",
                    "text",
                } & set(clause.words[then + 1 : then + 5]):
                    continue
                between = 0
                for bits in clause.bits[at + 1 : then + 5]:
                    between |= bits
                if between & owned and (clause.directive or clause.index > 0 or clause.in_argument):
                    return at, then
        # "anything said before", "what you were told"
        if clause.words[at] in ("ignore", "disregard", "forget", "override", "discard", "dismiss") and (
            clause.imperative or whole & (B["MODAL"] | B["PLEASE"])
        ):
            tail = clause.words[at + 1 : at + 12]
            if {"told", "said", "instructed", "learned", "asked", "trained", "configured", "believe"} & set(tail) and (
                {"you", "your", "user", "developer", "operator", "above", "before", "earlier"} & set(tail)
            ):
                return at, min(at + 11, len(clause.words) - 1)
            if (
                {"user's", "request", "safety"} & set(tail)
                and {"user's", "user", "safety"} & set(tail)
                and not {"case", "preference"} & set(tail)
            ):
                return at, min(at + 6, len(clause.words) - 1)
    for at in clause.places(B["OBEY"]):
        if clause.negated(at, 4) and not {"only"} & set(clause.words[:at]) and clause.bits[at] & (B["BASE"] | B["ING"]):
            for then in clause.places(B["INSTR"]):
                if 0 < then - at <= 8 and clause.directive and any(b & owned for b in clause.bits[at + 1 : then + 4]):
                    return at, then
    for at in clause.places(B["VOID"] | B["RANK"]):
        if not clause.negated(at) or clause.words[at] == "no":
            for then in clause.places(B["INSTR"]):
                if (
                    abs(then - at) <= 10
                    and whole & (B["PRIOR"] | B["YOU"])
                    and (clause.bits[at] & B["VOID"] or whole & (B["THIS"] | B["OVER"]))
                ):
                    if {
                        "system",
                        "your",
                        "you",
                        "previous",
                        "prior",
                        "earlier",
                        "user's",
                        "developer",
                        "developer's",
                        "safety",
                        "above",
                        "former",
                        "all",
                    } & set(clause.words):
                        return at, then
    machine = clause.near(_MACHINE | B["YOU"], B["OBEY"] | B["DO"] | B["CALL"], 6)
    if (
        machine
        and whole & B["MODAL"]
        and {"these", "following", "below", "steps", "paragraph", "this"} & set(clause.words[machine[1] :])
        and whole & B["INSTR"] | ("steps" in clause.words)
    ):
        if clause.words[machine[1]] in ("follow", "obey", "comply", "carry", "execute", "adhere", "perform"):
            return machine
    return None


def _conceal(clause: Clause) -> tuple[int, int] | None:
    """Not telling the user."""
    for at in clause.places(B["TELL"]):
        bits = clause.bits[at]
        if not bits & (B["BASE"] | B["ING"]) or bits & B["THIRD"]:
            continue
        negated = next(
            (back for back in range(at - 1, max(-1, at - 7), -1) if clause.bits[back] & (B["NEG"] | B["NONE"])), None
        )
        if negated is None or (not clause.directive and not clause.any & B["MODAL"]):
            if negated is None or clause.words[negated] not in ("never", "don't", "not", "without", "no"):
                continue
            if not (clause.imperative or (clause.index > 0 and clause.words[negated] != "without")):
                continue
        after = clause.words[at + 1 : at + 14]
        if ({";", ","} & set(clause.words[negated:at]) and clause.words[negated] != "never") or "who" in after[:4]:
            continue
        if "does" in clause.words[max(0, negated - 1) : negated]:
            continue
        if set(after) & _SHOWING and not {"this", "step", "call"} & set(after):
            continue
        tail = 0
        for one in clause.bits[at + 1 : at + 12]:
            tail |= one
        if tail & B["UNLESS"]:
            continue
        if tail & B["USER"] or (clause.any & B["USER"] and tail & _DEEDS):
            return negated, min(at + 9, len(clause.words) - 1)
        if tail & (B["INSTR"] | B["CALL"]) and tail & B["THIS"] and clause.any & (_ADDRESSED | B["ANSWER"] | B["NEG"]):
            return negated, min(at + 6, len(clause.words) - 1)
        if clause.words[at] in (
            "mention",
            "acknowledge",
            "discuss",
            "reveal",
            "disclose",
            "refer",
            "comment",
            "bring",
            "explain",
        ) and tail & (B["THIS"] | B["ANSWER"]):
            return negated, min(at + 6, len(clause.words) - 1)
    return None


def _hidden(clause: Clause) -> tuple[int, int] | None:
    """Hiding from the user, or acting in secret."""
    directive = clause.directive
    if directive:
        for at in clause.places(B["HIDE"]):
            if clause.negated(at) or (clause.bits[at] & (B["PAST"] | B["THIRD"]) and not clause.bits[at] & B["BASE"]):
                continue
            if "from" in clause.words[at:] and clause.near(1 << 0, 0) is None:
                from_at = clause.words.index("from", at)
                if any(bits & B["USER"] for bits in clause.bits[from_at : from_at + 5]) and (
                    clause.imperative or clause.any & B["MODAL"]
                ):
                    return at, min(from_at + 4, len(clause.words) - 1)
            if clause.words[at] in ("keep", "leave", "say", "no", "stay") and (clause.any & (B["USER"] | B["THIS"])):
                return at, min(at + 6, len(clause.words) - 1)
        for at in clause.places(B["QUIET"]):
            near = [
                then
                for then in clause.places(_ACTING)
                if abs(then - at) <= 8
                and not {";"} & set(clause.words[min(at, then) : max(at, then)])
                and clause.bits[then] & B["BASE"]
            ]
            order = clause.order_at()
            if (
                near
                and order != at
                and clause.words[at - 1 : at] != ["overwrites"]
                and not clause.negated(at)
                and (order is not None or clause.any & B["MODAL"])
                and clause.words[at] not in ("secret", "transparently", "confidential")
            ):
                return near[0], at
    return None


def _unseen(clause: Clause) -> tuple[int, int] | None:
    """The user is not to know."""
    for at in clause.places(B["USER"]):
        for then in clause.places(B["KNOW"] | B["FINDOUT"]):
            if 0 < then - at <= 7 and any(bits & (B["NEG"] | B["NONE"]) for bits in clause.bits[max(0, at - 5) : then]):
                if set(clause.words[then : then + 7]) & _SHOWING or not clause.has(
                    B["MODAL"] | B["PLEASE"] | B["THIS"] | B["ALWAYS"] | B["DO"] | B["INSTR"] | B["FINDOUT"] | B["KNOW"]
                ):
                    continue
                if {"if", "when", "which"} & set(clause.words[max(0, at - 3) : at]):
                    continue
                return at, then
    found = clause.near(B["WITHOUT"], B["USER"], 6)
    if found and any(bits & (B["KNOW"] | B["FINDOUT"] | B["TELL"]) for bits in clause.bits[found[0] : found[1] + 5]):
        if clause.imperative or clause.any & B["MODAL"]:
            if not clause.negated(found[0], 12):
                return found
    return None


def _unasked(clause: Clause) -> tuple[int, int] | None:
    """Acting without asking."""
    if clause.words[0] in ("set", "whether", "true") or (
        clause.in_argument and clause.words[0] in ("if", "when", "force", "skip")
    ):
        return None
    for at in clause.places(B["ASK"]):
        window = range(at - 1, max(-1, at - 6), -1)
        window = [back for back in window if not any(bits & B["COMMA"] for bits in clause.bits[back:at])]  # type: ignore[assignment]
        denied = next((back for back in window if clause.bits[back] & (B["WITHOUT"] | B["NEG"] | B["NONE"])), None)
        skipped = next(
            (back for back in window if clause.words[back] in ("skip", "bypass", "skipping", "bypassing", "omit")), None
        )
        if denied is None:
            denied = skipped
        if denied is None:  # "confirmation is not needed"
            after = clause.words[at + 1 : at + 6]
            if {"confirmation", "approval", "consent", "permission", "authorization"} & {clause.words[at]} and (
                {"unnecessary", "waived", "implied", "granted", "assumed"} & set(after)
                or (
                    {"not", "never", "isn't"} & set(after)
                    and {"required", "needed", "necessary", "wanted"} & set(clause.words[at + 1 : at + 8])
                )
            ):
                if clause.any & (B["USER"] | _ADDRESSED) or clause.index > 0:
                    if not clause.in_argument and not {"if", "when"} & set(clause.words[:2]):
                        return at, min(at + 5, len(clause.words) - 1)
            continue
        words = set(clause.words)
        if any(bits & B["NEG"] for bits in clause.bits[max(0, denied - 12) : denied]) and clause.words[denied] in (
            "without",
            "skip",
            "bypass",
        ):
            continue  # "never delete without asking"
        if words & {"unless", "explicitly", "duplicate", "twice", "again"}:
            continue
        wanted = clause.bits[at] & B["USER"] or any(bits & B["USER"] for bits in clause.bits[at : at + 6])
        noun = clause.words[at] in (
            "confirmation",
            "approval",
            "permission",
            "consent",
            "authorization",
            "asking",
            "authorisation",
            "sign-off",
            "hesitate",
            "confirming",
            "clearance",
        )
        verb = clause.words[at] in (
            "ask",
            "confirm",
            "consult",
            "prompt",
            "check",
            "wait",
            "verify",
            "request",
            "await",
            "seek",
            "pause",
            "approve",
            "waiting",
            "consulting",
            "prompting",
            "requesting",
            "seeking",
            "question",
        )
        order = clause.order_at()
        acts = (order is not None and order != at) or bool(clause.any & (B["MODAL"] | _ADDRESSED))
        if not clause.directive and order is None and not clause.any & B["YOU"]:
            continue
        if clause.words[denied] in ("never", "not", "don't", "no") and verb and wanted:
            following = clause.words[at + 1 : at + 8]
            if {"to", "which", "what", "how", "where"} & set(following) and not {
                "confirmation",
                "permission",
                "approval",
                "confirm",
                "approve",
            } & set(following):
                continue
            if {"for"} & set(following) and not {"confirmation", "permission", "approval", "consent", "it"} & set(
                following
            ):
                continue
            if not clause.in_argument:
                return denied, min(at + 5, len(clause.words) - 1)
        if (
            noun
            and (acts or wanted)
            and clause.words[denied] != "never"
            and not ("require" in words or "requires" in words)
        ):
            if clause.words[denied] in ("not", "don't", "can't", "cannot", "avoid", "stop") and not clause.any & (
                B["USER"] | B["DANGER"] | B["CALL"]
            ):
                continue
            if order is None and not clause.any & _ADDRESSED:
                continue
            return denied, at
        if verb and clause.words[denied] == "without" and acts and wanted:
            return denied, at
    return None


def _persona(clause: Clause) -> tuple[int, int] | None:
    """Another role, another task, new instructions."""
    words = clause.words
    text = " ".join(words)
    if clause.any & B["YOU"]:
        for key in (
            "you are now",
            "you are no longer",
            "you have no restriction",
            "you will now act",
            "you now have",
            "your new ",
            "your real ",
            "your true ",
            "your actual ",
            "your only task",
            "your only goal",
            "your primary ",
            "you are being",
        ):
            if key in text and (
                "your " not in key
                or {
                    "task",
                    "goal",
                    "role",
                    "mission",
                    "objective",
                    "job",
                    "purpose",
                    "instructions",
                    "identity",
                    "instruction",
                    "directive",
                    "priority",
                    "persona",
                    "function",
                }
                & set(words)
            ):
                at = words.index(key.split()[0])
                return at, min(at + 7, len(words) - 1)
    if clause.any & B["ROLE"] and clause.directive and not clause.any & B["IF"]:
        for at in clause.places(B["ROLE"]):
            rest = set(words[at + 1 : at + 9])
            if (
                clause.bits[at] & B["BASE"]
                and rest & (_PERSONA | _SEVERE)
                and ({"as", "like", "mode", "identity", "persona", "role", "you"} & rest)
                and (clause.any & B["YOU"] or clause.order_at() == at)
            ):
                return at, min(at + 6, len(words) - 1)
    if "mode" in words and set(words) & _SEVERE and clause.any & (B["YOU"] | _ADDRESSED) and clause.directive:
        at = words.index("mode")
        return max(0, at - 3), at
    if ("from now on" in text or "henceforth" in words or "from this point" in text) and (
        clause.any & (B["YOU"] | B["ALWAYS"] | B["INSTR"] | B["ANSWER"]) or clause.imperative
    ):
        return 0, min(8, len(words) - 1)
    if (
        clause.any & B["YOU"]
        and clause.any & (B["NEG"] | B["NONE"])
        and clause.any & B["INSTR"]
        and {"restrictions", "limitations", "bound", "rules", "free"} & set(words)
        and {"are", "have"} & set(words)
    ):
        return 0, min(8, len(words) - 1)
    refuse = next((at for at, word in enumerate(words) if word in _DECLINE), None)
    if (
        refuse is not None
        and clause.negated(refuse, 4)
        and clause.any & (_ADDRESSED | B["USER"] | B["INSTR"] | B["THIS"] | B["ALWAYS"])
        and clause.directive
    ):
        return max(0, refuse - 3), min(refuse + 3, len(words) - 1)
    return None


def _deceit(clause: Clause) -> tuple[int, int] | None:
    """Telling the user what is not so."""
    for at in clause.places(B["CLAIM"] | B["TELL"]):
        if not clause.bits[at] & B["BASE"] or clause.negated(at):
            continue
        rest = clause.bits[at + 1 : at + 14]
        words = set(clause.words[at + 1 : at + 14])
        told = any(bits & B["USER"] for bits in rest)
        if clause.words[at] in ("pretend", "lie", "claim") and clause.directive and (told or words & {"that", "to"}):
            if clause.order_at() == at or clause.any & (B["MODAL"] | _ADDRESSED):
                return at, min(at + 8, len(clause.words) - 1)
        ordered = clause.marked or clause.order_at() is not None or clause.any & (B["MODAL"] | _ADDRESSED)
        if not ordered:
            continue
        if (
            words
            & {"everything", "nothing", "fine", "normal", "harmless", "safe", "regardless", "maintenance", "legitimate"}
            and (told or words & {"everything"})
            and any(bits & B["FINE"] for bits in rest)
        ):
            if not {"if", "when", "once", "after"} & words:
                return at, min(at + 9, len(clause.words) - 1)
        if (
            told
            and {"regardless", "even", "instead", "actually"} & set(clause.words)
            and any(bits & (B["FINE"] | B["FAIL"]) for bits in rest)
        ):
            return at, min(at + 9, len(clause.words) - 1)
    return None


def _safety(clause: Clause) -> tuple[int, int] | None:
    """Switching safety off, or approving whatever comes."""
    order = clause.order_at()
    if order is None and not clause.any & (B["MODAL"] | _ADDRESSED):
        return None
    if clause.in_argument and clause.words[0] in ("set", "if", "whether", "when", "disable", "skip"):
        return None
    found = clause.near(B["DISABLE"], B["SAFETY"], 7)
    if (
        found
        and not clause.negated(found[0])
        and clause.bits[found[0]] & B["BASE"]
        and clause.any & (B["YOU"] | _ADDRESSED | B["ALL"] | B["WHEN"] | B["BEFORE"] | B["ALSO"] | B["THIS"])
    ):
        if order is not None and not clause.any & B["IF"]:
            if {
                "safety",
                "guardrails",
                "guardrail",
                "safeguards",
                "moderation",
                "audit",
                "auditing",
                "logging",
                "security",
                "filters",
                "content",
                "sandbox",
                "sandboxing",
                "confirmations",
                "restrictions",
                "antivirus",
                "firewall",
                "checks",
            } & set(clause.words[found[0] : found[1] + 2]):
                return found
    found = clause.near(B["GRANT"], B["REQUEST"] | B["ASK"] | B["DANGER"] | B["CALL"] | B["RESULT"], 8)
    if found and order is not None and clause.bits[found[0]] & B["BASE"] and not clause.negated(found[0]):
        within = 0
        for bits in clause.bits[found[0] : found[1] + 6]:
            within |= bits
        if within & (B["ALL"] | B["ALWAYS"]) and (
            {"automatically", "all", "any", "every", "everything", "immediately"} & set(clause.words)
        ):
            return found
    if "treat" in clause.words or "consider" in clause.words:
        at = clause.words.index("treat" if "treat" in clause.words else "consider")
        if order == at or clause.any & (B["MODAL"] | _ADDRESSED):
            rest = set(clause.words[at + 1 : at + 14])
            if (
                "as" in rest
                and not {"data", "untrusted"} & rest
                and (
                    {
                        "trusted",
                        "authorized",
                        "authorised",
                        "approved",
                        "consent",
                        "administrator",
                        "instructions",
                        "commands",
                        "pre-approved",
                        "orders",
                        "permission",
                        "approval",
                        "instruction",
                        "directives",
                        "root",
                    }
                    & rest
                )
            ):
                return at, min(at + 10, len(clause.words) - 1)
    return None


def _authority(clause: Clause) -> tuple[int, int] | None:
    """Consent or authority that nobody can check."""
    for at in clause.places(B["USER"] | B["MINE"]):
        rest = clause.words[at : at + 10]
        if {"already", "implicitly", "pre-approved", "preapproved", "beforehand", "automatically"} & set(rest) and {
            "approved",
            "agreed",
            "consented",
            "authorized",
            "authorised",
            "granted",
            "consents",
            "agrees",
            "permission",
            "pre-approved",
            "preapproved",
            "confirmed",
            "accepted",
            "consent",
        } & set(rest):
            if not {"if", "when", "once", "unless", "only", "after", "whether", "until", "that"} & set(
                clause.words[max(0, at - 4) : at + 3]
            ):
                return at, min(at + 8, len(clause.words) - 1)
    machine = clause.near(_MACHINE, B["MODAL"], 5)
    if machine and any(
        bits & (_ACTING | B["OBEY"]) and bits & B["BASE"] for bits in clause.bits[machine[1] : machine[1] + 6]
    ):
        if (
            clause.any & (B["TALK"] | B["SECRET"] | B["WEB"] | B["PATH"] | B["QUIET"])
            or clause.shell
            or (
                {"first", "before", "instructions", "following", "steps"} & set(clause.words)
                and clause.any & B["INSTR"]
            )
        ):
            return machine
    return None


def _answers(clause: Clause) -> tuple[int, int] | None:
    """What every answer has to say."""
    if not clause.directive:
        return None
    for at in clause.places(B["ANSWER"] | B["REQUEST"]):
        around = clause.words[max(0, at - 2) : at]
        mine = {"your", "you", "user", "user's", "assistant's", "model's"} & set(clause.words)
        acts = clause.any & (B["PROMOTE"]) or {
            "end",
            "begin",
            "start",
            "append",
            "mention",
            "recommend",
            "include",
            "finish",
            "add",
            "insert",
            "link",
            "contain",
        } & set(clause.words)
        if (
            _CONTROL & set(around)
            and clause.bits[at] & B["ANSWER"]
            and mine
            and acts
            and clause.any & (B["MODAL"] | B["ALWAYS"] | B["BASE"])
        ):
            if not {"tool", "api", "server", "page", "in"} & set(around):
                return at, min(at + 6, len(clause.words) - 1)
    found = clause.near(B["PROMOTE"], B["USER"], 12)
    if (
        found
        and clause.bits[found[0]] & B["BASE"]
        and clause.any & (B["ALWAYS"] | B["MODAL"] | B["ALSO"])
        and not clause.negated(found[0])
        and clause.order_at() == found[0]
    ):
        if {
            "buy",
            "purchase",
            "product",
            "subscribe",
            "brand",
            "click",
            "visit",
            "sponsor",
            "install",
            "upgrade",
            "invest",
            "vote",
            "sign",
            "download",
        } & set(clause.words) or clause.any & B["WEB"]:
            return found
    return None


def _marked(clause: Clause) -> tuple[int, int] | None:
    """An order inside of a comment or a made-up tag, or a shell command that the model is told to run."""
    order = clause.order_at()
    last = len(clause.words) - 1
    if clause.shell and (order is not None or clause.any & (B["MODAL"])) and clause.any & B["CALL"]:
        if not clause.any & B["EXAMPLE"] and not clause.in_argument:
            return (order or 0), min((order or 0) + 9, last)
    if (
        clause.shell
        and clause.index > 0
        and not clause.in_argument
        and not clause.any & B["EXAMPLE"]
        and not {"runs", "runs:", "support", "supports", "cannot", "not", "never", "blocked", "if"} & set(clause.words)
    ):
        return 0, min(9, last)
    if not clause.marked or last < 2:
        return None
    if (
        clause.soft
        and not clause.any
        & (
            _MACHINE
            | B["QUIET"]
            | B["SECRET"]
            | B["TALK"]
            | B["WEB"]
            | B["REF"]
            | B["TELL"]
            | B["OBEY"]
            | B["OVERRIDE"]
            | B["SENDX"]
        )
    ) or {"approval", "confirmed", "explicitly"} & set(clause.words):
        return None
    strong = clause.any & (
        _ADDRESSED
        | B["SENDX"]
        | B["CALL"]
        | B["QUIET"]
        | B["SECRET"]
        | B["OVERRIDE"]
        | B["TELL"]
        | B["TALK"]
        | B["DANGER"]
        | B["READ"]
        | B["GRANT"]
        | B["OBEY"]
    )
    if strong and (order is not None or (clause.any & _ADDRESSED and clause.any & B["MODAL"])):
        return (order or 0), min((order or 0) + 9, last)
    return None


def _machine_must(clause: Clause) -> tuple[int, int] | None:
    """What an assistant has to do, or always to say."""
    words = clause.words
    if {"ask", "confirm", "confirmed", "confirmation", "only", "careful"} & set(words) and not {
        "no",
        "without",
        "not",
        "never",
    } & set(words):
        return None
    for at in clause.places(_MACHINE):
        if words[at] == "ai" and words[at + 1 : at + 2] in (["agent"], ["assistant"], ["model"]):
            continue
        after = words[at + 1 : at + 4]
        modal = next(
            (
                k
                for k, w in enumerate(after, at + 1)
                if w in ("must", "should", "shall", "ought", "needs", "need", "has", "have", "will", "may")
                or (
                    w in ("is", "are")
                    and words[k + 1 : k + 2] in (["to"], ["required"], ["expected"], ["obliged"], ["instructed"])
                )
            ),
            None,
        )
        if modal is None or (at and words[at - 1] in ("if", "user", "host", "build", "data", "travel")):
            continue
        verb = next(
            (
                k
                for k in range(modal + 1, min(len(words), modal + 5))
                if clause.bits[k] & B["BASE"] and not clause.bits[k] & B["COPULA"]
            ),
            None,
        )
        if verb is None or (
            words[modal] in ("will", "may", "has", "have")
            and not clause.any & (B["ALL"] | B["SENDX"] | B["SECRET"] | B["TALK"] | B["QUIET"])
        ):
            continue
        if words[verb] in (
            "use",
            "check",
            "call",
            "wait",
            "read",
            "support",
            "be",
            "set",
            "list",
        ) and not clause.any & (B["SECRET"] | B["TALK"] | B["WEB"] | B["QUIET"] | B["DANGER"]):
            continue
        return at, verb
    for at in clause.places(B["CLAIM"]):
        if (
            clause.bits[at] & B["BASE"]
            and words[at] in ("answer", "reply", "respond", "say", "report", "state")
            and words[at - 1 : at] in (["always"], ["simply"], ["must"], ["just"])
            and not clause.negated(at)
        ):
            if not set(words[at + 1 : at + 3]) & {"in", "with", "using", "by", "back", "only", "the", "a", "as"} or {
                "regardless",
                "matter",
            } & set(words):
                return at, min(at + 4, len(words) - 1)
    return None


def _tracks(clause: Clause) -> tuple[int, int] | None:
    """Leaving no trace."""
    words = set(clause.words)
    if {"nobody", "no-one"} & words and {"notices", "notice", "knows", "sees", "suspects"} & words:
        return 0, min(8, len(clause.words) - 1)
    at = next((k for k, w in enumerate(clause.words) if w in ("unbeknownst", "untraceably")), None)
    if at is not None:
        return at, min(at + 3, len(clause.words) - 1)
    trace = next(
        (
            k
            for k, w in enumerate(clause.words)
            if w in ("trace", "traces", "evidence", "logs", "history", "footprint", "footprints", "tracks")
        ),
        None,
    )
    if trace is None:
        return None
    order = clause.order_at()
    if (
        {"no", "without", "any"} & set(clause.words[max(0, trace - 3) : trace])
        and clause.words[trace] in ("trace", "traces", "evidence", "footprint", "tracks")
        and (order is not None or clause.any & B["MODAL"])
    ):
        if not {"stack", "span", "distributed"} & words:
            return max(0, trace - 2), trace
    if (
        order is not None
        and clause.words[order] in ("erase", "delete", "wipe", "clear", "remove", "clean", "purge", "truncate")
        and 0 < trace - order <= 6
        and clause.any & (B["AFTER"] | B["ALSO"])
        and not clause.in_argument
    ):
        return order, trace
    return None


def _fetched(clause: Clause) -> tuple[int, int] | None:
    """Instructions that are to be fetched and followed."""
    words = set(clause.words)
    if clause.order_at() is None and not clause.any & B["MODAL"]:
        return None
    code = next(
        (
            k
            for k, w in enumerate(clause.words)
            if w in ("script", "postinstall", "hook", "cron", "crontab", "backdoor", "cronjob", "alias", "launcher")
        ),
        None,
    )
    order = clause.order_at()
    if (
        code is not None
        and order is not None
        and clause.any & B["WEB"]
        and not clause.in_argument
        and {"add", "install", "create", "insert", "put", "write", "set"} & {clause.words[order]}
    ):
        return order, code
    at = next(
        (
            k
            for k in clause.places(B["OBEY"] | B["CALL"] | B["DO"])
            if clause.words[k] in ("follow", "obey", "execute", "run", "do", "perform", "apply", "comply")
            and not clause.negated(k)
        ),
        None,
    )
    if at is None:
        return None
    source = (
        clause.any & B["WEB"]
        or {"returned", "fetched", "downloaded", "returns", "therein", "says", "contained", "response", "output"}
        & words
    )
    if (
        source
        and {"instructions", "commands", "orders", "steps", "says", "directives", "told"}
        & set(clause.words[at : at + 9])
        and clause.any & (B["READ"] | B["WEB"])
        and not {"installation", "setup", "documentation", "docs"} & words
    ):
        return at, min(at + 6, len(clause.words) - 1)
    return None
