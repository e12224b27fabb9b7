"""Bitbucket Cloud. Bitbucket Data Center has another API."""

from typing import Final

from dashwright.common.git_hosts.deliveries import Deliveries, Event, Proof, PullRequestEvents, Pushes
from dashwright.common.git_hosts.description import (
    ChangedFiles,
    Comments,
    Hooks,
    Host,
    Pages,
    Pagination,
    PullRequests,
    RestApi,
    Statuses,
)

_CREATED: Final = "pullrequest:created"
_UPDATED: Final = "pullrequest:updated"

BITBUCKET: Final = Host(
    name="bitbucket",
    title="Bitbucket Cloud",
    repository_types=frozenset({"bitbucket"}),
    rest_api=RestApi(
        addresses={"bitbucket.org": "https://api.bitbucket.org/2.0"},
        version="/2.0",
        repository="repositories/{path}",
        token_users=frozenset({"x-token-auth"}),
        page_size=50,
        page_size_parameter="pagelen",
        pagination=Pagination.NEXT_MEMBER,
        items="values",
    ),
    pull_requests=PullRequests(
        path="pullrequests/{number}",
        list_path="pullrequests",
        open_query={"state": "OPEN"},
        number="id",
        title="title",
        page="links.html.href",
        open=("state", "OPEN"),
        merged=("state", "MERGED"),
        base="destination.branch.name",
        head="source.branch.name",
        head_commit="source.commit.hash",
        base_repository="destination.repository.full_name",
        head_repository="source.repository.full_name",
        reference="refs/heads/{head}",
        fork_reference="refs/heads/{head}",
        are_forks_separate=True,
    ),
    changed_files=ChangedFiles(
        path="pullrequests/{number}/diffstat",
        names=("new.path", "old.path"),
        previous_name="old.path",
        statuses=(("status", "added", "added"), ("status", "removed", "removed"), ("status", "renamed", "renamed")),
    ),
    comments=Comments(
        list_path="pullrequests/{number}/comments",
        path="pullrequests/{number}/comments/{id}",
        update_method="PUT",
        text="content.raw",
        page="links.html.href",
        # Bitbucket shows an HTML comment to readers, but hides the definition of an unused link.
        mark="[//]: # ({mark})\n",
        max_characters=32_768,
    ),
    statuses=Statuses(
        path="commit/{commit}/statuses/build",
        members={"state": "state", "description": "text", "name": "name", "key": "key", "url": "url"},
        states={"pending": "INPROGRESS", "success": "SUCCESSFUL", "failure": "FAILED", "error": "FAILED"},
        max_text_characters=255,
        max_key_characters=40,
    ),
    hooks=Hooks(
        path="hooks",
        hook_path="hooks/{id}",
        update_method="PUT",
        id="uuid",
        has_uuids=True,
        url="url",
        key="secret",
        active="active",
        event_list="events",
        events={"push": ("repo:push",), "pull_request": (_CREATED, _UPDATED)},
        settings={"description": "Dashwright"},
    ),
    pages=Pages(
        file="/src/{ref}/{path}",
        commit_file="/src/{ref}/{path}",
        compare="/branches/compare/{ref}..{base}",
        new_pull_request="/pull-requests/new?source={ref}&dest={base}",
    ),
    deliveries=Deliveries(
        event_headers=("X-Event-Key",),
        id_headers=("X-Request-UUID",),
        proof=Proof.SIGNATURE,
        proof_headers=("X-Hub-Signature",),
        proof_prefix="sha256=",
        events={"repo:push": Event.PUSH, _CREATED: Event.PULL_REQUEST, _UPDATED: Event.PULL_REQUEST},
        repository=("repository.full_name",),
        pushes=Pushes(changes="push.changes", ref="new.name", branch=("new.type", "branch"), commit="new.target.hash"),
        pull_requests=PullRequestEvents(
            member="pullrequest",
            actions=frozenset({_CREATED, _UPDATED}),
            number="pullrequest.id",
            page="pullrequest.links.html.href",
            base="pullrequest.destination.branch.name",
            head="pullrequest.source.branch.name",
            head_commit="pullrequest.source.commit.hash",
        ),
    ),
)
