"""The description of a git host. A member is the path of a value in JSON, such as ``base.repo.full_name``.

Texts in braces are replaced: ``{number}`` of a pull request, ``{id}`` of a comment or webhook, ``{commit}``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dashwright.common.git_hosts.deliveries import Deliveries


class Pagination(StrEnum):
    """The way in which a response names the next page of a list."""

    LINK_HEADER = "Link"  #: The header Link has a link with the relation next. Pages are requested by number.
    TOTAL_HEADER = "X-Total-Count"  #: The header has the number of all items. Pages are requested by number.
    NEXT_MEMBER = "next"  #: The body has the address of the next page.
    NEXT_START = "nextPageStart"  #: The body has the position of the first item of the next page; null on the last page.


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A request without a token, whose response shows that a host has this API."""

    path: str  #: Path at the host.
    member: str  #: Member of the response that is a text.
    texts: Mapping[int, str]  #: For each status, how the text begins.


@dataclass(frozen=True, slots=True, kw_only=True)
class RestApi:
    """The addresses, headers and pages of the API."""

    addresses: Mapping[str, str] = field(default_factory=dict)  #: Addresses of the API of public hosts, by name.
    name_prefixes: tuple[str, ...] = ()  #: Beginnings of the names of other hosts with this API.
    path: str = ""  #: Path of the API at a host that ``addresses`` lacks; empty if no other host has this API.
    version: str  #: End of every address of this API, by which an address is recognized.
    #: Path of a repository below the address: ``{path}``, the same encoded as one segment ``{segment}``, or ``{owner}`` and ``{name}``.
    repository: str
    git_path: str = ""  #: Beginning of the paths of repositories for git; empty if they begin with the owner.
    page: str = ""  #: Path of the page of a repository, with ``{owner}`` and ``{name}``; empty if it is the address for git.
    is_nested: bool = False  #: Whether a repository can be in a group of a group.
    scheme: str = "Bearer"  #: Scheme of the header Authorization for a token.
    accepts_passwords: bool = True  #: Whether ``user:password`` is sent as it is. Otherwise only the password is sent, as a token.
    token_users: frozenset[str] = frozenset()  #: Users whose password is a token.
    headers: Mapping[str, str] = field(default_factory=lambda: {"Accept": "application/json"})
    page_size: int
    page_size_parameter: str
    pagination: Pagination
    items: str = ""  #: Member of a page with its items; empty if the page is a list.
    probe: Probe | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequests:
    """Requests for pull requests. A field without a comment is a path, or the member with that part of a pull request."""

    path: str
    list_path: str
    open_query: Mapping[str, str]
    number: str
    title: str
    page: str
    open: tuple[str, Any]  #: Member and its value of an open pull request.
    merged: tuple[str, Any]  #: Member and its value of a merged pull request.
    base: str
    head: str
    head_commit: str
    base_repository: str
    head_repository: str
    changed_files: str = ""  #: Member with the number of changed files, which may be missing.
    reference: str  #: Git reference of the newest commit; ``{head}`` is the branch.
    fork_reference: str  #: Git reference of the newest commit of a pull request from a fork.
    are_forks_separate: bool = False  #: True if only the fork has these commits; ``head_repository`` is its path.


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFiles:
    """Changed files of a pull request. A file with an unknown status counts as modified."""

    path: str
    names: tuple[str, ...]  #: Members with the path of the file, the first of which counts.
    previous_name: str
    statuses: tuple[tuple[str, Any, str], ...]  #: Member, its value, and the status ``added``, ``removed`` or ``renamed``.


@dataclass(frozen=True, slots=True, kw_only=True)
class Comments:
    """Comments on a pull request."""

    list_path: str
    list_query: Mapping[str, str] = field(default_factory=dict)
    item: str = ""  #: Member of an item of the list with the comment. Items without it are not comments. Empty if items are comments.
    creation_path: str = ""  #: Path for new comments; empty if it is that of the list.
    path: str  #: Path of one comment.
    update_method: str
    version: str = ""  #: Member with the version of a comment, which a change must repeat; empty if there are no versions.
    text: str  #: Member of requests and responses with the text.
    page: str = ""  #: Member with the address of the comment.
    page_path: str = ""  #: Path of the comment's page below the page of the repository, if responses have no address of it.
    mark: str = "<!-- {mark} -->"  #: Markdown that is not displayed, by which a comment is found again.
    max_characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Statuses:
    """Statuses of commits."""

    path: str
    members: Mapping[str, str]  #: For each member of a request, one of ``state``, ``text``, ``name``, ``key`` and ``url``.
    states: Mapping[str, str]  #: State at the host by state of Dashwright.
    max_text_characters: int
    max_key_characters: int = 255
    unchanged: str = ""  #: Part of the error message for a status that has this state already; empty if the host accepts such a status.


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Webhooks of a repository. The event names are those of ``Event``."""

    path: str
    hook_path: str
    update_method: str
    id: str = "id"
    has_uuids: bool = False  #: Whether the id is a UUID, not a number.
    url: str
    key: str  #: Member of requests with the key that proves deliveries.
    active: str = ""  #: Member that is true of an active webhook; empty if all are active.
    event_list: str = ""  #: Member with the list of events; empty if each event is a member that is true or false.
    events: Mapping[str, tuple[str, ...]]  #: Event at the host by event of Dashwright.
    settings: Mapping[str, Any]  #: Members with a fixed value in all requests that create or change a webhook.
    creation_settings: Mapping[str, Any] = field(default_factory=dict)  #: Members that only a creating request has.


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """Request for commits whose authors have an account at the host, in order to link and picture them."""

    path: str  #: Path of the list of commits.
    ref_parameter: str  #: Query parameter with the newest commit of the list.
    path_parameter: str  #: Query parameter with the file or directory that the commits change.


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """Addresses of pages below that of the repository. ``{base}`` is the repository's branch."""

    file: str
    commit_file: str  #: The same, if ``{ref}`` is a commit.
    compare: str
    new_pull_request: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A kind of git host."""

    name: str  #: Name in settings.
    title: str  #: Name in messages.
    repository_types: frozenset[str] = frozenset()  #: Types of repositories on hosts of this kind only.
    rest_api: RestApi
    pull_requests: PullRequests
    changed_files: ChangedFiles
    comments: Comments
    statuses: Statuses
    hooks: Hooks
    accounts: Accounts | None = None
    pages: Pages
    deliveries: Deliveries
