"""Watch: a stream of changes of the objects of a namespace."""

from collections.abc import AsyncIterator
from dataclasses import replace

from dashwright.api.changes.feed import Feed
from dashwright.api.domain.selectors import parse_selection
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.resources import formats
from dashwright.api.resources.request import ResourceHandler, Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.watching import initial
from dashwright.api.resources.watching.options import WatchOptions, is_watch, watch_options_of
from dashwright.api.resources.watching.stream import Watch, WatchRequest, error_event
from dashwright.common.errors import BadRequest, Gone, MethodNotAllowed, TooManyRequests
from dashwright.common.identity import Identity, Role
from dashwright.common.stores import changes

_RETRY_SECONDS = 5.0
"""Seconds after which a client may try again if too many watches are open."""

_SHARE_DIVISOR = 4
"""Divisor of the number of watches that a gateway permits. The quotient is the limit of one caller."""


def watch_or_list(list_handler: ResourceHandler) -> ResourceHandler:
    """Return a handler for a GET of a collection: it watches if the query requests a watch, or else calls ``list_handler``."""

    async def watch_or_list_handler(target: Target, services: Services, call: Call) -> Response:
        return await (handle if is_watch(call) else list_handler)(target, services, call)

    return watch_or_list_handler


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Respond with a stream of events, which ends after the timeout of the watch."""
    if "watch" not in target.kind.verbs:
        raise MethodNotAllowed(f"{target.kind.plural} cannot be watched; list them")
    feed = services.feed
    options = watch_options_of(call)
    response_format = formats.format_of(call, json_only=True)
    namespace = call.parameters["namespace"]
    selection = parse_selection(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""), namespace)
    if selection.version_list is not None:
        raise BadRequest(f"the {selection.version_list.value} cannot be watched; list it")
    view = await services.policy.view(call.identity, namespace)
    try:
        start_version, index = await _start_position(target, services, options, namespace)
        # The client has a list of that version, which the access rules of that time selected.
        if options.start_version and not options.sends_initial_events and target.kind.in_folder:
            await services.policy.require_unchanged_since(call.identity, namespace, start_version)
    except Gone as error:
        return Response(200, _error_events(error), response_format.content_type, is_endless=True)
    # After the check of the version: a client with an old version must list again, so a retry would not help it.
    _check_limits(feed, services.settings.watches, call.identity)
    # A watch ends when the caller's token expires.
    if call.identity.expires_at is not None:
        options = replace(options, timeout_seconds=min(options.timeout_seconds, call.identity.expires_at - services.clock.seconds()))
    request = WatchRequest(target, namespace, selection, options, response_format)
    watch = Watch(request, feed, services.policy, services.event_lines, call.identity, view, start_version, index)
    if options.sends_initial_events:
        watch.send_initial_events(initial.initial_events(services.database, services.event_lines, request, watch, view))
    return Response(200, watch, response_format.content_type, is_endless=True)


def _check_limits(feed: Feed, limit: int, caller: Identity) -> None:
    """Raise TooManyRequests if all watches of the gateway, or the caller's share of them, are in use.

    Admins may use all watches: their programs watch on behalf of other users.
    """
    if feed.watch_count >= limit:
        raise TooManyRequests(
            f"{limit} watches are open here, which is all DASHWRIGHT_WATCHES allows; try again", retry_after=_RETRY_SECONDS
        )
    share = max(limit // _SHARE_DIVISOR, 1)
    if feed.watch_count_of(caller) >= share and not (caller.is_server_admin or caller.role is Role.ADMIN):
        raise TooManyRequests(
            f"{share} watches of {caller.login} are open here, which is one caller's share of DASHWRIGHT_WATCHES; end some, or try again",
            retry_after=_RETRY_SECONDS,
        )


async def _start_position(target: Target, services: Services, options: WatchOptions, namespace: str) -> tuple[int, int | None]:
    """Return the resource version to start from, and the index of the change stream at that version.

    The index is None if the namespace has changed since that version: those changes are before the current index. Raises Gone for
    a version that this database has not reached: it is from another database, or from before a restore.
    """
    # Read before the version, so that the index is before any change that is newer than the version.
    index = services.feed.index(target.kind)
    async with services.database.connection() as connection:
        if options.start_version > await changes.latest_version(connection):
            raise changes.version_expired(options.start_version)
        newest_version = await changes.visible_version(connection, changes.stream_of(target.kind), namespace)
    if options.start_version == 0:
        return newest_version, index
    is_unchanged_since = options.start_version >= newest_version
    return options.start_version, (index if is_unchanged_since else None)


async def _error_events(error: Gone) -> AsyncIterator[bytes]:
    """Yield the only event of a watch that cannot start at the requested version."""
    yield error_event(error)
