"""Bitbucket Data Center, formerly Bitbucket Server. Its API is not that of Bitbucket Cloud."""

from typing import Final

from dashwright.common.git_hosts.deliveries import Deliveries, Event, Proof, PullRequestEvents, Pushes
from dashwright.common.git_hosts.description import (
    ChangedFiles,
    Comments,
    Hooks,
    Host,
    Pages,
    Pagination,
    Probe,
    PullRequests,
    RestApi,
    Statuses,
)

_OPENED: Final = "pr:opened"
_UPDATED: Final = "pr:from_ref_updated"

BITBUCKET_SERVER: Final = Host(
    name="bitbucket-server",
    title="Bitbucket Data Center",
    repository_types=frozenset({"bitbucket"}),
    rest_api=RestApi(
        name_prefixes=("bitbucket.",),
        path="/rest/api/1.0",
        version="/rest/api/1.0",
        git_path="scm",
        repository="projects/{owner}/repos/{name}",
        page="projects/{owner}/repos/{name}",
        token_users=frozenset({"x-token-auth"}),
        page_size=100,
        page_size_parameter="limit",
        pagination=Pagination.NEXT_START,
        items="values",
        probe=Probe(path="/rest/api/1.0/application-properties", member="displayName", texts={200: "Bitbucket"}),
    ),
    pull_requests=PullRequests(
        path="pull-requests/{number}",
        list_path="pull-requests",
        open_query={"state": "OPEN"},
        number="id",
        title="title",
        page="links.self.0.href",
        open=("state", "OPEN"),
        merged=("state", "MERGED"),
        base="toRef.displayId",
        head="fromRef.displayId",
        head_commit="fromRef.latestCommit",
        base_repository="toRef.repository.id",
        head_repository="fromRef.repository.id",
        reference="refs/pull-requests/{number}/from",
        fork_reference="refs/pull-requests/{number}/from",
    ),
    changed_files=ChangedFiles(
        path="pull-requests/{number}/changes",
        names=("path.toString",),
        previous_name="srcPath.toString",
        statuses=(
            ("type", "ADD", "added"),
            ("type", "COPY", "added"),
            ("type", "DELETE", "removed"),
            ("type", "MOVE", "renamed"),
        ),
    ),
    comments=Comments(
        # The API lists comments only among the other activities.
        list_path="pull-requests/{number}/activities",
        item="comment",
        creation_path="pull-requests/{number}/comments",
        path="pull-requests/{number}/comments/{id}",
        update_method="PUT",
        version="version",
        text="text",
        page_path="/pull-requests/{number}/overview?commentId={id}",
        # Bitbucket shows an HTML comment to readers, but hides the definition of an unused link.
        mark="[//]: # ({mark})\n",
        max_characters=32_768,
    ),
    statuses=Statuses(
        path="commits/{commit}/builds",
        members={"state": "state", "description": "text", "name": "name", "key": "key", "url": "url"},
        states={"pending": "INPROGRESS", "success": "SUCCESSFUL", "failure": "FAILED", "error": "FAILED"},
        max_text_characters=255,
    ),
    hooks=Hooks(
        path="webhooks",
        hook_path="webhooks/{id}",
        update_method="PUT",
        url="url",
        key="configuration.secret",
        active="active",
        event_list="events",
        events={"push": ("repo:refs_changed",), "pull_request": (_OPENED, _UPDATED)},
        settings={"name": "Dashwright"},
    ),
    pages=Pages(
        file="/browse/{path}?at={ref}",
        commit_file="/browse/{path}?at={ref}",
        compare="/compare/diff?targetBranch={base}&sourceBranch={ref}",
        new_pull_request="/pull-requests?create&targetBranch={base}&sourceBranch={ref}",
    ),
    deliveries=Deliveries(
        event_headers=("X-Event-Key",),
        id_headers=("X-Request-Id",),
        proof=Proof.SIGNATURE,
        proof_headers=("X-Hub-Signature",),
        proof_prefix="sha256=",
        events={
            "diagnostics:ping": Event.PING,
            "repo:refs_changed": Event.PUSH,
            _OPENED: Event.PULL_REQUEST,
            _UPDATED: Event.PULL_REQUEST,
        },
        repository=("repository.project.key", "repository.slug"),
        pushes=Pushes(changes="changes", ref="ref.id", ref_prefix="refs/heads/", branch=("ref.type", "BRANCH"), commit="toHash"),
        pull_requests=PullRequestEvents(
            member="pullRequest",
            repository=("pullRequest.toRef.repository.project.key", "pullRequest.toRef.repository.slug"),
            actions=frozenset({_OPENED, _UPDATED}),
            number="pullRequest.id",
            base="pullRequest.toRef.displayId",
            head="pullRequest.fromRef.displayId",
            head_commit="pullRequest.fromRef.latestCommit",
        ),
    ),
)
