"""Direct changes of objects that a repository manages: the gateway rejects a change, or requests it from the worker."""

import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.contract.api.conftest import ADMIN, Api
from tests.contract.api.repositories import REPOSITORIES, FakeJobsWorker, make_local_repository
from tests.signer import SIGNER

from dashwright.common.errors import Conflict
from dashwright.common.identity import Role
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import RpcServer

DASHBOARDS = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
FOLDERS = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders"
SPEC = {"title": "CPU", "panels": []}


@pytest.fixture
async def worker(api: Api, broker: MemoryBroker) -> AsyncIterator[FakeJobsWorker]:
    """Start a fake jobs worker, which reports each requested change as successful."""
    fake_worker = FakeJobsWorker()
    server = RpcServer(broker, broker.topology.repositories, fake_worker.respond, SIGNER, prefetch=8)
    await server.start()
    yield fake_worker
    await server.stop(drain=0)


async def create_managed_dashboard(api: Api, *workflows: str, enabled: bool = True) -> dict[str, Any]:
    """Create the dashboard d in the folder f, both managed by the repository team."""
    await make_local_repository(api, "team", api.data, *workflows, enabled=enabled)
    assert (await api("POST", "/api/folders", {"uid": "f", "title": "F"}))[0] == 200
    body = {"metadata": {"name": "d", "annotations": {"grafana.app/folder": "f"}}, "spec": SPEC}
    assert (await api("POST", DASHBOARDS, body))[0] == 201
    manager_annotations = {"grafana.app/managedBy": "repo", "grafana.app/managerId": "team"}
    async with api.database.transaction() as connection:
        for name, path in (("d", "deep/d.json"), ("f", "deep")):
            source = {"grafana.app/sourcePath": path, "grafana.app/sourceChecksum": f"sum of {path}"}
            statement = "update resource set annotations = annotations || $2::text::jsonb, managed_fields = '[]' where name = $1"
            await connection.execute(statement, name, json.dumps(manager_annotations | source))
    return dict((await api("GET", f"{DASHBOARDS}/d"))[1])


async def patch(api: Api, kind: str, body: Any, *, path: str = f"{DASHBOARDS}/d", auth: str = ADMIN, **query: str) -> tuple[int, Any]:
    """Patch an object with a content type of Kubernetes. Return the status and the body."""
    headers = {"Authorization": auth, "Content-Type": f"application/{kind}"}
    async with api.session.patch(path, data=json.dumps(body), headers=headers, params=query) as response:
        return response.status, await response.json()


async def audited_actions(api: Api) -> list[str]:
    """Return the audited actions on dashboards, without the create of the dashboard."""
    async with api.database.connection() as connection:
        rows = await connection.fetch("select action from audit_event where action like 'dashboard.%' order by id")
    return [row["action"] for row in rows][1:]


async def test_a_change_is_sent_to_the_worker(api: Api, worker: FakeJobsWorker) -> None:
    """The worker receives the path, the checksum, the new object with exact numbers, and the author, but no metadata of the store."""
    dashboard = await create_managed_dashboard(api, "write")
    dashboard["spec"] = None
    dashboard["metadata"]["annotations"] |= {
        "note": "n",
        "grafana.app/message": "Why",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    dashboard["metadata"]["labels"]["team"] = "a"
    # The spec is inserted as text, because json.dumps would write the number 1.10 as 1.1.
    request_text = json.dumps(dashboard).replace('"spec": null', '"spec": {"title": "CPU", "panels": [], "n": 1.10}')
    headers = {"Authorization": ADMIN, "Content-Type": "application/json"}
    async with api.session.put(f"{DASHBOARDS}/d", data=request_text, headers=headers) as response:
        assert response.status == 200
        assert (await response.json())["metadata"]["name"] == "d"
    (request,) = worker.requests
    assert request["author"].pop("at") == pytest.approx(time.time(), abs=60)
    edited = {"version": "v2alpha1", "name": "d", "spec": '{"title":"CPU","panels":[],"n":1.10}'}
    assert request == {
        "call": "edit",
        "namespace": "default",
        "name": "team",
        "path": "deep/d.json",
        "checksum": "sum of deep/d.json",
        "resource": "dashboards",
        "objectName": "d",
        "edited": {**edited, "labels": {"team": "a"}, "annotations": {"note": "n"}, "folder": "f"},
        "message": "Why",
        "author": {"name": "admin", "email": "admin@localhost", "uid": "user:1"},
        "dryRun": False,
    }
    assert await audited_actions(api) == ["dashboard.update"]


async def test_every_write_changes_the_file(api: Api, worker: FakeJobsWorker) -> None:
    """Patches of each type, classic saves and restores, and deletes by both APIs change the file."""
    await create_managed_dashboard(api, "write")
    applied = {"apiVersion": "dashboard.grafana.app/v2alpha1", "kind": "Dashboard", "metadata": {"name": "d"}, "spec": {"title": "Applied"}}
    assert (await patch(api, "merge-patch+json", {"spec": {"title": "Merged"}}))[0] == 200
    assert (await patch(api, "json-patch+json", [{"op": "replace", "path": "/spec/title", "value": "Replaced"}]))[0] == 200
    assert (await patch(api, "apply-patch+yaml", applied, fieldManager="kubectl"))[0] == 200
    save = {"dashboard": {"uid": "d", "title": "Saved"}, "folderUid": "f", "overwrite": True, "message": "By hand"}
    assert (await api("POST", "/api/dashboards/db", save))[0] == 200
    titles = [json.loads(request["edited"]["spec"])["title"] for request in worker.requests]
    assert titles == ["Merged", "Replaced", "Applied", "Saved"]
    assert worker.requests[-1]["message"] == "By hand"
    worker.requests.clear()
    assert (await api("DELETE", f"{DASHBOARDS}/d"))[0] == 200
    assert (await api("DELETE", f"{DASHBOARDS}/d?propagationPolicy=Foreground"))[0] == 200
    assert (await api("DELETE", "/api/dashboards/uid/d"))[0] == 200
    assert [("edited" in request, request["path"]) for request in worker.requests] == [(False, "deep/d.json")] * 3
    assert await audited_actions(api) == ["dashboard.update"] * 3 + ["dashboard.save"] + ["dashboard.delete"] * 3


async def test_a_write_without_effect_makes_no_commit(api: Api, worker: FakeJobsWorker) -> None:
    """An equal body, kubectl's notes and owners of fields, which a sync does not store, send no request to the worker."""
    dashboard = await create_managed_dashboard(api, "write")
    assert await api("PUT", f"{DASHBOARDS}/d", dashboard) == (200, dashboard)
    note = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    assert await patch(api, "strategic-merge-patch+json", {"metadata": {"annotations": note}}) == (200, dashboard)
    applied = {"apiVersion": "dashboard.grafana.app/v2alpha1", "kind": "Dashboard", "metadata": {"name": "d"}, "spec": {"title": "CPU"}}
    assert await patch(api, "apply-patch+yaml", applied, fieldManager="me") == (200, dashboard)
    assert (worker.requests, await audited_actions(api)) == ([], [])


async def test_a_dry_run_is_sent_to_the_worker(api: Api, worker: FakeJobsWorker) -> None:
    """A dry run returns the object as it would be stored, and is not audited."""
    dashboard = await create_managed_dashboard(api, "write")
    status, response = await patch(api, "merge-patch+json", {"spec": {"title": "Tried"}}, dryRun="All")
    assert (status, response["spec"]["title"]) == (200, "Tried")
    assert response["metadata"]["resourceVersion"] == dashboard["metadata"]["resourceVersion"]
    assert (await api("DELETE", f"{DASHBOARDS}/d?dryRun=All"))[0] == 200
    assert [request["dryRun"] for request in worker.requests] == [True, True]
    assert ((await api("GET", f"{DASHBOARDS}/d"))[1], await audited_actions(api)) == (dashboard, [])


async def test_preconditions_are_checked_first(api: Api, worker: FakeJobsWorker) -> None:
    """A write that names another version, or has an invalid body, is rejected before the file is changed."""
    dashboard = await create_managed_dashboard(api, "write")
    old = {**dashboard, "metadata": {**dashboard["metadata"], "resourceVersion": "1"}, "spec": {"title": "U"}}
    assert (await api("PUT", f"{DASHBOARDS}/d", old))[0] == 409
    classic = {"dashboard": {"uid": "d", "title": "U", "version": 7}, "folderUid": "f"}
    assert (await api("POST", "/api/dashboards/db", classic))[0] == 412
    assert (await patch(api, "merge-patch+json", {"spec": {"title": ""}}))[0] == 400
    assert (await api("DELETE", f"{DASHBOARDS}/d", {"preconditions": {"resourceVersion": "1"}}))[0] == 409
    assert (await patch(api, "merge-patch+json", {"metadata": {"finalizers": ["x"]}}))[0] == 422
    assert worker.requests == []


async def test_a_file_that_has_changed_is_a_conflict(api: Api, worker: FakeJobsWorker) -> None:
    """If the file has changed, the response is the worker's conflict, and nothing is audited."""
    await create_managed_dashboard(api, "write")
    worker.faults = [Conflict("deep/d.json has changed in the repository; sync, and try again")] * 2
    assert (await patch(api, "merge-patch+json", {"spec": {"title": "U"}}))[0] == 409
    assert (await api("DELETE", f"{DASHBOARDS}/d"))[0] == 409
    assert await audited_actions(api) == []


async def test_permissions_are_checked_first(api: Api, worker: FakeJobsWorker) -> None:
    """A Viewer is rejected as for any other dashboard, without a call to the worker."""
    await create_managed_dashboard(api, "write")
    viewer = await api.person("vic", Role.VIEWER)
    status, refusal = await patch(api, "merge-patch+json", {"spec": {"title": "U"}}, auth=viewer)
    assert status == 403
    assert "dashboards:write" in refusal["message"]
    assert (await api("DELETE", f"{DASHBOARDS}/d", auth=viewer))[0] == 403
    assert worker.requests == []


@pytest.mark.parametrize(
    ("workflows", "enabled", "reason"),
    [
        ((), True, ', whose workflows do not include "write"'),
        (("write",), False, ", whose sync is off"),
    ],
    ids=["no workflow", "sync is off"],
)
async def test_edits_are_refused_without_the_workflow(
    api: Api, worker: FakeJobsWorker, workflows: tuple[str, ...], enabled: bool, reason: str
) -> None:
    """If the workflows exclude writes or sync is disabled, every write is 403 with the reason and an alternative.

    The caller's abilities exclude writes.
    """
    await create_managed_dashboard(api, *workflows, enabled=enabled)
    status, refusal = await patch(api, "merge-patch+json", {"spec": {"title": "U"}})
    assert (status, refusal["message"]) == (
        403,
        f'dashboard "d" is managed by the repository "team"{reason}; change its file there instead',
    )
    status, refusal = await api("DELETE", "/api/dashboards/uid/d")
    assert status == 403
    assert "remove its file there instead" in refusal["message"]
    assert worker.requests == []
    assert await abilities(api) == {"canSave": False, "canEdit": False, "canDelete": False, "canAdmin": True}


async def abilities(api: Api, auth: str = ADMIN) -> dict[str, bool]:
    """Return the rights on the dashboard, which both APIs report equally."""
    names = ("canSave", "canEdit", "canDelete", "canAdmin")
    _, resource = await api("GET", f"{DASHBOARDS}/d/dto", auth=auth)
    _, classic = await api("GET", "/api/dashboards/uid/d", auth=auth)
    result = {name: resource["access"][name] for name in names}
    assert result == {name: classic["meta"][name] for name in names}
    return result


async def test_reported_abilities_follow_the_workflow(api: Api, worker: FakeJobsWorker) -> None:
    """If the workflow permits writes, permissions decide. A folder of a repository is a directory, so this API cannot change it."""
    await create_managed_dashboard(api, "write")
    assert await abilities(api) == dict.fromkeys(("canSave", "canEdit", "canDelete", "canAdmin"), True)
    assert not any((await abilities(api, await api.person("vic", Role.VIEWER))).values())
    _, folder = await api("GET", "/api/folders/f")
    assert [folder[name] for name in ("canSave", "canEdit", "canDelete", "canAdmin")] == [False, False, False, True]
    status, error = await api("PUT", "/api/folders/f", {"title": "G", "overwrite": True})
    assert (status, error["message"]) == (403, 'folder "f" is managed by the repository "team"; change its directory there instead')
    _, error = await api("DELETE", "/api/folders/f")
    assert error["message"] == 'folder "f" is managed by the repository "team"; remove its directory there instead'
    assert (await api("DELETE", f"{FOLDERS}/f"))[0] == 403
    assert worker.requests == []


async def test_a_repository_in_deletion_rejects_edits(api: Api, worker: FakeJobsWorker) -> None:
    """A repository that waits for a finalizer rejects edits."""
    await create_managed_dashboard(api, "write")
    await api.sql("update resource set finalizers = '{x}' where name = 'team'")
    assert (await api("DELETE", f"{REPOSITORIES}/team"))[0] == 200
    status, refusal = await patch(api, "merge-patch+json", {"spec": {"title": "U"}})
    assert status == 403
    assert "is being deleted" in refusal["message"]
    assert worker.requests == []


async def test_managed_objects_cannot_be_deleted_together_or_created(api: Api, worker: FakeJobsWorker) -> None:
    """A collection with managed dashboards cannot be deleted, because commits cannot guarantee to delete all or none.

    A managed dashboard is created by its file only.
    """
    await create_managed_dashboard(api, "write")
    status, error = await api("DELETE", DASHBOARDS)
    assert status == 403
    assert '"d"' in error["message"]
    assert "by name" in error["message"]
    body = {"metadata": {"name": "e", "annotations": {"grafana.app/folder": "f"}}, "spec": SPEC}
    assert (await api("POST", DASHBOARDS, body))[0] == 403
    assert worker.requests == []


async def test_a_move_is_limited_to_the_repository(api: Api, worker: FakeJobsWorker) -> None:
    """A move sends the target folder to the worker. A move to a folder of another repository is refused by the gateway."""
    await create_managed_dashboard(api, "write")
    for name, repository in (("g", "team"), ("h", "other")):
        assert (await api("POST", "/api/folders", {"uid": name, "title": name}))[0] == 200
        manager_annotations = {"grafana.app/managedBy": "repo", "grafana.app/managerId": repository}
        await api.sql("update resource set annotations = $2::text::jsonb where name = $1", name, json.dumps(manager_annotations))
    assert (await patch(api, "merge-patch+json", {"metadata": {"annotations": {"grafana.app/folder": "g"}}}))[0] == 200
    assert worker.requests.pop()["edited"]["folder"] == "g"
    status, result = await patch(api, "merge-patch+json", {"metadata": {"annotations": {"grafana.app/folder": "h"}}})
    assert status == 403
    assert "resource manager (repo:team) does not match folder manager (repo:other)" in result["message"]
    assert worker.requests == []
