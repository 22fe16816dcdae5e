"""What a context hook is told, and what it may answer. Pure.

See docs/how-to/hooks.md. Strict on purpose: a key that would be ignored is one that
somebody relies on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.core.safe_json import safe_json
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.secret_names import is_secret_name
from mcptest_engine.servers.command_process import LARGEST_ANSWER_BYTES
from mcptest_engine.servers.wire import Unreadable, json_type, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

KEYS = ("env", "vars", "skip")


class Patch(NamedTuple):
    """What a hook answered: variables for the hooks after it, and the reason why what follows is to be skipped, or None."""

    env: Mapping[str, str]
    vars: Mapping[str, Any]
    skip: str | None = None


NOTHING = Patch({}, {})


class BadAnswer(Exception):
    """An answer that is no patch. `str()` is a clause without its subject: "printed no JSON object: …"."""


def context_of(
    phase: str,
    *,
    suite: str,
    test: str | None,
    env: Mapping[str, str],
    variables: Mapping[str, object],
    result: Mapping[str, object] | None,
) -> bytes:
    """The one JSON object that a context hook reads on its stdin."""
    context = {
        "phase": phase,
        "suite": {"name": suite},
        "test": None if test is None else {"name": test},
        "env": env,
        "vars": variables,
        "result": result,
    }
    return safe_json(context).encode() + b"\n"


def read_patch(answer: bytes) -> Patch:
    """The patch that a hook printed; nothing, or only blanks, is an empty one. Raises: BadAnswer."""
    if len(answer) > LARGEST_ANSWER_BYTES:
        raise BadAnswer(f"printed over {LARGEST_ANSWER_BYTES // 1024**2} MiB where a small JSON object is expected")
    if not answer.strip():
        return NOTHING
    try:
        value = parse(answer)
    except Unreadable as wrong:
        raise BadAnswer(f"printed something other than a JSON object: {wrong.reason}") from None
    if not isinstance(value, dict):
        raise BadAnswer(f"printed {json_type(value)} where one JSON object is expected")
    unknown = next((key for key in value if key not in KEYS), None)
    if unknown is not None:
        nearest = did_you_mean(unknown, KEYS) or "only `env`, `vars` and `skip` are known"
        raise BadAnswer(f"printed an object with the unknown key `{one_line(unknown, 80)}`: {nearest}")
    return Patch(_env(value.get("env", {})), _variables(value.get("vars", {})), _skip(value))


def secrets_in(answer: bytes) -> Iterator[str]:
    """The texts of an answer, be it right or wrong, whose names say that they are secret."""
    try:
        value = parse(answer)
    except Unreadable:
        return
    for key in ("env", "vars"):
        members = value.get(key) if isinstance(value, dict) else None
        for name, text in members.items() if isinstance(members, dict) else ():
            if isinstance(text, str) and text and is_secret_name(name):
                yield text


def _env(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise BadAnswer(f"printed {json_type(value)} as `env`, which must be an object of texts")
    for name, text in value.items():
        shown = one_line(name, 80)
        if not name or "=" in name or "\0" in name:
            raise BadAnswer(f"printed `{shown}` in `env`, which cannot be the name of a variable")
        if not isinstance(text, str):
            raise BadAnswer(f"printed {json_type(text)} as `env.{shown}`, which must be a text")
        if "\0" in text:
            raise BadAnswer(f"printed a NUL in `env.{shown}`, which a variable cannot contain")
        if not _encodable(name) or not _encodable(text):
            raise BadAnswer(f"printed half a character in `env.{shown}`, which a variable cannot contain")
    return value


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _variables(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadAnswer(f"printed {json_type(value)} as `vars`, which must be an object")
    return value


def _skip(answer: Mapping[str, object]) -> str | None:
    if "skip" not in answer:
        return None
    value = answer["skip"]
    reason = value.get("reason") if isinstance(value, dict) and value.keys() == {"reason"} else None
    if not isinstance(reason, str) or not reason.strip():
        raise BadAnswer('printed a `skip` that is not of the form `{"reason": "a text"}`')
    return reason
