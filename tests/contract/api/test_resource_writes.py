"""Creates and updates through the resource API. Each is validated, and an update stores a new version only if something changes."""

import asyncio
from typing import Any, Final

import pytest
from tests.contract.api.conftest import Api

DASHBOARDS: Final = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
FOLDERS: Final = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders"
REPOSITORIES: Final = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"


def dashboard(name: str = "d", title: str = "T", **metadata: Any) -> Any:
    """Return the manifest of a dashboard."""
    return {"metadata": {"name": name, **metadata}, "spec": {"title": title}}


async def create_object(api: Api, body: Any, path: str = DASHBOARDS) -> Any:
    """Create an object and return it as the response has it."""
    status, response = await api("POST", path, body)
    assert status == 201, response
    return response


async def replace_object(api: Api, body: Any, path: str = DASHBOARDS, **options: Any) -> tuple[int, Any]:
    """Replace an object. Return the status and the body of the response."""
    return await api("PUT", f"{path}/{body['metadata']['name']}", body, **options)


async def count_rows(api: Api) -> tuple[int, int, int]:
    """Return the numbers of changes, generations and audit events."""
    counts = [await api.sql(f"select count(*) from {table}") for table in ("change", "resource_history", "audit_event")]
    return counts[0], counts[1], counts[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "invalid/uid/with/slashes"}, "uid contains illegal characters"),
        ({"name": "a" * 41}, "uid too long, max 40 characters"),
        ({"title": ""}, "Dashboard title cannot be empty"),
        ({"title": "a" * 10_000}, "Dashboard title cannot contain more than 5 000 characters"),
        ({"annotations": {"grafana.app/message": "a" * 600}}, "message too long, max 500 characters"),
        ({"resourceVersion": "1"}, "resourceVersion should not be set on objects to be created"),
        ({"namespace": "org-2"}, "metadata.namespace is 'org-2', but the path names 'default'"),
        ({"labels": {"a": 1}}, "metadata.labels must map text to text"),
        ({"finalizers": "a"}, "metadata.finalizers must be a list"),
    ],
)
async def test_a_new_dashboard_must_follow_the_rules(api: Api, change: dict[str, Any], message: str) -> None:
    """Names, titles and messages follow the rules of the classic API.

    A client cannot set fields of the store. A refused write stores nothing.
    """
    before = await count_rows(api)
    status, response = await api("POST", DASHBOARDS, dashboard(**change))
    assert (status, response["reason"]) == (400, "BadRequest")
    assert response["message"].startswith(message)
    assert await count_rows(api) == before


OWNER: Final = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"}


@pytest.mark.parametrize(
    ("owners", "field"),
    [
        ("a", ""),
        (["a"], ""),
        ([OWNER] * 101, ""),
        ([OWNER, OWNER | {"x": 1.5}], "[1]"),
        ([OWNER | {"uid": 1.5}], "[0].uid"),
        ([OWNER | {"name": ""}], "[0].name"),
        ([{name: text for name, text in OWNER.items() if name != "kind"}], "[0].kind"),
        ([OWNER | {"controller": 1.5}], "[0].controller"),
        ([OWNER | {"blockOwnerDeletion": "true"}], "[0].blockOwnerDeletion"),
    ],
    ids=[
        "text",
        "list of texts",
        "more than 100",
        "unknown field",
        "number as uid",
        "empty name",
        "no kind",
        "number as flag",
        "text as flag",
    ],
)
async def test_invalid_owner_references_are_refused(api: Api, owners: Any, field: str) -> None:
    """Invalid references are refused by creates, updates, patches and applies, and nothing of the request is stored."""
    await create_object(api, dashboard())
    before = await count_rows(api)
    patch = {"metadata": {"ownerReferences": owners}}
    responses = [
        await api("POST", DASHBOARDS, dashboard("e", ownerReferences=owners)),
        await replace_object(api, dashboard(ownerReferences=owners)),
        await api("PATCH", f"{DASHBOARDS}/d", patch, headers={"Content-Type": "application/merge-patch+json"}),
        await api("PATCH", f"{DASHBOARDS}/d?fieldManager=m", patch, headers={"Content-Type": "application/apply-patch+yaml"}),
    ]
    result = [(status, response["details"]["causes"][0]["field"]) for status, response in responses]
    assert result == [(422, f"metadata.ownerReferences{field}")] * 4
    assert await count_rows(api) == before


async def test_owner_references_are_kept(api: Api) -> None:
    """Owner references are stored as sent, without flags that are null."""
    owners = [OWNER, OWNER | {"uid": "2", "controller": True, "blockOwnerDeletion": False}]
    response = await create_object(api, dashboard(ownerReferences=[OWNER | {"controller": None}, owners[1]]))
    assert response["metadata"]["ownerReferences"] == owners


@pytest.mark.parametrize("name", ["test-dashboard-", "UPPER_lower-9", "_", "a" * 40])
async def test_a_name_may_be_an_old_uid(api: Api, name: str) -> None:
    """A name may be a uid of an older Grafana: it may contain upper-case letters, digits, hyphens and underscores, even at its end."""
    await create_object(api, dashboard(name))
    assert (await api("GET", f"{DASHBOARDS}/{name}"))[0] == 200


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"title": ""}, 400),
        ({"title": "a" * 10_000}, 400),
        ({"annotations": {"grafana.app/message": "a" * 600}}, 400),
        ({"annotations": {"grafana.app/folder": "nowhere"}}, 404),
        ({"generation": 7}, 412),
        ({"resourceVersion": "1"}, 409),
        ({"uid": "00000000-0000-0000-0000-000000000000"}, 409),
    ],
)
async def test_a_replaced_dashboard_must_follow_the_rules(api: Api, change: dict[str, Any], status: int) -> None:
    """An update follows the rules of a create, and must have the uid of the object that the caller read. A refused write stores nothing."""
    await create_object(api, dashboard())
    before = await count_rows(api)
    actual_status, response = await replace_object(api, dashboard(**change))
    assert actual_status == status, response
    assert await count_rows(api) == before


async def test_an_unknown_folder_is_a_kubernetes_not_found(api: Api) -> None:
    """A dashboard in an unknown folder is refused with a NotFound in the form of Kubernetes."""
    status, response = await api("POST", DASHBOARDS, dashboard(annotations={"grafana.app/folder": "non-existent-folder-uid"}))
    assert (status, response["reason"]) == (404, "NotFound")
    assert response["message"] == 'folders.folder.grafana.app "non-existent-folder-uid" not found'


async def test_a_generated_name_is_the_prefix_and_eight_characters(api: Api) -> None:
    """Each object with ``generateName`` has a new name. A create with an existing name is 409."""
    names = {(await create_object(api, {"metadata": {"generateName": "g-"}, "spec": {"title": "T"}}))["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(len(name) == 10 and name.startswith("g-") for name in names)
    status, response = await api("POST", DASHBOARDS, dashboard(names.pop()))
    assert (status, response["reason"]) == (409, "AlreadyExists")


async def test_a_replacement_is_a_new_generation(api: Api) -> None:
    """Generation and version increase; uid, creation time and author are kept, and the last author is recorded."""
    first = await create_object(api, dashboard())
    status, second = await replace_object(api, {**first, "spec": {"title": "U"}})
    assert status == 200
    old, new = first["metadata"], second["metadata"]
    assert (old["generation"], new["generation"]) == (1, 2)
    assert new["resourceVersion"] != old["resourceVersion"]
    assert [new[key] for key in ("uid", "creationTimestamp", "name")] == [old[key] for key in ("uid", "creationTimestamp", "name")]
    assert new["annotations"]["grafana.app/createdBy"] == old["annotations"]["grafana.app/createdBy"]
    assert "grafana.app/updatedBy" not in old["annotations"]
    assert new["annotations"]["grafana.app/updatedBy"] == "user:1"
    assert new["annotations"]["grafana.app/updatedTimestamp"]
    assert (await api("GET", f"{DASHBOARDS}/d"))[1] == second


async def test_a_stale_version_is_a_conflict_in_kubernetes_words(api: Api) -> None:
    """An update of an outdated version returns the text and the details of Kubernetes."""
    first = await create_object(api, dashboard())
    assert (await replace_object(api, {**first, "spec": {"title": "U"}}))[0] == 200
    status, response = await replace_object(api, {**first, "spec": {"title": "V"}})
    assert (status, response["reason"]) == (409, "Conflict")
    assert response["message"] == f'Operation cannot be fulfilled on dashboards.dashboard.grafana.app "d": {MODIFIED}'
    assert response["details"] == {"name": "d", "group": "dashboard.grafana.app", "kind": "dashboards"}


async def test_an_update_without_a_version_overwrites(api: Api) -> None:
    """An update without a version replaces the object, and creates no missing object."""
    await create_object(api, dashboard())
    assert (await replace_object(api, dashboard(title="U")))[0] == 200
    status, response = await replace_object(api, dashboard("unknown"))
    assert (status, response["reason"]) == (404, "NotFound")


async def test_another_generation_conflicts(api: Api) -> None:
    """An update without a resourceVersion must have the current generation or none. With a resourceVersion, its generation is ignored."""
    first = await create_object(api, dashboard())
    status, response = await replace_object(api, dashboard(title="U", generation=9))
    assert (status, response["message"]) == (412, "The dashboard has been changed by someone else")
    assert (await replace_object(api, dashboard(title="U", generation=9, resourceVersion=first["metadata"]["resourceVersion"])))[0] == 200
    assert (await replace_object(api, dashboard(title="V", generation=2)))[0] == 200


async def test_a_body_of_another_name_is_refused(api: Api) -> None:
    """The name in the path and the name in the object must be equal."""
    await create_object(api, dashboard())
    status, response = await api("PUT", f"{DASHBOARDS}/d", dashboard("e"))
    assert (status, response["message"]) == (400, "the name of the object (e) does not match the name on the URL (d)")


@pytest.mark.parametrize(
    "spec",
    [
        '{"title":"T","panels":[1,1.10,{"a":null}],"big":12345678901234567890}',
        '{"big":1.2345678901234567890e19,"panels":[1.0,11e-1,{"a":null}],"title":"T"}',
    ],
    ids=["same text", "other order and digits"],
)
async def test_an_equal_body_changes_nothing(api: Api, spec: str) -> None:
    """An update with an equal spec, in any order of keys and any notation of numbers, makes no change, generation or audit event."""
    stored_spec = '{"title":"T","panels":[1,1.10,{"a":null}],"big":12345678901234567890}'
    headers = {"Content-Type": "application/json"}
    status, first = await api("POST", DASHBOARDS, data=f'{{"metadata":{{"name":"d"}},"spec":{stored_spec}}}', headers=headers)
    assert status == 201
    before = await count_rows(api)
    status, second = await api("PUT", f"{DASHBOARDS}/d", data=f'{{"metadata":{{"name":"d"}},"spec":{spec}}}', headers=headers)
    assert (status, second) == (200, first)
    assert await count_rows(api) == before
    assert await api.sql("select spec from resource_history") == stored_spec


async def test_a_number_that_differs_in_its_last_digit_is_a_change(api: Api) -> None:
    """Numbers are compared beyond the precision of floats, and true differs from 1."""
    headers = {"Content-Type": "application/json"}
    for generation, method, path, value in (
        (1, "POST", DASHBOARDS, "12345678901234567890"),
        (2, "PUT", f"{DASHBOARDS}/d", "12345678901234567891"),
        (3, "PUT", f"{DASHBOARDS}/d", "1"),
        (4, "PUT", f"{DASHBOARDS}/d", "true"),
    ):
        body = f'{{"metadata":{{"name":"d"}},"spec":{{"title":"T","value":{value}}}}}'
        _, response = await api(method, path, data=body, headers=headers)
        assert response["metadata"]["generation"] == generation


@pytest.mark.parametrize(
    "change",
    [
        {"annotations": {"grafana.app/message": "again"}},
        {"annotations": {"grafana.app/createdBy": "user:7", "grafana.app/updatedTimestamp": "2001-01-01T00:00:00Z"}},
        {"labels": {"grafana.app/deprecatedInternalID": "7"}},
        {"creationTimestamp": "2001-01-01T00:00:00Z", "namespace": "default", "selfLink": "/x", "managedFields": None},
    ],
    ids=["message", "authors", "number", "times"],
)
async def test_server_fields_are_not_a_change(api: Api, change: dict[str, Any]) -> None:
    """Fields of the store, or a message alone, are not a change, whichever field manager sends them."""
    first = await create_object(api, dashboard())
    before = await count_rows(api)
    status, second = await api("PUT", f"{DASHBOARDS}/d?fieldManager=another", dashboard(**change))
    assert (status, second) == (200, first)
    assert await count_rows(api) == before


async def test_labels_alone_make_a_version_but_no_generation(api: Api) -> None:
    """A change of labels or annotations makes a new resource version, but no new generation."""
    first = await create_object(api, dashboard())
    status, second = await replace_object(api, dashboard(labels={"team": "a"}, annotations={"note": "b"}))
    assert status == 200
    assert second["metadata"]["generation"] == 1
    assert second["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]
    assert "grafana.app/updatedBy" not in second["metadata"]["annotations"]


async def test_a_move_is_a_new_generation(api: Api) -> None:
    """A change of the folder increases the generation."""
    await create_object(api, dashboard("f"), FOLDERS)
    await create_object(api, dashboard())
    status, moved = await replace_object(api, dashboard(annotations={"grafana.app/folder": "f"}))
    assert (status, moved["metadata"]["generation"]) == (200, 2)
    status, moved_back = await replace_object(api, dashboard(annotations={"grafana.app/folder": ""}))
    assert (status, moved_back["metadata"]["generation"]) == (200, 3)
    assert "grafana.app/folder" not in moved_back["metadata"]["annotations"]


async def test_the_name_of_the_root_is_reserved(api: Api) -> None:
    """A folder with the name of the root is rejected, as its content would look like the root's."""
    status, error = await api("POST", FOLDERS, {"metadata": {"name": "general"}, "spec": {"title": "General"}})
    assert (status, error["reason"]) == (400, "BadRequest")
    assert error["message"].startswith('the uid "general" is reserved')


async def test_fields_of_the_server_are_not_accepted(api: Api) -> None:
    """Authors and an internal id from a client are dropped. A message, and a manager other than a repository, are stored."""
    annotations = {
        "grafana.app/createdBy": "user:99",
        "grafana.app/updatedBy": "user:99",
        "grafana.app/message": "why",
        "grafana.app/grant-permissions": "default",
        "grafana.app/managedBy": "kubectl",
        "grafana.app/managerId": "me",
    }
    first = await create_object(api, dashboard(annotations=annotations, labels={"grafana.app/deprecatedInternalID": "5"}))
    metadata = first["metadata"]
    assert metadata["annotations"] == {
        "grafana.app/createdBy": "user:1",
        "grafana.app/managedBy": "kubectl",
        "grafana.app/managerId": "me",
        "grafana.app/message": "why",
    }
    assert metadata["labels"]["grafana.app/deprecatedInternalID"] != "5"
    assert await api.sql("select message from resource_history") == "why"


async def test_a_repository_as_manager_is_ignored(api: Api) -> None:
    """Only a sync makes a repository the manager of an object."""
    annotations = {"grafana.app/managedBy": "repo", "grafana.app/managerId": "r", "note": "n"}
    first = await create_object(api, dashboard(annotations=annotations))
    assert first["metadata"]["annotations"] == {"grafana.app/createdBy": "user:1", "note": "n"}


async def test_managed_objects_are_changed_by_their_file(api: Api) -> None:
    """A write of a managed object is a 403 that refers to its file."""
    await create_object(api, dashboard())
    await api.sql("""update resource set annotations = '{"grafana.app/managedBy": "repo", "grafana.app/managerId": "r"}'""")
    status, response = await replace_object(api, dashboard(title="U"))
    assert (status, response["message"]) == (403, 'dashboard "d" is managed by the repository "r"; change its file there instead')


async def test_concurrent_writers_lose_nothing(api: Api) -> None:
    """Each of many concurrent replacements without a version is a generation."""
    await create_object(api, dashboard())
    responses = await asyncio.gather(*[replace_object(api, dashboard(title=f"T{index}")) for index in range(5)])
    assert {status for status, _ in responses} == {200}
    assert sorted(response["metadata"]["generation"] for _, response in responses) == [2, 3, 4, 5, 6]


async def test_one_of_concurrent_writers_with_one_version_succeeds(api: Api) -> None:
    """One of several concurrent writers with the same version succeeds, and the others get a conflict."""
    first = await create_object(api, dashboard())
    responses = await asyncio.gather(*[replace_object(api, {**first, "spec": {"title": f"T{index}"}}) for index in range(5)])
    assert sorted(status for status, _ in responses) == [200, 409, 409, 409, 409]


async def test_a_repository_keeps_its_status_and_its_rules(api: Api) -> None:
    """A replacement of a repository keeps its status, and must not change its type."""
    spec = {
        "title": "R",
        "workflows": [],
        "type": "local",
        "local": {"path": str(api.data)},
        "sync": {"enabled": True, "target": "instance"},
    }
    first = await create_object(api, {"metadata": {"name": "r"}, "spec": spec}, REPOSITORIES)
    status, second = await replace_object(api, {**first, "spec": {**spec, "title": "S"}, "status": {"observedGeneration": 9}}, REPOSITORIES)
    assert (status, second["metadata"]["generation"]) == (200, 2)
    assert second["status"] == first["status"]
    status, response = await replace_object(api, {"metadata": {"name": "r"}, "spec": {**spec, "type": "githost"}}, REPOSITORIES)
    assert (status, response["reason"]) == (422, "Invalid")
