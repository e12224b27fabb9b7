"""Routes of the resource API, generated from the registry of kinds."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from dashwright.api.domain.events import event_of
from dashwright.api.http.routing import SIGNED_IN, Operation, Permission, Route
from dashwright.api.resources.request import ResourceHandler, Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.subresources import dto, folder, managed, status, versions
from dashwright.api.resources.verbs import create, delete, delete_collection, get, list_, patch, update, watch
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import KINDS

#: The largest object in a request, in bytes.
OBJECT_LIMIT: Final = 5 * 1024 * 1024

#: The verb in the name of the audit event, if it differs.
_EVENTS: Final = MappingProxyType({"patch": "update", "deletecollection": "delete"})

_READING: Final = frozenset({"get", "list"})


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """The path and handler of a verb."""

    verb: str
    method: str
    #: Relative to the collection.
    path: str
    operation: Callable[[Target], Operation]
    handle: ResourceHandler


_ENDPOINTS: Final = (
    _Endpoint("list", "GET", "", list_.operation, watch.watch_or_list(list_.handle)),
    _Endpoint("create", "POST", "", create.operation, create.handle),
    _Endpoint("get", "GET", "/{name}", get.operation, get.handle),
    _Endpoint("update", "PUT", "/{name}", update.operation, update.handle),
    _Endpoint("patch", "PATCH", "/{name}", patch.operation, patch.handle),
    _Endpoint("delete", "DELETE", "/{name}", delete.operation, delete.handle),
    _Endpoint("deletecollection", "DELETE", "", delete_collection.operation, delete_collection.handle),
)
_STATUS: Final = _Endpoint("get", "GET", "/{name}/status", status.operation, status.handle)
_STATUS_WRITES: Final = (
    _Endpoint("status", "PUT", "/{name}/status", status.operation_of_replace, status.replace),
    _Endpoint("status", "PATCH", "/{name}/status", status.operation_of_patch, status.patch),
)
_SUBRESOURCES: Final[Mapping[str, tuple[_Endpoint, ...]]] = MappingProxyType(
    {
        "counts": (_Endpoint("get", "GET", "/{name}/counts", folder.counts_operation, folder.counts),),
        "parents": (_Endpoint("get", "GET", "/{name}/parents", folder.parents_operation, folder.parents),),
        "resources": (_Endpoint("get", "GET", "/{name}/resources", managed.operation, managed.handle),),
        "dto": (_Endpoint("get", "GET", "/{name}/dto", dto.operation, dto.handle),),
        "versions": (
            _Endpoint("list", "GET", "/{name}/versions", versions.operation, versions.handle),
            _Endpoint("get", "GET", "/{name}/versions/{number}", versions.operation_of_one, versions.handle_one),
        ),
    }
)


def routes(services: Services, kinds: Sequence[Kind] = KINDS) -> list[Route]:
    """Return the routes of every verb of every kind in each version, and of the subresources."""
    verbs = [
        _route(endpoint, Target(kind, version), services) for kind in kinds for version in kind.versions for endpoint in _endpoints(kind)
    ]
    below = [
        _route(endpoint, Target(kind, version, sub), services)
        for kind in kinds
        for version in kind.versions
        for sub in kind.subresources
        for endpoint in _SUBRESOURCES.get(sub.name, ())
    ]
    everywhere = [_everywhere(Target(kind, version), services) for kind in kinds if "list" in kind.verbs for version in kind.versions]
    return [*verbs, *below, *everywhere]


def _everywhere(target: Target, services: Services) -> Route:
    """Return the route that lists all namespaces. Its handler checks the rights, to name the namespaces to use instead."""
    path = f"/apis/{target.kind.group}/{target.version}/{target.kind.plural}"
    handle = functools.partial(list_.handle_everywhere, target, services)
    return Route("GET", path, handle, SIGNED_IN, list_.operation_everywhere(target))


def _endpoints(kind: Kind) -> Iterator[_Endpoint]:
    yield from (endpoint for endpoint in _ENDPOINTS if endpoint.verb in kind.verbs)
    if kind.status is not None:
        yield _STATUS
        yield from _STATUS_WRITES if "update" in kind.verbs else ()


def _route(endpoint: _Endpoint, target: Target, services: Services) -> Route:
    kind = target.kind
    return Route(
        endpoint.method,
        f"/apis/{kind.group}/{target.version}/namespaces/{{namespace}}/{kind.plural}{endpoint.path}",
        functools.partial(endpoint.handle, target, services),
        Permission(kind.actions[endpoint.verb] if target.sub is None else target.sub.action, by_object=kind.in_folder),
        endpoint.operation(target),
        body_limit=OBJECT_LIMIT,
        audit=None if endpoint.verb in _READING else event_of(kind, _EVENTS.get(endpoint.verb, endpoint.verb)),
    )
