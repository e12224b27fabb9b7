"""Reviews of pull requests, which comment on the changes and set commit statuses at the git host."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.contract.api.conftest import StartApi
from tests.contract.api.git.review_environment import NAME, REPOSITORIES, ReviewEnvironment, dashboard, open_review_environment

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load
from dashwright.common.stores import jobs
from dashwright.expressions.main import ExpressionsWorker
from dashwright.jobs_worker.adapters import picture_renderer
from dashwright.jobs_worker.runners import pull_request


@pytest.fixture
async def environment(start_api: StartApi, database: Database, broker: MemoryBroker, tmp_path: Path) -> AsyncIterator[ReviewEnvironment]:
    """Yield the environment with two dashboards synced from main, whose public address is https://dash.example."""
    async with open_review_environment(start_api, database, broker, tmp_path, public_url="https://dash.example") as environment:
        yield environment


async def test_a_review_comments_on_the_changes(environment: ReviewEnvironment) -> None:
    """A review writes a comment with the changed files and panels, and a pending and a final commit status. It stores no dashboard."""
    files = {"a.json": dashboard("a", "Alpha", "sum(up)"), "b.json": None, "c/new.json": dashboard("c", "New")}
    number = environment.propose(files)
    status = await environment.review(number)
    assert status["state"] == "success"
    assert status["message"] == "2 created, 1 updated, 1 deleted"
    [text] = environment.comments(number)
    assert text.startswith("<!-- dashwright:")
    assert "| a.json | Alpha | updated | 1 panel changed" in text
    assert "| b.json | Beta | deleted |" in text
    assert "| c/new.json | New | created | 1 panel" in text
    assert "| c/ | c | created |" in text
    assert "**Panel Load changed**\n\n- query A: `up` → `sum(up)`" in text
    assert (
        "See the [original](https://dash.example/d/a) and [preview](https://dash.example/preview/team/a.json?ref=change) of a.json." in text
    )
    assert "[preview](https://dash.example/preview/team/b.json?ref=change) of b.json." in text
    assert environment.statuses() == [("pending", "reviewing the changes"), ("success", "2 created, 1 updated, 1 deleted")]
    [(commit_of_pending, _), (commit_of_success, _)] = environment.host.repositories[NAME].statuses
    assert commit_of_pending == commit_of_success
    assert await environment.titles() == {"a": "Alpha", "b": "Beta"}


async def test_a_later_review_updates_the_comment(environment: ReviewEnvironment) -> None:
    """A later review replaces the comment of the earlier one, even if the pull request no longer changes a dashboard."""
    number = environment.propose({"a.json": dashboard("a", "Other")})
    await environment.review(number)
    environment.push({"a.json": "{"}, "change", after="change")
    assert (await environment.review(number))["message"] == "1 refused"
    [text] = environment.comments(number)
    assert "not valid JSON" in text
    assert "See the [preview](https://dash.example/preview/team/a.json?ref=change) of a.json." in text
    assert environment.statuses()[-1] == ("failure", "1 refused")
    environment.push({"a.json": dashboard("a", "Alpha")}, "change", after="change")
    assert (await environment.review(number))["message"] == "no files to process"
    assert "no dashboard changes" in environment.comments(number)[0]
    assert environment.statuses()[-1] == ("success", "no dashboard changes")


async def test_a_pull_request_without_dashboards_has_no_comment(environment: ReviewEnvironment) -> None:
    """A pull request that changes no dashboard receives a commit status and no comment."""
    number = environment.propose({"README.md": "# new"})
    assert (await environment.review(number))["message"] == "no files to process"
    assert environment.comments(number) == []
    assert environment.statuses()[-1][0] == "success"


async def test_a_review_reports_folder_files(environment: ReviewEnvironment) -> None:
    """The comment has the folder that a ``_folder.json`` creates. An invalid ``_folder.json`` is refused."""
    body = {"apiVersion": "folder.grafana.app/v1", "kind": "Folder", "metadata": {"name": "web"}, "spec": {"title": "The Web"}}
    number = environment.propose({"web/_folder.json": json.dumps(body)})
    await environment.review(number)
    assert "| web/ | The Web | created |" in environment.comments(number)[0]
    environment.push({"web/_folder.json": "{"}, "change", after="change")
    assert (await environment.review(number))["message"] == "1 refused"
    assert "has no effect on the folder: not valid JSON" in environment.comments(number)[0]


async def test_a_review_lists_duplicates_of_changed_files(environment: ReviewEnvironment) -> None:
    """A review lists an unchanged file that main refuses as a duplicate only if the pull request changes the file that it duplicates."""
    environment.push({"copies/a2.json": dashboard("a", "Second")}, "main")
    await environment.sync()
    duplicate = "| copies/a2.json |"
    related_change = environment.propose({"a.json": dashboard("a", "Alpha", "sum(up)")}, "related")
    await environment.review(related_change)
    assert duplicate in environment.comments(related_change)[0]
    # The path of the changed file is the end of the path of the duplicate.
    unrelated_change = environment.propose({"2.json": dashboard("new", "New")}, "unrelated")
    await environment.review(unrelated_change)
    assert duplicate not in environment.comments(unrelated_change)[0]


async def test_a_review_covers_only_the_directory(environment: ReviewEnvironment) -> None:
    """A review lists only files in the directory of the repository. A move into the directory is a create, and one out of it a delete."""
    environment.push(
        {"ops/a.json": dashboard("a", "Alpha"), "ops/in/c.json": dashboard("c", "Gamma"), "d.json": dashboard("d", "Delta")}, "main"
    )
    _, team = await environment.api("GET", f"{REPOSITORIES}/team")
    team["spec"]["githost"]["path"] = "ops"
    assert (await environment.api("PUT", f"{REPOSITORIES}/team", team))[0] == 200
    assert (await environment.sync())["state"] == "success"
    change_outside = environment.propose({"a.json": "{", "ops.json": "{", "opsx/a.json": "{"}, "other")
    assert (await environment.review(change_outside))["message"] == "no files to process"
    assert environment.comments(change_outside) == []
    files = {"a.json": "{", "ops/a.json": dashboard("a", "Alpha", "sum(up)"), "d.json": None, "ops/d.json": dashboard("d", "Delta")}
    number = environment.propose({**files, "ops/in/c.json": None, "c.json": dashboard("c", "Gamma")})
    assert (await environment.review(number))["message"] == "1 created, 1 updated, 2 deleted"
    [text] = environment.comments(number)
    for row in (
        "| a.json | Alpha | updated |",
        "| d.json | Delta | created |",
        "| in/c.json | Gamma | deleted |",
        "| in/ | in | deleted |",
    ):
        assert row in text
    assert "[preview](https://dash.example/preview/team/a.json?ref=change)" in text
    deletion_of_all = environment.propose({"ops/a.json": None, "ops/in/c.json": None}, "gone")
    await environment.review(deletion_of_all)
    [text] = environment.comments(deletion_of_all)
    assert "nothing could be stored" in text
    assert environment.statuses()[-1][0] == "failure"


async def test_later_changes_of_main_are_not_reviewed(environment: ReviewEnvironment) -> None:
    """Changes of main after the branch was created are not part of the review."""
    number = environment.propose({"a.json": dashboard("a", "Other")})
    environment.push({"later.json": dashboard("later", "Later"), "b.json": dashboard("b", "Changed later")}, "main")
    await environment.sync()
    assert (await environment.review(number))["message"] == "1 updated"
    assert not re.search("later|b.json", environment.comments(number)[0])


async def test_a_reference_to_a_missing_query_fails_the_commit(environment: ReviewEnvironment) -> None:
    """An expression that refers to a missing query is a problem, which fails the commit. A lint warning is not a problem."""
    panel = {
        "id": 1,
        "title": "Load",
        "type": "timeseries",
        "targets": [{"refId": "A", "datasource": {"uid": "__expr__"}, "type": "math", "expression": "$B"}],
    }
    number = environment.propose({"n.json": dashboard("n", "New", panels=[panel]), "m.json": dashboard("m", "More")})
    assert (await environment.review(number))["message"] == "2 created, 1 with problems"
    text = environment.comments(number)[0]
    # Only the first of the two dashboards has a problem.
    assert text.count("**Problem:**") == 1
    assert "- lint warning, `panel-title-description-rule`" in text
    assert environment.statuses()[-1] == ("failure", "2 created, 1 with problems")


async def test_the_lint_configuration_of_the_reviewed_commit_applies(environment: ReviewEnvironment) -> None:
    """The review omits warnings of rules that the configuration in the commit excludes, and reports misspelt keys of the configuration."""
    # The second key should be "warnings".
    lint_configuration = "exclusions:\n  panel-title-description-rule:\nwarnigs:\n  panel-units-rule:\n"
    number = environment.propose({"m.json": dashboard("m", "More"), ".dashboard-lint": lint_configuration})
    await environment.review(number)
    text = environment.comments(number)[0]
    assert "panel-title-description-rule" not in text
    assert "panel-units-rule" in text
    assert "lint warning, `dashboard-lint`" in text
    assert "warnigs" in text


async def test_a_pull_request_from_a_fork_is_reviewed(environment: ReviewEnvironment) -> None:
    """The review of a pull request from a fork lists its changes, but has neither pictures nor links to previews."""
    await enable_pictures(environment)
    number = environment.propose({"a.json": dashboard("a", "Forked")}, "fork")
    environment.host.move_to_fork(NAME, number, "stranger/boards")
    assert (await environment.review(number))["message"] == "1 updated"
    [text] = environment.comments(number)
    assert "See the [original](https://dash.example/d/a) of a.json." in text
    assert "picture" not in text.lower()
    assert "Side by Side" not in text


async def enable_pictures(environment: ReviewEnvironment) -> None:
    """Change the spec of the repository so that reviews contain pictures."""
    _, team = await environment.api("GET", f"{REPOSITORIES}/team")
    team["spec"]["githost"]["generateDashboardPreviews"] = True
    status, body = await environment.api("PUT", f"{REPOSITORIES}/team", team)
    assert status == 200, body


async def test_the_comment_has_pictures_before_and_after(
    environment: ReviewEnvironment, database: Database, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comment has pictures of each changed file before and after, which can be read without login.

    If no worker draws pictures, the comment says that they could not be drawn.
    """
    await enable_pictures(environment)
    number = environment.propose({"a.json": dashboard("a", "Other"), "n.json": dashboard("n", "New")})
    monkeypatch.setattr(picture_renderer, "_TIMEOUT_SECONDS", 0.3)
    await environment.review(number)
    monkeypatch.undo()
    assert environment.comments(number)[0].count("NOTE: The pictures could not be drawn") == 2
    expressions_worker = ExpressionsWorker(load(secret_key="of tests only"), database, broker, Clock())
    await expressions_worker.start()
    try:
        await environment.review(number)
    finally:
        await expressions_worker.stop()
    [text] = environment.comments(number)
    assert "### Side by Side Comparison of a.json" in text
    assert "### Side by Side Comparison of n.json" in text
    picture_paths = re.findall(r"!\[(?:Before|Preview)\]\(https://dash.example(\S+)\)", text)
    assert len(set(picture_paths)) == 3  # two of a.json, and one of n.json, which is new
    for picture_path in picture_paths:
        async with environment.api.session.get(picture_path) as response:
            assert response.status == 200
            assert response.content_type == "image/png"
            assert (await response.read()).startswith(b"\x89PNG")


async def test_library_panels_are_drawn_in_pictures(environment: ReviewEnvironment, database: Database, broker: MemoryBroker) -> None:
    """A panel that refers to a library panel has the picture of a panel with the same content. A missing library panel has another one."""
    await enable_pictures(environment)
    model = {"type": "text", "title": "Shared", "options": {"mode": "markdown", "content": "# Hello"}}
    status, body = await environment.api("POST", "/api/library-elements", {"name": "Shared", "kind": 1, "uid": "shared", "model": model})
    assert status == 200, body
    position: dict[str, Any] = {"id": 1, "gridPos": {"x": 0, "y": 0, "w": 12, "h": 6}}
    panels: dict[str, dict[str, Any]] = {
        "own": model,
        "reference": {"libraryPanel": {"uid": "shared", "name": "Shared"}},
        "missing": {"libraryPanel": {"uid": "missing", "name": "Shared"}},
    }
    files = {f"{name}.json": json.dumps({"uid": name, "title": "T", "panels": [position | panel]}) for name, panel in panels.items()}
    expressions_worker = ExpressionsWorker(load(secret_key="of tests only"), database, broker, Clock())
    await expressions_worker.start()
    try:
        number = environment.propose(dict(files))
        await environment.review(number)
    finally:
        await expressions_worker.stop()
    [text] = environment.comments(number)
    pictures = {}
    for name in panels:
        [picture_path] = re.findall(rf"Comparison of {name}\.json.*?!\[Preview\]\(https://dash\.example(\S+?)\)", text, re.DOTALL)
        async with environment.api.session.get(picture_path) as response:
            pictures[name] = await response.read()
    assert pictures["reference"] == pictures["own"]
    assert pictures["missing"] != pictures["own"]


@pytest.mark.parametrize("is_merged", [True, False], ids=["merged", "into another branch"])
async def test_a_merged_or_unrelated_pull_request_is_ignored(environment: ReviewEnvironment, is_merged: bool) -> None:
    """A review of a merged pull request, or of one into another branch, writes neither comment nor status."""
    environment.push({}, "other")
    number = environment.propose({"a.json": dashboard("a", "Other")}, base="main" if is_merged else "other")
    if is_merged:
        environment.host.merge(NAME, number)
    status = await environment.review(number)
    assert status["state"] == "success"
    assert "pull request" in status["message"]
    assert environment.comments(number) == []
    assert environment.statuses() == []


async def test_a_pull_request_is_found_by_its_branch_or_address(environment: ReviewEnvironment) -> None:
    """A job may name the pull request by branch, address or number. If the data of the host differ, the job ends with an error."""
    other = environment.propose({"b.json": dashboard("b", "Other")}, "other")
    number = environment.propose({"a.json": dashboard("a", "Other")})
    page = f"{environment.host.origin}/{NAME}/pull/{number}"
    job_options: list[dict[str, Any]] = [{"ref": "change"}, {"url": page}, {"pr": number, "ref": "change", "url": page}]
    for options in job_options:
        [status] = await environment.wait_for_jobs(await environment.request_review(**options))
        assert status["state"] == "success"
        assert status["message"] == "1 updated"
    assert len(environment.comments(number)) == 1
    assert environment.comments(other) == []
    mismatches: list[tuple[dict[str, Any], str]] = [
        ({"ref": "none"}, "knows no open pull request with pr.ref 'none'"),
        ({"pr": number, "ref": "other"}, f"pull request {number} does not match the job: its branch is 'change'"),
        ({"pr": number, "hash": "d" * 40}, "its newest commit is"),
        ({"pr": other, "url": page}, "its address is"),
        ({"pr": 999}, "knows no pull request 999"),
    ]
    for options, text in mismatches:
        [status] = await environment.wait_for_jobs(await environment.request_review(**options))
        assert status["state"] == "error", status
        assert text in status["message"], status


async def test_at_most_four_reviews_run_concurrently(environment: ReviewEnvironment) -> None:
    """At most four of twenty review jobs run concurrently, and each comments on its own pull request only."""
    numbers = [environment.propose({f"n{index}.json": dashboard(f"n{index}", f"New {index}")}, f"branch-{index}") for index in range(20)]
    running, max_running = 0, 0

    async def count(request: web.Request) -> web.StreamResponse | None:
        """Count a review as running from its request for the pull request to its final commit status."""
        nonlocal running, max_running
        if re.search(r"/pulls/\d+$", request.path):
            running += 1
            max_running = max(max_running, running)
        if request.method == "POST" and "/statuses/" in request.path and b"pending" not in await request.read():
            running -= 1
        return None

    environment.host.api_fault = count
    statuses = await environment.wait_for_jobs(*[await environment.request_review(pr=number) for number in numbers])
    assert [status["message"] for status in statuses] == ["1 created"] * 20
    assert 1 < max_running <= 4
    for index, number in enumerate(numbers):
        [text] = environment.comments(number)
        assert set(re.findall(r"New \d+", text)) == {f"New {index}"}


async def test_a_failing_host_fails_the_review(environment: ReviewEnvironment) -> None:
    """If the git host refuses a request, the review and, where possible, the commit status end with an error. A later review succeeds."""
    number = environment.propose({"a.json": dashboard("a", "Other")})

    def fail_at(path_part: str, refusal_status: int) -> Callable[[web.Request], Awaitable[web.StreamResponse | None]]:
        """Return a fault that refuses requests whose path contains a text."""

        async def fail(request: web.Request) -> web.StreamResponse | None:
            return web.json_response({"message": "no"}, status=refusal_status) if path_part in request.path else None

        return fail

    for path_part, refusal_status, expected in [
        ("/pulls/", 403, "refuses access"),
        ("/files", 500, "responds with status 500"),
        ("/comments", 403, "refuses access"),
        ("/comments", 422, "422"),
        ("/statuses/", 500, "responds with status 500"),
    ]:
        environment.host.api_fault = fail_at(path_part, refusal_status)
        status = await environment.review(number)
        assert status["state"] == "error", status
        assert expected in status["message"], status
        # After these failures, the review can still set the commit status.
        if path_part in ("/files", "/comments"):
            assert environment.statuses()[-1][0] == "error"
    environment.host.api_fault = None
    assert (await environment.review(number))["state"] == "success"
    assert len(environment.comments(number)) == 1
    assert environment.statuses()[-1] == ("success", "1 updated")


async def test_a_silent_host_times_out(environment: ReviewEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    """A review ends with an error when the host does not respond in time."""
    number = environment.propose({"a.json": dashboard("a", "Other")})
    released = asyncio.Event()

    async def hang(request: web.Request) -> web.StreamResponse | None:
        if "/files" in request.path:
            await released.wait()
        return None

    monkeypatch.setattr(environment.worker.host_client._session, "_seconds", 0.3)
    environment.host.api_fault = hang
    status = await environment.review(number)
    assert status["state"] == "error"
    assert "did not respond in time" in status["message"]
    assert environment.statuses()[-1][0] == "error"
    released.set()


async def test_a_rate_limited_review_waits(environment: ReviewEnvironment) -> None:
    """A review whose request gets 429 with ``Retry-After`` repeats the request and succeeds."""
    number = environment.propose({"a.json": dashboard("a", "Other")})
    is_refused = False

    async def refuse_once(request: web.Request) -> web.StreamResponse | None:
        """Refuse the first request for comments."""
        nonlocal is_refused
        if "/comments" not in request.path or is_refused:
            return None
        is_refused = True
        return web.json_response({"message": "slow down"}, status=429, headers={"Retry-After": "1"})

    environment.host.api_fault = refuse_once
    assert (await environment.review(number))["state"] == "success"
    assert is_refused
    assert len(environment.comments(number)) == 1


@pytest.mark.parametrize(("seconds", "state"), [(600, "success"), (0, "error")], ids=["in time", "too late"])
async def test_a_review_for_a_webhook_is_repeated(
    environment: ReviewEnvironment, monkeypatch: pytest.MonkeyPatch, seconds: int, state: str
) -> None:
    """If the host fails once, a review that a webhook has requested is repeated and succeeds, unless the time for repetitions is over."""
    monkeypatch.setattr(jobs, "is_automatic", lambda _: True)
    monkeypatch.setattr(pull_request, "_REPETITION_SECONDS", seconds)
    monkeypatch.setattr(pull_request, "_PAUSE_SECONDS", 1)
    number = environment.propose({"a.json": dashboard("a", "Other")})
    has_failed = False

    async def fail_once(request: web.Request) -> web.StreamResponse | None:
        """Respond to the first request for comments with status 502."""
        nonlocal has_failed
        if "/comments" not in request.path or has_failed:
            return None
        has_failed = True
        return web.Response(status=502)

    environment.host.api_fault = fail_once
    assert (await environment.review(number))["state"] == state
    assert has_failed
    assert len(environment.comments(number)) == (1 if state == "success" else 0)


async def test_a_host_without_an_api_can_be_synced(environment: ReviewEnvironment) -> None:
    """A host without an API can be synced; a review ends with an error that says what is missing."""

    async def respond_without_api(_: web.Request) -> web.StreamResponse | None:
        return web.Response(text="<html>not here</html>", content_type="text/html")

    number = environment.propose({"a.json": dashboard("a", "Other")})
    environment.host.api_fault = respond_without_api
    status = await environment.review(number)
    assert status["state"] == "error"
    assert "does not respond with JSON" in status["message"]
    assert (await environment.sync())["state"] == "success"
