"""Data sources as workers query them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

#: Characters that an address of the form ``host:port`` cannot contain. With them it would be a path, a socket, a URL or
#: several addresses.
INVALID_ADDRESS_CHARACTERS: Final = frozenset("/?#@\\, \t\r\n%")


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """Data source with the fields that are needed to query it.

    Each change increases ``version``. ``secrets`` are decrypted and must not be shown or logged.
    """

    id: int
    org_id: int
    uid: str
    name: str
    type: str
    url: str = ""
    user: str = ""
    database: str = ""
    basic_auth: bool = False
    basic_auth_user: str = ""
    json_data: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
