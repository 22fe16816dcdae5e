"""The files for CI systems: valid by their hosts' schemas, their scripts run in bash as far as can be without the hosts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parents[2]
CI = ROOT / "examples" / "ci"
SCHEMAS = {
    "action.yml": "github-actions.json",
    "examples/ci/github-workflow.yaml": "github-workflows.json",
    "examples/ci/gitlab-ci.yaml": "gitlab-ci.json",
}
BROKEN = """\
name: broken
servers:
  demo: { command: [mcptest, mock, --preset, demo] }
tools:
  - name: fails
    tool: status
    expect: [{ target: "result.content[0].text", matcher: { exact: nothing } }]
"""


def read(name):
    return yaml.load((ROOT / name).read_text(encoding="utf-8"), yaml.BaseLoader)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_file_is_valid_by_the_schema_of_its_host(name):
    """As published by GitHub's editors' store and by GitLab. Texts stay texts (`on` is a key)."""
    schema = json.loads((ROOT / "tests" / "schemas" / SCHEMAS[name]).read_text(encoding="utf-8"))
    text = (ROOT / name).read_text(encoding="utf-8")
    document = yaml.safe_load(text)
    if True in document:  # YAML 1.1 reads `on` as a truth value
        document["on"] = document.pop(True)
    jsonschema.Draft7Validator(schema).validate(document)


def test_every_file_is_tested():
    """A new one comes with its schema."""
    files = [*CI.rglob("*.yaml"), ROOT / "action.yml"]
    assert sorted(path.relative_to(ROOT).as_posix() for path in files) == sorted(SCHEMAS)


def test_no_input_stands_in_a_script():
    """What `${{ }}` puts into a script is code: a suite's name could run anything."""
    steps = read("action.yml")["runs"]["steps"]
    assert not [step["run"] for step in steps if "${{" in step["run"]]


def environment(tmp_path):
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "MCPTEST_"))}
    environ |= {
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_PATH": str(tmp_path / "path"),
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "CI": "true",
    }
    return {**environ, "PATH": f"{Path(sys.executable).parent}:{environ['PATH']}"}


def bash(script, environ, cwd):
    """As a runner does it: `bash --noprofile --norc -eo pipefail`."""
    argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(argv, env=environ, cwd=cwd, capture_output=True, encoding="utf-8", timeout=240, check=False)


def act(tmp_path, *, action_path=ROOT, more=None, **inputs):
    """Run the action's steps with these inputs; the last one's code and output. `more` is put into the environment."""
    action = read("action.yml")
    given = {name: about.get("default", "") for name, about in action["inputs"].items()} | inputs
    environ = environment(tmp_path) | (more or {})
    for step in action["runs"]["steps"]:
        own = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1]], value).replace(
                "${{ github.action_path }}", str(action_path)
            )
            for name, value in step["env"].items()
        }
        added = tmp_path / "path"
        path = f"{added.read_text(encoding='utf-8').strip()}:{environ['PATH']}" if added.exists() else environ["PATH"]
        done = bash(step["run"], {**environ, **own, "PATH": path}, tmp_path)
        if done.returncode:
            break
    return done


def outputs(tmp_path):
    return dict(line.split("=", 1) for line in (tmp_path / "output").read_text(encoding="utf-8").splitlines())


def test_the_action_runs_the_demo_suite(tmp_path):
    """Reports, outputs, and a summary."""
    suite = ROOT / "examples" / "demo" / "mcptest.yml"
    done = act(tmp_path, suite=str(suite), arguments="--workers 2")
    assert done.returncode == 0, done.stderr
    assert outputs(tmp_path) == {"exit-code": "0", "verdict": "pass", "reports": "mcptest-reports"}
    kept = {path.name for path in (tmp_path / "mcptest-reports").iterdir()}
    assert kept == {"run.json", "junit.xml", "results.sarif"}
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").startswith("## ✅ ")


def test_the_action_fails_with_the_run_and_annotates_the_line(tmp_path):
    """The reports are there all the same, and an argument's quotes run nothing."""
    (tmp_path / "my suite.yml").write_text(BROKEN, encoding="utf-8")
    done = act(tmp_path, suite="my suite.yml", arguments="--var x=$(touch${IFS}owned)")
    assert done.returncode == 1, done.stderr
    assert "::error file=my suite.yml,line=7,title=fails::" in done.stdout
    assert outputs(tmp_path)["verdict"] == "fail"
    assert not (tmp_path / "owned").exists()


def test_arguments_on_a_second_line_count_and_an_earlier_record_lends_no_verdict(tmp_path):
    """A flag that was lost would be a selection that nobody sees."""
    suite = str(ROOT / "examples" / "demo" / "mcptest.yml")
    (tmp_path / "mcptest-reports").mkdir()
    (tmp_path / "mcptest-reports" / "run.json").write_text('{"verdict": "pass"}', encoding="utf-8")
    done = act(tmp_path, suite=suite, arguments="--workers 2\n--surprise")
    assert done.returncode == 2, done.stderr
    assert outputs(tmp_path)["verdict"] == ""


def test_the_action_stops_at_a_suite_that_does_not_load(tmp_path):
    """Nothing is run, and nothing is reported as a verdict."""
    (tmp_path / "mcptest.yml").write_text("serverz: {}\n", encoding="utf-8")
    assert act(tmp_path).returncode == 2
    assert not (tmp_path / "output").exists()


def test_the_gitlab_job_runs_the_demo_suite(tmp_path):
    """Its script, line by line, and the artifacts that it names."""
    job = read("examples/ci/gitlab-ci.yaml")["mcptest"]
    (tmp_path / "mcptest.yml").write_text(BROKEN, encoding="utf-8")
    codes = [bash(line, {**environment(tmp_path), **job["variables"]}, tmp_path).returncode for line in job["script"]]
    assert codes == [0, 1]
    for path in job["artifacts"]["reports"].values():
        assert (tmp_path / path).is_file()
    (entry,) = json.loads((tmp_path / job["artifacts"]["reports"]["codequality"]).read_text(encoding="utf-8"))
    assert entry["description"].startswith("fails: ")
