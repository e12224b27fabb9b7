"""Failed TLS handshakes."""

import ssl

import pytest

from dashwright.common.tls_failures import is_not_tls


def handshake_error(reason: str) -> ssl.SSLError:
    """Return the error of a failed handshake with a reason of OpenSSL."""
    error = ssl.SSLError(1, reason)
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(handshake_error("WRONG_VERSION_NUMBER"), True, id="OpenSSL 3.0"),
        pytest.param(handshake_error("RECORD_LAYER_FAILURE"), True, id="OpenSSL 3.2"),
        pytest.param(handshake_error("CERTIFICATE_VERIFY_FAILED"), False, id="certificate"),
        pytest.param(ConnectionResetError(), False, id="connection"),
    ],
)
def test_a_server_without_tls_is_recognized(error: OSError, expected: bool) -> None:
    """A server without TLS is recognized by the reasons of all supported versions of OpenSSL.

    A wrong certificate or a lost connection is another failure.
    """
    assert is_not_tls(error) is expected
