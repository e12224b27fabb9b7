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
from dashwright.common.identity import CallerType, Identity
from dashwright.common.media import JSON, YAML
from dashwright.common.models.dashboard_access import AnnotationActions, AnnotationPermission, DashboardAccess, DashboardWithAccessInfo
from dashwright.common.stores.resources import StoredObject

_QUERY: Final = {"includeAccess": "false: the dashboard alone"}
_FALSE_VALUES: Final = frozenset({"false", "0", "f", "F", "False", "FALSE"})


def operation(target: Target) -> Operation:
    """Return the operation of ``dto``."""
    content = Content(DashboardWithAccessInfo | descriptions.object_model(target.kind), (JSON, YAML))
    return descriptions.operation("get", target, id_suffix="Dto", query=_QUERY, responses={200: content}, errors=(404, 406))


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Respond with the dashboard and the caller's rights on it."""
    kind, response_format = target.kind, formats.format_of(call)
    stored_object, view = await read_object(kind, services, call)
    if call.query.get("includeAccess") in _FALSE_VALUES:
        return formats.object_response(response_format, kind, target.version, stored_object)
    async with services.database.connection() as connection:
        allows_edits = await is_editable(connection, stored_object)
    dashboard_access = access_of(view, call.identity, stored_object, allows_edits=allows_edits)
    dashboard_json = stored_object.encode(target.version).replace(f'"kind":"{kind.kind}"'.encode(), b'"kind":"DashboardWithAccessInfo"', 1)
    json_without_end = dashboard_json.removesuffix(b"}")
    return formats.object_response(
        response_format, kind, target.version, json_without_end + b',"access":' + dashboard_access.to_json() + b"}"
    )


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
        can_star=caller.kind is CallerType.USER,
        can_delete=allows_edits and is_allowed("delete"),
        annotations_permissions=AnnotationPermission(
            dashboard=_annotation_actions(lambda action: view.may(action, stored_object.kind, stored_object.name, stored_object.folder)),
            organization=_annotation_actions(lambda action: caller.may(action, ORGANIZATION_ANNOTATIONS)),
        ),
    )


def _annotation_actions(is_allowed: Callable[[str], bool]) -> AnnotationActions:
    return AnnotationActions(
        can_add=is_allowed("annotations:create"), can_edit=is_allowed("annotations:write"), can_delete=is_allowed("annotations:delete")
    )
