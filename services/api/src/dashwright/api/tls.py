"""The gateway's TLS certificate: a given one, or a self-signed one."""

import os
import socket
import ssl
import tempfile
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import structlog
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from dashwright.common.settings import Settings, SettingsError

log = structlog.get_logger()

PAIR, CERTIFICATE = "pair.pem", "certificate.pem"
"""In ``DATA_DIR/tls``: key and certificate for the gateway alone, and the certificate for clients to trust."""

_LIFE = timedelta(days=825)
"""Life of a certificate; some clients reject a longer one."""
_RENEWED_BEFORE = timedelta(days=30)
_ALL_INTERFACES = ("0.0.0.0", "::")  # noqa: S104


def context_of(settings: Settings, now: datetime) -> ssl.SSLContext | None:
    """Return the TLS context of the listener, or None without TLS. Raises SettingsError for unusable files."""
    if settings.tls:
        return _self_signed(settings, now)
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    try:
        return _context_with(settings.tls_cert, settings.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(f"DASHWRIGHT_TLS_CERT and DASHWRIGHT_TLS_KEY cannot be used: {error}") from error


def _context_with(certificate: Path, key: Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context


def _self_signed(settings: Settings, now: datetime) -> ssl.SSLContext:
    folder = settings.data_dir / "tls"
    try:
        return _context_with(_stored_pair(folder, _names(settings.http_host), now))
    except (OSError, ValueError, ssl.SSLError) as error:
        advice = f"remove {folder} to have new ones made, or give DASHWRIGHT_TLS_CERT and DASHWRIGHT_TLS_KEY"
        raise SettingsError(f"the certificate and key in {folder} can be neither used nor made: {error}; {advice}") from error


def _names(host: str) -> list[str]:
    """Return the names and addresses of the gateway for clients on this machine and, if it listens to them, on others."""
    outside = socket.gethostname() if host in _ALL_INTERFACES else host
    return sorted({"localhost", "127.0.0.1", "::1", outside})


def _stored_pair(folder: Path, names: list[str], now: datetime) -> Path:
    """Return the pair in ``folder``. A missing one is created; one for other names, near expiry or of an authority is replaced."""
    pair = folder / PAIR
    if not pair.exists() or not _serves(x509.load_pem_x509_certificate(pair.read_bytes()), names, now):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        key, certificate = _created(names, now)
        _replace(folder / CERTIFICATE, certificate)
        _replace(pair, key + certificate)
        log.info("certificate_created", file=str(folder / CERTIFICATE), names=names)
    return pair


def _serves(certificate: x509.Certificate, names: list[str], now: datetime) -> bool:
    listed = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    is_authority = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    is_lasting = certificate.not_valid_after_utc - now > _RENEWED_BEFORE
    return set(listed) == set(_alternatives(names)) and is_lasting and not is_authority


def _alternatives(names: list[str]) -> list[x509.GeneralName]:
    addresses = {name: _address(name) for name in names}
    return [x509.IPAddress(address) if address else x509.DNSName(name) for name, address in addresses.items()]


def _address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


def _created(names: list[str], now: datetime) -> tuple[bytes, bytes]:
    """Return a new key and its self-signed certificate, as PEM. Clients can trust it as an authority, which is for these names only.

    The certificate does not restrict the key's usage: some clients reject a self-signed one whose key may not sign certificates.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Dashwright")])
    # Valid from an hour ago, since clocks of clients may be late.
    certificate = (
        x509.CertificateBuilder(name, name, public, x509.random_serial_number(), now - timedelta(hours=1), now + _LIFE)
        .add_extension(x509.SubjectAlternativeName(_alternatives(names)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private, certificate.public_bytes(serialization.Encoding.PEM)


def _replace(file: Path, content: bytes) -> None:
    """Replace a file atomically; only its owner may read it."""
    handle, unfinished = tempfile.mkstemp(prefix=f"{file.name}.", dir=file.parent)
    with os.fdopen(handle, "wb") as opened:
        opened.write(content)
    Path(unfinished).replace(file)
