"""What servers do to a client over stdio, and what mcptest says of each: the one source of the tests and of the page."""

from __future__ import annotations

from typing import NamedTuple

SERVER = "weather"
NOTHING_COMES_MS, NOISE_COMES_MS, START_NOISE_COMES_MS = 100, 200, 300
START = f'server "{SERVER}" did not start: '
BROKE = f'server "{SERVER}" broke the protocol in its answer to "tools/call": '
DIED = ' while "tools/call" waited for its answer'
UNANSWERED = f'server "{SERVER}" did not answer "tools/call" within '
SILENT = 'it did not answer "initialize" within '
INSTEAD = "output in place of an answer: "
UNFINISHED = (
    'an unfinished line is waiting: {"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "good"}]}}; '
    "a message ends with a newline"
)


class Behaviour(NamedTuple):
    """One way to misbehave: a mode of `tests/servers/hostile.py`, or a program that is no such thing (`mode` "").

    `says` is the whole of `failure.message`, or its start where it ends with "…"; "" when the test passes. `advice` is what to
    do about it. `waits_ms`: no answer will come, so the call, or with `at_start` the handshake, gets only so much time; 0 for
    the usual.
    """

    mode: str
    does: str
    kind: str
    says: str
    advice: str
    hint: str | None = None
    waits_ms: int = 0
    at_start: bool = False


def started(mode: str, does: str, says: str, advice: str, **more: object) -> Behaviour:
    return Behaviour(mode, does, "server", START + says, advice, at_start=True, **more)  # type: ignore[arg-type]


def died(mode: str, does: str, clause: str, advice: str, last: str = "") -> Behaviour:
    says = f'server "{SERVER}" {clause}{DIED}' + (f"; its last message: {last}" if last else "")
    return Behaviour(mode, does, "server", says, advice)


def broke(mode: str, does: str, fault: str, advice: str) -> Behaviour:
    return Behaviour(mode, does, "server", BROKE + fault, advice)


def waited(mode: str, does: str, advice: str, hint: str | None = None) -> Behaviour:
    limit = NOTHING_COMES_MS if hint is None else NOISE_COMES_MS
    return Behaviour(mode, does, "timeout", f"{UNANSWERED}{limit} ms", advice, hint, waits_ms=limit)


def passed(mode: str, does: str, advice: str = "nothing: the answer is valid") -> Behaviour:
    return Behaviour(mode, does, "", "", advice)


STDERR_TELLS = "look at its stderr, below the message"
DIES = "look at its stderr below the message; other tests get a server that was started once more"
ONE_LINE = "write a message on one line, and end it with a newline"
STDOUT = "print to stderr: stdout belongs to the protocol"
ECHO_ID = "send back the `id` as it came, number or text"

BEHAVIOURS = (
    # --- at the start
    Behaviour("", "is a file that may not be executed", "server", START + '"{program}" is not executable',
              "do as the hint says", "make it so with `chmod +x`, or name its interpreter: [python3, {program}]"),
    started("exit-at-start", "exits at the start", 'it exited with code 3 before it answered "initialize"', STDERR_TELLS),
    started("exit-0-at-start", "ends at the start without an error",
            'it exited with code 0 before it answered "initialize"', "check that the command really serves"),
    started("crash-at-start", "crashes at the start", 'it was ended by SIGSEGV before it answered "initialize"', STDERR_TELLS),
    started("close-stdout-at-start", "closes stdout before it answers",
            'it closed its stdout before it answered "initialize"', "leave stdout open"),
    started("silent-at-start", "never answers `initialize`", f"{SILENT}{NOTHING_COMES_MS} ms",
            "give a slow start more time with `connect_timeout_ms`", waits_ms=NOTHING_COMES_MS),
    started("text-at-start", "prints only text", f"{SILENT}{START_NOISE_COMES_MS} ms", STDOUT,
            hint=INSTEAD + "Server started! ⏎ Listening on stdio", waits_ms=START_NOISE_COMES_MS),
    started("initialize-refused", "answers `initialize` with an error", 'it refused `initialize`: error -32600 "not today"',
            "offer another revision with `protocol:` if that is why"),
    started("initialize-a-string", "answers `initialize` with text",
            'it broke the protocol in its answer to "initialize": its `result` is a string, not an object: '
            '{"jsonrpc":"2.0","id":1,"result":"ok"}', "make the result an object"),
    started("initialize-an-array", "answers `initialize` with an array",
            'it broke the protocol in its answer to "initialize": its `result` is an array, not an object: '
            '{"jsonrpc":"2.0","id":1,"result":[]}', "make the result an object"),
    started("bom", "begins with a byte order mark",
            'it broke the protocol in its answer to "initialize": it is not JSON: it begins with a byte order mark: …',
            "write UTF-8 without a byte order mark"),
    started("utf16", "writes UTF-16", f"{SILENT}{START_NOISE_COMES_MS} ms", "write UTF-8",
            hint=INSTEAD + "\ufffd\ufffd{…", waits_ms=START_NOISE_COMES_MS),
    # --- in a call
    died("exit", "exits in a call", "exited with code 4", DIES),
    died("exit-0", "ends in a call without an error", "exited with code 0", DIES),
    died("crash", "crashes in a call", "was ended by SIGSEGV", DIES),
    died("half-and-exit", "exits in the middle of its answer", "exited with code 0", DIES,
         '{"jsonrpc":"2.0","id":2,"resu'),
    died("daemon", "exits and leaves a daemon that holds its pipes", "exited with code 0", DIES),
    died("close-stdout", "closes stdout and keeps running", "closed its stdout", "leave stdout open"),
    died("close-stdin", "closes stdin and keeps running", "closed its stdin", "leave stdin open until it ends"),
    waited("never", "never answers", "give a slow call more time with `timeout_ms`"),
    waited("late", "answers after the timeout", "give it more time with `timeout_ms`; a late answer is ignored"),
    waited("stop", "stops itself (SIGSTOP)", "let it run: a stopped server answers nothing"),
    waited("text-only", "prints text instead of an answer", STDOUT, INSTEAD + "thinking... ⏎ still thinking..."),
    waited("not-utf8-only", "sends bytes that are not UTF-8", "write UTF-8", INSTEAD + "\ufffd" * 3),
    waited("nul-only", "sends NUL bytes", "write text", INSTEAD + "\0" * 3),
    waited("no-newline", "does not end its answer with a newline", ONE_LINE,
           UNFINISHED),
    waited("content-length", "frames its answer with `Content-Length`", "leave the header out, and end messages with a newline",
           UNFINISHED),
    waited("pretty-printed", "spreads its answer over several lines", ONE_LINE,
           INSTEAD + '{ ⏎ "jsonrpc": "2.0", ⏎ "id": 2,'),
    waited("drip-noise", "writes one byte at a time, without end", ONE_LINE, "an unfinished line is waiting: z…"),
    waited("ping-flood", "sends `ping` without end", "answer the call"),
    waited("asks-for-sampling", "asks for sampling that was not declared, and waits for it",
           "do as the hint says, or let the server continue when it is refused",
           "it asked for `sampling/createMessage`, which is not declared: declare and answer it under `client:`"),
    waited("wrong-id", "answers under a wrong id", ECHO_ID, INSTEAD + '{"jsonrpc":"2.0","id":99,"result":{"content":[]}}'),
    waited("big-id", "answers under an enormous id", ECHO_ID,
           INSTEAD + '{"jsonrpc":"2.0","id":1180591620717411303424,"result":{"content":[]}}'),
    broke("string-id", "turns the id into text",
          "its `id` is a string, where the request's was a number: "
          '{"jsonrpc":"2.0","id":"2","result":{"content":[]}}', ECHO_ID),
    broke("null-id", "answers under the id null",
          'its `id` is null: {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}', ECHO_ID),
    broke("no-id", "answers without an id", 'it has no `id`: {"jsonrpc":"2.0","result":{"content":[]}}', ECHO_ID),
    broke("half-line", "sends half a message", "it is not JSON: …", ONE_LINE),
    broke("two-in-a-line", "puts two messages on one line", "it is not JSON: Extra data…", ONE_LINE),
    broke("windows-1252", "writes another encoding than UTF-8",
          'it is not UTF-8: {"jsonrpc":"2.0","id":2,"result":{"text":"caf\ufffd"}}', "write UTF-8"),
    broke("nan", "writes NaN", 'it is not JSON: NaN is not a JSON value: {"jsonrpc":"2.0","id":2,"result":{"x":NaN}}',
          "write null, or leave the member out"),
    broke("long-integer", "writes an integer of 5,000 digits",
          'it contains an integer of more than 4,300 digits, too many to read: {"jsonrpc":"2.0","id":2,"result":{"x":999…',
          "write it as text"),
    broke("deep", "nests 10,000 levels deep",
          'it is nested too deeply to be read: {"jsonrpc":"2.0","id":2,"result":{"deep":[[[…',
          "nest less: about 900 levels can be read"),
    broke("array-result", "makes the result an array",
          'its `result` is an array, not an object: {"jsonrpc":"2.0","id":2,"result":[]}', "make the result an object"),
    broke("neither-member", "sends neither result nor error",
          'it has neither `result` nor `error`: {"jsonrpc":"2.0","id":2}', "send one of the two"),
    broke("both-members", "sends both result and error",
          'it has both `result` and `error`: {"jsonrpc":"2.0","id":2,"result":{},"error":null}',
          "leave `error` out, also when it is null"),
    broke("float-code", "sends an error whose code is a fraction",
          "its `error.code` is -1.5, a number, not an integer: "
          '{"jsonrpc":"2.0","id":2,"error":{"code":-1.5,"message":"m"}}', "make the code an integer"),
    broke("string-code", "sends an error whose code is text",
          "its `error.code` is \"-1\", a string, not an integer: "
          '{"jsonrpc":"2.0","id":2,"error":{"code":"-1","message":"m"}}', "make the code an integer"),
    broke("no-jsonrpc", "leaves `jsonrpc` out", 'it has no `jsonrpc` member: {"id":2,"result":{"content":[]}}',
          'send `"jsonrpc": "2.0"`'),
    broke("jsonrpc-1", "sends JSON-RPC 1.0",
          'its `jsonrpc` is "1.0", not "2.0": {"jsonrpc":"1.0","id":2,"result":{"content":[]}}', 'send `"jsonrpc": "2.0"`'),
    broke("batch", "puts its answer into an array",
          'it is in an array of messages: [{"jsonrpc":"2.0","id":2,"result":{"content":[]}}]',
          "send it without the array: only the revision 2025-03-26 has batches"),
    Behaviour("endless-line", "writes a line of 2 GB", "server",
              f'server "{SERVER}" sent a message of more than 256 MiB, which is too large', "send less"),
    # --- what fails nothing
    passed("text-beside", "prints text beside a valid answer", "better print to stderr"),
    passed("not-utf8-beside", "prints bytes that are not UTF-8 beside a valid answer", "better print to stderr"),
    passed("nul-beside", "prints NUL bytes beside a valid answer", "better print to stderr"),
    passed("crlf", "ends lines with CR LF"),
    passed("drip", "writes its answer a byte at a time"),
    passed("megabytes", "answers with 50 MB on one line"),
    passed("stderr-flood", "floods stderr", "nothing: the last 64 KiB are saved"),
    passed("notification-flood", "sends 100,000 notifications before its answer", "nothing: 64 MiB of them are saved"),
    passed("float-id", "turns the id 2 into 2.0", "nothing: in JSON it is the same number"),
    passed("twice", "answers twice", "answer once: the first answer counts, later ones are dropped"),
    passed("twice-otherwise", "answers twice, and differently",
           "answer once: the first answer counts, later ones are dropped"),
    passed("same-ids", "sends a request with the id of the current call", "nothing: each side has ids of its own"),
    passed("asks-and-goes-on", "asks for sampling that was not declared, and continues when it is refused",
           "nothing: it got error -32601"),
    passed("surrogate", "sends half a surrogate pair as an escape"),
    passed("version-a-number", "answers `initialize` with a revision that is not a text",
           "send it as text: the run fails with `invalid_opening`"),
)  # fmt: skip
