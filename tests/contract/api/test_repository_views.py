"""Views of repositories. Members with a role read the settings, and Admins read counts and lists of managed objects."""

from typing import Any

from tests.contract.api.conftest import Api
from tests.contract.api.test_sync_from_git import REPOSITORIES, create_repository, dashboard, run_sync
from tests.servers.git import GitServer, git

from dashwright.common.identity import Role

NAMESPACE = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default"
DASHBOARDS = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
API_VERSION = "provisioning.grafana.app/v0alpha1"


async def test_viewers_list_the_repositories(git_api: Api, git_server: GitServer) -> None:
    """A Viewer sees name, title, type, target, workflows and URL of each repository, and neither local paths nor tokens.

    A member without a role is rejected.
    """
    spec = {"title": "Local", "type": "local", "local": {"path": "local"}, "workflows": ["write"]}
    body = {"metadata": {"name": "mine"}, "spec": {**spec, "sync": {"enabled": False, "target": "instance"}}}
    assert (await git_api("POST", REPOSITORIES, body))[0] == 201
    await create_repository(git_api, git_server, token="a-secret")
    expected = [
        {"name": "mine", "title": "Local", "readOnly": False, "type": "local", "target": "instance", "workflows": ["write"]},
        {"name": "team", "title": "Team", "readOnly": True, "type": "githost", "target": "folder", "workflows": []},
    ]
    _, current = await git_api("GET", f"{REPOSITORIES}/team")
    expected[1] |= {member: current["spec"]["githost"][member] for member in ("branch", "url")}
    settings = {
        "allowImageRendering": True,
        "allowedTargets": ["folder", "instance"],
        "availableRepositoryTypes": ["githost", "github", "gitlab", "bitbucket", "git", "local"],
        "maxRepositories": 0,
    }
    response = await git_api("GET", f"{NAMESPACE}/settings", auth=await git_api.person("viewer", Role.VIEWER))
    assert response == (200, {"kind": "RepositoryViewList", "apiVersion": API_VERSION, "items": expected, **settings})
    status, error = await git_api("GET", f"{NAMESPACE}/settings", auth=await git_api.person("member", Role.NONE))
    assert (status, error["reason"]) == (403, "Forbidden")


async def test_lists_are_empty_without_repositories(api: Api) -> None:
    """Lists without items are empty and never null."""
    for path, kind in (("settings", "RepositoryViewList"), ("stats", "ResourceStats")):
        status, body = await api("GET", f"{NAMESPACE}/{path}")
        assert (status, body["kind"], body["items"]) == (200, kind, [])
    status, body = await api("GET", f"{REPOSITORIES}/none/resources")
    assert (status, body["reason"]) == (404, "NotFound")


async def test_managed_objects_are_listed(git_api: Api, git_server: GitServer) -> None:
    """Managed objects are listed by path with their hashes and counted by repository. Unmanaged objects are counted separately."""
    files: dict[str, str | bytes | None] = {"deep/b.json": dashboard("b", "B"), "a.json": dashboard("a", "A")}
    git_server.create_repository("team.git").commit(files)
    await create_repository(git_api, git_server)
    status, listing = await git_api("GET", f"{REPOSITORIES}/team/resources")
    assert status == 200
    assert listing["kind"] == "ResourceList"
    assert listing["metadata"] == {}
    assert listing["items"] == []
    assert (await run_sync(git_api))["state"] == "success"
    unmanaged = {"metadata": {"name": "own"}, "spec": {"title": "Own", "panels": []}}
    assert (await git_api("POST", DASHBOARDS.replace("v2alpha1", "v1beta1"), unmanaged))[0] == 201
    _, listing = await git_api("GET", f"{REPOSITORIES}/team/resources")
    items = {item["name"]: item for item in listing["items"] if item["resource"] == "dashboards"}
    paths = [item["path"] for item in listing["items"]]
    assert paths == sorted(paths)
    assert {name: (item["path"], item["title"]) for name, item in items.items()} == {"a": ("a.json", "A"), "b": ("deep/b.json", "B")}
    await _assert_as_stored(git_api, items["b"])
    # All items except the two dashboards are folders.
    folder_count = len(listing["items"]) - 2
    _, body = await git_api("GET", f"{NAMESPACE}/stats")
    counts = {(item.get("repository"), item["group"], item["resource"]): item["count"] for item in body["items"]}
    assert counts == {
        (None, "dashboard.grafana.app", "dashboards"): 1,
        ("team", "dashboard.grafana.app", "dashboards"): 2,
        ("team", "folder.grafana.app", "folders"): folder_count,
    }
    folders = {"group": "folder.grafana.app", "resource": "folders", "count": folder_count}
    dashboards = {"group": "dashboard.grafana.app", "resource": "dashboards"}
    assert body["instance"] == [{**dashboards, "count": 3}, folders]
    assert body["managed"] == [{"kind": "repo", "id": "team", "stats": [{**dashboards, "count": 2}, folders]}]
    assert body["unmanaged"] == [{**dashboards, "count": 1}]


async def test_quarantined_files_are_listed(git_api: Api, git_server: GitServer) -> None:
    """Quarantined files are listed with their first time and reported by each sync, and their objects are unchanged.

    The status of the repository names the synced commit. A file without a fault is no longer quarantined.
    """
    work_tree = git_server.create_repository("team.git")
    work_tree.commit({"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})
    await create_repository(git_api, git_server)
    await run_sync(git_api)
    second_commit = work_tree.commit({"a.json": "{", "b.json": dashboard("b", "B2"), "odd#.json": "{", "same.json": dashboard("b", "Same")})
    times_of_quarantine = set()
    for incremental in (True, False):
        job_status = await run_sync(git_api, incremental=incremental)
        assert (job_status["state"], job_status["message"], len(job_status["errors"])) == ("error", "completed with errors", 3)
        _, team = await git_api("GET", f"{REPOSITORIES}/team")
        assert (team["status"]["sync"]["lastRef"], team["status"]["observedGeneration"]) == (second_commit, 1)
        assert sorted(team["status"]["sync"]["message"]) == sorted(job_status["errors"])
        _, listing = await git_api("GET", f"{REPOSITORIES}/team/resources")
        quarantined = {item["path"]: item for item in listing["quarantined"]}
        assert list(quarantined) == ["a.json", "odd#.json", "same.json"]
        assert quarantined["a.json"]["hash"] == git(work_tree.folder, "rev-parse", "HEAD:a.json")
        assert "hash" not in quarantined["same.json"]
        assert quarantined["same.json"]["message"] == "duplicate resource name: b, same.json and b.json"
        assert {item["name"]: item["title"] for item in listing["items"] if item["resource"] == "dashboards"} == {"a": "A", "b": "B2"}
        times_of_quarantine.add(quarantined["a.json"]["since"])
    assert len(times_of_quarantine) == 1
    work_tree.commit({"a.json": dashboard("a", "A3"), "odd#.json": None, "b.json": None})
    assert (await run_sync(git_api, incremental=True))["state"] == "success"
    _, listing = await git_api("GET", f"{REPOSITORIES}/team/resources")
    assert listing["quarantined"] == []
    assert {item["path"]: item["title"] for item in listing["items"] if item["resource"] == "dashboards"} == {
        "a.json": "A3",
        "same.json": "Same",
    }


async def _assert_as_stored(api: Api, item: dict[str, Any]) -> None:
    """Check that an item of a list has the hash, folder and time of the stored dashboard."""
    _, current = await api("GET", f"{DASHBOARDS}/{item['name']}")
    annotations = current["metadata"]["annotations"]
    assert item["group"] == "dashboard.grafana.app"
    assert item["hash"] == annotations["grafana.app/sourceChecksum"]
    assert item["folder"] == annotations["grafana.app/folder"]
    written_at = await api.sql(
        "select (extract(epoch from coalesce(updated_at, created_at)) * 1000)::bigint from resource where name = $1", item["name"]
    )
    assert item["time"] == written_at


async def test_views_are_limited_to_the_namespace(git_api: Api, git_server: GitServer) -> None:
    """A view contains no repositories, counts or objects of other namespaces."""
    org_id = await git_api.organization("Other")
    other_admin = await git_api.person("stranger", Role.ADMIN, org_id=org_id)
    await create_repository(git_api, git_server)
    for path in ("settings", "stats", "repositories/team/resources"):
        assert (await git_api("GET", f"{NAMESPACE}/{path}", auth=other_admin))[0] == 403
    for path in ("settings", "stats"):
        assert (await git_api("GET", f"{NAMESPACE.replace('default', f'org-{org_id}')}/{path}", auth=other_admin))[1]["items"] == []


async def test_the_openapi_description_has_the_type_names(api: Api) -> None:
    """The OpenAPI description uses the type names of Grafana's API."""
    _, body = await api("GET", "/openapi.json")
    expected = {"RepositoryView", "RepositoryViewList", "ResourceCount", "ResourceStats", "ResourceListItem", "ResourceList"}
    assert expected <= set(body["components"]["schemas"])
