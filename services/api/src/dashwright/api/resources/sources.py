"""Sources of the objects of a list: the store at one version, of one namespace or of all, and the jobs."""

from collections.abc import Sequence

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.domain.access.object_scope import EVERYTHING, Scope
from dashwright.api.domain.selectors import Selection, matches
from dashwright.api.resources.jobs import labels_of
from dashwright.api.resources.listing import PIECE, ListPage
from dashwright.api.resources.pages import ListOptions, Position, expired_token
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


async def check_version(database: Database, version: int) -> None:
    """Raise DeadlineExceeded for a version that does not exist yet, such as one from before the database was restored."""
    if not version:
        return
    async with database.connection() as connection:
        newest = await changes.latest(connection)
    if version > newest:
        text = f"Too large resource version: {version}, current: {newest}"
        cause = Cause("", "ResourceVersionTooLarge", "Too large resource version")
        raise DeadlineExceeded(f"{text}; list without one", retry_after=1, causes=[cause])


async def check_access(database: Database, policy: AccessPolicy, caller: Identity, namespace: str, list_options: ListOptions) -> None:
    """Raise Gone if access rules changed since the requested version.

    Rules of the past are not stored, and the current rules would show objects that were hidden then. For a page that follows,
    the error says how to continue.
    """
    at = list_options.version if list_options.position is None else list_options.position.at
    if list_options.position is None and not list_options.is_exact:
        return
    try:
        await policy.check_since(caller, namespace, at)
    except Gone as error:
        if list_options.position is None:
            raise
        raise await _expired(database, list_options.position) from error


async def _expired(database: Database, position: Position) -> Gone:
    async with database.connection() as connection:
        return expired_token(position, await changes.head(connection, StreamName.OBJECTS))


class ObjectSource:
    """Stored objects at one version: the newest when the list began, or the requested one."""

    def __init__(
        self,
        database: Database,
        kind: Kind,
        namespace: str,
        selection: Selection,
        scope: Scope,
        list_options: ListOptions,
        *,
        bodies: bool,
        inline: int = PIECE,
    ) -> None:
        self._inline = inline
        self._database = database
        self._kind = kind
        self._namespace = namespace
        self._selection = selection
        self._scope = scope
        self._exact = list_options.version if list_options.is_exact else None
        self._bodies = bodies

    async def page(self, position: Position | None, limit: int) -> ListPage:
        """Return a page. Raises Gone if the version is no longer known; for a position the error says how to continue."""
        if position is None:
            return await self._first(limit)
        try:
            async with self._database.connection() as connection:
                found = await self._slice(connection, position, limit)
        except Gone as error:
            raise await _expired(self._database, position) from error
        left = None if position.left is None else max(0, position.left - len(found.items))
        return ListPage(position.at, found.items, found.sizes, found.after, left)

    async def _first(self, limit: int) -> ListPage:
        # One snapshot, so that the version, the page and the count agree.
        async with self._database.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
            newest = await changes.head(connection, StreamName.OBJECTS)
            at = newest if self._exact is None else min(self._exact, newest)
            found = await self._slice(connection, Position(at), limit)
            left = None
            if found.after is not None and at == newest and self._selection.is_everything and self._scope.everything:
                left = await self._count(connection) - len(found.items)
        return ListPage(at, found.items, found.sizes, found.after, left)

    async def _count(self, connection: Connection) -> int:
        return await lists.count(connection, self._kind, self._namespace)

    async def _slice(self, connection: Connection, position: Position, limit: int) -> Slice:
        return await self._in_namespace(connection, self._namespace, position.at, position.after, limit, self._inline)

    async def _in_namespace(self, connection: Connection, namespace: str, at: int, after: str, limit: int, most: int) -> Slice:
        selection = self._selection
        if selection.is_empty or (selection.number is not None and not self._kind.in_folder):
            return Slice((), None)
        return await lists.page(
            connection,
            self._kind,
            namespace,
            at=at,
            after=after,
            limit=limit,
            labels=selection.labels,
            name=selection.name,
            other_names=selection.other_names,
            number=selection.number,
            scope=self._scope,
            bodies=self._bodies,
            most=most,
        )


class AllNamespacesSource(ObjectSource):
    """Stored objects of all namespaces, ordered by namespace and name."""

    def __init__(self, database: Database, kind: Kind, selection: Selection, list_options: ListOptions, *, bodies: bool) -> None:
        super().__init__(database, kind, "", selection, EVERYTHING, list_options, bodies=bodies)

    async def _count(self, connection: Connection) -> int:
        return await lists.count(connection, self._kind, None)

    async def _slice(self, connection: Connection, position: Position, limit: int) -> Slice:
        items: list[StoredObject] = []
        sizes: list[int] = []
        for namespace in await lists.namespaces(connection, self._kind, at=position.at, first=position.namespace):
            if self._selection.namespace not in (None, namespace) or namespace in self._selection.other_namespaces:
                continue
            if len(items) == limit:
                return Slice(items, items[-1].name, sizes)
            after = position.after if namespace == position.namespace else ""
            found = await self._in_namespace(
                connection, namespace, position.at, after, limit - len(items), max(0, self._inline - sum(sizes))
            )
            items += found.items
            sizes += found.sizes
            if found.after is not None:
                return Slice(items, found.after, sizes)
        return Slice(items, None, sizes)


class JobSource:
    """Jobs as they are when each page is read.

    The version is that of the first page: a watch that starts from it misses no change.
    """

    def __init__(self, database: Database, kind: Kind, namespace: str, selection: Selection, list_options: ListOptions) -> None:
        self._database = database
        self._kind = kind
        self._namespace = namespace
        self._selection = selection
        self._exact = list_options.version if list_options.is_exact else None

    async def page(self, position: Position | None, limit: int) -> ListPage:
        """Return a page of jobs. Raises Gone if a version other than the newest is requested."""
        after: str | None = "" if position is None else position.after
        found: list[StoredJob] = []
        at, left = 0, None
        async with self._database.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
            # A page before the last must not be empty, so pages are read until a job matches.
            while after is not None and not found:
                page = await jobs.list_page(connection, self._kind, self._namespace, after=after, limit=limit)
                after, at = page.after, page.position
                found = [job for job in page.items if matches(self._selection, labels_of(job), job.name)]
                left = page.remaining if self._selection.is_everything else None
        if self._exact is not None and self._exact < at:
            raise Gone(f"jobs are listed as they are, at {at}, and not as they were at {self._exact}; list without a resourceVersion")
        return ListPage(at if position is None else position.at, found, _sizes(found), after, left)


def _sizes(found: Sequence[StoredJob]) -> Sequence[int]:
    return [len(job.spec) + len(job.status) for job in found]
