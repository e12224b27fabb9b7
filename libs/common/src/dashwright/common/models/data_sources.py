"""Data sources as the services know them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

NO_PLACE: Final = frozenset("/?#@\\, \t\r\n%")
"""What an address that is host:port holds none of: it would be a path, a socket, a whole URL, or several addresses."""


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """A data source with what is needed to ask it.

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
