"""Import of exported dashboards: the dashboard with the values of its inputs, and the library panels that it shows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dashwright.api.classic import common
from dashwright.api.classic.dashboards import Dashboards, SaveRequest
from dashwright.api.classic.library_elements import PANEL, ElementRequest, LibraryElements
from dashwright.api.domain.dashboard_inputs import ExportedPanel, ResolvedDashboard
from dashwright.api.resources.writing.desired_object import WriteContext
from dashwright.common.database.pool import Database
from dashwright.common.kinds.registry import LIBRARY_PANEL
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """A dashboard to import."""

    dashboard: ResolvedDashboard
    #: None: use ``folder_id``; without both, the dashboard is imported into the root.
    folder_uid: str | None
    folder_id: int | None
    #: Replace a stored dashboard with the same uid.
    overwrite: bool
    #: Bytes of the request.
    size: int


class Imports:
    """Imports into a caller's current organization."""

    def __init__(self, database: Database, dashboards: Dashboards, elements: LibraryElements) -> None:
        self._database = database
        self._dashboards = dashboards
        self._elements = elements

    async def run(self, context: WriteContext, request: ImportRequest) -> StoredObject:
        """Save the dashboard and the missing library panels, and return the dashboard. Stored library panels are unchanged.

        Everything is checked before the first write. Raises the errors of ``Dashboards.save`` and ``LibraryElements.create``.
        """
        save_request = _save_request(request)
        new_panels = await self._missing_panels(context, request.dashboard.panels)
        trial_context = replace(context, dry_run=True)
        await self._dashboards.save(trial_context, save_request)
        for panel in new_panels:
            await self._create(trial_context, request, panel)
        # The dashboard comes last, so that it never shows a panel that is not stored yet.
        for panel in new_panels:
            await self._create(context, request, panel)
        return await self._dashboards.save(context, save_request)

    async def _missing_panels(self, context: WriteContext, panels: Sequence[ExportedPanel]) -> Sequence[ExportedPanel]:
        """Return the panels whose uids are not in use."""
        if not panels:
            return ()
        async with self._database.connection() as connection:
            stored = await resources.get_many(connection, LIBRARY_PANEL, context.identity.namespace, [panel.uid for panel in panels])
        used_uids = {element.name for element in stored}
        return [panel for panel in panels if panel.uid not in used_uids]

    async def _create(self, context: WriteContext, request: ImportRequest, panel: ExportedPanel) -> None:
        """Create a library panel in the folder of the import."""
        element = ElementRequest(
            name=panel.name,
            kind=PANEL,
            model=panel.model,
            folder_uid=request.folder_uid,
            folder_id=request.folder_id,
            size=request.size,
        )
        await self._elements.create(context, panel.uid, element)


def _save_request(request: ImportRequest) -> SaveRequest:
    """Return the request that saves the imported dashboard."""
    uid = request.dashboard.spec.get("uid")
    return SaveRequest(
        spec=request.dashboard.spec,
        # A generated uid is set here, because the trial and the write must be about the same dashboard.
        uid=uid if isinstance(uid, str) and uid else common.new_uid(),
        dashboard_id=0,
        version=None,
        folder_uid=request.folder_uid,
        folder_id=request.folder_id,
        message="",
        overwrite=request.overwrite,
        size=request.size,
    )
