"""What a pull request would change is said under it, over http, by a worker that looks at real commits."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.contract.api.conftest import StartApi
from tests.contract.api.git.proposals import NAME, REPOSITORIES, Proposals, dashboard
from tests.servers import git_host

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load
from dashwright.expressions.main import ExpressionsWorker
from dashwright.jobs_worker.adapters import picture_renderer
from dashwright.jobs_worker.main import JobsWorker


@pytest.fixture
async def proposals(start_api: StartApi, database: Database, broker: MemoryBroker, tmp_path: Path) -> AsyncIterator[Proposals]:
    """Two dashboards are synced from main."""
    root = tmp_path / "server"
    root.mkdir()
    settings = load(
        data_dir=tmp_path / "data",
        secret_key="of tests only",
        allowed_hosts="127.0.0.0/8",
        scheduling=False,
        public_url="https://dash.example",
        job_slots=8,
    )
    settings.data_dir.mkdir()
    async with git_host.serving(root) as host:
        worker = JobsWorker(settings, database, broker, Clock())
        await worker.start()
        proposals = Proposals(await start_api(), host, host.make(NAME), worker)
        proposals.work.commit({"a.json": dashboard("a", "Alpha"), "b.json": dashboard("b", "Beta"), "README.md": "#"})
        await proposals.made()
        assert (await proposals.synced())["state"] == "success"
        yield proposals
        await worker.stop()


async def test_what_changes_is_said_under_the_pull_request(proposals: Proposals) -> None:
    """File by file and panel by panel, with one status of the commit; nothing is stored."""
    files = {"a.json": dashboard("a", "Alpha", "sum(up)"), "b.json": None, "c/new.json": dashboard("c", "New")}
    number = proposals.proposed(files)
    status = await proposals.reviewed(number)
    assert (status["state"], status["message"]) == ("success", "2 created, 1 updated, 1 deleted")
    [text] = proposals.comments(number)
    assert text.startswith("<!-- dashwright:")
    assert "| a.json | Alpha | updated | 1 panel changed" in text
    assert "| b.json | Beta | deleted |" in text
    assert "| c/new.json | New | created | 1 panel" in text
    assert "| c/ | c | created |" in text
    assert "**Panel Load changed**\n\n- query A: `up` → `sum(up)`" in text
    assert (
        "See the [original](https://dash.example/d/a) and [preview](https://dash.example/preview/team/a.json?ref=change) of a.json." in text
    )
    assert proposals.statuses() == [("pending", "reviewing the changes"), ("success", "2 created, 1 updated, 1 deleted")]
    [pending, success] = proposals.host.repositories[NAME].statuses
    assert pending[0] == success[0]
    assert await proposals.titles() == {"a": "Alpha", "b": "Beta"}


async def test_the_comment_follows_the_pull_request(proposals: Proposals) -> None:
    """One comment, whatever is pushed; also when nothing is left to be said."""
    number = proposals.proposed({"a.json": dashboard("a", "Other")})
    await proposals.reviewed(number)
    proposals.pushed({"a.json": "{"}, "change", after="change")
    assert (await proposals.reviewed(number))["message"] == "1 refused"
    [text] = proposals.comments(number)
    assert "not valid JSON" in text
    assert proposals.statuses()[-1] == ("failure", "1 refused")
    proposals.pushed({"a.json": dashboard("a", "Alpha")}, "change", after="change")
    assert (await proposals.reviewed(number))["message"] == "no files to process"
    assert re.search("no dashboard changes", proposals.comments(number)[0])
    assert proposals.statuses()[-1] == ("success", "no dashboard changes")


async def test_a_pull_request_of_other_files(proposals: Proposals) -> None:
    """Nobody is told of what is not there: the status is enough."""
    number = proposals.proposed({"README.md": "# new"})
    assert (await proposals.reviewed(number))["message"] == "no files to process"
    assert (proposals.comments(number), proposals.statuses()[-1][0]) == ([], "success")


async def test_of_a_directory_only_what_lies_in_it_is_told(proposals: Proposals) -> None:
    """By its path inside, and what is moved over its border as what comes or goes; of a pull request elsewhere nothing is said."""
    proposals.pushed(
        {"ops/a.json": dashboard("a", "Alpha"), "ops/in/c.json": dashboard("c", "Gamma"), "d.json": dashboard("d", "Delta")}, "main"
    )
    _, team = await proposals.api("GET", f"{REPOSITORIES}/team")
    team["spec"]["githost"]["path"] = "ops"
    assert (await proposals.api("PUT", f"{REPOSITORIES}/team", team))[0] == 200
    assert (await proposals.synced())["state"] == "success"
    other = proposals.proposed({"a.json": "{", "ops.json": "{", "opsx/a.json": "{"}, "other")
    assert (await proposals.reviewed(other))["message"] == "no files to process"
    assert proposals.comments(other) == []
    files = {"a.json": "{", "ops/a.json": dashboard("a", "Alpha", "sum(up)"), "d.json": None, "ops/d.json": dashboard("d", "Delta")}
    number = proposals.proposed({**files, "ops/in/c.json": None, "c.json": dashboard("c", "Gamma")})
    assert (await proposals.reviewed(number))["message"] == "1 created, 1 updated, 2 deleted"
    [text] = proposals.comments(number)
    for row in (
        "| a.json | Alpha | updated |",
        "| d.json | Delta | created |",
        "| in/c.json | Gamma | deleted |",
        "| in/ | in | deleted |",
    ):
        assert row in text
    assert "[preview](https://dash.example/preview/team/a.json?ref=change)" in text
    gone = proposals.proposed({"ops/a.json": None, "ops/in/c.json": None}, "gone")
    await proposals.reviewed(gone)
    [text] = proposals.comments(gone)
    assert "nothing could be stored" in text
    assert proposals.statuses()[-1][0] == "failure"


async def test_only_what_the_pull_request_changes_is_told(proposals: Proposals) -> None:
    """Its branch lacks what came to main meanwhile; merging it would not take that away."""
    number = proposals.proposed({"a.json": dashboard("a", "Other")})
    proposals.pushed({"later.json": dashboard("later", "Later"), "b.json": dashboard("b", "Changed later")}, "main")
    await proposals.synced()
    assert (await proposals.reviewed(number))["message"] == "1 updated"
    assert not re.search("later|b.json", proposals.comments(number)[0])


async def test_queries_that_refer_to_none(proposals: Proposals) -> None:
    """They would be stored and never work: the commit fails; other findings of lint are only told."""
    panel = {
        "id": 1,
        "title": "Load",
        "type": "timeseries",
        "targets": [{"refId": "A", "datasource": {"uid": "__expr__"}, "type": "math", "expression": "$B"}],
    }
    number = proposals.proposed({"n.json": dashboard("n", "New", panels=[panel]), "m.json": dashboard("m", "More")})
    assert (await proposals.reviewed(number))["message"] == "2 created, 1 with problems"
    text = proposals.comments(number)[0]
    assert text.count("**Problem:**") == 1
    assert "- lint warning, `panel-title-description-rule`" in text
    assert proposals.statuses()[-1] == ("failure", "2 created, 1 with problems")


async def test_rules_beside_the_files_at_the_same_commit(proposals: Proposals) -> None:
    """What the repository waives is not told of; a misspelt key of its configuration is."""
    waived = "exclusions:\n  panel-title-description-rule:\nwarnigs:\n  panel-units-rule:\n"
    number = proposals.proposed({"m.json": dashboard("m", "More"), ".dashboard-lint": waived})
    await proposals.reviewed(number)
    text = proposals.comments(number)[0]
    assert "panel-title-description-rule" not in text
    assert "panel-units-rule" in text
    assert "lint warning, `dashboard-lint`" in text
    assert "warnigs" in text


async def test_a_pull_request_from_a_fork(proposals: Proposals) -> None:
    """Its commit is read by its name at the host; what strangers ask of data sources is not drawn, their branch is not linked."""
    await wants_pictures(proposals)
    number = proposals.proposed({"a.json": dashboard("a", "Forked")}, "fork")
    proposals.host.move_to_fork(NAME, number, "stranger/boards")
    assert (await proposals.reviewed(number))["message"] == "1 updated"
    [text] = proposals.comments(number)
    assert "See the [original](https://dash.example/d/a) of a.json." in text
    assert "picture" not in text.lower()
    assert "Side by Side" not in text


async def wants_pictures(proposals: Proposals) -> None:
    _, team = await proposals.api("GET", f"{REPOSITORIES}/team")
    team["spec"]["githost"]["generateDashboardPreviews"] = True
    status, found = await proposals.api("PUT", f"{REPOSITORIES}/team", team)
    assert status == 200, found


async def test_pictures_where_they_are_asked_for(
    proposals: Proposals, database: Database, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before and after, of each file that changes, for everybody who has their addresses; without a drawer the comment says so."""
    await wants_pictures(proposals)
    number = proposals.proposed({"a.json": dashboard("a", "Other"), "n.json": dashboard("n", "New")})
    monkeypatch.setattr(picture_renderer, "_SECONDS", 0.3)
    await proposals.reviewed(number)
    monkeypatch.undo()
    assert proposals.comments(number)[0].count("NOTE: The pictures could not be drawn") == 2
    drawer = ExpressionsWorker(load(secret_key="of tests only"), database, broker, Clock())
    await drawer.start()
    try:
        await proposals.reviewed(number)
    finally:
        await drawer.stop()
    [text] = proposals.comments(number)
    assert "### Side by Side Comparison of a.json" in text
    assert "### Side by Side Comparison of n.json" in text
    places = re.findall(r"!\[(?:Before|Preview)\]\(https://dash.example(\S+)\)", text)
    assert len(set(places)) == 3
    for place in places:
        async with proposals.api.session.get(place) as answer:
            assert (answer.status, answer.content_type, (await answer.read())[1:4]) == (200, "image/png", b"PNG")


@pytest.mark.parametrize("is_merged", [True, False])
async def test_one_that_is_no_business_of_this_repository_ends_quietly(proposals: Proposals, is_merged: bool) -> None:
    """Closed, or into another branch than the one that is synced: nothing is said."""
    proposals.pushed({}, "other")
    number = proposals.proposed({"a.json": dashboard("a", "Other")}, base="main" if is_merged else "other")
    if is_merged:
        proposals.host.merge(NAME, number)
    status = await proposals.reviewed(number)
    assert (status["state"], "pull request" in status["message"]) == ("success", True)
    assert (proposals.comments(number), proposals.statuses()) == ([], [])


async def test_a_pull_request_is_found_by_its_branch_or_address(proposals: Proposals) -> None:
    """Without a number; what the job says beside it is compared with the host, and a wrong word ends it with the reason."""
    other = proposals.proposed({"b.json": dashboard("b", "Other")}, "other")
    number = proposals.proposed({"a.json": dashboard("a", "Other")})
    page = f"{proposals.host.origin}/{NAME}/pull/{number}"
    named: list[dict[str, Any]] = [{"ref": "change"}, {"url": page}, {"pr": number, "ref": "change", "url": page}]
    for options in named:
        [status] = await proposals.ended(await proposals.asked(**options))
        assert (status["state"], status["message"]) == ("success", "1 updated")
    assert (len(proposals.comments(number)), proposals.comments(other)) == (1, [])
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"ref": "none"}, "knows no open pull request with pr.ref 'none'"),
        ({"pr": number, "ref": "other"}, f"pull request {number} does not match the job: its branch is 'change'"),
        ({"pr": number, "hash": "d" * 40}, "its newest commit is"),
        ({"pr": other, "url": page}, "its address is"),
        ({"pr": 999}, "knows no pull request 999"),
    ]
    for options, text in wrong:
        [status] = await proposals.ended(await proposals.asked(**options))
        assert (status["state"], text in status["message"]) == ("error", True), status


async def test_twenty_at_once(proposals: Proposals) -> None:
    """Four are looked at at a time, each gets its one comment, and none is told of another."""
    numbers = [proposals.proposed({f"n{index}.json": dashboard(f"n{index}", f"New {index}")}, f"branch-{index}") for index in range(20)]
    at_once, most = 0, 0

    async def count(request: web.Request) -> web.StreamResponse | None:
        nonlocal at_once, most
        if re.search(r"/pulls/\d+$", request.path):
            at_once += 1
            most = max(most, at_once)
        at_once -= request.method == "POST" and "/statuses/" in request.path and b"pending" not in await request.read()
        return None

    proposals.host.api_fault = count
    statuses = await proposals.ended(*[await proposals.asked(pr=number) for number in numbers])
    assert [status["message"] for status in statuses] == ["1 created"] * 20
    assert 1 < most <= 4
    for index, number in enumerate(numbers):
        [text] = proposals.comments(number)
        assert re.findall(r"New \d+", text)[0] == f"New {index}"
        assert len(set(re.findall(r"New \d+", text))) == 1


async def test_a_host_that_fails(proposals: Proposals) -> None:
    """The job ends in an error that says so, the status of the commit too where it can be told; asked again, all is well."""
    number = proposals.proposed({"a.json": dashboard("a", "Other")})

    def failing(place: str, answer: int) -> Callable[[web.Request], Awaitable[web.StreamResponse | None]]:
        async def fail(request: web.Request) -> web.StreamResponse | None:
            return web.json_response({"message": "no"}, status=answer) if place in request.path else None

        return fail

    for place, answer, expected in [
        ("/pulls/", 403, "refuses access"),
        ("/files", 500, "responds with status 500"),
        ("/comments", 403, "refuses access"),
        ("/comments", 422, "422"),
        ("/statuses/", 500, "responds with status 500"),
    ]:
        proposals.host.api_fault = failing(place, answer)
        status = await proposals.reviewed(number)
        assert (status["state"], expected in status["message"]) == ("error", True), status
        if place in ("/files", "/comments"):
            assert proposals.statuses()[-1][0] == "error"
    proposals.host.api_fault = None
    assert (await proposals.reviewed(number))["state"] == "success"
    assert len(proposals.comments(number)) == 1
    assert proposals.statuses()[-1] == ("success", "1 updated")


async def test_a_host_that_does_not_answer(proposals: Proposals, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job ends after a while; what hangs at the host holds nobody up."""
    number = proposals.proposed({"a.json": dashboard("a", "Other")})
    released = asyncio.Event()

    async def hang(request: web.Request) -> web.StreamResponse | None:
        if "/files" in request.path:
            await released.wait()
        return None

    monkeypatch.setattr(proposals.worker.host_client, "_seconds", 0.3)
    proposals.host.api_fault = hang
    status = await proposals.reviewed(number)
    assert (status["state"], "did not respond in time" in status["message"]) == ("error", True)
    assert proposals.statuses()[-1][0] == "error"
    released.set()


async def test_a_host_that_asks_for_patience(proposals: Proposals) -> None:
    """The job waits for as long as the host says, is done then, and is never an error for that."""
    number = proposals.proposed({"a.json": dashboard("a", "Other")})
    left = [True]

    async def refuse(request: web.Request) -> web.StreamResponse | None:
        if "/comments" in request.path and left:
            left.pop()
            return web.json_response({"message": "slow down"}, status=429, headers={"Retry-After": "1"})
        return None

    proposals.host.api_fault = refuse
    status = await proposals.reviewed(number)
    assert (status["state"], left) == ("success", [])
    assert len(proposals.comments(number)) == 1


async def test_a_host_without_an_api(proposals: Proposals) -> None:
    """Sync needs git only; a pr job says what misses."""

    async def nothing(_: web.Request) -> web.StreamResponse | None:
        return web.Response(text="<html>not here</html>", content_type="text/html")

    number = proposals.proposed({"a.json": dashboard("a", "Other")})
    proposals.host.api_fault = nothing
    status = await proposals.reviewed(number)
    assert (status["state"], "does not respond with JSON" in status["message"]) == ("error", True)
    assert (await proposals.synced())["state"] == "success"
