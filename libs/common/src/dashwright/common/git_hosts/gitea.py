"""Gitea and Forgejo. Their API resembles that of GitHub."""

from dataclasses import replace
from typing import Final

from dashwright.common.git_hosts.description import Hooks, Host, Pages, Pagination, Probe, RestApi, Statuses
from dashwright.common.git_hosts.github import GITHUB

GITEA: Final = Host(
    name="gitea",
    title="Gitea or Forgejo",
    rest_api=RestApi(
        addresses={
            "codeberg.org": "https://codeberg.org/api/v1",
            "code.forgejo.org": "https://code.forgejo.org/api/v1",
            "gitea.com": "https://gitea.com/api/v1",
        },
        name_prefixes=("gitea.", "forgejo."),
        path="/api/v1",
        version="/api/v1",
        repository="repos/{path}",
        scheme="token",
        page_size=50,
        page_size_parameter="limit",
        pagination=Pagination.TOTAL_HEADER,
        probe=Probe(path="/api/v1/version", member="version", texts={200: ""}),
    ),
    pull_requests=GITHUB.pull_requests,
    changed_files=replace(
        GITHUB.changed_files,
        statuses=(
            ("status", "added", "added"),
            ("status", "copied", "added"),
            ("status", "deleted", "removed"),
            ("status", "renamed", "renamed"),
        ),
    ),
    comments=GITHUB.comments,
    statuses=Statuses(
        path="statuses/{commit}",
        members=GITHUB.statuses.members,
        states=GITHUB.statuses.states,
        max_text_characters=255,
    ),
    hooks=Hooks(
        path="hooks",
        hook_path="hooks/{id}",
        update_method="PATCH",
        url="config.url",
        key="config.secret",
        active="active",
        event_list="events",
        # A webhook that is created with pull_request is returned with the names of all events of pull requests.
        events=GITHUB.hooks.events,
        settings={"config.content_type": "json"},
        creation_settings={"type": "gitea"},
    ),
    accounts=GITHUB.accounts,
    pages=Pages(
        file="/src/branch/{ref}/{path}",
        commit_file="/src/commit/{ref}/{path}",
        compare="/compare/{base}...{ref}",
        new_pull_request="/compare/{base}...{ref}",
    ),
    deliveries=replace(
        GITHUB.deliveries,
        event_headers=("X-Forgejo-Event", "X-Gitea-Event"),
        id_headers=("X-Forgejo-Delivery", "X-Gitea-Delivery"),
        proof_headers=("X-Forgejo-Signature", "X-Gitea-Signature"),
        proof_prefix="",
        rejects_other_events=False,
        pull_requests=replace(GITHUB.deliveries.pull_requests, actions=frozenset({"opened", "reopened", "synchronized"})),
    ),
)
