"""Status messages of jobs, which clients show to users."""

STARTED = "start job"
COMPLETED = "completed successfully"
COMPLETED_WITH_ERRORS = "completed with errors"
COMPLETED_WITH_TOO_MANY_ERRORS = "completed with too many errors"

SYNC_STARTED = "execute sync job"
READING = "reading changed files"
REPLICATING = "replicating changes"
REPLICATING_DIFFERENCE = "replicating versioned changes"
REPLICATED_DIFFERENCE = "versioned changes replicated"
UPDATING_STATS = "update status and stats"
NOTHING_TO_SYNC = "no changes to sync"
SAME_COMMIT = "same commit as last time"
NO_DIFFERENCE = "no changes detected between commits"
NO_COMMITS = "the repository has no commits yet"
ROLLED_BACK = "rolled back; held until the branch has another commit or a sync is requested"
HELD = "held at the commit that it was rolled back to"
SYNC_DISABLED = "sync is not enabled"

REVIEWING = "reviewing a pull request"
REQUEST_CLOSED = "the pull request is closed"
OTHER_TARGET_BRANCH = "the pull request is for another branch than the one that is synced"
NO_FILES = "no files to process"

EXPORT_STARTED = "execute export job"
EXPORT_WRITING = "writing to the repository"
EXPORT_ADOPTION = "handing over to the repository"
NOTHING_TO_EXPORT = "no changes to export"

CANCELLED = "job was cancelled"
LEASE_EXPIRED = "Job failed due to lease expiry - worker may have crashed or lost connection"


def too_many_errors(count: int) -> str:
    """Return the message of a job that stopped after ``count`` errors."""
    return f"too many errors: {count}"
