"""Files made one suite: who wins, and in which order tests stand."""

from __future__ import annotations

from mcptest_engine.core.results import TestKind
from mcptest_engine.suite.merge import merge, merge_variables, whole_document

IMPORTED = {
    "name": "imported",
    "servers": {"a": {"url": "http://imported"}, "b": {"url": "http://b"}},
    "env": {"X": "imported", "Y": "y"},
    "variables": {"v": 1, "w": 2},
    "resources": [{"name": "r1"}],
    "tools": [{"name": "t1"}],
    "run_options": {"concurrency": 2, "bail": True},
    "coverage": {"tools": 50, "prompts": 10},
}
MAIN = {
    "name": "main",
    "imports": ["imported.yml"],
    "servers": {"a": {"command": ["main"]}},
    "env": {"X": "main"},
    "variables": {"v": "main"},
    "tools": [{"name": "t2"}, {"name": "t3"}],
    "prompts": [{"name": "p1"}],
    "run_options": {"concurrency": 4},
    "performance": {"p95_latency_ms": 10},
    "coverage": {"tools": 100},
}


def test_the_importing_file_wins_by_key() -> None:
    """A server is taken whole: half of one and half of another would be nobody's server."""
    merged = merge([(1, IMPORTED), (0, MAIN)])
    assert {name: placed.value for name, placed in merged.servers.items()} == {
        "a": {"command": ["main"]},
        "b": {"url": "http://b"},
    }
    assert {name: placed.value for name, placed in merged.env.items()} == {"X": "main", "Y": "y"}
    assert merged.run_options == {"concurrency": 4, "bail": True}
    assert merged.performance == {"p95_latency_ms": 10}
    assert merged.coverage is not None
    assert {name: (placed.value, placed.file) for name, placed in merged.coverage.items()} == {
        "tools": (100, 0),
        "prompts": (10, 1),
    }
    assert merged.name == "main"


def test_everything_keeps_the_place_where_it_was_written() -> None:
    """Problems are told there."""
    merged = merge([(1, IMPORTED), (0, MAIN)])
    assert (merged.servers["a"].file, merged.servers["a"].path) == (0, ("servers", "a"))
    assert (merged.servers["b"].file, merged.servers["b"].path) == (1, ("servers", "b"))
    variables = merge_variables([(1, IMPORTED), (0, MAIN)])
    assert {name: (placed.value, placed.file) for name, placed in variables.items()} == {"v": ("main", 0), "w": (2, 1)}


def test_imported_tests_come_first_and_blocks_keep_their_order() -> None:
    """Reports follow the declared order."""
    tests = merge([(1, IMPORTED), (0, MAIN)]).tests
    assert [(test.kind, test.entry["name"], test.file, test.path) for test in tests] == [
        (TestKind.RESOURCE, "r1", 1, ("resources", 0)),
        (TestKind.TOOL, "t1", 1, ("tools", 0)),
        (TestKind.TOOL, "t2", 0, ("tools", 0)),
        (TestKind.TOOL, "t3", 0, ("tools", 1)),
        (TestKind.PROMPT, "p1", 0, ("prompts", 0)),
    ]


def test_what_has_the_wrong_shape_is_left_out_and_said_to_be() -> None:
    """The structural check tells; the others must not draw conclusions."""
    merged = merge([(0, {"servers": [], "tools": "none", "env": 5, "run_options": []}), (1, "text"), (2, None)])
    assert (merged.servers, merged.env, merged.tests, merged.run_options) == ({}, {}, [], {})
    assert (merged.knows_servers, merged.knows_tests) == (False, False)


def test_the_whole_is_one_document_of_the_language() -> None:
    """The models are built from it."""
    merged = merge([(1, IMPORTED), (0, MAIN)])
    assert whole_document(merged, MAIN, {"v": "main", "w": 2}) == {
        "name": "main",
        "servers": {"a": {"command": ["main"]}, "b": {"url": "http://b"}},
        "variables": {"v": "main", "w": 2},
        "env": {"X": "main", "Y": "y"},
        "resources": [{"name": "r1"}],
        "tools": [{"name": "t1"}, {"name": "t2"}, {"name": "t3"}],
        "prompts": [{"name": "p1"}],
        "run_options": {"concurrency": 4, "bail": True},
        "performance": {"p95_latency_ms": 10},
        "coverage": {"tools": 100, "prompts": 10},
    }
