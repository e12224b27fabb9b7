"""What the gateway asks the expressions worker beside the body: by which door the request came, and how to answer it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

_ALL = "*"


class QueryEndpoint(StrEnum):
    """By which door a request came.

    ``query`` is ``/api/ds/query``, which forgives what saved panels hold; ``panel`` is strict; ``validation`` runs nothing; ``health``
    asks whether the data source ``{"uid": …}`` works.
    """

    QUERY = "query"
    PANEL = "panel"
    VALIDATION = "validation"
    HEALTH = "health"


@dataclass(frozen=True, slots=True)
class QueryContext:
    """Beside the body of a request.

    ``lenient``: unlisted properties are warnings. ``explain``: tell how it ran. ``accept``: the client's header of that name.
    ``org_id``: the organization whose data sources may be asked, 0 for none; ``uids``: which of them, None for all.
    ``fresh``: no answer that was given before. ``readable``: the data sources whose settings the caller may read, None for all;
    of others no error names an address.
    """

    endpoint: QueryEndpoint = QueryEndpoint.QUERY
    lenient: bool = False
    explain: bool = False
    accept: str = ""
    org_id: int = 0
    uids: frozenset[str] | None = None
    fresh: bool = False
    readable: frozenset[str] | None = None

    def may_read(self, uid: str) -> bool:
        return self.readable is None or uid in self.readable

    def may_query(self, uid: str) -> bool:
        return self.uids is None or uid in self.uids

    def headers(self) -> dict[str, str | int | bool]:
        """As the headers of the message."""
        headers: dict[str, str | int | bool] = {
            "door": self.endpoint.value,
            "lenient": self.lenient,
            "explain": self.explain,
            "accept": self.accept,
            "org_id": self.org_id,
            "fresh": self.fresh,
            "readable": _ALL if self.readable is None else json.dumps(sorted(self.readable)),
        }
        return headers if self.uids is None else headers | {"uids": json.dumps(sorted(self.uids))}

    @staticmethod
    def of(headers: Mapping[str, object]) -> "QueryContext":
        """From the headers of a message; a missing one takes its default, and grants
        nothing. Raises ValueError for a door that is not known."""
        org_id, uids, readable = headers.get("org_id"), headers.get("uids"), str(headers.get("readable", "[]"))
        return QueryContext(
            QueryEndpoint(str(headers.get("door", QueryEndpoint.QUERY))),
            lenient=bool(headers.get("lenient")),
            explain=bool(headers.get("explain")),
            accept=str(headers.get("accept", "")),
            org_id=org_id if isinstance(org_id, int) else 0,
            uids=None if uids is None else frozenset(json.loads(str(uids))),
            fresh=bool(headers.get("fresh")),
            readable=None if readable == _ALL else frozenset(json.loads(readable)),
        )
