"""Routes of the resource API, generated from the registry of kinds."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from dashwright.api.domain.batch_items import SUBMIT_VERB
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import SIGNED_IN, UNLIMITED_BYTES, Operation, Permission, Route
from dashwright.api.resources.request import ResourceHandler, Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.subresources import batch, batch_items, batch_results, dto, folder, managed, replay, status, versions
from dashwright.api.resources.verbs import create, delete, delete_collection, get, list_, patch, update, watch
from dashwright.api.stores.audit import event_of
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import KINDS

#: The largest object in a request, in bytes.
MAX_OBJECT_BYTES: Final = 5 * 1024 * 1024

#: Verbs in the names of audit events, by the verbs of the resource API that have another name there.
_EVENT_VERBS: Final = MappingProxyType({"patch": "update", "deletecollection": "delete"})

_READ_VERBS: Final = frozenset({"get", "list"})


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """The method, path and handler of a verb."""

    verb: str
    method: str
    #: The path below the collection of objects.
    path: str
    operation: Callable[[Target], Operation]
    handle: ResourceHandler
    #: The verb of the kind whose permission is needed, instead of that of the subresource.
    permission_verb: str | None = None
    body_limit: int = MAX_OBJECT_BYTES


_ENDPOINTS: Final = (
    _Endpoint("list", "GET", "", list_.operation, watch.watch_or_list(list_.handle)),
    _Endpoint("create", "POST", "", create.operation, create.handle),
    _Endpoint("get", "GET", "/{name}", get.operation, get.handle),
    _Endpoint("update", "PUT", "/{name}", update.operation, update.handle),
    _Endpoint("patch", "PATCH", "/{name}", patch.operation, patch.handle),
    _Endpoint("delete", "DELETE", "/{name}", delete.operation, delete.handle),
    _Endpoint("deletecollection", "DELETE", "", delete_collection.operation, delete_collection.handle),
)
_STATUS_READ: Final = _Endpoint("get", "GET", "/{name}/status", status.operation, status.handle)
# Permissions and audit events have a verb of their own for writes of the status.
_STATUS_WRITES: Final = (
    _Endpoint("status", "PUT", "/{name}/status", status.replace_operation, status.replace),
    _Endpoint("status", "PATCH", "/{name}/status", status.patch_operation, status.patch),
)
_SUBRESOURCE_ENDPOINTS: Final[Mapping[str, tuple[_Endpoint, ...]]] = MappingProxyType(
    {
        "items": (
            _Endpoint("list", "GET", "/{name}/items", batch.items_operation, batch.list_items),
            _Endpoint(
                SUBMIT_VERB,
                "POST",
                "/{name}/items",
                batch_items.operation,
                batch_items.submit,
                permission_verb="update",
                body_limit=UNLIMITED_BYTES,
            ),
        ),
        "results": (_Endpoint("list", "GET", "/{name}/results", batch_results.operation, batch_results.handle),),
        "close": (_Endpoint("close", "POST", "/{name}/close", batch.close_operation, batch.close),),
        "cancel": (_Endpoint("cancel", "POST", "/{name}/cancel", batch.cancel_operation, batch.cancel),),
        "retry": (_Endpoint("retry", "POST", "/{name}/retry", batch.retry_operation, batch.retry),),
        "counts": (_Endpoint("get", "GET", "/{name}/counts", folder.counts_operation, folder.counts),),
        "access": (_Endpoint("get", "GET", "/{name}/access", folder.access_operation, folder.access),),
        "parents": (_Endpoint("get", "GET", "/{name}/parents", folder.parents_operation, folder.parents),),
        "resources": (_Endpoint("get", "GET", "/{name}/resources", managed.operation, managed.handle),),
        "dto": (_Endpoint("get", "GET", "/{name}/dto", dto.operation, dto.handle),),
        "replay": (
            _Endpoint("replay", "POST", "/{name}/replay", replay.operation, replay.handle),
            _Endpoint("replay", "POST", "/replay", replay.collection_operation, replay.handle_collection),
        ),
        "versions": (
            _Endpoint("list", "GET", "/{name}/versions", versions.operation, versions.handle),
            _Endpoint("get", "GET", "/{name}/versions/{number}", versions.single_version_operation, versions.handle_single_version),
        ),
    }
)


def routes(services: Services, kinds: Sequence[Kind] = KINDS) -> list[Route]:
    """Return the routes of every verb of every kind in each version, and of the subresources."""
    verb_routes = [
        _route(endpoint, Target(kind, version), services) for kind in kinds for version in kind.versions for endpoint in _endpoints(kind)
    ]
    subresource_routes = [
        _route(endpoint, Target(kind, version, subresource), services)
        for kind in kinds
        for version in kind.versions
        for subresource in kind.subresources
        # The other subresources, which are those of repositories, have routes in ``repositories/routes``.
        for endpoint in _SUBRESOURCE_ENDPOINTS.get(subresource.name, ())
    ]
    all_namespaces_routes = [
        _all_namespaces_route(Target(kind, version), services) for kind in kinds if "list" in kind.verbs for version in kind.versions
    ]
    return [*verb_routes, *subresource_routes, *all_namespaces_routes]


def _all_namespaces_route(target: Target, services: Services) -> Route:
    """Return the route that lists all namespaces. Its handler checks permissions, so that the error names a list that is permitted."""
    path = f"/apis/{target.kind.group}/{target.version}/{target.kind.plural}"
    handle = functools.partial(list_.handle_all_namespaces, target, services)
    return Route("GET", path, handle, SIGNED_IN, list_.all_namespaces_operation(target))


def _endpoints(kind: Kind) -> Iterator[_Endpoint]:
    """Yield the endpoints of the verbs and of the status of a kind."""
    yield from (endpoint for endpoint in _ENDPOINTS if endpoint.verb in kind.verbs)
    if kind.status is not None:
        yield _STATUS_READ
        if "update" in kind.verbs:
            yield from _STATUS_WRITES


def _converting(handle: ResourceHandler) -> ResourceHandler:
    """Return a handler that can convert the objects of a namespace between versions."""

    async def handle_with_context(target: Target, services: Services, call: Call) -> Response:
        await services.conversion_contexts.enter(call.parameters["namespace"])
        return await handle(target, services, call)

    return handle_with_context


def _route(endpoint: _Endpoint, target: Target, services: Services) -> Route:
    """Return the route of an endpoint for a kind in a version, or for its subresource."""
    kind = target.kind
    handle = endpoint.handle if kind.versioning is None else _converting(endpoint.handle)
    return Route(
        endpoint.method,
        f"/apis/{kind.group}/{target.version}/namespaces/{{namespace}}/{kind.plural}{endpoint.path}",
        functools.partial(handle, target, services),
        Permission(_action(endpoint, target), object_rules_suffice=kind.in_folder),
        endpoint.operation(target),
        body_limit=endpoint.body_limit,
        audit=None if endpoint.verb in _READ_VERBS else event_of(kind, _EVENT_VERBS.get(endpoint.verb, endpoint.verb)),
    )


def _action(endpoint: _Endpoint, target: Target) -> str:
    """Return the action that a request to an endpoint requires."""
    if target.subresource is not None and endpoint.permission_verb is None:
        return target.subresource.action
    return target.kind.actions[endpoint.permission_verb or endpoint.verb]
