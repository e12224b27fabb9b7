"""Repositories in the resource API. Tokens are stored sealed, deletes run finalizers, and some members cannot change."""

import json
from typing import Any

import pytest
from tests.contract.api.conftest import ADMIN, Api
from tests.contract.api.test_response_formats import FOLDERS

REPOSITORIES = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
DASHBOARDS = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
TOKEN = "a-token-that-is-never-shown"


def githost(**block: Any) -> dict[str, Any]:
    """Return the spec of a repository on a git host."""
    sync = {"enabled": True, "target": "folder"}
    return {"title": "Team", "type": "githost", "workflows": [], "sync": sync, "githost": {"url": "https://git.example/team.git", **block}}


def manifest(name: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """Return the manifest of a repository."""
    return {"metadata": {"name": name, **metadata}, "spec": spec}


async def create_repository(api: Api, name: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """Create a repository and return it as the response has it."""
    status, body = await api("POST", REPOSITORIES, manifest(name, spec, **metadata))
    assert status == 201, body
    return dict(body)


async def test_a_token_is_stored_sealed(api: Api) -> None:
    """No response has a token, and rows have it only sealed."""
    created = await create_repository(api, "team", githost(token=TOKEN))
    sealed = created["spec"]["githost"]["encryptedToken"]
    assert "token" not in created["spec"]["githost"]
    for path in (f"{REPOSITORIES}/team", REPOSITORIES):
        _, body = await api("GET", path)
        assert TOKEN not in json.dumps(body)
        assert sealed in json.dumps(body)
    async with api.database.connection() as connection:
        for table in ("resource", "resource_history", "change", "audit_event"):
            rows = await connection.fetch(f"select t::text as row from {table} t")
            assert not [row for row in rows if TOKEN in row["row"]], table


async def test_a_missing_token_is_kept(api: Api) -> None:
    """An update with a missing or equal token keeps the token and makes no generation. Another token replaces it."""
    created = await create_repository(api, "team", githost(token=TOKEN))
    sealed = created["spec"]["githost"]["encryptedToken"]
    for block in ({}, {"token": ""}, {"token": TOKEN}, {"encryptedToken": sealed}):
        status, body = await api("PUT", f"{REPOSITORIES}/team", manifest("team", githost(**block)))
        assert (status, body["spec"]["githost"]["encryptedToken"], body["metadata"]["generation"]) == (200, sealed, 1)
    _, body = await api("PUT", f"{REPOSITORIES}/team", manifest("team", githost(token="another")))
    assert body["spec"]["githost"]["encryptedToken"] != sealed
    assert body["metadata"]["generation"] == 2


@pytest.mark.parametrize("url", ["https://elsewhere.example/team.git", "http://git.example/team.git", "https://git.example:444/team.git"])
async def test_a_token_is_not_kept_for_another_host(api: Api, url: str) -> None:
    """A change of the URL to another host, scheme or port removes the token. A change of the path keeps it."""
    await create_repository(api, "team", githost(token=TOKEN))
    _, body = await api("PUT", f"{REPOSITORIES}/team", manifest("team", githost(url="https://git.example/other.git")))
    assert "encryptedToken" in body["spec"]["githost"]
    headers = {"Authorization": ADMIN}
    async with api.session.put(f"{REPOSITORIES}/team", json=manifest("team", githost(url=url)), headers=headers) as response:
        assert "token was deleted" in response.headers["Warning"]
        assert "encryptedToken" not in (await response.json())["spec"]["githost"]


async def test_a_sealed_token_of_another_repository_is_refused(api: Api) -> None:
    """A sealed token is refused if it was sealed for another repository."""
    other_token = (await create_repository(api, "other", githost(token=TOKEN)))["spec"]["githost"]["encryptedToken"]
    status, body = await api("POST", REPOSITORIES, manifest("team", githost(encryptedToken=other_token)))
    assert (status, body["details"]["causes"][0]["field"]) == (422, "spec.githost.encryptedToken")


async def test_a_copied_token_is_not_kept_for_another_host(api: Api) -> None:
    """A patch that copies the token to a second spelling of its field, and moves the repository to another host, removes the token."""
    await create_repository(api, "team", githost(token=TOKEN))
    patch = [
        {"op": "copy", "from": "/spec/githost/encryptedToken", "path": "/spec/githost/encrypted_token"},
        {"op": "remove", "path": "/spec/githost/encryptedToken"},
        {"op": "replace", "path": "/spec/githost/url", "value": "https://evil.example/x"},
    ]
    headers = {"Authorization": ADMIN, "Content-Type": "application/json-patch+json"}
    async with api.session.patch(f"{REPOSITORIES}/team", data=json.dumps(patch), headers=headers) as response:
        body = await response.json()
    assert "encryptedToken" not in body["spec"]["githost"]


async def test_a_token_is_removed_from_the_annotation_of_kubectl(api: Api) -> None:
    """The token is removed from the annotation in which client-side apply stores the manifest."""
    applied = json.dumps(manifest("team", githost(token=TOKEN)))
    created = await create_repository(
        api, "team", githost(token=TOKEN), annotations={"kubectl.kubernetes.io/last-applied-configuration": applied}
    )
    remaining = json.loads(created["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"])
    assert remaining["spec"]["githost"] == {"url": "https://git.example/team.git"}
    invalid = {"kubectl.kubernetes.io/last-applied-configuration": f"no json {TOKEN}"}
    created = await create_repository(api, "other", githost(branch="other"), annotations=invalid)
    assert TOKEN not in json.dumps(created)


async def test_a_patch_can_set_a_token(api: Api) -> None:
    """A patch can set a token, which the response has only sealed."""
    await create_repository(api, "team", githost())
    headers = {"Authorization": ADMIN, "Content-Type": "application/merge-patch+json"}
    body = json.dumps({"spec": {"githost": {"token": TOKEN}}})
    async with api.session.patch(f"{REPOSITORIES}/team", data=body, headers=headers) as response:
        assert response.status == 200
        text = await response.text()
    assert "encryptedToken" in text
    assert TOKEN not in text


@pytest.mark.parametrize("kind", ["github", "gitlab", "bitbucket", "git"])
async def test_a_repository_is_read_as_it_was_written(api: Api, kind: str) -> None:
    """A repository is returned as it was sent, and sending it again changes nothing. Its type may change to a synonym, with its block."""
    block = {"url": "https://git.example/team", "branch": "main", "path": "boards"}
    spec = githost() | {"type": kind, kind: block}
    del spec["githost"]
    headers = {"Authorization": ADMIN}
    async with api.session.post(f"{REPOSITORIES}?fieldValidation=Strict", json=manifest("team", spec), headers=headers) as response:
        created = await response.json()
        assert response.status == 201, created
        assert "Warning" not in response.headers, created
    assert created["spec"] == spec
    assert await api("PUT", f"{REPOSITORIES}/team", manifest("team", spec, finalizers=created["metadata"]["finalizers"])) == (200, created)
    with_two_blocks = githost() | {"type": "githost", kind: block}
    status, body = await api("PUT", f"{REPOSITORIES}/team", manifest("team", with_two_blocks))
    assert (status, [cause["field"] for cause in body["details"]["causes"]]) == (422, [f"spec.{kind}"])
    _, body = await api("PUT", f"{REPOSITORIES}/team", manifest("team", githost()))
    assert body["spec"]["type"] == "githost"
    assert kind not in body["spec"]


async def test_a_secret_is_sent_next_to_the_spec(api: Api) -> None:
    """A secret is sent as ``create`` and returned as a name, which keeps it; ``remove`` deletes it."""
    body = manifest("team", githost()) | {"secure": {"token": {"create": TOKEN}}}
    status, created = await api("POST", f"{REPOSITORIES}?fieldValidation=Strict", body)
    assert (status, list(created["secure"]["token"])) == (201, ["name"])
    assert TOKEN not in json.dumps(created)
    assert await api("PUT", f"{REPOSITORIES}/team", created) == (200, created)
    _, response = await api("PUT", f"{REPOSITORIES}/team", created | {"secure": {"token": {"create": TOKEN}}})
    assert response["secure"] == created["secure"]
    _, response = await api("PUT", f"{REPOSITORIES}/team", created | {"secure": {"token": {"create": "another"}}})
    assert response["secure"]["token"]["name"] != created["secure"]["token"]["name"]
    # The replaced token had this name.
    status, response = await api("PUT", f"{REPOSITORIES}/team", manifest("team", githost()) | {"secure": created["secure"]})
    assert (status, [cause["field"] for cause in response["details"]["causes"]]) == (422, ["secure.token.name"])
    removal = manifest("team", githost()) | {"secure": {"token": {"remove": True}}}
    status, response = await api("PUT", f"{REPOSITORIES}/team", removal)
    assert status == 200, response
    assert "secure" not in response
    assert "encryptedToken" not in response["spec"]["githost"]


@pytest.mark.parametrize(
    ("spec", "secure", "field"),
    [
        ({"token": TOKEN}, {"create": TOKEN}, "spec.githost.token"),
        ({}, {"create": TOKEN, "remove": True}, "secure.token.remove"),
        ({}, {"name": "inline-none"}, "secure.token.name"),
        ({}, {"create": 5}, "secure.token.create"),
    ],
)
async def test_a_secret_against_the_rules_is_refused(api: Api, spec: dict[str, Any], secure: dict[str, Any], field: str) -> None:
    """Two tokens, create with remove, an unknown name, and a value that is not text are refused."""
    status, body = await api("POST", REPOSITORIES, manifest("team", githost(**spec)) | {"secure": {"token": secure}})
    assert (status, [cause["field"] for cause in body["details"]["causes"]]) == (422, [field])


async def test_an_invalid_directory_is_refused(api: Api) -> None:
    """An invalid directory is refused with the field and the reason."""
    status, body = await api("POST", REPOSITORIES, manifest("team", githost(path="a/../../b")))
    assert status == 422
    (cause,) = body["details"]["causes"]
    assert cause["field"] == "spec.githost.path"
    assert "traversal attempt" in cause["message"]


async def create_managed_dashboard(api: Api, name: str, repository: str) -> None:
    """Create a dashboard that a repository manages, as a sync would have created it."""
    assert (await api("POST", DASHBOARDS, {"metadata": {"name": name}, "spec": {"title": name}}))[0] == 201
    body = {"grafana.app/managedBy": "repo", "grafana.app/managerId": repository, "grafana.app/sourcePath": f"{name}.json"}
    await api.sql("update resource set annotations = $1 where name = $2 returning 1", json.dumps(body), name)


async def test_managed_objects_are_deleted_with_their_repository(api: Api) -> None:
    """With the default finalizers, deleting a repository deletes its managed objects."""
    created = await create_repository(api, "team", githost())
    assert created["metadata"]["finalizers"] == ["cleanup", "remove-orphan-resources"]
    await create_managed_dashboard(api, "d", "team")
    assert (await api("DELETE", f"{REPOSITORIES}/team"))[0] == 200
    assert (await api("GET", f"{DASHBOARDS}/d"))[0] == 404
    assert (await api("GET", f"{REPOSITORIES}/team"))[0] == 404


async def test_a_folder_in_use_is_kept(api: Api) -> None:
    """A managed folder with unmanaged objects, and its ancestors, are kept when the repository is deleted; other folders are deleted."""
    await create_repository(api, "team", githost())
    manager_annotations = {"grafana.app/managedBy": "repo", "grafana.app/managerId": "team"}
    for name, parent in (("top", None), ("used", "top"), ("unused", "top")):
        folder = {"metadata": {"name": name, "annotations": {"grafana.app/folder": parent} if parent else {}}, "spec": {"title": name}}
        assert (await api("POST", FOLDERS, folder))[0] == 201
    panel = {"folderUid": "used", "name": "P", "kind": 1, "model": {"type": "text"}, "uid": "panel"}
    assert (await api("POST", "/api/library-elements", panel))[0] == 200
    await create_managed_dashboard(api, "d", "team")
    await api.sql(
        "update resource set annotations = annotations || $1 where resource = 'folders' returning 1", json.dumps(manager_annotations)
    )
    await api.sql("""update resource set annotations = annotations || '{"grafana.app/folder": "used"}' where name = 'd' returning 1""")
    assert (await api("DELETE", f"{REPOSITORIES}/team"))[0] == 200
    _, response = await api("GET", FOLDERS)
    assert [item["metadata"]["name"] for item in response["items"]] == ["top", "used"]
    assert not [key for item in response["items"] for key in item["metadata"]["annotations"] if "manage" in key]
    assert (await api("GET", f"{DASHBOARDS}/d"))[0] == 404
    assert (await api("GET", "/api/library-elements/panel"))[1]["result"]["meta"]["folderName"] == "used"


async def test_managed_objects_can_be_released(api: Api) -> None:
    """With the finalizer ``release-orphan-resources``, deleting a repository keeps its objects, which are then editable."""
    await create_repository(api, "team", githost(), finalizers=["cleanup", "release-orphan-resources"])
    await create_managed_dashboard(api, "d", "team")
    assert (await api("DELETE", f"{REPOSITORIES}/team"))[0] == 200
    _, body = await api("GET", f"{DASHBOARDS}/d")
    assert not [key for key in body["metadata"]["annotations"] if "manage" in key.lower() or "source" in key.lower()]
    assert body["metadata"]["generation"] == 1
    body["spec"]["title"] = "Changed"
    assert (await api("PUT", f"{DASHBOARDS}/d", body))[0] == 200


async def test_other_finalizers_delay_the_delete(api: Api) -> None:
    """Until a client removes its own finalizer, a deleted repository is only marked for deletion, accepts no jobs and keeps its objects."""
    await create_repository(api, "team", githost(), finalizers=["remove-orphan-resources", "example.org/other"])
    await create_managed_dashboard(api, "d", "team")
    status, body = await api("DELETE", f"{REPOSITORIES}/team")
    assert status == 200
    assert "deletionTimestamp" in body["metadata"]
    assert (await api("GET", f"{DASHBOARDS}/d"))[0] == 200
    status, error = await api("POST", f"{REPOSITORIES}/team/jobs", {"action": "sync", "sync": {}})
    assert status == 409
    assert "marked for deletion" in error["message"]
    body["metadata"]["finalizers"] = ["remove-orphan-resources"]
    assert (await api("PUT", f"{REPOSITORIES}/team", body))[0] == 200
    assert (await api("GET", f"{REPOSITORIES}/team"))[0] == 404
    assert (await api("GET", f"{DASHBOARDS}/d"))[0] == 404


async def test_type_and_used_target_do_not_change(api: Api) -> None:
    """The type of a repository cannot change, and its target only until something was synced."""
    await create_repository(api, "team", githost())
    local = githost()
    local.pop("githost")
    local |= {"type": "local", "local": {"path": str(api.data)}}
    status, body = await api("PUT", f"{REPOSITORIES}/team", manifest("team", local))
    assert (status, [cause["field"] for cause in body["details"]["causes"]]) == (422, ["spec.type"])
    git_spec = githost()
    git_spec["sync"] = {"enabled": True, "target": "instance"}
    assert (await api("PUT", f"{REPOSITORIES}/team", manifest("team", git_spec)))[0] == 200
    # As if a sync had stored an object.
    stats = {"stats": [{"group": "g", "resource": "r", "count": 1}]}
    await api.sql("update resource set status = $1 where name = 'team' returning 1", json.dumps(stats))
    status, body = await api("PUT", f"{REPOSITORIES}/team", manifest("team", githost()))
    assert (status, [cause["field"] for cause in body["details"]["causes"]]) == (422, ["spec.sync.target"])
