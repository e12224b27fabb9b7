"""What a git host's API tells, as far as it is of use here."""

from pydantic import BaseModel, Field

from dashwright.jobs_worker.domain.hosting import ChangedFile, FileStatus, Hook, PullRequest


class RepositoryPayload(BaseModel):
    full_name: str


class BranchPayload(BaseModel):
    ref: str
    sha: str
    repo: RepositoryPayload | None = None
    """None where the repository of a pull request is gone."""


class PullRequestPayload(BaseModel):
    number: int
    title: str
    html_url: str
    state: str
    merged: bool = False
    base: BranchPayload
    head: BranchPayload
    changed_files: int = 0

    def to_domain(self) -> PullRequest:
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
    filename: str
    status: str
    previous_filename: str | None = None

    def to_domain(self) -> ChangedFile:
        known = {str(status): status for status in FileStatus} | _OTHER_WORDS
        status = known.get(self.status, FileStatus.MODIFIED)
        return ChangedFile(self.filename, status, (self.previous_filename or "") if status is FileStatus.RENAMED else "")


class CommentPayload(BaseModel):
    id: int
    html_url: str
    body: str | None = None


class HookConfig(BaseModel):
    url: str = ""


class HookPayload(BaseModel):
    id: int
    active: bool = True
    events: list[str]
    config: HookConfig = Field(default_factory=HookConfig)

    def to_domain(self) -> Hook:
        return Hook(self.id, self.config.url, frozenset(self.events), self.active)
