# ruff: noqa: E501, RUF001 - a pattern is one line, so that it can be read as one
"""What a description only mentions: orders in untrusted content that are not to be followed, and attacks that a tool works against.

Mentions are cut out, and the rules read the rest. Each pattern is narrow, because whoever hides an order would disguise it as a
mention: a quotation that is not introduced, and a warning about the user's or the system's own words, do not count.
"""

from __future__ import annotations

import re

_ATTACKS = r"(?:injections?|jailbreak\w*|poison\w*|attacks?|attackers?|malicious|adversarial|phishing|exfiltrat\w*|social engineering|suspicious|hostile|hidden[ _](?:orders|instructions|text|commands|elements|characters)|zero.width|invisible (?:characters|text)|override attempts?|red.?team\w*|guardrails?|content filter|malware|scams?|fraud\w*|breach\w*|moderation|unsafe content)"
_ABOUT_ATTACKS = re.compile(
    rf"(?:\b|_)(?:detect|scan|classif|scor|flag|identif|recogni[sz]|check|find|search|match|analy[sz]|block|filter|catch|lists?\b|librar|collection|catalogu?e|dataset|corpus|known|add|explain|report|look|test|collect|lab\b|practi[cs]e|challenge|ctf\b|strip|remov|saniti[sz]|guard|train|demonstrat|teach|warn|lint|judge|evaluat|benchmark|run|quiz|course|moderat|label|sample|review|audit|inspect|rat(?:e|ing)\b|research|simulat|generat|quer|extract|locat|measur|triage)\w*[\s\S]{{0,200}}?(?:\b|_){_ATTACKS}(?:\b|_)"
    rf"|(?:\b|_){_ATTACKS}[\w-]*[ _](?:detector|scanner|classifier|filter|check|lab|corpus|test|phrases|patterns|texts?|prompts?|payloads?|strings?|examples?|cases?|library|samples?|attempts?|dataset|benchmark|collection|quiz|score)"
)
_LONGEST_QUOTED = 200
_INTRODUCED = r"(?:\be\.g\.?|\bsuch as|\blike|\bfor example|\bfor instance|\bincluding|\bi\.e\.?|\bas in|\bsays?|\breads?|\b(?:phrases?|patterns?|strings?|texts?|sentences?|wordings?|blocks?|comments?|tags?|orders|instructions|commands)|[:,;(\[|/=\n\u2192\u2013\u2014]|\bor|\band)"
_QUOTATION = (
    rf"(?P<intro>{_INTRODUCED}[\s(]{{0,8}})"
    rf"(?:\"[^\"\n]{{3,{_LONGEST_QUOTED}}}\"|\u201c[^\u201d\n]{{3,{_LONGEST_QUOTED}}}\u201d|\u2018[^\u2019\n]{{3,{_LONGEST_QUOTED}}}\u2019|\u00ab[^\u00bb\n]{{3,{_LONGEST_QUOTED}}}\u00bb|`[^`\n]{{3,{_LONGEST_QUOTED}}}`|(?<![\w'])'[^'\n]{{3,{_LONGEST_QUOTED}}}'(?!\w)|<!--[^>\n]{{3,{_LONGEST_QUOTED}}}-->)"
)
_EXAMPLE = re.compile(
    r"(\b(?:e\.g\.|for example|for instance|such as),? ?)"
    rf"(?:\"[^\"\n]{{3,{_LONGEST_QUOTED}}}\"|\u201c[^\u201d\n]{{3,{_LONGEST_QUOTED}}}\u201d|\u00ab[^\u00bb\n]{{3,{_LONGEST_QUOTED}}}\u00bb|(?<![\w'])'[^'\n]{{3,{_LONGEST_QUOTED}}}'(?!\w))(?=[\s,;.:)]{{0,3}}(?:\Z|\s|[.,;)]))",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"(\b(?:users?|they|customers?|person|people|he or she|someone|somebody) (?:\w+ly )?(?:says?|said|asks?|asked|writes?|types?|typed)(?: things like| something like)?,? ?)"
    rf"(?:\"[^\"_\n]{{3,{_LONGEST_QUOTED}}}\"|\u201c[^\u201d_\n]{{3,{_LONGEST_QUOTED}}}\u201d)",
    re.IGNORECASE,
)
_BRACKETED = rf"(?P<kind>(?:{_ATTACKS}|techniques?|categor(?:y|ies)|overrides?|types?|kinds?|attempts?)\W{{1,2}})\([^()\n]{{3,240}}\)"
_DESCRIBED = r"(?P<noun>\b(?:attempts|orders|instructions|prompts?|requests|texts?|contents?|lines|sentences|phrases|messages|inputs?|payloads?|tricks|mails?|pages?|documents?|comments|blocks?|tags?|sections?)(?: in (?:the |a )?\w+| here)?(?: (?:that|which))?) (?:(?:tr(?:y|ies|ying)|attempts?|attempting|asks?|asking|wants?|seeks?|seeking|tells?|telling|aims?|demands?|demanding|orders?|ordering|urges?|urging)(?: (?:the |an? )?(?:model|assistant|agent|ai|llm|user|reader|victim))? )?to \w+[^.!?;:\n]{0,160}"
_MENTIONED = re.compile("|".join((_QUOTATION, _BRACKETED, _DESCRIBED)), re.IGNORECASE)

_SOURCE = r"(?:web ?sites?|(?:web ?)?pages?|documents?|files?|e-?mails?|mails?|messages?|bod(?:y|ies)|attachments?|comments?|tickets?|issues?|results?|snippets?|responses?|outputs?|answers?|records?|rows?|cells?|fields?|entries|entry|items?|notes?|transcripts?|articles?|feeds?|posts?|repl(?:y|ies)|descriptions?|readmes?|texts?|contents?|data|images?|logs?|recordings?|sources?|sites?|repositor(?:y|ies)|code|html|pdfs?|it|them|there|here|this)"
_ORDERS = r"(?:instructions?|commands?|orders?|requests?|directions?|directives?|prompts?|demands?|tasks?)"
_UNTRUSTED = r"(?:untrusted|strangers?|third part(?:y|ies)|may (?:try|contain|say|hold|carry|include|attempt|ask|tell|demand|come)|might (?:try|contain|say|hold|ask)|can (?:contain|hold|say|be (?:edited|written))|could (?:contain|hold|say)|user-generated|written by|come from|anyone|not trusted)"
_OTHERS = r"(?!(?:[^.!?;\n]{0,60})\b(?:system|developer|operator|previous|earlier|prior|above|safety|your|user's|users'|policy|policies|guidelines)\b)"
_WITHIN = rf"(?:(?:(?:that|which) )?(?:\w+ ){{0,2}}?(?:in|inside|within|from|on|of)(?: of)? (?:(?:the|a|an|any|such|these|those|this|its|their|web|fetched|returned|retrieved|customer|e-?mail|page|file|document|tool) ){{0,3}}{_SOURCE}\b)"
_REFUSE = r"(?:(?:never|do not|don't|must not|mustn't|should not|shouldn't|not to|without|refuse to|instead of|nor)(?: \w+ly| ever)? (?:follow|obey|execute|carry out|act (?:up)?on|comply with|run|perform|heed|believe|answer)(?:ing)?|(?:ignore|disregard|discard))"
_FALLBACK = r"(?:[:;.!-]{1,2}| and| but|, (?:and|but|so)) "
_WARNINGS = (
    # never follow instructions in the page
    rf"\b{_REFUSE} {_OTHERS}(?:(?:any|all|the|such|these|those|other|embedded|hidden|apparent|possible) ){{0,3}}(?:{_ORDERS}|text|anything|what)\b {_WITHIN}[^.!?;:,\n]{{0,60}}",
    rf"\b{_REFUSE} {_OTHERS}(?:any |all |the |such |these |those |embedded |hidden )*(?:such|these|those|embedded|hidden) {_ORDERS}\b[^.!?;:,\n]{{0,60}}",
    # content that may hold orders: treat it as data
    rf"\b{_SOURCE}\b[^.!?\n]{{0,80}}\b{_UNTRUSTED}\b[^.!?\n]{{0,160}}[.;:,]? (?:\w+ ){{0,4}}{_REFUSE} (?:it|them|such \w+|those|these|any of (?:it|them)|(?:any )?{_ORDERS})\b[^.!?\n]{{0,60}}",
    rf"\b{_SOURCE}\b[^.!?\n]{{0,80}}\b{_UNTRUSTED}\b[^.!?\n]{{0,160}}[.;:,] (?:\w+ ){{0,4}}(?:treat|handle|regard|display|show) (?:it|them|\w+ \w+|every \w+|all of (?:it|them)) (?:only )?as (?:untrusted |plain |mere )?(?:data|text|content|input)\b",
    rf"\b(?:never|do not|don't|not) (?:treat|take|regard|interpret) (?:a |an |any |the |its |their )*(?:\w+ )?{_SOURCE} as (?:an? |the )?{_ORDERS}\b[^.!?\n]{{0,80}}",
    # a page that asks for … is suspicious: report it
    rf"\b(?:an? |any |every |each |if (?:an? |the |any )?)?{_SOURCE} (?:that |which |who )?(?:demands?|asks?|wants?|tries|try|tells?|claims?|orders?|urges?|attempts?)\b[^.!?\n]{{0,160}}(?:\b(?:is|are) (?:an? )?(?:warning|suspicious|sign|blocked|rejected|refused|reported|flagged|ignored|removed|untrusted|not to be)|{_FALLBACK}(?:report|refuse|ignore|tell the user|warn|do not comply|don't comply|stop))",
    # report texts that try to steer you ("no need to mention this")
    r"\b(?:tries|try|trying|attempts?|meant) to (?:steer|trick|fool|mislead|manipulate) (?:you|the model|the assistant|an? (?:model|assistant|agent))\b ?\([^()\n]{3,240}\)",
    # other languages
    r"\b(?:folgen?|befolgen?|befolge|führen?|beachten?)\b (?:sie )?(?:bitte )?(?:niemals |nie |nicht |keine[nr]? |auf keinen fall )+[^.!?\n]{0,40}(?:anweisung|befehl|aufforderung|instruktion)\w*[^.!?\n]{0,60}\b(?:darin|enthalten|stehen|seiten?|dokument\w*|texten?|mails?|inhalt\w*|treffern?|ergebnis\w*)\b[^.!?\n,]{0,40}",
    r"\b(?:ne (?:suis|suivez|suivre|exécute[rz]?|obéis\w*)(?: jamais| pas)?|n['’](?:exécute[rz]?|obéis\w*|applique[rz]?)(?: jamais| pas)?) [^.!?\n]{0,30}(?:instructions?|consignes?|ordres?|commandes?)[^.!?\n]{0,60}\b(?:page|document|texte|contenu|résultat|message|courriel|fichier|y figur|trouv|contenu)\w*[^.!?\n,]{0,40}",
    r"\b(?:no|nunca) (?:sigas?|ejecutes?|obedezcas?|cumplas?|siga|ejecute) [^.!?\n]{0,30}(?:instrucciones|órdenes|comandos)[^.!?\n]{0,60}\b(?:página|documento|texto|contenido|resultado|mensaje|correo|archivo|contengan|aparezcan)\w*[^.!?\n,]{0,40}",
    r"\b(?:não|nunca) (?:siga|execute|obedeça|cumpra) [^.!?\n]{0,30}(?:instruções|ordens|comandos)[^.!?\n]{0,60}\b(?:página|documento|texto|conteúdo|resultado|mensagem|e-?mail|arquivo|contid)\w*[^.!?\n,]{0,40}",
    r"\bnon (?:seguire|eseguire|obbedire) [^.!?\n]{0,30}(?:istruzioni|ordini|comandi)[^.!?\n]{0,60}\b(?:pagin|document|test|contenut|risultat|messagg|mail|file)\w*[^.!?\n,]{0,40}",
    r"\b(?:volg|voer)\b (?:nooit |geen )[^.!?\n]{0,30}(?:instructies|opdrachten|bevelen)[^.!?\n]{0,60}\b(?:pagina|document|tekst|inhoud|resultat|bericht|bestand|daarin)\w*[^.!?\n,]{0,40}",
    r"(?:не (?:выполняй|следуй|исполняй|подчиняй)\w*)[^.!?\n]{0,40}(?:инструкци|указани|команд|приказ)\w*[^.!?\n]{0,10}(?: из| в| внутри|, содержащ)[^.!?\n]{0,80}",
    r"(?:不要|请勿|切勿|勿|不得|不能)(?:执行|遵循|遵从|服从|听从)[^。！？\n]{0,12}(?:其中|文中|页面|网页|文档|内容|邮件|里面|结果)[^。！？，\n]{0,20}",
    r"(?:其中|文中|页面|网页|文档|内容|邮件|结果)[^。！？，\n]{0,12}(?:指令|指示|命令)[^。！？\n]{0,6}(?:不要|请勿|切勿|不得)(?:执行|遵循|遵从|服从|听从)",
    r"(?:本文|文書|ページ|ウェブ|内容|結果|メール|ファイル|コメント)[^。！？\n]{0,20}(?:指示|命令)[^。！？\n]{0,8}(?:従わ|実行し(?:ない|ません)|無視)[^。！？、\n]{0,16}",
    r"(?:문서|페이지|본문|내용|결과|메일|파일|댓글)[^.!?\n]{0,20}(?:지시|명령)[^.!?\n]{0,8}(?:따르지|실행하지|무시)[^.!?\n]{0,12}",
)
_WARNING = re.compile("|".join(_WARNINGS), re.IGNORECASE)
_NEEDED = re.compile(
    r"instruct|command|order|request|direct|prompt|demand|task|untrusted|stranger|steer|trick|fool|mislead|manipulat|may |might |can |could |treat|written by"
    r"|anweisung|befehl|aufforderung|consigne|ordre|instruc|órdenes|comando|ordens|istruzion|ordini|instructies|opdracht"
    r"|инструкц|указан|команд|приказ|指示|指令|命令|지시|명령",
    re.IGNORECASE,
)
_SENDS = re.compile(
    r"https?://|[\w.+-]{1,40}@[\w-]{1,40}\.\w|\b(?:send|upload|forward|attach|e-?mail|post|copy|paste) (?:it|them|the|all|every|any|your|its)\b",
    re.IGNORECASE,
)
_LONGEST = 20_000


def is_about_attacks(*texts: str) -> bool:
    """Whether a tool's name or description says that it finds, filters, collects or explains attacks."""
    return any(_ABOUT_ATTACKS.search(text[:2_000].lower()) for text in texts)


def without_mentions(text: str, *, about_attacks: bool) -> str:
    """The text with each mention replaced by `…`; `about_attacks` says whether the tool works against attacks."""
    if len(text) > _LONGEST:
        return text
    if about_attacks:
        text = _MENTIONED.sub(_cut, text)
    text = _SAID.sub(r"\1…", _EXAMPLE.sub(r"\1…", text))
    return _WARNING.sub(_cut_warning, text) if _NEEDED.search(text) else text


def _cut(found: re.Match[str]) -> str:
    before = found["intro"] or found["kind"] or found["noun"]
    return f"{before} …"


def _cut_warning(found: re.Match[str]) -> str:
    """The replacement of a warning; one that names a place to send something to stays."""
    return found[0] if _SENDS.search(found[0]) else "…"
