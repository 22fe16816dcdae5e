"""The measures of an agent's calls: worked numbers, and what holds whatever the calls are."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest_engine.judging.agent_metrics import (
    GATES,
    MODES,
    Called,
    Seen,
    allowed_misses,
    grade,
    in_any_order,
    in_sequence,
    measure_gates,
    score_function_sets,
)

NAMES = st.sampled_from("abcd")
CALLS = st.lists(NAMES, max_size=8)
SETS = st.lists(st.lists(NAMES, min_size=1, max_size=3), min_size=1, max_size=4)


def seen(*names, **more) -> Seen:
    return Seen(tuple(Called(name, {}) if isinstance(name, str) else Called(*name) for name in names), **more)


def measured(gate, written, *names, looked_at=(), **more):
    gates = measure_gates({gate: written}, seen(*names, **more), looked_at=looked_at)
    return gates.members[gate], gates.failure


# equal_function_sets


def test_a_set_is_used_up_by_the_first_call_in_it():
    members, failure = measured("equal_function_sets", [["a", "b"], ["c"]], "a", "b")
    assert (members["true_positives"], members["false_positives"], members["false_negatives"]) == (1, 1, 1)
    assert (members["precision"], members["recall"], members["f1"]) == (0.5, 0.5, 0.5)
    assert failure == "equal_function_sets: f1 0.5 is below 1: no call of `c`; `b` was not needed"


def test_either_of_two_equal_tools_will_do():
    assert measured("equal_function_sets", [["a", "b"]], "b")[1] is None


def test_a_mapping_says_how_good_the_choice_has_to_be():
    sets = {"sets": [["a"], ["b"]], "min_f1": 0.6}
    assert measured("equal_function_sets", sets, "a")[1] is None
    assert "recall 0.5 is below 1" in measured("equal_function_sets", {**sets, "min_recall": 1.0}, "a")[1]


def test_no_call_at_all_is_no_good_choice():
    assert measured("equal_function_sets", [["a"]])[0]["f1"] == 0


@settings(max_examples=60)
@given(SETS, CALLS)
def test_what_was_called_and_what_was_needed_add_up(sets, names):
    found = score_function_sets(sets, names)
    assert found["true_positives"] + found["false_positives"] == len(names)
    assert found["true_positives"] + found["false_negatives"] == len(sets)
    assert all(0 <= found[key] <= 1 for key in ("precision", "recall", "f1"))
    low, high = sorted((found["precision"], found["recall"]))
    assert low - 1e-6 <= found["f1"] <= high + 1e-6


@settings(max_examples=60)
@given(st.lists(NAMES, min_size=1, max_size=6))
def test_calling_just_what_is_needed_is_perfect(names):
    assert score_function_sets([[name] for name in names], names)["f1"] == 1


# tool_selection


def test_a_run_that_calls_the_tool_is_selected():
    members, failure = measured("tool_selection", {"tool": "a"}, "b", "a")
    assert (members["selected"], failure) == (True, None)


def test_every_one_of_several_tools_is_needed():
    assert measured("tool_selection", {"tools": ["a", "b"]}, "a")[1] == "tool_selection: `b` was not called"


def test_a_miss_that_the_rate_leaves_room_for_passes_and_the_next_one_fails():
    written = {"tool": "a", "min_rate": 0.8}
    assert measured("tool_selection", written, "b", runs=5)[1] is None
    told = "tool_selection: `a` was not called; 2 of 5 runs missed; at most 1 may miss"
    assert measured("tool_selection", written, "b", runs=5, before=(False, True))[1] == told
    assert measured("tool_selection", written, "a", runs=5, before=(False, False))[1] is None


def test_a_run_over_its_tokens_is_a_wrong_choice():
    members, failure = measured("tool_selection", {"tool": "a", "max_tokens": 99}, "a", tokens=100)
    assert (members["selected"], members["within_tokens"]) == (False, False)
    assert failure == "tool_selection: it took 100 tokens; at most 99 are allowed for each run"


@settings(max_examples=60)
@given(st.integers(1, 50), st.integers(0, 100))
def test_the_misses_allowed_are_just_those_that_leave_the_rate(runs, percent):
    rate = percent / 100
    allowed = allowed_misses(rate, runs)
    assert 100 * (runs - allowed) >= percent * runs
    assert allowed == runs or 100 * (runs - allowed - 1) < percent * runs


@settings(max_examples=60)
@given(st.lists(st.booleans(), min_size=1, max_size=6), st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]))
def test_in_whatever_order_runs_end_they_come_to_the_same(hits, rate):
    """A run fails somewhere exactly when the rate was missed."""
    fails = []
    for order in set(permutations(hits)):
        told = [
            measured(
                "tool_selection",
                {"tool": "a", "min_rate": rate},
                *("a" if hit else "b"),
                runs=len(hits),
                before=order[:at],
            )[1]
            for at, hit in enumerate(order)
        ]
        fails.append(any(told))
    assert set(fails) == {sum(hits) < rate * len(hits) - 1e-9}


# trajectory


@pytest.mark.parametrize(
    ("mode", "names", "holds"),
    [
        ("strict", "ab", True),
        ("strict", "ba", False),
        ("strict", "abc", False),
        ("unordered", "ba", True),
        ("unordered", "bac", False),
        ("subsequence", "xayb", True),
        ("subsequence", "ba", False),
        ("superset", "cba", True),
        ("superset", "a", False),
        ("subset", "b", True),
        ("subset", "", True),
        ("subset", "bc", False),
        ("subset", "aa", False),
    ],
)
def test_each_mode_matches_as_it_says(mode, names, holds):
    members, failure = measured("trajectory", {"mode": mode, "calls": ["a", "b"]}, *names)
    assert (members["matched"], failure is None) == (holds, holds)


def test_arguments_that_are_given_have_to_be_there():
    written = {"calls": [{"tool": "a", "args": {"city": "Oslo"}}]}
    assert measured("trajectory", written, ("a", {"city": "Oslo", "unit": "c"}))[1] is None
    assert measured("trajectory", written, ("a", {"city": "Rome"}))[1] is not None
    assert measured("trajectory", written, ("a", None))[1] is not None


def test_one_call_does_for_one_expected_call_whichever_comes_first():
    """A name alone takes any call of the tool; the call with the arguments is left to the one that needs it."""
    written = {"mode": "unordered", "calls": ["a", {"tool": "a", "args": {"n": 1}}]}
    assert measured("trajectory", written, ("a", {"n": 1}), ("a", {"n": 2}))[1] is None


@settings(max_examples=60)
@given(CALLS, CALLS)
def test_stricter_modes_imply_looser_ones(expected, names):
    holds = {}
    for mode in MODES:
        if expected:
            holds[mode] = measured("trajectory", {"mode": mode, "calls": expected}, *names)[0]["matched"]
    for stricter, looser in [
        ("strict", "unordered"),
        ("strict", "subsequence"),
        ("unordered", "subset"),
        ("unordered", "superset"),
        ("subsequence", "superset"),
    ]:
        assert not holds.get(stricter) or holds[looser]


@settings(max_examples=60)
@given(CALLS, CALLS)
def test_pairs_use_each_place_once_and_order_never_finds_more(expected, names):
    wanted, calls = [{"name": name} for name in expected], seen(*names).calls
    for pairs in (in_sequence(wanted, calls), in_any_order(wanted, calls)):
        assert len({at for at, _ in pairs}) == len({place for _, place in pairs}) == len(pairs)
        assert all(expected[at] == names[place] for at, place in pairs)
    assert len(in_sequence(wanted, calls)) <= len(in_any_order(wanted, calls))


# golden_path


def test_the_straight_way_is_all_efficiency():
    members, failure = measured("golden_path", {"calls": ["a", "b"]}, "a", "b")
    assert (members["efficiency"], members["wasted"], failure) == (1.0, 0, None)


def test_a_detour_is_told_with_what_may_be():
    members, failure = measured("golden_path", {"calls": ["a", "b"], "max_wasted": 1, "max_repeats": 0}, *"axxb")
    assert (members["wasted"], members["repeats"], members["efficiency"]) == (2, 1, 0.5)
    assert (
        failure == "golden_path: the calls differ from the golden path: 2 calls beside it, at most 1 allowed; "
        "1 call made again, at most 0 allowed"
    )


def test_going_back_is_counted():
    assert measured("golden_path", {"calls": ["a", "b", "c"], "max_wasted": 9}, *"abac")[0]["backtracks"] == 1


def test_a_step_left_out_fails_however_much_waste_is_allowed():
    told = measured("golden_path", {"calls": ["a", "b"], "max_wasted": 9}, "a")[1]
    assert told == "golden_path: the calls differ from the golden path: `b` is missing in its place"


# tool_edges


def test_a_restricted_step_fails():
    members, failure = measured("tool_edges", {"restricted": [["a", "b"]]}, "a", "b", "a")
    assert (members["restricted_attempts"], members["gate_passed"]) == (1, False)
    assert failure == "tool_edges: `a → b` must not be tried"


def test_the_share_of_allowed_steps_is_a_percentage():
    written = {"allowed": [["a", "b"]], "min_allowed_pct": 60}
    members, failure = measured("tool_edges", written, "a", "b", "c")
    assert members["allowed_pct"] == 50
    assert failure == "tool_edges: 50 % of the steps are allowed, but 60 % must be: `b → c`"


def test_a_single_call_is_no_step():
    assert measured("tool_edges", {"allowed": [["a", "b"]], "min_allowed_pct": 100}, "c")[1] is None


def test_hand_offs_that_are_expected_are_counted_and_gate_only_where_a_share_is_asked_for():
    written = {"delegation": [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}]}
    members, failure = measured("tool_edges", written, "a", "b", "c")
    assert (members["delegation_pct"], members["not_delegated"], failure) == (50, [["b", "a"]], None)
    members, failure = measured("tool_edges", {**written, "min_delegation_pct": 80}, "a", "b", "c")
    assert failure == "tool_edges: 50 % of the hand-offs were made, but 80 % must be: `b → a` is missing"
    assert members["gate_passed"] is False


def test_edges_can_be_looked_at_under_both_names():
    gates = measure_gates({"tool_edges": {"restricted": [["a", "b"]]}}, seen("a"))
    assert gates.members["edges"] == gates.members["tool_edges"]


# token_efficiency


def test_tokens_and_cost_are_reckoned_for_each_right_choice():
    members, failure = measured(
        "token_efficiency", {"correct": ["a", "b"], "max_tokens_per_correct": 400}, "a", "b", tokens=1000, cost_usd=0.01
    )
    assert (members["correct_selections"], members["tokens_per_correct"], members["cost_per_correct"]) == (
        2,
        500,
        0.005,
    )
    assert members["grade"] == "A"
    assert failure == "token_efficiency: 500 tokens for each call of a right tool; at most 400 are allowed"


def test_a_cost_that_nobody_knows_stays_unknown():
    members, failure = measured("token_efficiency", {"correct": ["a"]}, "a", tokens=10)
    assert (members["cost"], members["cost_per_correct"], failure) == (None, None, None)


@pytest.mark.parametrize(("points", "letter"), [(100, "A"), (90, "A"), (89.9, "B"), (70, "C"), (60, "D"), (59.9, "F")])
def test_letters_begin_where_they_are_said_to(points, letter):
    assert grade(points) == letter


# all of them


def test_an_assertion_on_a_measure_takes_its_place():
    members, failure = measured("trajectory", {"calls": ["a"]}, "b", looked_at=("trajectory",))
    assert (members["passed"], failure) == (False, None)
    assert measured("tool_edges", {"restricted": [["a", "b"]]}, "a", "b", looked_at=("edges",))[1] is None


WRITTEN = {
    "equal_function_sets": [["a", "b"], ["c"]],
    "tool_selection": {"tool": "a", "min_rate": 0.5, "max_tokens": 10},
    "trajectory": {"mode": "subset", "calls": ["a", {"tool": "b", "args": {"n": 1}}]},
    "golden_path": {"calls": ["a", "b"], "max_wasted": 2, "max_backtracks": 0},
    "tool_edges": {
        "allowed": [["a", "b"]],
        "restricted": [["b", "a"]],
        "min_allowed_pct": 50,
        "delegation": [{"from": "a", "to": "b"}],
        "min_delegation_pct": 50,
    },
    "token_efficiency": {"correct": ["a", "b"], "max_tokens_per_correct": 5},
    "distractors": {"count": 2, "of": ["a", "b"], "min_accuracy": 50},
}


@settings(max_examples=60)
@given(CALLS, st.integers(0, 10_000), st.none() | st.floats(0, 10))
def test_whatever_was_called_every_measure_says_something(names, tokens, cost):
    gates = measure_gates(WRITTEN, seen(*names, tokens=tokens, cost_usd=cost, runs=3))
    assert set(GATES) <= set(gates.members)
    assert [metric.name.partition(".")[0] for metric in gates.metrics] == list(GATES)
    assert (gates.failure is None) == all(gates.members[name]["passed"] for name in GATES)
