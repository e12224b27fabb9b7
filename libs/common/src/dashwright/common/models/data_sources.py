"""Data sources as the services use them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

#: Characters that an address of the form host:port cannot contain. With them it would be a path, a socket, a URL or
#: several addresses.
NO_PLACE: Final = frozenset("/?#@\\, \t\r\n%")


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """Data source with everything needed to query it.

    ``version`` grows with every change. ``secrets`` are readable here, and never shown or logged.
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
