"""Records the servers of a run into a cassette, or answers for them from one; models as well (`judged.py`)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mcptest_engine import __version__
from mcptest_engine.core.errors import McptestError
from mcptest_engine.core.redaction import SHORTEST_SUBSTRING
from mcptest_engine.core.text import utc_text
from mcptest_engine.running.extensions import Extension, with_warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcptest_engine.core.redaction import Disguise, Redactor
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.running.pool import Pool
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace


def use_cassette(pool: Pool, suite: LoadedSuite, settings: RunSettings, workspace: Workspace | None) -> None:
    """Have `pool` record, or replay, as the settings say.

    Raises: UsageError for a name or a cassette that will not do, McptestError where no cassette can be written.
    """
    from mcptest_engine.workspace.cassettes import cassette_path, make_cassettes_dir, open_cassette

    assert workspace is not None
    if settings.replay is not None:
        from mcptest_engine.servers.replay import replaying

        cassette = open_cassette(workspace, settings.replay)
        replaced = replace_stand_ins(cassette.get("stand_ins", ()), suite, pool.redactor)
        cassette["servers"] = _with_values(cassette["servers"], replaced)
        pool.connect = replaying(cassette, name=settings.replay, redact=_redacting(pool))
        return
    assert settings.record is not None
    from mcptest_engine.servers.recording import Recorder

    # A name that will not do, and a folder that cannot be made, are told before anything is called.
    make_cassettes_dir(workspace, cassette_path(workspace, settings.record))
    pool.recorder = Recorder()
    pool.connect = pool.recorder.connecting(pool.connect)


def _redacting(pool: Pool) -> Callable[[Any], Any]:
    """What takes the secrets out, made when there is something to compare: a redactor takes milliseconds to make."""

    def redact(value: object) -> Any:
        return pool.redactor.redact(value)

    return redact


def _without_secrets(servers: Mapping[str, Any], redactor: Redactor, disguise: Disguise) -> dict[str, Any]:
    """The recorded servers without secrets. An answer keeps its shape, so that it is judged as it was."""
    shaped = redactor.with_shapes(disguise)

    def redact_exchange(exchange: Mapping[str, object]) -> dict[str, Any]:
        return {key: (redactor if key == "params" else shaped).redact(part) for key, part in exchange.items()}

    return {
        name: {**server, "exchanges": [redact_exchange(exchange) for exchange in server["exchanges"]]}
        for name, server in servers.items()
    }


def _models_without_secrets(models: Mapping[str, Any], redactor: Redactor, disguise: Disguise) -> dict[str, Any]:
    """The same for what models were asked and answered."""
    shaped = redactor.with_shapes(disguise)
    exchanges = [
        {key: (shaped if key == "answer" else redactor).redact(part) for key, part in exchange.items()}
        for exchange in models["exchanges"]
    ]
    return {
        **{key: redactor.redact(part) for key, part in models.items() if key != "exchanges"},
        "exchanges": exchanges,
    }


def restore_values_in_answers(
    models: Mapping[str, Any] | None, stand_ins: Iterable[Mapping[str, str]], suite: LoadedSuite, redactor: Redactor
) -> Mapping[str, Any] | None:
    """What models answered, with the values that variables have now."""
    if models is None:
        return None
    replaced = replace_stand_ins(stand_ins, suite, redactor)
    return {**models, "exchanges": [{**one, "answer": replaced(one["answer"])} for one in models["exchanges"]]}


def stand_ins_of(disguise: Disguise, suite: LoadedSuite) -> list[dict[str, str]]:
    """What took the place of secrets in answers, with the name of the variable that holds the secret where the suite has it."""
    names = {value: name for name, value in suite.lookups.items() if value and name.encode() in suite.data}
    made = sorted((stand_in, names.get(secret)) for secret, stand_in in disguise.made.items())
    return [
        {"text": text} if name is None else {"text": text, "variable": name}
        for text, name in made
        if name is not None or len(text) >= SHORTEST_SUBSTRING
    ]


def replace_stand_ins(
    stand_ins: Iterable[Mapping[str, str]], suite: LoadedSuite, redactor: Redactor
) -> Callable[[Any], Any]:
    """A function that gives a recorded value with what variables hold now in the places of their stand-ins.

    What else stands in for a secret is registered as a secret.
    """
    values: dict[str, str] = {}
    for one in stand_ins:
        value = suite.lookups.get(one.get("variable", ""))
        if value:
            values[one["text"]] = value
        elif len(one["text"]) >= SHORTEST_SUBSTRING:
            redactor.register(one["text"])
    longest_first = sorted(values, key=len, reverse=True)

    def replaced(part: object) -> Any:
        if isinstance(part, str):
            if part in values:
                return values[part]
            for text in longest_first:
                part = part.replace(text, values[text]) if len(text) >= SHORTEST_SUBSTRING else part
            return part
        if isinstance(part, dict):
            return {replaced(key): replaced(item) for key, item in part.items()}
        return [replaced(item) for item in part] if isinstance(part, list) else part

    return replaced if values else lambda part: part


def _with_values(servers: Mapping[str, Any], replaced: Callable[[Any], Any]) -> dict[str, Any]:
    """The recorded servers with the values that variables have now; requests are compared without them."""
    return {
        name: {
            **server,
            "exchanges": [
                {key: item if key in ("method", "params") else replaced(item) for key, item in exchange.items()}
                for exchange in server["exchanges"]
            ],
        }
        for name, server in servers.items()
    }


class CassetteWriter(Extension):
    """Writes what a run recorded as the cassette `name`; its record has no `cassette` when the disk refused it."""

    def __init__(
        self,
        pool: Pool,
        suite: LoadedSuite,
        name: str,
        workspace: Workspace,
        recorded_answers: Callable[[], Mapping[str, Any] | None] | None,
    ) -> None:
        self._pool = pool
        self._suite = suite
        self._name = name
        self._workspace = workspace
        self._recorded_answers = recorded_answers

    def finish(self, record: RunRecord) -> RunRecord:
        """Write the cassette, and say in the record's warnings where."""
        try:
            return with_warnings(record, [self._save(record)])
        except McptestError as wrong:
            return with_warnings(replace(record, mode="live", cassette=None), [wrong.message])

    def _save(self, record: RunRecord) -> str:
        """Write what was recorded and say where, in one line. Raises: McptestError when the disk refuses it."""
        models = None if self._recorded_answers is None else self._recorded_answers()
        from mcptest_engine.core.redaction import Disguise
        from mcptest_engine.workspace.cassettes import SCHEMA_VERSION, save_cassette

        assert self._pool.recorder is not None
        disguise = Disguise()
        servers = _without_secrets(self._pool.recorder.servers(), self._pool.redactor, disguise)
        exchanges = sum(len(server["exchanges"]) for server in servers.values())
        asked = {} if models is None else {"models": _models_without_secrets(models, self._pool.redactor, disguise)}
        cassette = {
            "schema_version": SCHEMA_VERSION,
            "name": self._name,
            "recorded_at": utc_text(datetime.now(UTC), "seconds"),
            "mcptest_version": __version__,
            "suite": {"name": record.suite.name, "path": record.suite.path},
            "servers": servers,
            "stand_ins": stand_ins_of(disguise, self._suite),
            **asked,
        }
        path = save_cassette(self._workspace, self._name, cassette)
        if models is not None:
            exchanges += len(models["exchanges"])
        return f"{exchanges} exchanges recorded in {self._workspace.relative(path)}: check it before you commit it"
