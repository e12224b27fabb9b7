"""Address and TLS settings of a PostgreSQL data source, from its record."""

import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from dashwright.common.errors import BadRequest
from dashwright.common.models.data_sources import INVALID_ADDRESS_CHARACTERS, SourceRecord

_DEFAULT_PORT = 5432
_SSL_MODES = ("disable", "require", "verify-ca", "verify-full")
#: Settings that name files, with the secrets that replace them.
_FILE_SETTINGS = {"sslRootCertFile": "tlsCACert", "sslCertFile": "tlsClientCert", "sslKeyFile": "tlsClientKey"}


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server and the credentials for it."""

    host: str
    port: int
    user: str
    database: str
    password: str = field(repr=False)
    tls: ssl.SSLContext | None = None  #: None for an unencrypted connection.


class _NamedContext(ssl.SSLContext):
    """A context that verifies certificates for the host ``name``, because connections use its resolved address."""

    name: str

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        """Return the TLS object for ``name`` instead of the host in the options."""
        return super().wrap_bio(*arguments, **{**options, "server_hostname": self.name})


def address_of(record: SourceRecord) -> Address:
    """Return the address in a record. Raises BadRequest."""
    host, port = _host_and_port(record.url)
    if not record.user:
        raise BadRequest("the data source names no user; set user to a role that may only read")
    database = str(record.json_data.get("database") or record.database or record.user)
    return Address(host, port, record.user, database, record.secrets.get("password", ""), _tls(record.json_data, record.secrets, host))


def _host_and_port(url: str) -> tuple[str, int]:
    address = url.strip()
    try:
        parts = urlsplit(f"//{address}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    # Addresses with these characters are refused, because parsers disagree on their host.
    if not host or not INVALID_ADDRESS_CHARACTERS.isdisjoint(address):
        raise BadRequest(
            "the address of the data source is not host:port, such as db.example.com:5432 or [2001:db8::1]:5432 "
            "(sockets, paths and whole URLs are not supported)"
        )
    return host, port or _DEFAULT_PORT


def _tls(options: Mapping[str, Any], secrets: Mapping[str, str], host: str) -> ssl.SSLContext | None:
    """Return the TLS context for the settings, None for the mode ``disable``. Raises BadRequest if they are invalid."""
    mode = str(options.get("sslmode") or "require").strip().lower()
    if mode not in _SSL_MODES:
        raise BadRequest(f"sslmode {mode[:40]!r} is not supported; use one of {', '.join(_SSL_MODES)}")
    if mode == "disable":
        return None
    if options.get("tlsConfigurationMethod") != "file-content":
        for setting, secret in _FILE_SETTINGS.items():
            if options.get(setting):
                raise BadRequest(
                    f"{setting} names a file of this server, which is not read; put its content into secureJsonData.{secret} "
                    "and set jsonData.tlsConfigurationMethod to file-content"
                )
    return _context(mode, secrets, host)


def _context(mode: str, secrets: Mapping[str, str], host: str) -> ssl.SSLContext:
    """Return the TLS context for a mode that encrypts. Raises BadRequest if a certificate or key is invalid."""
    authority = secrets.get("tlsCACert", "")
    context = _NamedContext(ssl.PROTOCOL_TLS_CLIENT)
    context.name = host
    context.check_hostname = mode == "verify-full"
    # As in libpq, a configured authority is verified even if the mode does not require it.
    if mode == "require" and not authority:
        context.verify_mode = ssl.CERT_NONE
    try:
        if authority:
            context.load_verify_locations(cadata=authority)
        else:
            context.load_default_certs()
    except (ssl.SSLError, ValueError) as error:
        raise BadRequest("tlsCACert is not a certificate in PEM form; paste the whole file, with its BEGIN and END lines") from error
    _load_client_certificate(context, secrets.get("tlsClientCert", ""), secrets.get("tlsClientKey", ""))
    return context


def _load_client_certificate(context: ssl.SSLContext, certificate: str, key: str) -> None:
    if bool(certificate) != bool(key):
        raise BadRequest("tlsClientCert and tlsClientKey go together; give both or neither")
    if not certificate:
        return
    # The ssl module reads keys from files only. This file is readable by its owner only, and deleted immediately.
    with tempfile.NamedTemporaryFile("w", prefix="dashwright-") as file:
        file.write(f"{certificate}\n{key}\n")
        file.flush()
        try:
            context.load_cert_chain(file.name, password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            advice = "give both in PEM form, the key without a password"
            raise BadRequest(f"tlsClientCert and tlsClientKey cannot be used: they are unreadable or do not match; {advice}") from error


def _no_password() -> str:
    """Return no password, so that OpenSSL does not prompt for one at the terminal."""
    return ""
