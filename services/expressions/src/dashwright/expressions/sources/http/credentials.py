"""Address, headers and TLS of a data source on record."""

import base64
import re
import ssl
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import parse_qsl

from yarl import URL

from dashwright.common.errors import BadRequest
from dashwright.common.models.data_sources import SourceRecord

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: Headers that describe how a message is transferred; a data source must not change them.
_OURS: Final = frozenset({"host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect"})

_CONTEXTS: Final = 64


@dataclass(frozen=True, slots=True)
class HttpCredentials:
    """Headers and TLS of requests to a data source."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tls: ssl.SSLContext | None = None
    server_name: str = ""  #: The name that the certificate must have, if it is not the host of the address.


class CredentialsCache:
    """Credentials of the most recent records.

    Reading certificates takes time, and connections are reused only with the same TLS context.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, int, int], HttpCredentials] = OrderedDict()

    def of(self, record: SourceRecord) -> HttpCredentials:
        """Return the credentials of a record. Raises BadRequest, without any secret in its text, if they are invalid."""
        key = record.org_id, record.id, record.version
        access = self._known.pop(key, None) or HttpCredentials(
            _headers(record), _tls(record), str(record.json_data.get("serverName") or "")
        )
        self._known[key] = access
        if len(self._known) > _CONTEXTS:
            self._known.popitem(last=False)
        return access


def address_of(record: SourceRecord, path: str) -> URL:
    """Return the address of ``path`` below that of the data source, with its extra parameters. Raises BadRequest."""
    url = _url(record)
    extra = parse_qsl(str(record.json_data.get("customQueryParameters") or ""), keep_blank_values=True)
    query = [*url.query.items(), *extra]
    return url.with_user(None).with_fragment(None).with_path(f"{url.path.rstrip('/')}/{path}").with_query(query)


def _url(record: SourceRecord) -> URL:
    try:
        url = URL(record.url.strip())
        complete = url.scheme in {"http", "https"} and bool(url.host) and url.port is not None
    except ValueError as error:
        raise _unusable(record, "its URL cannot be read") from error
    if not complete:
        raise _unusable(record, "its URL must be like https://prometheus.example.com:9090")
    return url


def _headers(record: SourceRecord) -> dict[str, str]:
    headers = {}
    url = _url(record)
    if record.basic_auth:
        headers["Authorization"] = _basic(record.basic_auth_user, record.secrets.get("basicAuthPassword", ""))
    elif url.user is not None:
        headers["Authorization"] = _basic(url.user, url.password or "")
    number = 1
    while (name := record.json_data.get(f"httpHeaderName{number}")) is not None:
        value = record.secrets.get(f"httpHeaderValue{number}", "").strip()
        if not isinstance(name, str) or not _TOKEN.fullmatch(name) or name.lower() in _OURS:
            raise _unusable(record, f"httpHeaderName{number} is not a header that can be set")
        if any(ord(character) < ord(" ") or ord(character) > 0xFF or ord(character) == 0x7F for character in value):
            raise _unusable(record, f"httpHeaderValue{number} holds characters that no header can hold")
        headers[name] = value
        number += 1
    return headers


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _tls(record: SourceRecord) -> ssl.SSLContext | None:
    options, secrets = record.json_data, record.secrets
    if not any(map(options.get, ("tlsSkipVerify", "tlsAuthWithCACert", "tlsAuth"))):
        return None
    try:
        context = ssl.create_default_context(cadata=_given(options, "tlsAuthWithCACert", secrets, "tlsCACert"))
        if options.get("tlsSkipVerify"):
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if (certificate := _given(options, "tlsAuth", secrets, "tlsClientCert")) is not None:
            _load(context, certificate, secrets.get("tlsClientKey", ""))
    except (ssl.SSLError, ValueError, OSError) as error:
        reason = error.reason if isinstance(error, ssl.SSLError) else type(error).__name__
        raise _unusable(record, f"its TLS certificates or key cannot be read ({reason}); give them as PEM text") from None
    return context


def _given(options: Mapping[str, Any], switch: str, secrets: Mapping[str, str], name: str) -> str | None:
    return secrets.get(name, "") if options.get(switch) else None


def _load(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """Load the certificate and its key."""
    # The library reads keys from files only: this one is readable by its owner only, and deleted right after.
    with TemporaryDirectory(prefix="dashwright-tls-") as folder:
        pair = Path(folder, "pair.pem")
        pair.touch(0o600)
        pair.write_text(f"{certificate}\n{key}\n")
        # Without a password OpenSSL would prompt for that of an encrypted key at the terminal.
        context.load_cert_chain(pair, password="")


def _unusable(record: SourceRecord, what: str) -> BadRequest:
    return BadRequest(f"the data source {record.name!r:.80} cannot be used: {what}; correct the data source")
