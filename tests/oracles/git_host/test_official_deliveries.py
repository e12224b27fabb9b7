"""Example deliveries of webhooks, collected by the vendor of the git host: each is understood and leads to the job of its event."""

from typing import Any

import orjson
import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.deliveries import create_hooked_repository, deliver
from tests.servers.npm import packaged_file

from dashwright.api.repositories.domain.deliveries import decide
from dashwright.common.git_hosts.github import GITHUB
from dashwright.common.models.provisioning import GitHostRepositoryConfig, RepositorySpec, RepositoryType, SyncOptions, SyncTarget

pytestmark = pytest.mark.oracles

_INTEGRITY = "sha512-De6U3XB6O3DtCa7bKgCMzTHdeopqqZ6SNivMYJnK65ierKL1AnNIA0tkRYCRS7lwGT792d+Ps1WbfHlso6MynQ=="


@pytest.fixture(scope="module")
def deliveries() -> dict[str, list[Any]]:
    """Return the deliveries by event."""
    collected = orjson.loads(packaged_file("@octokit/webhooks-examples", "7.6.1", _INTEGRITY, "api.github.com/index.json"))
    return {event["name"]: event["examples"] for event in collected}


def _decision(event: str, payload: Any) -> tuple[int, str | None]:
    """Return the status code, and the action of the job or None, for a delivery to a repository that follows the default branch."""
    full_name = payload.get("repository", {}).get("full_name", "missing/missing")
    githost = GitHostRepositoryConfig(url=f"https://git.example.org/{full_name}")
    sync = SyncOptions(enabled=True, target=SyncTarget.FOLDER)
    spec = RepositorySpec(title="Boards", workflows=[], sync=sync, type=RepositoryType.GITHOST, githost=githost)
    decision = decide(GITHUB.deliveries, event, payload, "boards", spec)
    return decision.code, decision.job.action.value if decision.job is not None else None


def test_every_delivery_is_understood(deliveries: dict[str, list[Any]]) -> None:
    """Pings are accepted, pushes to the branch synced, and pull requests checked if their commits changed."""
    # The package has four pings, and all of its repositories have the default branch master.
    assert [_decision("ping", payload) for payload in deliveries["ping"]] == [(200, None)] * 4
    for payload in deliveries["push"]:
        expected = (202, "sync") if payload["ref"] == "refs/heads/master" else (200, None)
        assert _decision("push", payload) == expected, payload["ref"]
    for payload in deliveries["pull_request"]:
        # Only these actions change the commits of an open pull request.
        has_new_commits = payload["action"] in ("opened", "reopened", "synchronize")
        expected = (202, "pr") if has_new_commits else (200, None)
        assert _decision("pull_request", payload) == expected, payload["action"]


def test_other_events_are_not_implemented(deliveries: dict[str, list[Any]]) -> None:
    """Events to which no hook subscribes get 501, with any content."""
    unsubscribed = {event: payloads for event, payloads in deliveries.items() if event not in ("ping", "push", "pull_request")}
    assert unsubscribed
    for event, payloads in unsubscribed.items():
        for payload in payloads:
            assert _decision(event, payload) == (501, None), event


async def test_every_delivery_is_handled_over_http(api: Api, deliveries: dict[str, list[Any]]) -> None:
    """Each signed delivery over HTTP gets the status and the job of ``_decision``."""
    repository_names: dict[str, str] = {}
    for event, payloads in deliveries.items():
        for index, payload in enumerate(payloads):
            full_name = payload.get("repository", {}).get("full_name", "missing/missing")
            if full_name not in repository_names:
                repository_names[full_name] = f"boards-{len(repository_names)}"
                await create_hooked_repository(api, repository_names[full_name], full_name, branch="")
            status, body = await deliver(api, payload, name=repository_names[full_name], event=event, delivery_id=f"{event}-{index}")
            assert (status, body.get("job", {}).get("action")) == _decision(event, payload), (event, index, body)
