"""How the verbs reach the objects of a kind: one strategy for each storage that ``common.kinds`` describes."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from dashwright.api.domain import submissions
from dashwright.api.domain.access.view import View
from dashwright.api.domain.selectors import Selection
from dashwright.api.http.call import Call
from dashwright.api.resources import formats, jobs, objects, options, sources
from dashwright.api.resources.formats import Format, Item
from dashwright.api.resources.listing import PIECE, ListSource
from dashwright.api.resources.options import DeleteRequest
from dashwright.api.resources.pages import ListOptions
from dashwright.api.resources.request import Target, read_object
from dashwright.api.resources.services import Services
from dashwright.api.resources.threads import run_sized
from dashwright.common.database.pool import Database
from dashwright.common.kinds.kind import Kind, Storage
from dashwright.common.stores import jobs as stored_jobs


class Removal(NamedTuple):
    """The result of a delete."""

    uid: str
    #: The object that waits for its finalizers; None if it is deleted.
    waiting: Item | None = None


class KindStorage(Protocol):
    """The operations that verbs need from the storage of a kind."""

    #: HTTP status of a successful create.
    created_status: int
    #: A list may span all namespaces.
    spans_namespaces: bool

    async def get(self, kind: Kind, services: Services, call: Call) -> Item:
        """Return the object that the path names. Raises NotFound and Forbidden."""
        ...

    async def create(self, target: Target, services: Services, call: Call) -> tuple[Item, Sequence[str]]:
        """Create the object in the body; return it and the warnings for the client."""
        ...

    async def delete(self, kind: Kind, services: Services, call: Call, request: DeleteRequest) -> Removal:
        """Delete the object that the path names."""
        ...

    async def delete_collection(self, kind: Kind, services: Services, call: Call, selection: Selection, request: DeleteRequest) -> None:
        """Delete the selected objects that the caller may see: all of them, or with an error none."""
        ...

    async def list_source(
        self, kind: Kind, services: Services, call: Call, form: Format, list_options: ListOptions, selection: Selection
    ) -> ListSource:
        """Return the source of a list in one namespace."""
        ...

    def initial_source(self, kind: Kind, database: Database, namespace: str, selection: Selection, form: Format, view: View) -> ListSource:
        """Return the source of the objects with which a watch begins."""
        ...


class _StoredObjects:
    """Objects of the table ``resource``, written by the one Writer."""

    created_status = 201
    spans_namespaces = True

    async def get(self, kind: Kind, services: Services, call: Call) -> Item:
        found, _ = await read_object(kind, services, call)
        return found

    async def create(self, target: Target, services: Services, call: Call) -> tuple[Item, Sequence[str]]:
        context, validation = options.write_context(call), options.validation_of(call)
        tree, size = await formats.read_body(call), len(await call.body())
        desired = await run_sized(
            size, partial(objects.read_new, tree, target.kind, call.parameters["namespace"], target.version, validation)
        )
        return await services.writer.create(desired, context, size=size), desired.warnings

    async def delete(self, kind: Kind, services: Services, call: Call, request: DeleteRequest) -> Removal:
        namespace, name = call.parameters["namespace"], call.parameters["name"]
        context = options.write_context(call, dry_run=request.dry_run)
        result = await services.writer.delete(
            kind, namespace, name, context, preconditions=request.preconditions, cascade=request.cascade, grace=request.grace
        )
        return Removal(str(result.stored.uid), None if result.is_gone else result.stored)

    async def delete_collection(self, kind: Kind, services: Services, call: Call, selection: Selection, request: DeleteRequest) -> None:
        context = options.write_context(call, dry_run=request.dry_run)
        await services.writer.delete_selected(
            kind,
            call.parameters["namespace"],
            selection,
            context,
            preconditions=request.preconditions,
            cascade=request.cascade,
            grace=request.grace,
        )

    async def list_source(
        self, kind: Kind, services: Services, call: Call, form: Format, list_options: ListOptions, selection: Selection
    ) -> ListSource:
        namespace = call.parameters["namespace"]
        view = await services.policy.view(call.identity, namespace)
        if kind.in_folder:
            await sources.check_access(services.database, services.policy, call.identity, namespace, list_options)
        return self._source(kind, services.database, namespace, selection, form, view, list_options)

    def initial_source(self, kind: Kind, database: Database, namespace: str, selection: Selection, form: Format, view: View) -> ListSource:
        # Bodies are read with each piece, not with the page: an unread watch would keep them in memory.
        return self._source(kind, database, namespace, selection, form, view, ListOptions(), inline=0)

    def _source(
        self,
        kind: Kind,
        database: Database,
        namespace: str,
        selection: Selection,
        form: Format,
        view: View,
        list_options: ListOptions,
        inline: int = PIECE,
    ) -> ListSource:
        bodies = form.needs_body(kind)
        return sources.ObjectSource(database, kind, namespace, selection, view.scope(kind), list_options, bodies=bodies, inline=inline)


class _StoredJobs:
    """Jobs and evaluations of the table ``job``, submitted to the queue and cancelled there."""

    #: 202: the job is accepted; its effect comes later.
    created_status = 202
    spans_namespaces = False

    async def get(self, kind: Kind, services: Services, call: Call) -> Item:
        async with services.database.connection() as connection:
            return await stored_jobs.get(connection, kind, call.parameters["namespace"], call.parameters["name"])

    async def create(self, target: Target, services: Services, call: Call) -> tuple[Item, Sequence[str]]:
        namespace, context, validation = call.parameters["namespace"], options.write_context(call), options.validation_of(call)
        submissions.check_size(await call.body())
        submission, warnings = jobs.read(await formats.read_body(call), target.kind, namespace, validation)
        job = await jobs.create(services.jobs, submission, namespace, call.actor, call.identity, dry_run=context.dry_run)
        return job, warnings

    async def delete(self, kind: Kind, services: Services, call: Call, request: DeleteRequest) -> Removal:
        namespace, name = call.parameters["namespace"], call.parameters["name"]
        return Removal(str(await jobs.delete(services.jobs, kind, namespace, name, request, call.actor)))

    async def delete_collection(self, kind: Kind, services: Services, call: Call, selection: Selection, request: DeleteRequest) -> None:
        await jobs.delete_selected(services.jobs, kind, call.parameters["namespace"], selection, request, call.actor)

    async def list_source(
        self, kind: Kind, services: Services, call: Call, form: Format, list_options: ListOptions, selection: Selection
    ) -> ListSource:
        return sources.JobSource(services.database, kind, call.parameters["namespace"], selection, list_options)

    def initial_source(self, kind: Kind, database: Database, namespace: str, selection: Selection, form: Format, view: View) -> ListSource:
        return sources.JobSource(database, kind, namespace, selection, ListOptions())


# A third storage is one more class here.
_STORAGES: Final[Mapping[Storage, KindStorage]] = MappingProxyType({Storage.RESOURCES: _StoredObjects(), Storage.JOBS: _StoredJobs()})


def storage_of(kind: Kind) -> KindStorage:
    """Return the strategy for the storage of a kind."""
    return _STORAGES[kind.storage]
