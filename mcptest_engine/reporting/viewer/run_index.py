"""The runs of a workspace as the viewer needs them: a row each from the heads of records, and of tests what a trend is made of.

A record is read again only when its file is another one. How many bytes are read for one question is bounded. May be used
from several threads.
"""

from __future__ import annotations

import json
import re
import stat
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.errors import RecordError
from mcptest_engine.core.ledger import Ledger, count_to_review
from mcptest_engine.core.run_record import RunRecord, Totals
from mcptest_engine.core.values import dataclass
from mcptest_engine.workspace.active_runs import ActiveRun, list_active_runs
from mcptest_engine.workspace.agent_files import inline_dir
from mcptest_engine.workspace.files import file_state, list_names, list_states, open_file, read_file
from mcptest_engine.workspace.json_beginnings import head_of
from mcptest_engine.workspace.slug import Slugs
from mcptest_engine.workspace.ulid import is_ulid, ulid_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.workspace.workspace import Workspace

    Stamp = tuple[int, int]

LARGEST_RECORD = 256 * 1024 * 1024
MOST_BYTES = 64 * 1024 * 1024
"""How much is read for one question; the next one goes on from there."""
MOST_REMEMBERED = 200_000
UNDER_WAY_SECONDS = 3600
"""For how long what has no record yet passes for a run under way."""
_TEXT = 300
_MESSAGE = 300
_SUITE_PATH = re.compile(r"\.mcptest/inline/[0-9A-Z]{26}\.yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run as a list shows it. `at` is in seconds since 1970; a `damaged` one has nothing but its id and size.

    `doubtful` counts the tests that pass since this run because they or their server were replaced, or that it dropped or
    weakened. `subset` is "3 of 40" for a run of some tests, and "" for a whole one.
    """

    run_id: str
    at: float
    size: int = 0
    damaged: bool = False
    suite: str = ""
    path: str = ""
    sha256: str = ""
    flags: str = ""
    verdict: str = ""
    mode: str = ""
    who: str = ""
    branch: str = ""
    commit: str = ""
    dirty: bool = False
    started_at: str = ""
    duration_ms: float = 0.0
    interrupted: bool = False
    shard: str = ""
    session: str = ""
    lineage: str = ""
    doubtful: int = 0
    subset: str = ""
    totals: Totals = field(default_factory=Totals)

    @property
    def key(self) -> str:
        """By what runs belong together: the path of the suite; of one that came as text, what it continues, or its name."""
        if not _SUITE_PATH.fullmatch(self.path):
            return self.path
        return f"inline: {self.lineage or self.suite}" if is_ulid(self.lineage) or not self.lineage else self.lineage

    @property
    def status(self) -> str:
        """The verdict by which it is marked: a run that could not judge a test is no clean pass."""
        return "inconclusive" if self.verdict == "pass" and self.totals.inconclusive else self.verdict

    @property
    def share(self) -> float | None:
        """The share of the tests that were not skipped that passed; None without any."""
        decided = self.totals.total - self.totals.skipped
        return self.totals.passed / decided if decided > 0 else None


class PastTest(NamedTuple):
    """What one test came to in one run; `slug` is its fragment on that run's page."""

    id: str
    name: str
    slug: str
    verdict: str
    duration_ms: float
    flaky: bool
    cached: bool
    message: str


class SideFile(NamedTuple):
    """An output that was put aside."""

    name: str
    size: int


class NoSuchRun(Exception):
    """Nothing of that id is kept here."""


class RunIndex:
    """What the viewer reads of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._lock = threading.Lock()
        self._rows: dict[str, tuple[Stamp, RunRow]] = {}
        self._tests: OrderedDict[str, tuple[Stamp, tuple[PastTest, ...]]] = OrderedDict()
        self._remembered = 0

    def rows(self) -> tuple[RunRow, ...]:
        """All saved runs, the newest first."""
        with self._lock:
            found: dict[str, tuple[Stamp, RunRow]] = {}
            for path in self.workspace.runs():
                stamp = _stamp(path)
                if stamp is not None:
                    known = self._rows.get(path.stem)
                    found[path.stem] = (
                        known if known is not None and known[0] == stamp else (stamp, _read_row(path, stamp))
                    )
            self._rows = found
            return tuple(row for _, row in found.values())

    def record(self, run_id: str) -> RunRecord:
        """A whole run. Raises: NoSuchRun; RecordError for one that is damaged."""
        from mcptest_engine.reporting.record_schema import record_fault

        data = self._load(run_id)
        record = RunRecord.from_json(data)
        fault = record_fault(data)
        if fault is None and record.run_id != run_id:
            fault = "it is the record of another run"
        if fault is not None:
            raise RecordError(f"the run record is damaged: {fault}")
        return record

    def text(self, run_id: str) -> bytes:
        """A record's file as it is. Raises: NoSuchRun, RecordError."""
        try:
            return read_file(self._file(run_id), largest=LARGEST_RECORD)
        except OSError as wrong:
            raise RecordError(f"the run record cannot be read: {wrong.strerror or wrong}") from wrong

    def tests(self, rows: Iterable[RunRow]) -> list[tuple[RunRow, tuple[PastTest, ...]]]:
        """The tests of these runs, in that order, as far as may be read for one question; damaged ones are left out."""
        left, found = MOST_BYTES, []
        for row in rows:
            stamp = None if row.damaged else _stamp(self._path(row.run_id))
            if stamp is None:
                continue
            with self._lock:
                known = self._tests.get(row.run_id)
            if known is None or known[0] != stamp:
                if left <= 0 or stamp[1] > MOST_BYTES:
                    continue
                left -= stamp[1]
                known = self._remember(row.run_id, stamp)
            found.append((row, known[1]))
        return found

    def ledger(self, rows: Iterable[RunRow]) -> Ledger:
        """What became of the tests of these runs, which are of one suite, as far as may be read for one question."""
        from mcptest_engine.running.ledger import ledger_of

        left, runs = MOST_BYTES, []
        for row in rows:
            if row.damaged or (left := left - row.size) < 0:
                continue
            with suppress(NoSuchRun, RecordError):
                runs.append(RunRecord.from_json(self._load(row.run_id)))
        try:
            return ledger_of(runs)
        except Exception:  # noqa: BLE001 - records are what others wrote
            return Ledger(runs=())

    def side_files(self, run_id: str) -> tuple[SideFile, ...]:
        """The outputs of a run that were put aside, by name."""
        if not is_ulid(run_id):
            return ()
        states = list_states(self.workspace.runs_dir / run_id)
        return tuple(sorted(SideFile(name, state.st_size) for name, state in states if name.endswith(".json")))

    def open_side_file(self, run_id: str, name: str) -> BinaryIO:
        """One of them, opened. Raises: NoSuchRun when the run has none of that name."""
        # By comparing with what is there, so that no name can lead out of the folder.
        if not any(file.name == name for file in self.side_files(run_id)):
            raise NoSuchRun
        try:
            return open_file(self.workspace.runs_dir / run_id / name)
        except OSError:
            raise NoSuchRun from None

    def active_runs(self, now: float) -> tuple[ActiveRun, ...]:
        """Runs that go on, newest first: those that say so, and those that left a suite or an output and no record yet."""
        told = {one.run_id: one for one in list_active_runs(self.workspace.data_dir, now)}
        began = {name[:-4] for name in list_names(inline_dir(self.workspace)) if name.endswith(".yml")}
        names = list_names(self.workspace.runs_dir)
        done = {name[:-5] for name in names if name.endswith(".json")}
        fresh = (one for one in began.union(names) - done if is_ulid(one))
        silent = (one for one in fresh if one not in told and 0 <= now - ulid_seconds(one) < UNDER_WAY_SECONDS)
        found = [one for one in told.values() if one.run_id not in done]
        return tuple(sorted((*found, *(ActiveRun(one, "") for one in silent)), reverse=True))

    def state(self) -> tuple[object, ...]:
        """Another value whenever a run has begun, come further, ended or been deleted."""
        folders = self.workspace.runs_dir, inline_dir(self.workspace)
        # The names as well, since the times of folders are coarse.
        return (
            list_active_runs(self.workspace.data_dir, time.time()),
            *((_stamp(folder), *_newest(list_names(folder))) for folder in folders),
        )

    def _remember(self, run_id: str, stamp: Stamp) -> tuple[Stamp, tuple[PastTest, ...]]:
        try:
            tests = _past_tests(self._load(run_id))
        except (NoSuchRun, RecordError):
            tests = ()
        with self._lock:
            _, before = self._tests.pop(run_id, (stamp, ()))
            self._tests[run_id] = stamp, tests
            self._remembered += len(tests) - len(before)
            while self._remembered > MOST_REMEMBERED and len(self._tests) > 1:
                self._remembered -= len(self._tests.popitem(last=False)[1][1])
        return stamp, tests

    def _path(self, run_id: str) -> Path:
        return self.workspace.runs_dir / f"{run_id}.json"

    def _file(self, run_id: str) -> Path:
        path = self._path(run_id)
        stamp = _stamp(path) if is_ulid(run_id) else None
        if stamp is None:
            raise NoSuchRun
        if stamp[1] > LARGEST_RECORD:
            raise RecordError(f"the run record has {stamp[1]:,} bytes, too many to be shown")
        return path

    def _load(self, run_id: str) -> dict[str, object]:
        return self.workspace.load_run(self._file(run_id))


def _stamp(path: Path) -> Stamp | None:
    """By what a file or folder is known again; None for what is neither."""
    try:
        state = file_state(path)
    except OSError:
        return None
    ordinary = stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)
    return (state.st_mtime_ns, state.st_size) if ordinary else None


def _newest(names: list[str]) -> tuple[int, str]:
    return len(names), max(names, default="")


def _read_row(path: Path, stamp: Stamp) -> RunRow:
    run_id = path.stem
    about: JsonDict = {"run_id": run_id, "at": ulid_seconds(run_id), "size": stamp[1]}
    head = head_of(path, "tests") or {}
    suite, totals, verdict = head.get("suite"), head.get("totals"), head.get("verdict")
    is_whole = isinstance(suite, dict) and isinstance(totals, dict) and verdict in ("pass", "fail")
    if not is_whole or head.get("run_id") != run_id:
        return RunRow(**about, damaged=True)
    assert isinstance(suite, dict)
    assert isinstance(totals, dict)
    source, shard, subset = (_mapping(head.get(key)) for key in ("source", "shard", "subset"))
    return RunRow(
        **about,
        suite=_short_text(suite.get("name")) or "(no name)",
        path=_short_text(suite.get("path")),
        sha256=_short_text(suite.get("sha256")),
        flags=json.dumps(head.get("flags", []))[:_TEXT],
        verdict=str(verdict),
        mode=_short_text(head.get("mode")),
        who=_who(head.get("requested_by")),
        branch=_short_text(source.get("branch")),
        commit=_short_text(source.get("commit")),
        dirty=source.get("dirty") is True,
        started_at=_short_text(head.get("started_at")),
        duration_ms=_number_or_zero(head.get("duration_ms")),
        interrupted=head.get("interrupted") is True,
        shard=f"{_number_or_zero(shard['index']):.0f}/{_number_or_zero(shard.get('count')):.0f}"
        if "index" in shard
        else "",
        session=_short_text(_mapping(head.get("requested_by")).get("session")),
        lineage=_short_text(_mapping(head.get("requested_by")).get("lineage")),
        doubtful=count_to_review(head.get("ledger"), run_id),
        subset=f"{_number_or_zero(subset.get('taken')):.0f} of {_number_or_zero(subset.get('declared')):.0f}"
        if subset
        else "",
        totals=Totals(**{name: int(_number_or_zero(totals.get(name))) for name in Totals.__slots__}),
    )


def _who(asked: object) -> str:
    """The agent by what it calls itself, "" for a person."""
    if not isinstance(asked, dict):
        return ""
    client = _mapping(asked.get("client"))
    named = " ".join(filter(None, (_short_text(client.get(key)) for key in ("name", "version"))))
    return named or _short_text(asked.get("via")) or "an agent"


def _past_tests(record: Mapping[str, object]) -> tuple[PastTest, ...]:
    tests, slugs, found = record.get("tests"), Slugs(), []
    for test in tests if isinstance(tests, list) else ():
        if not isinstance(test, dict):
            continue
        name = _short_text(test.get("name"), 2_000)
        found.append(
            PastTest(
                id=_short_text(test.get("id"), 4_000),
                name=name,
                slug=slugs.take(name),
                verdict=_short_text(test.get("verdict")),
                duration_ms=_number_or_zero(test.get("duration_ms")),
                flaky=test.get("flaky") is True,
                cached=test.get("cached") is True,
                message=_short_text(test.get("message"), _MESSAGE),
            )
        )
    return tuple(found)


def _mapping(value: object) -> JsonMapping:
    return value if isinstance(value, dict) else {}


def _short_text(value: object, most: int = _TEXT) -> str:
    return value[:most] if isinstance(value, str) else ""


def _number_or_zero(value: object) -> float:
    """Counts and times are what others wrote: JSON allows 1e999 too."""
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e15 else 0.0
