"""The order of an import: accounts, then the objects they own, then rows that refer to both."""

import functools
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dashwright.common.database.pool import Connection
from dashwright.common.errors import BadRequest, DashwrightError
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.standalone.importing import access, accounts, objects
from dashwright.standalone.importing.access import Rules, Subject
from dashwright.standalone.importing.accounts import Names, Read, SkippedRow
from dashwright.standalone.importing.fields import Row, flag, text, whole
from dashwright.standalone.importing.objects import Folders, ImportedObject, VersionNote
from dashwright.standalone.importing.report import Outcome, Report
from dashwright.standalone.importing.source import Source
from dashwright.standalone.importing.target import Target

_NEEDED: Final = ("org", "user", "org_user", "dashboard")
_BATCH: Final = 50

#: Called with a table and the number of further rows that are done.
ProgressCallback = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The options of an import."""

    #: 0: every organization.
    org_id: int = 0
    #: The number of earlier generations of a dashboard to import.
    versions: int = 20


@dataclass(slots=True)
class _Import:
    """An import in progress."""

    source: Source
    target: Target
    report: Report
    options: ImportOptions
    advance: ProgressCallback
    members: frozenset[int] | None = None
    dashboards: dict[int, str] = field(default_factory=dict)
    subjects: dict[int, Subject] = field(default_factory=dict)
    folders: Folders = field(default_factory=Folders)

    def wants(self, org_id: int) -> bool:
        """Return whether rows of an organization are imported."""
        return self.options.org_id in (0, org_id)

    async def rows(self, table: str, *order: str, among: tuple[str, Sequence[Any]] | None = None) -> AsyncIterator[Row]:
        """Yield the rows of a table; none if the database is too old to have it."""
        columns = await self.source.columns(table)
        if not columns:
            return
        async for row in self.source.rows(table, [name for name in order if name in columns] or ["id"], among):
            yield row
            if among is None:
                self.advance(table, 1)

    async def accounts(self, table: str, read: Read) -> None:
        """Import the rows of a table of accounts."""
        names = Names(self.dashboards)
        async for row in self.rows(table, "org_id", "id") if table != "user" else self.rows(table, "id"):
            found = read(row, names)
            if not self.wants(found.org_id) and found.org_id:
                continue
            if table == "user" and self.members is not None and whole(row, "id") not in self.members:
                continue
            if isinstance(found, SkippedRow):
                self.report.remark(found.table, found.key, Outcome.SKIPPED, found.reason)
            elif await self.target.put(found) and found.lost_secrets:
                name = found.columns["name"]
                self.report.notices.append(
                    f"data source {name!r} of organization {found.org_id} has lost its {found.lost_secrets} secrets: enter them again"
                )


async def tables(source: Source) -> dict[str, int]:
    """Return the tables to read, with their numbers of rows. Raises BadRequest if this is not a Grafana database."""
    missing = [table for table in _NEEDED if not await source.columns(table)]
    if missing:
        raise BadRequest(f"this is not a Grafana database: it has no table {', '.join(missing)}")
    known = (
        *("org", "user", "org_user", "team", "team_member", "api_key", "quota", "data_source", "folder", "dashboard", "library_element"),
        *("preferences", "star", "permission", "dashboard_acl"),
    )
    return {table: await source.count(table) for table in known if await source.columns(table)}


async def run(source: Source, connection: Connection, options: ImportOptions, report: Report, advance: ProgressCallback) -> None:
    """Import everything inside the caller's transaction."""
    target = Target(connection, report)
    await target.prepare()
    work = _Import(source, target, report, options, advance)
    if options.org_id:
        rows = [row async for row in work.rows("org_user", "id")]
        work.members = frozenset(whole(row, "user_id") for row in rows if whole(row, "org_id") == options.org_id)
    if await target.is_fresh():
        await _make_room(work)
    for table, read in _ACCOUNTS:
        await work.accounts(table, read)
    await _folders(work)
    await _dashboards(work)
    await _panels(work)
    # Preferences and stars refer to dashboards by number, which are known only now.
    for table, read in _REFERRING:
        await work.accounts(table, read)
    await _rules(work)
    await target.pass_numbers()
    await _look_for_newer_storage(work)


_ACCOUNTS: Final[tuple[tuple[str, Read], ...]] = (
    ("org", accounts.org),
    ("user", accounts.user),
    ("org_user", accounts.org_user),
    ("team", accounts.team),
    ("team_member", accounts.team_member),
    ("api_key", accounts.api_key),
    ("quota", accounts.quota),
    ("data_source", accounts.data_source),
)
_REFERRING: Final[tuple[tuple[str, Read], ...]] = (("preferences", accounts.preferences), ("star", accounts.star))


async def _make_room(work: _Import) -> None:
    """Delete the organization and admin of a first start, to make room for those of the origin."""
    has_admin = False
    async for row in work.source.rows("user", ["id"]):
        wanted = work.members is None or whole(row, "id") in work.members
        has_admin = has_admin or (wanted and flag(row, "is_admin") and not flag(row, "is_disabled"))
    has_org = False
    async for row in work.source.rows("org", ["id"]):
        has_org = has_org or (whole(row, "id") == 1 and work.wants(1))
    await work.target.forget_first(user=has_admin, org=has_org and has_admin)
    if has_admin:
        work.report.notices.append("Dashwright's first user was deleted: log in as an admin of the imported server")
    else:
        work.report.notices.append("no server admin was imported: Dashwright's first user remains the server admin")


async def _folders(work: _Import) -> None:
    """Import folders from the folder table, and from the dashboard table if missing there, which has the numbers."""
    old: dict[tuple[int, str], ImportedObject] = {}
    async for row in work.source.rows("dashboard", ["org_id", "id"]):
        if not flag(row, "is_folder") or not work.wants(whole(row, "org_id")):
            continue
        name = objects.name_of(row)
        work.folders.name_by_id[whole(row, "id")] = name
        work.folders.id_by_uid[whole(row, "org_id"), text(row, "uid")] = whole(row, "id")
        work.subjects[whole(row, "id")] = Subject(whole(row, "org_id"), FOLDER.plural, name)
        found = _read(work, "folder", row, objects.folder_from_dashboard_row)
        if found is not None:
            old[found.org_id, found.name] = found
    wanted: list[ImportedObject] = []
    async for row in work.rows("folder", "org_id", "id"):
        found = _read(work, "folder", row, lambda row: objects.folder(row, work.folders)) if work.wants(whole(row, "org_id")) else None
        if found is not None:
            old.pop((found.org_id, found.name), None)
            wanted.append(found)
    await _put(work, [*wanted, *old.values()], {})


async def _dashboards(work: _Import) -> None:
    batch: list[ImportedObject] = []
    async for row in work.rows("dashboard", "org_id", "id"):
        if flag(row, "is_folder") or not work.wants(whole(row, "org_id")):
            continue
        key = f"{whole(row, 'org_id')}/{text(row, 'uid')}"
        if text(row, "deleted"):
            work.report.remark("dashboard", key, Outcome.SKIPPED, "it was deleted in Grafana")
            continue
        found = _read(work, "dashboard", row, lambda row: objects.dashboard(row, work.folders))
        if found is None:
            continue
        if found.name != text(row, "uid"):
            work.report.notices.append(f"dashboard {key} is named {found.name} here: its uid is not a valid name")
        work.dashboards[found.row] = found.name
        work.subjects[found.row] = Subject(found.org_id, DASHBOARD.plural, found.name)
        batch.append(found)
        if len(batch) == _BATCH:
            await _with_versions(work, batch)
            batch = []
    await _with_versions(work, batch)


async def _with_versions(work: _Import, batch: list[ImportedObject]) -> None:
    """Import dashboards with their newest earlier generations."""
    if not batch:
        return
    by_row = {item.row: item for item in batch}
    earlier: dict[int, list[objects.Version]] = {}
    notes: dict[str, VersionNote] = {}
    async for row in work.rows("dashboard_version", "dashboard_id", "version", among=("dashboard_id", list(by_row))):
        item = by_row[whole(row, "dashboard_id")]
        if whole(row, "version") == item.generation:
            notes[item.key] = objects.version_note(row)
            continue
        found = _read(work, "dashboard_version", row, functools.partial(objects.version, title=item.body.extract.title))
        if found is not None:
            kept = earlier.setdefault(item.row, [])
            kept.append(found)
            del kept[: -work.options.versions]
    written = await _put(work, batch, notes)
    versions = [(item, version) for item in written for version in earlier.get(item.row, ())]
    if versions:
        await work.target.put_versions(versions)
        work.report.count("dashboard_version", Outcome.IMPORTED, len(versions))


async def _panels(work: _Import) -> None:
    batch: list[ImportedObject] = []
    async for row in work.rows("library_element", "org_id", "id"):
        if not work.wants(whole(row, "org_id")):
            continue
        key = f"{whole(row, 'org_id')}/{text(row, 'uid')}"
        if not objects.is_panel(row):
            work.report.remark("library_element", key, Outcome.SKIPPED, "library variables are not supported")
            continue
        found = _read(work, "library_element", row, lambda row: objects.library_panel(row, work.folders))
        if found is not None:
            batch.append(found)
    await _put(work, batch, {})


async def _put(work: _Import, found: Sequence[ImportedObject], notes: Mapping[str, VersionNote]) -> list[ImportedObject]:
    """Write objects of one kind, one organization at a time."""
    by_org: dict[int, list[ImportedObject]] = {}
    for item in found:
        by_org.setdefault(item.org_id, []).append(item)
    written: list[ImportedObject] = []
    for org_id, items in by_org.items():
        for start in range(0, len(items), _BATCH):
            written += await work.target.put_objects(org_id, items[start : start + _BATCH], notes)
    return written


def _read(work: _Import, table: str, row: Row, read: Callable[[Row], Any]) -> Any:
    """Return the converted row, or None if it is invalid, which is reported."""
    try:
        return read(row)
    except DashwrightError as error:
        key = f"{whole(row, 'org_id')}/{text(row, 'uid')}" if text(row, "uid") else str(whole(row, "id"))
        work.report.remark(table, key, Outcome.REFUSED, error.message)
        return None


async def _rules(work: _Import) -> None:
    """Import the access rules. The newer form takes precedence: a server that has it ignores the older one."""
    rules = Rules()
    if await work.source.columns("permission") and await work.source.columns("role"):
        held: Mapping[int, Any] = access.holders([row async for row in work.rows("role", "id")])
        async for row in work.rows("permission", "id"):
            access.add_permission(rules, row, held)
    else:
        async for row in work.rows("dashboard_acl", "id"):
            access.add_list_entry(rules, row, work.subjects)
    for subject, levels in rules.of.items():
        if work.wants(subject.org_id):
            await work.target.put_rules(subject, levels)


async def _look_for_newer_storage(work: _Import) -> None:
    """Report objects that a server of version 12 or later stores in another table only."""
    newer = 0
    if "group" in await work.source.columns("resource"):
        async for row in work.source.rows("resource", ["name"], ("group", [DASHBOARD.group, FOLDER.group])):
            newer += text(row, "name") not in work.dashboards.values()
    if newer:
        work.report.notices.append(
            f"the table resource holds {newer} dashboards and folders in addition to the imported ones: a server of version 12 "
            "or later may have moved its objects there, and the imported ones may be out of date; compare them"
        )
