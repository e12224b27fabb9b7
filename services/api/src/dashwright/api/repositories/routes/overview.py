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
    namespace_path, tag = f"/apis/{REPOSITORY.api_version()}/namespaces/{{namespace}}", REPOSITORY.group

    async def get_settings(call: Call) -> Response:
        async with database.connection() as connection:
            specs = await repositories.specs(connection, call.parameters["namespace"])
        view_list = RepositoryViewList(
            kind="RepositoryViewList",
            api_version=REPOSITORY.api_version(),
            # Every expressions worker can draw pictures.
            allow_image_rendering=True,
            allowed_targets=list(SyncTarget),
            available_repository_types=list(RepositoryType),
            items=[_repository_view(name, spec) for name, spec in specs],
        )
        return json_response(view_list)

    async def get_stats(call: Call) -> Response:
        async with database.connection() as connection:
            counts = await repositories.counts(connection, call.parameters["namespace"])
        return json_response(_stats(counts))

    settings_operation = Operation("getRepositorySettings", "the public settings of repositories", tag, responses={200: RepositoryViewList})
    stats_operation = Operation("getRepositoryStats", "the number of managed and unmanaged objects", tag, responses={200: ResourceStats})
    return [
        Route("GET", f"{namespace_path}/settings", get_settings, Permission("dashboards:read"), settings_operation),
        Route("GET", f"{namespace_path}/stats", get_stats, Permission("repositories:write"), stats_operation),
    ]


def _repository_view(name: str, spec: RepositorySpec) -> RepositoryView:
    """Return the public settings of a repository."""
    remote = spec.remote
    return RepositoryView(
        name=name,
        title=spec.title,
        # Workflows are the ways to write files.
        read_only=not spec.workflows,
        type=spec.type,
        target=spec.sync.target,
        workflows=spec.workflows,
        branch=None if remote is None else remote.branch,
        url=None if remote is None else remote.url,
        path=None if remote is None else remote.path,
    )


def _stats(counts: Sequence[ResourceCount]) -> ResourceStats:
    """Return the numbers of all objects, of the objects that each repository manages, and of unmanaged objects.

    ``counts`` has one item for each repository and kind, sorted by repository. Unmanaged objects have no repository.
    """
    totals: Counter[tuple[str, str]] = Counter()
    for resource_count in counts:
        totals[resource_count.group, resource_count.resource] += resource_count.count
    groups = groupby(counts, lambda resource_count: resource_count.repository)
    by_repository = {name: [_without_repository(resource_count) for resource_count in group] for name, group in groups}
    return ResourceStats(
        kind="ResourceStats",
        api_version=REPOSITORY.api_version(),
        instance=[ResourceCount(group=group, resource=resource, count=count) for (group, resource), count in sorted(totals.items())],
        managed=[
            ManagerStats(kind=REPOSITORY_MANAGER, id=name, stats=repository_counts)
            for name, repository_counts in by_repository.items()
            if name is not None
        ],
        unmanaged=by_repository.get(None, []),
        items=list(counts),
    )


def _without_repository(resource_count: ResourceCount) -> ResourceCount:
    return ResourceCount(group=resource_count.group, resource=resource_count.resource, count=resource_count.count)
