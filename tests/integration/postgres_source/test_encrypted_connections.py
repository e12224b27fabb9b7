"""TLS to a data source: encrypted as configured, and verified against the configured name, not against the address."""

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.integration.postgres_source.conftest import RANGE, Warehouse, column_values, patient_limits, sql_query

from dashwright.common.errors import SourceFailed, TooLarge
from dashwright.common.models.data_sources import SourceRecord
from dashwright.expressions.sources.postgres.connections import Connections
from dashwright.expressions.sources.postgres.source import Postgres

#: The message with which a client asks for encryption: its length, and the code that PostgreSQL defines for it.
_SSL_REQUEST = struct.pack("!ii", 8, 80877103)


@dataclass(frozen=True)
class KeyPair:
    """A certificate with its key, both as PEM."""

    certificate: str
    key: str


class Authority:
    """A certificate authority."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Test authority")])
        self._certificate = self._sign(self._name, self._key, x509.BasicConstraints(ca=True, path_length=None))
        self.pem = self._certificate.public_bytes(serialization.Encoding.PEM).decode()

    def issue(self, name: str) -> KeyPair:
        """Return a new key with a certificate for a name."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        certificate = self._sign(subject, key, x509.SubjectAlternativeName([x509.DNSName(name)]))
        key_pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return KeyPair(certificate.public_bytes(serialization.Encoding.PEM).decode(), key_pem.decode())

    def _sign(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType) -> x509.Certificate:
        """Return a certificate for a name and its key, valid from yesterday to tomorrow."""
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).add_extension(extension, critical=True)
        builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        return builder.sign(self._key, hashes.SHA256())


AUTHORITY = Authority()
SERVER, CLIENT = AUTHORITY.issue("db.test"), AUTHORITY.issue("reader")


class TlsProxy:
    """A TLS proxy before a real server without TLS. Records the server names that clients request."""

    def __init__(self, upstream: tuple[str, int], folder: Path) -> None:
        self._upstream = upstream
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        (folder / "server.pem").write_text(SERVER.certificate + SERVER.key)
        self._tls.load_cert_chain(folder / "server.pem")
        self._tls.sni_callback = lambda _object, name, _context: self.requested_names.append(name)
        self._tls.load_verify_locations(cadata=AUTHORITY.pem)
        self._tls.verify_mode = ssl.CERT_OPTIONAL
        self.requested_names: list[str | None] = []
        self.clients: list[Any] = []
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[Any] | None] = set()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Encrypt a connection that requests it, and forward it to the server; close any other one."""
        self._tasks.add(asyncio.current_task())
        self._writers.append(writer)
        with suppress(OSError, asyncio.IncompleteReadError):
            if await reader.readexactly(8) != _SSL_REQUEST:
                return
            writer.write(b"S")  # accepts encryption
            await writer.drain()
            await writer.start_tls(self._tls)
            self.clients.append(writer.get_extra_info("peercert"))
            upstream_reader, upstream_writer = await asyncio.open_connection(*self._upstream)
            self._writers.append(upstream_writer)
            await asyncio.gather(_forward(reader, upstream_writer), _forward(upstream_reader, writer))

    async def close(self) -> None:
        """Close all connections, and wait until they are closed."""
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*[task for task in self._tasks if task])


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Forward one direction of a connection until it ends."""
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


class LoopbackResolver:
    """A resolver that returns the loopback for every name, like a name server that an attacker controls."""

    async def resolve(self, host: str, port: int, *, encrypted: bool = True) -> list[IPv4Address]:
        """Return the loopback address."""
        assert encrypted
        return [IPv4Address("127.0.0.1")]


@dataclass(frozen=True)
class TlsServer:
    """A proxy, and the data source that connects to it by the name ``db.test``."""

    proxy: TlsProxy
    record: SourceRecord


@asynccontextmanager
async def open_tls_server(warehouse: Warehouse, folder: Path) -> AsyncIterator[TlsServer]:
    """Run a proxy before the server of the database."""
    host, _, port = warehouse.address.rpartition(":")
    proxy = TlsProxy((host, int(port)), folder)
    server = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
    try:
        yield TlsServer(proxy, replace(warehouse.record, url=f"db.test:{server.sockets[0].getsockname()[1]}"))
    finally:
        server.close()
        await proxy.close()


@pytest.fixture
async def tls_server(warehouse: Warehouse, tmp_path: Path) -> AsyncIterator[TlsServer]:
    """Run a proxy during the test."""
    async with open_tls_server(warehouse, tmp_path) as created:
        yield created


def with_mode(record: SourceRecord, mode: str, **secrets: str) -> SourceRecord:
    """Return a data source with an ``sslmode``, and with certificates and keys as further secrets."""
    options = {**record.json_data, "sslmode": mode, "tlsConfigurationMethod": "file-content"}
    return replace(record, json_data=options, secrets={**record.secrets, **secrets})


async def check_health(record: SourceRecord) -> str:
    """Check the health of a data source, and return the message."""
    connections = Connections(LoopbackResolver())
    try:
        return await Postgres(record, connections).health()
    finally:
        await connections.close()


@pytest.mark.parametrize("mode", ["require", "verify-ca", "verify-full"])
async def test_a_certificate_is_verified_for_the_configured_name(tls_server: TlsServer, mode: str) -> None:
    """The certificate is verified for the configured name, although the connection is made to the checked address."""
    assert await check_health(with_mode(tls_server.record, mode, tlsCACert=AUTHORITY.pem)) == "Database Connection OK"
    assert tls_server.proxy.requested_names == ["db.test"]


@pytest.mark.parametrize(
    ("mode", "name", "authority", "message"),
    [
        ("verify-full", "other.test", AUTHORITY, "certificate .* cannot be verified .*other.test"),
        ("verify-full", "db.test", Authority(), "certificate .* cannot be verified"),
        ("verify-ca", "db.test", Authority(), "certificate .* cannot be verified"),
        ("require", "db.test", Authority(), "certificate .* cannot be verified"),
        ("verify-full", "db.test", None, "certificate .* cannot be verified"),
    ],
    ids=["other name", "other authority", "verify-ca", "require", "without authority"],
)
async def test_an_unknown_certificate_or_name_is_refused(
    tls_server: TlsServer, mode: str, name: str, authority: Authority | None, message: str
) -> None:
    """A certificate of another authority or name is refused, and the error names the cause."""
    record = with_mode(tls_server.record, mode, **({"tlsCACert": authority.pem} if authority else {}))
    with pytest.raises(SourceFailed, match=message):
        await check_health(replace(record, url=record.url.replace("db.test", name)))


@pytest.mark.parametrize(("mode", "name"), [("require", "other.test"), ("verify-ca", "other.test")])
async def test_the_name_is_verified_only_if_configured(tls_server: TlsServer, mode: str, name: str) -> None:
    """The mode ``verify-ca`` does not verify the name. The mode ``require`` without an authority verifies nothing."""
    record = with_mode(tls_server.record, mode, **({"tlsCACert": AUTHORITY.pem} if mode == "verify-ca" else {}))
    assert await check_health(replace(record, url=record.url.replace("db.test", name))) == "Database Connection OK"


async def test_a_client_certificate_is_sent(tls_server: TlsServer) -> None:
    """A configured client certificate is sent to the server."""
    record = with_mode(tls_server.record, "verify-full", tlsCACert=AUTHORITY.pem, tlsClientCert=CLIENT.certificate, tlsClientKey=CLIENT.key)
    await check_health(record)
    await check_health(with_mode(tls_server.record, "verify-full", tlsCACert=AUTHORITY.pem))
    assert [bool(client) for client in tls_server.proxy.clients] == [True, False]


async def test_a_server_without_tls_is_refused(warehouse: Warehouse) -> None:
    """A record that requires encryption never gets an unencrypted connection."""
    record = replace(warehouse.record, json_data={"sslmode": "require"})
    with pytest.raises(SourceFailed, match="check host, port and sslmode"):
        await check_health(record)


def test_encryption_works_on_uvloop(warehouse: Warehouse, tmp_path: Path) -> None:
    """On uvloop, an encrypted query is limited in size, and cancelled on the server, as on asyncio's own loop."""

    async def run_query() -> None:
        """Run a query with a complete result, a query with a too large one, and a query that is cancelled."""
        async with open_tls_server(warehouse, tmp_path) as tls_server:
            connections = Connections(LoopbackResolver())
            source = Postgres(with_mode(tls_server.record, "verify-full", tlsCACert=AUTHORITY.pem), connections)
            (frame,) = await source.query(sql_query("select n from generate_series(1, 50000) n"), RANGE, patient_limits())
            assert column_values(frame)["n"] == list(range(1, 50_001))
            with pytest.raises(TooLarge):
                await source.query(sql_query("select repeat('x', 9000000)"), RANGE, patient_limits(source_bytes=100_000))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await source.query(sql_query("select pg_sleep(600)"), RANGE, patient_limits())
            count_active = "select count(*) as n from pg_stat_activity where query = 'select pg_sleep(600)' and state = 'active'"
            (frame,) = await source.query(sql_query(count_active), RANGE, patient_limits())
            assert column_values(frame)["n"] == [0]
            await connections.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run_query())
