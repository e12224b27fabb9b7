"""Dry runs. They have the checks and the response of the same request without ``dryRun``, and store nothing."""

from typing import Any

import pytest
from tests.contract.api import repositories
from tests.contract.api.conftest import Api, StartApi
from tests.contract.api.test_resource_writes import DASHBOARDS, FOLDERS, REPOSITORIES, count_rows, create_object, dashboard

DRY_RUN = "dryRun=All"
PROVISIONING = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default"
EVALUATIONS = "/apis/expressions.dashwright.io/v0alpha1/namespaces/default/evaluations"
EVALUATION = {"panel": {"type": "timeseries", "targets": [{"refId": "A", "type": "math", "expression": "1"}]}}


async def test_a_dry_run_of_a_create_returns_the_object(api: Api) -> None:
    """The dry run of a create returns the object with all fields that the store sets, except for a version."""
    before = await count_rows(api)
    status, response = await api("POST", f"{DASHBOARDS}?{DRY_RUN}", dashboard())
    assert status == 201
    assert response["spec"] == {"title": "T"}
    assert response["metadata"]["uid"]
    assert response["metadata"]["creationTimestamp"]
    assert "resourceVersion" not in response["metadata"]
    assert await count_rows(api) == before
    assert (await api("GET", f"{DASHBOARDS}/d"))[0] == 404


async def test_a_dry_run_of_an_update_returns_the_result(api: Api) -> None:
    """The dry run of an update returns the object with the next generation and the stored version."""
    first = await create_object(api, dashboard())
    before = await count_rows(api)
    status, response = await api("PUT", f"{DASHBOARDS}/d?{DRY_RUN}", dashboard(title="U"))
    assert (status, response["spec"], response["metadata"]["generation"]) == (200, {"title": "U"}, 2)
    assert response["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert await count_rows(api) == before
    assert (await api("GET", f"{DASHBOARDS}/d"))[1] == first


@pytest.mark.parametrize("body", [None, {"dryRun": ["All"]}], ids=["in the query", "in the body"])
async def test_a_dry_run_of_a_delete_deletes_nothing(api: Api, body: Any) -> None:
    """A dry run that is requested in the query or in the body deletes nothing."""
    await create_object(api, dashboard())
    before = await count_rows(api)
    query = f"?{DRY_RUN}" if body is None else ""
    status, response = await api("DELETE", f"{DASHBOARDS}/d{query}", body)
    assert (status, response["status"]) == (200, "Success")
    assert await count_rows(api) == before
    assert await api.sql("select count(*) from trash") == 0
    assert (await api("GET", f"{DASHBOARDS}/d"))[0] == 200


async def test_invalid_dry_runs_are_rejected(start_api: StartApi) -> None:
    """A dry run checks folder, name, version, title and quota as the real request does."""
    api = await start_api(quota_defaults="org_dashboard=1")
    await create_object(api, dashboard())
    requests = [
        ("POST", DASHBOARDS, dashboard("e", annotations={"grafana.app/folder": "unknown"}), 404),
        ("POST", DASHBOARDS, dashboard(), 409),
        ("POST", DASHBOARDS, dashboard("e", title=""), 400),
        ("POST", DASHBOARDS, dashboard("e"), 403),
        ("PUT", f"{DASHBOARDS}/d", dashboard(resourceVersion="1"), 409),
        ("PUT", f"{DASHBOARDS}/unknown", dashboard("unknown"), 404),
        ("DELETE", f"{DASHBOARDS}/unknown", None, 404),
    ]
    for method, path, body, expected in requests:
        status, response = await api(method, f"{path}?{DRY_RUN}", body)
        assert status == expected, response


async def test_a_dry_run_of_a_delete_keeps_the_content(api: Api) -> None:
    """A dry run of a delete of a repository or folder changes nothing in the database."""
    sync = {"enabled": True, "target": "folder"}
    spec = {"title": "R", "workflows": [], "type": "local", "local": {"path": str(api.data)}, "sync": sync}
    await create_object(api, {"metadata": {"name": "r"}, "spec": spec}, REPOSITORIES)
    await create_object(api, dashboard("f"), FOLDERS)
    before = await count_rows(api)
    for path in (f"{REPOSITORIES}/r", f"{FOLDERS}/f"):
        assert (await api("DELETE", f"{path}?{DRY_RUN}"))[0] == 200
    assert await count_rows(api) == before


async def test_a_dry_run_of_an_evaluation_changes_no_job(api: Api, unvalidated_panels: None) -> None:
    """The dry run of a submission stores no job, and the dry run of a delete does not cancel a pending job."""
    before = await count_rows(api)
    body = {"metadata": {"name": "e"}, "spec": EVALUATION}
    status, response = await api("POST", f"{EVALUATIONS}?{DRY_RUN}", body)
    assert (status, response["metadata"]["name"]) == (202, "e")
    assert await api.sql("select count(*) from job") == 0
    assert await count_rows(api) == before
    assert (await api("POST", EVALUATIONS, body))[0] == 202
    before = await count_rows(api)
    assert (await api("DELETE", f"{EVALUATIONS}/e?{DRY_RUN}"))[0] == 200
    assert await count_rows(api) == before
    assert await api.sql("select state from job") == "pending"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("jobs", {"spec": {"action": "export", "repository": "team", "export": {}}}),
        ("repositories/team/export", {}),
        ("repositories/team/jobs", [{"action": "export", "export": {}}]),
    ],
    ids=["a Job", "options", "a list"],
)
async def test_a_dry_run_of_a_job_returns_the_job(api: Api, path: str, body: Any) -> None:
    """The dry run of a job returns the pending Job with a name of its own."""
    await create_team_repository(api, enabled=True)
    status, response = await api("POST", f"{PROVISIONING}/{path}?{DRY_RUN}", body)
    job = response["items"][0] if response["kind"] == "JobList" else response
    assert (status, job["kind"], job["status"]["state"]) == (202, "Job", "pending")
    assert job["metadata"]["name"].startswith("team-export-")
    assert await api.sql("select count(*) from job") == 0


@pytest.mark.parametrize("path", ["jobs", "repositories/team/jobs"])
async def test_a_dry_run_of_a_sync_job_needs_syncs_to_be_enabled(api: Api, path: str) -> None:
    """While syncs are disabled, a sync job and its dry run are rejected."""
    await create_team_repository(api, enabled=False)
    body = {"spec": {"action": "sync", "repository": "team", "sync": {}}}
    for query in ("", f"?{DRY_RUN}"):
        status, error = await api("POST", f"{PROVISIONING}/{path}{query}", body)
        assert status == 422
        assert "sync is not enabled" in error["message"]


async def create_team_repository(api: Api, *, enabled: bool) -> None:
    """Create the local repository ``team``, whose syncs may be disabled."""
    await repositories.make_local_repository(api, "team", api.data, "write", enabled=enabled)


@pytest.mark.parametrize("value", ["all", "None", "true", "All&dryRun=some"])
async def test_only_all_is_a_dry_run(api: Api, value: str) -> None:
    """An unknown value of ``dryRun`` is refused, and nothing is written."""
    await create_object(api, dashboard())
    before = await count_rows(api)
    for method, path, body in (
        ("POST", DASHBOARDS, dashboard("e")),
        ("PUT", f"{DASHBOARDS}/d", dashboard(title="U")),
        ("DELETE", f"{DASHBOARDS}/d", None),
        ("POST", EVALUATIONS, {"spec": EVALUATION}),
    ):
        status, response = await api(method, f"{path}?dryRun={value}", body)
        assert (status, response["reason"]) == (400, "BadRequest")
    assert (await api("DELETE", f"{DASHBOARDS}/d", {"dryRun": ["some"]}))[0] == 400
    assert await count_rows(api) == before
