"""Webhooks that the jobs worker maintains at a git host with real git, and whose deliveries start syncs and reviews."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.contract.api.conftest import Api
from tests.contract.api.repositories import REPOSITORIES
from tests.servers import git_host
from tests.servers.git import WorkTree
from tests.servers.git_host import GitHost
from tests.servers.ssh import make_key

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.identity import Role
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load
from dashwright.jobs_worker.main import JobsWorker

DASHBOARD = '{"title": "Load", "schemaVersion": 39, "panels": []}'
TOKEN = "token-of-the-host"


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[GitHost]:
    """Start a git host without repositories."""
    root = tmp_path / "host"
    root.mkdir()
    async with git_host.serving(root, token=TOKEN) as serving:
        yield serving


@pytest.fixture
def work_tree(host: GitHost) -> WorkTree:
    """Create the repository ``team/boards`` with one dashboard on the host, and return its work tree."""
    work_tree = host.create_repository("team/boards")
    work_tree.commit({"load.json": DASHBOARD})
    return work_tree


@pytest.fixture
async def worker(api: Api, database: Database, broker: MemoryBroker, tmp_path: Path) -> AsyncIterator[JobsWorker]:
    """Start a jobs worker with the gateway's address, which checks webhooks only when a test requests it."""
    public = str(api.address).rstrip("/")
    settings = load(
        data_dir=tmp_path / "data", secret_key="of tests only", allowed_hosts="127.0.0.0/8", scheduling=False, public_url=public
    )
    settings.data_dir.mkdir()
    worker = JobsWorker(settings, database, broker, Clock())
    await worker.start()
    yield worker
    await worker.stop()


def repository(**block: Any) -> dict[str, Any]:
    """Return the repository ``boards`` with these settings of its git host."""
    spec = {"title": "Boards", "type": "githost", "workflows": [], "sync": {"enabled": True, "target": "folder"}}
    return {"metadata": {"name": "boards"}, "spec": {**spec, "githost": {"branch": "main", **block}}}


async def create_repository(api: Api, host: GitHost) -> None:
    """Create the repository ``boards``, whose files are in ``team/boards`` on the host."""
    status, body = await api("POST", REPOSITORIES, repository(url=host.url("team/boards"), token=TOKEN))
    assert status == 201, body


async def webhook_status(api: Api) -> dict[str, Any]:
    """Return the status of the webhook of the repository."""
    _, body = await api("GET", f"{REPOSITORIES}/boards")
    return dict(body["status"]["webhook"])


async def change_repository(api: Api, **block: Any) -> None:
    """Change settings of the repository's git host."""
    _, body = await api("GET", f"{REPOSITORIES}/boards")
    body["spec"]["githost"] |= block
    status, response = await api("PUT", f"{REPOSITORIES}/boards", body)
    assert status == 200, response


async def make_hooks_due(api: Api) -> None:
    """Make every webhook due for its next check."""
    await api.sql("update repository_hook set due = now()")
    await api.sql("update hook_to_remove set due = now()")


async def list_jobs(api: Api, action: str) -> list[dict[str, Any]]:
    """Return the jobs of the repository ``boards`` with an action."""
    _, body = await api("GET", f"{REPOSITORIES}/boards/jobs")
    return [job for job in body["items"] if job["spec"]["action"] == action]


async def wait_for_job(api: Api, action: str) -> dict[str, Any]:
    """Return the job of an action once it has ended."""
    notified = asyncio.Event()
    async with asyncio.timeout(30), api.database.listen("change", lambda _: notified.set(), notified.set):
        while True:
            jobs = await list_jobs(api, action)
            if jobs and jobs[0]["status"]["state"] in ("success", "error"):
                return jobs[0]
            await notified.wait()
            notified.clear()


async def fail(_: web.Request) -> web.Response:
    """Respond to a request as a failing API."""
    return web.Response(status=500)


async def test_a_push_delivery_starts_a_sync(api: Api, worker: JobsWorker, host: GitHost, work_tree: WorkTree) -> None:
    """A webhook is created with a secret and confirmed by a ping, and a push is synced."""
    await create_repository(api, host)
    await worker.hooks.refresh()
    await host.wait_for_hooks()
    (hook_id,) = host.repositories["team/boards"].hooks
    status = await webhook_status(api)
    assert (status["id"], status["subscribedEvents"]) == (hook_id, ["pull_request", "push"])
    assert status["url"].endswith("/repositories/boards/webhook")
    assert host.repositories["team/boards"].hooks[hook_id]["config"]["secret"] not in str(status)
    work_tree.commit({"more.json": DASHBOARD.replace("Load", "More")})
    host.call_push_hooks("team/boards")
    await host.wait_for_hooks()
    assert [(delivery.event, delivery.status) for delivery in host.deliveries] == [("ping", 200), ("push", 202)]
    job = await wait_for_job(api, "sync")
    assert job["status"]["state"] == "success", job
    _, dashboards = await api("GET", "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards")
    assert {dashboard["spec"]["title"] for dashboard in dashboards["items"]} == {"Load", "More"}


async def test_a_pull_request_delivery_starts_a_review(api: Api, worker: JobsWorker, host: GitHost, work_tree: WorkTree) -> None:
    """The delivery for an opened pull request starts a job with its number, URL, branch and commit."""
    await create_repository(api, host)
    await worker.hooks.refresh()
    commit = work_tree.commit({"load.json": DASHBOARD.replace("Load", "Other")}, branch="change")
    host.call_push_hooks("team/boards")
    number = host.open_pull("team/boards", "change")
    await host.wait_for_hooks()
    assert host.deliveries[-1].status == 202
    options = (await list_jobs(api, "pr"))[0]["spec"]["pr"]
    assert options == {"ref": "change", "hash": commit, "pr": number, "url": f"{host.origin}/team/boards/pull/{number}"}


async def test_a_correct_hook_is_checked_every_hour(api: Api, worker: JobsWorker, host: GitHost, work_tree: WorkTree) -> None:
    """A correct webhook is read once an hour, and immediately after a change of the spec."""
    await create_repository(api, host)
    await worker.hooks.refresh()
    before, call_count = await webhook_status(api), len(host.calls)
    await worker.hooks.refresh()
    assert len(host.calls) == call_count
    await change_repository(api, generateDashboardPreviews=True)
    await worker.hooks.refresh()
    assert host.calls[call_count:] == ["GET /repos/team/boards/hooks"]
    assert await webhook_status(api) == before


@pytest.mark.parametrize("change", ["deleted", "inactive", "other address", "fewer events"])
async def test_a_changed_hook_is_repaired(api: Api, worker: JobsWorker, host: GitHost, work_tree: WorkTree, change: str) -> None:
    """A deleted or changed webhook is repaired with a new secret, because the old one may be known."""
    await create_repository(api, host)
    await worker.hooks.refresh()
    hooks = host.repositories["team/boards"].hooks
    (hook,) = hooks.values()
    before = (await webhook_status(api))["encryptedSecret"]
    match change:
        case "deleted":
            hooks.clear()
        case "inactive":
            hook["active"] = False
        case "other address":
            hook["config"] |= {"url": "https://elsewhere.example.org"}
        case "fewer events":
            hook["events"] = ["push"]
    await make_hooks_due(api)
    await worker.hooks.refresh()
    ((hook_id, repaired),) = hooks.items()
    assert (repaired["active"], sorted(repaired["events"])) == (True, ["pull_request", "push"])
    status = await webhook_status(api)
    assert (repaired["config"]["url"], hook_id) == (status["url"], status["id"])
    assert status["encryptedSecret"] != before
    work_tree.commit({"more.json": DASHBOARD})
    host.call_push_hooks("team/boards")
    await host.wait_for_hooks()
    assert host.deliveries[-1].status == 202


async def test_a_hook_is_deleted_with_its_repository(api: Api, worker: JobsWorker, host: GitHost, work_tree: WorkTree) -> None:
    """Deleting a repository does not wait for its host: the webhook is deleted later, with retries."""
    await create_repository(api, host)
    await worker.hooks.refresh()

    host.api_fault = fail
    assert (await api("DELETE", f"{REPOSITORIES}/boards"))[0] == 200
    await worker.hooks.remove()
    hooks = host.repositories["team/boards"].hooks
    assert len(hooks) == 1
    host.api_fault = None
    await make_hooks_due(api)
    await worker.hooks.remove()
    assert hooks == {}
    assert await api.sql("select count(*) from hook_to_remove") == 0


async def test_a_hook_is_kept_without_its_finalizer(api: Api, worker: JobsWorker, host: GitHost, work_tree: WorkTree) -> None:
    """If the finalizer ``cleanup``, which deletes webhooks, was removed from a repository, deleting the repository keeps its webhook."""
    await create_repository(api, host)
    await worker.hooks.refresh()
    _, body = await api("GET", f"{REPOSITORIES}/boards")
    body["metadata"]["finalizers"] = ["remove-orphan-resources"]
    assert (await api("PUT", f"{REPOSITORIES}/boards", body))[0] == 200
    assert (await api("DELETE", f"{REPOSITORIES}/boards"))[0] == 200
    await worker.hooks.remove()
    assert len(host.repositories["team/boards"].hooks) == 1


async def test_deleting_a_hook_is_retried_for_a_day(api: Api, worker: JobsWorker, host: GitHost, work_tree: WorkTree) -> None:
    """The deletion of a webhook at a failing host is retried for one day only."""
    await create_repository(api, host)
    await worker.hooks.refresh()
    assert (await api("DELETE", f"{REPOSITORIES}/boards"))[0] == 200
    # As if the first attempt had been more than a day ago.
    await api.sql("update hook_to_remove set since = since - interval '25 hours'")

    host.api_fault = fail
    await worker.hooks.remove()
    assert await api.sql("select count(*) from hook_to_remove") == 0


async def test_a_moved_repository_moves_its_hook(api: Api, worker: JobsWorker, host: GitHost, work_tree: WorkTree) -> None:
    """After a change of the URL the webhook is at the new repository only."""
    host.create_repository("team/others").commit({"load.json": DASHBOARD})
    await create_repository(api, host)
    await worker.hooks.refresh()
    await change_repository(api, url=host.url("team/others"))
    await worker.hooks.refresh()
    await worker.hooks.remove()
    assert host.repositories["team/boards"].hooks == {}
    assert list(host.repositories["team/others"].hooks) == [(await webhook_status(api))["id"]]


@pytest.mark.parametrize(
    ("status", "headers", "may_lack_right"),
    [(403, {}, True), (404, {}, True), (429, {"Retry-After": "60"}, False), (500, {}, False)],
)
async def test_a_rejected_hook_is_retried_later(
    api: Api, worker: JobsWorker, host: GitHost, work_tree: WorkTree, status: int, headers: dict[str, str], may_lack_right: bool
) -> None:
    """If a host rejects a webhook, the webhook's status has the reason until a later retry succeeds.

    For 403 and 404 the status advises to check the token's right to webhooks.
    """
    await create_repository(api, host)

    async def refuse(_: web.Request) -> web.Response:
        """Respond with the status and the headers of the case."""
        return web.json_response({"message": "no"}, status=status, headers=headers)

    host.api_fault = refuse
    await worker.hooks.refresh()
    call_count = len(host.calls)
    await worker.hooks.refresh()
    assert len(host.calls) == call_count
    hook_status = await webhook_status(api)
    assert "id" not in hook_status
    reason, advice = hook_status["message"]
    assert reason.startswith("the webhook could not be created at the git host: ")
    if may_lack_right:
        assert "right to webhooks" in advice
    else:
        assert "right to webhooks" not in advice
    host.api_fault = None
    await make_hooks_due(api)
    # Without its recorded rate limit, the host may be called again.
    await api.sql("delete from git_host_share")
    await worker.hooks.refresh()
    hook_status = await webhook_status(api)
    assert "id" in hook_status
    assert "message" not in hook_status


async def test_a_failed_check_of_a_hook_is_reported(api: Api, worker: JobsWorker, host: GitHost, work_tree: WorkTree) -> None:
    """A failed check adds a message to the webhook's last known status until a check succeeds."""
    await create_repository(api, host)
    await worker.hooks.refresh()
    before = await webhook_status(api)

    host.api_fault = fail
    await make_hooks_due(api)
    await worker.hooks.refresh()
    status = await webhook_status(api)
    assert "retried automatically" in status.pop("message")[1]
    assert status == before
    host.api_fault = None
    await make_hooks_due(api)
    await worker.hooks.refresh()
    assert await webhook_status(api) == before


async def test_local_repositories_have_no_hooks(api: Api, worker: JobsWorker, tmp_path: Path) -> None:
    """Local repositories have no webhook and are not checked again until they change."""
    (tmp_path / "folder").mkdir()
    spec = {"title": "F", "type": "local", "workflows": [], "local": {"path": str(tmp_path / "folder")}}
    spec |= {"sync": {"enabled": True, "target": "folder"}}
    assert (await api("POST", REPOSITORIES, {"metadata": {"name": "boards"}, "spec": spec}))[0] == 201
    await worker.hooks.refresh()
    assert await webhook_status(api) == {}
    assert await api.sql("select due = 'infinity' from repository_hook")


async def test_a_hook_of_another_repository_is_not_changed(api: Api, worker: JobsWorker, host: GitHost, work_tree: WorkTree) -> None:
    """After a move, a webhook of the new repository that has the old webhook's id is not changed."""
    host.create_repository("team/others").commit({"load.json": DASHBOARD})
    await create_repository(api, host)
    await worker.hooks.refresh()
    (number,) = host.repositories["team/boards"].hooks
    foreign_hook = {"name": "web", "active": True, "events": ["push"], "config": {"url": "https://others.example.org"}}
    host.repositories["team/others"].hooks[number] = dict(foreign_hook)
    await change_repository(api, url=host.url("team/others"))
    await worker.hooks.refresh()
    assert host.repositories["team/others"].hooks[number] == foreign_hook
    # The worker has created a second webhook.
    assert len(host.repositories["team/others"].hooks) == 2


async def test_concurrent_workers_create_one_hook(api: Api, worker: JobsWorker, host: GitHost, work_tree: WorkTree) -> None:
    """Among several workers only the one that claimed a repository creates its webhook."""
    await create_repository(api, host)
    await asyncio.gather(*(worker.hooks.refresh() for _ in range(4)))
    assert len(host.repositories["team/boards"].hooks) == 1


async def test_a_hook_of_a_concurrently_deleted_repository_is_deleted(
    api: Api, worker: JobsWorker, host: GitHost, work_tree: WorkTree
) -> None:
    """If a repository is deleted while its webhook is created, the worker deletes the webhook, of which the deletion could not know."""
    await create_repository(api, host)

    async def delete_first(request: web.Request) -> None:
        """Delete the repository before the host creates its webhook."""
        if request.method == "POST":
            assert (await api("DELETE", f"{REPOSITORIES}/boards"))[0] == 200

    host.api_fault = delete_first
    await worker.hooks.refresh()
    assert host.calls[-1].startswith("DELETE ")
    assert host.repositories["team/boards"].hooks == {}


async def test_hooks_are_deleted_with_their_organization(api: Api, worker: JobsWorker, host: GitHost, work_tree: WorkTree) -> None:
    """Deleting an organization deletes the webhooks of its repositories."""
    org_id = await api.organization("Team")
    second_admin = await api.person("boss", Role.ADMIN, org_id=org_id)
    repositories = REPOSITORIES.replace("/default/", f"/org-{org_id}/")
    body = repository(url=host.url("team/boards"), token=TOKEN)
    assert (await api("POST", repositories, body, auth=second_admin))[0] == 201
    await worker.hooks.refresh()
    assert len(host.repositories["team/boards"].hooks) == 1
    assert (await api("DELETE", f"/api/orgs/{org_id}"))[0] == 200
    await worker.hooks.remove()
    assert host.repositories["team/boards"].hooks == {}


async def test_repositories_over_ssh_have_no_hooks(
    api: Api, worker: JobsWorker, host: GitHost, work_tree: WorkTree, tmp_path: Path
) -> None:
    """If the URL of a repository becomes an SSH address, which has no API, the webhook is deleted, and its status is empty."""
    await create_repository(api, host)
    await worker.hooks.refresh()
    assert len(host.repositories["team/boards"].hooks) == 1
    make_key(tmp_path / "key")
    body = repository(url="git@git.example:team/boards") | {"secure": {"sshKey": {"create": (tmp_path / "key").read_text()}}}
    status, response = await api("PUT", f"{REPOSITORIES}/boards", body)
    assert status == 200, response
    await worker.hooks.refresh()
    assert await webhook_status(api) == {}
    await worker.hooks.remove()
    assert host.repositories["team/boards"].hooks == {}
    assert await api.sql("select due = 'infinity' from repository_hook")
