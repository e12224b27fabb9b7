"""Routes of the resource API, made from the registry of kinds."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from dashwright.api.domain.events import event_of
from dashwright.api.http.routing import SIGNED_IN, Operation, Permission, Route
from dashwright.api.resources.services import ResourceHandler, Services
from dashwright.api.resources.subresources import counts, dto, managed, parents, status, versions
from dashwright.api.resources.target import Target
from dashwright.api.resources.verbs import create, delete, delete_collection, get, list_, patch, update, watch
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import KINDS

OBJECT_LIMIT: Final = 5 * 1024 * 1024
"""Bytes of one object as sent."""

_EVENTS: Final = MappingProxyType({"patch": "update", "deletecollection": "delete"})
"""What the audit calls a verb, where it is by another name."""

_READING: Final = frozenset({"get", "list"})


@dataclass(frozen=True, slots=True)
class _Door:
    """How a verb is reached. ``path`` follows that of the collection."""

    verb: str
    method: str
    path: str
    operation: Callable[[Target], Operation]
    handle: ResourceHandler


_DOORS: Final = (
    _Door("list", "GET", "", list_.operation, watch.watch_or_list(list_.handle)),
    _Door("create", "POST", "", create.operation, create.handle),
    _Door("get", "GET", "/{name}", get.operation, get.handle),
    _Door("update", "PUT", "/{name}", update.operation, update.handle),
    _Door("patch", "PATCH", "/{name}", patch.operation, patch.handle),
    _Door("delete", "DELETE", "/{name}", delete.operation, delete.handle),
    _Door("deletecollection", "DELETE", "", delete_collection.operation, delete_collection.handle),
)
_STATUS: Final = _Door("get", "GET", "/{name}/status", status.operation, status.handle)
_STATUS_WRITES: Final = (
    _Door("status", "PUT", "/{name}/status", status.operation_of_replace, status.replace),
    _Door("status", "PATCH", "/{name}/status", status.operation_of_patch, status.patch),
)
_SUBRESOURCES: Final[Mapping[str, tuple[_Door, ...]]] = MappingProxyType(
    {
        "counts": (_Door("get", "GET", "/{name}/counts", counts.operation, counts.handle),),
        "parents": (_Door("get", "GET", "/{name}/parents", parents.operation, parents.handle),),
        "resources": (_Door("get", "GET", "/{name}/resources", managed.operation, managed.handle),),
        "dto": (_Door("get", "GET", "/{name}/dto", dto.operation, dto.handle),),
        "versions": (
            _Door("list", "GET", "/{name}/versions", versions.operation, versions.handle),
            _Door("get", "GET", "/{name}/versions/{number}", versions.operation_of_one, versions.handle_one),
        ),
    }
)


def routes(services: Services, kinds: Sequence[Kind] = KINDS) -> list[Route]:
    """Return every verb of every kind in each of its versions, and what is served below its objects."""
    verbs = [_route(door, Target(kind, version), services) for kind in kinds for version in kind.versions for door in _doors(kind)]
    below = [
        _route(door, Target(kind, version, sub), services)
        for kind in kinds
        for version in kind.versions
        for sub in kind.subresources
        for door in _SUBRESOURCES.get(sub.name, ())
    ]
    everywhere = [_everywhere(Target(kind, version), services) for kind in kinds if "list" in kind.verbs for version in kind.versions]
    return [*verbs, *below, *everywhere]


def _everywhere(target: Target, services: Services) -> Route:
    """The list of all namespaces. Who may have it is told by the handler, which says what others can ask for."""
    path = f"/apis/{target.kind.group}/{target.version}/{target.kind.plural}"
    handle = functools.partial(list_.handle_everywhere, target, services)
    return Route("GET", path, handle, SIGNED_IN, list_.operation_everywhere(target))


def _doors(kind: Kind) -> Iterator[_Door]:
    yield from (door for door in _DOORS if door.verb in kind.verbs)
    if kind.status is not None:
        yield _STATUS
        yield from _STATUS_WRITES if "update" in kind.verbs else ()


def _route(door: _Door, target: Target, services: Services) -> Route:
    kind = target.kind
    return Route(
        door.method,
        f"/apis/{kind.group}/{target.version}/namespaces/{{namespace}}/{kind.plural}{door.path}",
        functools.partial(door.handle, target, services),
        Permission(kind.actions[door.verb] if target.sub is None else target.sub.action, by_object=kind.in_folder),
        door.operation(target),
        body_limit=OBJECT_LIMIT,
        audit=None if door.verb in _READING else event_of(kind, _EVENTS.get(door.verb, door.verb)),
    )
