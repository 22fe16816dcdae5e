"""How dangerous a tool is to call, by its annotations and, failing those, by its name. What may be done: `execution_policy`.

Annotations may say less than yes or no: `readOnlyHint: false` means at least mutating, so that a destructive name still counts.
`destructiveHint: false` makes a tool mutating, whatever its name says.

`MUTATING_WORDS` and `DESTRUCTIVE_WORDS` are the documented lists; `classify_name` uses only these. `classify` uses
`cautious_class`, which knows more words and sees through disguises; its class is never less dangerous than the documented one.
See docs/explanation/safety.md. Source: MCP 2025-11-25, schema, ToolAnnotations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from types import NoneType
from typing import TYPE_CHECKING

from mcptest_engine.core.lazy_patterns import lazy_pattern

if TYPE_CHECKING:
    from mcptest_engine.core.json_types import JsonMapping

MUTATING_WORDS = frozenset(
    ("create", "update", "set", "send", "write", "post", "put", "insert", "patch", "add", "upload")
)
DESTRUCTIVE_WORDS = frozenset(("delete", "remove", "drop", "destroy", "purge", "erase", "wipe", "kill", "revoke"))

# Words beyond the documented lists. They only ever make a tool more dangerous.
_MORE_DESTRUCTIVE = """
ban burn cancel clear del deregister discard evict expunge flush kick nuke obliterate prune reboot rm rmdir shred shutdown
terminate trash truncate uninstall unlink unpublish unregister
"""
_MORE_MUTATING = """
abort activate append apply approve archive assign bash checkout click clone cmd command copy deactivate decline decrement
deploy deposit disable dispatch download downvote drag edit enable enqueue eval evaluate exec execute follow forward grant
import increment install invite invoke launch login logout make mint mkdir modify move navigate notify overwrite pay
powershell press promote provision publish purchase push rebase refund register reject rename replace reply repost reset
resolve restart restore retry retweet rollback rotate save schedule sell shell signin signout signup sql start stop store
submit subscribe swap sync tap terminal toggle touch transfer trigger tweet unassign unblock unfollow unlock unmute
unsubscribe upsert upvote withdraw
"""
# These are nouns as often as verbs, so they do not count in a name that begins with a reading word: `get_commit`.
_VERB_OR_NOUN = """
book branch build buy call charge close comment commit fork lock merge open order release request review run script sign
star tag test trade vote
"""
# These count as verbs only at the beginning of a name: `label_issue`, `change_password`, `type_text`, but not `issue_label`.
_VERB_AT_START = frozenset(
    [
        "block",
        "bookmark",
        "change",
        "control",
        "dm",
        "fill",
        "follow",
        "label",
        "like",
        "message",
        "mute",
        "pin",
        "print",
        "react",
        "turn",
        "type",
    ]
)
_DISKS = frozenset(("disk", "drive", "partition", "volume"))  # `format_disk`, but not `format_json`
_READING = "check count describe fetch find get has head is list lookup query read search show view"
_ACTING = frozenset(_MORE_MUTATING.split())
_ACTING_UNLESS_READING = _ACTING.union(_VERB_OR_NOUN.split())
_DESTROYING = frozenset(_MORE_DESTRUCTIVE.split())
# `deleteuser`: a long verb glued to anything but its own endings, or a short verb glued to a typical object.
_LONG = (
    "delete|remove|destroy|purge|erase|revoke|truncate|terminate|unlink"
    "|create|update|insert|upload|execute|deploy|submit|publish"
)
_SHORT = "drop|wipe|kill|del|rm|set|send|write|post|put|patch|add|exec|run|pay|edit|move|save|make|push|stop|start"
_LONG_VERBS, _SHORT_VERBS = tuple(_LONG.split("|")), tuple(_SHORT.split("|"))
_VERBS = frozenset((*_LONG_VERBS, *_SHORT_VERBS))
_GLUED = lazy_pattern(
    rf"(?:[a-z]{{3,}})?(?P<long>{_LONG})(?!(?:d|r|s|ed|er|ers|ing|ment|ments)$|able|ability)[a-z]{{2,}}"
    rf"|[a-z]{{3,}}(?P<last>{_LONG})"
    rf"|(?P<short>{_SHORT})"
    r"(?:all|accounts?|branch(?:es)?|columns?|commands?|comments?|data|databases?|db|dirs?|documents?|emails?|events?|files?"
    r"|folders?|invoices?|issues?|items?|jobs?|keys?|mails?|messages?|notes?|orders?|pages?|process(?:es)?|projects?|query"
    r"|records?|repos?|rf|rows?|script|shell|sql|tables?|tasks?|users?)"
)
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
# `HTTPServer2Put` gives http, server, 2, put: a run of capitals is a word of its own up to the last one.
_WORD = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Case that does not show where a word begins: `DELETEuser` gives delete and user, `dElEtE` gives delete.
_ODD_CASE = lazy_pattern(r"[A-Z]{2,}[a-z]|[a-z][A-Z][a-z]?[A-Z]")
_CAPITALS_FIRST = lazy_pattern(r"[A-Z]{2,}|[A-Z]?[a-z]+|[0-9]+")
_PIECE = lazy_pattern(r"[a-z]+")
# A digit or a capital `I` between letters may pass for one of them: `d3lete`, `deIete`.
_DISGUISED = lazy_pattern(r"(?<=[A-Za-z])[013457](?=[A-Za-z])|(?<=[a-z])I(?=[a-z])")
_LOOKS_LIKE = dict(zip("013457I", "oleastl", strict=True))
_LETTERS = lazy_pattern(r"[^\W\d_]+")
_ASCII_LETTER = lazy_pattern(r"[A-Za-z]")


class ToolClass(StrEnum):
    """From harmless to dangerous; `READ_ONLY` was declared by the server, `READ_ONLY_PRESUMED` is our guess."""

    READ_ONLY = "read_only"
    READ_ONLY_PRESUMED = "read_only_presumed"
    MUTATING = "mutating"
    DESTRUCTIVE = "destructive"

    @property
    def severity(self) -> int:
        """A number that is greater for a more dangerous class."""
        return tuple(ToolClass).index(self)

    @property
    def only_reads(self) -> bool:
        """Whether tools of this class only read, so that a call may be repeated without being asked for."""
        return self in (ToolClass.READ_ONLY, ToolClass.READ_ONLY_PRESUMED)

    @property
    def described(self) -> str:
        """The class as the end of a sentence: "the tool x is …"."""
        return _DESCRIBED[self]


_DESCRIBED = {
    ToolClass.READ_ONLY: "declared read-only",
    ToolClass.READ_ONLY_PRESUMED: "presumed read-only by its name",
    ToolClass.MUTATING: "classified as mutating",
    ToolClass.DESTRUCTIVE: "classified as destructive",
}


def classify(tool: Mapping[str, object]) -> ToolClass:
    """The class of a tool descriptor as `tools/list` sent it.

    `annotations` with a hint that is no boolean make no tool safer than its name does: of the other hints only those count
    that make it more dangerous.
    """
    name = tool.get("name")
    by_name = cautious_class(name) if isinstance(name, str) else ToolClass.READ_ONLY_PRESUMED
    annotations = tool.get("annotations")
    hints = _boolean_hints(annotations)
    if not malformed_annotations(annotations):
        return _by_hints(hints, by_name)
    hints.pop("readOnlyHint" if hints.get("readOnlyHint") else "", None)
    return max(by_name, _by_hints(hints, by_name), key=lambda one: one.severity)


def class_of(descriptors: Iterable[Mapping[str, object]]) -> ToolClass:
    """The most dangerous class among the descriptors of one tool, which may be listed several times."""
    return max(map(classify, descriptors), key=lambda tool_class: tool_class.severity)


def descriptors_by_name(tools: Iterable[object]) -> dict[str, tuple[Mapping[str, object], ...]]:
    """The descriptors of `tools/list` by tool name, in their order; entries without a text as name are left out."""
    found: dict[str, tuple[JsonMapping, ...]] = {}
    for tool in tools:
        if isinstance(tool, Mapping) and isinstance(name := tool.get("name"), str):
            found[name] = (*found.get(name, ()), tool)
    return found


def _by_hints(hints: Mapping[str, bool], by_name: ToolClass) -> ToolClass:
    if hints.get("readOnlyHint"):
        return ToolClass.READ_ONLY
    if hints.get("destructiveHint"):
        return ToolClass.DESTRUCTIVE
    if "destructiveHint" in hints:
        return ToolClass.MUTATING
    if "readOnlyHint" in hints:
        return max(by_name, ToolClass.MUTATING, key=lambda one: one.severity)
    return ToolClass.MUTATING if hints.get("idempotentHint") is False else by_name


@lru_cache(maxsize=4096)
def classify_name(name: str) -> ToolClass:
    """The class that a name suggests by the documented words alone; a destructive word outranks a mutating one."""
    return _class_of_words(_split_words(name))


@lru_cache(maxsize=4096)
def cautious_class(name: str) -> ToolClass:
    """The class by name, or a more dangerous one where further words, glued words or disguised letters suggest it."""
    plain = name
    if not name.isascii():
        from mcptest_engine.safety.normalizing import latin_name  # few names need its patterns

        plain = latin_name(name)
    words = _split_words(plain)
    found = [classify_name(name), _class_by_more_words(words)]
    if _mixes_alphabets(plain):
        found.append(ToolClass.MUTATING)
    undisguised = _DISGUISED.sub(lambda letter: _LOOKS_LIKE[letter[0]], plain)
    if undisguised != plain:
        found.append(_class_by_more_words(_split_words(undisguised)))
    if _ODD_CASE.search(plain):
        readings = (_CAPITALS_FIRST.findall(plain), _PIECE.findall(plain.lower()))
        found += [_class_by_more_words([word.lower() for word in words]) for words in readings]
    return max(found, key=lambda one: one.severity)


def _class_by_more_words(words: list[str]) -> ToolClass:
    """The class that the words suggest by all the lists, and by verbs glued to their objects."""
    if not _DESTROYING.isdisjoint(words) or ("format" in words and not _DISKS.isdisjoint(words)):
        return ToolClass.DESTRUCTIVE
    found = [_class_of_words(words)]
    verbs = _ACTING if words and words[0] in _READING.split() else _ACTING_UNLESS_READING
    if not verbs.isdisjoint(words) or (words and words[0] in _VERB_AT_START):
        found.append(ToolClass.MUTATING)
    may_be_glued = [
        word
        for word in words
        if word not in _VERBS and (word.startswith(_SHORT_VERBS) or any(verb in word for verb in _LONG_VERBS))
    ]  # checked first, because the pattern takes long to compile and few words need it
    for glued in filter(None, map(_GLUED.fullmatch, may_be_glued) if may_be_glued else ()):
        verb = glued["long"] or glued["last"] or glued["short"]
        is_destructive = verb in DESTRUCTIVE_WORDS or verb in _DESTROYING
        found.append(ToolClass.DESTRUCTIVE if is_destructive else ToolClass.MUTATING)
    return max(found, key=lambda one: one.severity)


def _split_words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _class_of_words(words: list[str]) -> ToolClass:
    if not DESTRUCTIVE_WORDS.isdisjoint(words):
        return ToolClass.DESTRUCTIVE
    return ToolClass.READ_ONLY_PRESUMED if MUTATING_WORDS.isdisjoint(words) else ToolClass.MUTATING


def _mixes_alphabets(name: str) -> bool:
    """Whether a word has ASCII letters and others, as look-alike letters do in a disguised word."""
    return any(not word.isascii() and _ASCII_LETTER.search(word) for word in _LETTERS.findall(name))


def malformed_annotations(annotations: object) -> list[str]:
    """Why annotations are ignored, a clause each: they are no object, or hold a hint that is no boolean."""
    if annotations is None:
        return []
    if not isinstance(annotations, Mapping):
        return ["`annotations` is not an object"]
    return [
        f"`annotations.{hint}` is not a boolean"
        for hint in _HINTS
        if not isinstance(annotations.get(hint), (bool, NoneType))
    ]


def _boolean_hints(annotations: object) -> dict[str, bool]:
    hints = annotations if isinstance(annotations, Mapping) else {}
    return {hint: value for hint in _HINTS if isinstance(value := hints.get(hint), bool)}
