"""Composition of the small objects of users: snapshots, playlists, short URLs and query histories."""

from dashwright.api.classic.playlists import Playlists
from dashwright.api.classic.query_history import QueryHistory
from dashwright.api.classic.routes import playlists as playlist_routes
from dashwright.api.classic.routes import query_history as history_routes
from dashwright.api.classic.routes import short_urls as short_url_routes
from dashwright.api.classic.routes import snapshots as snapshot_routes
from dashwright.api.classic.short_urls import ShortUrls
from dashwright.api.classic.snapshots import Snapshots
from dashwright.api.http.routing import Route
from dashwright.api.resources.services import Services


def routes(services: Services) -> list[Route]:
    """Return the routes of small objects."""
    settings, database, policy, clock = services.settings, services.database, services.policy, services.clock
    snapshots = Snapshots(database, policy, clock, limit=settings.snapshots)
    short_urls = ShortUrls(database, clock, limit=settings.short_urls)
    return [
        *snapshot_routes.routes(snapshots, clock, public_address=settings.public_address),
        *playlist_routes.routes(Playlists(database, services.writer)),
        *short_url_routes.routes(short_urls, public_address=settings.public_address),
        *history_routes.routes(QueryHistory(database, clock, limit=settings.query_history)),
    ]
