"""Access reviews, which return whether the routes would permit a request."""

from typing import Any

import pytest
from tests.contract.api.conftest import ADMIN, Api

from dashwright.common.identity import Role

PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
DASHBOARDS = {"group": "dashboard.grafana.app", "resource": "dashboards"}
FOLDERS = {"group": "folder.grafana.app", "resource": "folders"}
REPOSITORIES = {"group": "provisioning.grafana.app", "resource": "repositories"}


async def review(api: Api, auth: str, **attributes: str) -> dict[str, Any]:
    """Return the status of a review in the namespace ``default``, unless another is named."""
    body = {"spec": {"resourceAttributes": {"namespace": "default", **attributes}}}
    status, response = await api("POST", PATH, body, auth=auth)
    assert (status, response["kind"], response["apiVersion"]) == (201, "SelfSubjectAccessReview", "authorization.k8s.io/v1")
    assert response["spec"] == body["spec"]
    review_status: dict[str, Any] = response["status"]
    return review_status


@pytest.mark.parametrize(
    ("role", "attributes", "allowed"),
    [
        (Role.VIEWER, {**DASHBOARDS, "verb": "list"}, True),
        (Role.VIEWER, {**DASHBOARDS, "verb": "get", "subresource": "dto"}, True),
        (Role.VIEWER, {**DASHBOARDS, "verb": "create"}, False),
        (Role.VIEWER, {**DASHBOARDS, "verb": "*"}, False),
        (Role.EDITOR, {**DASHBOARDS, "verb": "*"}, True),
        (Role.EDITOR, {**REPOSITORIES, "verb": "get"}, True),
        (Role.EDITOR, {**REPOSITORIES, "verb": "delete"}, False),
        (Role.EDITOR, {"group": "*", "resource": "*", "verb": "get"}, False),
        (Role.ADMIN, {"group": "*", "resource": "*", "verb": "get"}, True),
        (Role.EDITOR, {"group": "*", "resource": "*", "verb": "delete"}, False),
        (Role.ADMIN, {"group": "*", "resource": "*", "verb": "delete"}, True),
        (Role.NONE, {**DASHBOARDS, "verb": "get"}, False),
    ],
    ids=lambda value: " ".join(value.values()) if isinstance(value, dict) else None,
)
async def test_the_response_follows_from_the_role(api: Api, role: Role, attributes: dict[str, str], *, allowed: bool) -> None:
    """A review allows what the role of the caller allows. With a star, each verb, group or resource must be allowed."""
    result = await review(api, await api.person("anna", role), **attributes)
    assert result["allowed"] is allowed
    if allowed:
        assert "reason" not in result
    else:
        assert "reason" in result


async def test_one_object_is_judged_by_the_rules_on_it(api: Api) -> None:
    """A Viewer may read a folder without access rules, and may not read a folder whose only rule is for Editors."""
    viewer = await api.person("vic", Role.VIEWER)
    for uid in ("open", "shut"):
        assert (await api("POST", "/api/folders", {"uid": uid, "title": uid}))[0] == 200
    statement = (
        "insert into access_list (uid, namespace, resource, name) select uid, namespace, resource, name from resource where name = 'shut'"
    )
    uid = await api.sql(f"{statement} returning uid")
    await api.sql("insert into access_rule (uid, role, permission) values ($1, 'Editor', 1)", uid)
    assert (await review(api, viewer, **FOLDERS, verb="get", name="open"))["allowed"] is True
    assert await review(api, viewer, **FOLDERS, verb="get", name="shut") == {"allowed": False, "reason": "vic needs folders:read"}


async def test_reviews_are_about_the_organization_of_the_namespace(api: Api) -> None:
    """A review uses the caller's permissions in the organization of the namespace.

    A caller who is not a member of the organization may do nothing in it, unless the caller is a server admin.
    """
    org = await api.organization("Two")
    editor = await api.person("ed", Role.EDITOR)
    assert (await review(api, editor, **DASHBOARDS, verb="create"))["allowed"] is True
    assert (await review(api, editor, **DASHBOARDS, verb="get", namespace=f"org-{org}"))["allowed"] is False
    assert (await review(api, ADMIN, **DASHBOARDS, verb="get", namespace=f"org-{org}"))["allowed"] is True


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"group": "apps", "resource": "deployments", "verb": "get"}, 'no resource "deployments" in the group "apps"'),
        ({**DASHBOARDS, "verb": "approve"}, 'do not support "approve"'),
        ({**DASHBOARDS, "verb": "get", "subresource": "log"}, 'do not support "get" of "log"'),
        ({**DASHBOARDS, "verb": "get", "namespace": "kube-system"}, 'no namespace "kube-system"'),
    ],
    ids=["resource", "verb", "subresource", "namespace"],
)
async def test_unknown_resources_are_not_allowed(api: Api, attributes: dict[str, str], reason: str) -> None:
    """A review of an unknown resource, verb, subresource or namespace denies access, with the reason."""
    result = await review(api, ADMIN, **attributes)
    assert result["allowed"] is False
    assert reason in result["reason"]


async def test_unusual_reviews_are_decided_or_refused(api: Api) -> None:
    """A review of a path outside of the resource API denies access. Protobuf gets 415, and a body that is not a review gets 400."""
    status, response = await api("POST", PATH, {"spec": {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}})
    assert status == 201
    assert response["status"]["allowed"] is False
    status, response = await api("POST", PATH, data=b"k8s\0", headers={"Content-Type": "application/vnd.kubernetes.protobuf"})
    assert (status, response["reason"]) == (415, "UnsupportedMediaType")
    invalid_bodies: list[Any] = [
        [],
        {},
        {"spec": 1},
        {"spec": {"resourceAttributes": "all"}},
        {"spec": {"resourceAttributes": {"name": "\0"}}},
        {"spec": {"resourceAttributes": {"verb": 1}}},
    ]
    for body in invalid_bodies:
        assert (await api("POST", PATH, body))[0] == 400


async def test_the_spec_is_returned_with_exact_numbers(api: Api) -> None:
    """Numbers of unknown members, which may have more digits than a double, are part of the response."""
    spec = {"resourceAttributes": {**DASHBOARDS, "verb": "get", "namespace": "default"}, "other": -2.225073858507e-311}
    status, response = await api("POST", PATH, {"spec": spec})
    assert (status, response["spec"]) == (201, spec)
