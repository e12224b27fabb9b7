"""Routes to list the synced commits of a repository and to roll back to one of them."""

from collections.abc import Sequence
from typing import Final

from dashwright.api.domain import unknown_fields
from dashwright.api.domain.events import event_of
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Content, Operation, Permission, Route
from dashwright.api.jobs import Jobs
from dashwright.api.repositories.routes.jobs import plan_response
from dashwright.api.repositories.routes.place import ONE
from dashwright.api.resources import descriptions, options
from dashwright.api.workers.repository_client import RepositoryClient
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, Cause, Invalid
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.models.causes import sentence
from dashwright.common.models.provisioning import Action, JobSpec, RepositorySpec, RepositoryType, RollbackOptions, SyncJobOptions
from dashwright.common.models.repository_views import Revision, RevisionList, SyncPlan
from dashwright.common.stores import resources, revisions

#: Commits that an error message lists.
_LISTED: Final = 10


def routes(jobs: Jobs, database: Database, worker: RepositoryClient) -> list[Route]:
    """Return the routes."""

    async def rollback(call: Call) -> Response:
        namespace, name = call.parameters["namespace"], call.parameters["name"]
        wanted = await _rollback_options(call)
        ref = _target(await stored_revisions(namespace, name), wanted.ref)
        spec = JobSpec(action=Action.SYNC, repository=name, sync=SyncJobOptions(ref=ref))
        is_dry_run = options.is_dry_run(call)
        (job,) = await jobs.submit(call.actor, call.identity, namespace, [spec], dry_run=is_dry_run)
        return await plan_response(call, worker, ref) if is_dry_run else Response(202, job.encode())

    async def listed(call: Call) -> Response:
        found = await stored_revisions(call.parameters["namespace"], call.parameters["name"])
        items = [_revision_view(revision) for revision in found]
        return json_response(RevisionList(kind="RevisionList", api_version=REPOSITORY.api_version(), items=items))

    async def stored_revisions(namespace: str, name: str) -> Sequence[revisions.StoredRevision]:
        async with database.connection() as connection:
            stored = await resources.get(connection, REPOSITORY, namespace, name)
            if RepositorySpec.model_validate_json(stored.spec).type is RepositoryType.LOCAL:
                raise BadRequest("this repository does not support rollback")
            return await revisions.list_all(connection, stored.uid)

    return [
        Route("POST", f"{ONE}/rollback", rollback, Permission("repositories:write"), _ROLLBACK, audit=event_of(JOB, "create")),
        Route("GET", f"{ONE}/revisions", listed, Permission("repositories:read"), _REVISIONS),
    ]


_ROLLBACK: Final = Operation(
    "rollBackRepository",
    "restore an earlier commit and hold the repository there",
    JOB.group,
    Content(RollbackOptions, optional=True),
    {200: SyncPlan, 202: descriptions.object_model(JOB)},
    query={"dryRun": "All: return the plan of the sync and do nothing"},
    parameters=descriptions.parameter_types(descriptions.DRY_RUN),
    errors=(404, 409, 422, 424),
)
_REVISIONS: Final = Operation(
    "listRepositoryRevisions", "the synced commits", REPOSITORY.group, responses={200: RevisionList}, errors=(404,)
)


async def _rollback_options(call: Call) -> RollbackOptions:
    """Return the options in the body, or the defaults. Raises Invalid for unknown members."""
    if not (await call.body()).strip():
        return RollbackOptions()
    options = await call.model(RollbackOptions)
    if faults := unknown_fields.causes(unknown_fields.of_value(RollbackOptions, await call.json(), "")):
        raise Invalid(sentence(faults), causes=faults)
    return options


def _target(known: Sequence[revisions.StoredRevision], ref: str | None) -> str:
    """Return the commit to restore. Raises Invalid if there is no earlier one, or ``ref`` was never synced."""
    if ref is None:
        before = revisions.previous(known)
        if before is None:
            raise _invalid("Not found: no earlier commit was synced")
        return before.ref
    if not any(revision.ref == ref for revision in known):
        listed = ", ".join(revision.ref for revision in known[:_LISTED])
        raise _invalid(f"Not found: {ref[:80]!r} was not synced, or is no longer in history; synced commits: {listed or 'none'}")
    return ref


def _invalid(text: str) -> Invalid:
    return Invalid(f"ref: {text}", causes=[Cause("ref", "FieldValueNotFound", text)])


def _revision_view(revision: revisions.StoredRevision) -> Revision:
    return Revision(
        ref=revision.ref,
        synced=round(revision.at.timestamp() * 1000),
        job=str(revision.job) if revision.job else None,
        current=revision.current or None,
        withdrawn=revision.withdrawn or None,
    )
