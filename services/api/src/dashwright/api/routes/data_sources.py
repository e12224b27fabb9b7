"""Routes of the organization's data sources, by uid, id or name. Queries are in ``routes/query.py``."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from dashwright.api.data_sources import CREATE, DELETE, UPDATE, DataSources, not_found
from dashwright.api.domain.access.metadata import ScopedType, access_control
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
#: Limit on the bytes of a body. Certificates and keys are its largest parts.
BODY_BYTES: Final = 256 * 1024

_SCOPE_PREFIX: Final = ScopedType.DATA_SOURCE.prefix
_ACCESS_QUERY: Final = {"accesscontrol": "add accessControl"}


def permission_on_uid(action: str) -> Permission:
    """Return a permission on the data source whose uid is in the path."""
    return Permission(action, f"{_SCOPE_PREFIX}{{uid}}")


def permission_on_any(action: str) -> Permission:
    """Return a permission on at least one data source. ``find`` checks the permission on the requested one."""
    return Permission(action, any_scope_suffices=True)


async def find(database: Database, call: Call, action: str) -> StoredDataSource:
    """Return the data source that the path names by ``uid``, ``id`` or ``name``.

    Raises BadRequest for an invalid id, Forbidden if the caller may not do ``action`` on the data source, and NotFound
    for an unknown data source. For an unknown data source, Forbidden has precedence: the caller needs the permission on
    the uid in the path, or on all data sources if the path has no uid.
    """
    parameters, org_id = call.parameters, call.identity.org_id
    data_source_id = call.path_integer("id", "id is invalid") if "id" in parameters else None
    uid, name = parameters.get("uid"), parameters.get("name")
    async with database.connection() as connection:
        data_source = await data_sources.get(connection, org_id, source_id=data_source_id, uid=uid, name=name)
    if data_source is None:
        call.require(action, f"{_SCOPE_PREFIX}{parameters.get('uid', '*')}")
        raise not_found()
    call.require(action, f"{_SCOPE_PREFIX}{data_source.uid}")
    return data_source


def readable_data_sources(candidates: Sequence[StoredDataSource], caller: Identity, *actions: str) -> Sequence[StoredDataSource]:
    """Return the data sources on which the caller may do one of ``actions``."""
    return [data_source for data_source in candidates if any(caller.may(action, f"{_SCOPE_PREFIX}{data_source.uid}") for action in actions)]


def item_view(data_source: StoredDataSource, caller: Identity | None) -> DataSourceItem:
    """Return the response model of a list item. With ``caller``, it includes the caller's permissions."""
    fields, type_ = data_source.fields, type_of(data_source.fields.type)
    return DataSourceItem(
        id=data_source.id,
        uid=fields.uid,
        org_id=data_source.org_id,
        name=fields.name,
        type=fields.type,
        type_name=type_.name,
        type_logo_url=type_.logo,
        access=fields.access,
        url=fields.url,
        user=fields.user,
        database=fields.database,
        basic_auth=fields.basic_auth,
        is_default=fields.is_default,
        json_data=dict(fields.json_data),
        access_control=None if caller is None else access_control(caller, ScopedType.DATA_SOURCE, fields.uid),
    )


def data_source_view(data_source: StoredDataSource, caller: Identity | None = None) -> DataSourceShape:
    """Return the response model of a data source. With ``caller``, it includes the caller's permissions."""
    fields = data_source.fields
    return DataSourceShape(
        id=data_source.id,
        uid=fields.uid,
        org_id=data_source.org_id,
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
        secure_json_fields=dict.fromkeys(data_source.secret_names, True),
        version=data_source.version,
        access_control=None if caller is None else access_control(caller, ScopedType.DATA_SOURCE, fields.uid),
    )


class _DataSourceHandlers:
    """The handlers of the data source routes."""

    def __init__(self, database: Database, use_cases: DataSources) -> None:
        self._database = database
        self._use_cases = use_cases

    async def list_all(self, call: Call) -> Response:
        """List the readable data sources."""
        async with self._database.connection() as connection:
            stored_sources = await data_sources.list_all(connection, call.identity.org_id)
        caller = call.identity if call.query_flag("accesscontrol") else None
        readable_sources = readable_data_sources(stored_sources, call.identity, "datasources:read")
        return json_response([item_view(data_source, caller) for data_source in readable_sources])

    async def get(self, call: Call) -> Response:
        """Return a data source."""
        data_source = await find(self._database, call, "datasources:read")
        return json_response(data_source_view(data_source, call.identity if call.query_flag("accesscontrol") else None))

    async def get_id(self, call: Call) -> Response:
        """Return the id of a data source."""
        data_source = await find(self._database, call, "datasources:read")
        return json_response(DataSourceId(id=data_source.id))

    async def create(self, call: Call) -> Response:
        """Create a data source."""
        body = await call.model(AddDataSourceCommand)
        data_source = await self._use_cases.create(call.actor, _fields(body), body.secrets)
        return _saved_response("Datasource added", data_source)

    async def update(self, call: Call) -> Response:
        """Change a data source."""
        # Before the body is read: an unknown data source is 404 even if the body is invalid.
        current = await find(self._database, call, "datasources:write")
        body = await call.model(DataSourceChanges)

        def merge(fields: Fields) -> Fields:
            return _merged_fields(fields, body)

        changed_source = await self._use_cases.change(call.actor, current.id, merge, body.secrets, version=body.version)
        return _saved_response("Datasource updated", changed_source)

    async def delete(self, call: Call) -> Response:
        """Delete a data source."""
        data_source = await find(self._database, call, "datasources:delete")
        await self._use_cases.remove(call.actor, data_source.id)
        return json_response(DataSourceDeleted(id=data_source.id, message="Data source deleted"))

    async def delete_by_id(self, call: Call) -> Response:
        """Delete a data source by its id. The response has no id, unlike that of ``delete``."""
        data_source = await find(self._database, call, "datasources:delete")
        await self._use_cases.remove(call.actor, data_source.id)
        return message_response("Data source deleted")


def _fields(body: AddDataSourceCommand) -> Fields:
    """Return the fields of the data source in a body. Raises BadRequest if queries could not use its URL."""
    type_ = type_of(body.type)
    return Fields(
        name=body.name,
        type=type_.id,
        uid=body.uid,
        access=body.access,
        url=checked_url(type_, body.url),
        user=body.user,
        database=body.database,
        basic_auth=body.basic_auth,
        basic_auth_user=body.basic_auth_user,
        with_credentials=body.with_credentials,
        is_default=body.is_default,
        json_data=body.json_data,
    )


def _merged_fields(current: Fields, body: DataSourceChanges) -> Fields:
    """Return the fields of a change. A missing uid, url or basicAuthUser keeps its current value."""
    sent_names = body.model_fields_set
    unchanged_fields = {name: getattr(current, name) for name in ("url", "basic_auth_user") if name not in sent_names}
    return replace(_fields(body), uid=body.uid or current.uid, **unchanged_fields)


def _saved_response(message: str, data_source: StoredDataSource) -> Response:
    view = data_source_view(data_source)
    return json_response(DataSourceSaved(id=data_source.id, name=data_source.name, message=message, datasource=view))


def routes(database: Database, use_cases: DataSources) -> list[Route]:
    """Return the routes of ``/api/datasources``."""
    handlers = _DataSourceHandlers(database, use_cases)
    collection_path, uid_path, id_path, name_path = (
        "/api/datasources",
        "/api/datasources/uid/{uid}",
        "/api/datasources/{id}",
        "/api/datasources/name/{name}",
    )
    access_parameter: dict[str, type] = {"accesscontrol": bool}
    id_parameter: dict[str, type] = {"id": int}
    list_operation = Operation(
        "getDataSources",
        "data sources of the current organization, by name",
        TAG,
        responses={200: list[DataSourceItem]},
        query=_ACCESS_QUERY,
        parameters=access_parameter,
        description="Returns the data sources that the caller may read.",
    )

    # The paths of deprecated operations have an id.
    def get_operation(operation_id: str, summary: str, *, deprecated: bool = False) -> Operation:
        return Operation(
            operation_id,
            summary,
            TAG,
            responses={200: DataSourceShape},
            query=_ACCESS_QUERY,
            parameters=access_parameter | (id_parameter if deprecated else {}),
            errors=(404,),
            deprecated=deprecated,
        )

    def update_operation(operation_id: str, summary: str, *, deprecated: bool = False) -> Operation:
        return Operation(
            operation_id,
            summary,
            TAG,
            DataSourceChanges,
            {200: DataSourceSaved},
            parameters=id_parameter if deprecated else {},
            errors=(404, 409),
            deprecated=deprecated,
        )

    add = Operation("addDataSource", "create a data source", TAG, AddDataSourceCommand, {200: DataSourceSaved}, errors=(409,))
    get_id_operation = Operation(
        "getDataSourceIdByName", "the id of a data source", TAG, responses={200: DataSourceId}, errors=(404,), deprecated=True
    )
    deleted_responses = {200: DataSourceDeleted}
    delete_by_uid = Operation("deleteDataSourceByUID", "delete a data source", TAG, responses=deleted_responses, errors=(404,))
    delete_by_name = Operation(
        "deleteDataSourceByName", "delete a data source by its name", TAG, responses=deleted_responses, errors=(404,)
    )
    delete_by_id = Operation(
        "deleteDataSourceByID",
        "delete a data source by its id",
        TAG,
        responses={200: Message},
        parameters=id_parameter,
        errors=(404,),
        deprecated=True,
    )
    read, write, delete = "datasources:read", "datasources:write", "datasources:delete"
    get_by_id = get_operation("getDataSourceByID", "get a data source by its id", deprecated=True)
    change_by_id = update_operation("updateDataSourceByID", "change a data source by its id", deprecated=True)
    return [
        Route("GET", collection_path, handlers.list_all, permission_on_any(read), list_operation),
        Route("POST", collection_path, handlers.create, Permission("datasources:create"), add, body_limit=BODY_BYTES, audit=CREATE),
        Route("GET", uid_path, handlers.get, permission_on_uid(read), get_operation("getDataSourceByUID", "get a data source")),
        Route(
            "PUT",
            uid_path,
            handlers.update,
            permission_on_uid(write),
            update_operation("updateDataSourceByUID", "change a data source"),
            body_limit=BODY_BYTES,
            audit=UPDATE,
        ),
        Route("DELETE", uid_path, handlers.delete, permission_on_uid(delete), delete_by_uid, audit=DELETE),
        Route(
            "GET", name_path, handlers.get, permission_on_any(read), get_operation("getDataSourceByName", "get a data source by its name")
        ),
        Route("DELETE", name_path, handlers.delete, permission_on_any(delete), delete_by_name, audit=DELETE),
        Route("GET", "/api/datasources/id/{name}", handlers.get_id, permission_on_any(read), get_id_operation),
        Route("GET", id_path, handlers.get, permission_on_any(read), get_by_id),
        Route("PUT", id_path, handlers.update, permission_on_any(write), change_by_id, body_limit=BODY_BYTES, audit=UPDATE),
        Route("DELETE", id_path, handlers.delete_by_id, permission_on_any(delete), delete_by_id, audit=DELETE),
    ]
