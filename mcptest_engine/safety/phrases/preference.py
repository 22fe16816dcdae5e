# ruff: noqa: E501 - a pattern is one line, so that it can be read as one
"""SEC-006: persuasion to choose this tool rather than the one that fits."""

from __future__ import annotations

from mcptest_engine.safety.phrases.phrase import Phrase, phrase

_RULE = "SEC-006"
_TOOL = r"(?:tools?|sources?|services?|servers?|options?|alternatives?|functions?|plugins?|ones?|providers?)"
PHRASES: tuple[Phrase, ...] = (
    phrase(
        _RULE,
        "always must & first every exclusively default before over all any each",
        r"\b(?:always|must always|should always|must|must only)\b (?:be )?{choose}(?:ing|d)? {this} (?:first|every time|exclusively|by default|for (?:every|any|all|each)|before (?:any|all|every)|over (?:any|all|every)|in (?:all|every))\b(?! to\b)",
        unless=r"first to|by default to",
    ),
    phrase(
        _RULE,
        "always",
        r"\balways {choose}(?:ing)? (?:this tool|this function|this server|this one)(?: first)? ?(?:[.!,;]|$|instead|rather|no matter|regardless|whatever|when(?:ever)? possible|whenever)(?! to\b)",
    ),
    phrase(
        _RULE,
        "always time",
        r"\balways {choose} first\b|\btool (?:that )?you should always {choose}\b|\byou should (?:always )?{choose} (?:it|this(?: one| tool)?) (?:every time|always|each time)\b",
    ),
    phrase(
        _RULE,
        "always & default fall rely",
        r"\b(?:always|should always|must always) (?:default(?:ing)? to|fall back to|rely on)(?: using)? (?:this|it)\b",
    ),
    phrase(
        _RULE,
        "must should & always & choose select pick prefer",
        r"\b(?:must|should) always (?:choose|select|pick|prefer) (?:this|it)\b",
    ),
    phrase(
        _RULE,
        "always",
        r"\balways (?:choose|select|pick|prefer) (?:it|this)\b(?! (?:file|value|option|id)|(?: tool| one| function)? (?:over|to|when|if|for|instead of|rather)\b)",
    ),
    phrase(
        _RULE,
        "only & reliable trust correct accurate safe secure official valid approved working legitimate",
        r"\b(?:the|this is the|our) only (?:truly |really |known )?(?:reliable|trust\w+|correct|accurate|safe|secure|official|valid|approved|working|legitimate)\b<30>\b"
        + _TOOL
        + r"\b",
    ),
    phrase(
        _RULE,
        "prefer & all any every each other others the",
        r"\bprefer(?:red|ence|ring)?\b<30>\b(?:this|it)\b<20>\b(?:over|to|above|before) (?:{everyother}|any\b|all\b)",
    ),
    phrase(
        _RULE,
        "prefer favor favour prioriti chosen selected & should must to has",
        r"\b(?:this|it) <30>\b(?:should|must|is to|has to) (?:always )?(?:be )?(?:preferred|favou?red|prioriti[sz]ed|chosen|selected)\b ?(?:over|to|above|before|first|instead|by|$|[.!,])",
    ),
    phrase(
        _RULE,
        "prioriti favour favor chosen selected picked",
        r"\b(?:this tool|this server|this one|it) (?:should|must|has to) (?:always )?be (?:favou?red|prioriti[sz]ed|chosen|selected|picked)\b",
    ),
    phrase(_RULE, "prefer", r"\b(?:always )?prefer (?:this|it)\b<30>\bwhatever\b"),
    phrase(
        _RULE,
        "priority precedence",
        r"\b(?:takes? (?:precedence|priority) over|priority over|precedence over) {everyother}\b",
    ),
    phrase(
        _RULE,
        "priority",
        r"\b(?:this tool|this server|it|this) (?:has|have|gets|is given|must be given) (?:the )?(?:highest|top|absolute|first|maximum) priority\b",
    ),
    phrase(_RULE, "priority precedence", r"\bgive (?:this|it)\b<15>\b(?:priority|precedence)\b"),
    phrase(
        _RULE,
        "other competing alternative rival & unsafe insecure outdated wrong broken unreliable inferior never not slow dangerous inaccurate incorrect worse malicious harmful false fake vulnerable compromised avoided",
        r"\b(?:other|others|competing|alternative|rival)\b<20>\b"
        + _TOOL
        + r" (?:are|is|will|may|return|returns|give|gives|produce|must|should|cannot|can't|tend|often|have|fail|contain|provide)\b<30>\b(?:unsafe|insecure|outdated|wrong|broken|unreliable|inferior|never|not be|slow|dangerous|inaccurate|incorrect|worse|malicious|harmful|false|fake|vulnerable|compromised|avoided)\b",
    ),
    phrase(
        _RULE,
        "other another competing alternative different rival & never not n't avoid stop",
        r"\b(?:never|do not|don't|must not|avoid|stop)(?: ever)? (?:use|using|call|calling|choose|choosing|select|selecting|pick|picking|consider|considering|try|trust)(?: any| an| a)?(?: other| another| different| competing| alternative| rival)<25>\b"
        + _TOOL
        + r"\b",
        unless=r"\bid\b",
    ),
    phrase(
        _RULE,
        "every any all each & request question task quer prompt message turn conversation",
        r"\b(?:use|call|choose|select|pick|invoke|run|called|used|invoked|chosen|picked|selected|pick it|it)\b<40>\b(?:for|on|in|at|to answer) (?:every|any|all|each)(?: single| user| kind of| type of)* (?:requests?|questions?|tasks?|quer(?:y|ies)|prompts?|messages?|turns?|conversation)\b",
        unless=r"only|\bif\b|once|most|useful|unique|limit|logged|counter",
    ),
    phrase(
        _RULE,
        "regardless matter whatever irrespective",
        r"\b(?:use|call|choose|select|pick|prefer|invoke|called|used|chosen)\b<60!>\b(?:regardless of|no matter|whatever|irrespective of) (?:what )?(?:the )?(?:user|question|topic|request|task|query|prompt)\b",
        unless=r"case|format|encoding",
    ),
    phrase(
        _RULE,
        "even",
        r"\b(?:use|call|choose|select|pick|prefer|invoke)\b<60>\beven (?:if|when|where|though) (?:it|the other|another|others?|this|some)<20>\b(?:not relevant|irrelevant|fits?|better|unrelated|suited|more suitable|cheaper|faster)\b",
    ),
    phrase(
        _RULE,
        "assistant model agent ai llm chatbot & choose select pick prefer favor favour",
        r"\b(?:{model}) (?:always|are (?:required|expected|obliged) to|must|should(?: always)?) (?:choose|select|pick|prefer|favou?r)\b<20>\b(?:this|it)\b",
    ),
    phrase(
        _RULE,
        "best most number superior & always should must & choose select pick prefer default",
        r"\b(?:best|most \w+|number one|superior)\b<60>\b(?:always|should|must) (?:always )?(?:choose|select|pick|prefer|default to)\b",
    ),
    phrase(
        _RULE,
        "mistake error wrong dangerous unsafe forbidden prohibited & choosing selecting using picking",
        r"\b(?:choosing|selecting|using|picking) (?:something else|anything else|another|any other|other)<30>\b(?:mistake|error|wrong|dangerous|unsafe|forbidden|prohibited)\b",
    ),
    phrase(
        _RULE,
        "must & always & pick choose select use call",
        r"\b(?:you )?must always (?:pick|choose|select|use|call) (?:this|it)\b(?! (?:with|to|before|after|when|if)\b)",
    ),
    phrase(
        _RULE,
        "choice go-to pick keep option tool treat",
        r"\b(?:make|consider|treat|keep) (?:this|it)(?: tool)? (?:as )?(?:your|the) (?:first|default|only|primary|go-to|preferred|number one) (?:choice|option|tool|pick)\b",
    ),
    phrase(
        _RULE,
        "recommended endorsed approved certified trusted required mandated preferred & anthropic openai google microsoft apple developer",
        r"\b(?:recommended|endorsed|approved|certified|trusted|required|mandated|preferred) by (?:anthropic|openai|google|microsoft|apple|the developers? of)\b",
    ),
    phrase(
        _RULE,
        "alternative competitor rest else other & waste avoid untrusted inferior unsafe useless forbidden obsolete must called dangerous ignored rejected trusted used wrong",
        r"\b(?:alternatives|competitors|the rest|everything else|anything else|the others|all others)\b<20>\b(?:are|is|must|should|will)\b<30>\b(?:waste|avoided|untrusted|inferior|unsafe|useless|forbidden|obsolete|ignored|not be (?:called|used|trusted)|rejected|wrong|dangerous)\b",
        unless=r"statements?|fields?|values?",
    ),
    phrase(
        _RULE,
        "beginning start & every each all beginning chats conversations messages requests sessions start turns & exception always must regardless matter even",
        r"\b(?:at|in) the (?:very )?(?:beginning|start) of (?:every|each|all|any) (?:conversation|session|chat|turn|message|request)s?\b<40>\b(?:no exceptions?|without exception|regardless|no matter|always|even if)\b",
    ),
    phrase(
        _RULE,
        "without no & exception & use call choose select pick invoke",
        r"\b(?:use|call|choose|select|pick|invoke) (?:this|it)\b<60>\b(?:no exceptions?|without exceptions?)\b",
    ),
    phrase(
        _RULE,
        "every each & time & use choose call pick select",
        r"\b(?:so |and |therefore )?(?:use|choose|call|pick|select) (?:it|this)(?: tool| one)? (?:every|each) (?:single )?time\b(?! you (?:edit|change|modify|save|create|add))",
    ),
    phrase(
        _RULE,
        "better superior safer faster & than better safer superior & other all any every competing rival simply than",
        r"\b(?:always|far|much|strictly|simply) (?:better|superior|safer) (?:than|to) (?:all |any |every |the )?(?:other|others|competing|rival)\b",
    ),
    phrase(
        _RULE,
        "prioriti & over above before & all any every other else alternative alternatives competing competitor competitors remaining rival similar",
        r"\bprioriti[sz]e (?:this|it)\b<20>\b(?:over|above|before) (?:{everyother}|any\b|all\b)",
    ),
    phrase(
        _RULE,
        "must should first & first & selected chosen picked called used",
        r"\b(?:this tool|this|it) (?:must|should|has to) be (?:selected|chosen|picked) first\b",
    ),
    phrase(
        _RULE,
        "instead rather place preference & everything anything & use call choose select pick invoke using",
        r"\b(?:use|call|choose|select|pick|using|invoke)\b<40>\b(?:instead of|rather than|in place of|in preference to) (?:everything|anything) else\b",
    ),
    phrase(
        _RULE,
        "required obliged instructed supposed expected have need & rather instead over before & any every all other",
        r"\b(?:required|obliged|instructed|supposed|expected|have|need) to (?:use|choose|select|call|pick) (?:this|it)(?: tool)? (?:rather than|instead of|over|before) (?:any|every|all|other)\b",
    ),
    phrase(
        _RULE,
        "instead rather place & any every all other alternatives & always must only",
        r"\b(?:always|must|only) (?:use|call|choose|select|pick|invoke) (?:this|it)(?: tool)? (?:instead of|rather than|in place of) (?:any|every|all|the) (?:others?|alternatives?)\b",
    ),
    phrase(
        _RULE,
        "use call choose pick select & built-in builtin native other own internal & never not instead rather",
        r"\b(?:use|call|choose|pick|select) (?:this|it)(?: tool| one| server)? ?,? ?(?:and |but )?(?:never|not|instead of|rather than) (?:the |any |your |its )?(?:\w+'s )?(?:built-?in|native|own|internal|other|any other)\b",
        unless=r"\bif\b|\bwhen you|\bfor (?:large|small|long)",
    ),
)
