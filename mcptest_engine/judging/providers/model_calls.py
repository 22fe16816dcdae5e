"""The models of a run: who is asked, within its caps; what is kept and given again, once for equal questions.

SDKs are imported when the first model is asked, in a thread. Their own retries are off: a provider that is busy is asked
again here, a bounded number of times, within the time of the whole call.
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
    from mcptest_engine.judging.providers.wire import Said, Trouble
    from mcptest_engine.judging.spending import Reservation

MOST_ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 60.0
"""What a provider may ask to wait for; who asks for more is not waited for at all."""


def open_models(
    prices: Mapping[str, Mapping[str, object]] | None,
    environ: Mapping[str, str],
    *,
    budget: CostBudget | None = None,
    keep: AnswerCache | Recording | Replay | None = None,
    redact: Callable[[str], str] = lambda text: text,
    keep_secret: Callable[[str], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
    first_pause_seconds: float = FIRST_PAUSE_SECONDS,
) -> ModelCalls:
    """The models that `environ` sets up, none of them asked yet. `prices` are the suite's own.

    `budget` is what scorers are paid from as well, one of its own when None. `keep` is where answers are kept or
    come from. `keep_secret` is told the keys before one is sent.
    """
    return ModelCalls(
        Setup(environ),
        PriceList(prices),
        CostBudget() if budget is None else budget,
        keep=keep,
        redact=redact,
        keep_secret=keep_secret,
        clock=clock,
        first_pause_seconds=first_pause_seconds,
    )


class ModelCalls:
    """Source of the shape: `values.Models`. To be closed in the event loop that it was asked in."""

    def __init__(
        self,
        setup: Setup,
        prices: PriceList,
        budget: CostBudget,
        *,
        keep: AnswerCache | Recording | Replay | None,
        redact: Callable[[str], str],
        keep_secret: Callable[[str], None] | None,
        clock: Callable[[], float],
        first_pause_seconds: float,
    ) -> None:
        self.budget = budget
        self._setup, self._prices, self._clock = setup, prices, clock
        self._keep, self._redact = keep, redact
        self._first_pause = first_pause_seconds
        self._flights: SingleFlight[ModelReply] = SingleFlight()
        self._providers: dict[str, asyncio.Future[Any]] = {}
        self._without: dict[tuple[str, str], frozenset[str]] = {}
        if keep_secret is not None:
            for key in setup.secrets():
                keep_secret(key)

    # --- who is asked

    def missing(self, model: str | None) -> str | None:
        """Why `model` cannot be asked, or None. Asks nobody and imports nothing."""
        if isinstance(self._keep, Replay):
            return self._keep.missing()
        return self._setup.missing(model if model is not None else self.chosen(None, judging=False))

    def chosen(self, model: str | None, *, judging: bool) -> str | None:
        """The model that is asked where a test names `model`, or None to name none."""
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
        """Have everything imported that asking `model` takes, so that no conversation is timed with that. Raises nothing."""
        endpoint = self._setup.endpoint_for(model)
        if endpoint is not None and not isinstance(self._keep, Replay):
            with suppress(ModelError):
                await self._provider(endpoint, model)

    # --- asking

    async def ask(self, request: ModelRequest) -> ModelReply:
        """The answer. Where answers are kept, equal questions under way at once are asked once: only one is not `kept`.

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
        """The answer of the flight for this question, which is begun where there is none."""
        key = request_key(request, endpoint.base) if isinstance(self._keep, AnswerCache) else object()
        if key in self._flights:
            self.budget.give_back()
        try:
            reply, first = await self._flights.join(key, lambda: self._answered(request, endpoint))
        except ModelError as wrong:
            raise ModelError(wrong.fault, wrong.message, hint=wrong.hint, reason=wrong.reason) from None
        return reply if first else reply._replace(kept=True)

    async def _answered(self, request: ModelRequest, endpoint: Endpoint) -> ModelReply:
        """The kept answer, or a new one, which is kept."""
        cache = self._keep if isinstance(self._keep, AnswerCache) else None
        if cache is not None and (kept := cache.get(request, endpoint.base)) is not None:
            return kept
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
                said = await self._answer_with_retries(
                    provider, request, endpoint, call, until=began + request.timeout_seconds
                )
        except TimeoutError:
            raise ModelError(
                ModelFault.TIMEOUT,
                f"`{request.model}` did not finish its answer within {request.timeout_seconds:g}s ({shown_url(endpoint.base)})",
            ) from None
        return self._reply(request, said, (self._clock() - began) * 1000)

    def _reply(self, request: ModelRequest, said: Said, duration_ms: float) -> ModelReply:
        counted = said.tokens_in is not None and said.tokens_out is not None
        tokens_in, tokens_out = said.tokens_in or 0, said.tokens_out or 0
        return ModelReply(
            model=request.model,
            text=said.text,
            uses=said.uses,
            stop=said.stop,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost_usd=self._prices.cost(request.model, tokens_in, tokens_out) if counted else None,
            duration_ms=duration_ms,
            thinking=said.thinking,
        )

    async def _answer_with_retries(
        self, provider: Any, request: ModelRequest, endpoint: Endpoint, call: Reservation, *, until: float
    ) -> Said:
        """Asked as often as it is worth it. Raises: ModelError."""
        from mcptest_engine.judging.providers.wire import Trouble

        place, attempts = (endpoint.base, request.model), 0
        while True:
            without = self._without.get(place, frozenset())
            try:
                said: Said = await provider.ask(request, without)
            except Trouble as trouble:
                spared = _spared(provider.spared, trouble, request, without)
                if spared is not None:
                    self._without[place] = without | {spared}
                    continue
                attempts += 1
                pause = self._pause(trouble, attempts, until - self._clock())
                if not trouble.billed and pause is None:
                    call.cancel()
                if pause is None or (trouble.billed and not call.renew()):
                    raise _model_error(trouble, request.model, endpoint, attempts) from None
                await asyncio.sleep(pause)
            else:
                return said

    def _pause(self, trouble: Trouble, attempts: int, left: float) -> float | None:
        """How long to wait before asking again; None when it is not asked again."""
        if not trouble.again or attempts >= MOST_ATTEMPTS:
            return None
        pause = trouble.retry_after
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
        """Ask nobody. Raises: ModelError, when the cap leaves too little for this question, which no cache could answer."""
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

    async def _provider(self, endpoint: Endpoint, model: str) -> Any:
        """What asks an endpoint, made once."""
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

    async def _make_provider(self, endpoint: Endpoint) -> Any:
        provider = await asyncio.to_thread(_imported, endpoint.provider.sdk)
        from mcptest_engine.judging.providers.wire import Teller

        return provider(endpoint, Teller(shown_url(endpoint.base), self._masked))

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


def _spared(
    words: Mapping[str, tuple[str, ...]], trouble: Trouble, request: ModelRequest, without: frozenset[str]
) -> str | None:
    """What a refusal is about that can be left out, or said otherwise; None when it is about nothing of the kind."""
    if trouble.fault is not ModelFault.REFUSED:
        return None
    asked = {"temperature": request.temperature is not None, "schema": request.schema is not None}
    told = trouble.told.lower()
    for name, about in words.items():
        if name not in without and asked.get(name, True) and any(word in told for word in about):
            return name
    return None


def _capped(wrong: Capped) -> ModelError:
    return ModelError(ModelFault.CAPPED, f"not asked: {wrong.message}", hint=wrong.hint, reason=wrong.message)


def _model_error(trouble: Trouble, model: str, endpoint: Endpoint, attempts: int) -> ModelError:
    """The failure in words, once it is known that it stays one."""
    message = f"`{model}`: the model provider {trouble.message}"
    hint = trouble.hint
    if attempts > 1:
        message += f" (asked {attempts} times)"
    elif trouble.retry_after is not None and trouble.again:
        message += f"; it asks to wait {trouble.retry_after:g}s"
    if trouble.fault is ModelFault.AUTH:
        hint = (
            f"check {endpoint.provider.key}, and whether it may use `{model}`"
            if endpoint.key
            else f"set {endpoint.provider.key}"
        )
    elif trouble.fault is ModelFault.RATE_LIMITED:
        hint = "run fewer tests at once with --workers, or try later"
    elif trouble.fault is ModelFault.REFUSED and trouble.status == 404:
        hint = f"check the model id `{model}`" + (f"; {endpoint.provider.base} is set" if endpoint.own else "")
    return ModelError(trouble.fault, message, hint=hint)
