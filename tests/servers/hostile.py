"""Servers that do whatever a server must not, one way each: `hostile.py MODE`.

The modes of `AT_START` misbehave at `initialize`; those of `IN_CALL` shake hands first and misbehave in every `tools/call`. A
server that does nothing more in its mode lives on until stdin ends, so that a failure is never the fault of an exit.
"""

import itertools
import json
import os
import signal
import sys
import threading

import minimcp

GOOD = {"content": [{"type": "text", "text": "good"}]}
FOREVER = threading.Event()


def raw(line, request_id):
    """The bytes of `line` with the request's id for `$ID`, and a newline."""
    data = line if isinstance(line, bytes) else line.encode()
    minimcp.write(data.replace(b"$ID", str(request_id).encode()) + b"\n")


def good(request_id):
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "result": GOOD}).encode()


def lines(*texts):
    """A mode that sends these lines instead of an answer."""

    def misbehave(request_id, _message):
        for text in texts:
            raw(text, request_id)

    return misbehave


def then_good(*texts):
    """A mode that sends these lines and then a good answer."""

    def misbehave(request_id, message):
        lines(*texts)(request_id, message)
        minimcp.write(good(request_id) + b"\n")

    return misbehave


def die(code):
    def misbehave(*_):
        print("giving up", file=sys.stderr, flush=True)
        os._exit(code)

    return misbehave


def crash(*_):
    os.kill(os.getpid(), signal.SIGSEGV)


def nothing(*_):
    pass


def close_stdout(*_):
    os.close(1)


def close_stdin(*_):
    os.close(0)
    FOREVER.wait()


def half_and_exit(request_id, _message):
    minimcp.write(b'{"jsonrpc":"2.0","id":%d,"resu' % request_id)
    os._exit(0)


def no_newline(request_id, _message):
    minimcp.write(good(request_id))


def stop_itself(*_):
    os.kill(os.getpid(), signal.SIGSTOP)


def daemon(*_):
    """The daemon leaves the group, holds every pipe, and ends with the FIFO that the test holds open."""
    left, leaving = os.pipe()
    if os.fork() == 0:
        os.setsid()
        os.close(leaving)  # now the parent may go: what is in its group is killed with it
        with open(sys.argv[2], "rb") as held:
            held.read()
        os._exit(0)
    os.close(leaving)
    os.read(left, 1)
    os._exit(0)


def drip(request_id, _message):
    for byte in good(request_id) + b"\n":
        minimcp.write(bytes([byte]))
        FOREVER.wait(0.01)


def drip_noise(*_):
    while True:
        minimcp.write(b"z")
        FOREVER.wait(0.01)


def endless_line(*_):
    for _ in range(2 * 1024):
        minimcp.write(b"z" * (1024 * 1024))


def megabytes(request_id, _message):
    text = b"x" * (50 * 1024 * 1024)
    minimcp.write(
        b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}\n' % (request_id, text)
    )


def deep(request_id, _message):
    raw(b'{"jsonrpc":"2.0","id":$ID,"result":{"deep":%s%s}}' % (b"[" * 10_000, b"]" * 10_000), request_id)


def stderr_flood(request_id, _message):
    for number in range(40_000):
        sys.stderr.write(f"{number:08d} {'e' * 90}\n")
    sys.stderr.flush()
    minimcp.write(good(request_id) + b"\n")


def notification_flood(request_id, _message):
    line = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n'
    for _ in range(100):
        minimcp.write(line * 1000)
    minimcp.write(good(request_id) + b"\n")


def ping_flood(*_):
    for number in itertools.count():
        minimcp.send({"jsonrpc": "2.0", "id": f"p{number}", "method": "ping"})


def ask_and_wait(_request_id, message):
    params = {"messages": [], "maxTokens": 1}
    minimcp.send({"jsonrpc": "2.0", "id": "ask", "method": "sampling/createMessage", "params": params})


def ask_and_report(request_id, message):
    """Answers with what it was told."""
    ask_and_wait(request_id, message)
    for reply in minimcp.messages():
        if reply.get("id") == "ask":
            minimcp.answer(request_id, minimcp.text(json.dumps(reply.get("error"))))
            return


def same_ids(request_id, _message):
    """A request of its own under the id of the one that it was sent; -32601 is due, and no confusion."""
    minimcp.send({"jsonrpc": "2.0", "id": request_id, "method": "roots/list"})
    minimcp.answer(request_id, GOOD)


def late(request_id, _message):
    """The answer comes once the call has been given up, and before that of the next call."""
    for message in minimcp.messages():
        if message.get("method") == "notifications/cancelled":
            minimcp.answer(request_id, minimcp.text("late"))
        elif "id" in message:
            minimcp.answer(message["id"], minimcp.text("in time"))


def early(request_id, _message):
    """The answer to the next call comes with that to this one."""
    minimcp.write(good(request_id) + b"\n" + good(request_id + 1) + b"\n")
    for _ in minimcp.messages():
        pass


def bad_initialize(result):
    return lines('{"jsonrpc":"2.0","id":$ID,"result":' + result + "}")


def initialized(version="2025-11-25"):
    return json.dumps(minimcp.initialized({"protocolVersion": version}))


def initialize_and_exit(request_id, _message):
    minimcp.answer(request_id, minimcp.initialized({}))
    os._exit(0)


AT_START = {
    "exit-at-start": die(3),
    "exit-0-at-start": die(0),
    "crash-at-start": crash,
    "silent-at-start": nothing,
    "text-at-start": lines("Server started!", "Listening on stdio"),
    "initialize-refused": lines('{"jsonrpc":"2.0","id":$ID,"error":{"code":-32600,"message":"not today"}}'),
    "initialize-a-string": bad_initialize('"ok"'),
    "initialize-an-array": bad_initialize("[]"),
    "close-stdout-at-start": close_stdout,
    "bom": lines(b"\xef\xbb\xbf" + b'{"jsonrpc":"2.0","id":$ID,"result":%s}' % initialized().encode()),
    "utf16": lambda request_id, _: minimcp.write((good(request_id).decode() + "\n").encode("utf-16")),
    "exit-after-initialize": initialize_and_exit,
    "version-a-number": bad_initialize(
        '{"protocolVersion":20251125,"capabilities":{"tools":{}},"serverInfo":{"name":"n"}}'
    ),
}

ANSWER = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}'

IN_CALL = {
    "exit": die(4),
    "exit-0": die(0),
    "crash": crash,
    "never": nothing,
    "late": late,
    "text-only": lines("thinking...", "still thinking..."),
    "not-utf8-only": lines(b"\xff\xfe\x80"),
    "nul-only": lines(b"\0\0\0"),
    "text-beside": then_good("thinking...", '{"level":"info","msg":"a log line"}'),
    "not-utf8-beside": then_good(b"\xff\xfe\x80"),
    "nul-beside": then_good(b"\0\0\0"),
    "half-and-exit": half_and_exit,
    "half-line": lines('{"jsonrpc":"2.0","id":$ID,"resu'),
    "no-newline": no_newline,
    "two-in-a-line": lines(ANSWER + ANSWER),
    "megabytes": megabytes,
    "deep": deep,
    "stderr-flood": stderr_flood,
    "wrong-id": lines('{"jsonrpc":"2.0","id":99,"result":{"content":[]}}'),
    "big-id": lines('{"jsonrpc":"2.0","id":1180591620717411303424,"result":{"content":[]}}'),
    "string-id": lines('{"jsonrpc":"2.0","id":"$ID","result":{"content":[]}}'),
    "float-id": lines('{"jsonrpc":"2.0","id":$ID.0,"result":{"content":[]}}'),
    "null-id": lines('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}'),
    "no-id": lines('{"jsonrpc":"2.0","result":{"content":[]}}'),
    "twice": then_good(ANSWER),
    "twice-otherwise": lines(ANSWER, '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"no, it failed"}}'),
    "array-result": lines('{"jsonrpc":"2.0","id":$ID,"result":[]}'),
    "neither-member": lines('{"jsonrpc":"2.0","id":$ID}'),
    "both-members": lines('{"jsonrpc":"2.0","id":$ID,"result":{},"error":null}'),
    "float-code": lines('{"jsonrpc":"2.0","id":$ID,"error":{"code":-1.5,"message":"m"}}'),
    "string-code": lines('{"jsonrpc":"2.0","id":$ID,"error":{"code":"-1","message":"m"}}'),
    "no-jsonrpc": lines('{"id":$ID,"result":{"content":[]}}'),
    "jsonrpc-1": lines('{"jsonrpc":"1.0","id":$ID,"result":{"content":[]}}'),
    "nan": lines('{"jsonrpc":"2.0","id":$ID,"result":{"x":NaN}}'),
    "batch": lines(f"[{ANSWER}]"),
    "windows-1252": lines('{"jsonrpc":"2.0","id":$ID,"result":{"text":"café"}}'.encode("cp1252")),
    "asks-for-sampling": ask_and_wait,
    "asks-and-goes-on": ask_and_report,
    "same-ids": same_ids,
    "ping-flood": ping_flood,
    "notification-flood": notification_flood,
    "close-stdout": close_stdout,
    "close-stdin": close_stdin,
    "daemon": daemon,
    "stop": stop_itself,
    "drip": drip,
    "drip-noise": drip_noise,
    "endless-line": endless_line,
    "early": early,
    "crlf": lambda request_id, _: minimcp.write(good(request_id) + b"\r\n"),
    "surrogate": lines('{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"\\ud800"}]}}'),
    "pretty-printed": lambda request_id, _: minimcp.write(
        json.dumps(json.loads(good(request_id)), indent=2).encode() + b"\n"
    ),
    "content-length": lambda request_id, _: minimcp.write(
        b"Content-Length: %d\r\n\r\n%s" % (len(good(request_id)), good(request_id))
    ),
    "long-integer": lines('{"jsonrpc":"2.0","id":$ID,"result":{"x":' + "9" * 5000 + "}}"),
}


def main():
    mode = sys.argv[1]
    if mode in AT_START:
        misbehave, method = AT_START[mode], "initialize"
    else:
        misbehave, method = IN_CALL[mode], "tools/call"
        minimcp.handshake("hostile")
    for message in minimcp.messages():
        if message.get("method") == method:
            misbehave(message["id"], message)
        elif "id" in message and "method" in message:
            minimcp.answer(message["id"], GOOD)


if __name__ == "__main__":
    main()
