"""Every field of repositories, jobs and what is told of them is written by something: none is promised and never filled."""

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from aiohttp import web
from tests.contract.api.git.trial import REPOSITORIES, Trial, dashboard, until

from dashwright.common.models import repository_views
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
from dashwright.common.models.shape import Shape

LATER = {
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
"""What only webhooks and the host's own API know."""

INPUT_ONLY = {"GitHostRepositoryConfig.token"}
"""Never shown again."""

LIST_METADATA = {
    *("HistoryList.metadata", "RefList.metadata", "FileList.metadata", "ResourceList.metadata", "ResourceStats.metadata"),
    *("ListMeta.continue", "ListMeta.remainingItemCount", "ListMeta.resourceVersion"),
}
"""Empty as long as such lists are told whole."""


SYNONYMS = {"RepositorySpec.github", "RepositorySpec.gitlab", "RepositorySpec.bitbucket", "RepositorySpec.git"}
"""The blocks of repositories that were written with another word for githost."""

ALWAYS_EMPTY = {"RepositoryStatus.token", "QuotaStatus.maxRepositories", "RepositoryViewList.maxRepositories"}
"""Members that clients read: no host tells the life of a token, and there is no limit on repositories."""


def shapes(annotation: Any) -> Iterator[type[Shape]]:
    """The shapes that a field's values may have."""
    if get_origin(annotation) in (Union, UnionType, list, Annotated):
        for part in get_args(annotation):
            yield from shapes(part)
    elif isinstance(annotation, type) and issubclass(annotation, Shape):
        yield annotation


def fields(shape: type[Shape]) -> set[str]:
    """All fields of a shape and of those in it."""
    found = set()
    for name, field in shape.model_fields.items():
        found.add(f"{shape.__name__}.{field.alias or name}")
        for inner in shapes(field.annotation):
            found |= fields(inner)
    return found


def filled(shape: type[Shape], document: Any) -> set[str]:
    """The fields that a document fills: with something, not with a default."""
    found = set()
    for item in document if isinstance(document, list) else [document]:
        for name, field in shape.model_fields.items():
            value = item.get(field.alias or name)
            if value not in (None, "", [], {}, 0, False):
                found.add(f"{shape.__name__}.{field.alias or name}")
            for inner in shapes(field.annotation) if value else ():
                found |= filled(inner, value)
    return found


class Seen:
    def __init__(self) -> None:
        self.known: set[str] = set()
        self.found: set[str] = set()

    def add(self, shape: type[Shape], document: Any) -> None:
        self.known |= fields(shape)
        self.found |= filled(shape, document)


async def answer(trial: Trial, path: str, method: str = "GET", body: Any = None, expected: int = 200) -> Any:
    status, found = await trial.api(method, path, body)
    assert status == expected, found
    return found


async def asked(trial: Trial, seen: Seen, action: str, **options: Any) -> None:
    """A job at its end, with everything that can be asked for."""
    job = await answer(trial, f"{REPOSITORIES}/team/jobs", "POST", {"action": action, action: options}, 202)
    await until(trial.api.database, trial.is_at_rest)
    job = await answer(trial, f"{REPOSITORIES}/team/jobs/{job['metadata']['uid']}")
    seen.add(JobSpec, job["spec"])
    seen.add(JobStatus, job["status"])


@pytest.fixture
async def seen(trial: Trial) -> Seen:
    """What is told along the life of two repositories."""
    seen = Seen()
    files = {"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B"), "folder/c.json": dashboard("c", "C")}
    first = trial.work.commit(dict(files))
    await trial.make(token="secret", generateDashboardPreviews=True)
    await describe(trial)
    place = trial.data / "repositories" / "folder"
    place.mkdir(parents=True)
    (place / "x.json").write_text(dashboard("x", "X"))
    local = {
        "title": "L",
        "type": "local",
        "workflows": [],
        "local": {"path": str(place), "include": ["*.json"], "exclude": ["old/"]},
        "sync": {"enabled": False, "target": "folder"},
    }
    folder = await answer(trial, REPOSITORIES, "POST", {"metadata": {"name": "folder"}, "spec": local}, 201)
    seen.add(RepositorySpec, folder["spec"])
    seen.add(FileList, await answer(trial, f"{REPOSITORIES}/folder/files"))
    part = {"title": "P", "type": "githost", "workflows": [], "sync": {"enabled": False, "target": "folder"}}
    part |= {"githost": {"url": trial.server.url("team.git"), "path": "folder", "include": ["*.json"], "exclude": ["old/"]}}
    seen.add(RepositorySpec, (await answer(trial, REPOSITORIES, "POST", {"metadata": {"name": "part"}, "spec": part}, 201))["spec"])
    await answer(trial, "/api/folders", "POST", {"title": "Managed by no repository"})
    await trial.later()
    trial.work.commit(
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
    await asked(trial, seen, "sync", incremental=True)
    await tell(trial, seen)
    changed = await answer(trial, f"{REPOSITORIES}/team/files/new.json", "PUT", {"uid": "n", "title": "N2"})
    seen.add(ResourceWrapper, changed)
    trial.work.commit({"more.json": dashboard("m", "M")})
    await asked(trial, seen, "sync", incremental=False)
    job = await answer(trial, f"{REPOSITORIES}/team/rollback", "POST", {"ref": first}, 202)
    seen.add(JobSpec, job["spec"])
    await until(trial.api.database, trial.is_at_rest)
    seen.add(RepositoryStatus, await trial.status())
    await asked(trial, seen, "export", folder="team", history=True, branch="b", prefix="p", identifier=True)
    await asked(trial, seen, "pr", ref="r", pr=1, hash="h", url="https://git.example/1")
    trial.server.fault = refuse
    await trial.later(400)
    await tell(trial, seen, hosted=False)
    return seen


async def describe(trial: Trial) -> None:
    team = await answer(trial, f"{REPOSITORIES}/team")
    team["spec"] |= {"description": "of the team", "workflows": ["write", "branch"]}
    await answer(trial, f"{REPOSITORIES}/team", "PUT", team)


async def refuse(_: web.Request) -> web.StreamResponse:
    return web.Response(status=403)


async def tell(trial: Trial, seen: Seen, *, hosted: bool = True) -> None:
    """Everything that is told of the repositories as they are."""
    team = await answer(trial, f"{REPOSITORIES}/team")
    seen.add(RepositorySpec, team["spec"])
    seen.add(RepositoryStatus, team["status"])
    namespace = REPOSITORIES.removesuffix("/repositories")
    seen.add(RepositoryViewList, await answer(trial, f"{namespace}/settings"))
    seen.add(ResourceStats, await answer(trial, f"{namespace}/stats"))
    seen.add(ResourceList, await answer(trial, f"{REPOSITORIES}/team/resources"))
    _, tested = await trial.api("POST", f"{REPOSITORIES}/team/test")
    seen.add(repository_views.TestResults, tested)
    if hosted:
        seen.add(RefList, await answer(trial, f"{REPOSITORIES}/team/refs"))
        seen.add(HistoryList, await answer(trial, f"{REPOSITORIES}/team/history"))
        seen.add(FileList, await answer(trial, f"{REPOSITORIES}/team/files"))
        seen.add(ResourceWrapper, await answer(trial, f"{REPOSITORIES}/team/files/a.json"))
        _, wrapper = await trial.api("GET", f"{REPOSITORIES}/team/files/bad.json")
        seen.add(ResourceWrapper, wrapper)


async def test_every_field_is_filled_by_something(seen: Seen) -> None:
    """Those that wait for later are named above, and only those."""
    assert seen.known - seen.found == LATER | INPUT_ONLY | LIST_METADATA | SYNONYMS | ALWAYS_EMPTY
