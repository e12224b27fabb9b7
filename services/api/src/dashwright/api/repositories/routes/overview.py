"""Routes over all repositories of a namespace: their public settings, and the number of objects they manage."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.stores import repositories
from dashwright.common.database.pool import Database
from dashwright.common.kinds.annotations import REPOSITORY_MANAGER
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.models.provisioning import RepositorySpec, RepositoryType, ResourceCount, SyncTarget
from dashwright.common.models.repository_views import ManagerStats, RepositoryView, RepositoryViewList, ResourceStats


def routes(database: Database) -> list[Route]:
    """Return the routes."""
    namespace, tag = f"/apis/{REPOSITORY.api_version()}/namespaces/{{namespace}}", REPOSITORY.group

    async def settings(call: Call) -> Response:
        async with database.connection() as connection:
            found = await repositories.specs(connection, call.parameters["namespace"])
        listed = RepositoryViewList(
            kind="RepositoryViewList",
            api_version=REPOSITORY.api_version(),
            # Any worker for expressions draws pictures.
            allow_image_rendering=True,
            allowed_targets=list(SyncTarget),
            available_repository_types=list(RepositoryType),
            items=[_view(name, spec) for name, spec in found],
        )
        return json_response(listed)

    async def stats(call: Call) -> Response:
        async with database.connection() as connection:
            found = await repositories.counts(connection, call.parameters["namespace"])
        return json_response(_stats(found))

    shown = Operation("getRepositorySettings", "the public settings of repositories", tag, responses={200: RepositoryViewList})
    counted = Operation("getRepositoryStats", "the number of managed and unmanaged objects", tag, responses={200: ResourceStats})
    return [
        Route("GET", f"{namespace}/settings", settings, Permission("dashboards:read"), shown),
        Route("GET", f"{namespace}/stats", stats, Permission("repositories:write"), counted),
    ]


def _view(name: str, spec: RepositorySpec) -> RepositoryView:
    remote = spec.remote
    return RepositoryView(
        name=name,
        title=spec.title,
        read_only=not spec.workflows,
        type=spec.type,
        target=spec.sync.target,
        workflows=spec.workflows,
        branch=None if remote is None else remote.branch,
        url=None if remote is None else remote.url,
        path=None if remote is None else remote.path,
    )


def _stats(found: Sequence[ResourceCount]) -> ResourceStats:
    """Return the sums of counts, which are sorted by repository, unmanaged objects first."""
    instance: Counter[tuple[str, str]] = Counter()
    for each in found:
        instance[each.group, each.resource] += each.count
    by_manager = {name: [_of_any(each) for each in counts] for name, counts in groupby(found, lambda each: each.repository)}
    return ResourceStats(
        kind="ResourceStats",
        api_version=REPOSITORY.api_version(),
        instance=[ResourceCount(group=group, resource=resource, count=count) for (group, resource), count in sorted(instance.items())],
        managed=[ManagerStats(kind=REPOSITORY_MANAGER, id=name, stats=counts) for name, counts in by_manager.items() if name is not None],
        unmanaged=by_manager.get(None, []),
        items=list(found),
    )


def _of_any(each: ResourceCount) -> ResourceCount:
    return ResourceCount(group=each.group, resource=each.resource, count=each.count)
