"""Routes to list the synced commits of a repository and to roll back to one of them."""

from collections.abc import Sequence
from typing import Final

from dashwright.api.domain import unknown_fields
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Content, Operation, Permission, Route
from dashwright.api.jobs import Jobs
from dashwright.api.repositories.routes.jobs import plan_response
from dashwright.api.repositories.routes.repository_path import REPOSITORY_PATH
from dashwright.api.resources import descriptions, options
from dashwright.api.stores.audit import event_of
from dashwright.api.workers.repository_client import RepositoryClient
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, Cause, Invalid
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.models.causes import sentence
from dashwright.common.models.job_options import RollbackOptions, SyncJobOptions
from dashwright.common.models.provisioning import Action, JobSpec, RepositorySpec, RepositoryType
from dashwright.common.models.repository_views import Revision, RevisionList, SyncPlan
from dashwright.common.stores import resources, revisions

#: Limit on the commits that an error message lists.
_MAX_LISTED_COMMITS: Final = 10


def routes(jobs: Jobs, database: Database, repository_client: RepositoryClient) -> list[Route]:
    """Return the routes."""

    async def rollback(call: Call) -> Response:
        namespace, name = call.parameters["namespace"], call.parameters["name"]
        rollback_options = await _rollback_options(call)
        ref = _target_commit(await stored_revisions(namespace, name), rollback_options.ref)
        spec = JobSpec(action=Action.SYNC, repository=name, sync=SyncJobOptions(ref=ref))
        is_dry_run = options.is_dry_run(call)
        (job,) = await jobs.submit(call.actor, call.identity, namespace, [spec], dry_run=is_dry_run)
        return await plan_response(call, repository_client, ref) if is_dry_run else Response(202, job.encode())

    async def list_revisions(call: Call) -> Response:
        synced_revisions = await stored_revisions(call.parameters["namespace"], call.parameters["name"])
        items = [_revision_view(revision) for revision in synced_revisions]
        return json_response(RevisionList(kind="RevisionList", api_version=REPOSITORY.api_version(), items=items))

    async def stored_revisions(namespace: str, name: str) -> Sequence[revisions.StoredRevision]:
        """Return the synced commits of a repository, the newest first. Raises BadRequest for a local directory."""
        async with database.connection() as connection:
            repository = await resources.get(connection, REPOSITORY, namespace, name)
            if RepositorySpec.model_validate_json(repository.spec).type is RepositoryType.LOCAL:
                raise BadRequest("this repository does not support rollback: a local directory keeps no commits")
            return await revisions.list_all(connection, repository.uid)

    return [
        Route(
            "POST",
            f"{REPOSITORY_PATH}/rollback",
            rollback,
            Permission("repositories:write"),
            _ROLLBACK_OPERATION,
            audit=event_of(JOB, "create"),
        ),
        Route("GET", f"{REPOSITORY_PATH}/revisions", list_revisions, Permission("repositories:read"), _REVISIONS_OPERATION),
    ]


_ROLLBACK_OPERATION: Final = Operation(
    "rollBackRepository",
    "restore an earlier commit and hold the repository there",
    JOB.group,
    Content(RollbackOptions, is_optional=True),
    {200: SyncPlan, 202: descriptions.object_model(JOB)},
    query={"dryRun": "All: return the plan of the sync and do nothing"},
    parameters=descriptions.parameter_types(descriptions.DRY_RUN_PARAMETER),
    errors=(404, 409, 422, 424),
)
_REVISIONS_OPERATION: Final = Operation(
    "listRepositoryRevisions", "the synced commits", REPOSITORY.group, responses={200: RevisionList}, errors=(404,)
)


async def _rollback_options(call: Call) -> RollbackOptions:
    """Return the options in the body, or the defaults. Raises Invalid for unknown members."""
    if not (await call.body()).strip():
        return RollbackOptions()
    rollback_options = await call.model(RollbackOptions)
    # If a misspelt ``ref`` were ignored, the repository would be rolled back to another commit than the requested one.
    if causes := unknown_fields.causes(unknown_fields.find_in_value(RollbackOptions, await call.json(), "")):
        raise Invalid(sentence(causes), causes=causes)
    return rollback_options


def _target_commit(synced_revisions: Sequence[revisions.StoredRevision], ref: str | None) -> str:
    """Return the commit to restore: ``ref``, or by default the commit that was synced before the current one.

    Raises Invalid if no earlier commit was synced, or if ``ref`` is not in ``synced_revisions``.
    """
    if ref is None:
        previous = revisions.previous(synced_revisions)
        if previous is None:
            raise _invalid_ref("Not found: no earlier commit was synced")
        return previous.ref
    if not any(revision.ref == ref for revision in synced_revisions):
        commits = ", ".join(revision.ref for revision in synced_revisions[:_MAX_LISTED_COMMITS])
        raise _invalid_ref(f"Not found: {ref[:80]!r} was not synced, or is no longer in history; synced commits: {commits or 'none'}")
    return ref


def _invalid_ref(message: str) -> Invalid:
    return Invalid(f"ref: {message}", causes=[Cause("ref", "FieldValueNotFound", message)])


def _revision_view(revision: revisions.StoredRevision) -> Revision:
    return Revision(
        ref=revision.ref,
        synced=round(revision.at.timestamp() * 1000),
        job=str(revision.job) if revision.job else None,
        # None leaves out a member that is false.
        current=revision.current or None,
        withdrawn=revision.withdrawn or None,
    )
