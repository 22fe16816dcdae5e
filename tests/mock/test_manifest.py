"""Each key of the manifest, seen from the wire."""

from __future__ import annotations

import json

import pytest

from mcptest_engine.mock.presets import load_preset, preset_names
from mcptest_engine.mock.reading import load_manifest


def test_a_tool_is_listed_with_everything_the_manifest_says_of_it(serve):
    """MCP 2025-11-25, server/tools#tool: names on the wire, whatever the spelling in the manifest."""
    mock = serve(
        """
mock_server:
  tools:
    - name: a
      title: A
      description: does a
      input_schema: { type: object, properties: { x: { type: integer } } }
      output_schema: { type: object }
      annotations: { readOnlyHint: true, destructiveHint: "yes" }
    - { name: b, inputSchema: { type: object, required: [y] }, outputSchema: { type: object } }
    - name: c
"""
    )
    assert mock.request("tools/list")["result"]["tools"] == [
        {
            "name": "a",
            "title": "A",
            "description": "does a",
            "inputSchema": {"type": "object", "properties": {"x": {"type": "integer"}}},
            "outputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": True, "destructiveHint": "yes"},
        },
        {"name": "b", "inputSchema": {"type": "object", "required": ["y"]}, "outputSchema": {"type": "object"}},
        {"name": "c", "inputSchema": {"type": "object"}},
    ]


def test_a_response_is_sent_as_it_stands(serve):
    """Unknown members are kept, and an absent isError stays absent."""
    mock = serve(
        """
mock_server:
  tools:
    - name: a
      response: { content: [{ type: text, text: hi }], isError: true, _meta: { "x/y": 1 }, extra: [null, 1.5] }
    - name: b
      response: {}
"""
    )
    result = {"content": [{"type": "text", "text": "hi"}], "isError": True, "_meta": {"x/y": 1}, "extra": [None, 1.5]}
    assert mock.call("a")["result"] == result
    assert mock.call("b")["result"] == {}


def test_a_tool_without_a_response_has_a_default_one(serve):
    """The manifest: `response` is optional."""
    assert serve("mock_server: { tools: [{ name: a }] }").text("a") == "mock result of a"


ECHO = """
mock_server:
  tools:
    - name: t
      response:
        content: [{ type: text, text: "%s" }]
        structuredContent: { value: "${args.x}", list: [1, "${args.x}", 2], inner: "${args.deep.list[1].name}" }
"""


@pytest.mark.parametrize("value", [7, 1.5, True, None, "text", [1, [2]], {"a": {"b": 1}}, 2**70])
def test_a_whole_template_keeps_the_json_type(serve, value):
    """Templates: a string that is one template becomes the argument itself."""
    found = serve(ECHO % "x").call("t", x=value)["result"]["structuredContent"]
    assert found == {"value": value, "list": [1, value, 2]}


def test_an_absent_argument_leaves_its_member_or_element_out(serve):
    """Templates: what an absent argument does where it is a whole value."""
    assert serve(ECHO % "x").call("t")["result"]["structuredContent"] == {"list": [1, 2]}


def test_a_path_reaches_into_an_argument(serve):
    """Templates: paths follow the target grammar."""
    deep = {"list": [{"name": "a"}, {"name": "b"}]}
    assert serve(ECHO % "x").call("t", deep=deep)["result"]["structuredContent"]["inner"] == "b"


@pytest.mark.parametrize(
    ("template", "arguments", "text"),
    [
        ("hi ${args.x}!", {"x": "Ada"}, "hi Ada!"),
        ("hi ${args.x}!", {}, "hi !"),
        ("n=${args.x}", {"x": 5}, "n=5"),
        ("n=${args.x}", {"x": True}, "n=true"),
        ("n=${args.x}", {"x": None}, "n=null"),
        ("n=${args.x}", {"x": {"a": ["é"]}}, 'n={"a": ["é"]}'),
        ("${args.x}${args.y}", {"x": 1, "y": 2}, "12"),
        ("$${args.x} and ${args.x}", {"x": 1}, "${args.x} and 1"),
        ("$${literal}", {}, "${literal}"),
        ("costs $5 {x} $$", {}, "costs $5 {x} $$"),
        ("all: ${args}", {"x": 1}, 'all: {"x": 1}'),
        ("${args.x}", {"x": "${args.y}", "y": "not expanded twice"}, "${args.y}"),
        ("${args.items[*].id} ids", {"items": [{"id": 1}, {}, {"id": 2}]}, "[1, 2] ids"),
    ],
)
def test_mixed_text_spells_arguments_as_json(serve, template, arguments, text):
    """Templates: `$${` is a literal, text is not expanded twice, an absent argument is empty."""
    assert serve(ECHO % template).text("t", **arguments) == text


def test_a_sequence_of_responses_ends_with_its_last(serve):
    """`responses`: one after the other, the last repeats; each tool counts for itself."""
    mock = serve(
        """
mock_server:
  tools:
    - name: flaky
      responses:
        - { isError: true, content: [{ type: text, text: "try again, ${args.who}" }] }
        - { content: [{ type: text, text: ok }] }
    - { name: other, responses: [{ content: [{ type: text, text: one }] }] }
"""
    )
    assert mock.text("flaky", who="Ada") == "try again, Ada"
    assert mock.text("other") == "one"
    assert [mock.text("flaky") for _ in range(3)] == ["ok", "ok", "ok"]


WHEN = """
mock_server:
  tools:
    - name: t
      delay_ms: 200
      when:
        - { args: { user: { id: 1 } }, response: { content: [{ type: text, text: first }] }, delay_ms: 0 }
        - { args: { tags: [a, b] }, response: { content: [{ type: text, text: tags }] } }
        - { args: { n: 1 }, responses: [{ content: [{ type: text, text: n1 }] }, { content: [{ type: text, text: n2 }] }] }
        - { args: { flag: true }, error: { code: -32001, message: "no ${args.who}", data: { who: "${args.who}" } } }
        - { args: { nothing: null }, response: { content: [{ type: text, text: "null" }] } }
      response: { content: [{ type: text, text: otherwise }] }
"""


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"user": {"id": 1, "name": "Ada"}, "more": 1}, "first"),
        ({"user": {"id": 2}}, "otherwise"),
        ({"user": 1}, "otherwise"),
        ({"tags": ["a", "b", "c"]}, "tags"),
        ({"tags": ["b", "a"]}, "otherwise"),
        ({"tags": ["a"]}, "otherwise"),
        ({"n": 1.0}, "n1"),
        ({"n": True}, "otherwise"),
        ({"nothing": None}, "null"),
        ({"nothing": 0}, "otherwise"),
        ({"flag": 1}, "otherwise"),
        ({}, "otherwise"),
    ],
)
def test_the_first_case_whose_arguments_are_covered_decides(serve, arguments, text):
    """`when`: a recursive subset; numbers by value, booleans and null by themselves."""
    assert serve(WHEN).text("t", **arguments) == text


def test_a_case_may_have_a_sequence_an_error_and_a_delay_of_its_own(serve):
    """`when`: each case stands for itself; the delay of the tool holds where the case has none."""
    mock = serve(WHEN)
    assert [mock.text("t", n=1), mock.text("t", n=1)] == ["n1", "n2"]
    wrong = mock.call("t", flag=True, who="entry")["error"]
    assert wrong == {"code": -32001, "message": "no entry", "data": {"who": "entry"}}
    late, soon = mock.post_call("t"), mock.post_call("t", user={"id": 1})
    assert [mock.receive()["id"], mock.receive()["id"]] == [soon, late]


def test_an_error_is_a_protocol_error_with_its_data(serve):
    """`error`: {code, message, data?}; a message is always text."""
    mock = serve(
        """
mock_server:
  tools:
    - { name: a, error: { code: -32050, message: "${args.n}" } }
    - { name: b, error: { code: 1, message: no, data: { retry: "${args.n}" } } }
"""
    )
    assert mock.call("a", n=5)["error"] == {"code": -32050, "message": "5"}
    assert mock.call("b", n=5)["error"] == {"code": 1, "message": "no", "data": {"retry": 5}}


CHECKED = """
mock_server:
  tools:
    - name: add
      input_schema:
        type: object
        properties: { a: { type: number }, at: { type: array, items: { type: integer } } }
        required: [a]
        additionalProperties: false
      response: { content: [{ type: text, text: "${args.a}" }] }
    - { name: broken, input_schema: { type: strange } }
    - { name: remote, input_schema: { $ref: "http://127.0.0.1:9/x.json" } }
    - { name: local, input_schema: { $ref: "file:///etc/passwd" } }
    - { name: never, input_schema: { type: object, not: {} } }
"""


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, 'invalid arguments for tool add: "a" is a required property'),
        ({"a": "x"}, 'invalid arguments for tool add: `a`: "x" is not of type "number"'),
        ({"a": 1, "at": [1, "b"]}, 'invalid arguments for tool add: `at[1]`: "b" is not of type "integer"'),
        (
            {"a": 1, "b": 2},
            "invalid arguments for tool add: Additional properties are not allowed ('b' was unexpected)",
        ),
    ],
)
def test_arguments_that_break_the_schema_are_a_tool_error(serve, arguments, text):
    """MCP 2025-11-25, server/tools#error-handling: input validation errors are tool execution errors."""
    assert serve(CHECKED).call("add", **arguments)["result"] == {
        "content": [{"type": "text", "text": text}],
        "isError": True,
    }


def test_arguments_that_meet_the_schema_are_served(serve):
    """The same check, passed; also twice, since the compiled schema is kept."""
    mock = serve(CHECKED)
    assert [mock.text("add", a=1), mock.text("add", a=2)] == ["1", "2"]


def test_a_broken_schema_is_an_internal_error_and_nothing_is_fetched(serve):
    """A `$ref` to the network or to a file is refused; a server that listens there would never be asked."""
    mock = serve(CHECKED)
    for tool in ("broken", "remote", "local"):
        wrong = mock.call(tool)["error"]
        assert wrong["code"] == -32603
        assert wrong["message"].startswith(f"the input schema of tool {tool} is broken: ")
    assert (
        "nothing outside of the schema is fetched: http://127.0.0.1:9/x.json" in mock.call("remote")["error"]["message"]
    )
    assert mock.call("never")["result"]["isError"] is True


RESOURCES = """
mock_server:
  resources:
    - uri: demo://a/readme.md
      name: readme
      title: Read me
      description: what it is
      mime_type: text/markdown
      text: "# hi ${HOME}"
    - { uri: "demo://b.bin", mimeType: application/octet-stream, blob: AAEC }
    - uri: demo://empty
  resource_templates:
    - { uri_template: "demo://u/{id}/x", name: user, mime_type: text/plain, text: "user ${args.id}" }
    - { uriTemplate: "demo://f/{+path}", text: "${args.path}", description: any file }
"""


def test_resources_are_listed_and_read(serve):
    """MCP 2025-11-25, server/resources; text is sent as it stands, a missing text is empty."""
    mock = serve(RESOURCES)
    listed = mock.request("resources/list")["result"]["resources"]
    readme = {"uri": "demo://a/readme.md", "name": "readme", "title": "Read me", "description": "what it is"}
    assert listed == [
        {**readme, "mimeType": "text/markdown"},
        {"uri": "demo://b.bin", "name": "b.bin", "mimeType": "application/octet-stream"},
        {"uri": "demo://empty", "name": "empty"},
    ]
    read = [mock.request("resources/read", {"uri": item["uri"]})["result"]["contents"] for item in listed]
    assert read == [
        [{"uri": "demo://a/readme.md", "mimeType": "text/markdown", "text": "# hi ${HOME}"}],
        [{"uri": "demo://b.bin", "mimeType": "application/octet-stream", "blob": "AAEC"}],
        [{"uri": "demo://empty", "text": ""}],
    ]


def test_an_unknown_resource_is_resource_not_found(serve):
    """MCP 2025-11-25, server/resources#error-handling: -32002 with the URI as data."""
    wrong = serve(RESOURCES).request("resources/read", {"uri": "demo://nope"})["error"]
    assert wrong == {"code": -32002, "message": "Resource not found", "data": {"uri": "demo://nope"}}


@pytest.mark.parametrize(
    ("uri", "text"),
    [("demo://u/7/x", "user 7"), ("demo://f/a/b.txt", "a/b.txt"), ("demo://u/7/8/x", None), ("demo://u//x", None)],
)
def test_a_resource_template_serves_the_uris_it_matches(serve, uri, text):
    """`{name}` ends at a slash, `{+name}` takes the rest."""
    answer = serve(RESOURCES).request("resources/read", {"uri": uri})
    if text is None:
        assert answer["error"]["code"] == -32002
    else:
        assert answer["result"]["contents"][0]["text"] == text


def test_resource_templates_are_listed(serve):
    """MCP 2025-11-25, server/resources#resource-templates."""
    assert serve(RESOURCES).request("resources/templates/list")["result"]["resourceTemplates"] == [
        {"uriTemplate": "demo://u/{id}/x", "name": "user", "mimeType": "text/plain"},
        {"uriTemplate": "demo://f/{+path}", "name": "demo://f/{+path}", "description": "any file"},
    ]


PROMPTS = """
mock_server:
  prompts:
    - name: hello
      title: Hello
      description: greets
      arguments: [{ name: who, title: Who, description: a name, required: true }, { name: mood }]
      text: "Say hello to ${args.who} (${args.mood})"
    - name: talk
      messages:
        - { role: user, content: "${args.q}" }
        - { role: assistant, content: { type: image, data: AAEC, mimeType: image/png } }
    - name: empty
"""


def test_prompts_are_listed(serve):
    """MCP 2025-11-25, server/prompts#listing-prompts."""
    listed = serve(PROMPTS).request("prompts/list")["result"]["prompts"]
    who = {"name": "who", "title": "Who", "description": "a name", "required": True}
    hello = {"name": "hello", "title": "Hello", "description": "greets", "arguments": [who, {"name": "mood"}]}
    assert listed == [hello, {"name": "talk"}, {"name": "empty"}]


def test_a_prompt_is_rendered_with_its_arguments(serve):
    """Texts stay texts: an absent argument is empty, also where it is the whole text."""
    mock = serve(PROMPTS)
    hello = mock.request("prompts/get", {"name": "hello", "arguments": {"who": "Ada"}})["result"]
    said = {"type": "text", "text": "Say hello to Ada ()"}
    assert hello == {"description": "greets", "messages": [{"role": "user", "content": said}]}
    talk = mock.request("prompts/get", {"name": "talk"})["result"]["messages"]
    assert talk[0] == {"role": "user", "content": {"type": "text", "text": ""}}
    assert talk[1]["content"] == {"type": "image", "data": "AAEC", "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"name": "nope"}, "Unknown prompt: nope"),
        ({"name": "hello"}, "Missing required argument: who"),
        ({"name": "hello", "arguments": {"who": 5}}, "Invalid params: `arguments` must be an object of strings"),
        ({}, "Invalid params: `name` must be a string"),
    ],
)
def test_a_prompt_that_cannot_be_rendered_is_invalid_params(serve, params, message):
    """MCP 2025-11-25, server/prompts#error-handling."""
    assert serve(PROMPTS).request("prompts/get", params)["error"] == {"code": -32602, "message": message}


def test_lists_come_in_pages_of_the_size_given(serve):
    """MCP 2025-11-25, server/utilities/pagination: the last page has no cursor."""
    tools = ", ".join(f"{{ name: t{number} }}" for number in range(5))
    mock = serve(f"mock_server: {{ page_size: 2, tools: [{tools}], prompts: [{{ name: p }}] }}")
    names, cursor, pages = [], None, 0
    while True:
        result = mock.request("tools/list", {} if cursor is None else {"cursor": cursor})["result"]
        names += [tool["name"] for tool in result["tools"]]
        pages += 1
        cursor = result.get("nextCursor")
        if cursor is None:
            break
    assert (names, pages) == (["t0", "t1", "t2", "t3", "t4"], 3)
    assert "nextCursor" not in mock.request("prompts/list")["result"]


@pytest.mark.parametrize("cursor", ["nonsense", "after:1", "after:99", "after:-2", "after:0", "after:", "", 5])
def test_a_cursor_that_no_page_gave_is_invalid_params(serve, cursor):
    """MCP 2025-11-25, server/utilities/pagination#error-handling."""
    mock = serve("mock_server: { page_size: 2, tools: [{ name: a }, { name: b }, { name: c }] }")
    assert mock.request("tools/list", {"cursor": cursor})["error"]["code"] == -32602


SNAPSHOT = [{"name": "a", "inputSchema": {"type": "odd"}, "x-vendor": [1]}, {"name": "b", "annotations": "malformed"}]


@pytest.mark.parametrize(
    "document",
    [{"tools": SNAPSHOT}, SNAPSHOT, {"jsonrpc": "2.0", "id": 3, "result": {"tools": SNAPSHOT, "nextCursor": "x"}}],
)
def test_a_json_snapshot_is_replayed_with_every_field(start, tmp_path, document):
    """A captured `tools/list` answer is served as it was captured, tools only."""
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(document))
    mock = start("--tools-from", str(path))
    assert mock.request("initialize", {})["result"]["capabilities"] == {"tools": {}}
    assert mock.request("tools/list")["result"] == {"tools": SNAPSHOT}
    assert mock.text("b") == "mock result of b"


def test_a_json_file_may_hold_a_manifest(tmp_path):
    """`mock_server` decides, not the ending of the name."""
    path = tmp_path / "m.json"
    path.write_text('{"mock_server": {"name": "j", "tools": [{"name": "a"}]}}')
    assert load_manifest(path).name == "j"


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_loads(name):
    """The presets are manifests like any other."""
    assert load_preset(name).tools


def test_demo_and_evil_are_presets():
    """What the command's help promises."""
    assert set(preset_names()) >= {"demo", "evil"}


@pytest.mark.parametrize(
    "tool", [tool for tool in load_preset("demo").tools or () if "outputSchema" in tool.descriptor]
)
def test_the_demo_keeps_its_own_promises(tool):
    """Structured content of the demo meets the output schema it declares."""
    import jsonschema_rs

    answers = [
        outcome.results[0]({"city": "Oslo", "id": 7}) for outcome in (tool.outcome, *(c.outcome for c in tool.cases))
    ]
    for answer in answers:
        if not answer.get("isError"):
            jsonschema_rs.validate(tool.descriptor["outputSchema"], answer["structuredContent"])
