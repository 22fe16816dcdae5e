"""`mcptest propose`: call one tool, twice where that is harmless, and print a test of what was observed.

The block goes to stdout, messages go to stderr. With `--write` it is added to a suite as well; where that has a test of the
same call already, a person decides, now or with `mcptest review`.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcptest_engine.cli.call import take_arguments
from mcptest_engine.cli.common import (
    announce_new_folder,
    colours,
    find_here,
    is_terminal,
    json_text,
    load,
    refuse_under_ci,
)
from mcptest_engine.cli.policy_flags import policy_options, take_policy
from mcptest_engine.cli.target import declared_target, target_options, target_spec, with_session
from mcptest_engine.core.errors import McptestError
from mcptest_engine.core.text import counted
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.authoring.placing import Placed, SameCall
    from mcptest_engine.authoring.propose import Proposed
    from mcptest_engine.authoring.targets import Target
    from mcptest_engine.safety.execution_policy import ExecutionPolicy
    from mcptest_engine.safety.findings import Finding
    from mcptest_engine.servers.session import Session
    from mcptest_engine.suite.load import LoadedSuite


SUFFIXES = (".yml", ".yaml", ".json")


@click.command()
@click.argument("tool")
@click.option("--args", "arguments", default="{}", metavar="JSON", help="The arguments, a JSON object. [default: {}]")
@target_options
@click.option("--single-call", is_flag=True, help="Call the tool only once; then no exact values are asserted.")
@policy_options
@click.option(
    "--write",
    "suite",
    type=click.Path(),
    metavar="SUITE",
    help="Add the test to this suite; --server is a server of it, unless --config is given.",
)
@click.option(
    "--replace", is_flag=True, help="With --write: replace the `expect` of a test of the same call without asking."
)
@click.option("--allow-update-in-ci", is_flag=True, help="Let --replace change a suite under CI.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    tool: str, arguments: str, single_call: bool, suite: str | None, replace: bool, form: str, **flags: Any
) -> None:
    """Call one tool and print a test that expects what was observed.

    A tool that only reads is called twice, to see which values are stable; one that changes something is called once; a
    destructive one is refused (exit code 5) without --execute-destructive. docs/explanation/safety.md explains these classes.

    \b
    Example:
      mcptest propose status --command "mcptest mock --preset demo"
    """
    policy = take_policy(flags)
    given = take_arguments(arguments)
    if replace and suite is None:
        from mcptest_engine.core.errors import UsageError

        raise UsageError("--replace requires --write", hint="name the suite: --write mcptest.yaml --replace")
    if suite is not None:
        _check_place(Path(suite), replace=replace, allowed=flags["allow_update_in_ci"])
    if suite is not None and Path(suite).exists() and not any(flags[flag] for flag in ("url", "argv", "config")):
        flags["config"] = suite
    target, remarks, secrets = declared_target(flags)
    place = None if suite is None else _Place.at(Path(suite), target, secrets, tool, given)
    key = target.key if place is None else place.server
    proposed, warnings = _proposed(flags, policy, tool, given, key, single_call=single_call)
    notes = (*remarks, *proposed.notes)
    written = None if place is None else place.prepare(proposed, target)
    block = proposed.test if written is None else written.placed.test
    if written is not None:
        notes = (*remarks, *written.proposed.notes)
    if form == "json":
        _print_json(proposed, block, notes, warnings)
    else:
        sys.stdout.write(block)
        sys.stdout.flush()
        _print_proposal(proposed, notes, warnings)
    if written is not None:
        written.settle(tool, replace=replace)


def _check_place(path: Path, *, replace: bool, allowed: bool) -> None:
    """Check that a suite may be written there, before anything is called. Raises: UsageError, PolicyDenied."""
    from mcptest_engine.core.errors import UsageError

    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"--write `{path}` is not the name of a suite",
            hint=f"a suite ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}",
        )
    if path.suffix.lower() == ".json" and not path.exists():
        raise UsageError(f"there is no suite `{path}`", hint="a new one is written as YAML: name it .yml or .yaml")
    if path.is_dir():
        raise UsageError(f"--write `{path}` is a directory", hint="name a file in it, such as mcptest.yml")
    if replace:
        refuse_under_ci(
            "replacing an `expect` is refused under CI, because nobody reviews the change",
            hint="propose on your machine and commit the suite, or add --allow-update-in-ci",
            allowed=allowed,
        )


def _proposed(
    flags: Mapping[str, Any],
    policy: ExecutionPolicy,
    tool: str,
    arguments: Mapping[str, Any],
    server_key: str,
    *,
    single_call: bool,
) -> tuple[Proposed, Sequence[Finding]]:
    spec = target_spec(flags)

    async def propose_from(session: Session) -> tuple[Proposed, Sequence[Finding]]:
        from mcptest_engine.authoring.propose import propose
        from mcptest_engine.safety.poisoning import description_warnings
        from mcptest_engine.servers.gate import Gate

        seconds = flags["timeout_seconds"]
        gate = Gate(policy, list_timeout_seconds=seconds)
        warnings = description_warnings(await gate.descriptors(session, tool))
        proposed = await propose(
            session,
            tool,
            arguments,
            gate=gate,
            server_key=server_key,
            single_call=single_call,
            timeout_seconds=seconds,
        )
        return proposed, warnings

    return with_session(spec, propose_from)


def _print_json(proposed: Proposed, block: str, notes: Sequence[str], warnings: Sequence[Finding]) -> None:
    from mcptest_engine.safety.findings import warning_json

    document: dict[str, Any] = {
        "test": block,
        "excluded_volatile": list(proposed.excluded_volatile),
        "calls_made": proposed.calls_made,
        "notes": list(notes),
    }
    if warnings:
        document["warnings"] = [warning_json(finding) for finding in warnings]
    sys.stdout.write(json_text(document))


def _print_proposal(proposed: Proposed, notes: Sequence[str], warnings: Sequence[Finding]) -> None:
    from mcptest_engine.core.sanitise import one_line

    paint = colours(sys.stderr)
    lines = [f"{counted(proposed.calls_made, 'call')} made; {proposed.stability}"]
    lines += [f"not stable: {one_line(target)}" for target in proposed.excluded_volatile]
    lines += [f"note: {one_line(note)}" for note in notes]
    lines += [paint("33", f"warning: {finding.rule} {finding.summary}") for finding in warnings]
    sys.stderr.write("".join(f"{line}\n" for line in lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The suite that receives a proposal, checked before anything is called.

    `data` is None for one that does not exist yet. `secrets` are set as variables when the extended suite is checked.
    """

    path: Path
    data: bytes | None
    suite: LoadedSuite | None
    server: str
    is_new_server: bool
    secrets: Mapping[str, str]
    there: SameCall | None = None

    @classmethod
    def at(
        cls, path: Path, target: Target, secrets: Mapping[str, str], tool: str, arguments: Mapping[str, object]
    ) -> _Place:
        """Raises: SuiteError for a suite that does not load, EditRefused, UsageError."""
        from mcptest_engine.authoring.placing import same_call, server_for, shared_expect

        if not path.exists():
            return cls(path=path, data=None, suite=None, server=target.key, is_new_server=True, secrets=secrets)
        suite = load(path, find_here(), {})
        text = _text_of(suite.data)
        server, is_new = server_for(suite, text, target)
        there = same_call(suite, path, tool, arguments, server)
        shared = None if there is None else shared_expect(text, there.index)
        if there is not None and shared is not None:
            raise McptestError(
                f"line {there.line} of `{path}` tests this call already, and {shared}",
                hint="write the `expect` of this test without the alias and propose again; nothing was called",
            )
        return cls(
            path=path,
            data=suite.data,
            suite=suite,
            server=server,
            is_new_server=is_new,
            secrets=secrets,
            there=there,
        )

    def prepare(self, proposed: Proposed, target: Target) -> _SuiteChange:
        """The extended suite. Raises: EditRefused; McptestError when it would no longer load."""
        from mcptest_engine.authoring.placing import added, merged_for, new_suite, replaced

        if self.data is None or self.suite is None:
            from mcptest_engine.authoring.placing import Placed
            from mcptest_engine.workspace.schema_file import with_schema_line

            text = with_schema_line(new_suite(proposed, target), self.path)
            placed = Placed(text=text, line=text.count("\n", 0, text.index("\ntools:")) + 3, test=proposed.test)
        else:
            text = _text_of(self.data)
            if self.there is None:
                placed = added(text, proposed, target, with_server=self.is_new_server)
            else:
                proposed = merged_for(text, proposed, self.there)
                placed = replaced(text, proposed, self.there)
        self._prove(placed.text)
        return _SuiteChange(path=self.path, before=self.data, placed=placed, there=self.there, proposed=proposed)

    def _prove(self, text: str) -> None:
        from mcptest_engine.cli.common import load_options
        from mcptest_engine.suite.load import check_text

        options = load_options(self.path, find_here(), {}, secrets=self.secrets)
        checked = check_text(text, options, name=self.path.name, base_dir=self.path.parent)
        if checked.errors:
            first = checked.errors[0]
            raise McptestError(
                f"`{self.path}` would not load with the proposed test: {first.message}",
                hint="nothing was written; without --write, `mcptest propose` prints the block",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _SuiteChange:
    """A suite before and after; `there` is its existing test of the same call, `proposed` the new one."""

    path: Path
    before: bytes | None
    placed: Placed
    there: SameCall | None
    proposed: Proposed

    def settle(self, tool: str, *, replace: bool) -> None:
        """Write the suite, ask first, or save the proposal for `mcptest review`. Raises: McptestError."""
        if self.there is None:
            self._write()
            self._say(
                "created, with the test" if self.before is None else f"now has the test, on line {self.placed.line}"
            )
        elif self._data() == self.before:
            self._say(f"already expects that, on line {self.there.line}; nothing is changed")
        elif replace:
            self._print_loosening()
            self._write()
            self._say(f"now has the new `expect`, in the test on line {self.there.line}")
        elif is_terminal(sys.stdin) and is_terminal(sys.stderr):
            self._let_decide(tool, self.there)
        else:
            self._keep(tool, self.there)

    def _let_decide(self, tool: str, there: SameCall) -> None:
        """Show the change, and let the person accept it, save it for review, or discard it."""
        from difflib import unified_diff

        from mcptest_engine.core.sanitise import sanitise

        before, after = _text_of(self.before or b"").splitlines(), self.placed.text.splitlines()
        diff = unified_diff(before, after, "now", "proposed", lineterm="")
        sys.stderr.write(sanitise("".join(f"{line}\n" for line in diff)))
        self._print_loosening()
        match _prompt_for_answer(
            f"line {there.line} of {self.path} tests this call already: accept this `expect`, keep it for review, or neither"
        ):
            case "accept":
                self._write()
                self._say(f"now has the new `expect`, in the test on line {there.line}")
            case "keep":
                self._keep(tool, there)
            case _:
                self._say("is unchanged")

    def _print_loosening(self) -> None:
        """Print the assertions that the test would lose."""
        from mcptest_engine.authoring.placing import loss_of

        assert self.there is not None
        loss = loss_of(_text_of(self.before or b""), self.placed.text, self.there)
        if loss is not None:
            sys.stderr.write(colours(sys.stderr)("33", f"loosens the test: {loss}") + "\n")

    def _keep(self, tool: str, there: SameCall) -> None:
        from mcptest_engine.workspace.proposals import StoredProposal, save_proposal
        from mcptest_engine.workspace.ulid import new_ulid

        workspace, proposed = find_here(), self.proposed
        proposal = StoredProposal(
            id=new_ulid(),
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            source="propose",
            suite=workspace.relative(self.path),
            block="tools",
            test_name=there.name,
            expect=proposed.mapping["expect"],
            text=proposed.expect_text,
            why=f"`{tool}` was called {counted(proposed.calls_made, 'time')} with the same arguments",
            stability=proposed.stability,
            left_out=proposed.excluded_volatile,
            notes=proposed.notes,
        )
        try:
            self._forget_older(there)
            save_proposal(workspace, proposal)
        except OSError as wrong:
            raise McptestError(f"the proposal was not saved: {wrong.strerror or wrong}") from None
        self._say(f"already tests this call, on line {there.line}; the new `expect` waits for your decision")
        sys.stderr.write(
            f"  see it:    mcptest review {self.path} --diff\n  decide it: mcptest review {self.path}\n"
            "  or replace it at once: add --replace to the command\n"
        )

    def _forget_older(self, there: SameCall) -> None:
        """Replace an older proposal for the same test. Raises: OSError."""
        from mcptest_engine.workspace.proposals import drop_proposal, read_proposals

        workspace = find_here()
        about = ("propose", workspace.relative(self.path), "tools", there.name)
        for old in read_proposals(workspace):
            if old.test is None and (old.source, old.suite, old.block, old.test_name) == about:
                drop_proposal(workspace, old.id)

    def _write(self) -> None:
        from mcptest_engine.workspace.suite_file import write_suite

        try:
            now = self.path.read_bytes() if self.path.exists() else None
            if now != self.before:
                raise McptestError(
                    f"`{self.path}` has changed in the meantime; nothing was written", hint="run it again"
                )
            announce_new_folder(self.path)
            write_suite(self.path, self._data())
            if self.there is not None:
                self._forget_older(self.there)
        except OSError as wrong:
            raise McptestError(f"`{self.path}` was not written: {wrong.strerror or wrong}") from None

    def _data(self) -> bytes:
        return self.placed.text.encode("utf-8")

    def _say(self, what: str) -> None:
        from mcptest_engine.core.sanitise import one_line

        sys.stderr.write(f"{one_line(str(self.path))} {what}\n")


def _text_of(data: bytes) -> str:
    return data.decode("utf-8")


_ANSWERS = ("accept", "keep", "no")


def _prompt_for_answer(question: str) -> str:
    """Ask for one of `_ANSWERS`, or its first letter; "no" for an empty line. Raises: KeyboardInterrupt, click.Abort."""
    import signal

    from mcptest_engine.core.sanitise import one_line

    signal.signal(signal.SIGINT, signal.default_int_handler)  # after a call it is ignored: only the report was left
    try:
        while True:
            sys.stderr.write(f"{one_line(question, 400)} ([a]ccept, [k]eep, [n]o) [no]: ")
            sys.stderr.flush()
            line = sys.stdin.readline()
            typed = line.strip().lower()
            if not line:
                raise click.Abort
            if not typed:
                return "no"
            for answer in _ANSWERS:
                if typed in (answer, answer[0]):
                    return answer
            sys.stderr.write("answer with accept, keep or no, or the first letter\n")
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write("\nnothing was written\n")
        raise
