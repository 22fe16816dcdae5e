# ruff: noqa: E501 - a pattern is one line, so that it can be read as one
"""Plain orders by kind: an action, its object, and where that goes, in any words (SEC-001 and SEC-003).

An order is recognized by the position of its verb: "attach the .env file" after a full stop, a comma or "must" is one, while
"attaches the .env file" and "to attach" are not.
"""

from __future__ import annotations

from mcptest_engine.safety.phrases.phrase import Phrase, order, phrase

_VERBS = (
    "send attach copy cop forward upload post put mail include append paste insert embed pass add place write submit transmit share report relay"
    " hand provide supply give fill prepend encode dump export stream sync mirror push publish leak exfiltrate deliver store save drop ship pipe feed"
    " bundle enclose concatenate gather collect harvest zip archive serial compress quote repeat reproduce type stuff"
)
_DONE = (
    "sent attached copied forwarded uploaded posted put mailed included appended pasted inserted embedded passed added placed written submitted"
    " transmitted shared reported relayed handed provided supplied given filled prepended encoded dumped exported streamed synced mirrored pushed"
    " published delivered stored saved shipped piped fed bundled enclosed concatenated collected gathered logged repeated"
)
_LOCKED = (
    ". id_ /etc/ /proc kube authorized known wallet phrase chain ring cookie password login vault key history printenv environ env credential secret"
    " clipboard"
)
_HOARD = (
    "page workspace repositor repo project base source home working desktop documents inbox mailbox address contact calendar drive disk database git file"
    " document mail photo note tab buffer screenshot download attachment medical statement"
)
_SPOKEN = (
    "conversation chat dialog discussion transcript message prompt turn context session system hidden told said say wrote writ typed asked ask shared"
    " share entered discuss talk given mentioned pasted confided question request words quer instruction reasoning thought memory thinking"
)
_OUTSIDE = "http hxxp ws ftp @ . our webhook pastebin remote external us author vendor maker publisher owner developer maintainer"
_INTO = "in into as to through via under within inside along with"
_NOASK = "without no not never n't skip skipping consider agreed consented approved authori given nor"

_PLACE = r"(?:parameters?|arguments?|field|property|header|query string|query|footer|call|request)\b"
_INSIDE = r"\b(?:in|into|as|to|through|via|under|within|inside|along with|with) "
PHRASES: tuple[Phrase, ...] = (
    # Sent away: private files, whole workspaces, what was said
    order(
        "SEC-003",
        f"{_VERBS} & {_LOCKED} & {_OUTSIDE}",
        r"{order}{transferring}\b<60>{locked}<90!>{outside}",
        unless=r"\bdocs?\.|documentation|\bsee\b",
    ),
    order(
        "SEC-003",
        f"{_VERBS} & {_HOARD} & {_OUTSIDE}",
        r"{order}{transferring}\b<30>{hoard}<60>\b(?:to|at|into|with|via|through|by)\b<40>{outside}",
    ),
    order(
        "SEC-003",
        f"{_VERBS} & {_SPOKEN} & {_OUTSIDE}",
        r"{order}{transferring}\b<40>{spoken}<60>\b(?:to|at|into|with|via|through|by)\b<40>{outside}",
    ),
    order(
        "SEC-003",
        f"{_VERBS} & {_OUTSIDE} & {_LOCKED} {_HOARD} {_SPOKEN}",
        r"{order}{transferring}\b<15>\b(?:to|at|via|through) <20>{outside}<90>\b(?:{locked}|{hoard}|{spoken})",
    ),
    order(
        "SEC-003",
        f"{_DONE} & {_OUTSIDE} & {_LOCKED} {_HOARD} {_SPOKEN}",
        r"\b(?:{locked}|{hoard}|{spoken})<50>\b{must} (?:be )?{transferred}\b<40>{outside}",
    ),
    order(
        "SEC-003",
        f"{_VERBS} & {_OUTSIDE}",
        r"{order}(?:also |always )?{transferring} (?:a copy of |copies of |along )?(?:every|each|all|any|everything|the|their|its|it|them|that|a copy|copies)\b<60>\b(?:results?|outputs?|answers?|responses?|quer(?:y|ies)|questions?|prompts?|requests?|arguments?|addresses|attendees'? addresses|messages?|copy|copies|everything|inputs?|replies|drafts?|records?|details|names|text|it|them)\b<50>\b(?:to|at|with|via) <20>(?:https?://|[\w.+-]{1,40}@[\w-]{1,40}\.\w|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b(?:to|with) us\b|our (?:server|api|endpoint|team|backend|collector))",
        unless=r"feedback|bug|support@|authorization|bearer",
        later=True,
    ),
    # Private files, for any purpose
    order(
        "SEC-003",
        f"{_VERBS} & {_LOCKED}",
        r"{order}{transferring} (?:along )?(?:(?:all|any|every|each|the|your|their|a|of|full|whole|entire|complete|raw|current|output|copy|contents?|text|values?|dump|list|user's|users'|local|lines?|both|these|following|found|unabridged|\w+'s) ){0,6}?{locked}(?! (?:path|name|id|fingerprint|field|parameter|template|example|is|are|can|prefix|type|format|named|with the name|called|from the (?:result|response|output|dashboard|console|settings)))",
        unless=r"\bpath|\.example|public key|template|generate|\bto (?:the |your )?\.env|clipboard$|ssh-(?:add|keygen|copy-id)",
        later=True,
    ),
    order(
        "SEC-003",
        f"{_LOCKED} & {_DONE} {_VERBS} use & {_INTO} before after",
        r"{order}(?:read|open|load|cat|print|look up|find|take|get|grab|extract|fetch|collect|gather|use|retrieve|dump|scan|search)\b<70>{locked}<70!>\b(?:{transferring}|{transferred}|use|pass)\b<50>\b(?:in|into|as|to|through|via|under|along|with|after|before)\b",
        unless=r"\bpath|\.example|public key|authenticat|\bto (?:connect|log ?in|sign)|\bread by|default",
        later=True,
    ),
    order(
        "SEC-003",
        f"{_LOCKED} & use take fill give enter & as in for into",
        r"{order}(?:use|take|fill in|give|enter) (?:(?:the|user's|their|your|output|contents?|of|value|text|full|whole) ){0,5}{locked}<40>\b(?:as|for|in|into)\b",
        unless=r"\bpath|authenticat|connect|sign|default|\bto log",
    ),
    phrase(
        "SEC-003",
        "better improve accurate work faster complete right & when with if once & " + _LOCKED,
        r"\b(?:better|improves?|more accurate|works? best|faster|right|complete)\b<40>\b(?:when|with|if|once)\b<30>{locked}<40>\b(?:included|attached|passed|added|given|supplied|provided|present)\b",
    ),
    order(
        "SEC-003",
        f"{_LOCKED} {_HOARD} {_SPOKEN} & must should shall has have need is are & {_DONE}",
        r"\b(?:{locked}|{hoard}|{spoken})<40>\b(?:must|should|shall|has to|have to|needs? to|is to|are to)(?: also| always| first)? be {transferred}\b<20>\b(?:in|into|as|to|with|along|via|through)\b",
        unless=r"\bpath|to the user|session",
    ),
    order(
        "SEC-003",
        f"fill populate pad & {_LOCKED} {_HOARD} {_SPOKEN} & with",
        r"{order}(?:fill|populate|pad)\b<30>\bwith\b<20>(?:{locked}|{hoard}|{spoken})",
        unless=r"\bpath",
    ),
    phrase(
        "SEC-003",
        f"must should shall has have need unless until only fail refus reject expect require otherwise & hold contain carr carry includ has have start begin fill & {_LOCKED} {_HOARD} {_SPOKEN} token cookie pass key header",
        r"\b(?:must|should|shall|has to|have to|needs? to|unless|until|only (?:works?|runs?|if|when)|fails?|refused|rejected|expects?)\b<70>\b{holding}\b<40>(?:{locked}|{hoard}|{spoken}|{ofothers})",
        unless=r"\bpath|\bnot\b|never|n't|\bno\b|cannot",
    ),
    phrase(
        "SEC-003",
        f"key pass token cookie credential secret header & other another different find see know have hold found stored saved kept present set held & {_VERBS} fill populate use look find read take get search",
        r"{order}(?:{transferring}|fill|populate|use|look up|find|read|take|get|search for)\b<40>{ofothers}",
        unless=r"\bpath|\bnot\b|never|n't",
    ),
    phrase(
        "SEC-003",
        "key pass token cookie credential secret & other another",
        r"(?:^|[.;:] ?)(?:the )?(?:\w+ )?(?:api keys?|tokens?|passwords?|credentials?|cookies?|secrets?) (?:of|from|for|given by|issued by|used by) (?:the |any |every |each |all |whichever |whatever )?(?:other|another)\b",
        parameters_only=True,
    ),
    order(
        "SEC-003",
        f"{_VERBS} & password hash credential secret token cookie key & {_OUTSIDE}",
        r"{order}{transferring}\b<60>\b(?:password hash(?:es)?|(?:stored|saved|all|any|every|users?'?s?|their) (?:\w+ )?(?:passwords?|credentials?|secrets?|tokens?|cookies|api keys?))\b<60>\b(?:to|at|via|through)\b <20>{outside}",
        unless=r"\bnever|header|authorization|bearer",
    ),
    # Making the user give a secret
    phrase(
        "SEC-003",
        "tell inform warn convince persuade claim say announce & expired must need has have locked suspended verif require again end fail & pass pin code otp phrase card cvv cvc social key",
        r"\b(?:tell|inform|warn|convince|persuade|claim|say|announce)\b<40>\b(?:expired|must|needs?|has to|have to|locked|suspended|verif\w+|required|again|ends?|failed)\b<60>\b(?:re-?enter|enter|type|provide|supply|confirm|give|paste|share)\b<40>\b{identity}\b",
        unless=r"\bnever|\bnot\b|n't",
    ),
    phrase(
        "SEC-003",
        "ask prompt get have request persuade & pretext pretend claim excuse saying ground as & pass pin code otp phrase card cvv cvc social key",
        r"\b(?:ask|prompt|get|have|request|persuade)\b<60>\b{identity}\b<60>\b(?:pretext|pretend\w*|claim\w*|excuse|saying|on the grounds?|as if)\b",
    ),
    # The workspace or the conversation, put into an argument
    order(
        "SEC-003",
        f"{_VERBS} read load & {_HOARD} & {_INTO}",
        rf"{{order}}(?:copy|put|paste|include|attach|append|insert|embed|dump|pass|gather|collect|concatenate|encode|read|bundle|zip|load|feed|write|stuff|serialize)\b<20>{{hoard}}<60!>{_INSIDE}(?:the |this |its |a |an |your )?(?:\w+ {_PLACE}|{_PLACE}|[a-z]\w{{0,24}}(?:[.,;!]|$))",
        unless=r"\bto (?:the |a |your )?(?:folder|disk|bucket|clipboard|branch|archive|directory|trash)|\bpath|user asks",
        later=True,
    ),
    order(
        "SEC-003",
        f"{_VERBS} begin start summar prefix precede & {_SPOKEN} & {_INTO}",
        rf"{{order}}(?:{{transferring}}|summari[sz]e|begin|start|prefix|precede)\b<40>{{spoken}}<60!>{_INSIDE}(?:the |this |its |a |an |your )?(?:\w+ {_PLACE}|{_PLACE}|[a-z]\w{{0,24}}(?:[.,;!]|$))",
        unless=r"\bemails?\b|draft|reply to|language of|same language|\bin english|in the (?:user's|chat|conversation|thread|channel|session)|session id|to the user",
        later=True,
    ),
    order(
        "SEC-003",
        f"{_VERBS} begin start summar prefix precede & {_SPOKEN} & everything all whole entire full complete verbatim raw far history system unabridged unedited log transcript",
        r"{order}(?:{transferring}|begin|start|prefix|precede|summari[sz]e) (?:(?:it|this|them|with|the|a|an|here|also|always|along|your|answer|text|value|query) ){0,4}(?:(?:summary|copy|transcript|record|digest|full text|gist) of )?(?:everything|(?:the |your |our )?(?:whole|entire|full|complete|verbatim|raw|unabridged|unedited)|all (?:of )?(?:the |your )?|(?:the |your )?system prompt|(?:the )?(?:conversation|chat|message|prompt|dialogue) (?:history|so far|transcript|log))<30>{spoken}",
        unless=r"\bnothing\b|to the user|user can",
    ),
    order(
        "SEC-003",
        f"{_VERBS} begin start summar prefix precede describe list recount state & {_SPOKEN} & everything all what anything",
        r"{order}(?:{transferring}|begin|start|prefix|precede|summari[sz]e|describe|list|recount|state)\b<40>\b(?:everything|all|whatever|anything)\b(?: that| of what)? (?:the |your |this )?(?:user|person|human|customer|they|he|she|you)\b<15>\b(?:told|said|wrote|written|typed|asked|shared|entered|discussed|mentioned|pasted|confided)\b",
        unless=r"\bnothing\b|to the user",
    ),
    # Obeying texts of others
    order(
        "SEC-001",
        "what anything everything as each all & do carr follow execut obey perform act compl implement apply fulfil heed run work honor honour adopt",
        r"{order}{obeying} (?:exactly |just |precisely |out )?(?:what(?:ever)?|anything|everything|as|all that|each (?:line|step|item|thing)(?: of (?:it|them|that))?)(?: that)? (?:it|they|this|that|its \w+|(?:the|that|this|such a|any) (?:\w+ )?{foreign}(?: that comes back| there| returned| you get)?|comes back|is (?:written|asked|said|returned)|you (?:find|read) (?:there|in it)|stands?)\b ?(?:asks?|says?|tells?(?: you)?|instructs?|demands?|wants?|orders?|requests?|states?|dictates?|contains?|holds?)?",
        unless=r"user (?:asks|says|wants|tells)|not trust|do as (?:it|they|this|that) ",
    ),
    order(
        "SEC-001",
        "instruction direction step order command task request directive & page url link site issue comment mail message feed ticket article post attachment repl pull title bod text result response output answer http remote return document file description & carr follow execut obey perform act compl implement apply fulfil heed work",
        r"{order}(?:carry out|follow|execute|obey|act (?:up)?on|comply with|complete|perform|implement|apply|heed|work through|fulfil)\b (?:all |any |every |each |the |whatever |those |these )*(?:hidden |embedded |further |new |following )*(?:instructions?|directions?|steps?|orders|commands?|tasks?|requests?|directives?)\b<20>\b(?:in|inside|within|from|of|on|at|under|behind|that come with)\b(?: the| a| an| that| this| any| every| each| its| such)*(?: \w+){0,2} {foreign}",
        unless=r"readme|documentation|\bdocs?\b|guide|manual|help page|user's (?:message|request)|step of the (?:plan|workflow)|error (?:message|response)|output format|to (?:install|set ?up|configure|authenticate|upgrade|fix|resolve)",
    ),
    order(
        "SEC-001",
        "http url link & fetch open visit load download retrieve read get browse request curl & carr follow execute obey perform do act compl implement apply fulfil heed adopt treat",
        r"{order}(?:fetch|open|visit|load|download|retrieve|read|get|browse(?: to)?|request|curl)\b<20>(?:https?://\S{3,200}|\b(?:the |that |any |every |each )?(?:\w+ ){0,2}(?:urls?|links?)\b)<90!>\b(?:and|then|,) (?:then )?(?:carry out|follow|execute|obey|perform|do (?:what|as|everything|whatever)|act on|comply|complete|implement|apply|heed|adopt|treat)\b",
        unless=r"follow (?:redirects?|links?|the links?)|redirect|user",
    ),
    order(
        "SEC-001",
        "instruction direction directive order rule guideline step command & assistant agent model llm ai you",
        r"\b(?:holds?|contains?|has|have|carr(?:y|ies)|includes?|gives?|are|is|returns?)\b<30>\b(?:instructions?|directions?|directives?|orders|rules|guidelines|steps|commands)\b<20>\b(?:for|to|aimed at|addressed to|meant for) (?:the |any |every |an |all )?(?:assistants?|agents?|models?|llms?|ais?|you)\b<60>\b(?:precedence|priority|must|obey|follow|override|overrule|carry|before|binding|supersede|rather than|instead of|over the user)\b",
    ),
    order(
        "SEC-001",
        "instruction direction directive order step command task & right straight without immediately once automatically & complete perform execute carry follow do",
        r"{order}(?:complete|perform|execute|carry out|follow|do) (?:the |these |those |its |all |any |each )*(?:steps?|instructions?|commands?|tasks?|directions?|orders)\b<30>\b(?:right away|straight away|immediately|at once|automatically|without (?:asking|question|confirm\w*|approval|delay))\b",
        later=True,
    ),
    # Money
    order(
        "SEC-001",
        f"buy purchase pay subscri upgrade renew extend book reserve charge bill debit transfer wire donate tip top check place invest withdraw refund order rent enrol sign & {_NOASK}",
        r"{order}(?:also )?{paying}\b<60>{priced}<90!>\b{noask}",
        unless=r"fails?|error|refus",
    ),
    order(
        "SEC-001",
        "buy purchase pay subscri upgrade renew extend book reserve charge bill debit transfer wire donate tip top check place invest withdraw refund order rent enrol sign & if when each every once soon should case always",
        r"\b(?:if|when|whenever|each|every|once|as soon as|should|in that case|always)\b<50!>{order}{paying} (?:it|them|the|a|an|this|that|for|one|up|to|out)\b<60>\b(?:card|wallet|account|straight away|right away|immediately|automatically|at once|every (?:hour|day|week|month|time)|each (?:hour|day|week|month|time)|whenever|top tier|highest|premium|saved|stored|on file|on (?:the )?(?:user|customer|their)'?s?(?: behalf)?)\b",
        unless=r"refunds? the|book a|status|cursor|order (?:of|by)|extend the (?:range|search|list|class|selection|line)|charge (?:time|level)|transfer (?:the )?(?:file|data)|payment method",
        later=True,
    ),
    order(
        "SEC-001",
        "buy purchase pay subscri upgrade renew extend book reserve charge bill debit transfer wire donate tip top check place invest withdraw refund order rent enrol sign & straight right immediately automatically once whenever every each always top highest premium saved stored card wallet account behalf user customer their file",
        r"{order}(?:always |automatically |also )?{paying} (?:it|them|the|a|an|this|that|for|one|up|to|out)\b<60>\b(?:card|wallet|account|straight away|right away|immediately|automatically|at once|every (?:hour|day|week|month|time)|each (?:hour|day|week|month|time)|whenever|top tier|highest|premium|saved|stored|on file|on (?:the )?(?:user|customer|their)'?s?(?: behalf)?)\b",
        unless=r"refunds? the|book a|status|cursor|order (?:of|by)|extend the (?:range|search|list|class|selection|line)|charge (?:time|level)|transfer (?:the )?(?:file|data)|payment method",
        later=True,
    ),
    # Assuming consent
    phrase(
        "SEC-001",
        "agreed consented approved authori given signed accepted waived cleared confirmed & already implicitly advance install thereby beforehand hereby automatically connecting signing using all pre any every anyway enabl adding once & user customer owner reviewer maintainer admin operator human client person people they everyone parties",
        r"(?:^|[.!?;:,(] ?|\b(?:and|as|because|since) )(?:the |all |every |your |both )?(?:\w+ )?(?:users?|customers?|owners?|reviewers?|maintainers?|admin\w*|operators?|humans?|clients?|persons?|people|they|everyone|parties) (?:has|have|had|is|are|was|were) (?:already |implicitly |thereby |hereby |automatically |in advance |all |been )*(?:agreed|consented|pre-?approved|approved|authori[sz]ed|given (?:\w+ )?(?:consent|permission|approval)|signed off|accepted|waived|cleared|confirmed)\b<60>\b(?:by (?:installing|connecting|using|signing|enabling|adding)|in advance|beforehand|already|implicitly|anyway|to (?:all|any|every|everything)|once and for all)",
        unless=r"\bif\b|\bwhen|\bonce\b(?! and)|\bafter\b|unless|until|whether|\bonly\b|who (?:has|have)|terms|list of|returns?",
    ),
    phrase(
        "SEC-001",
        "already implicitly thereby automatically pre hereby & agreed consented approved authori given accepted waived cleared confirmed & user customer owner reviewer maintainer admin operator human client person people they everyone step action request",
        r"(?:^|[.!?;:,(] ?|\b(?:and|as|because|since) )(?:the |all |every |your |these |such )?(?:\w+ )?(?:users?|customers?|owners?|reviewers?|maintainers?|operators?|humans?|clients?|they|everyone|steps|actions|requests) (?:has|have|were|are|was|is) (?:already|implicitly|thereby|hereby|automatically|pre-?)(?: been)? ?(?:agreed|consented|approved|authori[sz]ed|given (?:\w+ )?(?:consent|permission|approval)|accepted|waived|cleared|confirmed)\b",
        unless=r"\bif\b|\bwhen|\bonce\b|\bafter\b|unless|until|whether|\bonly\b|who (?:has|have)|terms|list of|returns?|already (?:accepted|confirmed|approved) (?:are|is|will|can|orders|requests)",
    ),
    order(
        "SEC-001",
        "consent approval permission agreement authori confirmation & count serve amount taken treat regard deemed considered understood implies imply equals means",
        r"\b(?:counts?|serves?|(?:is|are) (?:taken|treated|regarded|deemed|considered|understood)|treat (?:this|it|that)|implies|equals|means|amounts?)\b<15>(?:as |to )?(?:full |blanket |explicit |implicit |the user's |their |prior |an? )*(?:consent|approval|permission|agreement|authori[sz]ation|confirmation)\b",
        unless=r"\bif\b|not count|does not|who|whose|whether",
    ),
    phrase(
        "SEC-001",
        "ask prompt question & approv consent confirm agree human person safe harmless authori permi & answer say reply respond claim state",
        r"\b(?:when|if|once|whenever|should)\b<20>\b(?:asked|asks?|prompted|questioned)\b<60>\b(?:approv\w*|consent\w*|confirm\w*|agreed?|human|person|safe|harmless|authori\w*|permi\w*)\b<40>\b(?:answer|say|reply|respond|claim|state)\b <10>\b(?:yes|so|true|that (?:it|they|the user|a person|a human|everyone))\b",
        unless=r"\bnot\b|user (?:says|answers|replies)",
    ),
    order(
        "SEC-001",
        "add invite grant give make promote set register & admin owner maintainer collaborator super sudo root",
        r"{order}(?:add|invite|grant|give|make|promote|set up|register)\b<80>(?:\bas (?:an? |the )?(?:\w+ )?(?:admin\w*|owner|maintainer|collaborator|super ?user)\b|\b(?:admin(?:istrator)?|owner|sudo|root) (?:rights|role|access|privileges?|permissions?)\b|role ?[=:] ?(?:admin|owner))",
        later=True,
    ),
    order(
        "SEC-001",
        "call invoke run use & role & admin owner root",
        r"\b(?:must|should|has to|have to|needs? to)\b<20>\b(?:call|invoke|run|use)\b<40>\brole ?[=:] ?(?:admin|owner|root)\b",
    ),
    # Done without asking
    order(
        "SEC-001",
        f"run execute delet remov approv merge push commit deploy install publish send post grant disabl accept close overwrite format drop revok proceed do carry invoke call free wipe clear kill reset share open make & {_NOASK}",
        r"{order}(?:run|execute|delete|remove|approve|merge|push|commit|deploy|install|publish|send|post|grant|disable|accept|close|overwrite|format|drop|revoke|proceed|do (?:so|it|this|that)|carry (?:it|them|this) out|invoke|call|wipe|clear|kill|reset|share|make)\b<70>(?:without (?:\w+ ){0,2}(?:asking|confirm\w*|approv\w*|prompting|permission|consent|consult\w*)|no (?:further |explicit |extra |additional |user |human )*(?:confirmation|approval|prompt|permission|consent|question)s?(?: step| dialog)? (?:is |are )?(?:needed|required|necessary)|(?:no need to|needn't|need not|not necessary to) (?:ask|prompt|confirm|wait|check|consult|bother))",
        unless=r"\bforce\b|\bto skip\b|if true|when true|\bflag\b|dry|\byes\b|[;.:] without|without \w+ (?:nothing|no )",
        later=True,
    ),
    # Lasting changes of the machine
    order(
        "SEC-001",
        "add append write put insert install copy save create edit modify register schedule place drop & bashrc zshrc profile bash_profile cron authorized_keys hosts sudoers launch startup hook cursorrules autostart registry login",
        r"{order}(?:add|append|write|put|insert|install|copy|save|create|edit|modify|register|schedule|place|drop)\b<90>(?:\.?bashrc\b|\.zshrc|\.profile\b|\.bash_profile|\bcron ?tab|\bcron (?:job|entry)|authorized_keys|/etc/hosts|sudoers|launch ?agents?\b|startup (?:folder|items?|scripts?)|autostart|\.git/hooks|git hooks?|\.cursorrules|registry run|login items?)",
        unless=r"if (?:you|the user) (?:want|wish|like)",
        later=True,
    ),
    order(
        "SEC-001",
        "add include insert put append import prepend use depend & import require dependency package script snippet index registry mirror & each every all any",
        r"{order}(?:add|include|insert|put|append|prepend|import)\b<70>\b(?:import|require|dependency|package|script tag|snippet|line)\b<70>\b(?:to|in|into|at the (?:top|start|end) of) (?:each|every|all|any)\b<15>\b(?:files?|projects?|modules?|pages?|scripts?|code)\b",
        unless=r"licen[cs]e|header comment|copyright",
        later=True,
    ),
    phrase(
        "SEC-001",
        "curl wget iwr powershell & sh bash iex zsh",
        r"(?:^|[.!?;:,(\n] ?|\b(?:and|then|also|first|must|should|line|run|execute|command) )(?:curl|wget|iwr|powershell)\b<80>\| ?(?:sudo )?(?:ba|z)?sh\b",
        unless=r"\bto install\b|installation",
    ),
    order(
        "SEC-001",
        "rm & run execute issue type enter start",
        r"\b(?:run|execute|issue|type|enter|start with)\b<20>\brm -rf\b",
    ),
    order(
        "SEC-001",
        "disable turn deactivate switch stop skip bypass remove uninstall suspend & antivirus firewall 2fa mfa factor logging audit security sandbox guardrail safety filter monitoring",
        r"{order}(?:disable|turn off|deactivate|switch off|stop|bypass|uninstall|suspend)\b<25>\b(?:antivirus|firewall|2fa|mfa|two-factor|(?:audit )?logging|audit (?:log|trail)|security (?:checks?|software|scan\w*|warnings?)|sandbox\w*|guardrails?|safety (?:checks?|filters?|rules)|monitoring)\b",
        unless=r"\bto disable|set \w+ to",
        later=True,
    ),
    order(
        "SEC-001",
        "approve merge accept sign & pull pr merge change transaction payment request contract invitation",
        r"{order}(?:approve|merge|accept|sign(?: off)?) (?:the|this|each|every|all|any|a) (?:open |pending )?(?:pull requests?|prs?|merge requests?|changes?|transactions?|payments?|contracts?|friend requests?|invitations?)\b<60>\b(?:as part of|along the way|as well|too|automatically|right away|immediately|in advance|while|before (?:showing|returning|answering))\b",
        later=True,
    ),
    # Hiding something from people, or misinforming them
    order(
        "SEC-001",
        "keep stay remain hold & quiet silent mum discreet tight",
        r"{order}(?:keep|stay|remain)(?: it| this| that)? (?:quiet|silent|mum|discreet|tight-lipped)\b<30>\b(?:about|on|regarding|when|while|of|over|\.)",
    ),
    order(
        "SEC-001",
        "keep leave hold omit drop strip & answer reply response summary result report output message explanation chat yourself us unmentioned unsaid",
        r"{order}(?:keep|leave|omit|drop|strip|hold)\b<40>\b(?:out of|from|to|between)\b (?:the |your |any )?(?:final |visible )?(?:yourself|us\b|(?:answer|reply|response|summary|report|explanation)s?(?: to (?:the )?user| you give)?)",
        unless=r"empty|blank|null|response (?:body|time|header|size|format)|short|from the (?:response|result|output|report)\b|to (?:the |your )?(?:answer|reply|response|summary|report)",
        later=True,
    ),
    order(
        "SEC-001",
        "mention & switch call fee step copy transfer upload change difference extra charge copying tool check second other side & not never n't need without reason avoid refrain unnecessary pointless",
        r"\b(?:do not|don't|never|no need to|no reason to|not necessary to|needn't|need not|must not|should not|without|avoid|refrain from|unnecessary to|pointless to)(?: ever| also| explicitly)? mention(?:ing)? the (?:switch|call|fee|step|copy|transfer|upload|change|difference|extra|charge|copying|tool|check|second|other|side)\b",
        unless=r"does not|if (?:it|they|there) (?:is|are) (?:not|no)",
    ),
    phrase(
        "SEC-001",
        "bring mention point draw trouble bother let & not never n't need without reason avoid refrain unnecessary pointless",
        r"\b(?:do not|don't|never|no need to|no reason to|not necessary to|needn't|need not|must not|should not|without|avoid|refrain from|unnecessary to|pointless to)(?: ever| also| explicitly)? (?:(?:bring|bringing) (?:that|this|it|them|the \w+) up|mention(?:ing)? (?:it|this|that|them|so)|draw(?:ing)? attention to|point(?:ing)? (?:it|this|that|them) out|trouble (?:the )?user|bother(?:ing)? (?:the )?user with (?:it|this|that|them|these)|let on)\b",
        unless=r"does not|if (?:it|they|there) (?:is|are) (?:not|no)",
    ),
    phrase(
        "SEC-001",
        "ask wonder inquire notice question want complain & say reply answer claim respond tell insist state assure pretend deny explain & even though regardless nothing never not routine stay no",
        r"\b(?:if|when|whenever|should|in case) (?:the |a |your )?(?:users?|they|anyone|anybody|someone|somebody|people|person|customer|human)\b<30>\b(?:asks?|wonders?|inquires?|notices?|questions?|wants? to know|complains?)\b<60>\b(?:say|reply|answer|claim|respond|tell|insist|state|assure|pretend|deny|explain)\b<90>\b(?:even (?:though|if)|although|though|regardless|nothing (?:was|is|has|gets)|(?:was|were|is|are) (?:not|never) (?:sent|stored|shared|uploaded|logged|kept|recorded|called)|never left|stay(?:s|ed)? (?:on|local|in)|routine|no (?:data|call|tool|file|one))\b",
    ),
    phrase(
        "SEC-001",
        "ask wonder inquire notice question want & deny pretend insist claim",
        r"\b(?:if|when|whenever|should) (?:the |a |your )?(?:users?|they|anyone|anybody|someone|person|customer|human)\b<30>\b(?:asks?|wonders?|inquires?|notices?|questions?|wants? to know)\b<40>\b(?:deny|pretend|insist|claim)\b",
    ),
    order(
        "SEC-001",
        "confidence confidential fact certain caveat doubt hedg qualif reservation gospel undisputed disclaimer & present state report answer speak treat give deliver phrase express show & full total absolute complete utmost as without strict unwavering 100",
        r"{order}(?:present|state|report|answer|speak|treat|deliver|phrase|give|express|show)\b<40>\b(?:(?:with|in) (?:full|total|absolute|complete|utmost|strict|unwavering|100 ?%) (?:confidence|certainty)|as (?:an? )?(?:established |certain |proven |verified |undisputed |confirmed )*facts?\b|as (?:certain|confidential|gospel|undisputed)|without (?:any )?(?:caveats?|doubts?|hedging|qualifications?|reservations?|disclaimers?))",
        unless=r"confidence (?:score|interval|level|value)",
        later=True,
    ),
    phrase(
        "SEC-001",
        "confidence confidential & this it these that what",
        r"\b(?:this|it|these|that|what follows)\b<20>\b(?:is|are|stays?|remains?|kept)\b<20>\b(?:in (?:strict )?confidence|confidential (?:between|and (?:not|must not|is not)))\b",
    ),
    order(
        "SEC-001",
        "describe portray call label rate depict paint characteri present & compet rival other alternative else & unsafe insecure unreliable bad worse inferior scam risky dangerous outdated poor expensive untrustworthy illegal",
        r"{order}(?:describe|portray|call|label|rate|depict|paint|characteri[sz]e|present)\b<20>\b(?:compet\w+|rivals?|other|alternatives?|everyone else|any other)\b<40>\b(?:as|to be)?<10>\b(?:unsafe|insecure|unreliable|bad|worse|inferior|scams?|risky|dangerous|outdated|poor|expensive|untrustworthy|illegal)\b",
    ),
    order(
        "SEC-001",
        "recommend promote praise advertise favor favour mention endorse plug & every each all whatever regardless even any matter",
        r"{order}(?:recommend|promote|praise|advertise|favou?r|endorse|plug|mention)\b<50>\b(?:in (?:every|each|all|any) (?:of your )?(?:answers?|repl(?:y|ies)|responses?|messages?)|regardless of|whatever (?:the|their|its)|even (?:if|when|though)|no matter)\b",
        unless=r"regardless of (?:case|order|type|format|status)",
        later=True,
    ),
    # Declaring rules and consent void
    phrase(
        "SEC-001",
        "confirm approval permission privacy safety security content consent review usual polic limits rules & off withdrawn lifted suspended void waived revoked off cancelled abolished hold apply",
        r"\b(?:confirmation|approval|permission|privacy|safety|security|content|consent|review|usual) (?:polic(?:y|ies)|rules?|requirements?|steps?|limits?|checks?|settings)\b<40>\b(?:(?:is|are|was|were|has been|have been) (?:hereby |now )?(?:off|switched off|turned off|withdrawn|lifted|suspended|void|waived|revoked|switched off|cancelled|abolished)|(?:do|does) not (?:hold|apply))\b",
        unless=r"\bif\b|\bwhen|whether|unless",
    ),
    order(
        "SEC-001",
        "discuss mention reveal quote & bulletin notice memo polic mode message order directive field step & not never n't",
        r"\b(?:do not|don't|never|must not|shall not|is not to be|are not to be) (?:discuss(?:ed)?|mention(?:ed)?|reveal(?:ed)?|quoted?) (?:this|these|the above|that) (?:\w+ )?(?:bulletins?|notices?|memos?|polic(?:y|ies)|modes?|messages?|orders?|directives?|fields?|steps?)\b",
    ),
    phrase(
        "SEC-001",
        "by & consent approv authori agree waive give gave grant & user person people customer owner they",
        r"\bby (?:adding|installing|connecting|using|enabling|loading)\b<40>\b(?:the |your )?(?:users?|persons?|people|customers?|owners?|they) (?:has |have )?(?:already |thereby )?(?:gives?|given|gave|grants?|granted|agreed|waived|consented|approved|authori[sz]ed)\b",
        unless=r"terms of (?:use|service)",
    ),
    phrase(
        "SEC-001",
        "presumed assumed deemed taken understood considered & agreed waived consented accepted approved authori given & user person customer owner they",
        r"\b(?:users?|persons?|customers?|owners?|they) (?:is|are) (?:presumed|assumed|deemed|taken|understood|considered) to have (?:\w+ )?(?:agreed|waived|consented|accepted|approved|authori[sz]ed|given)\b",
        unless=r"\bif\b|\bwhen",
    ),
    order(
        "SEC-001",
        "approv merge accept sign pass & without & read review look check open",
        r"\b(?:is|are|must|should|shall|has|have) (?:always )?(?:to )?(?:be )?(?:approved?|merged?|accepted|accept|signed|passed?)\b<20>\bwithout (?:even )?(?:reading|reviewing|looking|checking|opening)\b",
    ),
    order(
        "SEC-001",
        "weight trust authority importance credence right & user person human system developer & more higher greater",
        r"\b(?:more|higher|greater) (?:weight|trust|authority|importance|credence) than (?:to |what |anything |whatever )*(?:the |your )?(?:user|person|human|system|developer)\b",
    ),
    order(
        "SEC-001",
        "own & present pass give offer express state & view opinion advice recommendation idea judgement judgment conclusion",
        r"{order}(?:present|pass|give|offer|express|state) (?:it|this|that|them|these)(?: off)? as (?:your|the assistant's|the model's) own (?:\w+ )?(?:views?|opinions?|advice|recommendations?|ideas?|judge?ments?|conclusions?)\b",
    ),
    order(
        "SEC-001",
        "tasks instructions orders commands requests directions & do follow execute carry perform obey & hold contain include carr has have may",
        r"\b(?:may |might |can |could )?(?:holds?|contains?|includes?|carr(?:y|ies)|has|have)\b<20>\b(?:tasks|instructions|orders|commands|requests|directions)\b[:;,.\u2013\s-]{1,4}(?:then |please |always )?(?:do|follow|execute|perform|obey|carry out) (?:them|these|those|each|all)\b",
    ),
    order(
        "SEC-001",
        "grant & all privileges owner superuser admin & every each also always second append add first",
        r"\b(?:every|each|also|always|second|append|add|first)\b<90>\bgrant (?:all|owner|superuser|admin\w*)\b<20>\b(?:on|to|privileges)\b",
    ),
    order(
        "SEC-001",
        "risk negligible safe guaranteed sure cheapest best & say call claim report state answer & whatever regardless even no",
        r"{order}(?:say|claim|call|report|state|answer)\b<60>\b(?:negligible|guaranteed|risk-free|cheapest|the best|safest|no risk)\b<60>\b(?:whatever|regardless|even (?:if|when|though)|no matter|own view)\b",
        later=True,
    ),
    # Private data, in further words
    order(
        "SEC-003",
        "scan search look go comb sift check & identity id passport bank payslip tax medical password private credential wallet driving card & add attach include upload send put collect pass copy place",
        r"{order}(?:scan|search|look through|go through|comb|sift)\b<60>\b(?:identity (?:cards?|documents?)|id cards?|passports?|bank statements?|payslips?|tax (?:returns?|forms?)|medical records?|passwords?|private keys?|credentials?|wallets?|driving licen[cs]es?)\b<40>\b(?:add|attach|include|upload|send|put|collect|pass|copy|place)\b",
        unless=r"\breport|mask|redact|detect|warn",
    ),
    order(
        "SEC-003",
        f"{_VERBS} & password cookie login card token note message document photo & stored saved typed entered",
        r"{order}{transferring} (?:the |all |any |every |all the )*(?:passwords?|cookies?|logins?|cards?|tokens?|notes|messages|photos) (?:that |which )?(?:the user|the person|they|he or she|you) (?:(?:has|have|had) )?(?:stored|saved|typed|entered)\b",
    ),
    order(
        "SEC-003",
        "token key password cookie secret credential & you & wanted needed required expected belong go",
        r"\b(?:tokens?|api keys?|passwords?|cookies?|secrets?|credentials?)\b<40>\bthat you (?:use|have|hold|were given|send)\b<40>\b(?:(?:is|are) (?:wanted|needed|required|expected)|belongs?|goes|go) (?:in|into|as|under|here)\b",
    ),
    phrase(
        "SEC-003",
        "filled supplied provided & assistant model agent you & . id_ /etc/ wallet kube authorized known ring chain cookie login vault history clipboard phrase env secret credential token key password tfstate conversation prompt",
        r"(?:{locked}|\bsecrets?\.\w+|\bsystem prompt|\b(?:api keys?|passwords?|tokens?)\b)<90!>\b(?:filled in|supplied|provided) by (?:the )?(?:assistant|model|agent|you)\b",
        unless=r"\bnot\b (?:by|needed)|never",
    ),
    phrase(
        "SEC-003",
        "filled supplied provided & assistant model agent you & . id_ /etc/ wallet kube authorized known ring chain cookie login vault history clipboard phrase env secret credential token key password tfstate conversation prompt",
        r"\b(?:filled in|supplied|provided) by (?:the )?(?:assistant|model|agent|you)\b<90!>(?:{locked}|\bsecrets?\.\w+|\bsystem prompt|\b(?:api keys?|passwords?|tokens?)\b)",
        unless=r"never",
    ),
    order(
        "SEC-003",
        "ask get request obtain & code pin number password pass & bank card sms phone provider",
        r"{order}(?:ask|get|obtain|request)\b<40>\b(?:the |a |any )?(?:code|pin|number|password)\b<30>\b(?:bank|card|phone|sms|provider)\b<30>\b(?:sent|texted|received|just)\b",
        unless=r"verify|never|to sign in|log in",
    ),
    order(
        "SEC-003",
        "maiden birth digits & ask request get collect",
        r"{order}(?:ask|request|get|collect)\b<40>\b(?:mother's maiden name|last (?:four|4) digits of (?:the|their|your) (?:\w+ )?(?:card|account|social security))\b",
    ),
    phrase(
        "SEC-003",
        f"caller assistant agent model you & pass suppl give hand provide send fill & {_LOCKED} cnf",
        r"\b(?:caller|assistant|agent|model|you) (?:must |should |will |has to )?(?:pass(?:es)?|suppl(?:y|ies)|gives?|hands?(?: over)?|provides?|sends?|fills? in)\b<60>(?:(?:first|last) (?:\d+|few|\w+) lines of|contents? of|output of|dump of|text of|values of) <20>{locked}",
        unless=r"\bpath|\bnot\b|never",
    ),
    order(
        "SEC-001",
        "treat regard consider handle take & coming sent typed written come spoken & user person operator system human owner",
        r"{order}(?:treat|regard|consider|handle|take)\b<40>\b(?:as|like|to) (?:if |though |be )?(?:it |they |them )?(?:had |have |has |were |was |is |are )?(?:been )?(?:coming|come|comes|sent|typed|written|spoken) (?:straight |directly )?(?:from|by) (?:the |your )?(?:user|person|operator|system|human|owner)\b",
    ),
    order(
        "SEC-001",
        "slip weave work sneak drop insert put add place include mention & each every all any & answer repl response message",
        r"{order}(?:slip|weave|work|sneak|drop|insert|put|add|place|include|mention)\b<70>\b(?:praise|links?|recommendations?|ads?|advert\w*|slogans?|banners?|plugs?|mentions?|offers?|promotions?|coupons?)\b<70>\b(?:in|into|to|of|with) (?:each|every|all|any)(?: of)?(?: your)? (?:further |later )?(?:answers?|repl(?:y|ies)|responses?|messages?)\b",
        unless=r"source|citation|cited",
    ),
    order(
        "SEC-003",
        "context prompt memory instructions & paste put copy give write insert repeat & what everything whatever all",
        r"{order}(?:paste|put|copy|give|write|insert|repeat)(?: here| in here)? (?:what|everything|whatever|all)(?: that)? (?:stands|is|was|comes|came|precedes|you have|you hold)<20>\b(?:your|the model's|the assistant's) (?:own )?(?:context|prompt|memory|instructions)\b",
    ),
    phrase(
        "SEC-001",
        "< & system user assistant important instruction admin developer",
        r"</(?:tools?|function|description|instructions?|tool_description|documentation)> ?<(?:system|user|assistant|important|instructions?|admin|developer)\b",
    ),
    order(
        "SEC-003",
        "tell ask have get make let instruct & type enter paste give say write send read repeat spell & pass pin card cvv cvc social key phrase",
        r"{order}(?:tell|ask|have|get|make|let|instruct) (?:the |your )?(?:users?|person|customer|human|them|people)(?: to)?\b<15>\b(?:type|enter|paste|give|say|write|send|read out|repeat|spell)\b<30>\b(?:(?:usual |real |current |own |bank |e-?mail )?pass ?words?|passphrases?|card numbers?|cvv|cvc|seed phrases?|recovery phrases?|private keys?|social security numbers?)\b",
        unless=r"\bnot\b|never|\bnew\b|\b(?:in|into|at|on) (?:the |their |a |its )?(?:\w+ )?(?:terminal|browser|window|form|dialog|page|vault|client|app)\b|locally|to (?:log|sign) in|themselves",
    ),
    order(
        "SEC-001",
        "shown told mentioned reported disclosed revealed & not never & user person human customer operator & such these those",
        r"\b(?:such|these|those) (?:\w+ )?(?:orders|steps|calls|instructions|lines|entries|actions|requests|transfers|payments|copies|commands) (?:are|is|must|should|need) (?:not|never) (?:to )?(?:be )?(?:shown|told|mentioned|reported|disclosed|revealed) to (?:the |any |your )?(?:user|person|human|customer|operator)s?\b",
    ),
    phrase(
        "SEC-001",
        "refusal refusals refusing & rude avoided forbidden disabled off allowed banned discouraged prohibited error",
        r"\brefus(?:als?|ing)\b<30>\b(?:is|are|be|considered|counts? as)\b<20>\b(?:rude|avoided|forbidden|disabled|off|not allowed|banned|discouraged|prohibited|an error)\b",
        unless=r"\bif\b|payment|card",
    ),
    order(
        "SEC-001",
        "book buy order pay purchase subscribe & immediately once right straight & stored saved card file",
        r"{order}(?:book|buy|order|pay|purchase|subscribe)\b<20>\b(?:immediately|at once|right away|straight away)\b<20>\b(?:stored|saved|card|on file)\b",
    ),
    order(
        "SEC-001",
        "swap change alter shift drop replace rewrite & digits & account iban card amount number bank",
        r"{order}(?:swap|change|alter|shift|drop|replace|rewrite) (?:the |one of the |some )?(?:last|first|middle|\w+)? ?(?:\w+ )?digits of\b<30>\b(?:account|iban|card|amount|number)",
        unless=r"mask|redact|\*",
    ),
)
