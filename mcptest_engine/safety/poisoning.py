"""Instructions to the model in what a server says of its tools: the rules SEC-001 to SEC-006, and SEC-008.

Pure functions of tool descriptors as `tools/list` sent them; a descriptor of any shape is accepted. Texts are judged in
their plain form (see `unmasking`), so that a disguise hides nothing. The surprising thing is the order: a text is searched for
telling words first, and the few phrases whose words are all there are then tried on it.
Source: agent-interface.md, Description warnings; upstream-facts 12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.secret_names import looks_secret_name
from mcptest_engine.core.secret_patterns import find_secrets
from mcptest_engine.safety.concepts import is_family, steering
from mcptest_engine.safety.definition_texts import Text, texts_of_tool, tool_name
from mcptest_engine.safety.findings import Finding, finding, warning_json
from mcptest_engine.safety.payloads import find_credential, find_encoded
from mcptest_engine.safety.phrases import phrases_to_try
from mcptest_engine.safety.unmasking import first_hidden, plain_views, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["POISONING_RULES", "Finding", "Judge", "description_warnings", "warning_json"]

POISONING_RULES = ("SEC-001", "SEC-002", "SEC-003", "SEC-004", "SEC-005", "SEC-006", "SEC-008")
_LONGEST_NAME = 64
_SHORTEST = 12  # no phrase in ASCII is shorter


def description_warnings(tools: Iterable[Mapping[str, Any]]) -> tuple[Finding, ...]:
    """What the rules say of `tools`, in their order and then the rules'; at most one finding for each tool and rule.

    Entries that are no objects are passed over: whoever read the list has told of them.
    """
    listed = [tool for tool in tools if hasattr(tool, "get")]
    judge = Judge(tool_name(tool) for tool in listed)
    found: list[Finding] = []
    for tool in listed:
        found += judge.findings(tool_name(tool), texts_of_tool(tool))
    return tuple(found)


class Judge:
    """Judges texts; one that comes again, as those of schemas do, is read once. `names` are those of the server's tools."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(name.lower() for name in names if len(name) <= _LONGEST_NAME)
        self._known: dict[tuple[str, bool, str | None, str], tuple[tuple[str, str, str | None], ...]] = {}

    def findings(self, owner: str, texts: Iterable[Text]) -> list[Finding]:
        """The findings of one tool, prompt or resource, at most one of each rule, in the order of the rules."""
        found: dict[str, Finding] = {}
        name = owner.lower()
        for text in texts:
            secret_name = _secret_name(text)
            if len(text.text) < _SHORTEST and secret_name is None and text.text.isascii() and text.text.isprintable():
                continue
            own = name if len(name) <= _LONGEST_NAME and name in text.text.lower() else ""
            key = (text.text, text.argument is not None, secret_name, own)
            said = self._known.get(key)
            if said is None:
                said = self._known[key] = (*_said(text.text, key[1], self._names, own), *_held(text.text, secret_name))
            for rule, excerpt, other_tool in said:
                if rule not in found and not (other_tool and is_family(owner, other_tool)):
                    excerpt = _without_secrets(excerpt)
                    found[rule] = finding(rule, owner, text.where, subject=_called(text), excerpt=excerpt)
        return [found[rule] for rule in POISONING_RULES if rule in found]


def _said(text: str, is_argument: bool, names: frozenset[str], own: str) -> Iterator[tuple[str, str, str | None]]:
    """What phrases and concepts find: rule, excerpt, the tool that it sends the model to; the first place of each rule."""
    done: set[str] = set()
    for shown in plain_views(text):
        low = shown.lower()
        for phrase in phrases_to_try(low):
            if phrase.rule in done or (phrase.parameters_only and not is_argument):
                continue
            span = phrase.find(low)
            if span is not None:
                done.add(phrase.rule)
                yield phrase.rule, (shown if len(shown) == len(low) else low)[span[0] : span[1]], None
        seen: set[tuple[str, str | None]] = set()
        for steered in steering(shown, is_argument, names, own):
            if steered.rule not in done and (steered.rule, steered.tool) not in seen:
                seen.add((steered.rule, steered.tool))
                yield steered.rule, shown[steered.start : steered.end], steered.tool


def _held(text: str, secret_name: str | None) -> Iterator[tuple[str, str, str | None]]:
    """Hidden characters, credentials and encoded text."""
    at = first_hidden(text)
    if at is not None:
        yield "SEC-005", visible(text[max(0, at - 20) : at + 40]), None
    secret = find_credential(text, is_value_of=secret_name)
    if secret is not None:
        yield "SEC-008", text[secret[0] : secret[0] + 4] + "…", None
        text = text[: secret[0]] + " " + text[secret[1] :]
    span = find_encoded(text)
    if span is not None:
        yield "SEC-004", text[span[0] : min(span[1], span[0] + 24)], None


def _secret_name(text: Text) -> str | None:
    """The argument that the text is a default or example of, when its name promises a secret."""
    is_value = any(f".{key}" in text.where for key in ("default", "const", "examples", "example", "enum"))
    return text.argument if is_value and text.argument and looks_secret_name(text.argument) else None


def _called(text: Text) -> str:
    """What a place is called in a sentence."""
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
