"""A server of the HTTP of 2024-11-05: one event stream, and POSTs to an endpoint. Prints its port, serves until stdin ends.

GET /sse opens the stream, whose first event names /messages; a POST to /sse gets 405. The tool `end` ends the stream in place
of an answer, `never` brings none, `refuse` refuses the POST with 500, `late` answers on the stream before the POST; anything
else is echoed.
/status/N             like /sse, and the POST gets that status
/elsewhere            names an endpoint at another origin
/nowhere              names an endpoint that is no URL
/message              a stream whose first event is a message
/silent               a stream without events
/chatty               a retry time, a comment and an id before the endpoint
/ended                names its endpoint and ends the stream
/seen                 every request so far, as JSON [{method, path, headers, body}]
/open                 how many streams are open
"""

import http.server
import json
import queue
import sys
import threading

SEEN = []
STREAMS = []
END = object()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        if self.path in ("/seen", "/open"):
            self.reply(200, json.dumps(SEEN if self.path == "/seen" else len(STREAMS)).encode())
            return
        self.note("")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        waiting = queue.Queue()
        STREAMS.append(waiting)
        for event in self.first_events():
            waiting.put(event)
        try:
            while True:
                try:
                    event = waiting.get(timeout=0.1)
                except queue.Empty:
                    event = ": still here\n\n"  # so that a client that is gone is noticed
                if event is END:
                    return
                self.wfile.write(event.encode())
        except OSError:
            pass
        finally:
            STREAMS.remove(waiting)

    def first_events(self):
        port = self.server.server_address[1]
        endpoint = {
            "/elsewhere": f"http://localhost:{port}/messages",
            "/nowhere": "http://[::1",
        }.get(self.path, "/messages?session=1")
        named = f"event: endpoint\ndata: {endpoint}\n\n"
        return {
            "/message": ['data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n', named],
            "/silent": [],
            "/chatty": ["retry: 1000\n\n", ": hello\n\n", "id: 1\n\n", named],
            "/ended": [named, END],
        }.get(self.path, [named])

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.note(body.decode())
        if not self.path.startswith("/messages"):
            place, _, rest = self.path[1:].partition("/")
            self.reply(int(rest) if place == "status" else 405, b"only GET here")
            return
        message = json.loads(body)
        tool = (message.get("params") or {}).get("name")
        if tool == "refuse":
            self.reply(500, b"not today")
            return
        if tool == "late":
            self.answer(message)
        self.reply(202, b"Accepted")
        if tool == "end":
            STREAMS[-1].put(END)
        elif tool not in ("late", "never") and "id" in message and "method" in message:
            self.answer(message)

    def answer(self, message):
        result = {"content": [{"type": "text", "text": json.dumps(message["params"])}]}
        if message["method"] == "initialize":
            info = {"name": "old", "version": "1"}
            result = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": info}
        told = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
        STREAMS[-1].put(f"event: message\ndata: {told}\n\n")

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def note(self, body):
        headers = {name.lower(): value for name, value in self.headers.items()}
        SEEN.append({"method": self.command, "path": self.path, "headers": headers, "body": body})

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
