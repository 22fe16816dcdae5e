"""A Streamable HTTP server that sends its notifications on the session's own stream, after the answer. Prints its port; ends
with its stdin.

POST /mcp  `initialize` gives the session `s-1`; a call is answered as JSON at once, and told of a little later on the stream.
           Without the header `X-Key: right` a call of `locked` is answered 403, with a cookie and a page.
GET /mcp   the stream.
"""

import http.server
import json
import queue
import sys
import threading

STREAMS = [queue.Queue()]
"""The last is the present session's; those before may still be read by the handler of a client that is gone."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        stream = STREAMS[-1]
        while True:
            event = f"data: {json.dumps(stream.get())}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()

    def do_DELETE(self):
        self.reply(200, b"")

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        params = message.get("params") or {}
        if "id" not in message:
            self.reply(202, b"")
        elif message["method"] == "initialize":
            result = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"logging": {}},
                "serverInfo": {"name": "late", "version": "1"},
            }
            STREAMS.append(queue.Queue())
            self.answer(message["id"], result, {"Mcp-Session-Id": "s-1"})
        elif message["method"] == "tools/list":
            error = {"code": -32601, "message": "unknown method tools/list"}
            line = json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode()
            self.reply(200, line, headers={"Mcp-Session-Id": "s-1"})
        elif params.get("name") == "locked" and self.headers.get("x-key") != "right":
            self.reply(403, b"<p>the door is locked</p>", "text/html", {"Set-Cookie": "visitor=abc123def456"})
        else:
            self.answer(message["id"], {"content": []}, {"Mcp-Session-Id": "s-1"})
            said = {"level": "info", "data": params.get("name")}
            later = {"jsonrpc": "2.0", "method": "notifications/message", "params": said}
            threading.Timer(0.05, STREAMS[-1].put, [later]).start()

    def answer(self, request_id, result, headers):
        line = json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}).encode()
        self.reply(200, line, "application/json", headers)

    def reply(self, status, body, kind="application/json", headers=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
