"""Watch: changes of the objects of a namespace as they happen."""

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
from dashwright.common.errors import BadRequest, Gone, TooManyRequests
from dashwright.common.identity import Identity, Role
from dashwright.common.stores import changes

_RETRY_SECONDS = 5.0

_SHARE = 4
"""One caller has at most a quarter of a gateway's watches."""


def watch_or_list(listed: ResourceHandler) -> ResourceHandler:
    """Return a handler for a GET of a collection: a watch if the query asks for one, else ``listed``."""

    async def handled(target: Target, services: Services, call: Call) -> Response:
        return await (handle if is_watch(call) else listed)(target, services, call)

    return handled


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Respond with a stream of events that ends with its timeout."""
    feed = services.feed
    options, form, namespace = watch_options_of(call), formats.format_of(call, streamed=True), call.parameters["namespace"]
    selection = parse_selection(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""), namespace)
    if selection.special is not None:
        raise BadRequest(f"the {selection.special.value} cannot be watched; list it")
    view = await services.policy.view(call.identity, namespace)
    try:
        after = await _start_version(target, services, options)
        if options.after and not options.is_initial and target.kind.in_folder:
            await services.policy.check_since(call.identity, namespace, after)
    except Gone as error:
        return Response(200, _error_events(error), form.content_type, endless=True)
    # After the version check, so that a client with an old version lists again instead of waiting for room.
    _check_room(feed, services.settings.watches, call.identity)
    # A watch ends with its token.
    if call.identity.expires_at is not None:
        options = replace(options, seconds=min(options.seconds, call.identity.expires_at - services.clock.seconds()))
    request = WatchRequest(target, namespace, selection, options, form)
    watch = Watch(request, feed, services.policy, services.lines, call.identity, view, after)
    if options.is_initial:
        watch.send_first(initial.initial_events(services.database, services.lines, request, watch, view))
    return Response(200, watch, form.content_type, endless=True)


def _check_room(feed: Feed, limit: int, caller: Identity) -> None:
    """Raise TooManyRequests if all watches of the gateway, or the caller's share of them, are in use.

    Admins may use all watches: their programs watch on behalf of other users.
    """
    if feed.watchers >= limit:
        raise TooManyRequests(
            f"{limit} watches are open here, which is all DASHWRIGHT_WATCHES allows; try again", retry_after=_RETRY_SECONDS
        )
    own = max(limit // _SHARE, 1)
    if feed.watches_of(caller) >= own and not (caller.is_server_admin or caller.role is Role.ADMIN):
        raise TooManyRequests(
            f"{own} watches of {caller.login} are open here, which is one caller's share of DASHWRIGHT_WATCHES; end some, or try again",
            retry_after=_RETRY_SECONDS,
        )


async def _start_version(target: Target, services: Services, options: WatchOptions) -> int:
    """Return the version to continue from.

    Raises Gone for a version that this database has not reached: it belongs to another database, or to this one before a
    restore.
    """
    async with services.database.connection() as connection:
        if options.after > await changes.latest(connection):
            raise changes.gone(options.after)
        return options.after or await changes.head(connection, changes.stream_of(target.kind))


async def _error_events(error: Gone) -> AsyncIterator[bytes]:
    """Yield the only event of a watch that cannot start at the requested version."""
    yield error_event(error)
