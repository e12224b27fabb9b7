"""Where the objects of a list come from: the store at one version, of one namespace or of all, or the jobs there are."""

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
from dashwright.common.stores.jobs import StoredJob
from dashwright.common.stores.resources import StoredObject


async def check_version(database: Database, version: int) -> None:
    """Raises DeadlineExceeded for a version that nobody has drawn yet, as of a database that was restored."""
    if not version:
        return
    async with database.connection() as connection:
        newest = await changes.latest(connection)
    if version > newest:
        text = f"Too large resource version: {version}, current: {newest}"
        cause = Cause("", "ResourceVersionTooLarge", "Too large resource version")
        raise DeadlineExceeded(f"{text}; list without one", retry_after=1, causes=[cause])


async def check_access(database: Database, policy: AccessPolicy, caller: Identity, namespace: str, asked: ListOptions) -> None:
    """Raises Gone for a version of before who may see objects has changed, with how to go on where it is of a page that follows.

    The rules of then are not known any more: those of now would show what was hidden.
    """
    at = asked.version if asked.position is None else asked.position.at
    if asked.position is None and not asked.is_exact:
        return
    try:
        await policy.check_since(caller, namespace, at)
    except Gone as error:
        if asked.position is None:
            raise
        raise await _expired(database, asked.position) from error


async def _expired(database: Database, position: Position) -> Gone:
    async with database.connection() as connection:
        return expired_token(position, await changes.head(connection, StreamName.OBJECTS))


class ObjectSource:
    """Stored objects at one version: the newest when the list began, or the one that was asked for.

    ``inline``: bytes of bodies that are read together with a page, the first of it.
    """

    def __init__(
        self,
        database: Database,
        kind: Kind,
        namespace: str,
        selection: Selection,
        scope: Scope,
        asked: ListOptions,
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
        self._exact = asked.version if asked.is_exact else None
        self._bodies = bodies

    async def page(self, position: Position | None, limit: int) -> ListPage:
        """Raises Gone where the version is not known any more; of a position it tells how to go on."""
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
        wanted = self._selection
        if wanted.is_empty or (wanted.number is not None and not self._kind.in_folder):
            return Slice((), None)
        return await lists.page(
            connection,
            self._kind,
            namespace,
            at=at,
            after=after,
            limit=limit,
            labels=wanted.labels,
            name=wanted.name,
            other_names=wanted.other_names,
            number=wanted.number,
            scope=self._scope,
            bodies=self._bodies,
            most=most,
        )


class AllNamespacesSource(ObjectSource):
    """Those of all namespaces, in the order of namespaces and names."""

    def __init__(self, database: Database, kind: Kind, selection: Selection, asked: ListOptions, *, bodies: bool) -> None:
        super().__init__(database, kind, "", selection, EVERYTHING, asked, bodies=bodies)

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
    """Jobs as they are when each page is read. The version is that of the first page: a watch from there on misses nothing."""

    def __init__(self, database: Database, kind: Kind, namespace: str, selection: Selection, asked: ListOptions) -> None:
        self._database = database
        self._kind = kind
        self._namespace = namespace
        self._selection = selection
        self._exact = asked.version if asked.is_exact else None

    async def page(self, position: Position | None, limit: int) -> ListPage:
        """Raises Gone where another version than the newest is asked for."""
        after: str | None = "" if position is None else position.after
        found: list[StoredJob] = []
        at, left = 0, None
        async with self._database.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
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
