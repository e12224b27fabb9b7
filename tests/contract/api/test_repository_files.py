"""The endpoint for files of repositories. The gateway authorizes a request, calls the jobs worker, and writes the audit log."""

import asyncio
import io
import json
import time
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest
from tests.contract.api.conftest import ADMIN, Api
from tests.contract.api.repositories import REPOSITORIES, FakeJobsWorker, make_local_repository, record_health, touch
from tests.signer import SIGNER

from dashwright.api.workers import repository_client
from dashwright.common.errors import AlreadyExists, Conflict
from dashwright.common.identity import Role
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import RpcServer

FILES = f"{REPOSITORIES}/team/files"
DASHBOARD = {"title": "T", "panels": []}


@pytest.fixture
async def worker(api: Api, broker: MemoryBroker) -> AsyncIterator[FakeJobsWorker]:
    """Start a fake jobs worker for a repository named team."""
    await make_local_repository(api, "team", api.data, "write")
    fake_worker = FakeJobsWorker()
    server = RpcServer(broker, broker.topology.repositories, fake_worker.respond, SIGNER, prefetch=8)
    await server.start()
    yield fake_worker
    await server.stop(drain=0)


async def create_folder_editor(api: Api, name: str, login: str) -> str:
    """Create a folder, and return credentials of a new user without a role who may edit its contents. Other users cannot see it."""
    assert (await api("POST", "/api/folders", {"uid": name, "title": name}))[0] == 200
    auth = await api.person(login, Role.NONE)
    user_id = await api.sql("""select id from "user" where login = $1""", login)
    body = {"permissions": [{"userId": user_id, "permission": "Edit"}]}
    assert (await api("POST", f"/api/access-control/folders/{name}", body))[0] == 200
    return auth


async def read_audit_events(api: Api) -> list[tuple[str, str, str, dict[str, Any]]]:
    """Return action, outcome, object and details of each audit event about files."""
    async with api.database.connection() as connection:
        rows = await connection.fetch(
            "select action, outcome, object, details from audit_event where action like 'repository.files%' order by id"
        )
    return [(row["action"], row["outcome"], row["object"], json.loads(row["details"])) for row in rows]


async def test_listing_files_needs_repository_access(api: Api, worker: FakeJobsWorker) -> None:
    """A caller who may read repositories lists all files, or those below a directory. Others are rejected before the worker is called."""
    for path, directory in (("", ""), ("/", ""), ("/deep/er/", "deep/er/")):
        status, body = await api("GET", f"{FILES}{path}", params={"ref": "other"})
        assert (status, body["kind"], body["items"][0]["path"]) == (200, "FileList", "a.json")
        assert worker.requests.pop() == {"call": "files", "namespace": "default", "name": "team", "path": directory, "ref": "other"}
    editor = await api.person("editor", Role.EDITOR)
    for path in ("", "/", "/deep/"):
        assert (await api("GET", f"{FILES}{path}", auth=editor))[0] == 403
    assert worker.requests == []


async def test_reading_a_file_needs_read_access_to_its_objects(api: Api, worker: FakeJobsWorker) -> None:
    """A caller needs read access to every object of a file. The error for a caller without it does not name the objects."""
    folder_editor = await create_folder_editor(api, "closed", "ina")
    viewer = await api.person("vic", Role.VIEWER)
    worker.touches = [touch("get", "mine", "closed")]
    status, body = await api("GET", f"{FILES}/a.json", auth=folder_editor)
    assert (status, body["kind"], body["resource"]["file"]) == (200, "ResourceWrapper", {"spec": {"title": "T"}})
    status, error = await api("GET", f"{FILES}/a.json", auth=viewer)
    assert (status, error["message"]) == (403, "'a.json' is forbidden: vic needs dashboards:read on the objects in it")
    worker.touches.append(touch("get", "another"))
    assert (await api("GET", f"{FILES}/a.json", auth=folder_editor))[0] == 403
    assert (await api("GET", f"{FILES}/a.json", auth=ADMIN))[0] == 200


async def test_a_file_without_objects_needs_list_access(api: Api, worker: FakeJobsWorker) -> None:
    """A file without objects can be read by callers who may list the files."""
    assert (await api("GET", f"{FILES}/invalid.json", auth=await api.person("editor", Role.EDITOR)))[0] == 403
    assert (await api("GET", f"{FILES}/invalid.json"))[0] == 200


async def test_a_change_is_authorized_before_it_is_made(api: Api, worker: FakeJobsWorker) -> None:
    """The worker makes exactly the change that it planned and that was authorized: the same content, at the same commit."""
    worker.touches = [touch("update", "a")]
    query = {"ref": "side", "message": "Why", "skipDryRun": "true"}
    status, body = await api("PUT", f"{FILES}/deep/a.json", params=query, data=b"title: T\n", headers={"Content-Type": "text/nonsense"})
    assert (status, body["kind"], body["ref"]) == (200, "ResourceWrapper", "c")
    planned, executed = worker.requests
    planned_at, executed_at = planned["author"].pop("at"), executed["author"].pop("at")
    assert planned_at == pytest.approx(time.time(), abs=60)
    assert executed_at == planned_at
    author = {"name": "admin", "email": "admin@localhost", "uid": "user:1"}
    target = {"call": "change", "namespace": "default", "name": "team", "method": "update", "path": "deep/a.json", "ref": "side"}
    options = {"originalPath": "", "message": "Why", "author": author}
    assert planned == {**target, **options, "content": "title: T\n", "base": ""}
    assert executed == {**target, **options, "content": "title: T\n as written", "base": "b1"}
    result = {"path": "deep/a.json", "ref": "side", "commit": "c"}
    assert await read_audit_events(api) == [("repository.files.update", "ok", "repository:team", result)]


@pytest.mark.parametrize(("method", "verb"), [("POST", "create"), ("PUT", "update"), ("DELETE", "delete")])
async def test_a_change_needs_the_rights_to_all_objects(api: Api, worker: FakeJobsWorker, method: str, verb: str) -> None:
    """A caller with rights in one folder only is refused if one object is elsewhere. For a Viewer, the worker does not even plan."""
    folder_editor = await create_folder_editor(api, "closed", "ina")
    body = None if method == "DELETE" else DASHBOARD
    worker.touches = [touch(verb, "a", "closed"), touch(verb, "b")]
    assert (await api(method, f"{FILES}/a.json", body, auth=folder_editor))[0] == 403
    assert (len(worker.requests), worker.changes) == (1, [])
    worker.touches.pop()
    assert (await api(method, f"{FILES}/a.json", body, auth=folder_editor))[0] == 200
    worker.requests.clear()
    assert (await api(method, f"{FILES}/a.json", body, auth=await api.person("vic", Role.VIEWER)))[0] == 403
    assert worker.requests == []


@pytest.mark.parametrize(("method", "verb"), [("POST", "create"), ("PUT", "update"), ("DELETE", "delete")])
async def test_a_dry_run_of_a_change_is_authorized_and_returns_the_plan(api: Api, worker: FakeJobsWorker, method: str, verb: str) -> None:
    """The worker only plans the change, and the dry run requires the rights that the change itself would require."""
    folder_editor = await create_folder_editor(api, "closed", "ina")
    body = None if method == "DELETE" else DASHBOARD
    worker.touches = [touch(verb, "a", "closed"), touch(verb, "b")]
    assert (await api(method, f"{FILES}/a.json?dryRun=All", body, auth=folder_editor))[0] == 403
    worker.touches.pop()
    status, response = await api(method, f"{FILES}/a.json?dryRun=All", body, auth=folder_editor)
    assert (status, response["kind"], response["ref"]) == (200, "ResourceWrapper", "c")
    assert (len(worker.requests), worker.changes, await read_audit_events(api)) == (2, [], [])


async def test_a_change_requires_the_right_to_read(api: Api, worker: FakeJobsWorker) -> None:
    """A change also requires the right to read, because the response contains the object."""
    writer = await api.person("writer", Role.NONE, ("dashboards:write", "*"), ("dashboards:delete", "*"))
    for method, verb, body in (("PUT", "update", DASHBOARD), ("DELETE", "delete", None)):
        worker.touches = [touch(verb, "a")]
        status, error = await api(method, f"{FILES}/a.json", body, auth=writer)
        assert status == 403
        assert "dashboards:read" in error["message"]
        assert worker.changes == []


async def test_a_file_is_moved(api: Api, worker: FakeJobsWorker) -> None:
    """A POST with ``originalPath`` moves a file, with or without new content. A PUT with ``originalPath`` is 400."""
    # The fake worker adds "as written" to the content that it plans.
    for content, planned_content, executed_content in ((b"", None, None), (b"{}", "{}", "{} as written")):
        assert (await api("POST", f"{FILES}/new/a.json", params={"originalPath": "old/a.json"}, data=content))[0] == 200
        planned, executed = worker.requests
        assert (planned["method"], planned["path"], planned["originalPath"]) == ("move", "new/a.json", "old/a.json")
        assert (planned.get("content"), executed.get("content")) == (planned_content, executed_content)
        worker.requests.clear()
    assert (await api("PUT", f"{FILES}/a.json", DASHBOARD, params={"originalPath": "b.json"}))[0] == 400
    assert (await api("POST", f"{FILES}/a.json", params={"originalPath": "../b.json"}))[0] == 400
    assert worker.requests == []


async def test_directories_are_created_and_deleted(api: Api, worker: FakeJobsWorker) -> None:
    """A directory, whose path ends with a slash, can be created and deleted, but not replaced."""
    assert (await api("POST", f"{FILES}/deep/"))[0] == 200
    assert (await api("DELETE", f"{FILES}/deep/"))[0] == 200
    assert [(request["method"], request["path"]) for request in worker.changes] == [("create", "deep/"), ("delete", "deep/")]
    async with api.session.put(f"{FILES}/deep/", data=b"{}", headers={"Authorization": ADMIN}) as response:
        assert (response.status, response.headers["Allow"]) == (405, "DELETE, GET, HEAD, POST")


async def test_a_conflicting_change_is_planned_again(api: Api, worker: FakeJobsWorker) -> None:
    """After a conflict a change is planned and authorized again, three times at most. An existing file is reported immediately."""
    worker.faults = [Conflict("the branch has moved"), Conflict("the branch has moved")]
    assert (await api("PUT", f"{FILES}/a.json", DASHBOARD))[0] == 200
    # Each change follows a plan, whose base has the number of the request.
    assert [request["base"] for request in worker.changes] == ["b1", "b3", "b5"]
    worker.faults = [Conflict("the branch has moved")] * 3
    status, error = await api("PUT", f"{FILES}/a.json", DASHBOARD)
    assert status == 409
    assert "try again" in error["message"]
    worker.requests.clear()
    worker.faults = [AlreadyExists("a.json is there")]
    assert (await api("POST", f"{FILES}/a.json", DASHBOARD))[1]["reason"] == "AlreadyExists"
    assert len(worker.changes) == 1


async def test_invalid_content_is_rejected(api: Api, worker: FakeJobsWorker) -> None:
    """More than 5 MiB, binary content, an empty body and a message that is too long are rejected."""
    for method in ("POST", "PUT"):
        assert (await api(method, f"{FILES}/a.json", data=io.BytesIO(b" " * (5 * 1024 * 1024 + 1))))[0] == 413
        assert (await api(method, f"{FILES}/a.json", data=b'{"title": "\xff"}'))[0] == 400
        status, error = await api(method, f"{FILES}/a.json")
        assert status == 400
        assert "the body is empty" in error["message"]
        assert (await api(method, f"{FILES}/a.json", data=b"{}", params={"message": "m" * 10_001}))[0] == 400
    assert worker.requests == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../../a.json", "traversal"),
        ("deep/../../a.json", "traversal"),
        ("%2e%2e/a.json", "traversal"),
        ("deep%2F..%2Fa.json", "traversal"),
        ("./a.json", "traversal"),
        ("deep//a.json", "double slashes"),
        (".git/config", "hidden"),
        ("deep/%2Egit/a.json", "hidden"),
        ("a%252eb.json", "%2e"),
        ("a%252Fb.json", "%2F"),
        ("%252e%252e/a.json", "%2e"),
        ("a%25252e.json", "%252e"),
        ("a%0Ab.json", "invalid characters"),
        ("a%E2%80%AEb.json", "invalid characters"),  # U+202E, which reverses the direction of the text after it
        ("a%5Cb.json", "invalid characters"),
    ],
)
async def test_a_path_is_checked_as_it_was_sent(api: Api, worker: FakeJobsWorker, path: str, message: str) -> None:
    """No component normalizes an unsafe path into a safe one, and the worker is not called."""
    for method in ("GET", "POST", "PUT", "DELETE"):
        status, body = await send_raw(api, method, f"{FILES}/{path}")
        assert status == 400, (method, body)
        assert message in body["message"], (method, body)
    assert worker.requests == []


@pytest.mark.parametrize("name", ["ä b", "%20", *"()&+',#=;@!~[]{}<>:\"|?*`$^%", "\N{ROCKET}"])
async def test_a_file_with_any_printable_name_is_reached(api: Api, worker: FakeJobsWorker, name: str) -> None:
    """Names are percent-encoded once in the path, or in the query for a move."""
    for method in ("GET", "PUT", "DELETE"):
        assert (await send_raw(api, method, f"{FILES}/deep/{quote(name, safe='')}.json"))[0] == 200
        assert worker.requests.pop()["path"] == f"deep/{name}.json"
    assert (await send_raw(api, "POST", f"{FILES}/new.json?originalPath={quote(f'{name}/a.json', safe='')}"))[0] == 200
    assert worker.requests.pop()["originalPath"] == f"{name}/a.json"


async def send_raw(api: Api, method: str, path: str) -> tuple[int, Any]:
    """Send a request by hand, because HTTP clients normalize paths."""
    reader, writer = await asyncio.open_connection(api.address.host, api.address.port)
    body = "" if method == "GET" else "{}"
    request_head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {ADMIN}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(request_head.encode() + body.encode())
    response = await reader.read()
    writer.close()
    await writer.wait_closed()
    status, _, remainder = response.partition(b"\r\n")
    return int(status.split()[1]), json.loads(remainder.partition(b"\r\n\r\n")[2])


async def test_a_repository_that_is_being_deleted_is_not_changed(api: Api, worker: FakeJobsWorker) -> None:
    """A change of a repository that waits for another client's finalizer is 409. Its files can still be read."""
    await api.sql("update resource set finalizers = '{x}' where name = 'team'")
    assert (await api("DELETE", f"{REPOSITORIES}/team"))[0] == 200
    await record_health(api, "team", healthy=True)
    for method in ("POST", "PUT", "DELETE"):
        body = None if method == "DELETE" else DASHBOARD
        status, error = await api(method, f"{FILES}/a.json", body)
        assert status == 409
        assert "marked for deletion" in error["message"]
    assert (await api("GET", f"{FILES}/a.json"))[0] == 200


async def test_a_repository_that_cannot_be_used_is_reported(api: Api, worker: FakeJobsWorker) -> None:
    """A request is 404 for an unknown repository and 424 for an unhealthy one. The worker is not called.

    ``record_health`` records the reason "it is so".
    """
    assert (await api("GET", f"{REPOSITORIES}/none/files/a.json"))[0] == 404
    assert (await api("PUT", f"{REPOSITORIES}/none/files/a.json", DASHBOARD))[0] == 404
    await record_health(api, "team", healthy=False)
    for method, path in (("GET", ""), ("GET", "/a.json"), ("DELETE", "/a.json")):
        status, error = await api(method, f"{FILES}{path}")
        assert status == 424
        assert "it is so" in error["message"]
    assert worker.requests == []


async def test_the_reason_why_a_repository_is_unhealthy_requires_the_right_to_read(api: Api, worker: FakeJobsWorker) -> None:
    """The reason why a repository is unhealthy contains addresses and folders, so it is shown only to callers who may read repositories."""
    await record_health(api, "team", healthy=False)
    editor, folder_editor = await api.person("editor", Role.EDITOR), await create_folder_editor(api, "closed", "ina")
    without_reason = "The repository configuration is not healthy"
    # ``record_health`` records the reason "it is so".
    with_reason = f"{without_reason}: it is so"
    for auth, message in ((editor, with_reason), (folder_editor, without_reason)):
        for method, body in (("GET", None), ("PUT", DASHBOARD)):
            status, error = await api(method, f"{FILES}/a.json", body, auth=auth)
            assert (status, error["message"]) == (424, message)


async def test_a_worker_that_takes_too_long_is_a_timeout(api: Api, worker: FakeJobsWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request is 504 if the worker does not respond in time."""
    monkeypatch.setattr(repository_client, "TIMEOUT_SECONDS", 0.05)
    worker.is_silent = True
    assert (await api("GET", f"{FILES}/a.json"))[0] == 504


async def test_commits_have_the_caller_as_author(api: Api, worker: FakeJobsWorker) -> None:
    """The author of a commit has the user's name and e-mail. Without them, the author has the login and an undeliverable address."""
    anna = await api.person("anna", Role.EDITOR)
    await api.sql("""update "user" set name = ' Anna <Ä>. ', email = 'anna@example.org' where login = 'anna'""")
    _, bearer = await api.token(await api.account("robot", Role.EDITOR), "t")
    bert = await api.person("bert", Role.EDITOR)
    assert (await api("DELETE", f"{FILES}/a.json", auth=anna))[0] == 200
    author = worker.changes[-1]["author"]
    assert (author["name"], author["email"]) == ("Anna Ä", "anna@example.org")
    # Neither the user bert nor the service account has a name and an e-mail address.
    for auth, login, prefix in ((bert, "bert", "user-"), (f"Bearer {bearer}", "robot", "service-account-")):
        assert (await api("DELETE", f"{FILES}/a.json", auth=auth))[0] == 200
        author = worker.changes[-1]["author"]
        assert login in author["name"]
        assert author["email"].startswith(prefix)
        assert author["email"].endswith(".invalid")
