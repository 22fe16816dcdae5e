"""A Streamable HTTP server that is started with its port, as a program with `command` and `url` is; or over stdio.

http_program.py PORT|stdio [--late PATH] [--unhealthy N] [--other-port] [--leave CHILD_FILE]
Tools: `count` counts its calls, `pid` tells the process, `crash` ends it with exit code 3, `hang` never answers.
GET /health answers 503 N times, then 204. `--late PATH`: it listens once that file is there. `--other-port`: on another port.
`--leave FILE`: a child of its own outlives it, and its process id is written to FILE.
"""

import argparse
import http.server
import json
import os
import subprocess
import sys
import threading
import time

options = argparse.ArgumentParser()
options.add_argument("port")
options.add_argument("--late")
options.add_argument("--unhealthy", type=int, default=0)
options.add_argument("--other-port", action="store_true")
options.add_argument("--leave")
asked = options.parse_args()
CALLS = []
READ_ONLY = {"annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object"}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self):
        if self.path == "/health" and asked.unhealthy > 0:
            asked.unhealthy -= 1
            return self.reply(503)
        return self.reply(204 if self.path == "/health" else 405)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        if "id" not in message:
            return self.reply(202)
        result = self.result(message["method"], message.get("params") or {})
        return self.reply(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())

    def result(self, method, params):
        if method == "initialize":
            info = {"name": "program", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
        if method == "tools/list":
            return {"tools": [{"name": name, **READ_ONLY} for name in ("count", "pid", "crash", "hang")]}
        if method != "tools/call":
            return {}
        if params["name"] == "crash":
            print("out of cheese", file=sys.stderr, flush=True)
            os._exit(3)
        if params["name"] == "hang":
            threading.Event().wait()
        if params["name"] == "count":
            CALLS.append(params)
        said = os.getpid() if params["name"] == "pid" else len(CALLS)
        return {"content": [{"type": "text", "text": str(said)}]}

    def reply(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if asked.leave:
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    with open(asked.leave, "w") as told:
        told.write(str(child.pid))
while asked.late and not os.access(asked.late, os.F_OK):
    time.sleep(0.005)
if asked.port == "stdio":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = Handler.result(None, message["method"], message.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    sys.exit()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0 if asked.other_port else int(asked.port)), Handler)
server.daemon_threads = True
print("serving now", flush=True)
server.serve_forever()
