"""``/api/snapshots``: copies of dashboards with their data, which clients read by key."""

from functools import partial
from typing import Annotated, Any, Final
from urllib.parse import quote

from pydantic import Field

from dashwright.api.classic.common import Int64, parse_exact
from dashwright.api.classic.snapshots import CREATE, DELETE, DELETED, READ, SnapshotRequest, Snapshots
from dashwright.api.domain.times import ZERO_TIME, format_time
from dashwright.api.http.call import Call, run_in_thread_if_large
from dashwright.api.http.response import NO_STORE, Response, json_response
from dashwright.api.http.routing import PUBLIC, SIGNED_IN, Operation, Permission, Route
from dashwright.api.models.small_objects import (
    SnapshotCreated,
    SnapshotDeleted,
    SnapshotItem,
    SnapshotMeta,
    SnapshotShape,
    SnapshotSharingOptions,
)
from dashwright.api.routes.resources import MAX_OBJECT_BYTES
from dashwright.api.stores.snapshots import SnapshotContent
from dashwright.common.clock import Clock
from dashwright.common.errors import Forbidden
from dashwright.common.models.classic import ClassicBody, Name, Text

_TAG: Final = "snapshots"
"""Group of the operations in the description of the API."""
_MAX_LISTED: Final = 1000
"""Limit on the snapshots in a list, which has no pages."""
_MAX_CACHE_SECONDS: Final = 3600
"""Longest time in seconds for which caches may store a snapshot. After this time, no cache has a deleted snapshot."""
_DELETED_MESSAGE: Final = "Snapshot deleted. It might take an hour before it's cleared from any CDN caches."
_NO_EXTERNAL: Final = "External dashboard creation is disabled: this server stores its snapshots itself; leave out external"


class CreateSnapshotCommand(ClassicBody):
    """A snapshot to create."""

    #: The dashboard with its data. If it has a uid, the caller needs permission to read that dashboard.
    dashboard: dict[str, Any]
    name: Name = ""
    #: Lifetime in seconds; 0: fifty years.
    expires: Annotated[Int64, Field(ge=0)] = 0
    #: Must be false.
    external: bool = False
    #: Empty for a random key. Every client that guesses a short key can read the snapshot.
    key: Text = ""
    #: Empty for a random key.
    delete_key: Text = ""


class _Handlers:
    """Handlers of snapshots."""

    def __init__(self, snapshots: Snapshots, clock: Clock, public_address: str) -> None:
        self._snapshots = snapshots
        self._clock = clock
        self._public_address = public_address

    async def create(self, call: Call) -> Response:
        body = await call.body()
        command = await run_in_thread_if_large(len(body), partial(parse_exact, body, CreateSnapshotCommand))
        if command.external:
            raise Forbidden(_NO_EXTERNAL)
        request = SnapshotRequest(
            name=command.name.strip() or "Unnamed snapshot",
            dashboard=command.dashboard,
            expires_seconds=command.expires,
            key=command.key,
            delete_key=command.delete_key,
        )
        keys = await self._snapshots.create(call.actor, call.identity, request)
        created = SnapshotCreated(
            key=keys.key,
            delete_key=keys.delete_key,
            url=f"{self._public_address}/dashboard/snapshot/{keys.key}",
            delete_url=f"{self._public_address}/api/snapshots-delete/{keys.delete_key}",
        )
        return json_response(created, headers=NO_STORE)

    async def read(self, call: Call) -> Response:
        content = await self._snapshots.read(call.parameters["key"])
        max_age = min(_MAX_CACHE_SECONDS, int((content.expires_at - self._clock.now()).total_seconds()))
        return Response(200, _encode(content), headers={"Cache-Control": f"public, max-age={max_age}"}, may_compress=True)

    async def list(self, call: Call) -> Response:
        limit = call.query_integer("limit", _MAX_LISTED, minimum=1, maximum=_MAX_LISTED)
        rows = await self._snapshots.list(call.identity, call.query.get("query", ""), limit=limit)
        items = [
            SnapshotItem(
                name=row.name,
                key=row.key,
                expires=format_time(row.expires_at),
                created=format_time(row.created_at),
                updated=format_time(row.created_at),
            )
            for row in rows
        ]
        return json_response(items)

    async def delete(self, call: Call) -> Response:
        snapshot_id = await self._snapshots.delete(call.actor, call.identity, call.parameters["key"])
        return json_response(SnapshotDeleted(id=snapshot_id, message=_DELETED_MESSAGE))

    async def delete_by_delete_key(self, call: Call) -> Response:
        snapshot_id = await self._snapshots.delete_by_delete_key(call.actor, call.identity, call.parameters["delete_key"])
        return json_response(SnapshotDeleted(id=snapshot_id, message=_DELETED_MESSAGE))

    async def sharing_options(self, _: Call) -> Response:
        return json_response(SnapshotSharingOptions(snapshot_enabled=self._snapshots.are_enabled))

    async def open(self, call: Call) -> Response:
        return Response(302, headers={"Location": f"/api/snapshots/{quote(call.parameters['key'], safe='')}"})


def _encode(content: SnapshotContent) -> bytes:
    """Return a snapshot as JSON. Its dashboard is included as it is stored, so that numbers in it remain exact."""
    # A client that reads a snapshot by its key is unknown, so it has no rights, and sees neither the author nor the folder.
    meta = SnapshotMeta(
        can_save=False,
        can_edit=False,
        can_admin=False,
        can_star=False,
        can_delete=False,
        slug="",
        url="",
        expires=format_time(content.expires_at),
        created=format_time(content.created_at),
        updated=ZERO_TIME,
        updated_by="",
        created_by="",
        version=0,
        folder_id=0,
        folder_uid="",
        folder_title="",
        folder_url="",
        provisioned=False,
        provisioned_external_id="",
    )
    return b'{"meta":' + meta.to_json() + b',"dashboard":' + content.dashboard.encode() + b"}"


def routes(snapshots: Snapshots, clock: Clock, *, public_address: str) -> list[Route]:
    """Return the routes of snapshots. ``public_address`` is the base URL of this server for clients, without a slash at the end."""
    handlers = _Handlers(snapshots, clock, public_address)
    path = "/api/snapshots"
    read, create, delete = Permission(READ), Permission(CREATE), Permission(DELETE)
    disabled = "Returns 403 if the server permits no snapshots."
    return [
        Route(
            "POST",
            path,
            handlers.create,
            create,
            Operation(
                "createDashboardSnapshot",
                "create a snapshot",
                _TAG,
                CreateSnapshotCommand,
                {200: SnapshotCreated},
                errors=(409,),
                description=f"Also requires dashboards:read on the dashboard. {disabled}",
            ),
            body_limit=MAX_OBJECT_BYTES,
            audit="snapshot.create",
        ),
        Route(
            "GET",
            f"{path}/{{key}}",
            handlers.read,
            PUBLIC,
            Operation(
                "getDashboardSnapshot", "one snapshot", _TAG, responses={200: SnapshotShape}, errors=(403, 404), description=disabled
            ),
        ),
        Route(
            "DELETE",
            f"{path}/{{key}}",
            handlers.delete,
            delete,
            Operation(
                "deleteDashboardSnapshot",
                "delete a snapshot",
                _TAG,
                responses={200: SnapshotDeleted},
                errors=(404,),
                description=f"For Admins, the creator, and users who may edit the dashboard. {disabled}",
            ),
            audit=DELETED,
        ),
        # GET, although it deletes: ``deleteUrl`` of a new snapshot is a link for browsers, as in Grafana.
        Route(
            "GET",
            "/api/snapshots-delete/{delete_key}",
            handlers.delete_by_delete_key,
            delete,
            Operation(
                "deleteDashboardSnapshotByDeleteKey",
                "delete the snapshot with a delete key",
                _TAG,
                responses={200: SnapshotDeleted},
                errors=(404,),
                description=disabled,
            ),
            audit=DELETED,
        ),
        Route(
            "GET",
            "/api/dashboard/snapshots",
            handlers.list,
            read,
            Operation(
                "searchDashboardSnapshots",
                "the caller's snapshots by name; for Admins, those of all creators",
                _TAG,
                responses={200: list[SnapshotItem]},
                query={"query": "part of the name", "limit": "the maximum number of snapshots, by default and at most 1000"},
                parameters={"limit": int},
            ),
        ),
        Route(
            "GET",
            "/api/snapshot/shared-options",
            handlers.sharing_options,
            SIGNED_IN,
            Operation("getSharingOptions", "where snapshots can be stored", _TAG, responses={200: SnapshotSharingOptions}),
        ),
        Route(
            "GET",
            "/dashboard/snapshot/{key}",
            handlers.open,
            PUBLIC,
            Operation("openDashboardSnapshot", "redirect to a snapshot", _TAG, responses={302: None}),
        ),
    ]
