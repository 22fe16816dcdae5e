"""The corpus of suites that do not load, or load with warnings: each beside exactly what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcptest_engine.suite.load import LoadOptions, check_suite

BAD = Path(__file__).parents[1] / "suites" / "bad"


def options_of(suite: Path) -> LoadOptions:
    """The options that the comments at the top of a suite ask for: `# environ: K=V …`, `# var: K=V …`."""
    found: dict[str, dict[str, str]] = {"environ": {}, "var": {}}
    for line in suite.read_text(encoding="utf-8").splitlines():
        kind, _, pairs = line.removeprefix("# ").partition(":")
        if not line.startswith("#") or kind not in found:
            break
        found[kind] = dict(pair.split("=") for pair in pairs.split())
    return LoadOptions(environ=found["environ"], variables=found["var"], workspace_root=BAD, start_dir=BAD)


@pytest.mark.parametrize("suite", sorted(BAD.glob("load-*.yaml")), ids=lambda path: path.stem)
def test_a_bad_suite_is_told_exactly_so(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every problem at once, in file order, each with its place and its remedy."""
    monkeypatch.chdir(BAD)
    checked = check_suite(Path(suite.name), options_of(suite))
    told = "".join(f"{problem}\n" for problem in checked.problems)
    assert told == suite.with_suffix(".txt").read_text(encoding="utf-8")
    assert (checked.suite is None) == bool(checked.errors)
