"""Annotations, which belong to a dashboard and need the permissions for it, or belong to the organization."""

from typing import Any

import pytest
from tests.contract.api.conftest import ADMIN, Api, case_id
from tests.contract.api.test_classic_api import folder, save_dashboard
from tests.contract.api.test_folder_permissions import EDIT, VIEW

from dashwright.common.identity import Role

PATH = "/api/annotations"
NOT_FOUND = (404, {"message": "Annotation not found"})


async def create_annotation(api: Api, text: str = "Deployed", **members: Any) -> int:
    """Create an annotation and return its id."""
    status, body = await api("POST", PATH, {"text": text, **members})
    assert (status, body["message"]) == (200, "Annotation added"), body
    note_id: int = body["id"]
    return note_id


async def list_texts(api: Api, query: str = "", **options: Any) -> list[str]:
    """Return the texts of the annotations that a query finds."""
    status, body = await api("GET", f"{PATH}?{query}", **options)
    assert status == 200, body
    return [annotation["text"] for annotation in body]


async def read_annotation(api: Api, note_id: int) -> Any:
    """Return the annotation with an id."""
    status, body = await api("GET", f"{PATH}/{note_id}")
    assert status == 200, body
    return body


def refusal(message: str, reason: str) -> tuple[int, Any]:
    """Return the response to an invalid request."""
    return 400, {"message": message, "extra": {"error": reason}}


async def test_an_annotation_is_created_read_and_deleted(api: Api) -> None:
    """An annotation on a panel is created, read and deleted. The numbers of its data keep their digits, such as those of 1.10."""
    dashboard = await save_dashboard(api, "abc", "A")
    data = '{"dashboardUID":"abc","panelId":7,"time":1000,"timeEnd":2000,"tags":[" a ","b","a",""],"text":"T","data":{"n":1.10}}'
    status, body = await api("POST", PATH, data=data)
    assert (status, body["message"]) == (200, "Annotation added")
    note_id = body["id"]
    annotation = await read_annotation(api, note_id)
    assert annotation == {
        "id": note_id,
        "alertId": 0,
        "alertName": "",
        "dashboardId": dashboard["id"],
        "dashboardUID": "abc",
        "panelId": 7,
        "userId": 1,
        "newState": "",
        "prevState": "",
        "created": annotation["created"],
        "updated": annotation["created"],
        "time": 1000,
        "timeEnd": 2000,
        "text": "T",
        "tags": ["a", "b"],
        "login": "admin",
        "email": annotation["email"],
        "avatarUrl": annotation["avatarUrl"],
        "data": {"n": 1.1},
    }
    assert await api("GET", PATH) == (200, [annotation])
    async with api.session.get(PATH, headers={"Authorization": ADMIN}) as response:
        assert '"data":{"n":1.10}' in await response.text()
    assert await api("DELETE", f"{PATH}/{note_id}") == (200, {"message": "Annotation deleted"})
    for method, body in (("GET", None), ("PUT", {"text": "x"}), ("PATCH", {"text": "x"}), ("DELETE", None)):
        assert await api(method, f"{PATH}/{note_id}", body) == NOT_FOUND
        assert await api(method, f"{PATH}/None", body) == (400, {"message": "annotationId is invalid"})


async def test_an_annotation_without_a_dashboard_belongs_to_the_organization(api: Api) -> None:
    """An annotation without a dashboard and a time belongs to the organization and has the current time.

    A dashboard may also be given by its id instead of its uid.
    """
    dashboard = await save_dashboard(api, "abc", "A")
    annotation = await read_annotation(api, await create_annotation(api))
    assert (annotation["dashboardId"], annotation["dashboardUID"], annotation["data"]) == (0, "", {})
    assert annotation["time"] == annotation["timeEnd"] == annotation["created"]
    assert annotation["created"] > 1_700_000_000_000  # milliseconds until 2023
    assert (await read_annotation(api, await create_annotation(api, dashboardId=dashboard["id"])))["dashboardUID"] == "abc"


@pytest.mark.parametrize(
    ("times", "span"),
    [
        ({"time": 5}, (5, 5)),
        ({"timeEnd": 5}, (5, 5)),
        ({"time": 9, "timeEnd": 5}, (5, 9)),
        ({"time": -9, "timeEnd": 5}, (-9, 5)),
    ],
    ids=case_id,
)
async def test_the_times_of_a_span_are_ordered(api: Api, times: Any, span: tuple[int, int]) -> None:
    """The two times of a span may be given in any order. An annotation with one time is a point in time."""
    annotation = await read_annotation(api, await create_annotation(api, **times))
    assert (annotation["time"], annotation["timeEnd"]) == span


@pytest.mark.parametrize(
    ("body", "response"),
    [
        ({}, refusal("Failed to save annotation", "the text must not be empty")),
        ({"text": "é" * 32769}, refusal("Failed to save annotation", "the text is longer than 65536 bytes")),
        ({"text": "T", "tags": [str(n) for n in range(101)]}, refusal("Failed to save annotation", "there are more than 100 tags")),
        ({"text": "T", "data": {"a": "x" * 65529}}, refusal("Failed to save annotation", "the data is larger than 65536 bytes")),
        ({"text": "T", "tags": ["x" * 191]}, refusal("Failed to save annotation", "a tag is longer than 190 characters")),
        ({"text": "T", "dashboardUID": "none"}, (400, {"message": "Invalid dashboard UID in annotation request"})),
        ({"text": "T", "dashboardId": 77}, (400, {"message": "Invalid dashboard ID in annotation request"})),
        ({"text": "a\0b"}, refusal("bad request data", "text: Value error, must not contain a NUL character")),
        ({"text": 5}, refusal("bad request data", "text: Input should be a valid string")),
        ({"text": "T", "time": 1.5}, refusal("bad request data", "time: Input should be a valid integer")),
        ({"text": "T", "data": []}, refusal("bad request data", "data: Input should be a valid dictionary")),
    ],
    ids=[
        "no text",
        "long text",
        "many tags",
        "large data",
        "long tag",
        "unknown uid",
        "unknown id",
        "NUL in the text",
        "number as text",
        "fractional time",
        "list as data",
    ],
)
async def test_invalid_annotations_are_refused(api: Api, body: Any, response: Any) -> None:
    """An invalid annotation is refused with the message that clients expect and the reason, and nothing is stored."""
    assert await api("POST", PATH, body) == response
    assert await list_texts(api) == []


async def test_content_at_the_limits_is_accepted(api: Api) -> None:
    """A text and data of 64 KiB before escaping, and 100 tags of 190 characters, are accepted."""
    # The text has 2 * 32,768 bytes, and the data 8 bytes of JSON around 2 * 32,764.
    annotation = await read_annotation(
        api, await create_annotation(api, "é" * 32768, tags=[f"{n:0190}" for n in range(100)], data={"a": "é" * 32764})
    )
    assert (len(annotation["text"]), len(annotation["tags"]), len(annotation["data"]["a"])) == (32768, 100, 32764)


async def test_data_that_cannot_be_stored_is_refused(api: Api) -> None:
    """Data with a NUL character is refused."""
    status, body = await api("POST", PATH, {"text": "T", "data": {"a": "\0"}})
    assert (status, body["message"]) == (400, "Failed to save annotation")


async def test_annotations_are_found_by_each_filter(api: Api) -> None:
    """Annotations are listed newest first. A filter with an invalid number is ignored, and a time span needs both ends."""
    dashboard = await save_dashboard(api, "abc", "A")
    await create_annotation(api, "old", time=1000, timeEnd=2000, tags=["a"])
    await create_annotation(api, "mid", time=3000, tags=["a", "b"], dashboardUID="abc", panelId=1)
    await create_annotation(api, "new", time=4000, tags=["b"], dashboardUID="abc", panelId=2)
    assert await list_texts(api) == ["new", "mid", "old"]
    assert await list_texts(api, "limit=2") == ["new", "mid"]
    assert await list_texts(api, "limit=0") == ["new", "mid", "old"]
    assert await list_texts(api, "from=2000&to=3000") == ["mid", "old"]
    assert await list_texts(api, "from=2001&to=2999") == []
    assert await list_texts(api, "from=2001") == ["new", "mid", "old"]
    assert await list_texts(api, "tags=a") == ["mid", "old"]
    assert await list_texts(api, "tags=a&tags=b") == ["mid"]
    assert await list_texts(api, "tags=a&tags=b&matchAny=true") == ["new", "mid", "old"]
    assert await list_texts(api, "dashboardUID=abc") == ["new", "mid"]
    assert await list_texts(api, f"dashboardId={dashboard['id']}") == ["new", "mid"]
    assert await list_texts(api, "dashboardId=77") == []
    assert await list_texts(api, "dashboardUID=abc&panelId=2") == ["new"]
    assert await list_texts(api, "userId=1") == ["new", "mid", "old"]
    assert await list_texts(api, "userId=77") == []
    assert await list_texts(api, "type=annotation&panelId=x") == ["new", "mid", "old"]
    assert await list_texts(api, "type=alert") == []
    assert await list_texts(api, "alertId=3") == []
    assert await api("GET", f"{PATH}?dashboardUID=none") == (400, {"message": "Invalid dashboard UID in annotation request"})


async def test_tags_are_counted(api: Api) -> None:
    """The tags that contain a string, ignoring case, are counted and sorted."""
    await create_annotation(api, tags=["b", "Deploy:prod"])
    await create_annotation(api, tags=["b", "a"])

    async def tag_counts(query: str = "") -> Any:
        """Return the number of annotations by tag."""
        status, body = await api("GET", f"{PATH}/tags?{query}")
        assert status == 200, body
        return {item["tag"]: item["count"] for item in body["result"]["tags"]}

    assert await tag_counts() == {"a": 1, "b": 2, "Deploy:prod": 1}
    assert await tag_counts("tag=PROD") == {"Deploy:prod": 1}
    assert await tag_counts("limit=1&tag=b") == {"b": 2}


async def test_put_replaces_and_patch_changes_fields(api: Api) -> None:
    """A PUT replaces text and tags, even if they are absent, and keeps absent times.

    A PATCH replaces the given fields, and ignores an empty text.
    """
    note_id = await create_annotation(api, "T", time=1000, timeEnd=2000, tags=["a"], data={"k": 1})
    assert await api("PATCH", f"{PATH}/{note_id}", {"text": "", "timeEnd": 3000, "tags": None}) == (
        200,
        {"message": "Annotation patched"},
    )
    annotation = await read_annotation(api, note_id)
    assert annotation["text"] == "T"
    assert annotation["tags"] == ["a"]
    assert annotation["time"] == 1000
    assert annotation["timeEnd"] == 3000
    assert annotation["data"] == {"k": 1}
    assert await api("PATCH", f"{PATH}/{note_id}", {"text": "U", "tags": [], "data": {}}) == (200, {"message": "Annotation patched"})
    annotation = await read_annotation(api, note_id)
    assert (annotation["text"], annotation["tags"], annotation["data"]) == ("U", [], {})
    assert await api("PUT", f"{PATH}/{note_id}", {"text": "V", "time": 5000, "tags": ["z"]}) == (
        200,
        {"message": "Annotation updated"},
    )
    annotation = await read_annotation(api, note_id)
    assert annotation["text"] == "V"
    assert annotation["tags"] == ["z"]
    # The new time is after the end, so that the two are exchanged.
    assert annotation["time"] == 3000
    assert annotation["timeEnd"] == 5000
    assert annotation["updated"] >= annotation["created"]
    assert await api("PUT", f"{PATH}/{note_id}", {}) == (200, {"message": "Annotation updated"})
    annotation = await read_annotation(api, note_id)
    assert (annotation["text"], annotation["tags"], annotation["time"]) == ("", [], 3000)
    too_many = {"tags": [str(n) for n in range(101)]}
    for method in ("PUT", "PATCH"):
        assert await api(method, f"{PATH}/{note_id}", too_many) == refusal("Failed to update annotation", "there are more than 100 tags")


@pytest.mark.parametrize(
    ("tags", "expected"), [(["deploy", "prod"], ["deploy", "prod"]), ("deploy  prod", ["deploy", "prod"]), ("", []), ([], [])], ids=case_id
)
async def test_graphite_events_are_annotations(api: Api, tags: Any, expected: list[str]) -> None:
    """A Graphite event is an annotation of the organization. The data of the event is appended to the text, and the time is in seconds."""
    status, body = await api("POST", f"{PATH}/graphite", {"what": "Deploy", "data": "by me", "when": 1467844481, "tags": tags})
    assert (status, body["message"]) == (200, "Graphite annotation added")
    annotation = await read_annotation(api, body["id"])
    assert annotation["text"] == "Deploy\nby me"
    assert annotation["tags"] == expected
    assert annotation["time"] == annotation["timeEnd"] == 1467844481000


@pytest.mark.parametrize(
    ("body", "response"),
    [
        ({"tags": []}, refusal("Failed to save Graphite annotation", "what must not be empty")),
        (
            {"what": "T"},
            refusal("Failed to save Graphite annotation", "tags must be a list of strings, or a string of tags separated by blanks"),
        ),
        (
            {"what": "T", "tags": [5]},
            refusal("bad request data", "[tags[0]: Input should be a valid string, tags: Input should be a valid string]"),
        ),
        (
            {"what": "T", "tags": [], "when": 2**53 + 1},
            refusal("bad request data", "when: Input should be less than or equal to 9007199254740992"),
        ),
    ],
    ids=case_id,
)
async def test_invalid_graphite_events_are_refused(api: Api, body: Any, response: Any) -> None:
    """An invalid event is refused with Grafana's message for Graphite events."""
    assert await api("POST", f"{PATH}/graphite", body) == response


async def test_the_annotations_of_a_panel_are_deleted_together(api: Api) -> None:
    """One request deletes the annotations of one panel, or one annotation by its id. A request that names neither gets 400."""
    dashboard = await save_dashboard(api, "abc", "A")
    await save_dashboard(api, "other", "B")
    for text, dashboard_members in (
        ("1", {"dashboardUID": "abc", "panelId": 1}),
        ("2", {"dashboardUID": "abc", "panelId": 2}),
        ("3", {"dashboardUID": "other", "panelId": 1}),
        ("4", {"panelId": 1}),
    ):
        await create_annotation(api, text, time=int(text), **dashboard_members)
    for incomplete in ({}, {"panelId": 1}, {"dashboardUID": "abc"}, {"dashboardId": dashboard["id"]}):
        assert (await api("POST", f"{PATH}/mass-delete", incomplete))[0] == 400
    assert (await api("POST", f"{PATH}/mass-delete", {"dashboardUID": "none", "panelId": 1}))[0] == 400
    deleted = (200, {"message": "Annotations deleted"})
    # The second request deletes no annotation, and succeeds, too.
    for _ in range(2):
        assert await api("POST", f"{PATH}/mass-delete", {"dashboardUID": "abc", "panelId": 1}) == deleted
    assert await list_texts(api) == ["4", "3", "2"]
    assert await api("POST", f"{PATH}/mass-delete", {"dashboardId": dashboard["id"], "panelId": 2}) == deleted
    note_id = (await api("GET", f"{PATH}?dashboardUID=other"))[1][0]["id"]
    assert await api("POST", f"{PATH}/mass-delete", {"annotationId": note_id}) == deleted
    assert await api("POST", f"{PATH}/mass-delete", {"annotationId": note_id}) == NOT_FOUND
    assert await list_texts(api) == ["4"]
    statement = "select string_agg(object || details::text, ' ' order by id) from audit_event where details ? 'count'"
    assert await api.sql(statement) == 'dashboard:abc{"count": 1, "panel": 1} dashboard:abc{"count": 1, "panel": 2}'


async def test_annotations_are_deleted_with_their_dashboard(api: Api) -> None:
    """Deleting a dashboard deletes its annotations, and keeps annotations of the organization. Deleting an author deletes no annotation."""
    await save_dashboard(api, "abc", "A")
    await create_annotation(api, "of the dashboard", dashboardUID="abc")
    auth = await api.person("ed", Role.EDITOR)
    assert (await api("POST", PATH, {"text": "of the organization"}, auth=auth))[0] == 200
    assert (await api("DELETE", "/api/dashboards/uid/abc"))[0] == 200
    user_id = await api.sql("""select id from "user" where login = 'ed'""")
    assert (await api("DELETE", f"/api/admin/users/{user_id}"))[0] == 200
    _, body = await api("GET", PATH)
    assert [(annotation["text"], annotation["userId"], annotation["login"]) for annotation in body] == [("of the organization", 0, "")]


async def test_annotations_belong_to_one_organization(api: Api) -> None:
    """Annotations and dashboards of another organization are not found."""
    await save_dashboard(api, "abc", "A")
    note_id = await create_annotation(api, dashboardUID="abc")
    admin_of_other_org = await api.person("abroad", Role.ADMIN, org_id=await api.organization("Other"))
    assert await list_texts(api, auth=admin_of_other_org) == []
    for method, body in (("GET", None), ("PUT", {"text": "x"}), ("PATCH", {"text": "x"}), ("DELETE", None)):
        assert await api(method, f"{PATH}/{note_id}", body, auth=admin_of_other_org) == NOT_FOUND
    assert (await api("POST", PATH, {"text": "x", "dashboardUID": "abc"}, auth=admin_of_other_org))[0] == 400
    assert await api("GET", f"{PATH}/tags", auth=admin_of_other_org) == (200, {"result": {"tags": []}})


async def permitted_verbs(api: Api, auth: str, note_id: int, dashboard_members: Any) -> str:
    """Return the permitted verbs of a caller on an annotation as first letters: read, list, create, write."""
    read = (await api("GET", f"{PATH}/{note_id}", auth=auth))[0]
    text = (await read_annotation(api, note_id))["text"]
    status, body = await api("GET", PATH, auth=auth)
    is_listed = status == 200 and text in [annotation["text"] for annotation in body]
    create = (await api("POST", PATH, {"text": "mine", **dashboard_members}, auth=auth))[0]
    write = {
        (await api("PUT", f"{PATH}/{note_id}", {"text": text}, auth=auth))[0],
        (await api("PATCH", f"{PATH}/{note_id}", {"text": text}, auth=auth))[0],
    }
    assert {read, create, *write} <= {200, 403}
    assert len(write) == 1
    allowed = (("r", read == 200), ("l", is_listed), ("c", create == 200), ("w", write == {200}))
    return "".join(letter for letter, is_allowed in allowed if is_allowed)


@pytest.mark.parametrize(
    ("role", "grant", "organization_verbs", "root_verbs", "folder_verbs"),
    [
        (Role.NONE, None, "", "", ""),
        (Role.VIEWER, None, "rl", "rl", "rlcw"),
        (Role.EDITOR, None, "rlcw", "rlcw", "rlcw"),
        (Role.NONE, ("annotations:read", "*"), "rl", "rl", "rl"),
        (Role.NONE, ("annotations:read", "dashboards:uid:top"), "", "rl", ""),
        (Role.NONE, ("annotations:write", "folders:uid:f1"), "", "", "w"),
        (Role.NONE, ("annotations:create", "annotations:type:organization"), "c", "", ""),
        (Role.NONE, ("annotations:create", "annotations:type:dashboard"), "", "c", "c"),
        (Role.NONE, ("dashboards:write", "*"), "", "", ""),
        (Role.NONE, ("annotations:delete", "*"), "", "", ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
async def test_permissions_are_those_of_the_dashboard(
    api: Api, role: Role, grant: tuple[str, str] | None, organization_verbs: str, root_verbs: str, folder_verbs: str
) -> None:
    """View on a dashboard allows reading its annotations, and Edit changing them.

    Annotations of the organization can be read by members and changed by Editors. A grant gives one action in one scope.
    The dashboard ``top`` is at the root, and ``low`` in a folder with a rule that allows Viewers to edit.
    """
    await folder(api, "f1", "F")
    rules = {"items": [{"role": "Viewer", "permission": EDIT}]}
    assert (await api("POST", "/api/folders/f1/permissions", rules))[0] == 200
    await save_dashboard(api, "top", "Top")
    await save_dashboard(api, "low", "Low", folder="f1")
    dashboards: tuple[Any, ...] = ({}, {"dashboardUID": "top"}, {"dashboardUID": "low"})
    numbers = [await create_annotation(api, f"note {index}", **members) for index, members in enumerate(dashboards)]
    auth = await api.person("anna", role, *([grant] if grant else []))
    assert [await permitted_verbs(api, auth, note_id, members) for note_id, members in zip(numbers, dashboards, strict=True)] == [
        organization_verbs,
        root_verbs,
        folder_verbs,
    ]


async def test_unreadable_annotations_are_neither_counted_nor_deleted(api: Api) -> None:
    """An Editor who may not read a dashboard can neither list, count nor delete the annotations of the dashboard."""
    await save_dashboard(api, "closed", "Closed")
    assert (await api("POST", "/api/dashboards/uid/closed/permissions", {"items": []}))[0] == 200
    note_id = await create_annotation(api, dashboardUID="closed", panelId=1, tags=["secret"])
    auth = await api.person("ed", Role.EDITOR)
    assert await list_texts(api, "dashboardUID=closed", auth=auth) == []
    assert await api("GET", f"{PATH}/tags", auth=auth) == (200, {"result": {"tags": []}})
    for method, path, body in (
        ("GET", f"/{note_id}", None),
        ("DELETE", f"/{note_id}", None),
        ("POST", "/mass-delete", {"dashboardUID": "closed", "panelId": 1}),
        ("POST", "/mass-delete", {"annotationId": note_id}),
    ):
        assert (await api(method, PATH + path, body, auth=auth))[0] == 403
    assert (await read_annotation(api, note_id))["tags"] == ["secret"]


async def test_a_rule_on_a_dashboard_allows_reading_its_annotations(api: Api) -> None:
    """A rule with View on a dashboard allows a member without a role to read the annotations of the dashboard, and no others."""
    await save_dashboard(api, "abc", "A")
    auth = await api.person("guest", Role.NONE)
    guest = await api.sql("""select id from "user" where login = 'guest'""")
    await create_annotation(api, "of the organization")
    await create_annotation(api, "of the dashboard", dashboardUID="abc")
    assert (await api("GET", PATH, auth=auth))[0] == 403
    rules = {"items": [{"userId": guest, "permission": VIEW}]}
    assert (await api("POST", "/api/dashboards/uid/abc/permissions", rules))[0] == 200
    assert await list_texts(api, auth=auth) == ["of the dashboard"]
    dto = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards/abc/dto"
    actions = dict.fromkeys(("canAdd", "canEdit", "canDelete"), False)
    _, body = await api("GET", dto, auth=auth)
    assert body["access"]["annotationsPermissions"] == {"dashboard": actions, "organization": actions}
