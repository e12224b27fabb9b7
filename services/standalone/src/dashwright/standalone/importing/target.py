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
from dashwright.standalone.importing.access import Grantee, Subject
from dashwright.standalone.importing.accounts import Record
from dashwright.standalone.importing.objects import ImportedObject, Version, VersionNote
from dashwright.standalone.importing.report import Outcome, Report

_sql = queries.load(__package__, "target.sql")

_KEYS: Final = {
    "org_user": ("org_id", "user_id"),
    "team_member": ("team_id", "user_id"),
    "quota": ("org_id", "user_id", "target"),
    "preferences": ("org_id", "user_id", "team_id"),
    "star": ("user_id", "org_id", "dashboard_uid"),
}
_WITHOUT_TIME: Final = frozenset({"team_member", "star"})
_ORIGIN_OF: Final = {"dashboards": "dashboard", "folders": "folder", LIBRARY_PANEL.plural: "library_element"}
_FACT_COLUMNS: Final = (
    *("api_group", "resource", "name", "uid", "number", "generation", "created_at", "created_by", "updated_at", "updated_by", "message"),
    *("parent", "restored"),
)


@dataclass(frozen=True, slots=True)
class _EarlierImport:
    """A row that was imported before, and its state then."""

    digest: bytes
    state: str


class Target:
    """A Dashwright database within the transaction of an import."""

    def __init__(self, connection: Connection, report: Report) -> None:
        self._connection = connection
        self._report = report
        self._known: dict[str, dict[str, _EarlierImport]] = {}
        self.refused: dict[str, set[int]] = {}
        """Numbers of refused rows: objects that belong to them must not be assigned to the rows that have these numbers here."""

    async def prepare(self) -> None:
        """Take the lock of all writers of objects, before anything else is locked."""
        await self._connection.execute(_sql.prepare)
        await resources.lock(self._connection)
        await self._connection.execute(_sql.create_facts)
        self._staging = resources.StagedWrites(self._connection)
        await self._staging.open()

    async def is_fresh(self) -> bool:
        """Return whether the database contains only what a first start creates."""
        return bool(await self._connection.fetchval(_sql.is_fresh))

    async def forget_first(self, *, user: bool, org: bool) -> None:
        """Delete the user and organization of a first start, to make room for those of the origin."""
        if user:
            await self._connection.execute(_sql.forget_first_user)
        if org:
            await self._connection.execute(_sql.forget_first_org)

    async def put(self, record: Record) -> bool:
        """Write a row of an account and return whether it is present now."""
        columns = orjson.dumps(dict(record.columns), option=orjson.OPT_SORT_KEYS)
        digest = hashlib.sha256(columns).digest()
        known = (await self._earlier(record.table)).get(record.key)
        if known is not None and known.digest == digest:
            self._report.count(record.table, Outcome.UNCHANGED)
            return True
        if lost := [f"{table} {number}" for table, number in record.refers_to if number in self.refused.get(table, ())]:
            self._report.remark(record.table, record.key, Outcome.SKIPPED, f"it belongs to {' and '.join(lost)}, which was not imported")
            return False
        since = None if known is None else record.updated if record.table in _WITHOUT_TIME else datetime.fromisoformat(known.state)
        try:
            # A savepoint, so that a refused row does not abort the whole import.
            async with self._connection.transaction():
                written = await self._connection.fetchval(_statement(record.table, tuple(record.columns)), columns.decode(), since)
        except asyncpg.ForeignKeyViolationError:
            self._report.remark(record.table, record.key, Outcome.SKIPPED, "its owner does not exist here")
            return False
        except asyncpg.UniqueViolationError as error:
            return self._refuse(record, f"it conflicts with an existing row: {error.detail}")
        except (asyncpg.CheckViolationError, asyncpg.NotNullViolationError, asyncpg.DataError) as error:
            return self._refuse(record, f"it has an invalid value: {error}")
        if written is None and known is None:
            return self._refuse(record, "its number is in use here")
        if written is None:
            self._report.remark(record.table, record.key, Outcome.KEPT, "it was changed or deleted here since it was imported")
            return True
        self._report.count(record.table, Outcome.IMPORTED if known is None else Outcome.UPDATED)
        await self._connection.execute(_sql.note, record.table, record.key, digest, record.updated.isoformat())
        return True

    def _refuse(self, record: Record, reason: str) -> bool:
        if (number := record.columns.get("id")) is not None:
            self.refused.setdefault(record.table, set()).add(number)
        self._report.remark(record.table, record.key, Outcome.REFUSED, f"{record.label!r}: {reason}")
        return False

    async def put_objects(
        self, org_id: int, objects: Sequence[ImportedObject], notes: Mapping[str, VersionNote]
    ) -> Sequence[ImportedObject]:
        """Write objects of one kind and organization, and return those that were created or updated."""
        namespace, kind = namespace_of(org_id), objects[0].kind
        origin = _ORIGIN_OF[kind.plural]
        if org_id in self.refused.get("org", ()):
            for item in objects:
                self._report.remark(origin, item.key, Outcome.SKIPPED, f"it belongs to org {org_id}, which was not imported")
            return []
        earlier = await self._earlier(origin)
        rows = await self._connection.fetch(_sql.present, namespace, [kind.plural], [item.name for item in objects])
        present = {row["name"]: row for row in rows}
        wanted = [found for item in objects if (found := self._judge(item, origin, earlier.get(item.key), present.get(item.name)))]
        if not wanted:
            return []
        digests = {item.key: _digest(item) for item in objects}
        await self._staging.add([item.write for item in wanted])
        await self._connection.copy_records_to_table(
            "facts", columns=_FACT_COLUMNS, records=[_facts_row(item, notes.get(item.key, VersionNote())) for item in wanted]
        )
        await self._connection.execute(_sql.write, namespace)
        await self._connection.execute(_sql.empty)
        noted = [(item.key, digests[item.key], str(item.generation)) for item in wanted]
        await self._connection.execute(_sql.note_all, origin, *map(list, zip(*noted, strict=True)))
        return wanted

    def _judge(self, item: ImportedObject, origin: str, known: _EarlierImport | None, present: Any) -> ImportedObject | None:
        if known is not None and known.digest == _digest(item):
            self._report.count(origin, Outcome.UNCHANGED)
            return None
        if known is None and present is not None:
            self._report.remark(origin, item.key, Outcome.REFUSED, f"a {item.kind.singular} of that name already exists here")
            return None
        if known is not None and (present is None or str(present["generation"]) != known.state):
            self._report.remark(origin, item.key, Outcome.KEPT, "it was changed or deleted here since it was imported")
            return None
        self._report.count(origin, Outcome.IMPORTED if known is None else Outcome.UPDATED)
        # An object that was moved, or edited in Grafana's database directly, has no newer version number there.
        return item if known is None else replace(item, generation=max(item.generation, int(known.state) + 1))

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

    async def put_rules(self, subject: Subject, levels: dict[Grantee, int]) -> None:
        """Write the rules of an object that has no list of its own here."""
        namespace = namespace_of(subject.org_id)
        if subject.org_id in self.refused.get("org", ()):
            return
        uid = await self._connection.fetchval(_sql.write_list, namespace, subject.resource, subject.name)
        if uid is None:
            self._report.count("access", Outcome.UNCHANGED)
            return
        for grantee, level in levels.items():
            if grantee.user_id in self.refused.get("user", ()) or grantee.team_id in self.refused.get("team", ()):
                continue
            await self._connection.execute(_sql.write_rule, uid, *grantee, level)
        self._report.count("access", Outcome.IMPORTED)

    async def pass_numbers(self) -> None:
        """Move the sequences past the imported numbers."""
        await self._connection.execute(_sql.pass_numbers)

    async def _earlier(self, origin: str) -> dict[str, _EarlierImport]:
        if origin not in self._known:
            rows = await self._connection.fetch(_sql.known, origin)
            self._known[origin] = {row["key"]: _EarlierImport(row["digest"], row["state"]) for row in rows}
        return self._known[origin]


@cache
def _statement(table: str, columns: tuple[str, ...]) -> str:
    """Return the statement that inserts a row from JSON, or updates it if its last change is as known.

    Table and column names are constants of this module, never names from the source.
    """
    key = _KEYS.get(table, ("id",))
    listed = ", ".join(f'"{name}"' for name in columns)
    changed = ", ".join(f'"{name}" = excluded."{name}"' for name in columns if name not in key) or f'"{key[0]}" = excluded."{key[0]}"'
    same = " and ".join(f't."{name}" = r."{name}"' for name in key)
    at = "true" if table in _WITHOUT_TIME else "t.updated = $2"
    return f"""
        insert into "{table}" as t ({listed})
        select {listed} from jsonb_populate_record(null::"{table}", $1::jsonb) as r
        where $2::timestamptz is null or exists (select from "{table}" t where {same})
        on conflict ({", ".join(key)}) do update set {changed} where $2::timestamptz is not null and {at}
        returning 1
    """  # noqa: S608 - see above


def _digest(item: ImportedObject) -> bytes:
    head = orjson.dumps([item.folder, item.generation, item.body.stored_version])
    return hashlib.sha256(head + item.body.spec.encode()).digest()


def _facts_row(item: ImportedObject, note: VersionNote) -> tuple[Any, ...]:
    kind = item.kind
    return (
        *(kind.group, kind.plural, item.name, item.uid, item.number, item.generation, item.created, item.created_by),
        *(item.updated, item.updated_by, note.message, note.parent, note.restored_from),
    )
