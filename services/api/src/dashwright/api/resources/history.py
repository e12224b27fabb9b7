"""Lists of stored versions: the generations of one object, and the trash.

Objects are read and encoded one after the other, so that memory does not grow with the list.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from dashwright.api.domain.access.view import deleted_by_filter
from dashwright.api.domain.selectors import Selection, VersionList, matches
from dashwright.api.http.call import Call, run_in_thread_if_large
from dashwright.api.http.response import Response
from dashwright.api.resources import formats, pages
from dashwright.api.resources.formats import Format, Representation
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.stores import changes, histories, resources
from dashwright.common.stores.changes import StreamName
from dashwright.common.stores.histories import StoredVersion, TrashPosition
from dashwright.common.stores.resources import StoredObject


async def history_response(target: Target, services: Services, call: Call, selection: Selection) -> Response:
    """Return the response with the history or the trash, as the selection requests. Raises BadRequest if the kind has no history."""
    kind = target.kind
    if not kind.history:
        raise BadRequest(f"{kind.plural} have neither a history nor a trash; list them without this label")
    list_versions = _generations_response if selection.version_list is VersionList.HISTORY else _trash_response
    return await list_versions(target, services, call, selection)


async def _generations_response(target: Target, services: Services, call: Call, selection: Selection) -> Response:
    """Return the generations of the named object, the newest first; an empty list if the object does not exist.

    Raises BadRequest without a name, and Forbidden if the caller may not read the object.
    """
    kind = target.kind
    response_format = formats.format_of(call)
    name = selection.name
    if name is None:
        raise BadRequest("a history belongs to one object: name it in the fieldSelector, as metadata.name=NAME")
    namespace = call.parameters["namespace"]
    limit = page_size_of(call)
    before = previous_generation(call)
    # With repeatable reads, the versions are those at the resource version of the list.
    async with services.database.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        resource_version = await changes.visible_version(connection, StreamName.OBJECTS, namespace)
        current = next(iter(await resources.get_many(connection, kind, namespace, [name])), None)
        # One more version than requested shows whether there is a next page.
        versions = [] if current is None else await histories.versions(connection, current.uid, before=before, limit=limit + 1)
    if current is not None:
        await services.policy.require_permission(call.identity, kind.actions["get"], current)

    async def items() -> AsyncIterator[StoredObject]:
        # A version that is deleted while the list is sent is left out.
        for version in versions[:limit]:
            assert current is not None, "only an object has versions"
            item = version.to_object(current)
            if not _is_selected(item, selection):
                continue
            # A table needs the spec, too, because the title of a version is stored in its spec only.
            if complete_item := await _read_body(services, item, is_needed=response_format.representation is not Representation.METADATA):
                yield complete_item

    return _list_response(target, response_format, {"resourceVersion": str(resource_version), **continue_members(versions, limit)}, items())


async def _trash_response(target: Target, services: Services, call: Call, selection: Selection) -> Response:
    """Return deleted objects, ordered by name.

    Admins see all deleted objects. Other callers see the objects that they deleted and may still read and delete: the access rules
    of an object are deleted with it, so they cannot decide who else sees it.
    """
    kind = target.kind
    response_format = formats.format_of(call)
    namespace = call.parameters["namespace"]
    limit, position = page_size_of(call), _trash_position(call)
    view = await services.policy.view(call.identity, namespace)
    required_actions = (kind.actions["get"], kind.actions["delete"])
    async with services.database.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        resource_version = await changes.visible_version(connection, StreamName.OBJECTS, namespace)
        deleted_objects = await histories.list_trash(
            connection, kind, namespace, name=selection.name, after=position, limit=limit + 1, deleted_by=deleted_by_filter(call.identity)
        )
    list_metadata = {"resourceVersion": str(resource_version)}
    if len(deleted_objects) > limit:
        last_object = deleted_objects[limit - 1]
        list_metadata["continue"] = pages.encode_token({"name": last_object.name, "uid": str(last_object.uid)})

    async def items() -> AsyncIterator[StoredObject]:
        for item in deleted_objects[:limit]:
            is_permitted = all(view.may(action, kind, item.name, item.folder) for action in required_actions)
            is_visible = is_permitted and _is_selected(item, selection)
            if is_visible and (complete_item := await _read_body(services, item, is_needed=response_format.needs_body(kind))):
                yield complete_item

    return _list_response(target, response_format, list_metadata, items())


def page_size_of(call: Call) -> int:
    """Return the page size, by default and at most ``MAX_PAGE_SIZE``. Raises BadRequest for an invalid ``limit``."""
    return min(pages.integer_parameter(call, "limit") or pages.MAX_PAGE_SIZE, pages.MAX_PAGE_SIZE)


def previous_generation(call: Call) -> int | None:
    """Return the generation that the previous page ended with, None for the first page. Raises BadRequest for an invalid token."""
    if not (token := call.query.get("continue", "")):
        return None
    before = pages.decode_token(token).get("before")
    if not isinstance(before, int) or not 0 <= before <= pages.MAX_BIGINT:
        raise pages.invalid_token_error()
    return before


def continue_members(versions: Sequence[StoredVersion], limit: int) -> Mapping[str, str]:
    """Return the ``continue`` member of the list's metadata if there are more than ``limit`` versions; otherwise no member."""
    return {"continue": pages.encode_token({"before": versions[limit - 1].generation})} if len(versions) > limit else {}


async def object_at_generation(services: Services, current: StoredObject, generation: int) -> StoredObject:
    """Return an object as it was at a generation. Raises NotFound if that version is not stored."""
    async with services.database.connection() as connection:
        version = await histories.version(connection, current.uid, generation)
    if version is None:
        kind = current.kind
        raise NotFound(
            f'{kind.key} "{current.name}" has no version {generation}, or the version was deleted',
            details=kind.details(current.name),
        )
    return await run_in_thread_if_large(len(version.spec), partial(version.to_object, current))


def _is_selected(item: StoredObject, selection: Selection) -> bool:
    return matches(selection, orjson.loads(item.metadata).get("labels") or {}, item.name)


def _list_response(
    target: Target, response_format: Format, list_metadata: Mapping[str, Any], items: AsyncIterator[StoredObject]
) -> Response:
    """Return the response with a list, whose items are read and encoded while it is sent."""
    encoder = formats.ListEncoder(response_format, target.kind, target.version)

    async def body() -> AsyncIterator[bytes]:
        yield encoder.head(list_metadata)
        async for item in items:
            yield await asyncio.to_thread(encoder.items, [item]) if response_format.is_yaml else encoder.items([item])
        yield encoder.tail()

    return Response(200, body(), response_format.content_type, response_format.headers)


async def _read_body(services: Services, item: StoredObject, *, is_needed: bool) -> StoredObject | None:
    """Return an item with its body and title, if they are needed; None if the body was deleted after the list was read."""
    if not is_needed:
        return item
    async with services.database.connection() as connection:
        version = await histories.version(connection, item.uid, item.generation)
    if version is None:
        return None
    object_at_version = await run_in_thread_if_large(len(version.spec), partial(version.to_object, item))
    return replace(item, spec=object_at_version.spec, title=object_at_version.title)


def _trash_position(call: Call) -> TrashPosition:
    """Return the position at which the previous page ended, or the start. Raises BadRequest for an invalid token."""
    if not (token := call.query.get("continue", "")):
        return histories.TRASH_START
    members = pages.decode_token(token)
    name = members.get("name")
    try:
        uid = uuid.UUID(members.get("uid"))
    except (ValueError, TypeError, AttributeError) as error:
        raise pages.invalid_token_error() from error
    if not isinstance(name, str) or not name.isprintable():
        raise pages.invalid_token_error()
    return TrashPosition(name, uid)
