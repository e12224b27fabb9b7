"""Decisions on webhook deliveries: a sync after a push, a ``pr`` job for a pull request, or no job."""

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from dashwright.common.errors import BadRequest
from dashwright.common.git_hosts.deliveries import Deliveries, Event
from dashwright.common.git_hosts.members import MAX_SHORT_NUMBER, MemberReader, member_of
from dashwright.common.models.job_options import PullRequestJobOptions, SyncJobOptions
from dashwright.common.models.provisioning import Action, JobSpec, RepositorySpec

_MAX_CHANGES: Final = 1000
"""Limit on the branches of one push that are examined."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The response to a delivery, and the job to submit."""

    #: The HTTP status.
    code: int
    message: str
    #: None if the delivery needs no job.
    job: JobSpec | None = None


def decide(deliveries: Deliveries, host_event: str, payload: Any, name: str, spec: RepositorySpec) -> Decision:
    """Return the decision on a delivery to the repository ``name``. ``host_event`` is the host's name of the event.

    Raises BadRequest for a malformed event, or an event of another repository.
    """
    event = deliveries.events.get(host_event)
    if event is Event.PING:
        return Decision(200, "ping received")
    if event is None:
        # The header may have bytes that are not UTF-8, which JSON cannot represent.
        printable_event = host_event[:80].encode(errors="replace").decode()
        return Decision(501 if deliveries.rejects_other_events else 200, f"unsupported messageType: {printable_event}")
    reader = MemberReader(payload)
    # At some hosts, events of pull requests have the repository at another path.
    members = (deliveries.pull_requests.repository if event is Event.PULL_REQUEST else ()) or deliveries.repository
    names = [reader.optional_text(member) for member in members]
    # Either one member has the path of the repository, or several have the names in it.
    full_name = "/".join(names) if all(names) else ""
    default_branch = reader.optional_text(deliveries.default_branch)
    if not isinstance(payload, dict) or reader.faults:
        raise _malformed(host_event, reader)
    if not full_name:
        raise BadRequest(f"missing repository in {host_event} event")
    if not f"/{_path(spec)}".endswith(f"/{full_name.lower()}"):
        raise BadRequest("repository mismatch")
    branch = (spec.remote.branch if spec.remote is not None else "") or default_branch
    if event is Event.PUSH:
        return _decide_push(deliveries, host_event, payload, branch, name, spec)
    return _decide_pull_request(deliveries, host_event, payload, branch, name)


def _decide_push(deliveries: Deliveries, host_event: str, payload: Any, branch: str, name: str, spec: RepositorySpec) -> Decision:
    """Return the decision on a push. If neither the repository nor the payload names the branch, every branch counts as the synced one."""
    pushes = deliveries.pushes
    changes = member_of(payload, pushes.changes)
    if pushes.changes and not isinstance(changes, list):
        raise BadRequest(f"the {host_event} event has missing or invalid members: {pushes.changes}")
    # The decision if no change requires a job; the last change replaces it.
    decision = Decision(200, "ignoring push without changes")
    # At a host without a list of changes, the payload itself is the only change.
    for change in changes[:_MAX_CHANGES] if isinstance(changes, list) else [changes]:
        reader = MemberReader(change)
        ref, commit = reader.optional_text(pushes.ref), reader.optional_text(pushes.commit)
        if reader.faults:
            raise _malformed(host_event, reader)
        # A push can also change tags. Some hosts have a member with the type of the ref; at others, the prefix of the ref shows the type.
        is_branch = pushes.branch is None or member_of(change, pushes.branch[0]) == pushes.branch[1]
        if not is_branch or not ref.startswith(pushes.ref_prefix) or (branch and ref != f"{pushes.ref_prefix}{branch}"):
            decision = Decision(200, f"ignoring push to {ref[:200]}")
        # Git writes zeros for the commit of a deleted branch.
        elif commit and set(commit) == {"0"}:
            decision = Decision(200, "ignoring push as the branch was deleted")
        elif not spec.sync.enabled:
            return Decision(200, "ignoring push as sync is not enabled")
        else:
            return Decision(202, "push received", JobSpec(action=Action.SYNC, repository=name, sync=SyncJobOptions(incremental=True)))
    return decision


def _decide_pull_request(deliveries: Deliveries, host_event: str, payload: Any, branch: str, name: str) -> Decision:
    """Return the decision on an event of a pull request, which needs a job if new commits are to be merged into ``branch``."""
    description, reader = deliveries.pull_requests, MemberReader(payload)
    if member_of(payload, description.member) is None:
        raise BadRequest("expected PR in event")
    action = reader.optional_text(description.action) if description.action else host_event
    base, head = reader.text(description.base), reader.text(description.head)
    commit = reader.optional_text(description.head_commit)
    page = reader.text(description.page) if description.page else None
    number = reader.number(description.number, MAX_SHORT_NUMBER)
    if reader.faults:
        raise _malformed(host_event, reader)
    if branch and base != branch:
        # Grafana's message has the same two spaces.
        return Decision(200, f"ignoring pull request event as {base[:200]} is not  the configured branch")
    has_new_commits = action in description.actions
    if description.changed is not None:
        # The host has one action for changes of any kind. A member of the payload shows whether commits were added.
        changed_action, new_commits_member = description.changed
        has_new_commits |= action == changed_action and bool(member_of(payload, new_commits_member))
    if not has_new_commits:
        return Decision(200, f"ignore pull request event: {action[:80]}")
    job_options = PullRequestJobOptions(ref=head, hash=commit, pr=number, url=page)
    return Decision(202, f"pull request: {action}", JobSpec(action=Action.PR, repository=name, pr=job_options))


def _malformed(host_event: str, reader: MemberReader) -> BadRequest:
    fields = ", ".join(sorted(set(reader.faults))) or "the payload is not an object"
    return BadRequest(f"the {host_event} event has missing or invalid members: {fields}")


def _path(spec: RepositorySpec) -> str:
    """Return the path of the repository's URL in lower case, because hosts ignore letter case.

    It is ``owner/name``, after the path of the host if the host is below one.
    """
    url = (spec.remote.url if spec.remote is not None else "") or ""
    return unquote(urlsplit(url.rstrip("/").removesuffix(".git")).path).strip("/").lower()
