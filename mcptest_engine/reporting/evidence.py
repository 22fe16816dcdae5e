"""The evidence of a run as a small document: which servers were tested, by what, from which source, with which result."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from mcptest_engine.core.results import TestKind
from mcptest_engine.reporting.facts import answer_origins

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord, ServerRecord

SCHEMA_VERSION = "mcptest.dev/evidence/v1"


def evidence_of(
    record: RunRecord,
    *,
    record_bytes: bytes,
    generated_at: str,
    reproducible: bool,
    severity_counts: Mapping[str, int] | None = None,
    security_bytes: bytes | None = None,
) -> dict[str, object]:
    """The document. `severity_counts` and `security_bytes` are of a `mcptest security --format json`, None without one."""
    revisions = sorted({server.protocol_version for server in record.servers if server.protocol_version})
    digests = {"record": _digest(record_bytes)}
    if security_bytes is not None:
        digests["security"] = _digest(security_bytes)
    source = record.source
    return {
        "schema_version": SCHEMA_VERSION,
        "generated_at": generated_at,
        "mcptest_version": record.mcptest_version,
        "run": {
            "run_id": record.run_id,
            "started_at": record.started_at,
            "verdict": record.verdict.value,
            "exit_code": record.exit_code,
            "mode": record.mode,
            "interrupted": record.interrupted,
        },
        "answers": answer_origins(record),
        "server_identity": [_server_identity(server) for server in record.servers],
        "models": {
            "tested": sorted(_tested(record.tests)),
            "judges": sorted(_judges(record.tests)),
            "scorers": sorted({test.scorer for test in record.tests if test.scorer and _is_graded_by_program(test)}),
        },
        "spec_version": ", ".join(revisions) or None,
        "corpus_version": f"sha256:{record.suite.sha256}",
        "source": {
            "repo": source.get("repo"),
            "branch": source.get("branch"),
            "commit_sha": source.get("commit"),
            "dirty": source.get("dirty"),
        },
        "grades": {
            "tests_total": record.totals.total,
            "tests_passed": record.totals.passed,
            "tests_failed": record.totals.failed,
            "tests_inconclusive": record.totals.inconclusive,
            "tests_skipped": record.totals.skipped,
            "security_severity_counts": None if severity_counts is None else dict(severity_counts),
        },
        "digests": digests,
        "reproducible": reproducible,
        "unverifiable_origin": unverifiable_origin(record),
    }


def _server_identity(server: ServerRecord) -> dict[str, object]:
    return {
        "name": server.name,
        "transport": server.transport,
        "auth": server.auth,
        "server_info": server.server_info,
        "protocol_version": server.protocol_version,
    }


def _tested(tests: Iterable[TestResult]) -> set[str]:
    """The models whose answers were judged."""
    models = (test.trace.get("model") for test in tests if test.trace is not None and "conversation" in test.trace)
    agents = {test.model for test in tests if test.kind is TestKind.AGENT and test.model}
    return {str(model) for model in models if model} | agents


def _judges(tests: Iterable[TestResult]) -> set[str]:
    """The models that judged tests of the run."""
    return {
        str(row["model"])
        for judgement in _judgements(tests)
        if judgement.get("by") != "exec"
        for row in judgement.get("models") or ()
        if row.get("model")
    }


def _is_graded_by_program(test: TestResult) -> bool:
    """Whether a program graded the row, or failed to."""
    failed = test.failure is not None and test.failure.scorer_error is not None
    return (test.judgement or {}).get("by") == "exec" or (failed and test.scorer != "judge")


def _judgements(tests: Iterable[TestResult]) -> Iterator[JsonMapping]:
    for test in tests:
        assertions = [*test.assertions, *(item for step in test.verify for item in step.assertions)]
        rows = (row.judgement for item in assertions for row in item.leaves())
        yield from (part for part in (test.judgement, *rows) if part is not None)


def unverifiable_origin(record: RunRecord) -> bool:
    """Whether nobody can go back to what was tested: no repository or commit, changes on top, or answers that are not live."""
    source = record.source
    known = bool(source.get("repo")) and bool(source.get("commit")) and source.get("dirty") is False
    not_live = sum(answer_origins(record).values()) - answer_origins(record)["live"]
    return not known or record.mode == "replayed" or not_live > 0


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
