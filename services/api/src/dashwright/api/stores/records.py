"""Store of the records that the resource API only reads: users, teams and preferences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import orjson

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.identity import namespace_of
from dashwright.common.kinds.annotations import UPDATED_AT
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.records import PREFERENCES, TEAM, USER
from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.iam import TeamSpec, UserSpec, UserStatus
from dashwright.common.models.preferences import PreferencesSpec
from dashwright.common.stores.resources import not_found

_sql = queries.load(__package__, "records.sql")

_ID_LABEL: Final = "grafana.app/deprecatedInternalID"
_TIME_FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True, slots=True)
class RecordReader:
    """The ids of the caller who reads records: its organization and its user."""

    org_id: int
    #: 0: the caller is a token or key, which has no preferences.
    user_id: int


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A user, a team or preferences, as an object of the resource API."""

    kind: Kind
    org_id: int
    name: str
    #: The numeric id in the classic API; None for preferences.
    number: int | None
    created: datetime
    updated: datetime
    spec_model: ApiModel
    status_model: ApiModel | None = None

    @property
    def namespace(self) -> str:
        """The namespace of the organization."""
        return namespace_of(self.org_id)

    @property
    def resource_version(self) -> int:
        """The time of the last change in milliseconds, as in Grafana.

        Writes of these records have no number in the sequence of resource versions, because the change feed does not contain them.
        """
        return round(self.updated.timestamp() * 1000)

    @property
    def labels(self) -> Mapping[str, str]:
        """The numeric id, by which clients find the record in the classic API."""
        return {} if self.number is None else {_ID_LABEL: str(self.number)}

    @property
    def metadata(self) -> str:
        """The metadata as JSON."""
        metadata: dict[str, Any] = {
            "name": self.name,
            "namespace": self.namespace,
            "resourceVersion": str(self.resource_version),
            "creationTimestamp": _format(self.created),
            "annotations": {UPDATED_AT: _format(self.updated)},
        }
        return orjson.dumps(metadata | ({"labels": self.labels} if self.labels else {})).decode()

    @property
    def spec(self) -> str:
        """The spec as JSON."""
        return self.spec_model.to_json().decode()

    @property
    def status(self) -> str | None:
        """The status as JSON; None for a kind without status."""
        return None if self.status_model is None else self.status_model.to_json().decode()

    def metadata_json(self) -> str:
        """Return the metadata as JSON, including the resource version."""
        # The encoder calls this method of records and of stored objects, whose ``metadata`` has no resource version.
        return self.metadata

    def encode(self) -> bytes:
        """Return the record as JSON."""
        members = f'{{"kind":"{self.kind.kind}","apiVersion":"{self.kind.api_version()}","metadata":{self.metadata},"spec":{self.spec}'
        return (members + ("}" if self.status is None else f',"status":{self.status}}}')).encode()


class RecordPage(NamedTuple):
    """A page of records ordered by name."""

    records: Sequence[StoredRecord]
    is_last: bool


async def page(connection: Connection, kind: Kind, reader: RecordReader, *, after: str, limit: int) -> RecordPage:
    """Return at most ``limit`` records whose names come after ``after``."""
    records = await _find(connection, kind, reader, after=after, limit=limit + 1)
    return RecordPage(records[:limit], len(records) <= limit)


async def get(connection: Connection, kind: Kind, reader: RecordReader, name: str) -> StoredRecord:
    """Return the record with a name. Raises NotFound for an unknown name."""
    records = await _find(connection, kind, reader, name=name, limit=1)
    if not records:
        raise not_found(kind, name)
    return records[0]


async def _find(
    connection: Connection, kind: Kind, reader: RecordReader, *, after: str = "", name: str | None = None, limit: int
) -> Sequence[StoredRecord]:
    """Return the records whose names come after ``after``, sorted by name. With ``name``, return only the record with this name."""
    if kind is USER:
        rows = await connection.fetch(*_sql.bind("users", org_id=reader.org_id, after=after, name=name, limit=limit))
        return [_user(reader.org_id, row) for row in rows]
    if kind is TEAM:
        rows = await connection.fetch(*_sql.bind("teams", org_id=reader.org_id, after=after, name=name, limit=limit))
        return [_team(reader.org_id, row) for row in rows]
    rows = await connection.fetch(
        *_sql.bind("preferences", org_id=reader.org_id, user_id=reader.user_id, after=after, name=name, limit=limit)
    )
    return [_preferences(reader.org_id, row) for row in rows]


def _user(org_id: int, row: Any) -> StoredRecord:
    last_seen = row["last_seen_at"]
    spec = UserSpec(
        login=row["login"],
        email=row["email"],
        title=row["title"],
        role=row["role"],
        grafana_admin=row["is_admin"],
        disabled=row["is_disabled"],
    )
    status = UserStatus(last_seen_at=0 if last_seen is None else round(last_seen.timestamp()))
    return StoredRecord(USER, org_id, row["name"], row["number"], row["created"], row["updated"], spec, status)


def _team(org_id: int, row: Any) -> StoredRecord:
    spec = TeamSpec(title=row["title"], email=row["email"])
    return StoredRecord(TEAM, org_id, row["name"], row["number"], row["created"], row["updated"], spec)


def _preferences(org_id: int, row: Any) -> StoredRecord:
    extra = orjson.loads(row["extra"])
    spec = PreferencesSpec(
        theme=row["theme"],
        timezone=row["timezone"],
        week_start=row["week_start"],
        home_dashboard_uid=row["home_dashboard_uid"],
        language=extra.get("language"),
        query_history=extra.get("queryHistory"),
        navbar=extra.get("navbar"),
    )
    # Only the time of the last change is stored.
    return StoredRecord(PREFERENCES, org_id, row["name"], None, row["updated"], row["updated"], spec)


def _format(time: datetime) -> str:
    return time.astimezone(UTC).strftime(_TIME_FORMAT)
