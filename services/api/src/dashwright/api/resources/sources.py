"""Sources of lists: stored objects of one or all namespaces, at one resource version; and jobs, as they are now."""

from collections.abc import Sequence

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.domain.access.object_scope import EVERYTHING, ObjectScope
from dashwright.api.domain.selectors import Selection, matches
from dashwright.api.resources.jobs import labels_of
from dashwright.api.resources.listing import CHUNK_BYTES, ListPage
from dashwright.api.resources.pages import ListOptions, Position, expired_token_error
from dashwright.api.stores import lists
from dashwright.api.stores.lists import Slice
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Cause, DeadlineExceeded, Gone
from dashwright.common.identity import Identity
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores import changes, jobs
from dashwright.common.stores.changes import StreamName
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.stores.resources import StoredObject


async def check_resource_version(database: Database, version: int) -> None:
    """Raise DeadlineExceeded, as Kubernetes does, for a version above the newest one. A list without a version has 0.

    A client can have such a version if the database was restored from a backup since.
    """
    if not version:
        return
    async with database.connection() as connection:
        newest_version = await changes.latest_version(connection)
    if version > newest_version:
        message = f"Too large resource version: {version}, current: {newest_version}"
        cause = Cause("", "ResourceVersionTooLarge", "Too large resource version")
        raise DeadlineExceeded(f"{message}; list without a resourceVersion", retry_after=1, causes=[cause])


async def check_unchanged_access(
    database: Database, policy: AccessPolicy, caller: Identity, namespace: str, list_options: ListOptions
) -> None:
    """Raise Gone if access rules changed since the requested version.

    Earlier rules are not stored, and the current rules may show objects that were hidden at that version. For a later page of
    a list, the error has a token with which the client can continue.
    """
    position = list_options.position
    if position is None and not list_options.is_exact:
        return
    version = list_options.resource_version if position is None else position.resource_version
    try:
        await policy.require_unchanged_since(caller, namespace, version)
    except Gone as error:
        if position is None:
            raise
        raise await _expired_token_error(database, position, namespace) from error


async def _expired_token_error(database: Database, position: Position, namespace: str) -> Gone:
    async with database.connection() as connection:
        return expired_token_error(position, await changes.visible_version(connection, StreamName.OBJECTS, namespace))


class ObjectSource:
    """Stored objects of one namespace at one resource version: the newest at the first page, or the requested one."""

    def __init__(
        self,
        database: Database,
        kind: Kind,
        namespace: str,
        selection: Selection,
        scope: ObjectScope,
        list_options: ListOptions,
        *,
        needs_bodies: bool,
        inline_bytes: int = CHUNK_BYTES,
    ) -> None:
        """Create a source. The query of a page reads up to ``inline_bytes`` of bodies if ``needs_bodies``, or else no bodies."""
        self._inline_bytes = inline_bytes
        self._database = database
        self._kind = kind
        self._namespace = namespace
        self._selection = selection
        self._scope = scope
        self._exact_version = list_options.resource_version if list_options.is_exact else None
        self._needs_bodies = needs_bodies

    async def page(self, position: Position | None, limit: int) -> ListPage:
        """Return a page. Raises Gone if the resource version is too old; after a ``position`` the error has a token to continue with."""
        if position is None:
            return await self._first_page(limit)
        try:
            async with self._database.connection() as connection:
                object_slice = await self._read_slice(connection, position, limit)
        except Gone as error:
            raise await _expired_token_error(self._database, position, self._namespace) from error
        remaining_items = None if position.remaining_items is None else max(0, position.remaining_items - len(object_slice.items))
        return ListPage(position.resource_version, object_slice.items, object_slice.sizes, object_slice.after, remaining_items)

    async def _first_page(self, limit: int) -> ListPage:
        """Return the first page, which determines the resource version of the list, with the number of remaining objects."""
        # One snapshot, so that the version, the page and the count agree.
        async with self._database.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
            newest_version = await changes.visible_version(connection, StreamName.OBJECTS, self._namespace)
            # The requested version can be that of a later change in another namespace.
            version = newest_version if self._exact_version is None else min(self._exact_version, newest_version)
            object_slice = await self._read_slice(connection, Position(version), limit)
            remaining_items = None
            # The query counts all stored objects, so the count is right only for a list of the newest version without a selector.
            lists_all_objects = version == newest_version and self._selection.is_everything and self._scope.includes_everything
            if object_slice.after is not None and lists_all_objects:
                remaining_items = await self._count_objects(connection) - len(object_slice.items)
        return ListPage(version, object_slice.items, object_slice.sizes, object_slice.after, remaining_items)

    async def _count_objects(self, connection: Connection) -> int:
        return await lists.count(connection, self._kind, self._namespace)

    async def _read_slice(self, connection: Connection, position: Position, limit: int) -> Slice:
        return await self._read_namespace_slice(
            connection, self._namespace, position.resource_version, position.last_name, limit, self._inline_bytes
        )

    async def _read_namespace_slice(
        self, connection: Connection, namespace: str, version: int, last_name: str, limit: int, inline_bytes: int
    ) -> Slice:
        """Return the selected objects of one namespace after ``last_name``, at most ``limit``."""
        selection = self._selection
        # Only objects of kinds in folders have a numeric id.
        if selection.is_empty or (selection.numeric_id is not None and not self._kind.in_folder):
            return Slice((), None)
        return await lists.page(
            connection,
            self._kind,
            namespace,
            version=version,
            after=last_name,
            limit=limit,
            labels=selection.labels,
            name=selection.name,
            excluded_names=selection.excluded_names,
            numeric_id=selection.numeric_id,
            scope=self._scope,
            with_bodies=self._needs_bodies,
            max_body_bytes=inline_bytes,
        )


class AllNamespacesSource(ObjectSource):
    """Stored objects of all namespaces, ordered by namespace and name."""

    def __init__(self, database: Database, kind: Kind, selection: Selection, list_options: ListOptions, *, needs_bodies: bool) -> None:
        super().__init__(database, kind, "", selection, EVERYTHING, list_options, needs_bodies=needs_bodies)

    async def _count_objects(self, connection: Connection) -> int:
        return await lists.count(connection, self._kind, None)

    async def _read_slice(self, connection: Connection, position: Position, limit: int) -> Slice:
        """Return the objects after a position: of its namespace after its name, then of the later namespaces."""
        items: list[StoredObject] = []
        sizes: list[int] = []
        for namespace in await lists.namespaces(connection, self._kind, version=position.resource_version, first=position.namespace):
            if self._selection.namespace not in (None, namespace) or namespace in self._selection.excluded_namespaces:
                continue
            # The page is full, but not the last one, because this namespace follows.
            if len(items) == limit:
                return Slice(items, items[-1].name, sizes)
            after = position.last_name if namespace == position.namespace else ""
            object_slice = await self._read_namespace_slice(
                connection, namespace, position.resource_version, after, limit - len(items), max(0, self._inline_bytes - sum(sizes))
            )
            items += object_slice.items
            sizes += object_slice.sizes
            if object_slice.after is not None:
                return Slice(items, object_slice.after, sizes)
        return Slice(items, None, sizes)


class JobSource:
    """Jobs, each in its state when its page is read.

    All pages have the resource version of the first page, so that a watch from this version misses no change.
    """

    def __init__(self, database: Database, kind: Kind, namespace: str, selection: Selection, list_options: ListOptions) -> None:
        self._database = database
        self._kind = kind
        self._namespace = namespace
        self._selection = selection
        self._exact_version = list_options.resource_version if list_options.is_exact else None

    async def page(self, position: Position | None, limit: int) -> ListPage:
        """Return a page of jobs as they are now. Raises Gone if an older version is requested."""
        last_name: str | None = "" if position is None else position.last_name
        selected_jobs: list[StoredJob] = []
        # The first page that is read replaces both.
        version, remaining_items = 0, None
        async with self._database.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
            # Every page except the last must have a job, so pages are read until a job matches.
            while last_name is not None and not selected_jobs:
                page = await jobs.list_page(connection, self._kind, self._namespace, after=last_name, limit=limit)
                last_name, version = page.after, page.position
                selected_jobs = [job for job in page.items if matches(self._selection, labels_of(job), job.name)]
                remaining_items = page.remaining if self._selection.is_everything else None
        if self._exact_version is not None and self._exact_version < version:
            raise Gone(
                f"jobs can be listed only at the newest version, {version}, and not at {self._exact_version}; "
                "list without a resourceVersion"
            )
        return ListPage(
            version if position is None else position.resource_version,
            selected_jobs,
            _body_sizes(selected_jobs),
            last_name,
            remaining_items,
        )


def _body_sizes(selected_jobs: Sequence[StoredJob]) -> Sequence[int]:
    return [len(job.spec) + len(job.status) for job in selected_jobs]
