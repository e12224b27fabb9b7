"""Repositories that files declare. Reads of the files create, update and delete these repositories, and clients cannot change them."""

import asyncio
import base64
from typing import Any, Final

import pytest
from structlog.testing import capture_logs
from tests.contract.api.conftest import Api, StartApi
from tests.contract.api.file_provisioning import SECRET_KEY, FileProvisioning, declaration
from tests.contract.api.repositories import REPOSITORIES

from dashwright.api.stores import provisioning
from dashwright.common.database.pool import Database
from dashwright.common.kinds.annotations import FROM_FILE, MANAGED_BY, MANAGER_ID, SOURCE_PATH
from dashwright.common.kinds.repository import FINALIZERS, token_owner
from dashwright.common.secrets import SecretCipher

TEAM: Final = f"{REPOSITORIES}/team"
MERGE: Final = {"Content-Type": "application/merge-patch+json"}
#: Removes the manager, so that clients may change the repository.
RELEASE_PATCH: Final = {"metadata": {"annotations": {MANAGED_BY: None}}}
#: Makes files the manager of a repository that a request created.
HAND_OVER_PATCH: Final = {"metadata": {"annotations": {MANAGED_BY: FROM_FILE}}}


@pytest.fixture
def files(api: Api) -> FileProvisioning:
    """Return a directory of files and its provisioner, over the gateway of the test."""
    return FileProvisioning(api)


async def repository_names(api: Api) -> list[str]:
    """Return the names of all repositories."""
    _, body = await api("GET", REPOSITORIES)
    return [item["metadata"]["name"] for item in body["items"]]


async def read_repository(api: Api, path: str = TEAM) -> dict[str, Any]:
    """Return a repository."""
    status, body = await api("GET", path)
    assert status == 200, body
    result: dict[str, Any] = body
    return result


async def patch_repository(api: Api, change: Any, path: str = TEAM) -> tuple[int, Any]:
    """Apply a merge patch to a repository. Return the status and the body."""
    return await api("PATCH", path, change, headers=MERGE)


async def create_by_request(api: Api, *, annotations: dict[str, str] | None = None, title: str = "Team") -> dict[str, Any]:
    """Create the repository ``team`` as a client does, and return it."""
    document = declaration(title=title)
    status, created = await api("POST", REPOSITORIES, document | {"metadata": {"name": "team", "annotations": annotations or {}}})
    assert status == 201, created
    result: dict[str, Any] = created
    return result


async def faults_of_read(files: FileProvisioning) -> list[tuple[str, str]]:
    """Read the files and return file and message of each logged fault."""
    with capture_logs() as logged:
        await files.read()
    return [(event["file"], event["error"]) for event in logged if event["event"] == "provisioning_fault"]


async def test_a_file_creates_a_repository(api: Api, files: FileProvisioning) -> None:
    """A declared repository names its file as manager, has the default finalizers, and is recorded in the audit log."""
    files.write("team.yaml", declaration())
    await files.read()
    metadata = (await read_repository(api))["metadata"]
    assert {key: metadata["annotations"][key] for key in (MANAGED_BY, MANAGER_ID, SOURCE_PATH)} == {
        MANAGED_BY: "classic-file-provisioning",
        MANAGER_ID: "provisioning",
        SOURCE_PATH: "team.yaml",
    }
    assert (metadata["annotations"]["grafana.app/createdBy"], metadata["finalizers"]) == ("provisioning", list(FINALIZERS))
    _, body = await api("GET", "/api/audit?object=repository:team")
    assert [(event["action"], event["actor"], event["orgId"]) for event in body["events"]] == [("repository.create", "provisioning", 1)]


async def test_unchanged_files_write_nothing(api: Api, files: FileProvisioning) -> None:
    """Neither a further read nor the first read of another gateway changes the resource version."""
    files.write("team.yaml", declaration(secure={"token": {"remove": True}}))
    await files.read()
    before = await read_repository(api)
    await files.read()
    files.restart()
    await files.read(times=2)
    assert await read_repository(api) == before


async def test_a_changed_file_updates_its_repository(api: Api, files: FileProvisioning) -> None:
    """The spec, labels and source path of a repository follow the changed file; its uid remains the same."""
    files.write("team.yaml", declaration())
    await files.read()
    before = await read_repository(api)
    (files.root / "team.yaml").unlink()
    files.write("teams.yaml", declaration(title="New", metadata={"name": "team", "labels": {"a": "b"}}))
    await files.read(times=2)
    after = await read_repository(api)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert (after["spec"]["title"], after["metadata"]["labels"]["a"]) == ("New", "b")
    assert after["metadata"]["annotations"][SOURCE_PATH] == "teams.yaml"


async def test_a_repository_that_no_file_declares_is_deleted(api: Api, files: FileProvisioning) -> None:
    """A declared repository is deleted if two reads do not find it; a repository that a request created is kept."""
    await create_by_request(api)
    files.write("a.yaml", declaration("a"), declaration("b"))
    await files.read()
    files.write("a.yaml", declaration("a"))
    await files.read()
    assert await repository_names(api) == ["a", "b", "team"]
    await files.read()
    assert await repository_names(api) == ["a", "team"]
    (files.root / "a.yaml").unlink()
    await files.read(times=2)
    assert await repository_names(api) == ["team"]


async def test_a_repository_that_is_declared_again_is_kept(api: Api, files: FileProvisioning) -> None:
    """A file that is incomplete during one read, because it is just being written, deletes nothing."""
    files.write("team.yaml", declaration())
    await files.read()
    before = await read_repository(api)
    # A delete would need two consecutive reads without the declaration.
    for _ in range(2):
        files.write("team.yaml")
        await files.read()
        files.write("team.yaml", declaration())
        await files.read()
    assert await read_repository(api) == before


async def test_a_delete_runs_the_declared_finalizers(api: Api, files: FileProvisioning) -> None:
    """A declared finalizer delays the delete of a repository until a client removes it. Further reads do not change the repository."""
    files.write("team.yaml", declaration(metadata={"name": "team", "finalizers": ["example.com/mine"]}))
    await files.read()
    files.write("team.yaml")
    await files.read(times=2)
    before = await read_repository(api)
    assert "deletionTimestamp" in before["metadata"]
    await files.read(times=2)
    assert await read_repository(api) == before
    assert (await patch_repository(api, {"metadata": {"finalizers": None}}))[0] == 200
    assert await repository_names(api) == []


async def test_a_renamed_repository_may_keep_its_source(api: Api, files: FileProvisioning) -> None:
    """If a file renames its repository, the repository of the former name is deleted before the new one is created."""
    files.write("a.yaml", declaration("before", directory="d"))
    await files.read()
    files.write("a.yaml", declaration("after", directory="d"))
    await files.read(times=2)
    assert await repository_names(api) == ["after"]


@pytest.mark.parametrize(
    ("method", "suffix", "body", "headers"),
    [
        ("PUT", "", declaration(title="Changed"), {}),
        ("PUT", "", declaration(), {}),
        ("PUT", "?dryRun=All", declaration(title="Changed"), {}),
        ("PATCH", "", {"spec": {"title": "Changed"}}, MERGE),
        ("PATCH", "", {"metadata": {"annotations": {SOURCE_PATH: "b.yaml"}}}, MERGE),
        ("PATCH", "?fieldManager=m&force=true", declaration(title="Changed"), {"Content-Type": "application/apply-patch+yaml"}),
        ("DELETE", "", None, {}),
    ],
    ids=["replace", "replace by the same", "dry run", "patch of the spec", "patch of an annotation", "apply", "delete"],
)
async def test_clients_cannot_change_a_declared_repository(
    api: Api, files: FileProvisioning, method: str, suffix: str, body: Any, headers: dict[str, str]
) -> None:
    """Each write of a declared repository by a client is refused with the name of its file, and changes nothing."""
    files.write("team.yaml", declaration())
    await files.read()
    before = await read_repository(api)
    status, response = await api(method, TEAM + suffix, body, headers=headers)
    assert status == 403, response
    assert '"team.yaml" of DASHWRIGHT_PROVISIONING_DIR' in response["message"], response
    assert await read_repository(api) == before


async def test_a_declared_repository_keeps_its_status(api: Api, files: FileProvisioning) -> None:
    """The status of a declared repository can be written, and later reads of the files keep it."""
    files.write("team.yaml", declaration())
    await files.read()
    assert (await api("PUT", f"{TEAM}/status", {"status": {"sync": {"state": "success", "lastRef": "c"}}}))[0] == 200
    files.write("team.yaml", declaration(title="New"))
    await files.read()
    repository = await read_repository(api)
    assert (repository["spec"]["title"], repository["status"]["sync"]["lastRef"]) == ("New", "c")


async def test_a_repository_that_a_request_created_is_not_changed(api: Api, files: FileProvisioning) -> None:
    """A file that declares a repository of a request is refused with advice, until an Admin hands the repository over by an annotation."""
    before = await create_by_request(api, title="Of the request")
    files.write("team.yaml", declaration(title="Of the file"))
    ((file, fault),) = await faults_of_read(files)
    assert (file, await read_repository(api)) == ("team.yaml", before)
    assert MANAGED_BY in fault
    assert (await patch_repository(api, HAND_OVER_PATCH))[0] == 200
    await files.read()
    after = await read_repository(api)
    assert (after["metadata"]["uid"], after["spec"]["title"]) == (before["metadata"]["uid"], "Of the file")
    assert after["metadata"]["annotations"][SOURCE_PATH] == "team.yaml"


async def test_a_repository_that_is_handed_over_is_not_deleted(api: Api, files: FileProvisioning) -> None:
    """A repository that was handed over, but that no file has declared yet, is kept and can be changed.

    Annotations of clients cannot name a file.
    """
    await create_by_request(api, annotations={MANAGED_BY: FROM_FILE, MANAGER_ID: "provisioning", SOURCE_PATH: "gone.yaml"})
    await files.read(times=3)
    status, body = await patch_repository(api, {"spec": {"title": "New"}, "metadata": {"annotations": {SOURCE_PATH: "gone.yaml"}}})
    assert (status, body["spec"]["title"]) == (200, "New"), body
    assert SOURCE_PATH not in body["metadata"]["annotations"], body


async def test_an_admin_releases_a_declared_repository(api: Api, files: FileProvisioning) -> None:
    """After a patch removes the manager, clients change the repository, and the end of its declaration does not delete it."""
    files.write("team.yaml", declaration())
    await files.read()
    status, body = await patch_repository(api, RELEASE_PATCH)
    assert (status, {MANAGED_BY, MANAGER_ID, SOURCE_PATH} & body["metadata"]["annotations"].keys()) == (200, set()), body
    assert (await patch_repository(api, {"spec": {"title": "Changed"}}))[0] == 200
    # The file still declares the repository, which files no longer manage.
    assert [file for file, _ in await faults_of_read(files)] == ["team.yaml"]
    files.write("team.yaml")
    await files.read(times=2)
    assert (await read_repository(api))["spec"]["title"] == "Changed"


async def test_a_delete_without_grace_period_is_undone_by_the_file(api: Api, files: FileProvisioning) -> None:
    """With a grace period of 0 an Admin deletes the repository, and the next read creates it again."""
    files.write("team.yaml", declaration())
    await files.read()
    before = await read_repository(api)
    assert (await api("DELETE", TEAM, {"gracePeriodSeconds": 0}))[0] == 200
    await files.read()
    assert (await read_repository(api))["metadata"]["uid"] != before["metadata"]["uid"]


@pytest.mark.parametrize("content", ["a: [", '{"kind": "Reposit"}'], ids=["not YAML", "unknown kind"])
async def test_a_faulty_file_deletes_nothing(api: Api, files: FileProvisioning, content: str) -> None:
    """While a file is faulty, other files are applied, and every repository is kept. One log event reports the fault."""
    files.write("a.yaml", declaration("a"))
    files.write("b.yaml", declaration("b"))
    await files.read()
    (files.root / "a.yaml").write_text(content)
    files.write("b.yaml", declaration("c"))
    assert [file for file, _ in await faults_of_read(files)] == ["a.yaml"]
    assert await faults_of_read(files) == []
    # Two reads without a faulty file would have deleted a and b.
    assert await repository_names(api) == ["a", "b", "c"]


async def test_a_missing_directory_deletes_nothing(api: Api, files: FileProvisioning) -> None:
    """While the directory is missing, every repository is kept. One log event reports the fault without the name of a file."""
    files.write("a.yaml", declaration("a"), declaration("b"))
    await files.read()
    files.root.rename(files.root.with_name("elsewhere"))
    assert [file for file, _ in await faults_of_read(files)] == [""]
    assert await faults_of_read(files) == []
    assert await repository_names(api) == ["a", "b"]


async def test_a_refused_repository_does_not_stop_others(api: Api, files: FileProvisioning) -> None:
    """Refused repositories are reported and counted by a metric until a read without them. Others are created."""
    outside = declaration("outside")
    outside["spec"]["local"]["path"] = "/etc"
    files.write("a.yaml", outside, declaration("org", metadata={"name": "org", "namespace": "org-99"}), declaration("good"))
    (_, path_fault), (_, organization_fault) = await faults_of_read(files)
    assert "DASHWRIGHT_PERMITTED_PATHS" in path_fault
    assert "organization 99" in organization_fault
    assert await repository_names(api) == ["good"]
    async with api.session.get("/metrics") as response:
        assert "dashwright_provisioning_faults 2.0" in await response.text()
    files.write("a.yaml", declaration("good"))
    assert await faults_of_read(files) == []
    async with api.session.get("/metrics") as response:
        assert "dashwright_provisioning_faults 0.0" in await response.text()


async def test_a_refused_change_keeps_the_repository(api: Api, files: FileProvisioning) -> None:
    """A declaration that becomes invalid neither changes nor deletes its repository."""
    files.write("team.yaml", declaration())
    await files.read()
    before = await read_repository(api)
    files.write("team.yaml", declaration(title=" "))
    ((_, fault),) = await faults_of_read(files)
    # A repository that no file declares is deleted by the second read.
    await files.read(times=2)
    assert "spec.title" in fault
    assert await read_repository(api) == before


async def test_files_declare_repositories_of_every_organization(api: Api, files: FileProvisioning) -> None:
    """The namespace of a declaration selects the organization. The same name in two namespaces means two repositories."""
    org_id = await api.organization("Other")
    files.write("a.yaml", declaration(), declaration(metadata={"name": "team", "namespace": f"org-{org_id}"}))
    await files.read()
    namespaces = "select array_agg(namespace order by namespace) from resource where name = 'team'"
    assert await api.sql(namespaces) == ["default", f"org-{org_id}"]
    files.write("a.yaml", declaration())
    await files.read(times=2)
    assert await api.sql(namespaces) == ["default"]


def with_token(create: str | None) -> dict[str, Any]:
    """Return a declared repository on a git host with this token, or without a token."""
    spec = declaration()["spec"] | {"type": "githost", "githost": {"url": "https://git.example.com/team", "branch": "main"}}
    del spec["local"]
    return declaration(spec=spec) | ({} if create is None else {"secure": {"token": {"create": create}}})


async def token_of(api: Api) -> str | None:
    """Return the decrypted token of the repository, or None."""
    sealed = (await read_repository(api))["spec"]["githost"].get("encryptedToken")
    return None if sealed is None else SecretCipher.from_keys(SECRET_KEY).decrypt(base64.b64decode(sealed), token_owner("default", "team"))


async def test_a_token_comes_from_a_file_or_variable(api: Api) -> None:
    """A changed secret replaces the token, an unchanged one writes nothing, and a token that is not declared is removed."""
    files, secret = FileProvisioning(api, {"TOKEN": "of the variable"}), api.data / "token"
    secret.write_text("first\n")
    files.write("team.yaml", with_token(f"$__file{{{secret}}}"))
    await files.read()
    before = await read_repository(api)
    files.restart()
    await files.read()
    assert (await token_of(api), await read_repository(api)) == ("first", before)
    secret.write_text("second")
    await files.read()
    assert await token_of(api) == "second"
    files.write("team.yaml", with_token("$__env{TOKEN}"))
    await files.read()
    assert await token_of(api) == "of the variable"
    files.write("team.yaml", with_token(None))
    await files.read()
    assert await token_of(api) is None


async def test_a_missing_secret_keeps_the_repository(api: Api, files: FileProvisioning) -> None:
    """The log event of a missing secret names the variable, and the stored token is kept."""
    files.write("team.yaml", with_token("stored"))
    await files.read()
    files.write("team.yaml", with_token("$__env{ABSENT}"))
    ((_, fault),) = await faults_of_read(files)
    await files.read(times=2)
    assert "'ABSENT'" in fault
    assert await token_of(api) == "stored"


async def test_one_gateway_holds_the_lock(database: Database) -> None:
    """Only one gateway holds the lock, which is free again when its holder releases it."""
    async with provisioning.lock(database) as first, provisioning.lock(database) as second:
        assert first is not None
        assert second is None
    async with provisioning.lock(database) as later_lock:
        assert later_lock is not None


async def test_gateways_keep_repositories_equal_to_the_files(start_api: StartApi, api: Api, database: Database) -> None:
    """One of two gateways applies the files at its start and while it runs. After it has stopped, the second gateway applies them."""
    files = FileProvisioning(api)
    files.write("team.yaml", declaration())
    settings = {"provisioning_dir": str(files.root), "provisioning_seconds": 0.05}
    first, second = await start_api(**settings), await start_api(**settings)
    await wait_for_names(database, first, ["team"])
    files.write("team.yaml", declaration("other"))
    await wait_for_names(database, first, ["other"])
    await first.stop()
    files.write("team.yaml", declaration("last"))
    await wait_for_names(database, second, ["last"])
    await second.stop()


async def test_a_gateway_starts_without_the_directory(start_api: StartApi, api: Api, database: Database) -> None:
    """A gateway starts although its directory is missing, and applies the files once the directory exists."""
    root = api.data / "absent"
    gateway = await start_api(provisioning_dir=str(root), provisioning_seconds=0.05)
    files = FileProvisioning(api)
    files.write("team.yaml", declaration())
    files.root.rename(root)
    await wait_for_names(database, gateway, ["team"])


async def wait_for_names(database: Database, api: Api, expected: list[str]) -> None:
    """Wait until exactly these repositories are stored. Each notification of a change repeats the check."""
    notified = asyncio.Event()
    async with asyncio.timeout(30), database.listen("change", lambda _: notified.set(), notified.set):
        while await repository_names(api) != expected:
            await notified.wait()
            notified.clear()
