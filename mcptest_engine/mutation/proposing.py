"""What a mutation run leaves in the workspace: each test's score, and assertions that kill survivors, as proposals that
`mcptest review` and the workbench offer, one for each test.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from mcptest_engine.authoring.block_text import expect_text
from mcptest_engine.authoring.demands import ASSERTIONS, rows_of
from mcptest_engine.authoring.placing import shared_expect
from mcptest_engine.authoring.review_memory import rejected_ids
from mcptest_engine.authoring.review_sources import path_of, proposal_id
from mcptest_engine.authoring.review_texts import SuiteText, Unreadable
from mcptest_engine.core.kinds import TestKind
from mcptest_engine.core.words import counted
from mcptest_engine.mutation.killing import holds
from mcptest_engine.mutation.operators import apply, show_path
from mcptest_engine.mutation.recording import envelope_with
from mcptest_engine.mutation.replay import Status
from mcptest_engine.running.mutation_scores import save_mutation_scores
from mcptest_engine.suite.yaml_text import Unwritable
from mcptest_engine.workspace.proposals import StoredProposal, drop_proposal, read_proposals, save_proposal
from mcptest_engine.workspace.ulid import new_ulid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcptest_engine.mutation.replay import Mutant, Mutated, MutatedTest, Options
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

SOURCE = "mutate"
MOST_OFFERED = 8
"""Assertions that one proposal adds. What they leave is found by the next run."""
_BLOCKS = {
    TestKind.TOOL: "tools",
    TestKind.RESOURCE: "resources",
    TestKind.PROMPT: "prompts",
    TestKind.COMPOSITION: "compositions",
    TestKind.AGENT: "agents",
}


def save_scores(workspace: Workspace, suite: LoadedSuite, mutated: Mutated, options: Options) -> None:
    """Store each test's score for the reports of later runs, where all kinds of wrong answers were judged. Raises: OSError."""
    if not mutated.is_partial and not options.operators:
        save_mutation_scores(suite, workspace, ((test.test.case, test.score.share) for test in mutated.tests))


def save_proposals(workspace: Workspace, mutated: Mutated, *, redact: Callable[[Any], Any]) -> int:
    """Store what would kill survivors, in place of what an earlier run proposed, and say how many tests have a proposal.

    What a person has rejected is not proposed again. Raises: OSError.
    """
    for old in read_proposals(workspace):
        if old.source == SOURCE and old.suite in {test.test.case.file for test in mutated.tests}:
            drop_proposal(workspace, old.id)
    texts: dict[str, SuiteText | None] = {}
    rejected, saved = rejected_ids(workspace), 0
    for test in mutated.tests:
        file = test.test.case.file
        if file not in texts:
            try:
                texts[file] = SuiteText.read(path_of(workspace, file))
            except Unreadable:
                texts[file] = None
        text = texts[file]
        proposal = None if text is None else _proposal_of(test, text, redact)
        if proposal is not None and proposal_id(proposal) not in rejected:
            save_proposal(workspace, proposal)
            saved += 1
    return saved


def _proposal_of(test: MutatedTest, text: SuiteText, redact: Callable[[Any], Any]) -> StoredProposal | None:
    """The `expect` of a test with the assertions that it lacks; None where nothing can be added where it is written."""
    case = test.test.case
    unnoticed = (one for one in test.mutants if one.status is Status.SURVIVED and one.noticed_by is None)
    survivors = [one for one in unnoticed if one.recorded.step is None]
    killers: dict[str, tuple[Any, list[Mutant]]] = {}
    for mutant in survivors:
        if mutant.assertion is not None:
            killers.setdefault(repr(mutant.assertion), (mutant.assertion, []))[1].append(mutant)
    sound = (one for one in sorted(killers.values(), key=lambda one: -len(one[1])) if _is_judged_so(*one))
    chosen = list(islice(sound, MOST_OFFERED))
    block = _BLOCKS.get(case.kind)
    if not chosen or block is None or case.row_name is not None:
        return None
    index = text.find(block, case.name, line=case.line)
    names = [one.get("name") for one in text.tests(block) if isinstance(one, dict)]
    if index is None or names.count(names[index]) > 1 or shared_expect(text.text, index, block=block) is not None:
        return None
    was = text.value((block, index, "expect"))
    rows = [*rows_of(was), *(dict(assertion) for assertion, _ in chosen)]
    expect = {**was, ASSERTIONS: rows} if isinstance(was, dict) else {ASSERTIONS: rows}
    try:
        shown = expect_text(expect)
    except (Unwritable, RecursionError):
        return None
    killed = sum(len(mutants) for _, mutants in chosen)
    return StoredProposal(
        id=new_ulid(),
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        source=SOURCE,
        suite=case.file,
        block=block,
        test_name=str(names[index]),
        expect=expect,
        text=shown,
        why=f"the test passes on {counted(len(survivors), 'wrong answer')}; these assertions notice {killed} of them",
        stability="seen, not known to be right",
        notes=tuple(
            redact(f"{mutants[0].change.operator}: {show_path(mutants[0].change.path)}") for _, mutants in chosen
        ),
    )


def _is_judged_so(assertion: Mapping[str, Any], mutants: Sequence[Mutant]) -> bool:
    """Whether a run judges an assertion with a transform as it was found to be: jq has the last word on its program."""
    recorded = mutants[0].recorded
    if "transform" not in assertion or recorded.call is not None:
        return True
    wrong = apply(recorded.source.answer, mutants[0].change)
    true, false = (envelope_with(recorded.judged, answer) for answer in (recorded.source.answer, wrong))
    return holds(assertion, true) and not holds(assertion, false)
