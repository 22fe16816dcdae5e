"""A server that handles all calls at once, and some of them wrongly, in either lifecycle: `parallel.py [--http]`.

Tools, each with a thread of its own: `look` answers; `mix` waits a moment for another `mix` to come, and answers with the
`who` of both that is last in the alphabet; `store` does the same; `linger` answers when another `linger` has come, or after
a moment; `tire` does so too, and takes two seconds longer beside another; `die` exits with code 3; `die_beside` does so when
another one is in hand; `freeze` stops every answer from now on; `dawdle` never answers, while all others are answered.

With --http it prints its port and serves on 127.0.0.1 until stdin ends; a process that has died is replaced, and knows no
session of the one before it.
"""

import http.server
import json
import os
import socket
import sys
import threading
import uuid

import minimcp

MOMENT = 0.2
MOMENTS = {"mix": 1.5, "store": 1.5, "die_beside": 1.5, "tire": 0.4}
"""Seconds that a tool waits for another call where its answer depends on it: on a busy machine two that were sent at once come
far apart."""
META = "io.modelcontextprotocol/"
state = threading.Condition()
in_hand = {}
last = {}
came = {}
answering = threading.Lock()
frozen = threading.Event()


def freeze_if_asked(message):
    """Over stdio it is asked before a message has a thread: none that comes later is answered, however busy the machine."""
    if message["method"] == "tools/call" and message["params"]["name"] == "freeze" and not frozen.is_set():
        answering.acquire()
        frozen.set()


def wait_for_another(name):
    """Whether another call of this tool came in time."""
    with state:
        count = came[name]
        return state.wait_for(lambda: in_hand[name] > 1 or came[name] > count, MOMENTS.get(name, MOMENT))


def called(name, arguments):
    """The result of a call; None for none."""
    with state:
        came[name] = came.get(name, 0) + 1
        in_hand[name] = in_hand.get(name, 0) + 1
        who = arguments.get("who", "")
        last[name] = max(who, last[name]) if in_hand[name] > 1 else who
        state.notify_all()
    try:
        if name == "die":
            print("giving up", file=sys.stderr, flush=True)
            os._exit(3)
        if name in ("freeze", "dawdle"):
            threading.Event().wait()
        beside = name in ("mix", "store", "linger", "die_beside", "tire") and wait_for_another(name)
        if beside and name == "die_beside":
            os._exit(3)
        if beside and name == "tire":
            threading.Event().wait(2)
        return {"resultType": "complete", "content": [{"type": "text", "text": last[name]}]}
    finally:
        with state:
            in_hand[name] -= 1


def answer(message):
    """The result of a request; None for none."""
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        return minimcp.initialized(params)
    if method == "server/discover":
        found = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        return {
            **found,
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {META + "serverInfo": {"name": "p", "version": "1"}},
        }
    if method == "tools/call":
        return called(params["name"], params.get("arguments") or {})
    return {}


def serve_stdio():
    def work(message):
        result = answer(message)
        with answering:
            minimcp.answer(message["id"], result)

    for message in minimcp.messages():
        if "id" in message and "method" in message:
            freeze_if_asked(message)
            threading.Thread(target=work, args=(message,), daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    session = ""

    def do_GET(self):
        self.reply(405, b"", {})

    def do_DELETE(self):
        self.reply(200, b"", {})

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        session = self.headers.get("mcp-session-id")
        if session not in (None, self.session):
            self.reply(404, b"no such session", {})
        elif "id" not in message:
            self.reply(202, b"", {})
        else:
            freeze_if_asked(message)
            result = answer(message)
            with answering:
                line = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
                headers = {"Mcp-Session-Id": self.session} if message["method"] == "initialize" else {}
                self.reply(200, line, headers)

    def reply(self, status, body, headers):
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve_http():
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(listener.getsockname()[1], flush=True)

    def end_with_stdin():
        while os.read(0, 1024):
            pass
        os._exit(0)

    threading.Thread(target=end_with_stdin, daemon=True).start()
    while child := os.fork():
        os.waitpid(child, 0)
    threading.Thread(target=end_with_stdin, daemon=True).start()  # in each process: one may be forked when it ends
    Handler.session = uuid.uuid4().hex
    server = http.server.ThreadingHTTPServer(listener.getsockname(), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.daemon_threads = True
    server.serve_forever()


serve_http() if "--http" in sys.argv else serve_stdio()
