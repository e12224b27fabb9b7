"""Options of a list: its size, the position to start from and the version."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from dashwright.api.http.call import Call
from dashwright.common.errors import BadRequest, Cause, Gone, Invalid

LARGEST_PAGE: Final = 1000
"""Maximum number of objects per page, whatever ``limit`` a client sends."""

_FORMAT: Final = 1
"""Version of the members of a token. Tokens of other versions are rejected, so that they are not misread."""
_EXACT: Final = "Exact"
_MATCHES: Final = (_EXACT, "NotOlderThan")


@dataclass(frozen=True, slots=True)
class Position:
    """The end of a page, which its ``continue`` token holds."""

    #: The version of the whole list.
    at: int
    #: The name of the last object.
    after: str = ""
    #: Number of objects after it; None if it is not counted.
    left: int | None = None
    #: The namespace of the last object, for a list over all namespaces.
    namespace: str = ""

    def token(self) -> str:
        """Return the ``continue`` token."""
        members = {"v": _FORMAT, "at": self.at, "after": self.after, "left": self.left, "namespace": self.namespace or None}
        return encode_token({key: value for key, value in members.items() if value is not None})


@dataclass(frozen=True, slots=True)
class ListOptions:
    """The options that a request sent."""

    #: None: the whole list.
    limit: int | None = None
    position: Position | None = None
    #: The list must be at least this recent; 0 if the request gave none, for the newest.
    version: int = 0
    #: The list is of exactly ``version``.
    is_exact: bool = False


def list_options_of(call: Call) -> ListOptions:
    """Return the options in the query. Raises BadRequest for invalid values, Invalid for mutually exclusive parameters."""
    limit, token = number_of(call, "limit"), call.query.get("continue", "")
    version, match = number_of(call, "resourceVersion"), call.query.get("resourceVersionMatch", "")
    if match:
        _check_match(match, version, given=bool(call.query.get("resourceVersion")), continued=bool(token))
    if token and version:
        raise BadRequest("specifying resource version is not allowed when using continue")
    return ListOptions(limit or None, _position(token) if token else None, version, match == _EXACT)


def _check_match(match: str, version: int, *, given: bool, continued: bool) -> None:
    if continued:
        text = "Forbidden: resourceVersionMatch is forbidden when continue is provided"
    elif not given:
        text = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
    elif match not in _MATCHES:
        text = f"Unsupported value: {match[:40]!r}: supported values: {', '.join(_MATCHES)}"
    elif match == _EXACT and not version:
        text = 'Forbidden: resourceVersionMatch "Exact" is forbidden for resourceVersion "0"'
    else:
        return
    reason = "FieldValueNotSupported" if text.startswith("Unsupported") else "FieldValueForbidden"
    raise Invalid(f"resourceVersionMatch: {text}", causes=[Cause("resourceVersionMatch", reason, text)])


def number_of(call: Call, name: str) -> int:
    """Return a query parameter as an integer, 0 if it is missing. Raises BadRequest if it is not a non-negative integer."""
    text = call.query.get(name, "")
    # 18 digits always fit into a bigint.
    if text and not (text.isascii() and text.isdigit() and len(text) < 19):
        raise BadRequest(f"{name} {text[:40]!r} is not a non-negative integer; send one, or leave it out")
    return int(text or 0)


def _position(token: str) -> Position:
    value = decode_token(token)
    try:
        version, at, after = value["v"], value["at"], value["after"]
    except KeyError as error:
        raise invalid_token() from error
    left, namespace = value.get("left"), value.get("namespace", "")
    are_numbers = all(isinstance(number, int) and 0 <= number < 2**63 for number in (at, left or 0))
    are_texts = all(isinstance(text, str) and text.isprintable() for text in (after, namespace))
    if version != _FORMAT or not are_numbers or not are_texts:
        raise invalid_token()
    return Position(at, after, left, namespace)


def encode_token(members: Mapping[str, Any]) -> str:
    """Return a ``continue`` token with these members."""
    return base64.urlsafe_b64encode(orjson.dumps(members)).decode()


def decode_token(token: str) -> dict[str, Any]:
    """Return the members of a ``continue`` token. Raises BadRequest for an invalid token."""
    try:
        members = orjson.loads(base64.urlsafe_b64decode(token))
    except (binascii.Error, ValueError) as error:
        raise invalid_token() from error
    if not isinstance(members, dict):
        raise invalid_token()
    return members


def invalid_token() -> BadRequest:
    """Return the error for a token that this server did not issue."""
    return BadRequest("the continue token was not issued by this server; list again from the start")


def expired_token(position: Position, newest: int) -> Gone:
    """Return the error for a token whose version is no longer known. It carries a token that continues at the newest version."""
    return Gone(
        "the continue token is too old for a consistent list: list again from the start, or continue with the token in this response, "
        "which may skip objects created and repeat objects changed since the first page",
        details={"continue": Position(newest, position.after, None, position.namespace).token()},
    )
