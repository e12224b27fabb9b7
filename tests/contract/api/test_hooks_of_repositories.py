"""Git hosts are asked to call, and what they deliver is stored: over real HTTP between us and a host whose git is real."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.contract.api.conftest import Api, StartApi
from tests.contract.api.repositories import REPOSITORIES
from tests.servers import git_host
from tests.servers.git import Work
from tests.servers.git_host import GitHost

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
    root = tmp_path / "host"
    root.mkdir()
    async with git_host.serving(root, token=TOKEN) as serving:
        yield serving


@pytest.fixture
def work(host: GitHost) -> Work:
    work = host.make("team/boards")
    work.commit({"load.json": DASHBOARD})
    return work


@pytest.fixture
async def api(start_api: StartApi) -> Api:
    return await start_api()


@pytest.fixture
async def worker(api: Api, database: Database, broker: MemoryBroker, tmp_path: Path) -> AsyncIterator[JobsWorker]:
    """One that plans nothing: a test asks for a round. It is told where the gateway is."""
    public = str(api.address).rstrip("/")
    settings = load(
        data_dir=tmp_path / "data", secret_key="of tests only", allowed_hosts="127.0.0.0/8", scheduling=False, public_url=public
    )
    settings.data_dir.mkdir()
    worker = JobsWorker(settings, database, broker, Clock())
    await worker.start()
    yield worker
    await worker.stop()


async def made(api: Api, host: GitHost, **block: Any) -> None:
    spec = {"title": "Boards", "type": "githost", "workflows": [], "sync": {"enabled": True, "target": "folder"}}
    spec |= {"githost": {"url": host.url("team/boards"), "branch": "main", "token": TOKEN, **block}}
    status, found = await api("POST", REPOSITORIES, {"metadata": {"name": "boards"}, "spec": spec})
    assert status == 201, found


async def webhook(api: Api) -> dict[str, Any]:
    _, found = await api("GET", f"{REPOSITORIES}/boards")
    return dict(found["status"]["webhook"])


async def changed(api: Api, **block: Any) -> None:
    _, found = await api("GET", f"{REPOSITORIES}/boards")
    found["spec"]["githost"] |= block
    status, answer = await api("PUT", f"{REPOSITORIES}/boards", found)
    assert status == 200, answer


async def due(api: Api) -> None:
    """As if the time had come to look at everything again."""
    await api.sql("update repository_hook set due = now()")
    await api.sql("update hook_to_remove set due = now()")


async def jobs(api: Api, action: str) -> list[dict[str, Any]]:
    _, listed = await api("GET", f"{REPOSITORIES}/boards/jobs")
    return [job for job in listed["items"] if job["spec"]["action"] == action]


async def until_ended(api: Api, action: str) -> dict[str, Any]:
    """The job of an action, once it has ended."""
    heard = asyncio.Event()
    async with asyncio.timeout(30), api.database.listen("change", lambda _: heard.set(), heard.set):
        while True:
            found = await jobs(api, action)
            if found and found[0]["status"]["state"] in ("success", "error"):
                return found[0]
            await heard.wait()
            heard.clear()


async def test_a_push_is_stored_because_the_host_called(api: Api, worker: JobsWorker, host: GitHost, work: Work) -> None:
    """The hook is made with a secret that only both know, its ping is believed, and what is pushed is synced."""
    await made(api, host)
    await worker.hooks.refresh()
    await host.wait_for_hooks()
    (number,) = host.repositories["team/boards"].hooks
    told = await webhook(api)
    assert (told["id"], told["subscribedEvents"]) == (number, ["pull_request", "push"])
    assert told["url"].endswith("/repositories/boards/webhook")
    assert host.repositories["team/boards"].hooks[number]["config"]["secret"] not in str(told)
    work.commit({"more.json": DASHBOARD.replace("Load", "More")})
    host.call_push_hooks("team/boards")
    await host.wait_for_hooks()
    assert [(delivery.event, delivery.status) for delivery in host.deliveries] == [("ping", 200), ("push", 202)]
    job = await until_ended(api, "sync")
    assert job["status"]["state"] == "success", job
    _, boards = await api("GET", "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards")
    assert {board["spec"]["title"] for board in boards["items"]} == {"Load", "More"}


async def test_a_pull_request_asks_for_a_job_of_its_number(api: Api, worker: JobsWorker, host: GitHost, work: Work) -> None:
    """Opened, and again with each push to its branch; not when it is closed."""
    await made(api, host)
    await worker.hooks.refresh()
    head = work.commit({"load.json": DASHBOARD.replace("Load", "Other")}, branch="change")
    host.call_push_hooks("team/boards")
    number = host.open_pull("team/boards", "change")
    await host.wait_for_hooks()
    assert host.deliveries[-1].status == 202
    wanted = (await jobs(api, "pr"))[0]["spec"]["pr"]
    assert wanted == {"ref": "change", "hash": head, "pr": number, "url": f"{host.origin}/team/boards/pull/{number}"}


async def test_a_hook_that_is_as_it_should_be_is_left_alone(api: Api, worker: JobsWorker, host: GitHost, work: Work) -> None:
    """One question an hour, and none where nothing is due; a change of the spec is looked at at once."""
    await made(api, host)
    await worker.hooks.refresh()
    before, calls = await webhook(api), len(host.calls)
    await worker.hooks.refresh()
    assert len(host.calls) == calls
    await changed(api, generateDashboardPreviews=True)
    await worker.hooks.refresh()
    assert host.calls[calls:] == ["GET /repos/team/boards/hooks"]
    assert await webhook(api) == before


@pytest.mark.parametrize("harm", ["removed", "silenced", "moved", "less"])
async def test_what_was_done_to_a_hook_is_mended(api: Api, worker: JobsWorker, host: GitHost, work: Work, harm: str) -> None:
    """With another secret, since nobody knows who has the old one."""
    await made(api, host)
    await worker.hooks.refresh()
    kept = host.repositories["team/boards"].hooks
    (hook,) = kept.values()
    before = (await webhook(api))["encryptedSecret"]
    match harm:
        case "removed":
            kept.clear()
        case "silenced":
            hook["active"] = False
        case "moved":
            hook["config"] |= {"url": "https://elsewhere.example.org"}
        case "less":
            hook["events"] = ["push"]
    await due(api)
    await worker.hooks.refresh()
    ((number, mended),) = kept.items()
    assert (mended["active"], sorted(mended["events"])) == (True, ["pull_request", "push"])
    told = await webhook(api)
    assert (mended["config"]["url"], number) == (told["url"], told["id"])
    assert told["encryptedSecret"] != before
    work.commit({"more.json": DASHBOARD})
    host.call_push_hooks("team/boards")
    await host.wait_for_hooks()
    assert host.deliveries[-1].status == 202


async def test_a_hook_goes_with_its_repository(api: Api, worker: JobsWorker, host: GitHost, work: Work) -> None:
    """The delete waits for nobody: the host is told later, and told again where it fails."""
    await made(api, host)
    await worker.hooks.refresh()

    async def fail(_: web.Request) -> web.Response:
        return web.Response(status=500)

    host.api_fault = fail
    assert (await api("DELETE", f"{REPOSITORIES}/boards"))[0] == 200
    await worker.hooks.remove()
    kept = host.repositories["team/boards"].hooks
    assert len(kept) == 1
    host.api_fault = None
    await due(api)
    await worker.hooks.remove()
    assert kept == {}
    assert await api.sql("select count(*) from hook_to_remove") == 0


async def test_a_hook_stays_where_the_finalizer_says_nothing_of_it(api: Api, worker: JobsWorker, host: GitHost, work: Work) -> None:
    await made(api, host)
    await worker.hooks.refresh()
    _, found = await api("GET", f"{REPOSITORIES}/boards")
    found["metadata"]["finalizers"] = ["remove-orphan-resources"]
    assert (await api("PUT", f"{REPOSITORIES}/boards", found))[0] == 200
    assert (await api("DELETE", f"{REPOSITORIES}/boards"))[0] == 200
    await worker.hooks.remove()
    assert len(host.repositories["team/boards"].hooks) == 1


async def test_a_removal_is_given_up_after_a_day(api: Api, worker: JobsWorker, host: GitHost, work: Work) -> None:
    """A host that went away for good keeps nobody busy."""
    await made(api, host)
    await worker.hooks.refresh()
    assert (await api("DELETE", f"{REPOSITORIES}/boards"))[0] == 200
    await api.sql("update hook_to_remove set since = since - interval '25 hours'")

    async def fail(_: web.Request) -> web.Response:
        return web.Response(status=500)

    host.api_fault = fail
    await worker.hooks.remove()
    assert await api.sql("select count(*) from hook_to_remove") == 0


async def test_a_repository_that_moves_takes_its_hook_along(api: Api, worker: JobsWorker, host: GitHost, work: Work) -> None:
    """The old place does not call any more."""
    host.make("team/others").commit({"load.json": DASHBOARD})
    await made(api, host)
    await worker.hooks.refresh()
    await changed(api, url=host.url("team/others"))
    await worker.hooks.refresh()
    await worker.hooks.remove()
    assert host.repositories["team/boards"].hooks == {}
    assert list(host.repositories["team/others"].hooks) == [(await webhook(api))["id"]]


@pytest.mark.parametrize(("status", "headers"), [(403, {}), (404, {}), (429, {"Retry-After": "60"}), (500, {})])
async def test_a_host_that_refuses_is_asked_again_later_and_harms_nothing(
    api: Api, worker: JobsWorker, host: GitHost, work: Work, status: int, headers: dict[str, str]
) -> None:
    """The repository stays healthy, the next round asks nothing; its status says why and what to do; later it works."""
    await made(api, host)

    async def refuse(_: web.Request) -> web.Response:
        return web.json_response({"message": "no"}, status=status, headers=headers)

    host.api_fault = refuse
    await worker.hooks.refresh()
    calls = len(host.calls)
    await worker.hooks.refresh()
    assert len(host.calls) == calls
    told = await webhook(api)
    assert "id" not in told
    why, advice = told["message"]
    assert why.startswith("the webhook could not be created at the git host: ")
    assert ("right to webhooks" in advice) == (status in (403, 404))
    host.api_fault = None
    await due(api)
    await api.sql("delete from git_host_share")
    await worker.hooks.refresh()
    told = await webhook(api)
    assert "id" in told
    assert "message" not in told


async def test_a_hook_that_could_not_be_looked_at_is_told_until_it_can(api: Api, worker: JobsWorker, host: GitHost, work: Work) -> None:
    """What was found before stays beside it."""
    await made(api, host)
    await worker.hooks.refresh()
    before = await webhook(api)

    async def fail(_: web.Request) -> web.Response:
        return web.Response(status=500)

    host.api_fault = fail
    await due(api)
    await worker.hooks.refresh()
    told = await webhook(api)
    assert "retried automatically" in told.pop("message")[1]
    assert told == before
    host.api_fault = None
    await due(api)
    await worker.hooks.refresh()
    assert await webhook(api) == before


async def test_folders_have_no_hooks(api: Api, worker: JobsWorker, tmp_path: Path) -> None:
    """And are not looked at again until they change."""
    (tmp_path / "folder").mkdir()
    spec = {"title": "F", "type": "local", "workflows": [], "local": {"path": str(tmp_path / "folder")}}
    spec |= {"sync": {"enabled": True, "target": "folder"}}
    assert (await api("POST", REPOSITORIES, {"metadata": {"name": "boards"}, "spec": spec}))[0] == 201
    await worker.hooks.refresh()
    assert await webhook(api) == {}
    assert await api.sql("select due = 'infinity' from repository_hook")


async def test_a_hook_of_somebody_else_is_not_taken_for_ours(api: Api, worker: JobsWorker, host: GitHost, work: Work) -> None:
    """Numbers mean something in one repository only: what has ours where the repository lies now stays as it is."""
    host.make("team/others").commit({"load.json": DASHBOARD})
    await made(api, host)
    await worker.hooks.refresh()
    (number,) = host.repositories["team/boards"].hooks
    others = {"name": "web", "active": True, "events": ["push"], "config": {"url": "https://others.example.org"}}
    host.repositories["team/others"].hooks[number] = dict(others)
    await changed(api, url=host.url("team/others"))
    await worker.hooks.refresh()
    assert host.repositories["team/others"].hooks[number] == others
    assert len(host.repositories["team/others"].hooks) == 2


async def test_workers_together_make_one_hook(api: Api, worker: JobsWorker, host: GitHost, work: Work) -> None:
    """Who claimed a repository looks at it, nobody else."""
    await made(api, host)
    await asyncio.gather(*(worker.hooks.refresh() for _ in range(4)))
    assert len(host.repositories["team/boards"].hooks) == 1


async def test_a_hook_made_for_a_repository_that_was_deleted_meanwhile_is_removed(
    api: Api, worker: JobsWorker, host: GitHost, work: Work
) -> None:
    """The delete knew nothing of it."""
    await made(api, host)

    async def delete_first(request: web.Request) -> None:
        if request.method == "POST":
            assert (await api("DELETE", f"{REPOSITORIES}/boards"))[0] == 200

    host.api_fault = delete_first
    await worker.hooks.refresh()
    assert host.calls[-1].startswith("DELETE ")
    assert host.repositories["team/boards"].hooks == {}


async def test_hooks_go_with_their_organization(api: Api, worker: JobsWorker, host: GitHost, work: Work) -> None:
    number = await api.organization("Team")
    boss = await api.person("boss", Role.ADMIN, org_id=number)
    repositories = REPOSITORIES.replace("/default/", f"/org-{number}/")
    spec = {"title": "Boards", "type": "githost", "workflows": [], "sync": {"enabled": True, "target": "folder"}}
    spec |= {"githost": {"url": host.url("team/boards"), "branch": "main", "token": TOKEN}}
    assert (await api("POST", repositories, {"metadata": {"name": "boards"}, "spec": spec}, auth=boss))[0] == 201
    await worker.hooks.refresh()
    assert len(host.repositories["team/boards"].hooks) == 1
    assert (await api("DELETE", f"/api/orgs/{number}"))[0] == 200
    await worker.hooks.remove()
    assert host.repositories["team/boards"].hooks == {}
