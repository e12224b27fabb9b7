"""Discovery: the groups, versions and resources of the resource API, which Kubernetes clients request first.

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
from dashwright.api.http.etags import entity_tag, tagged_response
from dashwright.api.http.response import JSON, Response
from dashwright.api.http.routing import SIGNED_IN, Content, Operation, Route
from dashwright.api.models.discovery import APIGroup, APIGroupDiscoveryList, APIGroupList, APIResourceList
from dashwright.api.resources import discovery
from dashwright.common.errors import NotFound
from dashwright.common.kinds.kind import Kind
from dashwright.common.media import ranges

_TAG: Final = "discovery"
_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
#: Versions of the aggregated document.
_META_VERSIONS: Final = ("v2", "v2beta1")
#: Clients cache the documents, and ask before each use whether they have changed.
_HEADERS: Final = {"Vary": "Accept", "Cache-Control": "no-cache"}

_PLAIN_OR_AGGREGATED: Final = (
    Content(APIGroupList),
    Content(APIGroupDiscoveryList, tuple(_AGGREGATED.format(version) for version in _META_VERSIONS)),
)


@dataclass(frozen=True, slots=True)
class _EncodedDocument:
    """A document as JSON, with its entity tag."""

    body: bytes
    tag: str
    content_type: str = JSON


def routes(kinds: Sequence[Kind]) -> list[Route]:
    """Return the routes. The documents are generated once from ``kinds``."""
    group_documents = {group: _encode(discovery.api_group(kinds, group)) for group in discovery.groups_of(kinds)}
    version_documents = {
        (group, version): _encode(discovery.api_resource_list(kinds, group, version))
        for group in group_documents
        for version in discovery.versions_of(kinds, group)
    }

    async def get_group(call: Call) -> Response:
        name = call.parameters["group"]
        return _found_response(call, group_documents.get(name), f"API group {name!r} not found; /apis lists the served ones")

    async def get_version(call: Call) -> Response:
        name = f"{call.parameters['group']}/{call.parameters['version']}"
        document = version_documents.get((call.parameters["group"], call.parameters["version"]))
        return _found_response(call, document, f"API version {name!r} not found; /apis lists the served ones")

    return [
        _group_list_route(discovery.api_group_list(kinds), partial(discovery.aggregated, kinds)),
        Route(
            "GET",
            "/apis/{group}",
            get_group,
            SIGNED_IN,
            Operation("getApiGroup", "an API group", _TAG, responses={200: APIGroup, 304: None}, errors=(404,)),
        ),
        Route(
            "GET",
            "/apis/{group}/{version}",
            get_version,
            SIGNED_IN,
            Operation(
                "getApiResources", "the resources of a version of a group", _TAG, responses={200: APIResourceList, 304: None}, errors=(404,)
            ),
        ),
    ]


def _group_list_route(plain: discovery.Document, aggregate: Callable[[str], discovery.Document]) -> Route:
    """Return the route of the list of groups. Its response is ``plain``, or ``aggregate(version)`` if the client prefers that."""
    documents = {version: _encode(aggregate(version), _AGGREGATED.format(version)) for version in _META_VERSIONS}
    documents[""] = _encode(plain)

    async def handler(call: Call) -> Response:
        return _document_response(call, documents[_aggregated_version(call.accept)])

    operation = Operation(
        "getApiGroups",
        "the groups of the resource API",
        _TAG,
        responses={200: _PLAIN_OR_AGGREGATED, 304: None},
        description="Returns the aggregated document if the Accept header prefers it.",
    )
    return Route("GET", "/apis", handler, SIGNED_IN, operation, error_shape_override=ErrorShape.STATUS)


def _aggregated_version(accept: str) -> str:
    """Return the version of the aggregated document that an ``Accept`` header prefers, or "" for the plain document."""
    preferred_version, highest_weight = "", 0.0
    for media_range in ranges(accept):
        parameters = media_range.parameters
        version = parameters.get("v", "") if parameters.get("as") == "APIGroupDiscoveryList" else ""
        # A media range without ``as`` accepts the plain document.
        is_available = media_range.name == JSON and (version in _META_VERSIONS or not parameters.get("as"))
        if is_available and media_range.weight > highest_weight:
            preferred_version, highest_weight = version, media_range.weight
    return preferred_version


def _encode(document: discovery.Document, content_type: str = JSON) -> _EncodedDocument:
    body = orjson.dumps(document)
    return _EncodedDocument(body, entity_tag(body), content_type)


def _found_response(call: Call, document: _EncodedDocument | None, not_found_message: str) -> Response:
    """Return the response with a document. Raises NotFound with the message if ``document`` is None."""
    if document is None:
        raise NotFound(not_found_message)
    return _document_response(call, document)


def _document_response(call: Call, document: _EncodedDocument) -> Response:
    """Return the response with a document, or 304 if the client has it."""
    return tagged_response(call, document.body, document.tag, _HEADERS, document.content_type)
