"""The gateway's TLS certificate: one from the settings, or a self-signed one."""

import os
import socket
import ssl
import tempfile
from collections.abc import Mapping
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import structlog
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from dashwright.api.http.response import SAFE_HEADERS
from dashwright.common.settings import Settings, SettingsError

log = structlog.get_logger()

PAIR_FILE, CERTIFICATE_FILE = "pair.pem", "certificate.pem"
"""Files in ``DATA_DIR/tls``: the private key with the certificate, for the gateway alone, and the certificate for clients to trust."""

_LIFETIME = timedelta(days=825)
"""Time for which a certificate is valid; some clients reject a longer one."""
_RENEWAL_MARGIN = timedelta(days=30)
"""Remaining lifetime at which a start of the gateway replaces its self-signed certificate."""
_HSTS_VALUE = f"max-age={365 * 86_400}"
"""Value of the header ``Strict-Transport-Security``: a year, in seconds."""
_ALL_INTERFACES = ("0.0.0.0", "::")  # noqa: S104


def server_context(settings: Settings, now: datetime) -> ssl.SSLContext | None:
    """Return the TLS context of the listener, or None without TLS. Raises SettingsError for unusable files."""
    if settings.tls:
        return _self_signed_context(settings, now)
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    try:
        return _context_from(settings.tls_cert, settings.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(f"DASHWRIGHT_TLS_CERT and DASHWRIGHT_TLS_KEY cannot be used: {error}") from error


def response_headers(settings: Settings) -> Mapping[str, str]:
    """Return the headers of every response."""
    # Browsers apply this header to all ports of a host name, so with a self-signed certificate it would block other local servers.
    return {**SAFE_HEADERS, "Strict-Transport-Security": _HSTS_VALUE} if settings.tls_cert else SAFE_HEADERS


def _context_from(certificate: Path, key: Path | None = None) -> ssl.SSLContext:
    """Return a TLS context for a server with the certificate. Without ``key``, the file of the certificate has the private key, too."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context


def _self_signed_context(settings: Settings, now: datetime) -> ssl.SSLContext:
    """Return a TLS context with the self-signed certificate in the data directory. Raises SettingsError if it is unusable."""
    folder = settings.data_dir / "tls"
    try:
        return _context_from(_current_pair(folder, _host_names(settings.http_host), now))
    except (OSError, ValueError, ssl.SSLError) as error:
        advice = f"delete {folder}, so that new ones are created, or set DASHWRIGHT_TLS_CERT and DASHWRIGHT_TLS_KEY"
        raise SettingsError(f"the certificate and key in {folder} can be neither used nor created: {error}; {advice}") from error


def _host_names(host: str) -> list[str]:
    """Return the names in the certificate: those of the loopback interface, and the host name or address that the gateway listens on.

    A gateway that listens on all interfaces has the name of this machine instead.
    """
    listening_name = socket.gethostname() if host in _ALL_INTERFACES else host
    return sorted({"localhost", "127.0.0.1", "::1", listening_name})


def _current_pair(folder: Path, names: list[str], now: datetime) -> Path:
    """Return the path of the key and certificate in ``folder``.

    They are created if they are missing. They are replaced if the certificate is for other names, expires soon, or is that of a certificate
    authority: earlier releases created such certificates.
    """
    pair_file = folder / PAIR_FILE
    if not pair_file.exists() or not _is_usable(x509.load_pem_x509_certificate(pair_file.read_bytes()), names, now):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        key, certificate = _create_pair(names, now)
        # The pair comes last: if the gateway ends between the two writes, its next start still finds no usable pair.
        _replace_file(folder / CERTIFICATE_FILE, certificate)
        _replace_file(pair_file, key + certificate)
        log.info("certificate_created", file=str(folder / CERTIFICATE_FILE), names=names)
    return pair_file


def _is_usable(certificate: x509.Certificate, names: list[str], now: datetime) -> bool:
    """Return whether a self-signed certificate has these names, and need not be replaced."""
    alternative_names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    is_authority = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    expires_soon = certificate.not_valid_after_utc - now <= _RENEWAL_MARGIN
    return set(alternative_names) == set(_alternative_names(names)) and not expires_soon and not is_authority


def _alternative_names(names: list[str]) -> list[x509.GeneralName]:
    """Return host names and addresses as the subject alternative names of a certificate."""
    addresses = {name: _parse_address(name) for name in names}
    return [x509.IPAddress(address) if address else x509.DNSName(name) for name, address in addresses.items()]


def _parse_address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


def _create_pair(names: list[str], now: datetime) -> tuple[bytes, bytes]:
    """Return a new private key and its self-signed certificate, as PEM.

    Clients can trust the certificate as an authority, although it is valid only for these names. It has no KeyUsage extension: some clients
    reject a self-signed certificate whose KeyUsage does not permit signing certificates.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    public_key = key.public_key()
    issuer = subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Dashwright")])
    # Valid from an hour ago, since clocks of clients may be slow.
    certificate = (
        x509.CertificateBuilder(issuer, subject, public_key, x509.random_serial_number(), now - timedelta(hours=1), now + _LIFETIME)
        .add_extension(x509.SubjectAlternativeName(_alternative_names(names)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .sign(key, hashes.SHA256())
    )
    private_key = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private_key, certificate.public_bytes(serialization.Encoding.PEM)


def _replace_file(file: Path, content: bytes) -> None:
    """Replace a file atomically; only its owner may read it."""
    descriptor, temporary_path = tempfile.mkstemp(prefix=f"{file.name}.", dir=file.parent)
    with os.fdopen(descriptor, "wb") as file_object:
        file_object.write(content)
    Path(temporary_path).replace(file)
