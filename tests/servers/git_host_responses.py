"""Objects of a git host's API as JSON, with every property that the official description requires."""

from collections.abc import Mapping
from typing import Any

NOW = "2026-01-02T03:04:05Z"

_USER_LINKS = ("followers", "following", "gists", "starred", "subscriptions", "organizations", "repos", "events", "received_events")
_REPOSITORY_LINKS = (
    *("archive", "assignees", "blobs", "branches", "collaborators", "comments", "commits", "compare", "contents", "contributors"),
    *("deployments", "downloads", "events", "forks", "git_commits", "git_refs", "git_tags", "hooks", "issue_comment", "issue_events"),
    *("issues", "keys", "labels", "languages", "merges", "milestones", "notifications", "pulls", "releases", "stargazers", "statuses"),
    *("subscribers", "subscription", "tags", "teams", "trees", "clone", "git", "ssh", "svn"),
)
_PULL_LINKS = {
    "comments": "comments",
    "commits": "commits",
    "statuses": "statuses",
    "issue": "issue",
    "review_comments": "comments",
    "review_comment": "comments/1",
}


def user(origin: str, login: str = "octo") -> dict[str, Any]:
    """Return an account."""
    links = {f"{name}_url": f"{origin}/users/{login}/{name}" for name in _USER_LINKS}
    addresses = {
        "url": f"{origin}/users/{login}",
        "html_url": f"{origin}/{login}",
        "avatar_url": f"{origin}/{login}.png",
        "gravatar_id": "",
    }
    return {"login": login, "id": 1, "node_id": "U1", "type": "User", "site_admin": False, **addresses, **links}


def repository(origin: str, name: str, default_branch: str) -> dict[str, Any]:
    """Return a repository."""
    address = f"{origin}/api/v3/repos/{name}"
    counts = ("forks", "forks_count", "stargazers_count", "watchers", "watchers_count", "size", "open_issues", "open_issues_count")
    switches = ("private", "fork", "has_issues", "has_projects", "has_wiki", "has_pages", "has_downloads", "archived", "disabled")
    null_members = ("description", "homepage", "language", "license", "mirror_url")
    return {
        "id": 7,
        "node_id": "R7",
        "name": name.rpartition("/")[2],
        "full_name": name,
        "owner": user(origin, name.partition("/")[0]),
        "url": address,
        "html_url": f"{origin}/{name}",
        "default_branch": default_branch,
        "created_at": NOW,
        "updated_at": NOW,
        "pushed_at": NOW,
        **{f"{link}_url": f"{address}/{link}" for link in _REPOSITORY_LINKS},
        **dict.fromkeys(counts, 0),
        **dict.fromkeys(switches, False),
        **dict.fromkeys(null_members),
    }


def commit(origin: str, repository_json: Mapping[str, Any], sha: str, author: str, committer: str) -> dict[str, Any]:
    """Return a commit. Author and committer have accounts of their lower-case names; a name with a space has no account."""
    url = f"{repository_json['url']}/commits/{sha}"
    accounts = {
        role: None if " " in name else {**user(origin, name.lower()), "avatar_url": f"https://avatars.example.org/{name.lower()}"}
        for role, name in (("author", author), ("committer", committer))
    }
    signed = {role: {"name": name, "email": "a@example.org", "date": NOW} for role, name in (("author", author), ("committer", committer))}
    git_commit = {**signed, "message": "change", "tree": {"sha": sha, "url": url}, "url": url, "comment_count": 0}
    members = {
        "sha": sha,
        "node_id": "C1",
        "url": url,
        "html_url": f"{origin}/{repository_json['full_name']}/commit/{sha}",
        "comments_url": f"{url}/comments",
    }
    return {**members, "commit": git_commit, **accounts, "parents": []}


def pull_request(origin: str, repository_json: Mapping[str, Any], number: int, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a pull request.

    ``content`` has ``title``, ``state``, ``merged``, ``base`` and ``head`` (each a branch and its commit), ``changed_files``, and
    ``head_repository``, the repository of the head.
    """
    url, page = f"{repository_json['url']}/pulls/{number}", f"{origin}/{repository_json['full_name']}/pull/{number}"
    empty = ("assignee", "milestone", "auto_merge", "merged_by", "body", "closed_at", "merge_commit_sha", "mergeable", "merged_at")
    counts = ("additions", "deletions", "comments", "commits", "review_comments")
    links = {name: {"href": f"{url}/{path}"} for name, path in _PULL_LINKS.items()}
    return {
        "id": number,
        "node_id": f"P{number}",
        "number": number,
        "title": content["title"],
        "state": content["state"],
        "merged": content["merged"],
        "changed_files": content["changed_files"],
        "url": url,
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "issue_url": f"{repository_json['url']}/issues/{number}",
        "commits_url": f"{url}/commits",
        "comments_url": f"{url}/comments",
        "review_comments_url": f"{url}/comments",
        "review_comment_url": f"{url}/comments/1",
        "statuses_url": f"{repository_json['url']}/statuses/{content['head'][1]}",
        "user": user(origin),
        "author_association": "OWNER",
        "labels": [],
        "locked": False,
        "draft": False,
        "mergeable_state": "clean",
        "maintainer_can_modify": False,
        "created_at": NOW,
        "updated_at": NOW,
        "base": _side(origin, repository_json, content["base"]),
        "head": _side(origin, content["head_repository"], content["head"]),
        "_links": {**links, "self": {"href": url}, "html": {"href": page}},
        **dict.fromkeys(empty),
        **dict.fromkeys(counts, 0),
    }


def changed_file(repository_json: Mapping[str, Any], path: str, status: str, previous: str) -> dict[str, Any]:
    """Return a changed file of a pull request."""
    counts = dict.fromkeys(("additions", "deletions", "changes"), 1)
    links = {f"{name}_url": f"{repository_json['html_url']}/{name}/{path}" for name in ("blob", "raw", "contents")}
    return {"sha": "0" * 40, "filename": path, "status": status, **counts, **links, **({"previous_filename": previous} if previous else {})}


def comment(origin: str, repository_json: Mapping[str, Any], issue: int, number: int, body: str) -> dict[str, Any]:
    """Return a comment on a pull request."""
    return {
        "id": number,
        "node_id": f"C{number}",
        "body": body,
        "url": f"{repository_json['url']}/issues/comments/{number}",
        "html_url": f"{repository_json['html_url']}/pull/{issue}#issuecomment-{number}",
        "issue_url": f"{repository_json['url']}/issues/{issue}",
        "user": user(origin),
        "author_association": "OWNER",
        "created_at": NOW,
        "updated_at": NOW,
    }


def status(origin: str, repository_json: Mapping[str, Any], number: int, commit: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the status of a commit."""
    body = {"description": None, "target_url": None, "context": "default", **content}
    members = {
        "url": f"{repository_json['url']}/statuses/{commit}",
        "avatar_url": None,
        "id": number,
        "node_id": f"S{number}",
        "creator": user(origin),
    }
    return {**members, **body, "created_at": NOW, "updated_at": NOW}


def hook(repository_json: Mapping[str, Any], number: int, requested: Mapping[str, Any]) -> dict[str, Any]:
    """Return a hook without its secret."""
    url = f"{repository_json['url']}/hooks/{number}"
    config = {**requested["config"], "secret": "********"} if "secret" in requested["config"] else requested["config"]
    return {
        "type": "Repository",
        "id": number,
        "name": "web",
        "active": requested["active"],
        "events": requested["events"],
        "config": config,
        "url": url,
        "test_url": f"{url}/test",
        "ping_url": f"{url}/pings",
        "deliveries_url": f"{url}/deliveries",
        "created_at": NOW,
        "updated_at": NOW,
        "last_response": {"code": None, "status": "unused", "message": None},
    }


def _side(origin: str, repository_json: Mapping[str, Any], branch_and_commit: tuple[str, str]) -> dict[str, Any]:
    """Return the head or the base of a pull request."""
    owner = str(repository_json["full_name"]).partition("/")[0]
    return {
        "label": f"{owner}:{branch_and_commit[0]}",
        "ref": branch_and_commit[0],
        "sha": branch_and_commit[1],
        "repo": repository_json,
        "user": user(origin, owner),
    }
