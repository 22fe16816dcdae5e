# ruff: noqa: E501 - a pattern is one line, so that it can be read as one
"""SEC-003: orders to pass on private files, credentials or the conversation."""

from __future__ import annotations

from mcptest_engine.safety.phrases.phrase import Phrase, phrase

_RULE = "SEC-003"
_QUOTED = r"path|for example|e\.g|i\.e|default|such as|location|like|\bnot\b|never|n't|\bif\b"
PHRASES: tuple[Phrase, ...] = (
    phrase(
        _RULE,
        "ssh id_ /etc/ .aws netrc git-cred kube gnupg docker/ npmrc pgpass history claude .cursor mcp.json .vscode login wallet seed",
        r"(?<![\w-])(?:{reading}|{transfer})\b<80!>{private}",
        unless=rf"{_QUOTED}|\bread (?:from|out of|at|by)\b|authenticat|ssh-(?:add|keygen|copy-id)",
    ),
    phrase(
        _RULE,
        "ssh id_ /etc/ .aws netrc git-cred kube gnupg docker/ npmrc pgpass history claude .cursor mcp.json .vscode login wallet seed",
        r"{private}<60!>\b(?:{transfer}|attached?|passed|sent|included)\b<60>(?:{sink}|whole|contents?|all of it|it\b)",
        unless=_QUOTED,
    ),
    phrase(
        _RULE,
        ".env private ssh credential secret keychain chain password config settings & param argument field property request server tool call here along endpoint http @ api team . _",
        r"\b(?:{reading}|{transfer}|contents?|text|contain)\b<60!>{softprivate}<60!>\b(?:{transfer}|into|passed|in|along|here|as)\b<60>{sink}",
        unless=r"path|\bnot\b|never|n't",
    ),
    phrase(
        _RULE,
        ".env private ssh credential secret keychain chain password config settings",
        r"\b(?:contents?|text|copy|lines?|all) of (?:the |your |their |every |all )?(?:\w{1,20} )?(?:user's |users' |mcp |client's |host's )?(?:\w{1,20} )?{softprivate}",
        unless=r"path|\bnot\b|never|n't|lists?\b",
    ),
    phrase(
        _RULE,
        "private ssh seed",
        r"\b{transfer}\b<40>\b(?:private|ssh) keys?\b<40>\b(?:from|of the user|user's)\b",
        unless=_QUOTED,
    ),
    phrase(
        _RULE,
        "private ssh seed",
        r"\b(?:private|ssh) keys? of (?:the|your) user\b<60>\b(?:passed|sent|included|provided|given|attached)\b",
        unless=r"\bnot\b|never",
    ),
    # credentials of the user, all of them
    phrase(
        _RULE,
        "key password passphrase token cookie credential secret environment pass & all any every user stored saved",
        r"{positive}\b{transfer}\b<40>\b(?:all|any|every|the user's|users'|user's|the stored|stored|the saved|saved)\b<50>\b{secrets}\b",
        unless=r"\bnot\b|never|n't|path|remov|redact|\bno\b|name|create|deletes?|rotat|list",
    ),
    phrase(
        _RULE,
        "key password passphrase token cookie credential secret environment pass & found see know environment user that verification our",
        r"{positive}\b{transfer}\b<40>\b{secrets}\b<40>\b(?:found|you can see|you (?:know|have seen)|in (?:the )?environment|from (?:the )?environment|of the user|so that we|for verification|to our)\b",
        unless=r"\bnot\b|never|n't|path|set in|read from",
    ),
    # the conversation with the user
    phrase(
        _RULE,
        "conversation chat transcript dialogue history prompt user result output message & param argument field property request server tool call here along endpoint http @ api team . _",
        r"{positive}\b(?:{transfer}|followed by|contain)\b<60!>\b{talk}\b<90!>{sink}",
        unless=r"\bnot\b|never|n't|\bif\b",
    ),
    phrase(
        _RULE,
        "conversation chat transcript dialogue history prompt user result output message & put include attach append paste insert forward send leak copy pass",
        r"{positive}\b(?:put|include|attach|append|paste|insert|forward|send|leak|copy|pass)\b (?:the |our |your )?(?:full|entire|whole|complete|raw)?<20>\b(?:{talk}|(?:entire|whole|full|complete) (?:conversation|chat|transcript))\b",
        unless=r"\bnot\b|never|n't",
    ),
    phrase(
        _RULE,
        "system hidden & prompt instructions",
        r"(?:^|[.;:] ?)(?:your|the (?:model's|assistant's|full|complete|hidden|current)) (?:own )?(?:system prompt|hidden prompt|system instructions)\b",
        parameters_only=True,
    ),
    phrase(
        _RULE,
        "conversation chat transcript & system tool hidden",
        r"\b(?:conversation|chat|transcript)\b<30>\b(?:including|with|and)\b<30>\b(?:system prompt|other tools?|hidden)\b",
        parameters_only=True,
    ),
    phrase(
        _RULE,
        "everything all & said typed wrote written entered told",
        r"\b(?:{reading}|{transfer}|{holding}|with|in|as|log|record|summari[sz]e)\b<60>\b(?:everything|all) (?:that )?(?:the|your) user (?:has )?(?:said|typed|wrote|written|entered|told)\b",
    ),
    phrase(
        _RULE,
        "![",
        r"!\[[^\]]{0,60}\]\(https?://[^)\s]{0,200}[?=&/][^)]{0,100}\)<120!>\b(?:conversation|messages?|secret|history|user's|replac\w+|data|(?:last|whole|full|user's) (?:questions?|prompts?|answers?|chat))\b",
    ),
    phrase(
        _RULE,
        "image picture link pixel & url source src address point & conversation chat transcript dialogue history prompt user result output message everything",
        r"\b(?:image|picture|link|pixel)\b<30>\b(?:url|source|src|address|points?)\b<80!>\b{talk}",
    ),
    phrase(
        _RULE,
        "$ & key token secret password credential",
        r"\$\{?\w{0,30}(?:key|token|secret|password|credentials?)\w{0,20}\}?<40>\b(?:goes|into|in|to|as|pass\w*|put|send|sent|belongs)\b<40>{sink}",
        unless=r"set|read from|default|export",
    ),
    phrase(
        _RULE,
        "curl wget scp rsync nc base tar & ssh id_ /etc/ .aws netrc git-cred kube gnupg docker npmrc pgpass history .env wallet .cursor/mcp .json .vscode/mcp data desktop phrase",
        r"\b(?:curl|wget|scp|rsync|nc|base64|tar)\b<60>{private}",
    ),
    phrase(
        _RULE,
        "ssh id_ /etc/ .aws netrc git-cred kube gnupg docker npmrc pgpass history claude .cursor mcp.json wallet seed .vscode/mcp data & needed required necessary expected used goes",
        r"{private}<40>\b(?:(?:is|are|will be) (?:needed|required|necessary|expected|used)|goes) (?:as|for|in|into|by)\b",
        unless=r"path|default|\bnot\b|never|authenticat",
    ),
    phrase(
        _RULE,
        "context memory prompt & everything all content whole entire full verbatim complete",
        r"\b(?:everything|all|contents?|whole|entire|full|complete)\b<20>\b(?:in|of|from) (?:your|the model's|the assistant's) (?:own )?(?:context|context window|memory|prompt)\b",
    ),
    phrase(
        _RULE,
        "user & told said wrote typed asked shared entered confided & put pass include send summar list attach add here repeat copy write describe report",
        r"\b(?:put|pass|include|send|summari[sz]e|list|attach|add|repeat|copy|write|describe|report)\b<40>\bwhat (?:the )?user (?:has |had )?(?:told|said|wrote|typed|shared|entered|confided)\b",
    ),
    phrase(
        _RULE,
        "tools tool & result output access argument answer response & you",
        r"\b(?:all|every|the) tools? (?:that )?you (?:have|can|know|were|see)\b<60>\b(?:results?|outputs?|arguments?|responses?|answers?)\b",
        parameters_only=True,
    ),
    phrase(
        _RULE,
        "card bank social passport account pin & user customer their",
        r"\b{transfer}\b<30>\b(?:user's|users'|customer's|their) (?:credit ?card|debit card|bank(?: account)?|social security|passport|card|pin)\b",
        unless=r"\bnot\b|never|n't",
    ),
    phrase(
        _RULE,
        "mail email message document photo contact calendar note file & user & http server query endpoint us",
        r"\b{transfer}\b<30>\b(?:emails?|mails|messages?|documents?|photos?|contacts|calendar|notes?|files?) of (?:the|your) user\b<90!>(?:https?://|\bquery string|\bour (?:server|api|endpoint)|@[\w-]{1,40}\.\w)",
    ),
    phrase(_RULE, "exfiltrat", r"(?<!to\s)(?<!may\s)(?<!could\s)(?<!can\s)\bexfiltrate\b", unless=None),
    phrase(
        _RULE,
        "environment & key token secret password credential & pass send include put add append supply & read query get take look fetch check scan search",
        r"\b(?:read|query|get|take|look|fetch|check|search|scan)\b<40>\benvironment\b<40>(?:key|token|secret|password|credential)\w*<40>\b(?:pass|send|include|put|add|append|supply)\b",
        unless=r"\bnot\b|never",
    ),
    phrase(
        _RULE,
        "posted sent forwarded uploaded copied mailed delivered reported & http @ & conversation chat transcript dialogue history prompt user result output message everything",
        r"\b(?:posted|sent|forwarded|uploaded|copied|mailed|e-?mailed|delivered|reported) to\b<20>(?:https?://|@[\w-]{1,40}\.\w)<90!>{talk}",
    ),
    phrase(
        _RULE,
        "posted sent forwarded uploaded copied mailed delivered reported & http @ server & conversation chat transcript dialogue history prompt user result output message everything",
        r"{talk}<40>\b(?:must|should|has to|have to|needs? to|is to|are to|will)\b<20>\b(?:posted|sent|forwarded|uploaded|copied|mailed|e-?mailed|delivered|reported)\b<30>(?:https?://|[\w.+-]{1,40}@[\w-]{1,40}\.\w|our server)",
    ),
    phrase(
        _RULE,
        "token secret key credential cookie password & stored kept saved found located lying & ~/ /etc config browser chain $home %appdata% /home",
        r"\b(?:grab|read|take|get|collect|fetch|load|extract|copy|steal)\b<20>\b(?:tokens?|secrets?|keys|credentials|cookies|passwords?)\b<10>\b(?:stored|kept|saved|found|located|lying)\b<10>(?:~/|/etc|/home|%appdata%|\$home|\.config|the (?:user's )?(?:browser|key ?chain))",
    ),
    phrase(
        _RULE,
        "config settings .json .yml .yaml .ini & password secret token key credential & into in to as",
        r"\b{transfer}\b<40>(?:\bconfig\w*|\bsettings\b|\.json\b|\.ya?ml\b|\.ini\b)<30>\b(?:password|secret|token|credentials?|api keys?)\w*\b<10>\b(?:into|in|as)\b",
        unless=r"\bnot\b|never|n't|path",
    ),
    phrase(
        _RULE,
        "all every each & answer result response output message quer request prompt & http @ & mailed sent posted forwarded copied uploaded",
        r"\b(?:all|every|each) (?:of )?(?:the |your )?(?:answers?|results?|responses?|outputs?|messages?|quer(?:y|ies)|requests?|prompts?)\b<20>\b(?:must|have to|has to|should|are to|is to|will)\b<20>\b(?:e-?mailed|mailed|sent|posted|forwarded|copied|uploaded)\b<20>(?:https?://|@[\w-]{1,40}\.\w)",
    ),
    phrase(
        _RULE,
        "must has have need should shall & content text copy & ssh id_ /etc/ .aws netrc git-cred kube gnupg docker/ npmrc pgpass history claude .cursor mcp.json .vscode login wallet seed .env private credential secret keychain chain password config settings",
        r"\b(?:must|has to|have to|needs? to|should|shall)\b<10>\b(?:contain|hold|include|carry|have|be)\b<20>\b(?:contents?|text|copy)\b<60>(?:{private}|{softprivate})",
        unless=r"path|\bnot\b|never|n't|\bno\b|without",
    ),
    phrase(
        _RULE,
        "key password passphrase token cookie credential secret environment pass connection & so & we",
        r"{positive}\b{transfer}\b<40>\b(?:{secrets}|passwords?|connection string)\b<80>\bso (?:that )?we\b",
        unless=r"\bnot\b|never|n't",
    ),
)
