"""Conversion of rows of organizations, users, keys, teams, quotas, data sources, preferences and stars, without I/O.

A converter is named after its table in Grafana.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import orjson

from dashwright.api.auth import key_material
from dashwright.common.identity import Role
from dashwright.common.models.quotas import TARGETS, Scope
from dashwright.standalone.importing.fields import UNKNOWN_TIME, Row, flag, integer, optional_string, string, timestamp

#: A valid uid of a data source. Another uid is replaced by a generated one.
_UID_PATTERN: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
_TABLE_BY_REFERENCE_COLUMN: Final = {"org_id": "org", "user_id": "user", "service_account_id": "user", "team_id": "team"}
_TEAM_MEMBER, _TEAM_ADMIN = 0, 4  # Grafana's permissions of a team membership.
_SECRET_COLUMNS: Final = ("password", "basic_auth_password")


@dataclass(frozen=True, slots=True)
class Record:
    """A row to write to a table of the target."""

    #: The name of the table, both in Grafana and here.
    table: str
    #: The key of the row in Grafana.
    key: str
    columns: Mapping[str, Any]
    #: The organization that the row belongs to; 0 if it belongs to none.
    org_id: int = 0
    #: The time of the row's last change in Grafana.
    updated: datetime = UNKNOWN_TIME
    #: The number of the row's secrets, which cannot be imported.
    lost_secrets: int = 0

    @property
    def references(self) -> Iterator[tuple[str, int]]:
        """The table and id of each row that this row refers to."""
        for column, table in _TABLE_BY_REFERENCE_COLUMN.items():
            row_id = self.columns.get(column)
            # The current organization of a user is not a reference: it may be deleted or not imported.
            if isinstance(row_id, int) and row_id and not (self.table == "user" and column == "org_id"):
                yield table, row_id

    @property
    def label(self) -> str:
        """The name of the row in messages."""
        return str(self.columns.get("login") or self.columns.get("name") or self.key)


@dataclass(frozen=True, slots=True)
class SkippedRow:
    """A row that is not imported, and the reason."""

    table: str
    key: str
    reason: str
    org_id: int = 0


@dataclass(frozen=True, slots=True)
class ObjectNames:
    """Names of imported objects, to which rows in Grafana refer by id."""

    #: Names of dashboards by their ids in Grafana.
    dashboards: Mapping[int, str] = field(default_factory=dict)


RowConverter = Callable[[Row, ObjectNames], "Record | SkippedRow"]


def _times(row: Row) -> dict[str, datetime]:
    """Return the columns ``created`` and ``updated`` of the target."""
    created = timestamp(row, "created") or UNKNOWN_TIME
    return {"created": created, "updated": timestamp(row, "updated") or created}


def _record(table: str, row: Row, columns: dict[str, Any], *, org_id: int, key: str = "", lost_secrets: int = 0) -> Record:
    """Return a record with the times of the row, for a table that has both. The key is by default the row's id."""
    times = _times(row)
    return Record(table, key or str(integer(row, "id")), {**columns, **times}, org_id, times["updated"], lost_secrets)


def org(row: Row, _: ObjectNames) -> Record:
    """Convert an organization."""
    org_id = integer(row, "id")
    address = {
        name: optional_string(row, name) for name in ("address1", "address2", "city", "state", "zip_code", "country", "billing_email")
    }
    columns = {"id": org_id, "version": integer(row, "version"), "name": string(row, "name"), **address}
    return _record("org", row, columns, org_id=org_id)


def user(row: Row, _: ObjectNames) -> Record:
    """Convert a user or service account. A password hash that Dashwright cannot verify is not imported."""
    user_id, login = integer(row, "id"), string(row, "login") or string(row, "email")
    is_service_account = flag(row, "is_service_account")
    password = string(row, "password")
    has_password = not is_service_account and key_material.is_secret_hash(password)
    columns = {
        "id": user_id,
        "version": integer(row, "version"),
        "login": login,
        "email": string(row, "email") or f"{login}@localhost",
        "name": string(row, "name"),
        "password": password if has_password else None,
        "salt": optional_string(row, "salt") if has_password else None,
        "rands": optional_string(row, "rands") if has_password else None,
        "company": optional_string(row, "company"),
        "theme": string(row, "theme"),
        "org_id": integer(row, "org_id"),
        "is_admin": flag(row, "is_admin") and not is_service_account,
        "is_disabled": flag(row, "is_disabled"),
        "email_verified": flag(row, "email_verified"),
        "help_flags1": integer(row, "help_flags1"),
        "is_service_account": is_service_account,
        "last_seen_at": timestamp(row, "last_seen_at"),
    }
    uid = string(row, "uid")
    # Without a uid, the column's default generates one.
    return _record("user", row, {**columns, **({"uid": uid} if uid else {})}, org_id=0)


def org_user(row: Row, _: ObjectNames) -> Record:
    """Convert a membership of an organization. An unknown role becomes None, the role without permissions."""
    org_id, user_id = integer(row, "org_id"), integer(row, "user_id")
    role = string(row, "role")
    columns = {"org_id": org_id, "user_id": user_id, "role": role if role in set(Role) else Role.NONE.value}
    return _record("org_user", row, columns, org_id=org_id, key=f"{org_id}/{user_id}")


def team(row: Row, _: ObjectNames) -> Record:
    """Convert a team."""
    org_id, uid = integer(row, "org_id"), string(row, "uid")
    columns = {"id": integer(row, "id"), "org_id": org_id, "name": string(row, "name"), "email": string(row, "email")}
    return _record("team", row, {**columns, **({"uid": uid} if uid else {})}, org_id=org_id)


def team_member(row: Row, _: ObjectNames) -> Record:
    """Convert a membership of a team. A member with an unknown permission becomes an ordinary member."""
    org_id, team_id, user_id = integer(row, "org_id"), integer(row, "team_id"), integer(row, "user_id")
    permission = _TEAM_ADMIN if integer(row, "permission") == _TEAM_ADMIN else _TEAM_MEMBER
    columns = {"org_id": org_id, "team_id": team_id, "user_id": user_id, "permission": permission}
    return Record("team_member", f"{team_id}/{user_id}", columns, org_id)


def api_key(row: Row, _: ObjectNames) -> Record:
    """Convert a legacy API key or service account token with its hash, so that the secret remains valid."""
    org_id, role = integer(row, "org_id"), string(row, "role")
    columns = {
        "id": integer(row, "id"),
        "org_id": org_id,
        "name": string(row, "name"),
        "key": string(row, "key"),
        "role": role if role in set(Role) else Role.NONE.value,
        "expires": integer(row, "expires") or None,
        "service_account_id": integer(row, "service_account_id") or None,
        "last_used_at": timestamp(row, "last_used_at"),
        "is_revoked": flag(row, "is_revoked"),
    }
    return _record("api_key", row, columns, org_id=org_id)


def quota(row: Row, _: ObjectNames) -> Record | SkippedRow:
    """Convert a quota. A quota that Dashwright does not have is skipped."""
    org_id, user_id, target = integer(row, "org_id"), integer(row, "user_id"), string(row, "target")
    key = f"{org_id}/{user_id}/{target}"
    scope = Scope.ORG if org_id else Scope.USER
    has_one_owner = bool(org_id) != bool(user_id)
    if not has_one_owner or target not in TARGETS[scope]:
        return SkippedRow("quota", key, f"there is no quota {target!r} for this kind of owner", org_id)
    # -1 means unlimited.
    columns = {"org_id": org_id, "user_id": user_id, "target": target, "limit": max(integer(row, "limit"), -1)}
    return _record("quota", row, columns, org_id=org_id, key=key)


def data_source(row: Row, _: ObjectNames) -> Record:
    """Convert a data source without its secrets, which are encrypted with a key of the Grafana server."""
    org_id, uid = integer(row, "org_id"), string(row, "uid")
    columns = {
        "id": integer(row, "id"),
        "org_id": org_id,
        "name": string(row, "name"),
        "type": string(row, "type"),
        "access": "direct" if string(row, "access") == "direct" else "proxy",
        "url": string(row, "url"),
        "user": string(row, "user"),
        "database": string(row, "database"),
        "basic_auth": flag(row, "basic_auth"),
        "basic_auth_user": string(row, "basic_auth_user"),
        "with_credentials": flag(row, "with_credentials"),
        "is_default": flag(row, "is_default"),
        "json_data": _json_object_or_empty(string(row, "json_data")),
        "version": max(integer(row, "version"), 1),
    }
    encrypted_secrets = _parse_object(string(row, "secure_json_data"))
    lost_secrets = len(encrypted_secrets) + sum(1 for column in _SECRET_COLUMNS if string(row, column))
    return _record(
        "data_source", row, {**columns, **({"uid": uid} if _UID_PATTERN.fullmatch(uid) else {})}, org_id=org_id, lost_secrets=lost_secrets
    )


def preferences(row: Row, object_names: ObjectNames) -> Record:
    """Convert the preferences of a user, a team or an organization."""
    org_id, user_id, team_id = integer(row, "org_id"), integer(row, "user_id"), integer(row, "team_id")
    stored_preferences = _parse_object(string(row, "json_data"))
    extra = {name: stored_preferences[name] for name in ("language", "queryHistory", "navbar") if name in stored_preferences}
    home = optional_string(row, "home_dashboard_uid") or object_names.dashboards.get(integer(row, "home_dashboard_id"))
    columns = {
        "org_id": org_id,
        "user_id": user_id,
        "team_id": team_id,
        "home_dashboard_uid": home,
        "theme": optional_string(row, "theme"),
        "timezone": optional_string(row, "timezone"),
        "week_start": optional_string(row, "week_start"),
        "extra": extra,
    }
    # The table has no column ``created``.
    updated = _times(row)["updated"]
    return Record("preferences", f"{org_id}/{user_id}/{team_id}", {**columns, "updated": updated}, org_id, updated)


def star(row: Row, object_names: ObjectNames) -> Record | SkippedRow:
    """Convert a star. A star of a dashboard that does not exist is skipped."""
    user_id, dashboard_id = integer(row, "user_id"), integer(row, "dashboard_id")
    uid = string(row, "dashboard_uid") or object_names.dashboards.get(dashboard_id)
    org_id = integer(row, "org_id") or 1  # Older databases have no such column.
    if not uid:
        return SkippedRow("star", f"{user_id}/{dashboard_id}", "its dashboard does not exist", org_id)
    return Record("star", f"{user_id}/{org_id}/{uid}", {"user_id": user_id, "org_id": org_id, "dashboard_uid": uid}, org_id)


def _parse_object(json_text: str) -> dict[str, Any]:
    """Return the JSON object in a column; an empty one if the column has no JSON object."""
    try:
        value = orjson.loads(json_text or "{}")
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _json_object_or_empty(json_text: str) -> str:
    """Return the text unchanged, so that numbers keep their notation, or ``{}`` if it is not a JSON object."""
    return json_text if _parse_object(json_text) else "{}"
