"""The gateway behind TLS."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import PUBLIC, Route

from .conftest import Serve


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Return a PEM file with a key and its self-signed certificate for the loopback address."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now, day = datetime.now(UTC), timedelta(days=1)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - day, now + day)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "pair.pem"
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return file


async def test_with_a_certificate_the_gateway_speaks_https(serve: Serve, certificate: Path) -> None:
    """With a certificate the gateway serves https, without which Kubernetes clients send no credentials."""

    async def respond(_: Call) -> Response:
        return Response(200, b"{}")

    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    gateway = await serve([Route("GET", "/api/fine", respond, PUBLIC)], tls=tls)
    client_context = ssl.create_default_context(cafile=certificate)
    async with gateway.client.get(f"https://127.0.0.1:{gateway.port}/api/fine", ssl=client_context) as response:
        assert response.status == 200
        assert await response.read() == b"{}"
