"""Which values of a suite must not appear in records, logs, reports and problems of the suite.

The surprising thing: of what the suite itself holds a name decides, never the value; what came from the environment is kept
out whatever its name. What merely looks random is the redactor's business.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.secret_names import is_secret_flag, is_secret_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.core.errors import Problem

_SHORTEST = 4  # masking a shorter one would make messages unreadable and hide nothing
_SHORTEST_IN_TEXT = 8  # a shorter one that merely stands in the suite may be any word


USERINFO_MESSAGE = "a URL must not contain a user name or password"
USERINFO_HINT = "use `auth: { bearer_token_env: NAME }`, or `headers:` with `{ env: NAME }`"


def has_userinfo(url: str) -> bool:
    """Whether `user:password@` stands before the URL's host."""
    authority = re.split(r"[/?#]", url.partition("://")[2], maxsplit=1)[0]
    return "@" in authority


def without_userinfo(text: str) -> str:
    """The text with `user:password@` of every URL in it masked."""
    return _USERINFO.sub("://…@", text) if "@" in text else text


_USERINFO = lazy_pattern(r"://[^/?#\s]*@")


def command_without_secrets(words: Sequence[str], env: Mapping[str, str]) -> tuple[str, ...]:
    """The words of a command with secrets masked, also where a value of its environment stands in them."""
    from mcptest_engine.core.redaction import Redactor

    redactor = Redactor(value for value in env.values() if len(value) >= _SHORTEST_IN_TEXT)
    return tuple(without_userinfo(redactor.redact_text(word)) for word in _masked(words))


def secrets_in_command(words: Sequence[str]) -> Iterator[str]:
    """The secrets that `command_without_secrets` masks."""
    from mcptest_engine.core.redaction import MASK

    for word, shown in zip(words, command_without_secrets(words, {}), strict=True):
        start, mask, end = shown.partition(MASK)
        if mask and word.startswith(start) and word.endswith(end):
            yield word[len(start) : len(word) - len(end)]


def _masked(words: Sequence[str]) -> Iterator[str]:
    """The words without what follows a flag or header that promises a secret: `--api-key X`, `TOKEN=X`, `X-Api-Key: X`."""
    from mcptest_engine.core.redaction import MASK

    after, before = False, ""
    for word in words:
        name, equals, _ = word.partition("=")
        secret = is_secret_flag(word) or is_secret_name(name)
        header = _HEADER.fullmatch(word)
        is_header = header is not None and (header["flag"] or header["blank"] or before in _HEADER_FLAGS)
        if after:
            yield MASK
        elif header is not None and is_header and is_secret_name(header["name"]):
            yield f"{header['start']}{MASK}"
        elif equals and secret:
            yield f"{name}={MASK}"
        else:
            yield word
        after, before = not after and not equals and secret and word.startswith("-"), word


_HEADER_FLAGS = frozenset(("-H", "--header"))
# A header among a command's words: as a word of its own, or behind its flag.
_HEADER = lazy_pattern(
    r"(?s)(?P<start>(?P<flag>--header=|-H)?(?P<name>[\w-]+):(?P<blank>\s*)(?:(?:Bearer|Basic|Token) +)?)\S.*"
)


def secret_values(
    servers: Mapping[str, object],
    env: Mapping[str, object],
    variables: Mapping[str, object],
    lookups: Mapping[str, str],
    *,
    scorers: Iterable[object] = (),
    tests: Iterable[object] = (),
) -> set[str]:
    """The values to redact.

    They are those of `env:` maps, headers and variables with secret-looking names, those of cases included, and what
    `bearer_token_env`, `client_secret_env` and `{ env: NAME }` name. `lookups` is the environment in which those are looked up.
    What has the wrong shape is passed over: the suite may not have been checked yet.
    """
    found = set(_named_secrets(env))
    found.update(_named_secrets({name: value for name, value in variables.items() if isinstance(value, str)}))
    found.update(_of_cases(tests))
    for scorer in scorers:
        if isinstance(scorer, dict):
            found.update(_named_secrets(_mapping(scorer, "env")))
    for server in servers.values():
        if isinstance(server, dict):
            found.update(_named_secrets(_mapping(server, "env")))
            found.update(_of_headers(_mapping(server, "headers"), lookups))
            auth = _mapping(server, "auth")
            found.add(_looked_up(auth.get("bearer_token_env"), lookups))
            found.add(_looked_up(_mapping(auth, "oauth").get("client_secret_env"), lookups))
    found.discard("")
    return found


def inherited_secrets(environ: Mapping[str, str]) -> set[str]:
    """What a program that is given all of `environ` could give away; a short value, or a word, is taken for no secret."""
    named = ((name, value) for name, value in environ.items() if is_secret_name(name) and name not in _DIRECTORIES)
    return {value for _, value in named if len(value) >= _SHORTEST_IN_TEXT and not value.isalpha()}


_DIRECTORIES = ("PWD", "OLDPWD")


def holds_secret(text: str, secrets: Collection[str], *, templated: bool) -> bool:
    """Whether a name or tag gives a secret away; `templated` says that a template stood in it.

    A secret that is a word, such as the password "password" of a test server, may stand in a text that was written so.
    """
    return any(
        secret in text
        for secret in secrets
        if len(secret) >= (_SHORTEST if templated else _SHORTEST_IN_TEXT) and (templated or not secret.isalpha())
    )


def environment_secrets(read: Iterable[str]) -> frozenset[str]:
    """Which texts that a suite read from the environment are redacted: all but the shortest, and those that hide nothing.

    Whatever the variable is called: `DATABASE_URL` holds a password too.
    """
    return frozenset(text for text in read if len(text) >= _SHORTEST and text.lower() not in _PLAIN)


_PLAIN = frozenset(("true", "false", "null", "none", "auto"))


def without_secrets(
    problems: tuple[Problem, ...],
    *,
    read: Collection[str],
    named: Collection[str],
    secret: Collection[str],
    is_templated: Callable[[Problem], bool],
) -> tuple[Problem, ...]:
    """The problems with secrets, and with all that came from the environment, masked in what they quote.

    `read` are the texts that templates put into the suite, `secret` those of them under secret-looking names, and `named` what
    the suite itself holds under such names; a short one of the latter is masked only where it is all that is quoted. At a
    place that `is_templated` nothing of a text in `read` is quoted, however short it is; elsewhere a short one may be a word.
    """
    if not problems or not (read or named):
        return problems
    from mcptest_engine.core.redaction import MASK

    texts = {*read, *_leaves(read)}
    spellings = _spellings({*secret, *(text for text in texts if len(text) >= _SHORTEST_IN_TEXT)}, named)
    stretches = frozenset(stretch for text in texts for stretch in _stretches(text))

    def masked(text: str | None, shortest: int) -> str | None:
        if not text:
            return text
        for spelling, mask in spellings:
            text = _clipped_masked(text.replace(spelling, mask), spelling)
        if shortest == 1:
            text = _NUMBER.sub(lambda found: MASK if found[0] in texts else found[0], text)
        return _QUOTATION.sub(lambda found: _quotation_masked(found, texts, stretches, shortest), text)

    def clean(problem: Problem) -> Problem:
        shortest = 1 if is_templated(problem) else _SHORTEST_IN_TEXT
        hint = masked(problem.hint, shortest)
        return replace(
            problem,
            message=masked(problem.message, shortest) or "",
            words=masked(problem.words, shortest) or "",
            hint=problem.hint if hint == problem.hint else hint,  # a suggestion stays one
            pointer=masked(problem.pointer, _SHORTEST_IN_TEXT) or "",
        )

    return tuple(map(clean, problems))


def _quotation_masked(found: re.Match[str], texts: Collection[str], stretches: frozenset[str], shortest: int) -> str:
    """One quotation, or its mask where it holds a text of `texts` or a stretch of one; quotation marks included."""
    from mcptest_engine.core.redaction import MASK

    quoted = found[0]
    inside = quoted[1:-1]
    held = inside in texts or any(len(text) >= shortest and text in inside for text in texts)
    return f"{quoted[0]}{MASK}{quoted[0]}" if held or not stretches.isdisjoint(_stretches(inside)) else quoted


_NUMBER = lazy_pattern(r"(?:(?<=found )|(?<=the number ))[-+.\w]+")
_QUOTATION = lazy_pattern(r'"[^"]+"|`[^`]+`')


def _stretches(text: str) -> Iterator[str]:
    """Every part of a text that is long enough to give it away."""
    return (text[at : at + _STRETCH] for at in range(len(text) - _STRETCH + 1))


_STRETCH = 10  # longer than `https://`


def _leaves(read: Iterable[str]) -> Iterator[str]:
    """The texts, names and numbers of those that are JSON, as `from_env` with a `default` reads them."""
    for text in read:
        try:
            stack = [json.loads(text)]
        except (ValueError, RecursionError):
            continue
        while stack:
            value = stack.pop()
            if isinstance(value, dict):
                stack += (*value, *value.values())
            elif isinstance(value, list):
                stack += value
            elif isinstance(value, str) and value:
                yield value
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                yield json.dumps(value)


def _spellings(read: Collection[str], named: Collection[str]) -> list[tuple[str, str]]:
    """How secrets may stand in a message, the longest first, each with what takes its place."""
    from mcptest_engine.core.redaction import MASK
    from mcptest_engine.core.sanitise import one_line

    found = {}
    for secret in {*read, *named}:
        shown = one_line(secret)
        for spelling in {secret, shown, without_userinfo(shown), json.dumps(secret, ensure_ascii=False)[1:-1]}:
            if len(secret) >= (_SHORTEST if secret in read else _SHORTEST_IN_TEXT):
                found[spelling] = MASK
            elif len(secret) >= _SHORTEST:
                found[f'"{spelling}"'] = f'"{MASK}"'
    return sorted(found.items(), key=lambda item: len(item[0]), reverse=True)


def _clipped_masked(text: str, secret: str) -> str:
    """What is quoted may be cut off within a secret: `secr…`."""
    from mcptest_engine.core.redaction import MASK

    for length in range(len(secret) - 1, _SHORTEST - 1, -1) if "…" in text else ():
        text = text.replace(f"{secret[:length]}…", f"{MASK}…")
    return text


def _mapping(server: Mapping[str, object], key: str) -> Mapping[str, Any]:
    value = server.get(key)
    return value if isinstance(value, dict) else {}


def _looked_up(name: object, lookups: Mapping[str, str]) -> str:
    return lookups.get(name, "") if isinstance(name, str) else ""


def _named_secrets(values: Mapping[str, object]) -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, str | int | float) and not isinstance(value, bool) and is_secret_name(name):
            yield value if isinstance(value, str) else json.dumps(value)


def _of_cases(tests: Iterable[object]) -> Iterator[str]:
    are_secret: dict[str, bool] = {}
    for test in tests:
        rows = test.get("cases") if isinstance(test, dict) else None
        for row in rows if isinstance(rows, list) else ():
            variables = row.get("vars") if isinstance(row, dict) else None
            for name, value in variables.items() if isinstance(variables, dict) else ():
                if name not in are_secret:
                    are_secret[name] = is_secret_name(name)
                if are_secret[name] and isinstance(value, str):
                    yield value.replace("$${", "${")


def _of_headers(headers: Mapping[str, object], lookups: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        if isinstance(value, dict):
            yield _looked_up(value.get("env"), lookups)
        elif isinstance(value, str) and is_secret_name(name):
            yield value
            scheme, _, credential = value.partition(" ")
            if scheme.lower() in ("bearer", "basic", "token"):
                yield credential.strip()
