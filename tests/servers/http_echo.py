"""A Streamable HTTP server whose path chooses how it behaves. Prints its port, then serves on 127.0.0.1 until stdin ends.

/json /sse            answer properly; /sse with a notification and a `ping` before the answer, in dribbled events
/session /session/ID  like /json, with a session id (s-1) that every further request must carry; DELETE ends it
/bearer/TOKEN         401 with WWW-Authenticate unless the token is sent
/forbidden            403
/plain401             401 without a challenge
/status/N             that status with a text body, after a proper handshake
/rpc-error            HTTP 400 with a JSON-RPC error for the call, after a proper handshake
/html /empty /accepted /array /cut   a page, nothing, 202, an array, an event stream that ends early; after the handshake
/drop                 close the connection without an answer, after the handshake
/slow                 never answer, after the handshake
/moved                307 to /json on this origin
/redirect/URL         307 to that URL (percent-encoded)
A GET gets 405: there is no stream of the server's own.
/seen                 GET: every request so far, as JSON [{method, path, headers, body}]
"""

import http.server
import json
import sys
import threading
import urllib.parse

SEEN = []


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body in one write

    def do_GET(self):
        if self.path == "/seen":
            self.reply(200, json.dumps(SEEN).encode())
        else:
            self.note(b"")
            self.reply(405, b"there is no stream here", "text/plain")

    def do_DELETE(self):
        self.note(b"")
        self.reply(200, b"")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.note(body)
        message = json.loads(body)
        place, _, rest = self.path[1:].partition("/")
        if place in ("bearer", "forbidden", "plain401", "moved", "redirect") and self.gate(place, rest):
            return
        if "id" not in message or "method" not in message:
            self.reply(202, b"")
        elif message["method"] == "initialize":
            result = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "http", "version": "1"},
            }
            self.answer(place, rest, message["id"], result)
        else:
            self.call(place, rest, message)

    def gate(self, place, rest):
        if place == "bearer" and self.headers.get("authorization") == f"Bearer {rest}":
            return False
        if place in ("bearer", "plain401"):
            challenge = {} if place == "plain401" else {"WWW-Authenticate": 'Bearer realm="mcp"'}
            self.reply(401, b"no", "text/plain", challenge)
        elif place == "forbidden":
            self.reply(403, b"never", "text/plain")
        else:
            where = "/json" if place == "moved" else urllib.parse.unquote(rest)
            self.reply(307, b"", "text/plain", {"Location": where})
        return True

    def call(self, place, rest, message):
        request_id = message["id"]
        if place == "status":
            self.reply(int(rest), b"something is broken", "text/plain")
        elif place == "rpc-error":
            error = {"code": -32602, "message": "bad params"}
            self.reply(400, json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode())
        elif place == "html":
            self.reply(200, b"<h1>hello</h1>", "text/html; charset=utf-8")
        elif place == "empty":
            self.reply(200, b"")
        elif place == "accepted":
            self.reply(202, b"")
        elif place == "array":
            self.reply(200, b'{"jsonrpc":"2.0","id":%d,"result":[]}' % request_id)
        elif place == "cut":
            self.stream([b": hello\n\n", b'data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n'])
        elif place == "drop":
            self.close_connection = True
            self.connection.shutdown(2)
        elif place == "slow":
            threading.Event().wait()
        elif place == "session" and self.headers.get("mcp-session-id") != (rest or "s-1"):
            self.reply(404, b"no session", "text/plain")
        else:
            self.answer(
                place, rest, request_id, {"content": [{"type": "text", "text": json.dumps(message.get("params"))}]}
            )

    def answer(self, place, rest, request_id, result):
        line = json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}).encode()
        if place == "sse":
            events = (
                b': comment\r\n\r\nevent: message\r\nid: 7\r\ndata: {"jsonrpc":"2.0",\r\n'
                b'data: "method":"notifications/progress","params":{"n":1}}\r\n\r\n'
                b'data: {"jsonrpc":"2.0","id":"q","method":"ping"}\n\n' + b"data: " + line + b"\n\n"
            )
            self.stream([events[start : start + 7] for start in range(0, len(events), 7)])
        else:
            self.reply(200, line, "application/json", {"Mcp-Session-Id": rest or "s-1"} if place == "session" else {})

    def stream(self, chunks):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for chunk in [*chunks, b""]:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.flush()

    def reply(self, status, body, kind="application/json", headers=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def note(self, body):
        headers = {name.lower(): value for name, value in self.headers.items()}
        text = body.decode() or None
        SEEN.append({"method": self.command, "path": self.path, "headers": headers, "body": text})

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
