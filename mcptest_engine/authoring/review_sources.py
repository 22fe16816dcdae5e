"""The items that wait, from three sources: stored proposals, changed snapshots, and failures of the newest runs.

Nothing is written here. Files in `.mcptest/` may be damaged: an unreadable one is skipped.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcptest_engine.authoring.loosening import ASSERTIONS, loosening_of, rows_of
from mcptest_engine.authoring.placing import shared_expect
from mcptest_engine.authoring.review_items import ReviewItem
from mcptest_engine.authoring.review_memory import rejected_ids
from mcptest_engine.authoring.review_runs import Change, Guess, Runs, changes, refused_guess, results
from mcptest_engine.authoring.review_texts import Piece, SuiteText, Unreadable, dashed, undashed, value_at
from mcptest_engine.core.errors import McptestError, UsageError
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.judging.differences import equal
from mcptest_engine.suite.edit import append_test
from mcptest_engine.suite.edit_steps import keep_form
from mcptest_engine.suite.short_assertions import EXPECT_KEYS, has_short_form, long_form_assertions
from mcptest_engine.suite.text_edits import EditRefused, apply
from mcptest_engine.suite.yaml import read_tree
from mcptest_engine.suite.yaml_text import Unwritable, block
from mcptest_engine.workspace.files import list_files
from mcptest_engine.workspace.proposals import StoredProposal, read_proposals
from mcptest_engine.workspace.slug import slug
from mcptest_engine.workspace.snapshots import dump_values, pending_path, read_snapshots
from mcptest_engine.workspace.workspace import SUITE_FILES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.workspace.workspace import Workspace

SUITE_SUFFIXES = (".yaml", ".yml", ".json")
_PENDING = ".pending.yml"
_ID_DIGITS = 12
_FIRST = "arguments"
_SEEN = ("init", "mutate")
"""The source of proposals from tests that passed."""
_ORDER = {_FIRST: 0, "assertion": 0, "expect": 1, "test": 2, "snapshot": 3}


class Sources:
    """One reading of everything that waits. `items` and `stale` are filled by `look`; a stale item can only be rejected."""

    def __init__(self, workspace: Workspace, suites: Collection[Path] | None) -> None:
        self.workspace = workspace
        self.items: list[ReviewItem] = []
        self.stale: list[tuple[ReviewItem, str]] = []
        self.problems: list[str] = []
        self._wanted = None if suites is None else {os.path.realpath(path) for path in suites}
        self._given = tuple(workspace.relative(path) for path in suites or ())
        self._texts: dict[str, SuiteText | str] = {}
        self._runs = Runs(workspace)

    def look(self, *, only_snapshots: bool = False) -> None:
        """Find all items, in the order in which a person reviews them."""
        if not only_snapshots:
            self._from_runs()
            self._from_proposals()
        self._from_snapshots()
        unique = {item.id: item for item in self.items}
        self.items = sorted(unique.values(), key=_place)

    def text(self, suite: str) -> SuiteText:
        """A suite file, read once. Raises: Unreadable."""
        found = self._texts.get(suite)
        if found is None:
            try:
                found = SuiteText.read(path_of(self.workspace, suite))
            except Unreadable as wrong:
                found = wrong.message
            self._texts[suite] = found
        if isinstance(found, str):
            raise Unreadable(found)
        return found

    def _is_selected(self, *suites: str) -> bool:
        if self._wanted is None:
            return True
        return any(os.path.realpath(self.workspace.root / suite) in self._wanted for suite in suites if suite)

    def _from_runs(self) -> None:
        rejected = rejected_ids(self.workspace)
        for suite in self._runs.suites():
            for (file, kind, _), runs in results(self._runs.of(suite)).items():
                if runs[0][0].result.get("verdict") == "pass" or not self._is_selected(file, suite):
                    continue
                with suppress(Unreadable):  # a missing or broken suite is reported elsewhere
                    text = self.text(file)
                    guess = refused_guess(text, kind, runs[0])
                    if guess is not None:
                        item = self._item_of_guess(guess, text, file, suite)
                        if item is not None and item.id not in rejected:
                            self.items.append(item)
                    for change in changes(text, kind, runs):
                        item = self._item_of_change(change, text, file, suite)
                        if item is None or item.id in rejected:
                            continue
                        if change.distrust is None:
                            self.items.append(item)
                        else:
                            self.stale.append((item, change.distrust))

    def _item_of_guess(self, guess: Guess, text: SuiteText, file: str, suite: str) -> ReviewItem | None:
        piece = text.piece(guess.block, guess.place, ())
        if piece is None:
            return None
        name = str(guess.was.get("name"))
        item = ReviewItem(
            id="",
            kind=_FIRST,
            suite=file,
            line=text.line(guess.block, guess.place),
            title=name,
            before=piece.shown,
            after="",
            why=guess.why,
            loosens=guess.loosens,
            notes=guess.notes,
            arguments=guess.arguments,
            needs_arguments=guess.needs_arguments,
            run_suite=suite,
            tests=guess.tests,
            source="run",
            origin=guess.run_id,
            block=guess.block,
            test_name=name,
            was=guess.was,
            value=guess.value,
        )
        return _shown(item, piece)

    def _item_of_change(self, change: Change, text: SuiteText, file: str, suite: str) -> ReviewItem | None:
        piece = text.piece(change.block, change.place, change.path)
        if piece is None or (piece.inner and piece.inner[-1] != change.path[-1]):
            return None  # an alias: what is written elsewhere is changed there
        item = ReviewItem(
            id="",
            kind="assertion",
            suite=file,
            line=text.line(change.block, change.place),
            title=str(text.value((change.block, change.place, "name"))),
            before=piece.shown,
            after="",
            about=change.about,
            call=_call_of(text.value((change.block, change.place))),
            why=change.why,
            stability=change.stability,
            loosens=change.loosens,
            is_volatile=change.is_volatile,
            run_suite=suite,
            tests=change.tests,
            source="run",
            origin=change.run_id,
            block=change.block,
            test_name=str(text.value((change.block, change.place, "name"))),
            path=change.path,
            was=change.was,
            value=change.value,
        )
        return _shown(item, piece)

    def _from_proposals(self) -> None:
        for stored in read_proposals(self.workspace):
            if self._is_selected(stored.suite):
                item = _of_proposal(stored)
                try:
                    found, stale = self._placed(item, stored)
                except (Unreadable, Unwritable, EditRefused) as wrong:
                    found, stale = item, getattr(wrong, "message", str(wrong))
                if stale is None:
                    self.items.append(found)
                else:
                    self.stale.append((found, stale))

    def _placed(self, item: ReviewItem, stored: StoredProposal) -> tuple[ReviewItem, str | None]:
        """The item with the current content of the suite, and why it can no longer be accepted."""
        text = self.text(stored.suite)
        if stored.test is not None:
            if stored.test in text.tests(stored.block):
                return item, "the test is in the suite already"
            after = _test_text(stored)
            notes = item.notes
            if text.find(stored.block, stored.test_name) is not None:
                notes = (*notes, "a test of this name is in the suite already")
            return replace(item, after=after, notes=notes), None
        index = text.find(stored.block, stored.test_name)
        if index is None:
            return item, f"there is no longer a test `{one_line(stored.test_name, 80)}`"
        was = text.value((stored.block, index, "expect"))
        if has_short_form(was):
            wanted = _in_short_form(was, stored.expect, stored.block)
        else:
            wanted = keep_form(was, _in_form_of(was, stored.expect))
        if was == wanted and repr(was) == repr(wanted):
            return item, "the test already expects that"
        shared = shared_expect(text.text, index, block=stored.block)
        if shared is not None:
            return item, f"{shared}; write it out in this test, and propose again"
        path: tuple[str, ...] = ("expect",)
        before, value = was, wanted
        test = text.value((stored.block, index))
        if stored.source in _SEEN and isinstance(test, dict) and test.get("guess") and _settles_guess(test, wanted):
            path, before = (), test  # accepting an answer to made-up arguments accepts the arguments
            value = {**{key: part for key, part in test.items() if key != "guess"}, "expect": wanted}
        piece = text.piece(stored.block, index, path)
        if piece is None:
            return item, "its `expect` cannot be separated from the rest of the line"
        item = replace(
            item,
            line=text.line(stored.block, index),
            before=piece.shown,
            call=_call_of(test),
            path=path,
            was=before,
            loosens=loosening_of(
                _long_expect(was, stored.block),
                _long_expect(wanted, stored.block),
                threshold=text.value((stored.block, index, "threshold")),
            ),
            value=value,
        )
        shown = _shown(item, piece)
        return (item, "its `expect` cannot be changed in its place") if shown is None else (shown, None)

    def _from_snapshots(self) -> None:
        folder = self.workspace.snapshots_dir
        suites: dict[str, str] | None = None
        for path in sorted(folder / name for name in list_files(folder, _PENDING)):
            accepted = path.with_name(f"{path.name.removesuffix(_PENDING)}.yml")
            if pending_path(accepted) != path:
                continue
            try:
                pending, values = read_snapshots(path), read_snapshots(accepted)
            except UsageError as wrong:
                self.problems.append(wrong.message)
                continue
            suites = self._suites_by_slug() if suites is None else suites
            suite = suites.get(accepted.stem, "")
            if self._is_selected(suite, self.workspace.relative(accepted)):
                tests = self._snapshot_tests(suite)
                for name, value in pending.items():
                    if name not in values or not equal(values[name], value):
                        self.items.append(self._of_snapshot(accepted, suite, name, values, value, tests.get(name)))

    def _of_snapshot(
        self,
        path: Path,
        suite: str,
        name: str,
        values: Mapping[str, object],
        value: object,
        test: tuple[str, str, int | None] | None,
    ) -> ReviewItem:
        file = self.workspace.relative(path)
        was = [values[name]] if name in values else []
        test_name, test_file, line = test or ("", "", None)
        return ReviewItem(
            id=_digest("snapshot", file, name, was, value),
            kind="snapshot",
            suite=test_file or suite or file,
            line=line,
            title=name,
            before=dump_values({name: was[0]}).rstrip("\n") if was else "",
            after=dump_values({name: value}).rstrip("\n"),
            why=f"the newest run that looked at this snapshot saw {'another' if was else 'its first'} value",
            run_suite=suite,
            tests=(test_name,) if test_name else (),
            source="snapshot",
            origin=file,
            test_name=name,
            was=was,
            value=value,
        )

    def _suites_by_slug(self) -> dict[str, str]:
        known = [*self._runs.suites(), *SUITE_FILES, *self._given]
        return {slug(os.path.splitext(suite)[0]): suite for suite in known}  # noqa: PTH122

    def _snapshot_tests(self, suite: str) -> dict[str, tuple[str, str, int | None]]:
        """The test of each snapshot: name, file and line, from the newest run of the suite."""
        found: dict[str, tuple[str, str, int | None]] = {}
        for record in self._runs.of(suite):
            tests = record.get("tests")
            for result in tests if isinstance(tests, list) else ():
                for name in _snapshots_of(result):
                    line = result.get("line")
                    test = (str(result.get("name")), str(result.get("file")), line if isinstance(line, int) else None)
                    found.setdefault(name, test)
            break
        return found


def proposal_id(stored: StoredProposal) -> str:
    """The id of a stored proposal's item; the same for the same change."""
    return _of_proposal(stored).id


def path_of(workspace: Workspace, suite: str) -> Path:
    """The file of an item. Raises: Unreadable for a path that cannot be a suite."""
    if not suite.endswith(SUITE_SUFFIXES) or "\0" in suite:
        raise Unreadable(f"`{one_line(suite, 80)}` is not a suite")
    return workspace.root / suite


def _shown(item: ReviewItem, piece: Piece) -> ReviewItem | None:
    """The item with its `after` and its id; None when the piece cannot be changed separately."""
    try:
        after = piece.show(piece.with_value(item.value))
    except (McptestError, Unwritable):
        return None
    own_id = item.id or _digest(item.kind, item.suite, item.block, item.test_name, item.path, item.was, item.value)
    return replace(item, id=own_id, after=after)


def _call_of(test: object) -> str:
    """`quote {"items":[]}`: a test's call and its arguments; "" for a test without a call of its own."""
    if not isinstance(test, dict):
        return ""
    called = next((test[key] for key in ("tool", "uri", "prompt") if isinstance(test.get(key), str)), "")
    args = test.get("args")
    return f"{called} {json.dumps(args, ensure_ascii=False, default=str)}" if called and args else called


def _of_proposal(stored: StoredProposal) -> ReviewItem:
    wanted = stored.expect if stored.test is None else stored.test
    kind = "expect" if stored.test is None else "test"
    return ReviewItem(
        id=_digest(kind, stored.suite, stored.block, stored.test_name, wanted),
        kind=kind,
        suite=stored.suite,
        line=None,
        title=stored.test_name,
        before="",
        after=stored.text,
        why=stored.why,
        stability=stored.stability,
        left_out=stored.left_out,
        notes=stored.notes,
        run_suite=stored.suite,
        tests=(stored.test_name,),
        source=stored.source,
        origin=stored.id,
        block=stored.block,
        test_name=stored.test_name,
        path=("expect",) if stored.test is None else (),
        value=wanted,
    )


def _settles_guess(test: Mapping[str, object], expect: object) -> bool:
    """Whether accepting an `expect` accepts the made-up arguments; the text of a refusal must identify it."""
    if test.get("outcome") != "error":
        return True
    rows = (row for row in rows_of(expect) if isinstance(row, dict) and "exact" in (row.get("matcher") or {}))
    return any(str(row.get("target")).endswith((".text", "error.message")) for row in rows)


def _in_form_of(was: Any, wanted: Any) -> Any:
    """An `expect` with assertions alone, as a list where the old one is a list."""
    only_assertions = isinstance(wanted, dict) and list(wanted) == [ASSERTIONS]
    return wanted[ASSERTIONS] if only_assertions and (was is None or isinstance(was, list)) else wanted


def _long_expect(expect: object, block: str) -> JsonDict:
    """An `expect` with all its assertions in the long form."""
    others = {key: expect[key] for key in expect if key in EXPECT_KEYS} if isinstance(expect, dict) else {}
    return {**others, ASSERTIONS: [row for _, row in long_form_assertions(expect, block)]}


def _in_short_form(was: JsonMapping, wanted: object, block: str) -> Any:
    """`wanted` written as `was` is: keys of the short form stay where their assertions do, further ones are in `assertions`.

    `wanted` itself where that would read otherwise.
    """
    long, old = _long_expect(wanted, block), _long_expect(was, block)[ASSERTIONS]
    left: list[Any] = long[ASSERTIONS]
    written: JsonDict = {}
    for key, there in was.items():
        if key in EXPECT_KEYS:
            written |= {key: long[key]} if key in long else {}
            continue
        rows = [row for _, row in long_form_assertions({key: there}, block)]
        own = [row for row in rows if _is_in(left, row)]
        if len(own) < len(rows):
            further = (row for row in left if not _is_in(old, row) and row.keys() == {"target", "matcher"})
            own += [row for row in further if row["target"] == rows[0]["target"] and len(row["matcher"]) == 1]
            matchers = {name: operand for row in own for name, operand in row["matcher"].items()}
            is_plain = matchers.keys() == {"exact"} and not isinstance(there, dict)
            there = matchers["exact"] if is_plain and isinstance(matchers["exact"], str | int | float) else matchers
        if own:
            written[key] = there
            left = [row for row in left if not _is_in(own, row)]
    listed = [row for row in was.get(ASSERTIONS, ()) if _is_in(left, row)]
    written = {**written, **long, ASSERTIONS: [*listed, *(row for row in left if not _is_in(listed, row))]}
    if not written[ASSERTIONS]:
        del written[ASSERTIONS]
    found, meant = _long_expect(written, block)[ASSERTIONS], long[ASSERTIONS]
    return written if len(found) == len(meant) and all(_is_in(found, row) for row in meant) else wanted


def _is_in(rows: Iterable[object], row: object) -> bool:
    """Whether an assertion is among others. To Python, 1 and true are equal."""
    return any(equal(row, one) for one in rows)


def _test_text(stored: StoredProposal) -> str:
    """The block of a new test, with its dash; as it was proposed where that reads as the same test. Raises: Unwritable."""
    assert stored.test is not None
    if stored.text:
        text = undashed(stored.text)
        with suppress(EditRefused, McptestError):
            edited = apply("", append_test("", stored.block, text))
            if value_at(read_tree(edited, file="").value, (stored.block, 0)) == stored.test:
                return dashed(text.strip("\n"))
    return dashed("\n".join(block(dict(stored.test), 0)))


def _snapshots_of(result: object) -> Iterator[str]:
    """The names of the snapshots that a result compared."""
    if not isinstance(result, dict):
        return
    from mcptest_engine.core.results import TestResult
    from mcptest_engine.judging.matchers import Context

    with suppress(KeyError, TypeError, ValueError, AttributeError):
        test = TestResult.from_json(result)
        calls = [(test.name, test.assertions)]
        calls += [(f"{test.name}, verify #{step.index}", step.assertions) for step in test.verify]
        for test_name, rows in calls:
            for row in (one for item in rows for one in item.leaves()):
                options = row.matcher.get("snapshot")
                if options is not None:
                    named = options.get("name") if isinstance(options, dict) else None
                    yield named or Context(None, test_name, row.target).snapshot_name


def _digest(*parts: object) -> str:
    text = json.dumps(parts, ensure_ascii=True, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_ID_DIGITS]


def _place(item: ReviewItem) -> tuple[bool, str, int, int, str]:
    return (
        item.kind != _FIRST,
        item.suite,
        10**9 if item.line is None else item.line,
        _ORDER.get(item.kind, 9),
        item.title,
    )
