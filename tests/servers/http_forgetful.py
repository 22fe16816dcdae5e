"""A Streamable HTTP server with session ids whose tool `gone` is answered with 404; any other tool says its own name.

The tool `late` says it once the tool `after` was called.

Prints its port, and ends with stdin.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

AFTER = threading.Event()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.reply(405)

    def do_DELETE(self):
        self.reply(200)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, params = message["method"], message.get("params") or {}
        if "id" not in message:
            self.reply(202)
        elif method == "initialize":
            about = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}}
            self.answer(message["id"], about | {"serverInfo": {"name": "forgetful", "version": "1"}})
        elif params.get("name") == "gone":
            self.reply(404, b"no such thing", "text/plain")
        else:
            if params["name"] == "after":
                AFTER.set()
            if params["name"] == "late":
                AFTER.wait(30)
            self.answer(message["id"], {"content": [{"type": "text", "text": params["name"]}]})

    def answer(self, request_id, result):
        body = json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}).encode()
        self.reply(200, body, "application/json")

    def reply(self, status, body=b"", kind="text/plain"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Mcp-Session-Id", "a-session-id")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
