"""The models of a run: which model gets a request, and what it costs. Where answers are stored, equal requests are sent once.

SDKs are imported in a thread before the first request. Their own retries are off: a request to a busy provider is repeated
here, a bounded number of times, within the time of the whole call.
"""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcptest_engine.judging.providers.documents import most_tokens_in, request_key
from mcptest_engine.judging.providers.prices import PriceList
from mcptest_engine.judging.providers.saved_answers import AnswerCache, Recording, Replay
from mcptest_engine.judging.providers.setup import INSTALL, Setup, clear_text_problem
from mcptest_engine.judging.providers.values import DEFAULT_MAX_TOKENS, ModelError, ModelFault, ModelReply
from mcptest_engine.judging.single_flight import SingleFlight
from mcptest_engine.judging.spending import Capped, CostBudget, Payer
from mcptest_engine.servers.urls import shown_url

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.judging.providers.setup import Endpoint
    from mcptest_engine.judging.providers.values import ModelRequest
    from mcptest_engine.judging.providers.wire import ProviderAnswer, ProviderError
    from mcptest_engine.judging.spending import Reservation

MOST_ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 60.0
"""The longest pause that a provider may ask for; if it asks for more, the request is not repeated."""


class ModelCalls:
    """The models of a run. To be closed in the event loop that used it. Source of the shape: `values.Models`."""

    def __init__(
        self,
        prices: Mapping[str, Mapping[str, object]] | None,
        environ: Mapping[str, str],
        *,
        budget: CostBudget | None = None,
        keep: AnswerCache | Recording | Replay | None = None,
        redact: Callable[[str], str] = lambda text: text,
        keep_secret: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
    ) -> None:
        """Send nothing yet. `prices` are the suite's own. `environ` sets up the providers.

        `budget` also pays the scorers; None makes one. `keep` stores answers or has stored ones. `keep_secret` gets the keys
        before one is sent.
        """
        self.budget = CostBudget() if budget is None else budget
        self._setup, self._prices, self._clock = Setup(environ), PriceList(prices), clock
        self._keep, self._redact = keep, redact
        self._first_pause = first_pause_seconds
        self._flights: SingleFlight[ModelReply] = SingleFlight()
        self._providers: dict[str, asyncio.Future[Any]] = {}
        self._without: dict[tuple[str, str], frozenset[str]] = {}
        if keep_secret is not None:
            for key in self._setup.secrets():
                keep_secret(key)

    # --- which model

    def missing(self, model: str | None) -> str | None:
        """Why `model` cannot be used, or None. Sends and imports nothing."""
        if isinstance(self._keep, Replay):
            return self._keep.missing()
        return self._setup.missing(model if model is not None else self.chosen(None, judging=False))

    def chosen(self, model: str | None, *, judging: bool) -> str | None:
        """The model that is used where a test names `model`, or None to name none."""
        if model is not None:
            return model
        found = self._setup.named(judging=judging)
        if isinstance(self._keep, Replay):
            return found or self._keep.chosen(judging=judging) or self._setup.default()
        found = found or self._setup.default()
        if found is not None and isinstance(self._keep, Recording):
            self._keep.choose(found, judging=judging)
        return found

    async def prepare(self, model: str) -> None:
        """Import all that `model` takes, so that the time of the imports counts for no conversation. Raises nothing."""
        endpoint = self._setup.endpoint_for(model)
        if endpoint is not None and not isinstance(self._keep, Replay):
            with suppress(ModelError):
                await self._provider(endpoint, model)

    # --- requests

    async def send(self, request: ModelRequest) -> ModelReply:
        """Send a request and return the reply. Where answers are stored, equal requests at the same time are sent once, and all
        replies but one are `kept`.

        Raises: ModelError.
        """
        if isinstance(self._keep, Replay):
            return self._keep.answer(request)
        reply = await self._joined(request, self._endpoint(request.model))
        if isinstance(self._keep, Recording):
            self._keep.put(request, reply)
        return reply

    def _endpoint(self, model: str) -> Endpoint:
        why = self._setup.missing(model)
        endpoint = self._setup.endpoint_for(model)
        if why is not None or endpoint is None:
            raise ModelError.without_provider(why or f"`{model}` has no provider")
        provider = endpoint.provider
        if urlsplit(endpoint.base).scheme not in ("http", "https") or not urlsplit(endpoint.base).hostname:
            raise ModelError(
                ModelFault.UNREACHABLE,
                f"`{model}` cannot be asked: {provider.base} is not a URL",
                hint="for example https://models.example.com/v1",
            )
        if endpoint.key is None:
            return endpoint
        if (problem := clear_text_problem(endpoint)) is not None:
            hint = f"use an https URL in {provider.base}"
            raise ModelError(ModelFault.AUTH, f"`{model}` is not asked: {problem}", hint=hint)
        if not (endpoint.key.isascii() and endpoint.key.isprintable() and " " not in endpoint.key):
            raise ModelError(
                ModelFault.AUTH, f"`{model}` is not asked: {provider.key} contains characters that a key cannot have"
            )
        return endpoint

    async def _joined(self, request: ModelRequest, endpoint: Endpoint) -> ModelReply:
        """The reply to this request, shared by all equal requests at the same time."""
        key = request_key(request, endpoint.base) if isinstance(self._keep, AnswerCache) else object()
        if key in self._flights:
            self.budget.give_back()
        try:
            reply, first = await self._flights.join(key, lambda: self._answered(request, endpoint))
        except ModelError as wrong:
            raise ModelError(wrong.fault, wrong.message, hint=wrong.hint, reason=wrong.reason) from None
        return reply if first else reply._replace(kept=True)

    async def _answered(self, request: ModelRequest, endpoint: Endpoint) -> ModelReply:
        """The stored answer, or a new one, which is stored."""
        cache = self._keep if isinstance(self._keep, AnswerCache) else None
        if cache is not None and (stored := cache.get(request, endpoint.base)) is not None:
            return stored
        try:
            async with self.budget.reserve(self._payer(request)) as call:
                reply = await self._live(request, endpoint, call)
                call.charge(reply.cost_usd)
        except Capped as wrong:
            raise _capped(wrong) from None
        if cache is not None:
            cache.put(request, endpoint.base, reply)
        return reply

    async def _live(self, request: ModelRequest, endpoint: Endpoint, call: Reservation) -> ModelReply:
        try:
            provider = await self._provider(endpoint, request.model)
        except ModelError:
            call.cancel()
            raise
        began = self._clock()
        try:
            async with asyncio.timeout(request.timeout_seconds):
                answer = await self._answer_with_retries(
                    provider, request, endpoint, call, until=began + request.timeout_seconds
                )
        except TimeoutError:
            raise ModelError(
                ModelFault.TIMEOUT,
                f"`{request.model}` did not finish its answer within {request.timeout_seconds:g}s ({shown_url(endpoint.base)})",
            ) from None
        duration_ms = (self._clock() - began) * 1000
        counted = answer.tokens_in is not None and answer.tokens_out is not None
        tokens_in, tokens_out = answer.tokens_in or 0, answer.tokens_out or 0
        return ModelReply(
            model=request.model,
            text=answer.text,
            uses=answer.uses,
            stop=answer.stop,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost_usd=self._prices.cost(request.model, tokens_in, tokens_out) if counted else None,
            duration_ms=duration_ms,
            thinking=answer.thinking,
        )

    async def _answer_with_retries(
        self, provider: Any, request: ModelRequest, endpoint: Endpoint, call: Reservation, *, until: float
    ) -> ProviderAnswer:
        """Send a request, and repeat it as long as that may help. Raises: ModelError."""
        from mcptest_engine.judging.providers.wire import ProviderError

        place, attempts = (endpoint.base, request.model), 0
        while True:
            without = self._without.get(place, frozenset())
            try:
                answer: ProviderAnswer = await provider.send(request, without)
            except ProviderError as error:
                refused = _refused_option(provider.optional, error, request, without)
                if refused is not None:
                    self._without[place] = without | {refused}
                    continue
                attempts += 1
                pause = self._pause(error, attempts, until - self._clock())
                if not error.billed and pause is None:
                    call.cancel()
                if pause is None or (error.billed and not call.renew()):
                    raise _model_error(error, request.model, endpoint, attempts) from None
                await asyncio.sleep(pause)
            else:
                return answer

    def _pause(self, error: ProviderError, attempts: int, left: float) -> float | None:
        """The seconds until the request is repeated; None if it is not repeated."""
        if not error.again or attempts >= MOST_ATTEMPTS:
            return None
        pause = error.retry_after
        if pause is None:
            pause = self._first_pause * 2 ** (attempts - 1) * (1 + random.random() / 4)  # noqa: S311 - spreads callers
        return pause if pause <= min(LONGEST_PAUSE_SECONDS, left) else None

    # --- what it may cost

    def payer(self, model: str, tokens_in: int, tokens_out: int = DEFAULT_MAX_TOKENS) -> Payer:
        """A model as the budget knows it, for a call of at most so many tokens in and out."""
        return Payer(f"`{model}`", self._prices.cost(model, tokens_in, tokens_out))

    @property
    def is_paid(self) -> bool:
        """Whether answers come from providers, and not from a cassette."""
        return not isinstance(self._keep, Replay)

    def check_budget(self, request: ModelRequest) -> None:
        """Send nothing. Raises: ModelError if the cap leaves too little for this request, and no cache could answer it."""
        if self._keep is None or isinstance(self._keep, Recording):
            try:
                self.budget.check((self._payer(request),))
            except Capped as wrong:
                raise _capped(wrong) from None

    def _payer(self, request: ModelRequest) -> Payer:
        if self.budget.cap_usd is None:
            return Payer(f"`{request.model}`")
        return self.payer(request.model, most_tokens_in(request), request.max_tokens)

    # --- the SDKs

    async def _provider(self, endpoint: Endpoint, model: str) -> object:
        """The provider of an endpoint, made once."""
        name = endpoint.provider.name
        if name not in self._providers:
            self._providers[name] = asyncio.ensure_future(self._make_provider(endpoint))
        try:
            return await asyncio.shield(self._providers[name])
        except ImportError as wrong:
            raise ModelError(
                ModelFault.PROVIDER,
                f"`{model}` needs the package `{endpoint.provider.sdk}`, which cannot be imported: "
                f"{self._redact(str(wrong))[:200]}",
                hint=INSTALL,
            ) from None

    async def _make_provider(self, endpoint: Endpoint) -> object:
        provider = await asyncio.to_thread(_imported, endpoint.provider.sdk)
        from mcptest_engine.judging.providers.wire import ProviderErrors

        return provider(endpoint, ProviderErrors(shown_url(endpoint.base), self._masked))

    def _masked(self, text: str) -> str:
        for key in self._setup.secrets():
            text = text.replace(key, "[REDACTED]")
        return self._redact(text)

    def settle(self) -> list[str]:
        """Bring what is kept in order, once nothing more is asked; gives what was not as it should be."""
        if not isinstance(self._keep, AnswerCache):
            return []
        self._keep.close()
        return [] if self._keep.problem is None else [self._keep.problem]

    async def close(self) -> None:
        """End what is under way, and close the connections."""
        self._flights.cancel()
        for made in await asyncio.gather(*self._providers.values(), return_exceptions=True):
            if not isinstance(made, BaseException):
                await made.close()
        self._providers.clear()


def _imported(sdk: str) -> type[Any]:
    """The class that asks through an SDK. Takes seconds. Raises: ImportError.

    What the SDK warns of itself or of a model is for its maintainers and ours: it neither stands in a run's output nor ends
    a run whose Python makes errors of warnings.
    """
    import warnings
    from importlib import import_module

    for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
        for module in (rf"{sdk}(\.|$)", rf"mcptest_engine\.judging\.providers\.{sdk}_$"):
            warnings.filterwarnings("ignore", category=category, module=module)
    made: type[Any] = import_module(f"mcptest_engine.judging.providers.{sdk}_").Provider
    return made


def _refused_option(
    optional: Mapping[str, tuple[str, ...]], error: ProviderError, request: ModelRequest, without: frozenset[str]
) -> str | None:
    """The optional part of the request that a refusal names; None if it names none."""
    if error.fault is not ModelFault.REFUSED:
        return None
    has = {"temperature": request.temperature is not None, "schema": request.schema is not None}
    text = error.provider_text.lower()
    for name, words in optional.items():
        if name not in without and has.get(name, True) and any(word in text for word in words):
            return name
    return None


def _capped(wrong: Capped) -> ModelError:
    return ModelError(ModelFault.CAPPED, f"not asked: {wrong.message}", hint=wrong.hint, reason=wrong.message)


def _model_error(error: ProviderError, model: str, endpoint: Endpoint, attempts: int) -> ModelError:
    """The final failure of a request, as a message with a hint."""
    message = f"`{model}`: the model provider {error.message}"
    hint = error.hint
    if attempts > 1:
        message += f" (asked {attempts} times)"
    elif error.retry_after is not None and error.again:
        message += f"; it asks to wait {error.retry_after:g}s"
    if error.fault is ModelFault.AUTH:
        hint = (
            f"check {endpoint.provider.key}, and whether it may use `{model}`"
            if endpoint.key
            else f"set {endpoint.provider.key}"
        )
    elif error.fault is ModelFault.RATE_LIMITED:
        hint = "run fewer tests at once with --workers, or try later"
    elif error.fault is ModelFault.REFUSED and error.status == 404:
        hint = f"check the model id `{model}`" + (f"; {endpoint.provider.base} is set" if endpoint.own else "")
    return ModelError(error.fault, message, hint=hint)
