"""The sub-resource ``dto``: a dashboard and what the caller may do with it."""

from collections.abc import Callable
from typing import Final

from dashwright.api.domain.access.scopes import ORGANIZATION_ANNOTATIONS
from dashwright.api.domain.access.view import View
from dashwright.api.domain.urls import dashboard_url, slug_of
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Content, Operation
from dashwright.api.resources import descriptions, formats
from dashwright.api.resources.request import Target, read_object
from dashwright.api.resources.services import Services
from dashwright.api.resources.writing.edits import is_editable
from dashwright.common.identity import Caller, Identity
from dashwright.common.media import JSON, YAML
from dashwright.common.models.dashboard_access import AnnotationActions, AnnotationPermission, DashboardAccess, DashboardWithAccessInfo
from dashwright.common.stores.resources import StoredObject

_QUERY: Final = {"includeAccess": "false: the dashboard alone"}
_REFUSED: Final = frozenset({"false", "0", "f", "F", "False", "FALSE"})


def operation(target: Target) -> Operation:
    """Return the operation of ``dto``."""
    either = Content(DashboardWithAccessInfo | descriptions.object_model(target.kind), (JSON, YAML))
    return descriptions.operation("get", target, below="Dto", query=_QUERY, responses={200: either}, errors=(404, 406))


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Respond with the dashboard and the caller's rights on it."""
    kind, form = target.kind, formats.format_of(call)
    stored, view = await read_object(kind, services, call)
    if call.query.get("includeAccess") in _REFUSED:
        return formats.one(form, kind, target.version, stored)
    async with services.database.connection() as connection:
        can_change = await is_editable(connection, stored)
    rights = access(view, call.identity, stored, is_editable=can_change)
    shown = stored.encode(target.version).replace(f'"kind":"{kind.kind}"'.encode(), b'"kind":"DashboardWithAccessInfo"', 1)
    return formats.one(form, kind, target.version, shown[:-1] + b',"access":' + rights.to_json() + b"}")


def access(view: View, caller: Identity, stored: StoredObject, *, is_editable: bool) -> DashboardAccess:
    """Return what the caller may do with a dashboard. Without ``is_editable`` no caller may change it here."""

    def may(verb: str) -> bool:
        return view.may(stored.kind.actions[verb], stored.kind, stored.name, stored.folder)

    can_save = is_editable and may("update")
    return DashboardAccess(
        slug=slug_of(stored.title),
        url=dashboard_url(stored.name, stored.title),
        can_save=can_save,
        can_edit=can_save,
        can_admin=view.may(f"{stored.kind.area}.permissions:write", stored.kind, stored.name, stored.folder),
        can_star=caller.kind is Caller.USER,
        can_delete=is_editable and may("delete"),
        annotations_permissions=AnnotationPermission(
            dashboard=_actions(lambda action: view.may(action, stored.kind, stored.name, stored.folder)),
            organization=_actions(lambda action: caller.may(action, ORGANIZATION_ANNOTATIONS)),
        ),
    )


def _actions(may: Callable[[str], bool]) -> AnnotationActions:
    return AnnotationActions(can_add=may("annotations:create"), can_edit=may("annotations:write"), can_delete=may("annotations:delete"))
