"""Deletes of single or selected jobs, which cancel pending and working jobs, and remove ended jobs from the history."""

from typing import Any

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.stored_jobs import insert_job

JOBS = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/jobs"
CANCELLED = ("error", "job was cancelled")


async def states_by_name(api: Api) -> dict[str, tuple[str, str | None]]:
    """Return the states and messages of the jobs, by name."""
    _, body = await api("GET", JOBS)
    return {item["metadata"]["name"]: (item["status"]["state"], item["status"].get("message")) for item in body["items"]}


async def insert_jobs(api: Api) -> None:
    """Insert jobs of two repositories: two that are pending, one that is working, and one that has ended."""
    for name, state, repository in (
        ("a", "pending", "team"),
        ("b", "working", "team"),
        ("c", "success", "team"),
        ("d", "pending", "other"),
    ):
        await insert_job(api, name, f'{{"state": "{state}"}}', repository)


@pytest.mark.parametrize(
    ("query", "remaining"),
    [
        ({"labelSelector": "repository=team"}, {"a": CANCELLED, "b": CANCELLED, "d": ("pending", None)}),
        ({"labelSelector": "repository!=team"}, {"a": ("pending", None), "b": ("working", None), "c": ("success", None), "d": CANCELLED}),
        ({"fieldSelector": "metadata.name=c"}, {"a": ("pending", None), "b": ("working", None), "d": ("pending", None)}),
        ({}, {"a": CANCELLED, "b": CANCELLED, "d": CANCELLED}),
        ({"dryRun": "All"}, {"a": ("pending", None), "b": ("working", None), "c": ("success", None), "d": ("pending", None)}),
    ],
    ids=["label", "other label", "name", "all", "dry run"],
)
async def test_selected_jobs_are_deleted(api: Api, query: dict[str, str], remaining: dict[str, Any]) -> None:
    """A delete of the collection affects the jobs that the selector matches, or all jobs. A dry run changes nothing."""
    await insert_jobs(api)
    status, response = await api("DELETE", JOBS, params=query)
    assert (status, response["status"]) == (200, "Success")
    assert await states_by_name(api) == remaining


@pytest.mark.parametrize("path", [JOBS, f"{JOBS}/a"])
async def test_a_replaced_job_is_not_deleted(api: Api, path: str) -> None:
    """A job whose uid differs from the precondition is kept. A delete of the collection with this precondition keeps all jobs."""
    await insert_jobs(api)
    before = await states_by_name(api)
    status, response = await api("DELETE", path, {"preconditions": {"uid": "0a0a0a0a-0000-4000-8000-000000000000"}})
    assert (status, response["reason"]) == (409, "Conflict")
    assert await states_by_name(api) == before
    _, job = await api("GET", f"{JOBS}/a")
    preconditions = {
        "uid": await api.sql("select uid::text from job where name = 'a'"),
        "resourceVersion": job["metadata"]["resourceVersion"],
    }
    assert (await api("DELETE", f"{JOBS}/a", {"preconditions": preconditions}))[0] == 200
    assert (await states_by_name(api))["a"] == CANCELLED


async def test_the_number_of_deleted_jobs_is_limited(api: Api) -> None:
    """A delete that matches more than 1,000 jobs is refused and deletes no job."""
    await insert_job(api, "a", '{"state": "success"}')
    # 1,000 copies of the first job.
    await api.sql(
        """insert into job (uid, api_group, resource, namespace, name, resource_version, metadata, labels, spec, status, action, state,
               wake_key, submitted_by, repository)
           select gen_random_uuid(), api_group, resource, namespace, name || number, 0, metadata, labels, spec, status, action, state,
               wake_key, submitted_by, repository
           from job, generate_series(1, 1000) number"""
    )
    status, response = await api("DELETE", JOBS)
    assert status == 400
    assert "more than 1000 jobs" in response["message"]
    assert await api.sql("select count(*) from job") == 1001
