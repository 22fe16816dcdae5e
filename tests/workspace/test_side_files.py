import json

from mcptest_engine.workspace.side_files import LARGEST_INSIDE, SideFiles
from mcptest_engine.workspace.workspace import Workspace


def output(text):
    return {"result": {"content": [{"type": "text", "text": text}]}}


def test_an_output_of_up_to_a_mebibyte_stays_in_the_record(tmp_path):
    """Outputs over 1 MiB go to a side file."""
    room = LARGEST_INSIDE - len(json.dumps(output(""), separators=(",", ":")))
    for value in (output("x"), output("x" * room)):
        assert SideFiles(Workspace(tmp_path), "R")(value, "t") is value
    assert not (tmp_path / ".mcptest").exists()
    assert SideFiles(Workspace(tmp_path), "R")(output("x" * (room + 1)), "t") == {
        "$file": "runs/R/t.json",
        "bytes": LARGEST_INSIDE + 1,
    }


def test_a_large_output_is_found_again_where_the_reference_says(tmp_path):
    workspace = Workspace(tmp_path)
    aside = SideFiles(workspace, "R")
    value = {"result": {"x": ["é\ud800\U0001f600\n" * 700_000, {"y": list(range(300_000))}], "ok": True, "none": []}}
    reference = aside(value, "Big one [a]")
    path = workspace.data_dir / reference["$file"]
    assert reference == {"$file": "runs/R/big-one-a.json", "bytes": path.stat().st_size}
    assert json.loads(path.read_bytes()) == value
    assert aside(value, "big one: a")["$file"] == "runs/R/big-one-a-2.json"


def test_a_disk_that_refuses_costs_the_output_and_not_the_run(tmp_path):
    (tmp_path / ".mcptest").write_text("a file where the directory should be")
    aside = SideFiles(Workspace(tmp_path), "R")
    value = output("x" * 2_000_000)
    size = len(json.dumps(value, separators=(",", ":")))
    assert aside.problem is None
    assert aside(value, "one") == {"$file": None, "bytes": size}
    assert aside.problem is not None
    assert aside.problem.startswith('the output of "one" was not saved: ')
    assert aside(value, "two") == {"$file": None, "bytes": size}
