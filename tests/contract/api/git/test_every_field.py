"""Every field of repositories, jobs and repository views has a value in some response, except for the fields that this module lists."""

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from aiohttp import web
from tests.contract.api.git.sync_environment import REPOSITORIES, SyncEnvironment, dashboard, wait_until

from dashwright.common.models import repository_views
from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.provisioning import JobSpec, JobStatus, RepositorySpec, RepositoryStatus
from dashwright.common.models.repository_views import (
    FileList,
    HistoryList,
    RefList,
    RepositoryViewList,
    ResourceList,
    ResourceStats,
    ResourceWrapper,
)

#: Fields that are filled only with webhooks and the API of a git host.
NEVER_FILLED = {
    "RepositoryStatus.webhook",
    "WebhookStatus.id",
    "WebhookStatus.url",
    "WebhookStatus.encryptedSecret",
    "WebhookStatus.subscribedEvents",
    "WebhookStatus.lastEvent",
    "WebhookStatus.message",
    "Author.avatarURL",
    "Author.username",
    "ResourceUrls.compareURL",
    "ResourceUrls.newPullRequestURL",
}
#: Secrets that no response contains.
INPUT_ONLY = {"GitHostRepositoryConfig.token"}
#: Fields that only repositories with an SSH address or with signed commits have.
KEYS_ONLY = {
    *("GitHostRepositoryConfig.knownHosts", "GitHostRepositoryConfig.encryptedSshKey"),
    *("GitHostRepositoryConfig.verify", "GitHostRepositoryConfig.allowedSigners", "GitHostRepositoryConfig.encryptedSigningKey"),
}
#: Fields that only repositories with receivers of notifications have.
RECEIVERS_ONLY = {
    *("RepositorySpec.notifications", "RepositoryStatus.notifications"),
    *(f"NotificationReceiver.{name}" for name in ("name", "url", "events", "encryptedSecret")),
    *(f"NotificationStatus.{name}" for name in ("name", "event", "attempted", "delivered", "error")),
}
#: Metadata that is empty because these lists have one page.
LIST_METADATA = {
    *("HistoryList.metadata", "RefList.metadata", "FileList.metadata", "ResourceList.metadata", "ResourceStats.metadata"),
    *("ListMeta.continue", "ListMeta.remainingItemCount", "ListMeta.resourceVersion"),
}
#: Blocks that are accepted as other names of ``githost``.
SYNONYMS = {"RepositorySpec.github", "RepositorySpec.gitlab", "RepositorySpec.bitbucket", "RepositorySpec.git"}
#: Fields that clients read although this product has no value for them: a token's lifetime and a limit of repositories.
ALWAYS_EMPTY = {"RepositoryStatus.token", "QuotaStatus.maxRepositories", "RepositoryViewList.maxRepositories"}


def shapes(annotation: Any) -> Iterator[type[ApiModel]]:
    """Yield the models in the type of a field, such as the model of the items of a list."""
    if get_origin(annotation) in (Union, UnionType, list, Annotated):
        for part in get_args(annotation):
            yield from shapes(part)
    elif isinstance(annotation, type) and issubclass(annotation, ApiModel):
        yield annotation


def fields(shape: type[ApiModel]) -> set[str]:
    """Return all fields of a model and of the models inside it."""
    names = set()
    for name, field in shape.model_fields.items():
        names.add(f"{shape.__name__}.{field.alias or name}")
        for model in shapes(field.annotation):
            names |= fields(model)
    return names


def filled_fields(shape: type[ApiModel], document: Any) -> set[str]:
    """Return the fields of a document, or of a list of documents, whose value is not empty, zero or false."""
    names = set()
    for item in document if isinstance(document, list) else [document]:
        for name, field in shape.model_fields.items():
            value = item.get(field.alias or name)
            if value not in (None, "", [], {}, 0, False):
                names.add(f"{shape.__name__}.{field.alias or name}")
            for model in shapes(field.annotation) if value else ():
                names |= filled_fields(model, value)
    return names


class FieldCoverage:
    """Fields that the models declare, and those that some response fills."""

    def __init__(self) -> None:
        self.declared: set[str] = set()
        self.filled: set[str] = set()

    def add(self, shape: type[ApiModel], document: Any) -> None:
        """Record the fields of a model, and those that a document of the model fills."""
        self.declared |= fields(shape)
        self.filled |= filled_fields(shape, document)


async def request(environment: SyncEnvironment, path: str, method: str = "GET", body: Any = None, expected: int = 200) -> Any:
    """Send a request and return the body of the response, whose status must be the expected one."""
    status, response = await environment.api(method, path, body)
    assert status == expected, response
    return response


async def run_job(environment: SyncEnvironment, coverage: FieldCoverage, action: str, **options: Any) -> None:
    """Run a job with options to its end, and record the fields of its spec and status."""
    job = await request(environment, f"{REPOSITORIES}/team/jobs", "POST", {"action": action, action: options}, 202)
    await wait_until(environment.api.database, environment.is_at_rest)
    job = await request(environment, f"{REPOSITORIES}/team/jobs/{job['metadata']['uid']}")
    coverage.add(JobSpec, job["spec"])
    coverage.add(JobStatus, job["status"])


@pytest.fixture
async def coverage(environment: SyncEnvironment) -> FieldCoverage:
    """Return the fields of the responses to many operations: create, sync, change, roll back, export, and sync from a failing host."""
    coverage = FieldCoverage()
    files = {"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B"), "folder/c.json": dashboard("c", "C")}
    first = environment.work_tree.commit(dict(files))
    await environment.create_repository(token="secret", generateDashboardPreviews=True)
    await add_description(environment)
    file_path = environment.data / "repositories" / "folder"
    file_path.mkdir(parents=True)
    (file_path / "x.json").write_text(dashboard("x", "X"))
    local = {
        "title": "L",
        "type": "local",
        "workflows": [],
        "local": {"path": str(file_path), "include": ["*.json"], "exclude": ["old/"]},
        "sync": {"enabled": False, "target": "folder"},
    }
    folder = await request(environment, REPOSITORIES, "POST", {"metadata": {"name": "folder"}, "spec": local}, 201)
    coverage.add(RepositorySpec, folder["spec"])
    coverage.add(FileList, await request(environment, f"{REPOSITORIES}/folder/files"))
    part = {"title": "P", "type": "githost", "workflows": [], "sync": {"enabled": False, "target": "folder"}}
    part |= {"githost": {"url": environment.server.url("team.git"), "path": "folder", "include": ["*.json"], "exclude": ["old/"]}}
    coverage.add(
        RepositorySpec, (await request(environment, REPOSITORIES, "POST", {"metadata": {"name": "part"}, "spec": part}, 201))["spec"]
    )
    await request(environment, "/api/folders", "POST", {"title": "Managed by no repository"})
    await environment.advance()
    environment.work_tree.commit(
        {
            "a.json": dashboard("a", "A2"),
            "b.json": None,
            "bad.json": "{",
            "package.json": "{}",
            "copy.json": dashboard("c", "C"),
            "twice.json": dashboard("c", "Twice"),
            "new.json": dashboard("n", "N"),
        }
    )
    await run_job(environment, coverage, "sync", incremental=True)
    await record_views(environment, coverage)
    changed = await request(environment, f"{REPOSITORIES}/team/files/new.json", "PUT", {"uid": "n", "title": "N2"})
    coverage.add(ResourceWrapper, changed)
    environment.work_tree.commit({"more.json": dashboard("m", "M")})
    await run_job(environment, coverage, "sync", incremental=False)
    job = await request(environment, f"{REPOSITORIES}/team/rollback", "POST", {"ref": first}, 202)
    coverage.add(JobSpec, job["spec"])
    await wait_until(environment.api.database, environment.is_at_rest)
    coverage.add(RepositoryStatus, await environment.status())
    await run_job(environment, coverage, "export", folder="team", history=True, branch="b", prefix="p", identifier=True)
    await run_job(environment, coverage, "pr", ref="r", pr=1, hash="h", url="https://git.example/1")
    # Fields for errors are filled while the git host refuses requests.
    environment.server.fault = refuse
    await environment.advance(400)
    await record_views(environment, coverage, host_responds=False)
    return coverage


async def add_description(environment: SyncEnvironment) -> None:
    """Add a description and workflows to the spec of the repository ``team``."""
    team = await request(environment, f"{REPOSITORIES}/team")
    team["spec"] |= {"description": "of the team", "workflows": ["write", "branch"]}
    await request(environment, f"{REPOSITORIES}/team", "PUT", team)


async def refuse(_: web.Request) -> web.StreamResponse:
    """Respond to each request at the git host with status 403."""
    return web.Response(status=403)


async def record_views(environment: SyncEnvironment, coverage: FieldCoverage, *, host_responds: bool = True) -> None:
    """Record the fields of all views of the repositories; those of files and commits only if the git host responds."""
    team = await request(environment, f"{REPOSITORIES}/team")
    coverage.add(RepositorySpec, team["spec"])
    coverage.add(RepositoryStatus, team["status"])
    namespace = REPOSITORIES.removesuffix("/repositories")
    coverage.add(RepositoryViewList, await request(environment, f"{namespace}/settings"))
    coverage.add(ResourceStats, await request(environment, f"{namespace}/stats"))
    coverage.add(ResourceList, await request(environment, f"{REPOSITORIES}/team/resources"))
    _, test_results = await environment.api("POST", f"{REPOSITORIES}/team/test")
    coverage.add(repository_views.TestResults, test_results)
    if host_responds:
        coverage.add(RefList, await request(environment, f"{REPOSITORIES}/team/refs"))
        coverage.add(HistoryList, await request(environment, f"{REPOSITORIES}/team/history"))
        coverage.add(FileList, await request(environment, f"{REPOSITORIES}/team/files"))
        coverage.add(ResourceWrapper, await request(environment, f"{REPOSITORIES}/team/files/a.json"))
        _, wrapper = await environment.api("GET", f"{REPOSITORIES}/team/files/bad.json")
        coverage.add(ResourceWrapper, wrapper)


async def test_every_field_is_filled_by_an_operation(coverage: FieldCoverage) -> None:
    """Every declared field is filled by some operation, except for those in the constants above."""
    exceptions = NEVER_FILLED | INPUT_ONLY | KEYS_ONLY | RECEIVERS_ONLY | LIST_METADATA | SYNONYMS | ALWAYS_EMPTY
    assert coverage.declared - coverage.filled == exceptions
