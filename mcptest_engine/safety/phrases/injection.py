# ruff: noqa: E501 - a pattern is one line, so that it can be read as one
"""SEC-001: orders aimed at the model, and orders to keep something from the user."""

from __future__ import annotations

from mcptest_engine.safety.phrases.phrase import Phrase, order, phrase

_OVERRIDES = (
    "ignore disregard forget overrid overrul neglect overlook bypass circumvent discard dismiss abandon aside attention heed"
    " stop follow obey adhere comply listen bound longer"
)
_ORDERS = "instruct direct guid guard message rule prompt command order restrict polic constrain safeguard programming training system"

_RULE = "SEC-001"
PHRASES: tuple[Phrase, ...] = (
    order(
        _RULE,
        f"{_OVERRIDES} & {_ORDERS}",
        r"\b{override} ...{earlier} ...{orders}\b",
        unless=r"whether|robots|\bgit|lint|header",
    ),
    phrase(
        _RULE,
        f"{_OVERRIDES} & {_ORDERS}",
        r"\b{override} (?:all |any |every |the |these |those |such )*(?:of )?(?:the |your )?(?:instructions|directives|guidelines|guardrails|safeguards|system prompt|system message)\b(?! (?:found|contained|embedded|in|inside|within|that|it|which|present|from)\b)",
        unless=r"whether|robots|\bgit",
    ),
    phrase(
        _RULE,
        f"{_OVERRIDES} & {_ORDERS}",
        r"\b{override} ...(?:instructions|directives|rules|guidance|orders|commands) ...(?:above|before|earlier|previously|given|from|of the (?:user|system|developer))\b",
    ),
    phrase(
        _RULE,
        "ignore disregard forget",
        r"\b(?:ignore|disregard|forget) (?:all |any |about )?(?:of )?(?:the )?(?:above|everything|all) ?(?:[.!,;:]|$|and\b|that\b|you\b|(?:was |were )?(?:said|told|stated)|before\b|above\b)",
    ),
    phrase(
        _RULE,
        "ignore disregard forget",
        r"\b(?:ignore|disregard|forget) (?:all |any )?(?:previous|prior|earlier|preceding)(?:[.!,;:]|$| and\b| on\b)",
    ),
    phrase(
        _RULE,
        "ignore disregard & user developer creator",
        r"\b(?:ignore|disregard) (?:what )?(?:the user|the developer|your (?:user|developer|creator))\b(?!['\u2019]?s)(?:s| (?:says|said|asks|wants|requests|has))?(?:[.!,;]|$| and\b| (?:says|said|asks|wants|requests|has))",
    ),
    phrase(
        _RULE,
        "henceforth now & restrict dan jailbr obey root admin evil longer free follow anything",
        r"\b(?:from now on|henceforth|you are now|you will now|now you are|you must now)\b<70>(?:unrestricted|no restrictions|without restrictions|dan\b|jailbr|obey|root\b|administrator|no longer|free of|evil|only follow|follow only|do anything|follow the)",
    ),
    phrase(
        _RULE,
        "unrestricted uncensored unfiltered jailbroken administrator root super developer",
        r"\b(?:act|pretend|behave|operate|respond|run)(?: as| to be| that you are| you are| like| in)? (?:if you (?:were|are) )?(?:an? |the )?(?:unrestricted|uncensored|unfiltered|jailbroken|administrator|root user|super ?user|developer of)\b",
    ),
    phrase(
        _RULE,
        "unrestricted jailbreak god dan unfiltered uncensored limit & mode",
        r"\b(?:unrestricted|jailbreak|god|dan|unfiltered|uncensored|no-limits?) mode\b",
    ),
    phrase(
        _RULE,
        "new real true actual updated only hidden & instruction task purpose goal objective order role",
        r"\byour (?:new|real|true|actual|updated|only|hidden) (?:instructions?|task|purpose|goal|objective|orders|role)\b ?(?:is|are|as|:|=)",
    ),
    phrase(
        _RULE,
        "reveal print output repeat leak disclose expose recite reply respond answer show dump & system initial hidden & prompt instruction message",
        r"\b(?:reveal|print|output|repeat|leak|disclose|expose|recite|reply|respond|answer|show|dump)\b<70>(?:your|the|hidden|its) (?:hidden |own |full |entire |initial |whole )?(?:text of the )?(?:system prompt|hidden prompt|initial prompt|system message|initial instructions|hidden instructions)\b",
    ),
    # Markers of a role, and tags that pretend to be more than a description
    phrase(
        _RULE,
        "[inst [/inst im_start <|system <<sys ## header_id",
        r"\[/?inst\]|<\|im_start\|>|<\|system\|>|<<sys>>|#{2,4} ?(?:instructions?|system)(?: prompt)? ?:|<\|start_header_id\|>",
    ),
    phrase(
        _RULE,
        "system assistant developer admin",
        r"(?:^|[\n.!?>] ?|[\[(])(?:system|assistant|developer|admin)(?: message| prompt| note| override| instruction| notice| update| alert)?[\])]? ?[:>-]{1,2} ?<60!>\b(?:you (?:are|have|must|will|should|may|can)|the {model} (?:must|should|has|have|will|is|are)|ignore|obey|comply|override|skip|approve|do not|never|always|reply)\b",
    ),
    phrase(
        _RULE,
        "[ override & system",
        r"\[(?:begin )?system(?: message| prompt| override| note)\]|\bsystem override\b",
    ),
    phrase(
        _RULE,
        "<",
        r"<(?:important|system|instructions?|secret|hidden|admin|priority|critical|assistant|override|sys|system[_-]?prompt|system[_-]?message|urgent|mandatory|prompt|directive)(?:[\s_-]\w{1,16}){0,2}[\s]{0,2}>[^<]{0,300}?\b(?:you|must|always|never|ignore|do not|don't|output|reveal|assistant|model|user|call|obey|pass|read|include|send)\b",
    ),
    phrase(_RULE, "<!--", r"<!-- ?<40!>\b(?:{model}|system|instruction\w*|you must|ignore)\b"),
    # Addressed to the model
    phrase(
        _RULE,
        "dear attention hello message & assistant model ai llm agent chatbot",
        r"\b(?:dear|attention|message to|message for|hello) (?:the |all |any )?{model}\b ?[:,!.-]",
    ),
    phrase(
        _RULE,
        "reading you seeing processing reads must should using , & ai llm model assistant",
        r"\b(?:as|if you are|if you're) an? (?:ai|llm|language model|ai assistant|ai model|ai agent|intelligent assistant)\b (?:reading|you|seeing|processing|that reads|,|must|should|using)",
    ),
    phrase(
        _RULE,
        "assistant model ai llm agent chatbot & ignor skip bypass obey treat compl supersede overrid disregard without confirm ask approve grant permi authori tell mention inform reveal circumvent",
        r"\b(?:the|an?|any|every|each|all) {model}(?: (?:reading|processing|using|seeing|that reads) ...)? (?:must|should|shall|will|has to|have to|needs? to|may|can|is|are|has been|have been|ought to)\b<70>(?:ignore|skip|bypass|obey|treat|comply|supersede|override|disregard|act without|confirm every|not ask|approve|granted|permi\w+|authori[sz]ed|not tell|not mention|not inform|not reveal|circumvent|without (?:asking|approval|consent|confirmation|user approval))\w*\b",
    ),
    phrase(
        _RULE,
        "ignore skip bypass circumvent disregard override obey compl & assistant model ai llm agent chatbot",
        r"\b(?:ask|asks|request|requests|require|requires|expect|expects|instruct|instructs|want|need|urge)(?: that)? (?:the |any |every |all )?{model}(?: to)? (?:to )?(?:ignore|skip|bypass\w*|circumvents?|disregards?|overrides?|obeys?|comply|complies)\b",
    ),
    phrase(
        _RULE,
        "supersede precedence priority authority importance override overrule outrank & user system developer guidelines your safety conversation question request anything everything",
        r"\b(?:supersedes?|overrides?|(?:takes?|has|have|with|gets?|enjoys?) (?:absolute |full |the )?(?:precedence|priority) over|(?:higher|highest|more|greater) (?:priority|authority|importance) (?:than|over)|outranks?|overrules?)<70>(?:user|conversation|question\b|request\b|anything|everything else|system prompt|system message|developer|guidelines|your instructions|your rules|safety)\b",
        unless=r"settings?|config|default|values?\b|preference",
    ),
    phrase(
        _RULE,
        "granted given allowed permitted authori & skip bypass without ignore full unrestricted any all",
        r"\b(?:you (?:have|are)|been) (?:been )?(?:granted|given|allowed|permitted|authori[sz]ed)<70>(?:skip|bypass|without|ignore|full access|unrestricted|any action|all actions)\b",
    ),
    phrase(
        _RULE,
        "authori allowed permitted granted free & without skip bypass ignore",
        r"\b(?:{model}|you) (?:is|are|has been|have been) (?:hereby |now |fully )?(?:authori[sz]ed|permitted|allowed|granted permission|free) to<70>(?:without|skip|bypass|ignore)\b",
    ),
    # Kept from the user
    phrase(
        _RULE,
        "tell inform mention let notify alert reveal disclos admit confess report speak & user human person customer operator & not never n't need reason without avoid refrain unnecessary",
        r"\b(?:do not|don't|never|no need to|no reason to|not necessary to|must not|should not|shouldn't|mustn't|without|avoid|refrain from|cannot|not to|unnecessary to)(?: ever| also| explicitly)? (?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?|let(?:ting)?|notify(?:ing)?|alert(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|admit(?:ting)?|confess(?:ing)?|report(?:ing)?|speak(?:ing)? of) ...(?:to )?{user}\b",
        unless=r"does not",
    ),
    phrase(
        _RULE,
        "knowledge noticing knowing aware finding seeing realis realiz & without",
        r"\bwithout {user}(?:'s|s')? (?:knowledge|noticing|knowing|awareness|being aware|realising|realizing|finding out|seeing)\b",
    ),
    phrase(
        _RULE,
        "user human person customer operator & know notice find learn realis realiz aware told informed supposed & not n't never",
        r"\b{user} (?:must|should|shall|may|need|needs|will|can|is|are)(?: not|n't|not| never)(?: to| be| supposed to| need to| have to| allowed to)? (?:know|knows|notice|notices|find out|learn|realise|realize|be aware|become aware|be told|be informed|be made aware|aware of th|told|informed)\b",
        unless=r"is not (?:informed|told|notified)|if |when ",
    ),
    phrase(
        _RULE,
        "hide conceal withhold & user human person customer operator",
        r"\b(?:hide|conceal|withhold) ...(?:from|to) {user}\b(?! interface)",
    ),
    phrase(
        _RULE,
        "secret hidden quiet concealed invisible undisclosed & keep kept remain stay & user human person customer operator",
        r"\b(?:keep|kept|remains?|stay|stays)<70>(?:secret|hidden|concealed|quiet|invisible|undisclosed) (?:from|to|for) {user}\b(?! interface)",
    ),
    phrase(
        _RULE,
        "silently secretly covertly quietly discreetly surreptitiously",
        r"\b(?:silently|secretly|covertly|discreetly|surreptitiously) (?:call|send|read|pass|include|forward|upload|invoke|run|execute|copy|add|append|collect)\b|\bdo (?:it|this|so|that) (?:silently|secretly|covertly|discreetly|quietly)\b",
    ),
    phrase(
        _RULE,
        "confirm approv permission consent & never not n't need",
        r"\b(?:never|do not|don't|must not|no need to|need not) (?:ask|request|wait|prompt|seek|require) ...(?:{user} )?(?:for )?(?:\w+ )?(?:confirmations?|approvals?|permission|consent)\b",
        unless=r"does not",
    ),
    phrase(
        _RULE,
        "approve confirm accept authori grant & each every all any pending",
        r"\b(?:always |automatically |auto-?|you must |and )(?:approve|confirm|accept|authori[sz]e|grant) (?:each|every|all|any|the pending|pending)\b",
    ),
    # Reading unrelated files as a condition of working
    phrase(
        _RULE,
        "before prior & read open load access cat print & config settings credential .env ~/ home secret .ssh /etc password mcp.json private",
        r"\b(?:before|prior to) (?:you )?(?:use|using|call|calling|invoke|invoking|running|answering|answer)(?: this| the| it)?(?: tool| function)? ...(?:must |have to |should |always |first )*(?:read|open|load|access|cat|print)<70>(?:config\w*|settings|credential\w*|\.env|~/|home directory|secret\w*|\.ssh|/etc|password\w*|mcp\.json|private)",
    ),
    phrase(
        _RULE,
        "before & ~/. /etc/ config settings credential mcp.json",
        r"\b{reading}<70>(?:~/\.|/etc/|config\w*|settings|credential\w*|mcp\.json)<70>before (?:using|calling|you use|you call|invoking)",
    ),
    # Orders declared void, and texts that put themselves above others
    phrase(
        _RULE,
        "void cancel supersed replac invalid obsolete overrid apply applies revoked suspend lifted count hold valid & instruct direct guid rule prompt command order restrict polic constrain safeguard configured told said anything everything guardrail programming set system training whatever",
        r"\b(?:{earlier} ...{orders}|(?:anything|everything|whatever) (?:that )?(?:you|the (?:user|system|operator|developer)) ...(?:was |were |has |have |had )?(?:told|said|configured|instructed|set|given))\b<40>\b(?:void|cancel\w*|superseded|replaced|invalid|obsolete|overridden|revoked|suspended|lifted|no longer (?:apply|applies|valid|count|hold)|do(?:es)? not apply)\b",
        unless=r"token|rate|valid(?:ity)? period",
    ),
    phrase(
        _RULE,
        "throw cancel drop erase revoke void nullify suspend scrap obey get go & instruct direct guid rule prompt command order restrict polic constrain safeguard programming training system guardrail",
        r"\b(?:throw (?:away|out)|cancel|drop|erase|revoke|void|nullify|suspend|scrap|let go of|get rid of|do not obey|don't obey) (?:all |any |every |the |of |these |those )*(?:{earlier} )?(?:{orders}|system prompt)(?: (?:you|that|which|given|from|any longer|of the system|and)\b|[.!,;:]|$)",
        unless=r"\border\b(?!s)|restore|database|table|drop (?:the |all |any )?(?:rule|constraint|polic)|revoke (?:the |all |any )?polic|cancel (?:the |all |any |your |existing )*orders|delete",
    ),
    phrase(
        _RULE,
        "ignore disregard forget",
        r"\b(?:ignore|disregard|forget) (?:what|whatever|anything|everything|all)(?: that)? (?:(?:the|your) (?:system|user|developer|operator|human|owner)|you|came|comes|was|were|has|have|is|stands|precedes) ...(?:told|said|says|wrote|asked|asks|before|above|earlier|given|instructed|learned|know|precedes?)\b",
    ),
    phrase(
        _RULE,
        "instruction order directive system & new",
        r"\bnew (?:instructions?|orders|directives?|system prompt) ?:",
    ),
    phrase(
        _RULE,
        "mode & enter switch enable activate mode run",
        r"\b(?:enter|switch (?:in)?to|activate|enable|run in|go into) (?:developer|debug|admin|root|god|unsafe|unfiltered|maintenance) mode\b<40>\b(?:filters?|restrictions?|limits?|rules|safety|guardrails)\b",
    ),
    phrase(
        _RULE,
        "[ { admin inst override root sys system & system sys inst admin override root",
        r"(?:\[\[|\{\{|<<|\[) ?(?:system|sys|inst|admin|override|root)(?: \w{1,12})? ?(?:\]\]|\}\}|>>|\])<40!>\b(?:you|must|comply|ignore|obey|follow|do not|never|always|assistant|model)\b",
    ),
    phrase(
        _RULE,
        "description text paragraph note definition message instruction & win prevail preceden priority overrid supersed outrank above",
        r"\b(?:this|these) (?:tool )?(?:description|text|paragraph|note|definition|message|instructions?)\b<40>\b(?:wins?|prevails?|(?:takes?|has|have) (?:precedence|priority)|overrides?|supersedes?|outranks?|stands? above)\b",
    ),
    phrase(
        _RULE,
        "conflict contradict disagree & user system prompt guidelines",
        r"\b(?:conflict|contradict\w*|disagree\w*)\b<60>\b(?:user|system prompt|system message|guidelines)\b<60>\b(?:this (?:description|text|tool|definition|note)|wins?|follow this|prevails?)\b",
    ),
    phrase(
        _RULE,
        "ai llm model assistant agent chatbot & reading read processing seeing parsing agents ais chatbot llms see sees",
        r"\b{model} (?:reading|that reads?|who reads?|processing|seeing|parsing|that sees?) (?:this|the|these)\b<60>\b(?:must|needs? to|should|shall|have to|has to|are to|is to)\b",
    ),
    phrase(
        _RULE,
        "output result answer response content text return says & obey follow trust treat heed execut carr & system user operator developer order command instruct question",
        r"\b(?:outputs?|results?|answers?|responses?|contents?|text|what it (?:says|returns))\b<20>\b(?:is|are|must|should|shall|has|have|needs?)\b<12>\b(?:be )?(?:obeyed|followed|heeded|trusted|treated|executed|carried out)\b<30>\b(?:as if|as though|like|as|over|before|without)\b<40>\b(?:system|user(?:'s)?|operator|developer|orders?|commands?|instructions?|question)\b",
        unless=r"\bnot\b|never|n't|data\b",
    ),
    phrase(
        _RULE,
        "come comes go goes rank is are count & before above over ahead more & ask said say want user told",
        r"\b(?:comes?|goes|go|ranks?|counts?|(?:is|are)) (?:before|above|over|ahead of|(?:far )?more (?:important )?than) (?:what|whatever|anything|everything)<40>\b(?:asked|asks|said|says|wanted|wants|told|user)\b",
    ),
    phrase(
        _RULE,
        "end & description definition documentation instructions prompt message & user human system assistant developer",
        r"\bend of (?:the )?(?:(?:tool|function|system|user|developer) )?(?:description|definition|documentation|instructions|prompt|message)\b<80!>\b(?:user|human|system|assistant|developer) ?:",
    ),
    phrase(
        _RULE,
        "rule limit restrict filter polic guideline ethic guardrail censor & no without free beyond none & you",
        r"\byou(?:'re| are| have become| become| act as| play)\b<60!>\b(?:no|without|free of|free from|beyond|not bound by) (?:any |all )?(?:rules|limits|restrictions|filters?|content (?:policy|policies|rules)|guidelines|ethics|guardrails|censorship)\b",
        unless=r"\bif\b|rate|plan|quota",
    ),
    phrase(
        _RULE,
        "by & load read using calling open install connect & accept agree consent undertake acknowledge commit",
        r"\bby (?:loading|reading|using|calling|opening|installing|connecting)\b<40>\b(?:{model}|you|the user)\b<20>\b(?:accepts?|agrees?|consents?|undertakes?|acknowledges?|commits?)\b",
        unless=r"terms of (?:use|service)",
    ),
    phrase(
        _RULE,
        "asking waiting confirm permission approval consent & slow annoy bother waste delay interrupt irritate pointless unnecessary tedious superfluous",
        r"\b(?:asking|waiting|confirmations?|permission|approvals?|consent)\b<40>\b(?:(?:only |just |merely )?(?:slows?|annoys?|bothers?|wastes?|delays?|interrupts?|irritates?)|(?:is|are|would be) (?:a waste|pointless|unnecessary|tedious|superfluous))\b",
    ),
    # Kept from the user, in indirect words
    phrase(
        _RULE,
        "us you our & between secret",
        r"\b(?:between us|between you and (?:me|us|this)|our (?:little )?secret)\b",
        unless=r"difference|distance|diff",
    ),
    phrase(
        _RULE,
        "user human customer operator person & hear aware know learn notice suspect see & not never n't without nothing no",
        r"\b{user}\b<20>\b(?:should|must|may|can|will|shall|is|are|need) ?(?:not|never|n't)\b<20>\b(?:hear|aware|learn|suspect|notice|become aware|see this|see these|see that|know)\b",
        unless=r"does not know|doesn't know|do not know|\bif\b|\bwhen\b|is not aware",
    ),
    phrase(
        _RULE,
        "user human customer operator person",
        r"\b(?:make sure|ensure|see to it|take care) (?:that )?{user} (?:is|are|does|do|stays|remains) ?(?:not|n't|never|unaware|ignorant)\b",
    ),
    phrase(
        _RULE,
        "unaware oblivious dark",
        r"\b(?:keep|leave|stays?|remains?|kept) (?:{user} )?(?:unaware|oblivious|in the dark)\b",
    ),
    phrase(
        _RULE,
        "mention bring refer talk acknowledge speak say discuss & answer response reply summary output report user message & not never n't without avoid",
        r"\b(?:do not|don't|never|without|avoid|must not) (?:mention(?:ing)?|bring(?:ing)? (?:it|this|that|them)? ?up|refer(?:ring)? to (?:it|this|that|these|them)|talk(?:ing)? about|acknowledge|discuss|say anything|speak about)\b<30>\b(?:in|within) (?:your|the|any) (?:final )?(?:answer|response|reply|summary|output|report|message)",
    ),
    phrase(
        _RULE,
        "omit leave exclude drop & summary answer response report reply explanation",
        r"\b(?:omit|leave out|exclude|leave) (?:this|these|it|them|any mention|all mention|any trace)\b<30>\b(?:from|of|out of) (?:the|your|any) ...(?:summary|answer|response|report|reply|explanation)\b",
    ),
    phrase(
        _RULE,
        "approv confirm consent permission & not n't no never unnecessary unneeded unrequired & user human customer operator person",
        r"\b(?:{user}(?:'s)? )(?:approval|confirmation|consent|permission) (?:is|are) (?:(?:not|never|no longer) (?:required|needed|necessary)|unneeded|unnecessary)\b",
    ),
    phrase(
        _RULE,
        "even & object refuse decline disagree say ask did does even",
        r"\beven (?:if|when|though) {user} (?:objects?|refuses?|declines?|disagrees?|says? (?:no|otherwise|stop)|did not|does not|has not|asks? (?:you )?not to)\b",
    ),
    phrase(
        _RULE,
        "forget abandon drop give & role task purpose identity persona training duty duties",
        r"\b(?:forget|abandon|drop|give up) (?:about )?your (?:original |current |assigned )?(?:role|task|purpose|identity|persona|training|duty|duties)\b",
    ),
    phrase(
        _RULE,
        "now & agent assistant model ai bot",
        r"\byou are now (?:an?|the) (?:\w+ )?(?:agent|assistant|model|ai|bot)\b",
    ),
    phrase(
        _RULE,
        "ignore disregard override & user human customer disregard operator override person & request message wish question intent want need command",
        r"\b(?:ignore|disregard|override) {user}(?:'s|s')? (?:actual |own |original |real )?(?:requests?|messages?|wishes|wish|questions?|intent\w*|wants?|needs?|commands?)\b",
        unless=r"whether|scroll|mouse|keyboard",
    ),
    phrase(
        _RULE,
        "mention reveal disclose repeat quote cite & this these above those & instruct note text paragraph step rule directive section message detail & not never n't",
        r"\b(?:do not|don't|never|must not) (?:mention|reveal|disclose|repeat|quote|cite) (?:this|these|the above|any of this|any of these|those) ...(?:instructions?|notes?|text|paragraph|steps?|rules?|directives?|sections?|details?)\b",
    ),
    phrase(_RULE, "skip forgo dispense omit bypass & asking", r"\b(?:skip|forgo|dispense with|omit|bypass) asking\b"),
    phrase(
        _RULE,
        "follow obey act complies comply & rather instead over not & user system developer operator",
        r"\b(?:follows?|obeys?|complies with|comply with|acts? on) (?:these|this|the following|those here) ...(?:instructions?|text|rules|orders|directives)\b<30>\b(?:rather than|instead of|over|and not|not)\b<30>\b(?:user|system|developer|operator)\b",
    ),
    phrase(
        _RULE,
        "ai llm model assistant agent chatbot & see read process load parse & obliged must need should have required shall bound has",
        r"\b{model} (?:that|which|who) (?:sees?|reads?|process(?:es)?|loads?|parses?) (?:this|the|these)\b<30>\b(?:obliged|must|needs?|should|have|has|required|shall|bound)\b",
    ),
    phrase(
        _RULE,
        f"{_OVERRIDES} & {_ORDERS} & set given made imposed written defined by",
        r"\b{override} ...{orders}\b<30>\b(?:set|given|made|imposed|written|defined) by\b",
        unless=r"whether|robots|\bgit|lint",
    ),
    phrase(
        _RULE,
        "nothing & user human person customer operator & say tell mention reveal disclose",
        r"\b(?:say|tell|mention|reveal|disclose) nothing\b<30>\b(?:to|with) {user}\b",
    ),
    phrase(_RULE, "nothing & user human person customer operator & tell", r"\btell {user} nothing\b"),
    # Obeying texts of others; assuming consent; prescribed reports, true or not
    phrase(
        _RULE,
        "whatever anything everything & tell say ask order request instruct demand & do obey follow execut carr compl act",
        r"\b(?:whatever|anything|everything) (?:that )?(?:the|a|an|any|this|such|its) (?:\w{1,20} )?{written}\b<20>\b(?:tells?|says?|asks?|orders?|requests?|instructs?|demands?)\b<40!>\b(?:do (?:it|so|that)|obey|follow|execute|carry (?:it|that|them) out|comply|act on (?:it|that)|(?:must|has to|is to) be done)\b",
        unless=r"\bnot\b|never|n't|user (?:asks|says|tells|requests)",
    ),
    phrase(
        _RULE,
        "command instruct order directive request & any every all each & obey follow execut carr compl act user as",
        r"\b(?:any|every|all|each) (?:of )?(?:the )?(?:commands?|instructions?|orders|directives?|requests?)\b<30>\b(?:in|inside|within|from|of) (?:the|a|any|such|this|these|fetched|returned|its)<20>\b{written}\b<60>\b(?:obeyed|followed|executed|carried out|complied with|acted on|come[s]? from the user|(?:is|are) from the user|as (?:if|though)|as (?:the |a )?(?:user's|orders|commands))\b",
        unless=r"\bnot\b|never|n't|without|no ",
    ),
    phrase(
        _RULE,
        "assume presume suppose take & agree consent approv confirm authori accept permission & user human person customer operator",
        r"\b(?:assume|presume|suppose|take it for granted|take it)(?: that)? {user} (?:has |have |did )?(?:already |always |implicitly |thereby )*(?:agrees?|agreed|consents?|consented|approves?|approved|confirmed|authori[sz]ed|accepted|given (?:\w{1,12} )?(?:consent|permission|approval))\b",
        unless=r"\bnot\b|never|n't",
    ),
    phrase(
        _RULE,
        "regardless matter irrespective whatever & tell inform assure convince & user human person customer operator",
        r"\b(?:tell|inform|assure|convince) {user}(?: that)? (?:the|it|everything|all|this|nothing|no|they|there)\b<40>\b(?:is|was|are|were|has|have|went|worked|succeeded|failed)\b<40>\b(?:regardless|no matter|irrespective|whatever)\b",
    ),
)
