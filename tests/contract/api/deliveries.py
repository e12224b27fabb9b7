"""A repository whose host has a webhook, and the host's deliveries."""

import base64
import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final

from tests.contract.api.conftest import Api
from tests.contract.api.repositories import REPOSITORIES
from tests.servers.git_host import signature

from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.repository import webhook_secret_owner
from dashwright.common.models.provisioning import HealthStatus, RepositoryStatus, WebhookStatus
from dashwright.common.secrets import SecretCipher
from dashwright.common.stores import resources

#: The secret by which the host signs its deliveries.
SECRET: Final = "the secret of the hook"
#: The payload of a push to the branch ``main``, with a made-up commit id.
PUSH: Final = {"ref": "refs/heads/main", "after": "ab" * 20, "repository": {"full_name": "team/boards", "default_branch": "main"}}


async def create_hooked_repository(
    api: Api, name: str = "boards", full_name: str = "team/boards", *, branch: str = "main", healthy: bool = True, has_secret: bool = True
) -> None:
    """Create a repository on a git host with the given health, and with a webhook and its secret if ``has_secret``."""
    spec = {"title": "Boards", "type": "githost", "workflows": [], "sync": {"enabled": True, "target": "folder"}}
    spec |= {"githost": {"url": f"https://git.example.org/{full_name}", "branch": branch}}
    status, body = await api("POST", REPOSITORIES, {"metadata": {"name": name}, "spec": spec})
    assert status == 201, body
    sealed_secret = SecretCipher.from_keys("of tests only").encrypt(SECRET, webhook_secret_owner("default", name))

    def change(status: RepositoryStatus, _: resources.StoredObject) -> None:
        """Set the health, and the webhook with its secret."""
        status.health = HealthStatus(healthy=healthy, checked=1, message=None if healthy else ["branch not found"])
        if has_secret:
            status.webhook = WebhookStatus(id=1, encrypted_secret=base64.b64encode(sealed_secret).decode())

    async with api.database.transaction() as connection:
        await resources.update_status(connection, REPOSITORY, "default", name, RepositoryStatus, change)


async def deliver(
    api: Api,
    payload: Any = PUSH,
    *,
    name: str = "boards",
    event: str = "push",
    delivery_id: str = "d-1",
    secret: str = SECRET,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, Any]:
    """Send a delivery as a host does, without credentials. A payload of bytes is sent unchanged."""
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    sent_headers = {"Content-Type": "application/json", "X-GitHub-Event": event, "X-GitHub-Delivery": delivery_id}
    sent_headers |= {"X-Hub-Signature-256": signature(secret, body), **(headers or {})}
    async with api.session.post(f"{REPOSITORIES}/{name}/webhook", data=BytesIO(body), headers=sent_headers) as response:
        return response.status, await response.json()


async def jobs(api: Api) -> list[dict[str, Any]]:
    """Return the specs of all jobs of the repository ``boards``."""
    _, body = await api("GET", f"{REPOSITORIES}/boards/jobs")
    return [job["spec"] for job in body["items"]]
