"""Jobs that a webhook delivery requests, by its event and its repository."""

from typing import Any

import pytest

from dashwright.api.repositories.domain.deliveries import Decision, decide
from dashwright.common.errors import BadRequest
from dashwright.common.git_hosts.github import GITHUB
from dashwright.common.models.provisioning import GitHostRepositoryConfig, JobSpec, RepositorySpec, RepositoryType, SyncOptions, SyncTarget

# The repository in payloads, whose letters differ in case from the URL of the spec.
SYNCED_REPOSITORY = {"full_name": "Team/Boards", "default_branch": "trunk"}
COMMIT = "ab" * 20


def spec(*, branch: str = "main", enabled: bool = True) -> RepositorySpec:
    """Return the spec of a repository that syncs a branch; ``""`` is the default branch of the host."""
    githost = GitHostRepositoryConfig(url="https://git.example.org/team/boards.git", branch=branch)
    sync = SyncOptions(enabled=enabled, target=SyncTarget.FOLDER)
    return RepositorySpec(title="Boards", workflows=[], sync=sync, type=RepositoryType.GITHOST, githost=githost)


def decision_of(event: str, payload: Any, **options: Any) -> Decision:
    """Return the decision on a delivery of GitHub. The options are those of ``spec``."""
    return decide(GITHUB.deliveries, event, payload, "boards", spec(**options))


def pull_request_payload(action: str, *, base: str = "main") -> dict[str, Any]:
    """Return the payload of an event of pull request 12, whose target branch is ``base``."""
    page = "https://git.example.org/team/boards/pull/12"
    head = {"ref": "change/one", "sha": COMMIT}
    return {
        "action": action,
        "repository": SYNCED_REPOSITORY,
        "pull_request": {"number": 12, "html_url": page, "base": {"ref": base}, "head": head},
    }


SYNC = JobSpec.model_validate({"action": "sync", "repository": "boards", "sync": {"incremental": True}})


def test_a_ping_is_accepted_with_any_body() -> None:
    """A ping is accepted with any body, because webhooks of organizations send pings without a repository."""
    assert decision_of("ping", {"zen": "x", "hook_id": 1}) == Decision(200, "ping received")
    assert decision_of("ping", []) == Decision(200, "ping received")


def test_a_push_to_the_branch_requests_an_incremental_sync() -> None:
    """A push to the branch requests a sync, even if no path looks like a dashboard. Repository names ignore case."""
    commits = [{"added": ["README.txt"], "modified": [], "removed": []}]
    pushed = decision_of("push", {"ref": "refs/heads/main", "after": COMMIT, "repository": SYNCED_REPOSITORY, "commits": commits})
    assert pushed == Decision(202, "push received", SYNC)


def test_without_a_branch_the_default_one_of_the_host_counts() -> None:
    """If no branch is configured, only a push to the default branch in the payload requests a job."""
    assert decision_of("push", {"ref": "refs/heads/trunk", "repository": SYNCED_REPOSITORY}, branch="").job == SYNC
    assert decision_of("push", {"ref": "refs/heads/main", "repository": SYNCED_REPOSITORY}, branch="").job is None


@pytest.mark.parametrize(
    ("payload", "options"),
    [
        pytest.param({"ref": "refs/heads/other"}, {}, id="other branch"),
        pytest.param({"ref": "refs/tags/main"}, {}, id="tag"),
        pytest.param({"ref": "main"}, {}, id="no full reference"),
        pytest.param({}, {}, id="no reference"),
        # A commit of zeros means that the branch was deleted.
        pytest.param({"ref": "refs/heads/main", "after": "0" * 40}, {}, id="deleted branch"),
        pytest.param({"ref": "refs/heads/main", "after": COMMIT}, {"enabled": False}, id="sync is disabled"),
    ],
)
def test_other_pushes_request_nothing(payload: dict[str, Any], options: dict[str, Any]) -> None:
    """Pushes of other branches, of tags and of deleted branches, and to repositories whose sync is disabled, request nothing."""
    decision = decision_of("push", {**payload, "repository": SYNCED_REPOSITORY}, **options)
    assert decision.code == 200
    assert decision.job is None


@pytest.mark.parametrize("action", ["opened", "reopened", "synchronize"])
def test_a_pull_request_to_the_branch_is_reviewed_when_its_commits_change(action: str) -> None:
    """The job has the number, the branch, the commit and the page of the pull request."""
    page = "https://git.example.org/team/boards/pull/12"
    expected = {"ref": "change/one", "hash": COMMIT, "pr": 12, "url": page}
    job = JobSpec.model_validate({"action": "pr", "repository": "boards", "pr": expected})
    assert decision_of("pull_request", pull_request_payload(action)) == Decision(202, f"pull request: {action}", job)


@pytest.mark.parametrize("action", ["closed", "assigned", "labeled", "edited", ""])
def test_other_events_of_a_pull_request_request_nothing(action: str) -> None:
    """An event without new commits is accepted, with a message that it is ignored."""
    assert decision_of("pull_request", pull_request_payload(action)) == Decision(200, f"ignore pull request event: {action}")


def test_a_pull_request_to_another_branch_requests_nothing() -> None:
    """The message about an ignored pull request has two spaces, because Grafana's has."""
    text = "ignoring pull request event as develop is not  the configured branch"
    assert decision_of("pull_request", pull_request_payload("opened", base="develop")) == Decision(200, text)


@pytest.mark.parametrize(
    ("event", "payload", "message"),
    [
        ("push", {"ref": "refs/heads/main", "repository": {"full_name": "another/repository"}}, "repository mismatch"),
        ("pull_request", pull_request_payload("opened") | {"repository": {"full_name": "another/repository"}}, "repository mismatch"),
        ("push", {"ref": "refs/heads/main"}, "missing repository in push event"),
        ("pull_request", {"action": "opened", "repository": SYNCED_REPOSITORY}, "expected PR in event"),
        ("push", [], "has missing or invalid members"),
        ("push", {"ref": 7, "repository": SYNCED_REPOSITORY}, "has missing or invalid members: ref"),
        ("pull_request", {"repository": SYNCED_REPOSITORY, "pull_request": {"number": 2**31}}, "has missing or invalid members"),
    ],
)
def test_events_of_other_repositories_and_malformed_events_are_rejected(event: str, payload: Any, message: str) -> None:
    """An event that names another repository, or lacks members, is an error with its reason."""
    with pytest.raises(BadRequest, match=message):
        decision_of(event, payload)


def test_other_events_are_rejected() -> None:
    """An unsupported event is rejected with an error, which is visible in the host's log of the webhook.

    Invalid UTF-8 in the name of the event, decoded to a surrogate, is replaced by a question mark.
    """
    assert decision_of("issues", {"repository": SYNCED_REPOSITORY}) == Decision(501, "unsupported messageType: issues")
    assert decision_of("push\udce9", {"repository": SYNCED_REPOSITORY}) == Decision(501, "unsupported messageType: push?")
