"""A run on tape: servers recorded while they are tested, or answered for by a cassette; models as well (`judged.py`)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mcptest_engine import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.core.results import RunRecord
    from mcptest_engine.running.pool import Pool
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.workspace.workspace import Workspace


def on_tape(pool: Pool, settings: RunSettings, workspace: Workspace | None) -> None:
    """Have `pool` record, or replay, as the settings say.

    Raises: UsageError for a name or a cassette that will not do, McptestError where no cassette can be written.
    """
    from mcptest_engine.workspace.cassettes import cassette_path, load_cassette, make_cassettes_dir

    assert workspace is not None
    if settings.replay is not None:
        from mcptest_engine.servers.replay import replaying

        cassette = load_cassette(workspace, settings.replay)
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

    def redact(value: Any) -> Any:
        return pool.redactor.redact(value)

    return redact


def save_tape(
    pool: Pool, name: str, record: RunRecord, workspace: Workspace, *, models: Mapping[str, Any] | None = None
) -> str:
    """Write what was recorded and say where, in one line. `models` is what models were asked.

    Raises: McptestError when the disk refuses it.
    """
    from mcptest_engine.workspace.cassettes import SCHEMA_VERSION, save_cassette

    assert pool.recorder is not None
    servers = pool.redactor.redact(pool.recorder.servers())
    exchanges = sum(len(server["exchanges"]) for server in servers.values())
    cassette = {
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "recorded_at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "mcptest_version": __version__,
        "suite": {"name": record.suite.name, "path": record.suite.path},
        "servers": servers,
        **({} if models is None else {"models": pool.redactor.redact(models)}),
    }
    path = save_cassette(workspace, name, cassette)
    if models is not None:
        exchanges += len(models["exchanges"])
    return f"{exchanges} exchanges recorded in {workspace.relative(path)}: look at it before you commit it"
