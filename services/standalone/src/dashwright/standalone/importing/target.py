"""The database that an import writes to in one transaction, and its record of earlier imports."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, Final

import asyncpg
import orjson

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.identity import namespace_of
from dashwright.common.kinds.registry import LIBRARY_PANEL
from dashwright.common.stores import resources
from dashwright.standalone.importing.access import Grantee, ProtectedObject
from dashwright.standalone.importing.accounts import Record
from dashwright.standalone.importing.objects import ImportedObject, Version, VersionNote
from dashwright.standalone.importing.report import Outcome, Report

_sql = queries.load(__package__, "target.sql")

#: The columns of the primary keys that are not ``id``, by table.
_KEY_COLUMNS: Final = {
    "org_user": ("org_id", "user_id"),
    "team_member": ("team_id", "user_id"),
    "quota": ("org_id", "user_id", "target"),
    "preferences": ("org_id", "user_id", "team_id"),
    "star": ("user_id", "org_id", "dashboard_uid"),
}
#: Tables without the column ``updated``, so that a change here cannot be detected by its time.
_TABLES_WITHOUT_TIME: Final = frozenset({"team_member", "star"})
_TABLE_BY_RESOURCE: Final = {"dashboards": "dashboard", "folders": "folder", LIBRARY_PANEL.plural: "library_element"}
#: The columns of the temporary table ``facts``, in the order of ``_facts_row``.
_FACT_COLUMNS: Final = (
    *("api_group", "resource", "name", "uid", "number", "generation", "created_at", "created_by", "updated_at", "updated_by", "message"),
    *("parent", "restored"),
)


@dataclass(frozen=True, slots=True)
class _EarlierImport:
    """The record of the last import of one row."""

    #: The SHA-256 of the converted row.
    digest: bytes
    #: The generation of an object, or the time of the last change of another row, as written by that import.
    state: str


class Target:
    """A Dashwright database within the transaction of an import."""

    def __init__(self, connection: Connection, report: Report) -> None:
        self._connection = connection
        self._report = report
        self._imports_by_table: dict[str, dict[str, _EarlierImport]] = {}
        self.refused_ids: dict[str, set[int]] = {}
        """Ids of refused rows by table. Rows that refer to them are not imported: the id may belong to another row here."""

    async def prepare(self) -> None:
        """Configure the transaction and create the temporary tables."""
        await self._connection.execute(_sql.configure_transaction)
        await self._connection.execute(_sql.create_facts_table)
        self._staging = resources.StagedWrites(self._connection)
        await self._staging.create_table()

    async def is_fresh(self) -> bool:
        """Return whether the database contains only what a first start creates."""
        return bool(await self._connection.fetchval(_sql.is_fresh))

    async def delete_first_account(self, *, user: bool, org: bool) -> None:
        """Delete the user and organization that a first start created, whose ids the imported ones need."""
        if user:
            await self._connection.execute(_sql.delete_first_user)
        if org:
            await self._connection.execute(_sql.delete_first_org)

    async def put(self, record: Record) -> bool:
        """Write a row of an account table and return whether the row exists now."""
        columns = orjson.dumps(dict(record.columns), option=orjson.OPT_SORT_KEYS)
        digest = hashlib.sha256(columns).digest()
        earlier_import = (await self._earlier_imports(record.table)).get(record.key)
        if earlier_import is not None and earlier_import.digest == digest:
            self._report.count(record.table, Outcome.UNCHANGED)
            return True
        if missing_owners := [f"{table} {row_id}" for table, row_id in record.references if row_id in self.refused_ids.get(table, ())]:
            self._report.add_remark(
                record.table, record.key, Outcome.SKIPPED, f"it belongs to {' and '.join(missing_owners)}, which was not imported"
            )
            return False
        expected_updated = None
        if earlier_import is not None:
            # For a table without times, any time permits the update of the row.
            has_time = record.table not in _TABLES_WITHOUT_TIME
            expected_updated = datetime.fromisoformat(earlier_import.state) if has_time else record.updated
        statement = _upsert_statement(record.table, tuple(record.columns))
        try:
            # A savepoint, so that a refused row does not abort the whole import.
            async with self._connection.transaction():
                is_written = bool(await self._connection.fetchval(statement, columns.decode(), expected_updated))
        except asyncpg.ForeignKeyViolationError:
            self._report.add_remark(record.table, record.key, Outcome.SKIPPED, "its owner does not exist here")
            return False
        except asyncpg.UniqueViolationError as error:
            return self._refuse(record, f"it conflicts with an existing row: {error.detail}")
        except (asyncpg.CheckViolationError, asyncpg.NotNullViolationError, asyncpg.DataError) as error:
            return self._refuse(record, f"it has an invalid value: {error}")
        if not is_written and earlier_import is None:
            return self._refuse(record, "its id is in use here")
        if not is_written:
            self._report.add_remark(record.table, record.key, Outcome.KEPT, "it was changed or deleted here since it was imported")
            return True
        self._report.count(record.table, Outcome.IMPORTED if earlier_import is None else Outcome.UPDATED)
        await self._connection.execute(_sql.record_import, record.table, record.key, digest, record.updated.isoformat())
        return True

    def _refuse(self, record: Record, reason: str) -> bool:
        """Report a refused row, and return False, because the row does not exist."""
        if (row_id := record.columns.get("id")) is not None:
            self.refused_ids.setdefault(record.table, set()).add(row_id)
        self._report.add_remark(record.table, record.key, Outcome.REFUSED, f"{record.label!r}: {reason}")
        return False

    async def put_objects(
        self, org_id: int, objects: Sequence[ImportedObject], notes: Mapping[str, VersionNote]
    ) -> Sequence[ImportedObject]:
        """Write objects of one kind and organization, and return those that were created or updated.

        ``notes`` are the notes on the current generations of dashboards, by the keys of the objects.
        """
        namespace, kind = namespace_of(org_id), objects[0].kind
        table = _TABLE_BY_RESOURCE[kind.plural]
        if org_id in self.refused_ids.get("org", ()):
            for item in objects:
                self._report.add_remark(table, item.key, Outcome.SKIPPED, f"it belongs to org {org_id}, which was not imported")
            return []
        earlier_imports = await self._earlier_imports(table)
        rows = await self._connection.fetch(_sql.existing_objects, namespace, [kind.plural], [item.name for item in objects])
        existing_rows = {row["name"]: row for row in rows}
        selection = [self._object_to_write(item, table, earlier_imports.get(item.key), existing_rows.get(item.name)) for item in objects]
        objects_to_write = [item for item in selection if item is not None]
        if not objects_to_write:
            return []
        # Digests are of objects as converted: an object to write can have a higher generation.
        digests = {item.key: _object_digest(item) for item in objects}
        await self._staging.add([item.write for item in objects_to_write])
        await self._connection.copy_records_to_table(
            "facts", columns=_FACT_COLUMNS, records=[_facts_row(item, notes.get(item.key, VersionNote())) for item in objects_to_write]
        )
        await resources.lock(self._connection, namespace)
        await self._connection.execute(_sql.write_objects, namespace)
        await self._connection.execute(_sql.truncate_staging)
        import_rows = [(item.key, digests[item.key], str(item.generation)) for item in objects_to_write]
        await self._connection.execute(_sql.record_imports, table, *map(list, zip(*import_rows, strict=True)))
        return objects_to_write

    def _object_to_write(
        self, item: ImportedObject, table: str, earlier_import: _EarlierImport | None, existing_row: Any
    ) -> ImportedObject | None:
        """Return the object to write, or None if it is not written. Report the outcome in either case."""
        if earlier_import is not None and earlier_import.digest == _object_digest(item):
            self._report.count(table, Outcome.UNCHANGED)
            return None
        if earlier_import is None and existing_row is not None:
            self._report.add_remark(table, item.key, Outcome.REFUSED, f"a {item.kind.singular} of that name already exists here")
            return None
        if earlier_import is not None and (existing_row is None or str(existing_row["generation"]) != earlier_import.state):
            self._report.add_remark(table, item.key, Outcome.KEPT, "it was changed or deleted here since it was imported")
            return None
        self._report.count(table, Outcome.IMPORTED if earlier_import is None else Outcome.UPDATED)
        # Grafana does not increase the version of an object that was moved, or edited directly in its database.
        return item if earlier_import is None else replace(item, generation=max(item.generation, int(earlier_import.state) + 1))

    async def put_versions(self, versions: Sequence[tuple[ImportedObject, Version]]) -> None:
        """Write earlier generations of objects that were just written."""
        columns = zip(
            *[
                (
                    item.uid,
                    version.generation,
                    version.body.stored_version,
                    version.body.extract.layout,
                    version.body.spec,
                    version.created,
                    version.created_by,
                    version.note.message,
                    version.note.parent,
                    version.note.restored_from,
                )
                for item, version in versions
            ],
            strict=True,
        )
        await self._connection.execute(_sql.write_versions, *map(list, columns))

    async def put_rules(self, protected_object: ProtectedObject, levels: dict[Grantee, int]) -> None:
        """Write the access rules of an object that has no rules here."""
        namespace = namespace_of(protected_object.org_id)
        if protected_object.org_id in self.refused_ids.get("org", ()):
            return
        uid = await self._connection.fetchval(_sql.write_list, namespace, protected_object.resource, protected_object.name)
        if uid is None:
            self._report.count("access", Outcome.UNCHANGED)
            return
        for grantee, level in levels.items():
            if grantee.user_id in self.refused_ids.get("user", ()) or grantee.team_id in self.refused_ids.get("team", ()):
                continue
            await self._connection.execute(_sql.write_rule, uid, *grantee, level)
        self._report.count("access", Outcome.IMPORTED)

    async def advance_sequences(self) -> None:
        """Advance the sequences of ids past the imported ids."""
        await self._connection.execute(_sql.advance_sequences)

    async def _earlier_imports(self, table: str) -> dict[str, _EarlierImport]:
        """Return the records of the earlier imports of a table by the keys of its rows. They are read once."""
        if table not in self._imports_by_table:
            rows = await self._connection.fetch(_sql.earlier_imports, table)
            self._imports_by_table[table] = {row["key"]: _EarlierImport(row["digest"], row["state"]) for row in rows}
        return self._imports_by_table[table]


@cache
def _upsert_statement(table: str, columns: tuple[str, ...]) -> str:
    """Return the statement that writes a row from JSON ($1). It returns no row if it writes nothing.

    If $2 is null, the row is inserted unless its key exists. Otherwise the row is updated if its last change here was at $2.
    Table and column names come from the code, never from the source database, so that they need no escaping.
    """
    key = _KEY_COLUMNS.get(table, ("id",))
    column_list = ", ".join(f'"{name}"' for name in columns)
    # A table with key columns only still needs an assignment: with ``do nothing`` no row would be returned.
    assignments = ", ".join(f'"{name}" = excluded."{name}"' for name in columns if name not in key) or f'"{key[0]}" = excluded."{key[0]}"'
    same_key = " and ".join(f't."{name}" = r."{name}"' for name in key)
    unchanged_condition = "true" if table in _TABLES_WITHOUT_TIME else "t.updated = $2"
    return f"""
        insert into "{table}" as t ({column_list})
        select {column_list} from jsonb_populate_record(null::"{table}", $1::jsonb) as r
        where $2::timestamptz is null or exists (select from "{table}" t where {same_key})
        on conflict ({", ".join(key)}) do update set {assignments} where $2::timestamptz is not null and {unchanged_condition}
        returning 1
    """  # noqa: S608 - see above


def _object_digest(item: ImportedObject) -> bytes:
    """Return the SHA-256 of the folder, generation and body. If it is unchanged, an import does not write the object again."""
    metadata = orjson.dumps([item.folder, item.generation, item.body.stored_version])
    return hashlib.sha256(metadata + item.body.spec.encode()).digest()


def _facts_row(item: ImportedObject, note: VersionNote) -> tuple[Any, ...]:
    """Return a row of the temporary table ``facts``: the values that an ordinary write generates and an import keeps."""
    kind = item.kind
    return (
        *(kind.group, kind.plural, item.name, item.uid, item.numeric_id, item.generation, item.created, item.created_by),
        *(item.updated, item.updated_by, note.message, note.parent, note.restored_from),
    )
