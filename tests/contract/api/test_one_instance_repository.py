"""At most one repository of an organization has the target ``instance``, even for concurrent requests to several gateways."""

import asyncio
from typing import Any

import pytest
from tests.contract.api.conftest import Api, StartApi

REPOSITORIES = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
MESSAGE = "Another repository is already targeting root"


@pytest.fixture
async def gateways(start_api: StartApi) -> tuple[Api, Api]:
    """Start two gateways on one database."""
    return await start_api(), await start_api()


def repository(name: str, target: str) -> dict[str, Any]:
    """Return a local repository with a target."""
    sync = {"enabled": True, "target": target}
    return {"metadata": {"name": name}, "spec": {"title": name, "workflows": [], "type": "local", "local": {"path": name}, "sync": sync}}


async def instance_repositories(api: Api) -> list[str]:
    """Return the names of the repositories with the target ``instance``."""
    _, body = await api("GET", REPOSITORIES)
    return [item["metadata"]["name"] for item in body["items"] if item["spec"]["sync"]["target"] == "instance"]


def check_refusals(responses: list[tuple[int, Any]]) -> None:
    """Check that at least one response is a refusal, and that each refusal names the reason and the field."""
    refusals = [body for status, body in responses if status == 422]
    assert refusals
    for body in refusals:
        assert MESSAGE in body["message"]
        assert body["details"]["causes"][0]["field"] == "spec.sync.target"


async def test_one_of_many_concurrent_creates_succeeds(gateways: tuple[Api, Api]) -> None:
    """Exactly one of many concurrent creates succeeds. Dry runs store nothing, and one after the creates is refused, too."""
    dry_runs = [gateway("POST", f"{REPOSITORIES}?dryRun=All", repository("dry", "instance")) for gateway in gateways]
    assert [status for status, _ in await asyncio.gather(*dry_runs)] == [201, 201]
    assert await instance_repositories(gateways[0]) == []
    creates = [gateways[index % 2]("POST", REPOSITORIES, repository(f"r{index}", "instance")) for index in range(8)]
    dry_run = gateways[1]("POST", f"{REPOSITORIES}?dryRun=All", repository("dry", "instance"))
    *responses, dry_run_response = await asyncio.gather(*creates, dry_run)
    assert [status for status, _ in responses].count(201) == 1
    check_refusals([*responses, dry_run_response])
    assert len(await instance_repositories(gateways[1])) == 1
    status, body = await gateways[0]("POST", f"{REPOSITORIES}?dryRun=All", repository("dry", "instance"))
    assert status == 422
    assert MESSAGE in body["message"]


async def test_one_of_many_concurrent_updates_succeeds(gateways: tuple[Api, Api]) -> None:
    """Exactly one of many concurrent updates and patches succeeds. After its repository is deleted, another can have the target."""
    names = [f"r{index}" for index in range(6)]
    for name in names:
        assert (await gateways[0]("POST", REPOSITORIES, repository(name, "folder")))[0] == 201
    patch, headers = {"spec": {"sync": {"target": "instance"}}}, {"Content-Type": "application/merge-patch+json"}
    dry_runs = [gateways[0]("PATCH", f"{REPOSITORIES}/{name}?dryRun=All", patch, headers=headers) for name in names[:2]]
    assert [status for status, _ in await asyncio.gather(*dry_runs)] == [200, 200]
    updates = [gateways[0]("PATCH", f"{REPOSITORIES}/{name}", patch, headers=headers) for name in names[:3]]
    updates += [gateways[1]("PUT", f"{REPOSITORIES}/{name}", repository(name, "instance")) for name in names[3:]]
    responses = await asyncio.gather(*updates)
    assert sorted(status for status, _ in responses) == [200, 422, 422, 422, 422, 422]
    check_refusals(responses)
    (name,) = await instance_repositories(gateways[1])
    assert (await gateways[1]("PUT", f"{REPOSITORIES}/{name}", repository(name, "instance")))[0] == 200
    assert (await gateways[0]("DELETE", f"{REPOSITORIES}/{name}"))[0] == 200
    assert (await gateways[1]("POST", REPOSITORIES, repository("next", "instance")))[0] == 201
