"""Operations of the verbs on the objects of a kind: one implementation for each storage that ``common.kinds`` describes."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from dashwright.api.domain import submissions
from dashwright.api.domain.access.view import AccessView
from dashwright.api.domain.selectors import Selection
from dashwright.api.http.call import Call, run_in_thread_if_large
from dashwright.api.resources import dead_letters, formats, jobs, objects, options, records, sources
from dashwright.api.resources.formats import Format, Item
from dashwright.api.resources.listing import CHUNK_BYTES, ListSource
from dashwright.api.resources.options import DeleteRequest
from dashwright.api.resources.pages import ListOptions
from dashwright.api.resources.request import Target, read_object
from dashwright.api.resources.services import Services
from dashwright.api.stores import records as stored_records
from dashwright.common.database.pool import Database
from dashwright.common.errors import MethodNotAllowed
from dashwright.common.kinds.kind import Kind, Storage
from dashwright.common.stores import jobs as stored_jobs


class Removal(NamedTuple):
    """The result of a delete."""

    uid: str
    #: The object that waits for its finalizers; None if the object is deleted.
    waiting_object: Item | None = None


class KindStorage(Protocol):
    """The operations of verbs on the storage of a kind. Methods that change objects raise the errors of their writers."""

    #: HTTP status of a successful create. It is not used for kinds without this verb.
    created_status: int
    #: A list may span all namespaces.
    spans_namespaces: bool

    async def get(self, kind: Kind, services: Services, call: Call) -> Item:
        """Return the object that the path names. Raises NotFound, and Forbidden unless the caller may read it."""
        ...

    async def create(self, target: Target, services: Services, call: Call) -> tuple[Item, Sequence[str]]:
        """Create the object in the body; return it and the warnings for the client."""
        ...

    async def delete(self, kind: Kind, services: Services, call: Call, request: DeleteRequest) -> Removal:
        """Delete the object that the path names."""
        ...

    async def delete_collection(self, kind: Kind, services: Services, call: Call, selection: Selection, request: DeleteRequest) -> None:
        """Delete the selected objects that the caller may see. If an error is raised, no object is deleted."""
        ...

    async def list_source(
        self, kind: Kind, services: Services, call: Call, response_format: Format, list_options: ListOptions, selection: Selection
    ) -> ListSource:
        """Return the source of a list in one namespace."""
        ...

    def initial_source(
        self, kind: Kind, database: Database, namespace: str, selection: Selection, response_format: Format, view: AccessView
    ) -> ListSource:
        """Return the source of the objects with which a watch begins."""
        ...


class _StoredObjects:
    """Objects of the table ``resource``, which are changed by Writer only."""

    created_status = 201
    spans_namespaces = True

    async def get(self, kind: Kind, services: Services, call: Call) -> Item:
        stored_object, _ = await read_object(kind, services, call)
        return stored_object

    async def create(self, target: Target, services: Services, call: Call) -> tuple[Item, Sequence[str]]:
        context, validation = options.write_context(call), options.validation_of(call)
        tree, size = await formats.read_body(call), len(await call.body())
        desired = await run_in_thread_if_large(
            size, partial(objects.read_new_object, tree, target.kind, call.parameters["namespace"], target.version, validation)
        )
        return await services.writer.create(desired, context, size=size), desired.warnings

    async def delete(self, kind: Kind, services: Services, call: Call, request: DeleteRequest) -> Removal:
        namespace, name = call.parameters["namespace"], call.parameters["name"]
        context = options.write_context(call, dry_run=request.dry_run)
        result = await services.writer.delete(
            kind,
            namespace,
            name,
            context,
            preconditions=request.preconditions,
            cascade=request.cascade,
            grace_seconds=request.grace_seconds,
        )
        return Removal(str(result.stored_object.uid), None if result.is_deleted else result.stored_object)

    async def delete_collection(self, kind: Kind, services: Services, call: Call, selection: Selection, request: DeleteRequest) -> None:
        context = options.write_context(call, dry_run=request.dry_run)
        await services.writer.delete_selected(
            kind,
            call.parameters["namespace"],
            selection,
            context,
            preconditions=request.preconditions,
            cascade=request.cascade,
            grace_seconds=request.grace_seconds,
        )

    async def list_source(
        self, kind: Kind, services: Services, call: Call, response_format: Format, list_options: ListOptions, selection: Selection
    ) -> ListSource:
        namespace = call.parameters["namespace"]
        view = await services.policy.view(call.identity, namespace)
        # Only objects in folders have access rules.
        if kind.in_folder:
            await sources.check_unchanged_access(services.database, services.policy, call.identity, namespace, list_options)
        return self._object_source(kind, services.database, namespace, selection, response_format, view, list_options)

    def initial_source(
        self, kind: Kind, database: Database, namespace: str, selection: Selection, response_format: Format, view: AccessView
    ) -> ListSource:
        # Bodies are read with each chunk instead of with the page, because a slow watcher would keep the bodies of a page in memory.
        return self._object_source(kind, database, namespace, selection, response_format, view, ListOptions(), inline_bytes=0)

    def _object_source(
        self,
        kind: Kind,
        database: Database,
        namespace: str,
        selection: Selection,
        response_format: Format,
        view: AccessView,
        list_options: ListOptions,
        inline_bytes: int = CHUNK_BYTES,
    ) -> ListSource:
        needs_bodies, scope = response_format.needs_body(kind), view.scope(kind)
        return sources.ObjectSource(
            database, kind, namespace, selection, scope, list_options, needs_bodies=needs_bodies, inline_bytes=inline_bytes
        )


class _StoredJobs:
    """Jobs and evaluations of the table ``job``, submitted to the queue and cancelled there."""

    #: 202 (Accepted), because the job runs later.
    created_status = 202
    spans_namespaces = False

    async def get(self, kind: Kind, services: Services, call: Call) -> Item:
        async with services.database.connection() as connection:
            return await stored_jobs.get(connection, kind, call.parameters["namespace"], call.parameters["name"])

    async def create(self, target: Target, services: Services, call: Call) -> tuple[Item, Sequence[str]]:
        namespace = call.parameters["namespace"]
        context = options.write_context(call)
        validation = options.validation_of(call)
        submissions.check_size(await call.body())
        submission, warnings = jobs.read_submission(await formats.read_body(call), target, namespace, validation)
        job = await jobs.create(services.jobs, submission, namespace, call.actor, call.identity, dry_run=context.dry_run)
        return job, warnings

    async def delete(self, kind: Kind, services: Services, call: Call, request: DeleteRequest) -> Removal:
        namespace, name = call.parameters["namespace"], call.parameters["name"]
        return Removal(str(await jobs.delete(services.jobs, kind, namespace, name, request, call.actor)))

    async def delete_collection(self, kind: Kind, services: Services, call: Call, selection: Selection, request: DeleteRequest) -> None:
        await jobs.delete_selected(services.jobs, kind, call.parameters["namespace"], selection, request, call.actor)

    async def list_source(
        self, kind: Kind, services: Services, call: Call, response_format: Format, list_options: ListOptions, selection: Selection
    ) -> ListSource:
        return sources.JobSource(services.database, kind, call.parameters["namespace"], selection, list_options)

    def initial_source(
        self, kind: Kind, database: Database, namespace: str, selection: Selection, response_format: Format, view: AccessView
    ) -> ListSource:
        return sources.JobSource(database, kind, namespace, selection, ListOptions())


class _StoredDeadLetters:
    """Dead letters of the table ``dead_letter``, which the consumer of their queue creates."""

    created_status = 201
    spans_namespaces = False

    async def get(self, kind: Kind, services: Services, call: Call) -> Item:
        return await services.dead_letters.get(dead_letters.caller_of(call), call.parameters["name"])

    async def create(self, target: Target, services: Services, call: Call) -> tuple[Item, Sequence[str]]:
        raise MethodNotAllowed(f"{target.kind.plural} are created by the server only")

    async def delete(self, kind: Kind, services: Services, call: Call, request: DeleteRequest) -> Removal:
        letter = await services.dead_letters.discard(
            dead_letters.caller_of(call), call.parameters["name"], request.preconditions.check_delete, dry_run=request.dry_run
        )
        return Removal(str(letter.uid))

    async def delete_collection(self, kind: Kind, services: Services, call: Call, selection: Selection, request: DeleteRequest) -> None:
        is_selected = dead_letters.selector_of(selection, request)
        await services.dead_letters.discard_selected(dead_letters.caller_of(call), is_selected, dry_run=request.dry_run)

    async def list_source(
        self, kind: Kind, services: Services, call: Call, response_format: Format, list_options: ListOptions, selection: Selection
    ) -> ListSource:
        caller, needs_bodies = dead_letters.caller_of(call), response_format.needs_body(kind)
        return dead_letters.DeadLetterSource(services.database, caller, selection, list_options, needs_bodies=needs_bodies)

    def initial_source(
        self, kind: Kind, database: Database, namespace: str, selection: Selection, response_format: Format, view: AccessView
    ) -> ListSource:
        raise MethodNotAllowed(f"{kind.plural} cannot be watched; list them")


class _StoredRecords:
    """Users, teams and preferences, which only the classic API changes."""

    created_status = 201
    spans_namespaces = False

    async def get(self, kind: Kind, services: Services, call: Call) -> Item:
        async with services.database.connection() as connection:
            return await stored_records.get(connection, kind, records.reader_of(call), call.parameters["name"])

    async def create(self, target: Target, services: Services, call: Call) -> tuple[Item, Sequence[str]]:
        raise _read_only_error(target.kind)

    async def delete(self, kind: Kind, services: Services, call: Call, request: DeleteRequest) -> Removal:
        raise _read_only_error(kind)

    async def delete_collection(self, kind: Kind, services: Services, call: Call, selection: Selection, request: DeleteRequest) -> None:
        raise _read_only_error(kind)

    async def list_source(
        self, kind: Kind, services: Services, call: Call, response_format: Format, list_options: ListOptions, selection: Selection
    ) -> ListSource:
        return records.RecordSource(services.database, kind, records.reader_of(call), selection, list_options)

    def initial_source(
        self, kind: Kind, database: Database, namespace: str, selection: Selection, response_format: Format, view: AccessView
    ) -> ListSource:
        raise MethodNotAllowed(f"{kind.plural} cannot be watched; list them")


def _read_only_error(kind: Kind) -> MethodNotAllowed:
    return MethodNotAllowed(f"{kind.plural} are only read here; change them by the classic API")


# A new storage needs one more class here.
_STORAGES: Final[Mapping[Storage, KindStorage]] = MappingProxyType(
    {
        Storage.RESOURCES: _StoredObjects(),
        Storage.JOBS: _StoredJobs(),
        Storage.DEAD_LETTERS: _StoredDeadLetters(),
        Storage.RECORDS: _StoredRecords(),
    }
)


def storage_of(kind: Kind) -> KindStorage:
    """Return the implementation for the storage of a kind."""
    return _STORAGES[kind.storage]
