"""What the viewer reckons, and what it does before it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.cli.view import _has_browser
from mcptest_engine.reporting.viewer.frame import percent
from mcptest_engine.reporting.viewer.guard import refusal
from mcptest_engine.reporting.viewer.plots import Series, plot
from mcptest_engine.reporting.viewer.run_index import RunIndex
from mcptest_engine.reporting.viewer.server import listening
from mcptest_engine.reporting.viewer.trends import percentile, test_trends
from mcptest_engine.workspace.workspace import Workspace
from tests.viewer.kept import FOUND, put, run_id

if TYPE_CHECKING:
    from pathlib import Path

trends_of = test_trends
del test_trends  # which pytest would take for a test


@given(st.lists(st.floats(0, 1e9), min_size=1), st.floats(0, 100))
def test_a_percentile_is_one_of_the_values_and_enough_of_them_are_not_above_it(
    values: list[float], share: float
) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= len(values) * share / 100 - 1e-6


def test_what_has_no_values_has_no_percentile() -> None:
    assert percentile([], 50) is None
    assert percentile([3, 1, 2], 50) == 2
    assert percentile(range(1, 101), 95) == 95


def test_a_share_is_never_rounded_up_to_all() -> None:
    assert [percent(share) for share in (0, 0.5, 0.9999, 1)] == ["0 %", "50 %", "99.9 %", "100 %"]


def test_a_test_is_flaky_when_its_verdict_changes_under_the_same_suite(tmp_path: Path) -> None:
    """One change is a break or a repair; two without an edit are not."""
    for hour, verdict in enumerate(("pass", "fail", "fail")):
        put(tmp_path, hour, verdicts={FOUND: verdict})
    shelf = RunIndex(Workspace(tmp_path))

    def flaky() -> list[str]:
        return [trend.name for trend in trends_of(shelf.tests(shelf.rows())[::-1]) if trend.is_flaky]

    assert flaky() == []
    put(tmp_path, 3, verdicts={FOUND: "pass"})
    assert flaky() == [FOUND]


def test_a_verdict_that_changes_with_the_flags_is_not_flaky(tmp_path: Path) -> None:
    """Another `--var` makes another test of it."""
    for hour, verdict in enumerate(("pass", "fail", "pass", "fail")):
        put(tmp_path, hour, verdicts={FOUND: verdict}, flags=("--var", "W=x") if verdict == "fail" else ())
    shelf = RunIndex(Workspace(tmp_path))
    assert not any(trend.is_flaky for trend in trends_of(shelf.tests(shelf.rows())[::-1]))


def test_a_record_is_read_again_only_when_it_is_another_one(tmp_path: Path) -> None:
    """The row of a file that has not changed is the same object."""
    put(tmp_path, 0)
    shelf = RunIndex(Workspace(tmp_path))
    first, before = shelf.rows()[0], shelf.state()
    assert shelf.rows()[0] is first
    assert shelf.state() == before
    put(tmp_path, 0, suite="another")
    assert shelf.rows()[0].suite == "another"
    put(tmp_path, 1)
    assert [row.run_id for row in shelf.rows()] == [run_id(1), run_id(0)]
    assert shelf.state() != before


def test_a_plot_without_values_is_a_plot(tmp_path: Path) -> None:
    """And it says so; one value is a dot."""
    assert "nothing known" in plot("Nothing", [Series("x", "pass", [None, None])], names=["a", "b"], told=str)  # type: ignore[list-item]
    assert 'class="dot pass"' in plot("One", [Series("x", "pass", [0.0])], names=["a"], told=str)  # type: ignore[list-item]


def test_it_listens_on_loopback_alone() -> None:
    with listening(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_at_port_80_a_host_needs_no_port() -> None:
    assert refusal("GET", {"host": "localhost"}, 80) is None
    assert refusal("GET", {"host": "localhost"}, 81) is not None
    assert refusal("GET", {}, 80) is not None


@pytest.mark.parametrize(
    ("environ", "opens"),
    [
        ({"DISPLAY": ":0"}, True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, True),
        ({}, False),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "x"}, False),
        ({"DISPLAY": ":0", "CI": "true"}, False),
    ],
)
def test_a_browser_is_opened_only_before_who_started_it(
    environ: dict[str, str], opens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over SSH it would open on the other machine, and without a screen in the terminal."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY", "CI"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", "linux")
    assert _has_browser() is opens


def test_what_is_remembered_of_a_run_counts_once_however_often_its_record_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each change takes the room of another run, until every page is read again."""
    shelf = RunIndex(Workspace(tmp_path))
    put(tmp_path, 0)
    ((_, tests),) = shelf.tests(shelf.rows())
    monkeypatch.setattr("mcptest_engine.reporting.viewer.run_index.MOST_REMEMBERED", 2 * len(tests))
    for number in range(10):
        put(tmp_path, 1, suite=f"suite-{number}")
        shelf.tests(shelf.rows())
    assert len(shelf._tests) == 2
