"""Conversion of rows of organizations, users, keys, teams, quotas and data sources. Pure."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from dashwright.api.auth import key_material
from dashwright.common.identity import Role
from dashwright.common.models.quotas import TARGETS, Scope
from dashwright.standalone.importing.fields import Row, flag, moment, some_text, text, whole

_UNKNOWN_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)
_UID: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
_REFERENCES: Final = {"org_id": "org", "user_id": "user", "service_account_id": "user", "team_id": "team"}
_SECRET_COLUMNS: Final = ("password", "basic_auth_password")


@dataclass(frozen=True, slots=True)
class Record:
    """A row to write."""

    #: The name of the table, both in Grafana and here.
    table: str
    #: The key of the row in Grafana.
    key: str
    columns: Mapping[str, Any]
    #: The organization that the row belongs to; 0: none in particular.
    org_id: int = 0
    #: The time of its last change.
    updated: datetime = _UNKNOWN_TIME
    lost_secrets: int = 0

    @property
    def refers_to(self) -> Iterator[tuple[str, int]]:
        """The rows that it refers to, as (table, number)."""
        for column, table in _REFERENCES.items():
            number = self.columns.get(column)
            if isinstance(number, int) and number and not (self.table == "user" and column == "org_id"):
                yield table, number

    @property
    def label(self) -> str:
        """The name for messages."""
        return str(self.columns.get("login") or self.columns.get("name") or self.key)


@dataclass(frozen=True, slots=True)
class SkippedRow:
    """A row that is not imported, and the reason."""

    table: str
    key: str
    reason: str
    org_id: int = 0


@dataclass(frozen=True, slots=True)
class Names:
    """Names for what rows refer to by number."""

    #: Uids of dashboards by their number in Grafana.
    dashboards: Mapping[int, str] = field(default_factory=dict)


Read = Callable[[Row, Names], "Record | SkippedRow"]


def _times(row: Row) -> dict[str, datetime]:
    created = moment(row, "created") or _UNKNOWN_TIME
    return {"created": created, "updated": moment(row, "updated") or created}


def _record(table: str, row: Row, columns: dict[str, Any], *, org_id: int, key: str = "", lost_secrets: int = 0) -> Record:
    times = _times(row)
    return Record(table, key or str(whole(row, "id")), {**columns, **times}, org_id, times["updated"], lost_secrets)


def org(row: Row, _: Names) -> Record:
    """Convert an organization."""
    number = whole(row, "id")
    address = {name: some_text(row, name) for name in ("address1", "address2", "city", "state", "zip_code", "country", "billing_email")}
    columns = {"id": number, "version": whole(row, "version"), "name": text(row, "name"), **address}
    return _record("org", row, columns, org_id=number)


def user(row: Row, _: Names) -> Record:
    """Convert a user or service account. The password hash is kept; a user without one here gets none."""
    number, login = whole(row, "id"), text(row, "login") or text(row, "email")
    is_account = flag(row, "is_service_account")
    password = text(row, "password")
    has_password = not is_account and key_material.is_stored(password)
    columns = {
        "id": number,
        "version": whole(row, "version"),
        "login": login,
        "email": text(row, "email") or f"{login}@localhost",
        "name": text(row, "name"),
        "password": password if has_password else None,
        "salt": some_text(row, "salt") if has_password else None,
        "rands": some_text(row, "rands") if has_password else None,
        "company": some_text(row, "company"),
        "theme": text(row, "theme"),
        "org_id": whole(row, "org_id"),
        "is_admin": flag(row, "is_admin") and not is_account,
        "is_disabled": flag(row, "is_disabled"),
        "email_verified": flag(row, "email_verified"),
        "help_flags1": whole(row, "help_flags1"),
        "is_service_account": is_account,
        "last_seen_at": moment(row, "last_seen_at"),
    }
    uid = text(row, "uid")
    return _record("user", row, {**columns, **({"uid": uid} if uid else {})}, org_id=0)


def org_user(row: Row, _: Names) -> Record:
    """Convert a membership."""
    org_id, user_id = whole(row, "org_id"), whole(row, "user_id")
    role = text(row, "role")
    columns = {"org_id": org_id, "user_id": user_id, "role": role if role in set(Role) else Role.NONE.value}
    return _record("org_user", row, columns, org_id=org_id, key=f"{org_id}/{user_id}")


def team(row: Row, _: Names) -> Record:
    """Convert a team."""
    org_id, uid = whole(row, "org_id"), text(row, "uid")
    columns = {"id": whole(row, "id"), "org_id": org_id, "name": text(row, "name"), "email": text(row, "email")}
    return _record("team", row, {**columns, **({"uid": uid} if uid else {})}, org_id=org_id)


def team_member(row: Row, _: Names) -> Record:
    """Convert a team membership. Permission 4, of a team admin, is kept; any other one becomes a member's."""
    org_id, team_id, user_id = whole(row, "org_id"), whole(row, "team_id"), whole(row, "user_id")
    columns = {"org_id": org_id, "team_id": team_id, "user_id": user_id, "permission": 4 if whole(row, "permission") == 4 else 0}
    return Record("team_member", f"{team_id}/{user_id}", columns, org_id)


def api_key(row: Row, _: Names) -> Record:
    """Convert a legacy key or token. The hash is kept, so that the secret remains valid."""
    org_id, role = whole(row, "org_id"), text(row, "role")
    columns = {
        "id": whole(row, "id"),
        "org_id": org_id,
        "name": text(row, "name"),
        "key": text(row, "key"),
        "role": role if role in set(Role) else Role.NONE.value,
        "expires": whole(row, "expires") or None,
        "service_account_id": whole(row, "service_account_id") or None,
        "last_used_at": moment(row, "last_used_at"),
        "is_revoked": flag(row, "is_revoked"),
    }
    return _record("api_key", row, columns, org_id=org_id)


def quota(row: Row, _: Names) -> Record | SkippedRow:
    """Convert a quota."""
    org_id, user_id, target = whole(row, "org_id"), whole(row, "user_id"), text(row, "target")
    key = f"{org_id}/{user_id}/{target}"
    scope = Scope.ORG if org_id else Scope.USER
    if bool(org_id) == bool(user_id) or target not in TARGETS[scope]:
        return SkippedRow("quota", key, f"there is no quota {target!r} for this kind of owner", org_id)
    columns = {"org_id": org_id, "user_id": user_id, "target": target, "limit": max(whole(row, "limit"), -1)}
    return _record("quota", row, columns, org_id=org_id, key=key)


def data_source(row: Row, _: Names) -> Record:
    """Convert a data source without its secrets, which are encrypted with a key of the old server."""
    org_id, uid = whole(row, "org_id"), text(row, "uid")
    columns = {
        "id": whole(row, "id"),
        "org_id": org_id,
        "name": text(row, "name"),
        "type": text(row, "type"),
        "access": "direct" if text(row, "access") == "direct" else "proxy",
        "url": text(row, "url"),
        "user": text(row, "user"),
        "database": text(row, "database"),
        "basic_auth": flag(row, "basic_auth"),
        "basic_auth_user": text(row, "basic_auth_user"),
        "with_credentials": flag(row, "with_credentials"),
        "is_default": flag(row, "is_default"),
        "json_data": _object_text(text(row, "json_data")),
        "version": max(whole(row, "version"), 1),
    }
    sealed = _object(text(row, "secure_json_data"))
    lost = len(sealed) + sum(1 for column in _SECRET_COLUMNS if text(row, column))
    return _record("data_source", row, {**columns, **({"uid": uid} if _UID.fullmatch(uid) else {})}, org_id=org_id, lost_secrets=lost)


def preferences(row: Row, names: Names) -> Record:
    """Convert preferences."""
    org_id, user_id, team_id = whole(row, "org_id"), whole(row, "user_id"), whole(row, "team_id")
    chosen = _object(text(row, "json_data"))
    extra = {name: chosen[name] for name in ("language", "queryHistory", "navbar") if name in chosen}
    home = some_text(row, "home_dashboard_uid") or names.dashboards.get(whole(row, "home_dashboard_id"))
    columns = {
        "org_id": org_id,
        "user_id": user_id,
        "team_id": team_id,
        "home_dashboard_uid": home,
        "theme": some_text(row, "theme"),
        "timezone": some_text(row, "timezone"),
        "week_start": some_text(row, "week_start"),
        "extra": extra,
    }
    updated = _times(row)["updated"]
    return Record("preferences", f"{org_id}/{user_id}/{team_id}", {**columns, "updated": updated}, org_id, updated)


def star(row: Row, names: Names) -> Record | SkippedRow:
    """Convert a star."""
    user_id, number = whole(row, "user_id"), whole(row, "dashboard_id")
    uid = text(row, "dashboard_uid") or names.dashboards.get(number)
    org_id = whole(row, "org_id") or 1
    if not uid:
        return SkippedRow("star", f"{user_id}/{number}", "its dashboard does not exist", org_id)
    return Record("star", f"{user_id}/{org_id}/{uid}", {"user_id": user_id, "org_id": org_id, "dashboard_uid": uid}, org_id)


def _object(content: str) -> dict[str, Any]:
    try:
        found = orjson.loads(content or "{}")
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _object_text(content: str) -> str:
    return content if _object(content) else "{}"
