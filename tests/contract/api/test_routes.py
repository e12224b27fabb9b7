"""The routes of a gateway over real sockets, with a real database and the in-memory broker."""

import asyncio
import io
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from dashwright.api.http.errors import ErrorShape
from dashwright.api.http.routing import PUBLIC, Route
from dashwright.api.main import Gateway
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.kinds.registry import DASHBOARD, KINDS
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import Settings, load

PAGE = Path(__file__).parents[3] / "docs/reference/http.md"
AUDIT_PAGE = PAGE.with_name("accounts.md")
CREDENTIALS = {"Authorization": aiohttp.encode_basic_auth("admin", "admin")}
NAMESPACE = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default"
DASHBOARDS = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
FOLDERS = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return the usual settings of a gateway."""
    return load(http_port=0, data_dir=tmp_path, permitted_paths=str(tmp_path), secret_key="of tests only")


@pytest.fixture
def routes(settings: Settings, database: Database, broker: MemoryBroker) -> list[Route]:
    """Return the routes of a gateway that is not started."""
    return Gateway(settings, database, broker, Clock()).routes


@pytest.fixture
async def session(settings: Settings, database: Database, broker: MemoryBroker) -> AsyncIterator[aiohttp.ClientSession]:
    """Start a gateway and yield an HTTP client of it."""
    gateway = Gateway(settings, database, broker, Clock())
    address = await gateway.start()
    async with aiohttp.ClientSession(address) as client_session:
        yield client_session
    await gateway.stop()


async def call(session: aiohttp.ClientSession, method: str, path: str, **options: Any) -> tuple[int, Any]:
    """Send a request as the server admin. Return the status and the body of the response."""
    # aiohttp sets this content type itself if the option ``json`` is given.
    headers = CREDENTIALS if "json" in options else {**CREDENTIALS, "Content-Type": "application/json"}
    async with session.request(method, path, headers=headers, **options) as response:
        return response.status, await response.json()


def with_names(path: str) -> str:
    """Return the path of a route with a name for each parameter."""
    return re.sub(r"\{(\w+)(:rest)?\}", lambda match: "default" if match[1] == "namespace" else "nothing", path)


async def test_every_route_is_documented(routes: list[Route]) -> None:
    """docs/reference/http.md lists each method and path of the route table once, and no others."""
    documented = re.findall(r"^\| (GET|POST|PUT|PATCH|DELETE) \| `([^`]+)` \|", PAGE.read_text(), re.MULTILINE)
    # The page has one row for all versions of a group.
    served = {(route.method, re.sub(r"^(/apis/(?!authorization\.)[^/]+)/v\d\w*/", r"\1/{version}/", route.path)) for route in routes}
    assert sorted(documented) == sorted(served)


async def test_every_audited_action_is_documented(routes: list[Route]) -> None:
    """docs/reference/accounts.md lists the action of each audited route.

    On the page, ``.update`` after ``org.create`` means ``org.update``.
    """
    _, _, rows = AUDIT_PAGE.read_text().partition("### Actions of the audit")
    documented: list[str] = []
    for first_cell in re.findall(r"^\| (`[^|]+)\|", rows, re.MULTILINE):
        for action in re.findall(r"`([a-z.-]+)`", first_cell):
            if action.startswith("."):
                documented.append(documented[-1].rpartition(".")[0] + action)
            else:
                documented.append(action)
    assert not {route.audit for route in routes if route.audit} - set(documented)


async def test_every_route_names_its_operation(routes: list[Route]) -> None:
    """Each route has an operation, and no two share an id."""
    ids = [route.operation.id for route in routes if route.operation is not None]
    assert len(ids) == len(routes)
    assert len(set(ids)) == len(ids)


async def test_only_public_routes_need_no_credentials(routes: list[Route], session: aiohttp.ClientSession) -> None:
    """Every route that is not public is 401 without credentials, in the format of its API."""
    for route in routes:
        if route.required_access is PUBLIC:
            continue
        async with session.request(route.method, with_names(route.path)) as response:
            assert response.status == 401, route
            body = await response.json()
        assert body["message"] == "Unauthorized"
        # Among the formats of errors, only a Status has a code.
        if route.error_shape is ErrorShape.STATUS:
            assert "code" in body, route
        else:
            assert "code" not in body, route


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "delete" in kind.verbs], ids=lambda kind: kind.plural)
async def test_a_kind_without_objects_has_an_empty_list(session: aiohttp.ClientSession, kind: Any) -> None:
    """Every kind that can be changed has an empty list with a version, and 404 as a Status for an unknown name, in each of its versions."""
    for version in kind.versions:
        collection = f"/apis/{kind.group}/{version}/namespaces/default/{kind.plural}"
        status, body = await call(session, "GET", collection)
        assert status == 200
        assert body["items"] == []
        assert body["kind"] == f"{kind.kind}List"
        assert body["apiVersion"] == kind.api_version(version)
        assert body["metadata"]["resourceVersion"].isdigit()
        status, missing = await call(session, "GET", f"{collection}/nothing")
        assert (status, missing["reason"], missing["code"]) == (404, "NotFound", 404)
        assert missing["message"] == f'{kind.key} "nothing" not found'
        assert (await call(session, "DELETE", f"{collection}/nothing"))[0] == 404


async def test_a_dashboard_is_created_read_and_deleted(session: aiohttp.ClientSession) -> None:
    """A dashboard is created, read in every version, refused with 409 when it is created again, and deleted."""
    spec = {"title": "T", "panels": [{"id": 1}], "deep": {"number": 1.5, "text": "ü"}}
    body = {"metadata": {"name": "d", "labels": {"team": "a"}, "annotations": {"note": "n"}}, "spec": spec}
    status, created = await call(session, "POST", DASHBOARDS, json=body)
    assert (status, created["spec"], created["metadata"]["generation"]) == (201, spec, 1)
    labels = created["metadata"]["labels"]
    assert labels.pop("grafana.app/deprecatedInternalID").isdigit()
    assert labels == {"team": "a"}
    assert created["metadata"]["annotations"] == {"note": "n", "grafana.app/createdBy": "user:1"}
    for version in DASHBOARD.versions:
        status, response = await call(session, "GET", f"{DASHBOARDS.replace('v2alpha1', version)}/d")
        assert (status, response["apiVersion"]) == (200, f"dashboard.grafana.app/{version}")
        assert response["spec"]["title"] == "T"
        # The other versions convert the spec.
        if version in ("v2alpha1", "v0alpha1"):
            assert response["spec"] == spec
    status, conflict = await call(session, "POST", DASHBOARDS, json=body)
    assert (status, conflict["reason"]) == (409, "AlreadyExists")
    status, delete_response = await call(session, "DELETE", f"{DASHBOARDS}/d")
    assert (status, delete_response["status"], delete_response["details"]["uid"]) == (200, "Success", created["metadata"]["uid"])
    assert (await call(session, "GET", f"{DASHBOARDS}/d"))[0] == 404


async def test_numbers_of_a_spec_are_unchanged(session: aiohttp.ClientSession) -> None:
    """Integers beyond 64 bits and long fractions are returned with the same digits."""
    text = '{"metadata":{"name":"n"},"spec":{"title":"N","big":123456789012345678901234567890,"exact":0.1000000000000000055,"zero":-0.0}}'
    async with session.post(DASHBOARDS, data=text, headers={**CREDENTIALS, "Content-Type": "application/json"}) as response:
        assert response.status == 201
    async with session.get(f"{DASHBOARDS}/n", headers=CREDENTIALS) as response:
        body = await response.text()
    for number in ("123456789012345678901234567890", "0.1000000000000000055", "-0.0"):
        assert number in body


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"apiVersion": "dashboard.grafana.app/v9"}, 400, "does not match the path"),
        ({"kind": "Folder"}, 400, "does not match the path"),
        ({"metadata": {"name": "a", "namespace": "org-2"}}, 400, "must agree"),
        ({"metadata": {"name": "a", "resourceVersion": "5"}}, 400, "resourceVersion should not be set"),
        ({"metadata": {}}, 422, "name or generateName is required"),
        ({"metadata": {"name": "a/b"}}, 400, "illegal characters"),
        ({"metadata": {"name": "a" * 41}}, 400, "uid too long, max 40 characters"),
        ({"metadata": {"name": "a", "labels": {"x": 1}}}, 400, "must map text to text"),
        ({"metadata": []}, 400, "metadata must be an object"),
        ({"spec": {}}, 400, "title cannot be empty"),
        ({"spec": {"title": "a" * 5001}}, 400, "5 000 characters"),
        ({"spec": None}, 422, "spec must be an object"),
        ({"metadata": {"name": "a", "annotations": {"grafana.app/folder": "none"}}}, 404, 'folders.folder.grafana.app "none" not found'),
        ({"metadata": {"name": "a", "annotations": {"grafana.app/message": "a" * 501}}}, 400, "message too long"),
    ],
)
async def test_an_invalid_dashboard_is_refused_with_the_reason(
    session: aiohttp.ClientSession, change: Any, status: int, message: str
) -> None:
    """An invalid dashboard is refused with a Status that has the reason, and nothing is stored."""
    actual_status, error = await call(session, "POST", DASHBOARDS, json={"metadata": {"name": "a"}, "spec": {"title": "T"}} | change)
    assert actual_status == status, error
    assert message in error["message"], error
    assert (await call(session, "GET", DASHBOARDS))[1]["items"] == []


async def test_a_generated_name_has_its_prefix(session: aiohttp.ClientSession) -> None:
    """Each object with generateName has a unique name."""
    body = {"metadata": {"generateName": "tmp-"}, "spec": {"title": "T"}}
    names = {(await call(session, "POST", DASHBOARDS, json=body))[1]["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("tmp-") for name in names)


async def test_lists_are_complete_or_paged(session: aiohttp.ClientSession) -> None:
    """A list without a limit is complete. A list with a limit has pages, and each page but the last has the remaining count."""
    names = [f"d{index:03}" for index in range(230)]
    # Concurrent creates would wait for one lock, and the last ones too long on a busy machine.
    for name in names:
        body = {"metadata": {"name": name}, "spec": {"title": name}}
        assert (await call(session, "POST", DASHBOARDS, json=body))[0] == 201
    complete_list = (await call(session, "GET", DASHBOARDS))[1]
    assert [item["metadata"]["name"] for item in complete_list["items"]] == names
    page = (await call(session, "GET", f"{DASHBOARDS}?limit=100"))[1]
    assert (len(page["items"]), page["metadata"]["remainingItemCount"]) == (100, 130)
    second_page = (await call(session, "GET", f"{DASHBOARDS}?limit=500&continue={page['metadata']['continue']}"))[1]
    assert [item["metadata"]["name"] for item in second_page["items"]] == names[100:]
    assert "continue" not in second_page["metadata"]


@pytest.mark.parametrize("query", ["limit=-1", "limit=x", "continue=zzz", "continue=e30=", "labelSelector=a%3Db%3Dc", "fieldSelector=a"])
async def test_invalid_list_parameters_are_rejected(session: aiohttp.ClientSession, query: str) -> None:
    """A list with an invalid limit, token or selector is 400. The token ``e30=`` is an empty JSON object in base64."""
    assert (await call(session, "GET", f"{DASHBOARDS}?{query}"))[0] == 400


async def test_a_folder_with_dashboards_cannot_be_deleted(session: aiohttp.ClientSession) -> None:
    """A folder with a dashboard cannot be deleted. An empty folder can be deleted."""
    assert (await call(session, "POST", FOLDERS, json={"metadata": {"name": "f"}, "spec": {"title": "F"}}))[0] == 201
    body = {"metadata": {"name": "d", "annotations": {"grafana.app/folder": "f"}}, "spec": {"title": "T"}}
    assert (await call(session, "POST", DASHBOARDS, json=body))[0] == 201
    status, error = await call(session, "DELETE", f"{FOLDERS}/f")
    assert status == 400
    assert "not empty" in error["message"]
    await call(session, "DELETE", f"{DASHBOARDS}/d")
    assert (await call(session, "DELETE", f"{FOLDERS}/f"))[0] == 200


async def test_only_one_instance_repository_is_created(session: aiohttp.ClientSession) -> None:
    """One of two concurrent creates with the target ``instance`` succeeds, and the other one is refused with the reason."""

    def body(name: str) -> Any:
        """Return the manifest of a repository that owns the instance."""
        sync = {"enabled": True, "target": "instance"}
        return {
            "metadata": {"name": name},
            "spec": {"title": name, "workflows": [], "type": "local", "local": {"path": name}, "sync": sync},
        }

    responses = await asyncio.gather(*(call(session, "POST", f"{NAMESPACE}/repositories", json=body(name)) for name in ("one", "two")))
    assert sorted(status for status, _ in responses) == [201, 422]
    (error,) = [response for status, response in responses if status == 422]
    assert "Another repository is already targeting root" in error["message"]


async def test_a_repository_has_its_status_from_the_start(session: aiohttp.ClientSession) -> None:
    """The response to a create has every member of the repository's status. The status subresource returns the whole object."""
    sync = {"enabled": True, "target": "folder"}
    spec = {"title": "R", "workflows": [], "type": "local", "local": {"path": "r"}, "sync": sync}
    created = (await call(session, "POST", f"{NAMESPACE}/repositories", json={"metadata": {"name": "r"}, "spec": spec}))[1]
    assert created["status"] == {
        "observedGeneration": 0,
        "health": {"healthy": False},
        "sync": {"state": "", "message": []},
        "webhook": {},
        "token": {},
        "quota": {"maxRepositories": 0},
    }
    assert await call(session, "GET", f"{NAMESPACE}/repositories/r/status") == (200, created)


async def test_an_object_larger_than_the_limit_is_refused(session: aiohttp.ClientSession) -> None:
    """A body beyond the limit is 413 with a reason, not a broken connection."""
    status, error = await call(session, "POST", DASHBOARDS, data=io.BytesIO(b" " * (5 * 1024 * 1024 + 1)))
    assert (status, error["reason"]) == (413, "RequestEntityTooLarge")


#: A text that PostgreSQL cannot store.
NUL = "a\u0000b"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (DASHBOARDS, {"metadata": {"name": "a"}, "spec": {"title": NUL}}),
        (DASHBOARDS, {"metadata": {"name": "a", "labels": {"x": NUL}}, "spec": {"title": "T"}}),
        (DASHBOARDS, {"metadata": {"name": "a", "annotations": {"grafana.app/folder": NUL}}, "spec": {"title": "T"}}),
        (DASHBOARDS, {"metadata": {"name": "a", "annotations": {"grafana.app/message": NUL}}, "spec": {"title": "T"}}),
        (DASHBOARDS, {"metadata": {"name": NUL}, "spec": {"title": "T"}}),
        (f"{NAMESPACE}/repositories", {"metadata": {"name": "r"}, "spec": {"title": NUL}}),
        (f"{NAMESPACE}/jobs", {"action": "pr", "repository": NUL, "pr": {"ref": NUL}}),
    ],
    ids=["title", "label", "folder", "message", "name", "repository", "job"],
)
async def test_a_text_that_cannot_be_stored_is_refused(session: aiohttp.ClientSession, path: str, body: Any) -> None:
    """A NUL character in a text that the database stores is 400, never an internal error."""
    assert (await call(session, "POST", path, json=body))[0] == 400


async def test_a_lone_surrogate_is_refused(session: aiohttp.ClientSession) -> None:
    """A body with half of a surrogate pair, which is not a character, is 400."""
    text = r'{"metadata":{"name":"a","annotations":{"x":"\ud800"}},"spec":{"title":"T"}}'
    assert (await call(session, "POST", DASHBOARDS, data=text))[0] == 400


async def test_annotations_are_bounded(session: aiohttp.ClientSession) -> None:
    """More than 256 Ki characters of annotations are 413."""
    body = {"metadata": {"name": "a", "annotations": {"x": "a" * 300_000}}, "spec": {"title": "T"}}
    assert (await call(session, "POST", DASHBOARDS, json=body))[0] == 413


async def test_a_delete_checks_its_preconditions(session: aiohttp.ClientSession) -> None:
    """A delete whose preconditions have another uid or resourceVersion is 409. With the right ones, it succeeds."""
    created = (await call(session, "POST", DASHBOARDS, json={"metadata": {"name": "d"}, "spec": {"title": "T"}}))[1]["metadata"]
    for wrong_precondition in ({"uid": "another"}, {"resourceVersion": "999999"}):
        status, error = await call(session, "DELETE", f"{DASHBOARDS}/d", json={"preconditions": wrong_precondition})
        assert (status, error["reason"]) == (409, "Conflict")
    preconditions = {"uid": created["uid"], "resourceVersion": created["resourceVersion"]}
    assert (await call(session, "DELETE", f"{DASHBOARDS}/d", json={"preconditions": preconditions}))[0] == 200


async def test_the_collection_of_jobs_accepts_no_list(session: aiohttp.ClientSession) -> None:
    """The collection of jobs accepts one Job; a list of jobs is 400."""
    status, error = await call(session, "POST", f"{NAMESPACE}/jobs", json=[{"action": "sync", "repository": "r", "sync": {}}] * 2)
    assert status == 400
    assert "one Job" in error["message"]


async def test_deleting_a_repository_cancels_its_jobs(session: aiohttp.ClientSession) -> None:
    """The pending jobs of a deleted repository end with the reason."""
    sync = {"enabled": True, "target": "folder"}
    spec = {"title": "R", "workflows": [], "type": "local", "local": {"path": "r"}, "sync": sync}
    await call(session, "POST", f"{NAMESPACE}/repositories", json={"metadata": {"name": "r"}, "spec": spec})
    status, job = await call(session, "POST", f"{NAMESPACE}/repositories/r/sync")
    assert status == 202
    await call(session, "DELETE", f"{NAMESPACE}/repositories/r")
    ended_job = (await call(session, "GET", f"{NAMESPACE}/jobs/{job['metadata']['name']}"))[1]
    assert (ended_job["status"]["state"], ended_job["status"]["message"]) == ("error", "the repository was deleted")


async def test_a_repository_does_not_inherit_the_jobs_of_its_name(session: aiohttp.ClientSession) -> None:
    """A new repository deletes the jobs of a deleted one with its name. Until then, they can be read by their own names."""
    sync = {"enabled": True, "target": "folder"}
    body = {"metadata": {"name": "r"}, "spec": {"title": "R", "workflows": [], "type": "local", "local": {"path": "r"}, "sync": sync}}
    repository = f"{NAMESPACE}/repositories/r"

    async def create_repository_and_job() -> Any:
        """Create the repository and a sync job of it. Return the metadata of the job."""
        await call(session, "POST", f"{NAMESPACE}/repositories", json=body)
        job = (await call(session, "POST", f"{repository}/sync"))[1]["metadata"]
        assert (await call(session, "GET", f"{repository}/jobs/{job['uid']}"))[0] == 200
        return job

    before = await create_repository_and_job()
    await call(session, "DELETE", repository)
    assert (await call(session, "GET", f"{repository}/jobs/{before['uid']}"))[0] == 404
    assert (await call(session, "GET", f"{NAMESPACE}/jobs/{before['name']}"))[0] == 200
    after = await create_repository_and_job()
    listed = (await call(session, "GET", f"{repository}/jobs"))[1]["items"]
    assert [job["metadata"]["uid"] for job in listed] == [after["uid"]]
    selected = (await call(session, "GET", f"{NAMESPACE}/jobs?labelSelector=repository=r"))[1]["items"]
    assert [job["metadata"]["uid"] for job in selected] == [after["uid"]]
    assert (await call(session, "GET", f"{repository}/jobs/{before['uid']}"))[0] == 404
    assert (await call(session, "GET", f"{NAMESPACE}/jobs/{before['name']}"))[0] == 404
