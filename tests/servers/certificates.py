"""Certificates of an authority that exists for one test."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


@dataclass(frozen=True)
class ServerCertificate:
    """PEM files: the authority's certificate, and a key with its certificate for 127.0.0.1."""

    authority: Path
    key_and_certificate: Path


def issue_certificate(folder: Path) -> ServerCertificate:
    """Create an authority and a certificate for a server on the loopback, both valid for a day."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _sign("Authority of tests", authority_key, authority_key, x509.BasicConstraints(ca=True, path_length=0))
    certificate_pem = _sign("server", key, authority_key, x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]))
    key_pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    certificate = ServerCertificate(folder / "authority.pem", folder / "server.pem")
    certificate.authority.write_bytes(authority)
    certificate.key_and_certificate.write_bytes(key_pem + certificate_pem)
    return certificate


def _sign(subject: str, key: ec.EllipticCurvePrivateKey, signing_key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType) -> bytes:
    """Return a certificate in PEM, signed by the authority."""
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(_name(subject)).issuer_name(_name("Authority of tests"))
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    return builder.add_extension(extension, critical=True).sign(signing_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _name(common: str) -> x509.Name:
    """Return a name with only the part ``CN``."""
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common)])
