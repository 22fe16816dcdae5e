"""Which provider answers for a model, by the environment: keys, base URLs, default models. Asks nobody, imports no SDK.

A model goes by the prefix of its id. An endpoint of one's own, named by `OPENAI_BASE_URL`, takes every id but those of a
provider whose own key is there.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.errors import NotInstalled
from mcptest_engine.judging.providers.values import NO_PROVIDER
from mcptest_engine.servers.urls import may_take_secrets, shown_url

if TYPE_CHECKING:
    from collections.abc import Mapping

MODEL, JUDGE_MODEL = "MCPTEST_MODEL", "MCPTEST_JUDGE_MODEL"
INSTALL = "pip install anthropic openai"


class Provider(NamedTuple):
    """A provider of models. `sdk` is the package through which it is asked."""

    name: str
    sdk: str
    ids: re.Pattern[str]
    key: str
    base: str
    official: str
    default: str


ANTHROPIC = Provider(
    "Anthropic",
    "anthropic",
    re.compile(r"claude-"),
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "https://api.anthropic.com",
    "claude-sonnet-5-5",
)
OPENAI = Provider(
    "OpenAI",
    "openai",
    re.compile(r"gpt-|chatgpt-|o\d"),
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "https://api.openai.com/v1",
    "gpt-5.4",
)
PROVIDERS = (ANTHROPIC, OPENAI)


class Endpoint(NamedTuple):
    """Where a provider is asked. `own`: the base URL is of the user's naming. `key` is None where none is needed."""

    provider: Provider
    base: str
    own: bool
    key: str | None


class Setup:
    """What the environment says of models."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def _value(self, name: str) -> str | None:
        return self._environ.get(name, "").strip() or None

    def secrets(self) -> tuple[str, ...]:
        """The keys that are there: what must never be shown."""
        return tuple(key for provider in PROVIDERS if (key := self._value(provider.key)) is not None)

    def endpoint(self, provider: Provider) -> Endpoint | None:
        """Where `provider` can be asked, None where it is not set up."""
        base, key = self._value(provider.base), self._value(provider.key)
        if key is None and (base is None or provider is not OPENAI):
            return None
        return Endpoint(provider, (base or provider.official).rstrip("/"), base is not None, key)

    def endpoint_for(self, model: str) -> Endpoint | None:
        """Where `model` is asked for, or None."""
        for provider in PROVIDERS:
            if provider.ids.match(model) and (found := self.endpoint(provider)) is not None:
                return found
        found = self.endpoint(OPENAI)
        return found if found is not None and found.own else None

    def named(self, *, judging: bool) -> str | None:
        """The model that the environment names."""
        return (self._value(JUDGE_MODEL) if judging else None) or self._value(MODEL)

    def chosen(self, model: str | None, *, judging: bool) -> str | None:
        """The model that is asked where a test names `model`, or None to name none."""
        return model or self.named(judging=judging) or self.default()

    def default(self) -> str | None:
        """The default model of the first provider whose key is there; an endpoint of one's own has none."""
        found = (self.endpoint(provider) for provider in PROVIDERS)
        return next((model for point in found if point and (model := self.default_of(point)) is not None), None)

    def default_of(self, endpoint: Endpoint) -> str | None:
        """The model that is asked there where none is named; what an endpoint of one's own has is not known."""
        return None if endpoint.own and endpoint.provider is OPENAI else endpoint.provider.default

    def missing(self, model: str | None) -> str | None:
        """Why `model` cannot be asked for, which nobody set up, or None.

        Raises: NotInstalled where it is set up, and the package that asks it is missing.
        """
        if model is None:
            if (own := self.endpoint(OPENAI)) is not None and own.own:
                return f"{NO_PROVIDER}: {OPENAI.base} is set, but no model is named; set {MODEL}"
            return f"{NO_PROVIDER}: set {ANTHROPIC.key}, {OPENAI.key} or {OPENAI.base}"
        found = self.endpoint_for(model)
        if found is None:
            known = next((provider for provider in PROVIDERS if provider.ids.match(model)), None)
            if known is None:
                wanted = f"set {OPENAI.base} to an endpoint that has it"
                return f"{NO_PROVIDER}: `{model}` is not a model of a known provider; {wanted}"
            return f"{NO_PROVIDER}: {known.key} is not set, which `{model}` needs (or {OPENAI.base})"
        if not installed(found.provider):
            raise NotInstalled(
                f"`{model}` needs the package `{found.provider.sdk}`, which is not installed", hint=INSTALL
            )
        return None


def installed(provider: Provider) -> bool:
    """Whether its SDK is there. It is not imported, which takes seconds."""
    try:
        return find_spec(provider.sdk) is not None
    except (ImportError, ValueError):
        return False


def clear_text_problem(endpoint: Endpoint) -> str | None:
    """Why the key is not sent there, or None where it may be."""
    if endpoint.key is None or may_take_secrets(endpoint.base):
        return None
    return (
        f"{endpoint.provider.key} is not sent to {shown_url(endpoint.base)}: keys go only to https or to this machine"
    )
