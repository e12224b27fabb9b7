"""Metadata of submitted jobs and evaluations: it is stored, or the submitter is warned, on every route."""

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


@pytest.mark.parametrize(
    ("path", "body", "fields"),
    [
        (JOBS, JOB, ["spec.sync.foo", "spec.zzz"]),
        (EVALUATIONS, {"spec": {"panel": PANEL, "querys": []}, "metadata": {"finalizers": ["f"]}}, ["metadata.finalizers", "spec.querys"]),
    ],
    ids=["jobs", "evaluations"],
)
@pytest.mark.parametrize("validation", [None, "Warn", "Ignore", "Strict"])
async def test_unknown_fields_follow_field_validation(
    gateway: Api, path: str, body: Any, fields: list[str], validation: str | None
) -> None:
    """Unknown fields are omitted, with a warning by default and without one for ``Ignore``. ``Strict`` rejects them."""
    query = f"?fieldValidation={validation}" if validation else ""
    async with gateway.session.post(f"{path}{query}", json=body, headers={"Authorization": ADMIN}) as response:
        status, result, warnings = response.status, await response.json(), response.headers.get("Warning", "")
    if validation == "Strict":
        assert (status, result["message"]) == (400, "strict decoding error: " + ", ".join(f'unknown field "{field}"' for field in fields))
        assert await gateway.sql("select count(*) from job") == 0
        return
    assert (status, "zzz" in result["spec"]) == (202, False)
    expected = ", ".join(f'299 - "unknown field \\"{field}\\""' for field in fields)
    assert warnings == ("" if validation == "Ignore" else expected)


@pytest.mark.parametrize(
    ("endpoint", "body", "field", "suggestion"),
    [
        ("sync", {"incrementel": True}, "spec.sync.incrementel", "incremental"),
        ("export", {"brunch": "b"}, "spec.export.brunch", "branch"),
        ("jobs", {"action": "sync", "sync": {}, "actoin": "sync"}, "spec.actoin", "action"),
        ("jobs", [{"action": "sync", "sync": {"ink": 1}}], "[0].sync.ink", ""),
        ("rollback", {"reff": "4f2c"}, "reff", "ref"),
    ],
)
async def test_unknown_fields_below_a_repository_are_refused(gateway: Api, endpoint: str, body: Any, field: str, suggestion: str) -> None:
    """A submission below a repository with an unknown field is refused. The message names the field and the most similar known one."""
    status, error = await gateway("POST", f"{TEAM}/{endpoint}", body)
    assert (status, error["reason"]) == (422, "Invalid")
    (cause,) = error["details"]["causes"]
    assert cause["field"] == field
    assert (f'did you mean "{suggestion}"?' if suggestion else "leave it out; known: incremental, ref") in cause["message"]
    assert await gateway.sql("select count(*) from job") == 0


@pytest.mark.parametrize(
    ("path", "spec"),
    [(JOBS, {"action": "sync", "repository": "team", "sync": {}}), (f"{TEAM}/jobs", {"sync": {}}), (EVALUATIONS, {"panel": PANEL})],
    ids=["jobs", "jobs of a repository", "evaluations"],
)
async def test_submitted_metadata_is_stored(gateway: Api, path: str, spec: Any) -> None:
    """Labels, annotations and a name from generateName are stored; the repository's labels are set by the server."""
    labels = {"ci": "42", "repository": "other"}
    body = {"metadata": {"generateName": "nightly-", "labels": labels, "annotations": {"why": "because"}}, "spec": spec}
    status, created = await gateway("POST", path, body)
    assert status == 202, created
    metadata = created["metadata"]
    assert (metadata["name"][:8], len(metadata["name"])) == ("nightly-", 16)
    assert (metadata["labels"]["ci"], metadata["annotations"]) == ("42", {"why": "because"})
    assert metadata["labels"]["repository"] == ("other" if path == EVALUATIONS else "team")
    listed = (await gateway("GET", f"{path.replace(f'{TEAM}/jobs', JOBS)}?labelSelector=ci=42"))[1]["items"]
    assert [item["metadata"] for item in listed] == [metadata]


async def test_a_shared_job_has_the_labels_of_both_submitters(gateway: Api) -> None:
    """A pending job that two clients request has the labels and annotations of both."""
    spec = {"action": "sync", "repository": "team", "sync": {}}
    await gateway("POST", JOBS, {"metadata": {"labels": {"ci": "1", "a": "x"}}, "spec": spec})
    _, second = await gateway("POST", JOBS, {"metadata": {"labels": {"ci": "2", "b": "y"}, "annotations": {"why": "too"}}, "spec": spec})
    assert await gateway.sql("select count(*) from job") == 1
    labels = {key: text for key, text in second["metadata"]["labels"].items() if key in ("a", "b", "ci")}
    assert (labels, second["metadata"]["annotations"]) == ({"a": "x", "b": "y", "ci": "1"}, {"why": "too"})
    assert (await gateway("GET", f"{JOBS}/{second['metadata']['name']}"))[1]["metadata"]["labels"] == second["metadata"]["labels"]


async def test_a_job_may_be_yaml(gateway: Api) -> None:
    """A job may be YAML like every object; a body of any other media type is 415."""
    text = "spec:\n  action: sync\n  repository: team\n  sync: {}\n"
    for media_type, expected in (("application/yaml", 202), ("text/csv", 415)):
        headers = {"Content-Type": media_type, "Authorization": ADMIN}
        async with gateway.session.post(JOBS, data=text, headers=headers) as response:
            assert response.status == expected


async def test_a_local_repository_rejects_pull_request_jobs(gateway: Api) -> None:
    """A pull request job of a local repository is rejected when it is submitted, not when it runs."""
    status, error = await gateway("POST", f"{TEAM}/jobs", {"action": "pr", "pr": {"pr": 1}})
    (cause,) = error["details"]["causes"]
    assert (status, cause["field"], "no pull requests" in cause["message"]) == (422, "spec.action", True)
