import html
import json
import random
import re
import string
import textwrap
import time
from base64 import b32encode, b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus, unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcptest_engine.core import secret_patterns
from mcptest_engine.core.redaction import MASK, Disguise, Redactor, is_secret_name
from mcptest_engine.core.secret_names import is_secret_flag
from mcptest_engine.core.secret_patterns import find_secrets
from mcptest_engine.safety.credentials import find_credential

TOKENS = [
    "sk-proj-a1B2c3D4e5F6",
    "pk-abcdefghij",
    "sk_live_4eC39HqLyjWDarjtT1",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "gho_16C7e42F292c6912",
    "ghs_16C7e42F292c6912",
    "github_pat_11ABCDEFG0abcdefghijkl_x",
    "xoxb-123456789012-abcdef",
    "xoxp-123456789012-abcdef",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N",
    "AKIAIOSFODNN7EXAMPLE",
    "0123456789abcdef0123456789abcdef",
    "deadbeef" * 5,
    "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MEFCQ0RFRg==",
    "wJalrXUtnFEMI/K7MDENG2/bPxRfiCYEXAMPLEKEY",
]
HARMLESS = [
    "a plain sentence, risk-based and task-oriented, with 12 words: none secret",
    "f47ac10b-58cc-4372-a567-0e02b2c3d479",
    "01KAM6R5N3Z8W4V7X2Y9T1Q0PB",
    "2026-11-21T22:26:00.123456+00:00",
    "/home/User/projects/MyApp/src2/components/v1/Button",
    "https://example.com/docs/Getting-Started/Chapter10/Part2-Overview",
    "token: expired",
    "max_tokens=4096&page_token=abc",
    '{"next_page_token": "abc", "max_tokens": 5}',
    "if token == other: pass",
    "the authorization: a server may ask for it",
    "Bearer authentication is needed",
    "a" * 64,
    "sk-SK",
    "Authorization: required",
    "name: value, key: value, monkey: banana",
    "https://user@example.com/path:80@x",
]


def _words(text):
    return text.split()


SECRET_NAMES = _words(
    "password passwd PASSWORD DB_PASSWORD dbPassword user_password_value token TOKEN github_token githubToken "
    "X-Auth-Token secret clientSecret client_secret api_key apiKey APIKEY apikey X-Api-Key x-api-key OPENAI_API_KEY "
    "access_token refreshToken id_token authtoken Authorization Proxy-Authorization Cookie Set-Cookie private_key "
    "signing-key AWS_SECRET_ACCESS_KEY SECRET_KEY_BASE passphrase credentials api_keys access_tokens password2 "
    "X-Auth-User X-Amz-Security-Token session_secret BASIC_AUTH jwt password_hash encryptionKey Mcp-Session-Id mcp-session-id"
)
PLAIN_NAMES = _words(
    "tokens max_tokens maxTokens input_tokens token_count token_type token_endpoint key keys primary_key foreignKey "
    "partition_key next_page_token nextPageToken pageToken nextCursor progressToken continuationToken password_hint "
    "passwordPolicy secret_name bearer_token_env author X-Author monkey keyboard secretary-desk cookie_consent name "
    "text type content url id auth authors issueKey cache_key public_key sort_key idempotency_key tokenizer 1 _ "
    "WWW-Authenticate proxy-authenticate session_id"
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from(TOKENS + HARMLESS),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=12) | st.sampled_from(TOKENS + SECRET_NAMES), inner, max_size=4)
    ),
    max_leaves=12,
)
SECRETS = st.lists(st.text(min_size=1, max_size=20), max_size=3)


@pytest.mark.parametrize("token", TOKENS)
def test_a_well_known_token_is_redacted_wherever_it_stands(token):
    """Token prefixes, long hex, long base64-like runs."""
    redactor = Redactor()
    assert redactor.redact_text(token) == MASK
    assert redactor.redact_text(f"before {token} after") == f"before {MASK} after"
    assert redactor.redact_text(f"é“{token}”, {token}\n") == f"é“{MASK}”, {MASK}\n"
    assert redactor.redact({"content": [{"type": "text", "text": token}]}) == {
        "content": [{"type": "text", "text": MASK}]
    }
    assert list(redactor.redact({token: 1})) == [MASK]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("mcp --token abc123def4 --verbose", "abc123def4"),
        ("run it with --api-key 'my own key' once", "my own key"),
        ("--client-secret verylongsecretwords", "verylongsecretwords"),
        ("mysql -u root -pS3cret shop", "S3cret"),
        ("mysqldump --single-transaction -p'geheim' shop", "geheim"),
        ("curl -s -u anna:geheim https://x.example", "geheim"),
        ('curl --user "anna:geheim" https://x.example', "geheim"),
        ("sshpass -p xyz9 ssh host", "xyz9"),
        ("redis-cli -h db -a geheim ping", "geheim"),
    ],
)
def test_a_secret_on_a_command_line_in_a_text_is_redacted(text, secret):
    """Texts of servers and stderr hold whole command lines."""
    assert Redactor().redact_text(text) == text.replace(secret, MASK)


@pytest.mark.parametrize(
    "text",
    [
        "use --token to pass it, and --password for the other",
        "--token -v",
        "--max-tokens 4096",
        "docker run -u 1000:1000 image",
        "mysql -p shop",
        "mysql: it runs - please see the log",
    ],
)
def test_an_option_without_a_secret_is_kept(text):
    assert Redactor().redact_text(text) is text


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_resembles_a_secret_is_kept(text):
    assert Redactor().redact_text(text) is text


def test_nearly_every_random_credential_is_recognised():
    """A path is told from a random text by how often neighbours differ in kind; that must not let credentials through."""
    source = random.Random(7)
    alphabet = string.ascii_letters + string.digits + "+/"
    texts = ["".join(source.choices(alphabet, k=40)) for _ in range(2000)]
    missed = [text for text in texts if Redactor().redact_text(text) is text]
    assert all(sum(map(str.isdigit, text)) < 2 for text in missed)


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_name_that_promises_a_secret_is_recognised(name):
    """Secret-named JSON keys and header patterns."""
    assert is_secret_name(name)
    assert Redactor().redact({name: "x"}) == {name: MASK}


def test_a_flag_is_secret_under_more_names_than_a_member():
    assert all(map(is_secret_flag, ("--key", "--pass=x", "-pat", "--KEY=x", "--api-key", "--token=x")))
    assert not any(map(is_secret_flag, ("key", "pass=x", "--", "", "--keyboard", "--path", "--port=1", "token")))


@pytest.mark.parametrize("name", PLAIN_NAMES)
def test_a_name_that_only_contains_such_a_word_is_not(name):
    assert not is_secret_name(name)
    value = {name: "x"}
    assert Redactor().redact(value) is value


def test_a_number_under_a_secret_name_goes_but_flags_null_and_objects_stay():
    """A JSON Schema says `password: {type: string}`; an object is judged by its own names."""
    schema = {
        "properties": {"password": {"type": "string", "description": "the user's password"}},
        "required": ["password"],
    }
    redactor = Redactor()
    assert redactor.redact(schema) is schema
    assert redactor.redact({"password": 12345, "secret": True, "token": None, "api_key": ""}) == {
        "password": MASK,
        "secret": True,
        "token": None,
        "api_key": "",
    }
    assert redactor.redact({"credentials": {"user": "a", "password": "b"}}) == {
        "credentials": {"user": "a", "password": MASK}
    }


def test_secrets_in_a_list_under_a_secret_name_are_redacted():
    assert Redactor().redact({"passwords": ["a", ["b"], {"c": "d"}, 5]}) == {
        "passwords": [MASK, [MASK], {"c": "d"}, MASK]
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"password": "hunter2", "user": "ada"}', '{"password": "[REDACTED]", "user": "ada"}'),
        ('{"password":"a\\"b","x":1}', '{"password":"[REDACTED]","x":1}'),
        ('{\\"api_key\\":\\"hunter2\\",\\"x\\":1}', '{\\"api_key\\":\\"[REDACTED]\\",\\"x\\":1}'),
        ("{'token': 'abc', 'x': 1}", "{'token': '[REDACTED]', 'x': 1}"),
        ("DB_PASSWORD=hunter2\nHOME=/root", "DB_PASSWORD=[REDACTED]\nHOME=/root"),
        ('api_key = "abc"', 'api_key = "[REDACTED]"'),
        ("GET /v1?api_key=abc&page=2", "GET /v1?api_key=[REDACTED]&page=2"),
        ("password: hunter2\nname: x", "password: [REDACTED]\nname: x"),
        ("Authorization: Bearer abc\nHost: x", "Authorization: [REDACTED]\nHost: x"),
        ("curl -H 'Authorization: Basic YTpi' x", "curl -H 'Authorization: [REDACTED]' x"),
        ("Cookie: a=b; c=d\nHost: x", "Cookie: [REDACTED]\nHost: x"),
        ("X-Auth-Token: abc123def", "X-Auth-Token: [REDACTED]"),
        ("sent Bearer abc123def456 to it", "sent Bearer [REDACTED] to it"),
        ("postgres://ada:s3cret@db:5432/x", "postgres://ada:[REDACTED]@db:5432/x"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nx", "[REDACTED]\nx"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE and cut off", "[REDACTED]"),
    ],
)
def test_a_named_secret_inside_a_text_is_redacted(text, expected):
    assert Redactor().redact_text(text) == expected


def test_a_registered_value_is_redacted_also_as_a_part_of_a_text_and_as_a_key():
    """Registered values."""
    redactor = Redactor(["correct horse"])
    assert redactor.redact_text("it is correct horse!") == f"it is {MASK}!"
    assert redactor.redact({"correct horse": ["correct horse"]}) == {MASK: [MASK]}


def test_a_short_registered_value_is_redacted_only_as_a_whole_string():
    """Under 8 characters it is masked only as a whole string."""
    redactor = Redactor(["blue"])
    value = ["a blue sky", {"blue": 1}]
    assert redactor.redact(value) is value
    assert redactor.redact({"text": "blue"}) == {"text": MASK}


def test_a_registered_value_is_found_in_json_text_and_in_urls():
    redactor = Redactor(['quo"te\\and é'])
    assert redactor.redact_text('quo"te\\and é') == MASK
    assert redactor.redact_text(json.dumps({"x": 'quo"te\\and é'})) == f'{{"x": "{MASK}"}}'
    assert redactor.redact_text(json.dumps({"x": 'quo"te\\and é'}, ensure_ascii=False)) == f'{{"x": "{MASK}"}}'
    assert redactor.redact_text("https://x/?q=quo%22te%5Cand%20%C3%A9") == f"https://x/?q={MASK}"


def test_a_value_registered_later_counts_from_then_on():
    redactor = Redactor()
    assert redactor.redact({"long-name": "some value"}) == {"long-name": "some value"}
    redactor.register("some value")
    redactor.register("long-name")
    assert redactor.redact({"long-name": "some value"}) == {MASK: MASK}


def test_overlapping_secrets_leave_nothing_of_either():
    redactor = Redactor(["abcdefghij", "ghijklmnop"])
    assert redactor.redact_text("<abcdefghijklmnop>") == f"<{MASK}>"


def test_the_data_of_an_image_is_kept_and_a_credential_beside_it_is_not():
    """Else two different pictures would be equal in a snapshot."""
    data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    image = {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}
    redactor = Redactor()
    assert redactor.redact(image) is image
    assert redactor.redact({"data": data}) == {"data": MASK}
    redactor.register(data[8:24])
    assert redactor.redact(image) == {
        "content": [{"type": "image", "data": data[:8] + MASK + data[24:], "mimeType": "image/png"}]
    }


def test_two_secret_keys_do_not_lose_a_member():
    assert Redactor().redact({TOKENS[0]: 1, TOKENS[1]: 2}) == {MASK: 1, f"{MASK}#2": 2}


def test_any_depth_of_nesting_is_safe():
    deep: object = TOKENS[0]
    for _ in range(100_000):
        deep = [deep]
    redacted = Redactor().redact({"passwords": deep})["passwords"]
    while isinstance(redacted, list):
        (redacted,) = redacted
    assert redacted == MASK


def test_a_long_run_is_data_and_no_credential():
    text = "Ab1" * 20_000
    assert Redactor().redact_text(text) is text


@given(JSON, SECRETS)
@example({"password": f"{MASK}1"}, [])
@example(f"token={MASK}abc", [])
@example("sk-abcdefgh sk-abcdefgh", ["h sk-abc"])
@example({MASK: 1, TOKENS[0]: 2}, [])
@example("x", [MASK, "REDACTED"])
def test_redacting_twice_changes_nothing_more_and_shape_stays(value, secrets):
    redactor = Redactor(secrets)
    once = redactor.redact(value)
    assert redactor.redact(once) is once
    assert _shape(once) == _shape(value)
    if once == value:
        assert once is value


@given(st.text(max_size=30), st.text(min_size=8, max_size=20), st.text(max_size=30))
def test_a_registered_value_never_comes_through(before, secret, after):
    redacted = Redactor([secret]).redact_text(before + secret + after)
    assert secret not in redacted.replace(MASK, "\0") or secret in MASK


def _shape(value):
    if isinstance(value, dict):
        return [_shape(item) for item in value.values()]
    if isinstance(value, list):
        return [_shape(item) for item in value]
    return None


@pytest.mark.parametrize(
    ("piece", "end"),
    [
        ("password=", "x"),
        ("token:", ""),
        ("token:", "a1"),
        ("token: ", "x"),
        ("token =a,", " x"),
        ("token =a1,", ""),
        ("Authorization: Basic x ", ""),
        ("authorization:", "a b"),
        ("cookie: a=b ", ""),
        ("cookie:", ""),
        ('"key": ', "x"),
        ('"token": "', ""),
        ("token:\\\\", '"x'),
        ("eyJ", ""),
        ("://a:", "@"),
        ("Bearer Bearer aaaaaa", ""),
    ],
)
def test_a_text_that_is_nothing_but_names_of_secrets_costs_time_linear_in_its_length(piece, end):
    """CPU time: each name once had all the rest of the text, of the line or of the word for its value."""
    took = []
    for size in (20_000, 200_000):
        before = time.process_time()
        spans = find_secrets(piece * (size // len(piece)) + end)
        took.append(time.process_time() - before)
        assert piece != "password=" or (9, size // 9 * 9 + 1) in spans
    assert took[1] <= 40 * max(took[0], 0.01)


def test_quotations_of_ever_fewer_backslashes_cost_time_linear_in_their_length():
    text = "".join("token:" + "\\" * count + '"' for count in range(1_000, 0, -1)) + "x"
    before = time.process_time()
    find_secrets(text)
    assert time.process_time() - before < 2


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('Authorization: Basic x token:\\"hunter2\\"', "hunter2"),
        ('token:password:\\"hunter2\\"', "hunter2"),
        ('token:password:"hunter2"', "hunter2"),
        ("token:authorization:Bearer hunter2", "hunter2"),
        ("authorization:authorization:Bearer hunter2", "hunter2"),
        ('token:authorization:hunter2hunter2"', "hunter2"),
        ("cookie:authorization:Bearer hunter2", "hunter2"),
        ("token:cookie:session=hunter2 x", "hunter2"),
    ],
)
def test_a_name_within_the_value_of_another_name_is_looked_at_where_its_own_value_begins(text, secret):
    assert secret not in Redactor().redact_text(text)


ODD_SECRET = "p\"w<d>'&/+ é\\ü%41"


@pytest.mark.parametrize("secret", ["plainAlnumValue77", ODD_SECRET])
@pytest.mark.parametrize(
    "encode",
    [
        html.escape,
        lambda text: html.escape(text, quote=False),
        lambda text: html.escape(text).replace("&#x27;", "&#39;"),
        json.dumps,
        lambda text: json.dumps(json.dumps(text)),
        lambda text: json.dumps(json.dumps(text, ensure_ascii=False)),
        lambda text: json.dumps({"html": html.escape(text)}),
        lambda text: json.dumps(text).replace("/", "\\/"),
        lambda text: json.dumps(text).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"),
        lambda text: html.escape(text).replace("&#x27;", "&#39;").replace("/", "&#x2F;").replace("=", "&#x3D;"),
        lambda text: text.encode().hex(":"),
        lambda text: text.encode().hex(" ").upper(),
        lambda text: b64encode(b64encode(text.encode())).decode(),
        lambda text: "\n".join(textwrap.wrap(b64encode(text.encode() * 4).decode(), 19)),
        quote,
        quote_plus,
        lambda text: quote(quote(text, safe=""), safe=""),
        lambda text: quote(text, safe="").lower() if "%" in quote(text, safe="") else text,
        lambda text: text.encode().hex(),
        lambda text: text.encode().hex().upper(),
        *(lambda text, before=before: b64encode(b"." * before + text.encode() + b"!").decode() for before in range(4)),
        *(lambda text, before=before: urlsafe_b64encode(b"." * before + text.encode()).decode() for before in range(4)),
        *(
            lambda text, before=before: b32encode(b"." * before + text.encode()).decode().rstrip("=")
            for before in range(5)
        ),
        lambda text: b32encode(text.encode()).decode().lower().rstrip("="),
        lambda text: json.dumps(json.dumps(json.dumps(json.dumps(text)[1:-1])[1:-1])[1:-1])[1:-1],
        lambda text: text[:5] + "\n" + text[5:],
        "\r\n".join,
        lambda text: json.dumps(text[:5] + "\n" + text[5:])[1:-1] if text.isalnum() else text,
        lambda text: text[:5] + " " + text[5:],
        lambda text: text[:5] + " \t " + text[5:],
        lambda text: f'"{text[:5]}" + "{text[5:]}"',
        lambda text: f"'{text[:5]}' '{text[5:9]}'\n  '{text[9:]}'",
        lambda text: json.dumps(f'"{text[:5]}" + "{text[5:]}"')[1:-1] if text.isalnum() else text,
    ],
)
def test_a_registered_value_is_recognised_however_it_is_encoded(secret, encode):
    encoded = encode(secret)
    if encoded.islower() and not secret.islower() and unquote(encoded) != secret:
        encoded = secret  # lower case changes the letters themselves
    redactor = Redactor([secret])
    for shown in (redactor.redact_text(f"a {encoded} b"), redactor.redact_registered([f"a {encoded} b"])[0]):
        left = shown.replace(MASK, "")
        assert len(left) <= len("a  b") + 12, left  # what stands around it in base64 depends on what is around it
        assert secret[:6] not in left
        assert MASK in shown


@pytest.mark.parametrize(("secret", "text"), [("passwordpassword", "password password"), ("12345678", "1234 5678")])
def test_plain_words_and_numbers_in_pieces_are_no_secret(secret, text):
    """Two words, or two numbers in a row, stand in honest texts; on two lines they may be one that was wrapped."""
    redactor = Redactor([secret])
    assert redactor.redact_text(f"a {text} b") == f"a {text} b"
    assert redactor.redact_text(f"a {text.replace(' ', chr(10))} b") == f"a {MASK} b"


def test_what_is_shown_as_it_was_sent_lacks_only_the_registered_values():
    redactor = Redactor(["registered-value-1", "pin7"])
    sent = {"token": "abc", "sha": "deadbeef" * 5, "registered-value-1": ["x registered-value-1", "pin7", 7, None]}
    shown = {"token": "abc", "sha": "deadbeef" * 5, MASK: [f"x {MASK}", MASK, 7, None]}
    assert redactor.redact_registered(sent) == shown
    assert redactor.redact_registered((sent, "pin7")) == (shown, MASK)
    assert Redactor().redact_registered(sent) is sent


def test_a_name_of_plain_words_is_secret_only_where_they_say_so():
    assert not any(map(is_secret_name, ("odd key", "the first key", "Sort key")))
    assert all(map(is_secret_name, ("API key", "secret key", "odd_key", "odd-key")))


@pytest.mark.parametrize("number", [839201746512, 839201, 839201746512.0])
def test_a_registered_value_that_is_a_whole_number_is_recognised_as_one(number):
    redactor = Redactor(["839201746512", "839201"])
    value = {"a": number, "b": [number, 1, True], "c": {"d": 839202}}
    assert redactor.redact(value) == {"a": MASK, "b": [MASK, 1, True], "c": {"d": 839202}}
    assert redactor.redact_registered(value) == redactor.redact(value)
    assert redactor.redact(number) == redactor.redact_registered(number) == MASK  # what an assertion found is one
    assert redactor.redact(839202) == 839202
    shaped = redactor.with_shapes(Disguise()).redact(value)
    assert type(shaped["a"]) is type(number)
    assert shaped["a"] == shaped["b"][0] != number
    assert (shaped["b"][1:], shaped["c"]) == ([1, True], {"d": 839202})


@pytest.mark.parametrize("value", [{"a": 123456}, [5, {"b": 12345.5}], {"n": 0}])
def test_a_number_that_is_no_registered_value_stays(value):
    assert Redactor(["012345", "12345"]).redact(value) is value


@pytest.mark.parametrize("word", ["password", "inconclusive"])
def test_a_password_that_is_a_plain_word_renames_no_member(word):
    redactor = Redactor([word])
    value = {"properties": {word: {"type": "string"}}, "required": [word], "text": f"it is {word}"}
    masked = {"properties": {word: {"type": "string"}}, "required": [word], "text": f"it is {MASK}"}
    assert redactor.redact_registered(value) == masked
    assert list(redactor.redact({"a": {word: 1}})["a"]) == [word]


PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQ\n-----END PRIVATE KEY-----"


@pytest.mark.parametrize("encode", [json.dumps, lambda value: json.dumps(json.dumps(value))])
@pytest.mark.parametrize(
    "value",
    [
        {"id": 1, "pem": PEM},
        {"id": 1, "password": 48213},
        {"id": 1, "x": 'p"\u00e4\nw0rd-secret-1\u0434'},
        {"id": 1, "x": ["p%41\\&amp;/q-secret-2"]},
    ],
)
def test_a_stand_in_leaves_a_text_what_it_was(value, encode):
    """A test that parses an answer passes at the replay as it did."""
    registered = ['p"\u00e4\nw0rd-secret-1\u0434', "p%41\\&amp;/q-secret-2"]
    for _ in range(30):
        text = Redactor(registered).with_shapes(Disguise()).redact_text(encode(value))
        assert text != encode(value)
        told = json.loads(text)
        assert list(told if isinstance(told, dict) else json.loads(told)) == list(value)


def test_a_letter_in_an_escape_is_another_letter_in_a_stand_in():
    shaped = Redactor(["\u043f\u0430\u0440\u043e\u043b\u044c-12345"]).with_shapes(Disguise())
    text = shaped.redact_text(json.dumps("\u043f\u0430\u0440\u043e\u043b\u044c-12345"))
    assert not set("\u043f\u0430\u0440\u043e\u043b\u044c") & set(json.loads(text))


def test_a_secret_has_one_stand_in_wherever_it_stands():
    secret = "the-api-key-of-mine-7"
    disguise = Disguise()
    shaped = Redactor([secret]).with_shapes(disguise)
    own = shaped.redact_text(secret)
    for text in ("https://x/?api_key={}/v1", "Authorization: Bearer {}", "key {} of"):
        assert own in shaped.redact_text(text.format(secret))
    token = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4"
    shown = shaped.redact({"tokens": [token, [token]], "text": f"use {token}", "access_token": token})
    assert {shown["tokens"][0], shown["tokens"][1][0], shown["text"][4:], shown["access_token"]} == {
        disguise.made[token]
    }
    assert not set(disguise.made.values()) & set(disguise.made)


@pytest.mark.parametrize("number", [*range(10), 42, -7])
def test_a_stand_in_for_a_number_is_another_number(number):
    for _ in range(50):
        shown = Redactor().with_shapes(Disguise()).redact({"password": number})["password"]
        assert shown != number
        assert len(str(shown)) == len(str(number))


@pytest.mark.parametrize("token", secret_patterns.TOKENS, ids=lambda token: token.prefix)
def test_every_kind_of_token_is_redacted_found_in_a_catalog_and_keeps_its_beginning(token):
    """One table says what tokens look like, whatever they are looked for."""
    beginning = {"A[KS]IA": "AKIA", "AIza": "AIza"}.get(token.prefix) or re.sub(
        r"\\w", "b", re.sub(r"\(\?:(\w+)\|\w+\)", r"\1", re.sub(r"\[(\w)[^]]*\]", r"\1", token.prefix))
    )
    text = f"{beginning}{'7QZ3K8XW' * 5}"[: len(beginning) + token.sure]
    assert Redactor().redact_text(f"a {text} b") == f"a {MASK} b"
    assert find_credential(f"a {text} b") == (2, 2 + len(text))
    assert Redactor().with_shapes(Disguise()).redact_text(text).startswith(beginning)
