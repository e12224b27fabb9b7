"""Decisions on the deliveries of GitLab, Gitea and Bitbucket, whose payloads are those of the hosts' documentation."""

from typing import Any

import pytest

from dashwright.api.repositories.domain.deliveries import Decision, decide
from dashwright.common.errors import BadRequest
from dashwright.common.git_hosts.bitbucket import BITBUCKET
from dashwright.common.git_hosts.bitbucket_server import BITBUCKET_SERVER
from dashwright.common.git_hosts.deliveries import Deliveries
from dashwright.common.git_hosts.gitea import GITEA
from dashwright.common.git_hosts.github import GITHUB
from dashwright.common.git_hosts.gitlab import GITLAB
from dashwright.common.git_hosts.registry import HOSTS, host_of_delivery
from dashwright.common.models.provisioning import GitHostRepositoryConfig, JobSpec, RepositorySpec, RepositoryType, SyncOptions, SyncTarget

COMMIT = "ab" * 20
# The page of the reviewed change, whose number is 7 for each host.
PAGE = "https://git.example.org/team/boards/7"
PROJECT = {"project": {"path_with_namespace": "Team/Boards", "default_branch": "main"}}
REPOSITORY = {"repository": {"full_name": "team/boards"}}


def decision_of(deliveries: Deliveries, event: str, payload: Any, *, branch: str = "main", enabled: bool = True) -> Decision:
    """Return the decision on a delivery to a repository with a branch; ``""`` is the default branch of the host."""
    githost = GitHostRepositoryConfig(url="https://git.example.org/team/boards.git", branch=branch)
    sync = SyncOptions(enabled=enabled, target=SyncTarget.FOLDER)
    spec = RepositorySpec(title="Boards", workflows=[], sync=sync, type=RepositoryType.GITHOST, githost=githost)
    return decide(deliveries, event, payload, "boards", spec)


def review_job(commit: str, page: str | None) -> JobSpec:
    """Return the job that reviews change 7, which is the branch ``change``."""
    pull_request = {"pr": 7, "ref": "change", "hash": commit, "url": page}
    return JobSpec.model_validate({"action": "pr", "repository": "boards", "pr": pull_request})


def merge_request(action: str, *, base: str = "main", **attributes: Any) -> dict[str, Any]:
    """Return GitLab's payload of a merge request into the branch ``base``, with changed attributes."""
    merge_attributes = {
        "iid": 7,
        "action": action,
        "url": PAGE,
        "source_branch": "change",
        "target_branch": base,
        "last_commit": {"id": COMMIT},
    }
    return {"object_kind": "merge_request", **PROJECT, "object_attributes": {**merge_attributes, **attributes}}


def push_payload(*changes: dict[str, Any] | None) -> dict[str, Any]:
    """Return Bitbucket's payload of a push. A change is the new state of a reference, or None if it was deleted."""
    return {**REPOSITORY, "push": {"changes": [{"old": None, "new": change} for change in changes]}}


def branch(name: str, kind: str = "branch") -> dict[str, Any]:
    """Return the new state of a branch or tag in Bitbucket's payload of a push."""
    return {"type": kind, "name": name, "target": {"hash": COMMIT}}


def pull_request_payload(**members: Any) -> dict[str, Any]:
    """Return Bitbucket's payload of a pull request, whose commit has only 12 digits, with changed members."""
    source_and_destination = {
        "source": {"branch": {"name": "change"}, "commit": {"hash": COMMIT[:12]}},
        "destination": {"branch": {"name": "main"}},
    }
    return {**REPOSITORY, "pullrequest": {"id": 7, "links": {"html": {"href": PAGE}}, **source_and_destination, **members}}


@pytest.mark.parametrize(
    ("payload", "options", "code"),
    [
        pytest.param({"ref": "refs/heads/main", "after": COMMIT}, {}, 202, id="synced branch"),
        pytest.param({"ref": "refs/heads/main", "after": COMMIT}, {"branch": ""}, 202, id="default branch"),
        pytest.param({"ref": "refs/heads/other", "after": COMMIT}, {}, 200, id="another branch"),
        pytest.param({"ref": "refs/heads/main", "after": "0" * 40, "checkout_sha": None}, {}, 200, id="deleted branch"),
        pytest.param({"ref": "refs/heads/main", "after": COMMIT}, {"enabled": False}, 200, id="repository without syncs"),
    ],
)
def test_pushes_to_gitlab_request_syncs(payload: dict[str, Any], options: dict[str, Any], code: int) -> None:
    """A push to the synced branch requests a sync, and other pushes do not. The path of the project may differ in case."""
    decision = decision_of(GITLAB.deliveries, "Push Hook", {**PROJECT, **payload}, **options)
    assert decision.code == code
    requests_sync = decision.job is not None
    assert requests_sync == (code == 202)


@pytest.mark.parametrize(
    ("payload", "is_reviewed"),
    [
        pytest.param(merge_request("open"), True, id="opened"),
        pytest.param(merge_request("reopen"), True, id="reopened"),
        pytest.param(merge_request("update", oldrev="cd" * 20), True, id="new commits"),
        pytest.param(merge_request("update"), False, id="new description"),
        pytest.param(merge_request("merge", oldrev="cd" * 20), False, id="merged"),
        pytest.param(merge_request("approved"), False, id="approved"),
        pytest.param(merge_request("open", base="develop"), False, id="into another branch"),
    ],
)
def test_merge_requests_of_gitlab_request_reviews(payload: dict[str, Any], is_reviewed: bool) -> None:
    """A merge request to the synced branch requests a review if its commits changed.

    An update without an earlier commit, ``oldrev``, changed only the description.
    """
    decision = decision_of(GITLAB.deliveries, "Merge Request Hook", payload)
    assert decision.code == (202 if is_reviewed else 200)
    if is_reviewed:
        assert decision.job == review_job(COMMIT, PAGE)


@pytest.mark.parametrize(
    ("action", "code"), [("opened", 202), ("reopened", 202), ("synchronized", 202), ("synchronize", 200), ("edited", 200)]
)
def test_pull_requests_of_gitea_request_reviews(action: str, code: int) -> None:
    """A pull request that was opened, reopened or has new commits is reviewed.

    Gitea's action for new commits is ``synchronized``, unlike GitHub's ``synchronize``.
    """
    pull_request = {"number": 7, "html_url": PAGE, "base": {"ref": "main"}, "head": {"ref": "change", "sha": COMMIT}}
    payload = {"action": action, "repository": {"full_name": "team/boards"}, "pull_request": pull_request}
    assert decision_of(GITEA.deliveries, "pull_request", payload).code == code


@pytest.mark.parametrize(
    ("payload", "options", "code"),
    [
        pytest.param(push_payload(branch("main")), {}, 202, id="synced branch"),
        pytest.param(push_payload(branch("other"), branch("main")), {}, 202, id="synced branch among others"),
        pytest.param(push_payload(branch("other")), {"branch": ""}, 202, id="any branch"),
        pytest.param(push_payload(branch("other")), {}, 200, id="another branch"),
        pytest.param(push_payload(branch("main", "tag")), {}, 200, id="tag named like the branch"),
        pytest.param(push_payload(branch("v1", "tag")), {"branch": ""}, 200, id="tag"),
        pytest.param(push_payload(None), {}, 200, id="deleted branch"),
        pytest.param(push_payload(None), {"branch": ""}, 200, id="any deleted branch"),
        pytest.param(push_payload(), {}, 200, id="no change"),
        pytest.param(push_payload(branch("main")), {"enabled": False}, 200, id="repository without syncs"),
    ],
)
def test_pushes_to_bitbucket_request_syncs(payload: dict[str, Any], options: dict[str, Any], code: int) -> None:
    """A push of the synced branch, possibly among others, requests a sync.

    Bitbucket does not name the default branch, so a push of any branch requests a sync of a repository without a branch.
    """
    assert decision_of(BITBUCKET.deliveries, "repo:push", payload, **options).code == code


@pytest.mark.parametrize(("event", "code"), [("pullrequest:created", 202), ("pullrequest:updated", 202), ("pullrequest:fulfilled", 200)])
def test_pull_requests_of_bitbucket_request_reviews(event: str, code: int) -> None:
    """A new or updated pull request is reviewed. Its commit is abbreviated, as in Bitbucket's payloads."""
    decision = decision_of(BITBUCKET.deliveries, event, pull_request_payload())
    assert decision.code == code
    if code == 202:
        assert decision.job == review_job(COMMIT[:12], PAGE)


def change_payload(reference: str, kind: str = "BRANCH", commit: str = COMMIT) -> dict[str, Any]:
    """Return one change of a push in the payload of Bitbucket Data Center. A commit of zeros is a deletion."""
    return {"ref": {"id": reference, "displayId": reference.rpartition("/")[2], "type": kind}, "toHash": commit}


SERVER_REPOSITORY = {"slug": "boards", "project": {"key": "TEAM"}}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        pytest.param([change_payload("refs/heads/main")], 202, id="synced branch"),
        pytest.param([change_payload("refs/heads/other"), change_payload("refs/heads/main")], 202, id="synced branch among others"),
        pytest.param([change_payload("refs/heads/other")], 200, id="another branch"),
        pytest.param([change_payload("refs/tags/main", "TAG")], 200, id="tag named like the branch"),
        pytest.param([change_payload("refs/heads/main", commit="0" * 40)], 200, id="deleted branch"),
    ],
)
def test_pushes_to_bitbucket_data_center_request_syncs(changes: list[dict[str, Any]], code: int) -> None:
    """A push of the synced branch, possibly among others, requests a sync. Tags and deletions do not."""
    payload = {"repository": SERVER_REPOSITORY, "changes": changes}
    assert decision_of(BITBUCKET_SERVER.deliveries, "repo:refs_changed", payload).code == code


@pytest.mark.parametrize(
    ("event", "code"), [("pr:opened", 202), ("pr:from_ref_updated", 202), ("pr:merged", 200), ("diagnostics:ping", 200)]
)
def test_pull_requests_of_bitbucket_data_center_request_reviews(event: str, code: int) -> None:
    """An opened or updated pull request is reviewed, even from a fork. The page of the review is None if the payload has no link."""
    references = {
        "fromRef": {"displayId": "change", "latestCommit": COMMIT, "repository": {"slug": "fork", "project": {"key": "~me"}}},
        "toRef": {"displayId": "main", "repository": SERVER_REPOSITORY},
    }
    decision = decision_of(BITBUCKET_SERVER.deliveries, event, {"pullRequest": {"id": 7, "links": {"self": [None]}, **references}})
    assert decision.code == code
    if code == 202:
        assert decision.job == review_job(COMMIT, None)


@pytest.mark.parametrize(
    ("deliveries", "event", "payload", "message"),
    [
        (GITLAB.deliveries, "Push Hook", {"ref": "refs/heads/main"}, "missing repository in Push Hook event"),
        (GITLAB.deliveries, "Push Hook", [], "the payload is not an object"),
        (GITLAB.deliveries, "Push Hook", {**PROJECT, "ref": 7}, "invalid members: ref"),
        (GITLAB.deliveries, "Push Hook", {"project": {"path_with_namespace": 7}}, "invalid members: project.path_with_namespace"),
        (GITLAB.deliveries, "Merge Request Hook", PROJECT, "expected PR in event"),
        (GITLAB.deliveries, "Merge Request Hook", merge_request("open", iid=2**31), "invalid members: object_attributes.iid"),
        (GITLAB.deliveries, "Merge Request Hook", merge_request("open", iid=True), "invalid members: object_attributes.iid"),
        (BITBUCKET.deliveries, "repo:push", REPOSITORY, "invalid members: push.changes"),
        (BITBUCKET.deliveries, "repo:push", {**REPOSITORY, "push": {"changes": [{"new": {"name": []}}]}}, "invalid members: new.name"),
        (
            BITBUCKET.deliveries,
            "pullrequest:created",
            pull_request_payload(id="7", source={}),
            "members: pullrequest.id, pullrequest.source.branch.name",
        ),
        (BITBUCKET.deliveries, "repo:push", {"repository": {"full_name": "other/repository"}}, "repository mismatch"),
    ],
)
def test_malformed_deliveries_are_rejected(deliveries: Deliveries, event: str, payload: Any, message: str) -> None:
    """A delivery of any kind of host that lacks members, or names another repository, is an error with its reason."""
    with pytest.raises(BadRequest, match=message):
        decision_of(deliveries, event, payload)


@pytest.mark.parametrize(
    ("full_name", "is_of_repository"), [("team/boards", True), ("eam/boards", False), ("boards/team", False), ("a/git/team/boards", False)]
)
def test_a_host_may_be_below_a_path(full_name: str, is_of_repository: bool) -> None:
    """If a host is below a path, such as ``/git``, URLs of its repositories begin with this path, but names in deliveries do not."""
    githost = GitHostRepositoryConfig(url="https://git.example.org/git/team/boards", branch="main")
    sync = SyncOptions(enabled=True, target=SyncTarget.FOLDER)
    spec = RepositorySpec(title="Boards", workflows=[], sync=sync, type=RepositoryType.GITHOST, githost=githost)
    payload = {"repository": {"full_name": full_name}, "ref": "refs/heads/main", "after": COMMIT}
    if is_of_repository:
        assert decide(GITEA.deliveries, "push", payload, "boards", spec).code == 202
        return
    with pytest.raises(BadRequest, match="repository mismatch"):
        decide(GITEA.deliveries, "push", payload, "boards", spec)


def test_a_delivery_is_recognized_by_its_headers() -> None:
    """A delivery with the headers of a host and of GitHub is from that host, because Gitea also sends GitHub's headers.

    A delivery without any of these headers is from GitHub.
    """
    for host in HOSTS:
        for name in host.deliveries.event_headers:
            assert host_of_delivery({name: "push", "X-GitHub-Event": "push", host.deliveries.id_headers[0]: "1"}) is host
    assert host_of_delivery({}) is GITHUB


def test_a_proxy_does_not_change_the_host_of_a_delivery() -> None:
    """A delivery of Bitbucket Cloud is recognized even if a proxy adds X-Request-Id, the id of Bitbucket Data Center.

    A delivery without an id is from the Cloud.
    """
    event = {"X-Event-Key": "repo:push"}
    assert host_of_delivery({**event, "X-Request-UUID": "1", "X-Request-Id": "2"}) is BITBUCKET
    assert host_of_delivery({**event, "X-Request-Id": "2"}) is BITBUCKET_SERVER
    assert host_of_delivery(event) is BITBUCKET
