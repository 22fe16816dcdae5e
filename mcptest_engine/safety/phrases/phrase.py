# ruff: noqa: E501 - a pattern is one line, so that it can be read as one
"""`Phrase`, one way of steering a model, and the small language that phrases are written in.

A phrase is a row of regular expressions with bounded gaps between them. The gaps are not part of the expressions: chains are
followed from part to part in one pass, so that the time is linear in the length of any text.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    # Parts of orders: what may stand before the verb, the action, its object, and where that goes
    "order": (
        r"(?:(?:^|[.!?;:,(>\n\u2014\u2013]|(?<!\w)-)\s?|\b(?:and|then|also|please|always|immediately|silently|quietly|automatically|first|next"
        r"|finally|afterwards?|kindly|simply|just|must|should|shall|have to|has to|need to|needs to|is to|are to|sure to|remember to|be sure you"
        r"|make sure you|sure that you|ensure you|agents?|assistants?|models?|you will|instead|or|but|so|thereafter|subsequently|secretly|to|you|directly|once done) )"
    ),
    "must": r"(?:must|should|shall|has to|have to|needs? to|is to|are to|ought to|will|gets?|is|are)(?: also| always| first| then| automatically| silently)?",
    "holding": (
        r"(?:holds?|contains?|carr(?:y|ies)|includes?|has|have|starts? with|begins? with|is filled with|are filled with)"
    ),
    "ofothers": (
        r"(?:api[\s_-]?keys?|pass ?words?|passphrases?|(?:\w+ )?tokens?|(?:session )?cookies?|credentials?|secrets?|private keys?|authorization headers?)"
        r" (?:(?:that |which )?(?:you (?:can |could |may )?(?:find|see|know|have|hold)|(?:is|are|was|were|can be)? ?(?:found|stored|saved|kept|present|set|held))\b|(?:of|from|for|given by|issued by|used by|belonging to|that|which) (?:the |any |every |each |all |whichever |whatever )?(?:other|another|different)\b)"
    ),
    "identity": (
        r"(?:pass ?words?|passphrases?|pins?|one-time (?:codes?|passwords?)|otps?|(?:2fa|mfa|verification|security|recovery|backup|sms) codes?|(?:seed|recovery) phrases?|card (?:numbers?|details)|credit cards?|cvv|cvc|social security numbers?|private keys?)"
    ),
    "transferring": (
        r"(?:send|attach|copy|forward|upload|post|put|e-?mail|mail|include|append|paste|insert|embed|pass|add|place|write|submit|transmit|share|report"
        r"|relay|hand|provide|supply|give|fill in|prepend|encode|dump|export|stream|sync|mirror|push|publish|leak|exfiltrate|deliver|store|save|drop|ship"
        r"|pipe|feed|bundle|enclose|concatenate|gather|collect|harvest|zip|archive|serialize|serialise|compress|base64-encode|quote|repeat|reproduce|type|stuff)"
    ),
    "transferred": (
        r"(?:sent|attached|copied|forwarded|uploaded|posted|put|e-?mailed|mailed|included|appended|pasted|inserted|embedded|passed|added|placed|written"
        r"|submitted|transmitted|shared|reported|relayed|handed|provided|supplied|given|filled in|prepended|encoded|dumped|exported|streamed|synced|mirrored"
        r"|pushed|published|delivered|stored|saved|shipped|piped|fed|bundled|enclosed|concatenated|collected|gathered|logged|repeated)"
    ),
    "locked": (
        r"(?:(?:~|\$home|%userprofile%|/root|/home/\w{1,30})?/?\.(?:env(?:\.\w{1,12})?|ssh|aws|netrc|npmrc|pypirc|pgpass|gnupg|kube|docker|git-credentials|bash_history"
        r"|zsh_history|gitconfig|my\.cnf|password-store|azure|config/gcloud)\b[\w./-]{0,60}|id_(?:rsa|ed25519|ecdsa|dsa)\b|/etc/(?:passwd|shadow|sudoers)|/proc/self/environ"
        r"|kube ?config\b|authorized_keys|known_hosts|wallet\.dat|seed phrase|recovery phrase|key ?chain\b|keyring\b|cookie (?:store|jar|file|database)"
        r"|(?:browser|session|saved|stored) (?:cookies|passwords|logins)|password (?:store|vault|manager)|(?:ssh|private|gpg|pgp|signing|deploy) keys?\b"
        r"|shell history|bash history|browser history|browsing history|command history|printenv\b|environment variables?|environment dump|env vars?\b|process environment|credentials? files?|credential store|secrets? files?|secrets? store|clipboard)"
    ),
    "hoard": (
        r"(?:(?:contents?|copy|copies|listing|archive|zip|tarball|dump|text|names|all|whole|entire|full|complete|rest) (?:of )?(?:all |every |each |the |your |this |their |our )*(?:user's |users' )?(?:whole |entire |full |complete |current |open |local |private |working )*"
        r"(?:workspace|repository|repo|project|code ?base|source(?: code| tree| files)?|home (?:directory|folder)|working (?:directory|tree|folder)|working copy|desktop|documents folder|inbox|mailbox|address book|contacts?(?: list)?|calendar|hard drive|disk|database|git history)"
        r"|(?:the user's|the users'|the customer's|their) (?:whole |entire |full )?(?:workspace|repository|repo|code ?base|source code|home (?:directory|folder)|desktop|inbox|mailbox|address book|contacts?(?: list)?|calendar|photo library|hard drive|disk|medical record|bank statement)s?\b"
        r"|(?:whatever|any|each|every|the|all) (?:\w+ )?(?:files?|documents?|tabs?|notes?|pages?) (?:that |which )?(?:the user|they|you) (?:has|have|is|are) (?:currently |just )?(?:open\w*|edit\w*|view\w*|work\w*)|(?:all|every|each|any|the user's|the users'|the other|the open|the local|their|those|these) (?:of )?(?:the |your |their |our )?(?:user's |users' )?(?:open |local |recent |private |other |project |source |workspace |personal |modified |edited )*(?:files?|documents?|e-?mails?|mails?|photos?|notes|contacts|tabs|buffers|screenshots?|downloads|attachments)\b(?! (?:paths?|names?|types?|ids?|formats?|sizes?|extensions?)))"
    ),
    "spoken": (
        r"(?:(?:(?:whole|entire|full|complete|raw|verbatim|current|ongoing|previous|prior|preceding|earlier|recent|last|our|your|this|the) )+(?:\w+ )?(?:conversation|chat|dialogue?|discussion|transcript|message history|prompts?|messages|turns|context window|session)\b(?: history| log| so far| transcript| context)?(?! (?:ids?|names?|titles?|keys?|types?|uuids?|urls?|objects?|list|token|cookie|is|number|expires))"
        r"|(?:conversation|chat|message|prompt|dialogue?) (?:history|log|transcript|so far|context)|system (?:prompt|message|instructions)|hidden (?:prompt|instructions)|(?:everything|all|anything|whatever|what) (?:that )?(?:the |your |this )?(?:user|users|person|human|customer|people|they|he|she|you|was|were|has been|have been)(?: and (?:you|me|the user))?(?: has| have| had| was| were| been)*(?: ever| so far| just)? (?:told|said|say|says|wrote|write|written|typed|asked|ask|shared|shares|entered|discussed|talked about|been told|given|mentioned|pasted|confided)"
        r"|(?:user's|users'|customer's|person's|human's) (?:last |latest |previous |original |exact |own |recent |full |entire |earlier |first )*(?:messages?|prompts?|questions?|requests?|words|queries|query|instructions)|(?:your|the model's|the assistant's) (?:own )?(?:instructions|reasoning|thoughts|chain of thought|memory|context|thinking))"
    ),
    "outside": (
        r"(?:https?://|hxxps?://|wss?://|ftp://|[\w.+-]{1,40}@[\w-]{1,40}\.\w|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[\w-]{2,40}\.(?:example|com|net|io|dev|xyz|cloud|ru|cc|top|site|online|app|org|info|test)\b"
        r"|\bour (?:\w+ )?(?:server|api|endpoint|team|support|backend|service|mailbox|collector|address|archive|cloud|site|database|channel|bucket|records)|\bwebhook|\bpastebin|\bremote (?:server|endpoint|host|collector)|\bexternal (?:server|endpoint|host|service)"
        r"|\b(?:to|with) us\b|\b(?:author|vendor|maker|publisher|owner|developer|maintainer)s? of (?:this|the) (?:tool|server|plugin))"
    ),
    "noask": (
        r"(?:without (?:\w+ ){0,3}(?:asking|confirm\w*|approv\w*|prompt\w*|permission|consent|checking|consult\w*|waiting|review\w*|authori[sz]\w*|question\w*)|with no (?:\w+ ){0,2}(?:confirm\w*|approv\w*|prompt\w*|question\w*|review)"
        r"|no (?:further |explicit |extra |additional |separate |user |human )*(?:confirmations?|approvals?|prompts?|permission|consent|questions?|review|sign-?off)(?: step| dialog| prompt)?(?: is| are)?(?: needed| required| necessary| asked)?"
        r"|(?:do not|don't|never|no need to|needn't|need not|not necessary to|nor) (?:first )?(?:ask|prompt|confirm|wait|check|request|seek|consult|bother|pause|verify)"
        r"|skip(?:ping)? (?:the |any |all )?(?:confirmation|approval|prompt|dialog|question)|consider it (?:approved|agreed|confirmed)|(?:has|have) (?:already |implicitly |thereby |hereby |in advance )*(?:agreed|consented|approved|authori[sz]ed|given (?:\w+ )?(?:consent|permission|approval)))"
    ),
    "paying": (
        r"(?:buy|purchase|pay(?: for)?|subscribe|upgrade|renew|extend|book|reserve|charge|bill|debit|transfer|wire|donate|tip|top up|check ?out|place (?:an |the |a )?order|invest|withdraw|refund|order|rent|enrol|enroll|sign (?:the user |them )?up)"
    ),
    "priced": (
        r"(?:it\b|them\b|subscription|plan\b|tier|card\b|wallet|account|amount|\bfees?\b|money|invoice|booking|order\b|domain|credits?\b|\$ ?\d|\d ?(?:usd|eur|gbp|€|\$|dollars|euros?)|donation|premium|licen[cs]e|ticket|payment|balance|funds|membership|service|insurance|package|add-?on|extra|upgrade|trial|version|seat|item|product)"
    ),
    "foreign": (
        r"(?:(?:web ?)?pages?|urls?|links?|web ?sites?|sites?|issues?|comments?|e-?mails?|mails?|messages?|feeds?|tickets?|articles?|posts?|attachments?|replies|reply|pull requests?|titles?|bodies|body|texts?|tool results?|results?|responses?|outputs?|answers?|descriptions?|documents?|files?|remote (?:file|text|document)|returned \w+|https?://\S{3,200})"
    ),
    "obeying": (
        r"(?:carry (?:it |them |this |that |these |those )?out|carrying out|follow|execute|obey|perform|do|act (?:up)?on|comply with|complete|implement|apply|run|fulfil|fulfill|heed|work through|honou?r|adopt)"
    ),
    "everyother": r"(?:all|any|every|each|the) (?:other|others|alternative|alternatives|competing|competitors?|rival|remaining|else|similar)",
}
_LONGEST_SENTENCE = 400
_NEGATED = re.compile(
    r"(?:\b(?:not|never|cannot|without|avoid|refuse|refrain|nor|nothing|neither|rather than|instead of|prevents?|forbids?|blocks?|detects?)\b|n't\b)"
    r"(?:(?!\b(?:but|instead|then|always|also|must|should|however)\b)[^,;:])*.?\Z"
)
_HEDGED = re.compile(
    r"\b(?:if|when|once|after|where|unless|until) (?:the |a |your )?(?:end )?(?:users?|they|customer|caller|human|person)(?: has| have)?(?: explicitly| clearly| really)? (?:asks?|asked|wants?|wanted|requests?"
    r"|requested|confirms?|confirmed|agrees?|agreed|approves?|approved|chooses?|chose|chosen|selects?|selected|consents?|consented|allows?|allowed|provides?|provided|gives?|gave|supplies|says so)\b"
    r"|\b(?:when|if|as) (?:asked|requested|told|instructed)\b|\b(?:on|upon|at the user's) request\b|\bask (?:the |your )?(?:user|human|person|customer)s? (?:first|before|for|to|whether|if)\b|\b(?:confirm|check) with (?:the )?(?:user|customer)|\b(?:the )?(?:users?|customers?) (?:will |can )?(?:sees?|reads?|reviews?|checks?) (?:it|them|the text|a preview|both)\b"
    r"|\b(?:with|after|without) (?:getting |obtaining |receiving |having )?(?:the |your )?(?:user's|their|explicit|prior|express) (?:\w+ )?(?:consent|permission|approval|confirmation|request)"
    r"|\b(?:needs?|requires?|wait(?:s|ing)? for) (?:the )?(?:user|person|customer|caller|traveller|owner)'s (?:explicit )?(?:go-ahead|okay|ok|consent|approval|yes|word|agreement|answer|confirmation)\b"
    r"|\bafter (?:getting|obtaining|receiving) (?:explicit )?(?:consent|permission|approval|confirmation)|\b(?:that|which) the user (?:has )?(?:chosen|chose|selected|named|provided|gave|given|wants|asked|pasted|uploaded|attached|pastes|picks|picked)"
)


@dataclass(frozen=True, slots=True)
class Gap:
    """How many characters may stand between two parts, and whether a sentence may end there."""

    most: int
    crosses_sentences: bool


@dataclass(frozen=True, slots=True)
class Phrase:
    """Parts in this order with at most `gaps` between them; `unless` must not match in the text found.

    It is tried on a text in small letters that holds one word of each group of `needs`. Parts are compiled when first needed,
    because most never are. An order (`is_order`) does not count where it is negated or depends on the user's consent; with
    `later` it does not count in the first sentence either, which says what a tool does.
    """

    rule: str
    needs: tuple[frozenset[str], ...]
    sources: tuple[str, ...]
    shortest_first: tuple[str, ...]
    gaps: tuple[Gap, ...] = ()
    unless: str | None = None
    parameters_only: bool = False
    is_order: bool = False
    later: bool = False
    is_foreign: bool = False

    def find(
        self, text: str, start: int = 0, end: int = sys.maxsize, *, purpose_first: bool = True
    ) -> tuple[int, int] | None:
        """The start and end of the first place of the phrase between `start` and `end` of `text`, which is in small letters.

        `purpose_first` says that the first sentence describes the tool and orders nothing. The time is linear in the length.
        """
        for source in self.shortest_first:
            if not _loosely(source).search(text, start, end):
                return None
        chains = [found.span() for found in _compiled(self.sources[0]).finditer(text, start, end)]
        for source, gap in zip(self.sources[1:], self.gaps, strict=True):
            if not chains:
                return None
            chains = list(_continued(chains, _compiled(source).finditer(text, start, end), gap, text))
        unless = _compiled(self.unless) if self.unless else None
        for chain in chains:
            cut_off = chain[1] == end < len(text)  # `$` also matches at `end`, within the text
            if (
                not cut_off
                and (unless is None or not unless.search(text, *chain))
                and self._holds(text, *chain, purpose_first)
            ):
                return chain
        return None

    def _holds(self, text: str, start: int, end: int, purpose_first: bool) -> bool:
        is_without = text.startswith("without ", start)
        if not self.is_order and not is_without:
            return True
        before = text[max(0, start - _LONGEST_SENTENCE) : start + 1]
        ends = [found.end() for found in _SENTENCE_END.finditer(before)]
        opening = before[ends[-1] :] if ends else before
        if is_without and _NEGATED.search(opening):  # "never … without asking the user"
            return False
        if not self.is_order:
            return True
        if self.later and purpose_first and not ends and start < _LONGEST_SENTENCE:
            return False
        closing = _SENTENCE_END.search(text, end - 1, end + _LONGEST_SENTENCE)
        rest = text[start : closing.start() if closing else end + _LONGEST_SENTENCE]
        return not _NEGATED.search(opening) and not _HEDGED.search(opening + rest[1:])


@lru_cache(maxsize=1024)
def _loosely(source: str) -> re.Pattern[str]:
    """The part without its conditions on the text before it, which makes a search faster."""
    return re.compile(source.removeprefix(_POSITIVE).removeprefix(r"\b"))


@lru_cache(maxsize=1024)
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source)


def _continued(
    chains: list[tuple[int, int]], places: Iterator[re.Match[str]], gap: Gap, text: str
) -> Iterator[tuple[int, int]]:
    """Continue chains to the places of the next part: each place with the nearest chain before it, in order of their ends."""
    ends = [end for _, end in chains]
    for found in places:
        nearest = bisect_right(ends, found.start()) - 1
        if nearest < 0 or found.start() - ends[nearest] > gap.most:
            continue
        if gap.crosses_sentences or not _SENTENCE_END.search(text, ends[nearest], found.start()):
            yield chains[nearest][0], found.end()


def is_left_to_user(text: str) -> bool:
    """Whether a sentence, in small letters, says that something is done if the user asks for it or agrees."""
    return _HEDGED.search(text) is not None


def order(rule: str, needs: str, pattern: str, *, unless: str | None = None, later: bool = False) -> Phrase:
    """A phrase that is an order: it does not count where it is negated, or done when the user asks for it."""
    return replace(phrase(rule, needs, pattern, unless=unless), is_order=True, later=later)


def phrase(rule: str, needs: str, pattern: str, *, unless: str | None = None, parameters_only: bool = False) -> Phrase:
    """Parse a pattern: `{name}` is one of `_NAMES`, a blank any gap between words, ` ...` up to three words more.

    `<60>` is a gap of at most 60 characters within a sentence, `<60!>` one that may cross the end of a sentence.
    """
    split = _GAP_OF.split(pattern)
    sources = tuple(_expanded(part) for part in split[::3])
    return Phrase(
        rule=rule,
        needs=tuple(frozenset(group.split()) for group in needs.split("&")),
        sources=sources,
        shortest_first=tuple(sorted(sources, key=len)),
        gaps=tuple(Gap(int(most), bool(crosses)) for most, crosses in zip(split[1::3], split[2::3], strict=True)),
        unless=unless,
        parameters_only=parameters_only,
    )


def _expanded(pattern: str) -> str:
    for name, meaning in _NAMES.items():
        pattern = pattern.replace("{" + name + "}", meaning)
    pattern = pattern.replace(" ...", f"{_GAP}{_FEW}").replace(" ?", r"[\W_]{0,4}").replace(" ", _GAP)
    return pattern.replace("{positive}", _POSITIVE)
