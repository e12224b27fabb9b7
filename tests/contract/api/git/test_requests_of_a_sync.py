"""What a sync asks of its host: a few requests, whatever the number of files and commits."""

import pygit2
from tests.contract.api.git.trial import Trial, dashboard, well
from tests.servers.git import git

MOST = 5
ASKING = 2
"""Of the schedule, before: whether there is anything new."""

FEW, MANY = 3, 300


async def test_requests_do_not_grow_with_the_repository(trial: Trial) -> None:
    """The first sync, one that changes everything, one after many commits, after a rewritten history, and one with nothing new."""
    work, asked = trial.work, trial.server.requests

    async def requests() -> int:
        asked.clear()
        assert well(await trial.later())
        return len(asked)

    work.commit(files(FEW, "0"))
    await trial.make()
    assert len(asked) <= MOST
    counted = {}
    for count in (FEW, MANY):
        work.commit(files(count, "1"))
        counted[f"{count} files are new"] = await requests()
        work.commit(files(count, "2"))
        counted[f"{count} files are changed"] = await requests()
    for number in range(20):
        work.commit({"0.json": dashboard("n0", f"commit {number}")})
    counted["20 commits"] = await requests()
    work.push(amend=True)
    counted["another commit in place of the last"] = await requests()
    await trial.rename("Team B")
    counted["everything is looked at"] = await requests()
    assert all(number <= MOST + ASKING for number in counted.values()), counted
    assert await requests() == ASKING, "nothing is new"


def files(count: int, title: str) -> dict[str, str | bytes | None]:
    return {f"{number}.json": dashboard(f"n{number}", title) for number in range(count)}


async def test_a_history_that_was_written_anew_costs_as_little(trial: Trial) -> None:
    """Hundreds of commits that the copy has and the host has not."""
    work = trial.work
    work.commit({"a.json": dashboard("a", "A")})
    repository = pygit2.Repository(str(work.folder))
    for number in range(1_000):
        head = repository.head.peel(pygit2.Commit)
        repository.create_commit("HEAD", head.author, head.committer, f"{number}", head.tree.id, [head.id])
    work.push()
    await trial.make()
    git(work.folder, "checkout", "--quiet", "--orphan", "anew")
    work.commit({"a.json": dashboard("a", "anew")})
    git(trial.server.root / "team.git", "gc", "--quiet", "--prune=now")
    trial.server.requests.clear()
    assert well(await trial.later())
    assert len(trial.server.requests) <= MOST + ASKING, trial.server.requests
    assert await trial.titles() == {"a": "anew"}
