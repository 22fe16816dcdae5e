"""`run --executor dask`, on a local cluster of two worker processes: the same record, and what can go wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcptest_engine.cli.cluster.dask import _Run, run_on_cluster
from mcptest_engine.cli.common import find_here, load
from mcptest_engine.cli.main import main
from mcptest_engine.core.events import CaseFinished, RunFinished, RunStarted
from mcptest_engine.running.settings import RunSettings, Selection
from tests.processes import of_this_test, until

if find_spec("distributed") is None and not os.environ.get("CI"):
    pytest.skip("the extra `dask` is not installed", allow_module_level=True)

SUITE = """\
name: many
servers:
  demo: {{ command: [mcptest, mock, --tools-from, manifest.yml] }}
run_options: {{ concurrency: 4 }}
tools:
{tests}
"""
TEST = """\
  - name: "test {number}"
    tool: {tool}
    expect: [{{ target: "result.content[0].text", matcher: {{ exact: "{word}" }} }}]
"""
MANIFEST = """\
mock_server:
  tools:
    - { name: fetch, description: x, response: { content: [{ type: text, text: hi }] } }
    - { name: fetch_late, description: x, delay_ms: 60000, response: { content: [{ type: text, text: hi }] } }
"""
# A worker that dies and one that hangs are of this module alone; they take no port of anybody's.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes with one thread each; what they set in this process's environment is gone afterwards.

    With it, the tests after these would start what they start anew, and not from a warm interpreter (`can_fork`).
    """
    import distributed

    before = dict(os.environ)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as found:
        yield found
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A workspace of its own, where the command is started."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mcptest").mkdir()
    (tmp_path / "manifest.yml").write_text(MANIFEST, encoding="utf-8")
    return tmp_path


def write(count, *, wrong=(), tool="fetch", more=""):
    tests = "".join(TEST.format(number=n, tool=tool, word="bye" if n in wrong else "hi") for n in range(count))
    Path("mcptest.yml").write_text(SUITE.format(tests=tests) + more, encoding="utf-8")


def on(cluster):
    return ["run", "--executor", "dask", "--scheduler", cluster.scheduler_address]


def without_times(record):
    left_out = {"run_id", "started_at", "duration_ms", "ledger"}  # shards are held against no earlier run
    kept = {key: value for key, value in record.items() if key not in left_out}
    kept["tests"] = [
        {key: value for key, value in test.items() if key not in {"duration_ms", "started_offset_ms", "behind"}}
        for test in record["tests"]
    ]
    return kept


def test_the_record_is_that_of_a_run_in_one_process(cluster, capsys):
    """Order, ids, servers, totals, verdict, coverage; one run is saved, not one a batch."""
    write(120, wrong={7, 100}, more="coverage: { tools: 50 }\n")
    assert main(["run", "--reporter", "json=local.json"]) == 1
    assert main([*on(cluster), "--reporter", "json=cluster.json"]) == 1
    assert "120 tests in 2 batches on 2 worker threads" in capsys.readouterr().err
    local, remote = (json.loads(Path(f"{name}.json").read_text()) for name in ("local", "cluster"))
    assert without_times(remote) == without_times(local)
    assert len(list(Path(".mcptest/runs").glob("*.json"))) == 2


class Watching:
    """Stands where a terminal's progress does; presses Ctrl-C once so many tests are decided."""

    def __init__(self, enough):
        self.events, self.lines, self.enough = [], [], enough

    def on_event(self, event):
        self.events.append(event)
        if isinstance(event, CaseFinished) and len(self.of(CaseFinished)) == self.enough:
            os.kill(os.getpid(), signal.SIGINT)

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    def say(self, line):
        self.lines.append(line)


def test_tests_are_told_while_their_batch_goes_on(cluster):
    """Batches are of one size and end together, so that what only they told would come too late."""
    write(3, wrong={1})
    with Path("mcptest.yml").open("a", encoding="utf-8") as file:
        file.write(TEST.format(number="late", tool="fetch_late", word="hi"))
    workspace = find_here()
    suite = load(Path("mcptest.yml"), workspace, {})
    watching: Any = Watching(enough=3)
    record = run_on_cluster(
        suite, RunSettings(), workspace, scheduler=cluster.scheduler_address, variables={}, progress=watching
    )
    assert record.interrupted
    (begun,) = watching.of(RunStarted)
    told = {begun.tests[event.index].name: event.result for event in watching.of(CaseFinished)}
    assert {name: result.verdict.value for name, result in told.items()} == {
        "test 0": "pass",
        "test 1": "fail",
        "test 2": "pass",
    }
    assert 'expected `"bye"`' in told["test 1"].message
    assert isinstance(watching.events[-1], RunFinished)
    assert watching.lines[-1] == "interrupted: ending the batches\n"


def test_a_few_tests_are_one_batch_and_a_selection_holds(cluster, capsys):
    """A filter, tags and `--var` mean what they mean here."""
    write(30)
    assert main([*on(cluster), "--filter", "test 7", "--reporter", "minimal"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("ran 1 tests: 1 passed") or told.out.startswith("ran 1 test: 1 passed")
    assert "1 test in 1 batch on" in told.err


@pytest.mark.parametrize(
    ("more", "flags", "told"),
    [
        ("hooks: { beforeAll: [\"true\"] }\n", [], "the suite has hooks"),
        ("", ["--record", "x"], "--record and --executor dask do not go together"),
        ("", ["--shard", "1/2"], "--shard and --executor dask do not go together"),
        ("", ["--max-cost", "1"], "--max-cost and --executor dask do not go together"),
        ("budget: { per_suite_usd_cents: 9 }\n", [], "a budget for all its models"),
        ("agents: [{ name: a, prompt: b, budget: { per_suite_usd_cents: 9 } }]\n", [], "a budget for all its models"),
        ("", ["--bail"], "--bail and --executor dask do not go together"),
        ("resources: []\n", ["--watch"], "--watch and --executor dask do not go together"),
    ],
)  # fmt: skip
def test_what_one_process_alone_can_hold_is_refused(more, flags, told, cluster, capsys):
    """Nothing is run."""
    write(2, more=more)
    assert main([*on(cluster), *flags]) == 2
    assert told in capsys.readouterr().err


def test_serial_tests_are_refused_by_name(cluster, capsys):
    """Each batch has servers of its own: what one test makes, another would not find."""
    write(2, tool="delete_all")
    assert main(on(cluster)) == 2
    assert '"test 0" and 1 more must run alone on a server' in capsys.readouterr().err


def test_a_scheduler_that_does_not_answer_is_told_soon(capsys, monkeypatch):
    """Exit 1: the command line is right, the cluster is not there."""
    monkeypatch.setattr("mcptest_engine.cli.cluster.dask.CONNECT_SECONDS", 1)
    write(2)
    assert main(["run", "--executor", "dask", "--scheduler", "tcp://127.0.0.1:9"]) == 1
    assert "no scheduler answers at `tcp://127.0.0.1:9`" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["nonsense://x", "127.0.0.1:notaport", ""])
def test_an_address_that_is_none_is_told(address, capsys):
    """In our words, without a traceback."""
    write(2)
    assert main(["run", "--executor", "dask", "--scheduler", address]) == 1
    assert "no scheduler answers at" in capsys.readouterr().err


def test_flags_that_do_not_go_together_are_refused(capsys):
    """A scheduler without the executor, and the other way round."""
    write(2)
    assert main(["run", "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert main(["run", "--executor", "dask"]) == 2
    assert "add --scheduler ADDRESS" in capsys.readouterr().err


def test_without_the_extra_one_line_says_how_to_get_it(monkeypatch, capsys):
    """`pip install distributed`."""
    write(2)
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["run", "--executor", "dask", "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert capsys.readouterr().err.endswith("error: the dask executor is not installed\n  pip install distributed\n")


def test_a_worker_of_another_version_is_refused(cluster, monkeypatch, capsys):
    """Records would differ for no reason that anybody could see."""
    write(2)
    monkeypatch.setattr("mcptest_engine.cli.cluster.dask.__version__", "99.0")
    assert main(on(cluster)) == 1
    assert "and this is 99.0" in capsys.readouterr().err


def test_every_setting_of_a_run_is_sent_refused_or_of_the_asking_side():
    """A setting that was forgotten would be ignored on the workers, and nobody would see it."""
    suite: Any = SimpleNamespace(path="mcptest.yml", sha256="0")
    plan: Any = None
    asked = _Run(suite, RunSettings(), plan, 1, ".", {})._batch_request(1)["settings"]
    refused = {"bail", "update_snapshots", "record", "replay", "cache", "cache_dir", "cost_gate", "max_cost_usd"}
    of_this_side = {"interactive", "environ", "requested_by", "earlier_runs", "policy"}  # `init` has one, and runs here
    assert set(RunSettings._fields) - set(asked) == refused | of_this_side
    assert set(Selection._fields) - set(asked["selection"]) == {"judged"}  # which only `eval` asks for


def running_here(place):
    """The batches whose working directory is this test's."""
    return [pid for pid in of_this_test(place) if "mcptest_engine.cli.cluster.batch" in read_process(pid, "cmdline")]


def servers_of(batches):
    """The processes that the batches have started."""
    return [child for pid in batches for child in read_process(pid, f"task/{pid}/children").split()]


def read_process(pid, name):
    """A file of the system about the process; empty once that has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""


def started(cluster):
    argv = [sys.executable, "-m", "mcptest_tui", *on(cluster), "--reporter", "json=run.json"]
    return subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
def test_ctrl_c_ends_the_batches_and_reports_what_was_done(cluster, place):
    """Exit 130, a record, and nothing left on the workers."""
    write(4, tool="fetch_late")
    client = started(cluster)
    until(lambda: running_here(place))
    until(lambda: servers_of(running_here(place)))
    client.send_signal(signal.SIGINT)
    _, err = client.communicate(timeout=60)
    assert client.returncode == 130, err
    assert json.loads(Path("run.json").read_text())["interrupted"] is True
    until(lambda: not running_here(place))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
def test_a_batch_whose_worker_dies_is_given_to_another(cluster, place):
    """The child of the dead worker ends with it, and the run comes to its end."""
    write(4, tool="fetch_late", more="performance: { default_timeout_ms: 3000 }\n")
    client = started(cluster)
    until(lambda: running_here(place))
    (child,) = running_here(place)
    worker = int(Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[1])
    os.kill(worker, signal.SIGKILL)
    _, err = client.communicate(timeout=60)
    assert client.returncode == 1, err
    totals = json.loads(Path("run.json").read_text())["totals"]
    assert (totals["total"], totals["failed"]) == (4, 4)
    until(lambda: not running_here(place))
