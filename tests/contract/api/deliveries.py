"""A repository whose host was asked to call, and what the host delivers then."""

import base64
import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final

from tests.contract.api.conftest import Api
from tests.contract.api.repositories import REPOSITORIES
from tests.servers.git_host import signature

from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.repository import hook_place
from dashwright.common.models.provisioning import HealthStatus, RepositoryStatus, WebhookStatus
from dashwright.common.secrets import SecretBox
from dashwright.common.stores import resources, statuses

SECRET: Final = "the secret of the hook"
PUSH: Final = {"ref": "refs/heads/main", "after": "ab" * 20, "repository": {"full_name": "team/boards", "default_branch": "main"}}


async def hooked(
    api: Api, name: str = "boards", full_name: str = "team/boards", *, branch: str = "main", healthy: bool = True, sealed: bool = True
) -> None:
    """The repository was looked at, and its host asked to call if ``sealed``."""
    spec = {"title": "Boards", "type": "githost", "workflows": [], "sync": {"enabled": True, "target": "folder"}}
    spec |= {"githost": {"url": f"https://git.example.org/{full_name}", "branch": branch}}
    status, found = await api("POST", REPOSITORIES, {"metadata": {"name": name}, "spec": spec})
    assert status == 201, found
    sealing = SecretBox.of("of tests only").seal(SECRET, hook_place("default", name))

    def change(status: RepositoryStatus, _: resources.StoredObject) -> None:
        status.health = HealthStatus(healthy=healthy, checked=1, message=None if healthy else ["branch not found"])
        if sealed:
            status.webhook = WebhookStatus(id=1, encrypted_secret=base64.b64encode(sealing).decode())

    async with api.database.transaction() as connection:
        await statuses.change(connection, REPOSITORY, "default", name, RepositoryStatus, change)


async def deliver(
    api: Api,
    payload: Any = PUSH,
    *,
    name: str = "boards",
    event: str = "push",
    number: str = "d-1",
    secret: str = SECRET,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, Any]:
    """As a host does, without credentials; a payload of bytes is sent as it is."""
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    sent = {"Content-Type": "application/json", "X-GitHub-Event": event, "X-GitHub-Delivery": number}
    sent |= {"X-Hub-Signature-256": signature(secret, body), **(headers or {})}
    async with api.session.post(f"{REPOSITORIES}/{name}/webhook", data=BytesIO(body), headers=sent) as answer:
        return answer.status, await answer.json()


async def jobs(api: Api) -> list[dict[str, Any]]:
    """The specs of all jobs of ``boards``."""
    _, listed = await api("GET", f"{REPOSITORIES}/boards/jobs")
    return [job["spec"] for job in listed["items"]]
