"""The client of Gitea and Forgejo and their test host, checked against types that were generated from Forgejo's own description."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest
from tests.integration.host.host_access import open_host_access
from tests.oracles.git_host.typescript import Types, permit_other_members
from tests.servers.gitea_host import GiteaHost
from tests.servers.npm import packaged_file

from dashwright.common.git_hosts.gitea import GITEA
from dashwright.jobs_worker.domain.hosting import CommitState, CommitStatus, HookSpec

pytestmark = pytest.mark.oracles

_INTEGRITY: Final = "sha512-Zxra6GLr36gL4UdBPahqmFJo0ZhaHRXZizrrxz2IIjz8zeqOOEahS4vGgGoO/I0zGMjQJoTbQiakibQSxVCaMw=="

#: Names of the operations by method and path below that of the repository. The types of an operation are named after it.
_OPERATIONS: Final = {
    ("GET", "pulls"): "RepoListPullRequests",
    ("GET", r"pulls/\d+"): "RepoGetPullRequest",
    ("GET", r"pulls/\d+/files"): "RepoGetPullRequestFiles",
    ("GET", r"issues/\d+/comments"): "IssueGetComments",
    ("POST", r"issues/\d+/comments"): "IssueCreateComment",
    ("PATCH", r"issues/comments/\d+"): "IssueEditComment",
    ("POST", r"statuses/[0-9a-f]{40}"): "RepoCreateStatus",
    ("GET", "commits"): "RepoGetAllCommits",
    ("GET", "hooks"): "RepoListHooks",
    ("POST", "hooks"): "RepoCreateHook",
    ("PATCH", r"hooks/\d+"): "RepoEditHook",
    ("DELETE", r"hooks/\d+"): "RepoDeleteHook",
}
#: Comments are not paged: the host ignores these parameters.
_IGNORED_PARAMETERS: Final = {("IssueGetComments", "limit"), ("IssueGetComments", "page")}

_HOOK: Final = HookSpec("https://boards.example.org/hook", frozenset({"push", "pull_request"}), "a secret")


class ForgejoDescription:
    """A check of requests and responses against the types."""

    def __init__(self, types: Types) -> None:
        self._types = types
        #: Operations that were requested.
        self.requested_operations: set[str] = set()

    def fault_of_request(self, method: str, path: str, query: Mapping[str, str], body: Any) -> str | None:
        """Return the reason why the types do not permit a request, or None. Unknown members are not permitted."""
        if path == "/version":
            return None
        operation = self._operation(method, path)
        if operation is None:
            return f"{method} {path} is not an operation"
        self.requested_operations.add(operation)
        described_query = {
            name: int(value) if value.isdigit() else value for name, value in query.items() if (operation, name) not in _IGNORED_PARAMETERS
        }
        parts = {"query": described_query, "body": body}
        # The call adds the type of the request to the definitions.
        self._types.schema(f"{operation}Data")
        allowed = self._types.definitions[f"{operation}Data"]["properties"]
        return "; ".join(fault for name, value in parts.items() if value for fault in self._faults(allowed[name], value)) or None

    def check_response(self, method: str, path: str, status: int, body: Any) -> None:
        """Raise AssertionError for a response with a member of another type. It may have members that the types lack."""
        operation = self._operation(method, path)
        if operation is not None:
            self._types.schema(f"{operation}Responses")
            faults = self._faults(self._types.definitions[f"{operation}Responses"]["properties"][str(status)], body, permit_other_members)
            assert not faults, f"{operation}: {faults}"

    def _operation(self, method: str, path: str) -> str | None:
        """Return the name of the operation that a request calls, or None if it is unknown."""
        relative_path = path.removeprefix("/repos/team/boards").strip("/")
        return next(
            (name for (verb, pattern), name in _OPERATIONS.items() if verb == method and re.fullmatch(pattern, relative_path)), None
        )

    def _faults(self, schema: Any, value: Any, change: Callable[[Any], Any] = lambda schema: schema) -> list[str]:
        """Return the differences of a value from a schema, after ``change`` of the schema and of all definitions."""
        validator = jsonschema_rs.Draft202012Validator(change({**schema, "$defs": self._types.definitions}))
        return [f"{'.'.join(map(str, error.instance_path))}: {error.message[:200]}" for error in validator.iter_errors(value)]


@pytest.fixture(scope="module")
def types() -> Types:
    """Return the types that were generated from the description of Forgejo 15."""
    return Types(packaged_file("@llamaduck/forgejo-ts", "15.0.9", _INTEGRITY, "dist/index.d.ts").decode())


async def test_every_call_has_the_types_of_forgejo(tmp_path: Path, types: Types) -> None:
    """Every request of the client and every response of the test host has the described type; all calls are covered."""
    description = ForgejoDescription(types)
    async with open_host_access(tmp_path, description, kind=GiteaHost) as access:
        host, repository = access.host, access.repository
        await host.pull_request(repository, access.number)
        assert await host.open_pull_requests(repository)
        assert await host.changed_files(repository, access.number)
        assert await host.commits(repository, access.head, "new.json")
        await host.comment(repository, access.number, "one")
        await host.comment(repository, access.number, "two")
        for state in CommitState:
            await host.set_commit_status(repository, CommitStatus(access.head, state, "description", "https://boards.example.org/p"))
        hook = await host.create_hook(repository, _HOOK)
        assert await host.update_hook(repository, hook.id, replace(_HOOK, events=frozenset({"push"}))) in await host.hooks(repository)
        await host.delete_hook(repository, hook.id)
        access.server.merge("team/boards", access.number)
        assert (await host.pull_request(repository, access.number)).is_merged
    assert description.requested_operations == set(_OPERATIONS.values())


def test_forgejo_has_the_members_that_are_read(types: Types) -> None:
    """Every member of a response that the client reads is in the types."""
    # The first part of ``open`` and ``merged`` is the member that has the state.
    pulls, files, comments, hooks = GITEA.pull_requests, GITEA.changed_files, GITEA.comments, GITEA.hooks
    read_members = {
        "PullRequest": {
            *(pulls.number, pulls.title, pulls.page, pulls.open[0], pulls.merged[0], pulls.base, pulls.head, pulls.head_commit),
            *(pulls.base_repository, pulls.head_repository, pulls.changed_files),
        },
        "ChangedFile": {*files.names, files.previous_name, *(member for member, _, _ in files.statuses)},
        "Comment": {"id", comments.text, comments.page},
        "Hook": {hooks.id, hooks.url, hooks.active, hooks.event_list},
    }
    missing = {(name, path) for name, paths in read_members.items() for path in paths if not types.has_member(name, path)}
    assert not missing
