"""Documents, events and stores for the tests of the state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.running.documents import Diagnostic, Document, ServerItem, TestItem
from mcptest_tui.state.store import Store

if TYPE_CHECKING:
    from mcptest_engine.engine_process.workbench_events import (
        CaseFinished,
        CaseStarted,
        RunFailed,
        RunFinished,
        RunStarted,
        TestOfRun,
    )

PATH = "/suites/s.yml"


def item(
    name: str, *, block: str = "tools", digest: str = "d", path: str = PATH, line: int = 1, **more: Any
) -> TestItem:
    kind = block.removesuffix("s")
    told: dict[str, Any] = {"server": "demo", "tool": name, "tags": (), "end_line": line + 2, **more}
    return TestItem(
        id=f"{path.rpartition('/')[2]}::{kind}::{name}", name=name, block=block, kind=kind, file=path, line=line,
        digest=digest, **told,
    )  # fmt: skip


def document(
    *tests: TestItem,
    path: str = PATH,
    sound: bool = True,
    digest: str = "",
    problems: tuple[Diagnostic, ...] = (),
    servers: tuple[ServerItem, ...] = (),
) -> Document:
    digest = digest or repr(tests)
    return Document(path, "s", sound, tests, servers, problems, (path,), digest)


def problem(message: str = "unknown key", line: int = 3, hint: str | None = "did you mean `expect`?") -> Diagnostic:
    return Diagnostic(PATH, line, 5, 9, "error", message, hint)


def id_of(name: str, block: str = "tools", path: str = PATH) -> str:
    return f"{path.rpartition('/')[2]}::{block.removesuffix('s')}::{name}"


def started(run: str, *ids: str, path: str = PATH) -> RunStarted:
    tests: list[TestOfRun] = [
        {"id": test, "name": test.rpartition("::")[2], "kind": "tool", "server": "demo", "file": path, "line": 1}
        for test in ids
    ]
    return {"event": "run.started", "run": run, "run_id": f"R-{run}", "path": path, "tests": tests, "workers": 1}


def case_started(run: str, test: str) -> CaseStarted:
    return {"event": "case.started", "run": run, "id": test}


def finished(run: str, test: str, verdict: str = "pass", duration_ms: float = 5.0, **more: Any) -> CaseFinished:
    result = {"id": test, "name": test.rpartition("::")[2], "kind": "tool", "server": "demo", "file": "s.yml", "line": 1,
              "verdict": verdict, "duration_ms": duration_ms, "cached": False, "assertions": [], **more}  # fmt: skip
    return {"event": "case.finished", "run": run, "id": test, "result": result}


def ended(run: str, path: str = PATH, **record: Any) -> RunFinished:
    return {"event": "run.finished", "run": run, "path": path, "record": {"duration_ms": 1200.0, **record}}


def failed(run: str, message: str, kind: str = "suite") -> RunFailed:
    return {"event": "run.failed", "run": run, "message": message, "kind": kind}


def cancelled(run: str) -> RunFailed:
    return failed(run, "cancelled before it began", "cancelled")


def store_of(*tests: TestItem, **more: Any) -> Store:
    store = Store(now=lambda: 1_000.0, clock=lambda: 0.0)
    store.put_document(document(*tests, **more))
    return store


def ran(store: Store, run: str, **verdicts: str) -> None:
    """Run tests by name to these verdicts."""
    ids = {id_of(name): verdict for name, verdict in verdicts.items()}
    store.apply_many([started(run, *ids), *(finished(run, test, verdict) for test, verdict in ids.items()), ended(run)])
