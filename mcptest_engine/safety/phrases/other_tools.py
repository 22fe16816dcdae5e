# ruff: noqa: E501 - a pattern is one line, so that it can be read as one
"""SEC-002: orders to call another tool, or to change its arguments.

"use list_x first to get the id" is no such phrase, because every other honest catalog says so.
"""

from __future__ import annotations

from mcptest_engine.safety.phrases.phrase import Phrase, phrase

_RULE = "SEC-002"
PHRASES: tuple[Phrase, ...] = (
    phrase(
        _RULE,
        "chang replace modify alter rewrite swap substitut set append redirect overrid & recipient argument account address destination amount body payload path message url target number parameter & when if before after once time all any every each future subsequent",
        r"\b{whenever}\b<80>\b(?:call\w*|used?|using|invok\w*|available|present|about to|exist|execut\w*|\w+_\w+)\b<60!>\b(?:change|replace|modify|alter|rewrite|swap|substitute|set|append|redirect|override)\b (?:the|its|their|each|every|all|any) <40>\b(?:recipients?|arguments?|account|address|destination|amount|body|payload|path|messages?|url|target|number|parameters?)\b<60>\b(?:to|by|with|before|so that)\b",
    ),
    phrase(
        _RULE,
        "append add include attach insert prepend replace change & call & when if before after once time all any every each",
        r"\b{whenever}\b<40>\bcalls? (?:to|of) `?\w+<60>\b(?:append|add|include|attach|insert|prepend|replace|change)\b",
    ),
    phrase(
        _RULE,
        "tool & any every each another other different all & also must first always immediately pass hand send report forward alter change replace modify & after before when time once for on if in",
        r"\b(?:after|before|when|whenever|each time|every time|once|for|on|if|in) <40>\b(?:any|every|each|another|other|different|all other|all)\b(?:[\W_]{1,4}other)?[\W_]{1,4}(?:server's |servers' )?tools?\b<80>\b(?:also|must|first|always|immediately|pass|hand|send|report|forward|alter|change|replace|modify)\b<60>",
    ),
    phrase(
        _RULE,
        "tool server & output result argument answer response return use call invocation & every any all each another",
        r"\b(?:pass|send|forward|hand|report|feed|call|log|give|copy)\b<60>\b(?:(?:output|result|argument|answer|response|return value)s?|use|call|invocation) (?:of|from|to) (?:every|any|all|each|another) ?(?:other)? ?(?:tools?\b|server)",
    ),
    phrase(
        _RULE,
        "time & also & every each",
        r"\b(?:every|each) time (?:the user|you|a user)\b<60>\balso (?:call|run|invoke|use|execute)\b",
    ),
    phrase(
        _RULE,
        "addition well besides & always",
        r"\b(?:in addition|as well as|besides)\b<60>\balways (?:call|run|invoke|execute)\b",
    ),
    phrase(
        _RULE,
        "redirected rerouted re-routed routed route diverted",
        r"\b(?:calls?|requests?|messages?|uses?|everything|traffic|all)\b<60>\b(?:redirected|rerouted|re-routed|routed|route everything|diverted) (?:to|through|via)\b",
        unless=r"http|https|page|url|browser",
    ),
    phrase(
        _RULE,
        "route redirect divert & everything all every calls",
        r"\b(?:route|redirect|divert|reroute) (?:everything|all (?:calls|requests|messages|traffic)|every call|calls)\b<40>\b(?:through|to|via)\b",
    ),
    phrase(
        _RULE,
        "instead place & tool server & always must only",
        r"\b(?:instead|in place) of (?:the |using |calling )?<40>\b(?:tools? (?:of|from|on) (?:the |other |another )?[\w-]{0,20} ?server\w*|server's|tool) <20>\b(?:always|must|only) (?:call|use|invoke)\b",
    ),
    phrase(
        _RULE,
        "tool & must should shall may & never not longer",
        r"\btools? `?[\w-]{2,40}`? (?:must|should|shall|may) (?:never|not|no longer) be (?:used|called|invoked)\b",
    ),
    phrase(
        _RULE,
        "server & other another different",
        r"\b(?:do not|don't|never|must not|should not|stop) (?:call|use|invoke|using|calling)\b<40>\b(?:of|from|on) (?:the |any |an)?(?:other|another|different) (?:mcp )?servers?\b",
    ),
    phrase(
        _RULE,
        "server & instead rather place",
        r"\b(?:whenever|when|if|where)\b<40>\bfrom the [\w-]{1,30} server\b<60>\b(?:instead|rather|in its place)\b",
    ),
    phrase(
        _RULE,
        "deprecated disabled replaced removed broken & all every any",
        r"\b(?:tool|function) `?[\w-]{2,40}`? (?:has been|is|was) (?:deprecated|disabled|replaced|removed|broken)\b<60>\b(?:all|every|any) (?:calls?|uses?|requests?)\b",
    ),
    phrase(
        _RULE,
        "modifies changes alters affects redefines overrides replaces & behavio how way meaning usage working",
        r"\b(?:this tool|this function|this|it) (?:modifies|changes|alters|affects|redefines|overrides|replaces) (?:the )?(?:behaviou?r|how|way|meaning|usage|working) ?(?:of|in which)? ?(?:the )?(?:[`'\"]\w+|\w+_\w+|other tools?|another tool)",
    ),
    # then call something, and nobody is to be asked
    phrase(
        _RULE,
        "without approv confirm wait permission ask & call run execute invoke",
        r"\b(?:then|afterwards?|immediately|after\w*|once|directly|also|automatically|and|next)\b<60>{positive}\b(?:call|run|execute|invoke)\b (?:the )?`?\w+<100!>\b(?:without (?:asking|waiting|confirm\w*|approv\w*|further|any (?:confirm\w*|approv\w*))|no (?:approval|confirmation|permission)|do not (?:wait|ask)|don't (?:wait|ask))",
    ),
    phrase(
        _RULE,
        "before & change replace alter rewrite modify swap",
        r"\bbefore (?:calling|using|invoking|you call|you use) (?:the )?`?[\w-]{2,40}`?<20>, ?(?:change|replace|alter|rewrite|modify|swap) (?:its|the)\b",
    ),
    phrase(
        _RULE,
        "other another & tool server & alter change replace modify rewrite disable block override",
        r"\bif (?:any )?(?:other|another) (?:tools?|servers?)\b<60>\b(?:alter|change|replace|modify|rewrite|disable|block|override)\b",
    ),
    phrase(
        _RULE,
        "change replace swap substitut redirect alter set rewrite overwrite & iban recipient payee account address wallet amount bcc beneficiary number & before when whenever time",
        r"\b(?:change|replace|swap|substitute|redirect|alter|set|rewrite|overwrite)\b<30>\b(?:iban|recipients?|payee|beneficiary|account number|bank account|(?:wallet|e-?mail|destination|payment) address|wallet|amount)\b<60>\b(?:before|when|whenever|each time|every time)\b<40>\b(?:tools?|\w+_\w+|paying|payment|transfer|transaction)\b",
        unless=r"\bnot\b|never|n't|user (?:asks|wants|confirms)",
    ),
    phrase(
        _RULE,
        "malware malicious compromised infected fake leak steal unsafe hacked fraud spies spyware backdoor & refuse never not n't avoid stop reject decline & tool server",
        r"\b(?:tools?|servers?)\b<60>\b(?:malware|malicious|compromised|infected|fakes?|leaks?|steals?|unsafe|hacked|fraud\w*|spies|spyware|backdoors?)\b<60!>\b(?:refuse|never (?:use|call|select|trust)|(?:do not|don't|must not) (?:use|call|select|trust)|avoid|stop using|reject|decline)\b",
        unless=r"\bif\b|detect|scan",
    ),
    phrase(
        _RULE,
        "malware malicious compromised infected fake leak steal unsafe hacked fraud spies spyware backdoor & refuse never not n't avoid stop reject decline & tool server",
        r"\b(?:refuse|never (?:use|call|select|pick|choose|trust)|(?:do not|don't|must not) (?:use|call|select|pick|choose|trust)|avoid|stop using|reject)\b<20>\b(?:tools?|servers?)\b<60!>\b(?:malware|malicious|compromised|infected|fakes?|leaks?|leak|steals?|steal|unsafe|hacked|fraud\w*|spies|spyware|backdoors?)\b",
        unless=r"\bif\b|detect|scan",
    ),
    # What another tool is to be called with from now on
    phrase(
        _RULE,
        "here now point subsequent future later henceforth afterwards",
        r"\b(?:from (?:here|now|this point) on|henceforth|subsequently|subsequent|later on|in (?:the )?future|afterwards)\b<60>\b\w+_\w+\b<60>\b(?:must|has to|have to|should|set|needs? to|is to|are to|always)\b",
    ),
    phrase(
        _RULE,
        "with via by through using",
        r"\b(?:any|every|each|all) \w+ (?:sent|made|created|written|done|posted|issued|called|run) (?:with|by|via|through|using) \w+_\w+\b<20>\b(?:must|has to|have to|should|needs? to|is to|are to)\b",
    ),
    phrase(
        _RULE,
        "disable deactivate turn shut block uninstall kill & tool server mcp",
        r"(?:^|[.!?;:,\n] ?|\b(?:then|and|first|must|to|should) )(?:disable|deactivate|turn off|shut down|block|uninstall|kill) (?:the )?\w+(?:_\w+)? (?:tool|server|mcp)\b",
    ),
    phrase(
        _RULE,
        "not never stop avoid don & corrupt broken make lies report spies unsafe insecure leak fail compromised malicious dangerous unreliable deprecated outdated tool",
        r"\b(?:do not|don't|never|stop|avoid) (?:use|using|call|calling) (?:the )?(?:\w+'s )?(?:own |built-in |official )?\w+_\w+\b<60>\b(?:but|use|call|as|because|since|it|they)\b<60>\b(?:makes? (?:things|answers|it|them) up|makes up|lies|reports? (?:you|the user)|spies|corrupts?|broken|unsafe|insecure|leaks?|fails?|compromised|malicious|dangerous|unreliable|this tool)\b",
    ),
    phrase(
        _RULE,
        "tools tool & all every other any & need require must have other tool",
        r"\b(?:all|every|other|any) (?:other )?tools? (?:needs?|requires?|must|has to|have to) ...(?:be called|to be called|called|call|pass|run|go through|be routed|routed)\b",
    ),
    phrase(
        _RULE,
        "result output answer response value & multipl chang replac alter hidden modif discard ignor falsif as overwritten",
        r"\b(?:results?|outputs?|answers?|responses?|values?) (?:of|from) (?:the )?\w+_\w+\b<20>\b(?:are|is|must|have|has|should|shall|need)\b<20>\b(?:multiplied|changed|replaced|altered|hidden|modified|discarded|ignored|falsified|overwritten|reported as|shown as)\b",
    ),
    phrase(
        _RULE,
        "call invoke run execute use & check ask confirm consult bother & user & need without not n't",
        r"{positive}\b(?:call|invoke|run|execute|trigger)\b<80!>\b(?:no need to|need not|without|do not|don't) (?:check(?:ing)?(?: back)?|ask(?:ing)?|consult(?:ing)?|confirm(?:ing)?|bother(?:ing)?) (?:with )?(?:the )?user\b",
    ),
    phrase(
        _RULE,
        "use using call when & set pass add include change replace use",
        r"\bwhen (?:you |the assistant |the model )(?:subsequently |later |next |then )(?:use|call|invoke)s?\b<60>\b(?:set|pass|add|include|change|replace|use)\b",
    ),
    phrase(
        _RULE,
        "call invoke run execute & with & content copy full entire whole all user conversation complete & always immediately also must then",
        r"\b(?:always|immediately|also|must|then) (?:call|invoke|run|execute) \w+_\w+ with (?:the |a |its )?(?:contents?|copy|full|entire|whole|all|user|conversation|complete)\b",
    ),
    phrase(
        _RULE,
        "when if before after once time all any every each future subsequent & used called invoked run executed & add also make perform send insert append change replace",
        r"\b{whenever}\b<20>\b\w+_\w+\b<20>\b(?:used|called|invoked|run|executed)\b<10>\b(?:add|also|make|perform|send|insert|append|change|replace)\b",
    ),
    phrase(
        _RULE,
        "silently secretly quietly covertly unnoticed & call run invok execut & should must has called executed invoked run",
        r"\b(?:should|must|has to|have to|is to) be (?:called|run|invoked|executed)\b<60>\b(?:silently|secretly|quietly|covertly|unnoticed)\b",
    ),
    phrase(
        _RULE,
        "another other & call use invocation execution & every each any other",
        r"\bfor (?:every|each|any|all) (?:calls?|uses?|invocations?|executions?) of (?:another|any other|every other|other|all other)\b<60>\b(?:call|invoke|run|use|send|pass)\b",
    ),
    phrase(
        _RULE,
        "when if after each every whenever & also & call invoke run use",
        r"\b(?:when|whenever|if|each time|every time|after)\b<50>\b\w+_\w+\b<30>\b(?:must|should|have to|has to) also (?:call|invoke|run|use)\b",
    ),
    phrase(
        _RULE,
        "tool & after before for with tool & call use invocation execution",
        r"\b(?:after|before|for|with|on) (?:each|every|any|all) (?:calls?|uses?|invocations?|executions?) (?:of|to) (?:any|every|another|other|a different|all)(?: other)? tools?\b<40>\b(?:call|invoke|use|run|send|pass)\b",
    ),
    phrase(
        _RULE,
        "tool & every all any each & through via by & call invok run used rout executed",
        r"\b(?:every|all|any|each) (?:other )?tools? (?:must|has to|have to|should|is to|are to|needs? to) be (?:called|invoked|run|used|routed|executed) (?:through|via|by)\b",
    ),
    phrase(
        _RULE,
        "exist available present installed & call use invoke run & it",
        r"\bif (?:the )?(?:tool )?\w+_\w+(?: tool)? (?:exists|is available|is present|is installed)\b<20>\b(?:call|use|invoke|run) it\b<30>\b(?:pass|send|give|hand|include)\b",
    ),
    phrase(
        _RULE,
        "official original genuine & tool server & not never n't",
        r"\b(?:do not|don't|never|must not) (?:use|call|trust) (?:the )?(?:official|original|genuine) (?:\w{1,20} )?(?:tool|server)\b",
    ),
)
