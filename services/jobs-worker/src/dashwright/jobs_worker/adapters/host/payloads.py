"""Payloads of a git host's API, read and written by the description of the host."""

import hashlib
import re
import uuid
from dataclasses import dataclass
from typing import Any

from dashwright.common.errors import SourceFailed
from dashwright.common.git_hosts.description import Host
from dashwright.common.git_hosts.members import MAX_SHORT_NUMBER, MemberReader, document_of, member_of
from dashwright.jobs_worker.domain.hosting import ChangedFile, CommitStatus, FileStatus, Hook, HookSpec, PullRequest

_HOOK_NUMBER_DIGITS = 13
"""Hexadecimal digits of a hook's UUID that form its number, which JSON can represent exactly."""

_REPOSITORY_PATH = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a pull request."""

    id: int
    #: Address of the comment; empty if the host does not name it.
    page: str
    text: str
    #: Version that a change must repeat; None if the host has no versions.
    version: int | None = None


def pull_request_of(host: Host, data: Any) -> PullRequest:
    """Return a pull request. Raises SourceFailed if members are missing."""
    description, reader = host.pull_requests, MemberReader(data)
    number, head = reader.number(description.number, MAX_SHORT_NUMBER), reader.text(description.head)
    base_repository, head_repository = member_of(data, description.base_repository), member_of(data, description.head_repository)
    # If the host names no repositories, the pull request counts as one from a fork, whose author receives no pictures of data.
    is_from_fork = base_repository is None or base_repository != head_repository
    reference, fork_path = description.fork_reference if is_from_fork else description.reference, ""
    if is_from_fork and description.are_forks_separate:
        # The path becomes a part of the URL from which git fetches.
        fork_path = head_repository if isinstance(head_repository, str) and _REPOSITORY_PATH.fullmatch(head_repository) else ""
        reference = reference if fork_path else ""
    pull_request = PullRequest(
        number=number,
        title=reader.text(description.title),
        url=reader.text(description.page),
        is_open=member_of(data, description.open[0]) == description.open[1],
        is_merged=member_of(data, description.merged[0]) == description.merged[1],
        base=reader.text(description.base),
        head=head,
        head_commit=reader.text(description.head_commit),
        is_from_fork=is_from_fork,
        changed_file_count=_count(member_of(data, description.changed_files) if description.changed_files else 0),
        reference=reference.format(number=number, head=head),
        fork_path=fork_path,
    )
    _check(reader)
    return pull_request


def changed_file_of(host: Host, data: Any) -> ChangedFile:
    """Return a changed file. Raises SourceFailed if its name is missing."""
    description, reader = host.changed_files, MemberReader(data)
    statuses = (FileStatus(status) for path, value, status in description.statuses if member_of(data, path) == value)
    status = next(statuses, FileStatus.MODIFIED)
    previous_name = reader.optional_text(description.previous_name) if status is FileStatus.RENAMED else ""
    file = ChangedFile(reader.text(*description.names), status, previous_name)
    _check(reader)
    return file


def comment_of(host: Host, data: Any) -> Comment:
    """Return a comment. Raises SourceFailed if its id or address is missing."""
    description, reader = host.comments, MemberReader(data)
    page = reader.text(description.page) if description.page else ""
    version = reader.number(description.version) if description.version else None
    comment = Comment(reader.number("id"), page, reader.optional_text(description.text), version)
    _check(reader)
    return comment


def status_body(host: Host, repository: str, status: CommitStatus) -> dict[str, Any]:
    """Return the body of a request that sets the status of ``repository``. Empty values are omitted."""
    description, name = host.statuses, f"dashwright/{repository}"
    # Two long names must not be cut to the same key, so the key of a long name is its digest.
    is_long = len(name) > description.max_key_characters
    values = {
        "state": description.states[status.state.value],
        "text": status.text[: description.max_text_characters],
        "name": name,
        "key": hashlib.sha256(name.encode()).hexdigest()[: description.max_key_characters] if is_long else name,
        "url": status.url,
    }
    return document_of({member: values[source] for member, source in description.members.items() if values[source]})


def hook_of(host: Host, data: Any) -> Hook:
    """Return a webhook. Raises SourceFailed if members are missing.

    An event counts as subscribed if the webhook receives all of the host's own events for it.
    """
    description, reader = host.hooks, MemberReader(data)
    names = member_of(data, description.event_list) if description.event_list else None
    if description.event_list and not isinstance(names, list):
        reader.faults.append(description.event_list)
        names = []

    def is_subscribed(host_event: str) -> bool:
        """Return whether the webhook receives an event, which is in the list of names or is a member with the value ``true``."""
        return host_event in names if isinstance(names, list) else member_of(data, host_event) is True

    hook = Hook(
        id=_hook_number(reader, description.id) if description.has_uuids else reader.number(description.id),
        url=reader.optional_text(description.url),
        events=frozenset(event for event, host_events in description.events.items() if all(map(is_subscribed, host_events))),
        is_active=not description.active or member_of(data, description.active) is not False,
    )
    _check(reader)
    return hook


def hook_body(host: Host, spec: HookSpec, *, is_new: bool) -> dict[str, Any]:
    """Return the body of a request that creates or replaces a webhook."""
    description = host.hooks
    values: dict[str, Any] = {description.url: spec.url, description.key: spec.secret, **description.settings}
    if description.active:
        values[description.active] = True
    if description.event_list:
        values[description.event_list] = sorted({name for event in spec.events for name in description.events[event]})
    else:
        values |= {name: event in spec.events for event, names in description.events.items() for name in names}
    return document_of({**values, **(description.creation_settings if is_new else {})})


def _hook_number(reader: MemberReader, path: str) -> int:
    """Return the beginning of the UUID of a webhook as its number."""
    try:
        return int(uuid.UUID(reader.text(path)).hex[:_HOOK_NUMBER_DIGITS], 16)
    except ValueError:
        reader.faults.append(path)
        return 0


def _count(value: Any) -> int:
    """Return a number, which a host may send as a text such as ``1000+``; 0 for other values."""
    digits = str(value).rstrip("+")
    return int(digits) if digits.isascii() and digits.isdigit() else 0


def _check(reader: MemberReader) -> None:
    """Raise SourceFailed if members that the reader has read were missing."""
    if reader.faults:
        fields = ", ".join(sorted(set(reader.faults)))
        raise SourceFailed(f"the git host's API responds without required members: {fields}")
