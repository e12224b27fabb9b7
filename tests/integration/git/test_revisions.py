"""Syncs over http, revision by revision: the stored objects equal the tree, by full and by incremental syncs alike."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from tests.integration.git.conftest import OpenRemote
from tests.integration.git.history import History
from tests.servers.git import GitServer

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.jobs import paths
from dashwright.common.jobs.names import object_name
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.provisioning import SyncTarget
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.stores import repositories, resources
from dashwright.common.yaml import read_yaml
from dashwright.jobs_worker.actions.sync import SyncJob, SyncTools, sync
from dashwright.jobs_worker.adapters.git.checkout import GitCheckout
from dashwright.jobs_worker.adapters.git.mirrors import Mirrors
from dashwright.jobs_worker.adapters.spool import FileSpool
from dashwright.jobs_worker.adapters.store import DatabaseObjectStore
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.stored_repositories import repository_of

REVISIONS = 25
SPEC = '{"title":"Team","workflows":[],"type":"local","local":{"path":"p"},"sync":{"enabled":true,"target":"folder"}}'


class NoReporter:
    async def report(self, progress: JobProgress) -> None:
        """Ignore progress."""


class SyncedRepository:
    """The repository ``team`` in one namespace, with the objects that are stored from it."""

    def __init__(self, database: Database, namespace: str) -> None:
        self._database = database
        self._namespace = namespace

    async def create_repository(self) -> None:
        created = resources.Write(REPOSITORY, "team", SPEC, "v0alpha1", extract=Extract("Team"))
        async with self._database.transaction() as connection:
            await resources.create(
                await resources.lock(connection, self._namespace), self._namespace, created, actor="user:1", now=Clock().now()
            )

    async def sync(self, checkout: GitCheckout, *, incremental: bool) -> tuple[JobProgress, bool]:
        """Sync and return the progress, and whether the difference was enough."""
        async with self._database.connection() as connection:
            stored = await resources.get(connection, REPOSITORY, self._namespace, "team")
            remaining = await repositories.stored_commit(connection, stored.uid, generation=stored.generation)
        objects = self._objects(repository_of(stored), remaining.edition)
        difference = None
        if incremental and remaining.commit:
            difference = await checkout.difference_since(remaining.commit, [item.path for item in await objects.quarantined()])
        job = SyncJob(self._namespace, "team", "Team", SyncTarget.FOLDER, enabled=True)
        with FileSpool() as spool:
            tools = SyncTools(spool, AdmissionSettings())
            return await sync(job, checkout, objects, NoReporter(), tools, difference), difference is not None

    async def stored(self) -> dict[str, Any]:
        """Return all managed objects by kind and name."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                "select resource, name, folder, title, source_path, source_checksum, labels, spec from resource "
                "join (select uid, generation, spec from resource_history) as history using (uid, generation) "
                "where namespace = $1 and manager_id = 'team'",
                self._namespace,
            )
        return {f"{row['resource']}/{row['name']}": {**row, "spec": json.loads(row["spec"])} for row in rows}

    def _objects(self, repository: Repository, edition: int) -> DatabaseObjectStore:
        return DatabaseObjectStore(self._database, Clock(), QuotaRules(), repository=repository, edition=edition)


@pytest.mark.parametrize(("seed", "directory"), [(1, ""), (2, ""), (3, "ops/boards")], ids=["1", "2", "3-of-a-directory"])
async def test_stored_objects_equal_each_revision(
    database: Database, server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, seed: int, directory: str
) -> None:
    """Full and incremental syncs of one repository store equal objects after each revision.

    Two namespaces follow the repository, one by differences and one by full syncs. If no file is refused, the objects
    equal the tree, or one of its directories.
    """
    server.create_repository("team.git")
    history = History(server.root / "team.git", seed, directory)
    complete, quick = SyncedRepository(database, "default"), SyncedRepository(database, "org-2")
    await complete.create_repository()
    await quick.create_repository()
    by_difference = clean = 0
    for revision in range(REVISIONS):
        description = f"revision {revision}: {history.revise()}"
        commit = await mirrors.fetch("team", open_remote("team.git"), "main")
        assert commit is not None
        checkout = GitCheckout(commit, directory)
        progress, _ = await complete.sync(checkout, incremental=False)
        other, was_enough = await quick.sync(checkout, incremental=True)
        assert sorted(progress.errors) == sorted(other.errors), description
        assert await complete.stored() == await quick.stored(), description
        by_difference += was_enough
        if not progress.error_count and not any(entry.warning for entry in progress.summary()):
            clean += 1
            stored_objects, expected_objects = by_path(await complete.stored()), expected_content(history.files)
            existing_folders = {f"folders:{directory.rstrip('/')}" for path in history.files for directory in paths.directories(path)}
            assert {
                key: row for key, row in stored_objects.items() if key in expected_objects or key not in existing_folders
            } == expected_objects, description
    assert by_difference > REVISIONS / 4
    assert clean > REVISIONS / 4


def by_path(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return objects without the generated names of folders: a moved directory keeps its own."""
    folder_paths = {row["name"]: row["source_path"] or "" for row in stored.values() if row["resource"] == "folders"}
    contents = {}
    for row in stored.values():
        is_folder = row["resource"] == "folders"
        name, body = (None, None) if is_folder else (row["name"], row["spec"])
        contents[f"{row['resource']}:{row['source_path'] or ''}"] = (name, folder_paths.get(row["folder"]), row["title"], body)
    return contents


def expected_content(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the content of a tree without invalid files: dashboards with name, directory, title and body, and directories."""
    contents: dict[str, Any] = {"folders:": (None, None, "Team", None)}
    for path, body in files.items():
        if path.endswith((".json", ".yaml", ".yml")) and not paths.is_hidden(path):
            for directory in paths.directories(path):
                folder_path = directory.rstrip("/")
                contents[f"folders:{folder_path}"] = (None, paths.parent(directory).rstrip("/"), folder_path.rpartition("/")[2], None)
            tree = json.loads(body) if path.endswith(".json") else read_yaml(body.decode())
            metadata, spec = tree.get("metadata", {}), tree.get("spec", tree)
            name = metadata.get("name") or spec.get("uid") or object_name("team", path)
            stored_spec = {key: value for key, value in spec.items() if key not in ("uid", "version", "id")}
            contents[f"dashboards:{path}"] = (name, paths.parent(path).rstrip("/"), spec["title"], stored_spec)
    return contents
