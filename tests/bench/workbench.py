"""The workbench's figures, each measured from outside through a pseudo-terminal beside widgets from the box.

A key is written, and the time counts until the bytes that it should bring are there. Ours and the box's take turns on the
same machine; ratios are what holds elsewhere.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, NamedTuple

from mcptest_tui.tips import TIPS
from tests.bench.processes import is_alive
from tests.bench.rows import Row
from tests.bench.suites import write_suite
from tests.bench.terminal import Terminal, command_of, family

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.bench.run import Bench

HERE = Path(__file__).parent
PYTHON = sys.executable
MCPTEST = str(Path(PYTHON).with_name("mcptest"))
TESTS = 10_000
PER_SECOND = 1_000
KEYS = 40
KEY_SECONDS = 0.1
QUERY = "077"
STARTS = 7
IDLE_SECONDS = 20.0
DOWN = "\x1b[B"
F1, F3, F5 = "\x1bOP", "\x1bOR", "\x1b[15~"
CTRL_S, CTRL_Q, CTRL_HOME, END, BACKSPACE = "\x13", "\x11", "\x1b[1;5H", "\x1b[F", "\x7f"


class Figures(NamedTuple):
    """Milliseconds."""

    arrows: list[float]
    idle: list[float]
    letters: list[float]


def _shows(text: str) -> Callable[[str], bool]:
    return lambda drawn: text in drawn


def workbench_start(bench: Bench) -> Iterator[Row]:
    """First content, with 120 tests and with 33 suites; its memory; its work while it is idle."""
    place, many = _place(bench, "start"), _place(bench, "start-33")
    write_suite(place / "mcptest.yml", 120, command=_server("echo"))
    for number in range(33):
        write_suite(many / f"suite{number:02}.yml", 42, command=_server("echo"))
    seen = {place: "echo 3", many: "suite00.yml"}
    for folder, text in seen.items():
        with _open(folder) as terminal:  # the caches of a second start
            terminal.until(_shows(text))
            terminal.drain(3.0)
            terminal.press(CTRL_Q)
            terminal.ended()
    ours: dict[Path, list[float]] = {folder: [] for folder in seen}
    box = []
    for _ in range(STARTS):
        for folder, text in seen.items():
            with _open(folder) as terminal:
                found = terminal.until(_shows(text), since=terminal.started)
                ours[folder].append(found)
                terminal.drain(2.0)
                terminal.press(CTRL_Q)
                terminal.ended()  # with its engine, which would run beside the next
        with _box("four.py", place) as terminal:
            box.append(terminal.until(lambda text: "echo 3" in text, since=terminal.started))
            terminal.drain(0.5)
    first, floor = statistics.median(ours[place]), statistics.median(box)
    yield Row(what="workbench: first content", measured=first, limit=350, floor=floor, most=1.4, note="120 tests")
    first = statistics.median(ours[many])
    yield Row(what="  with 33 suites", measured=first, limit=500, floor=floor, most=2.0, note="1,386 tests")
    with _box("four.py", place) as terminal:
        terminal.until(lambda text: "echo 3" in text)
        terminal.drain(2.0)
        floor_mb, floor_cpu, _, floor_bytes = _at_rest(terminal)
    with _open(place) as terminal:
        terminal.until(lambda text: "echo 3" in text)
        terminal.drain(3.0)
        alone = next(mb for own, mb, _ in family(terminal.process.pid) if own == terminal.process.pid)
        terminal.press("a")
        terminal.until(lambda text: "120 passed" in text or "120 ✓" in text)
        terminal.drain(3.0)
        both, cpu, below, drawn = _at_rest(terminal)
        shown = {F5: "tools/call", F1: "echo 3", F3: "bench"}
        switches = []
        for _ in range(7):
            for key, text in shown.items():
                terminal.press(key)
                switches.append(terminal.until(_shows(text), 10.0))
                terminal.drain(0.5)
    yield Row(
        what="  the first visit of a mode", measured=max(switches[: len(shown)]), limit=150, note="Servers or Traffic"
    )
    yield Row(
        what="  from mode to mode",
        measured=_percentile(switches[len(shown) :], 0.95),
        limit=60,
        note="p95, not the first time",
    )
    yield Row(what="  memory, UI", measured=alone, unit="MB", limit=60, floor=floor_mb)
    yield Row(what="  memory, with engine and server", measured=both, unit="MB", limit=160, note="after a run")
    yield Row(what="  idle, UI", measured=cpu, unit="%", limit=0.1, note=f"box: {floor_cpu:.2f} %")
    yield Row(what="  idle, engine and server", measured=below, unit="%", limit=0.1)
    yield Row(what="  idle, bytes drawn", measured=drawn, unit="", limit=0, note=f"box: {floor_bytes}")


def workbench_rows(bench: Bench) -> Iterator[Row]:
    """Keys while ten thousand results arrive, and the filter over them."""
    box: Figures | None = None
    text = "name: bench\nservers: { s: { command: [mcptest, mock] } }\ntools: [{ name: first, tool: status }]\n"
    for feed, words in (("grow", "rows arrive"), ("known", "results arrive")):
        place = _place(bench, f"rows-{feed}")  # in the same folder the second would find the filter of the first
        _write(place, text)
        box = box or _streamed_to_box(place)
        figures = _streamed(place, feed)
        yield from _keys(f"workbench: key, {words}", figures.arrows, box.arrows, (30, 30, 120))
        yield from _keys("  key, afterwards", figures.idle, box.idle, (30, 30, 120))
        letter = Row(
            what="  filter, a letter", measured=max(figures.letters), limit=50, floor=max(box.letters), note="worst"
        )
        yield letter


def workbench_body(bench: Bench) -> Iterator[Row]:
    """Keys while one result of 20 MB arrives."""
    place = _place(bench, "body")
    suite = write_suite(place / "mcptest.yml", 120, command=_server("echo"))
    text = suite.read_text(encoding="utf-8")
    blob = f"servers:\n  blob: {{ command: {_quoted(_server('blob', '20'))} }}\n"
    large = "  - name: large\n    tool: blob\n    server: blob\n"
    text = text.replace("servers:\n", blob, 1).replace("  - name: echo 60\n", f"{large}  - name: echo 60\n")
    suite.write_text(text.replace("    tool: echo\n", "    tool: echo\n    server: bench\n"), encoding="utf-8")
    with _open(place) as terminal:
        terminal.until(lambda text: "echo 3" in text)
        terminal.drain(2.0)
        terminal.press("jj")
        terminal.drain(0.5)
        terminal.press("a")
        times = [_arrow(terminal, f"▌    . echo {number}\\b", 0.03) for number in range(1, 60)]
        terminal.drain(5.0)  # the run is over then
        engine = next(
            mb for pid, mb, _ in family(terminal.process.pid) if "mcptest_engine.engine_process" in command_of(pid)
        )
        terminal.press(CTRL_Q)
    arguments = (*(str(number) for number in (120, 200)), "grow", "20")
    with _box("stock.py", place, *arguments) as terminal:
        terminal.until(lambda text: "ready" in text)
        sleep(1.0)
        terminal.press("a")
        terminal.until(lambda text: "row 00020" in text)
        floor = [_arrow(terminal, f"at {number:05d}", 0.03) for number in range(1, 21)]
    yield Row(what="workbench: key, 20 MB arrive", measured=max(times), limit=120, floor=max(floor), note="worst")
    yield Row(what="  memory, engine after them", measured=engine, unit="MB", limit=120)


def workbench_editor(bench: Bench) -> Iterator[Row]:
    """From saving to the diagnostics, and from a letter to its being drawn."""
    place = _place(bench, "edit")
    suite = write_suite(place / "mcptest.yml", 71, command=_server("echo"))
    with _open(place) as terminal:
        _to_editor(terminal)
        ours = [_save(terminal, lambda text: "did you mean" in text) for _ in range(7)]
        marked = [_marked(terminal) for _ in range(9)]
    with _box("editor.py", place, str(suite)) as terminal:
        terminal.until(lambda text: "ready" in text)
        terminal.drain(0.5)
        box = [_save(terminal, lambda text: "qname" in text.partition("first key")[2]) for _ in range(7)]
    yield Row(
        what="workbench: save to diagnostics",
        measured=statistics.median(ours),
        limit=200,
        floor=statistics.median(box),
        note="500 lines; floor: a TextArea that parses",
    )
    yield Row(
        what="workbench: last key to diagnostic",
        measured=statistics.median(marked),
        limit=100,
        floor=statistics.median(box),
        note="500 lines; floor: a TextArea that parses",
    )
    write_suite(suite, 143, command=_server("echo"))
    with _open(place) as terminal:
        _to_editor(terminal)
        ours = _typed(terminal)
    with _box("editor.py", place, str(suite)) as terminal:
        terminal.until(lambda text: "ready" in text)
        terminal.drain(0.5)
        box = _typed(terminal)
    yield Row(
        what="workbench: a letter is drawn",
        measured=statistics.median(ours),
        limit=25,
        floor=statistics.median(box),
        note="1,000 lines; floor: a TextArea",
    )
    yield Row(
        what="workbench: a letter is drawn, p95",
        measured=_percentile(ours, 0.95),
        limit=30,
        floor=_percentile(box, 0.95),
        note="1,000 lines; floor: a TextArea",
    )


def workbench_quit(bench: Bench) -> Iterator[Row]:
    """From the key to the end of the program, with its servers."""
    for server, limit, words in (("slow", 1_000, "quit"), ("stubborn", 3_000, "quit, a server that hangs")):
        place = _place(bench, f"quit-{server}")
        report = bench.directory / f"{server}.pids"
        # In a program of one word: a file that is a word of the command is watched, and each run would start the next.
        script = str(HERE / "servers" / f"{server}.py")
        program = (
            f"import runpy, sys; sys.argv[1:] = [{str(report)!r}]; runpy.run_path({script!r}, run_name='__main__')"
        )
        write_suite(place / "mcptest.yml", 3, command=[PYTHON, "-c", program])
        with _open(place) as terminal:
            terminal.until(lambda text: "echo 2" in text)
            terminal.drain(2.0)
            terminal.press("a")
            terminal.until(lambda text: "live process" in text)  # the run is over, else it is asked about first
            terminal.drain(1.0)
            began = perf_counter()
            terminal.press(CTRL_Q)
            terminal.ended()
            took = (perf_counter() - began) * 1000
        left = sum(is_alive(int(pid)) for pid in report.read_text(encoding="ascii").split())
        yield Row(what=f"workbench: {words}", measured=took, limit=limit)
        yield Row(what="  processes left", measured=left, unit="", limit=0)


SECTIONS = (workbench_start, workbench_rows, workbench_body, workbench_editor, workbench_quit)


def _place(bench: Bench, name: str) -> Path:
    place = bench.directory / f"workbench-{name}"
    (place / ".mcptest").mkdir(parents=True)
    (place / "home" / "mcptest").mkdir(parents=True)
    told = json.dumps({"tips": sorted(TIPS)})  # each is told once in a person's life
    (place / "home" / "mcptest" / "workbench.json").write_text(told, encoding="utf-8")
    return place


def _write(place: Path, text: str) -> None:
    (place / "mcptest.yml").write_text(text, encoding="utf-8")


def _server(name: str, *arguments: str) -> list[str]:
    return [PYTHON, str(HERE / "servers" / f"{name}.py"), *arguments]


def _quoted(argv: Sequence[str]) -> str:
    return json.dumps(list(argv))


def _open(place: Path) -> Terminal:
    return Terminal([MCPTEST], place)


def _box(program: str, place: Path, *arguments: str) -> Terminal:
    return Terminal([PYTHON, str(HERE / "tui" / program), *arguments], place)


def _at_rest(terminal: Terminal) -> tuple[float, float, float, int]:
    """The idle program: megabytes of all processes, processor percent of itself and of its children, bytes drawn."""
    pid = terminal.process.pid
    before = {own: seconds for own, _, seconds in family(pid)}
    drawn = terminal.drain(IDLE_SECONDS)
    after = list(family(pid))
    used = {own: (seconds - before.get(own, 0.0)) / IDLE_SECONDS * 100 for own, _, seconds in after}
    return sum(mb for _, mb, _ in after), used[pid], sum(used.values()) - used[pid], drawn


def _streamed(place: Path, feed: str) -> Figures:
    """The workbench with an engine that only sends results."""
    with _box("app.py", place, str(TESTS), str(PER_SECOND), feed) as terminal:
        terminal.until(lambda text: "first" in text)
        sleep(1.0)
        terminal.press("a")
        terminal.until(lambda text: "row 00030" in text)
        terminal.press("g")
        terminal.drain(0.5)
        terminal.press("jjj")
        terminal.drain(0.5)
        streamed = [_arrow(terminal, f"▌    . row {number:05d}") for number in range(1, KEYS + 1)]
        terminal.drain(TESTS / PER_SECOND + 1.0)
        idle = [_arrow(terminal, f"▌    . row {number:05d}") for number in range(KEYS + 1, 2 * KEYS + 1)]
        terminal.press("/")
        terminal.drain(0.5)
        letters = [_letter(terminal, QUERY[: end + 1], r"Tests (\d+) of") for end in range(len(QUERY))]
        return Figures(streamed, idle, letters)


def _streamed_to_box(place: Path) -> Figures:
    """A DataTable and an Input with the same engine."""
    with _box("stock.py", place, str(TESTS), str(PER_SECOND), "grow") as terminal:
        terminal.until(lambda text: "ready" in text)
        sleep(1.0)
        terminal.press("a")
        terminal.until(lambda text: "row 00020" in text)
        streamed = [_arrow(terminal, f"at {number:05d}") for number in range(1, KEYS + 1)]
        terminal.drain(TESTS / PER_SECOND)
        idle = [_arrow(terminal, f"at {number:05d}") for number in range(KEYS + 1, 2 * KEYS + 1)]
        terminal.press("/")
        terminal.drain(0.5)
        letters = [_letter(terminal, QUERY[: end + 1], r"(\d+) of") for end in range(len(QUERY))]
        return Figures(streamed, idle, letters)


def _arrow(terminal: Terminal, wanted: str, pause: float = KEY_SECONDS) -> float:
    pattern = re.compile(wanted)
    terminal.drain(pause)
    terminal.press(DOWN)
    return terminal.until(pattern.search, 10.0)


def _letter(terminal: Terminal, typed: str, pattern: str) -> float:
    count = sum(typed in f"row {number:05d}" for number in range(TESTS))
    terminal.drain(0.5)
    terminal.press(typed[-1])
    return terminal.until(lambda text: any(int(found) == count for found in re.findall(pattern, text)), 20.0)


def _to_editor(terminal: Terminal) -> None:
    terminal.until(lambda text: "echo 3" in text)
    terminal.drain(2.0)
    terminal.press("e")
    terminal.until(lambda text: "contains" in text)
    terminal.drain(1.0)
    terminal.press(CTRL_HOME)
    terminal.drain(0.5)


def _save(terminal: Terminal, shown: Callable[[str], object]) -> float:
    terminal.press(f"q{CTRL_S}")
    took = terminal.until(shown, 10.0)
    terminal.press(f"{BACKSPACE}{CTRL_S}")
    terminal.drain(1.5)
    return took


def _marked(terminal: Terminal) -> float:
    terminal.press("q")
    took = terminal.until(lambda text: "applies" in text, 10.0)
    terminal.press(BACKSPACE)
    terminal.drain(1.0)
    return took


def _typed(terminal: Terminal) -> list[float]:
    terminal.press(CTRL_HOME)
    terminal.press(END)
    terminal.drain(0.5)
    typed, times = "bench", []
    for letter in "abcdefghijklmnopqrstuvwxyz":
        typed += letter
        terminal.drain(KEY_SECONDS)
        terminal.press(letter)
        times.append(terminal.until(re.compile(f"{letter}\\b|{typed[-3:]}").search, 5.0))
    return times


def _keys(what: str, ours: Sequence[float], box: Sequence[float], limits: tuple[float, float, float]) -> Iterator[Row]:
    cells = (("p50", 0.5), ("p95", 0.95), ("worst", 1.0))
    for (word, part), limit in zip(cells, limits, strict=True):
        measured, floor = _percentile(ours, part), _percentile(box, part)
        yield Row(what=f"{what}, {word}", measured=measured, limit=limit, floor=floor)


def _percentile(values: Sequence[float], part: float) -> float:
    return sorted(values)[min(int(len(values) * part), len(values) - 1)]
