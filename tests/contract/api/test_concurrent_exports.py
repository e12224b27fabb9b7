"""Exports that are cancelled, or run while objects are saved, and syncs that find the exported objects unchanged."""

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.contract.api.conftest import Api
from tests.contract.api.repositories import make_local_repository
from tests.contract.api.test_exports import (
    CLASSIC,
    Export,
    count_commits,
    counts,
    create_dashboard,
    create_folder,
    create_repository,
    export,
    list_files,
    wait_for_job,
)
from tests.contract.api.test_sync_from_git import DASHBOARDS, REPOSITORIES, run_sync
from tests.servers.git import GitServer, git

from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.jobs_worker.domain.resource import ResourceReader

__all__ = ["export"]  # the fixture, which pytest finds by its name

#: Selects name, stored version, spec and folder of each dashboard.
_SELECT_STORED = """select name, r.stored_version, h.spec, r.folder from resource r join resource_history h using (uid, generation)
    where resource = 'dashboards'"""


async def test_a_cancelled_export_changes_nothing(git_api: Api, git_server: GitServer) -> None:
    """An export that is cancelled while it fetches pushes nothing and manages no object, and the next export succeeds."""
    git_server.create_repository("team.git").commit({"README.md": "x"})
    await create_repository(git_api, git_server)
    await create_dashboard(git_api, "a", "A")
    requested, finished = asyncio.Event(), asyncio.Event()

    async def wait(request: web.Request) -> web.StreamResponse | None:
        """Hold the first response of the git server to a fetch until the export is cancelled."""
        if request.path.endswith("git-upload-pack"):
            requested.set()
            await finished.wait()
        return None

    # Then the health is known, and the request for the export does not wait for a check, which would fetch, too.
    await git_api("POST", f"{REPOSITORIES}/team/test")
    git_server.fault = wait
    _, job = await git_api("POST", f"{REPOSITORIES}/team/export", {"identifier": True})
    await asyncio.wait_for(requested.wait(), 30)
    jobs = REPOSITORIES.replace("repositories", "jobs")
    assert (await git_api("DELETE", f"{jobs}/{job['metadata']['name']}"))[0] == 200
    git_server.fault = None
    finished.set()
    _, second = await git_api("POST", f"{REPOSITORIES}/team/export", {"identifier": True, "branch": "side"})
    assert (await wait_for_job(git_api, second))["state"] == "success"
    assert (list_files(git_server), count_commits(git_server)) == ([], 0)
    assert "grafana.app/managedBy" not in (await git_api("GET", f"{CLASSIC}/a"))[1]["metadata"]["annotations"]


async def test_an_object_saved_during_an_export_is_not_managed(git_api: Api, git_server: GitServer, export: Export) -> None:
    """An object that is saved during the push is still unmanaged afterwards. The next export includes the change."""
    await create_dashboard(git_api, "a", "A")
    await create_dashboard(git_api, "b", "B")
    is_saved = asyncio.Event()

    async def save(request: web.Request) -> web.StreamResponse | None:
        """Save the dashboard ``a`` once, at the first push of the export."""
        if request.path.endswith("git-receive-pack") and request.method == "POST" and not is_saved.is_set():
            is_saved.set()
            _, body = await git_api("GET", f"{CLASSIC}/a")
            body["spec"]["refresh"] = "5m"
            assert (await git_api("PUT", f"{CLASSIC}/a", body))[0] == 200
        return None

    git_server.fault = save
    assert counts(await export(identifier=True)) == {"create": 2}
    select_managed = "select string_agg(name, ',' order by name) from resource where resource = 'dashboards' and manager_id = 'team'"
    assert await git_api.sql(select_managed) == "b"
    status = await run_sync(git_api)
    assert (status["state"], counts(status)) == ("error", {"noop": 1, "error": 1})
    assert counts(await export(identifier=True)) == {"update": 1}
    assert await git_api.sql(select_managed) == "a,b"
    assert counts(await run_sync(git_api)) == {"noop": 2}


async def test_an_export_to_a_local_repository(git_api: Api, tmp_path: Path) -> None:
    """An export to a local repository writes its files once. It supports neither branches nor history."""
    (tmp_path / "local").mkdir()
    await make_local_repository(git_api, "local", tmp_path, "write")
    await create_folder(git_api, "web", "Web")
    await create_dashboard(git_api, "a", "A", "web")
    for expected in ({"create": 1}, {"noop": 1}):
        status, job = await git_api("POST", f"{REPOSITORIES}/local/export", {"identifier": True})
        assert status == 202, job
        assert counts(await wait_for_job(git_api, job, "local")) == expected
    assert json.loads((tmp_path / "local" / "Web" / "a.json").read_text())["metadata"] == {"name": "a"}
    for options, reason in (({"history": True}, "keeps no history"), ({"branch": "side"}, "branch workflow")):
        status, body = await git_api("POST", f"{REPOSITORIES}/local/export", options)
        assert status == 422, body
        assert reason in body["message"], body


@pytest.mark.parametrize("seed", [1, 2])
async def test_exported_files_equal_the_stored_objects(
    git_api: Api, git_server: GitServer, export: Export, tmp_path: Path, seed: int
) -> None:
    """For random dashboards and folders, the exported files contain the stored versions and specs, and a sync changes nothing."""
    draw = random.Random(seed)
    # Some titles result in equal file names, or have characters that file names cannot have.
    titles = ["A", "a", "A b", "a-b", "Ä/ö", "📈", "x" * 300]
    folders = [""]
    for index in range(4):
        folders.append(f"f{index}")
        await create_folder(git_api, f"f{index}", draw.choice(titles), draw.choice(folders[:-1]))
    for index in range(12):
        is_classic = draw.random() < 0.6
        url = CLASSIC if is_classic else DASHBOARDS
        spec: dict[str, Any] = {"panels": [{"id": index, "value": 1.50}]} if is_classic else {"layout": {"kind": "GridLayout"}}
        await create_dashboard(git_api, f"d{index}", draw.choice(titles), draw.choice(folders), url=url, **spec)
    stored = await read_stored(git_api)
    assert (await export(identifier=True))["state"] == "success"
    git(tmp_path, "clone", "--quiet", str(git_server.root / "team.git"), "clone")
    reader = ResourceReader("default", "team", AdmissionSettings())
    files = [reader.read(path.name, path.read_bytes()) for path in (tmp_path / "clone").rglob("*.json") if path.name != "_folder.json"]
    assert {file.key.name: (file.version, json.loads(file.spec)) for file in files} == {
        name: (version, spec) for name, (version, spec, _) in stored.items()
    }
    status = await run_sync(git_api)
    assert (status["state"], counts(status)) == ("success", {"noop": 12})
    assert await read_stored(git_api) == stored


async def read_stored(api: Api) -> dict[str, tuple[str, Any, str | None]]:
    """Return version, spec and folder of each dashboard."""
    async with api.database.connection() as connection:
        rows = await connection.fetch(_SELECT_STORED)
    return {row["name"]: (row["stored_version"], json.loads(row["spec"]), row["folder"]) for row in rows}
