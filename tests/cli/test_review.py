"""`mcptest review`: the flags for agents and CI, and a person at a terminal, on real runs of the mock server."""

from __future__ import annotations

import json
import sys
import termios
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import SERVERS
from tests.tui.terminal import Terminal

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.forked import Nursery

    Mcptest = Callable[..., subprocess.CompletedProcess[str]]

TESTS = """\
tools:
  - name: first
    tool: get_status
    args: { service: api }
    expect:
      - { target: "result.content[0].text", matcher: { contains: degraded } }  # one
  - name: second
    tool: get_status
    args: { service: web }
    expect:
      - { target: "result.content", matcher: { length: 2 } }  # two
  - name: third
    tool: get_status
    expect:
      - { target: "result.content", matcher: { length: { gt: 4 } } }  # three
"""
SNAPSHOT = """\
tools:
  - name: status
    tool: get_status
    args: { service: api }
    expect:
      - { target: "result.content[0].text", matcher: { snapshot: { name: the text } } }
"""


@pytest.fixture
def failed(suite_with: Callable[..., Path], mcptest: Mcptest) -> Path:
    """A suite of three tests that have failed."""
    path = suite_with(TESTS)
    assert mcptest("run").returncode == 1
    return path


@pytest.fixture
def at_terminal(
    mcptest_command: str, nursery: Nursery, tmp_path: Path, clean_environ: dict[str, str]
) -> Iterator[Callable[..., Terminal]]:
    """`mcptest review` on a terminal of 80x24."""
    opened: list[Terminal] = []

    def start(*arguments: str, **environ: str) -> Terminal:
        argv = [mcptest_command, "review", *arguments]
        opened.append(
            Terminal(argv, cwd=tmp_path, environ={**clean_environ, **environ}, size=(80, 24), nursery=nursery)
        )
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


def ids(mcptest: Mcptest) -> list[str]:
    return [item["id"] for item in json.loads(mcptest("review", "--diff", "--format", "json").stdout)["items"]]


def is_put_back(terminal: Terminal) -> bool:
    return bool(termios.tcgetattr(terminal._inside) == terminal.before)


def test_the_diff_shows_every_item_and_decides_nothing(mcptest: Mcptest, failed: Path) -> None:
    before = failed.read_bytes()
    shown = mcptest("review", "--diff")
    assert shown.returncode == 0
    assert '-- { target: "result.content[0].text", matcher: { contains: degraded } }' in shown.stdout
    assert '+- { target: "result.content[0].text", matcher: { contains: "status: api operational" } }' in shown.stdout
    assert "loosens   lowers the limit from 4 to 0" in shown.stdout
    assert "3 open items; decide with `mcptest review`" in shown.stdout
    assert failed.read_bytes() == before


def test_the_exit_code_tells_whether_something_waits_where_it_is_asked_for(mcptest: Mcptest, failed: Path) -> None:
    assert mcptest("review", "--diff", "--exit-code").returncode == 1
    assert mcptest("review", "--reject-all").returncode == 0
    nothing = mcptest("review", "--list", "--exit-code")
    assert (nothing.returncode, nothing.stdout) == (0, "nothing to review\n")


def test_an_item_is_accepted_by_the_beginning_of_its_id_and_its_test_passes(mcptest: Mcptest, failed: Path) -> None:
    listed = mcptest("review", "--list").stdout.splitlines()
    first = next(line.split()[0] for line in listed if " first " in line)
    accepted = mcptest("review", "--accept", first)
    assert accepted.returncode == 0
    assert "wrote mcptest.yml" in accepted.stdout
    assert 'mcptest run mcptest.yml --filter "first"' in accepted.stdout
    assert '"status: api operational" } }  # one\n' in failed.read_text()
    assert mcptest("run", "mcptest.yml", "--filter", "first").returncode == 0


def test_accept_all_leaves_what_loosens_unless_it_is_asked_for(mcptest: Mcptest, failed: Path) -> None:
    accepted = mcptest("review", "--accept-all")
    assert "2 accepted" in accepted.stdout
    assert "1 item left: loosens a test, looks volatile or needs arguments" in accepted.stderr
    assert "{ gt: 4 }" in failed.read_text()
    assert "1 accepted" in mcptest("review", "--accept-all", "--loosening").stdout
    assert "{ gt: 0 }" in failed.read_text()


def test_undo_takes_the_last_write_back(mcptest: Mcptest, failed: Path) -> None:
    before = failed.read_bytes()
    mcptest("review", "--accept-all")
    assert mcptest("review", "--undo").stdout == "restored mcptest.yml\n"
    assert failed.read_bytes() == before
    again = mcptest("review", "--undo")
    assert (again.returncode, "nothing to undo" in again.stderr) == (2, True)


def test_undo_leaves_a_file_that_was_changed_since(mcptest: Mcptest, failed: Path) -> None:
    mcptest("review", "--accept-all")
    failed.write_text(failed.read_text() + "# mine\n")
    mine = failed.read_bytes()
    refused = mcptest("review", "--undo")
    assert (refused.returncode, refused.stderr) == (1, "mcptest.yml: it has changed since then\nnothing was undone\n")
    assert failed.read_bytes() == mine


def test_without_a_terminal_the_commands_to_use_instead_are_listed(mcptest: Mcptest, failed: Path) -> None:
    refused = mcptest("review")
    assert (refused.returncode, refused.stdout) == (2, "")
    for flag in ("--diff", "--list", "--accept ID", "--reject ID", "--accept-all", "--reject-all", "--undo"):
        assert flag in refused.stderr


def test_accepting_is_refused_under_ci_and_looking_is_not(mcptest: Mcptest, failed: Path) -> None:
    before = failed.read_bytes()
    for flags in (["--accept-all"], ["--accept", "a"]):
        refused = mcptest("review", *flags, CI="true")
        assert (refused.returncode, "--allow-update-in-ci" in refused.stderr) == (5, True)
    assert mcptest("review", "--diff", CI="true").returncode == 0
    assert failed.read_bytes() == before
    assert mcptest("review", "--accept-all", "--allow-update-in-ci", CI="true").returncode == 0
    assert failed.read_bytes() != before


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--accept", "zzzz"], "no open item has the id `zzzz`"),
        (["--accept", ""], "nothing decided"),
        (["--diff", "--accept-all"], "do not go together"),
        (["--accept-all", "--reject-all"], "do not go together"),
        (["--reject-all", "--loosening"], "belongs to `--accept-all`"),
        (["--exit-code", "--accept-all"], "belongs to"),
        (["--format", "json", "--reject-all"], "belongs to"),
        (["gone.yml", "--diff"], "there is no file `gone.yml`"),
    ],
)
def test_flags_that_make_no_sense_are_refused(mcptest: Mcptest, failed: Path, flags: list[str], told: str) -> None:
    before = failed.read_bytes()
    refused = mcptest("review", *flags)
    assert told in refused.stderr + refused.stdout
    assert refused.returncode == (0 if told == "nothing decided" else 2)
    assert failed.read_bytes() == before


def test_text_from_a_server_cannot_act_on_the_terminal(
    suite_with: Callable[..., Path], mcptest: Mcptest, tmp_path: Path
) -> None:
    path = suite_with(TESTS)
    manifest = tmp_path / "manifest.yml"
    manifest.write_text(manifest.read_text().replace("operational", "\\e[2J\\u202e"))
    mcptest("run")
    shown = mcptest("review", "--diff")
    assert "\x1b" not in shown.stdout
    assert "\u202e" not in shown.stdout
    mcptest("review", "--accept-all")
    assert "\x1b" not in path.read_text()
    assert mcptest("run", "--filter", "first").returncode == 0


def test_a_changed_snapshot_waits_and_the_run_says_so(
    suite_with: Callable[..., Path], mcptest: Mcptest, tmp_path: Path
) -> None:
    suite_with(SNAPSHOT)
    assert mcptest("run", "--update-snapshots").returncode == 0
    manifest = tmp_path / "manifest.yml"
    manifest.write_text(manifest.read_text().replace("operational", "degraded"))
    ran = mcptest("run")
    assert "1 snapshot change needs review: mcptest review" in ran.stdout + ran.stderr
    (item,) = json.loads(mcptest("review", "--snapshots", "--diff", "--format", "json").stdout)["items"]
    assert (item["suite"], item["line"], item["tests"]) == ("mcptest.yml", 5, ["status"])
    assert (item["before"], item["after"]) == (
        "the text: 'status: api operational'",
        "the text: 'status: api degraded'",
    )
    assert "wrote .mcptest/snapshots/mcptest.yml" in mcptest("review", "--accept", item["id"]).stdout
    assert mcptest("run").returncode == 0
    assert not (tmp_path / ".mcptest/snapshots/mcptest.pending.yml").exists()


def test_a_run_that_does_not_look_at_a_snapshot_leaves_its_change_waiting(
    suite_with: Callable[..., Path], mcptest: Mcptest, tmp_path: Path
) -> None:
    path = suite_with(SNAPSHOT + "  - { name: other, tool: get_status }\n")
    mcptest("run", "--update-snapshots")
    manifest = tmp_path / "manifest.yml"
    manifest.write_text(manifest.read_text().replace("operational", "degraded"))
    mcptest("run")
    mcptest("run", "--filter", "other")
    assert len(ids(mcptest)) == 1
    path.write_text(path.read_text().replace("tool: get_status\n", "tool: get_status\n    skip: true\n", 1))
    mcptest("run")
    assert len(ids(mcptest)) == 1


def test_a_snapshot_change_that_was_rejected_comes_back_with_the_next_run(
    suite_with: Callable[..., Path], mcptest: Mcptest, tmp_path: Path
) -> None:
    suite_with(SNAPSHOT)
    mcptest("run", "--update-snapshots")
    manifest = tmp_path / "manifest.yml"
    manifest.write_text(manifest.read_text().replace("operational", "degraded"))
    mcptest("run")
    assert mcptest("review", "--reject-all").returncode == 0
    assert ids(mcptest) == []
    mcptest("run")
    assert len(ids(mcptest)) == 1


def test_a_broken_pending_file_is_told_and_nothing_crashes(mcptest: Mcptest, failed: Path, tmp_path: Path) -> None:
    folder = tmp_path / ".mcptest/snapshots"
    folder.mkdir()
    (folder / "mcptest.pending.yml").write_text("a: [\n")
    shown = mcptest("review", "--list")
    assert (shown.returncode, len(shown.stdout.splitlines())) == (0, 3)
    assert "cannot read the snapshots" in shown.stderr


def test_a_suite_that_is_gone_has_no_items(mcptest: Mcptest, failed: Path) -> None:
    failed.unlink()
    gone = mcptest("review", "--list")
    assert (gone.returncode, gone.stdout) == (0, "nothing to review\n")


def test_a_person_accepts_rejects_and_skips_with_a_key_each(
    failed: Path, at_terminal: Callable[..., Terminal], mcptest: Mcptest
) -> None:
    terminal = at_terminal()
    terminal.wait_for("[1/3] mcptest.yml:5 first  (assertion, seen once)")
    terminal.wait_for("3 left")
    before = failed.read_bytes()
    terminal.press("a")
    terminal.wait_for("[2/3]")
    terminal.wait_for("2 left; writes mcptest.yml at the end")
    terminal.press("r")
    terminal.wait_for("[3/3]")
    terminal.wait_for("loosens   lowers the limit from 4 to 0")
    assert failed.read_bytes() == before
    terminal.press("s")
    assert terminal.wait_for_end() == 0
    assert "1 accepted, 1 rejected, 1 skipped" in terminal.text
    assert 'mcptest run mcptest.yml --filter "first"' in terminal.text
    assert failed.read_text() == before.decode().replace("contains: degraded", 'contains: "status: api operational"')
    assert is_put_back(terminal)
    assert len(ids(mcptest)) == 1


def test_moving_decides_nothing_and_undo_takes_a_decision_back(
    failed: Path, at_terminal: Callable[..., Terminal]
) -> None:
    terminal = at_terminal()
    terminal.wait_for("[1/3]")
    terminal.press("j")
    terminal.wait_for("[2/3]")
    terminal.press("\x1b[B")
    terminal.wait_for("[3/3]")
    terminal.press("ka")
    terminal.wait_for("accepted: second")
    terminal.press("u")
    terminal.press("w")
    terminal.wait_for("nothing decided yet")
    terminal.press("q")
    assert terminal.wait_for_end() == 0
    assert "3 items left as before; nothing was written" in terminal.text


def test_capitals_ask_once_and_leave_what_loosens(failed: Path, at_terminal: Callable[..., Terminal]) -> None:
    terminal = at_terminal()
    terminal.wait_for("[1/3]")
    terminal.press("A")
    terminal.wait_for("accept the 3 left, in mcptest.yml? 1 of them loosens a test,")
    terminal.press("n")
    terminal.wait_for("nothing decided")
    terminal.press("A")
    terminal.press("y")
    terminal.wait_for("accepted 2: first")
    terminal.wait_for("[3/3]")
    terminal.press("\x13")
    terminal.wait_for("2 accepted")
    terminal.press("q")
    assert terminal.wait_for_end() == 0
    assert "{ gt: 4 }" in failed.read_text()
    assert "operational" in failed.read_text()


def test_leaving_with_decisions_asks_and_keeps_everything(
    failed: Path, at_terminal: Callable[..., Terminal], mcptest: Mcptest
) -> None:
    before = failed.read_bytes()
    terminal = at_terminal()
    terminal.wait_for("[1/3]")
    terminal.press("a")
    terminal.wait_for("[2/3]")
    terminal.press("\x1b")
    terminal.wait_for("1 decision not written: w write them, q quit without")
    terminal.press("q")
    assert terminal.wait_for_end() == 0
    assert failed.read_bytes() == before
    assert len(ids(mcptest)) == 3


def editor(tmp_path: Path, text: str) -> str:
    """A program that puts `text` into the file that it is given."""
    program = tmp_path / "editor.py"
    program.write_text(f"import sys; from pathlib import Path; Path(sys.argv[1]).write_text({text!r})")
    return f"{sys.executable} {program}"


def test_an_item_is_edited_before_it_is_accepted(
    failed: Path, at_terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    typed = '- { target: "result.content[0].text", matcher: { regex: "^status" } }\n'
    terminal = at_terminal(EDITOR=editor(tmp_path, typed))
    terminal.wait_for("[1/3]")
    terminal.press("e")
    terminal.wait_for('regex: "^status"')
    terminal.press("a")
    terminal.wait_for("[2/3]")
    terminal.press("w")
    terminal.wait_for("1 accepted")
    terminal.press("q")
    assert terminal.wait_for_end() == 0
    assert '{ regex: "^status" } }  # one\n' in failed.read_text()


def test_an_edit_that_does_not_load_is_told_and_can_be_given_up(
    failed: Path, at_terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    before = failed.read_bytes()
    terminal = at_terminal(EDITOR=editor(tmp_path, '- { target: "result", matcher: { contians: x } }'))
    terminal.wait_for("[1/3]")
    terminal.press("e")
    terminal.wait_for("this cannot be accepted")
    terminal.wait_for("contains")
    terminal.press("x")
    terminal.press("q")
    assert terminal.wait_for_end() == 0
    assert failed.read_bytes() == before


@pytest.mark.parametrize("command", ["false", "/nowhere/at/all", '"'])
def test_an_editor_that_fails_changes_nothing(failed: Path, at_terminal: Callable[..., Terminal], command: str) -> None:
    terminal = at_terminal(EDITOR=command)
    terminal.wait_for("[1/3]")
    terminal.press("e")
    terminal.wait_for("editor")
    terminal.press("q")
    assert terminal.wait_for_end() == 0


def test_the_terminal_is_put_back_after_ctrl_c(failed: Path, at_terminal: Callable[..., Terminal]) -> None:
    before = failed.read_bytes()
    terminal = at_terminal()
    terminal.wait_for("[1/3]")
    terminal.press("a")
    terminal.wait_for_question("[2/3]")
    terminal.press("\x03")
    assert terminal.wait_for_end() == 130
    assert is_put_back(terminal)
    assert failed.read_bytes() == before


def test_the_terminal_is_put_back_when_the_process_is_told_to_end(
    failed: Path, at_terminal: Callable[..., Terminal]
) -> None:
    terminal = at_terminal()
    terminal.wait_for("3 left")
    terminal.process.terminate()
    assert terminal.wait_for_end() == 143, "as a shell tells an end by SIGTERM"
    assert is_put_back(terminal)


def test_a_window_that_is_closed_ends_it_without_a_write(failed: Path, at_terminal: Callable[..., Terminal]) -> None:
    before = failed.read_bytes()
    terminal = at_terminal()
    terminal.wait_for("[1/3]")
    terminal.press("a")
    terminal.wait_for("[2/3]")
    terminal.hang_up()
    terminal.wait_for_end()
    assert failed.read_bytes() == before


def test_a_long_diff_is_cut_to_the_screen_and_shown_whole_when_asked(
    suite_with: Callable[..., Path], mcptest: Mcptest, at_terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    suite_with(SNAPSHOT)
    manifest = tmp_path / "manifest.yml"
    mcptest("run", "--update-snapshots")
    lines = "\\n".join(f"line {number}" for number in range(60))
    manifest.write_text(manifest.read_text().replace("status: ${args.service} operational", lines))
    mcptest("run")
    terminal = at_terminal()
    terminal.wait_for("more lines; d shows them")
    assert "line 59" not in terminal.text
    terminal.press("d")
    terminal.wait_for("line 59")
    terminal.press("i?q")
    assert terminal.wait_for_end() == 0
    assert "from      snapshot .mcptest/snapshots/mcptest.yml" in terminal.text


def test_on_a_terminal_where_nothing_waits_it_says_so(
    suite_with: Callable[..., Path], at_terminal: Callable[..., Terminal]
) -> None:
    suite_with(TESTS)
    terminal = at_terminal()
    assert terminal.wait_for_end() == 0
    assert "nothing to review" in terminal.text


ALIKE = """\
tools:
  - name: one
    tool: get_status
    args: { service: api }
    expect: [{ target: "result.content", matcher: { length: 2 } }]
  - name: two
    tool: get_status
    args: { service: web }
    expect: [{ target: "result.content", matcher: { length: 3 } }]
  - name: three
    tool: get_status
    expect: [{ target: "result.content", matcher: { length: { gt: 4 } } }]
  - name: four
    tool: get_status
    args: { service: db }
    expect: [{ target: "result.content[0].text", matcher: { contains: gone } }]
"""


def test_all_items_like_one_are_accepted_but_what_loosens(suite_with: Callable[..., Path], mcptest: Mcptest) -> None:
    path = suite_with(ALIKE)
    mcptest("run")
    listed = mcptest("review", "--list").stdout.splitlines()
    one = next(line.split()[0] for line in listed if " one " in line)
    done = mcptest("review", "--accept-like", one)
    assert "2 accepted" in done.stdout
    assert "1 item left: loosens a test" in done.stderr
    text = path.read_text()
    assert (text.count("length: 1"), "gt: 4" in text, "contains: gone" in text) == (2, True, True)
    three = next(line.split()[0] for line in listed if " three " in line)
    assert "1 accepted" in mcptest("review", "--accept-like", three).stdout
    assert mcptest("review", "--accept-like", "zzzzzz").returncode == 2
    refused = mcptest("review", "--accept-like", one, CI="true")
    assert refused.returncode == 5


def test_a_key_accepts_all_items_like_the_one_that_is_shown(
    suite_with: Callable[..., Path], mcptest: Mcptest, at_terminal: Callable[..., Terminal]
) -> None:
    path = suite_with(ALIKE)
    mcptest("run")
    terminal = at_terminal()
    terminal.wait_for("[1/4]")
    terminal.press("l")
    terminal.wait_for("accept the 3 like this, in mcptest.yml? 1 of them loosens a test")
    terminal.press("y")
    terminal.wait_for("accepted 2: one")
    terminal.wait_for("2 left; writes mcptest.yml at the end")
    terminal.press("wq")
    assert terminal.wait_for_end() == 0
    assert path.read_text().count("length: 1") == 2
    assert "2 items left as before\r\n" in terminal.text
    assert "nothing was written" not in terminal.text


def test_taking_a_decision_back_says_which(failed: Path, at_terminal: Callable[..., Terminal]) -> None:
    terminal = at_terminal()
    terminal.wait_for("[1/3]")
    terminal.press("ru")
    terminal.wait_for("taken back: rejected: first")
    terminal.press("u")
    terminal.wait_for("nothing to undo")
    terminal.press("q")
    assert terminal.wait_for_end() == 0


def test_no_line_but_the_diff_s_is_longer_than_the_terminal_and_words_stay_whole(
    failed: Path, at_terminal: Callable[..., Terminal]
) -> None:
    terminal = at_terminal()
    terminal.wait_for("? more")
    terminal.press("i?q")
    terminal.wait_for("q leave")
    assert terminal.wait_for_end() == 0
    lines = terminal.text.replace("\r", "").split("\n")
    told = [line for line in lines if not line.startswith(("-", "+"))]
    assert max(map(len, told)) <= 80
    why = next(at for at, line in enumerate(lines) if line.startswith("  why       from the run of "))
    assert lines[why + 1].startswith(" " * 12)
    assert any(line.endswith("j/k move  u undo") for line in lines)


def test_the_first_value_of_a_snapshot_is_not_told_as_another_one(
    suite_with: Callable[..., Path], mcptest: Mcptest
) -> None:
    suite_with(SNAPSHOT)
    mcptest("run")
    told = json.loads(mcptest("review", "--snapshots", "--diff", "--format", "json").stdout)["items"]
    assert [item["why"] for item in told] == ["the newest run that looked at this snapshot saw its first value"]


# --- made-up arguments


@pytest.fixture
def refused(mcptest: Mcptest, tmp_path: Path) -> Path:
    """A suite with three tests whose made-up arguments a library has refused, the second without better ones in sight."""
    command = [sys.executable, "-S", str(SERVERS / "library.py")]
    path = tmp_path / "mcptest.yml"
    path.write_text(f"""\
servers: {{ library: {{ command: {json.dumps(command)} }} }}
tools:
  - name: wrong
    tool: list_books
    expect: [{{ target: result.content, matcher: {{ length: 7 }} }}]
  - name: a book  # the first
    tool: get_book
    args: {{ book_id: "1" }}
    guess: [book_id]
    # what a book is
    expect: [{{ target: result.content, matcher: {{ type: array }} }}]  # for now
  - {{ name: empty, tool: get_book, args: {{ book_id: "" }}, guess: [book_id] }}
  - {{ name: unclear, tool: find_books, args: {{ shelf: 1 }}, guess: [colour], outcome: error }}
""")
    assert mcptest("run").returncode == 1
    return path


def waiting(mcptest: Mcptest) -> dict[str, dict[str, Any]]:
    items = json.loads(mcptest("review", "--diff", "--format", "json").stdout)["items"]
    return {item["title"]: item for item in items}


def test_tests_that_need_arguments_come_first_with_what_the_tool_takes(mcptest: Mcptest, refused: Path) -> None:
    """Ruling A7."""
    items = waiting(mcptest)
    assert list(items) == ["a book", "empty", "unclear", "wrong"]
    assert items["empty"]["arguments"] == ["`book_id` (string, required): The id of the book."]
    assert [item["needs_arguments"] for item in items.values()] == [False, True, False, False]
    assert items["unclear"]["loosens"] == "any error then counts as a refusal"
    assert items["a book"]["notes"] == ["`book_id` is what `list_books` returned"]
    assert "no book has the id ; replace them" in items["empty"]["why"]
    shown = mcptest("review", "--diff").stdout
    assert '-  args: { book_id: "1" }\n-  guess: [book_id]\n+  args: { book_id: "b-7741" }\n' in shown
    assert "  argument  `book_id` (string, required): The id of the book.\n" in shown


def test_accepting_arguments_removes_the_guess_and_no_other_byte(mcptest: Mcptest, refused: Path) -> None:
    before = refused.read_text()
    done = mcptest("review", "--accept", waiting(mcptest)["a book"]["id"])
    assert done.returncode == 0, done.stderr
    wanted = before.replace('{ book_id: "1" }\n    guess: [book_id]\n', '{ book_id: "b-7741" }\n')
    assert refused.read_text() == wanted
    assert "PASS  a book" in mcptest("run", "--filter", "a book").stdout
    assert "a book" not in waiting(mcptest)


def test_a_person_gives_the_arguments_on_the_command_line(mcptest: Mcptest, refused: Path) -> None:
    done = mcptest("review", "--accept", waiting(mcptest)["empty"]["id"], "--args", '{"book_id": "b-9020"}')
    assert done.returncode == 0, done.stderr
    assert '  - { name: empty, tool: get_book, args: { book_id: "b-9020" } }\n' in refused.read_text()


def test_accept_all_leaves_the_tests_that_need_arguments(mcptest: Mcptest, refused: Path) -> None:
    done = mcptest("review", "--accept-all")
    assert "2 items left: loosen a test, look volatile or need arguments; --loosening takes them too\n" in done.stderr
    assert 'args: { book_id: "" }, guess: [book_id]' in refused.read_text()


def test_without_a_guess_the_error_fails_the_test(mcptest: Mcptest, refused: Path) -> None:
    """Accepted as they stand: the arguments are right, and the server is wrong."""
    mcptest("review", "--accept", waiting(mcptest)["empty"]["id"])
    assert mcptest("run", "--filter", "empty").returncode == 1


def test_what_was_run_with_other_arguments_does_not_wait(mcptest: Mcptest, refused: Path) -> None:
    refused.write_text(refused.read_text().replace('book_id: "1"', "book_id: b-1"))
    assert list(waiting(mcptest)) == ["empty", "unclear", "wrong"]


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--args", "{}"), "`--args` belongs to `--accept ID`"),
        (("--accept", "ID", "--args", "[]"), "`--args` is not a JSON object"),
        (("--accept", "ID", "--args", "{"), "`--args`: it is not JSON: "),
    ],
)
def test_arguments_that_cannot_be_taken_are_refused(
    flags: tuple[str, ...], told: str, mcptest: Mcptest, refused: Path
) -> None:
    own = waiting(mcptest)["empty"]["id"]
    done = mcptest("review", *(own if flag == "ID" else flag for flag in flags))
    assert (done.returncode, told in done.stderr) == (2, True)


def test_the_editor_shows_what_the_tool_takes_and_the_suite_does_not(
    refused: Path, at_terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text(f'#!/bin/sh\ncp "$1" {tmp_path}/shown\nsed -i \'s/b-7741/b-9020/\' "$1"\n')
    editor.chmod(0o755)
    terminal = at_terminal(EDITOR=str(editor))
    terminal.wait_for("[1/4]")
    terminal.press("e")
    terminal.wait_for("b-9020")
    terminal.press("a")
    terminal.wait_for("[2/4]")
    terminal.press("w")
    terminal.wait_for("wrote mcptest.yml")
    assert (
        (tmp_path / "shown")
        .read_text()
        .startswith("# `book_id` (string, required): The id of the book.\n- name: a book")
    )
    assert 'args: { book_id: "b-9020" }\n    # what a book is\n' in refused.read_text()


BREAKING = json.dumps([sys.executable, "-S", str(SERVERS / "breaking.py")])
PARALLEL = json.dumps([sys.executable, "-S", str(SERVERS / "parallel.py")])


def test_what_one_test_got_of_another_is_not_taken_for_what_it_should_get(mcptest: Mcptest, tmp_path: Path) -> None:
    suite = tmp_path / "mcptest.yml"
    tests = "".join(
        f"  - {{ name: {who}, tool: mix, args: {{ who: {who} }}, "
        f'expect: [{{ target: "result.content[0].text", matcher: {{ exact: {who} }} }}] }}\n'
        for who in ("ann", "bob")
    )
    suite.write_text(f"servers: {{ s: {{ command: {PARALLEL} }} }}\ntools:\n{tests}")
    before = suite.read_bytes()
    assert "the server mixes up concurrent calls" in mcptest("run").stdout
    told = json.loads(mcptest("review", "--diff", "--format", "json").stdout)
    assert told["items"] == []
    (left,) = told["stale"]
    assert left["reason"].startswith("this answer may be wrong: the test passes alone, and fails beside ")
    assert "this answer may be wrong" in mcptest("review", "--accept-all", "--loosening").stderr
    assert mcptest("review", "--accept", left["id"]).returncode == 2
    assert suite.read_bytes() == before


@pytest.mark.parametrize("update", [(), ("--update-snapshots",)])
def test_an_answer_that_fails_its_test_by_itself_is_not_proposed_and_no_snapshot(
    mcptest: Mcptest, tmp_path: Path, update: tuple[str, ...]
) -> None:
    suite = tmp_path / "mcptest.yml"
    suite.write_text(
        f"servers: {{ s: {{ command: {BREAKING} }} }}\ntools:\n"
        '  - { name: old, tool: wrong_output, expect: [{ target: "result.content", matcher: { snapshot: true } }] }\n'
        "  - name: invalid\n    tool: wrong_output\n    expect:\n"
        "      - { target: result.structuredContent.degrees, matcher: { exact: 7 } }\n"
        "  - name: refused\n    tool: failing_output\n    expect:\n"
        '      - { target: "result.content[0].text", matcher: { exact: warm } }\n'
    )
    ran = mcptest("run", *update)
    assert ran.returncode == 1
    told = json.loads(mcptest("review", "--diff", "--format", "json").stdout)
    assert told["items"] == []
    reasons = {item["title"]: item["reason"] for item in told["stale"]}
    assert reasons["invalid"].startswith("this answer may be wrong: the test failed as `invalid`: ")
    assert reasons["refused"].startswith("this answer may be wrong: the test failed as `tool_error`: ")
    said = "`old / result.content` is not updated: this answer may be wrong" in ran.stdout
    assert said == bool(update)
    assert list((tmp_path / ".mcptest/snapshots").glob("*")) == []
