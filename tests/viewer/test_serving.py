"""`mcptest view` as a browser meets it, and as somebody who should not be answered does."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx2
import pytest

from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.reporting.registry import render
from mcptest_engine.workspace.ulid import new_ulid
from mcptest_engine.workspace.workspace import Workspace
from tests.viewer.kept import FOUND, HOSTILE, MAPS, put, run_id, viewing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.viewer.kept import Viewed

LIBRARY = "examples/auditor-view/mcptest.yml"
EVERY_KIND = ("/", "/nope", "/runs/{}", "/runs/{}/snapshot", "/runs/{}/files/large.json", "/compare", "/suites")


def names(page: str) -> list[str]:
    """What the rows of the list are called."""
    return re.findall(r'class="name">([^<]*)<', page)


def test_the_list_names_every_run_by_its_suite_newest_first(viewed: Viewed) -> None:
    """In served HTML, without a script. A damaged record stands in its place, and text is only text."""
    page = viewed.get("/").text
    assert names(page)[0] == "damaged record"
    assert names(page)[2:] == ["library"] * 5
    assert "<script>owned" not in page
    assert "&lt;img src=x" in page
    assert "\u202e" not in page
    assert "5 passed, 3 failed" in page
    assert page.index("2026-01-02 07:00:00") < page.index("2026-01-02 03:00:00")


def test_the_list_is_filtered_by_suite_and_verdict(viewed: Viewed) -> None:
    """A filter that asks for nothing there is says so; a page that is none is the nearest."""
    assert names(viewed.get("/?suite=evil.yml").text) == names(viewed.get("/").text)[1:2]
    assert names(viewed.get(f"/?suite={LIBRARY}&verdict=fail").text) == ["library"] * 5
    assert names(viewed.get("/?verdict=damaged").text) == ["damaged record"]
    assert names(viewed.get("/?page=99999999&verdict=fail").text)
    assert names(viewed.get("/?page=x").text) == names(viewed.get("/").text)
    assert "No run fits this filter" in viewed.get("/?suite=%3Cb%3E&verdict=x").text


@pytest.mark.parametrize("path", EVERY_KIND)
def test_every_answer_carries_the_headers_that_keep_it_shut(viewed: Viewed, path: str) -> None:
    """Pages, files and errors alike; scripts and styles are allowed by their hash alone."""
    headers = viewed.get(path.format(run_id(4))).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:{port}"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Host": "localhost.evil.example:{port}"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://127.0.0.1:{port}"}, 403),
        ({"Origin": "http://localhost"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Host": "localhost:{port}"}, 200),
        ({"Host": "LOCALHOST:{port}", "Origin": "http://localhost:{port}", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Host": "[::1]:{port}"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
    ],
)
def test_only_the_viewers_own_pages_are_answered(viewed: Viewed, headers: dict[str, str], status: int) -> None:
    """A foreign `Host` gets a 4xx (DNS rebinding), and so does a page of another origin."""
    port = viewed.url.rsplit(":", 1)[1].strip("/")
    answer = viewed.get("/", **{name: value.format(port=port) for name, value in headers.items()})
    assert answer.status_code == status
    assert ("library" in answer.text) == (status == 200)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_nothing_can_be_asked_for_but_to_be_shown(viewed: Viewed, method: str) -> None:
    """GET and HEAD; a preflight gets no leave either."""
    answer = httpx2.request(method, viewed.url)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert httpx2.head(viewed.url).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/runs/..%2f..%2fmcptest.yaml",
        "/runs/../../mcptest.yaml",
        "/runs/{}/files/..%2f..%2f..%2fmcptest.yaml",
        "/runs/{}/files/%2e%2e",
        "/runs/{}/files/link.json",
        "/runs/{}/files/%00",
        "/runs/../files/large.json",
        "/runs/ZZZZZZZZZZZZZZZZZZZZZZZZZZ",
        "/runs/%00/record",
        "/.mcptest/runs",
    ],
)
def test_no_address_leads_out_of_the_runs(viewed: Viewed, path: str) -> None:
    """Neither by dots, nor by a link that lies among the outputs."""
    answer = viewed.get(path.format(run_id(4)))
    assert answer.status_code == 404
    assert "marks the workspace" not in answer.text


@pytest.mark.parametrize("page", ["", "/record", "/snapshot"])
def test_a_record_that_is_a_link_is_no_run(tmp_path: Path, page: str) -> None:
    """It would show any file of this machine that is a record, or any at all as a download."""
    put(tmp_path, 0)
    secret = tmp_path / "secret.json"
    secret.write_bytes((tmp_path / ".mcptest" / "runs" / f"{run_id(0)}.json").read_bytes())
    (tmp_path / ".mcptest" / "runs" / f"{run_id(1)}.json").symlink_to(secret)
    with viewing(tmp_path) as viewed:
        assert viewed.get(f"/runs/{run_id(0)}{page}").status_code == 200
        answer = viewed.get(f"/runs/{run_id(1)}{page}")
        assert (answer.status_code, FOUND in answer.text) == (404, False)
        assert names(viewed.get("/").text) == ["library"]


def test_a_run_is_shown_as_its_report_with_a_way_on(viewed: Viewed) -> None:
    """The auditor's report, under a bar that leads to its neighbours, to a comparison, and to what was put aside."""
    page = viewed.get(f"/runs/{run_id(4)}").text
    assert "Audit this run" in page
    assert f'href="/compare?a={run_id(3)}&amp;b={run_id(4)}"' in page
    assert f'href="/runs/{run_id(4)}/files/large.json"' in page
    assert "link.json" not in page
    assert f'href="/runs/{run_id(4)}"' in viewed.get(f"/runs/{run_id(3)}").text


def test_a_snapshot_is_the_report_byte_for_byte(viewed: Viewed) -> None:
    """What `mcptest report --format html` writes: it needs no viewer."""
    answer = viewed.get(f"/runs/{run_id(3)}/snapshot")
    record = RunRecord.from_json(Workspace(viewed.root).load_run(run_id(3)))
    assert answer.text == render("html", record).text
    assert answer.headers["content-disposition"] == f'attachment; filename="mcptest-library-{run_id(3)}.html"'
    kept = viewed.get(f"/runs/{run_id(3)}/record").content
    assert kept == (viewed.root / ".mcptest" / "runs" / f"{run_id(3)}.json").read_bytes()


def test_an_output_that_was_put_aside_is_text_whatever_it_holds(viewed: Viewed) -> None:
    """Never HTML, nor anything a browser may take for it."""
    answer = viewed.get(f"/runs/{run_id(4)}/files/large.json")
    assert answer.text == '"<script>owned=1</script>"'
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_a_damaged_record_costs_nobody_the_rest(viewed: Viewed) -> None:
    """It is told; a comparison with it as well."""
    for path in (f"/runs/{run_id(6)}", f"/runs/{run_id(6)}/snapshot", f"/compare?a={run_id(6)}&b={run_id(4)}"):
        answer = viewed.get(path)
        assert answer.status_code == 422
        assert "This record is damaged" in answer.text
    assert viewed.get(f"/runs/{run_id(7)}").status_code == 404


def test_a_suite_is_told_by_plots_that_can_be_read_as_tables(viewed: Viewed) -> None:
    """Pass rate, durations and flaky tests over its runs; each picture says in words what it shows."""
    page = viewed.get(f"/suites?suite={LIBRARY}").text
    pictures = re.findall(r'role="img"[^>]*aria-label="([^"]*)"', page)
    assert [label.split(".")[0] for label in pictures] == [
        *("Pass rate", "Duration of the run", "Duration of its tests", "Flaky tests")
    ]
    assert "now 55.5 %, between 33.3 % and 55.5 % in 5 runs" in pictures[0]
    assert page.count("The same as a table") == 4
    flaky = page[page.index('id="flaky"') : page.index('id="tests"')]
    assert FOUND in flaky
    assert "1 time only after a failed attempt, changed its verdict 2 times" in flaky
    assert MAPS not in flaky
    assert viewed.get("/suites?suite=none").status_code == 404


def test_a_test_is_told_over_the_runs_of_its_suite(viewed: Viewed) -> None:
    """Its verdicts, each leading to the test in that run, and its durations."""
    page = viewed.get("/tests").text
    assert "No such test" in page
    found = re.search(r'href="(/tests\?id=[^"]+)">' + FOUND, viewed.get(f"/suites?suite={LIBRARY}").text)
    assert found is not None
    page = viewed.get(found[1].replace("&amp;", "&")).text
    cells = re.findall(r'href="([^"]+)" class="cell ([^"]+)"', page)
    assert [kind for _, kind in cells] == ["pass", "pass retried", "fail", "pass", "pass"]
    assert cells[2][0] == f"/runs/{run_id(2)}#t-a-search-finds-both-books"
    assert "it broke" in page


def test_two_runs_are_compared(viewed: Viewed) -> None:
    """By what became of each test; two that were picked are put in their order."""
    page = viewed.get(f"/compare?a={run_id(1)}&b={run_id(2)}").text
    assert re.findall(r"<h2[^>]*>([^<]*)<", page)[0] == "Newly failing (1)"
    assert FOUND in page
    assert f'href="/runs/{run_id(2)}#t-a-search-finds-both-books"' in page
    picked = viewed.get(f"/compare?run={run_id(2)}&run={run_id(1)}").text
    assert picked == page
    assert "Fixed (1)" in viewed.get(f"/compare?a={run_id(2)}&b={run_id(1)}").text
    assert "Fixed (1)" in viewed.get(f"/compare?a={run_id(3)}&b={run_id(4)}").text


@pytest.mark.parametrize(
    "query", ["run=", "a=x", f"run={run_id(1)}", f"run={run_id(1)}&run={run_id(2)}&run={run_id(3)}"]
)
def test_a_comparison_of_other_than_two_runs_is_asked_for_again(viewed: Viewed, query: str) -> None:
    """With the runs there are to choose from."""
    answer = viewed.get(f"/compare?{query}")
    assert answer.status_code == 400
    assert "A comparison needs two runs" in answer.text
    assert f'value="{run_id(4)}"' in answer.text
    assert HOSTILE not in answer.text


def shown(viewed: Viewed, lines: Iterator[str], wanted: str) -> str:
    """The list once this is in it; it is asked for again as often as something is told to have changed."""
    while wanted not in (page := viewed.get("/").text):
        assert next(line for line in lines if line.startswith("event")) == "event: changed"
    return page


def test_a_run_that_lands_is_told_to_who_listens_and_ctrl_c_ends_it_all(tmp_path: Path) -> None:
    """Server-sent events, in a workspace that held nothing; then an end without a traceback while somebody listens."""
    (tmp_path / "mcptest.yaml").write_text("name: here\n", encoding="utf-8")
    with viewing(tmp_path) as viewed, httpx2.Client(base_url=viewed.url, timeout=60) as client:
        assert "No run is saved here yet" in client.get("/").text
        with client.stream("GET", "/events") as stream:
            lines = stream.iter_lines()
            assert next(line for line in lines if line.startswith("event")) == "event: ready"
            put(tmp_path, 0)
            assert names(shown(viewed, lines, "library")) == ["library"]
            inline = tmp_path / ".mcptest" / "inline"
            inline.mkdir()
            under_way = new_ulid()
            (inline / f"{under_way}.yml").write_text("secret: suite\n", encoding="utf-8")
            assert under_way in shown(viewed, lines, "Active runs (1)")
            viewed.process.send_signal(signal.SIGINT)
            _, said = viewed.process.communicate(timeout=60)
    assert viewed.process.returncode == 0
    assert said == f"listening: the runs of {tmp_path} are shown until Ctrl-C\n"


SLOW = """
name: slow & steady
servers: { mock: { command: [mcptest, mock, --tools-from, mock.yml] } }
tools:
  - { name: fails at once, tool: quick, expect: [{ target: result.isError, matcher: { exact: true } }] }
  - { name: takes a minute, tool: slow }
"""
SLOW_MOCK = "mock_server: { tools: [{ name: quick, response: {} }, { name: slow, delay_ms: 60000, response: {} }] }"


def test_a_run_is_seen_while_it_goes_on(tmp_path: Path) -> None:
    """How far it is, and nothing of it once it has ended, although a record came of it."""
    (tmp_path / "mcptest.yaml").write_text(SLOW, encoding="utf-8")
    (tmp_path / "mock.yml").write_text(SLOW_MOCK, encoding="utf-8")
    with viewing(tmp_path) as viewed, httpx2.Client(base_url=viewed.url, timeout=60) as client:
        with client.stream("GET", "/events") as stream:
            lines = stream.iter_lines()
            assert next(line for line in lines if line.startswith("event")) == "event: ready"
            command = [sys.executable, "-m", "mcptest_tui", "run"]
            run = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            assert "Active runs (1)" in shown(viewed, lines, "slow &amp; steady 1 of 2 tests, 1 failed")
            run.send_signal(signal.SIGINT)
            assert run.wait(timeout=60) == 130
            shown(viewed, lines, 'class="name">slow &amp; steady<')
        assert "Active runs" not in viewed.get("/").text
        assert not list((tmp_path / ".mcptest" / "under-way").iterdir())


def test_a_port_that_is_taken_is_said_to_be(tmp_path: Path) -> None:
    """And it takes no other one instead."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "mcptest_tui", "view", "--no-open", "--port", port]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == f"error: port {port} is in use\n  leave --port out to use a free port\n"


def test_a_record_that_is_sound_only_at_its_head_is_told_as_damaged(tmp_path: Path) -> None:
    """The list reads heads; the page finds out, and a trend leaves it out."""
    kept = put(tmp_path, 0)
    file = tmp_path / ".mcptest" / "runs" / f"{kept}.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**record, "tests": [{"id": 3}, None, "x"], "hooks": 7}), encoding="utf-8")
    with viewing(tmp_path) as viewed:
        assert names(viewed.get("/").text) == ["library"]
        assert viewed.get(f"/runs/{kept}").status_code == 422
        assert viewed.get(f"/suites?suite={LIBRARY}").status_code == 200
        put(tmp_path, 0)  # the file is another one now
        assert viewed.get(f"/runs/{kept}").status_code == 200


def test_connections_that_ask_for_nothing_keep_nobody_out(viewed: Viewed) -> None:
    """Neither those that say nothing, nor those that stop in the middle of a request."""
    port = int(viewed.url.rstrip("/").rpartition(":")[2])
    with contextlib.ExitStack() as stack:
        for number in range(300):
            silent = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            if number % 2:
                silent.sendall(b"GET / HTTP/1.1\r\nHost: 127")
            if number % 50 == 0:
                assert viewed.get("/").status_code == 200
        assert viewed.get("/").status_code == 200
