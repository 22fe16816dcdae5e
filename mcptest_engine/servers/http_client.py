"""The HTTP client of one server: its connections, certificates and proxy, and redirects inside its origin.

Nothing is retried here. No redirect is followed to another origin, so no token leaves the origin. Another port is another
origin, and so is https after http: whoever can answer in the clear can redirect. Source: RFC 9110, 15.4 (redirects).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcptest_engine.servers import auth
from mcptest_engine.servers.certificates import cannot_start, trusted_certificates
from mcptest_engine.servers.http_headers import header_fault
from mcptest_engine.servers.http_proxies import proxy_for
from mcptest_engine.servers.urls import same_origin, shown_url

if TYPE_CHECKING:
    import ssl

    import httpx2

    from mcptest_engine.servers.http_headers import RawHeaders
    from mcptest_engine.servers.spec import ServerSpec

_MAX_REDIRECTS = 5
_KEPT_ALIVE = 64
_KEPT_ALIVE_SECONDS = 2.0  # common servers close an idle connection after 5: never send into one that is closing
_MOST_KEPT_CREDENTIALS = 50  # a server may set a cookie with each answer, and each slows the search for secrets
_SHORTEST_CREDENTIAL = 8  # characters; a shorter value would match ordinary words


class HttpClient:
    """The client that all exchanges of a session share. `auth` adds OAuth tokens, None where there are none."""

    def __init__(self, spec: ServerSpec) -> None:
        """Raises: ServerDidNotStart for an unusable URL, header, certificate file or proxy; AuthFailed for a secret that may
        not be sent.
        """
        import httpx2

        from mcptest_engine.servers.oauth import auth_for

        assert spec.url is not None
        parts = _url_parts(spec)
        auth.check_secrets_may_go(spec)
        self.auth = auth_for(spec)
        if self.auth is not None:
            auth.check_secrets_may_go(spec, with_token=True)
        fault = header_fault(spec.headers)
        if fault is not None:
            raise cannot_start(spec, f"its HTTP headers cannot be sent: {fault}")
        self._client = _client(spec, secure=parts.scheme == "https")
        self._keep_secret = spec.keep_secret
        self._kept: set[str] = set()
        try:
            self._url = httpx2.URL(spec.url)
        except httpx2.InvalidURL as wrong:
            raise cannot_start(spec, f'"{shown_url(spec.url)}" is not a URL: {wrong}') from None
        self._timeout = self._client.timeout.as_dict()

    @property
    def url(self) -> str:
        """The URL of the next request."""
        return str(self._url)

    async def send(
        self,
        method: str,
        headers: RawHeaders,
        content: bytes | None = None,
        *,
        url: str | None = None,
        may_loop: bool = True,
    ) -> httpx2.Response:
        """Send one request and return the open response once its headers have arrived; the caller closes it.

        A redirect inside the origin that keeps the method is followed, and for a POST remembered. Any other response is
        returned as it is, and so is a redirect to a URL that was already visited, unless `may_loop`. Raises: httpx2.HTTPError,
        ValueError and what the token's `Auth` raises.
        """
        been = set()
        where = self._url if url is None else self._url.join(url)
        for left in range(_MAX_REDIRECTS, -1, -1):
            response = await self._client.send(
                self._request(method, where, headers, content), stream=True, auth=self.auth
            )
            self._keep_credentials(response)
            been.add(where)
            target = _redirect_to_follow(response, method)
            if target is None or not left or (target in been and not may_loop):
                break
            await response.aclose()
            where = target
            if method == "POST" and url is None:
                self._url = target
        return response

    async def close(self) -> None:
        await self._client.aclose()
        if self.auth is not None:
            await self.auth.aclose()

    def _keep_credentials(self, response: httpx2.Response) -> None:
        """Register the session id and cookies as secrets: they are credentials, and the server may repeat them."""
        for value in _credentials(response):
            if value not in self._kept and len(self._kept) < _MOST_KEPT_CREDENTIALS:
                self._kept.add(value)
                self._keep_secret(value)

    def _request(self, method: str, url: httpx2.URL, headers: RawHeaders, content: bytes | None) -> httpx2.Request:
        import httpx2

        # Not `build_request`, which merges headers, parameters and cookies again for each call.
        cookies = self._client.cookies
        return httpx2.Request(
            method,
            url,
            headers=headers,
            content=content,
            cookies=cookies if len(cookies.jar) else None,
            extensions={"timeout": self._timeout},
        )


def _url_parts(spec: ServerSpec) -> Any:
    """Split the URL. Raises: ServerDidNotStart when it is no http or https URL."""
    assert spec.url is not None
    try:
        parts = urlsplit(spec.url)
        fine = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # such as an unclosed bracket in an IPv6 address, or a port of 70000
        fine = False
    if not fine:
        raise cannot_start(spec, f'"{shown_url(spec.url)}" is not an http or https URL')
    return parts


def _client(spec: ServerSpec, *, secure: bool) -> httpx2.AsyncClient:
    import httpx2

    connect_seconds = spec.http.connect_timeout_seconds or spec.connect_timeout_seconds
    # Loading the certificate store takes 50 ms: not for a plain URL, since no redirect leads from there to TLS.
    certificates = trusted_certificates(spec) if secure else None
    proxy = proxy_for(spec, spec.url or "")
    try:
        return httpx2.AsyncClient(
            verify=certificates or False,
            transport=_direct_transport(certificates) if proxy is None else None,
            proxy=None if proxy is None else _proxy(spec, proxy, certificates),
            timeout=httpx2.Timeout(None, connect=connect_seconds),  # the session times its calls
            limits=httpx2.Limits(
                max_connections=None, max_keepalive_connections=_KEPT_ALIVE, keepalive_expiry=_KEPT_ALIVE_SECONDS
            ),
            follow_redirects=False,
            trust_env=False,  # proxies and certificates of the environment were read already
        )
    except (ImportError, ValueError, httpx2.InvalidURL) as wrong:  # the value of a variable such as HTTPS_PROXY
        raise cannot_start(spec, f"the proxy that the environment names cannot be used: {wrong}") from None


def _direct_transport(certificates: ssl.SSLContext | None) -> httpx2.AsyncBaseTransport:
    from mcptest_engine.servers.http_pool import PooledTransport

    return PooledTransport(certificates, kept_alive=_KEPT_ALIVE, kept_alive_seconds=_KEPT_ALIVE_SECONDS)


def _proxy(spec: ServerSpec, proxy: str, certificates: ssl.SSLContext | None) -> httpx2.Proxy:
    """The proxy to use. Raises: ServerDidNotStart for an unusable one of the suite, ValueError for one of the environment."""
    import httpx2

    try:
        url = httpx2.URL(proxy)
    except httpx2.InvalidURL:
        url = httpx2.URL()
    usable = url.scheme in ("http", "https") and bool(url.host)
    if not usable and spec.http.proxy is not None:
        raise cannot_start(spec, f'`http.proxy` is "{shown_url(proxy)}", which is not an http or https URL')
    if not usable:
        raise ValueError(f'"{shown_url(proxy)}" is not an http or https URL')
    return httpx2.Proxy(url, ssl_context=certificates or trusted_certificates(spec) if url.scheme == "https" else None)


def _credentials(response: httpx2.Response) -> list[str]:
    """The session's id and the cookie values in an answer."""
    cookies = response.headers.get_list("set-cookie")
    values = [cookie.partition(";")[0].partition("=")[2].strip(' "') for cookie in cookies]
    found = [response.headers.get("mcp-session-id", ""), *values]
    return [value for value in found if len(value) >= _SHORTEST_CREDENTIAL]


def _redirect_to_follow(response: httpx2.Response, method: str) -> httpx2.URL | None:
    """The URL of a redirect that may be followed, else None."""
    if not response.has_redirect_location or (method != "GET" and response.status_code not in (307, 308)):
        return None
    target = redirect_target(response)
    return target if target is not None and same_origin(target, response.request.url) else None


def redirect_target(response: httpx2.Response) -> httpx2.URL | None:
    """The URL of a redirect; None when the response is none."""
    import httpx2

    try:
        return response.request.url.join(response.headers["location"])
    except (httpx2.InvalidURL, ValueError):
        return None
