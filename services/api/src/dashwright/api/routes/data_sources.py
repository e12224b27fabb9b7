"""Routes of the organization's data sources, by uid, number or name. Queries are in ``routes/query.py``."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from dashwright.api.data_sources import CREATE, DELETE, UPDATE, DataSources, not_found
from dashwright.api.domain.access.metadata import Subject, access_control
from dashwright.api.domain.data_source_types import checked_url, type_of
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.models.response import Message
from dashwright.common.database.pool import Database
from dashwright.common.identity import Identity
from dashwright.common.models.data_source_shapes import (
    AddDataSourceCommand,
    DataSourceChanges,
    DataSourceDeleted,
    DataSourceId,
    DataSourceItem,
    DataSourceSaved,
    DataSourceShape,
)
from dashwright.common.stores import data_sources
from dashwright.common.stores.data_sources import Fields, StoredDataSource

TAG: Final = "datasources"
#: The limit of a body; certificates and keys are its largest parts.
BODY_BYTES: Final = 256 * 1024

_PREFIX: Final = Subject.DATA_SOURCE.prefix
_ACCESS: Final = {"accesscontrol": "add accessControl"}


def one(action: str) -> Permission:
    """Return a permission on the data source whose uid is in the path."""
    return Permission(action, f"{_PREFIX}{{uid}}")


def any_one(action: str) -> Permission:
    """Return a permission on some data source: ``find`` checks it for the one that it finds."""
    return Permission(action, any_scope=True)


async def find(database: Database, call: Call, action: str) -> StoredDataSource:
    """Return the data source that the path names by ``uid``, ``id`` or ``name``.

    Raises Forbidden if the caller may not do ``action`` on it; also for an unknown one, unless the caller may do it
    on all data sources. Raises NotFound, and BadRequest for an invalid number.
    """
    named = call.parameters
    number = call.integer("id", "id is invalid") if "id" in named else None
    async with database.connection() as connection:
        found = await data_sources.get(connection, call.identity.org_id, number=number, uid=named.get("uid"), name=named.get("name"))
    if found is None:
        call.demand(action, f"{_PREFIX}{named.get('uid', '*')}")
        raise not_found()
    call.demand(action, f"{_PREFIX}{found.uid}")
    return found


def readable(found: Sequence[StoredDataSource], caller: Identity, *actions: str) -> Sequence[StoredDataSource]:
    """Return the data sources on which the caller may do one of ``actions``."""
    return [stored for stored in found if any(caller.may(action, f"{_PREFIX}{stored.uid}") for action in actions)]


def item_view(stored: StoredDataSource, caller: Identity | None) -> DataSourceItem:
    """Return the response model of a list item. With ``caller``, it includes the caller's permissions."""
    fields, kind = stored.fields, type_of(stored.fields.type)
    return DataSourceItem(
        id=stored.id,
        uid=fields.uid,
        org_id=stored.org_id,
        name=fields.name,
        type=fields.type,
        type_name=kind.name,
        type_logo_url=kind.logo,
        access=fields.access,
        url=fields.url,
        user=fields.user,
        database=fields.database,
        basic_auth=fields.basic_auth,
        is_default=fields.is_default,
        json_data=dict(fields.json_data),
        access_control=None if caller is None else access_control(caller, Subject.DATA_SOURCE, fields.uid),
    )


def data_source_view(stored: StoredDataSource, caller: Identity | None = None) -> DataSourceShape:
    """Return the response model of a data source. With ``caller``, it includes the caller's permissions."""
    fields = stored.fields
    return DataSourceShape(
        id=stored.id,
        uid=fields.uid,
        org_id=stored.org_id,
        name=fields.name,
        type=fields.type,
        type_logo_url=type_of(fields.type).logo,
        access=fields.access,
        url=fields.url,
        user=fields.user,
        database=fields.database,
        basic_auth=fields.basic_auth,
        basic_auth_user=fields.basic_auth_user,
        with_credentials=fields.with_credentials,
        is_default=fields.is_default,
        json_data=dict(fields.json_data),
        secure_json_fields=dict.fromkeys(stored.secret_names, True),
        version=stored.version,
        access_control=None if caller is None else access_control(caller, Subject.DATA_SOURCE, fields.uid),
    )


class _DataSourceHandlers:
    """The handlers of the data source routes."""

    def __init__(self, database: Database, use: DataSources) -> None:
        self._database = database
        self._use = use

    async def listed(self, call: Call) -> Response:
        """List the readable data sources."""
        async with self._database.connection() as connection:
            found = await data_sources.list_all(connection, call.identity.org_id)
        caller = call.identity if call.switch("accesscontrol") else None
        return json_response([item_view(stored, caller) for stored in readable(found, call.identity, "datasources:read")])

    async def get(self, call: Call) -> Response:
        """Return a data source."""
        found = await find(self._database, call, "datasources:read")
        return json_response(data_source_view(found, call.identity if call.switch("accesscontrol") else None))

    async def number(self, call: Call) -> Response:
        """Return the number of a data source."""
        found = await find(self._database, call, "datasources:read")
        return json_response(DataSourceId(id=found.id))

    async def create(self, call: Call) -> Response:
        """Create a data source."""
        body = await call.model(AddDataSourceCommand)
        stored = await self._use.create(call.actor, _fields(body), body.secrets)
        return _saved("Datasource added", stored)

    async def update(self, call: Call) -> Response:
        """Change a data source."""
        before = await find(
            self._database, call, "datasources:write"
        )  # Before the body: an unknown data source is 404 even if the body is invalid.
        body = await call.model(DataSourceChanges)
        stored = await self._use.change(call.actor, before.id, lambda fields: _revised(fields, body), body.secrets, version=body.version)
        return _saved("Datasource updated", stored)

    async def delete(self, call: Call) -> Response:
        """Delete a data source."""
        found = await find(self._database, call, "datasources:delete")
        await self._use.remove(call.actor, found.id)
        return json_response(DataSourceDeleted(id=found.id, message="Data source deleted"))

    async def delete_by_number(self, call: Call) -> Response:
        """Delete a data source by its number."""
        found = await find(self._database, call, "datasources:delete")
        await self._use.remove(call.actor, found.id)
        return message_response("Data source deleted")


def _fields(body: AddDataSourceCommand) -> Fields:
    kind = type_of(body.type)
    return Fields(
        name=body.name,
        type=kind.id,
        uid=body.uid,
        access=body.access,
        url=checked_url(kind, body.url),
        user=body.user,
        database=body.database,
        basic_auth=body.basic_auth,
        basic_auth_user=body.basic_auth_user,
        with_credentials=body.with_credentials,
        is_default=body.is_default,
        json_data=body.json_data,
    )


def _revised(before: Fields, body: DataSourceChanges) -> Fields:
    given = body.model_fields_set
    kept = {name: getattr(before, name) for name in ("url", "basic_auth_user") if name not in given}
    return replace(_fields(body), uid=body.uid or before.uid, **kept)


def _saved(message: str, stored: StoredDataSource) -> Response:
    return json_response(DataSourceSaved(id=stored.id, name=stored.name, message=message, datasource=data_source_view(stored)))


def routes(database: Database, use: DataSources) -> list[Route]:
    """Return the routes of ``/api/datasources``."""
    handlers = _DataSourceHandlers(database, use)
    all_of_them, by_uid, by_id, by_name = (
        "/api/datasources",
        "/api/datasources/uid/{uid}",
        "/api/datasources/{id}",
        "/api/datasources/name/{name}",
    )
    switch: dict[str, type] = {"accesscontrol": bool}
    number: dict[str, type] = {"id": int}
    listing = Operation(
        "getDataSources",
        "data sources of the current organization, by name",
        TAG,
        responses={200: list[DataSourceItem]},
        query=_ACCESS,
        parameters=switch,
        description="Returns the data sources that the caller may read.",
    )

    def reading(operation_id: str, what: str, *, deprecated: bool = False) -> Operation:
        return Operation(
            operation_id,
            what,
            TAG,
            responses={200: DataSourceShape},
            query=_ACCESS,
            parameters=switch | (number if deprecated else {}),
            errors=(404,),
            deprecated=deprecated,
        )

    def changing(operation_id: str, what: str, *, deprecated: bool = False) -> Operation:
        return Operation(
            operation_id,
            what,
            TAG,
            DataSourceChanges,
            {200: DataSourceSaved},
            parameters=number if deprecated else {},
            errors=(404, 409),
            deprecated=deprecated,
        )

    add = Operation("addDataSource", "create a data source", TAG, AddDataSourceCommand, {200: DataSourceSaved}, errors=(409,))
    id_of = Operation(
        "getDataSourceIdByName", "the number of a data source", TAG, responses={200: DataSourceId}, errors=(404,), deprecated=True
    )
    removing = {200: DataSourceDeleted}
    delete_by_uid = Operation("deleteDataSourceByUID", "delete a data source", TAG, responses=removing, errors=(404,))
    delete_by_name = Operation("deleteDataSourceByName", "delete a data source by its name", TAG, responses=removing, errors=(404,))
    delete_by_id = Operation(
        "deleteDataSourceByID",
        "delete a data source by its number",
        TAG,
        responses={200: Message},
        parameters=number,
        errors=(404,),
        deprecated=True,
    )
    read, write, delete = "datasources:read", "datasources:write", "datasources:delete"
    get_by_id = reading("getDataSourceByID", "get a data source by its number", deprecated=True)
    change_by_id = changing("updateDataSourceByID", "change a data source by its number", deprecated=True)
    return [
        Route("GET", all_of_them, handlers.listed, any_one(read), listing),
        Route("POST", all_of_them, handlers.create, Permission("datasources:create"), add, body_limit=BODY_BYTES, audit=CREATE),
        Route("GET", by_uid, handlers.get, one(read), reading("getDataSourceByUID", "get a data source")),
        Route(
            "PUT",
            by_uid,
            handlers.update,
            one(write),
            changing("updateDataSourceByUID", "change a data source"),
            body_limit=BODY_BYTES,
            audit=UPDATE,
        ),
        Route("DELETE", by_uid, handlers.delete, one(delete), delete_by_uid, audit=DELETE),
        Route("GET", by_name, handlers.get, any_one(read), reading("getDataSourceByName", "get a data source by its name")),
        Route("DELETE", by_name, handlers.delete, any_one(delete), delete_by_name, audit=DELETE),
        Route("GET", "/api/datasources/id/{name}", handlers.number, any_one(read), id_of),
        Route("GET", by_id, handlers.get, any_one(read), get_by_id),
        Route("PUT", by_id, handlers.update, any_one(write), change_by_id, body_limit=BODY_BYTES, audit=UPDATE),
        Route("DELETE", by_id, handlers.delete_by_number, any_one(delete), delete_by_id, audit=DELETE),
    ]
