"""Lists of the past: generations of one object, and the trash.

A list is written object by object and bodies are read one after the other, so memory does not grow with the list.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from dashwright.api.domain.access.view import deleter_of
from dashwright.api.domain.selectors import Selection, SpecialList, matches
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.resources import formats, pages
from dashwright.api.resources.formats import Form, Format
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.threads import run_sized
from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.stores import changes, histories, resources
from dashwright.common.stores.changes import StreamName
from dashwright.common.stores.histories import StoredVersion, TrashPosition
from dashwright.common.stores.resources import StoredObject


async def history_response(target: Target, services: Services, call: Call, selection: Selection) -> Response:
    """Return the list that a special label selects instead of objects. Raises BadRequest if the kind keeps no history."""
    kind = target.kind
    if not kind.history:
        raise BadRequest(f"{kind.plural} have neither a history nor a trash; ask for them without this label")
    read = _generations if selection.special is SpecialList.HISTORY else _trash
    return await read(target, services, call, selection)


async def _generations(target: Target, services: Services, call: Call, selection: Selection) -> Response:
    """Return the generations of the named object, the newest first; an empty list if the object does not exist.

    Raises BadRequest without a name, and Forbidden if the caller may not read the object.
    """
    kind, form, name = target.kind, formats.format_of(call), selection.name
    if name is None:
        raise BadRequest("a history belongs to one object: name it in the fieldSelector, as metadata.name=NAME")
    namespace, limit, before = call.parameters["namespace"], limit_of(call), before_of(call)
    async with services.database.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        position = await changes.head(connection, StreamName.OBJECTS)
        current = next(iter(await resources.get_many(connection, kind, namespace, [name])), None)
        found = [] if current is None else await histories.versions(connection, current.uid, before=before, limit=limit + 1)
    if current is not None:
        await services.policy.demand(call.identity, kind.actions["get"], current)

    async def items() -> AsyncIterator[StoredObject]:
        for version in found[:limit]:
            assert current is not None, "only an object has versions"
            then = version.of(current)
            # A version that was dropped while the list is written is left out.
            if _is_selected(then, selection) and (whole := await _with_body(services, then, is_needed=form.form is not Form.METADATA)):
                yield whole

    return _list_response(target, form, {"resourceVersion": str(position), **continue_members(found, limit)}, items())


async def _trash(target: Target, services: Services, call: Call, selection: Selection) -> Response:
    """Return deleted objects by name.

    Admins see all of them. Other callers see what they deleted themselves and may still read and delete. Access rules are
    deleted with their object, so for the objects of other users there is nothing left to check.
    """
    kind, form, namespace = target.kind, formats.format_of(call), call.parameters["namespace"]
    limit, after = limit_of(call), _trash_position(call)
    view, actions = await services.policy.view(call.identity, namespace), (kind.actions["get"], kind.actions["delete"])
    async with services.database.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        position = await changes.head(connection, StreamName.OBJECTS)
        found = await histories.list_trash(
            connection, kind, namespace, name=selection.name, after=after, limit=limit + 1, deleted_by=deleter_of(call.identity)
        )
    metadata = {"resourceVersion": str(position)}
    if len(found) > limit:
        metadata["continue"] = pages.encode_token({"name": found[limit - 1].name, "uid": str(found[limit - 1].uid)})

    async def items() -> AsyncIterator[StoredObject]:
        for item in found[:limit]:
            is_seen = _is_selected(item, selection) and all(view.may(action, kind, item.name, item.folder) for action in actions)
            if is_seen and (whole := await _with_body(services, item, is_needed=form.needs_body(kind))):
                yield whole

    return _list_response(target, form, metadata, items())


def limit_of(call: Call) -> int:
    """Return the page size. Raises BadRequest for an invalid ``limit``."""
    return min(pages.number_of(call, "limit") or pages.LARGEST_PAGE, pages.LARGEST_PAGE)


def before_of(call: Call) -> int | None:
    """Return the generation that the previous page ended with, None for the first page. Raises BadRequest for an invalid token."""
    if not (token := call.query.get("continue", "")):
        return None
    before = pages.decode_token(token).get("before")
    if not isinstance(before, int) or not 0 <= before < 2**63:
        raise pages.invalid_token()
    return before


def continue_members(found: Sequence[StoredVersion], limit: int) -> Mapping[str, str]:
    """Return the ``continue`` member of the list's metadata if more than ``limit`` versions were found."""
    return {"continue": pages.encode_token({"before": found[limit - 1].generation})} if len(found) > limit else {}


async def version_of(services: Services, current: StoredObject, generation: int) -> StoredObject:
    """Return an object as it was at a generation. Raises NotFound."""
    async with services.database.connection() as connection:
        found = await histories.version(connection, current.uid, generation)
    if found is None:
        kind = current.kind
        raise NotFound(
            f'{kind.key} "{current.name}" has no version {generation}, or keeps it no longer',
            details=kind.details(current.name),
        )
    return await run_sized(len(found.spec), partial(found.of, current))


def _is_selected(item: StoredObject, selection: Selection) -> bool:
    return matches(selection, orjson.loads(item.metadata).get("labels") or {}, item.name)


def _list_response(target: Target, form: Format, metadata: Mapping[str, Any], items: AsyncIterator[StoredObject]) -> Response:
    listing = formats.ListEncoder(form, target.kind, target.version)

    async def written() -> AsyncIterator[bytes]:
        yield listing.head(metadata)
        async for item in items:
            yield await asyncio.to_thread(listing.items, [item]) if form.is_yaml else listing.items([item])
        yield listing.tail()

    return Response(200, written(), form.content_type, form.headers)


async def _with_body(services: Services, item: StoredObject, *, is_needed: bool) -> StoredObject | None:
    """Return an item with its body and the title in it, if they are needed; None if the body was dropped since the list was read."""
    if not is_needed:
        return item
    async with services.database.connection() as connection:
        found = await histories.version(connection, item.uid, item.generation)
    if found is None:
        return None
    then = await run_sized(len(found.spec), partial(found.of, item))
    return replace(item, spec=then.spec, title=then.title)


def _trash_position(call: Call) -> TrashPosition:
    if not (token := call.query.get("continue", "")):
        return histories.START
    members = pages.decode_token(token)
    name = members.get("name")
    try:
        uid = uuid.UUID(members.get("uid"))
    except (ValueError, TypeError, AttributeError) as error:
        raise pages.invalid_token() from error
    if not isinstance(name, str) or not name.isprintable():
        raise pages.invalid_token()
    return TrashPosition(name, uid)
