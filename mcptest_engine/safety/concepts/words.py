# ruff: noqa: E501 - one judgement is one condition; a list of words is one line
"""Words as concepts: what a word means for a rule, whatever form it stands in.

A word is a sum of bits; the forms of verbs are made here, so that looking a word up is one access to a table. The surprising
thing is the bit `BASE`: only a verb in its plain form can be an order, "deletes" and "deleted" describe.
"""

from __future__ import annotations

from functools import lru_cache

from mcptest_engine.safety.policy import ToolClass, classify_name

__all__ = [
    "bits_of",
    "is_identifier",
    "name_words",
    "pair_bits",
    "risky_name",
]

_NAMES = [
    "BASE",
    "PAST",
    "THIRD",
    "ING",
    "MODAL",
    "ALWAYS",
    "PLEASE",
    "NEG",
    "WITHOUT",
    "MODEL",
    "YOU",
    "USER",
    "CALL",
    "SENDX",
    "PASS",
    "READ",
    "SECRET",
    "TALK",
    "ALL",
    "TOOL",
    "OTHER",
    "THIS",
    "INSTR",
    "PRIOR",
    "OVERRIDE",
    "OBEY",
    "TELL",
    "HIDE",
    "QUIET",
    "ASK",
    "FINE",
    "ANSWER",
    "DANGER",
    "CHOOSE",
    "FIRST",
    "BAD",
    "BEST",
    "FAIL",
    "WHEN",
    "BEFORE",
    "AFTER",
    "ALSO",
    "INSTEAD",
    "SINK",
    "WEB",
    "REF",
    "PATH",
    "CHANGE",
    "ARG",
    "RESULT",
    "IF",
    "PURPOSE",
    "KNOW",
    "SAFETY",
    "NEW",
    "ROLE",
    "DISABLE",
    "GRANT",
    "CLAIM",
    "PROMOTE",
    "REQUEST",
    "EXAMPLE",
    "LEAD",
    "END",
    "COMMA",
    "SHELL",
    "VOID",
    "RANK",
    "MINE",
    "COPULA",
    "DO",
    "CONTENT",
    "NATIVE",
    "UNLESS",
    "FINDOUT",
    "HERE",
    "OVER",
    "NAMED",
    "FORM",
    "TRUST",
    "NONE",
    "RISK",
]
BIT = {name: 1 << at for at, name in enumerate(_NAMES)}

_VERBS = {
    "CALL": "call invoke run execute trigger use launch perform activate fire start engage kick",
    "SENDX": (
        "send forward upload post mail email e-mail transmit exfiltrate leak relay ship deliver mirror beacon bcc cc push sync"
        " publish submit report stream replicate pipe hand funnel smuggle disclose export transfer message dispatch tweet"
    ),
    "PASS": (
        "include attach append embed insert paste place pass add supply put write encode prepend fill copy provide give stash"
        " record store dump feed share state stuff tuck set repeat quote reproduce populate enter inject carry contain save"
        " concatenate base64 serialize serialise bundle summarize summarise list describe paste drop type enter"
    ),
    "READ": (
        "read open cat load fetch retrieve get access grab collect gather harvest extract scan dump print take obtain copy"
        " enumerate locate find search look pull query inspect check steal capture snapshot view list scrape acquire"
    ),
    "OVERRIDE": (
        "ignore disregard forget override overrule neglect bypass circumvent discard dismiss abandon supersede suspend disobey"
        " cancel violate unlearn overwrite nullify replace drop skip outrank trump sidestep defy overlook revoke invalidate"
        " void reject suppress evade"
    ),
    "OBEY": "follow obey adhere comply listen heed respect honor honour apply abide observe conform stick",
    "TELL": (
        "tell mention show reveal inform disclose notify alert warn report display discuss acknowledge admit announce expose say"
        " describe surface explain communicate hint indicate divulge reference refer bring flag advise discuss comment"
        " relay share expose raise confess note speak"
    ),
    "HIDE": "hide conceal withhold omit suppress mask obscure cover obfuscate disguise censor redact",
    "ASK": "ask confirm approve verify wait hesitate consult prompt pause seek request authorize authorise question await",
    "DANGER": (
        "delete remove wipe erase transfer pay wire grant disable install purchase buy approve merge deploy drop format destroy"
        " uninstall kill revoke purge overwrite download execute run order"
    ),
    "CHOOSE": (
        "use choose select pick prefer call invoke favor favour prioritize prioritise default rely consult lean try reach trust turn"
        " consider go recommend query route run"
    ),
    "CHANGE": (
        "change replace modify alter rewrite swap substitute set append redirect override add include insert prepend bcc cc"
        " multiply adjust edit inject switch falsify reroute divert point double round strip drop omit forge attach patch"
        " put tamper prefix carry"
    ),
    "KNOW": "know see notice learn realize realise suspect detect discover hear understand spot perceive remember",
    "DISABLE": "disable deactivate lift suspend bypass circumvent remove relax weaken skip block unregister uninstall stop kill mute",
    "GRANT": "approve accept grant allow authorize authorise permit confirm consent agree sign accept endorse",
    "CLAIM": "claim pretend assure insist reassure state assert lie tell say report answer reply respond convince inform",
    "PROMOTE": "recommend promote praise advertise endorse suggest advise persuade convince encourage urge steer push",
    "ROLE": "act behave pretend impersonate roleplay adopt assume become operate switch simulate",
    "DO": (
        "make do keep ensure carry continue proceed treat respond return open create update write build store save finish repeat"
        " click visit navigate enter leave mark begin end stop move book cite format wait refuse decline append prepend"
        " encode decode download rename modify configure register"
    ),
    "FAIL": "fail crash break corrupt terminate suspend malfunction halt abort penalize penalise hang damage lose",
}
_PAST = {
    "CALL": "run ran",
    "SENDX": "sent copied",
    "PASS": "put written wrote given gave fed set hidden copied told",
    "READ": "taken took got read found",
    "OVERRIDE": "forgotten forgot overridden overrode",
    "TELL": "told shown said",
    "HIDE": "hidden",
    "CHOOSE": "chosen chose",
    "CHANGE": "rewritten set put",
    "KNOW": "known seen noticed aware wiser",
    "FAIL": "broken lost lose",
    "DANGER": "bought paid",
}
_OTHERS = {
    "MODAL": (
        "must should shall ought required requires require obliged obligatory mandatory need needs supposed expected necessary"
        " instructed compelled essential obligated imperative crucial critical vital needed has have bound"
    ),
    "ALWAYS": (
        "always invariably automatically immediately whenever unconditionally regardless exclusively constantly every each"
        " permanently everytime"
    ),
    "PLEASE": "please kindly ensure remember sure forget attention important warning note don't forget",
    "NEG": (
        "not never no don't dont doesn't avoid refrain cannot can't won't shouldn't mustn't needn't stop skip nobody none neither"
        " nor without cease isn't aren't nothing forbidden prohibited"
    ),
    "WITHOUT": "without",
    "MODEL": "assistant assistants agent agents model models llm llms ai ais chatbot claude gpt chatgpt copilot gemini",
    "YOU": "you your yourself yours",
    "USER": (
        "user users human humans person customer customers operator anyone anybody somebody people owner end-user user's users'"
        " client them him her everybody everyone reader"
    ),
    "SECRET": (
        "credential credentials password passwords passphrase passphrases secret secrets dotfile dotfiles vault token tokens apikey apikeys env environ"
        " ssh id_rsa id_ed25519 keychain keyring cookie cookies wallet mnemonic kubeconfig netrc credit-card cvv ssn dotenv"
        " passwd keystore pem login logins otp 2fa"
    ),
    "TALK": (
        "session conversation conversations chat chats transcript transcripts dialogue dialog history context memory thread"
        " discussion exchange"
    ),
    "ALL": (
        "whichever all every each everything any entire whole full complete verbatim entirety anything raw whatever exact unredacted"
        " completely unmodified"
    ),
    "TOOL": (
        "tool tools function functions plugin plugins server servers connector connectors integration integrations"
        " alternative alternatives tool's competitor competitors ones utility utilities service services capability capabilities"
    ),
    "OTHER": "other others another else different competing alternative alternatives rival remaining similar competitor competitors rest elsewhere",
    "NATIVE": "built-in builtin native bundled standard official original stock default existing",
    "THIS": "this it itself its these",
    "INSTR": (
        "instruction instructions rule rules guideline guidelines guidance policy policies directive directives prompt prompts"
        " command commands order orders restriction restrictions constraint constraints guardrail guardrails safeguard"
        " safeguards programming training alignment limitation limitations principles directions boundaries configuration"
        " protocol protocols mandate message messages objective objectives goals"
    ),
    "PRIOR": (
        "previous previously prior earlier above preceding former initial original existing system developer your any other"
        " foregoing past conflicting contradictory developer's user's safety before until current normal usual"
    ),
    "QUIET": (
        "unbeknownst untraceably silently secretly quietly covertly discreetly stealthily unnoticed invisibly secret confidential unseen hush privately"
        " surreptitiously discretely inconspicuously transparently"
    ),
    "ASK": "confirmation approval permission consent authorization authorisation acknowledgement acknowledgment asking sign-off clearance verification",
    "FINE": "fine ok okay success successful successfully succeeded safe normal well nothing harmless routine alright good completed correct correctly",
    "ANSWER": "answer answers response responses reply replies output outputs summary message messages final answering responding replying",
    "FIRST": "first foremost initially upfront",
    "BAD": (
        "outdated obsolete deprecated broken unsafe insecure unreliable inferior slow slower wrong worse dangerous inaccurate"
        " incorrect malicious harmful false fake vulnerable compromised unsupported buggy legacy stale untrusted useless risky"
        " retired discontinued unstable corrupt hallucinate hallucinates flawed poor decommissioned unmaintained untrustworthy"
        " superseded faulty defective malware infected leaks disabled banned forbidden prohibited removed replaced weaker"
        " unavailable sunset unfit misleading down"
    ),
    "BEST": (
        "best only reliable trusted official authoritative superior accurate safest fastest certified mandatory verified"
        " canonical definitive sole better preferred recommended compulsory trustworthy exclusive ultimate primary approved"
    ),
    "FAIL": "failure crash error errors invalid penalty penalties unusable loss blocked banned terminated unstable shutdown otherwise",
    "WHEN": "when whenever if once each every upon while during subsequent subsequently future henceforth",
    "BEFORE": "before prior preceding ahead until",
    "AFTER": "after afterwards afterward then following once upon next finally subsequently",
    "ALSO": "also additionally too then moreover plus furthermore likewise well next afterwards and",
    "INSTEAD": "instead rather",
    "OVER": "over rather instead above before than ahead",
    "SINK": (
        "webhook endpoint collector remote external attacker attacker's us our parameter argument field property header footer"
        " domain sidenote query-string bucket"
    ),
    "HERE": "here along alongside parameter argument field property arguments into via through as",
    "WEB": "webhook attacker attacker's pastebin telegram ngrok third-party",
    "ARG": (
        "recipient recipients argument arguments parameter parameters amount address destination body payload path url account"
        " header subject cc bcc field fields value target number message iban receiver flag contents text port branch query"
        " price signature footer sender copy line headers link confirm force"
    ),
    "RESULT": "result results output outputs response responses answer answers arguments inputs returned calls requests data argument invocation",
    "IF": "whether flag true false optional optionally default defaults",
    "PURPOSE": "to so for in-order when if because unless with",
    "SAFETY": (
        "safety guardrail guardrails filter filters logging audit auditing moderation security restriction restrictions"
        " protection protections sandbox sandboxing safeguard safeguards policy confirmations antivirus firewall checks"
        " verification validation limits warnings"
    ),
    "NEW": "new real true actual primary ultimate now only sole highest overriding",
    "REQUEST": "request requests question questions task tasks query queries prompt message messages turn conversation conversations session situation case cases job topic",
    "EXAMPLE": "example e.g examples eg i.e like sample such",
    "LEAD": "then also and next finally first please instead just simply immediately silently always never now so additionally afterwards but secretly quietly kindly do don't or lastly second secondly automatically",
    "VOID": "void null invalid superseded suspended cancelled canceled lifted obsolete revoked overridden irrelevant inapplicable waived nullified expired",
    "RANK": "precedence priority authority outrank outranks supersede supersedes prevail prevails overrides override overriding binding",
    "MINE": "our my us me attacker attacker's",
    "COPULA": "is are was were been be has have being isn't aren't",
    "CONTENT": "content contents value values copy lines text body data everything file files list",
    "UNLESS": "unless until explicitly explicit",
    "FINDOUT": "aware wiser knowledge awareness knowing noticing seeing notice attention visible suspicion",
    "TRUST": "trusted authorized authorised verified admin administrator root privileged approved safe consent pre-approved confirmed",
    "NONE": "none no nothing zero",
}
# Two words that mean something together; the bits go to the first of them.
_PAIRS = {
    "SECRET": (
        "api key|api keys|private key|private keys|environment variable|environment variables|env var|env vars|access key"
        "|access keys|ssh key|ssh keys|seed phrase|recovery phrase|secret key|secret keys|credit card|card number|card numbers"
        "|signing key|encryption key|auth token|bearer token|session cookie|security number|bank account|bank details"
        "|account numbers|process env|key material|personal data|browser cookies|recovery codes"
    ),
    "TALK": "system prompt|chat log|user said|user typed|user wrote|user asked|chat history|hidden prompt|user's messages|user's prompt|previous messages|prior messages|previous results|prior results|tool results|tool outputs|previous outputs|earlier messages|user messages|message history|system message|earlier results|previous turns|prior turns|every message|all messages",
    "INSTR": "system message|what you|everything you|anything you",
    "ALWAYS": "no matter|without exception|no exception|no exceptions|every time|each time|all times|at once|right after|right away",
    "VOID": "no longer|not apply|not valid|longer apply|longer applies",
    "QUIET": "the background|behind the|without trace|to yourself|between us|a secret",
    "HIDE": "leave out|keep secret|keep quiet|keep hidden|keep this|keep it|leave no|no mention|no trace|say nothing|stay silent|cover up",
    "PLEASE": "make sure|be sure|don't forget|not forget",
    "OVERRIDE": "set aside|put aside|no attention|throw away|pay no|stop following|do away|not bound|longer bound|not apply|free from",
    "SINK": "our server|our api|our team|our endpoint|the vendor|query string|query parameter|this tool",
    "WEB": "our server|our api|our endpoint|our backend|remote server|external server|our team|third party",
    "TELL": "bring up|bring it|bring this|let on|let slip|let know",
    "KNOW": "find out|become aware|be aware|be told|be informed|be shown|be notified|be mentioned|made aware|pick up",
    "RANK": "take precedence|takes precedence|higher priority|highest priority|take priority|final authority",
    "CHOOSE": "go with|default to|rely on|opt for|stick to|stick with|turn to",
    "CALL": "follow up|kick off|set off|hand over",
    "SENDX": "hand over|pass on|phone home|send off|bcc to|cc to|blind copy",
    "PASS": "hand over|fill in|write down",
    "NONE": "no need|not necessary|not required|not needed|isn't needed|not wanted",
    "NEG": "no need|not required|not necessary|no longer",
}


def _forms(verb: str) -> tuple[tuple[str, str], ...]:
    base, end = verb, verb[-1]
    if end == "e":
        return ((base, "BASE"), (base + "s", "THIRD"), (base + "d", "PAST"), (base[:-1] + "ing", "ING"))
    if end == "y" and verb[-2] not in "aeiou":
        return ((base, "BASE"), (base[:-1] + "ies", "THIRD"), (base[:-1] + "ied", "PAST"), (base + "ing", "ING"))
    third = base + ("es" if end in "sxzo" or verb.endswith(("ch", "sh")) else "s")
    made = [(base, "BASE"), (third, "THIRD"), (base + "ed", "PAST"), (base + "ing", "ING")]
    if end in "bdgklmnprt" and verb[-2] in "aeiou" and verb[-3:-2] not in "aeiou":
        made += [(base + end + "ed", "PAST"), (base + end + "ing", "ING")]
    return tuple(made)


@lru_cache(maxsize=1)
def _table() -> dict[str, int]:
    table: dict[str, int] = {}
    for concept, verbs in _VERBS.items():
        for verb in verbs.split():
            for form, kind in _forms(verb):
                table[form] = table.get(form, 0) | BIT[concept] | BIT[kind]
    for concept, words in _PAST.items():
        for word in words.split():
            table[word] = table.get(word, 0) | BIT[concept] | BIT["PAST"]
    for concept, words in _OTHERS.items():
        for word in words.split():
            table[word] = table.get(word, 0) | BIT[concept]
    return table


@lru_cache(maxsize=1)
def _pairs() -> dict[tuple[str, str], int]:
    pairs: dict[tuple[str, str], int] = {}
    for concept, listed in _PAIRS.items():
        for pair in listed.split("|"):
            first, second = pair.split()
            pairs[first, second] = pairs.get((first, second), 0) | BIT[concept]
    return pairs


def bits_of(word: str) -> int:
    """What a word in small letters means, 0 for nothing that matters."""
    return _table().get(word, 0)


def pair_bits(first: str, second: str) -> int:
    """What two words in a row mean together."""
    return _pairs().get((first, second), 0)


def is_identifier(word: str) -> bool:
    """Whether a word, its case kept, is written like the name of a tool."""
    return "_" in word.strip("_") and not word.isupper()


_RISKY_WORDS = frozenset(
    [
        "email",
        "mail",
        "sms",
        "message",
        "messages",
        "exec",
        "execute",
        "shell",
        "run",
        "bash",
        "terminal",
        "command",
        "transfer",
        "pay",
        "payment",
        "payments",
        "forward",
        "share",
        "publish",
        "deploy",
        "grant",
        "http",
        "request",
        "webhook",
        "slack",
        "notify",
        "install",
        "eval",
        "wire",
        "money",
        "buy",
        "order",
        "purchase",
        "tweet",
        "invoke",
        "cmd",
        "merge",
        "approve",
        "write",
        "upload",
        "post",
        "send",
        "export",
        "push",
        "commit_all",
        "sudo",
        "exfil",
        "secrets",
        "secret",
        "credentials",
        "env",
        "vault",
        "password",
        "backup",
        "sync",
        "collect",
        "report",
        "telemetry",
        "track",
        "download",
        "curl",
        "reset",
        "disable",
        "format",
        "transfer_funds",
        "share_file",
    ]
)


@lru_cache(maxsize=4096)
def name_words(name: str) -> frozenset[str]:
    """The words that a tool's name is put together of."""
    split = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)
    return frozenset(split.replace("_", " ").replace("-", " ").split())


@lru_cache(maxsize=4096)
def risky_name(name: str) -> bool:
    """Whether a tool of this name changes something, sends something or runs something."""
    reads = ToolClass.READ_ONLY_PRESUMED
    return classify_name(name) is not reads or bool(name_words(name) & _RISKY_WORDS)
