"""Options of a list, and the ``continue`` tokens between its pages."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from dashwright.api.http.call import Call
from dashwright.common.errors import BadRequest, Cause, Gone, Invalid

MAX_PAGE_SIZE: Final = 1000
"""Limit on the objects of a page, regardless of the ``limit`` that a client sends."""

_TOKEN_FORMAT: Final = 1
"""Version of the format of tokens. Tokens of other versions are rejected, so that they are not misread."""
_EXACT: Final = "Exact"
_MATCHES: Final = (_EXACT, "NotOlderThan")
"""Values of ``resourceVersionMatch``."""

MAX_BIGINT: Final = 2**63 - 1
"""The largest value of the column type bigint."""
_MAX_DIGITS: Final = 18
"""Number of digits that always fit into a bigint."""


@dataclass(frozen=True, slots=True)
class Position:
    """The position at the end of a page, which the ``continue`` token of the page contains."""

    #: The resource version of the list, the same for all its pages.
    resource_version: int
    #: The name of the last object.
    last_name: str = ""
    #: Number of objects on later pages; None if it is not counted.
    remaining_items: int | None = None
    #: The namespace of the last object, for a list over all namespaces.
    namespace: str = ""

    def token(self) -> str:
        """Return the ``continue`` token."""
        members = {
            "v": _TOKEN_FORMAT,
            "at": self.resource_version,
            "after": self.last_name,
            "left": self.remaining_items,
            "namespace": self.namespace or None,
        }
        return encode_token({key: value for key, value in members.items() if value is not None})


@dataclass(frozen=True, slots=True)
class ListOptions:
    """The options of a list request."""

    #: The page size; None for the complete list.
    limit: int | None = None
    #: The position to continue from; None for the first page.
    position: Position | None = None
    #: The minimum resource version of the list; 0 if the request has none.
    resource_version: int = 0
    #: The list must be of exactly ``resource_version``.
    is_exact: bool = False


def list_options_of(call: Call) -> ListOptions:
    """Return the list options in the query. Raises BadRequest for invalid values, Invalid for mutually exclusive parameters."""
    limit, token = integer_parameter(call, "limit"), call.query.get("continue", "")
    resource_version, match = integer_parameter(call, "resourceVersion"), call.query.get("resourceVersionMatch", "")
    if match:
        _check_match(match, resource_version, has_version=bool(call.query.get("resourceVersion")), is_continuation=bool(token))
    if token and resource_version:
        raise BadRequest("specifying resource version is not allowed when using continue")
    # As in Kubernetes, a limit of 0 requests the complete list.
    return ListOptions(limit or None, _parse_token(token) if token else None, resource_version, match == _EXACT)


def _check_match(match: str, resource_version: int, *, has_version: bool, is_continuation: bool) -> None:
    """Raise Invalid for a ``resourceVersionMatch`` that is unknown, or that Kubernetes forbids with the other parameters.

    ``has_version`` distinguishes a sent ``resourceVersion`` of 0 from a missing one.
    """
    if is_continuation:
        message = "Forbidden: resourceVersionMatch is forbidden when continue is provided"
    elif not has_version:
        message = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
    elif match not in _MATCHES:
        message = f"Unsupported value: {match[:40]!r}: supported values: {', '.join(_MATCHES)}"
    elif match == _EXACT and not resource_version:
        message = 'Forbidden: resourceVersionMatch "Exact" is forbidden for resourceVersion "0"'
    else:
        return
    reason = "FieldValueNotSupported" if message.startswith("Unsupported") else "FieldValueForbidden"
    raise Invalid(f"resourceVersionMatch: {message}", causes=[Cause("resourceVersionMatch", reason, message)])


def integer_parameter(call: Call, name: str) -> int:
    """Return a query parameter as an integer, 0 if it is missing. Raises BadRequest if it is not a non-negative integer."""
    value = call.query.get(name, "")
    if value and not (value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS):
        raise BadRequest(f"{name} {value[:40]!r} is not a non-negative integer; send one, or leave it out")
    return int(value or 0)


def _parse_token(token: str) -> Position:
    """Return the position in a ``continue`` token. Raises BadRequest for an invalid token."""
    members = decode_token(token)
    try:
        token_format = members["v"]
        resource_version = members["at"]
        last_name = members["after"]
    except KeyError as error:
        raise invalid_token_error() from error
    remaining_items, namespace = members.get("left"), members.get("namespace", "")
    are_valid_integers = all(
        isinstance(integer, int) and 0 <= integer <= MAX_BIGINT for integer in (resource_version, remaining_items or 0)
    )
    # PostgreSQL refuses NUL characters and lone surrogates, neither of which is printable.
    are_valid_strings = all(isinstance(string, str) and string.isprintable() for string in (last_name, namespace))
    if token_format != _TOKEN_FORMAT or not are_valid_integers or not are_valid_strings:
        raise invalid_token_error()
    return Position(resource_version, last_name, remaining_items, namespace)


def encode_token(members: Mapping[str, Any]) -> str:
    """Return a ``continue`` token with these members."""
    return base64.urlsafe_b64encode(orjson.dumps(members)).decode()


def decode_token(token: str) -> dict[str, Any]:
    """Return the members of a ``continue`` token. Raises BadRequest for an invalid token."""
    try:
        members = orjson.loads(base64.urlsafe_b64decode(token))
    # ValueError also covers tokens that are not ASCII, and content that is not JSON.
    except (binascii.Error, ValueError) as error:
        raise invalid_token_error() from error
    if not isinstance(members, dict):
        raise invalid_token_error()
    return members


def invalid_token_error() -> BadRequest:
    """Return the error for a token that this server did not issue."""
    return BadRequest("the continue token was not issued by this server; list again from the start")


def expired_token_error(position: Position, newest_version: int) -> Gone:
    """Return the error for a token whose resource version is too old. It contains a token that continues at the newest version."""
    return Gone(
        "the continue token is too old for a consistent list: list again from the start, or continue with the token in this response, "
        "which may skip objects created and repeat objects changed since the first page",
        details={"continue": Position(newest_version, position.last_name, None, position.namespace).token()},
    )
