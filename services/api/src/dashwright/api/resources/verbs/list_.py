"""List: the objects of a namespace by name, at one resource version, in pages or complete."""

from dashwright.api.domain.selectors import parse_selection
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, formats, history, listing, pages, sources
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.storage import storage_of
from dashwright.api.resources.watching.options import is_watch
from dashwright.common.errors import BadRequest, Forbidden


def operation(target: Target) -> Operation:
    """Return the operation of a list in one namespace."""
    is_watchable = "watch" in target.kind.verbs
    query = {**descriptions.LIST_PARAMETERS, **descriptions.WATCH_PARAMETERS} if is_watchable else descriptions.LIST_PARAMETERS
    content = (descriptions.list_content(target.kind), *([descriptions.WATCH_CONTENT] if is_watchable else []))
    return descriptions.operation("list", target, query=query, responses={200: content}, errors=(406, 410, 422, 429, 504))


def all_namespaces_operation(target: Target) -> Operation:
    """Return the operation of a list over all namespaces."""
    return descriptions.operation(
        "list",
        target,
        id_suffix="OfAllNamespaces",
        query=descriptions.LIST_PARAMETERS,
        responses={200: descriptions.list_content(target.kind)},
        errors=(403, 406, 410, 422, 504),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Respond with the objects of a namespace, or with the history or trash that a label of the selector requests."""
    selection = parse_selection(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""), call.parameters["namespace"])
    if selection.version_list is not None:
        return await history.history_response(target, services, call, selection)
    response_format, list_options = formats.format_of(call), pages.list_options_of(call)
    await sources.check_resource_version(services.database, list_options.resource_version)
    source = await storage_of(target.kind).list_source(target.kind, services, call, response_format, list_options, selection)
    return await listing.list_response(target, response_format, list_options, source, services.database)


async def handle_all_namespaces(target: Target, services: Services, call: Call) -> Response:
    """Respond with the objects of all namespaces. Only server admins may list them."""
    kind = target.kind
    response_format = formats.format_of(call)
    list_options = pages.list_options_of(call)
    if not call.identity.is_server_admin:
        path = f"/apis/{kind.api_version(target.version)}/namespaces/{call.identity.namespace}/{kind.plural}"
        message = f"{kind.key} of all namespaces are listed for server admins only; name one, as in {path}"
        raise Forbidden(message, details={"group": kind.group, "kind": kind.plural})
    selection = parse_selection(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""), "")
    if not storage_of(kind).spans_namespaces or selection.version_list is not None or is_watch(call):
        raise BadRequest(
            f"{kind.key} are listed over all namespaces only as they are stored now; "
            "name one namespace to list jobs, history or trash, or to watch"
        )
    await sources.check_resource_version(services.database, list_options.resource_version)
    needs_bodies = response_format.needs_body(kind)
    source = sources.AllNamespacesSource(services.database, kind, selection, list_options, needs_bodies=needs_bodies)
    return await listing.list_response(target, response_format, list_options, source, services.database)
