"""The import of a Grafana database, in the order of dependencies: accounts, their objects, then rows that refer to both."""

import functools
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dashwright.common.database.pool import Connection
from dashwright.common.errors import BadRequest, DashwrightError
from dashwright.common.identity import namespace_of
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.standalone.importing import access, accounts, objects
from dashwright.standalone.importing.access import ProtectedObject, Rules
from dashwright.standalone.importing.accounts import ObjectNames, RowConverter, SkippedRow
from dashwright.standalone.importing.fields import Row, flag, integer, string
from dashwright.standalone.importing.objects import Folders, ImportedObject, VersionNote
from dashwright.standalone.importing.report import Outcome, Report
from dashwright.standalone.importing.source import Source
from dashwright.standalone.importing.target import Target

_REQUIRED_TABLES: Final = ("org", "user", "org_user", "dashboard")
#: Objects that are converted and written together, which limits the memory for their bodies.
_BATCH_SIZE: Final = 50

#: Function that is called with a table and the number of rows read since the last call.
ProgressCallback = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The options of an import."""

    #: The organization to import; 0 for all.
    org_id: int = 0
    #: The maximum number of earlier generations to import for each dashboard.
    versions: int = 20


@dataclass(slots=True)
class _ImportState:
    """The source, target, options and intermediate results of an import in progress."""

    source: Source
    target: Target
    report: Report
    options: ImportOptions
    report_progress: ProgressCallback
    #: The ids of the users to import; None for all.
    member_ids: frozenset[int] | None = None
    #: The names of imported dashboards by their ids in Grafana.
    dashboard_names: dict[int, str] = field(default_factory=dict)
    #: The objects that access rules may apply to, by the ids of the dashboards and folders in Grafana.
    protected_objects: dict[int, ProtectedObject] = field(default_factory=dict)
    folders: Folders = field(default_factory=Folders)
    #: Namespace and uid of each folder and dashboard in the tables of these names.
    object_uids: set[tuple[str, str]] = field(default_factory=set)

    def includes_org(self, org_id: int) -> bool:
        """Return whether rows of an organization are imported."""
        return self.options.org_id in (0, org_id)  # 0 selects all organizations.

    async def rows(self, table: str, *order: str, where_in: tuple[str, Sequence[Any]] | None = None) -> AsyncIterator[Row]:
        """Yield the rows of a table, sorted by those columns in ``order`` that it has, or nothing if there is no such table.

        The database may be too old to have a table or a column. ``where_in`` is that of ``Source.rows``.
        """
        columns = await self.source.columns(table)
        if not columns:
            return
        async for row in self.source.rows(table, [name for name in order if name in columns] or ["id"], where_in):
            yield row
            # Only tables that are read completely have a progress bar.
            if where_in is None:
                self.report_progress(table, 1)

    async def import_accounts(self, table: str, convert: RowConverter) -> None:
        """Import the rows of a table that is not of objects, such as accounts and preferences."""
        object_names = ObjectNames(self.dashboard_names)
        # The column org_id of a user is only the current organization.
        order = ("id",) if table == "user" else ("org_id", "id")
        async for row in self.rows(table, *order):
            record = convert(row, object_names)
            is_of_other_org = record.org_id != 0 and not self.includes_org(record.org_id)
            is_of_no_member = table == "user" and self.member_ids is not None and integer(row, "id") not in self.member_ids
            if is_of_other_org or is_of_no_member:
                continue
            if isinstance(record, SkippedRow):
                self.report.add_remark(record.table, record.key, Outcome.SKIPPED, record.reason)
            elif await self.target.put(record) and record.lost_secrets:
                name = record.columns["name"]
                self.report.notices.append(
                    f"data source {name!r} of organization {record.org_id} has lost its {record.lost_secrets} secrets: enter them again"
                )


async def row_counts(source: Source) -> dict[str, int]:
    """Return the number of rows of each table to read. Raises BadRequest if the source is not a Grafana database."""
    missing_tables = [table for table in _REQUIRED_TABLES if not await source.columns(table)]
    if missing_tables:
        raise BadRequest(f"this is not a Grafana database: it has no table {', '.join(missing_tables)}")
    tables_to_read = (
        *("org", "user", "org_user", "team", "team_member", "api_key", "quota", "data_source", "folder", "dashboard", "library_element"),
        *("preferences", "star", "permission", "dashboard_acl"),
    )
    return {table: await source.count(table) for table in tables_to_read if await source.columns(table)}


async def run(source: Source, connection: Connection, options: ImportOptions, report: Report, report_progress: ProgressCallback) -> None:
    """Import all tables in the transaction of ``connection``."""
    target = Target(connection, report)
    await target.prepare()
    state = _ImportState(source, target, report, options, report_progress)
    if options.org_id:
        rows = [row async for row in state.rows("org_user", "id")]
        state.member_ids = frozenset(integer(row, "user_id") for row in rows if integer(row, "org_id") == options.org_id)
    if await target.is_fresh():
        await _delete_first_account(state)
    for table, convert in _ACCOUNT_TABLES:
        await state.import_accounts(table, convert)
    await _import_folders(state)
    await _import_dashboards(state)
    await _import_panels(state)
    # Preferences and stars refer to dashboards by id, and only now the names of dashboards are known.
    for table, convert in _TABLES_REFERRING_TO_DASHBOARDS:
        await state.import_accounts(table, convert)
    await _import_rules(state)
    await target.advance_sequences()
    await _report_newer_storage(state)


_ACCOUNT_TABLES: Final[tuple[tuple[str, RowConverter], ...]] = (
    ("org", accounts.org),
    ("user", accounts.user),
    ("org_user", accounts.org_user),
    ("team", accounts.team),
    ("team_member", accounts.team_member),
    ("api_key", accounts.api_key),
    ("quota", accounts.quota),
    ("data_source", accounts.data_source),
)
_TABLES_REFERRING_TO_DASHBOARDS: Final[tuple[tuple[str, RowConverter], ...]] = (
    ("preferences", accounts.preferences),
    ("star", accounts.star),
)


async def _delete_first_account(state: _ImportState) -> None:
    """Delete the organization and the server admin that a first start created, if imported ones replace them.

    The admin is deleted only if another enabled server admin is imported, so that someone can administer the server. The organization
    is deleted only together with the admin, who is its member.
    """
    imports_admin = False
    async for row in state.source.rows("user", ["id"]):
        is_imported = state.member_ids is None or integer(row, "id") in state.member_ids
        imports_admin = imports_admin or (is_imported and flag(row, "is_admin") and not flag(row, "is_disabled"))
    imports_first_org = False
    async for row in state.source.rows("org", ["id"]):
        imports_first_org = imports_first_org or (integer(row, "id") == 1 and state.includes_org(1))
    await state.target.delete_first_account(user=imports_admin, org=imports_first_org and imports_admin)
    if imports_admin:
        state.report.notices.append("Dashwright's first user was deleted: log in as an admin of the imported server")
    else:
        state.report.notices.append("no server admin was imported: Dashwright's first user remains the server admin")


async def _import_folders(state: _ImportState) -> None:
    """Import the folders of the folder table, and the folders that only the dashboard table has.

    The ids by which older clients refer to folders are in the dashboard table only.
    """
    dashboard_table_folders: dict[tuple[int, str], ImportedObject] = {}
    # These rows do not count for the progress, because ``_import_dashboards`` reads them again.
    async for row in state.source.rows("dashboard", ["org_id", "id"]):
        if not flag(row, "is_folder") or not state.includes_org(integer(row, "org_id")):
            continue
        state.object_uids.add(_namespace_and_uid(row))
        name = objects.name_of(row)
        state.folders.name_by_id[integer(row, "id")] = name
        state.folders.id_by_uid[integer(row, "org_id"), string(row, "uid")] = integer(row, "id")
        state.protected_objects[integer(row, "id")] = ProtectedObject(integer(row, "org_id"), FOLDER.plural, name)
        folder = _convert(state, "folder", row, objects.folder_from_dashboard_row)
        if folder is not None:
            dashboard_table_folders[folder.org_id, folder.name] = folder
    folders: list[ImportedObject] = []
    async for row in state.rows("folder", "org_id", "id"):
        if not state.includes_org(integer(row, "org_id")):
            continue
        state.object_uids.add(_namespace_and_uid(row))
        folder = _convert(state, "folder", row, lambda row: objects.folder(row, state.folders))
        if folder is not None:
            dashboard_table_folders.pop((folder.org_id, folder.name), None)
            folders.append(folder)
    await _write_objects(state, [*folders, *dashboard_table_folders.values()], {})


async def _import_dashboards(state: _ImportState) -> None:
    """Import the dashboards, except those that are in Grafana's trash, with their earlier versions."""
    batch: list[ImportedObject] = []
    async for row in state.rows("dashboard", "org_id", "id"):
        if flag(row, "is_folder") or not state.includes_org(integer(row, "org_id")):
            continue
        state.object_uids.add(_namespace_and_uid(row))
        key = f"{integer(row, 'org_id')}/{string(row, 'uid')}"
        if string(row, "deleted"):
            state.report.add_remark("dashboard", key, Outcome.SKIPPED, "it was deleted in Grafana")
            continue
        dashboard = _convert(state, "dashboard", row, lambda row: objects.dashboard(row, state.folders))
        if dashboard is None:
            continue
        if dashboard.name != string(row, "uid"):
            state.report.notices.append(f"dashboard {key} is named {dashboard.name} here: its uid is not a valid name")
        state.dashboard_names[dashboard.source_id] = dashboard.name
        state.protected_objects[dashboard.source_id] = ProtectedObject(dashboard.org_id, DASHBOARD.plural, dashboard.name)
        batch.append(dashboard)
        if len(batch) == _BATCH_SIZE:
            await _write_dashboards(state, batch)
            batch = []
    await _write_dashboards(state, batch)


async def _write_dashboards(state: _ImportState, batch: list[ImportedObject]) -> None:
    """Import dashboards with the newest of their earlier generations."""
    if not batch:
        return
    item_by_source_id = {item.source_id: item for item in batch}
    earlier_versions: dict[int, list[objects.Version]] = {}
    notes: dict[str, VersionNote] = {}
    async for row in state.rows("dashboard_version", "dashboard_id", "version", where_in=("dashboard_id", list(item_by_source_id))):
        item = item_by_source_id[integer(row, "dashboard_id")]
        if integer(row, "version") == item.generation:
            notes[item.key] = objects.version_note(row)
            continue
        dashboard_version = _convert(state, "dashboard_version", row, functools.partial(objects.version, title=item.body.extract.title))
        if dashboard_version is not None:
            versions_of_item = earlier_versions.setdefault(item.source_id, [])
            versions_of_item.append(dashboard_version)
            del versions_of_item[: -state.options.versions]  # Rows are in the order of versions, so the newest are last.
    written_dashboards = await _write_objects(state, batch, notes)
    versions = [(item, version) for item in written_dashboards for version in earlier_versions.get(item.source_id, ())]
    if versions:
        await state.target.put_versions(versions)
        state.report.count("dashboard_version", Outcome.IMPORTED, len(versions))


async def _import_panels(state: _ImportState) -> None:
    """Import the library panels. Other library elements are skipped."""
    batch: list[ImportedObject] = []
    async for row in state.rows("library_element", "org_id", "id"):
        if not state.includes_org(integer(row, "org_id")):
            continue
        key = f"{integer(row, 'org_id')}/{string(row, 'uid')}"
        if not objects.is_panel(row):
            state.report.add_remark("library_element", key, Outcome.SKIPPED, "library variables are not supported")
            continue
        panel = _convert(state, "library_element", row, lambda row: objects.library_panel(row, state.folders))
        if panel is not None:
            batch.append(panel)
    await _write_objects(state, batch, {})


async def _write_objects(
    state: _ImportState, objects_to_write: Sequence[ImportedObject], notes: Mapping[str, VersionNote]
) -> list[ImportedObject]:
    """Write objects of one kind, one organization at a time. Return those that were created or updated."""
    objects_by_org: dict[int, list[ImportedObject]] = {}
    for item in objects_to_write:
        objects_by_org.setdefault(item.org_id, []).append(item)
    written_objects: list[ImportedObject] = []
    for org_id, items in objects_by_org.items():
        for start in range(0, len(items), _BATCH_SIZE):
            written_objects += await state.target.put_objects(org_id, items[start : start + _BATCH_SIZE], notes)
    return written_objects


def _convert(state: _ImportState, table: str, row: Row, convert: Callable[[Row], Any]) -> Any:
    """Return the converted row. If the row is invalid, report it and return None."""
    try:
        return convert(row)
    except DashwrightError as error:
        key = f"{integer(row, 'org_id')}/{string(row, 'uid')}" if string(row, "uid") else str(integer(row, "id"))
        state.report.add_remark(table, key, Outcome.REFUSED, error.message)
        return None


async def _import_rules(state: _ImportState) -> None:
    """Import access rules from the permission table, or from the older table dashboard_acl if there are no permissions.

    A Grafana server with a permission table ignores the older table.
    """
    rules = Rules()
    if await state.source.columns("permission") and await state.source.columns("role"):
        managed_roles = access.managed_roles_by_id([row async for row in state.rows("role", "id")])
        async for row in state.rows("permission", "id"):
            access.add_permission(rules, row, managed_roles)
    else:
        async for row in state.rows("dashboard_acl", "id"):
            access.add_acl_row(rules, row, state.protected_objects)
    for protected_object, levels in rules.levels_by_object.items():
        if state.includes_org(protected_object.org_id):
            await state.target.put_rules(protected_object, levels)


def _namespace_and_uid(row: Row) -> tuple[str, str]:
    """Return the namespace and the uid of a folder or dashboard in Grafana."""
    return namespace_of(integer(row, "org_id")), string(row, "uid")


async def _report_newer_storage(state: _ImportState) -> None:
    """Report objects that only the table ``resource`` has, in which Grafana 12 and later may store them."""
    missing_object_count = 0
    if "group" in await state.source.columns("resource"):
        async for row in state.source.rows("resource", ["namespace", "name"], ("group", [DASHBOARD.group, FOLDER.group])):
            namespace = string(row, "namespace")
            is_included = state.options.org_id == 0 or namespace == namespace_of(state.options.org_id)
            if is_included and (namespace, string(row, "name")) not in state.object_uids:
                missing_object_count += 1
    if missing_object_count:
        state.report.notices.append(
            f"the table resource holds {missing_object_count} dashboards and folders in addition to the imported ones: "
            "a server of version 12 or later may have moved its objects there, and the imported ones may be out of date; compare them"
        )
