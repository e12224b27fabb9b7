"""Checks of the ``Host`` and the origin of requests.

A browser adds a known password to every request for its server, regardless of the page that causes it. Two kinds of pages must not
profit from that: pages of other sites (cross-site request forgery), and pages whose host name an attacker points to this server
(DNS rebinding).
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
_EVERYWHERE: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES: Final = frozenset({"same-origin", "none"})
_FORMS: Final = frozenset({"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"})
"""Media types that a page of any site can send without asking first."""


class TrustedHosts:
    """The host names of this server.

    Addresses and ``localhost`` are always trusted: rebinding needs a name that an attacker controls.
    """

    def __init__(self, own: Iterable[str] = (), listed: Iterable[str] = ()) -> None:
        """Trust the ``own`` names of the server, and the entries ``listed`` by the setting ``TRUSTED_HOSTS``."""
        entries = frozenset(listed)
        self._own = frozenset(name.lower() for name in own) | {"localhost"}
        self._is_any = ANY_HOST in entries
        self._listed = AllowedHosts.of(entries - {ANY_HOST})

    def trusts(self, host: str) -> bool:
        """Return whether ``host``, a name or an address without port, is one of this server's."""
        return self._is_any or host.lower().removesuffix(".") in self._own or _is_address(host) or self._listed.lists(None, host)


class OriginPolicy:
    """The rules for the ``Host`` of every request, and for the origin of requests that change something."""

    def __init__(self, hosts: TrustedHosts, public_origin: str = "") -> None:
        """Create the rules; ``public_origin`` has the scheme, name and port in browsers if a proxy uses another name for this server."""
        self._hosts = hosts
        self._public_origin = public_origin.lower()

    @staticmethod
    def of(settings: Settings) -> "OriginPolicy":
        """Return the policy for the listening address, ``PUBLIC_URL`` and ``TRUSTED_HOSTS``."""
        listening = socket.gethostname() if settings.http_host in _EVERYWHERE else settings.http_host
        public = urlsplit(settings.public_url)
        hosts = TrustedHosts((listening, public.hostname or ""), settings.trusted_hosts)
        return OriginPolicy(hosts, f"{public.scheme}://{public.netloc}" if public.netloc else "")

    def check(self, method: str, scheme: str, headers: MultiMapping[str]) -> None:
        """Raise Forbidden, BadRequest or UnsupportedMediaType for a request that a page of another site may have caused.

        ``scheme`` is that of the connection. A proxy may have ended TLS before it.
        """
        authority = self._check_host(headers.getall("Host", ()))
        if method not in _SAFE:
            self._check_origin(authority, scheme, headers)
            _check_media_type(headers)

    def _check_host(self, given: Iterable[str]) -> str:
        hosts = tuple(given)
        match = _AUTHORITY.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if match is None:
            raise BadRequest("The request needs one Host header with the name or address of this server")
        host = match["host"].strip("[]")
        if not self._hosts.trusts(host):
            raise Forbidden(
                f'"{host[:100]}" is not a known name of this server; use its address, or list the name in DASHWRIGHT_TRUSTED_HOSTS'
            )
        return hosts[0].lower()

    def _check_origin(self, authority: str, scheme: str, headers: MultiMapping[str]) -> None:
        site = headers.get("Sec-Fetch-Site")
        if site is not None and site not in _OWN_SITES:
            raise _other_site(site)
        for origin in headers.getall("Origin", ()):
            if origin.lower() not in self._own_origins(authority, scheme):
                raise _other_site(origin)

    def _own_origins(self, authority: str, scheme: str) -> set[str]:
        public = self._public_origin
        if public.partition("://")[2] == authority:
            return {public}
        schemes = {scheme} if scheme == "https" else {"http", "https"}
        return {public, *(f"{own}://{authority}" for own in schemes)} - {""}


OWN: Final = OriginPolicy(TrustedHosts())
"""The policy of a server without a name other than its addresses and ``localhost``."""


def _check_media_type(headers: MultiMapping[str]) -> None:
    """Raise UnsupportedMediaType for a body that a form of any site can send, where a browser sends it.

    Other programs send such types by default, as ``curl -d`` does, and a page cannot cause their requests.
    """
    named = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if named in _FORMS and _is_browser(headers):
        raise UnsupportedMediaType(f"A browser may not send {named} here; send the body as application/json")


def _is_browser(headers: MultiMapping[str]) -> bool:
    """Return whether a browser sent the request. All name Mozilla, including those that send no ``Origin`` or ``Sec-Fetch-Site``."""
    return "Origin" in headers or "Sec-Fetch-Site" in headers or headers.get("User-Agent", "").startswith("Mozilla/")


def _other_site(site: str) -> Forbidden:
    return Forbidden(
        f"A page of another site ({site[:100]}) may not change anything here; send the request from a program or from a page of this "
        "server, and set DASHWRIGHT_PUBLIC_URL if a proxy changes the Host"
    )


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
