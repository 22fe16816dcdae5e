"""The figures of the pytest plugin: what it adds to a test, and to the start of a run that has no suite.

Both are CPU time of the whole process, the smallest of the turns: pytest with the plugin and without it take turns.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.bench.processes import in_turns, run_once
from tests.bench.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.bench.processes import Finished
    from tests.bench.run import Bench

TESTS, ROUNDS, SUITE_ROUNDS = 1_000, 9, 5
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
WITHOUT = ("-p", "no:mcptest")


def pytest_plugin(bench: Bench) -> Iterator[Row]:
    """Tests that use nothing of ours, and tests of a suite."""
    costs = {}
    for tests in (1, TESTS):
        folder = bench.directory / f"pytest{tests}"
        folder.mkdir()
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        lines = [f"def test_{at}():\n    pass\n" for at in range(tests)]
        (folder / "test_it.py").write_text("\n".join(lines), encoding="utf-8")
        ways = [lambda folder=folder, more=more: run_once([*PYTEST, *more], folder) for more in ((), WITHOUT)]
        costs[tests] = [least_cpu(results) for results in in_turns(ROUNDS, *ways)]
    (start, bare_start), (many, bare_many) = costs[1], costs[TESTS]
    added = ((many - bare_many) - (start - bare_start)) / (TESTS - 1)
    yield Row(what="pytest plugin, over a test", measured=max(added, 0.0), limit=0.3, note=f"{TESTS:,} tests, CPU time")
    yield Row(
        what="pytest plugin, over a start without a suite",
        measured=max(start - bare_start, 0.0),
        limit=20,
        floor=bare_start,
        note="floor: pytest without the plugin, CPU time",
    )


def suite_in_pytest(bench: Bench) -> Iterator[Row]:
    """A test of a suite in pytest, over the same one in `mcptest run` and over an empty test of pytest."""
    folder = bench.directory / "in-pytest"
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "test_it.py").write_text(
        "\n".join(f"def test_{at}():\n    pass\n" for at in range(TESTS)), encoding="utf-8"
    )
    (folder / "test_one.py").write_text("def test_it():\n    pass\n", encoding="utf-8")
    one, many = bench.suite("pytest-one", 1, "echo"), bench.suite("pytest-many", TESTS, "echo")
    measured = in_turns(
        SUITE_ROUNDS,
        *(lambda path=path: run_once([*PYTEST, path], folder) for path in (many, one)),
        *(
            lambda path=path: bench.mcptest("run", path, "--workers", "1", "--reporter", "minimal")
            for path in (many, one)
        ),
        *(lambda name=name: run_once([*PYTEST, *WITHOUT, name], folder) for name in ("test_it.py", "test_one.py")),
    )
    least = [least_cpu(results) for results in measured]
    ours, theirs, empty = ((whole - start) / (TESTS - 1) for whole, start in zip(least[::2], least[1::2], strict=True))
    yield Row(
        what="a test of a suite in pytest",
        measured=max(ours - theirs - empty, 0.0),
        limit=0.3,
        note=f"CPU time over mcptest run ({theirs:.2f} ms) and an empty test of pytest ({empty:.2f} ms)",
    )


def least_cpu(results: list[Finished]) -> float:
    """Whatever else the machine does is added to the others."""
    return min(result.cpu_ms for result in results)


SECTIONS = (pytest_plugin, suite_in_pytest)
