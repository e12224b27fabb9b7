"""Dashboards of files that are missing at a branch or commit: a sync would delete them, or store them from another file."""

import asyncio

from dashwright.common.jobs import paths
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.repository_calls import FileResponse
from dashwright.common.models.repository_views import ResourceAction
from dashwright.jobs_worker.actions.files.planning import ChangeContext, plan_files, touches_of_file, touches_of_repository
from dashwright.jobs_worker.actions.sync import NullReporter, PlannedSync, plan_sync
from dashwright.jobs_worker.domain.files.wrapper import FileView, wrap
from dashwright.jobs_worker.domain.objects import Difference, ManagedObject
from dashwright.jobs_worker.ports import Checkout


async def describe_removal(context: ChangeContext, checkout: Checkout, path: str, ref: str) -> FileResponse | None:
    """Return the dashboard that is stored from a file which is missing in a checkout, and the file that would replace it.

    Returns None if no dashboard is stored from the path. Raises the errors of ``plan_sync``.
    """
    if _stored_from(await plan_files(context, checkout, Difference(frozenset({path}), ())), path) is None:
        return None
    # Any file may contain the dashboard instead, so all changed files are read, as for a sync.
    planned_sync = await plan_sync(context.sync_job, checkout, context.store, NullReporter(), context.tools, JobProgress())
    stored_dashboard = _stored_from(planned_sync, path)
    if stored_dashboard is None:
        return None
    plan, key = planned_sync.plan, stored_dashboard.key
    is_removed = any(item.key == key for item in plan.removals)
    view = FileView(
        path,
        ref,
        checkout.commit,
        existing=await context.store.get_json(context.repository.namespace, key, DASHBOARD.version),
        action=ResourceAction.DELETE if is_removed else ResourceAction.UPDATE,
        errors=[fault.public_message or fault.message for fault in plan.faults if stored_dashboard in fault.stored_objects],
    )
    touches = await touches_of_file(context, planned_sync, "get", key, path)
    touches += touches_of_repository(context, planned_sync, ref, [path], {*paths.directories(path)})
    return FileResponse(
        wrapper=await asyncio.to_thread(wrap, context.repository, view),
        touches=touches,
        moved_to=next((file.path for file in plan.writes if file.key == key), ""),
    )


def _stored_from(planned_sync: PlannedSync, path: str) -> ManagedObject | None:
    """Return the first dashboard that is stored from a file."""
    items = [item for item in planned_sync.plan.managed.values() if item.path == path and item.key.resource == DASHBOARD.plural]
    return min(items, key=lambda item: item.key, default=None)
