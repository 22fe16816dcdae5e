"""Nothing that came from the environment stands in what is said of a suite, whatever the variable is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcptest_engine.suite.load import CheckedSuite, LoadOptions, check_suite

if TYPE_CHECKING:
    from pathlib import Path

DATABASE = "postgres://admin:s3cretpw@db.example:5432/shop"
ENVIRON = {
    "DATABASE_URL": DATABASE,
    "REGION": "eu-north-7",
    "PIN": "4711",
    "NEGATIVE": "-4711",
    "DIGIT": "7",
    "PLACES": '["alpha-quarter", {"inner-name": 77123}]',
    "PADDED": f"{'x' * 70}{DATABASE}",
}
SECRETS = ("postgres", "s3cret", "admin:", "db.example", "eu-north", "4711", "alpha-q", "inner-name", "77123")

SUITE = """\
variables:
  a: {{ from_env: {variable} }}
servers:
  s: {{ command: [echo] }}
tools:
  - {{ name: t, tool: t, server: s, expect: {{ max_duration_ms: 5 }} }}
"""


def check(text: str, directory: Path) -> CheckedSuite:
    path = directory / "mcptest.yml"
    path.write_text(text)
    return check_suite(path, LoadOptions(environ=ENVIRON, workspace_root=directory, start_dir=directory))


def said(checked: CheckedSuite) -> str:
    assert checked.problems
    return "\n".join(f"{problem.message} | {problem.hint} | {problem.pointer}" for problem in checked.problems)


@pytest.mark.parametrize("variable", ["DATABASE_URL", "REGION", "PIN", "PLACES", "PADDED"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("server: s", 'server: "${a}"'),
        ("server: s", 'server: "s-${a}"'),
        ("server: s", 'server: "${env.VARIABLE}"'),
        ("command: [echo]", 'url: "${a}"'),
        ("command: [echo]", 'command: "${a}"'),
        ("command: [echo]", 'command: [echo], cwd: "${a}"'),
        ("command: [echo]", 'command: [echo], env: "${VARIABLE}"'),
        ("command: [echo]", 'url: "http://127.0.0.1:9/", headers: "${a}"'),
        ("command: [echo]", 'url: "http://127.0.0.1:9/", auth: { bearer_token_env: "${a}" }'),
        ("tool: t", 'tool: t, timeout_ms: "${a}"'),
        ("tool: t", 'tool: t, args: "${a}"'),
        ("tool: t", 'tool: t, tags: "${a}"'),
        ("tool: t", 'tool: t, fault: "${a}"'),
        ("name: t", 'name: "${a}"'),
        ("name: t", 'name: "in ${env.VARIABLE}"'),
        ("{ max_duration_ms: 5 }", '[{ target: "${a}", matcher: { exists: true } }]'),
        ("{ max_duration_ms: 5 }", '[{ target: result, matcher: { type: "${a}" } }]'),
        ("{ max_duration_ms: 5 }", '[{ target: result, matcher: { latency: { max: "${a}" } } }]'),
        ("servers:", 'imports: ["${env.VARIABLE}"]\nservers:'),
        ("servers:", 'imports: ["${env.VARIABLE}.yml"]\nservers:'),
        ("servers:", 'run_options: { concurrency: "${a}" }\nservers:'),
        ("servers:", 'coverage: { tools: "${a}" }\nservers:'),
    ],
)
def test_no_message_quotes_a_value_of_the_environment(variable: str, before: str, after: str, tmp_path: Path) -> None:
    text = SUITE.format(variable=variable)
    assert before in text
    told = said(check(text.replace(before, after.replace("VARIABLE", variable)), tmp_path))
    assert not [secret for secret in SECRETS if secret in told], told


@pytest.mark.parametrize(
    ("variable", "default", "setting"),
    [
        ("NEGATIVE", "5", 'tool: t, timeout_ms: "${a}", retries: "${a}"'),
        ("DIGIT", "5", 'tool: "${a}"'),
        ("PLACES", "[]", 'tool: t, tags: "${a}"'),
        ("PLACES", "[]", 'tool: t, args: "${a}"'),
        ("PIN", "text", 'tool: t, timeout_ms: "${a}"'),
        ("REGION", "5", "tool: t"),
    ],
)
def test_nor_one_that_was_read_as_json(variable: str, default: str, setting: str, tmp_path: Path) -> None:
    text = SUITE.format(variable=f"{variable}, default: {default}").replace("tool: t", setting)
    told = said(check(text, tmp_path))
    assert not [secret for secret in (*SECRETS, "number 7", '"7') if secret in told], told


def test_what_was_read_is_redacted_from_records(tmp_path: Path) -> None:
    suite = check(SUITE.format(variable="DATABASE_URL"), tmp_path).suite
    assert suite is not None
    assert DATABASE in suite.secrets


def test_what_is_given_in_the_place_of_what_would_be_read_is_as_secret(tmp_path: Path) -> None:
    path = tmp_path / "mcptest.yml"
    path.write_text(SUITE.format(variable="DATABASE_URL"))
    options = LoadOptions(
        environ={}, variables={"a": "numbat-other-value"}, workspace_root=tmp_path, start_dir=tmp_path
    )
    checked = check_suite(path, options)
    assert checked.suite is not None
    assert "numbat-other-value" in checked.suite.secrets


def test_a_word_of_the_message_is_no_quotation_of_a_short_value(tmp_path: Path) -> None:
    """Only what is quoted at the place of the template comes from there."""
    text = SUITE.format(variable="DIGIT").replace("tool: t", 'tool: t, args: { a: "${a}" }, timeout_ms: "77 ms"')
    (problem,) = check(text, tmp_path).problems
    assert '"77 ms"' in problem.message
