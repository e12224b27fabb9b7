"""Context of a request to the expressions worker: the endpoint that was called, the caller and the options."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

_ALL = "*"


class QueryEndpoint(StrEnum):
    """The endpoint of the gateway that a client called."""

    QUERY = "query"  #: ``POST /api/ds/query``, which tolerates unknown properties of saved panels.
    PANEL = "panel"  #: ``POST /api/panels/query`` and evaluations as jobs. Invalid properties are errors.
    VALIDATION = "validation"  #: ``POST /api/panels/validate``. It checks queries without running them.
    VALIDATIONS = "validations"  #: Validation of several panels, one in each line of the body. Used for submitted evaluations.
    HEALTH = "health"  #: The health of a data source. The body is ``{"uid": …}``.


@dataclass(frozen=True, slots=True)
class QueryContext:
    """The caller, the rights and the options of a request to the expressions worker."""

    endpoint: QueryEndpoint = QueryEndpoint.QUERY
    lenient: bool = False  #: True if an unknown property is a warning instead of an error.
    explain: bool = False  #: True if the response describes how the results were computed.
    transform: bool = False  #: True if the response contains the frames after the panel's transformations, too.
    accept: str = ""  #: The ``Accept`` header of the client.
    org_id: int = 0  #: The organization whose data sources may be queried; 0 for none.
    uids: frozenset[str] | None = None  #: Uids of the data sources that may be queried; None for all.
    fresh: bool = False  #: True if the results must not come from a cache.
    readable: frozenset[str] | None = None  #: Uids of the data sources whose settings the caller may read; None for all.
    panel_id: int | None = None  #: Panel of a picture whose queries these are. It is not sent to another process.

    def may_read(self, uid: str) -> bool:
        """Return whether errors may show the address of the data source."""
        return self.readable is None or uid in self.readable

    def may_query(self, uid: str) -> bool:
        """Return whether the caller may query the data source."""
        return self.uids is None or uid in self.uids

    def headers(self) -> dict[str, str | int | bool]:
        """Return the context as headers of a message, without headers whose value is the default of ``from_headers``.

        Each AMQP header takes noticeable time to encode and decode, compared with the other work for a small request.
        """
        headers: dict[str, str | int | bool] = {
            "door": "" if self.endpoint is QueryEndpoint.QUERY else self.endpoint.value,  # the name of this header in all versions
            "lenient": self.lenient,
            "explain": self.explain,
            "transform": self.transform,
            "accept": self.accept,
            "org_id": self.org_id,
            "fresh": self.fresh,
            "readable": _ALL if self.readable is None else json.dumps(sorted(self.readable)),
            "uids": "" if self.uids is None else json.dumps(sorted(self.uids)),
        }
        return {name: value for name, value in headers.items() if value}

    @staticmethod
    def from_headers(headers: Mapping[str, object]) -> "QueryContext":
        """Return the context from the headers of a message.

        Without ``org_id`` no data source may be queried, and without ``uids`` all those of the organization. Raises ValueError for
        an unknown endpoint.
        """
        org_id, uids, readable = headers.get("org_id"), headers.get("uids"), str(headers.get("readable", "[]"))
        return QueryContext(
            QueryEndpoint(str(headers.get("door", QueryEndpoint.QUERY))),
            lenient=bool(headers.get("lenient")),
            explain=bool(headers.get("explain")),
            transform=bool(headers.get("transform")),
            accept=str(headers.get("accept", "")),
            org_id=org_id if isinstance(org_id, int) else 0,
            uids=None if uids is None else frozenset(json.loads(str(uids))),
            fresh=bool(headers.get("fresh")),
            readable=None if readable == _ALL else frozenset(json.loads(readable)),
        )
