"""URL, authentication headers and TLS settings of requests to a data source over HTTP."""

import base64
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import parse_qsl

from cachetools import LRUCache
from yarl import URL

from dashwright.common.errors import BadRequest
from dashwright.common.models.data_sources import SourceRecord

_MAX_CACHED_CREDENTIALS: Final = 64

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: Characters of Latin-1 except the control characters of ASCII.
_HEADER_VALUE: Final = re.compile(r"[ -~\x80-\xff]*")
#: Headers about the transfer of a message, which a data source must not set.
_FORBIDDEN_HEADERS: Final = frozenset({"host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect"})


@dataclass(frozen=True, slots=True)
class SourceCredentials:
    """Headers and TLS settings of requests to a data source."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tls: ssl.SSLContext | None = None
    server_name: str = ""  #: The name that the certificate must have; empty for the host of the URL.

    def tls_for(self, url: URL) -> ssl.SSLContext | bool:
        """Return the TLS context of a request. True, the default of aiohttp, verifies the certificate."""
        return (self.tls or True) if url.scheme == "https" else True

    def server_name_for(self, url: URL) -> str | None:
        """Return the name that the certificate of a server must have; None without TLS."""
        return (self.server_name or url.raw_host) if url.scheme == "https" else None


class CredentialsCache:
    """A cache of the credentials of recently used records.

    Reading certificates is slow, and connections are reused only with the same TLS context.
    """

    def __init__(self) -> None:
        # By organization, id and version of the record.
        self._credentials: LRUCache[tuple[int, int, int], SourceCredentials] = LRUCache(_MAX_CACHED_CREDENTIALS)

    def get(self, record: SourceRecord) -> SourceCredentials:
        """Return the credentials of a record. Raises BadRequest if they are invalid; the message has no secrets."""
        key = record.org_id, record.id, record.version
        credentials = self._credentials.get(key)
        if credentials is None:
            credentials = SourceCredentials(_headers(record), _tls(record), str(record.json_data.get("serverName") or ""))
            self._credentials[key] = credentials
        return credentials


def source_url(record: SourceRecord, path: str) -> URL:
    """Return the URL of ``path`` below the URL of the data source, with its custom parameters.

    ``path`` is decoded. Raises BadRequest if the URL of the data source is invalid.
    """
    url = _base_url(record)
    custom_parameters = parse_qsl(str(record.json_data.get("customQueryParameters") or ""), keep_blank_values=True)
    query = [*url.query.items(), *custom_parameters]
    return url.with_user(None).with_fragment(None).with_path(f"{url.path.rstrip('/')}/{path}").with_query(query)


def _base_url(record: SourceRecord) -> URL:
    """Return the URL of a data source. Raises BadRequest if it is invalid."""
    try:
        url = URL(record.url.strip())
        is_complete = url.scheme in {"http", "https"} and bool(url.host) and url.port is not None
    except ValueError as error:
        raise _settings_error(record, "its URL cannot be read") from error
    if not is_complete:
        raise _settings_error(record, "its URL must be like https://prometheus.example.com:9090")
    return url


def _headers(record: SourceRecord) -> dict[str, str]:
    """Return the headers for authentication, and the custom headers of a record. Raises BadRequest if one is invalid."""
    headers = {}
    url = _base_url(record)
    if record.basic_auth:
        headers["Authorization"] = _basic_authorization(record.basic_auth_user, record.secrets.get("basicAuthPassword", ""))
    elif url.user is not None:
        headers["Authorization"] = _basic_authorization(url.user, url.password or "")
    index = 1
    while (name := record.json_data.get(f"httpHeaderName{index}")) is not None:
        value = record.secrets.get(f"httpHeaderValue{index}", "").strip()
        if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name) or name.lower() in _FORBIDDEN_HEADERS:
            raise _settings_error(record, f"httpHeaderName{index} is not a header that can be set")
        if not _HEADER_VALUE.fullmatch(value):
            raise _settings_error(record, f"httpHeaderValue{index} holds characters that no header can hold")
        headers[name] = value
        index += 1
    return headers


def _basic_authorization(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _tls(record: SourceRecord) -> ssl.SSLContext | None:
    """Return the TLS context of a record, or None if it has no TLS options. Raises BadRequest if a certificate is invalid."""
    options, secrets = record.json_data, record.secrets
    if not any(map(options.get, ("tlsSkipVerify", "tlsAuthWithCACert", "tlsAuth"))):
        return None
    try:
        context = ssl.create_default_context(cadata=_secret_if(options, "tlsAuthWithCACert", secrets, "tlsCACert"))
        if options.get("tlsSkipVerify"):
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if (certificate := _secret_if(options, "tlsAuth", secrets, "tlsClientCert")) is not None:
            _load_client_certificate(context, certificate, secrets.get("tlsClientKey", ""))
    except (ssl.SSLError, ValueError, OSError) as error:
        reason = error.reason if isinstance(error, ssl.SSLError) else type(error).__name__
        raise _settings_error(record, f"its TLS certificates or key cannot be read ({reason}); give them as PEM text") from None
    return context


def _secret_if(options: Mapping[str, Any], option: str, secrets: Mapping[str, str], name: str) -> str | None:
    """Return the secret ``name`` if the option ``option`` is true, else None."""
    return secrets.get(name, "") if options.get(option) else None


def _load_client_certificate(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """Load the client certificate and its key into the context."""
    # The ssl module reads keys from files only. This file is readable by its owner only, and deleted immediately.
    with TemporaryDirectory(prefix="dashwright-tls-") as folder:
        pair_file = Path(folder, "pair.pem")
        pair_file.touch(0o600)
        pair_file.write_text(f"{certificate}\n{key}\n")
        # Without a password, OpenSSL would prompt for the password of an encrypted key at the terminal.
        context.load_cert_chain(pair_file, password="")


def _settings_error(record: SourceRecord, reason: str) -> BadRequest:
    return BadRequest(f"the data source {record.name!r:.80} cannot be used: {reason}; correct the data source")
