"""What servers do to a client over HTTP, and what mcptest says of each; rows and page as in `behaviours`."""

from __future__ import annotations

from typing import NamedTuple

from tests.hostile.behaviours import BROKE, SERVER, START, UNANSWERED
from tests.servers_client.http_scripts import CLOSE, HANG, RESET, Step, head, stream, whole

SUBJECT = f'server "{SERVER}" '
DIED = ' while "tools/call" waited for its answer'
WAITS_MS = 300
PAGE = "<!DOCTYPE html><html><head><title>Oops</title></head><body><h1>Internal error</h1></body></html>"
GZIP = {"Content_Encoding": "gzip", "Transfer_Encoding": "chunked"}
PLAIN, TLS = "http", "https"


class HttpBehaviour(NamedTuple):
    """`steps` answer every request of `method`, as `tests/servers/http_hostile.py` has them; `says` as in `Behaviour`.

    `opening` answers `initialize`. `{url}` in `says` stands for the server's URL. `scheme` is what the URL says, `speaks`
    what the server does; "" for a server that is not there. `waits_ms`: no answer will come.
    """

    does: str
    kind: str
    says: str
    advice: str
    steps: tuple[Step, ...] = ()
    method: str = "tools/call"
    hint: str | None = None
    scheme: str = PLAIN
    speaks: str = PLAIN
    waits_ms: int = 0
    opening: tuple[Step, ...] = ()


def refuses(status: str, does: str, says: str, advice: str, *, body: str = "", **headers: str) -> HttpBehaviour:
    return HttpBehaviour(
        does, "server", f"{SUBJECT}answered with {says}", advice, tuple(whole(status, body, **headers))
    )


def no_token(status: str, does: str, advertised: str, **headers: str) -> HttpBehaviour:
    says = f"auth failed: HTTP {status[:3]} from {{url}}, server advertises {advertised}.\nno token was sent;\n…"
    return HttpBehaviour(
        does, "auth", says, "do as the message says: [auth](../how-to/oauth.md)", tuple(whole(status, "", **headers))
    )


def started(does: str, says: str, advice: str, **more: object) -> HttpBehaviour:
    return HttpBehaviour(does, "server", START + says, advice, method="initialize", **more)  # type: ignore[arg-type]


def unreached(does: str, says: str, advice: str, **more: object) -> HttpBehaviour:
    says = f'cannot connect to server "{SERVER}": {says}'
    return HttpBehaviour(does, "server", says, advice, method="initialize", **more)  # type: ignore[arg-type]


def broke(does: str, fault: str, advice: str, *steps: Step) -> HttpBehaviour:
    return HttpBehaviour(does, "server", BROKE + fault, advice, steps)


def waited(does: str, advice: str, *steps: Step) -> HttpBehaviour:
    return HttpBehaviour(does, "timeout", f"{UNANSWERED}{WAITS_MS} ms", advice, steps, waits_ms=WAITS_MS)


HTTP_BEHAVIOURS = (
    # --- before a session is there
    unreached("is not there", "connection refused at {url}",
            "start it before; `wait_for_ready` waits for one that is starting", speaks=""),
    unreached("serves plain HTTP at an https URL", "TLS failed: …", "do as the hint says",
            hint="it may use plain HTTP: try an http URL", scheme=TLS),
    unreached("has a certificate that is not trusted here", "TLS failed: …", "do as the hint says",
            hint="name the authority that signed its certificate in `http.verify`, or set `http.verify: false`",
            scheme=TLS, speaks=TLS),
    started("closes every connection", "it closed the connection without an answer at {url}", "look at its logs",
            steps=(CLOSE,), hint="a port with TLS does this to plain HTTP: try an https URL"),
    # --- refusals
    no_token("401 Unauthorized", "answers 401 and says how to sign in", 'Bearer (realm="weather")',
             WWW_Authenticate='Bearer realm="weather"'),
    no_token("401 Unauthorized", "answers 401 and says nothing", "no scheme"),
    no_token("403 Forbidden", "answers 403", "no scheme"),
    refuses("404 Not Found", "answers 404", "HTTP 404 Not Found: no such page", "check the path in `url`", body="no such page"),
    HttpBehaviour("forgets the session, which is a 404 to a request with a session id", "server",
                  f"{SUBJECT}ended the session (HTTP 404 Not Found){DIED}",
                  "keep sessions as long as the run; other tests get a new one",
                  tuple(whole("404 Not Found", "Session not found")),
                  opening=({"send": head(Mcp_Session_Id="s-1", Connection="close") + "<json>"}, CLOSE)),
    refuses("429 Too Many Requests", "answers 429", "HTTP 429 Too Many Requests: slow down",
            "run fewer tests at once: `--workers`; with `Retry-After` the request is repeated", body="slow down"),
    refuses("503 Service Unavailable", "answers 429 or 503, and asks to try again in an hour",
            "HTTP 503 Service Unavailable: closed; it asks to wait …", "wait: the time limit of the call is shorter",
            body="closed", Retry_After="3600"),
    HttpBehaviour("answers 500 with a page of HTML", "server",
                  f"{SUBJECT}answered with HTTP 500 Internal Server Error: Internal error",
                  "look at its logs; the whole page is `http.body`",
                  tuple(whole("500 Internal Server Error", PAGE, "text/html"))),
    HttpBehaviour("redirects to another origin", "server",
                  f'{SUBJECT}answered with a redirect (HTTP 307) to "https://other.example/mcp", which is not followed',
                  "do as the hint says: a token goes to no other origin",
                  tuple(whole("307 Temporary Redirect", "", Location="https://other.example/mcp")),
                  hint="if that is the right server, use this `url`: https://other.example/mcp"),
    # --- connections
    HttpBehaviour("drops the connection in a call", "server",
                  f"{SUBJECT}closed the connection without an answer at {{url}}{DIED}", "look at its logs", (CLOSE,)),
    HttpBehaviour("resets the connection in a call", "server",
                  f"{SUBJECT}closed the connection without an answer at {{url}}{DIED}", "look at its logs", (RESET,)),
    HttpBehaviour("drops the connection in the middle of its answer", "server",
                  f"{SUBJECT}closed the connection in the middle of its answer at {{url}}{DIED}", "look at its logs",
                  ({"send": head(Content_Length=100) + '{"jsonrpc":"2.0",'}, CLOSE)),
    HttpBehaviour("answers in another protocol", "server",
                  f"{SUBJECT}answered with something other than HTTP: illegal status line: b'hello there'",
                  "check the port in `url`",
                  ({"send": "hello there\r\n\r\n"}, CLOSE)),
    HttpBehaviour("sends headers without end", "server",
                  f"{SUBJECT}answered with HTTP headers of more than 100 KiB, which is too large", "send less",
                  ({"send": "HTTP/1.1 200 OK\r\n"}, {"again": "X-A: " + "b" * 10_000 + "\r\n"})),
    waited("never answers", "give a slow call more time with `timeout_ms`", HANG),
    waited("sends a body that never ends", "end it", {"send": head(Content_Length=10_000_000)}, {"again": " "}),
    waited("sends an event stream that never answers", "answer the call",
           {"send": head(kind="text/event-stream")}, {"again": ": still here\n\n"}),
    # --- answers
    broke("ends its event stream in the middle of an event",
          'its event stream ended in the middle of an event, before the answer: data: {"jsonrpc":"2.0","id":2,',
          "look at its logs, and at proxies, which can cut streams", *stream('data: {"jsonrpc":"2.0","id":<id>,')),
    broke("ends its event stream without the answer", "its event stream ended before the answer",
          "send the answer before the end", *stream(": hello\n\n")),
    broke("answers with HTML", 'HTTP 200 with the content type "text/html": hi', "check the path in `url`",
          *whole("200 OK", "<p>hi</p>", "text/html")),
    broke("accepts a request without answering it", "HTTP 202 with an empty body", "answer requests; 202 is for notifications",
          *whole("202 Accepted", "")),
    broke("answers another request",
          'HTTP 200 with a body that does not answer it: {"jsonrpc":"2.0","id":99,"result":{}}',
          "send back the `id` as it came",
          *whole("200 OK", '{"jsonrpc":"2.0","id":99,"result":{}}', "application/json")),
    HttpBehaviour("sends a gzip bomb", "server",
                  f"{SUBJECT}sent a compressed body that unpacks to over 16 MiB, more than 100 times its size", "send less",
                  ({"send": head(**GZIP)}, {"bomb": 1024**3}, CLOSE)),
)  # fmt: skip
