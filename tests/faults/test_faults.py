"""Each fault can still be made: whoever changes its line renews it, and `python -m tests.faults.run` shows what is noticed."""

from __future__ import annotations

from tests.faults.faults import FAULTS
from tests.faults.run import problems


def test_every_fault_changes_one_place_and_names_tests_that_are_there() -> None:
    assert problems() == []


def test_a_fault_whose_text_is_not_there_once_is_told() -> None:
    fault = FAULTS[0]._replace(old="\n", tests=("tests/nowhere.py",))
    ambiguous, no_tests = problems((fault,))
    assert ambiguous.startswith(f"{fault.title}: its text stands ")
    assert no_tests == f"{fault.title}: there is no tests/nowhere.py"


def test_every_wing_has_faults() -> None:
    wings = {"/".join(fault.path.split("/")[:2]) for fault in FAULTS}
    engine = {
        "suite",
        "running",
        "judging",
        "safety",
        "servers",
        "mock",
        "reporting",
        "workspace",
        "cli",
        "front_door",
        "core",
    }
    assert {f"mcptest_engine/{name}" for name in engine} <= wings
    assert "mcptest_tui/state" in wings
    assert len({fault.title for fault in FAULTS}) == len(FAULTS) >= 40
