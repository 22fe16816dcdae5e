"""The check of `mcptest doctor` that is about models: which providers are set up. Asks nobody, imports no SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.errors import NotInstalled
from mcptest_engine.judging.providers.setup import (
    INSTALL,
    JUDGE_MODEL,
    MODEL,
    PROVIDERS,
    Provider,
    Setup,
    clear_text_problem,
    installed,
)
from mcptest_engine.servers.diagnosis.checks import Check, Status
from mcptest_engine.servers.urls import shown_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.servers.diagnosis.checks import Tell

_LAYER = "models"


def check_models(tell: Tell, environ: Mapping[str, str]) -> None:
    """Each provider, and the models that the environment names. None of it is needed by tests that ask no model."""
    setup = Setup(environ)
    for provider in PROVIDERS:
        tell(_of_provider(provider, setup))
    for name, variable in (("model", MODEL), ("judge", JUDGE_MODEL)):
        if model := environ.get(variable, "").strip():
            try:
                missing = setup.missing(model)
            except NotInstalled as wrong:
                missing = wrong.message
            told = f"`{model}`" if missing is None else missing
            tell(_check(name, Status.OK if missing is None else Status.WARNING, f"{told}, by {variable}"))


def _of_provider(provider: Provider, setup: Setup) -> Check:
    endpoint = setup.endpoint(provider)
    if endpoint is None:
        unset = f"{provider.key} is not set; tests that need its models are deferred"
        return _check(provider.name, Status.SKIPPED, unset)
    told = f"{provider.key} is set" if endpoint.key else f"no {provider.key}"
    if endpoint.own:
        told += f", {provider.base} is {shown_url(endpoint.base)}"
    if not installed(provider):
        return _check(provider.name, Status.WARNING, f"{told}, but the package `{provider.sdk}` is missing", INSTALL)
    if (problem := clear_text_problem(endpoint)) is not None:
        return _check(provider.name, Status.WARNING, problem, f"use an https URL in {provider.base}")
    default = setup.default_of(endpoint)
    return _check(provider.name, Status.OK, told if default is None else f"{told}; `{default}` where no model is named")


def _check(name: str, status: Status, detail: str, hint: str | None = None) -> Check:
    return Check(layer=_LAYER, name=name, status=status, detail=detail, hint=hint)
