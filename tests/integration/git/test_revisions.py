"""Syncs over HTTP of many revisions: after full and after incremental syncs, the stored objects equal the files."""

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
    """A reporter that ignores progress."""

    async def report(self, progress: JobProgress) -> None:
        """Ignore progress."""


class SyncedRepository:
    """The repository ``team`` in one namespace, with the objects that are stored from it."""

    def __init__(self, database: Database, namespace: str) -> None:
        self._database = database
        self._namespace = namespace

    async def create_repository(self) -> None:
        """Store the repository."""
        created = resources.Write(REPOSITORY, "team", SPEC, "v0alpha1", extract=Extract("Team"))
        async with self._database.transaction() as connection:
            await resources.create(
                await resources.lock(connection, self._namespace), self._namespace, created, actor="user:1", now=Clock().now()
            )

    async def sync(self, checkout: GitCheckout, *, incremental: bool) -> tuple[JobProgress, bool]:
        """Sync, and return the progress and whether only the difference to the last commit was read."""
        async with self._database.connection() as connection:
            repository = await resources.get(connection, REPOSITORY, self._namespace, "team")
            last_sync = await repositories.stored_commit(connection, repository.uid, generation=repository.generation)
        objects = self._object_store(repository_of(repository), last_sync.edition)
        difference = None
        if incremental and last_sync.commit:
            difference = await checkout.difference_since(last_sync.commit, [item.path for item in await objects.quarantined()])
        job = SyncJob(self._namespace, "team", "Team", SyncTarget.FOLDER, enabled=True)
        with FileSpool() as spool:
            tools = SyncTools(spool, AdmissionSettings())
            return await sync(job, checkout, objects, NoReporter(), tools, difference), difference is not None

    async def objects(self) -> dict[str, Any]:
        """Return all managed objects by kind and name."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                "select resource, name, folder, title, source_path, source_checksum, labels, spec from resource "
                "join (select uid, generation, spec from resource_history) as history using (uid, generation) "
                "where namespace = $1 and manager_id = 'team'",
                self._namespace,
            )
        return {f"{row['resource']}/{row['name']}": {**row, "spec": json.loads(row["spec"])} for row in rows}

    def _object_store(self, repository: Repository, edition: int) -> DatabaseObjectStore:
        """Return the store of the objects for one sync."""
        return DatabaseObjectStore(self._database, Clock(), QuotaRules(), repository=repository, edition=edition)


@pytest.mark.parametrize(
    ("seed", "directory"), [(1, ""), (2, ""), (3, "ops/boards")], ids=["first history", "second history", "in a directory"]
)
async def test_stored_objects_equal_each_revision(
    database: Database, server: GitServer, mirrors: Mirrors, open_remote: OpenRemote, seed: int, directory: str
) -> None:
    """Full and incremental syncs of one repository store equal objects after each revision.

    Two namespaces follow the repository, one by differences and one by full syncs. If no file is refused, the objects
    also equal the files of the repository, or of the directory.
    """
    server.create_repository("team.git")
    history = History(server.root / "team.git", seed, directory)
    full_syncs, incremental_syncs = SyncedRepository(database, "default"), SyncedRepository(database, "org-2")
    await full_syncs.create_repository()
    await incremental_syncs.create_repository()
    by_difference = without_errors = 0
    for revision in range(REVISIONS):
        description = f"revision {revision}: {history.revise()}"
        commit = await mirrors.fetch("team", open_remote("team.git"), "main")
        assert commit is not None
        checkout = GitCheckout(commit, directory)
        progress, _ = await full_syncs.sync(checkout, incremental=False)
        incremental_progress, was_by_difference = await incremental_syncs.sync(checkout, incremental=True)
        assert sorted(progress.errors) == sorted(incremental_progress.errors), description
        assert await full_syncs.objects() == await incremental_syncs.objects(), description
        by_difference += was_by_difference
        if not progress.error_count and not any(entry.warning for entry in progress.summary()):
            without_errors += 1
            stored_objects, expected_objects = content_by_path(await full_syncs.objects()), expected_content(history.files)
            existing_folders = {f"folders:{directory.rstrip('/')}" for path in history.files for directory in paths.directories(path)}
            assert {
                key: row for key, row in stored_objects.items() if key in expected_objects or key not in existing_folders
            } == expected_objects, description
    # Enough revisions were compared in both ways.
    assert by_difference > REVISIONS / 4
    assert without_errors > REVISIONS / 4


def content_by_path(objects: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of objects by kind and path, without names of folders: a moved directory keeps its generated name."""
    folder_paths = {row["name"]: row["source_path"] or "" for row in objects.values() if row["resource"] == "folders"}
    contents = {}
    for row in objects.values():
        is_folder = row["resource"] == "folders"
        name, body = (None, None) if is_folder else (row["name"], row["spec"])
        contents[f"{row['resource']}:{row['source_path'] or ''}"] = (name, folder_paths.get(row["folder"]), row["title"], body)
    return contents


def expected_content(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the same content of files, all of which must be valid: by kind and path, the name, directory, title and body."""
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
