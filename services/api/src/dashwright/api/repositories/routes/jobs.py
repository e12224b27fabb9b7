"""Routes of a repository's jobs: submit and read them."""

import uuid
from dataclasses import replace
from typing import Any, Final

from dashwright.api.domain import submissions
from dashwright.api.domain.events import event_of
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Content, Operation, Permission, Route
from dashwright.api.jobs import Jobs
from dashwright.api.repositories.routes.place import ONE
from dashwright.api.resources import descriptions, options
from dashwright.api.resources.jobs import encode, encode_list
from dashwright.api.workers.repository_client import RepositoryClient, deadline_after
from dashwright.common.errors import BadRequest
from dashwright.common.kinds.registry import JOB
from dashwright.common.models.provisioning import Action, ExportJobOptions, JobSpec, SyncJobOptions
from dashwright.common.models.repository_calls import PlanRequest
from dashwright.common.models.repository_views import SyncPlan

_LISTED = 100

#: The time the worker may take to plan a sync, including the fetch.
_PLAN_SECONDS: Final = 60.0


def routes(jobs: Jobs, worker: RepositoryClient) -> list[Route]:
    """Return the routes. Each submission responds with 202, a dry run of ``sync`` with the worker's plan.

    ``sync`` and ``export`` take the options of that action, ``jobs`` a JobSpec or a list of them.
    """

    async def sync(call: Call) -> Response:
        if options.is_dry_run(call):
            return await plan(call)
        return await _submit(jobs, call, await _options_of(call, Action.SYNC))

    async def plan(call: Call) -> Response:
        """Return the plan. Other branches require write access, because the plan reveals their files."""
        if ref := call.query.get("ref", ""):
            call.demand("repositories:write")
        wanted = await _options_of(call, Action.SYNC)
        await jobs.check_plan(call.parameters["namespace"], wanted.specs)
        return await plan_response(call, worker, ref)

    async def export(call: Call) -> Response:
        return await _submit(jobs, call, await _options_of(call, Action.EXPORT))

    async def submit(call: Call) -> Response:
        return await _submit(jobs, call, _jobs_of(call, submissions.parse_json(await call.body())))

    async def recent(call: Call) -> Response:
        found = await jobs.of_repository(call.parameters["namespace"], call.parameters["name"], limit=_LISTED)
        return Response(200, encode_list(found))

    async def one(call: Call) -> Response:
        text = call.parameters["uid"]
        try:
            uid = uuid.UUID(text)
        except ValueError as error:
            raise BadRequest(f"invalid job uid: {text}") from error
        job = await jobs.by_uid(call.parameters["namespace"], call.parameters["name"], uid)
        return Response(200, job.encode())

    create, read, limit = Permission("jobs:create"), Permission("jobs:read"), submissions.LARGEST_BODY
    asked = event_of(JOB, "create")
    job, job_list = descriptions.object_model(JOB), descriptions.list_model(JOB)
    return [
        Route(
            "POST",
            f"{ONE}/sync",
            sync,
            create,
            replace(
                _submit_operation("syncRepository", "submit a sync job, or plan it", Content(SyncJobOptions, optional=True), job),
                responses={200: SyncPlan, 202: job},
                query={
                    "dryRun": "All: return the plan of the sync and do nothing",
                    "ref": "for a dry run: another branch or commit",
                },
            ),
            audit=asked,
        ),
        Route(
            "POST",
            f"{ONE}/export",
            export,
            create,
            _submit_operation("exportRepository", "submit an export job", Content(ExportJobOptions, optional=True), job),
            audit=asked,
        ),
        Route(
            "POST",
            f"{ONE}/jobs",
            submit,
            create,
            _submit_operation("submitJobs", "submit jobs", JobSpec | list[JobSpec], job | job_list),
            body_limit=limit,
            audit=asked,
        ),
        Route("GET", f"{ONE}/jobs", recent, read, _read_operation("listRepositoryJobs", "recent jobs", job_list)),
        Route("GET", f"{ONE}/jobs/{{uid}}", one, read, _read_operation("getRepositoryJob", "one job, even after it has ended", job)),
    ]


async def plan_response(call: Call, worker: RepositoryClient, ref: str) -> Response:
    """Return the plan of a sync, to the commit or branch ``ref`` if given.

    Only callers who may read every file see the affected objects.
    """
    may_see = call.evaluated.may("repositories:write")
    request = PlanRequest(namespace=call.parameters["namespace"], name=call.parameters["name"], ref=ref, with_items=may_see)
    return Response(200, await worker.call(request, deadline=deadline_after(_PLAN_SECONDS)), may_compress=True)


def _submit_operation(identifier: str, summary: str, request: Any, answer: Any) -> Operation:
    return Operation(
        identifier,
        summary,
        JOB.group,
        request,
        {202: answer},
        query=descriptions.DRY_RUN,
        parameters=descriptions.parameter_types(descriptions.DRY_RUN),
        errors=(404, 409, 422, 424),
    )


def _read_operation(identifier: str, summary: str, answer: Any) -> Operation:
    return Operation(identifier, summary, JOB.group, responses={200: answer}, errors=(404,))


async def _options_of(call: Call, action: Action) -> submissions.JobSubmission:
    """Return the job for the options in the body. An empty body means the defaults."""
    body = await call.body()
    value = submissions.parse_json(body) if body.strip() else {}
    return _jobs_of(call, {"action": action.value, action.value: value})


def _jobs_of(call: Call, tree: Any) -> submissions.JobSubmission:
    return submissions.read_jobs(tree, call.parameters["namespace"], repository=call.parameters["name"])


async def _submit(jobs: Jobs, call: Call, wanted: submissions.JobSubmission) -> Response:
    """Submit the jobs, or return them without storing in a dry run."""
    namespace, dry_run = call.parameters["namespace"], options.is_dry_run(call)
    submitted = await jobs.submit(
        call.actor, call.identity, namespace, wanted.specs, metadata=wanted.metadata, is_list=wanted.is_list, dry_run=dry_run
    )
    return Response(202, encode(submitted, is_list=wanted.is_list))
