"""Discovery: the served groups, versions and resources, which Kubernetes clients request first.

``/api`` has no route. Grafana returns 404 there, and its command line tools refuse a server that has Kubernetes'
core group.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import orjson

from dashwright.api.http.call import Call
from dashwright.api.http.errors import ErrorShape
from dashwright.api.http.etags import entity_tag, tagged
from dashwright.api.http.response import JSON, Response
from dashwright.api.http.routing import SIGNED_IN, Content, Handler, Operation, Route
from dashwright.api.models.discovery import APIGroup, APIGroupDiscoveryList, APIGroupList, APIResourceList
from dashwright.api.resources import discovery
from dashwright.common.errors import NotFound
from dashwright.common.kinds.kind import Kind
from dashwright.common.media import ranges

_TAG: Final = "discovery"
_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
_META_VERSIONS: Final = ("v2", "v2beta1")
#: Clients keep the documents, and ask each time whether they have changed.
_HEADERS: Final = {"Vary": "Accept", "Cache-Control": "no-cache"}

_EITHER: Final = (
    Content(APIGroupList),
    Content(APIGroupDiscoveryList, tuple(_AGGREGATED.format(version) for version in _META_VERSIONS)),
)


@dataclass(frozen=True, slots=True)
class _Text:
    body: bytes
    tag: str
    content_type: str = JSON


def routes(kinds: Sequence[Kind]) -> list[Route]:
    """Return the routes. The documents are generated once from ``kinds``."""
    groups = {group: _text(discovery.api_group(kinds, group)) for group in discovery.groups_of(kinds)}
    resources = {
        (group, version): _text(discovery.api_resource_list(kinds, group, version))
        for group in groups
        for version in discovery.versions_of(kinds, group)
    }

    everything = partial(discovery.aggregated, kinds)

    async def group(call: Call) -> Response:
        name = call.parameters["group"]
        return _response(call, groups.get(name), f"API group {name!r} not found; /apis lists the served ones")

    async def version(call: Call) -> Response:
        name = f"{call.parameters['group']}/{call.parameters['version']}"
        found = resources.get((call.parameters["group"], call.parameters["version"]))
        return _response(call, found, f"API version {name!r} not found; /apis lists the served ones")

    return [
        _route("/apis", _either(discovery.api_group_list(kinds), everything), "getApiGroups", "the groups of the resource API"),
        Route(
            "GET",
            "/apis/{group}",
            group,
            SIGNED_IN,
            Operation("getApiGroup", "an API group", _TAG, responses={200: APIGroup, 304: None}, errors=(404,)),
        ),
        Route(
            "GET",
            "/apis/{group}/{version}",
            version,
            SIGNED_IN,
            Operation(
                "getApiResources", "the resources of a version of a group", _TAG, responses={200: APIResourceList, 304: None}, errors=(404,)
            ),
        ),
    ]


def _route(path: str, handler: Handler, identifier: str, summary: str) -> Route:
    aggregated = "Returns the aggregated document if the Accept header prefers it."
    operation = Operation(identifier, summary, _TAG, responses={200: _EITHER, 304: None}, description=aggregated)
    return Route("GET", path, handler, SIGNED_IN, operation, shape=ErrorShape.STATUS)


def _either(plain: discovery.Document, aggregated: Callable[[str], discovery.Document]) -> Handler:
    """Return a handler for the plain document, or the aggregated one if a client prefers it."""
    texts = {version: _text(aggregated(version), _AGGREGATED.format(version)) for version in _META_VERSIONS}
    texts[""] = _text(plain)

    async def handler(call: Call) -> Response:
        return _response(call, texts[_meta_version(call.accept)], "")

    return handler


def _meta_version(accept: str) -> str:
    """Return the requested version of the aggregated document; "" for the plain document."""
    found, weight = "", 0.0
    for asked in ranges(accept):
        wanted = asked.parameters.get("v", "") if asked.parameters.get("as") == "APIGroupDiscoveryList" else ""
        is_served = asked.name == JSON and (wanted in _META_VERSIONS or not asked.parameters.get("as"))
        if is_served and asked.weight > weight:
            found, weight = wanted, asked.weight
    return found


def _text(document: discovery.Document, content_type: str = JSON) -> _Text:
    body = orjson.dumps(document)
    return _Text(body, entity_tag(body), content_type)


def _response(call: Call, found: _Text | None, missing: str) -> Response:
    if found is None:
        raise NotFound(missing)
    return tagged(call, found.body, found.tag, _HEADERS, found.content_type)
