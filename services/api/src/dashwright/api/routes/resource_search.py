"""``search`` below ``/apis/dashboard.grafana.app/v0alpha1``: dashboards and folders that the caller may read."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.domain.access.object_scope import NOTHING
from dashwright.api.domain.access.view import AccessView
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import SIGNED_IN, Operation, Route
from dashwright.api.models.resource_search import (
    FacetResult,
    ManagedBy,
    SearchHit,
    SearchResults,
    SortableField,
    SortableFields,
    SortBy,
    TermFacet,
)
from dashwright.api.stores import titles
from dashwright.api.stores.titles import PermittedScopes, TitleMatch, TitleQuery
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER

_VERSION: Final = "v0alpha1"
"""The only version with a search in Grafana."""
_ALL: Final = "*"
_ROOT_NAME: Final = "general"
"""The root in the parameter ``folder``."""
_ROOT_UID: Final = ""
"""The root in a ``TitleQuery``."""
_TYPES: Final = {name: kind.plural for kind in (DASHBOARD, FOLDER) for name in (kind.singular, kind.plural)}
"""The plurals of the kinds by the values of the parameter ``type``, in the singular and the plural, as in Grafana."""
_DEFAULT_PAGE_SIZE: Final = 50
_MAX_PAGE_SIZE: Final = 1000
_MAX_OFFSET: Final = 1_000_000_000
"""Limit on the offset, which keeps it within a bigint when it is computed from a page."""
_MAX_VALUES: Final = 10_000
"""Limit on the values of a repeated parameter."""
_DEFAULT_FACET_SIZE: Final = 50
_MAX_FACET_SIZE: Final = 1000
_TAGS_FIELD: Final = "tags"
_SHARED_FOLDER: Final = "sharedwithme"
_SORT_FIELD: Final = "title"
_UNSUPPORTED: Final = ("panelType", "dataSourceType", "ownerReference", "panelTitleSearch", "explain")
"""Filters of Grafana that would need the bodies of dashboards, or a search engine."""
_QUERY: Final = {
    "query": "part of the title; empty or * for all objects",
    "type": "dashboard or folder, by default both; may be repeated",
    "folder": "the name of the folder that contains the objects; general for the root; sharedwithme for all folders that the caller "
    "may not read",
    "tag": "a tag that dashboards must have; may be repeated",
    "name": "the name of an object; may be repeated",
    "libraryPanel": "the name of a library panel that dashboards must show",
    "permission": "view (the default), edit or admin: only objects on which the caller has this permission",
    "facet": "tags: add the most frequent tags of all hits",
    "facetLimit": f"tags in the facet, by default {_DEFAULT_FACET_SIZE}, at most {_MAX_FACET_SIZE}",
    "sort": "title, or -title for the descending order",
    "limit": f"hits on a page, by default {_DEFAULT_PAGE_SIZE}, at most {_MAX_PAGE_SIZE}",
    "offset": "the number of hits to skip",
    "page": "number of the page, from 1, instead of an offset",
    "field": "has no effect: hits have all fields that are stored next to the bodies",
}
_PARAMETER_TYPES: Final[Mapping[str, Any]] = {
    "type": list[str],
    "tag": list[str],
    "name": list[str],
    "field": list[str],
    "facet": list[str],
    "facetLimit": int,
    "limit": int,
    "offset": int,
    "page": int,
}
_SORTABLE_FIELDS: Final = SortableFields(
    kind="SortableFields",
    api_version=DASHBOARD.api_version(_VERSION),
    fields=[
        SortableField(field=field, string=field, display=display, type="string")
        for field, display in ((_SORT_FIELD, "Title (A-Z)"), (f"-{_SORT_FIELD}", "Title (Z-A)"))
    ],
)


@dataclass(frozen=True, slots=True)
class _Page:
    """The part of the hits that a client requests."""

    limit: int
    offset: int


def routes(database: Database, policy: AccessPolicy) -> list[Route]:
    """Return the routes of the search."""

    async def search(call: Call) -> Response:
        """Return a page of hits, and the facet of tags if the client requests it."""
        caller = call.identity
        view = await policy.view(caller, caller.namespace)
        query, page = _title_query(call, view), _page(call)
        facet_size = call.query_integer("facetLimit", _DEFAULT_FACET_SIZE, minimum=1, maximum=_MAX_FACET_SIZE)
        has_facet = _has_tags_facet(call)
        async with database.connection() as connection:
            matches = await titles.search(connection, query, limit=page.limit, offset=page.offset)
            total_hits = await titles.count(connection, query)
            tag_counts = await titles.count_tags(connection, query, limit=facet_size) if has_facet else None
        results = SearchResults(
            kind="SearchResults",
            api_version=DASHBOARD.api_version(_VERSION),
            offset=page.offset,
            total_hits=total_hits,
            hits=[_hit(match) for match in matches],
            sort_by=SortBy(desc=query.descending),
            facets=None if tag_counts is None else {_TAGS_FIELD: _facet(tag_counts)},
        )
        return json_response(results)

    async def list_sortable_fields(_: Call) -> Response:
        return json_response(_SORTABLE_FIELDS)

    path = f"/apis/{DASHBOARD.api_version(_VERSION)}/namespaces/{{namespace}}/search"
    search_operation = Operation(
        "searchDashboardsAndFolders",
        "dashboards and folders that the caller may read, by title",
        DASHBOARD.group,
        responses={200: SearchResults},
        query=_QUERY,
        parameters=_PARAMETER_TYPES,
        errors=(403,),
    )
    fields_operation = Operation(
        "listSortableFields", "the fields by which hits can be sorted", DASHBOARD.group, responses={200: SortableFields}, errors=(403,)
    )
    return [
        Route("GET", path, search, SIGNED_IN, search_operation),
        Route("GET", f"{path}/sortable", list_sortable_fields, SIGNED_IN, fields_operation),
    ]


def _title_query(call: Call, view: AccessView) -> TitleQuery:
    """Return the search that the parameters describe. Raises BadRequest for invalid and unsupported ones."""
    for name in _UNSUPPORTED:
        if call.query.get(name, "") not in ("", "false"):
            raise BadRequest(f"the parameter {name} is not supported: search by query, tag, folder, name or libraryPanel")
    folder = call.query.get("folder", "")
    folders = () if folder in ("", _SHARED_FOLDER) else [_ROOT_UID if folder == _ROOT_NAME else folder]
    query = TitleQuery(
        call.identity.org_id,
        user_id=0,  # Hits have no stars.
        readable_dashboards=view.scope(DASHBOARD),
        readable_folders=view.scope(FOLDER),
        containing="" if call.query.get("query", "") == _ALL else call.query.get("query", ""),
        names=_values(call, "name"),
        folders=folders,
        tags=_values(call, "tag"),
        descending=_is_descending(call.query.get("sort", "")),
        permitted=_permitted_scopes(call.query.get("permission", ""), view),
        only_shared=folder == _SHARED_FOLDER,
        library_panel=call.query.get("libraryPanel", ""),
    )
    resources = _resources(_values(call, "type"))
    if DASHBOARD.plural not in resources:
        query = replace(query, readable_dashboards=NOTHING)
    return query if FOLDER.plural in resources else replace(query, include_folders=False)


def _values(call: Call, name: str) -> list[str]:
    """Return the values of a parameter that may be repeated. Raises BadRequest for too many."""
    values: list[str] = call.query.getall(name, [])
    if len(values) > _MAX_VALUES:
        raise BadRequest(f"the parameter {name} has more than {_MAX_VALUES} values; send several requests")
    return values


def _resources(types: list[str]) -> frozenset[str]:
    """Return the plurals of the kinds to find, by default of both. Raises BadRequest for an unknown type."""
    unknown_types = [type_ for type_ in types if type_ not in _TYPES]
    if unknown_types:
        raise BadRequest(f"type must be dashboard or folder, not {unknown_types[0][:100]!r}")
    return frozenset(_TYPES[type_] for type_ in types or _TYPES)


def _is_descending(sort: str) -> bool:
    """Return whether the order is descending. Raises BadRequest for another field than the title."""
    if sort.removeprefix("-") not in ("", _SORT_FIELD):
        raise BadRequest(f"sort must be {_SORT_FIELD} or -{_SORT_FIELD}, not {sort[:100]!r}")
    return sort.startswith("-")


def _permitted_scopes(permission: str, view: AccessView) -> PermittedScopes | None:
    """Return the objects on which the caller has a permission; None for reading. Raises BadRequest for an unknown permission."""

    def scopes(action_of: Mapping[Kind, str]) -> PermittedScopes:
        return PermittedScopes(*(view.scope_for_action(kind, action_of[kind]) for kind in (DASHBOARD, FOLDER)))

    if permission in ("", "view"):
        return None
    if permission == "edit":
        return scopes({kind: kind.actions["update"] for kind in (DASHBOARD, FOLDER)})
    if permission == "admin":
        return scopes({kind: f"{kind.area}.permissions:write" for kind in (DASHBOARD, FOLDER)})
    raise BadRequest(f"permission must be view, edit or admin, not {permission[:100]!r}")


def _has_tags_facet(call: Call) -> bool:
    """Return whether the client requests the facet of tags. Raises BadRequest for any other facet."""
    facets = _values(call, "facet")
    unknown_facets = [facet for facet in facets if facet != _TAGS_FIELD]
    if unknown_facets:
        raise BadRequest(f"facet must be {_TAGS_FIELD}, not {unknown_facets[0][:100]!r}")
    return bool(facets)


def _page(call: Call) -> _Page:
    """Return the requested part of the hits. The parameter ``offset`` has precedence over ``page``."""
    limit = call.query_integer("limit", _DEFAULT_PAGE_SIZE, minimum=1, maximum=_MAX_PAGE_SIZE)
    page = call.query_integer("page", 1, minimum=1, maximum=_MAX_OFFSET)
    offset = call.query_integer("offset", (page - 1) * limit, minimum=0, maximum=_MAX_OFFSET)
    return _Page(limit, min(offset, _MAX_OFFSET))


def _hit(match: TitleMatch) -> SearchHit:
    return SearchHit(
        resource="folders" if match.is_folder else "dashboards",
        name=match.name,
        title=match.title,
        tags=list(match.tags) or None,
        folder=match.folder,
        managed_by=None if match.manager is None else ManagedBy(kind=match.manager[0], id=match.manager[1]),
    )


def _facet(counts: titles.TagCounts) -> FacetResult:
    terms = [TermFacet(term=term, count=count) for term, count in counts.terms]
    return FacetResult(field=_TAGS_FIELD, total=counts.total, missing=counts.untagged, terms=terms)
