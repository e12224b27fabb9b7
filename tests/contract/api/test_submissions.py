"""Submissions of jobs and evaluations. Their labels and annotations are stored, and unknown fields are reported."""

from typing import Any, Final

import pytest
from tests.contract.api import repositories
from tests.contract.api.conftest import ADMIN, Api

JOBS: Final = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/jobs"
EVALUATIONS: Final = "/apis/expressions.dashwright.io/v0alpha1/namespaces/default/evaluations"
PANEL: Final = {"type": "timeseries", "targets": [{"refId": "A", "type": "math", "expression": "1"}]}
#: A job with two unknown fields.
JOB: Final = {"spec": {"action": "sync", "repository": "team", "sync": {"foo": 1}, "zzz": 1}}
TEAM: Final = f"{repositories.REPOSITORIES}/team"


@pytest.fixture
async def gateway(api: Api, unvalidated_panels: None) -> Api:
    """Return a gateway with one local repository and without a worker."""
    await repositories.make_local_repository(api, "team", api.data / "team", "write")
    return api


with_unknown_fields = pytest.mark.parametrize(
    ("path", "body", "fields"),
    [
        (JOBS, JOB, ["spec.sync.foo", "spec.zzz"]),
        (EVALUATIONS, {"spec": {"panel": PANEL, "querys": []}, "metadata": {"finalizers": ["f"]}}, ["metadata.finalizers", "spec.querys"]),
    ],
    ids=["jobs", "evaluations"],
)


@with_unknown_fields
@pytest.mark.parametrize("query", ["", "?fieldValidation=Warn"])
async def test_unknown_fields_are_omitted_with_a_warning(gateway: Api, path: str, body: Any, fields: list[str], query: str) -> None:
    """Unknown fields are omitted, by default and with ``Warn`` with one warning each."""
    async with gateway.session.post(f"{path}{query}", json=body, headers={"Authorization": ADMIN}) as response:
        assert response.status == 202
        assert "zzz" not in (await response.json())["spec"]
        assert response.headers["Warning"] == ", ".join(f'299 - "unknown field \\"{field}\\""' for field in fields)


@with_unknown_fields
async def test_unknown_fields_can_be_ignored(gateway: Api, path: str, body: Any, fields: list[str]) -> None:
    """With ``Ignore``, unknown fields are omitted without a warning."""
    async with gateway.session.post(f"{path}?fieldValidation=Ignore", json=body, headers={"Authorization": ADMIN}) as response:
        assert response.status == 202
        assert "zzz" not in (await response.json())["spec"]
        assert "Warning" not in response.headers


@with_unknown_fields
async def test_strict_validation_refuses_unknown_fields(gateway: Api, path: str, body: Any, fields: list[str]) -> None:
    """With ``Strict``, unknown fields are refused with their names, and nothing is submitted."""
    message = "strict decoding error: " + ", ".join(f'unknown field "{field}"' for field in fields)
    assert await gateway.message("POST", f"{path}?fieldValidation=Strict", body) == (400, message)
    assert await gateway.sql("select count(*) from job") == 0


@pytest.mark.parametrize(
    ("endpoint", "body", "field", "advice"),
    [
        ("sync", {"incrementel": True}, "spec.sync.incrementel", 'did you mean "incremental"?'),
        ("export", {"brunch": "b"}, "spec.export.brunch", 'did you mean "branch"?'),
        ("jobs", {"action": "sync", "sync": {}, "actoin": "sync"}, "spec.actoin", 'did you mean "action"?'),
        ("jobs", [{"action": "sync", "sync": {"ink": 1}}], "[0].sync.ink", "leave it out; known: incremental, ref"),
        ("rollback", {"reff": "4f2c"}, "reff", 'did you mean "ref"?'),
    ],
)
async def test_unknown_fields_below_a_repository_are_refused(gateway: Api, endpoint: str, body: Any, field: str, advice: str) -> None:
    """A submission below a repository with an unknown field is refused. The message suggests a similar field or names all known fields."""
    status, error = await gateway("POST", f"{TEAM}/{endpoint}", body)
    assert (status, error["reason"]) == (422, "Invalid")
    (cause,) = error["details"]["causes"]
    assert cause["field"] == field
    assert advice in cause["message"]
    assert await gateway.sql("select count(*) from job") == 0


@pytest.mark.parametrize(
    ("path", "spec", "collection", "repository_label"),
    [
        (JOBS, {"action": "sync", "repository": "team", "sync": {}}, JOBS, "team"),
        (f"{TEAM}/jobs", {"sync": {}}, JOBS, "team"),
        (EVALUATIONS, {"panel": PANEL}, EVALUATIONS, "other"),
    ],
    ids=["jobs", "jobs of a repository", "evaluations"],
)
async def test_submitted_metadata_is_stored(gateway: Api, path: str, spec: Any, collection: str, repository_label: str) -> None:
    """Labels, annotations and a name from generateName are stored. The label ``repository`` of a job is that of its repository."""
    labels = {"ci": "42", "repository": "other"}
    body = {"metadata": {"generateName": "nightly-", "labels": labels, "annotations": {"why": "because"}}, "spec": spec}
    status, created = await gateway("POST", path, body)
    assert status == 202, created
    metadata = created["metadata"]
    assert metadata["name"].startswith("nightly-")
    assert len(metadata["name"].removeprefix("nightly-")) == 8
    assert (metadata["labels"]["ci"], metadata["annotations"]) == ("42", {"why": "because"})
    assert metadata["labels"]["repository"] == repository_label
    listed = (await gateway("GET", f"{collection}?labelSelector=ci=42"))[1]["items"]
    assert [item["metadata"] for item in listed] == [metadata]


async def test_a_shared_job_has_the_labels_of_both_submitters(gateway: Api) -> None:
    """A pending job that two clients request has the labels and annotations of both. A label of both has the value of the first client."""
    spec = {"action": "sync", "repository": "team", "sync": {}}
    await gateway("POST", JOBS, {"metadata": {"labels": {"ci": "1", "a": "x"}}, "spec": spec})
    _, second = await gateway("POST", JOBS, {"metadata": {"labels": {"ci": "2", "b": "y"}, "annotations": {"why": "too"}}, "spec": spec})
    assert await gateway.sql("select count(*) from job") == 1
    labels = {key: text for key, text in second["metadata"]["labels"].items() if key in ("a", "b", "ci")}
    assert (labels, second["metadata"]["annotations"]) == ({"a": "x", "b": "y", "ci": "1"}, {"why": "too"})
    assert (await gateway("GET", f"{JOBS}/{second['metadata']['name']}"))[1]["metadata"]["labels"] == second["metadata"]["labels"]


async def test_a_job_may_be_yaml(gateway: Api) -> None:
    """A job may be YAML like every object; a body of any other media type is 415."""
    text = "spec: {action: sync, repository: team, sync: {}}"
    for media_type, expected in (("application/yaml", 202), ("text/csv", 415)):
        headers = {"Content-Type": media_type, "Authorization": ADMIN}
        async with gateway.session.post(JOBS, data=text, headers=headers) as response:
            assert response.status == expected


async def test_a_local_repository_rejects_pull_request_jobs(gateway: Api) -> None:
    """A pull request job of a local repository is rejected when it is submitted, not when it runs."""
    status, error = await gateway("POST", f"{TEAM}/jobs", {"action": "pr", "pr": {"pr": 1}})
    (cause,) = error["details"]["causes"]
    assert (status, cause["field"]) == (422, "spec.action")
    assert "no pull requests" in cause["message"]
