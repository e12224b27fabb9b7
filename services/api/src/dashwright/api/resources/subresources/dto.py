"""The subresource ``dto``: a dashboard with the permissions of the caller on it."""

from collections.abc import Callable
from typing import Final

from dashwright.api.domain.access.scopes import ORGANIZATION_ANNOTATIONS
from dashwright.api.domain.access.view import AccessView
from dashwright.api.domain.urls import dashboard_url, slug_of
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Content, Operation
from dashwright.api.resources import descriptions, formats
from dashwright.api.resources.request import Target, read_object
from dashwright.api.resources.services import Services
from dashwright.api.resources.writing.edits import is_editable
from dashwright.common.database.pool import Database
from dashwright.common.identity import Identity
from dashwright.common.kinds.kind import Kind
from dashwright.common.media import JSON, YAML
from dashwright.common.models.dashboard_access import AnnotationActions, AnnotationPermission, DashboardAccess, DashboardWithAccessInfo
from dashwright.common.stores.resources import StoredObject

QUERY: Final = {"includeAccess": "false: the dashboard alone"}
_FALSE_VALUES: Final = frozenset({"false", "0", "f", "F", "False", "FALSE"})
"""Values that Go's ``strconv.ParseBool``, and therefore Grafana, reads as false."""


def operation(target: Target) -> Operation:
    """Return the operation of ``dto``."""
    return descriptions.operation(
        "get", target, id_suffix="Dto", query=QUERY, responses={200: response_content(target.kind)}, errors=(404, 406)
    )


def response_content(kind: Kind) -> Content:
    """Return the description of a response: the dashboard with or without the rights."""
    return Content(DashboardWithAccessInfo | descriptions.object_model(kind), (JSON, YAML))


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Respond with the dashboard and the caller's rights on it."""
    stored_object, view = await read_object(target.kind, services, call)
    return await respond_with_access(target.version, services.database, call, stored_object, view)


async def respond_with_access(version: str, database: Database, call: Call, stored_object: StoredObject, view: AccessView) -> Response:
    """Respond with a dashboard in a version and the caller's rights on it, or without them if the query has ``includeAccess=false``."""
    kind, response_format = stored_object.kind, formats.format_of(call)
    if call.query.get("includeAccess") in _FALSE_VALUES:
        return formats.object_response(response_format, kind, version, stored_object)
    async with database.connection() as connection:
        allows_edits = await is_editable(connection, stored_object)
    dashboard_access = access_of(view, call.identity, stored_object, allows_edits=allows_edits)
    # The JSON of an object begins with its kind. It is changed as text, because a large dashboard takes long to parse.
    dashboard_json = stored_object.encode(version).replace(f'"kind":"{kind.kind}"'.encode(), b'"kind":"DashboardWithAccessInfo"', 1)
    json_without_end = dashboard_json.removesuffix(b"}")
    return formats.object_response(response_format, kind, version, json_without_end + b',"access":' + dashboard_access.to_json() + b"}")


def access_of(view: AccessView, caller: Identity, stored_object: StoredObject, *, allows_edits: bool) -> DashboardAccess:
    """Return the permissions of the caller on a dashboard. Unless ``allows_edits``, no caller may change or delete it."""

    def is_allowed(verb: str) -> bool:
        return view.may(stored_object.kind.actions[verb], stored_object.kind, stored_object.name, stored_object.folder)

    can_save = allows_edits and is_allowed("update")
    return DashboardAccess(
        slug=slug_of(stored_object.title),
        url=dashboard_url(stored_object.name, stored_object.title),
        can_save=can_save,
        can_edit=can_save,
        can_admin=view.may(f"{stored_object.kind.area}.permissions:write", stored_object.kind, stored_object.name, stored_object.folder),
        # Tokens and keys, which are not users, have no stars.
        can_star=bool(caller.user_id),
        can_delete=allows_edits and is_allowed("delete"),
        annotations_permissions=AnnotationPermission(
            dashboard=_annotation_actions(lambda action: view.may(action, stored_object.kind, stored_object.name, stored_object.folder)),
            organization=_annotation_actions(lambda action: caller.may(action, ORGANIZATION_ANNOTATIONS)),
        ),
    )


def _annotation_actions(is_allowed: Callable[[str], bool]) -> AnnotationActions:
    """Return what the caller may do with annotations. ``is_allowed`` returns whether an action is permitted."""
    return AnnotationActions(
        can_add=is_allowed("annotations:create"), can_edit=is_allowed("annotations:write"), can_delete=is_allowed("annotations:delete")
    )
