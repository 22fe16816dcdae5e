"""Store the results of a mutation run in the workspace: the score of each test, and proposals.

A proposal adds assertions that kill survivors to one test; `mcptest review` and the workbench offer it.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.authoring.block_text import expect_text
from mcptest_engine.authoring.loosening import ASSERTIONS, rows_of
from mcptest_engine.authoring.observing import Secrets
from mcptest_engine.authoring.placing import shared_expect
from mcptest_engine.authoring.review_memory import rejected_ids
from mcptest_engine.authoring.review_sources import path_of, proposal_id
from mcptest_engine.authoring.review_texts import SuiteText, Unreadable
from mcptest_engine.core.enums import ExpectedOutcome
from mcptest_engine.core.redaction import Redactor
from mcptest_engine.core.text import counted
from mcptest_engine.mutation.expectations import MOST_SHAPES, expectations
from mcptest_engine.mutation.killing import Killer, has_yaml_text, holds
from mcptest_engine.mutation.operators import apply, is_under, show_path
from mcptest_engine.mutation.recording import envelope_with, record_again
from mcptest_engine.mutation.replay import Options, Status, replay_for
from mcptest_engine.running.mutation_scores import save_mutation_scores
from mcptest_engine.suite.yaml_text import Unwritable
from mcptest_engine.workspace.proposals import StoredProposal, drop_proposal, read_proposals, save_proposal
from mcptest_engine.workspace.ulid import new_ulid

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from mcptest_engine.mutation.killing import Envelope
    from mcptest_engine.mutation.recording import Observed, Recording
    from mcptest_engine.mutation.replay import Mutant, Mutated, MutatedTest
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

    Await = Callable[[Coroutine[None, None, Recording | None]], Recording | None]

SOURCE = "mutate"
INIT = "init"
MOST_OFFERED = 6
"""The most assertions that one proposal adds, besides those on values that change; the next run proposes further ones."""
_MOST_LEFT_OUT = 20


def save_scores(workspace: Workspace, suite: LoadedSuite, mutated: Mutated, options: Options) -> None:
    """Store each test's score for the reports of later runs; not of a partial run or of selected operators. Raises: OSError."""
    if not mutated.is_partial and not options.operators:
        save_mutation_scores(suite, workspace, ((test.test.case, test.score.share) for test in mutated.tests))


class Saved(NamedTuple):
    """How many proposals were stored, and the score of the suite once all of them are accepted."""

    tests: int
    score: float | None


def save_proposals(workspace: Workspace, mutated: Mutated, *, redactor: Redactor, source: str = SOURCE) -> Saved:
    """Store a proposal for each test that misses wrong answers, in place of the proposals of earlier runs.

    A proposal that a person has rejected is not stored again. Raises: OSError.
    """
    secrets = Secrets(redactor.redact_text)
    for old in read_proposals(workspace):
        if old.source in (SOURCE, INIT) and old.suite in {test.test.case.file for test in mutated.tests}:
            drop_proposal(workspace, old.id)
    texts: dict[str, SuiteText | None] = {}
    rejected, saved, noticed = rejected_ids(workspace), 0, set[tuple[object, ...]]()
    for test in mutated.tests:
        file = test.test.case.file
        if file not in texts:
            try:
                texts[file] = SuiteText.read(path_of(workspace, file))
            except Unreadable:
                texts[file] = None
        text = texts[file]
        place = None if text is None else _Place.of(test, text)
        if text is None or place is None:
            continue
        chosen = choose_assertions(test, secrets)
        proposal = None if chosen is None else _proposal_of(test, place, chosen, redactor.redact, source)
        if chosen is not None and proposal is not None and proposal_id(proposal) not in rejected:
            save_proposal(workspace, proposal)
            saved += 1
            noticed |= {mutant.key for mutant in chosen.noticed}
    return Saved(saved, _score_with(mutated, noticed))


def _score_with(mutated: Mutated, noticed: set[tuple[object, ...]]) -> float | None:
    score = mutated.score
    total = score.killed + score.survived
    return (score.killed + len(noticed)) / total if total else None


class _Place(NamedTuple):
    """Where the `expect` of a test is in its suite (`block` and test name), and its present value."""

    block: str
    name: str
    was: object

    @classmethod
    def of(cls, test: MutatedTest, text: SuiteText) -> _Place | None:
        """Find it; None for a row of data, for a name that is not unique, and for an `expect` that tests share."""
        case = test.test.case
        if case.row_name is not None:
            return None
        block = case.kind.block
        index = text.find(block, case.name, line=case.line)
        names = [one.get("name") for one in text.tests(block) if isinstance(one, dict)]
        if index is None or names.count(names[index]) > 1 or shared_expect(text.text, index, block=block) is not None:
            return None
        return cls(block, str(names[index]), text.value((block, index, "expect")))


class Chosen(NamedTuple):
    """Assertions for one test, the number of its `survivors`, and those survivors that the assertions notice."""

    assertions: tuple[Killer, ...]
    survivors: int
    noticed: tuple[Mutant, ...]


def _proposal_of(
    test: MutatedTest, place: _Place, chosen: Chosen, redact: Callable[[Any], Any], source: str
) -> StoredProposal | None:
    """Propose the `expect` of a test with the chosen assertions added; None where that cannot be written as YAML."""
    rows = [*rows_of(place.was), *(dict(one.assertion) for one in chosen.assertions)]
    expect = {**place.was, ASSERTIONS: rows} if isinstance(place.was, dict) else {ASSERTIONS: rows}
    try:
        shown = expect_text(expect)
    except (Unwritable, RecursionError):
        return None
    recorded = test.test.answers[0]
    count = counted(chosen.survivors, "wrong answer")
    return StoredProposal(
        id=new_ulid(),
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        source=source,
        suite=test.test.case.file,
        block=place.block,
        test_name=place.name,
        expect=expect,
        text=shown,
        why=f"the test passes on {count}; these assertions notice {len(chosen.noticed)} of them",
        stability=f"seen {'once' if recorded.again is None else 'twice'}, not verified",
        left_out=tuple(redact(show_path(path)) for path in sorted(recorded.volatile, key=str)[:_MOST_LEFT_OUT]),
    )


def choose_assertions(test: MutatedTest, secrets: Secrets) -> Chosen | None:
    """Choose the few assertions that notice the most survivors of a test; None where there are none.

    Each holds for the true answers of both runs; those of a composition are not judged again. There are at most
    `MOST_OFFERED`, and up to `MOST_SHAPES` on values that change.
    """
    unnoticed = (one for one in test.mutants if one.status is Status.SURVIVED and one.noticed_by is None)
    survivors = [one for one in unnoticed if one.recorded.step is None]
    if not survivors:
        return None
    own = [Killer(one.change.path, dict(one.assertion)) for one in survivors if one.assertion is not None]
    unique = [
        one for one in {repr(one.assertion): one for one in own}.values() if not _holds_secret(one.assertion, secrets)
    ]
    recorded = survivors[0].recorded
    if recorded.call is not None:
        return _most_frequent(survivors, unique)
    judged = recorded.judged
    true = [envelope_with(judged, answer) for answer in (recorded.source.answer, recorded.again) if answer is not None]
    wrong = [envelope_with(judged, apply(recorded.source.answer, one.change)) for one in survivors]

    def is_sound(one: Killer) -> bool:
        inside = one.path[:-1] if one.is_shape else one.path
        if is_under(inside, recorded.volatile) or not has_yaml_text(one.assertion):
            return False
        if _holds_secret(one.assertion, secrets):
            return False
        return all(map(one.holds_for, true)) and (not one.is_shape or _is_confirmed_by_jq(one, true, None))

    strong = [one for one in expectations(recorded, secrets) if is_sound(one)]
    shapes = [one for one in strong if one.is_shape][:MOST_SHAPES]
    candidates = [one for one in strong if not one.is_shape] + [one for one in unique if is_sound(one)]
    noticing = [{at for at, envelope in enumerate(wrong) if not one.holds_for(envelope)} for one in candidates]
    is_guess = test.test.case.guess is not None and test.test.case.outcome is ExpectedOutcome.SUCCESS
    errors = {at for at, envelope in enumerate(wrong) if is_guess and _is_error(envelope)}
    chosen, left = list[Killer](), set(range(len(wrong))) - errors
    left -= {at for at in left if not all(one.holds_for(wrong[at]) for one in shapes)}
    while left and len(chosen) < MOST_OFFERED:
        best = max(range(len(candidates)), key=lambda at: (len(noticing[at] & left), -at), default=None)
        if best is None or not noticing[best] & left:
            break
        if _is_confirmed_by_jq(candidates[best], true, wrong[min(noticing[best] & left)]):
            chosen.append(candidates[best])
            left -= noticing[best]
        noticing[best] = set()
    if not chosen and not shapes:
        return None
    noticed = tuple(mutant for at, mutant in enumerate(survivors) if at not in left)
    return Chosen((*chosen, *shapes), len(survivors), noticed)


def _holds_secret(value: object, secrets: Secrets) -> bool:
    """Whether any text in an assertion holds a secret, including the names of members."""
    if isinstance(value, str):
        return secrets.holds(value)
    if isinstance(value, dict):
        return any(_holds_secret(part, secrets) for pair in value.items() for part in pair)
    return isinstance(value, list) and any(_holds_secret(part, secrets) for part in value)


def _most_frequent(survivors: Sequence[Mutant], killers: Sequence[Killer]) -> Chosen | None:
    """Choose the assertions that were found for the most survivors of a composition, without judging them again."""
    found = {id(one): [mutant for mutant in survivors if mutant.assertion == one.assertion] for one in killers}
    chosen = sorted(killers, key=lambda one: -len(found[id(one)]))[:MOST_OFFERED]
    noticed = tuple(mutant for one in chosen for mutant in found[id(one)])
    return Chosen(tuple(chosen), len(survivors), noticed) if chosen else None


def _is_error(envelope: Envelope) -> bool:
    """Whether a call failed. A test with made-up arguments notices that once its proposal is accepted."""
    return envelope.get("error") is not None or envelope["result"].get("isError") is True


def _is_confirmed_by_jq(killer: Killer, true: Sequence[Envelope], wrong: Envelope | None) -> bool:
    """Whether jq confirms that an assertion with a transform holds for all of `true` and fails on `wrong`.

    True for an assertion without a transform.
    """
    if "transform" not in killer.assertion:
        return True
    return all(holds(killer.assertion, one) for one in true) and (wrong is None or not holds(killer.assertion, wrong))


class Learnt(NamedTuple):
    """How many proposals were stored, and the suite's mutation score (0 to 1) without and with them."""

    proposals: int
    score: float | None
    accepted_score: float | None


def learn_expectations(
    suite: LoadedSuite,
    settings: RunSettings,
    observed: Observed,
    *,
    workspace: Workspace,
    run: Await = asyncio.run,
) -> Learnt | None:
    """Judge the mutants of an observed run, and store proposals for its tests.

    Returns None when the second run was interrupted. Raises: OSError.
    """
    recording = run(record_again(suite, settings, observed, workspace=workspace, emit=lambda _event: None))
    if recording is None:
        return None
    redactor = Redactor(suite.secrets)
    mutated = replay_for(suite, workspace, Options(), redactor=redactor).run(recording)
    saved = save_proposals(workspace, mutated, redactor=redactor, source=INIT)
    return Learnt(saved.tests, mutated.score.share, saved.score)
