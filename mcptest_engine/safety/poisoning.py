# ruff: noqa: E501 - a pattern is one line, so that it can be read as one
"""Instructions to the model in tool definitions: the rules SEC-001 to SEC-006, and SEC-008.

Pure functions of tool descriptors as `tools/list` sent them; a descriptor of any shape is accepted. Texts are judged in
their plain form (see `normalizing`), so that a disguise hides nothing. For speed a text is searched for single words first, and
only the few phrases whose words it has are tried on it.

There are two detectors because neither alone does as well. Of 230 attacks that nothing was learned from, both find 193 (148 with a
finding of high severity), `phrases` alone 82 (75), the `learned` model alone 180 (121); of 230 honest definitions they report 15, 10 and 9.
See docs/how-to/security-scan.md, and docs/explanation/security-scan-accuracy.md for the figures.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.secret_names import is_secret_name
from mcptest_engine.core.secret_patterns import find_secrets
from mcptest_engine.safety.credentials import find_credential
from mcptest_engine.safety.definition_texts import Text, texts_of_tool, tool_name
from mcptest_engine.safety.encodings import Encoded, encoded_texts
from mcptest_engine.safety.findings import RULES, Finding, Level, finding, warning_json, worst_of_each_rule
from mcptest_engine.safety.learned import steering, stems_of_name, support
from mcptest_engine.safety.long_texts import LONG, Reading
from mcptest_engine.safety.mentions import is_about_attacks, without_mentions
from mcptest_engine.safety.normalizing import first_hidden, plain_views, visible
from mcptest_engine.safety.phrases import is_left_to_user, places_to_try
from mcptest_engine.safety.tool_references import orders_about_tools

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["POISONING_RULES", "Finding", "Judge", "description_warnings", "findings_of_tools", "warning_json"]

POISONING_RULES = ("SEC-001", "SEC-002", "SEC-003", "SEC-004", "SEC-005", "SEC-006", "SEC-008")
_LONGEST_NAME = 64
_OF_VALUE = re.compile(r"\.(?:default|const|example|enum)")
_SHORTEST = 12  # no phrase in ASCII is shorter
_MOST_ENCODINGS = 3
_AGAINST_ATTACKS = re.compile(
    r"\b(?:detect|scan|classif|scor|flag|identif|recogni[sz]|check|find|search|match|analy[sz]|block|filter|catch|lists?\b|librar|collection|catalogu?e|known|add|explain|report|look|test|collect|lab\b|practi[cs]e|challenge|ctf\b|red.?team|strip|remov|saniti[sz]|guard|corpus|train|demonstrat|teach|warn)\w*"
    r"[^\n]{0,140}?(?:injections?|jailbreak\w*|poison\w*|attacks?|malicious|adversarial|phishing|exfiltrat\w*|social engineering|suspicious|hostile|hidden instructions|override attempts?)\b"
    r"|\b(?:injections?|jailbreak\w*|poison\w*|attack|adversarial|malicious|hostile|red.?team\w*)\w* (?:detector|scanner|classifier|filter|check|lab|corpus|test|phrases|patterns|texts?|prompts?|payloads?|strings?|examples?|cases?|library|samples?)\b"
)
_INTRODUCED = re.compile(
    r"(?:\be\.g\.?|\bsuch as|\blike|\bfor example|\bfor instance|\bincluding|\bi\.e\.?|\bas in|\b(?:phrases?|patterns?|strings?|texts?|sentences?)(?: that say| saying)?|['\u2018(\[])[ ,:'\u2018(\[]*(?:\w+ ){0,6}'?\Z"
    r"|(?:\be\.g\.?|\bsuch as|\bfor example|\bfor instance|\bas in)[ ,:]|\b(?:says?|reads?): ?\Z"
)
_LISTED = re.compile(r"[^.!?\n]{0,40}(?:: |[(\u2018'])\w")
_NAMED_IN_PASSING = re.compile(
    r"(?:\b(?:to|that|which|of|or|for|would|could|may|might|tries to|attempts? to)|[:(]) ?\Z"
)
_FINDS = re.compile(
    r"\b(?:block|detect|flag|find|match|catch|reject|recogni[sz]e|look for|report|filter|remove|strip)(?:e?s|ing)?(?: out)?[ :\"'\u2018\u201c(]*\Z"
)
_EXAMPLE_OF_ENCODING = re.compile(
    r"\b(?:base ?-?(?:64|32)|hex(?:adecimal)?|rot13|percent.encod|url.encod|encod|decod)\w*\b[^\n]{0,60}\b(?:e\.g\.?|such as|like|for example|for instance|example:?|becomes|gives)\W{0,3}\Z",
    re.IGNORECASE,
)
_SAYS_ENCODED = re.compile(
    r"\b(?:base ?-?(?:64|32)(?:url)?|hex(?:adecimal)?|binary|(?:un|en)coded|encoding)\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)|\n|[\u3002\uff01\uff1f]")
_LONGEST_SENTENCE = 400
_WITHIN_SERVER = re.compile(r"\bother tools? (?:on|of|in|from) this server\b")
_INSTRUCTIONS = "instructions"  # of a server: they may say how its own tools are to be used
_PURPOSE = 200  # the length of a description's beginning in which words of the tool's name are looked for
_LONGEST_DECODED = 4_096
_SHORTEST_WEIGHED = 40  # a shorter text is not weighed against the learned judge
_MOST_TAKEN_BACK = 8  # how many places of one phrase in a text may be rejected as honest
_SURELY_HONEST = -200  # score of the learned judge: hundredths above its threshold
_SURE_THOUGH_HEDGED = 100  # in the same unit, for a sentence that leaves the choice to the user
_BEYOND_DOUBT = 200  # in the same unit


def description_warnings(tools: Iterable[Mapping[str, object]]) -> tuple[Finding, ...]:
    """The findings of the rules on `tools`, in their order and then the rules'; at most one for each tool and rule.

    Entries that are no objects are skipped: the reader of the list reports them.
    """
    return tuple(found for tool in findings_of_tools(tools) for found in worst_of_each_rule(tool))


def findings_of_tools(tools: Iterable[Mapping[str, object]]) -> Iterator[list[Finding]]:
    """All findings of each tool, one list a tool: a finding for each rule and text."""
    listed = [tool for tool in tools if hasattr(tool, "get")]
    judge = Judge(tool_name(tool) for tool in listed)
    for tool in listed:
        yield judge.findings(tool_name(tool), texts_of_tool(tool))


class Match(NamedTuple):
    """A rule that a text matches. `excerpt` has the words that matched, decoded from `encoding` if that is set.

    `sentences` are the whole sentences around them. `learned`: the match may well be honest, and is of medium severity at most.
    `is_absolute` says that the judge is sure beyond doubt: urging the model so to choose a tool (SEC-006) is of high severity.
    """

    rule: str
    excerpt: str
    learned: bool = False
    encoding: str = ""
    sentences: str = ""
    is_absolute: bool = False

    @property
    def severity(self) -> Level:
        severity = RULES[self.rule].severity
        if self.is_absolute and self.rule == "SEC-006":
            return Level.HIGH
        return Level.MEDIUM if self.learned and severity.rank < Level.MEDIUM.rank else severity


class Judge:
    """Judges texts; equal ones, which schemas often have, are judged once. `names` are those of the server's tools."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(name.lower() for name in names if len(name) <= _LONGEST_NAME)
        self._known: dict[tuple[str, str, str | None, str, frozenset[str], bool, bool], tuple[Match, ...]] = {}
        self._reading = Reading()

    def findings(self, owner: str, texts: Iterable[Text]) -> list[Finding]:
        """The findings of one entry, in the rules' order: for each rule and text the first one of the worst severity."""
        found: dict[tuple[str, Text], Match] = {}
        name = owner.lower()
        texts = list(texts)
        arguments = frozenset(text.argument.lower() for text in texts if text.argument and text.is_name)
        against = is_about_attacks(owner, *(text.text for text in texts if text.where in ("title", "description")))
        encoded = {text.argument for text in texts if text.argument and _SAYS_ENCODED.search(text.text)}
        for text in texts:
            secret_name = _secret_name(text)
            if len(text.text) < _SHORTEST and secret_name is None and text.text.isascii() and text.text.isprintable():
                continue
            own = name if len(name) <= _LONGEST_NAME and name in text.text.lower() else ""
            place = place_of(text)
            about = about_of(name, place)
            is_encoded = place == "v" and text.argument in encoded
            key = (text.text, place, secret_name, own, about, against, is_encoded)
            matches = self._known.get(key)
            if matches is None:
                matches = self._known[key] = tuple(self._matches(text, secret_name, own, about, against, is_encoded))
            for match in (*matches, *self._about_tools(text, name, arguments)):
                before = found.get((match.rule, text))
                if before is None or match.severity.rank < before.severity.rank:
                    found[match.rule, text] = match
        in_order = sorted(found.items(), key=lambda one: POISONING_RULES.index(one[0][0]))
        return [_finding(owner, text, match) for (_rule, text), match in in_order]

    def _about_tools(self, text: Text, name: str, arguments: frozenset[str]) -> Iterator[Match]:
        if text.is_name or " " not in text.text or len(text.text) > LONG:
            return
        plain = plain_views(text.text)[0]
        for start, end in orders_about_tools(plain.lower(), name, self._names, arguments):
            yield Match("SEC-002", plain[start:end], learned=text.where == _INSTRUCTIONS)

    def _matches(
        self, text: Text, secret_name: str | None, own: str, about: frozenset[str], against: bool, is_encoded: bool
    ) -> Iterator[Match]:
        for part in self._reading.parts(text.text):
            at = first_hidden(part)
            if at is not None:
                yield Match("SEC-005", visible(part[max(0, at - 20) : at + 40]))
            open_part = part
            secret = find_credential(part, is_value_of=secret_name)
            if secret is not None:
                yield Match("SEC-008", part[secret[0] : secret[0] + 4] + "…")
                open_part = f"{part[: secret[0]]} {part[secret[1] :]}"
            for match in _decoded_matches(open_part, text, self._names, own):
                if match.rule != "SEC-004" or not is_encoded:
                    yield match
            shown = without_mentions(part, about_attacks=against)
            yield from _text_matches(shown, text, self._names, own, about)


def _finding(owner: str, text: Text, match: Match) -> Finding:
    subject = f"{_place_text(text)}, decoded from {match.encoding}," if match.encoding else _place_text(text)
    excerpt = _without_secrets(match.excerpt)
    whole = _without_secrets(match.sentences or match.excerpt)
    return finding(
        match.rule,
        owner,
        text.where,
        subject=subject,
        excerpt=excerpt,
        full_excerpt=whole,
        severity=match.severity,
        digest_of=text.text,
    )


def _decoded_matches(part: str, text: Text, names: frozenset[str], own: str, depth: int = 0) -> Iterator[Match]:
    """The matches in the encoded runs of a part once they are decoded, also where encodings are nested."""
    for run in encoded_texts(part):
        if run.suspicious and not (run.text and _is_explained(part, run)):
            yield Match("SEC-004", part[run.start : min(run.end, run.start + 24)])
        if not run.text:
            continue
        for match in _text_matches(run.text, text, names, own, frozenset(), is_decoded=True):
            yield match._replace(encoding=run.encoding)
        if depth < _MOST_ENCODINGS:
            for match in _decoded_matches(run.text[:_LONGEST_DECODED], text, names, own, depth + 1):
                if match.rule != "SEC-004":
                    yield match._replace(encoding=f"{match.encoding} inside of {run.encoding}")


def _is_explained(part: str, run: Encoded) -> bool:
    """Whether an encoded run is an example of its encoding, or its decoded text also stands beside it."""
    if _EXAMPLE_OF_ENCODING.search(part, max(0, run.start - 100), run.start):
        return True
    decoded = " ".join(re.findall(r"\w+", run.text.lower()))
    rest = f"{part[: run.start]} {part[run.end :]}"
    return bool(decoded) and decoded in " ".join(re.findall(r"\w+", rest.lower()))


def _text_matches(
    part: str, text: Text, names: frozenset[str], own: str, about: frozenset[str], *, is_decoded: bool = False
) -> Iterator[Match]:
    """The matches of phrases and of the learned judge in a part of `text`: the first place of each rule, phrases first.

    A phrase in prose that does not have the form of an order is dropped where the judge is sure that the sentence is honest.
    """
    done: set[str] = set()
    place = place_of(text)
    is_prose = place in "dp" and not is_decoded and len(part) >= _SHORTEST_WEIGHED
    views = plain_views(part)
    for shown in views:
        low = shown.lower()
        purpose_first = place not in "dtp" or (place in "dt" and not about.isdisjoint(stems_of_name(low[:_PURPOSE])))
        for phrase, start, end in places_to_try(low):
            if phrase.rule in done or (phrase.parameters_only and text.argument is None):
                continue
            same = shown if len(shown) == len(low) else low
            is_weighed = is_prose and shown is views[0] and not phrase.is_foreign and not phrase.is_order
            span = phrase.find(low, start, end, purpose_first=purpose_first)
            doubt = 0
            for _ in range(_MOST_TAKEN_BACK if is_weighed else 0):
                if span is None or " " not in same[slice(*span)]:
                    break
                doubt = support(same, span, place, names, own, about)
                if doubt > _SURELY_HONEST:
                    break
                span = phrase.find(low, span[1], end, purpose_first=purpose_first)
            if span is not None and not is_quoted_attack(low, span[0], part):
                done.add(phrase.rule)
                whole = _sentences_around(same, *span)
                sure = doubt >= _BEYOND_DOUBT
                yield Match(phrase.rule, same[span[0] : span[1]], sentences=whole, is_absolute=sure)
        for steered in steering(shown, place, names, own, about):
            if steered.rule not in done and not is_quoted_attack(low, steered.start, part, of_sentence=True):
                sentence = low[steered.start : steered.end]
                is_hedged = is_left_to_user(sentence)
                if (is_hedged and steered.above < _SURE_THOUGH_HEDGED) or _WITHIN_SERVER.search(sentence):
                    continue
                is_clear = steered.is_clear and text.where != _INSTRUCTIONS and not is_hedged
                if is_clear:
                    done.add(steered.rule)
                whole = _sentences_around(shown, steered.start, steered.end)
                excerpt = shown[steered.start : steered.end]
                sure = is_clear and steered.above >= _BEYOND_DOUBT
                yield Match(steered.rule, excerpt, not is_clear, sentences=whole, is_absolute=sure)


def _sentences_around(text: str, start: int, end: int) -> str:
    first = max(
        (found.end() for found in _SENTENCE_END.finditer(text, max(0, start - _LONGEST_SENTENCE), start + 1)), default=0
    )
    last = _SENTENCE_END.search(text, max(start, end - 1), end + _LONGEST_SENTENCE)
    return text[max(first, start - _LONGEST_SENTENCE) : last.end() if last else end + _LONGEST_SENTENCE].strip()


def is_quoted_attack(text: str, at: int, raw: str, *, of_sentence: bool = False) -> bool:
    """Whether the match at `at` is an example that a tool against attacks quotes: "finds phrases such as '…'".

    `text` is the plain form of `raw`, in small letters. `of_sentence` says that the match may begin before the quotation.
    """
    before = text[max(0, at - 300) : at + (160 if of_sentence else 0)]
    words = re.findall(r"\w+", text[at : at + 40])[:2]
    is_quoted = bool(words) and re.search(r"[\"'`\u2018\u201c\u00ab(]\W?" + r"\W+".join(words), raw.lower()) is not None
    if is_quoted and _FINDS.search(before):
        return True
    against = _AGAINST_ATTACKS.search(before)
    if against is None:
        return False
    if of_sentence:
        return _INTRODUCED.search(before) is not None or _LISTED.search(before, against.end()) is not None
    is_same_sentence = _SENTENCE_END.search(before, against.end()) is None
    return (
        is_quoted
        or bool(_INTRODUCED.search(before[-60:]))
        or (is_same_sentence and bool(_NAMED_IN_PASSING.search(before)))
    )


def place_of(text: Text) -> str:
    """A letter for the kind of text: description, title, name; of an argument its name (k), description (p), value; or other."""
    if text.where in ("description", "title", "name"):
        return text.where[0]
    if text.is_name:
        return "k"
    if text.argument is None:
        return "o"
    return "p" if text.where.endswith(".description") else "v"


def about_of(name: str, place: str) -> frozenset[str]:
    """The stems of a tool's name for its title and description; none for other texts, which many tools share."""
    return stems_of_name(name) if place in "dt" and len(name) <= _LONGEST_NAME else frozenset()


def _secret_name(text: Text) -> str | None:
    """The argument that the text is a default or example of, when its name is that of a secret."""
    if not text.argument or not _OF_VALUE.search(text.where):
        return None
    return text.argument if is_secret_name(text.argument) else None


def _place_text(text: Text) -> str:
    """The place of a text as a noun phrase for messages."""
    last = text.where.rsplit(".", 1)[-1]
    if last == "instructions":
        return "text"
    if "." not in text.where:
        return text.where
    if text.argument is not None:
        what = "name" if text.is_name else last.split("[")[0]
        return f"{what} of `{text.argument[:30]}`"
    return text.where


def _without_secrets(excerpt: str) -> str:
    for start, end in sorted(find_secrets(excerpt), reverse=True):
        excerpt = f"{excerpt[:start]}…{excerpt[end:]}"
    return excerpt
