"""The self-signed certificate of the gateway."""

import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import ClientConnectorCertificateError
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from dashwright.api import tls
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import PUBLIC, Route
from dashwright.common.settings import Settings, SettingsError, load

from .conftest import Serve

NOW = datetime.now(UTC)
# Optional checks of clients: by RFC 5280, and of chains that end with any trusted certificate.
STRICT = ssl.VERIFY_X509_STRICT
PARTIAL = ssl.VERIFY_X509_PARTIAL_CHAIN


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Return settings for a self-signed certificate, without a file ``.env`` in the current directory."""
    monkeypatch.chdir(tmp_path)
    return load(tls="self-signed", data_dir=tmp_path / "data")


def _key_and_certificate(settings: Settings) -> bytes:
    """Return the content of the file with key and certificate."""
    return (settings.data_dir / "tls" / tls.PAIR_FILE).read_bytes()


async def respond(_: Call) -> Response:
    """Return an empty object."""
    return Response(200, b"{}")


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(ssl.VERIFY_DEFAULT, id="default"),
        pytest.param(STRICT, id="strict"),
        pytest.param(PARTIAL, id="partial"),
        pytest.param(STRICT | PARTIAL, id="strict and partial"),
    ],
)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_clients_that_trust_the_certificate_are_served(serve: Serve, settings: Settings, host: str, flags: ssl.VerifyFlags) -> None:
    """A client that trusts the certificate is served by name and by address, with all checks enabled."""
    gateway = await serve([Route("GET", "/api/fine", respond, PUBLIC)], tls=tls.server_context(settings, NOW))
    client_context = ssl.create_default_context(cafile=settings.data_dir / "tls" / tls.CERTIFICATE_FILE)
    client_context.verify_flags |= flags
    async with gateway.client.get(f"https://{host}:{gateway.port}/api/fine", ssl=client_context) as response:
        assert response.status == 200


@pytest.mark.parametrize("flags", [ssl.VERIFY_DEFAULT, STRICT, PARTIAL], ids=["default", "strict", "partial"])
async def test_certificates_signed_with_the_gateways_key_are_refused(
    serve: Serve, settings: Settings, tmp_path: Path, flags: ssl.VerifyFlags
) -> None:
    """Clients that trust the gateway's certificate refuse another certificate that is signed with the gateway's key."""
    tls.server_context(settings, NOW)
    authority, forged = _key_and_certificate(settings), tmp_path / "forged.pem"
    forged.write_bytes(_certificate_signed_with(authority) + authority)
    server_context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server_context.load_cert_chain(forged)
    gateway = await serve([Route("GET", "/api/fine", respond, PUBLIC)], tls=server_context)
    client_context = ssl.create_default_context(cafile=settings.data_dir / "tls" / tls.CERTIFICATE_FILE)
    client_context.verify_flags |= flags
    with pytest.raises(ClientConnectorCertificateError):
        await gateway.client.get(f"https://localhost:{gateway.port}/api/fine", ssl=client_context)


def _certificate_signed_with(authority: bytes) -> bytes:
    """Return a new key and its certificate, which is signed with the key of ``authority``."""
    signing_key = serialization.load_pem_private_key(authority, None)
    assert isinstance(signing_key, ec.EllipticCurvePrivateKey)
    issuer = x509.load_pem_x509_certificate(authority).subject
    key, subject = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Another")])
    not_before, not_after = NOW - timedelta(days=1), NOW + timedelta(days=1)
    certificate = (
        x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number(), not_before, not_after)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False)
        .sign(signing_key, hashes.SHA256())
    )
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private + certificate.public_bytes(serialization.Encoding.PEM)


def test_only_the_owner_may_read_the_key(settings: Settings) -> None:
    """Only the owner may read the file with the key, and list its directory."""
    tls.server_context(settings, NOW)
    directory = settings.data_dir / "tls"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / tls.PAIR_FILE).stat().st_mode) == 0o600


def test_the_certificate_is_created_once(settings: Settings) -> None:
    """A later start uses the same certificate, even 700 of its 825 days later."""
    tls.server_context(settings, NOW)
    first = _key_and_certificate(settings)
    tls.server_context(settings, NOW + timedelta(days=700))
    assert _key_and_certificate(settings) == first


def test_a_certificate_that_expires_soon_is_replaced(settings: Settings) -> None:
    """A start in the last 30 of the 825 days of a certificate creates a new one."""
    tls.server_context(settings, NOW)
    first = _key_and_certificate(settings)
    tls.server_context(settings, NOW + timedelta(days=796))
    assert _key_and_certificate(settings) != first


def test_a_certificate_for_another_name_is_replaced(settings: Settings) -> None:
    """A start that listens at another address creates a certificate for this address."""
    tls.server_context(settings, NOW)
    first = _key_and_certificate(settings)
    tls.server_context(settings.model_copy(update={"http_host": "127.0.0.2"}), NOW)
    assert _key_and_certificate(settings) != first


def test_a_certificate_authority_is_replaced(settings: Settings) -> None:
    """A certificate of an earlier version, which may sign others, is replaced."""
    tls.server_context(settings, NOW)
    path = settings.data_dir / "tls" / tls.PAIR_FILE
    key = serialization.load_pem_private_key(path.read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    old = x509.load_pem_x509_certificate(path.read_bytes())
    names = old.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    end = NOW + timedelta(days=800)
    builder = x509.CertificateBuilder(old.subject, old.subject, key.public_key(), old.serial_number, old.not_valid_before_utc, end)
    for extension in (names, x509.BasicConstraints(ca=True, path_length=0)):
        builder = builder.add_extension(extension, critical=False)
    private = path.read_bytes().partition(b"-----BEGIN CERTIFICATE")[0]
    authority = private + builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    path.write_bytes(authority)
    tls.server_context(settings, NOW)
    assert _key_and_certificate(settings) != authority


def test_a_damaged_certificate_is_an_error(settings: Settings) -> None:
    """A damaged certificate file stops the start with an error."""
    tls.server_context(settings, NOW)
    (settings.data_dir / "tls" / tls.PAIR_FILE).write_text("no certificate")
    with pytest.raises(SettingsError, match="neither used nor created"):
        tls.server_context(settings, NOW)


def test_tls_is_disabled_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway uses plain HTTP by default. The settings for a self-signed certificate and for certificate files exclude each other."""
    monkeypatch.chdir(tmp_path)
    assert tls.server_context(load(), NOW) is None
    with pytest.raises(SettingsError, match="exclude one another"):
        load(tls="self-signed", tls_cert="a.pem", tls_key="b.pem")
