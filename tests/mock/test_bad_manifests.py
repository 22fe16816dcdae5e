"""What is wrong with a manifest is said at its place, all of it at once, with a way to mend it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcptest_engine.core.errors import SuiteError
from mcptest_engine.mock.reading import load_manifest

KNOWN = (
    "known keys: `name`, `version`, `instructions`, `tools`, `resources`, `resource_templates`, `prompts`, `page_size`"
)

BAD = {
    "unknown key": (
        "mock_server:\n  tools:\n    - name: a\n      respons: {}\n",
        "m.yml:4:7: unknown key `respons`\n  at /mock_server/tools/0\n  did you mean `response`?",
    ),
    "unknown key, camel case": (
        "mock_server:\n  tools:\n    - { name: a, inputShema: {} }\n",
        "m.yml:3:18: unknown key `inputShema`\n  at /mock_server/tools/0\n  did you mean `inputSchema`?",
    ),
    "unknown key, nothing near": (
        "mock_server:\n  zzz: 1\n",
        f"m.yml:2:3: unknown key `zzz`\n  at /mock_server\n  {KNOWN}",
    ),
    "nothing under mock_server": (
        "tools:\n  - name: a\n",
        "m.yml:1:1: unknown key `tools`\n  put it under `mock_server:`",
    ),
    "mock_server missing": (
        "{}\n",
        "m.yml:1:1: `mock_server` is missing\n  put everything under one `mock_server:` key",
    ),
    "mock_server no mapping": (
        "mock_server:\n",
        "m.yml:1:13: `mock_server` must be a mapping, found nothing\n  at /mock_server",
    ),
    "no mapping at all": ("- a\n", "m.yml:1:1: a manifest must be a mapping, found a list"),
    "both spellings": (
        "mock_server:\n  tools:\n    - { name: a, input_schema: {}, inputSchema: {} }\n",
        "m.yml:3:36: `inputSchema` and `input_schema` are one key, given twice\n  at /mock_server/tools/0",
    ),
    "tools no list": (
        "mock_server:\n  tools: { a: 1 }\n",
        "m.yml:2:10: `tools` must be a list, found a mapping\n  at /mock_server/tools",
    ),
    "tool no mapping": (
        "mock_server:\n  tools: [status]\n",
        'm.yml:2:11: this must be a mapping, found the text "status"\n  at /mock_server/tools/0',
    ),
    "name missing": (
        "mock_server:\n  tools:\n    - description: x\n",
        "m.yml:3:7: `name` is missing\n  at /mock_server/tools/0",
    ),
    "name empty": (
        'mock_server:\n  tools:\n    - name: ""\n',
        "m.yml:3:13: `name` is empty\n  at /mock_server/tools/0/name",
    ),
    "name a number": (
        "mock_server:\n  tools:\n    - name: 5\n",
        "m.yml:3:13: `name` must be text, found the number 5\n  at /mock_server/tools/0/name\n  quote it",
    ),
    "version a number": (
        "mock_server:\n  version: 1.0\n",
        "m.yml:2:12: `version` must be text, found the number 1.0\n  at /mock_server/version\n  quote it",
    ),
    "duplicate tool": (
        "mock_server:\n  tools:\n    - name: a\n    - name: a\n",
        'm.yml:4:7: duplicate tool "a"\n  at /mock_server/tools/1',
    ),
    "duplicate resource": (
        "mock_server:\n  resources:\n    - uri: x:y\n    - uri: x:y\n",
        'm.yml:4:7: duplicate resource "x:y"\n  at /mock_server/resources/1',
    ),
    "response a text": (
        "mock_server:\n  tools:\n    - { name: a, response: hello }\n",
        (
            'm.yml:3:28: a response must be a mapping, found the text "hello"\n  at /mock_server/tools/0/response\n'
            "  write the result as it is sent: `{content: [{type: text, text: …}]}`"
        ),
    ),
    "response and error": (
        "mock_server:\n  tools:\n    - { name: a, response: {}, error: { code: 1, message: x } }\n",
        "m.yml:3:32: give `response` or `error`, not both\n  at /mock_server/tools/0",
    ),
    "no responses": (
        "mock_server:\n  tools:\n    - { name: a, responses: [] }\n",
        "m.yml:3:29: `responses` needs at least one response\n  at /mock_server/tools/0/responses",
    ),
    "error without a code": (
        "mock_server:\n  tools:\n    - { name: a, error: { message: x } }\n",
        "m.yml:3:25: `code` is missing\n  at /mock_server/tools/0/error",
    ),
    "error code a text": (
        "mock_server:\n  tools:\n    - { name: a, error: { code: bad, message: x } }\n",
        'm.yml:3:33: `code` must be a whole number, found the text "bad"\n  at /mock_server/tools/0/error/code',
    ),
    "error with more keys": (
        "mock_server:\n  tools:\n    - { name: a, error: { code: 1, message: x, dat: 1 } }\n",
        "m.yml:3:48: unknown key `dat`\n  at /mock_server/tools/0/error\n  did you mean `data`?",
    ),
    "delay negative": (
        "mock_server:\n  tools:\n    - { name: a, delay_ms: -5 }\n",
        "m.yml:3:28: `delay_ms` must be a number of at least 0, found the number -5\n  at /mock_server/tools/0/delay_ms",
    ),
    "page size zero": (
        "mock_server:\n  page_size: 0\n",
        "m.yml:2:14: `page_size` must be a whole number of at least 1, found the number 0\n  at /mock_server/page_size",
    ),
    "progress zero": (
        "mock_server:\n  tools:\n    - { name: a, progress: 0 }\n",
        "m.yml:3:28: `progress` must be a whole number of at least 1, found the number 0\n  at /mock_server/tools/0/progress",
    ),
    "log level misspelt": (
        "mock_server:\n  tools:\n    - { name: a, log: [{ level: warn, data: x }] }\n",
        ('m.yml:3:33: unknown log level "warn"\n  at /mock_server/tools/0/log/0/level\n  did you mean `warning`?'),
    ),
    "log without data": (
        "mock_server:\n  tools:\n    - { name: a, log: [{ level: info }] }\n",
        "m.yml:3:24: `data` is missing: the content of the message\n  at /mock_server/tools/0/log/0",
    ),
    "log with more keys": (
        "mock_server:\n  tools:\n    - { name: a, log: [{ level: info, dat: x, data: x }] }\n",
        "m.yml:3:39: unknown key `dat`\n  at /mock_server/tools/0/log/0\n  did you mean `data`?",
    ),
    "ask misspelt": (
        "mock_server:\n  tools:\n    - { name: a, ask: { samplng: x } }\n",
        ("m.yml:3:25: unknown key `samplng`\n  at /mock_server/tools/0/ask\n  did you mean `sampling`?"),
    ),
    "ask for two things": (
        "mock_server:\n  tools:\n    - { name: a, ask: { sampling: x, elicitation: y } }\n",
        "m.yml:3:23: `ask` needs exactly one of `sampling`, `elicitation`, `roots`\n  at /mock_server/tools/0/ask",
    ),
    "ask for roots with text": (
        "mock_server:\n  tools:\n    - { name: a, ask: { roots: x } }\n",
        'm.yml:3:32: `roots` must be a mapping of parameters, found the text "x"\n  at /mock_server/tools/0/ask/roots',
    ),
    "asked without ask": (
        'mock_server:\n  tools:\n    - { name: a, response: { x: "${asked.action}" } }\n',
        (
            'm.yml:3:33: the template "${asked.action}" means an answer of the client, but there is no request: add `ask:`\n'
            "  at /mock_server/tools/0/response/x"
        ),
    ),
    "unknown template beside ask": (
        'mock_server:\n  tools:\n    - { name: a, ask: { roots: }, response: { x: "${ask.action}" } }\n',
        (
            'm.yml:3:50: unknown template "${ask.action}"; only `${args.NAME}` and `${asked.NAME}` are known in an answer\n'
            "  at /mock_server/tools/0/response/x"
        ),
    ),
    "unknown list": (
        "mock_server:\n  tools:\n    - { name: a, list_changed: [tool] }\n",
        ('m.yml:3:32: unknown list "tool"\n  at /mock_server/tools/0/list_changed\n  did you mean `tools`?'),
    ),
    "list_changed a number": (
        "mock_server:\n  tools:\n    - { name: a, listChanged: 1 }\n",
        (
            "m.yml:3:31: `listChanged` must be true, a list's name or several, found the number 1\n"
            "  at /mock_server/tools/0/listChanged"
        ),
    ),
    "touches nothing": (
        "mock_server:\n  tools:\n    - { name: a, touches: memo://on }\n  resources: [{ uri: memo://one }]\n",
        'm.yml:3:27: there is no resource "memo://on"\n  at /mock_server/tools/0/touches\n  did you mean `memo://one`?',
    ),
    "case without args": (
        "mock_server:\n  tools:\n    - { name: a, when: [{ response: {} }] }\n",
        "m.yml:3:25: `args` is missing: the arguments of this case\n  at /mock_server/tools/0/when/0",
    ),
    "case without an outcome": (
        "mock_server:\n  tools:\n    - { name: a, when: [{ args: {} }] }\n",
        "m.yml:3:25: a case needs one of `response`, `responses`, `error`\n  at /mock_server/tools/0/when/0",
    ),
    "unknown template": (
        'mock_server:\n  tools:\n    - { name: a, response: { content: ["${arg.x}"] } }\n',
        (
            'm.yml:3:40: unknown template "${arg.x}"; only `${args.NAME}` is known in an answer\n'
            "  at /mock_server/tools/0/response/content/0"
        ),
    ),
    "template that cannot be read": (
        'mock_server:\n  tools:\n    - { name: a, response: { t: "${args.[}" } }\n',
        'm.yml:3:33: the template "${args.[}" cannot be read: ',
    ),
    "bad template in a prompt": (
        "mock_server:\n  prompts:\n    - { name: a, text: 'hi ${name}' }\n",
        'm.yml:3:24: unknown template "${name}"; only `${args.NAME}` is known in an answer\n  at /mock_server/prompts/0/text',
    ),
    "text and blob": (
        "mock_server:\n  resources:\n    - { uri: x:y, text: a, blob: AAEC }\n",
        "m.yml:3:28: give `text` or `blob`, not both\n  at /mock_server/resources/0",
    ),
    "blob no base64": (
        "mock_server:\n  resources:\n    - { uri: x:y, blob: '!' }\n",
        "m.yml:3:25: `blob` is not base64\n  at /mock_server/resources/0/blob",
    ),
    "uri template": (
        "mock_server:\n  resource_templates:\n    - uri_template: 'x:{?q}'\n",
        (
            'm.yml:3:21: the URI template "x:{?q}" cannot be read\n  at /mock_server/resource_templates/0/uri_template\n'
            "  only `{name}` (up to the next `/`) and `{+name}` (the rest) are understood, each name once"
        ),
    ),
    "role": (
        "mock_server:\n  prompts:\n    - { name: a, messages: [{ role: system, content: x }] }\n",
        'm.yml:3:37: a role is `user` or `assistant`, found "system"\n  at /mock_server/prompts/0/messages/0/role',
    ),
    "content missing": (
        "mock_server:\n  prompts:\n    - { name: a, messages: [{ role: user }] }\n",
        "m.yml:3:29: `content` must be text or a mapping, found nothing\n  at /mock_server/prompts/0/messages/0",
    ),
    "required a text": (
        "mock_server:\n  prompts:\n    - { name: a, arguments: [{ name: x, required: 'yes' }] }\n",
        (
            'm.yml:3:51: `required` must be true or false, found the text "yes"\n'
            "  at /mock_server/prompts/0/arguments/0/required"
        ),
    ),
    "null instead of nothing": (
        "mock_server:\n  tools:\n    - { name: a, description: }\n",
        "m.yml:3:31: `description` must be given or left out, found nothing\n  at /mock_server/tools/0/description",
    ),
    "NaN": (
        "mock_server:\n  tools:\n    - { name: a, response: { x: .nan } }\n",
        "m.yml:1:1: the manifest contains NaN or infinity, which JSON does not have",
    ),
    "duplicate key": ("mock_server: {}\nmock_server: {}\n", "m.yml:2:1: duplicate key `mock_server`"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_manifest_is_refused_with_its_place_and_a_hint(case, tmp_path, monkeypatch):
    """Errors: file:line:col, the pointer, the fix."""
    text, message = BAD[case]
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "m.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError) as refused:
        load_manifest(path.relative_to(tmp_path))
    assert str(refused.value).startswith(message)
    assert len(refused.value.problems) == 1
    if not message.endswith(("read: ", "`mock_server`")):
        assert str(refused.value) == message


def test_every_problem_is_told_at_once_in_the_order_of_the_file(tmp_path):
    """Loading gives every problem, in file order."""
    path = tmp_path / "m.yml"
    path.write_text(
        "mock_server:\n  prompts: [{ nam: x }]\n  tools:\n    - { name: 1, respons: {} }\n  page_size: none\n",
        encoding="utf-8",
    )
    with pytest.raises(SuiteError) as refused:
        load_manifest(path)
    found = [(problem.span.line, problem.message) for problem in refused.value.problems if problem.span]
    assert found == [
        (2, "`name` is missing"),
        (2, "unknown key `nam`"),
        (4, "`name` must be text, found the number 1"),
        (4, "unknown key `respons`"),
        (5, '`page_size` must be a whole number of at least 1, found the text "none"'),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"tools": [}', "s.json:1:12: it is not JSON: Expecting value"),
        ('{"tool": []}', 's.json: no list of tools found\n  a snapshot is `{"tools": […]}`, as'),
        ('{"result": {"tools": 5}}', "s.json: no list of tools found\n  at /result/tools"),
        ('{"tools": [{"description": "x"}]}', "s.json: tool 1 has no name\n  at /tools/0"),
        ('[{"name": "a"}, 5]', "s.json: tool 2 is not an object\n  at /1"),
        ('[{"name": "a"}, {"name": "a"}]', 's.json: duplicate tool "a"\n  at /1/name'),
    ],
)
def test_a_bad_snapshot_is_refused(text, message, tmp_path, monkeypatch):
    """A `.json` that is no `tools/list` answer."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "s.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError) as refused:
        load_manifest(path.relative_to(tmp_path))
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("name", ["nope.yml", "nope.json"])
def test_a_missing_manifest_is_one_clear_error(name, tmp_path):
    """A path that leads nowhere."""
    with pytest.raises(SuiteError) as refused:
        load_manifest(tmp_path / name)
    assert "no such file" in str(refused.value)


def test_an_empty_manifest_is_not_told_what_a_suite_needs(tmp_path, monkeypatch):
    """It is read by the reader of suites."""
    monkeypatch.chdir(tmp_path)
    Path("m.yml").write_text("# nothing\n")
    with pytest.raises(SuiteError) as refused:
        load_manifest(Path("m.yml"))
    assert str(refused.value) == "m.yml:1:1: the file is empty\n  a manifest has exactly one key, `mock_server:`"
