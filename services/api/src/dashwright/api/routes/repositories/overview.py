"""Routes that tell of all repositories of a namespace: what every Viewer may know of them, and how much they manage."""

from dashwright.api.http.answer import Answer, json_answer
from dashwright.api.http.call import Call
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.stores import repositories
from dashwright.common.database.pool import Database
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.models.provisioning import RepositorySpec
from dashwright.common.models.repository_views import RepositoryView, RepositoryViewList, ResourceStats


def routes(database: Database) -> list[Route]:
    namespace, tag = f"/apis/{REPOSITORY.api_version()}/namespaces/{{namespace}}", REPOSITORY.group

    async def settings(call: Call) -> Answer:
        async with database.connection() as connection:
            found = await repositories.specs(connection, call.parameters["namespace"])
        views = [_view(name, spec) for name, spec in found]
        return json_answer(RepositoryViewList(kind="RepositoryViewList", api_version=REPOSITORY.api_version(), items=views))

    async def stats(call: Call) -> Answer:
        async with database.connection() as connection:
            found = await repositories.counts(connection, call.parameters["namespace"])
        return json_answer(ResourceStats(kind="ResourceStats", api_version=REPOSITORY.api_version(), items=list(found)))

    shown = Operation("getRepositorySettings", "what every Viewer may know of repositories", tag, answers={200: RepositoryViewList})
    counted = Operation("getRepositoryStats", "how many objects repositories manage, or none does", tag, answers={200: ResourceStats})
    return [
        Route("GET", f"{namespace}/settings", settings, Permission("dashboards:read"), shown),
        Route("GET", f"{namespace}/stats", stats, Permission("repositories:write"), counted),
    ]


def _view(name: str, spec: RepositorySpec) -> RepositoryView:
    return RepositoryView(name=name, title=spec.title, read_only=not spec.workflows, type=spec.type, target=spec.sync.target)
