"""List: the objects of a namespace by name, at one version, in pages or whole."""

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
from dashwright.common.kinds import kind as kinds


def operation(target: Target) -> Operation:
    """Return the operation of a list in one namespace."""
    is_watched = "watch" in target.kind.verbs
    query = {**descriptions.LISTING, **descriptions.WATCHING} if is_watched else descriptions.LISTING
    answer = (descriptions.list_content(target.kind), *([descriptions.CHANGES] if is_watched else []))
    return descriptions.operation("list", target, query=query, responses={200: answer}, errors=(406, 410, 422, 429, 504))


def operation_everywhere(target: Target) -> Operation:
    """Return the operation of a list over all namespaces."""
    return descriptions.operation(
        "list",
        target,
        below="OfAllNamespaces",
        query=descriptions.LISTING,
        responses={200: descriptions.list_content(target.kind)},
        errors=(403, 406, 410, 422, 504),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Respond with the objects of a namespace, or with the list that a special label selects."""
    selection = parse_selection(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""), call.parameters["namespace"])
    if selection.special is not None:
        return await history.history_response(target, services, call, selection)
    form, list_options = formats.format_of(call), pages.list_options_of(call)
    await sources.check_version(services.database, list_options.version)
    source = await storage_of(target.kind).list_source(target.kind, services, call, form, list_options, selection)
    return await listing.list_response(target, form, list_options, source, services.database)


async def handle_everywhere(target: Target, services: Services, call: Call) -> Response:
    """Respond with the objects of all namespaces. Only server admins may list them."""
    kind, form, list_options = target.kind, formats.format_of(call), pages.list_options_of(call)
    if not call.identity.is_server_admin:
        path = f"/apis/{kind.api_version(target.version)}/namespaces/{call.identity.namespace}/{kind.plural}"
        raise Forbidden(f"{kind.key} of all namespaces are listed for server admins only; name one, as in {path}", details=_details(kind))
    selection = parse_selection(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""), "")
    if not storage_of(kind).spans_namespaces or selection.special is not None or is_watch(call):
        raise BadRequest(
            f"{kind.key} are listed over all namespaces only as they are stored now; "
            "name one namespace to list jobs, history or trash, or to watch"
        )
    await sources.check_version(services.database, list_options.version)
    source = sources.AllNamespacesSource(services.database, kind, selection, list_options, bodies=form.needs_body(kind))
    return await listing.list_response(target, form, list_options, source, services.database)


def _details(kind: kinds.Kind) -> dict[str, str]:
    return {"group": kind.group, "kind": kind.plural}
