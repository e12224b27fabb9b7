"""Routes of a repository's jobs: submit and read them."""

import uuid
from dataclasses import replace
from typing import Any, Final

from dashwright.api.domain import submissions
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Content, Operation, Permission, Route
from dashwright.api.jobs import Jobs
from dashwright.api.repositories.routes.repository_path import REPOSITORY_PATH
from dashwright.api.repositories.routes.versions import version_of
from dashwright.api.resources import descriptions, options
from dashwright.api.resources.jobs import encode_job_list, encode_submitted
from dashwright.api.stores.audit import event_of
from dashwright.api.workers.repository_client import RepositoryClient, deadline_after
from dashwright.common.errors import BadRequest
from dashwright.common.kinds.registry import JOB
from dashwright.common.models.job_options import ExportJobOptions, SyncJobOptions
from dashwright.common.models.provisioning import Action, JobSpec
from dashwright.common.models.repository_calls import PlanRequest
from dashwright.common.models.repository_views import SyncPlan

#: Limit on the jobs in the list of recent jobs, which has no pages.
_MAX_LISTED_JOBS = 100

#: Time limit of the plan of a sync, including the fetch from the git host.
_PLAN_TIMEOUT_SECONDS: Final = 60.0


def routes(jobs: Jobs, repository_client: RepositoryClient) -> list[Route]:
    """Return the routes. A submission responds with 202 and the jobs; a dry run of ``sync`` responds with the worker's plan.

    The body of ``sync`` and ``export`` is the options of that action. The body of ``jobs`` is a JobSpec or a list of them.
    """

    async def sync(call: Call) -> Response:
        if options.is_dry_run(call):
            return await plan(call)
        return await _submit(jobs, call, await _read_job_with_options(call, Action.SYNC))

    async def plan(call: Call) -> Response:
        """Return the plan of a sync. A plan of another branch requires write access, because it shows the files of the branch."""
        if ref := call.query.get("ref", ""):
            call.require("repositories:write")
        submission = await _read_job_with_options(call, Action.SYNC)
        await jobs.check_plan(call.parameters["namespace"], submission.specs)
        return await plan_response(call, repository_client, ref)

    async def export(call: Call) -> Response:
        return await _submit(jobs, call, await _read_job_with_options(call, Action.EXPORT))

    async def submit(call: Call) -> Response:
        return await _submit(jobs, call, _read_jobs(call, submissions.parse_json(await call.body())))

    async def list_jobs(call: Call) -> Response:
        recent_jobs = await jobs.list_recent(call.parameters["namespace"], call.parameters["name"], limit=_MAX_LISTED_JOBS)
        return Response(200, encode_job_list(recent_jobs, version_of(call)))

    async def get_job(call: Call) -> Response:
        uid_parameter = call.parameters["uid"]
        try:
            uid = uuid.UUID(uid_parameter)
        except ValueError as error:
            raise BadRequest(f"invalid job uid: {uid_parameter}") from error
        job = await jobs.by_uid(call.parameters["namespace"], call.parameters["name"], uid)
        return Response(200, job.encode())

    create, read = Permission("jobs:create"), Permission("jobs:read")
    audit_event = event_of(JOB, "create")
    job, job_list = descriptions.object_model(JOB), descriptions.list_model(JOB)
    return [
        Route(
            "POST",
            f"{REPOSITORY_PATH}/sync",
            sync,
            create,
            replace(
                _submit_operation("syncRepository", "submit a sync job, or plan it", Content(SyncJobOptions, is_optional=True), job),
                responses={200: SyncPlan, 202: job},
                query={
                    "dryRun": "All: return the plan of the sync and do nothing",
                    "ref": "for a dry run: another branch or commit",
                },
            ),
            audit=audit_event,
        ),
        Route(
            "POST",
            f"{REPOSITORY_PATH}/export",
            export,
            create,
            _submit_operation("exportRepository", "submit an export job", Content(ExportJobOptions, is_optional=True), job),
            audit=audit_event,
        ),
        Route(
            "POST",
            f"{REPOSITORY_PATH}/jobs",
            submit,
            create,
            _submit_operation("submitJobs", "submit jobs", JobSpec | list[JobSpec], job | job_list),
            body_limit=submissions.MAX_BODY_BYTES,
            audit=audit_event,
        ),
        Route("GET", f"{REPOSITORY_PATH}/jobs", list_jobs, read, _read_operation("listRepositoryJobs", "recent jobs", job_list)),
        Route(
            "GET",
            f"{REPOSITORY_PATH}/jobs/{{uid}}",
            get_job,
            read,
            _read_operation("getRepositoryJob", "one job, even after it has ended", job),
        ),
    ]


async def plan_response(call: Call, repository_client: RepositoryClient, ref: str) -> Response:
    """Return the plan of a sync to the commit or branch ``ref``, or to the repository's own branch if ``ref`` is empty.

    Only callers with write access to the repository see the affected objects; other callers see counts.
    """
    includes_items = call.authorized_identity.may("repositories:write")
    request = PlanRequest(namespace=call.parameters["namespace"], name=call.parameters["name"], ref=ref, with_items=includes_items)
    return Response(200, await repository_client.call(request, deadline=deadline_after(_PLAN_TIMEOUT_SECONDS)), may_compress=True)


def _submit_operation(operation_id: str, summary: str, request: Any, response_model: Any) -> Operation:
    return Operation(
        operation_id,
        summary,
        JOB.group,
        request,
        {202: response_model},
        query=descriptions.DRY_RUN_PARAMETER,
        parameters=descriptions.parameter_types(descriptions.DRY_RUN_PARAMETER),
        errors=(404, 409, 422, 424),
    )


def _read_operation(operation_id: str, summary: str, response_model: Any) -> Operation:
    return Operation(operation_id, summary, JOB.group, responses={200: response_model}, errors=(404,))


async def _read_job_with_options(call: Call, action: Action) -> submissions.JobSubmission:
    """Return a job with the options in the body, or with default options for an empty body."""
    body = await call.body()
    job_options = submissions.parse_json(body) if body.strip() else {}
    return _read_jobs(call, {"action": action.value, action.value: job_options})


def _read_jobs(call: Call, tree: Any) -> submissions.JobSubmission:
    return submissions.read_jobs(tree, call.parameters["namespace"], call.parameters["name"], version_of(call))


async def _submit(jobs: Jobs, call: Call, submission: submissions.JobSubmission) -> Response:
    """Submit the jobs and respond with them. A dry run stores nothing."""
    namespace, dry_run = call.parameters["namespace"], options.is_dry_run(call)
    submitted_jobs = await jobs.submit(
        call.actor, call.identity, namespace, submission.specs, metadata=submission.metadata, is_list=submission.is_list, dry_run=dry_run
    )
    return Response(202, encode_submitted(submitted_jobs, version_of(call), is_list=submission.is_list))
