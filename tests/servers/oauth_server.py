"""An authorization server and an MCP server behind it, in as many realms as are wanted. Prints its port; ends with stdin.

    PUT /realms/NAME {knobs}     make a realm:  /NAME/mcp is the MCP endpoint, /NAME/as its authorization server
    GET /realms/NAME             what came so far: [{place, form, authorization}], place being mcp, token, register, …
    POST /realms/NAME {"revoke": true}    every access token given out so far is refused from now on
    POST /realms/NAME {"release": true}   let go of the token requests that `gate` holds
    POST /realms/NAME {"held": true}      answered as soon as `gate: "answer"` holds an answer

Knobs, with their defaults:
    open: false            /mcp asks for no token
    challenge: true        a 401 says where the metadata is; false: an empty WWW-Authenticate; "none": no header
    metadata: true         RFC 9728 and RFC 8414 documents are there; "elsewhere": they name a server that is not there;
                           "insecure": one at a plain http URL; "other": the authorization server says that it is another one;
                           "half": it publishes none itself
    device: true           the metadata name a device endpoint
    browser: true          the metadata name an authorization endpoint
    registration: true     a client may register itself; false: refused; "odd": the answer is no client
    issued_secret: null    the secret that a registration answers with
    methods: [...]         how clients may show themselves at the token endpoint
    clients: {id: secret}  clients known beforehand; secret null is a public one
    authorize: {}          what is sent back instead of a code, such as {"error": "access_denied"}; "state" replaces the state
    token: "ok"            or "html", "busy" (502), "no_token", "odd_type", "newline", "hang", "deep", "huge", an error's code;
                           "echo", "echo_error": the form comes back as text, or in an error's description
    minds_resource: false  a `resource` is an invalid_request
    expires_in: 3600       of access tokens; null: not said
    refresh: true          refresh tokens are given, and each is good for one refresh; "kept": the first is good for ever;
                           false: none; an OAuth error's code: refused
    pending: []            what polling a device code answers before the token
    interval: 0            that a device is told
    refuse: 0              so many requests with a good token get a 401 all the same
    scope: null            a scope that `tools/call` wants; without it a 403
    gate: false            token requests wait until they are released; "answer": they are granted, and the answers wait
    challenges: ["S256"]   the PKCE methods that the metadata name; null: they do not say
    token_host: null       the host of the token endpoint in the metadata
"""

import base64
import hashlib
import http.server
import json
import sys
import threading
import urllib.parse

REALMS = {}
DEFAULTS = {
    "open": False, "challenge": True, "metadata": True, "device": True, "browser": True, "registration": True,
    "issued_secret": None, "methods": ["none", "client_secret_basic", "client_secret_post"], "clients": {},
    "authorize": {}, "token": "ok", "minds_resource": False, "expires_in": 3600, "refresh": True, "pending": [],
    "interval": 0, "refuse": 0, "scope": None, "gate": False,
    "token_host": None, "challenges": ["S256"],
}  # fmt: skip


class Realm:
    def __init__(self, name, knobs):
        unknown = set(knobs) - set(DEFAULTS)
        if unknown:
            raise ValueError(f"no such knobs: {unknown}")
        self.name = name
        self.knobs = {**DEFAULTS, **knobs}
        self.clients = dict(self.knobs["clients"])
        self.codes, self.access, self.refresh = {}, {}, {}
        self.pending = list(self.knobs["pending"])
        self.refuse = self.knobs["refuse"]
        self.seen = []
        self.number = 0
        self.lock = threading.Lock()
        self.gate, self.held = threading.Event(), threading.Event()

    def grant(self, client, scope):
        with self.lock:
            self.number += 1
            number = self.number
        access = f"access.{self.name}.{number}.zzz"
        self.access[access] = scope or ""
        answer = {"access_token": access, "token_type": "bearer"}
        if self.knobs["expires_in"] is not None:
            answer["expires_in"] = self.knobs["expires_in"]
        if scope:
            answer["scope"] = scope
        if self.knobs["refresh"] is not False:
            answer["refresh_token"] = f"refresh.{self.name}.{number}.zzz"
            self.refresh[answer["refresh_token"]] = (client, scope)
        return answer


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        path, query = parts.path, dict(urllib.parse.parse_qsl(parts.query))
        if path.startswith("/realms/"):
            return self.reply(200, REALMS[path.split("/")[2]].seen)
        if path.startswith("/.well-known/"):
            return self.metadata(path.split("/"))
        realm, place = self.place()
        if realm is None or place == "mcp":
            return self.reply(405 if realm else 404, {})
        if place == "authorize":
            return self.authorize(realm, query)
        return self.reply(404, {})

    def do_PUT(self):
        name = self.path.split("/")[2]
        REALMS[name] = Realm(name, json.loads(self.body()))
        self.reply(200, {})

    def do_DELETE(self):
        self.reply(200, {})

    def do_POST(self):
        body = self.body()
        if self.path.startswith("/realms/"):
            return self.control(REALMS[self.path.split("/")[2]], json.loads(body))
        realm, place = self.place()
        if realm is None:
            return self.reply(404, {"error_code": "nothing here"})
        form = dict(urllib.parse.parse_qsl(body.decode())) if place in ("token", "device") else json.loads(body)
        realm.seen.append({"place": place, "form": form, "authorization": self.headers.get("authorization")})
        return getattr(self, place)(realm, form)

    def place(self):
        parts = urllib.parse.urlsplit(self.path).path.strip("/").split("/")
        return (REALMS.get(parts[0]), parts[-1]) if len(parts) > 1 else (None, "")

    def control(self, realm, orders):
        if orders.get("revoke"):
            realm.access.clear()
        if orders.get("release"):
            realm.gate.set()
        if orders.get("held"):
            realm.held.wait(30)
        self.reply(200, {})

    def origin(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def metadata(self, parts):
        realm = REALMS.get(parts[3]) if len(parts) > 3 else None
        if realm is None or not realm.knobs["metadata"]:
            return self.reply(404, {})
        origin = self.origin()
        if parts[2] == "oauth-protected-resource":
            issuer = f"{origin}/{realm.name}/as"
            if realm.knobs["metadata"] == "elsewhere":
                issuer = "http://127.0.0.1:9/as"
            elif realm.knobs["metadata"] == "insecure":
                issuer = "http://as.example/as"
            return self.reply(200, {"resource": f"{origin}/{realm.name}/mcp", "authorization_servers": [issuer]})
        if realm.knobs["metadata"] == "half":
            return self.reply(404, {})
        base = f"{origin}/{realm.name}/as"
        document = {
            "issuer": base if realm.knobs["metadata"] != "other" else f"{origin}/other",
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "registration_endpoint": f"{base}/register",
            "device_authorization_endpoint": f"{base}/device",
            "token_endpoint_auth_methods_supported": realm.knobs["methods"],
            "code_challenge_methods_supported": realm.knobs["challenges"],
        }
        if realm.knobs["challenges"] is None:
            del document["code_challenge_methods_supported"]
        if realm.knobs["token_host"]:
            document["token_endpoint"] = f"{base}/token".replace("127.0.0.1", realm.knobs["token_host"])
        for knob, member in (("device", "device_authorization_endpoint"), ("browser", "authorization_endpoint")):
            if not realm.knobs[knob]:
                del document[member]
        return self.reply(200, document)

    def register(self, realm, form):
        if not realm.knobs["registration"]:
            return self.reply(403, {"error": "access_denied", "error_description": "registration is closed"})
        if realm.knobs["registration"] == "odd":
            return self.reply(201, {"client_id": 7, "client_secret": "issued-issued", "redirect_uris": "x"})
        name = f"client-{len(realm.clients) + 1}"
        secret = realm.clients[name] = realm.knobs["issued_secret"]
        members = {"client_id": name, "redirect_uris": form.get("redirect_uris"), "grant_types": form["grant_types"]}
        return self.reply(201, {**members, **({"client_secret": secret} if secret else {})})

    def authorize(self, realm, query):
        realm.seen.append({"place": "authorize", "form": query, "authorization": None})
        answer = {"state": query.get("state"), **realm.knobs["authorize"]}
        if "error" not in answer:
            realm.number += 1
            answer["code"] = f"code.{realm.name}.{realm.number}"
            realm.codes[answer["code"]] = query
        self.send_response(302)
        self.send_header("Location", f"{query['redirect_uri']}?{urllib.parse.urlencode(answer)}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def device(self, realm, form):
        if self.client(realm, form) is None:
            return self.reply(401, {"error": "invalid_client"})
        uri = f"{self.origin()}/{realm.name}/type-it-in"
        return self.reply(200, {
            "device_code": "device.code", "user_code": "WDJB-MJHT", "verification_uri": uri,
            "verification_uri_complete": f"{uri}?code=WDJB-MJHT", "expires_in": 300, "interval": realm.knobs["interval"],
        })  # fmt: skip

    def token(self, realm, form):
        if realm.knobs["gate"] is True:
            realm.gate.wait(30)
        if self.misbehave(realm.knobs["token"], form):
            return None
        client = self.client(realm, form)
        if client is None:
            told = {"error": "invalid_client", "error_description": f"got {form.get('client_secret')}"}
            return self.reply(401, told)
        if realm.knobs["minds_resource"] and "resource" in form:
            return self.reply(400, {"error": "invalid_request", "error_description": "what is a resource?"})
        return {
            "client_credentials": self.by_credentials,
            "authorization_code": self.by_code,
            "refresh_token": self.by_refresh,
            "urn:ietf:params:oauth:grant-type:device_code": self.by_device,
        }[form["grant_type"]](realm, client, form)

    def misbehave(self, how, form):
        if how == "ok":
            return False
        sent = " ".join(f"{name}={value}" for name, value in sorted(form.items()))
        if how == "html":
            self.reply(200, b"<html><body>Please sign in</body></html>", kind="text/html")
        elif how == "echo":
            self.reply(200, sent.encode(), kind="text/plain")
        elif how == "echo_error":
            self.reply(400, {"error": "invalid_grant", "error_description": f"cannot take {sent}"})
        elif how == "busy":
            self.reply(502, b"bad gateway", kind="text/plain")
        elif how == "no_token":
            self.reply(200, {"token": "here it is not"})
        elif how == "odd_type":
            self.reply(200, {"access_token": "x" * 20, "token_type": "mac"})
        elif how == "newline":
            self.reply(200, {"access_token": "two\r\nlines: yes"})
        elif how == "deep":
            self.reply(200, b"[" * 100_000, kind="application/json")
        elif how == "huge":
            self.reply(200, b" " * 2_000_000, kind="application/json")
        elif how == "hang":
            threading.Event().wait(30)
        else:
            self.reply(400, {"error": how, "error_description": "as the realm was told"})
        return True

    def client(self, realm, form):
        """Whoever shows itself as one of the clients, in a way that the realm takes."""
        given, secret, method = form.get("client_id"), form.get("client_secret"), "client_secret_post"
        header = self.headers.get("authorization") or ""
        if header.startswith("Basic "):
            given, secret = map(urllib.parse.unquote, base64.b64decode(header[6:]).decode().split(":"))
            method = "client_secret_basic"
        elif secret is None:
            method = "none"
        known = given in realm.clients and realm.clients[given] == secret
        return given if known and method in realm.knobs["methods"] else None

    def by_credentials(self, realm, client, form):
        return self.reply(200, realm.grant(client, form.get("scope")))

    def by_code(self, realm, client, form):
        asked = realm.codes.pop(form.get("code"), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if asked is None or asked["code_challenge"] != proof or asked["redirect_uri"] != form.get("redirect_uri"):
            return self.reply(400, {"error": "invalid_grant", "error_description": "code or verifier is wrong"})
        return self.reply(200, realm.grant(client, asked.get("scope")))

    def by_refresh(self, realm, client, form):
        if realm.knobs["refresh"] == "kept" and form["refresh_token"] in realm.refresh:
            answer = realm.grant(client, None)
            del answer["refresh_token"]
            return self.reply(200, answer)
        if isinstance(realm.knobs["refresh"], str):
            told = {"error": realm.knobs["refresh"], "error_description": f"no more of {form['refresh_token']}"}
            return self.reply(400, told)
        held = realm.refresh.pop(form["refresh_token"], None)
        if held is None or held[0] != client:
            return self.reply(400, {"error": "invalid_grant", "error_description": "that was refreshed already"})
        answer = realm.grant(client, held[1])
        if realm.knobs["gate"] == "answer":
            realm.held.set()
            realm.gate.wait(30)
        return self.reply(200, answer)

    def by_device(self, realm, client, _):
        if realm.pending:
            return self.reply(400, {"error": realm.pending.pop(0)})
        return self.reply(200, realm.grant(client, None))

    def mcp(self, realm, message):
        token = (self.headers.get("authorization") or "").removeprefix("Bearer ")
        if not realm.knobs["open"] and (token not in realm.access or realm.refuse > 0):
            realm.refuse -= token in realm.access
            return self.unauthorized(realm)
        wanted = realm.knobs["scope"]
        if wanted and message["method"] == "tools/call" and wanted not in realm.access.get(token, "").split():
            challenge = f'Bearer error="insufficient_scope", scope="{wanted}"'
            return self.reply(403, {}, {"WWW-Authenticate": challenge})
        if "id" not in message:
            return self.reply(202, b"")
        return self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": self.result(message, token)})

    def unauthorized(self, realm):
        where = f"{self.origin()}/.well-known/oauth-protected-resource/{realm.name}/mcp"
        headers = {"WWW-Authenticate": f'Bearer resource_metadata="{where}"' if realm.knobs["challenge"] else "Bearer"}
        self.reply(401, {"error": "no"}, {} if realm.knobs["challenge"] == "none" else headers)

    def result(self, message, token):
        if message["method"] == "initialize":
            version = message["params"]["protocolVersion"]
            return {
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "o", "version": "1"},
            }
        if message["method"] == "tools/call":
            return {"content": [{"type": "text", "text": f"your token is <{token}>"}]}
        return {"tools": [{"name": "who", "inputSchema": {"type": "object"}}]}

    def body(self):
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def reply(self, status, body, headers=(), kind="application/json"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        """A client that goes away in the middle is one of the things that are tested."""


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
