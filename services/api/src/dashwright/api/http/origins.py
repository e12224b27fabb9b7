"""Checks of the ``Host`` and the origin of requests.

A browser adds a saved password to every request to a server, whichever page causes the request. The checks refuse requests of two
kinds of pages: those of other sites (cross-site request forgery), and those whose host name an attacker points to this server (DNS
rebinding).
"""

import ipaddress
import re
import socket
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from multidict import MultiMapping

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.errors import BadRequest, Forbidden, UnsupportedMediaType
from dashwright.common.settings import ANY_HOST, Settings

_AUTHORITY: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\[\]:@/?#\s]+)(?::\d{0,5})?")
"""The value of a ``Host`` header: a name or an address (IPv6 in brackets), with an optional port."""
_ALL_INTERFACES: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_TRUSTED_FETCH_SITES: Final = frozenset({"same-origin", "none"})
"""Values of ``Sec-Fetch-Site`` for requests that a page of this server, or the user directly, causes."""
_FORM_MEDIA_TYPES: Final = frozenset({"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"})
"""Media types that a page of any site can send without a CORS preflight request."""
_MAX_QUOTED_CHARACTERS: Final = 100
"""Largest number of characters of a header that an error quotes."""


class TrustedHosts:
    """The host names of this server.

    Addresses and ``localhost`` are always trusted: rebinding needs a name that an attacker controls.
    """

    def __init__(self, own_names: Iterable[str] = (), trusted_hosts: Iterable[str] = ()) -> None:
        """Trust the server's ``own_names``, and the entries of the setting ``TRUSTED_HOSTS``."""
        entries = frozenset(trusted_hosts)
        self._own_names = frozenset(name.lower() for name in own_names) | {"localhost"}
        self._trusts_all = ANY_HOST in entries
        self._allowed_hosts = AllowedHosts.parse(entries - {ANY_HOST})

    def trusts(self, host: str) -> bool:
        """Return whether ``host``, a name or an address without port, is one of this server's."""
        if self._trusts_all or _is_address(host):
            return True
        return host.lower().removesuffix(".") in self._own_names or self._allowed_hosts.lists(address=None, host=host)


class OriginPolicy:
    """The rules for the ``Host`` of every request, and for the origin of requests that change something."""

    def __init__(self, hosts: TrustedHosts, public_origin: str = "") -> None:
        """Create the rules. ``public_origin`` is the scheme, name and port that browsers use if a proxy serves another name."""
        self._hosts = hosts
        self._public_origin = public_origin.lower()

    @staticmethod
    def from_settings(settings: Settings) -> "OriginPolicy":
        """Return the policy for the listening address, ``PUBLIC_URL`` and ``TRUSTED_HOSTS``."""
        listening_host = socket.gethostname() if settings.http_host in _ALL_INTERFACES else settings.http_host
        public_url = urlsplit(settings.public_url)
        hosts = TrustedHosts((listening_host, public_url.hostname or ""), settings.trusted_hosts)
        return OriginPolicy(hosts, f"{public_url.scheme}://{public_url.netloc}" if public_url.netloc else "")

    def check(self, method: str, scheme: str, headers: MultiMapping[str]) -> None:
        """Raise Forbidden, BadRequest or UnsupportedMediaType for a request that a page of another site may have caused.

        ``scheme`` is ``http`` or ``https``, that of the connection to this server.
        """
        authority = self._check_host(headers.getall("Host", ()))
        if method not in _SAFE_METHODS:
            self._check_origin(authority, scheme, headers)
            _check_media_type(headers)

    def _check_host(self, host_headers: Iterable[str]) -> str:
        """Return the value of the only ``Host`` header, in lower case. Raises BadRequest or Forbidden for another host."""
        hosts = tuple(host_headers)
        match = _AUTHORITY.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if match is None:
            raise BadRequest("The request needs one Host header with the name or address of this server")
        host = match["host"].strip("[]")
        if not self._hosts.trusts(host):
            raise Forbidden(
                f"{host[:_MAX_QUOTED_CHARACTERS]!r} is not a known name of this server; use its address, or list the name in "
                "DASHWRIGHT_TRUSTED_HOSTS"
            )
        return hosts[0].lower()

    def _check_origin(self, authority: str, scheme: str, headers: MultiMapping[str]) -> None:
        """Raise Forbidden if the headers name another site than this server as the cause of the request."""
        site = headers.get("Sec-Fetch-Site")
        if site is not None and site not in _TRUSTED_FETCH_SITES:
            raise _cross_site_request(site)
        for origin in headers.getall("Origin", ()):
            if origin.lower() not in self._own_origins(authority, scheme):
                raise _cross_site_request(origin)

    def _own_origins(self, authority: str, scheme: str) -> set[str]:
        """Return the values of ``Origin`` that pages of this server have, for a ``Host`` and the scheme of the connection."""
        public_origin = self._public_origin
        # If the public URL names this host, its scheme is the only one that browsers use.
        if public_origin.partition("://")[2] == authority:
            return {public_origin}
        # A proxy may end TLS, so the browser's scheme may be https on a connection without it.
        browser_schemes = {"https"} if scheme == "https" else {"http", "https"}
        return {public_origin, *(f"{browser_scheme}://{authority}" for browser_scheme in browser_schemes)} - {""}


DEFAULT_ORIGIN_POLICY: Final = OriginPolicy(TrustedHosts())
"""The policy of a server that has no names except its addresses and ``localhost``."""


def _check_media_type(headers: MultiMapping[str]) -> None:
    """Raise UnsupportedMediaType if a browser sends a body that a form of any site can send.

    Other programs may send such types, as ``curl -d`` does by default: no page can cause their requests.
    """
    media_type = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media_type in _FORM_MEDIA_TYPES and _is_browser(headers):
        raise UnsupportedMediaType(f"A browser may not send {media_type} here; send the body as application/json")


def _is_browser(headers: MultiMapping[str]) -> bool:
    """Return whether a browser sent the request. Browsers without ``Origin`` and ``Sec-Fetch-Site`` name Mozilla as agent."""
    return "Origin" in headers or "Sec-Fetch-Site" in headers or headers.get("User-Agent", "").startswith("Mozilla/")


def _cross_site_request(site: str) -> Forbidden:
    """Return the error for a request that a page of another site has caused. ``site`` is the header that reveals it."""
    return Forbidden(
        f"A page of another site ({site[:_MAX_QUOTED_CHARACTERS]}) may not change anything here; send the request from a program or from "
        "a page of this server, and set DASHWRIGHT_PUBLIC_URL if a proxy changes the Host"
    )


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
