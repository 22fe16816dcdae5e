"""Tests of tools, resources and prompts with rows of data: one row, one test, with its values and its place."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.core.errors import SuiteError
from mcptest_engine.reporting import facts, github
from mcptest_engine.reporting.registry import RenderOptions
from mcptest_engine.running.documents import document_of
from mcptest_engine.running.plan import make_plan
from mcptest_engine.running.settings import RunSettings, Selection
from mcptest_engine.suite.case_files import read_cases
from mcptest_engine.suite.case_rows import requests_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.suite.load import LoadedSuite

SERVER = json.dumps([sys.executable, "-S", str(Path(__file__).parents[1] / "servers" / "shop.py")])
SUITE = f"""\
servers: {{ shop: {{ command: {SERVER} }} }}
variables: {{ shop: corner }}
defaultTest: {{ expect: [{{ target: duration_ms, matcher: {{ lt: 60000 }} }}] }}
tools:
  - name: price
    tool: price
    args: {{ item: "${{var.item}}" }}
    expect: {{ structured.price: {{ between: ["${{var.low}}", "${{var.price}}"] }} }}
    cases: data/prices.csv
  - name: stock
    tool: stock
    args: {{ item: "${{var.item}}" }}
    expect: {{ text: {{ contains: "of ${{var.item}} left" }} }}
    verify: [{{ tool: price, args: {{ item: "${{var.item}}" }}, expect: {{ structured.item: "${{var.item}}" }} }}]
    cases:
      - {{ name: tea, vars: {{ item: tea }} }}
      - {{ name: milk, vars: {{ item: milk }}, expect: {{ text: wrong }}, tags: [dairy] }}
      - {{ name: rum, vars: {{ item: rum }}, skip: not sold }}
      - {{ name: salt, vars: {{ item: salt }}, expect: {{ duration_ms: {{ lt: 60000 }} }} }}
resources:
  - name: hours
    uri: "shop://${{var.page}}"
    expect: {{ text: "${{var.text}}" }}
    cases: [{{ name: today, vars: {{ page: hours, text: from 8 to 18 }} }}]
prompts:
  - name: greet
    prompt: greet
    args: {{ name: "${{var.who.first}}" }}
    expect: {{ text: "Greet ${{var.who.first}}." }}
    cases: data/people.json
"""
PRICES = "name,item,price,low\ntea,tea,30,0\nwrong,milk,11,3\n"
PEOPLE = '[{"who": {"first": "${Ada}"}},\n {"name": "bob", "vars": {"who": {"first": "Bob"}}, "tags": ["vip"]}]'


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "prices.csv").write_text(PRICES, encoding="utf-8")
    (folder / "people.json").write_text(PEOPLE, encoding="utf-8")
    return folder


def test_each_row_is_a_test_of_its_own_with_its_values_and_its_place(
    data: Path, run_of: Callable[..., Coroutine[None, None, RunRecord]]
) -> None:
    record = asyncio.run(run_of(SUITE))
    assert {test.name: str(test.verdict) for test in record.tests} == {
        "price [tea]": "pass",
        "price [wrong]": "fail",
        "stock [tea]": "pass",
        "stock [milk]": "fail",
        "stock [rum]": "skip",
        "stock [salt]": "fail",
        "hours [today]": "pass",
        "greet [row 1]": "pass",  # `${` in a data file is text
        "greet [bob]": "pass",
    }
    found = {test.name: test for test in record.tests}
    assert found["price [wrong]"].row == {"file": "data/prices.csv", "line": 3}
    assert facts.place(found["price [wrong]"]) == "data/prices.csv:3"
    assert facts.place(found["stock [milk]"]) == "mcptest.yml:17"
    assert found["stock [salt]"].failure is not None
    assert found["stock [salt]"].failure.kind != "assertion"
    assert facts.place(found["stock [salt]"]) == "mcptest.yml:19"  # although no assertion of it failed
    assert found["stock [tea]"].case == "tea"
    assert all(len(test.assertions) > 1 for test in record.tests if str(test.verdict) != "skip")  # with `defaultTest`
    (price,) = [one for one in record.tests if one.name == "price [tea]"]
    assert price.request is not None
    assert price.request["params"]["arguments"] == {"item": "tea"}
    annotations = github.render(record, RenderOptions())
    assert "::error file=data/prices.csv,line=3,title=price [wrong]::" in annotations
    assert '--filter "price [wrong]"' in annotations


def test_a_case_is_selected_by_its_name_and_its_tags_and_has_an_id_and_snapshots_of_its_own(
    data: Path, suite_of: Callable[..., LoadedSuite], tmp_path: Path
) -> None:
    suite = suite_of(SUITE)

    def planned(**selection: object) -> list[str]:
        plan = make_plan(suite, RunSettings(selection=Selection(**selection)), relative=lambda path: path.name)  # type: ignore[arg-type]
        return [case.name for case in plan.cases]

    assert planned(rows=frozenset({"tea"})) == ["price [tea]", "stock [tea]"]
    assert planned(tags=frozenset({"dairy"})) == ["stock [milk]"]
    assert planned(tags=frozenset({"vip"})) == ["greet [bob]"]
    cases = make_plan(suite, RunSettings(), relative=lambda path: path.name).cases
    assert len({case.id for case in cases}) == len({case.snapshot_name for case in cases}) == len(cases)
    shards = [planned(shard=(number, 3)) for number in (1, 2, 3)]
    assert sorted(name for shard in shards for name in shard) == sorted(case.name for case in cases)
    document = document_of(tmp_path / "mcptest.yml", start_dir=tmp_path, environ={})
    assert [(item.id, item.strength) for item in document.tests] == [(case.id, case.strength) for case in cases]
    assert str(data / "prices.csv") in document.files
    places = {(Path(item.row[0]).name, item.row[1]) for item in document.tests if item.row is not None}
    assert {("prices.csv", 2), ("mcptest.yml", 17)} <= places


def test_a_uri_and_the_arguments_of_a_prompt_are_texts_whatever_the_row_has(
    tmp_path: Path, suite_of: Callable[..., LoadedSuite]
) -> None:
    (tmp_path / "rows.csv").write_text("n,flag\n5,true\n", encoding="utf-8")
    suite = suite_of(f"""\
servers: {{ shop: {{ command: {SERVER} }} }}
resources: [{{ name: r, uri: "${{var.n}}", expect: {{ text: x }}, cases: rows.csv }}]
prompts:
  - {{ name: p, prompt: greet, args: {{ name: "${{var.n}}", loud: "${{var.flag}}" }}, expect: {{ text: x }}, cases: rows.csv }}
tools:
  - name: t
    tool: t
    args: {{ n: "${{var.n}}" }}
    expect: {{ text: x }}
    verify: [{{ prompt: greet, args: {{ name: "${{var.n}}" }} }}, {{ uri: "${{var.n}}" }}]
    cases: rows.csv
""")
    named = {entry.data["name"]: data for entry in suite.tests for _, data in requests_of(entry.data)}
    tool, read, prompt = (named[name] for name in "trp")
    assert (tool["args"], read["uri"], prompt["args"]) == ({"n": 5}, "5", {"name": "5", "loud": "true"})
    assert [step.get("uri", step.get("args")) for step in tool["verify"]] == [{"name": "5"}, "5"]


def test_what_a_row_of_a_file_lacks_is_told_once_at_the_row(
    tmp_path: Path, suite_of: Callable[..., LoadedSuite]
) -> None:
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n{"b": 2}\n', encoding="utf-8")
    with pytest.raises(SuiteError) as wrong:
        suite_of(f"""\
servers: {{ shop: {{ command: {SERVER} }} }}
tools: [{{ name: t, tool: t, args: {{ a: "${{var.a}}" }}, expect: {{ structured.a: "${{var.a}}" }}, cases: rows.jsonl }}]
""")
    assert str(wrong.value).splitlines() == [
        f"{tmp_path / 'rows.jsonl'}:2:1: the row has no value for `${{var.a}}`",
        "  at /tools/0/cases/1",
        '  add "a" to it',
    ]


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        ("a.csv", "a,b\r\n1,007\r\n", [("row 1", {"a": 1, "b": "007"})]),
        ("a.csv", "a,b\n1e999,-1e999\n", [("row 1", {"a": "1e999", "b": "-1e999"})]),
        ("a.csv", 'name,a\n"x,y","say ""hi""\nthere"\n', [("x,y", {"name": "x,y", "a": 'say "hi"\nthere'})]),
        ("a.csv", 'name,a\nx,"1"\ny,\nz,-1.5e3\n', [("x", "1"), ("y", ""), ("z", -1500.0)]),
        ("a.csv", "name,a\nt,true\nn,null\n5,yes\n", [("t", True), ("n", None), ("5", "yes")]),
        ("a.csv", "name,a\nx,1\n,\n , \ny,\n\n,\n", [("x", 1), ("y", "")]),
        ("a.tsv", "name\ta\nx\t1,5\n", [("x", "1,5")]),
        ("a.jsonl", '\n{"a": [1, {"b": null}]}\n', [("row 1", {"a": [1, {"b": None}]})]),
        (
            "a.jsonl",
            '\ufeff{"a": 1}\r\n\ufeff{"a": 12345678901234567890123}',
            [("row 1", 1), ("row 2", 12345678901234567890123)],
        ),
        ("a.json", '[{"a": "\\u00e9\\ud83d\\ude00\\/"},\t{"a": -0.5E-1}]', [("row 1", "é😀/"), ("row 2", -0.05)]),
        (
            "a.json",
            '[{"a": "0o10"}, {"a": "~"}, {"a": {"<<": {"*b": []}}}]',
            [("row 1", "0o10"), ("row 2", "~"), ("row 3", {"a": {"<<": {"*b": []}}})],
        ),
        ("a.yml", "- { name: x, a: no }\n", [("x", "no")]),
    ],
)
def test_data_files_are_read_as_documented(name: str, text: str, rows: list[tuple[str, object]]) -> None:
    found = [(one["name"], one["vars"]) for one in read_cases(text.encode(), file=name).value]
    assert [key for key, _ in found] == [key for key, _ in rows]
    assert [
        values if isinstance(wanted, dict) else values["a"]
        for (_, values), (_, wanted) in zip(found, rows, strict=True)
    ] == [wanted for _, wanted in rows]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.csv", "", "a.csv:1:1: the file is empty"),
        ("a.csv", "a,b\n", "a.csv:1:1: the file has no row"),
        ("a.csv", "a;b\n1;2\n", "a.csv:1:1: the columns are separated by `;`"),
        ("a.csv", "a,a\n1,2\n", 'a.csv:1:3: two columns are called "a"'),
        ("a.csv", "a,\n1,2\n", "a.csv:1:3: a column has no name"),
        ("a.csv", "a,b\n1\n", "a.csv:2:1: the row has 1 value, and the first line names 2 columns"),
        ("a.csv", 'a,b\n1,"2"3\n', "a.csv:2:6: a quoted value is followed by more text"),
        ("a.json", '{"a": 1}', "a.json:1:1: the file is a list of rows, each of them an object"),
        ("a.json", '[{"a": 1},\n 5]', "a.json:2:2: a row is an object"),
        ("a.jsonl", '{"a": 1}\n{"a": \n', "a.jsonl:2:7: expected a value, found the end of the text"),
        ("a.jsonl", '{"a": 0o10}', "a.jsonl:1:7: `0o10` is not a JSON number\n  write `8`, or quote it"),
        ("a.json", '[{"a": 007}]', "a.json:1:8: `007` is not a JSON number\n  write `7`, or quote it"),
        ("a.json", '[{"a": 1_000}]', "a.json:1:8: `1_000` is not a JSON number"),
        ("a.json", '[{"a": .5}]', "a.json:1:8: `.5` is not a JSON number\n  write `0.5`, or quote it"),
        ("a.json", '[\n{"a": NaN}]', "a.json:2:7: `NaN` is not a JSON value"),
        ("a.json", f'[{{"a": 0x{"f" * 5000}}}]', f"a.json:1:8: `0x{'f' * 38}` is not a JSON number\n  quote it"),
        ("a.json", '[{"a": 1e999}]', "a.json:1:8: the number `1e999` is too large"),
        ("a.json", f'[{{"a": {"9" * 5000}}}]', "a.json:1:8: the number has too many digits"),
        ("a.json", '[{"a": True}]', "a.json:1:8: `True` is not a JSON value\n  did you mean `true`?"),
        ("a.json", '[{"a": Oslo}]', "a.json:1:8: `Oslo` is not a JSON value\n  a text has double quotes"),
        ("a.json", "[{'a': 1}]", "a.json:1:3: a key of an object is a text in double quotes"),
        ("a.json", "[{a: 1}]", 'a.json:1:3: a key of an object is a text in double quotes\n  write `"a"`'),
        ("a.json", '[{"a": 1, "a": 2},\n{"b": 1, "b": 2}]', "a.json:1:11: duplicate key `a`\n  remove one"),
        ("a.jsonl", '{"a": 1, "a": 2}\n{"b": 1}', "a.jsonl:1:10: duplicate key `a`"),
        ("a.json", '[{"a": 1},]', "a.json:1:10: a comma before `]`\n  remove it"),
        ("a.json", '[{"a": 1} {"a": 2}]', "a.json:1:11: expected `,` or `]`"),
        ("a.json", '[{"a": 1}', "a.json:1:1: this `[` is never closed"),
        ("a.json", "[] # none", "a.json:1:4: more text follows the value of the file"),
        ("a.json", "# rows\n[]", "a.json:1:1: this is not a JSON value\n  JSON has no comments"),
        ("a.json", '{"a": 1}\n{"a": 2}', "a.json:2:1: more text follows the value of the file\n  write one list"),
        ("a.jsonl", '{"a": 1}{"a": 2}\n', "a.jsonl:1:9: more text follows the object of this line"),
        ("a.jsonl", '{"a": 1,\n"b": 2}\n', "a.jsonl:1:9: a key of an object is a text in double quotes"),
        ("a.jsonl", '{"a": "x\ny"}\n', 'a.jsonl:1:7: a text has no closing `"`'),
        ("a.json", '[{"a": "x\ty"}]', "a.json:1:10: a text contains a control character"),
        ("a.json", '[{"a": "C:\\dir"}]', "a.json:1:11: `\\d` is not a JSON escape"),
        ("a.json", '[{"a": "\\ud800"}]', "a.json:1:8: the text contains half of a character"),
        ("a.json", "[" * 101 + "]" * 101, "a.json:1:101: nested more than 100 levels deep"),
        ("a.jsonl", '{"a": 1}\n5\n{"a": \n', "a.jsonl:2:1: a row is an object"),
    ],
)
def test_a_fault_in_a_data_file_is_told_at_its_own_place(name: str, text: str, told: str) -> None:
    with pytest.raises(SuiteError) as wrong:
        read_cases(text.encode(), file=name)
    assert str(wrong.value).startswith(told)
