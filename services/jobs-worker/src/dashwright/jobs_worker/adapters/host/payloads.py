"""Payloads of a git host's API, as far as they are used here."""

from pydantic import BaseModel, Field

from dashwright.jobs_worker.domain.hosting import ChangedFile, FileStatus, Hook, PullRequest


class RepositoryPayload(BaseModel):
    """A repository."""

    full_name: str


class BranchPayload(BaseModel):
    """One side of a pull request."""

    ref: str
    sha: str
    #: None if the repository is deleted.
    repo: RepositoryPayload | None = None


class PullRequestPayload(BaseModel):
    """A pull request."""

    number: int
    title: str
    html_url: str
    state: str
    merged: bool = False
    base: BranchPayload
    head: BranchPayload
    changed_files: int = 0

    def to_domain(self) -> PullRequest:
        """Return the pull request in the terms of the domain."""
        own, other = self.base.repo, self.head.repo
        return PullRequest(
            number=self.number,
            title=self.title,
            url=self.html_url,
            is_open=self.state == "open",
            is_merged=self.merged,
            base=self.base.ref,
            base_commit=self.base.sha,
            head=self.head.ref,
            head_commit=self.head.sha,
            is_from_elsewhere=own is None or other is None or own.full_name != other.full_name,
            files=self.changed_files,
        )


_OTHER_WORDS = {"deleted": FileStatus.REMOVED, "copied": FileStatus.ADDED}


class FilePayload(BaseModel):
    """A changed file of a pull request."""

    filename: str
    status: str
    previous_filename: str | None = None

    def to_domain(self) -> ChangedFile:
        """Return the file in the terms of the domain."""
        known = {str(status): status for status in FileStatus} | _OTHER_WORDS
        status = known.get(self.status, FileStatus.MODIFIED)
        return ChangedFile(self.filename, status, (self.previous_filename or "") if status is FileStatus.RENAMED else "")


class CommentPayload(BaseModel):
    """A comment on a pull request."""

    id: int
    html_url: str
    body: str | None = None


class HookConfig(BaseModel):
    """The delivery settings of a webhook."""

    url: str = ""


class HookPayload(BaseModel):
    """A webhook."""

    id: int
    active: bool = True
    events: list[str]
    config: HookConfig = Field(default_factory=HookConfig)

    def to_domain(self) -> Hook:
        """Return the webhook in the terms of the domain."""
        return Hook(self.id, self.config.url, frozenset(self.events), self.active)
