"""Exports that others cross: what is cancelled leaves nothing, what is changed meanwhile stays its writer's; and all that comes back."""

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.contract.api.conftest import Api
from tests.contract.api.repositories import made
from tests.contract.api.test_exports import CLASSIC, Export, commits, counts, dashboard, ended, export, folder, make, tree
from tests.contract.api.test_sync_from_git import DASHBOARDS, REPOSITORIES, synced
from tests.servers.git import GitServer, git

from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.jobs_worker.domain.resource import Reader

__all__ = ["export"]  # the fixture

_STORED = """select name, r.stored_version, h.spec, r.folder from resource r join resource_history h using (uid, generation)
    where resource = 'dashboards'"""


async def test_a_cancelled_export_leaves_nothing(git_api: Api, git_server: GitServer) -> None:
    """Cancelled while it looks at the branch: nothing is pushed, nobody manages anything, and the next one does it all."""
    git_server.make("team.git").commit({"README.md": "x"})
    await make(git_api, git_server)
    await dashboard(git_api, "a", "A")
    asked, over = asyncio.Event(), asyncio.Event()

    async def wait(request: web.Request) -> web.StreamResponse | None:
        if request.path.endswith("git-upload-pack"):
            asked.set()
            await over.wait()
        return None

    await git_api("POST", f"{REPOSITORIES}/team/test")
    git_server.fault = wait
    _, job = await git_api("POST", f"{REPOSITORIES}/team/export", {"identifier": True})
    await asyncio.wait_for(asked.wait(), 30)
    jobs = REPOSITORIES.replace("repositories", "jobs")
    assert (await git_api("DELETE", f"{jobs}/{job['metadata']['name']}"))[0] == 200
    git_server.fault = None
    over.set()
    _, second = await git_api("POST", f"{REPOSITORIES}/team/export", {"identifier": True, "branch": "side"})
    assert (await ended(git_api, second))["state"] == "success"
    assert (tree(git_server), commits(git_server)) == ([], 0)
    assert "grafana.app/managedBy" not in (await git_api("GET", f"{CLASSIC}/a"))[1]["metadata"]["annotations"]


async def test_what_is_changed_meanwhile_is_not_handed_over(git_api: Api, git_server: GitServer, export: Export) -> None:
    """Somebody saves while the push is under way: that stays theirs, and the next export takes it along."""
    await dashboard(git_api, "a", "A")
    await dashboard(git_api, "b", "B")
    left = [True]

    async def save(request: web.Request) -> web.StreamResponse | None:
        if request.path.endswith("git-receive-pack") and request.method == "POST" and left:
            left.clear()
            _, found = await git_api("GET", f"{CLASSIC}/a")
            found["spec"]["refresh"] = "5m"
            assert (await git_api("PUT", f"{CLASSIC}/a", found))[0] == 200
        return None

    git_server.fault = save
    assert counts(await export(identifier=True)) == {"create": 2}
    managed = "select string_agg(name, ',' order by name) from resource where resource = 'dashboards' and manager_id = 'team'"
    assert await git_api.sql(managed) == "b"
    status = await synced(git_api)
    assert (status["state"], counts(status)) == ("error", {"noop": 1, "error": 1})
    assert counts(await export(identifier=True)) == {"update": 1}
    assert await git_api.sql(managed) == "a,b"
    assert counts(await synced(git_api)) == {"noop": 2}


async def test_a_folder_on_the_server_is_written_in_place(git_api: Api, tmp_path: Path) -> None:
    """Twice the same: nothing is written; its own branch is the only one, and it keeps no history."""
    (tmp_path / "local").mkdir()
    await made(git_api, "local", tmp_path, "write")
    await folder(git_api, "web", "Web")
    await dashboard(git_api, "a", "A", "web")
    for expected in ({"create": 1}, {"noop": 1}):
        status, job = await git_api("POST", f"{REPOSITORIES}/local/export", {"identifier": True})
        assert status == 202, job
        assert counts(await ended(git_api, job, "local")) == expected
    assert json.loads((tmp_path / "local" / "Web" / "a.json").read_text())["metadata"] == {"name": "a"}
    for options, reason in (({"history": True}, "keeps no history"), ({"branch": "side"}, "branch workflow")):
        status, found = await git_api("POST", f"{REPOSITORIES}/local/export", options)
        assert (status, reason in found["message"]) == (422, True), found


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_clone_holds_what_is_stored(git_api: Api, git_server: GitServer, export: Export, tmp_path: Path, seed: int) -> None:
    """Drawn instances: every dashboard is in one file, which reads as it is stored, in the directory of its folder; and comes back so."""
    draw = random.Random(seed)
    titles = ["A", "a", "A b", "a-b", "Ä/ö", "📈", "x" * 300]
    folders = [""]
    for number in range(4):
        folders.append(f"f{number}")
        await folder(git_api, f"f{number}", draw.choice(titles), draw.choice(folders[:-1]))
    for number in range(12):
        url, spec = (
            (CLASSIC, {"panels": [{"id": number, "value": 1.50}]})
            if draw.random() < 0.6
            else (DASHBOARDS, {"layout": {"kind": "GridLayout"}})
        )
        await dashboard(git_api, f"d{number}", draw.choice(titles), draw.choice(folders), url=url, **spec)
    stored = await read_stored(git_api)
    assert (await export(identifier=True))["state"] == "success"
    git(tmp_path, "clone", "--quiet", str(git_server.root / "team.git"), "clone")
    reader = Reader("default", "team", AdmissionSettings())
    files = [reader.read(path.name, path.read_bytes()) for path in (tmp_path / "clone").rglob("*.json")]
    assert {file.key.name: (file.version, json.loads(file.spec)) for file in files} == {name: found[:2] for name, found in stored.items()}
    status = await synced(git_api)
    assert (status["state"], counts(status)) == ("success", {"noop": 12})
    assert await read_stored(git_api) == stored


async def read_stored(api: Api) -> dict[str, tuple[str, Any, str | None]]:
    """Version, body and folder of each dashboard."""
    async with api.database.connection() as connection:
        rows = await connection.fetch(_STORED)
    return {row["name"]: (row["stored_version"], json.loads(row["spec"]), row["folder"]) for row in rows}
