"""The interface ``Host`` of the jobs worker, implemented over the API of each kind of git host."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.integration.host.host_access import HostAccess, open_host_access
from tests.servers.bitbucket_host import BitbucketHost
from tests.servers.bitbucket_server import BitbucketServerHost
from tests.servers.git_host import GitHost
from tests.servers.gitea_host import GiteaHost
from tests.servers.gitlab_host import GitLabHost

from dashwright.common.errors import BadRequest, NotFound, SourceFailed
from dashwright.common.models.provisioning import RepositoryType
from dashwright.jobs_worker.domain.hosting import ChangedFile, CommitState, CommitStatus, FileStatus, HookSpec

KINDS: dict[str, type[GitHost]] = {
    "github": GitHost,
    "gitlab": GitLabHost,
    "gitea": GiteaHost,
    "bitbucket": BitbucketHost,
    "bitbucket-server": BitbucketServerHost,
}
HOOK = HookSpec("https://boards.example.org/hook", frozenset({"push", "pull_request"}), "a secret")
PAGE = "https://boards.example.org/p"


@pytest.fixture(params=KINDS)
async def access(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[HostAccess]:
    """Yield the repository ``team/boards`` with one pull request on a host of each kind."""
    async with open_host_access(tmp_path, kind=KINDS[request.param]) as access:
        yield access


def kind_of(access: HostAccess) -> str:
    """Return the name of the kind of the host."""
    return next(name for name, kind in KINDS.items() if type(access.server) is kind)


def reference_of(access: HostAccess) -> str:
    """Return the reference of the newest commit of the pull request."""
    return {
        "gitlab": f"refs/merge-requests/{access.number}/head",
        "bitbucket": "refs/heads/change",
        "bitbucket-server": f"refs/pull-requests/{access.number}/from",
    }.get(kind_of(access), f"refs/pull/{access.number}/head")


async def test_a_pull_request_has_its_branches_and_commits(access: HostAccess) -> None:
    """A pull request has its branches and commits, and its state changes when the host merges it."""
    result = await access.host.pull_request(access.repository, access.number)
    assert (result.number, result.title, result.base, result.head) == (access.number, "Change", "main", "change")
    assert result.head_commit == (access.head[:12] if kind_of(access) == "bitbucket" else access.head)
    assert (result.is_open, result.is_merged, result.is_from_fork) == (True, False, False)
    assert result.changed_file_count == (0 if kind_of(access).startswith("bitbucket") else 4)
    page = "projects/TEAM/repos/boards" if kind_of(access) == "bitbucket-server" else "team/boards"
    assert result.url.startswith(f"{access.server.origin}/{page}/")
    assert result.reference == reference_of(access)
    access.server.merge("team/boards", access.number)
    merged = await access.host.pull_request(access.repository, access.number)
    assert (merged.is_open, merged.is_merged) == (False, True)


async def test_a_pull_request_from_a_fork_is_recognized(access: HostAccess) -> None:
    """The head of a pull request from a fork has a reference: in the fork at Bitbucket Cloud, in the repository itself at other hosts."""
    access.server.move_to_fork("team/boards", access.number, "stranger/boards")
    result = await access.host.pull_request(access.repository, access.number)
    assert result.is_from_fork
    assert result.reference == reference_of(access)
    assert result.fork_path == ("stranger/boards" if kind_of(access) == "bitbucket" else "")


async def test_open_pull_requests_are_listed_page_by_page(access: HostAccess) -> None:
    """Open pull requests are read from all pages, without merged ones."""
    access.server.max_page_size = 2
    numbers = [access.number, *(access.server.open_pull("team/boards", "change") for _ in range(4))]
    access.server.merge("team/boards", numbers[1])
    result = await access.host.open_pull_requests(access.repository)
    assert [pull_request.number for pull_request in result] == [numbers[0], *numbers[2:]]


@pytest.mark.parametrize("page_size", [100, 3, 1])
async def test_changed_files_are_read_page_by_page(access: HostAccess, page_size: int) -> None:
    """Changed files are read from all pages. A renamed file has its former path."""
    access.server.max_page_size = page_size
    assert set(await access.host.changed_files(access.repository, access.number)) == {
        ChangedFile("new.json", FileStatus.ADDED),
        ChangedFile("kept.json", FileStatus.MODIFIED),
        ChangedFile("gone.json", FileStatus.REMOVED),
        ChangedFile("new/moved.json", FileStatus.RENAMED, "old/moved.json"),
    }


async def test_at_most_a_thousand_files_are_read(access: HostAccess) -> None:
    work_tree = access.server.create_repository("team/many")
    work_tree.commit({"one.json": "{}"})
    work_tree.commit({f"{number:04}.json": "{}" for number in range(1100)}, branch="many")
    number = access.server.open_pull("team/many", "many")
    changed_files = await access.host.changed_files(access.with_url(access.server.url("team/many.git")), number)
    assert [file.path for file in changed_files] == [f"{number:04}.json" for number in range(1000)]


async def test_a_comment_is_created_once_and_then_changed(access: HostAccess) -> None:
    """A repository has one comment, which is found after several pages of other comments. These are kept."""
    access.server.max_page_size = 2
    comments = access.server.repositories["team/boards"].pulls[access.number].comments
    comments.update({number: f"other {number}" for number in range(1000, 1005)})
    assert await access.host.comment(access.repository, access.number, "nothing", may_create=False) == ""
    first = await access.host.comment(access.repository, access.number, "## one")
    assert await access.host.comment(access.repository, access.number, "## two") == first
    await access.host.comment(replace(access.repository, uid="another"), access.number, "## three")
    texts = list(comments.values())
    assert texts[:5] == [f"other {number}" for number in range(1000, 1005)]
    assert [text.partition("## ")[2] for text in texts[5:]] == ["two", "three"]
    pull_request = await access.host.pull_request(access.repository, access.number)
    assert first.lower().startswith(pull_request.url.lower())
    assert first.endswith(str(next(number for number, text in comments.items() if "two" in text)))


async def test_a_long_comment_is_shortened(access: HostAccess) -> None:
    """The last sections are omitted from a comment that is too long for the host."""
    sections = [f"## Part {number}\n\n" + "x" * 9000 for number in range(6)]
    await access.host.comment(access.repository, access.number, "\n\n".join(sections))
    (text,) = access.server.repositories["team/boards"].pulls[access.number].comments.values()
    is_shortened = kind_of(access).startswith("bitbucket")
    assert (len(text) <= 32_768, "Part 5" in text, "left out" in text) == (is_shortened, not is_shortened, is_shortened)
    assert "Part 2" in text


@pytest.mark.parametrize("state", CommitState)
async def test_a_commit_status_has_the_repositorys_name(access: HostAccess, state: CommitState) -> None:
    """A commit status has the repository's name, and its text is cut to the length that the host accepts."""
    await access.host.set_commit_status(access.repository, CommitStatus(access.head, state, "x" * 300, PAGE))
    ((commit, status),) = access.server.repositories["team/boards"].statuses
    gitlab_states = {CommitState.FAILURE: "failed", CommitState.ERROR: "failed"}
    bitbucket_states = {CommitState.PENDING: "INPROGRESS", CommitState.SUCCESS: "SUCCESSFUL"}
    expected: dict[str, Any] = {
        "github": {"state": state.value, "description": "x" * 140, "context": "dashwright/boards", "target_url": PAGE},
        "gitea": {"state": state.value, "description": "x" * 255, "context": "dashwright/boards", "target_url": PAGE},
        "gitlab": {
            "state": gitlab_states.get(state, state.value),
            "description": "x" * 255,
            "name": "dashwright/boards",
            "target_url": PAGE,
        },
        "bitbucket": {
            "state": bitbucket_states.get(state, "FAILED"),
            "description": "x" * 255,
            "name": "dashwright/boards",
            "key": "dashwright/boards",
            "url": PAGE,
        },
    }
    expected["bitbucket-server"] = expected["bitbucket"]
    assert (commit, status) == (access.head, expected[kind_of(access)])


async def test_a_status_may_be_set_twice(access: HostAccess) -> None:
    """GitLab rejects a state that the commit has already, which is not an error."""
    for state in (CommitState.PENDING, CommitState.PENDING, CommitState.SUCCESS, CommitState.PENDING):
        await access.host.set_commit_status(access.repository, CommitStatus(access.head, state, "", PAGE))
    assert len(access.server.repositories["team/boards"].statuses) == (3 if kind_of(access) == "gitlab" else 4)


async def test_a_long_name_has_a_short_key(access: HostAccess) -> None:
    access.server.token = ""
    repository = replace(replace(access, sealed_token="").repository, name="n" * 60)
    await access.host.set_commit_status(repository, CommitStatus(access.head, CommitState.SUCCESS, "", PAGE))
    ((_, status),) = access.server.repositories["team/boards"].statuses
    assert f"dashwright/{'n' * 60}" in status.values()
    assert len(status.get("key", "")) <= (255 if kind_of(access) == "bitbucket-server" else 40)


async def test_hooks_are_created_changed_listed_and_removed(access: HostAccess) -> None:
    """A hook has the same id in all responses, and the requested address, events and secret."""
    access.server.max_page_size = 2
    for number in range(3):
        await access.host.create_hook(access.repository, replace(HOOK, url=f"{HOOK.url}/{number}"))
    hook = await access.host.create_hook(access.repository, HOOK)
    assert (hook.url, hook.events, hook.is_active) == (HOOK.url, HOOK.events, True)
    changed = await access.host.update_hook(access.repository, hook.id, replace(HOOK, events=frozenset({"push"}), secret="another"))
    assert (changed.id, changed.events) == (hook.id, frozenset({"push"}))
    assert (await access.host.hooks(access.repository))[3:] == [changed]
    hook_json = list(access.server.repositories["team/boards"].hooks.values())[3]
    # Each kind of host has another member for the secret.
    assert "another" in (
        hook_json.get("secret"),
        hook_json.get("token"),
        hook_json.get("config", {}).get("secret"),
        hook_json.get("configuration", {}).get("secret"),
    )
    await access.host.delete_hook(access.repository, hook.id)
    assert len(await access.host.hooks(access.repository)) == 3
    with pytest.raises(NotFound):
        await access.host.delete_hook(access.repository, hook.id)


async def test_commits_have_accounts_if_the_host_reports_them(access: HostAccess) -> None:
    """Commits have accounts if the host reports them. GitLab and Bitbucket are not requested, because their commits name no accounts."""
    commits = await access.host.commits(access.repository, access.head, "a b.json")
    assert bool(commits) == (kind_of(access) in ("github", "gitea"))
    assert any("commits" in call for call in access.server.calls) == bool(commits)


async def test_redirects_to_other_addresses_are_not_followed(access: HostAccess) -> None:
    """A redirect to another host, another repository or a path above the repository is refused, so that the token is not sent there."""
    root = f"{access.server.origin}{access.server.api_path}"
    repository_path = {
        "gitlab": "projects/team%2Fboards",
        "bitbucket": "repositories/team/boards",
        "bitbucket-server": "projects/team/repos/boards",
    }.get(kind_of(access), "repos/team/boards")
    addresses = [
        f"http://127.0.0.1:1{access.server.api_path}{repository_path}/x",
        f"{root}user",
        f"{root}{repository_path}/../../x",
        f"{root}{repository_path}/%2e%2e/x",
        "//127.0.0.1:1/x",
        "",
        "http://[",
    ]
    for address in addresses:

        async def redirect(request: web.Request, address: str = address) -> web.Response:
            return web.json_response({"values": [], "next": address}, status=302, headers={"Location": address})

        access.server.api_fault = redirect
        access.server.calls.clear()
        with pytest.raises(BadRequest, match="redirects"):
            await access.host.pull_request(access.repository, access.number)
        assert len(access.server.calls) == 1


async def test_a_next_page_elsewhere_is_an_error(tmp_path: Path) -> None:
    """Responses of Bitbucket have the address of the next page. An address outside the repository is an error."""

    async def name_another_address(_: web.Request) -> web.Response:
        return web.json_response({"values": [HOOK_OF_BITBUCKET], "next": "http://127.0.0.1:1/x"})

    async with open_host_access(tmp_path, kind=BitbucketHost) as access:
        access.server.api_fault = name_another_address
        with pytest.raises(SourceFailed, match="next page at another address"):
            await access.host.hooks(access.repository)


async def test_a_redirect_within_the_repository_is_followed_a_few_times(access: HostAccess) -> None:
    """A redirect within the repository is followed. A host that redirects in a circle is an error."""

    async def redirect_to_itself(request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": str(request.url)})

    access.server.api_fault = redirect_to_itself
    access.server.calls.clear()
    with pytest.raises(SourceFailed, match="redirects too often"):
        await access.host.hooks(access.repository)
    assert len(access.server.calls) == 3
    with pytest.raises(BadRequest, match="redirects"):
        await access.host.create_hook(access.repository, HOOK)


async def test_missing_members_are_named(access: HostAccess) -> None:
    """The error of an incomplete response names the missing members by their paths in the host's JSON."""

    async def omit_members(_: web.Request) -> web.Response:
        return web.json_response({"title": "T", "id": 1, "iid": 1, "number": 1})

    access.server.api_fault = omit_members
    member = {"gitlab": "source_branch", "bitbucket": "source.branch.name", "bitbucket-server": "fromRef.displayId"}.get(
        kind_of(access), "head.ref"
    )
    with pytest.raises(SourceFailed, match=f"without required members: .*{member}"):
        await access.host.pull_request(access.repository, 1)


async def test_a_repository_may_be_in_nested_groups(tmp_path: Path) -> None:
    """A repository of GitLab may be in groups of groups, which other hosts do not have."""
    async with open_host_access(tmp_path, kind=GitLabHost, name="team/web/boards") as access:
        result = await access.host.pull_request(access.repository, access.number)
        assert result.url == f"{access.server.origin}/team/web/boards/-/merge_requests/{access.number}"
        assert access.server.calls[-1] == f"GET /projects/team%2Fweb%2Fboards/merge_requests/{access.number}"
    (tmp_path / "other").mkdir()
    async with open_host_access(tmp_path / "other", kind=GiteaHost, name="team/web/boards") as access:
        with pytest.raises(BadRequest, match="owner/name"):
            await access.host.pull_request(access.repository, access.number)


@pytest.mark.parametrize("kind", [GitHost, GitLabHost, GiteaHost, BitbucketServerHost])
async def test_a_host_is_recognized_once_without_the_token(tmp_path: Path, kind: type[GitHost]) -> None:
    """The probes of well-known paths have no token, and are sent once for all repositories of the host."""
    async with open_host_access(tmp_path, kind=kind) as access:
        for _ in range(2):
            assert await access.host.hooks(access.repository) == []
        # The probes of GitLab, Gitea and Bitbucket Data Center, up to the first one that succeeds. GitHub needs none.
        paths = ["/api/v4/version", "/api/v1/version", "/rest/api/1.0/application-properties"]
        count = {GitLabHost: 1, GiteaHost: 2}.get(kind, 3)
        assert access.server.probes == [(path, False) for path in paths[:count]]


async def test_the_type_of_a_repository_names_the_kind(tmp_path: Path) -> None:
    """A repository of the type gitlab needs no probe, and one of the type bitbucket on another host is at Bitbucket Data Center."""
    async with open_host_access(tmp_path, kind=GitLabHost) as access:
        spec = access.repository.spec
        gitlab = spec.model_copy(update={"type": RepositoryType.GITLAB, "githost": None, "gitlab": spec.githost})
        assert await access.host.hooks(replace(access.repository, spec=gitlab)) == []
        assert access.server.calls == ["GET /projects/team%2Fboards/hooks"]
        bitbucket = spec.model_copy(update={"type": RepositoryType.BITBUCKET, "githost": None, "bitbucket": spec.githost})
        with pytest.raises(BadRequest, match=r"need a url of the form .*/scm/owner/name"):
            await access.host.hooks(replace(access.repository, spec=bitbucket))


HOOK_OF_BITBUCKET = {"uuid": "{4f2c8a10-0000-4000-8000-000000000000}", "url": "https://x.example", "active": True, "events": []}
