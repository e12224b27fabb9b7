"""The trash, in which deleted dashboards can be listed and from which they can be restored."""

from typing import Any

import pytest
from tests.contract.api.conftest import Api

from dashwright.common.identity import Role

GROUP = "/apis/dashboard.grafana.app/v2alpha1/namespaces"
DASHBOARDS = f"{GROUP}/default/dashboards"
TRASH = f"{DASHBOARDS}?labelSelector=grafana.app/get-trash%3Dtrue"


async def create_dashboard(api: Api, name: str, title: str = "T", **annotations: str) -> dict[str, Any]:
    """Create a dashboard with annotations of ``grafana.app``, and return it."""
    metadata = {"name": name, "annotations": {f"grafana.app/{key}": text for key, text in annotations.items()}}
    status, created = await api("POST", DASHBOARDS, {"metadata": metadata, "spec": {"title": title}})
    assert status == 201, created
    dashboard: dict[str, Any] = created
    return dashboard


async def change_title(api: Api, name: str, title: str) -> None:
    """Change the title of a dashboard, which creates a version."""
    status, body = await api("PUT", f"{DASHBOARDS}/{name}", {"metadata": {"name": name}, "spec": {"title": title}})
    assert status == 200, body


async def delete(api: Api, *names: str) -> None:
    """Delete dashboards, in this order."""
    for name in names:
        assert (await api("DELETE", f"{DASHBOARDS}/{name}"))[0] == 200


async def trash(api: Api, query: str = "", **options: Any) -> list[Any]:
    """Return the objects in the trash."""
    status, body = await api("GET", TRASH + query, **options)
    assert (status, body["kind"]) == (200, "DashboardList")
    items: list[Any] = body["items"]
    return items


async def test_deleted_objects_are_in_the_trash(api: Api) -> None:
    """Deleted objects are complete, with time and user of the delete; existing objects are not listed."""
    for name in ("a", "b", "c"):
        await create_dashboard(api, name)
    await delete(api, "b", "a")
    items = await trash(api)
    assert [(item["metadata"]["name"], item["spec"]) for item in items] == [("a", {"title": "T"}), ("b", {"title": "T"})]
    metadata = items[0]["metadata"]
    assert metadata["deletionTimestamp"] == metadata["annotations"]["grafana.app/updatedTimestamp"]
    assert metadata["annotations"]["grafana.app/updatedBy"] == "user:1"
    assert [item["metadata"]["name"] for item in await trash(api, "&fieldSelector=metadata.name%3Db")] == ["b"]


async def test_the_trash_is_filtered_by_labels(api: Api) -> None:
    """Label selectors apply to the trash as they do to lists."""
    for team in ("a", "b"):
        body = {"metadata": {"name": team, "labels": {"team": team}}, "spec": {"title": "T"}}
        assert (await api("POST", DASHBOARDS, body))[0] == 201
    await delete(api, "a", "b")
    _, response = await api("GET", f"{TRASH},team%3Db")
    assert [item["metadata"]["name"] for item in response["items"]] == ["b"]


async def test_the_trash_is_listed_in_pages(api: Api) -> None:
    """The trash is sorted by name, and two objects of one name are both listed. A token with invalid content is 400."""
    for name in ("b", "a", "a"):
        await create_dashboard(api, name)
        await delete(api, name)
    _, first = await api("GET", f"{TRASH}&limit=2")
    _, second = await api("GET", f"{TRASH}&limit=2&continue={first['metadata']['continue']}")
    assert [[item["metadata"]["name"] for item in page["items"]] for page in (first, second)] == [["a", "a"], ["b"]]
    assert "continue" not in second["metadata"]
    for token in ("zzz", "e30=", "eyJuYW1lIjoxfQ=="):  # not base64, {} and {"name":1}
        assert (await api("GET", f"{TRASH}&continue={token}"))[0] == 400


async def test_a_restored_dashboard_is_the_same(api: Api) -> None:
    """A restored dashboard has its former uid and labels, and its versions continue with a note of the restore."""
    body: dict[str, Any] = {"metadata": {"name": "d", "labels": {"team": "a"}}, "spec": {"title": "one"}}
    status, created = await api("POST", DASHBOARDS, body)
    assert status == 201, created
    assert created["metadata"]["labels"].keys() == {"grafana.app/deprecatedInternalID", "team"}
    body["spec"]["title"] = "two"
    assert (await api("PUT", f"{DASHBOARDS}/d", body))[0] == 200
    await delete(api, "d")
    (deleted_item,) = await trash(api)
    del deleted_item["metadata"]["resourceVersion"]
    status, restored = await api("POST", DASHBOARDS, deleted_item)
    assert (status, restored["spec"], restored["metadata"]["generation"]) == (201, {"title": "two"}, 3)
    for member in ("uid", "labels"):
        assert restored["metadata"][member] == created["metadata"][member]
    assert "deletionTimestamp" not in restored["metadata"]
    assert await trash(api) == []
    _, versions = await api("GET", f"{DASHBOARDS}/d/versions")
    assert [item["version"] for item in versions["items"]] == [3, 2, 1]
    assert await api.sql("select restored_from from resource_history where generation = 3") == 2
    await change_title(api, "d", "three")
    assert (await api("GET", f"{DASHBOARDS}/d"))[1]["metadata"]["generation"] == 4


async def test_a_restore_without_the_uid_creates_an_object(api: Api) -> None:
    """A create without the uid of a deleted dashboard, or with the uid but another name, makes a new object and leaves the trash."""
    await create_dashboard(api, "d")
    await delete(api, "d")
    (item,) = await trash(api)
    uid = item["metadata"]["uid"]
    for metadata in ({"name": "d"}, {"name": "e", "uid": uid}, {"name": "f", "uid": "no uid"}):
        status, created = await api("POST", DASHBOARDS, {"metadata": metadata, "spec": {"title": "T"}})
        assert (status, created["metadata"]["generation"]) == (201, 1)
        assert created["metadata"]["uid"] != uid
    assert len(await trash(api)) == 1


async def test_a_conflict_or_dry_run_does_not_change_the_trash(api: Api) -> None:
    """A restore that conflicts, or a dry run, keeps the dashboard in the trash."""
    await create_dashboard(api, "d")
    await delete(api, "d")
    (item,) = await trash(api)
    del item["metadata"]["resourceVersion"]
    status, result = await api("POST", f"{DASHBOARDS}?dryRun=All", item)
    assert (status, result["metadata"]["generation"]) == (201, 2)
    assert len(await trash(api)) == 1
    await create_dashboard(api, "d")
    assert (await api("POST", DASHBOARDS, item))[0] == 409
    assert len(await trash(api)) == 1


async def test_callers_see_their_own_trash(api: Api) -> None:
    """A caller finds and restores only objects that the caller has deleted. An Admin finds all deleted objects."""
    await create_dashboard(api, "d")
    await create_dashboard(api, "e")
    await delete(api, "d")
    editor, other_editor = await api.person("editor", Role.EDITOR), await api.person("other", Role.EDITOR)
    assert (await api("DELETE", f"{DASHBOARDS}/e", auth=editor))[0] == 200
    uids = {item["metadata"]["name"]: item["metadata"]["uid"] for item in await trash(api)}
    assert set(uids) == {"d", "e"}
    assert await trash(api, auth=await api.person("reader", Role.VIEWER)) == []
    assert await trash(api, auth=other_editor) == []
    assert [item["metadata"]["name"] for item in await trash(api, auth=editor)] == ["e"]
    # The admin has deleted d, so that the editor creates a new dashboard instead.
    body = {"metadata": {"name": "d", "uid": uids["d"]}, "spec": {"title": "T"}}
    status, created = await api("POST", DASHBOARDS, body, auth=editor)
    assert status == 201
    assert created["metadata"]["uid"] != uids["d"]
    body = {"metadata": {"name": "e", "uid": uids["e"]}, "spec": {"title": "T"}}
    status, restored = await api("POST", DASHBOARDS, body, auth=editor)
    assert status == 201
    assert restored["metadata"]["uid"] == uids["e"]
    assert (await api("GET", TRASH, auth=await api.person("unprivileged", Role.NONE)))[0] == 403


async def test_the_trash_needs_the_right_to_read(api: Api) -> None:
    """A user who may delete an object, but not read it, does not find it in the trash."""
    await create_dashboard(api, "d", "Secret")
    cleaner = await api.person("cleaner", Role.NONE, ("dashboards:delete", "*"), ("dashboards:read", "dashboards:uid:other"))
    assert (await api("DELETE", f"{DASHBOARDS}/d", auth=cleaner))[0] == 200
    assert await trash(api, auth=cleaner) == []


async def test_older_versions_show_a_placeholder_in_the_trash(api: Api) -> None:
    """Older versions show a deleted dashboard that they cannot express as a placeholder, which cannot be restored."""
    body = {"metadata": {"name": "d"}, "spec": {"title": "T", "layout": {"kind": "Unknown"}}}
    assert (await api("POST", DASHBOARDS, body))[0] == 201
    await delete(api, "d")
    older_trash = TRASH.replace("v2alpha1", "v1beta1")
    _, response = await api("GET", older_trash)
    (placeholder,) = response["items"]
    assert placeholder["spec"] == {"title": "T", "schemaVersion": 9999}
    del placeholder["metadata"]["resourceVersion"]
    assert (await api("POST", DASHBOARDS.replace("v2alpha1", "v1beta1"), placeholder))[0] == 422
    assert len(await trash(api)) == 1


async def test_the_message_of_a_restored_version_names_it(api: Api) -> None:
    """A write with the spec of an old version, and a message that names this version, is recorded as its restore."""
    await create_dashboard(api, "d", "one")
    await change_title(api, "d", "two")
    _, first_version = await api("GET", f"{DASHBOARDS}/d/versions/1")
    annotations = {"grafana.app/message": "Restored from version 1"}
    body = {"metadata": {"name": "d", "annotations": annotations}, "spec": first_version["spec"]}
    status, restored = await api("PUT", f"{DASHBOARDS}/d", body)
    assert (status, restored["spec"], restored["metadata"]["generation"]) == (200, {"title": "one"}, 3)
    assert restored["metadata"]["annotations"]["grafana.app/message"] == "Restored from version 1"
    _, response = await api("GET", f"{DASHBOARDS}/d/versions")
    newest = response["items"][0]
    assert (newest["version"], newest["parentVersion"], newest["message"]) == (3, 2, "Restored from version 1")
    assert "parentVersion" not in response["items"][-1]
    assert await api.sql("select restored_from from resource_history where generation = 3") == 1


async def test_a_message_sent_back_is_not_that_of_the_next_version(api: Api) -> None:
    """If a client changes an object that it has read and sends it back, its old message is not stored as the message of the change."""
    await create_dashboard(api, "d", "one", message="first")
    _, body = await api("GET", f"{DASHBOARDS}/d")
    assert body["metadata"]["annotations"]["grafana.app/message"] == "first"
    assert await api("PUT", f"{DASHBOARDS}/d", body) == (200, body)
    _, changed = await api("PUT", f"{DASHBOARDS}/d", body | {"spec": {"title": "two"}})
    assert "grafana.app/message" not in changed["metadata"]["annotations"]
    _, response = await api("GET", f"{DASHBOARDS}/d/versions")
    assert [item.get("message") for item in response["items"]] == [None, "first"]


@pytest.mark.parametrize("message", ["restored from version 1", "Restored from version 0", "Restored from version 1 and more", ""])
async def test_another_message_restores_nothing(api: Api, message: str) -> None:
    """A message that is similar to that of a restore restores nothing."""
    created = await create_dashboard(api, "d", message=message)
    assert await api.sql("select restored_from from resource_history where uid = $1", created["metadata"]["uid"]) is None


async def test_a_deleted_organization_empties_its_trash(api: Api) -> None:
    """The trash of a deleted organization is emptied, because no user could restore its objects."""
    org_id = await api.organization("other")
    second_admin = await api.person("boss", Role.ADMIN, org_id=org_id)
    dashboards_path = f"{GROUP}/org-{org_id}/dashboards"
    assert (await api("POST", dashboards_path, {"metadata": {"name": "d"}, "spec": {"title": "T"}}, auth=second_admin))[0] == 201
    assert (await api("DELETE", f"{dashboards_path}/d", auth=second_admin))[0] == 200
    assert await api.sql("select count(*) from trash") == 1
    assert (await api("DELETE", f"/api/orgs/{org_id}"))[0] == 200
    assert await api.sql("select count(*) from trash") == 0
