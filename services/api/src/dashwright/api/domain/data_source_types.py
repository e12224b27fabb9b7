"""The types of data sources there are. Others are kept as they come, so that what was made elsewhere can be brought here."""

from typing import Final
from urllib.parse import urlsplit

from dashwright.common.errors import BadRequest
from dashwright.common.models.data_source_types import SERVED, DataSourceType
from dashwright.common.models.data_sources import NO_PLACE

OTHER_LOGO: Final = "public/img/icn-datasource.svg"


_BY_NAME: Final = {name: kind for kind in SERVED for name in kind.names}


def type_of(given: str) -> DataSourceType:
    """The type of that name, or of that earlier name; one that is not served has nothing but its name."""
    return _BY_NAME.get(given) or DataSourceType(given, given, OTHER_LOGO)


def checked_url(kind: DataSourceType, url: str) -> str:
    """The address of a data source without blanks around it, "" for none. Raises BadRequest where queries could not be sent there."""
    trimmed = url.strip()
    if kind.is_place and set(trimmed) & NO_PLACE:
        # Not shown: a whole URL may hold a password.
        raise BadRequest(
            f"url of {kind.name} is host:port, such as db.example.com:5432; user, database and secureJsonData.password stand on their own"
        )
    if not trimmed or not kind.is_http:
        return trimmed
    shown = trimmed[:200]
    if any(character <= " " or character == "\x7f" for character in trimmed):
        raise BadRequest(f"url {shown!r} holds a blank or a control character; encode it with a percent sign")
    if "://" not in trimmed:
        raise BadRequest(f"url {shown!r} has no scheme; write http:// or https:// before it")
    try:
        parts = urlsplit(trimmed)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadRequest(f"url is no address: {error}; write it like http://host:9090") from error
    if parts.username is not None or parts.password is not None:
        raise BadRequest("url must not hold a user or password: use basicAuth, basicAuthUser and secureJsonData.basicAuthPassword")
    if parts.scheme not in ("http", "https"):
        raise BadRequest(f"url {shown!r} begins with {parts.scheme}://; {kind.name} is asked by http:// or https://")
    if not host:
        raise BadRequest(f"url {shown!r} names no host; write it like http://host:9090")
    return trimmed
