"""The server of a generated suite, as that suite declares it: a variable replaces each secret."""

from __future__ import annotations

import re
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.errors import UsageError
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.suite.load import LoadedSuite

TARGET = "target"
"""The name in a generated suite for a server without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """`settings` is what stands under `servers: {key: …}` in the suite, templates and variable names unexpanded, no secret.

    `variables` is what stands under `variables:` of a new suite: values that are not written down, read from the environment,
    and what the templates of a server of another suite name.
    """

    settings: JsonMapping
    key: str = TARGET
    variables: JsonMapping = field(default_factory=dict)


def declared_in_suite(suite: LoadedSuite, server: str) -> Target:
    """A server of a suite, as its file declares it: with its templates, which hide its secrets.

    Raises: UsageError when no file has it any more, since the parsed settings contain the secrets themselves.
    """
    from mcptest_engine.core.errors import SuiteError
    from mcptest_engine.suite.yaml import read_bytes

    for path in suite.files:
        try:
            tree = read_bytes(path.read_bytes(), file=str(path)).value
        except (OSError, SuiteError):
            continue
        written = tree.get("servers") if isinstance(tree, dict) else None
        if isinstance(written, dict) and isinstance(written.get(server), dict):
            return Target(settings=written[server], key=server, variables=_declared_for(written[server], suite))
    raise UsageError(
        f'the server "{server}" is no longer in {suite.path.name}, or the file cannot be read, so it is unknown '
        "which of its values are secrets",
        hint="correct the file, and try again",
    )


def _declared_for(settings: Mapping[str, object], suite: LoadedSuite) -> dict[str, object]:
    """The variables in a server's templates, declared as its suite does, without a literal secret."""
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.core.secret_names import is_secret_name
    from mcptest_engine.suite.templates import declarations_of, expressions_in

    env = [text for text in expressions_in(settings.get("env")) if text.startswith("var.")]
    others = expressions_in({key: value for key, value in settings.items() if key != "env"})
    redactor, found = Redactor(), dict[str, object]()
    for name, value in declarations_of([text.removeprefix("var.") for text in (*env, *others)], suite.declared).items():
        looked_up = isinstance(value, dict) and "from_env" in value
        literal = value.get("default", "") if looked_up else value
        is_secret = literal != "" and (is_secret_name(name) or redactor.redact(literal) != literal)
        source = value["from_env"] if looked_up else variable_name(name)
        found[name] = {"from_env": source, "default": ""} if is_secret else value
    return found


def untemplated(value: object) -> Any:
    """A copy of plain data in which `${` is escaped; keys stay."""
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, dict):
        return {key: untemplated(part) for key, part in value.items()}
    return [untemplated(part) for part in value] if isinstance(value, (list, tuple)) else value


def declared_env(
    env: Mapping[str, str], secrets: dict[str, str], references: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """A server's `env:`; a value that looks secret, or whose name promises one, goes into `secrets` under that name.

    `references` holds the values that are written as they are, because they are templates that read the environment.
    """
    from mcptest_engine.core.secret_names import is_secret_name
    from mcptest_engine.suite.secrets import command_without_secrets

    given = {name: value for name, value in env.items() if name not in references}
    secrets.update(
        (name, value)
        for name, value in given.items()
        if is_secret_name(name) or command_without_secrets([value], {}) != (value,)
    )
    written = {name: f"${{{name}}}" if name in secrets else untemplated(value) for name, value in given.items()}
    return {name: references.get(name) or written[name] for name in env}


def with_variables(settings: Mapping[str, object], secrets: Iterable[str]) -> Target:
    """Load the suite even when the variables of `secrets` are not set: they are empty then."""
    names = {name: f"var.{name}" for name in secrets}
    variables = {name: {"from_env": name, "default": ""} for name in names}
    return Target(settings=_with_look_ups(dict(settings), names), variables=variables)


class FreeNames(NamedTuple):
    """A server's declaration and its secrets, under variables without another value here; `notes` name those that have one."""

    settings: JsonDict
    secrets: dict[str, str]
    notes: tuple[str, ...]


def with_free_names(
    settings: Mapping[str, object], secrets: Mapping[str, str], environ: Mapping[str, str], key: str
) -> FreeNames:
    """The declaration of the server `key` with another variable in place of each that has another value in `environ`.

    Else the next run would send the server a secret that is not meant for it.
    """
    new_names: dict[str, str] = {}
    for name, value in secrets.items():
        wanted = free = variable_name(f"{key}_{name}")
        number = 2
        while environ.get(free, value) != value or free in secrets:
            free, number = f"{wanted}_{number}", number + 1
        if environ.get(name) not in (None, "", value):
            new_names[name] = free
    return FreeNames(
        _with_look_ups(dict(settings), {name: f"env.{new}" for name, new in new_names.items()}),
        {new_names.get(name, name): value for name, value in secrets.items()},
        tuple(f"`{name}` has another value here, so the suite reads `{new}`" for name, new in new_names.items()),
    )


def _with_look_ups(value: object, names: Mapping[str, str]) -> Any:
    """Rename the templates in a value that look up one of `names`, also in `{ env: NAME }`."""
    if isinstance(value, dict):
        name = value.get("env") if set(value) == {"env"} else None
        if isinstance(name, str) and names.get(name, "").startswith("env."):
            return {"env": names[name].removeprefix("env.")}
        return {key: _with_look_ups(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_look_ups(part, names) for part in value]
    if not isinstance(value, str):
        return value
    return _LOOK_UP.sub(lambda found: f"${{{names[found[1]]}}}" if found[1] in names else found[0], value)


_LOOK_UP = re.compile(r"(?<!\$)\$\{(?:env\.)?(\w+)\}")


def declared_command(words: Sequence[str], secrets: dict[str, str]) -> list[str]:
    """A server's command. What is masked when the words are shown goes into `secrets`, under a variable of its own.

    `secrets` holds those of the server's `env:` already; where one stands among the words its variable is named. A word that
    is masked already is a secret whose value is not known here.
    """
    from mcptest_engine.suite.secrets import command_without_secrets

    return list(_declared_arguments(words, command_without_secrets(words, secrets), secrets))


def _declared_arguments(words: Sequence[str], masked: Sequence[str], secrets: dict[str, str]) -> Iterator[str]:
    from mcptest_engine.core.redaction import MASK

    known, before = dict(secrets), ""
    for word, shown in zip(words, masked, strict=True):
        start = shown.removesuffix(MASK)
        named = _with_names(word, known)
        if shown == word and MASK not in word:
            yield untemplated(word)
        elif named is not None:
            yield named
        elif start.endswith(("=", ":", " ")) and word.startswith(start):
            variable = _variable(start.strip("-=: "), word.removeprefix(start), secrets)
            yield f"{untemplated(start)}${{env.{variable}}}"
        else:
            is_flag = before.startswith("-") and "=" not in before
            name = before.strip("-") if is_flag else "server_secret"
            yield f"${{env.{_variable(name, word, secrets)}}}"
        before = word


def _with_names(word: str, secrets: Mapping[str, str]) -> str | None:
    """Put the variables of known secrets into a word; None when there are none, or others as well."""
    from mcptest_engine.suite.secrets import command_without_secrets

    rest = text = untemplated(word)
    for name, value in secrets.items():
        if value:
            text = text.replace(untemplated(value), f"${{env.{name}}}")
            rest = rest.replace(untemplated(value), "")
    is_clean = text != untemplated(word) and command_without_secrets([rest], {}) == (rest,)
    return text if is_clean else None


def declared_url(url: str, secrets: dict[str, str]) -> str:
    """A server's URL; the value of a parameter whose name suggests a secret goes into `secrets`."""
    from urllib.parse import unquote

    from mcptest_engine.core.secret_names import is_secret_name

    address, question, query = url.partition("?")
    query, number_sign, fragment = query.partition("#")
    parts = []
    for part in query.split("&"):
        name, equals, value = part.partition("=")
        if value and is_secret_name(unquote(name)):
            parts.append(f"{untemplated(name)}=${{env.{_variable(unquote(name), value, secrets)}}}")
        else:
            parts.append(untemplated(name + equals + value))
    return f"{untemplated(address)}{question}{'&'.join(parts)}{number_sign}{untemplated(fragment)}"


def variable_notes(secrets: Mapping[str, str]) -> tuple[str, ...]:
    """Notes on values that are not written down."""
    return tuple(f"the value of `{name}` is not written: set the variable where the suite runs" for name in secrets)


def variable_name(text: str) -> str:
    """A variable name for what `text` names."""
    name = re.sub(r"[^A-Z0-9]+", "_", text.upper()).strip("_")
    return name if name and not name[0].isdigit() else f"SERVER_{name}".rstrip("_")


def _variable(text: str, value: str, secrets: dict[str, str]) -> str:
    """The variable for the value: one without another value."""
    name = found = variable_name(text)
    number = 2
    while secrets.setdefault(found, value) != value:
        found, number = f"{name}_{number}", number + 1
    return found
