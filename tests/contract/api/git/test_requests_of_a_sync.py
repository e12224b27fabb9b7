"""The number of requests that a sync sends to the git host does not depend on the number of files and commits."""

import pygit2
from tests.contract.api.git.sync_environment import SyncEnvironment, dashboard, is_healthy
from tests.servers.git import git

#: Requests that a sync may send.
MAX_REQUESTS = 5
#: Requests that the schedule sends to look for a new commit before a sync.
SCHEDULE_REQUESTS = 2
FEW_FILES, MANY_FILES = 3, 300


async def test_requests_do_not_grow_with_the_repository(environment: SyncEnvironment) -> None:
    """Each sync sends at most five requests, for any number of files and commits. Without a new commit, only the schedule sends some."""
    work_tree, sent_requests = environment.work_tree, environment.server.requests

    async def count_requests() -> int:
        """Run the next sync, and return the number of requests of the schedule and of the sync."""
        sent_requests.clear()
        assert is_healthy(await environment.advance())
        return len(sent_requests)

    work_tree.commit(files(FEW_FILES, "0"))
    await environment.create_repository()
    assert len(sent_requests) <= MAX_REQUESTS
    request_counts = {}
    for count in (FEW_FILES, MANY_FILES):
        work_tree.commit(files(count, "1"))
        request_counts[f"{count} files are new"] = await count_requests()
        work_tree.commit(files(count, "2"))
        request_counts[f"{count} files are changed"] = await count_requests()
    for number in range(20):
        work_tree.commit({"0.json": dashboard("n0", f"commit {number}")})
    request_counts["20 commits are new"] = await count_requests()
    work_tree.push(amend=True)
    request_counts["the last commit is amended"] = await count_requests()
    await environment.rename("Team B")
    request_counts["the sync is a full one"] = await count_requests()
    assert all(number <= MAX_REQUESTS + SCHEDULE_REQUESTS for number in request_counts.values()), request_counts
    assert await count_requests() == SCHEDULE_REQUESTS, "nothing is new"


def files(count: int, title: str) -> dict[str, str | bytes | None]:
    """Return the files of dashboards with one title."""
    return {f"{index}.json": dashboard(f"n{index}", title) for index in range(count)}


async def test_a_rewritten_history_needs_no_more_requests(environment: SyncEnvironment) -> None:
    """A sync after a rewrite of a thousand commits sends at most five requests, too."""
    work_tree = environment.work_tree
    work_tree.commit({"a.json": dashboard("a", "A")})
    repository = pygit2.Repository(str(work_tree.folder))
    for index in range(1_000):
        head = repository.head.peel(pygit2.Commit)
        repository.create_commit("HEAD", head.author, head.committer, f"{index}", head.tree.id, [head.id])
    work_tree.push()
    await environment.create_repository()
    git(work_tree.folder, "checkout", "--quiet", "--orphan", "rewritten")
    work_tree.commit({"a.json": dashboard("a", "rewritten")})
    git(environment.server.root / "team.git", "gc", "--quiet", "--prune=now")
    environment.server.requests.clear()
    assert is_healthy(await environment.advance())
    assert len(environment.server.requests) <= MAX_REQUESTS + SCHEDULE_REQUESTS, environment.server.requests
    assert await environment.titles() == {"a": "rewritten"}
