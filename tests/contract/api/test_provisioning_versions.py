"""Repositories and jobs in every version of their API. The responses of two versions differ only in the version that they name."""

import json
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.deliveries import PUSH, SECRET, create_hooked_repository
from tests.contract.api.repositories import FakeJobsWorker, make_local_repository
from tests.contract.api.watching import watching
from tests.servers.git_host import signature
from tests.signer import SIGNER

from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import RpcServer

OTHER_VERSIONS: Final = ("v1", "v1beta1")
TEAM: Final = "repositories/team"
#: Sync options of repositories that are not synced automatically.
SYNC_OPTIONS: Final = {"enabled": False, "target": "folder", "intervalSeconds": 0}
#: Spec of a sync job.
SYNC: Final = {"action": "sync", "repository": "team", "sync": {}}
#: Paths that can be read. ``job`` and ``uid`` are replaced by those of a job of the repository ``team``.
READABLE_PATHS: Final = (
    "repositories",
    "repositories/team",
    "repositories/team/status",
    "repositories/team/resources",
    "repositories/team/files",
    "repositories/team/files/a.json",
    "repositories/team/jobs",
    "repositories/team/jobs/{uid}",
    "repositories/boards/revisions",
    "jobs",
    "jobs/{job}",
    "jobs/{job}/status",
    "settings",
    "stats",
)
#: Paths that cannot be read, because a local repository has neither branches nor commits.
REFUSED_PATHS: Final = (f"{TEAM}/refs", f"{TEAM}/history", f"{TEAM}/history/a.json", f"{TEAM}/render/nothing")


def address(version: str, path: str) -> str:
    """Return a path of the namespace in a version of the group."""
    return f"/apis/{REPOSITORY.api_version(version)}/namespaces/default/{path}"


def in_version(response: Any, version: str) -> Any:
    """Return a response of ``v0alpha1`` converted to a version. Field owners keep the version of their write."""
    converted = dict(response)
    if converted.get("apiVersion") == REPOSITORY.api_version():
        converted["apiVersion"] = REPOSITORY.api_version(version)
    if "items" in converted:
        converted["items"] = [in_version(item, version) for item in converted["items"]]
    return converted


@pytest.fixture
async def gateway(api: Api, broker: MemoryBroker) -> AsyncIterator[Api]:
    """Yield a gateway with a local repository, a repository with a webhook, and a worker that responds for files."""
    await make_local_repository(api, "team", api.data / "team", "write")
    await create_hooked_repository(api)
    server = RpcServer(broker, broker.topology.repositories, FakeJobsWorker().respond, SIGNER, prefetch=1)
    await server.start()
    yield api
    await server.stop(drain=0)


async def test_reads_differ_only_in_their_version(gateway: Api) -> None:
    """Each path below the group has the same response in all versions, except for the version that the response names."""
    status, job = await gateway("POST", address("v0alpha1", f"{TEAM}/sync"))
    assert status == 202, job
    for template in (*READABLE_PATHS, *REFUSED_PATHS):
        path = template.format(job=job["metadata"]["name"], uid=job["metadata"]["uid"])
        status, expected = await gateway("GET", address("v0alpha1", path))
        if template in READABLE_PATHS:
            assert expected["apiVersion"] == REPOSITORY.api_version(), path
        else:
            assert expected["kind"] == "Status", path
        for version in OTHER_VERSIONS:
            response = await gateway("GET", address(version, path))
            assert response == (status, in_version(expected, version)), (version, path)


@pytest.mark.parametrize("version", OTHER_VERSIONS)
async def test_writes_name_the_version_of_their_path(gateway: Api, version: str) -> None:
    """Created, submitted and changed objects have the version of their path, and so have the findings of a test."""
    api_version = REPOSITORY.api_version(version)
    spec = {"title": "Other", "workflows": [], "type": "local", "local": {"path": str(gateway.data / "other")}, "sync": SYNC_OPTIONS}
    repository = {"apiVersion": api_version, "kind": "Repository", "metadata": {"name": "other"}, "spec": spec}
    job = {"apiVersion": api_version, "kind": "Job", "spec": SYNC}
    payload = json.dumps(PUSH).encode()
    signed = {"X-GitHub-Event": "push", "X-GitHub-Delivery": "d-1", "X-Hub-Signature-256": signature(SECRET, payload)}
    calls: tuple[tuple[int, str, str, Any, dict[str, Any]], ...] = (
        (201, "POST", "repositories", repository, {}),
        (200, "PUT", "repositories/other", repository, {}),
        (202, "POST", "jobs", job, {}),
        (202, "POST", f"{TEAM}/jobs", job, {}),
        (202, "POST", f"{TEAM}/jobs", [SYNC, SYNC], {}),
        (202, "POST", f"{TEAM}/sync", {}, {}),
        (422, "POST", f"{TEAM}/test", {**repository, "metadata": {"name": "team"}, "spec": {**spec, "local": {}}}, {}),
        (200, "PUT", f"{TEAM}/files/a.json", {"title": "A"}, {}),
        (202, "POST", "repositories/boards/webhook", PUSH, {"auth": None, "headers": signed}),
    )
    for expected_status, method, path, body, options in calls:
        status, response = await gateway(method, address(version, path), body, **options)
        assert (status, response["apiVersion"]) == (expected_status, api_version), (path, response)
        assert all(item["apiVersion"] == api_version for item in response.get("items", ()))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("repositories", {"kind": "Repository", "metadata": {"name": "r"}, "spec": {}}),
        (f"{TEAM}/test", {"kind": "Repository", "metadata": {"name": "team"}, "spec": {}}),
        ("jobs", {"kind": "Job", "spec": SYNC}),
        (f"{TEAM}/jobs", {"kind": "Job", "spec": SYNC}),
    ],
)
async def test_a_body_of_another_version_is_refused(gateway: Api, path: str, body: dict[str, Any]) -> None:
    """A body whose ``apiVersion`` is not the version of the path is 400."""
    status, response = await gateway("POST", address("v1", path), {"apiVersion": REPOSITORY.api_version("v1beta1"), **body})
    assert (status, response["reason"]) == (400, "BadRequest")
    assert REPOSITORY.api_version("v1") in response["message"]


@pytest.mark.parametrize("version", OTHER_VERSIONS)
async def test_watches_name_the_version_of_their_path(gateway: Api, version: str) -> None:
    """Stored objects and later changes of repositories and jobs are sent in the version of the watch."""
    async with watching(gateway, address(version, "repositories")) as repositories, watching(gateway, address(version, "jobs")) as jobs:
        events = [await repositories.event() for _ in ("boards", "team")]
        assert (await gateway("POST", address("v0alpha1", f"{TEAM}/sync")))[0] == 202
        assert (await gateway("DELETE", address("v0alpha1", "repositories/boards")))[0] == 200
        events += [await jobs.event(), await repositories.event()]
    assert {event["object"]["apiVersion"] for event in events} == {REPOSITORY.api_version(version)}
