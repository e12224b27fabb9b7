"""Pictures of dashboards for a caller: with the library panels and the data sources that the caller may use."""

from typing import Any

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.http.call import run_in_thread_if_large
from dashwright.api.http.errors import permission_denied
from dashwright.api.routes.query import QUERY_ACTION, queryable_uids, readable_uids
from dashwright.api.workers.picture_client import Picture, PictureClient
from dashwright.common.database.pool import Database
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import LIBRARY_PANEL
from dashwright.common.models.pictures import PictureOptions
from dashwright.common.models.query_context import QueryContext
from dashwright.common.stores import library_panels


class DashboardPictures:
    """The pictures of dashboards, drawn under the rights of a caller."""

    def __init__(self, client: PictureClient, database: Database, policy: AccessPolicy) -> None:
        self._client = client
        self._database = database
        self._policy = policy

    async def render(self, caller: Identity, spec: str, options: PictureOptions) -> Picture:
        """Return a picture of the dashboard whose JSON is ``spec``.

        Raises Forbidden if the caller may query no data source, and the errors of ``PictureClient.render``.
        """
        context = query_context(caller)
        if library_panels.may_refer(spec):
            options = options.model_copy(update={"library_panels": await self._library_panels(caller, spec)})
        return await self._client.render(spec, options, context)

    async def _library_panels(self, caller: Identity, spec: str) -> dict[str, Any]:
        """Return the library panels that a dashboard refers to and the caller may read, by uid."""
        uids = await run_in_thread_if_large(len(spec), lambda: library_panels.referenced_uids(spec))
        view, action = await self._policy.view(caller, caller.namespace), LIBRARY_PANEL.actions["get"]
        async with self._database.connection() as connection:
            return await library_panels.find_models(
                connection, caller.namespace, uids, lambda panel: view.may(action, LIBRARY_PANEL, panel.name, panel.folder)
            )


def query_context(caller: Identity) -> QueryContext:
    """Return the organization and the data sources that a picture may query. Raises Forbidden if the caller may query none."""
    if not caller.has_action(QUERY_ACTION):
        raise permission_denied(QUERY_ACTION)
    return QueryContext(org_id=caller.org_id, uids=queryable_uids(caller), readable=readable_uids(caller))
