"""Invalid HTTP requests get an error that says what is wrong: a Status from the resource API, a message from the classic API."""

import asyncio
import gzip
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance import dashboard_files
from tests.acceptance.client import DASHBOARDS, FOLDERS, PROVISIONING, Client, counts
from tests.acceptance.processes import Stack

pytestmark = pytest.mark.asyncio(loop_scope="module")

REPOSITORIES = f"{PROVISIONING}/repositories"
JSON_HEADERS = {"Content-Type": "application/json"}
MEBIBYTE = 1024 * 1024


def repository(name: str, path: str, *, target: str = "folder", enabled: bool = True) -> dict[str, Any]:
    """Return the manifest of a local repository."""
    sync = {"enabled": enabled, "target": target}
    spec = {"title": name, "workflows": [], "type": "local", "local": {"path": path}, "sync": sync}
    return {"metadata": {"name": name}, "spec": spec}


def check_status(response_body: Any, code: int) -> None:
    """Raise AssertionError unless the body of a response is a Status with a code and a message of reasonable length."""
    expected = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    assert {name: response_body.get(name) for name in expected} == expected, response_body
    assert 0 < len(response_body["message"]) < 10_000


@pytest.mark.parametrize("path", [DASHBOARDS, FOLDERS, REPOSITORIES, f"{PROVISIONING}/jobs"])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b"null",
        b"7",
        b"[]",
        b'["x"]',
        b'"text"',
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"metadata": []}',
        b'{"metadata": {"name": 7}, "spec": {}}',
        b'{"metadata": {"name": "a", "labels": {"x": 1}}, "spec": {}}',
        b'{"spec": null}',
        b'{"kind": 3}',
    ],
    ids=lambda body: repr(body[:40]),
)
async def test_an_invalid_object_is_refused(user: Client, path: str, body: bytes) -> None:
    """A body that is malformed, nested too deeply or of another type is refused with 400 or 422, as a Status."""
    status, response, _ = await user.response("POST", path, data=body, headers=JSON_HEADERS)
    assert status in (400, 422), response
    check_status(response, status)


@pytest.mark.parametrize(
    ("path", "limit"), [(DASHBOARDS, 5), (REPOSITORIES, 5), (f"{REPOSITORIES}/any/jobs", 2), (f"{REPOSITORIES}/any/sync", 1)]
)
async def test_a_body_over_the_limit_is_refused(user: Client, path: str, limit: int) -> None:
    """A body over the limit gets a 413 that names the limit, even if it is small before decompression."""
    body = b'{"spec": "' + b"x" * (limit * MEBIBYTE) + b'"}'
    for data, headers in ((body, {}), (gzip.compress(body), {"Content-Encoding": "gzip"})):
        status, response, _ = await user.response("POST", path, data=io.BytesIO(data), headers={**JSON_HEADERS, **headers})
        assert status == 413
        check_status(response, 413)
        assert str(limit * MEBIBYTE) in response["message"]


async def test_a_large_query_is_refused_in_the_classic_shape(user: Client) -> None:
    """The classic API refuses a query that is too large or malformed with a message, and not with a Status."""
    for body, status in ((b"x" * 17 * MEBIBYTE, 413), (b"{", 400), (b"null", 400), (b"[]", 400), (b"[" * 100_000, 400), (b"{}", 400)):
        actual_status, response, _ = await user.response("POST", "/api/ds/query", data=io.BytesIO(body))
        assert actual_status == status, response
        assert response["message"]
        assert "kind" not in response


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/apis/dashboard.grafana.app/v9/namespaces/default/dashboards", 404),
        ("/apis/dashboard.grafana.app/v2alpha1/namespaces/default/pictures", 404),
        ("/apis/strange.example/v1/namespaces/default/dashboards", 404),
        ("/apis/dashboard.grafana.app/v2alpha1/namespaces/elsewhere/dashboards", 403),
        ("/apis/dashboard.grafana.app/v2alpha1/namespaces/org-2/dashboards", 403),
        (f"{DASHBOARDS}/none", 404),
        (f"{DASHBOARDS}/%00", 400),
        (f"{DASHBOARDS}/%ff", 400),
        (f"{DASHBOARDS}/..%2F..%2Fetc", 404),
        (f"{DASHBOARDS}/a%27%3B%20drop%20table%20job", 404),
        (f"{DASHBOARDS}/" + "x" * 5000, 404),
        (f"{DASHBOARDS}/%F0%9F%90%98", 404),
        (f"{REPOSITORIES}/none", 404),
        (f"{REPOSITORIES}/none/jobs", 404),
        (f"{PROVISIONING}/jobs/none", 404),
    ],
)
async def test_an_unknown_address_is_not_found(user: Client, path: str, code: int) -> None:
    """Unknown groups, versions, kinds and names are not found, even with unusual characters. Other namespaces are forbidden."""
    status, response, _ = await user.response("GET", path)
    assert status == code, response
    check_status(response, code)


@pytest.mark.parametrize("query", ["limit=-1", "limit=x", "limit=1.5", "continue=!", "continue=e30"])
async def test_an_invalid_list_parameter_is_refused(user: Client, query: str) -> None:
    """A list request with an invalid parameter gets 400."""
    status, response, _ = await user.response("GET", f"{DASHBOARDS}?{query}")
    assert status == 400, response
    check_status(response, 400)


async def test_unknown_parameters_trailing_slashes_and_head_are_accepted(shared_stack: Stack, user: Client) -> None:
    """An unknown parameter is ignored, a trailing slash is accepted without a redirect, and HEAD returns the headers of GET.

    A request with a method that its address does not support gets 405 and the header Allow.
    """
    expected_list = await user.call("GET", REPOSITORIES)
    for path in (f"{REPOSITORIES}/", f"{REPOSITORIES}?pretty=true&x=1", f"{REPOSITORIES}/?timeout=32s"):
        assert (await user.call("GET", path))["items"] == expected_list["items"]
    assert (await user.call("GET", "/api/health/"))["database"] == "ok"
    async with user.request("HEAD", REPOSITORIES, allow_redirects=False) as response:
        assert response.status == 200
        assert await response.read() == b""
        assert response.content_type == "application/json"
    for method, path in (("PUT", DASHBOARDS), ("TRACE", REPOSITORIES), ("GET", f"{REPOSITORIES}/any/sync")):
        status, response_body, headers = await user.response(method, path)
        assert status == 405
        check_status(response_body, 405)
        assert headers["Allow"]


@pytest.mark.parametrize("name", ["Upper", "-dash", "a" * 64, "ü", "with space", "a/b", "..", "new", "sql", "x\u0000y"])
async def test_a_repository_with_an_invalid_name_is_refused(user: Client, name: str) -> None:
    """A repository whose name violates the rules of Kubernetes, or is reserved such as ``new`` and ``sql``, is refused."""
    status, response, _ = await user.response("POST", REPOSITORIES, json=repository(name, "odd"))
    assert status in (400, 422), response
    check_status(response, status)


@pytest.mark.parametrize("path", ["/etc", "..", "../..", "a/../../..", "./a", "", "a/./b", "/"])
async def test_a_folder_outside_the_permitted_ones_is_refused(user: Client, path: str) -> None:
    """A repository whose path is outside of the permitted folders, or is not normalized, is refused."""
    _, response, _ = await user.response("POST", REPOSITORIES, json=repository("outside", path))
    check_status(response, 422)
    assert [cause["field"] for cause in response["details"]["causes"]] == ["spec.local.path"], response


@pytest.fixture
def secret(shared_stack: Stack, tmp_path: Path) -> Iterator[None]:
    """Create a dashboard outside of the permitted folders, and links to it and to its folder inside of them."""
    dashboard_files.write(tmp_path / "secret.json", dashboard_files.classic("secret", "Secret"))
    linked = shared_stack.repositories / "linked"
    linked.symlink_to(tmp_path, target_is_directory=True)
    permitted_folder = shared_stack.repositories / "inside"
    permitted_folder.mkdir()
    (permitted_folder / "leak.json").symlink_to(tmp_path / "secret.json")
    (permitted_folder / "leak").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(permitted_folder / "pipe.json")
    dashboard_files.write(permitted_folder / "good.json", dashboard_files.classic("good", "Good"))
    yield
    linked.unlink()


@pytest.mark.usefixtures("secret")
async def test_links_out_of_the_permitted_folders_are_not_followed(user: Client) -> None:
    """A sync of a repository whose path leads through a link is refused with 424. A linked file and a pipe are errors of a sync."""
    for name, path in (("linked", "linked"), ("through", "inside/leak")):
        await user.call("POST", REPOSITORIES, status=201, json=repository(name, path))
        status, response, _ = await user.response("POST", f"{REPOSITORIES}/{name}/sync")
        assert status == 424
        check_status(response, 424)
        assert "permitted folder" in response["message"]
        health = (await user.call("GET", f"{REPOSITORIES}/{name}"))["status"]["health"]
        assert not health["healthy"]
        assert len(health["message"]) == 1
        await user.call("DELETE", f"{REPOSITORIES}/{name}")
    await user.create_repository("inside", "inside")
    status = await user.sync_and_wait("inside")
    # The three files are good.json, leak.json and pipe.json. Nothing in the linked folder ``leak`` is read.
    assert status["state"] == "error"
    assert counts(status, "dashboards") == {"total": 3, "create": 1, "write": 1, "error": 2}
    for name in ("leak.json", "pipe.json"):
        assert any(f"file: {name}," in error and "not followed or opened" in error for error in status["errors"]), name
    assert "secret" not in await user.dashboards()


async def test_an_impossible_sync_is_refused_immediately(user: Client) -> None:
    """A sync is refused with 422 if syncs are disabled, with 424 if the folder is missing, and with 404 if the repository is unknown."""
    await user.call("POST", REPOSITORIES, status=201, json=repository("disabled", "disabled", enabled=False))
    _, response, _ = await user.response("POST", f"{REPOSITORIES}/disabled/sync")
    check_status(response, 422)
    assert "not enabled" in response["message"]
    await user.create_repository("missing", "missing")
    _, response, _ = await user.response("POST", f"{REPOSITORIES}/missing/sync")
    check_status(response, 424)
    assert "not found" in response["message"]
    _, response, _ = await user.response("POST", f"{REPOSITORIES}/unknown/sync")
    check_status(response, 404)


async def test_one_repository_owns_the_instance(user: Client) -> None:
    """Only one of twelve concurrent requests creates a repository with the target ``instance``. The others get 422 with its name."""
    repositories = [repository(f"instance-{index}", "instance", target="instance") for index in range(12)]
    responses = await asyncio.gather(*(user.response("POST", REPOSITORIES, json=body) for body in repositories))
    (winner,) = [body["metadata"]["name"] for status, body, _ in responses if status == 201]
    for status, body, _ in responses:
        if status != 201:
            check_status(body, 422)
            assert winner in body["message"]
    await user.call("DELETE", f"{REPOSITORIES}/{winner}")


async def test_one_of_concurrent_creations_of_a_name_succeeds(user: Client) -> None:
    """One of twelve concurrent creations of a name gets 201, and the others 409."""
    responses = await asyncio.gather(*(user.response("POST", REPOSITORIES, json=repository("same", "same")) for _ in range(12)))
    assert sorted(status for status, _, _ in responses) == [201] + [409] * 11


async def test_concurrent_requests_for_a_sync_share_jobs(shared_stack: Stack, user: Client) -> None:
    """Forty concurrent requests for syncs of a repository are accepted and get fewer than forty jobs, all of which succeed."""
    dashboard_files.make_team(shared_stack.repositories / "popular")
    await user.create_repository("popular", "popular")
    jobs = await asyncio.gather(*(user.sync("popular") for _ in range(40)))
    names = {job["metadata"]["name"] for job in jobs}
    assert len(names) < 40
    for job in jobs:
        assert (await user.wait_for_job(job))["status"]["state"] == "success"


async def test_a_request_without_valid_credentials_is_refused(shared_stack: Stack) -> None:
    """Missing, wrong and unreadable credentials get 401, with a Status from the resource API and a message from the classic API."""
    async with Client(shared_stack.address, authorization=None) as anonymous:
        for method, path, field in (("GET", DASHBOARDS, "kind"), ("POST", "/api/ds/query", "message")):
            # ``YTpi`` is ``a:b`` in Base64, and no user has this login.
            for header in ({}, {"Authorization": "Basic !"}, {"Authorization": "Basic YTpi"}, {"Authorization": "Bearer x"}):
                status, response, headers = await anonymous.response(method, path, headers=header)
                assert status == 401, response
                assert field in response
                assert headers["WWW-Authenticate"].startswith("Basic")
