"""Databases with those tables of Grafana that an import reads: an SQLite file or a PostgreSQL schema."""

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import asyncpg

#: Columns by table. The type follows a colon; columns without one are texts.
_COLUMNS: Final[Mapping[str, str]] = {
    "org": "id:int version:int name address1 city zip_code billing_email created:time updated:time",
    "user": "id:int version:int login email name password salt rands company org_id:int is_admin:bool email_verified:bool theme "
    "help_flags1:int created:time updated:time last_seen_at:time is_disabled:bool is_service_account:bool uid",
    "org_user": "id:int org_id:int user_id:int role created:time updated:time",
    "team": "id:int uid org_id:int name email created:time updated:time",
    "team_member": "id:int org_id:int team_id:int user_id:int permission:int created:time updated:time",
    "api_key": "id:int org_id:int name key role created:time updated:time expires:int service_account_id:int last_used_at:time "
    "is_revoked:bool",
    "quota": "id:int org_id:int user_id:int target limit:int created:time updated:time",
    "data_source": "id:int org_id:int version:int type name access url password user database basic_auth:bool basic_auth_user "
    "basic_auth_password is_default:bool json_data created:time updated:time with_credentials:bool secure_json_data read_only:bool uid",
    "folder": "id:int uid org_id:int title description parent_uid created:time updated:time",
    "dashboard": "id:int version:int slug title data org_id:int created:time updated:time updated_by:int created_by:int folder_id:int "
    "is_folder:bool has_acl:bool uid folder_uid deleted:time",
    "dashboard_version": "id:int dashboard_id:int parent_version:int restored_from:int version:int created:time created_by:int message "
    "data",
    "dashboard_acl": "id:int org_id:int dashboard_id:int user_id:int team_id:int permission:int role created:time updated:time",
    "library_element": "id:int org_id:int folder_id:int uid name kind:int type description model created:time created_by:int updated:time "
    "updated_by:int version:int folder_uid",
    "preferences": "id:int org_id:int user_id:int team_id:int version:int home_dashboard_id:int timezone theme week_start json_data "
    "created:time updated:time",
    "star": "id:int user_id:int dashboard_id:int org_id:int dashboard_uid",
    "role": "id:int name version:int org_id:int uid created:time updated:time",
    "permission": "id:int role_id:int action scope created:time updated:time",
    "resource": "guid group resource namespace name value",
}
_TYPES: Final = {
    "sqlite": {"": "text", "int": "integer", "bool": "boolean", "time": "datetime"},
    "postgres": {"": "text", "int": "bigint", "bool": "boolean", "time": "timestamp"},
}

#: Rows by table. Columns that a row does not name are null; times are texts.
Rows = Mapping[str, Sequence[Mapping[str, Any]]]


def make_sqlite(path: Path, rows: Rows) -> str:
    """Create an SQLite file with these rows and only their tables; return its path."""
    with sqlite3.connect(path) as connection:
        for table, table_rows in rows.items():
            connection.execute(_create_table_statement(table, "sqlite"))
            for row in table_rows:
                names = ", ".join(f'"{name}"' for name in row)
                connection.execute(f'insert into "{table}" ({names}) values ({", ".join("?" * len(row))})', tuple(row.values()))
    connection.close()
    return str(path)


async def make_postgres(url: str, rows: Rows) -> None:
    """Create these tables and rows in a PostgreSQL database."""
    connection = await asyncpg.connect(url)
    try:
        for table, table_rows in rows.items():
            await connection.execute(_create_table_statement(table, "postgres"))
            for row in table_rows:
                names = ", ".join(f'"{name}"' for name in row)
                placeholders = ", ".join(f"${position}" for position in range(1, len(row) + 1))
                values = [_value(table, name, value) for name, value in row.items()]
                await connection.execute(f'insert into "{table}" ({names}) values ({placeholders})', *values)
    finally:
        await connection.close()


def _create_table_statement(table: str, kind: str) -> str:
    """Return the statement that creates a table in a kind of database."""
    columns = (column.partition(":") for column in _COLUMNS[table].split())
    column_list = ", ".join(f'"{name}" {_TYPES[kind][type_name]}' for name, _, type_name in columns)
    return f'create table "{table}" ({column_list})'


def _value(table: str, name: str, value: Any) -> Any:
    """Return a value in the type that the PostgreSQL driver requires for its column."""
    type_name = next(column.partition(":")[2] for column in _COLUMNS[table].split() if column.partition(":")[0] == name)
    if type_name == "time" and value is not None:
        return datetime.fromisoformat(value).replace(tzinfo=None)
    return bool(value) if type_name == "bool" and value is not None else value
