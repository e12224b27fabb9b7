"""Pictures of dashboards for a caller: with the library panels and the data sources that the caller may use."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.http.errors import permission_denied
from dashwright.api.resources.threads import run_in_thread_if_large
from dashwright.api.routes.query import QUERY_ACTION, queryable_uids, readable_uids
from dashwright.api.workers.picture_client import Picture, PictureClient
from dashwright.common.database.pool import Database
from dashwright.common.identity import Identity
from dashwright.common.json_documents import read_json
from dashwright.common.json_shapes import string_of
from dashwright.common.kinds.registry import LIBRARY_PANEL
from dashwright.common.models.pictures import PictureOptions
from dashwright.common.models.query_context import QueryContext
from dashwright.common.stores import resources

_REFERENCE: Final = "libraryPanel"
_MAX_DEPTH: Final = 50
_MAX_PANELS: Final = 200
"""Limit on the library panels of one picture."""
_MAX_CHARACTERS: Final = 2_000_000
"""Limit on the JSON of the library panels of one picture."""


class DashboardPictures:
    """The pictures of dashboards, drawn under the rights of a caller."""

    def __init__(self, client: PictureClient, database: Database, policy: AccessPolicy) -> None:
        self._client = client
        self._database = database
        self._policy = policy

    async def render(self, caller: Identity, spec: str, options: PictureOptions) -> Picture:
        """Return a picture of the dashboard whose JSON is ``spec``.

        Raises Forbidden if the caller may query no data source, and the errors of PictureClient.
        """
        context = query_context(caller)
        # Most dashboards have no library panels, and are not parsed here.
        if f'"{_REFERENCE}"' in spec:
            options = options.model_copy(update={"library_panels": await self._library_panels(caller, spec)})
        return await self._client.render(spec, options, context)

    async def _library_panels(self, caller: Identity, spec: str) -> dict[str, Any]:
        """Return the library panels that a dashboard refers to and the caller may read, by uid."""
        document = await run_in_thread_if_large(len(spec), lambda: read_json(spec))
        uids = list(dict.fromkeys(_references(document)))[:_MAX_PANELS]
        view = await self._policy.view(caller, caller.namespace)
        async with self._database.connection() as connection:
            found = await resources.get_many(connection, LIBRARY_PANEL, caller.namespace, uids)
        action, panels, size = LIBRARY_PANEL.actions["get"], {}, 0
        for panel in found:
            size += len(panel.spec)
            if size <= _MAX_CHARACTERS and view.may(action, LIBRARY_PANEL, panel.name, panel.folder):
                panels[panel.name] = read_json(panel.spec)
        return panels


def query_context(caller: Identity) -> QueryContext:
    """Return the organization and the data sources that a picture may query. Raises Forbidden if the caller may query none."""
    if not caller.has_action(QUERY_ACTION):
        raise permission_denied(QUERY_ACTION)
    return QueryContext(org_id=caller.org_id, uids=queryable_uids(caller), readable=readable_uids(caller))


def _references(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the uids of the library panels to which a JSON value refers."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, dict):
        reference = value.get(_REFERENCE)
        if isinstance(reference, Mapping) and (uid := string_of(reference.get("uid"))):
            yield uid
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _references(item, depth + 1)
