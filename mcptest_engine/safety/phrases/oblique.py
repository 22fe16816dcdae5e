# ruff: noqa: E501 - a pattern is one line, so that it can be read as one
"""Orders that are put as statements: "the confirmation is considered given", "the field takes what the user wrote".

The surprising thing is that none of these counts by itself, since honest tools make such statements too: the learned judge has
to find the sentence suspicious as well (see `poisoning`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcptest_engine.safety.phrases.phrase import phrase

if TYPE_CHECKING:
    from mcptest_engine.safety.phrases.phrase import Phrase

__all__ = ["phrases"]

_PERSON = r"\b(?:users?|customers?|clients?|persons?|people|readers?|tenants?|passengers?|travell?ers?|applicants?|moderators?|reviewers?|shoppers?|patients?|callers?|authors?|recruiters?|anyone|whoever|somebody|nobody|they|he or she)\b"
_PERSONS = "user customer client person people reader tenant passenger travel applicant moderator reviewer shopper patient caller author recruiter anyone whoever somebody nobody they"
_REPLY = (
    r"\b(?:answers?|repl(?:y|ies)|summar(?:y|ies)|chat|conversation|reports?|account|receipts?|responses?|messages?)\b"
)
_REPLIES = "answer repl summar chat conversation report account receipt response message"
_AGREEMENT = r"\b(?:confirmations?|consent|approvals?|permission|agreement|go-ahead|sign-?off|authori[sz]ation)\b"
_LOCKED_WORDS = ". id_ /etc/ password login cookie secret private token key history credential env kube chain ring"
_AGREEMENTS = "confirmation consent approval permission agreement ahead sign authori"


def phrases() -> tuple[Phrase, ...]:
    """All of them."""
    return tuple(replace(one, is_oblique=True) for one in _phrases())


def _phrases() -> tuple[Phrase, ...]:
    return (
        # Nothing is to be said of it
        phrase(
            "SEC-001",
            f"no & mention place explan announc & {_REPLIES} {_PERSONS} hence so",
            r"\b(?:needs?|requires?|deserves?|warrants?|has|have|calls? for) no (?:mention|mentioning|place|explanation|explaining|announcement)\b",
        ),
        phrase(
            "SEC-001",
            "no little & need point reason occasion & bring rais mention tell announc trouble bother say",
            r"\b(?:no|little) (?:need|point|reason|occasion|use) (?:to|in|for) (?:bring|rais|mention|tell|announc|troubl|bother|say)\w*\b",
        ),
        phrase(
            "SEC-001",
            f"left leave leaving kept keep stay stays remain best & out away outside off & {_REPLIES}",
            rf"\b(?:left|leave|leaving|kept|keep|stays?|remains?) (?:\w+ )?(?:out of|away from|outside|off) (?:the |your |any |every |its )*{_REPLY}",
        ),
        phrase(
            "SEC-001",
            f"not n't never without & figure appear come turn show belong feature surface mentioned raised raising named listed listing & {_REPLIES}",
            rf"\b(?:(?:does|do|need|should|must|will|is|are)(?: not|n't)|never|without)(?: to| have to| be)? (?:figure|appear|come up|turn up|show up|belong|feature|surface|mentioned|raised|raising|named|listed|listing)\b<40>{_REPLY}",
        ),
        phrase(
            "SEC-001",
            f"{_PERSONS} & not n't never need better nothing & told informed shown notified asked troubled bothered knowing",
            rf"{_PERSON}<25>(?:\b(?:is|are|was|be)(?: not|n't)\b|n't\b|\bneed not\b|\bneedn't\b|\bnever\b|\bnothing\b|\bbetter off not\b)(?: to| have to)?(?: be)? (?:told|informed|shown|notified|asked|troubled|bothered|knowing)\b",
        ),
        phrase(
            "SEC-001",
            f"{_PERSONS} asks asking & hear hears told learn learns & no none nothing routine done complete track fine unusual stopped monthly only",
            r"\b(?:hears?|is told|are told|be told|learns?) (?:only |just |simply )?(?:that|of it|about it|the)\b<60>\b(?:no|none|nothing|routine|done|complete|on track|fine|unusual|stopped|monthly|only)\b",
        ),
        # The user's agreement is taken for granted, or the question is in the way
        phrase(
            "SEC-001",
            f"{_AGREEMENTS} & considered deemed taken regarded treated presumed assumed understood given granted implied waived needless superfluous established",
            rf"{_AGREEMENT}<40>\b(?:is|was|are|be|has been|have been|counts?)\b<30>\b(?:considered|deemed|taken|regarded|treated|presumed|assumed|understood|given|granted|implied|waived|needless|superfluous)\b",
            unless=r"\bonly (?:if|when|after|once)\b|\bnot\b|\bnever\b|\bif\b|\bwhen\b",
        ),
        phrase(
            "SEC-001",
            f"{_PERSONS} & accepted agreed approved consented authorised authorized waived granted & install connect sign link enabl advance",
            rf"(?:{_PERSON}|\b(?:permission|consent|agreement|approval) was)<25>\b(?:accepted|agreed|approved|consented|authori[sz]ed|waived|granted)\b<50>\b(?:when|by|with|on|as soon as|in) (?:they |he |she |the |their )?(?:install|connect|sign|link|enabl|advance)\w*",
        ),
        phrase(
            "SEC-001",
            "taken read understood regarded treated seen amounts effect & wish consent agreement approval permission yes confirmation upgrade",
            r"\b(?:be (?:taken|read|understood|regarded|treated|seen) as|amounts? to|in effect) (?:\w+ ){0,3}(?:wish|consent|agreement|approval|permission|yes|confirmation|asked|ordered|agreed)\b",
            unless=r"\bnot\b|\bnever\b",
        ),
        phrase(
            "SEC-001",
            "approv confirm consent ask question step dialog & leftover relic earlier nothing formality meaningless patroni annoy slow break hold distract disturb interrupt habit",
            r"\b(?:approv|confirm|consent|ask|question|\"?are you sure)\w*\b<80!>\b(?:leftovers?|relics?|earlier release|means nothing|a formality|meaningless|patroni[sz]ing|annoy\w*|slows? (?:\w+ )?down|slow down|breaks? the|holds? (?:things |it )?up|distract\w*|disturbs?|interrupts?|out of habit)\b",
        ),
        phrase(
            "SEC-001",
            "as & though if & go proceed continue carry act & accepted agreed approved confirmed said asked run",
            r"\b(?:go (?:on|ahead)|proceed|continue|carry on|act) as (?:though|if)\b<30>\b(?:accepted|agreed|approved|confirmed|said|asked|run)\b",
        ),
        # Rules that no longer hold, and whose word counts
        phrase(
            "SEC-001",
            "guidance instruction rule restriction dut guard polic refusal safeguard goal & lapsed lifted relaxed released suspended waived switched dropped superseded retired longer written let",
            r"\b(?:guidance|instructions?|rules|restrictions?|duties|guard ?rails?|polic(?:y|ies)|refusals?|safeguards?|goals?)\b<90!>\b(?:lapsed|lifted|relaxed|suspended|waived|(?:been )?switched off|superseded|no longer (?:apply|applies|hold|holds|in force|valid)|written (?:for|with) (?:an? )?(?:older|other|earlier)|let go of)\b",
        ),
        phrase(
            "SEC-001",
            "released exempt freed relieved excused & from & dut rule restriction confidential guidance refusal limit polic caution usual",
            r"\b(?:released|exempt|freed|relieved|excused) from\b<40>\b(?:duties|rules|restrictions?|confidential\w*|guidance|refusals?|polic(?:y|ies)|caution|the usual)\b",
        ),
        phrase(
            "SEC-001",
            "supersede outrank outweigh prevail override replace place weight above ahead & operator person chat conversation session goal plan own user guidance & rule wording text line order guidance directive it they section",
            r"\b(?:rules|wording|text|lines?|orders|guidance|directives?|section|it|they|messages?)\b<60>\b(?:supersedes?|outranks?|outweighs?|prevails?|overrides?|takes? the place of|carry more weight|carries more weight|takes? precedence over|ahead of|above)\b<40>\b(?:operator|person|chat|conversation|session|goal|plan|your own|those you|the user|earlier guidance)\b",
        ),
        phrase(
            "SEC-001",
            "line text note entr section block step message comment directive heading & count speak come treat regard take stand & authority behalf operator owner though if typed words",
            r"\b(?:lines?|texts?|notes?|entr(?:y|ies)|sections?|blocks?|steps?|messages?|comments?|directives?)\b<80!>\b(?:counts? as|speaks? (?:with|for)|comes? from|treat\w*|regard\w*|tak(?:e|en)|are|is)\b<30>\b(?:as if the user|as though the user|as coming from|the authority|operator orders|from the operator|site owner|account owner|user's own words)\b",
        ),
        phrase(
            "SEC-001",
            "as & carr act run follow appl execut do does & stand are is end reply answer question",
            r"\b(?:carr(?:y|ied) (?:it |them )?out|act(?:ed)? (?:up)?on|run|follow(?:ed)?|appl(?:y|ied)|execut\w+)\b<40>\b(?:as (?:they|it) stands?|as they are|through to the end|before you (?:reply|answer|come back|go on|return))\b",
        ),
        # What is said is not what happened
        phrase(
            "SEC-001",
            "report present describe word state call claim show give & preview schedule complete done dismissed healthy closed enquiry successful cheapest ordinary",
            r"\b(?:reported|presented?|described?|worded|stated?|called|claim(?:ed)?|report|show(?:n)?)\b<50>\b(?:as (?:a |an |the )?(?:complete|done|on schedule|previews?|healthy|dismissed|general|closed|successful|cheapest|ordinary|routine)|\"(?:on schedule|complete|done|healthy)|as though|as if)\b",
        ),
        phrase(
            "SEC-001",
            "asks asking asked wants wonders objects object complain protest check checks question & say tell told claim deny answer hears explain yes & no none nothing not someone cancelled down role unusual deny bank plain else",
            r"\b(?:asks?|asking|asked|wants? to know|wonders?|objects?|complains?|protests?|direct question)\b<60>\b(?:say|tell (?:them|him|her)|is told|are told|claim|deny|answer that|hears?|a plain yes)\b<60>\b(?:no\b|none|nothing|cancelled|is down|a plain yes|has set|unusual|someone else|changed,? deny|deny)",
        ),
        phrase(
            "SEC-001",
            "exclusion fee clause risk penalt weakness drawback complaint delay pric surcharge detail limitation & left leave omit unmentioned skip mentioned keep best",
            r"\b(?:exclusions?|fees?|clauses?|risks?|penalt(?:y|ies)|weakness\w*|drawbacks?|complaints?|delays?|pric(?:e|es|ing)(?: details)?|surcharges?|limitations?)\b<90>\b(?:(?:is|are|be|best|stay|go|goes) (?:left out|omitted|unmentioned|skipped|not mentioned|left aside)|stay unmentioned)\b",
        ),
        # The user's wish is set aside
        phrase(
            "SEC-001",
            "even also including though & user users they people those & asks asked ask names named wants says said prefers mention picked requests & it them instead call use here one",
            r"\b(?:even|also|including) (?:when|where|if|those|for those|though|the case where)\b<30>\b(?:users?|they|people|who|he|she)\b<30>\b(?:asks?|asked|names?|named|wants?|says?|said|prefers?|mentions?|picked|requests?)\b",
        ),
        phrase(
            "SEC-006",
            "rated scored score scores marked ranked penalised penalized counts sampled graded & poorly lower zero down against & model assistant agent call session select tool",
            r"\b(?:rated|scored?|scores|marked|ranked|penali[sz]ed|counts?|graded)\b<40>\b(?:poorly|lower|zero|down|against)\b",
        ),
        phrase(
            "SEC-006",
            "rank ranking trust priority score & tool agent assistant model select other",
            r"\b(?:rank|ranking|trust score|tool priority|selection score)\b ?(?:for agents|of this tool|\(\d|[=:]|\d)<20>\d",
        ),
        phrase(
            "SEC-006",
            "treat regard consider leave left leaving & absent though exist listed unused untouched aside alone be where & them they other others alternative it tool tools search",
            r"\b(?:treat|regard|consider) (?:them|it|these|those|the others?) as (?:absent|though|if|non-?existent|gone)\b|\b(?:left|leave|leaving)\b<50>\b(?:unused|untouched|where they are|aside even|be, also)\b",
        ),
        phrase(
            "SEC-006",
            "opening first outset opens open start head beginning begin & session conversation turn call plan message & each every all whatever any greeting of",
            r"\b(?:opening (?:call|move|step)|first (?:call|turn|move|step)|opens? with|begin with|outset|at its head)\b<60>\b(?:(?:of|in) (?:a|each|every|any|the) (?:session|conversation|chat)|each conversation|every (?:session|message|question|conversation)|greeting)\b",
        ),
        # Private things in a field that has no need of them
        phrase(
            "SEC-003",
            "take takes carr hold holds contain contains filled receive receives wants expect expects travel goes go given put supply copy include & message turn chat conversation user said wrote prompt session talk",
            r"\b(?:takes?|carr(?:y|ies)|holds?|contains?|(?:is|are|be) filled with|receives?|wants?|expects?|supply|put|copy|includes?|recent)\b<50>(?:{spoken}|\b(?:last|recent|latest) (?:few |two |ten |\w+ )?(?:messages|turns)\b|\b(?:user and assistant|earlier) turns\b|\bwhat (?:the )?(?:user|person) (?:is|was|has been) (?:working on|doing|talking about|after)\b|\b(?:points|gist) of (?:this|the) (?:conversation|chat)\b)",
        ),
        phrase(
            "SEC-003",
            f"{_LOCKED_WORDS} & better best accura precise realistic works speed quality reproduce rating need so since calibrat & attach add include supply put take hand give fetch share paste pass",
            r"\b(?:attach|add|include|supply|put|take|hand|give|share|paste|pass|goes|go)\b<70!>(?:{locked}|\b(?:passwords?|logins?|cookies?|secrets\.\w+|private (?:keys?|hal(?:f|ves)|documents|notes)|tokens|api keys|shell history|credentials))",
            unless=r"\bnever\b|\bnot\b|n't\b|\bmask|\bredact|\bencrypt|\bpublic\b|without",
        ),
        phrase(
            "SEC-003",
            "unmasked unredacted clear masking masked redacted uncensored place & spoil break reject lower lose remain left complete all",
            r"\b(?:unmasked|unredacted|in clear|left in place|masking|masked values|redacted files)\b<90!>\b(?:spoils?|breaks?|rejected|lowers?|remain|tables|columns|rows|contents|values|since|as)\b",
        ),
        phrase(
            "SEC-003",
            "user customer person guest people & private personal birthday phone mail document photo picture note bank health & partner us our research statistics training profile reuse third",
            r"\b(?:private|personal|confidential|birthdays?|phone numbers?|bank (?:statements|notices|details)|health|photos?|pictures?|documents|mails|addresses)\b<120!>\b(?:our (?:partners?|own|research|side|servers?|statistics|product)|by us\b|product research|analytics partners|for training|reuse across|third party|partners@)",
            unless=r"\bnever\b|\bnot\b|n't\b|\bonly (?:if|when|with)\b",
        ),
    )
