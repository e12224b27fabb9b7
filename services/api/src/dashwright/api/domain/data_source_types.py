"""Types of data sources. Data sources of unknown types are stored unchanged, so that they can be imported."""

from typing import Final
from urllib.parse import urlsplit

from dashwright.common.errors import BadRequest
from dashwright.common.models.data_source_types import TYPE_BY_NAME, DataSourceType
from dashwright.common.models.data_sources import INVALID_ADDRESS_CHARACTERS

DEFAULT_LOGO: Final = "public/img/icn-datasource.svg"
"""The logo of data sources of unknown types."""

_MAX_DISPLAYED_LENGTH: Final = 200
"""Limit on the characters of a URL that an error message quotes."""


def type_of(id_or_alias: str) -> DataSourceType:
    """Return the type with this id or alias. An unknown string results in a type with this string as id and name."""
    return TYPE_BY_NAME.get(id_or_alias) or DataSourceType(id_or_alias, id_or_alias, DEFAULT_LOGO)


def checked_url(source_type: DataSourceType, url: str) -> str:
    """Return the URL without surrounding whitespace; it may be empty. Raises BadRequest if queries could not use it."""
    stripped_url = url.strip()
    if source_type.is_host_and_port and set(stripped_url) & INVALID_ADDRESS_CHARACTERS:
        # The message does not quote the value, because a URL may contain a password.
        raise BadRequest(
            f"url of {source_type.name} must be host:port, such as db.example.com:5432; "
            "give user, database and secureJsonData.password separately"
        )
    if not stripped_url or not source_type.is_http:
        return stripped_url
    displayed_url = stripped_url[:_MAX_DISPLAYED_LENGTH]
    if any(character <= " " or character == "\x7f" for character in stripped_url):
        raise BadRequest(f"url {displayed_url!r} contains whitespace or a control character; percent-encode it")
    if "://" not in stripped_url:
        raise BadRequest(f"url {displayed_url!r} has no scheme; write http:// or https:// before it")
    try:
        parts = urlsplit(stripped_url)
        # ``urlsplit`` does not check the port; reading it raises ValueError for an invalid one.
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadRequest(f"url is invalid: {error}; write it like http://host:9090") from error
    if parts.username is not None or parts.password is not None:
        raise BadRequest("url must not contain a user or password: use basicAuth, basicAuthUser and secureJsonData.basicAuthPassword")
    if parts.scheme not in ("http", "https"):
        raise BadRequest(f"url {displayed_url!r} begins with {parts.scheme}://; {source_type.name} is accessed over http:// or https://")
    if not host:
        raise BadRequest(f"url {displayed_url!r} names no host; write it like http://host:9090")
    return stripped_url
