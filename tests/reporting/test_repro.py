"""The repro line: what a shell makes of it is the test's name and the suite's path."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.run_record import SuiteInfo
from mcptest_engine.reporting.registry import RenderOptions
from mcptest_engine.reporting.repro import quoted_name, repro_line


def line(build, name="a b", path="mcptest.yml", **options):
    test = build.test(name, "fail")
    return repro_line(
        build.record(test, suite=SuiteInfo(name="s", path=path, sha256="a" * 64)), test, RenderOptions(**options)
    )


@pytest.mark.parametrize(
    ("path", "options", "tail"),
    [
        ("mcptest.yaml", {}, ""),
        ("mcptest.yml", {}, ""),
        ("suites/a.yml", {}, " --config suites/a.yml"),
        ("suites/mcptest.yml", {}, " --config suites/mcptest.yml"),
        ("my suites/a's.yml", {}, """ --config 'my suites/a'"'"'s.yml'"""),
        ("sub/mcptest.yml", {"config": "mcptest.yml"}, ""),
        ("sub/mcptest.yml", {"config": "../sub/mcptest.yml"}, " --config ../sub/mcptest.yml"),
        ("mcptest.yml", {"default_config": False}, " --config mcptest.yml"),
        ("other.yml", {"default_config": True}, ""),
    ],
)
def test_config_is_there_whenever_the_default_would_not_find_the_suite(path, options, tail, build):
    """`--config` after `--filter`."""
    assert line(build, path=path, **options) == f'mcptest run --filter "a b"{tail}'


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("status check [a] (1), #2; x/y: z_-.", '"status check [a] (1), #2; x/y: z_-."'),
        ("日本語 é", '"日本語 é"'),
        ("costs $5", "'costs $5'"),
        ('say "hi"', "'say \"hi\"'"),
        ("it's `here`", """'it'"'"'s `here`'"""),
        ("wow!", "'wow!'"),
    ],
)
def test_a_name_is_quoted_by_what_is_in_it(name, quoted):
    """Letters, digits and ` _-.,:;#()[]/` in double quotes, anything else in single ones."""
    assert quoted_name(name) == quoted


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1))
def test_a_shell_reads_the_name_back(name):
    """Whatever the quotes."""
    assert shlex.split(quoted_name(name)) == [name]
