"""What reaches a server: its environment, its command, its headers, its times."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import SuiteError
from mcptest_engine.servers.spec import ServerSpec, own_command, spec_from_settings

if TYPE_CHECKING:
    from pathlib import Path

ENVIRON = {
    "HOME": "/home/x",
    "PATH": "/bin",
    "LC_ALL": "C",
    "LANG": "C",
    "API_TOKEN": "tok-123",
    "OTHER": "o",
    "LD_PRELOAD": "evil.so",
}


def make(settings: dict[str, Any], suite_env: dict[str, Any] | None = None) -> ServerSpec:
    return spec_from_settings("s", settings, suite_env=suite_env or {}, environ=ENVIRON)


def test_only_the_allowlist_and_what_the_suite_names_reach_a_server() -> None:
    """HOME, LANG, LC_*, …, the suite's `env:` and the server's own."""
    spec = make({"command": ["x"], "env": {"MINE": "m", "BOTH": "server"}}, {"SUITE": "s", "BOTH": "suite"})
    assert spec.env == {
        "HOME": "/home/x",
        "PATH": "/bin",
        "LC_ALL": "C",
        "LANG": "C",
        "MINE": "m",
        "SUITE": "s",
        "BOTH": "server",
    }
    assert spec.withheld == {"API_TOKEN", "OTHER", "LD_PRELOAD"}


@pytest.mark.parametrize(
    ("inherit", "extra"),
    [(True, {"API_TOKEN", "OTHER", "LD_PRELOAD"}), (["OTHER", "UNSET"], {"OTHER"}), (False, set())],
)
def test_inherit_env_lets_all_or_the_named_variables_through(inherit: object, extra: set[str]) -> None:
    spec = make({"command": ["x"], "inherit_env": inherit})
    assert set(spec.env) == {"HOME", "PATH", "LC_ALL", "LANG"} | extra


def test_values_that_are_no_strings_are_written_as_yaml_writes_them() -> None:
    """`env: {PORT: 8080, DEBUG: true}` means what its author thinks."""
    spec = make({"command": ["x"], "env": {"PORT": 8080, "DEBUG": True, "RATE": 0.5}})
    assert (spec.env["PORT"], spec.env["DEBUG"], spec.env["RATE"]) == ("8080", "true", "0.5")


def test_times_come_from_the_settings_and_else_from_the_run() -> None:
    """`timeout_ms` and `connect_timeout_ms` may stand on a server."""
    spec = spec_from_settings(
        "s",
        {"command": ["x"], "timeout_ms": 1500, "shutdown_grace_ms": 0},
        suite_env={},
        environ={},
        run_options={"connect_timeout_ms": 8000},
    )
    assert (spec.timeout_seconds, spec.connect_timeout_seconds, spec.grace_seconds) == (1.5, 8.0, 0.0)


def test_a_bearer_token_is_looked_up_and_never_shown() -> None:
    """Secrets never reach a log: not even through a repr."""
    spec = make({"url": "https://x", "auth": {"bearer_token_env": "API_TOKEN"}})
    assert spec.headers == {"Authorization": "Bearer tok-123"}
    assert (spec.auth, spec.secret_headers) == ("bearer", frozenset({"authorization"}))
    assert "tok-123" not in repr(spec)


def test_a_token_variable_that_is_not_set_sends_no_token() -> None:
    """The server may not need one; a 401 then names the variable."""
    spec = make({"url": "https://x", "auth": {"bearer_token_env": "UNSET"}})
    assert spec.headers == {}
    assert (spec.auth, spec.bearer_token_env) == ("bearer", "UNSET")


def test_a_header_comes_as_written_or_from_a_variable() -> None:
    """Server `headers:`."""
    spec = make({"url": "https://x", "headers": {"X-Team": "qa", "X-Key": {"env": "API_TOKEN"}}})
    assert spec.headers == {"X-Team": "qa", "X-Key": "tok-123"}
    assert (spec.auth, spec.secret_headers) == ("headers", frozenset({"x-key"}))


def test_a_header_from_a_variable_that_is_not_set_is_refused_at_its_place() -> None:
    """Green means checked: a header is never left out in silence."""
    with pytest.raises(SuiteError) as refused:
        make({"url": "https://x", "headers": {"X/Key": {"env": "UNSET"}}})
    (problem,) = refused.value.problems
    assert problem.pointer == "/servers/s/headers/X~1Key/env"
    assert problem.message == "env var `UNSET`, which holds the header `X/Key` of server `s`, is not set or is empty"


def test_the_command_mcptest_is_this_very_mcptest(tmp_path: Path) -> None:
    """Run from anywhere, with nothing of ours in the environment, and with decoys in the working directory."""
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    (tmp_path / "mcptest_tui").mkdir()
    argv = own_command(("mcptest", "mock", "m.yml"))
    assert argv[0] == sys.executable
    assert argv[-2:] == ("mock", "m.yml")
    if argv[2] == "-m":
        probe = [*argv[:2], "-c", "import json, mcptest_tui; print(mcptest_tui.__file__)"]
    else:
        code = argv[3].replace(
            "from mcptest_tui.__main__ import main; sys.exit(main())",
            "import json, mcptest_tui; print(mcptest_tui.__file__)",
        )
        probe = [*argv[:3], code]
    found = subprocess.run(
        probe, cwd=tmp_path, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=True
    )
    import mcptest_tui

    assert found.stdout.strip() == mcptest_tui.__file__


def test_another_command_is_left_alone() -> None:
    """Only the first word, and only as a whole."""
    assert own_command(("./mcptest", "x")) == ("./mcptest", "x")
