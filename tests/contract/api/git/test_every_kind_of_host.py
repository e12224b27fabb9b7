"""Webhooks and reviews with every kind of git host: a real git server that has the host's API and sends its deliveries."""

import shutil
from collections.abc import AsyncIterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web
from tests.contract.api.conftest import StartApi
from tests.contract.api.git.review_environment import NAME, REPOSITORIES, ReviewEnvironment, dashboard, open_review_environment
from tests.servers.bitbucket_host import BitbucketHost
from tests.servers.bitbucket_server import BitbucketServerHost
from tests.servers.git_host import Delivery, GitHost
from tests.servers.gitea_host import GiteaHost
from tests.servers.gitlab_host import GitLabHost

from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker

#: The fake of each kind of host, by the name of the kind.
KINDS: dict[str, type[GitHost]] = {
    "github": GitHost,
    "gitlab": GitLabHost,
    "gitea": GiteaHost,
    "bitbucket": BitbucketHost,
    "bitbucket-server": BitbucketServerHost,
}
#: The header that names the event of a delivery.
EVENT_HEADERS = {
    "github": "X-GitHub-Event",
    "gitlab": "X-Gitlab-Event",
    "gitea": "X-Gitea-Event",
    "bitbucket": "X-Event-Key",
    "bitbucket-server": "X-Event-Key",
}
#: The header that proves that a delivery is from the host, by a signature or a token.
PROOF_HEADERS = {
    "github": "X-Hub-Signature-256",
    "gitlab": "X-Gitlab-Token",
    "gitea": "X-Gitea-Signature",
    "bitbucket": "X-Hub-Signature",
    "bitbucket-server": "X-Hub-Signature",
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Return each kind of host in turn."""
    return str(request.param)


@pytest.fixture
async def environment(
    start_api: StartApi, database: Database, broker: MemoryBroker, tmp_path: Path, kind: str
) -> AsyncIterator[ReviewEnvironment]:
    """Yield the environment with a webhook at the host. The first deliveries, which only test the webhook, are removed."""
    async with open_review_environment(start_api, database, broker, tmp_path, KINDS[kind]) as environment:
        await environment.worker.hooks.refresh()
        await environment.host.wait_for_hooks()
        environment.host.deliveries.clear()
        yield environment


async def jobs(environment: ReviewEnvironment, action: str) -> list[dict[str, Any]]:
    """Return the jobs of the repository with an action."""
    _, body = await environment.api("GET", f"{REPOSITORIES}/team/jobs")
    return [job for job in body["items"] if job["spec"]["action"] == action]


async def deliver(
    environment: ReviewEnvironment, delivery: Delivery, payload: Any = None, headers: Mapping[str, str | None] | None = None
) -> Any:
    """Send a delivery again, with another payload or other headers, and return the status and the message of the response.

    A header whose value is None is not sent.
    """
    body = orjson.dumps(delivery.payload if payload is None else payload)
    sent_headers = {name: value for name, value in {**delivery.headers, **(headers or {})}.items() if value is not None}
    async with environment.api.session.post(f"{REPOSITORIES}/team/webhook", data=BytesIO(body), headers=sent_headers) as response:
        return response.status, (await response.json())["message"]


async def open_pull_request(environment: ReviewEnvironment) -> tuple[int, Delivery]:
    """Open a pull request, and return its number and the delivery that reports it."""
    environment.push({"a.json": dashboard("a", "Other")}, "change")
    # Deliveries are concurrent: that of the push must not be the last one.
    await environment.host.wait_for_hooks()
    number = environment.host.open_pull(NAME, "change")
    await environment.host.wait_for_hooks()
    return number, environment.host.deliveries[-1]


async def test_a_push_delivery_starts_a_sync(environment: ReviewEnvironment) -> None:
    """A push to the branch of the repository is synced; a push to another branch is ignored."""
    environment.push({"a.json": dashboard("a", "Pushed")}, "main")
    await environment.host.wait_for_hooks()
    (delivery,) = environment.host.deliveries
    assert delivery.status == 202
    assert "push received" in delivery.response
    newest = max(await jobs(environment, "sync"), key=lambda job: str(job["metadata"]["creationTimestamp"]))
    (status,) = await environment.wait_for_jobs(newest["metadata"]["uid"])
    assert status["state"] == "success"
    assert (await environment.titles())["a"] == "Pushed"
    environment.push({"a.json": dashboard("a", "Elsewhere")}, "other")
    await environment.host.wait_for_hooks()
    second_delivery = environment.host.deliveries[-1]
    assert second_delivery.status == 200
    assert "ignoring push" in second_delivery.response


async def test_a_pull_request_is_reviewed_and_reviewed_again(environment: ReviewEnvironment, kind: str) -> None:
    """Each commit of a pull request is reviewed by a job. The second job replaces the comment of the first one.

    Each job writes a pending status, which links to the pull request, and a final status, which links to the comment.
    """
    number, delivery = await open_pull_request(environment)
    assert delivery.status == 202, delivery
    (job,) = await jobs(environment, "pr")
    options = job["spec"]["pr"]
    path = {
        "gitlab": f"{NAME}/-/merge_requests",
        "bitbucket": f"{NAME}/pull-requests",
        "bitbucket-server": "projects/TEAM/repos/boards/pull-requests",
    }.get(kind, f"{NAME}/pull")
    page = f"{environment.host.origin}/{path}/{number}"
    assert options["pr"] == number
    assert options["ref"] == "change"
    # Deliveries of Bitbucket Server do not contain the address of the page.
    assert options.get("url") == (None if kind == "bitbucket-server" else page)
    await environment.wait_for_jobs(job["metadata"]["uid"])
    environment.push({"a.json": dashboard("a", "Third")}, "change", after="change")
    await environment.host.wait_for_hooks()
    (second_job,) = [other for other in await jobs(environment, "pr") if other["metadata"]["uid"] != job["metadata"]["uid"]]
    (status,) = await environment.wait_for_jobs(second_job["metadata"]["uid"])
    assert status["state"] == "success"
    assert status["message"] == "1 updated"
    # The second review has replaced the comment of the first one.
    (text,) = environment.comments(number)
    assert "Third" in text
    assert "Other" not in text
    pending, success = ("INPROGRESS", "SUCCESSFUL") if kind.startswith("bitbucket") else ("pending", "success")
    assert [state for state, _ in environment.statuses()] == [pending, success, pending, success]
    links = [status.get("target_url") or status["url"] for _, status in environment.host.repositories[NAME].statuses]
    _, _, link_of_pending_status, link_of_final_status = links
    assert link_of_pending_status == page
    # The address of the comment begins with that of its page.
    assert link_of_final_status.lower().startswith(page.lower())
    assert len(link_of_final_status) > len(page)


async def test_a_fork_is_reviewed(environment: ReviewEnvironment, kind: str) -> None:
    """A pull request from a fork is reviewed. Only on Bitbucket Cloud does the review need the fork, whose commits it reads."""
    number = environment.propose({"a.json": dashboard("a", "Forked")}, "fork")
    environment.host.move_to_fork(NAME, number, "stranger/boards")
    status = await environment.review(number)
    assert status["state"] == "success"
    assert status["message"] == "1 updated"
    assert len(environment.comments(number)) == 1
    if kind == "bitbucket":
        shutil.rmtree(environment.host.folder("stranger/boards"))
        assert (await environment.review(number))["state"] == "error"


async def test_a_refused_status_is_a_warning(environment: ReviewEnvironment) -> None:
    """A review whose token may not write statuses writes its comment, and ends with a warning."""

    async def refuse(request: web.Request) -> web.Response | None:
        """Refuse requests that set the status of a commit. Their paths contain ``statuses`` or ``builds``, by the kind of host."""
        is_status_request = not {"statuses", "builds"}.isdisjoint(request.path.split("/"))
        return web.json_response({"message": "no"}, status=403) if is_status_request else None

    environment.host.api_fault = refuse
    number = environment.propose({"a.json": dashboard("a", "Other")})
    status = await environment.review(number)
    assert status["state"] == "success"
    assert status["message"] == "1 updated"
    assert len(environment.comments(number)) == 1
    (summary,) = status["summary"]
    assert summary["total"] == 1
    assert summary["warning"] == 1
    assert "give the token the right to set commit statuses" in summary["warnings"][0]


async def test_a_delivery_without_a_valid_signature_or_token_is_refused(environment: ReviewEnvironment, kind: str) -> None:
    """A delivery is refused if its signature or token is missing, empty, changed, or that of another body."""
    _, delivery = await open_pull_request(environment)
    header = PROOF_HEADERS[kind]
    proof = delivery.headers[header]
    job_count = len(await jobs(environment, "pr"))
    assert await deliver(environment, delivery, headers={header: None}) == (401, "missing signature")
    for wrong_proof in ("", proof[:-1], f"{proof}0", "0" * len(proof), "é" * 9, "x" * 4000, proof.upper()):
        assert await deliver(environment, delivery, headers={header: wrong_proof}) == (401, "invalid signature"), wrong_proof
    # GitLab's token does not depend on the body.
    if kind != "gitlab":
        status, _ = await deliver(environment, delivery, {**delivery.payload, "more": 1})
        assert status == 401
    assert len(await jobs(environment, "pr")) == job_count


async def test_a_delivery_is_accepted_once(environment: ReviewEnvironment) -> None:
    """A repeated delivery starts no second job."""
    _, delivery = await open_pull_request(environment)
    assert await deliver(environment, delivery) == (200, "delivery was received before")
    assert len(await jobs(environment, "pr")) == 1


@pytest.mark.parametrize("kind", ["gitlab"])
async def test_a_late_delivery_does_not_restore_an_earlier_commit(environment: ReviewEnvironment) -> None:
    """A push delivery that arrives after that of a newer commit starts a sync of the newer commit.

    The test changes the body of the first delivery, so that it counts as a new one. GitLab permits this, as its token does not sign it.
    """
    deliveries = []
    for title in ("First", "Second"):
        environment.push({"a.json": dashboard("a", title)}, "main")
        await environment.host.wait_for_hooks()
        deliveries.append(environment.host.deliveries[-1])
        await environment.wait_for_jobs(*(job["metadata"]["uid"] for job in await jobs(environment, "sync")))
    assert await deliver(environment, deliveries[0], {**deliveries[0].payload, "attempt": 2}) == (202, "push received")
    sync_statuses = await environment.wait_for_jobs(*(job["metadata"]["uid"] for job in await jobs(environment, "sync")))
    assert {status["state"] for status in sync_statuses} == {"success"}
    assert (await environment.titles())["a"] == "Second"


async def test_other_events_are_ignored(environment: ReviewEnvironment, kind: str) -> None:
    """An unsupported event of GitHub gets 501, as from Grafana.

    An unsupported event of another host gets 200, because other hosts disable webhooks after errors.
    """
    _, delivery = await open_pull_request(environment)
    header = EVENT_HEADERS[kind]
    expected = 501 if kind == "github" else 200
    assert await deliver(environment, delivery, headers={header: "Other"}) == (expected, "unsupported messageType: Other")


@pytest.mark.parametrize("kind", ["gitlab"])
async def test_a_malformed_delivery_is_refused(environment: ReviewEnvironment) -> None:
    """A delivery without a required member or id, from another repository or with a huge body is refused with the reason.

    The test uses GitLab, whose token does not sign the body.
    """
    _, delivery = await open_pull_request(environment)
    attributes = {name: value for name, value in delivery.payload["object_attributes"].items() if name != "iid"}
    status, message = await deliver(environment, delivery, {**delivery.payload, "object_attributes": attributes})
    assert status == 400
    assert message == "the Merge Request Hook event has missing or invalid members: object_attributes.iid"
    other_project = {"project": {"path_with_namespace": "some/body"}}
    assert await deliver(environment, delivery, {**delivery.payload, **other_project}) == (400, "repository mismatch")
    no_id = {"Idempotency-Key": None, "X-Gitlab-Event-UUID": None}
    assert await deliver(environment, delivery, headers=no_id) == (400, "the delivery has no valid id; send Idempotency-Key")
    huge_body = b"x" * (26 * 1024 * 1024)
    async with environment.api.session.post(f"{REPOSITORIES}/team/webhook", data=BytesIO(huge_body), headers=delivery.headers) as response:
        assert response.status == 413


async def test_a_changed_hook_is_repaired_and_removed(environment: ReviewEnvironment) -> None:
    """A webhook whose address was changed at the host is repaired with a new secret, and deleted with the repository."""
    hooks = environment.host.repositories[NAME].hooks
    ((hook_id, hook),) = hooks.items()
    before = orjson.dumps(hook)
    # Some hosts have the address in the webhook, and others in its configuration.
    url_holder = hook if "url" in hook else hook["config"]
    address, url_holder["url"] = url_holder["url"], "https://elsewhere.example.org"
    await environment.api.sql("update repository_hook set due = now()")
    await environment.worker.hooks.refresh()
    ((repaired_id, repaired),) = hooks.items()
    assert repaired_id == hook_id
    assert (repaired if "url" in repaired else repaired["config"])["url"] == address
    # The webhook has a new secret.
    assert orjson.dumps(repaired) != before
    await environment.worker.hooks.refresh()
    _, delivery = await open_pull_request(environment)
    assert delivery.status == 202, delivery
    assert (await environment.api("DELETE", f"{REPOSITORIES}/team"))[0] == 200
    await environment.worker.hooks.remove()
    assert hooks == {}


async def test_a_correct_hook_is_not_written_again(environment: ReviewEnvironment) -> None:
    """A check of an unchanged webhook only reads it, although the host lists the events in another way than they were sent."""
    await environment.api.sql("update repository_hook set due = now()")
    environment.host.calls.clear()
    await environment.worker.hooks.refresh()
    assert [call.partition(" ")[0] for call in environment.host.calls] == ["GET"]
