"""The meaning of failed TLS handshakes."""

import ssl
from typing import Final

#: Reasons of OpenSSL for data that is not TLS. They differ between its versions.
_NOT_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST"})

#: Rest of a message that begins with the name of a server, which sent something other than TLS.
NOT_TLS_ADVICE: Final = "does not speak TLS at this port, and probably serves plain HTTP: use http:// in the address, or correct the port"


def is_not_tls(error: BaseException) -> bool:
    """Return whether a TLS handshake failed because the server sent something else. ``error`` is an error of ``ssl`` or aiohttp."""
    # Errors of aiohttp contain the error of ssl.
    cause = getattr(error, "os_error", error)
    return isinstance(cause, ssl.SSLError) and cause.reason in _NOT_TLS
