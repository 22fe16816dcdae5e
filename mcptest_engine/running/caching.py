"""The result cache of one run: which tests are not asked again, and which results are kept for the next run.

What is kept is a server's answer as it came, and it is judged again by the matchers as they are now. Only a real answer is
kept, and only one that holds nothing secret: the answer without its secrets would be another one.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.clipping import truncate_deep_members
from mcptest_engine.core.enums import FAILS_ALONE, JUDGED_FAILURES, FailureKind, Verdict
from mcptest_engine.core.text import counted
from mcptest_engine.judging.validity import Validity
from mcptest_engine.running.attempts import Decision
from mcptest_engine.running.cache_keys import Keys, forbids_storing, histories, is_cacheable, may_leave_traces
from mcptest_engine.running.calling import CachedAnswer
from mcptest_engine.running.cases import Check, Request
from mcptest_engine.running.extensions import Extension, with_warnings
from mcptest_engine.running.kinds.compliance import OpenedSession
from mcptest_engine.workspace.fingerprints import TooMuchError
from mcptest_engine.workspace.result_cache import LARGEST, ResultCache, open_cache

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.running.calling import Caller
    from mcptest_engine.running.cases import Case, Plan
    from mcptest_engine.running.pool import Pool
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.running.verdicts import Outcome
    from mcptest_engine.servers.session import Session
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

_LISTS = ("notifications", "server_requests")


_KNOWN_VALID = Validity("", fails=True, is_known=True)
"""Of an answer that was kept: only valid ones are."""


class _Checked(NamedTuple):
    case: Case
    history: str
    data: bytes


def caching_for(suite: LoadedSuite, plan: Plan, settings: RunSettings, pool: Pool, workspace: Workspace) -> Caching:
    """The cache of this run, with what it holds of the plan's tests already found."""
    cache = open_cache(workspace, "results") if settings.cache_dir is None else ResultCache(settings.cache_dir)
    caching = Caching(suite, pool, cache)
    if suite.hooks:
        caching.warnings.append("nothing is cached: the suite has `hooks`")
    else:
        # Whoever asks for what failed wants to know whether it still does.
        caching.look_up(plan.cases, replays=settings.selection.ids is None)
    return caching


class Caching(Extension):
    """What is replayed in a run, and what is noted to be kept after it. `warnings` are for the record."""

    def __init__(self, suite: LoadedSuite, pool: Pool, cache: ResultCache) -> None:
        self._pool = pool
        self._cache = cache
        versions = {name: server.get("server_version") for name, server in suite.servers.items()}
        self._versions = {name: version for name, version in versions.items() if version is not None}
        self._keys: dict[str, tuple[str, str]] = {}
        self._found: dict[str, CachedAnswer] = {}
        self._noted: dict[str, _Checked] = {}
        self._places: dict[str, int] = {}
        self._unanswered: dict[str, Case] = {}  # of those that later answers may depend on
        self.warnings: list[str] = []

    def look_up(self, cases: Sequence[Case], *, replays: bool = True) -> None:
        """Find out what each case goes by, and with `replays` what is kept of it."""
        keys = Keys(self._pool.specs, self._versions)
        unpinned: dict[str, None] = {}
        for place, (case, history) in enumerate(zip(cases, histories(cases), strict=True)):
            if not case.begins:
                continue
            self._places[case.id] = place
            if may_leave_traces(case):
                self._unanswered[case.id] = case
            if not isinstance(case.body, (Request, Check)):
                continue  # many answers decide; or verdicts are kept elsewhere, and an answer that is graded is got anew
            over_http = self._pool.specs[case.server].command is None
            pinned = case.server in self._versions
            if not is_cacheable(case, over_http=over_http, pinned=pinned):
                if over_http and not pinned:
                    unpinned[case.server] = None
                continue
            try:
                key = keys.key(case, history)
            except TooMuchError as wrong:
                advice = (
                    ""
                    if pinned or over_http
                    else "; with a `server_version`, only files that the command names are checked"
                )
                self._warn(f'not cached: tests of server "{case.server}", because {wrong}{advice}')
                continue
            self._keys[case.id] = (key, history)
            entry = self._cache.get(key) if replays else None
            if entry is not None:
                self._find(case, entry)
        for server in unpinned:
            self._warn(f'not cached: tests of server "{server}", which has a `url` and no `server_version`')
        if self._cache.damaged:
            self._warn(f"not used: {counted(self._cache.damaged, 'cached result')} that cannot be read")

    def _warn(self, text: str) -> None:
        text = self._pool.redactor.redact_text(text)
        if text not in self.warnings:
            self.warnings.append(text)

    def _find(self, case: Case, entry: Mapping[str, object]) -> None:
        kept = _cached_answer(entry, checked=isinstance(case.body, Check))
        if kept is None:
            self._cache.damaged += 1
        else:
            self._found[case.id] = kept

    def cases_to_run(self, cases: Iterable[Case]) -> list[Case]:
        """The cases whose servers are needed."""
        return [case for case in cases if case.id not in self._found]

    async def judged_again(self, case: Case, caller: Caller) -> Decision | None:
        """What the case comes to by its kept answer; None where there is none, or where it fails and may be tried again."""
        kept = self._found.get(case.id)
        if kept is None:
            return None
        spec = self._pool.specs.get(case.server)
        validity = _KNOWN_VALID if spec is not None and spec.validity == "fail" else None
        outcome = await caller.judge_again(case, kept, validity)
        if outcome is None or (outcome.verdict is Verdict.FAIL and case.retries):
            return None
        return Decision(outcome, (), cached=True)

    def note(self, case: Case, decision: Decision, *, listed: bool) -> None:
        """Have what a case came to kept after the run, if it may be. `listed`: it was held against the server's list."""
        outcome = decision.outcome
        if outcome.output is None or not _is_judged(outcome):
            return
        once = len(decision.attempts) == 1 and (
            outcome.trace is None or outcome.trace.get("composition", {}).get("ran", False)
        )
        if once or case.request.fault is not None:
            self._unanswered.pop(case.id, None)
        if case.id not in self._keys or not once:
            return
        if not listed:
            self._warn(f'not cached: tests of server "{case.server}", because its list could not be read')
            return
        if outcome.warnings or not self._was_checked(case, outcome):
            return  # it is asked again, so that what is odd about it is told again
        key, history = self._keys[case.id]
        members: dict[str, Any] = {
            "test": case.id,
            "answer": dict(outcome.output),
            "duration_ms": round(outcome.duration_ms, 3),
        }
        if isinstance(case.body, Check):
            session = self._session(case)
            if session is None:
                return
            members |= {"request": outcome.request, "session": _opened(session)._asdict()}
        data = self._encoded(key, members)
        if data is not None:
            self._noted[case.id] = _Checked(case, history, data)

    def _was_checked(self, case: Case, outcome: Outcome) -> bool:
        """Whether a result that has to be valid was found to be."""
        held = self._pool.specs[case.server].validity == "fail" and not isinstance(case.body, Check)
        if not held or not _KNOWN_VALID.covers(case.method) or "result" not in (outcome.output or {}):
            return True
        return any(row.implicit == "valid" and row.passed for row in outcome.assertions)

    def _session(self, case: Case) -> Session | None:
        pin = case.body.pin if isinstance(case.body, Check) else None
        return self._pool.ready(case.server if pin is None else self._pool.pinned(case.server, pin))

    def _encoded(self, key: str, members: dict[str, Any]) -> bytes | None:
        """The entry as it is written; None when it would not be read as what it is, or must not be kept."""
        answer = members["answer"]
        result = answer.get("result")
        if forbids_storing(result) or answer.get("server_requests") or truncate_deep_members(answer) is not answer:
            return None
        if isinstance(result, dict) and result.get("resultType") == "input_required":
            return None
        redact = self._pool.redactor.redact
        if any(
            redact(members[part]) is not members[part] for part in ("answer", "request", "session") if part in members
        ):
            return None
        data = self._cache.encode(key, members)
        return None if data is None or _cached_answer(members, checked="session" in members) is None else data

    def finish(self, record: RunRecord) -> RunRecord:
        """Save what was noted, and add this cache's warnings to the record."""
        self._save()
        return with_warnings(record, self.warnings)

    def _save(self) -> None:
        """Keep what was noted, unless it came to be otherwise than its key says."""
        sure = self._sure()
        if not sure:
            return
        keys = Keys(self._pool.specs, self._versions)
        entries = {}
        changed: dict[str, None] = {}
        for noted in sure:
            key = self._keys[noted.case.id][0]
            try:
                same = keys.key(noted.case, noted.history) == key
            except TooMuchError:
                same = False
            if same:
                entries[key] = noted.data
            else:
                changed[noted.case.server] = None
        for server in changed:
            self._warn(f'not cached: tests of server "{server}", a file of which changed during the run')
        try:
            for key, data in entries.items():
                self._cache.put(key, data)
            self._cache.close()
        except OSError as wrong:
            what = counted(len(entries), "result")
            self._warn(f"{what} could not be cached in {self._cache.folder}: {wrong.strerror or wrong}")

    def _sure(self) -> list[_Checked]:
        """What was noted and came to be as the plan has it.

        Not so where a server died and forgot what it was told, nor after a test that should have changed something and was
        not answered, or not even asked, having been replayed.
        """
        restarted = {server.name for server in self._pool.records() if server.restarts}
        for name in restarted.intersection(noted.case.server for noted in self._noted.values()):
            self._warn(f'not cached: tests of server "{name}", which was restarted during the run')
        sure = [noted for noted in self._noted.values() if noted.case.server not in restarted]
        doubtful = min(self._unanswered.values(), key=lambda case: self._places[case.id], default=None)
        if doubtful is None:
            return sure
        before = [noted for noted in sure if self._places[noted.case.id] < self._places[doubtful.id]]
        if len(before) < len(sure):
            told = "may change their results, and it was not called or did not answer in this run"
            self._warn(f'tests after "{doubtful.name}" are not cached: it {told}')
        return before


def _is_judged(outcome: Outcome) -> bool:
    if outcome.verdict not in {Verdict.PASS, Verdict.FAIL}:
        return False
    failure = outcome.failure
    if failure is None:
        return True
    is_its_own = failure.cause is None or failure.cause.kind == FAILS_ALONE
    return is_its_own and failure.kind in JUDGED_FAILURES - {FailureKind.INVALID}


def _opened(session: Session) -> OpenedSession:
    return OpenedSession(session.protocol_version, session.capabilities, session.server_info)


def _cached_answer(entry: Mapping[str, object], *, checked: bool) -> CachedAnswer | None:
    """The result that an entry holds; None when it holds none: whoever can write there may have written anything."""
    answer, took = entry.get("answer"), entry.get("duration_ms")
    if not isinstance(answer, dict) or ("result" in answer) == ("error" in answer):
        return None
    if not isinstance(answer.get("result", answer.get("error")), dict):
        return None
    if not isinstance(took, (int, float)) or isinstance(took, bool) or not isfinite(took) or took < 0:
        return None
    if not isinstance(answer.get("http", {}), dict) or not all(
        isinstance(answer.get(name, []), list) for name in _LISTS
    ):
        return None
    kept = CachedAnswer(answer, float(took), LARGEST)
    if not checked:
        return kept
    request, session = entry.get("request"), entry.get("session")
    if not isinstance(request, dict) or not isinstance(session, dict):
        return None
    try:
        return kept._replace(request=request, opened=OpenedSession(**session))
    except TypeError:
        return None
