"""What a request says of the list it wants: how much of it, from where on, and of which version."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from dashwright.api.http.call import Call
from dashwright.common.errors import BadRequest, Cause, Gone, Invalid

LARGEST_PAGE: Final = 1000
"""Objects of one page, whatever limit a client names."""

_FORMAT: Final = 1
_EXACT: Final = "Exact"
_MATCHES: Final = (_EXACT, "NotOlderThan")


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page ended, as its ``continue`` token says.

    ``at`` is the version of the whole list, ``after`` the last object's name, ``left`` how many follow (None: nobody knows), ``namespace``
    where it lies, of a list over all of them.
    """

    at: int
    after: str = ""
    left: int | None = None
    namespace: str = ""

    def token(self) -> str:
        members = {"v": _FORMAT, "at": self.at, "after": self.after, "left": self.left, "namespace": self.namespace or None}
        return encode_token({key: value for key, value in members.items() if value is not None})


@dataclass(frozen=True, slots=True)
class ListOptions:
    """``limit`` None: everything. ``version``: the list is to be no older, and with ``is_exact`` of that very one; 0: the newest."""

    limit: int | None = None
    position: Position | None = None
    version: int = 0
    is_exact: bool = False


def list_options_of(call: Call) -> ListOptions:
    """Reads the query. Raises BadRequest for what cannot be read, and Invalid for parameters that exclude one another."""
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
    """A parameter of the query; 0 where it is not given. Raises BadRequest."""
    text = call.query.get(name, "")
    if text and not (text.isascii() and text.isdigit() and len(text) < 19):
        raise BadRequest(f"{name} {text[:40]!r} is not a whole number; leave it out, or send one that is not negative")
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
    """A ``continue`` token."""
    return base64.urlsafe_b64encode(orjson.dumps(members)).decode()


def decode_token(token: str) -> dict[str, Any]:
    """What a ``continue`` token holds. Raises BadRequest for a text that is none."""
    try:
        members = orjson.loads(base64.urlsafe_b64decode(token))
    except (binascii.Error, ValueError) as error:
        raise invalid_token() from error
    if not isinstance(members, dict):
        raise invalid_token()
    return members


def invalid_token() -> BadRequest:
    return BadRequest("the continue token is not one of ours; list again from the start")


def expired_token(position: Position, newest: int) -> Gone:
    """The refusal of a token whose version is not known any more, with one that goes on at the newest."""
    return Gone(
        "the continue token is too old for a consistent list: list again from the start, or go on with the token that comes with this "
        "answer, and miss what was made or see twice what was changed since",
        details={"continue": Position(newest, position.after, None, position.namespace).token()},
    )
