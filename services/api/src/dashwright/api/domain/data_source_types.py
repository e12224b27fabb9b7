"""Types of data sources. Data sources of unknown types are stored unchanged, so that they can be imported."""

from typing import Final
from urllib.parse import urlsplit

from dashwright.common.errors import BadRequest
from dashwright.common.models.data_source_types import SERVED, DataSourceType
from dashwright.common.models.data_sources import NO_PLACE

OTHER_LOGO: Final = "public/img/icn-datasource.svg"


_BY_NAME: Final = {name: kind for kind in SERVED for name in kind.names}


def type_of(given: str) -> DataSourceType:
    """Return the type with this id or alias. For an unknown type, return one with this name as its id and the default logo."""
    return _BY_NAME.get(given) or DataSourceType(given, given, OTHER_LOGO)


def checked_url(kind: DataSourceType, url: str) -> str:
    """Return the URL without surrounding whitespace; it may be empty. Raises BadRequest if queries could not use it."""
    trimmed = url.strip()
    if kind.is_place and set(trimmed) & NO_PLACE:
        # The value is not quoted, because a whole URL may contain a password.
        raise BadRequest(
            f"url of {kind.name} must be host:port, such as db.example.com:5432; give user, database and secureJsonData.password separately"
        )
    if not trimmed or not kind.is_http:
        return trimmed
    shown = trimmed[:200]
    if any(character <= " " or character == "\x7f" for character in trimmed):
        raise BadRequest(f"url {shown!r} contains whitespace or a control character; percent-encode it")
    if "://" not in trimmed:
        raise BadRequest(f"url {shown!r} has no scheme; write http:// or https:// before it")
    try:
        parts = urlsplit(trimmed)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadRequest(f"url is invalid: {error}; write it like http://host:9090") from error
    if parts.username is not None or parts.password is not None:
        raise BadRequest("url must not contain a user or password: use basicAuth, basicAuthUser and secureJsonData.basicAuthPassword")
    if parts.scheme not in ("http", "https"):
        raise BadRequest(f"url {shown!r} begins with {parts.scheme}://; {kind.name} is accessed over http:// or https://")
    if not host:
        raise BadRequest(f"url {shown!r} names no host; write it like http://host:9090")
    return trimmed
